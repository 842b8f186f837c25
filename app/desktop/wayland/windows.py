"""The windows of a Wayland session: the compositor's list, with what XWayland tells of X11 programs."""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, Protocol

from app.base.errors import ToolFailed
from app.base.geometry import Point, Rect
from app.base.phrases import Phrase
from app.base.values import replace
from app.desktop.backends import STAYED_BEHIND, Desktops, Frame, Landing, NotOffered, Window, WindowState
from app.desktop.verification import until_idle
from app.desktop.wayland.compositor import Compositor
from app.desktop.wayland.pictures import WindowPictures
from app.desktop.wayland.xwayland import XwaylandWindows

_LIMIT_S = 2.0
_CLOSING_S = 5.0
_LOOK_AGAIN_S = 0.1
_FRESH_S = 0.005
"""For so long a list of windows is as good as a new one: it is older than that when it has come and is used."""


class Programs(Protocol):
    """What programs tell about themselves that the compositor does not."""

    async def answered(self, pid: int, limit_s: float) -> bool | None:
        """Wait until a program has handled its input. Returns True, False after the limit (s), None if unknown."""
        ...

    def is_dialog(self, pid: int, title: str) -> bool: ...


class Listing(ABC):
    """How one compositor lists and controls windows. What it tells besides is known by the methods with a body."""

    name: ClassVar[str]

    @abstractmethod
    def windows(self) -> tuple[Window, ...]:
        """Return all windows, topmost first; those that are not on the screen (`is_minimised`) come last.

        The menus of native programs are among them where the compositor tells them.
        """

    def at(self, point: Point) -> Landing | None:  # noqa: ARG002
        """None if only the list tells what takes a press."""
        return None

    def pointer(self) -> Point | None:
        """None if nobody tells where the pointer is."""
        return None

    def x_number(self, ref: str) -> int | None:  # noqa: ARG002
        """Return the number that a window of the last list has in XWayland; 0: it is native, None: it is not told."""
        return None

    def doubt(self, *, all_of_them: bool) -> None:  # noqa: B027
        """Note that the active window, or all of them, may have been moved. Not needed where places are told."""

    @abstractmethod
    def focus(self, ref: str) -> None: ...

    @abstractmethod
    def close(self, ref: str) -> None: ...

    @abstractmethod
    def place(self, ref: str, area: Rect) -> None:
        """Move and resize a window, its frame included."""

    @abstractmethod
    def minimise(self, ref: str) -> None: ...

    def set_state(self, ref: str, state: WindowState, *, on: bool) -> None:  # noqa: ARG002
        """Ask for a state of a window, or to take it away. Raises NotOffered where nobody can."""
        raise NotOffered

    def desktops(self) -> Desktops:
        """Raises NotOffered where nobody tells the virtual desktops."""
        raise NotOffered

    def go_to_desktop(self, number: int) -> None:  # noqa: ARG002
        raise NotOffered

    def send_to_desktop(self, ref: str, number: int) -> None:  # noqa: ARG002
        raise NotOffered

    @abstractmethod
    def follow(self, changed: Callable[[], None]) -> None:
        """Call `changed` whenever something happens to a window."""

    def leave(self) -> None:  # noqa: B027
        """End what was opened for listing."""


class WaylandWindows:
    """The windows, topmost first. A compositor's refs name them, also those of XWayland."""

    def __init__(
        self,
        compositor: Compositor,
        listing: Listing,
        x11: XwaylandWindows,
        pictures: WindowPictures,
        programs: Programs,
    ) -> None:
        self._compositor = compositor
        self._listing = listing
        self._x11 = x11
        self._pictures = pictures
        self._programs = programs
        self._numbers: dict[str, int] = {}
        """The numbers that the windows of X11 programs have in XWayland, by their refs."""
        self._listed: tuple[Window, ...] = ()
        self._listed_at = 0.0
        self._news = asyncio.Event()
        listing.follow(self._changed)

    def _changed(self) -> None:
        self._listed_at = 0.0
        self._news.set()

    # --- seeing

    def all(self) -> tuple[Window, ...]:
        return tuple(window for window in self._known() if not window.is_popup)

    def _known(self) -> tuple[Window, ...]:
        return self._look() if time.monotonic() - self._listed_at > _FRESH_S else self._listed

    def _look(self) -> tuple[Window, ...]:
        """Ask the compositor for its windows."""
        found, by_x11 = self._listing.windows(), self._x11.listed()
        self._numbers.clear()

        def whole(window: Window) -> Window:
            number = self._listing.x_number(window.ref)
            if number is None:
                number = next((one for one, own in by_x11.items() if _is_same(own, window)), 0)
            if number not in by_x11:
                return replace(window, is_dialog=window.is_dialog or self._programs.is_dialog(window.pid, window.title))
            self._numbers[window.ref] = number
            own = by_x11.pop(number)
            return replace(
                window,
                app=window.app or own.app,
                area=window.area if window.area.size.area else own.area,
                pid=window.pid or own.pid,
                is_dialog=own.is_dialog,
                is_own=own.is_own,
                is_of_other_wisp=own.is_of_other_wisp,
            )

        self._listed, self._listed_at = tuple(whole(window) for window in found), time.monotonic()
        return self._listed

    def shown(self) -> tuple[Window, ...]:
        listed = self._known()
        refs = {number: ref for ref, number in self._numbers.items()}
        popups = (
            replace(popup, ref=refs.get(int(popup.ref[1:], 16), "") if popup.ref else "")
            for popup in self._x11.popups()
        )
        return (*popups, *(window for window in listed if not window.is_minimised))

    def keyboard(self) -> Landing:
        active = next((window for window in self._look() if window.is_active), None)
        if self._x11.has_own_keyboard():
            return Landing("wisp", "", is_own=True)
        return Landing(active.ref, active.ref, active.is_own) if active else Landing()

    def under(self, point: Point) -> Landing:
        popup, listed = self._x11.under(point), self._look()
        if popup.place:
            number = int(popup.window[1:], 16) if popup.window else 0
            owner = next((ref for ref, known in self._numbers.items() if known == number), "")
            return Landing(f"x{popup.place}", owner, popup.is_own)
        if (told := self._listing.at(point)) is not None:
            return replace(told, is_own=any(one.is_own for one in listed if one.ref == told.window))
        found = next((one for one in listed if not one.is_minimised and one.area.contains(point)), None)
        if found is None:
            return Landing()
        is_frame = found.content is not None and not found.content.contains(point)
        return Landing(found.ref, "" if is_frame else found.ref, found.is_own, found.ref if is_frame else "")

    # --- acting

    async def focus(self, ref: str) -> Window:
        found = self._by_ref(ref)
        self._listing.focus(ref)
        self._listed_at = 0.0
        if not await self.until(lambda: self.keyboard().window == ref, _LIMIT_S):
            raise ToolFailed(Phrase(STAYED_BEHIND, {"title": found.title}))
        return self._by_ref(ref)

    async def close(self, ref: str) -> bool:
        before = {window.ref for window in self.all()}
        self._by_ref(ref)
        self._listing.close(ref)

        def is_decided() -> bool:
            now = self.all()
            asks = any(window.is_dialog and window.ref not in before for window in now)
            return asks or all(window.ref != ref for window in now)

        await self.until(is_decided, _CLOSING_S)
        return all(window.ref != ref for window in self.all())

    async def place(self, ref: str, area: Rect) -> Window:
        self._by_ref(ref)
        self._listing.place(ref, area)
        await self.until(lambda: self._by_ref(ref).area == area, _LIMIT_S)
        return self._by_ref(ref)

    async def minimise(self, ref: str) -> None:
        self._by_ref(ref)
        self._listing.minimise(ref)
        await self.until(lambda: self._by_ref(ref).is_minimised, _LIMIT_S)

    async def set_state(self, ref: str, state: WindowState, *, on: bool) -> Window:
        found = self._by_ref(ref)
        self._listing.set_state(ref, state, on=on)
        self._listed_at = 0.0
        if not await self.until(lambda: (state in self._by_ref(ref).states) == on, _LIMIT_S):
            raise ToolFailed(Phrase("The window {title!r} did not do that.", {"title": found.title}))
        return self._by_ref(ref)

    def desktops(self) -> Desktops:
        return self._listing.desktops()

    async def go_to_desktop(self, number: int) -> None:
        self._listing.go_to_desktop(number)
        if not await self.until(lambda: self.desktops().current == number, _LIMIT_S):
            raise ToolFailed("The desktop was not changed.")

    async def send_to_desktop(self, ref: str, number: int) -> None:
        found = self._by_ref(ref)
        self._listing.send_to_desktop(ref, number)
        self._listed_at = 0.0
        if not await self.until(lambda: self._by_ref(ref).desktop == number, _LIMIT_S):
            raise ToolFailed(Phrase("The window {title!r} was not moved to another desktop.", {"title": found.title}))

    def _by_ref(self, ref: str) -> Window:
        found = next((window for window in self.all() if window.ref == ref), None)
        if found is None:
            raise ToolFailed("That window is gone.", "list_windows shows what is there.")
        return found

    async def answers(self, ref: str, limit_s: float, *, whole: bool = False) -> bool | None:
        if number := self._numbers.get(ref):
            return await self._x11.answers(number, limit_s, whole=whole)
        found = next((window for window in self.all() if window.ref == ref), None)
        if found is None or not found.pid:
            return None
        has_answered = await self._programs.answered(found.pid, limit_s)
        if has_answered:
            # It answers between two of the events that it has got: at rest it has handled all of them.
            await until_idle(found.pid, limit_s)
        return has_answered

    async def picture(self, ref: str) -> Frame | None:
        window = self._by_ref(ref)
        picture = self._pictures.of(window.app, window.title)
        place = window.content or window.area
        if picture is None or (picture.area.width, picture.area.height) != (place.width, place.height):
            return None  # because it has shadows around it, or nobody knows where it lies
        return Frame(place, picture.bgrx)

    async def arranged(self, limit_s: float) -> bool:  # noqa: ARG002 - a compositor handles requests in order
        self._compositor.wire.roundtrip()
        return True

    async def changed(self, limit_s: float) -> None:
        self._news.clear()
        try:
            async with asyncio.timeout(limit_s):
                await self._news.wait()
        except TimeoutError:
            return

    async def until(self, is_so: Callable[[], bool], limit_s: float) -> bool:
        """Wait until the condition is true or the limit is over. Returns whether it is true."""
        limit = time.monotonic() + limit_s
        while not is_so():
            left = limit - time.monotonic()
            if left <= 0:
                return False
            await self.changed(min(left, _LOOK_AGAIN_S))
        return True


def _is_same(one: Window, other: Window) -> bool:
    by_program = one.pid == other.pid if one.pid and other.pid else one.app.casefold() == other.app.casefold()
    return by_program and one.title == other.title
