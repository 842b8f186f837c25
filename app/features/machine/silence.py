"""Do not disturb, as each desktop has it: whoever shows the notifications holds them back.

No standard covers it, so each program has its own way; the bus tells which one runs.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Protocol, TypeVar

from app.base.errors import ToolFailed
from app.base.phrases import Phrase
from app.base.values import dataclass
from app.features.machine.bus import Bus, Declined, Unanswered
from app.services.notifications import DesktopNotifier

T = TypeVar("T")
_SERVER, _SERVER_PATH = "org.freedesktop.Notifications", "/org/freedesktop/Notifications"
_DUNST = "org.dunstproject.cmd0"
_XFCONF, _XFCONF_PATH = "org.xfce.Xfconf", "/org/xfce/Xfconf"
_XFCE = ("xfce4-notifyd", "/do-not-disturb")
_LIMIT_S = 5.0
_SETTINGS = {
    "gnome-shell": ("org.gnome.desktop.notifications", "show-banners"),
    "budgie": ("org.gnome.desktop.notifications", "show-banners"),
    "cinnamon": ("org.cinnamon.desktop.notifications", "display-notifications"),
}
"""Desktops that hold notifications back while a setting is false, by the beginning of their server's name."""


class Sets(Protocol):
    """Switches something."""

    async def __call__(self, *, is_on: bool) -> None: ...


@dataclass(frozen=True, slots=True)
class _Way:
    read: Callable[[], Awaitable[bool]]
    set: Sets


class Silence:
    """Whether notifications are held back. Raises ToolFailed where the desktop has no such thing."""

    def __init__(self, session: Bus) -> None:
        self._session = session
        self._cookie = 0

    async def is_on(self) -> bool:
        return await self._asked(lambda way: way.read())

    async def set(self, *, is_on: bool) -> None:
        await self._asked(lambda way: way.set(is_on=is_on))

    async def _asked(self, ask: Callable[[_Way], Awaitable[T]]) -> T:
        server = await _server()
        if not server:
            raise ToolFailed("No program here shows notifications, so there is nothing to hold back.")
        try:
            return await ask(self._way(server.casefold()))
        except (Unanswered, Declined) as error:
            raise _unknown(server) from error

    def _way(self, server: str) -> _Way:
        if setting := next((found for name, found in _SETTINGS.items() if server.startswith(name)), None):
            return _Way(partial(_setting, *setting), partial(_change, *setting))
        if server.startswith("dunst"):
            return _Way(self._dunst, self._set_dunst)
        if server.startswith("xfce"):
            return _Way(self._xfce, self._set_xfce)
        if server.startswith("plasma"):
            return _Way(self._plasma, self._set_plasma)
        raise _unknown(server)

    async def _dunst(self) -> bool:
        return bool(await self._session.get(_SERVER, _SERVER_PATH, _DUNST, "paused"))

    async def _set_dunst(self, *, is_on: bool) -> None:
        await self._session.set(_SERVER, _SERVER_PATH, _DUNST, "paused", "b", is_on)

    async def _xfce(self) -> bool:
        with contextlib.suppress(Declined):  # because it is off as long as nobody has set it
            return bool(
                (await self._session.call(_XFCONF, _XFCONF_PATH, _XFCONF, "GetProperty", "ss", *_XFCE))[0].value
            )
        return False

    async def _set_xfce(self, *, is_on: bool) -> None:
        from dbus_fast import Variant

        value = Variant("b", is_on)
        await self._session.call(_XFCONF, _XFCONF_PATH, _XFCONF, "SetProperty", "ssv", *_XFCE, value)

    async def _plasma(self) -> bool:
        return bool(await self._session.get(_SERVER, _SERVER_PATH, _SERVER, "Inhibited"))

    async def _set_plasma(self, *, is_on: bool) -> None:
        """Hold them back as long as this connection lasts, or end that. What others asked for stays."""
        if is_on:
            call = partial(self._session.call, _SERVER, _SERVER_PATH, _SERVER)
            [self._cookie] = await call("Inhibit", "ssa{sv}", "wisp", "do not disturb", {})
        elif self._cookie:
            await self._session.call(_SERVER, _SERVER_PATH, _SERVER, "UnInhibit", "u", self._cookie)
            self._cookie = 0


async def _server() -> str:
    notifier = DesktopNotifier()
    try:
        return await notifier.server()
    finally:
        await notifier.close()


def _unknown(server: str) -> ToolFailed:
    return ToolFailed(
        Phrase("{server}, which shows the notifications here, cannot be told to hold them back.", {"server": server})
    )


async def _setting(schema: str, key: str) -> bool:
    return await _gsettings("get", schema, key) == "false"


async def _change(schema: str, key: str, *, is_on: bool) -> None:
    await _gsettings("set", schema, key, "false" if is_on else "true")


async def _gsettings(*words: str) -> str:
    program = shutil.which("gsettings")
    if program is None:
        raise Unanswered("gsettings is not installed")
    run = await asyncio.create_subprocess_exec(
        program, *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        said, errors = await asyncio.wait_for(run.communicate(), _LIMIT_S)
    except TimeoutError as error:
        run.kill()
        await run.wait()
        raise Unanswered("gsettings does not answer") from error
    if run.returncode:
        raise Declined(errors.decode("utf-8", "replace").strip())
    return said.decode().strip()
