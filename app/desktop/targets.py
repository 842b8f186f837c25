"""Find the point to click from what a person calls a thing. If it is ambiguous, ask instead of guessing.

Runs on the desktop thread.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from app.base.clipping import clip_line
from app.base.errors import ToolFailed, ToolMisuse
from app.base.facts import Candidate, Missing, Named, Several
from app.base.geometry import ModelSpace, Point, Rect
from app.base.phrases import NO_PHRASE, Phrase, PhraseValue
from app.base.values import dataclass, replace
from app.desktop.accessibility.matching import normal, readings
from app.desktop.accessibility.outline import is_greyed, takes_value
from app.desktop.backends import Backend, Window
from app.desktop.elements import (
    GOOD,
    POPPED_UP,
    UNPLACED,
    Element,
    Match,
    NoLongerInSight,
    Outline,
    OutlineRequest,
    OutlineView,
)
from app.desktop.ocr.elements import SIZEABLE, OcrElements, is_written

_ASGOOD = 0.005
"""Scores this close count as equal, because each part of a score differs by more."""
_WINDOWS_READ = 3
_TOLD = 6
_LONGEST_NAME = 60
_LOOK_AGAIN_S = 0.1
_NOTHING = "Nothing on the screen fits {name!r}."


_Unread: TypeAlias = tuple[Window, tuple[Rect | None, ...]]
"""A window and the parts of it to read by OCR; None means all of it."""
_ALL: tuple[Rect | None, ...] = (None,)


@dataclass(frozen=True, slots=True)
class Located:
    """A place and how it was found: `how` is accessibility or ocr.

    `scrolled` is the middle of the page or list that must be scrolled to show it; None if it is visible.
    """

    element: Element
    how: str
    score: float
    runners_up: tuple[Located, ...] = ()
    scrolled: Point | None = None

    @property
    def point(self) -> Point:
        return self.scrolled or self.element.box.center

    def told(self, space: ModelSpace) -> str:
        """Describe the place in a few words, with its coordinates."""
        one = self.element
        name = clip_line(one.name, _LONGEST_NAME)
        at = f"out of sight below {space.point(self.point)}" if self.scrolled else f"at {space.point(self.point)}"
        inside = f" in {clip_line(one.window, _LONGEST_NAME)!r}" if one.window else ""
        return f"{one.ref} {one.role} {name!r} {at}{inside}"

    def candidate(self, space: ModelSpace) -> Candidate:
        one = self.element
        return Candidate(one.ref, Named(one.role, one.name), space.point(self.point), one.window)


class Ambiguous(ToolFailed):
    """Raised if several places match a description equally well; `candidates` holds all of them."""

    def __init__(self, description: str, candidates: Sequence[Located], space: ModelSpace) -> None:
        told = "; ".join(candidate.told(space) for candidate in candidates[:_TOLD])
        more = f" and {len(candidates) - _TOLD} more" if len(candidates) > _TOLD else ""
        values: dict[str, PhraseValue] = {
            "count": len(candidates),
            "description": description,
            "list": f": {told}{more}",
        }
        super().__init__(
            Phrase(
                "{count} thing fits {description!r}{list!s}.",
                values,
                many="{count} things fit {description!r}{list!s}.",
            ),
            "Name one by its ref or more exactly, or ask which one is meant.",
            facts=[Several(tuple(candidate.candidate(space) for candidate in candidates[:_TOLD]))],
        )
        self.candidates = tuple(candidates)


class NotFound(ToolFailed):
    """Raised if nothing matches `name`. The target is most likely in `area` (screen pixels), if it is there at all."""

    def __init__(self, what: Phrase, hint: str, area: Rect, *, advice: Phrase = NO_PHRASE, name: str = "") -> None:
        super().__init__(what, hint, advice=advice, facts=[Missing(name)] if name else ())
        self.area = area

    def with_hint(self, sentence: str) -> NotFound:
        """With another sentence for models at the end."""
        changed = NotFound(self.why.what, f"{self.why.hint} {sentence}".lstrip(), self.area, advice=self.why.advice)
        changed.facts = self.facts
        return changed


@dataclass(frozen=True, slots=True)
class Search:
    """A search for an element: its description, its role in everyday words, and the area to search, if any.

    `patience_s`: how many seconds to wait for a name that is missing, because its program may just be opening.
    `is_field`: only what a value can be put into is meant.
    """

    description: str
    role: str = ""
    area: Rect | None = None
    patience_s: float = 0.0
    is_field: bool = False

    def means(self, place: Located) -> bool:
        """True if the place may be what is searched for, whatever it is called."""
        return self.covers(place) and (takes_value(place.element) or not self.is_field)

    def covers(self, place: Located) -> bool:
        return self.area is None or self.area.contains(place.point)


class Locator:
    """Find what a target names, trying one method after the other. `written` reads undescribed windows by OCR; `space`
    is the model's coordinates."""

    def __init__(self, backend: Backend, written: OcrElements, space: Callable[[], ModelSpace] = ModelSpace) -> None:
        self._space = space
        self._accessibility = backend.accessibility
        self._windows = backend.windows
        self._screen = backend.screen
        self._written = written

    async def locate(self, search: Search) -> Located:
        """Raises Ambiguous if several places match, and NotFound if none does."""
        if not search.description.strip():
            raise ToolMisuse('The description is empty. Say what it is called, as in target="Save".')
        near: list[Located] = []
        trouble = ""
        for rung in (self._told, self._out_of_sight, self.written):
            try:
                found = await rung(search)
            except ToolFailed as error:
                # Only note the trouble, because the next way may still find the target.
                trouble = str(error)
                continue
            meant = [place for place in found if search.means(place)]
            if winner := _decided(search.description, self._in_front(meant), self._space()):
                return replace(winner, runners_up=(*winner.runners_up, *near)[:_TOLD])
            near += [place for place in found if search.covers(place)]
        silent = ", ".join(await self._accessibility.silent())
        quiet = Phrase("{programs} did not answer and may show it.", {"programs": silent}) if silent else NO_PHRASE
        hint = " ".join(filter(None, (_nearest(near, self._space()), quiet.for_models, trouble)))
        what = Phrase(_NOTHING, {"name": clip_line(search.description, _LONGEST_NAME)})
        raise NotFound(what, hint, search.area or self._front(), advice=quiet, name=search.description)

    def _in_front(self, found: Sequence[Located]) -> Sequence[Located]:
        """Drop places behind a dialog that has the keyboard, if the dialog contains an equally good match."""
        front = next((one for one in self._windows.all() if one.is_active and one.is_dialog and one.pid), None)
        own = [place for place in found if front and place.element.pid == front.pid]
        inside = [place for place in own if front and front.area.contains(place.point)]
        is_there = any(place.score >= max(one.score for one in found) - _ASGOOD for place in inside)
        return [place for place in found if place in inside or place not in own] if is_there else found

    async def _told(self, search: Search) -> list[Located]:
        """Search what programs report. Repeat until a good match, the time limit, or a window that OCR must read."""
        clock = asyncio.get_running_loop().time
        limit = clock() + search.patience_s
        while True:
            matches = await self._accessibility.find(search.description, role=search.role)
            found = [_from_match(match) for match in matches]
            if clock() >= limit or any(_is_good(place) and search.means(place) for place in found):
                return found
            if await self._blind_in_front():
                return found
            await asyncio.sleep(_LOOK_AGAIN_S)

    async def _out_of_sight(self, search: Search) -> list[Located]:
        """Search for controls that are visible only after scrolling. Scrolls nothing, because this only looks."""
        found = None if search.role else await self._accessibility.beyond(search.description)
        if found is None:
            return []
        return [Located(found.element, "accessibility", 1.0, scrolled=found.holder.box.center)]

    async def written(self, search: Search) -> list[Located]:
        """Find text by OCR in windows that report nothing, or in the search's area. Repeat for `patience_s`."""
        clock = asyncio.get_running_loop().time
        limit = clock() + search.patience_s
        while True:
            unread = [] if search.role or search.is_field else await self._unread(search.area)
            found = await self._read(unread, search)
            if not unread or clock() >= limit or any(place.score >= GOOD for place in found):
                return found
            await asyncio.sleep(_LOOK_AGAIN_S)
            if told := await self._matches(search):
                return told

    async def _matches(self, search: Search) -> list[Located]:
        matches = await self._accessibility.find(search.description, role=search.role)
        return [place for match in matches if search.means(place := _from_match(match)) and _is_good(place)]

    async def _read(self, unread: Sequence[_Unread], search: Search) -> list[Located]:
        """Read windows until one contains a good match. Returns the matching lines of all windows read so far."""
        found: list[Located] = []
        for window, parts in unread:
            for part in parts:
                lines = await self._written.fitting(window, readings(search.description), part)
                places = (Located(element, "ocr", score) for element, score in lines)
                found += [place for place in places if search.means(place) and not self._is_part_of_title(place)]
            if any(_is_good(place) for place in found):
                break
        return found

    async def _unread(self, area: Rect | None) -> list[_Unread]:
        """Return what to read by OCR: windows without accessibility, and the parts that the others do not describe.

        The rest is left out, because OCR takes up to a second for each window.
        """
        if area is not None:
            windows = (window for window in self._windows.all() if not window.is_minimised)
            return [(window, _ALL) for window in windows if window.area == area][:1]
        outline = await self._outline()
        mute = {window.ref for window in self._written.mute(outline)}
        unread: list[_Unread] = []
        for window in self._showing():
            parts = _ALL if window.ref in mute else tuple(await self._written.silent_parts(window, outline))
            if parts:
                unread.append((window, parts))
            if len(unread) == _WINDOWS_READ:
                break
        return unread

    def _showing(self) -> list[Window]:
        """The windows that may be read, the active one first."""
        windows = [window for window in self._windows.all() if not window.is_minimised and not window.is_own]
        return sorted(windows, key=lambda window: not window.is_active)

    async def _blind_in_front(self) -> bool:
        """True if the active window has content that its program does not report, so that OCR may help."""
        active = next((window for window in self._showing() if window.is_active), None)
        if active is None:
            return False
        outline = await self._outline()
        is_mute = any(window.is_active for window in self._written.mute(outline))
        return is_mute or bool(await self._written.silent_parts(active, outline, SIZEABLE))

    async def _outline(self) -> Outline:
        try:
            return await self._accessibility.outline(OutlineRequest(OutlineView.FULL))
        except ToolFailed:  # because OCR still works without accessibility
            return Outline("")

    def _is_part_of_title(self, place: Located) -> bool:
        """True for a word in the title of a window, which does nothing when it is clicked."""
        is_whole = normal(place.element.name) == normal(place.element.window)
        return not is_whole and bool(self._windows.under(place.point).framed)

    def _front(self) -> Rect:
        """The visible part of the active window; without one, the whole screen."""
        extent = self._screen.extent()
        active = next((window for window in self._windows.all() if window.is_active), None)
        return (active and active.area.overlap(extent)) or extent


def _from_match(match: Match) -> Located:
    return Located(match.element, "accessibility", match.score)


def _is_good(place: Located) -> bool:
    return place.score >= GOOD


def _decided(description: str, found: Sequence[Located], space: ModelSpace) -> Located | None:
    """None if no match is good. Raises Ambiguous if there are several best ones."""
    # A list with a field in it has the field's name: what is typed goes into the field.
    ranked = _apart(sorted(found, key=lambda place: (-place.score, not place.element.is_("editable"))))
    if not ranked or ranked[0].score < GOOD:
        return None
    equals = [place for place in ranked if place.score >= ranked[0].score - _ASGOOD]
    if len(equals) > 1:
        raise Ambiguous(description, equals, space)
    return replace(ranked[0], runners_up=tuple(ranked[1 : _TOLD + 1]))


def _apart(places: Sequence[Located]) -> list[Located]:
    """Drop places that overlap an earlier one: a button and the label in it are one place."""
    kept: list[Located] = []
    for place in places:
        box = place.element.box
        if not any(box.contains(other.point) and other.element.box.contains(place.point) for other in kept):
            kept.append(place)
    return kept


def _nearest(near: Sequence[Located], space: ModelSpace) -> str:
    ranked = _apart(sorted(near, key=lambda place: -place.score))[:_TOLD]
    return f"Nearest: {'; '.join(place.told(space) for place in ranked)}." if ranked else ""


_APPEARS_S = 1.0
"""How long to search again for a name that is not visible yet."""
_NAME_CHARACTERS = 80
_FIRST = "Look again first."


@dataclass(frozen=True, slots=True)
class Aim:
    """Where to click, how it was found (`point`, `ref` or `name`), and the element if one is known.

    `window` is the one that the policy expects to receive the press, if it judged the call. `beyond` is the name by
    which the element was found out of sight; the point is then inside what must be scrolled.
    """

    point: Point
    route: str
    element: Element | None = None
    score: float = 1.0
    window: Window | None = None
    beyond: str = ""

    @property
    def place(self) -> Rect:
        """The area on the screen that a click at this aim acts on."""
        return self.element.box if self.element else Rect(self.point.x, self.point.y, 1, 1)

    def told(self, space: ModelSpace) -> str:
        """Describe the aim in a few words."""
        where = space.point(self.point)
        return f'{self.element.role} "{self.element.name}" at {where}' if self.element else where


class OutOfReach(ToolFailed):
    """Raised instead of a press that would reach something other than its target."""


class Unplaced(OutOfReach):
    """Raised if a target shows and nobody knows where, as an entry of a menu on Wayland. It takes only its action."""

    def __init__(self, element: Element) -> None:
        what = Phrase("The program does not say where {thing} is.", {"thing": _told(element)})
        super().__init__(what, f"Press it by its ref ({element.ref}), or look, and click what you see.")
        self.element = element


class TargetMoved(OutOfReach):
    """Raised if the target is at another place; `now` is the element there.

    LibreOffice reports wrong positions until the pointer is in its window for the first time.
    """

    def __init__(self, what: Phrase, hint: str, now: Element) -> None:
        super().__init__(what, hint)
        self.now = now


_MOST_WHEELS = 8
_NOTCHES_AT_ONCE = 100
_NOTCH_PX = 48.0
_SCROLLED_S = 0.15
Wheel = Callable[[Point, tuple[int, int], tuple[str, ...]], Awaitable[None]]


class TargetResolver:
    """Finds targets among what programs report and what OCR reads. `wheel` turns the mouse wheel over a list."""

    def __init__(
        self, backend: Backend, written: OcrElements, space: Callable[[], ModelSpace] = ModelSpace,
        wheel: Wheel | None = None,
    ) -> None:  # fmt: skip
        self._backend = backend
        self._wheel = wheel
        self._written = written
        self._locator = Locator(backend, written, space)

    async def at_ref(self, ref: str, *, may_scroll: bool = False) -> Aim:
        """Return the aim at an element or text by its ref. Raises ToolMisuse or ToolFailed if it is gone.

        `may_scroll`: the caller can `reach` what is out of sight.
        """
        if is_written(ref):
            return await self._aimed(await self._written.element(ref), "ref", 1.0)
        try:
            return await self._aimed(await self._backend.accessibility.element(ref), "ref", 1.0)
        except NoLongerInSight as error:  # because locating gives a ref to what lies out of sight, too
            far = await self._backend.accessibility.beyond(error.name) if may_scroll and error.name else None
            if far is None or far.element.ref != ref:
                raise
            return Aim(far.holder.box.center, "ref", far.element, beyond=error.name)

    async def at_name(self, target: str, role: str = "", *, is_field: bool = False) -> Aim:
        """Return the aim at the element with that name and role. Waits a moment for a name that is not there yet.

        `is_field`: only what a value can be put into is meant.

        Raises Ambiguous with all matches, or NotFound with the nearest names.
        """
        place = await self._locator.locate(Search(target, role, patience_s=_APPEARS_S, is_field=is_field))
        if place.scrolled is not None:
            return Aim(place.scrolled, "name", place.element, place.score, beyond=target)
        return await self._aimed(place.element, "ocr" if place.how == "ocr" else "name", place.score)

    async def reach(self, aim: Aim) -> Aim:
        """Scroll to an element that was found out of sight. Raises OutOfReach if it does not become visible."""
        match, before = await self._backend.accessibility.reveal(aim.beyond), aim.element
        assert before is not None, "only controls are found out of sight"
        now = match.element if match else None
        if now is None and await self._has_wheeled_to(aim.beyond):
            now = (await self._locator.locate(Search(aim.beyond))).element
        if now is None or (now.role, now.name, now.pid) != (before.role, before.name, before.pid):
            what = Phrase("{thing} is out of sight and could not be scrolled to.", {"thing": _told(before)})
            raise OutOfReach(what, "Scroll there, and look again.")
        return await self._aimed(now, aim.route, aim.score)

    async def _has_wheeled_to(self, target: str) -> bool:
        """Turn the wheel over a list until its row is visible. False if no such row exists or nothing moves."""
        row_y, notches, notch_px = 0, 0, _NOTCH_PX
        for _ in range(_MOST_WHEELS):
            try:
                found = await self._backend.accessibility.beyond(target)
            except ToolFailed:  # because a bus that hangs knows of no rows; that nothing fits is the answer
                return False
            if found is None or self._wheel is None or not found.is_row:
                return notches != 0  # it is in sight now
            holder, row = found.holder, found.element
            at = holder.box.center
            moved = abs(row.box.center.y - row_y) if notches else 0
            if not self._is_in_front(at, holder) or (notches and not moved):
                return False
            notch_px = moved / abs(notches) if notches else notch_px
            row_y = row.box.center.y
            wanted = round((row_y - at.y) / notch_px) or (1 if row_y > at.y else -1)
            notches = max(-_NOTCHES_AT_ONCE, min(wanted, _NOTCHES_AT_ONCE))
            await self._wheel(at, (0, notches), ())
            await asyncio.sleep(_SCROLLED_S)
        return False

    async def _aimed(self, element: Element, route: str, score: float) -> Aim:
        if element.is_(UNPLACED):
            raise Unplaced(element)
        shown = element.box.overlap(self._backend.screen.extent())
        if shown is None:
            what = Phrase("{thing} lies off the screen.", {"thing": _told(element)})
            raise ToolFailed(what, "Scroll or move its window first.")
        aim = Aim(shown.center, route, element, score)
        if not self._is_in_front(aim.point, element):
            window = next((w for w in self._backend.windows.all() if _is_in(w, element)), None)
            if window is not None:
                await self._backend.windows.focus(window.ref)
        return aim

    async def hit_test(self, aim: Aim) -> None:
        """Check that a press now would reach the element and window that were judged. Raises OutOfReach."""
        if aim.element is not None:
            await self._check_element(aim.element, aim.point)
        top = self._top_at(aim.point)
        is_in_menu = aim.element is not None and aim.element.is_(POPPED_UP)
        if aim.window and top and not is_in_menu and not _is_of_one_program(top, aim.window):
            values: dict[str, PhraseValue] = {"now": _window_called(top), "window": _window_called(aim.window)}
            raise OutOfReach(Phrase("{now} is there now, not {window}. Nothing was done.", values), _FIRST)

    def check_drop(self, aims: Sequence[Aim]) -> None:
        """Check, before the button is released, that no other window opened at the last point. Raises OutOfReach.

        The windows of the first and last aim count as expected: a window may itself be dragged.
        """
        judged = [aim.window.ref for aim in (aims[0], aims[-1]) if aim.window is not None]
        there = self._backend.windows.under(aims[-1].point).window
        if judged and there and there not in judged:
            title = next((window.title for window in self._backend.windows.all() if window.ref == there), "")
            what = Phrase(
                "The window {title!r} came up where Wisp wanted to drop. Nothing was "
                "dropped, and the pointer went back.",
                {"title": clip_line(title, _NAME_CHARACTERS)},
            )
            raise OutOfReach(what, _FIRST)

    async def _check_element(self, element: Element, point: Point) -> None:
        obstacle = ""
        if not is_written(element.ref):
            obstacle = await self._backend.accessibility.obstacle(element.ref, point)
            now = await self.check_name(element)
            if now.box.size.area and element.box.contains(point) and not now.box.contains(point):
                what = Phrase("{thing} has moved. Nothing was clicked.", {"thing": _told(element)})
                raise TargetMoved(what, _FIRST, now)
            if is_greyed(now):
                raise OutOfReach(now.greyed(_NAME_CHARACTERS))
        if obstacle:
            blocked = "{thing} cannot be clicked: {why} Nothing was clicked."
            raise OutOfReach(Phrase(blocked, {"thing": _told(element), "why": obstacle}))
        if not self._is_in_front(point, element):
            top = self._top_at(point)
            text = "{thing} is covered by {window}." if top else "{thing} is not shown there."
            values: dict[str, PhraseValue] = {"thing": _told(element), "window": _window_called(top) if top else ""}
            hint = "Use focus_window on its window, and look again."
            raise OutOfReach(Phrase(f"{text} Nothing was clicked.", values), hint)

    async def check_name(self, element: Element) -> Element:
        """Read the element again and return it. Raises OutOfReach if it has another role or name now."""
        now = await self._backend.accessibility.element(element.ref)
        if (now.role, now.name) != (element.role, element.name):
            values: dict[str, PhraseValue] = {
                "thing": _told(element),
                "role": now.role,
                "name": clip_line(now.name, _NAME_CHARACTERS),
            }
            raise OutOfReach(Phrase("{thing} is now the {role} {name!r}. Nothing was done.", values), _FIRST)
        return now

    def _is_in_front(self, point: Point, element: Element) -> bool:
        """Return whether a press at the point goes to the element's window, judged by titles and processes."""
        top, listed = self._top_at(point), self._backend.windows.all()
        if element.is_(POPPED_UP):
            return True
        if top is None:
            return not any(_is_in(window, element) for window in listed if element.window)
        if top.is_popup:
            # Text found by OCR at this place is in the menu itself, because the menu is in front.
            return is_written(element.ref) or (bool(top.pid) and top.pid == element.pid)
        if _is_in(top, element):
            return True
        # Compare the process, because the window's title may have changed since the element was found.
        return bool(element.pid) and top.pid == element.pid and not any(_is_in(window, element) for window in listed)

    def _top_at(self, point: Point) -> Window | None:
        """Return the window that a press at the point goes to, without Wisp's own.

        A window of no known program may be an overlay that lets clicks through, so it does not count.
        """
        return next((window for window in self._backend.windows.shown() if _takes(window, point)), None)


def _takes(window: Window, point: Point) -> bool:
    is_known = window.pid != os.getpid() and (window.pid or not window.is_popup)
    return bool(is_known) and not window.is_minimised and window.area.contains(point)


def _is_of_one_program(top: Window, judged: Window) -> bool:
    """Return whether `top` is the judged window, or a menu of its process (no window list contains menus)."""
    return top.ref == judged.ref or (top.is_popup and bool(top.pid) and top.pid == judged.pid)


def _is_in(window: Window, element: Element) -> bool:
    if element.window:
        return window.title == element.window
    return bool(element.pid) and window.pid == element.pid


def _window_called(window: Window) -> Phrase:
    return Phrase("the window {title!r}", {"title": clip_line(window.title or window.app, _NAME_CHARACTERS)})


def _told(element: Element) -> Phrase:
    values = {"ref": f"{element.ref} {element.role} ", "name": clip_line(element.name, _NAME_CHARACTERS)}
    return Phrase("{ref!s}{name!r} in {window!r}", values | {"window": element.window})
