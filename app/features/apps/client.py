"""Wisp's side of the worker that shows surfaces: start the worker when needed, and send it requests."""

from __future__ import annotations

import asyncio
import base64
import difflib
import http.client
import json
import os
import subprocess
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from app.agent.served_pages import ServedPage
from app.base import paths
from app.base.errors import NeedsExtra, NeedsPerson, ToolFailed
from app.base.phrases import Phrase
from app.base.startup import worker_command
from app.features.apps.bridge import SurfaceWish
from app.features.apps.chromium import CONTROL, settings
from app.features.apps.served_apps import keep
from app.features.apps.store import PAGE, SurfaceStore
from app.features.apps.webengine import installed_engines
from app.services.files.changes import ChangeOrigin
from app.tools.windows import NoSuchApp

_KEPT = (
    *("PATH", "HOME", "LANG", "LANGUAGE", "TZ", "USER", "LOGNAME", "TMPDIR", "SYSTEMROOT", "LD_LIBRARY_PATH"),
    *(
        "DISPLAY",
        "XAUTHORITY",
        "WAYLAND_DISPLAY",
        "DBUS_SESSION_BUS_ADDRESS",
        "GTK_THEME",
        "WISP_DATA_DIR",
        paths.PRESENCE,
    ),
)
_KEPT_BEGINNINGS = ("XDG_", "LC_")
_WISH = tuple(field.name for field in fields(SurfaceWish))
_SHOWN = {
    "opened": "Its window is open.",
    "raised": "Its window was open; it is in front now.",
    "restarted": "It had stopped; its window was open, and it was started again there.",
}
_ANSWER_S = 60.0
_TRIES = 3


class SurfaceEngine:
    """Sends requests to the worker, which is started when the first surface is shown.

    `is_dry`: no window is opened at all. `environment` is that of the desktop on which windows appear.
    """

    def __init__(self, folder: Path, *, environment: Mapping[str, str] | None = None, is_dry: bool = False) -> None:
        self._folder = folder
        self._environment = environment if environment is not None else os.environ
        self._control = paths.runtime_dir() / CONTROL
        self._is_dry = is_dry

    def check(self) -> None:
        """Raise NeedsPerson if nothing on this machine shows surfaces."""
        if not installed_engines():
            raise NeedsExtra(settings()["says"]["missing"])

    async def open(self, surface_id: str, *, takes_keyboard: bool = False) -> str:
        """Show a surface. Returns sentences about its window for the model. Raises WispError.

        `takes_keyboard`: the person opens it, so that the next key is for it.
        """
        if self._is_dry:
            return "This is a dry run: no window is opened."
        self.check()
        wish = {"op": "open", "id": surface_id, "takes_keyboard": takes_keyboard}
        done = await asyncio.to_thread(self._asked, wish, may_start=True)
        shown = _SHOWN[done["window"]]
        return shown if done["sandboxed"] else f"{shown} {settings()['says']['unsandboxed']}"

    async def open_called(self, store: SurfaceStore, name: str) -> tuple[str, str]:
        """Show the surface with this name. Returns its name and sentences on its window.

        Raises NoSuchApp if none is called so, and another WispError if it cannot be shown.
        """
        found = await asyncio.to_thread(store.all)
        called = [one for one in found if one.name.casefold() == name.strip().casefold()]
        if not called:
            names = {one.name.casefold(): one.name for one in found}
            near = difflib.get_close_matches(name.strip().casefold(), names, n=2)
            raise NoSuchApp([names[one] for one in near])
        if len(called) > 1:
            ids = " and ".join(repr(one.id) for one in called)
            what = Phrase("Several apps are called {name!r}.", {"name": called[0].name})
            raise ToolFailed(what, f"launch_app opens one by its id: {ids}.")
        return called[0].name, await self.open(called[0].id)

    def page_stamp(self, surface_id: str) -> int:
        """Return a number that changes whenever the page of a surface is written; 0 if there is no page."""
        try:
            return (self._folder / surface_id / PAGE).stat().st_mtime_ns
        except OSError:
            return 0

    async def tell(self, surface_id: str, what: str, state: Any = None) -> None:
        """Inform an open window: its page ("reload") or state ("state") has changed. "close" closes the window."""
        said = {"op": "close"} if what == "close" else {"op": "changed", "what": what, "state": state}
        await asyncio.to_thread(self._try, {**said, "id": surface_id})

    async def look(self, surface_id: str) -> tuple[bytes, int, int] | None:
        """Return what the window of a surface shows, as JPEG with its size in pixels; None while it is closed."""
        if not self.is_running:
            return None
        seen = await asyncio.to_thread(self._try, {"op": "look", "id": surface_id})
        return (base64.b64decode(seen["data"]), int(seen["width"]), int(seen["height"])) if seen else None

    async def wishes(self) -> list[SurfaceWish] | None:
        """Return the requests of surfaces, as soon as there is one; [] after a while; None if no worker runs.

        This waits on its own connection and not on a thread, so that cancelling it takes effect at once.
        """
        try:
            found = await self._heard({"op": "wishes"})
            return [SurfaceWish(**{name: one[name] for name in _WISH}) for one in found]
        except (OSError, ValueError, KeyError, TypeError, asyncio.IncompleteReadError):
            # Because the worker ends as it likes, and one that an older Wisp started may send something else.
            return None

    async def answer(self, number: int, value: Any = None, error: str = "") -> None:
        """Send the answer (or an error) to a surface's request."""
        await asyncio.to_thread(self._try, {"op": "answer", "number": number, "value": value, "error": error})

    async def stop(self) -> None:
        """Close all windows of surfaces."""
        await asyncio.to_thread(self._try, {"op": "stop"})

    @property
    def is_running(self) -> bool:
        return self._control.is_file()

    async def _heard(self, request: Mapping[str, Any]) -> Any:
        control = json.loads(self._control.read_text(encoding="utf-8"))
        reader, writer = await asyncio.open_connection("127.0.0.1", int(control["port"]))
        try:
            body = json.dumps(request).encode()
            head = f"POST /control HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {control['secret']}\r\n"
            writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            answer = await reader.read()
        finally:
            writer.close()
        return json.loads(answer.partition(b"\r\n\r\n")[2])["ok"]

    def _try(self, request: Mapping[str, Any]) -> Any:
        try:
            return self._asked(request)
        except (ToolFailed, NeedsPerson):  # because a window that is not there needs to know nothing
            return None

    def _asked(self, request: Mapping[str, Any], *, may_start: bool = False) -> Any:
        for _ in range(_TRIES):
            try:
                found = json.loads(self._control.read_text(encoding="utf-8"))
                return _sent(found, request)
            except (OSError, ValueError, http.client.HTTPException) as error:
                if not may_start:
                    raise ToolFailed("No app is open.") from error
                self._start()
        raise ToolFailed("The program that shows the apps does not answer. Try again.", transient=True)

    def _start(self) -> None:
        """Start the worker and wait until it listens. Another Wisp may have started it meanwhile."""
        kept = {
            name: value
            for name, value in self._environment.items()
            if name in _KEPT or name.startswith(_KEPT_BEGINNINGS)
        }
        worker = subprocess.Popen(
            worker_command("surfaces", str(self._folder)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=kept,
            cwd=os.sep,
            start_new_session=True,  # so that windows stay when Wisp ends
        )
        assert worker.stdout
        with worker.stdout as lines:
            lines.readline()
        # Because a worker that nobody waits for stays a zombie.
        threading.Thread(target=worker.wait, name="surfaces", daemon=True).start()


class ServedApps:
    """Shows the pages that tool servers ship with their tools, as surfaces."""

    def __init__(self, store: SurfaceStore, engine: SurfaceEngine) -> None:
        self._store = store
        self._engine = engine

    async def show(
        self, page: ServedPage, read: Callable[[], Awaitable[str]], origin: ChangeOrigin, /
    ) -> tuple[str, str]:
        """Show the page with the result of its tool. See `PageShower`."""
        surface_id = ""
        try:
            html = await read()
            surface, is_known = await asyncio.to_thread(keep, self._store, page, html, origin)
            surface_id = surface.id
            opened = await self._engine.open(surface_id)
            if is_known:
                await self._engine.tell(surface_id, "reload")
        except (ToolFailed, NeedsPerson, OSError) as error:  # because the tool itself has done its work
            return f"Its page was not shown: {error}", surface_id
        return f"The server's own page shows this to the person, as {surface_id}. {opened}", surface_id


def _sent(control: Mapping[str, Any], request: Mapping[str, Any]) -> Any:
    connection = http.client.HTTPConnection("127.0.0.1", int(control["port"]), timeout=_ANSWER_S)
    try:
        headers = {"Authorization": f"Bearer {control['secret']}", "Content-Type": "application/json"}
        connection.request("POST", "/control", json.dumps(request), headers)
        answer = json.loads(connection.getresponse().read())
    finally:
        connection.close()
    if "error" in answer:
        raise (NeedsPerson if answer.get("needs_person") else ToolFailed)(answer["error"])
    return answer["ok"]
