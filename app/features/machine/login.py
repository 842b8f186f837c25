"""The person's session, by logind and the desktop's own session manager: its brightness, its lock and its end."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from app.base.clipping import clip_line
from app.base.errors import ToolFailed
from app.base.phrases import Phrase
from app.base.values import dataclass
from app.desktop.x11.occupation import SAVERS
from app.features.machine.bus import Bus, Declined, Unanswered

BACKLIGHTS = Path("/sys/class/backlight")
LOCK = "lock"
ENDINGS = ("suspend", "log_out", "restart", "shut_down")
_LOGIN, _LOGIN_PATH = "org.freedesktop.login1", "/org/freedesktop/login1"
_MANAGER, _SESSION = f"{_LOGIN}.Manager", f"{_LOGIN}.Session"
_POWER = {"suspend": "Suspend", "restart": "Reboot", "shut_down": "PowerOff"}
_MANAGERS: tuple[tuple[str, str, str, str, str, tuple[object, ...]], ...] = (
    ("org.gnome.SessionManager", "/org/gnome/SessionManager", "org.gnome.SessionManager", "Logout", "u", (1,)),
    ("org.kde.Shutdown", "/Shutdown", "org.kde.Shutdown", "logout", "", ()),
    ("org.xfce.SessionManager", "/org/xfce/SessionManager", "org.xfce.Session.Manager", "Logout", "bb", (False, True)),
    ("org.lxqt.session", "/LXQtSession", "org.lxqt.session", "logout", "", ()),
)
"""Who ends a desktop's session, without another question: MATE and Cinnamon have GNOME's name."""
_KINDS = ("firmware", "platform", "raw")
"""The kinds of backlights, the best first: https://www.kernel.org/doc/Documentation/ABI/stable/sysfs-class-backlight"""
_PERSONS_LIMIT_S = 60.0
"""The system may ask for a password first."""
_LOOKS, _BETWEEN_S = 30, 0.1
_FULL, _LEAST = 100, 1
_WHY_CHARS = 200

_TAKEN = {
    "suspend": Phrase("Wisp told the system to go to sleep."),
    "log_out": Phrase("Wisp told the desktop to log you out."),
    "restart": Phrase("Wisp told the system to restart."),
    "shut_down": Phrase("Wisp told the system to shut down."),
}
_UNABLE = {
    "suspend": "This computer cannot go to sleep by itself.",
    "restart": "This computer does not let Wisp restart it.",
    "shut_down": "This computer does not let Wisp shut it down.",
}
_NO_LOGIND = "logind, which does that, does not run on this computer."
_UNLOCKED = (
    "It was asked for, but nothing shows that the screen is locked: no program here may lock it. "
    "Set up a screen locker in your desktop's settings."
)
_NO_BACKLIGHT = Phrase("This computer has no screen whose brightness can be set.")
_OUTSIDE = Phrase("An external screen has buttons of its own for that.")


@dataclass(frozen=True, slots=True)
class _Backlight:
    """The lamp of a screen. `now` and `most` are its own numbers."""

    name: str
    now: int
    most: int

    @property
    def percent(self) -> int:
        return round(self.now * _FULL / self.most)


class Login:
    """The person's session. What the machine lacks raises ToolFailed. `backlights` is where the kernel lists them."""

    def __init__(self, system: Bus, session: Bus, backlights: Path = BACKLIGHTS) -> None:
        self._system = system
        self._session = session
        self._backlights = backlights

    async def brightness(self) -> Phrase:
        return _bright((await asyncio.to_thread(self._lamp)).percent)

    async def set_brightness(self, level: int | None, change: int) -> Phrase:
        """Set the brightness to a level, or change it, in percent. It never gets quite dark. Returns what is read."""
        lamp = await asyncio.to_thread(self._lamp)
        wanted = max(min(lamp.percent + change if level is None else level, _FULL), _LEAST)
        raw = max(round(wanted * lamp.most / _FULL), 1)
        path = await self._own()
        await self._ask(path, _SESSION, "SetBrightness", "ssu", "backlight", lamp.name, raw)
        for _ in range(_LOOKS):
            now = await asyncio.to_thread(self._lamp)
            if now.now == raw:
                return _bright(now.percent)
            await asyncio.sleep(_BETWEEN_S)
        raise ToolFailed(
            Phrase("Wisp asked the system for it, but nothing has changed. {now}", {"now": _bright(now.percent)})
        )

    async def lock(self) -> Phrase:
        """Lock the screen, by the desktop's own screen saver, or else by who listens to logind."""
        for name, path in SAVERS:
            try:
                await self._session.call(name, path, name, "Lock")
                break
            except (Unanswered, Declined):
                continue
        else:
            await self._ask(await self._own(), _SESSION, "Lock")
        for _ in range(_LOOKS):
            if await self._is_locked():
                return Phrase("The screen is locked.")
            await asyncio.sleep(_BETWEEN_S)
        raise ToolFailed(_UNLOCKED)

    async def end(self, how: str) -> Phrase:
        """Suspend, log out, restart or shut down. Whoever calls it has asked the person."""
        if how == "log_out":
            await self._log_out()
            return _TAKEN[how]
        member = _POWER[how]
        [can] = await self._ask(_LOGIN_PATH, _MANAGER, f"Can{member}")
        if can not in ("yes", "challenge"):
            raise ToolFailed(_UNABLE[how])
        await self._ask(_LOGIN_PATH, _MANAGER, member, "b", True)  # so that the system may ask for a password
        return _TAKEN[how]

    async def _log_out(self) -> None:
        for name, path, interface, member, signature, body in _MANAGERS:
            try:
                await self._session.call(name, path, interface, member, signature, *body)
            except Unanswered:
                continue
            except Declined as error:
                raise _refused(error) from error
            return
        await self._ask(await self._own(), _SESSION, "Terminate")

    async def _is_locked(self) -> bool:
        for name, path in SAVERS:
            try:
                if (await self._session.call(name, path, name, "GetActive")) == [True]:
                    return True
            except (Unanswered, Declined):
                continue
        try:
            return bool(await self._system.get(_LOGIN, await self._own(), _SESSION, "LockedHint"))
        except (Unanswered, Declined, ToolFailed):
            return False

    async def _own(self) -> str:
        """The path of the person's session."""
        told = os.environ.get("XDG_SESSION_ID", "")
        for session in filter(None, (told, "auto")):
            try:
                return str((await self._system.call(_LOGIN, _LOGIN_PATH, _MANAGER, "GetSession", "s", session))[0])
            except Declined:  # because a session that was taken over may have another number now
                continue
            except Unanswered as error:
                raise ToolFailed(_NO_LOGIND) from error
        raise ToolFailed("logind knows no session of yours on this computer.")

    async def _ask(self, path: str, interface: str, member: str, signature: str = "", *body: object) -> list[object]:
        try:
            return await self._system.call(_LOGIN, path, interface, member, signature, *body, limit_s=_PERSONS_LIMIT_S)
        except Unanswered as error:
            raise ToolFailed(_NO_LOGIND) from error
        except Declined as error:
            raise _refused(error) from error

    def _lamp(self) -> _Backlight:
        """Blocks."""
        found = []
        for folder in sorted(self._backlights.glob("*")):
            try:
                kind, now, most = (
                    (folder / name).read_text().strip() for name in ("type", "brightness", "max_brightness")
                )
                found.append((_KINDS.index(kind), _Backlight(folder.name, int(now), int(most))))
            except (OSError, ValueError):  # because it may be gone, or of another kind
                continue
        if not found or not found[0][1].most:
            raise ToolFailed(_NO_BACKLIGHT, advice=_OUTSIDE)
        return min(found, key=lambda one: one[0])[1]


def _bright(percent: int) -> Phrase:
    return Phrase("The brightness is {percent} %.", {"percent": percent})


def _refused(error: Declined) -> ToolFailed:
    return ToolFailed(Phrase("The system refused: {why}", {"why": clip_line(str(error), _WHY_CHARS)}))
