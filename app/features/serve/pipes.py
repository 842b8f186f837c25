"""Standard input and output as the MCP SDK takes them, without a thread for each line.

What else is printed in this process, also by programs that it starts, goes to standard error: the client reads nothing
but the protocol.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from typing import IO

_LONGEST_LINE = 32 * 1024 * 1024
_TOO_LONG = '"a line of over 32 MB"\n'
"""Valid JSON, but no message: the client is told so."""


class Lines:
    """Lines of text from a stream of bytes. Iterating ends with the stream."""

    def __init__(self, stream: asyncio.StreamReader) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[str]:
        while True:
            try:
                line = await self._stream.readline()
            except ValueError:  # because it is longer than the limit
                yield _TOO_LONG
                continue
            if not line:
                return
            yield line.decode("utf-8", "replace")


class Output:
    """Writes text to a pipe, and waits while its reader is slow."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def write(self, text: str) -> None:
        self._writer.write(text.encode("utf-8", "replace"))

    async def flush(self) -> None:
        await self._writer.drain()


async def standard_pipes() -> tuple[Lines, Output]:
    """Take over standard input and output. Raises ValueError if they are no pipes."""
    reading, writing = _taken(0, os.open(os.devnull, os.O_RDONLY), "rb"), _taken(1, os.dup(2), "wb")
    sys.stdout = sys.stderr
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=_LONGEST_LINE)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), reading)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, writing)
    return Lines(reader), Output(asyncio.StreamWriter(transport, protocol, None, loop))


def _taken(number: int, instead: int, mode: str) -> IO[bytes]:
    """Return a standard stream for the protocol alone, and put another one in its place."""
    own = os.fdopen(os.dup(number), mode, buffering=0)
    os.dup2(instead, number)
    os.close(instead)
    return own
