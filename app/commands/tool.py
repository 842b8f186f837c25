"""`wisp tool`: run protocol text from the argument, or from standard input as it arrives.

Each complete call runs as soon as it closes and is answered with one JSON line, in the order of the calls, flushed:
`{"tool","ok","event","echo","payload","media":[{"path","media_type","width","height"}],"ms"}`. A program can keep it
open as a co-process and pays for the start once: `wisp: ready` on standard error says that the start is over. Its
pictures are files that go when it ends; `--pictures inline` puts them into the lines instead, as `"data"` in base64.
Exit code 1 if a call failed, 2 if there was no call at all, 130 if it was stopped: by the stop key, Ctrl+C or SIGTERM.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import codecs
import os
import re
import shutil
import sys
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Coroutine
from concurrent.futures import Future
from pathlib import Path

from app import options as shared
from app.agent.agent_events import AgentEvent, Notice
from app.agent.calls import reach_of, side_by_side
from app.assistant import Assistant, assembled
from app.base import ids, logs, output, paths
from app.base.startup import STOPPED, stop_on_signals
from app.options import on_a_display
from app.protocol.call import Block, Media, ToolResult, tool_error
from app.protocol.dialects.api import Pacing
from app.protocol.dialects.choose import by_name
from app.protocol.message import BatchClosed, CallClosed, CallCut, Misread, ReaderEvent
from app.providers import profiles
from app.settings.store import Settings

_CHUNK_BYTES = 65_536
_ENDINGS = {"image/jpeg": "jpg", "image/png": "png"}
_MISUSED = 2
_PICTURES = 64
"""So many of a co-process's pictures are kept: who wants an older one has copied it."""
_UP_TO_A_TAG = re.compile(r"[^>]*>|[^>]+")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "text",
        nargs="?",
        help="calls of tools, as a model writes them; otherwise they are read from standard input as they come",
    )
    parser.add_argument(
        "--dialect", choices=("xml", "batch"), default="xml", help="the form in which the calls are written"
    )
    parser.add_argument(
        "--pictures",
        choices=("files", "inline"),
        default="files",
        help="keep pictures as files, or write them into the answers as base64",
    )
    shared.add_workspace_option(parser)
    shared.add_rehearsal_options(parser)


def run(options: argparse.Namespace) -> int:
    logs.to_file()
    given = argparse.Namespace(workspace=options.workspace, provider=profiles.OFFLINE)
    settings = shared.settings_of(given)  # no model is asked, so that no key is looked up either
    with on_a_display(needed=not (options.dry_run or options.no_screen)) as own:
        own.announce()
        return asyncio.run(_interruptible(_serve(options, settings)))


async def _interruptible(work: Coroutine[object, object, int]) -> int:
    """Run the work and return its exit code. A stop ends the running call, so that no key stays pressed."""
    serving = asyncio.ensure_future(work)
    stop_on_signals(serving.cancel)
    try:
        return await serving
    except asyncio.CancelledError:
        shared.warn("Stopped. The call that was running has ended.")
        return STOPPED


def _tell(event: AgentEvent) -> None:
    """Print what the person must know before a call goes on, such as a question of the desktop's."""
    if isinstance(event, Notice):
        print(f"wisp: {event.sentence}", file=sys.stderr)


async def _serve(options: argparse.Namespace, settings: Settings) -> int:
    async with assembled(settings, dry_run=options.dry_run, without_screen=options.no_screen) as assistant:
        album = _Album(is_inline=options.pictures == "inline")
        desk = _Desk(assistant, album, batches=by_name(options.dialect).pacing is Pacing.ONE_BATCH)
        # A task of its own, so that the stop key never cuts the closing short.
        answering = asyncio.ensure_future(_answer_all(options, assistant, desk))
        assistant.on_stop(answering.cancel)
        assistant.subscribe(_tell)
        try:
            await answering
        finally:
            if options.text is None:
                album.clear()
        if assistant.is_stopped:  # because a call that sends input may have ended with the stop
            raise asyncio.CancelledError
    if desk.answered == 0:
        otherwise = "There is no tool call in that text. How calls are written: wisp tools"
        names = [spec.name for spec in assistant.registry.specs]
        print(f"wisp: {shared.name_no_call(options.text or '', names, otherwise)}", file=sys.stderr)
        return _MISUSED
    return int(desk.failed > 0)


async def _answer_all(options: argparse.Namespace, assistant: Assistant, desk: _Desk) -> None:
    dialect, specs = by_name(options.dialect), assistant.registry.specs
    reader = dialect.reader(specs)
    if options.text is None:
        print("wisp: ready", file=sys.stderr, flush=True)
    async for piece in _pieces(options.text):
        await desk.take(reader.feed(piece))
        if desk.batch_done:
            reader = dialect.reader(specs)
            desk.batch_done = False
    await desk.take(reader.flush())


async def _chunks(text: str | None) -> AsyncIterator[str]:
    """Yield the argument, or standard input as it arrives. Bytes that are no UTF-8 become U+FFFD."""
    if text is not None:
        yield text
        return
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    while data := await _read():
        yield decoder.decode(data)
    yield decoder.decode(b"", final=True)


async def _read() -> bytes:
    """What arrives next on standard input; b"" at its end. Raises OSError."""
    arrived: Future[bytes] = Future()  # of a thread that does not hold up the exit, as those of asyncio do
    arrived.set_running_or_notify_cancel()

    def read() -> None:
        try:
            arrived.set_result(os.read(sys.stdin.fileno(), _CHUNK_BYTES))
        except OSError as error:
            arrived.set_exception(error)

    threading.Thread(target=read, name="standard input", daemon=True).start()
    return await asyncio.wrap_future(arrived)


async def _pieces(text: str | None) -> AsyncIterator[str]:
    """Yield the text, or standard input if it is None, cut after every `>`.

    A reader reads only one batch. The next batch must therefore begin in a new piece, which a new reader gets.
    """
    async for chunk in _chunks(text):
        for piece in _UP_TO_A_TAG.findall(chunk):
            yield piece


class _Desk:
    """Runs the calls that the reader has completed, and prints one answer for each, in their order."""

    def __init__(self, assistant: Assistant, album: _Album, *, batches: bool) -> None:
        self._assistant = assistant
        self._album = album
        self._batches = batches
        self._waiting: list[Block] = []
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
        """Run the calls, in parallel if their order does not matter. Each is answered once all calls before it are."""
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
            "media": [self._album.kept(media) for media in result.llm_media],
            "ms": round(seconds * 1000, 1),
        }
        print(output.as_json(line), flush=True)


class _Album:
    """The pictures of this process: the newest ones are files in a folder, or each is written into its answer."""

    def __init__(self, *, is_inline: bool) -> None:
        self._is_inline = is_inline
        self._folder = paths.state_dir() / "media" / ids.unique()
        self._files: deque[Path] = deque()

    def kept(self, media: Media) -> dict[str, str | int]:
        place = {"data": base64.b64encode(media.data).decode()} if self._is_inline else {"path": self._written(media)}
        return {**place, "media_type": media.media_type, "width": media.width, "height": media.height}

    def _written(self, media: Media) -> str:
        self._folder.mkdir(parents=True, mode=0o700, exist_ok=True)
        path = self._folder / f"{ids.unique()}.{_ENDINGS.get(media.media_type, 'bin')}"
        path.write_bytes(media.data)
        self._files.append(path)
        while len(self._files) > _PICTURES:
            self._files.popleft().unlink(missing_ok=True)
        return str(path)

    def clear(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
