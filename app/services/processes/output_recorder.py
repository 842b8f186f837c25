"""Record what a command writes: without secrets, and only the newest part.

It is a separate process, so that the output of a command that outlives Wisp is kept and limited too, and so that a
command does not outlive a Wisp that was killed: then the recorder starts a process that ends it. It ends when the run
is over and the last process that can write to it is gone. It starts with every command, so it imports next to nothing.

A stream is stored in segments: files named by the offset of their first byte; the oldest are dropped. A command that
writes faster than its output can be redacted is not slowed down: the oldest waiting output is dropped.
"""

from __future__ import annotations

import os
import sys
import time

from app.base.redaction import Pattern, RedactedStream, Redaction

TYPE_CHECKING = False  # `typing` takes longer to load than all the rest of this process
if TYPE_CHECKING:
    from _thread import LockType
    from collections.abc import Callable, Sequence

STREAMS = ("stdout", "stderr")
KEPT_BYTES = 64_000_000
"""The limit of one command, all streams together."""
_SEGMENTS = 16
_WAITING_BYTES = 16_000_000
_CHUNK = 1 << 20
_PIECE = 131_072
_READING_S = 0.02
_REST_MS = 20
_OVER = b"!"
"""What Wisp says when the run is over. If Wisp goes without a word, it was killed or ended in the middle of the run."""
_SKIPPED = 24_000
"""How much to skip after a gap, because a private key that began in the gap may be this long."""


def segments(folder: str, stream: str) -> list[tuple[int, str]]:
    """Return the offset of each segment's first byte, and its path; the oldest first."""
    found = []
    try:
        names = os.listdir(folder)
    except FileNotFoundError:  # because the run may be forgotten by now
        return []
    for name in names:
        stem, _, place = name.rpartition(".")
        if stem == stream and place.isdigit():
            found.append((int(place), os.path.join(folder, name)))
    return sorted(found)


class _Stream:
    """One stream: the output that waits for redaction, and the segment that grows."""

    def __init__(self, folder: str, name: str, redaction: Redaction, segment_bytes: int) -> None:
        self._prefix = os.path.join(folder, name + ".")
        self._redaction = redaction
        self._redacted = RedactedStream(redaction)
        self._segment_bytes = segment_bytes
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._gap = 0
        self._skip = 0
        self._start = self._end = 0
        self._file = -1
        self._has_rest = False
        self.closed: list[tuple[str, int]] = []
        """Full segments and their sizes."""

    @property
    def is_waiting(self) -> bool:
        return bool(self._waiting)

    def take(self, data: bytes) -> None:
        if self._waiting and len(self._waiting[-1]) < _PIECE:
            self._waiting[-1] += data
        else:
            self._waiting.append(data)
        self._waiting_bytes += len(data)
        while self._waiting_bytes > _WAITING_BYTES:
            if not self._gap:
                self._write(self._redacted.rest(), b"")
                self._redacted = RedactedStream(self._redaction)
            gone = len(self._waiting.pop(0))
            self._waiting_bytes -= gone
            self._gap, self._skip = self._gap + gone, _SKIPPED

    def look_through(self) -> None:
        """Remove the secrets from the next waiting piece, and write it."""
        data = self._waiting.pop(0)
        if len(data) > _PIECE:
            self._waiting.insert(0, data[_PIECE:])
            data = data[:_PIECE]
        self._waiting_bytes -= len(data)
        if self._skip:
            data = self._skipped(data)
            if not self._skip:
                self._end_gap()
        if kept := self._redacted.feed(data):
            self._write(kept, b"")
        self._has_rest = True

    def write_rest(self) -> None:
        """Write the held-back end, as if it were no part of a secret. Later output replaces it."""
        if self._gap:
            self._end_gap()
        if self._has_rest:
            self._write(b"", self._redacted.rest())
            self._has_rest = False

    def _skipped(self, data: bytes) -> bytes:
        """What follows the dropped bytes and the next line end. What is before may be the end of a secret."""
        at = data.find(b"\n", self._skip - 1) + 1 if len(data) >= self._skip else 0
        self._gap += at or len(data)
        self._skip = 0 if at else max(self._skip - len(data), 1)
        return data[at:] if at else b""

    def _end_gap(self) -> None:
        """Start a new segment after dropped output, so that offsets still count everything that was written."""
        note = f"\n[… {self._gap} bytes came faster than they could be looked through and are not kept …]\n".encode()
        if self._file >= 0:
            self._close()
        self._start = self._end = self._end + max(self._gap - len(note), 0)
        self._gap = 0
        self._write(note, b"")

    def _write(self, kept: bytes, rest: bytes) -> None:
        """Write to the segment. Later output follows `kept` and replaces `rest`. On a full disk, both are lost."""
        if self._file < 0 and not kept and not rest:
            return
        try:
            if self._file < 0:
                self._file = os.open(f"{self._prefix}{self._start}", os.O_WRONLY | os.O_CREAT, 0o600)
            at = self._end - self._start
            os.lseek(self._file, at, os.SEEK_SET)
            data = memoryview(kept + rest)
            while data:
                data = data[os.write(self._file, data) :]
            os.ftruncate(self._file, at + len(kept) + len(rest))
        except OSError:  # because the disk may be full, or the run's folder be deleted
            return
        self._end += len(kept)
        if self._end - self._start >= self._segment_bytes and not rest:
            self._close()

    def _close(self) -> None:
        os.close(self._file)
        self.closed.append((f"{self._prefix}{self._start}", self._end - self._start))
        self._file, self._start = -1, self._end


class OutputRecorder:
    """Records all streams of one command. `kept_bytes` limits what is on disk."""

    def __init__(self, folder: str, redaction: Redaction, kept_bytes: int = KEPT_BYTES) -> None:
        self._most = kept_bytes - kept_bytes // _SEGMENTS * len(STREAMS)
        self._streams = [_Stream(folder, name, redaction, kept_bytes // _SEGMENTS) for name in STREAMS]

    @property
    def is_waiting(self) -> bool:
        return any(stream.is_waiting for stream in self._streams)

    def take(self, number: int, data: bytes) -> None:
        """Add data that the command wrote to the stream of that number."""
        self._streams[number].take(data)

    def look_through(self) -> None:
        """Remove the secrets from one waiting piece of each stream, and delete output above the limit."""
        for stream in self._streams:
            if stream.is_waiting:
                stream.look_through()
        while sum(size for stream in self._streams for _, size in stream.closed) > self._most:
            largest = max(self._streams, key=lambda stream: sum(size for _, size in stream.closed))
            path, _ = largest.closed.pop(0)
            try:  # noqa: SIM105 — contextlib takes longer to load than all the rest
                os.unlink(path)  # noqa: PTH108 — so does pathlib
            except OSError:  # because Wisp may have made room for other commands
                pass

    def finish(self) -> None:
        """Write everything that was added."""
        while self.is_waiting:
            self.look_through()
        for stream in self._streams:
            stream.write_rest()


def redaction_of(mark: str, rules: Sequence[tuple[Sequence[str], str, str, bool]]) -> Redaction:
    return Redaction(mark, [Pattern(*rule[:3], spans_lines=rule[3]) for rule in rules])


def record_here(recorder: OutputRecorder, lock: LockType, number: int, source: int) -> None:
    """Record what arrives at `source`, until it ends. Runs on a thread of Wisp where pipes cannot be polled."""
    while data := os.read(source, _CHUNK):
        with lock:
            recorder.take(number, data)
            recorder.finish()
    os.close(source)


def _is_over(control: int, answers: int, gone: Callable[[], object]) -> bool:
    """Answer Wisp's request to write everything to disk. Returns whether Wisp says that the run is over, or has gone.

    If it has gone without a word, `gone` is called.
    """
    try:
        said = os.read(control, 1)
        if said not in (b"", _OVER):
            os.write(answers, b".")
            return False
    except OSError:  # because Wisp may have gone while it waits for the answer
        said = b""
    if not said:
        gone()
    return True


def _is_ended(recorder: OutputRecorder, number: int, source: int) -> bool:
    """Read output for a moment: a command may never stop writing. Returns whether the output has ended."""
    until = time.monotonic() + _READING_S
    try:
        while time.monotonic() < until:
            data = os.read(source, _CHUNK)
            if not data:
                return True
            recorder.take(number, data)
    except BlockingIOError:  # This is no end, because the pipe is only empty and still open.
        pass
    return False


if sys.platform != "win32":  # where `record_here` records

    def record(
        recorder: OutputRecorder, sources: Sequence[int], control: int, answers: int, gone: Callable[[], object]
    ) -> None:
        """Record until the last writer has closed the `sources` and the run is over.

        A byte on `control` asks for everything so far, or says that the run is over. `gone` is called if Wisp goes
        before that.
        """
        import select

        numbers = {source: number for number, source in enumerate(sources)}
        poll = select.poll()
        for fd in (*sources, control):
            os.set_blocking(fd, fd == control)
            poll.register(fd, select.POLLIN)
        is_resting, is_over = True, False
        while numbers or not is_over:
            ready = {fd for fd, _ in poll.poll(0 if recorder.is_waiting else None if is_resting else _REST_MS)}
            is_resting = not ready and not recorder.is_waiting
            for fd in ready & numbers.keys():
                if _is_ended(recorder, numbers[fd], fd):
                    poll.unregister(fd)
                    del numbers[fd]
            if recorder.is_waiting:
                recorder.look_through()
            elif is_resting:
                recorder.finish()
            if control in ready:
                for fd, number in numbers.items():
                    _is_ended(recorder, number, fd)
                recorder.finish()
                if _is_over(control, answers, gone):
                    poll.unregister(control)
                    is_over = True
        recorder.finish()

    def run(arguments: Sequence[str]) -> int:
        """Read the patterns and what ends the run from standard input, then record.

        Arguments: folder, limit, sources.
        """
        import marshal

        size, table = int.from_bytes(os.read(0, 8), "big"), b""
        while len(table) < size and (part := os.read(0, size - len(table))):
            table += part
        mark, rules, ending = marshal.loads(table)
        folder, kept_bytes, *sources = arguments
        recorder = OutputRecorder(folder, redaction_of(mark, rules), int(kept_bytes))

        def end() -> None:
            os.posix_spawn(ending[0], ending, os.environ)

        record(recorder, [int(fd) for fd in sources], 0, 1, end)
        return 0
