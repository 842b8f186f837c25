"""Standard input and output as the MCP SDK takes them, without a thread for each line.

What else is printed in this process, also by programs that it starts, goes to standard error: the client reads nothing
but the protocol.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import stat
import sys
from collections.abc import AsyncIterator
from typing import IO

from app.base.clipping import clip_line

_LONGEST_LINE = 32 * 1024 * 1024
_TOO_LONG = '"a line of over 32 MB"'
_WHY_CHARS = 300
_ID = re.compile(r'"id"\s*:\s*(\d{1,18}|"[^"\\]{1,100}")')


class Output:
    """Writes text to a pipe, and waits while its reader is slow."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def write(self, text: str) -> None:
        self._writer.write(text.encode("utf-8", "replace"))

    async def flush(self) -> None:
        await self._writer.drain()


class Lines:
    """The client's messages, a line each, until the stream ends. A line that is no message is answered here.

    The SDK drops such a line (`mcp.server.stdio`), and its sender would wait for ever.
    """

    def __init__(self, stream: asyncio.StreamReader, answers: Output) -> None:
        self._stream = stream
        self._answers = answers

    async def __aiter__(self) -> AsyncIterator[str]:
        while True:
            try:
                line = (await self._stream.readline()).decode("utf-8", "replace")
            except ValueError:  # because it is longer than the limit
                line = _TOO_LONG
            if not line:
                return
            if fault := _fault_of(line):
                await self._answers.write(fault)
                await self._answers.flush()
            elif line.strip():
                yield line


def _fault_of(line: str) -> str:
    """Return the error to answer a line with that is no JSON-RPC message; "" if it is one, or blank.

    https://www.jsonrpc.org/specification#error_object
    """
    import mcp_types as types  # late, because it takes a second
    from pydantic import ValidationError

    if not line.strip():
        return ""
    try:
        types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError as error:
        why = clip_line(error.errors()[0]["msg"], _WHY_CHARS)
    else:
        return ""
    code, number = types.INVALID_REQUEST, None
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        code, found = types.PARSE_ERROR, _ID.search(line)
        number = json.loads(found[1]) if found else None
    else:
        given = told.get("id") if isinstance(told, dict) else None
        number = given if isinstance(given, (str, int)) and not isinstance(given, bool) else None
    told = {"code": code, "message": f"This line is no JSON-RPC message of MCP: {why}"}
    return json.dumps({"jsonrpc": "2.0", "id": number, "error": told}) + "\n"


def is_piped() -> bool:
    """True for pipes or sockets at standard input and output, as agents have them."""
    try:
        modes = [os.fstat(number).st_mode for number in (0, 1)]
    except OSError:  # because one is closed
        return False
    return all(stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) for mode in modes)


async def standard_pipes() -> tuple[Lines, Output]:
    """Take over standard input and output, which must be piped."""
    reading, writing = _taken(0, os.open(os.devnull, os.O_RDONLY), "rb"), _taken(1, os.dup(2), "wb")
    sys.stdout = sys.stderr
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=_LONGEST_LINE)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), reading)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, writing)
    output = Output(asyncio.StreamWriter(transport, protocol, None, loop))
    return Lines(reader, output), output


def _taken(number: int, instead: int, mode: str) -> IO[bytes]:
    """A standard stream for the protocol alone. Puts another one in its place."""
    own = os.fdopen(os.dup(number), mode, buffering=0)
    os.dup2(instead, number)
    os.close(instead)
    return own
