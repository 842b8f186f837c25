"""Report in one line what an action really did, and claim no more than was seen."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path

from app.base import resources
from app.base.clipping import clip_line
from app.base.clock import Clock
from app.base.errors import ToolFailed
from app.base.facts import (
    CaretMoved,
    Fact,
    FieldHolds,
    Holding,
    KeyboardIn,
    Named,
    Seen,
    StateNow,
    ValueNow,
    WindowChanged,
    WindowEvent,
)
from app.base.geometry import Rect
from app.base.values import dataclass, replace
from app.desktop.accessibility.constants import TEXTS, TOGGLE_BUTTON
from app.desktop.backends import Backend, Drawing, Drawn, Frame, Window
from app.desktop.capture import TILE_PX, bounds_of, changed_tiles, merged, part_of, patched
from app.desktop.elements import SECRET, Changed, Element, NoLongerInSight
from app.desktop.ocr.elements import is_written

_CARET_WIDTH_PX = 4  # because a change this small may be only a blinking caret
_CARET_HEIGHT_PX = 48
_RESTLESS_AFTER = 6  # because a tile that changes more often is a video or a spinner, which never comes to rest
_FADE = 14
"""Of 255: a smaller step between two looks is a colour that fades (a released button), not a change."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait, in seconds: for a first change, for rest after the last change, and in all.

    `fades`: also wait for colours that fade slowly.
    """

    first_s: float = 0.12
    quiet_s: float = 0.034
    limit_s: float = 2.0
    poll_s: float = 0.012
    fades: bool = False


@dataclass(frozen=True, slots=True)
class Settled:
    """A screen at rest. `frame` is its picture; `changed` are the areas that differ from before the action."""

    frame: Frame
    changed: tuple[Rect, ...]
    is_calm: bool


class SettleWatch:
    """Compares one area with its state before an action until it is at rest. `is_mine`: a window of Wisp is there.

    With `drawing`, it captures only when something was drawn, and only that part.
    """

    def __init__(
        self,
        grab: Callable[[Rect], Frame],
        area: Rect,
        clock: Clock,
        is_mine: Callable[[Rect], bool],
        drawing: Drawing | None = None,
    ) -> None:
        self._grab = grab
        self._area = area
        self._clock = clock
        self._is_mine = is_mine
        self._drawn = drawing.follow() if drawing else None
        self.before = self._last = grab(area)
        self._touched: Rect | None = None
        self._moves: dict[tuple[int, int], int] = {}

    async def settle(self, patience: Patience, busy: asyncio.Task[object] | None = None) -> Settled:
        """Return once `busy` (the program's work) is done and the screen is at rest, or at the time limit after it."""
        started = calm_since = self._clock.now()
        has_looked = has_changed = False
        while True:
            if not (has_looked or (busy and not busy.done())):
                has_looked = True
                await self._outwait(patience.quiet_s)
            is_busy, now = busy is not None and not busy.done(), self._clock.now()
            is_news = not is_busy and self._is_news(self._look(1 if patience.fades else _FADE))
            has_changed = has_changed or is_news
            if is_busy:
                started = now
            if is_busy or is_news:
                calm_since = self._drawn.at if self._drawn and not is_busy else now
            left = calm_since + (patience.quiet_s if has_changed else patience.first_s) - now
            limit = started + patience.limit_s - now
            if left <= 0 or limit <= 0:
                return self._settled(is_calm=limit > 0)
            if busy is not None and is_busy:
                await asyncio.wait({busy})
            elif not await self._is_drawn(min(left, limit), patience) and left <= limit:
                return self._settled(is_calm=True)

    async def _outwait(self, quiet_s: float) -> None:
        """Wait until the screen may be at rest. An earlier capture would slow down the program that draws."""
        left = self._drawn.at + quiet_s - self._clock.now() if self._drawn else 0.0
        if left > 0:
            await asyncio.sleep(left)

    async def _is_drawn(self, wait_s: float, patience: Patience) -> bool:
        """Wait until something is drawn. Returns False if nothing is drawn for `wait_s` seconds."""
        if self._drawn:
            return await self._drawn.more(wait_s)
        await asyncio.sleep(min(patience.poll_s, wait_s))
        return True

    def _settled(self, *, is_calm: bool) -> Settled:
        if self._touched is None:  # so that nothing is called unchanged because a server did not report it
            self._last, self._touched = self._grab(self._area), self._area
        return Settled(self._last, self.differences(self._last, self._touched), is_calm)

    def _look(self, at_least: int) -> list[Rect]:
        """The tiles in which a colour channel differs from the last capture by `at_least` or more."""
        area = self._area if self._drawn is None else self._drawn_part(self._drawn)
        if area is None:
            return []
        part = self._grab(area)
        found = changed_tiles(part_of(self._last, area), part, at_least=at_least)
        self._last = part if area == self._area else patched(self._last, part)
        self._touched = bounds_of([area, self._touched]) if self._touched else area
        return found

    def _drawn_part(self, drawing: Drawn) -> Rect | None:
        """What was drawn to since the last capture, in whole tiles; None if nothing was."""
        drawn = drawing.area()
        if drawn is None:
            return None
        left, top = drawn.x - drawn.x % TILE_PX, drawn.y - drawn.y % TILE_PX
        return Rect(left, top, drawn.right - left, drawn.bottom - top).overlap(self._area)

    async def begin_anew(self, patience: Patience) -> None:
        """Wait for rest, and take this screen as the state before the action: hover effects then do not count."""
        self.before = (await self.settle(patience)).frame
        self._touched = None

    def has_changed(self) -> bool:
        """True if anything but a caret or Wisp's own windows changed since the watch began."""
        bounds = bounds_of(self.differences(self._grab(self._area), self._area))
        return bounds is not None and not is_caret(bounds)

    def differences(self, now: Frame, inside: Rect) -> tuple[Rect, ...]:
        """What changed since before the action, without Wisp's own windows."""
        found = changed_tiles(part_of(self.before, inside), part_of(now, inside))
        return tuple(tile for tile in found if not self._is_mine(tile))

    def _is_news(self, found: Sequence[Rect]) -> bool:
        tiles = [tile for tile in found if not self._is_mine(tile)]
        bounds = bounds_of(tiles)
        if bounds is None or is_caret(bounds):
            return False
        return any([self._is_fresh(tile) for tile in tiles])

    def _is_fresh(self, tile: Rect) -> bool:
        place = (tile.x // TILE_PX, tile.y // TILE_PX)
        self._moves[place] = self._moves.get(place, 0) + 1
        return self._moves[place] <= _RESTLESS_AFTER


def is_caret(area: Rect) -> bool:
    """True if the changed area is no larger than a blinking caret."""
    return area.width <= _CARET_WIDTH_PX and area.height <= _CARET_HEIGHT_PX


_NEAR_PX = 48
_SHORT_CHARS = 240
_MOST_CHARS = 1100
_BRIEF_CHARS = 120


@dataclass(frozen=True, slots=True)
class Receipt:
    """What an action did, as far as Wisp can tell.

    `verdict`: changed (at the place of the action, or in the active window), elsewhere, unchanged, or unseen. `proof`:
    confirmed only if something besides pixels says so (`evidence`), suspected no-op if nothing changed at all or a
    field has nothing of a text, otherwise unverifiable. `regions` are screen pixels; `focus` is the window with the
    keyboard afterwards.
    """

    verdict: str
    proof: str
    regions: tuple[Rect, ...] = ()
    evidence: tuple[Fact, ...] = ()
    focus: str = ""
    is_calm: bool = True
    changes: tuple[Fact, ...] = ()
    unsaid: Rect | None = None

    @property
    def facts(self) -> tuple[Fact, ...]:
        """What was found out, and how sure it is."""
        return (*self.evidence, *self.changes, Seen(self.proof))

    @property
    def sentence(self) -> str:
        """The text for the model: one line; if many changes are reported, a further line for each."""
        is_told_enough = self.proof == "confirmed" and not self.regions
        changes = _within([change.said for change in self.changes])
        is_short = sum(map(len, changes)) <= _SHORT_CHARS
        parts = [
            *(fact.said for fact in self.evidence),
            *(changes if is_short else ()),
            *([] if is_told_enough else [_SEEN[self.verdict]]),
        ]
        if not self.is_calm:
            parts.append("The screen is still moving.")
        if self.focus:
            parts.append(f"The keyboard is in {self.focus!r}.")
        line = f"{' '.join(parts)} ({self.proof})"
        return line if is_short else "\n".join([line, *changes])

    @property
    def brief(self) -> str:
        """The text for the model if more was done since: what proves the effect, or how little does."""
        told = self.evidence or self.changes[:1]
        doubt = () if self.proof == "confirmed" else (f"({self.proof})",)
        return " ".join([*(clip_line(fact.said, _BRIEF_CHARS) for fact in told), *doubt])

    def restless(self) -> Receipt:
        return replace(self, is_calm=False)

    def with_evidence(self, *evidence: Fact) -> Receipt:
        """A copy that is confirmed by evidence other than pixels."""
        return replace(self, proof="confirmed", evidence=(*self.evidence, *evidence))

    def with_changes(self, changes: Sequence[Fact], unsaid: Rect | None = None) -> Receipt:
        """`unsaid` is a changed area that no program described; the model must look."""
        return replace(self, changes=tuple(changes), unsaid=unsaid)

    def with_doubt(self, *against: Fact, is_in_vain: bool = False) -> Receipt:
        """Return a copy that is unverifiable, or a suspected no-op, with what speaks against it."""
        proof = "suspected no-op" if is_in_vain else "unverifiable"
        return replace(self, proof=proof, evidence=(*self.evidence, *against))


def _within(sentences: Sequence[str]) -> list[str]:
    """As many sentences as a receipt has room for, and how many more there are."""
    kept, left = list[str](), _MOST_CHARS
    for sentence in sentences:
        left -= len(sentence) + 1
        if left < 0:
            return [*kept, f"And {len(sentences) - len(kept)} more changes."]
        kept.append(sentence)
    return kept


_SEEN = {
    "changed": "The screen changed there.",
    "elsewhere": "The screen changed, but elsewhere.",
    "unchanged": "Nothing on the screen changed.",
    "unseen": "What came of it was not looked at.",
}
UNSEEN = Receipt("unseen", "unverifiable")


def receipt(
    changed: Sequence[Rect], where: Rect | None, changes: Sequence[WindowChange], active: Window | None
) -> Receipt:
    """Build a receipt from the changed areas, the place of the action (None: the active window), and the windows.

    Changes in other programs' windows are reported, but do not prove an effect.
    """
    regions = tuple(merged(_without_caret(changed)))
    place = where or (active.area if active else None)
    evidence = tuple(change.fact for change in changes)
    is_proven = any(change.is_effect for change in changes)
    verdict = "unchanged"
    if regions or evidence:
        is_there = place is None or any(_grown(place, _NEAR_PX).overlap(region) for region in regions)
        verdict = "changed" if is_there or is_proven else "elsewhere"
    proof = "confirmed" if is_proven else "unverifiable" if regions or evidence else "suspected no-op"
    return Receipt(verdict, proof, regions, evidence, active.title if active else "")


def proven(evidence: Sequence[Fact], after: Sequence[Window]) -> Receipt:
    """For an action that a program confirmed before the screen was captured."""
    active = _active(after)
    return Receipt("changed", "confirmed", (), tuple(evidence), active.title if active else "")


def _without_caret(changed: Sequence[Rect]) -> Sequence[Rect]:
    bounds = bounds_of(changed)
    return () if bounds is None or is_caret(bounds) else changed


def _grown(area: Rect, by_px: int) -> Rect:
    return Rect(area.x - by_px, area.y - by_px, area.width + 2 * by_px, area.height + 2 * by_px)


def _active(windows: Sequence[Window]) -> Window | None:
    return next((window for window in windows if window.is_active), None)


@dataclass(frozen=True, slots=True)
class WindowChange:
    """A change of a window. `is_effect`: it proves an effect, as the window belongs to the program acted on."""

    fact: WindowChanged
    is_effect: bool


def window_changes(
    before: Sequence[Window],
    after: Sequence[Window],
    meant: Window | None,
    *,
    at_a_place: bool = False,
    is_answered: bool = False,
) -> list[WindowChange]:
    """Return what happened to windows: opened, closed, became active, or changed.

    With `at_a_place`, it is no effect that the action's own window came to the front; with `is_answered`, that it
    closed and gave way to another.
    """
    old, new = {w.ref: w for w in before}, {w.ref: w for w in after}
    opened = [window for window in after if window.ref not in old]
    told = [WindowChange(WindowChanged(WindowEvent.OPENED, one.title), is_caused(one, meant)) for one in opened]
    for window in before:
        if window.ref not in new:
            is_only_answered = is_answered and meant is not None and window.ref == meant.ref
            is_effect = is_caused(window, meant) and not is_only_answered
            told.append(WindowChange(WindowChanged(WindowEvent.CLOSED, window.title), is_effect))
    for ref, window in new.items():
        if ref in old:
            told += _differences(old[ref], window, meant, is_arranged=old.keys() != new.keys())
    one, other = _active(before), _active(after)
    if one and other and one.ref != other.ref and other.ref in old:
        is_only_raised = at_a_place and meant is not None and other.ref == meant.ref
        is_effect = not is_only_raised and not is_answered and (not at_a_place or is_caused(other, meant))
        told.append(WindowChange(WindowChanged(WindowEvent.ACTIVE, other.title), is_effect))
    return told


def _differences(old: Window, new: Window, meant: Window | None, *, is_arranged: bool) -> Iterator[WindowChange]:
    """Yield what changed in a window. `is_arranged`: others came or went, for which a tiling desktop makes room."""
    is_effect = is_caused(new, meant)
    if new.title != old.title and (is_effect or new.is_active):
        yield WindowChange(WindowChanged(WindowEvent.RENAMED, new.title, old.title), is_effect)
    if new.is_minimised and not old.is_minimised:
        yield WindowChange(WindowChanged(WindowEvent.MINIMISED, new.title), is_effect)
    elif new.area != old.area and is_effect and new.area.size.area and old.area.size.area:
        yield WindowChange(WindowChanged(WindowEvent.MOVED, new.title), is_effect=not is_arranged)


def is_caused(window: Window, meant: Window | None) -> bool:
    """True if the window belongs to the program that was acted on, or to one that it started."""
    if meant is None or window.ref == meant.ref:
        return True
    if not (window.pid and meant.pid):
        return window.app == meant.app
    return window.pid == meant.pid or meant.pid in _ancestors(window.pid)


def _ancestors(pid: int) -> Iterator[int]:
    """Yield the process ids of a process's parents, the nearest first, if the system reports them (as Linux does)."""
    while pid > 1 and (told := _state_of(pid)):
        pid = int(told[1])
        yield pid


def _state_of(pid: int) -> list[str]:
    """The fields behind a process's name, the state first; [] if it has ended or the system has no /proc."""
    try:
        # Split behind the last parenthesis, because a program's name may contain blanks and parentheses:
        # https://man.archlinux.org/man/proc_pid_stat.5.en
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return []


_BETWEEN_LOOKS_S = 0.005
_ENOUGH_LOOKS = 3


async def until_idle(pid: int, limit_s: float) -> None:
    """Wait until a program waits for something to do, at most for the limit.

    One that is ready to run is at work, however long other programs keep the processor from it.
    """
    asleep, looks = 0, round(limit_s / _BETWEEN_LOOKS_S)
    while looks > 0 and (told := _state_of(pid)):
        asleep, looks = 0 if told[0] == "R" else asleep + 1, looks - 1
        if asleep == _ENOUGH_LOOKS:
            return
        await asyncio.sleep(_BETWEEN_LOOKS_S)


_TICKS_S = 0.4
_COUNTS_S = 1.1
_NUMBER = re.compile(r"\d+")


class SteadyTitles:
    """Finds out whether a changed title stands still. One that goes on changing by itself is no effect of an action."""

    def __init__(self, before: Sequence[Window], clock: Clock) -> None:
        self._before = {window.ref: window.title for window in before}
        self._changed: dict[str, tuple[str, float]] = {}
        self._clock = clock

    def of(self, windows: Sequence[Window]) -> tuple[Window, ...]:
        """Each window has its title before the action until the new one has stood still long enough."""
        return tuple(self._steady(window) for window in windows)

    def left_s(self) -> float:
        """Return for how many seconds more a changed title must be watched; 0 if there is none."""
        now = self._clock.now()
        waits = (since + self._needed_s(ref, title) - now for ref, (title, since) in self._changed.items())
        return max([0.0, *waits])

    def _steady(self, window: Window) -> Window:
        before = self._before.get(window.ref, window.title)
        if window.title == before:
            self._changed.pop(window.ref, None)
            return window
        title, since = self._changed.get(window.ref, ("", 0.0))
        if title != window.title:
            title, since = self._changed[window.ref] = (window.title, self._clock.now())
        is_steady = self._clock.now() - since >= self._needed_s(window.ref, title)
        return window if is_steady else replace(window, title=before)

    def _needed_s(self, ref: str, title: str) -> float:
        """How long a title must stand still: longer than a second if only numbers changed, as in a clock."""
        is_number = _NUMBER.sub("", title) == _NUMBER.sub("", self._before[ref])
        return _COUNTS_S if is_number else _TICKS_S


_LIMIT_S = 1.5  # because a program that answers late on a busy machine still tells what it did
_TAKEN_BACK_S, _TAKEN_BACK_LIMIT_S = 0.3, 2.0
PROOF_S = 0.3  # because Qt shows a button pressed for 100 ms before it does what it does
_ANSWERED_S = 2.0  # because a dialog for files asks the file system before it goes away
_LONGEST_CHARS = 2000
_TELL_NO_TEXT = frozenset({"table", "table cell"})  # because LibreOffice's sheets tell their name for their text
_SHOWN_CHARS = 60
_TELLING = ("checked", "selected", "pressed", "expanded", "sensitive")
"""Focus is not listed: even a button that does nothing takes it. For a field, focus is the effect."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What a program reports about an effect.

    `is_unread`: the field is secret, so its content was not read. `is_gone`: the control that was acted on is gone.
    `field` is the ref of the field that holds the text, or of the box that is ticked or not as wanted; its program may
    take that back. `is_in_vain`: the field holds nothing of it.
    """

    evidence: tuple[Fact, ...] = ()
    doubt: FieldHolds | None = None
    is_unread: bool = False
    is_gone: bool = False
    field: str = ""
    is_in_vain: bool = False


@dataclass(frozen=True, slots=True)
class Caret:
    """Where the caret is in a field, counted in characters from 0, and the text that is selected there."""

    field: str
    at: int
    selected: str = ""


@dataclass(frozen=True, slots=True)
class Proving:
    """How to prove the effect of an action.

    `ask` asks the program whether the intended effect happened. `by_changes`: any other change that the program reports
    proves it too. `at_rest`: only what holds once the screen is at rest counts. `window` is the window acted on, if the
    place does not show it. `is_press`: a dialog may be answered with it. `is_in_dialog`: the control is in a dialog,
    which may be a part of a page. `may_close`: its effect may be that the window closes. `only_closes`: that is its
    whole effect. `may_save`: a file may be written by it. `lists`: what appears is listed.
    """

    ask: Callable[[], Awaitable[Proof]] | None = None
    is_press: bool = False
    by_changes: bool = True
    at_rest: bool = False
    window: Window | None = None
    is_in_dialog: bool = False
    may_close: bool = True
    only_closes: bool = False
    may_save: bool = False
    lists: bool = True

    def limit_s(self, meant: Window | None, *, is_changed: bool) -> float:
        """Return for how many seconds after the action its proof may still arrive, even on a screen at rest.

        0: nothing more is awaited. `is_changed`: the screen has changed since before the action.
        """
        if self.may_answer(meant):
            return _ANSWERED_S
        return PROOF_S if is_changed and self.ask and self.by_changes else 0.0

    def is_going(self, meant: Window | None, said: Changed) -> bool:
        """True if a dialog may be about to close: GTK removes its parts before its window."""
        return self.may_answer(meant) and said.is_weak

    def may_answer(self, meant: Window | None) -> bool:
        return self.is_press and (self.is_in_dialog or (meant is not None and meant.is_dialog))


def only_closes(pressed: Element | None) -> bool:
    """True if the control does no more than close what it is in, as far as its name tells."""
    return pressed is not None and pressed.name.casefold().strip(" .…") in resources.words("desktop/closing.txt")


async def caret_in(backend: Backend) -> Caret | None:
    """None if no field has the keyboard, or without an answer in time."""
    try:
        async with asyncio.timeout(_LIMIT_S):
            field = await backend.accessibility.focused()
            if field is None or field.role == SECRET or not (field.is_("editable") or field.role in TEXTS):
                return None
            return await _caret_of(backend, field.ref)
    except (ToolFailed, TimeoutError):  # because silence proves nothing
        return None


async def of_caret(backend: Backend, before: Caret) -> Proof:
    """Compare the caret and the selection of a field with those before. Empty if they are the same, or not told."""
    try:
        async with asyncio.timeout(_LIMIT_S):
            now = await _caret_of(backend, before.field)
    except (ToolFailed, TimeoutError):
        return Proof()
    if now is None or now == before:
        return Proof()
    return Proof((CaretMoved(before.at, now.at, now.selected),), field=before.field)


async def _caret_of(backend: Backend, ref: str) -> Caret | None:
    at = await backend.accessibility.caret(ref)
    selected = await backend.accessibility.selection(ref)
    return None if at is None else Caret(ref, at, selected[1] if selected else "")


async def of_click(backend: Backend, before: Element | None) -> Proof:
    """Compare the clicked element with its state before. Empty if it is gone or its program is too slow."""
    if before is None or is_written(before.ref):
        return Proof()
    try:
        async with asyncio.timeout(_LIMIT_S):
            after = await backend.accessibility.element(before.ref)
    except NoLongerInSight:
        return Proof(is_gone=True)
    except (ToolFailed, TimeoutError):  # because silence proves nothing, for or against the click
        return Proof()
    control = Named("", after.name)
    told: list[Fact] = [
        StateNow(control, state, after.is_(state))
        for state in _TELLING
        if after.is_(state) != before.is_(state) and (state != "pressed" or after.role == TOGGLE_BUTTON)
    ]
    is_chosen_cell = after.role == "table cell" and before.is_("focused")
    if after.is_("editable") and after.is_("focused") and not is_chosen_cell:
        told.append(KeyboardIn(control))
    if after.value != before.value:
        told.append(ValueNow(control, after.value))
    return Proof(tuple(told), field=before.ref if after.is_("checked") != before.is_("checked") else "")


def remember_gone(ask: Callable[[], Awaitable[Proof]]) -> Callable[[], Awaitable[Proof]]:
    """Return the same question, with a memory: where the program is silent later, a control seen gone is still gone."""
    was_gone = False

    async def remembering() -> Proof:
        nonlocal was_gone
        proof = await ask()
        was_gone = was_gone or proof.is_gone
        return Proof(is_gone=True) if was_gone and proof == Proof() else proof

    return remembering


async def of_typing(backend: Backend, text: str, ref: str = "") -> Proof:
    """Check whether a field contains the text: the one with the ref, or the one that has the keyboard.

    Without an answer in time, the proof is empty.
    """
    if len(text) > _LONGEST_CHARS:
        return Proof()
    try:
        async with asyncio.timeout(_LIMIT_S):
            field = await (backend.accessibility.element(ref) if ref else backend.accessibility.focused())
            if field is None or field.role == SECRET or not field.is_("editable") or field.role in _TELL_NO_TEXT:
                return Proof(is_unread=field is not None and field.role == SECRET)
            held = await backend.accessibility.text_of(field.ref)
    except (ToolFailed, TimeoutError):  # because silence proves nothing, for or against the typing
        return Proof()
    if _plain(text) in _plain(held):
        return Proof((FieldHolds(Holding.TYPED),), field=field.ref)
    doubt = FieldHolds(Holding.ENDS, held[-_SHOWN_CHARS:]) if held else FieldHolds(Holding.EMPTY)
    return Proof((), doubt, is_in_vain=_has_nothing(held, text))


async def of_setting(backend: Backend, element: Element, text: str) -> tuple[Proof, str]:
    """Check whether a field holds the text that was set. Returns its content too; passwords are not read back."""
    if element.role == SECRET:
        return Proof(), ""
    try:
        async with asyncio.timeout(_LIMIT_S):
            held = await backend.accessibility.text_of(element.ref)
    except (ToolFailed, TimeoutError):  # This is no failure, because only the confirmation is missing.
        return Proof((), FieldHolds(Holding.UNREAD)), ""
    if held == text or _is_one_number(held, text):
        return Proof((FieldHolds(Holding.EXACT),), field=element.ref), held
    if held == element.name and not element.value:  # because GTK 4 tells what a list is called, and not what it holds
        return Proof((), FieldHolds(Holding.UNREAD)), ""
    doubt = FieldHolds(Holding.OTHER, held)
    return Proof((), doubt, is_in_vain=_has_nothing(held, text)), held


class Standing:
    """Proves that a field keeps a text, or a box its tick: reads it, gives its program time to take that back, and
    reads it again.

    `read` reads the field with that ref; with "", the one that has the keyboard. A field in `kept` kept its text
    before, and is read once. `springs`: it may come back by itself as a key of a calculator does, which takes nothing
    back.
    """

    def __init__(
        self, read: Callable[[str], Awaitable[Proof]], clock: Clock, kept: set[str], *, springs: bool = False
    ) -> None:
        self._read = read
        self._springs = springs
        self._clock = clock
        self._kept = kept
        self._sent_at = self._stands_at = 0.0
        self._taken_back: Proof | None = None

    def sent(self) -> None:
        """Note that the text or click was sent just now."""
        self._sent_at = self._clock.now()

    async def proof(self) -> Proof:
        """For a text or tick that stands; a doubt if the program took it back."""
        first = await self._read("")
        if not first.field:
            return self._taken_back or first
        if first.field in self._kept:
            return first
        now = self._clock.now()
        if not self._stands_at:
            # The later a program answers, the later it takes a text back.
            self._stands_at = now + min(max(now - self._sent_at, _TAKEN_BACK_S), _TAKEN_BACK_LIMIT_S)
        await asyncio.sleep(max(self._stands_at - now, 0.0))
        second = await self._read(first.field)
        if second.field:
            self._kept.add(first.field)
            return second
        if self._springs and not second.doubt:
            return second
        doubt = replace(second.doubt or FieldHolds(Holding.UNREAD), is_taken_back=True)
        self._taken_back = replace(second, doubt=doubt)
        return self._taken_back


def _has_nothing(held: str, text: str) -> bool:
    """True if the field took nothing of a text. A text with Return may have been sent, and have left the field."""
    letters = {letter for letter in text.casefold() if letter.isalnum()}
    return bool(letters) and "\n" not in text and not letters & set(held.casefold())


def _is_one_number(held: str, text: str) -> bool:
    try:
        return float(held) == float(text)
    except ValueError:
        return False


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
