"""The browser that shows surfaces: a Chromium with a separate profile, which can reach only Wisp's process.

Wisp controls it through two pipes (https://chromedevtools.github.io/devtools-protocol/), so that it opens no port.
Every page that is no surface is closed as soon as it appears.
"""

from __future__ import annotations

import asyncio
import base64
import io
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from app.base import resources
from app.base.clipping import clip_line
from app.base.errors import NeedsPerson, ToolFailed
from app.features.apps import memory

CONTROL = "surfaces.json"
"""The file in the runtime folder by which Wisp finds the worker that shows surfaces."""
_ANSWER_S = 10.0
_HAND_OVER_S = 15.0
_END_S = 5.0
_HIGH_FD = 10
_SAID_BYTES, _SAID_CHARS = 2_000, 240
_ERRORS = (":FATAL:", "Error: ", ":ERROR:")
_PLACE = re.compile(r"\A\[\S*:(?:FATAL|ERROR):\S*\] ?")
_MOST_MESSAGE_BYTES = 64 << 20
PICTURE_WIDTH_PX = 720
_TAKEN_QUALITY, _PICTURE_QUALITY = 90, 75


def settings() -> Mapping[str, Any]:
    return resources.table("surfaces/engine.toml", resources.Table)


def program() -> str:
    """Return the browser on this machine that shows surfaces, or ""."""
    return next((found for name in settings()["programs"] if (found := shutil.which(name))), "")


def is_sandboxed() -> bool:
    """True if the browser's own sandbox works here. It never does for root."""
    return sys.platform == "win32" or os.geteuid() != 0


def command(profile: Path, port: int, url: str, size: tuple[int, int]) -> list[str]:
    """Return the command that shows the address in a window of its own. Raises NeedsPerson without a browser."""
    found = program()
    if not found:
        raise NeedsPerson(settings()["says"]["missing"])
    switches = [switch.replace("{port}", str(port)) for switch in settings()["switches"]]
    switches += [] if is_sandboxed() else settings()["root_switches"]
    switches += [f"--window-size={size[0]},{size[1]}", *_in_the_middle(size)]
    return [found, f"--user-data-dir={profile}", *switches, f"--app={url}"]


def _in_the_middle(size: tuple[int, int]) -> list[str]:
    """Return the switch for the middle of the person's main monitor, because Chromium asks for the top left corner.

    Empty where nobody but the browser can know the monitors.
    """
    if not os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        return []
    from Xlib.display import Display
    from Xlib.error import DisplayError, XauthError, XError

    try:
        with closing(Display()) as display:
            monitors = display.screen().root.xrandr_get_monitors().monitors
    except (DisplayError, XauthError, OSError, OverflowError):  # because the browser will say so itself
        return []
    except (XError, AttributeError):  # because its RandR is older than 1.5, or there is none
        return []
    main = max(monitors, key=lambda monitor: bool(monitor.primary), default=None)
    if main is None:
        return []
    sides = ((main.x, main.width_in_pixels, size[0]), (main.y, main.height_in_pixels, size[1]))
    left, top = (at + max(room - needed, 0) // 2 for at, room, needed in sides)
    return [f"--window-position={left},{top}"]


def last_words(said: str) -> str:
    """Return the line of an error output that says why a program ended: the last that names an error, else the last.

    It comes without a full stop, and without the place in Chromium's source.
    """
    lines = [line for line in said.splitlines() if line.strip()]
    found = next((line for mark in _ERRORS for line in reversed(lines) if mark in line), lines[-1] if lines else "")
    return clip_line(_PLACE.sub("", found), _SAID_CHARS).rstrip(".")


def last_words_in(log: Path) -> str:
    """Return the last words of an error output that is a file; "" if there are none."""
    with suppress(OSError):  # because it may have written nothing
        return last_words(log.read_bytes()[-_SAID_BYTES:].decode("utf-8", "replace"))
    return ""


def clamped(width: int, height: int) -> dict[str, int]:
    """Return the sides of a window that a page asked for, within what a window may have. 0 is no side."""
    sides = zip(
        ("width", "height"), (width, height), *(settings()["size"][end] for end in ("least", "most")), strict=True
    )
    return {name: min(max(side, low), high) for name, side, low, high in sides if side > 0}


class Chromium:
    """At most one browser process, started with the first window. It ends when its last window closes.

    `crashed` gets the address of each page whose process has ended by itself.
    """

    name = "Chromium"

    def __init__(self, profile: Path, port: int) -> None:
        self._profile = profile
        self._port = port
        self._pid = 0
        self._said = profile.with_suffix(".log")
        self._pipe: _Pipe | None = None
        self._watching: asyncio.Future[None] | None = None
        self.crashed: asyncio.Queue[str] = asyncio.Queue()
        self.ended = asyncio.Event()
        self.ended.set()

    @property
    def is_running(self) -> bool:
        return not self.ended.is_set()

    async def show(self, url: str, size: tuple[int, int]) -> None:
        """Open a window with the address. Raises NeedsPerson or ToolFailed."""
        words = command(self._profile, self._port, url, size)
        if not self.is_running:
            await self._start(words)
            return
        # Started again with the same profile, it hands the address over to the process that runs.
        handed = await asyncio.create_subprocess_exec(
            *words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        waits = [asyncio.ensure_future(one) for one in (handed.wait(), self.ended.wait())]
        await asyncio.wait(waits, timeout=_HAND_OVER_S, return_when=asyncio.FIRST_COMPLETED)
        if not waits[0].done():  # also where the process that runs was ending with its last window
            handed.kill()
            await handed.wait()
            raise ToolFailed(f"{words[0]} did not take the window over.")
        waits[1].cancel()

    async def raise_window(self, url: str, *, takes_keyboard: bool) -> bool:
        """Bring the window with this address to the front. Returns False if there is none.

        It gets the keyboard in any case, because the browser offers nothing else (see `KeyboardGuard`).
        """
        target = await self._target(url)
        del takes_keyboard
        if self._pipe and target:
            await self._pipe.ask("Target.activateTarget", targetId=target)
        return bool(target)

    async def reload(self, url: str) -> bool:
        """Load the window with this address anew, also where its page has crashed. Returns False if there is none."""
        return await self._ask_page(url, "Page.navigate", url=url) is not None

    async def resize(self, url: str, width: int, height: int) -> bool:
        """Give the window with this address room for a page of that size, in pixels; 0 leaves a side as it is."""
        target = await self._target(url)
        if not (self._pipe and target):
            return False
        found = await self._pipe.ask("Browser.getWindowForTarget", targetId=target)
        bounds = clamped(width, height)
        if bounds and found["bounds"].get("windowState") == "normal":
            await self._pipe.ask("Browser.setWindowBounds", windowId=found["windowId"], bounds=bounds)
        return bool(bounds)

    async def close_window(self, url: str) -> bool:
        """Close the window with this address, and wait until it is gone. Returns False if there is none."""
        target = await self._target(url)
        if self._pipe and target:
            gone = self._pipe.gone.setdefault(target, asyncio.Event())
            await self._pipe.ask("Target.closeTarget", targetId=target)
            with suppress(TimeoutError):
                async with asyncio.timeout(_END_S):
                    await gone.wait()
        return bool(target)

    async def picture(self, url: str) -> tuple[bytes, int, int] | None:
        """Return what the window with this address shows, as JPEG with its size in pixels; None if there is none."""
        # Without a clip: a clip with a scale zooms what the person sees until the picture is taken.
        taken = await self._ask_page(url, "Page.captureScreenshot", format="jpeg", quality=_TAKEN_QUALITY)
        return await asyncio.to_thread(_scaled, base64.b64decode(taken["data"])) if taken else None

    async def end(self) -> None:
        """End the browser with all its windows, and wait for it; after five seconds it is killed.

        Does nothing on Windows, where Wisp has no pipe to it.
        """
        if self._pipe and self.is_running:
            with suppress(ToolFailed):  # because it may end before it answers
                await self._pipe.ask("Browser.close")
            with suppress(TimeoutError):
                async with asyncio.timeout(_END_S):
                    await self.ended.wait()
        if self.is_running and self._pid:
            with suppress(ProcessLookupError):
                os.kill(self._pid, 9)
            await self.ended.wait()

    def last_words(self) -> str:
        """Return the last words of the browser's error output; "" if there are none."""
        return last_words_in(self._said)

    async def _ask_page(self, url: str, method: str, /, **params: Any) -> Mapping[str, Any] | None:
        """Send a request to the page in the window with this address, and return the answer; None if there is none."""
        target = await self._target(url)
        if not (self._pipe and target):
            return None
        attached = await self._pipe.ask("Target.attachToTarget", targetId=target, flatten=True)
        session = str(attached["sessionId"])
        try:
            return await self._pipe.ask(method, session, **params)
        finally:
            await self._pipe.ask("Target.detachFromTarget", sessionId=session)

    async def _target(self, url: str) -> str:
        if not self._pipe or not self.is_running:
            return ""
        found = await self._pipe.ask("Target.getTargets")
        pages = [str(one["targetId"]) for one in found.get("targetInfos", ()) if one["type"] == "page"]
        return next((one for one in pages if self._pipe.addresses.get(one) == url), "")

    async def _start(self, words: list[str]) -> None:
        self._profile.mkdir(parents=True, exist_ok=True, mode=0o700)
        if sys.platform == "win32":
            process = await asyncio.create_subprocess_exec(*words)
            self._begin(process.wait())
        else:
            to_read, they_write = _high_pipe()
            they_read, to_write = _high_pipe()
            self._pid = _spawned([words[0], "--remote-debugging-pipe", *words[1:]], they_read, they_write, self._said)
            self._begin(asyncio.to_thread(os.waitpid, self._pid, 0))
            self._pipe = _Pipe(to_read, to_write, self.crashed)
            await self._pipe.begin()
            memory.allow_browser(self._pid)

    def _begin(self, ending: Awaitable[object]) -> None:
        self.ended.clear()
        self._watching = asyncio.ensure_future(self._reap(ending))

    async def _reap(self, ending: Awaitable[object]) -> None:
        await ending
        if self._pipe:
            self._pipe.close()
        self._pipe = None
        self.ended.set()


class _Pipe:
    """The two pipes to the browser: requests, answers and events, each ended by a zero byte.

    `addresses` are those of the pages and frames, by their targets. `gone` are set once their targets are.
    """

    def __init__(self, to_read: int, to_write: int, crashed: asyncio.Queue[str]) -> None:
        self._crashed = crashed
        self.addresses: dict[str, str] = {}
        self.gone: dict[str, asyncio.Event] = {}
        self._to_read = to_read
        self._to_write = to_write
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Mapping[str, Any]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._transport: asyncio.ReadTransport | None = None

    async def begin(self) -> None:
        """Start to read the browser's answers and events. From then on, each page that is no surface is closed."""
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=_MOST_MESSAGE_BYTES)
        self._transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(self._to_read, "rb", buffering=0)
        )
        self._keep(self._listen(reader))
        with suppress(ToolFailed):  # because a browser that ends at once is reported by whoever waits for its window
            await self.ask("Target.setDiscoverTargets", discover=True)
            await self.ask("Browser.setDownloadBehavior", behavior="deny")

    async def ask(self, method: str, session: str = "", **params: Any) -> Mapping[str, Any]:
        """Send a request, to the browser or to the page of a session, and return the answer. Raises ToolFailed."""
        number = next(self._numbers)
        answer: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        said = {"id": number, "method": method, "params": params, **({"sessionId": session} if session else {})}
        data = json.dumps(said).encode() + b"\0"
        try:
            os.write(self._to_write, data)
            async with asyncio.timeout(_ANSWER_S):
                return await answer
        except (OSError, TimeoutError) as error:
            raise ToolFailed("What shows small apps does not answer. Try again.") from error
        finally:
            self._waiting.pop(number, None)

    def close(self) -> None:
        if self._transport:
            self._transport.close()
        with suppress(OSError):  # because it may be closed by now
            os.close(self._to_write)
        self._to_write = -1
        for gone in self.gone.values():
            gone.set()
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(ToolFailed("What shows small apps has ended. Open the app again."))

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        with suppress(asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):  # because it has ended
            while True:
                self._take(json.loads((await reader.readuntil(b"\0"))[:-1]))

    def _take(self, message: Mapping[str, Any]) -> None:
        answer = self._waiting.get(message.get("id", 0))
        if answer is not None and not answer.done():
            if "error" in message:
                answer.set_exception(ToolFailed(f"The browser refused: {message['error'].get('message', '')}"))
            else:
                answer.set_result(message.get("result", {}))
        elif message.get("method") in ("Target.targetCreated", "Target.targetInfoChanged"):
            found = message["params"]["targetInfo"]
            if found["url"]:  # it has none for a moment when what is in it has crashed
                self.addresses[found["targetId"]] = found["url"]
            if found["type"] == "page" and not _is_surface(found["url"]):
                self._keep(self._close(found["targetId"]))
        elif message.get("method") == "Target.targetCrashed":
            self._crashed.put_nowait(self.addresses.get(message["params"]["targetId"], ""))
        elif message.get("method") == "Target.targetDestroyed":
            target = message["params"]["targetId"]
            self.addresses.pop(target, None)
            if gone := self.gone.pop(target, None):
                gone.set()

    async def _close(self, target: str) -> None:
        with suppress(ToolFailed):  # because the page may be gone by itself
            await self.ask("Target.closeTarget", targetId=target)

    def _keep(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _scaled(data: bytes) -> tuple[bytes, int, int]:
    """A JPEG that is no wider than a card shows it, and its size in pixels."""
    from PIL import Image  # here, because a worker whose windows nobody pictures does not need it

    with Image.open(io.BytesIO(data)) as picture:
        picture.thumbnail((PICTURE_WIDTH_PX, picture.height))
        picture.save(made := io.BytesIO(), "JPEG", quality=_PICTURE_QUALITY)
        return made.getvalue(), *picture.size


def _is_surface(url: str) -> bool:
    """True, too, for a page that has no address yet, as each window at first."""
    return url in ("", "about:blank") or (url.startswith("http://") and url.split("/")[2].endswith(".localhost"))


if sys.platform != "win32":
    import fcntl

    def _high_pipe() -> tuple[int, int]:
        """Its numbers are none of those that the child gets."""
        ends = os.pipe()
        high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, _HIGH_FD) for end in ends]
        for end in ends:
            os.close(end)
        return high[0], high[1]

    def _ending_with_parent() -> list[str]:
        """Return the words that let a program be killed when the worker ends, however that ends.

        A browser whose X server has gone may stop in the middle of its crash, and its other processes then use the
        processor for ever.
        """
        setpriv = shutil.which("setpriv")
        return [setpriv, "--pdeathsig", "KILL"] if setpriv else []

    def _spawned(words: list[str], reads: int, writes: int, said: Path) -> int:
        """Start the browser with its pipes and return its pid. Not by subprocess, since it wants them as 3 and 4."""
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, str(said), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
            (os.POSIX_SPAWN_DUP2, reads, 3),
            (os.POSIX_SPAWN_DUP2, writes, 4),
        ]
        try:
            whole = [*_ending_with_parent(), *words]
            return os.posix_spawn(whole[0], whole, os.environ, file_actions=actions)
        except OSError as error:
            raise ToolFailed(f"{words[0]} cannot be started ({error.strerror}).") from error
        finally:
            os.close(reads)
            os.close(writes)
