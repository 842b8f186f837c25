"""Control one desktop: capture, input, targets and verification. Runs on the desktop thread."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeVar

from app.base.clock import Clock
from app.base.errors import ToolFailed, ToolMisuse
from app.base.facts import (
    Came,
    DialogAsks,
    DialogClosed,
    Fact,
    FileSaved,
    MenuClosed,
    Named,
    Remark,
    StateNow,
    ValueNow,
    Went,
    first,
)
from app.base.geometry import Point, Rect
from app.base.phrases import Phrase
from app.base.values import dataclass, replace
from app.desktop.accessibility import window_names
from app.desktop.accessibility.outline import came, contents_of, dialog_in_front
from app.desktop.backends import Backend, Curtain, Frame, Press, Window
from app.desktop.capture import blackened, bounds_of, changed_tiles
from app.desktop.elements import SECRET, Changed, FollowedChanges, NoChanges
from app.desktop.input import InputController, apart
from app.desktop.ocr.elements import OcrElements
from app.desktop.ocr.evidence import PixelEvidence
from app.desktop.ocr.rapid import Ocr
from app.desktop.preview import TargetPreview
from app.desktop.programs import Opener, is_terminal
from app.desktop.saving import saved_file
from app.desktop.screen_capture import ScreenCapture, Spot
from app.desktop.staleness import KeyTargets, StalenessCheck
from app.desktop.takeover import DesktopLock, InputGuard, Reserved, StopFlag, TakeoverMonitor, nothing_reserved
from app.desktop.targets import Aim, TargetMoved, TargetResolver
from app.desktop.verification import (
    PROOF_S,
    Patience,
    Proof,
    Proving,
    Receipt,
    Settled,
    SettleWatch,
    SteadyTitles,
    WindowChange,
    is_caused,
    proven,
    receipt,
    remember_gone,
    until_idle,
    window_changes,
)

_AFTER_AN_ACT = Patience(first_s=0.5)
"""Wait this long before an action counts as a no-op: a program may react to a click only after a timer."""
_TILL_QUIET = Patience(first_s=0.25, quiet_s=0.25, limit_s=1.0)
"""Wait this long before pixels are compared: later drawing would look like a change that nobody caused."""
IN_FRONT = "active"
"""The name by which a call means the active window."""
_IN_A_TERMINAL_S = 0.15  # because what is typed comes back from another program
_UNDER_WAY_S = 2.0
_LIT_UP = Patience(first_s=0.05, limit_s=0.3)
_ANSWER_LIMIT_S = 10.0
_SILENT_S = 2.0
"""A program that has not answered after this long is waited for only as long as it uses the processor."""
_RESTLESS_S = 1.0
"""A program that works longer than this after its answer is not waited for: it plays or moves by itself."""
_LOOK_AGAIN_S = 0.1
_FIELD_LIMIT_S = 0.3
_LISTING_S = 0.5
_ALIKE_ALL_OVER = frozenset(
    {"button", "toggle button", "check box", "radio button", "menu item", "page tab", "list item"}
)
"""Roles that do the same wherever they are pressed, unlike a slider, a text or a picture."""
_MOST_OPENED = 3
T = TypeVar("T")
_MARGIN_PX = 24
_POINTER_PX = 24
"""How far the picture of a pointer reaches from its tip, at most."""
_LEAST_PX = (320, 200)


@dataclass(frozen=True, slots=True)
class Target:
    """What a call points at: a ref, a visible name, or a position. The first that is set counts, in this order.

    `is_field`: the name is that of something into which a value can be put.
    """

    spot: Spot | None = None
    ref: str = ""
    name: str = ""
    is_field: bool = False


@dataclass(frozen=True, slots=True)
class _Before:
    """The state before an action: all windows, the visible ones, and the window and area meant by the action.

    `titles` tells which of the titles that changed since then stand still. `at` is the time (seconds since the epoch);
    `typed` is what the field with the keyboard held, if a dialog is in front: it may be a file's name.
    """

    windows: tuple[Window, ...]
    shown: tuple[Window, ...]
    meant: Window | None
    where: Rect | None
    titles: SteadyTitles
    at: float = 0.0
    typed: str = ""

    def is_there(self, windows: Sequence[Window]) -> bool:
        return self.meant is None or any(window.ref == self.meant.ref for window in windows)

    def is_answered(self, proving: Proving, asked: Proof, after: Sequence[Window]) -> bool:
        """Return whether a window or dialog closed, and that proves nothing: all buttons of a dialog do that."""
        if proving.only_closes or first(FileSaved, asked.evidence):
            return False
        is_there, may_answer = self.is_there(after), proving.may_answer(self.meant)
        return (may_answer and asked.is_gone) or (not is_there and (may_answer or not proving.may_close))

    def with_effects(self, proving: Proving, asked: Proof, after: Sequence[Window]) -> Proof:
        """Return the proof with what the program cannot be asked for: a file that was written, a dialog that closed."""
        closed = (DialogClosed(is_all=True),) if self._has_closed(proving, asked, after) else ()
        return replace(asked, evidence=(*asked.evidence, *closed, *self._saved(proving, after)))

    def is_to_close(self, proving: Proving, found: Sequence[Fact], after: Sequence[Window]) -> bool:
        """Return whether a dialog from which a file was saved is still to close, or a title to tell of the file."""
        is_asking = proving.may_answer(self.meant) and self.is_there(after)
        return first(FileSaved, found) is not None and (is_asking or self.titles.left_s() > 0)

    def _has_closed(self, proving: Proving, asked: Proof, after: Sequence[Window]) -> bool:
        """True if what a control closes, as its whole effect, is closed: a part of a page, or a window."""
        is_part = self.is_there(after) and proving.may_answer(self.meant) and asked.is_gone
        return proving.only_closes and is_part

    def _saved(self, proving: Proving, after: Sequence[Window]) -> tuple[FileSaved, ...]:
        """As far as the program's titles or the dialog's field name the file."""
        if self.meant is None or not proving.may_save:
            return ()
        pid = self.meant.pid
        titles = [window.title for window in (*after, *self.windows) if window.pid == pid]
        found = saved_file([self.typed, *titles] if self.typed else titles, pid, self.at)
        return (found,) if found else ()

    def window_changes(self, after: Sequence[Window], *, is_answered: bool) -> list[WindowChange]:
        is_at_a_place = self.where is not None
        steady = self.titles.of(after)
        return window_changes(self.windows, steady, self.meant, at_a_place=is_at_a_place, is_answered=is_answered)

    def is_closing(self, said: Changed, proving: Proving, *, is_answered: bool) -> bool:
        """True if the reported changes may only be the closing of what was open.

        That is the answered dialog, a menu in which something was pressed, or a pop-up that the action's point
        lies outside.

        An open menu or list takes the press that closes it, so the control behind it received no press.
        """
        if said.is_menu and proving.is_press:
            return True
        if not said.is_weak or is_answered:
            return said.is_weak
        if self.where is None or self.meant is None:
            return False
        popups = [one.area for one in self.shown if one.is_popup and not one.is_tip and one.pid == self.meant.pid]
        return bool(popups) and not any(area.contains(self.where.center) for area in popups)

    def without_closing(
        self, said: Changed, proving: Proving, after: Sequence[Window], *, is_answered: bool, is_all: bool
    ) -> Changed:
        """Return the reported changes without those that only say that what was pressed closed.

        What lay behind a dialog is told anew when it closes. `is_all`: its closing is all that was meant.
        """
        if is_all or (said.is_weak and (is_answered or not self.is_there(after))):
            return Changed()
        # A press on a menu closes it.
        kept = (line for line in said.lines if not (proving.is_press and isinstance(line, MenuClosed)))
        return replace(said, lines=tuple(kept))


class DesktopController:
    """Controls the desktop. All actions go through `act`: one at a time, observed, and reported in a receipt."""

    def __init__(
        self,
        backend: Backend,
        curtain: Curtain,
        stop: StopFlag,
        clock: Clock,
        ocr: Ocr,
        reserved: Reserved = nothing_reserved,
    ) -> None:
        self.backend = backend
        self.screen_capture = ScreenCapture(backend, curtain, clock)
        self.takeover = TakeoverMonitor(stop, clock, backend.accessibility.acted)
        self.input = InputController(
            backend, curtain, self.takeover, self.screen_capture.settle, clock, InputGuard(backend, reserved)
        )
        self.ocr = ocr
        self.written = OcrElements(backend, self._read_frame, ocr)
        self._pixels = PixelEvidence(self.written.changed, clock)
        self._before_press: Callable[[], Awaitable[None]] | None = None
        self.resolver = TargetResolver(backend, self.written, self.screen_capture.model_space, self.input.scroll)
        self.key_targets = KeyTargets(backend, self.input.worked_off)
        self.preview = TargetPreview(backend, self._found, clock, self.input.worked_off, self._scroll_to)
        self.staleness = StalenessCheck(
            self.screen_capture.glance, backend.windows.all, self.preview.at, clock, self.screen_capture.rest
        )
        self.screen_capture.on_capture = self.staleness.captured
        self.opener = Opener(backend, stop, clock)
        self.clock = clock
        self.stop = stop
        self._lock = DesktopLock(backend.name)
        self._one_at_a_time = asyncio.Lock()
        self.keeping_fields: set[str] = set()
        """The refs of fields that kept a text which was typed into them."""

    async def act(
        self,
        do: Callable[[], Awaitable[object]],
        where: Rect | None = None,
        patience: Patience | None = None,
        proof: Proving | None = None,
    ) -> Receipt:
        """Run an action, wait until its effect is proven or the screen is at rest, and report what changed.

        `where` is the area that should change. After a proof, the screen may still move: the next capture waits for it.
        """
        async with self._one_at_a_time:
            await self._begin()
            windows = self.backend.windows.all()
            proving = proof or Proving()
            meant, titles = proving.window or _meant(windows, where), SteadyTitles(windows, self.clock)
            typed = await self._typed_in(meant) if proving.may_save else ""
            shown = self.backend.windows.shown()
            before = _Before(windows, shown, meant, where, titles, self.clock.wall(), typed)
            changes = await self._follow(before.meant)
            try:
                patience = _patience(patience or _AFTER_AN_ACT, before)
                seen, said = await self._watched(do, before, patience, proving, changes)
                return await self._with_changes(seen, before, said, proving)
            finally:
                changes.close()

    async def act_unseen(self, do: Callable[[], Awaitable[T]]) -> T:
        """Run an action without checking its effect. The next capture waits until the screen is at rest."""
        async with self._one_at_a_time:
            await self._begin()
            watch = self.screen_capture.watch()
            done = await do()
            self.takeover.acting()
            self.screen_capture.left_unsettled(watch, self.staleness.acted)
            return done

    async def _begin(self) -> None:
        """Wait until the person and the stop flag allow Wisp to act, then take the desktop lock."""
        # Wait for the person before taking the lock, because another Wisp may act in the meantime.
        await self.takeover.free()
        self._lock.take()
        self.takeover.acting()
        self.opener.acted()

    async def _follow(self, window: Window | None) -> FollowedChanges:
        """Collect the changes that the window's program reports. A private window reports nothing."""
        if window is None or not window.pid or self._is_private(window):
            return NoChanges()
        return await self.backend.accessibility.follow(window.pid)

    async def _typed_in(self, window: Window | None) -> str:
        """What stands in the field of a dialog that has the keyboard; "" without one."""
        if window is None or not window.is_dialog or self._is_private(window):
            return ""
        try:
            async with asyncio.timeout(_FIELD_LIMIT_S):
                field = await self.backend.accessibility.focused()
                is_text = field is not None and field.is_("editable") and field.role != SECRET
                return await self.backend.accessibility.text_of(field.ref) if field and is_text else ""
        except (ToolFailed, TimeoutError):  # because the titles may tell as well
            return ""

    def _is_private(self, window: Window) -> bool:
        own = (one for one in self.backend.windows.all() if one.pid == window.pid)
        return self.backend.is_private(window) or any(self.backend.is_private(one) for one in own)

    async def _watched(
        self,
        do: Callable[[], Awaitable[object]],
        before: _Before,
        patience: Patience,
        proving: Proving,
        changes: FollowedChanges,
    ) -> tuple[Receipt, Changed]:
        """Run the action. Returns the receipt, and what the program says has changed."""
        if proving.ask:
            proving = replace(proving, ask=remember_gone(proving.ask))
        watch = self.screen_capture.watch()
        pointer_was = self.backend.pointer.position()
        self._pixels.begin(watch.before)
        is_mute = isinstance(changes, NoChanges)
        self._before_press = partial(watch.begin_anew, _LIT_UP) if is_mute else None
        await do()
        acted_at = self.clock.now()
        self.takeover.acting()
        answer = asyncio.create_task(self._answer(before.meant))
        work = asyncio.create_task(self._worked(before.meant, answer))
        settling = asyncio.create_task(self._settled(watch, patience, work))
        proven_by = asyncio.create_task(self._proven(before, proving, changes, answer))
        try:
            await asyncio.wait({settling, proven_by}, return_when=asyncio.FIRST_COMPLETED)
            if proven_by.done() and not settling.done() and (found := proven_by.result()):
                self.screen_capture.left_unsettled(watch, self.staleness.acted)
                evidence, said = found
                return proven(evidence, self.backend.windows.all()), said
            settled = await settling
            worked_at = work.result() if work.done() and not work.cancelled() else acted_at
            if left_s := self._left_s(before, proving, worked_at, is_changed=bool(settled.changed)):
                await asyncio.wait({proven_by}, timeout=left_s)
            said = Changed() if proven_by.done() else await changes.told(before.where)
            is_moving = said.has_new_window or any(isinstance(line, Went) for line in said.lines)
            if is_moving and self._is_under_way(before, proving, said):
                await asyncio.wait({proven_by}, timeout=_UNDER_WAY_S)
        finally:
            await _ended(settling, proven_by, answer, work)
        self.screen_capture.came_to_rest()
        self.staleness.acted(settled.frame)
        told, said, is_decided = await self._judged(before, proving, changes, settled)
        windows = self.backend.windows.all()
        if (
            not is_decided
            and before.meant
            and answer.cancelled()
            and any(one.ref == before.meant.ref for one in windows)
        ):
            busy = Remark(f"{before.meant.title!r} has not answered yet: it is busy or frozen.")
            return told.with_doubt(busy), said
        if not is_decided and (is_mute or before.where is None) and told.regions and told.proof == "unverifiable":
            settled, told = await self._seen_in_pixels(told, before, watch, settled, pointer_was)
        self._pixels.note(settled.frame)
        return told if settled.is_calm else told.restless(), said

    async def _judged(
        self, before: _Before, proving: Proving, changes: FollowedChanges, settled: Settled
    ) -> tuple[Receipt, Changed, bool]:
        """Return what the screen at rest, its windows and the program tell of the action.

        The last value says whether the program told enough. If not, its silence and pixels are worth a look.
        """
        asked, said = await self._evidence(proving, changes, before.where)
        windows = self.backend.windows.all()
        asked = before.with_effects(proving, asked, windows)
        is_answered = before.is_answered(proving, asked, windows)
        happened = before.window_changes(windows, is_answered=is_answered)
        told = receipt(settled.changed, before.where, happened, self.active_window())
        is_decided = is_answered or said.is_in_sight or bool(asked.evidence or asked.doubt or said.lines)
        is_closing = before.is_closing(said, proving, is_answered=is_answered)
        if asked.evidence or (said.is_in_sight and not is_closing):
            told = told.with_evidence(*asked.evidence)
        elif asked.doubt:
            told = told.with_doubt(asked.doubt, is_in_vain=asked.is_in_vain)
        elif is_answered and told.proof != "confirmed":
            told = told.with_doubt(DialogClosed(is_answer=proving.is_press))
        elif said.is_menu and is_closing and told.proof != "confirmed":
            told = told.with_doubt(*said.lines, Remark("Nothing else was seen."))
        elif said.is_in_sight and told.proof != "confirmed":
            told = told.with_doubt(Remark("What was open there closed, and it may have taken the press."))
        elif said.lines and told.proof == "suspected no-op":
            told = told.with_doubt()
        is_all = DialogClosed(is_all=True) in asked.evidence
        said = before.without_closing(said, proving, windows, is_answered=is_answered, is_all=is_all)
        return told, said, is_decided

    async def _seen_in_pixels(
        self, told: Receipt, before: _Before, watch: SettleWatch, settled: Settled, pointer_was: Point | None
    ) -> tuple[Settled, Receipt]:
        """Wait until the screen is quiet, then add what pixels prove. For windows that report nothing."""
        window = before.meant
        if window is None or window.is_own or self._is_private(window):
            return settled, told
        if not self._pixels.may_tell(window, settled.changed):
            return settled, told
        settled = await watch.settle(_TILL_QUIET)
        tips = [one.area for one in (*before.shown, *self.backend.windows.shown()) if one.is_tip]
        first, last, changed = self._without(tips, watch.before, settled, pointer_was)
        seen: tuple[Fact, ...] = ()
        with suppress(ToolFailed):  # because the act was carried out, whatever can be read of it
            seen = await self._pixels.of(window, first, last, changed, before.where)
        return settled, told.with_evidence(*seen) if seen else told

    def _without(
        self, tips: Sequence[Rect], before: Frame, settled: Settled, pointer_was: Point | None
    ) -> tuple[Frame, Frame, Sequence[Rect]]:
        """Return the frames before and after, and the changed areas, with black where a tool tip lay in one.

        Also where the pointer was drawn in one.
        """
        now, hidden = self.backend.pointer.position(), list(tips)
        if self.backend.shows_pointer and now and self.backend.shows_pointer(now):
            hidden += [_around(at) for at in (pointer_was, now) if at]
        spots = [spot for area in hidden if (spot := area.overlap(before.area))]
        if not spots:
            return before, settled.frame, settled.changed
        first, last = blackened(before, spots), blackened(settled.frame, spots)
        return first, last, changed_tiles(first, last)

    async def _read_frame(self, area: Rect) -> Frame:
        frame = await self.screen_capture.frame(area)
        self._pixels.note(frame)
        return frame

    async def _proven(
        self, before: _Before, proving: Proving, changes: FollowedChanges, answer: asyncio.Task[None]
    ) -> tuple[tuple[Fact, ...], Changed] | None:
        """Wait for a proof of the effect, and for the program to handle its input. Return the proof and changes.

        Returns None if a dialog closed, and nothing else happened soon after.
        """
        await asyncio.wait({answer})
        if proving.at_rest:
            await asyncio.Event().wait()  # Wait for ever, so that only the settled screen ends the race in `_watched`.
        closed_at = math.inf
        while self.clock.now() < closed_at + PROOF_S or before.titles.left_s():
            asked, said = await self._evidence(proving, changes, before.where)
            after = self.backend.windows.all()
            asked = before.with_effects(proving, asked, after)
            is_answered = before.is_answered(proving, asked, after)
            windows = before.window_changes(after, is_answered=is_answered)
            found = [*(change.fact for change in windows if change.is_effect), *asked.evidence]
            is_closing = before.is_closing(said, proving, is_answered=is_answered)
            is_early = is_closing or _is_of_use_only(said.lines) or self._is_under_way(before, proving, said)
            is_told = said.is_in_sight and not is_early
            if (found and not before.is_to_close(proving, found, after)) or is_told:
                is_all = DialogClosed(is_all=True) in found
                said = before.without_closing(said, proving, after, is_answered=is_answered, is_all=is_all)
                return tuple(found), said
            if is_answered:
                closed_at = min(closed_at, self.clock.now())
            await _first(changes.news(), self.backend.windows.changed(_LOOK_AGAIN_S))

        return None

    def _left_s(self, before: _Before, proving: Proving, acted_at: float, *, is_changed: bool) -> float:
        """How long a proof may still arrive on a screen at rest."""
        limit_s = proving.limit_s(before.meant, is_changed=is_changed)
        before.titles.of(self.backend.windows.all())  # because a title may have changed since it was looked at
        left_s = acted_at + limit_s - self.clock.now() if limit_s else 0.0
        return max(left_s, 0.0 if proving.at_rest else before.titles.left_s())

    def _is_under_way(self, before: _Before, proving: Proving, said: Changed) -> bool:
        """True if the program says that a window opens or closes, and it has not done so yet."""
        return proving.is_going(before.meant, said) or (said.has_new_window and not self._opened(before))

    async def _evidence(self, proving: Proving, changes: FollowedChanges, where: Rect | None) -> tuple[Proof, Changed]:
        """Ask the program whether the intended effect happened, and what it has changed near `where`."""
        if proving.by_changes:
            asked = await proving.ask() if proving.ask else Proof()
            said = Changed() if asked.doubt else await changes.told(where)
            if proving.ask and said.is_in_sight and not asked.evidence:
                asked = await proving.ask()  # because what was told meanwhile may be a tick that is taken back
            return asked, Changed() if asked.doubt else said
        said = await changes.told(where)  # first, because a field may take back what was typed into it meanwhile
        asked = await proving.ask() if proving.ask else Proof()
        is_proven = asked.is_unread or (asked.evidence and not asked.doubt)
        return asked, said if is_proven else Changed()

    async def _with_changes(self, seen: Receipt, before: _Before, said: Changed, proving: Proving) -> Receipt:
        """Add the changes that the program reported, the contents of new windows, and any undescribed area."""
        meant = before.meant
        if meant is None or self._is_private(meant):
            return seen
        unsaid: Rect | None = None
        lines = tuple(line for line in said.lines if _without_role(line) not in seen.evidence)
        is_new, lists_new = any(isinstance(line, Came) for line in lines), proving.lists and bool(said.came)
        for opened in self._opened(before) if proving.lists else ():
            if opened.is_own or self._is_private(opened):
                continue
            window, told = opened, await self.shows(opened)
            if window.is_popup and not (told or is_new):
                window, told = await self._once_listed(opened)
            if told:
                lines = (*(line for line in lines if not isinstance(line, Came)), *told)
                lists_new, unsaid = False, None
            elif not (window.is_popup and is_new):
                # GTK keeps the picture of a drag in a window beside the screen.
                unsaid = window.area.overlap(self.backend.screen.extent())
        if lists_new and (new := await self._new_in(self.active_window() or meant, said)):
            others = [line for line in lines if not isinstance(line, Came)]
            lines = tuple(sorted([*others, new], key=_is_gone))
        lines = tuple(await self._truly_gone(lines))
        if unsaid is None and not lines and seen.proof != "confirmed":
            unsaid = _part_of(self.active_window() or meant, seen.regions)
        return seen.with_changes(lines, unsaid)

    async def _once_listed(self, popup: Window) -> tuple[Window, tuple[Fact, ...]]:
        """Look again at a pop-up that tells nothing: a busy window manager shows a window before it lists it."""
        await self.backend.windows.arranged(_LISTING_S)
        found = next((one for one in self.backend.windows.all() if one.area == popup.area), popup)
        return found, await self.shows(found)

    async def _new_in(self, window: Window, said: Changed) -> Came | None:
        """Return the new things in a window with their refs; None if they cannot be read."""
        held = () if self._is_private(window) else await self.backend.accessibility.held(window, said.came)
        new = [one for one in held if (one.role, one.name) not in said.known]
        return came(new) if new else None

    async def _truly_gone(self, lines: Sequence[Fact]) -> list[Fact]:
        """Leaves out what is called gone and still shows: only its object was made anew."""
        gone, window = first(Went, lines), self.active_window()
        if gone is None or window is None or self._is_private(window):
            return list(lines)
        shown = {(one.role, one.name) for one in await self.backend.accessibility.held(window)}
        left = tuple(one for one in gone.things if (one.role, one.name) not in shown)
        if left == gone.things:
            return list(lines)
        # Of those that are not named, nothing is known then.
        return [*(line for line in lines if line is not gone), *([Went(left)] if left else [])]

    async def shows(self, window: Window) -> tuple[Fact, ...]:
        """Return what a new window or pop-up contains; () if it is private or not described."""
        if self._is_private(window):
            return ()
        told = contents_of(window, await self.backend.accessibility.held(window))
        return (told,) if told else ()

    async def asked_in(self, dialog: Window) -> DialogAsks:
        """Return what the dialog in front is called and asks, and its buttons; only its title if it is private."""
        held = () if self._is_private(dialog) else await self.backend.accessibility.held(dialog)
        return dialog_in_front(dialog, held)

    def _opened(self, before: _Before) -> list[Window]:
        """New windows and pop-ups of the program acted on, and of programs that it started."""
        known = {(window.ref, window.area if window.is_popup else None) for window in before.shown}
        return [
            window
            for window in self.backend.windows.shown()
            if (window.ref, window.area if window.is_popup else None) not in known
            and window.pid
            and not window.is_tip
            and is_caused(window, before.meant)
        ][:_MOST_OPENED]

    async def _answer(self, window: Window | None) -> None:
        """Wait until a program has handled its input, or its window is gone. Returns at once if it never tells."""
        if window:
            await _first(self._answered(window), self._gone(window))

    async def _answered(self, window: Window) -> None:
        await self.backend.windows.answers(window.ref, _ANSWER_LIMIT_S)

    async def _gone(self, window: Window) -> None:
        while any(one.ref == window.ref for one in self.backend.windows.all()):
            await self.backend.windows.changed(_LOOK_AGAIN_S)

    async def _worked(self, window: Window | None, answer: asyncio.Task[None]) -> float:
        """Wait while a program handles its input: until it answers and rests. One that rests unanswered is frozen.

        Return the time of that.
        """
        await asyncio.wait({answer}, timeout=_SILENT_S)
        if window and not answer.done():
            await _first(_done(answer), until_idle(window.pid, _ANSWER_LIMIT_S - _SILENT_S))
        if window:
            await until_idle(window.pid, _RESTLESS_S)
        return self.clock.now()

    async def _settled(self, watch: SettleWatch, patience: Patience, work: asyncio.Task[float]) -> Settled:
        """Wait until the screen is at rest. If it cannot be seen, the error says that the action was carried out."""
        try:
            return await watch.settle(patience, work)
        except ToolFailed as error:  # so that the model does not repeat an action that was carried out
            raise ToolFailed(f"It was carried out, but what came of it could not be seen: {error}") from None

    async def aim(self, target: Target, call_id: str = "") -> Aim:
        """Return the point that the target means. With `call_id`: the one by which the policy judged that call.

        Raises ToolMisuse and ToolFailed as `ScreenCapture.resolve`, `TargetResolver` and `TargetPreview` do.
        """
        return await self.preview.aim(call_id, target) if call_id else await self._found(target)

    async def aim_to_press(self, target: Target, call_id: str) -> Aim:
        """As `aim` does, but raises TargetChanged if the model saw something else there."""
        aim = await self.aim(target, call_id)
        capture = self.screen_capture.referred(target.spot) if target.spot and aim.route == "point" else None
        if capture is not None:
            await self.staleness.check(aim.point, capture)
        return aim

    async def apart(self, aim: Aim, press: Press) -> Aim:
        """Moved within its control if a press at its point would count as a double click."""
        if not self.input.is_second(aim.point, press.button):
            return aim
        element = aim.element or await self.preview.at(aim.point)
        if element is None or element.role not in _ALIKE_ALL_OVER:
            return aim
        return replace(aim, point=apart(aim.point, element.box))

    async def press(self, aim: Aim, press: Press) -> None:
        """Click the aimed point after checking that the press arrives there. Raises OutOfReach."""
        if aim.element and aim.element.role == "icon":
            # Icon views such as PCManFM's open the icon that was pressed before, however far away, if this comes soon.
            await self.input.outlast_double_click()
        try:
            await self.input.click(aim.point, press, partial(self._ready_to_press, aim))
        # Try once more, because a program such as LibreOffice corrects its positions when the pointer arrives.
        except TargetMoved as moved:
            there = replace(aim, point=moved.now.box.center, element=moved.now)
            await self.input.click(there.point, press, partial(self._ready_to_press, there))

    async def _ready_to_press(self, aim: Aim) -> None:
        await self.screen_capture.point_out(aim, self.input.came_from)
        with suppress(ToolFailed):  # because this look only tells what the press itself changed
            if self._before_press:
                await self._before_press()
        await self.resolver.hit_test(aim)

    async def drag(self, aims: Sequence[Aim], press: Press, duration_s: float) -> None:
        """Press at the first aim, move through the others, release at the last. Checked as in `press`."""
        points = [aim.point for aim in aims]
        check, drop = partial(self.resolver.hit_test, aims[0]), partial(self.resolver.check_drop, aims)
        await self.input.drag(points, press, duration_s, check, drop)

    async def _found(self, target: Target) -> Aim:
        if target.ref:
            return await self.resolver.at_ref(target.ref, may_scroll=True)
        if target.name:
            return await self.resolver.at_name(target.name, is_field=target.is_field)
        if target.spot is None:
            raise ToolMisuse(
                'Where? Give a target by its visible name, such as "Save", or a place that the tool takes.'
            )
        return Aim(self.screen_capture.resolve(target.spot), "point")

    async def _scroll_to(self, aim: Aim) -> Aim:
        return await self.act_unseen(partial(self.resolver.reach, aim))

    async def close(self) -> None:
        """Release all held keys and buttons, give up the desktop lock, and close OCR and the backend."""
        self.input.release_all()
        self._lock.let_go()
        await self.ocr.close()
        await self.backend.close()

    def active_window(self) -> Window | None:
        return next((window for window in self.backend.windows.all() if window.is_active), None)

    def find_window(self, title: str) -> Window:
        """Return the window with that ref, title or program name; “active” is the one in front.

        Raises ToolFailed if none or several match.
        """
        windows = self.backend.windows.all()
        if title.strip().lower() == IN_FRONT:
            shown = sorted((one for one in windows if not one.is_own and not one.is_minimised), key=_is_behind)
            if shown:
                return shown[0]
        return window_names.find(title, windows, self.opener.made_among(windows))

    def monitor_of(self, window: Window) -> Rect:
        """In screen pixels: the monitor that shows most of the window; the first one if none shows it."""
        monitors = self.backend.screen.monitors()
        shared = [(one.overlap(window.area), one) for one in monitors]
        seen = [(part.width * part.height, one) for part, one in shared if part]
        return max(seen, key=lambda one: one[0])[1] if seen else monitors[0]

    def region_of(self, monitor: int, window: str) -> Rect:
        """In screen pixels: of a monitor (1 is the first, 0 all of them) or of a window."""
        extent = self.backend.screen.extent()
        if window:
            found = self.find_window(window)
            area = found.area.overlap(extent)
            if area is None or found.is_minimised:
                what = Phrase("The window {title!r} is not on the screen.", {"title": found.title})
                raise ToolFailed(what, "Use focus_window first.")
            return area
        if monitor == 0:
            return extent
        monitors = self.backend.screen.monitors()
        if not 1 <= monitor <= len(monitors):
            raise ToolMisuse(f"There is no monitor {monitor}; there are {len(monitors)}, counted from 1.")
        return monitors[monitor - 1].overlap(extent) or extent


def _is_behind(window: Window) -> bool:
    return not window.is_active


async def _first(*waits: Coroutine[None, None, None]) -> None:
    """Waits until one of them returns, and cancels the others."""
    tasks = [asyncio.create_task(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await _ended(*tasks)


async def _done(task: asyncio.Task[None]) -> None:
    await asyncio.wait({task})


async def _ended(*tasks: asyncio.Task[object]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _patience(patience: Patience, before: _Before) -> Patience:
    is_shell = before.where is None and before.meant is not None and is_terminal(before.meant.app)
    return replace(patience, quiet_s=max(patience.quiet_s, _IN_A_TERMINAL_S)) if is_shell else patience


def _meant(windows: Sequence[Window], where: Rect | None) -> Window | None:
    """The topmost window at `where`, or the active window without `where`."""
    showing = [window for window in windows if not window.is_minimised]
    if where is not None:
        return next((window for window in showing if window.area.contains(where.center)), None)
    return next((window for window in showing if window.is_active), None)


def _part_of(window: Window, regions: Sequence[Rect]) -> Rect | None:
    """The changed part, enlarged so that it can be understood; None if nothing changed."""
    bounds = bounds_of(part for region in regions if (part := region.overlap(window.area)))
    if bounds is None:
        return None
    wide = max(bounds.width + 2 * _MARGIN_PX, _LEAST_PX[0])
    high = max(bounds.height + 2 * _MARGIN_PX, _LEAST_PX[1])
    return Rect(bounds.center.x - wide // 2, bounds.center.y - high // 2, wide, high).overlap(window.area)


def _is_of_use_only(lines: Sequence[Fact]) -> bool:
    """Return whether no more is told than which controls can be used now: more may come, such as a file's end."""
    return all(isinstance(line, StateNow) and line.state == "sensitive" for line in lines)


def _is_gone(fact: Fact) -> bool:
    return isinstance(fact, Went)


def _without_role(fact: Fact) -> Fact:
    """As the control itself tells the change, so that it is not told twice."""
    return replace(fact, control=Named("", fact.control.name)) if isinstance(fact, (StateNow, ValueNow)) else fact


def _around(pointer: Point) -> Rect:
    return Rect(pointer.x - _POINTER_PX, pointer.y - _POINTER_PX, 2 * _POINTER_PX, 2 * _POINTER_PX)
