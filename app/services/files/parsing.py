"""Start a parsing process, and end it when it is done, takes too long, or is cancelled."""

from __future__ import annotations

import asyncio
import codecs
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from app.base.errors import ToolFailed, ToolMisuse
from app.base.phrases import Phrase
from app.base.startup import worker_command
from app.services.files import parsing_worker

LIMIT_S = 40.0
MOST_BYTES = 64_000_000
"""The limit of one answer; longer text is cut there."""
_CHUNK = 1 << 16


async def document_of(text: str, name: str) -> bytes:
    """A worker process makes the document. Raises ToolMisuse or ToolFailed."""
    over = threading.Event()
    made = pieces("make", {"name": name}, text.encode("utf-8", errors="replace"), name, over)
    try:
        return b"".join(await asyncio.to_thread(list, made))
    finally:
        over.set()


def pieces(
    job: str, options: Mapping[str, str], file: BinaryIO | bytes, shown: str, over: threading.Event | None = None
) -> Iterator[bytes]:
    """Yield the output of a job of `parsing_worker`, as it arrives. Blocks. Raises ToolFailed if it gives no result.

    Setting `over` ends the process at once.
    """
    over = over or threading.Event()
    process = _started(job, options, file)
    assert process.stdout and process.stderr
    # Kill it from a thread, because reading the pipe blocks this one.
    threading.Thread(target=_end_after, args=(process, over), daemon=True).start()
    try:
        if isinstance(file, bytes):
            threading.Thread(target=_hand_over, args=(process, file), daemon=True).start()
        left = MOST_BYTES
        while left > 0 and (piece := os.read(process.stdout.fileno(), min(_CHUNK, left))):
            left -= len(piece)
            yield piece
        if left > 0:
            _judge(process.wait(), process.stderr.read(parsing_worker.MOST_SAID_BYTES), job, shown)
    finally:
        over.set()
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def texts(job: str, options: Mapping[str, str], file: BinaryIO | bytes, shown: str) -> Iterator[str]:
    """Yield what `pieces` yields, decoded as UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    for piece in pieces(job, options, file, shown):
        yield decoder.decode(piece)
    yield decoder.decode(b"", True)


def _started(job: str, options: Mapping[str, str], file: BinaryIO | bytes) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        worker_command("documents", job, json.dumps(dict(options))),
        stdin=subprocess.PIPE if isinstance(file, bytes) else file,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=Path(sys.executable).anchor,
        env=_environment(),
    )


def _environment() -> dict[str, str]:
    """Without the person's variables, and with only one OpenBLAS thread, for a fast start."""
    kept = {name: os.environ[name] for name in ("SYSTEMROOT", "LD_LIBRARY_PATH") if name in os.environ}
    return {**kept, "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}


def _hand_over(process: subprocess.Popen[bytes], data: bytes) -> None:
    assert process.stdin
    try:
        with process.stdin as pipe:
            pipe.write(data)
    except OSError:
        return  # the worker ended early: the caller reads the reason from its exit code


def _end_after(process: subprocess.Popen[bytes], over: threading.Event) -> None:
    over.wait(LIMIT_S)
    process.kill()


def _judge(code: int, said: bytes, job: str, shown: str) -> None:
    if code == 0:
        return
    sentence = said.decode(errors="replace").strip()
    if code == parsing_worker.MISUSED and sentence:
        raise ToolMisuse(sentence)
    if code == parsing_worker.REFUSED and sentence:
        raise ToolFailed(sentence)
    if job == "make":
        what = "{path!r} cannot be made: it takes more memory or time than it may have."
        raise ToolFailed(Phrase(what, {"path": shown}), "Write several smaller files.")
    what = "{path!r} cannot be read: it is damaged, or needs more memory or time than it may have."
    raise ToolFailed(Phrase(what, {"path": shown}))
