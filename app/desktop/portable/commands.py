"""Short-lived helper programs of the system, asked without holding up the desktop thread."""

from __future__ import annotations

import asyncio

from app.base.clipping import clip_line
from app.base.errors import ToolFailed

_LIMIT_S = 10.0
_WORDS_CHARS = 200


async def output_of(*command: str, given: str = "") -> str:
    """What a program prints. ToolFailed when it fails or takes too long."""
    process = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(_LIMIT_S):
            said, complaint = await process.communicate(given.encode("utf-8"))
    except TimeoutError:
        process.kill()
        raise ToolFailed(f"{command[0]} did not answer within {_LIMIT_S:g} seconds.") from None
    if process.returncode:
        raise ToolFailed(f"{command[0]}: {clip_line(complaint.decode('utf-8', 'replace'), _WORDS_CHARS)}")
    return said.decode("utf-8", "replace")
