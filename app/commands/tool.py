"""`wisp tool`: runs protocol text from the argument, or from standard input as it streams.

Each complete call runs as soon as it closes and is answered with one JSON line, in the order of the calls, flushed:
`{"tool","ok","event","echo","payload","media":[{"path","media_type","width","height"}],"ms"}`. A program can keep it
open as a co-process and pays for the start once. Exit code 1 if a call failed, 2 if there was no call at all.
"""

from __future__ import annotations

import argparse
import asyncio
import codecs
import json
import os
import re
import sys
import time
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path

from app.agent.scheduling import reach_of, side_by_side
from app.assistant import Assistant, assembled
from app.base import ids, logs, paths
from app.base.interrupts import STOPPED, stop_on_signals
from app.commands import options as shared
from app.commands.options import on_a_display
from app.protocol.call import Block, Media, ToolResult, tool_error
from app.protocol.dialects.api import Pacing
from app.protocol.dialects.choose import by_name
from app.protocol.message import BatchClosed, CallClosed, CallCut, Misread, ReaderEvent
from app.settings.store import Settings

_CHUNK_BYTES = 65_536
_ENDINGS = {"image/jpeg": "jpg", "image/png": "png"}
_MISUSED = 2
_UP_TO_A_TAG = re.compile(r"[^>]*>|[^>]+")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", nargs="?", help="protocol text; without it standard input is read as it comes")
    parser.add_argument("--dialect", choices=("xml", "batch"), default="xml", help="how the calls are written")
    parser.add_argument(
        "--dry-run", action="store_true", help="work on a desktop that only writes down what it is told"
    )


def run(options: argparse.Namespace) -> int:
    logs.to_file()
    settings = shared.settings_of(argparse.Namespace())
    with on_a_display(needed=not options.dry_run) as own:
        own.announce()
        return asyncio.run(_interruptible(_serve(options, settings)))


async def _interruptible(work: Coroutine[object, object, int]) -> int:
    """Ctrl+C and a polite kill end the call that runs, so that nothing stays pressed."""
    serving = asyncio.ensure_future(work)
    stop_on_signals(serving.cancel)
    try:
        return await serving
    except asyncio.CancelledError:
        return STOPPED


async def _serve(options: argparse.Namespace, settings: Settings) -> int:
    async with assembled(settings, dry_run=options.dry_run) as assistant:
        dialect = by_name(options.dialect)
        desk = _Desk(assistant, batches=dialect.pacing is Pacing.ONE_BATCH)
        reader = dialect.reader(assistant.registry.specs)
        async for piece in _pieces(options.text):
            await desk.take(reader.feed(piece))
            if desk.batch_done:
                reader = dialect.reader(assistant.registry.specs)
                desk.batch_done = False
        await desk.take(reader.flush())
    if desk.answered == 0:
        otherwise = "there was no tool call in that text; `wisp tools` shows how calls are written."
        names = [spec.name for spec in assistant.registry.specs]
        print(f"wisp: {shared.name_no_call(options.text or '', names, otherwise)}", file=sys.stderr)
        return _MISUSED
    return int(desk.failed > 0)


async def _chunks(text: str | None) -> AsyncIterator[str]:
    """The argument, or standard input piece by piece as it arrives; bytes that are no UTF-8 become U+FFFD."""
    if text is not None:
        yield text
        return
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    while data := await asyncio.to_thread(os.read, sys.stdin.fileno(), _CHUNK_BYTES):
        yield decoder.decode(data)
    yield decoder.decode(b"", final=True)


async def _pieces(text: str | None) -> AsyncIterator[str]:
    """The text cut after every `>`: a reader that stops after its first batch leaves nothing of the next one behind."""
    async for chunk in _chunks(text):
        for piece in _UP_TO_A_TAG.findall(chunk):
            yield piece


class _Desk:
    """Runs what the reader closes and writes the answers down in order."""

    def __init__(self, assistant: Assistant, *, batches: bool) -> None:
        self._assistant = assistant
        self._batches = batches
        self._waiting: list[Block] = []
        self._media_folder: Path | None = None
        self.batch_done = False
        self.answered = 0
        self.failed = 0

    async def take(self, events: list[ReaderEvent]) -> None:
        for event in events:
            if isinstance(event, CallClosed) and self._batches:
                self._waiting.append(event.block)
            elif isinstance(event, CallClosed):
                await self._run([event.block])
            elif isinstance(event, BatchClosed):
                await self._run(self._waiting)
                self._waiting = []
                self.batch_done = True
            elif isinstance(event, CallCut):
                reason = "the input ended inside this call; nothing was run. Write it again, whole."
                self._write(event.block.name, tool_error(event.block.name, reason), 0.0)
            elif isinstance(event, Misread):
                self._write("", tool_error(event.code, event.detail), 0.0)

    async def _run(self, blocks: list[Block]) -> None:
        """Side by side where they may; each is answered as soon as all before it are."""
        done: dict[int, tuple[ToolResult, float]] = {}
        answered = 0

        async def run(index: int) -> None:
            nonlocal answered
            started = time.perf_counter()
            result = await self._assistant.run(blocks[index])
            done[index] = result, time.perf_counter() - started
            while answered in done:
                self._write(blocks[answered].name, *done.pop(answered))
                answered += 1

        find = self._assistant.registry.find
        await side_by_side([reach_of(block, find(block.name)) for block in blocks], run)

    def _write(self, tool: str, result: ToolResult, seconds: float) -> None:
        self.answered += 1
        self.failed += not result.ok
        line = {
            "tool": tool,
            "ok": result.ok,
            "event": result.event,
            "echo": result.llm_echo,
            "payload": result.payload,
            "media": [self._kept(media) for media in result.llm_media],
            "ms": round(seconds * 1000, 1),
        }
        print(json.dumps(line, ensure_ascii=False), flush=True)

    def _kept(self, media: Media) -> dict[str, str | int]:
        if self._media_folder is None:
            self._media_folder = paths.state_dir() / "media" / ids.unique()
            self._media_folder.mkdir(parents=True, mode=0o700)
        path = self._media_folder / f"{ids.unique()}.{_ENDINGS.get(media.media_type, 'bin')}"
        path.write_bytes(media.data)
        return {"path": str(path), "media_type": media.media_type, "width": media.width, "height": media.height}
