"""The worker that shows surfaces: one process for all windows, however many Wisps there are.

It is a proxy on loopback, and the browser's only way out. It answers `http://ID.localhost/TOKEN/…` with the surface of
that id, and refuses everything else, so that no name is looked up and no other address is reached. The token keeps out
other users of the machine. Wisp itself sends requests by `POST /control` with the secret in a file that only the owner
can read. The worker ends a minute after its last window, so that the next one comes quickly.

A window is Wisp's own frame around the surface's page, each in a process of its own. The frame says when the page does
not answer, and a person starts it again.
"""

from __future__ import annotations

import asyncio
import base64
import html
import json
import os
import re
import secrets
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from app.base import own_files, paths, resources, translation
from app.base.errors import NeedsPerson, ToolFailed, ToolMisuse, WispError
from app.features.apps.bridge import Bridge, bounded, sentence
from app.features.apps.chromium import CONTROL, Chromium, clamped, is_sandboxed, settings
from app.features.apps.http import HEAD_BYTES, Answer, Request, as_json, encoded, read
from app.features.apps.keyboard import KeyboardGuard
from app.features.apps.memory import limit_pages
from app.features.apps.page import wanted_size, with_bridge, with_pulse
from app.features.apps.served_apps import context, served
from app.features.apps.store import PAGE, PICTURE, STATE, Surface, SurfaceStore
from app.features.apps.webengine import WebEngine, engines
from app.services.files.checkpoints import Checkpoints
from app.services.themes import active_theme
from app.settings import store as settings_store
from app.settings.catalog import LANGUAGE, NAME

_LOOPBACK = "127.0.0.1"
_READ_S = 30.0
_POLL_S = 25.0
_OPEN_S = 30.0
_IDLE_S = 60.0
_LOOK_S = 1.0
_KEPT_EVENTS = 50
_TRIES, _PAUSE_S = 200, 0.1
_HTML = "text/html; charset=utf-8"


_REFUSED = Answer(403, b'{"error": "Wisp takes no such request: it may be too large."}')
_MISSING = Answer(404, b"{}")


class _Window:
    """What is known of the window of a surface. `came` is set once its frame has loaded.

    `has_stopped`: its page has crashed or does not answer. A frame that loads then does not start the page.
    `state` is the saved state as the page knows it, and `stamp` tells of the files of which it was made.
    """

    def __init__(self, surface: str) -> None:
        self.surface = surface
        self.token = secrets.token_urlsafe(18)
        self.came = asyncio.Event()
        self.has_stopped = False
        self.state: Any = None
        self.stamp: tuple[int, ...] = ()
        self._events: list[tuple[int, Mapping[str, Any]]] = []
        self._number = 0
        self._more = asyncio.Event()

    @property
    def origin(self) -> str:
        return f"http://{self.surface}.localhost"

    @property
    def url(self) -> str:
        return f"{self.origin}/{self.token}/"

    def tell(self, what: str, state: Any = None) -> None:
        """Send an event to the window, if it is open. "reload" starts a page that has stopped again."""
        self.has_stopped = self.has_stopped and what != "reload"
        self.state = state if what == "state" else self.state
        self._number += 1
        self._events = [*self._events[1 - _KEPT_EVENTS :], (self._number, {"what": what, "state": state})]
        self._more.set()

    async def events(self, after: str) -> Mapping[str, Any]:
        """The events after number `after` (if it is no number: only new ones). Waits if there is none."""
        since = int(after) if after.isdigit() else self._number
        if self._number <= since:
            self._more.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(_POLL_S):
                    await self._more.wait()
        return {"after": str(self._number), "events": [event for number, event in self._events if number > since]}


class SurfaceWorker:
    """Serves the pages, answers the bridge and Wisp's own requests, and controls the browser."""

    def __init__(self, store: SurfaceStore, profile: Path, idle_s: float = _IDLE_S) -> None:
        self._store = store
        self._idle_s = idle_s
        self._profile = profile
        self._windows: dict[str, _Window] = {}
        self._bridge = Bridge(
            store, self.open, lambda surface, value: self._tell(surface, "state", value), self._resize
        )
        self._secret = secrets.token_urlsafe(32)
        self._engine: Chromium | WebEngine | None = None
        self._other_engines: list[Chromium | WebEngine] = []
        self._keyboard = KeyboardGuard()
        self._opening = asyncio.Lock()
        self._stopped = asyncio.Event()

    async def run(self, control: Path) -> None:
        """Serve until no window has been open for a while, or until a Wisp ends it."""
        server = await asyncio.start_server(self._connected, _LOOPBACK, 0, limit=HEAD_BYTES)
        port = server.sockets[0].getsockname()[1]
        self._engine, *self._other_engines = engines(self._profile, port)
        _write_control(control, json.dumps({"port": port, "secret": self._secret, "pid": os.getpid()}))
        follows = (self._follow_theme, self._follow_pages, self._follow_crashes)
        following = [asyncio.ensure_future(one()) for one in follows]
        try:
            await self._until_idle()
        finally:
            for one in following:
                one.cancel()
            _drop(control)
            await self._engine.end()
            await self._bridge.close()
            server.close()

    async def open(self, surface_id: str, *, takes_keyboard: bool = False) -> Mapping[str, Any]:
        """Show a surface, or bring its window to the front. Raises WispError if that does not work.

        `takes_keyboard`: its window may take the keyboard from the program that has it.
        """
        self._keyboard.release()
        with nullcontext() if takes_keyboard else self._keyboard.kept():
            return await self._opened(surface_id, takes_keyboard=takes_keyboard)

    async def _opened(self, surface_id: str, *, takes_keyboard: bool) -> Mapping[str, Any]:
        assert self._engine
        async with self._opening:
            surface = await asyncio.to_thread(self._store.find, surface_id)
            window = self._windows.setdefault(surface.id, _Window(surface.id))
            if await self._raised(window, takes_keyboard=takes_keyboard):
                if not window.has_stopped:
                    return {"window": "raised", "sandboxed": is_sandboxed()}
                window.came.clear()
                window.tell("reload")
                await self._arrived(window)
                return {"window": "restarted", "sandboxed": is_sandboxed()}
            window.came.clear()
            window.has_stopped = False
            if sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
                raise NeedsPerson(settings()["says"]["no_display"])
            usual = dict(
                zip(("width", "height"), settings()["size"]["app" if surface.is_app else "widget"], strict=True)
            )
            size = usual | clamped(*wanted_size(await asyncio.to_thread(lambda: surface.html)))
            await self._show(window, (size["width"], size["height"]))
            return {"window": "opened", "sandboxed": is_sandboxed()}

    async def _raised(self, window: _Window, *, takes_keyboard: bool) -> bool:
        assert self._engine
        try:
            return await self._engine.raise_window(window.url, takes_keyboard=takes_keyboard)
        except ToolFailed:
            if self._engine.is_running:
                raise
            return False  # because it was just ending with its last window

    async def _show(self, window: _Window, size: tuple[int, int]) -> None:
        """Show the window in the first engine that starts. One that does not is not tried again. Raises WispError."""
        assert self._engine
        failed = []
        while True:
            was_running = self._engine.is_running
            try:
                await self._engine.show(window.url, size)
                return await self._arrived(window)
            except ToolFailed as error:
                if self._engine.is_running:
                    raise
                if was_running:
                    continue  # it was just ending with its last window, so it has not been started yet
                failed.append(str(error))
                if not self._other_engines:
                    raise ToolFailed(" ".join((*failed, settings()["says"]["no_engine"]))) from error
            self._engine.crashed.put_nowait("")  # so that whoever waits for crashes goes on to the next engine
            self._engine = self._other_engines.pop(0)

    async def _arrived(self, window: _Window) -> None:
        """Wait until the page has loaded. Raises ToolFailed if the browser ends before that, or in case of no page."""
        assert self._engine
        waits = [asyncio.ensure_future(one.wait()) for one in (window.came, self._engine.ended)]
        try:
            await asyncio.wait(waits, timeout=_OPEN_S, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waits:
                one.cancel()
        says = settings()["says"]
        if self._engine.ended.is_set():
            said = self._engine.last_words() or "nothing"
            raise ToolFailed(says["no_start"].format(program=self._engine.name, said=said))
        if not window.came.is_set():
            raise ToolFailed(says["no_answer"].format(seconds=int(_OPEN_S)))

    async def _until_idle(self) -> None:
        """Wait until no window has been open for a while."""
        assert self._engine
        loop = asyncio.get_running_loop()
        used_at = loop.time()
        while not self._stopped.is_set() and loop.time() <= used_at + self._idle_s:
            with suppress(TimeoutError):
                async with asyncio.timeout(min(_LOOK_S, self._idle_s)):
                    await self._stopped.wait()
            if self._engine.is_running or self._opening.locked():
                used_at = loop.time()

    async def _follow_theme(self) -> None:
        """Repaint all windows whenever the theme has changed. No Wisp needs to be open for that."""
        stamp, shown = _theme_stamp(), await asyncio.to_thread(_theme)
        while True:
            await asyncio.sleep(_LOOK_S)
            if (now := _theme_stamp()) == stamp:
                continue
            stamp, before, shown = now, shown, await asyncio.to_thread(_theme)
            if shown != before:
                for window in self._windows.values():
                    window.tell("theme", shown)

    async def _follow_pages(self) -> None:
        """Show in each window what has become of its surface: a person may take back any change of it, also that it
        was made.
        """
        while True:
            await asyncio.sleep(_LOOK_S)
            for window in [one for one in self._windows.values() if one.came.is_set()]:
                with suppress(WispError):  # because the surface or its window may be gone by itself
                    await self._follow_page(window)

    async def _follow_page(self, window: _Window) -> None:
        folder = self._store.folder / window.surface
        if not (folder / PAGE).is_file():
            window.came.clear()
            await self._close(window.surface)
            return
        before, window.stamp = window.stamp, _stamp(folder / PAGE, folder / STATE)
        if window.stamp == before:
            return
        if window.stamp[0] != before[0]:
            window.tell("reload")
            return
        surface = await asyncio.to_thread(self._store.find, window.surface)
        now = await asyncio.to_thread(self._store.state, surface)
        if now != window.state:
            window.tell("state", now)

    async def _follow_crashes(self) -> None:
        """Load each frame that has crashed anew. It says that the page has stopped, and does not start it."""
        assert self._engine
        while True:
            url = await self._engine.crashed.get()
            for window in self._windows.values():
                if url == window.url:
                    window.has_stopped = True
                    with suppress(ToolFailed):  # because the window may be gone meanwhile
                        await self._engine.reload(url)
                elif url == f"{window.url}page":
                    window.tell("stopped")

    async def _close(self, surface: str) -> bool:
        assert self._engine
        window = self._windows.get(surface)
        return bool(window and await self._engine.close_window(window.url))

    async def _seen(self, surface: str) -> Mapping[str, Any] | None:
        """A picture of the window, in JSON; None while it is closed."""
        assert self._engine
        window = self._windows.get(surface)
        taken = await self._engine.picture(window.url) if window and window.came.is_set() else None
        if taken is None:
            return None
        return {"data": base64.b64encode(taken[0]).decode(), "width": taken[1], "height": taken[2]}

    async def _resize(self, surface: str, width: int, height: int) -> bool:
        """Fit the window to a page of a tool server. Sides that make no window are left alone."""
        assert self._engine
        window = self._windows.get(surface)
        return bool(window and await self._engine.resize(window.url, width, height))

    def _tell(self, surface: str, what: str, value: Any = None) -> None:
        if window := self._windows.get(surface):
            window.tell(what, value)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_READ_S):
                request = await read(reader)
            answer = await self._answered(request) if request else _REFUSED
            writer.write(encoded(answer))
            await writer.drain()
        except (OSError, TimeoutError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            writer.write(encoded(_REFUSED))  # because whoever sends that is no browser of ours
        finally:
            writer.close()

    async def _answered(self, request: Request) -> Answer:
        if request.target == "/control":
            return await self._controlled(request)
        address = urlsplit(request.target)
        window = self._windows.get((address.hostname or "").removesuffix(".localhost"))
        is_own = request.method in ("GET", "POST") and address.scheme == "http" and address.port in (None, 80)
        if window is None or not is_own or not (address.hostname or "").endswith(".localhost"):
            return _REFUSED
        _, token, *rest = address.path.split("/", 2)
        if not secrets.compare_digest(token.encode(), window.token.encode()):
            return _MISSING
        return await self._of_surface(window, rest[0] if rest else "", request)

    async def _of_surface(self, window: _Window, path: str, request: Request) -> Answer:
        try:
            surface = await asyncio.to_thread(self._store.find, window.surface)
        except WispError:
            return _MISSING
        match request.method, path:
            case "GET", "":
                return await asyncio.to_thread(_frame, window, surface)
            case "GET", "page":
                window.stamp = _stamp(surface.folder / PAGE, surface.folder / STATE)
                with suppress(WispError):  # because a damaged state is told where the page asks for it
                    window.state = await asyncio.to_thread(self._store.state, surface)
                text = await asyncio.to_thread(_page_of, surface)
                policy = settings()["page_policy"].replace("{origin}", window.origin)
                return Answer(200, text.encode("utf-8", "replace"), _HTML, policy)
            case "GET", "picture.svg" if (surface.folder / PICTURE).is_file():
                policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
                return Answer(200, (surface.folder / PICTURE).read_bytes(), "image/svg+xml", policy)
            case _ if request.headers.get("x-wisp") != "1":
                return _REFUSED
            case "GET", "events":
                window.came.set()
                after = parse_qs(urlsplit(request.target).query).get("after", [""])[0]
                return as_json(await window.events(after))
            case "POST", ("stopped" | "answers" | "again") as said if request.headers.get("origin") == window.origin:
                window.has_stopped = said == "stopped"
                return as_json({})
            case "POST", "bridge" if request.headers.get("origin") == window.origin:
                return as_json(await self._bridged(surface, request.body))
        return _MISSING

    async def _bridged(self, surface: Surface, body: bytes) -> Mapping[str, Any]:
        try:
            said = json.loads(body)
            if not isinstance(said, dict) or not isinstance(said.get("method"), str):
                raise ToolMisuse("That is no call of the bridge.")
            return {"ok": await self._bridge.call(surface, said["method"], bounded(said.get("params", {})))}
        except WispError as error:
            return {"error": sentence(error)}
        except (ValueError, RecursionError):
            return {"error": "That is no JSON."}

    async def _controlled(self, request: Request) -> Answer:
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        if request.method != "POST" or not secrets.compare_digest(given.encode(), self._secret.encode()):
            return _REFUSED
        said = json.loads(request.body)
        try:
            return as_json({"ok": await self._done(said)})
        except NeedsPerson as error:
            return as_json({"error": str(error), "needs_person": True})
        except WispError as error:
            return as_json({"error": str(error)})

    async def _done(self, said: Mapping[str, Any]) -> Any:
        match said.get("op"):
            case "open":
                return await self.open(str(said["id"]), takes_keyboard=bool(said.get("takes_keyboard")))
            case "close":
                return await self._close(str(said["id"]))
            case "look":
                return await self._seen(str(said["id"]))
            case "changed":
                self._tell(str(said["id"]), str(said["what"]), said.get("state"))
            case "wishes":
                found = await self._bridge.wishes()
                names = ("number", "surface", "name", "kind", "arguments")
                return [{name: getattr(wish, name) for name in names} for wish in found]
            case "answer":
                self._bridge.answer(int(said["number"]), said.get("value"), str(said.get("error", "")))
            case "stop":
                self._stopped.set()
            case _:
                raise ToolMisuse("There is no such request.")
        return True


def _frame(window: _Window, surface: Surface) -> Answer:
    nonce = secrets.token_urlsafe(16)
    language = _language()
    words = translation.words_in(language)
    said = {name: words(text).replace("{name}", surface.name) for name, text in settings()["frame"].items()}
    filled = {
        "kind": "served" if served(surface) else "own",
        "stopped": "stopped" if window.has_stopped else "runs",
        "language": language or "en",
        "name": html.escape(surface.name, quote=True),
        "presence": html.escape(settings_store.load()[NAME], quote=True),
        "nonce": nonce,
        "page": f"{window.url}page",
        "picture": "picture.svg",
        "theme": active_theme().css,
        "most": str(settings()["budget"]["a_second"]),
        "flood": settings()["says"]["flood"].format(most=settings()["budget"]["a_second"]),
        **{name: html.escape(text, quote=True) for name, text in said.items()},
    }
    text = re.sub(r"{{(\w+)}}", lambda found: filled[found[1]], resources.text("surfaces/frame.html"))
    policy = settings()["frame_policy"].replace("{nonce}", nonce).replace("{origin}", window.origin)
    return Answer(200, text.encode(), _HTML, policy)


def _language() -> str:
    """The presence's language, in two letters; "" for that of the browser."""
    return settings_store.load()[LANGUAGE] or resources.system_language()


def _page_of(surface: Surface) -> str:
    if served(surface):
        return with_pulse(surface.html)  # and no bridge, because the frame speaks its language
    theme = _theme()
    about = {"id": surface.id, "theme": theme["theme"], "language": _language()}
    return with_pulse(with_bridge(surface.html, about, theme["css"]))


def _theme() -> Mapping[str, Any]:
    """The theme in use, its style for pages, both for pages of servers, and whose it is. Reads files."""
    found = active_theme()
    picture = found.wallpaper
    style = found.css + (f":root{{--wallpaper:{picture};}}" if picture else "")
    return {"theme": found.id, "css": style, "context": context(found), "presence": settings_store.load()[NAME]}


def _theme_stamp() -> tuple[int, ...]:
    """Changes whenever a file changes that the theme in use is read from."""
    config = paths.config_dir()
    return _stamp(config / "settings.toml", config / "theme.toml", paths.state_dir() / "scheme")


def _stamp(*files: Path) -> tuple[int, ...]:
    return tuple(file.stat().st_mtime_ns if file.exists() else 0 for file in files)


def run(arguments: Sequence[str]) -> int:
    """Show surfaces until no window is open. If a worker already runs, print its address and end."""
    if not Path(arguments[0]).is_dir():
        return 0
    control = paths.runtime_dir() / CONTROL
    if held := asyncio.run(_turn(control)):
        _drop(control)  # of a worker that was killed
        limit_pages()
        store = SurfaceStore(Path(arguments[0]), Checkpoints(paths.data_dir() / "checkpoints"))
        asyncio.run(SurfaceWorker(store, paths.data_dir() / "surface-browser").run(control))
        os.close(held)
    return 0


async def _turn(control: Path) -> int | None:
    """Wait for the lock and return it. If another worker runs, print its address and return None."""
    for _ in range(_TRIES):
        held = _lock(control.with_suffix(".lock"))
        if held is not None:
            return held
        if told := _read_control(control):
            print(told, flush=True)  # noqa: T201 - as the worker itself does
            return None
        await asyncio.sleep(_PAUSE_S)
    return None


def _write_control(control: Path, told: str) -> None:
    """Write the worker's address into the file for all Wisps, and print it for the process that started the worker."""
    own_files.write(control, told)
    print(told, flush=True)  # noqa: T201 - the process that started the worker waits for it


def _read_control(control: Path) -> str:
    return control.read_text(encoding="utf-8") if control.is_file() else ""


def _drop(control: Path) -> None:
    control.unlink(missing_ok=True)


def _lock(path: Path) -> int | None:
    """None if another worker holds the lock."""
    held = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    if sys.platform != "win32":
        import fcntl

        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # because another worker shows the surfaces
            os.close(held)
            return None
    return held
