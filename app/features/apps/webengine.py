"""The small window engine: surfaces in QtWebEngine, in a process of its own that Wisp starts with the first window.

It has the same calls as `Chromium`, and the same walls: Wisp's worker is its proxy and only way out, by Chromium's own
switches. The process reads requests from a pipe and ends when the worker does.
"""

from __future__ import annotations

import asyncio
import base64
import functools
import itertools
import json
import os
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from app.base.errors import NeedsPerson, ToolFailed
from app.base.findings import Finding, note, ok
from app.base.phrases import Phrase
from app.base.startup import worker_command
from app.features.apps import memory
from app.features.apps.chromium import (
    PICTURE_WIDTH_PX,
    Chromium,
    clamped,
    is_sandboxed,
    last_words,
    last_words_in,
    program,
    settings,
)
from app.features.apps.settings import SURFACE_ENGINE
from app.services.extras import is_there, way_to_add
from app.settings import store as settings_store

_ANSWER_S, _START_S, _END_S = 10.0, 30.0, 5.0
_MOST_MESSAGE_BYTES = 64 << 20


def is_installed() -> bool:
    """Loads nothing of QtWebEngine."""
    return is_there("PySide6.QtWebEngineWidgets")


def why_unusable() -> str:
    """Return "" if QtWebEngine loads, else its last words: a library of Qt's own or of the system may be missing.

    It is loaded by a process of its own, in 0.2 s.
    """
    command = worker_command("surface-windows")  # which loads it, and ends when it is asked for nothing
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_START_S, check=False, text=True
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return last_words(done.stderr) if done.returncode else ""


def installed_engines() -> tuple[str, ...]:
    """The engines that are here, "webengine" and "chromium", the one that the setting names first."""
    wanted = settings_store.load()[SURFACE_ENGINE]
    there = {"webengine": is_installed(), "chromium": bool(program())}
    return tuple(sorted((name for name, is_there in there.items() if is_there), key=lambda name: name != wanted))


def engines(profile: Path, port: int) -> list[Chromium | WebEngine]:
    """Return the installed engines. The first one is to be used, and the next where it does not start.

    Raises NeedsPerson if there is none.
    """
    if not (names := installed_engines()):
        raise NeedsPerson(settings()["says"]["missing"])
    return [WebEngine(profile, port) if name == "webengine" else Chromium(profile, port) for name in names]


class WebEngine:
    """At most one process of QtWebEngine, started with the first window. It ends when its last window closes.

    `crashed` gets the address of each window whose process has ended by itself.
    """

    name = "QtWebEngine"

    def __init__(self, profile: Path, port: int) -> None:
        self._port = port
        self._said = profile.with_suffix(".log")
        self._process: asyncio.subprocess.Process | None = None
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._listening: asyncio.Future[None] | None = None
        self.crashed: asyncio.Queue[str] = asyncio.Queue()
        self.ended = asyncio.Event()
        self.ended.set()

    @property
    def is_running(self) -> bool:
        return not self.ended.is_set()

    async def show(self, url: str, size: tuple[int, int]) -> None:
        """Open a window with the address. Raises ToolFailed. A process that ends at once sets `ended`."""
        if not self.is_running:
            await self._start()
        try:
            await self._ask("show", url, limit_s=_START_S, width=size[0], height=size[1])
        except ToolFailed:
            if self.is_running:
                raise
        assert self._process
        memory.allow_browser(self._process.pid)

    async def raise_window(self, url: str, *, takes_keyboard: bool) -> bool:
        """Bring the window with this address to the front. Returns False if there is none."""
        return bool(await self._ask("raise", url, takes_keyboard=takes_keyboard))

    async def reload(self, url: str) -> bool:
        """Load the window with this address anew, also where its page has crashed. Returns False if there is none."""
        return bool(await self._ask("reload", url))

    async def resize(self, url: str, width: int, height: int) -> bool:
        """Give the window with this address room for a page of that size, in pixels; 0 leaves a side as it is."""
        sides = {name: side for name, side in clamped(width, height).items() if side}
        return bool(sides and await self._ask("resize", url, **{"width": 0, "height": 0, **sides}))

    async def close_window(self, url: str) -> bool:
        """Close the window with this address. Returns False if there is none."""
        return bool(await self._ask("close", url))

    async def picture(self, url: str) -> tuple[bytes, int, int] | None:
        """Return what the window with this address shows, as JPEG with its size in pixels; None if there is none."""
        taken = await self._ask("picture", url, width=PICTURE_WIDTH_PX)
        return (base64.b64decode(taken["data"]), int(taken["width"]), int(taken["height"])) if taken else None

    async def end(self) -> None:
        """End the process with all its windows, and wait for it; after five seconds it is killed."""
        if not (self._process and self.is_running):
            return
        if self._process.stdin:
            self._process.stdin.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(_END_S):
                await self.ended.wait()
        if self.is_running:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self.ended.wait()

    def last_words(self) -> str:
        """Return the last words of the process's error output; "" if there are none."""
        return last_words_in(self._said)

    async def _start(self) -> None:
        self._said.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        said = os.open(self._said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            self._process = await asyncio.create_subprocess_exec(
                *worker_command("surface-windows"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=said,
                env=_environment(self._port),
                limit=_MOST_MESSAGE_BYTES,
            )
        except OSError as error:
            raise ToolFailed(f"{self.name} cannot be started ({error.strerror}).") from error
        finally:
            os.close(said)
        self.ended.clear()
        self._listening = asyncio.ensure_future(self._listen(self._process))

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout
        with suppress(OSError, ValueError, KeyError, TypeError):  # because it has ended in the middle of a line
            while line := await process.stdout.readline():
                said = json.loads(line)
                if "crashed" in said:
                    self.crashed.put_nowait(said["crashed"])
                    continue
                answer = self._waiting.get(said["number"])
                if answer is not None and not answer.done():
                    answer.set_result(said["ok"])
        if process.stdin:
            process.stdin.close()  # after a broken line, too, which ends it
        await process.wait()
        self.ended.set()
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(ToolFailed("What shows small apps has ended. Open the app again."))

    async def _ask(self, op: str, url: str, *, limit_s: float = _ANSWER_S, **given: Any) -> Any:
        if not (self._process and self._process.stdin and self.is_running):
            return None
        number = next(self._numbers)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            self._process.stdin.write(json.dumps({"number": number, "op": op, "url": url, **given}).encode() + b"\n")
            async with asyncio.timeout(limit_s):
                return await answer
        except (OSError, TimeoutError) as error:
            raise ToolFailed("What shows small apps does not answer. Try again.") from error
        finally:
            self._waiting.pop(number, None)


def _environment(port: int) -> Mapping[str, str]:
    """Chromium's switches are in it: they must be known before it is loaded."""
    flags = [_quoted(switch.replace("{port}", str(port))) for switch in _switches()]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("QTWEBENGINE_")}
    # Qt switches the sandbox off where this variable is set at all:
    # https://doc.qt.io/qt-6/qtwebengine-platform-notes.html#sandboxing-support
    off = {} if is_sandboxed() else {"QTWEBENGINE_DISABLE_SANDBOX": "1"}
    return {**kept, "QTWEBENGINE_CHROMIUM_FLAGS": " ".join(flags), **off}


@functools.cache
def _switches() -> tuple[str, ...]:
    # A class is set by X itself, and Qt takes a switch of that name for its own.
    return tuple(switch for switch in settings()["switches"] if not switch.startswith("--class"))


def _quoted(switch: str) -> str:
    name, _, value = switch.partition("=")
    return f'{name}="{value}"' if " " in value else switch


def check_engines() -> Finding:
    """Report what shows the apps that Wisp makes."""
    name = "Small apps"
    engines = installed_engines()
    if engines[:1] == ("webengine",):
        if not (why := why_unusable()):
            return ok(name, "The small window engine shows them.")
        told = "The small window engine does not load ({why})."
        if len(engines) > 1:
            told = "The small window engine does not load ({why}), so {program} shows them."
        values = {"why": why, "program": str(program())}
        return note(name, Phrase(told, values), way_to_add("surfaces", again=True))
    if engines:
        return ok(name, Phrase("{program} shows them.", {"program": str(program())}))
    return note(
        name, "Nothing on this computer can show them.", "Open Wisp's page Apps, and get the small window engine there."
    )
