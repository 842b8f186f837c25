"""The process that holds the models: half a gigabyte that must be droppable, and work that must not hold up a loop.

Run as a script, it imports nothing of the product. On standard input: a header (width, height) and rows of BGRX
pixels, again and again; on standard output for each: a length and JSON, a list of [text, [x, y, width, height], score]
or, before it ends for a reason of its own, that reason. Ends with its input.

With the number of a listening socket as argument, it answers in the same way to all processes of the same user
that connect there.
"""

# mypy: no-warn-unreachable

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
import sys
import threading
from collections.abc import Sequence
from typing import IO, Any

HEADER = struct.Struct("<II")
LENGTH = struct.Struct("<I")
_PEER = struct.Struct("3i")  # https://man7.org/linux/man-pages/man7/unix.7.html, SO_PEERCRED
_MOST_THREADS = 4
_LONGEST_SIDE_PX = 4096
_BYTES = 4


def run(arguments: Sequence[str]) -> int:
    """Load the models, then answer until the input ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # so that output of the libraries does not mix with the answers
    if arguments:
        return _serve(int(arguments[0]))
    sys.excepthook = lambda kind, error, _trace: _answer(answers, f"{kind.__name__}: {error}")
    _read_all(_engine(), sys.stdin.buffer, answers)
    return 0


def _read_all(engine: Any, pictures: IO[bytes], answers: IO[bytes]) -> None:
    while header := pictures.read(HEADER.size):
        width, height = HEADER.unpack(header)
        pixels = pictures.read(width * height * _BYTES)
        with _one_at_a_time:
            lines = _lines(engine, pixels, width, height)
        _answer(answers, lines)


_one_at_a_time = threading.Lock()


def _serve(listener: int) -> int:
    """Answer to all who connect, until the input ends. The models are loaded for the first one."""
    threading.Thread(target=_accept, args=(socket.socket(fileno=listener),), daemon=True).start()
    sys.stdin.buffer.read()
    return 0


def _accept(listener: socket.socket) -> None:
    engine = None
    while True:
        connection, _ = listener.accept()
        if not _is_own(connection):
            connection.close()
            continue
        engine = engine or _engine()
        both: Any = connection.makefile("rwb")
        threading.Thread(target=_talk, args=(engine, both), daemon=True).start()


def _is_own(connection: socket.socket) -> bool:
    """Whether the other side is a process of the same user: a socket without a file has no rights of its own."""
    if sys.platform != "linux":
        return False
    _pid, user, _group = _PEER.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))
    return bool(user == os.getuid())


def _talk(engine: Any, both: IO[bytes]) -> None:
    with contextlib.suppress(OSError, struct.error), both:  # because it may end in the middle of a picture
        _read_all(engine, both, both)


def _engine() -> Any:
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # onnxruntime would keep an id of this computer and report to its maker
    try:
        from rapidocr import RapidOCR
    except ImportError as error:
        raise ImportError(f"{error}. `wisp doctor` says what installs it.") from None

    # `max` keeps small crops as they are; the default `min` blows them up to 736 pixels and takes three times as long.
    wanted = {
        "Global.use_cls": False,
        "Global.log_level": "critical",
        "Global.max_side_len": _LONGEST_SIDE_PX,
        "Det.limit_type": "max",
        "Det.limit_side_len": _LONGEST_SIDE_PX,
        "EngineConfig.onnxruntime.intra_op_num_threads": _threads(),
    }
    return RapidOCR(params=wanted)


def _threads() -> int:
    """The number of idle cores: onnxruntime's threads spin, and two on busy cores are half as fast as one."""
    cores = os.cpu_count() or 1
    busy = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return min(max(round(cores - busy), 1), _MOST_THREADS)


def _lines(engine: Any, pixels: bytes, width: int, height: int) -> list[object]:
    import numpy

    picture = numpy.frombuffer(pixels, dtype=numpy.uint8).reshape(height, width, _BYTES)[:, :, :3]
    found = engine(numpy.ascontiguousarray(picture), use_cls=False)
    if found.boxes is None:
        return []
    read = zip(found.txts, found.boxes, found.scores, strict=True)
    return [[text.strip(), _box(corners), float(score)] for text, corners, score in read]


def _box(corners: Any) -> list[int]:
    across, down = [int(x) for x, _ in corners], [int(y) for _, y in corners]
    return [min(across), min(down), max(across) - min(across), max(down) - min(down)]


def _answer(answers: IO[bytes], answer: list[object] | str) -> None:
    text = json.dumps(answer).encode()
    answers.write(LENGTH.pack(len(text)) + text)
    answers.flush()


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
