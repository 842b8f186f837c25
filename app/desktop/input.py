"""Send input. Each low-level event checks the stop flag first; held keys and buttons are always released.

Runs on the desktop thread.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

from app.base.clock import Clock
from app.base.errors import ToolFailed
from app.base.geometry import Point, Rect, points_along
from app.base.phrases import Phrase
from app.base.values import replace
from app.desktop.backends import Backend, Button, Curtain, KeyboardMoved, Landing, Press, Window, WindowCame, pointer_at
from app.desktop.keys import (
    PACE_CHARS,
    UNCHECKED,
    Check,
    Chord,
    KeyChecks,
    Piece,
    Route,
    Taker,
    is_best_pasted,
    nothing_to_check,
    plan,
    slices,
    with_lead,
    with_short_lead,
)
from app.desktop.programs import is_terminal
from app.desktop.takeover import InputGuard, TakeoverMonitor
from app.desktop.verification import Patience

_BETWEEN_CLICKS_S = 0.06
"""The pause between the clicks of one multiple click; well below every double-click limit."""
_SAME_PLACE_PX = 6
_APART_PX = 12
_EDGE_PX = 3
_MARGIN_S = 0.02
_STEP_PX = 12
_PACE_LIMIT_S = 1.0
_LATE_LIMIT_S = 2.0
"""After this time, a busy program counts as late: nobody knows yet what its input will do."""
_HOLD_STEP_S = 0.02
_AROUND_PX = 2
_SUBMITTING = Patience(first_s=0.06, quiet_s=0.06, limit_s=0.6)
_SUBMITTING_A_DIALOG = Patience(first_s=0.3, quiet_s=0.3, limit_s=2.0, fades=True)
"""How long to wait before Return submits a text. Dialogs ignore Return while they check the text: the button
of GTK's file dialog is enabled 0.25 s after the last key, on an idle machine.
"""
_OPENING_A_FIELD = Patience(first_s=0.06, quiet_s=0.06, limit_s=0.5)
"""In a dialog, the first key may open the field for the rest. GTK's file dialog drops keys that come sooner."""
_SUBMITS = frozenset({"Return", "KP_Enter"})
_PATHS = ("/", "~")
"""A path that is typed into no field may open one, as in GTK's file dialog, which not every system tells to be one."""
_JUST_S = 1.0
_BUTTON_S = 0.3
"""GTK ignores a second key press of the same button for 250 ms: ACTIVATE_TIMEOUT in its gtkbutton.c."""
_SWITCHING_S = 0.12
"""Hold keys that switch windows for this long: the window manager grabs the keyboard while the modifier is down."""
_SWITCH_LIMIT_S = 1.0
_ARRANGING_S = 0.2
_AT_REST_S = 0.06
_LOOK = "Look before going on."

BeforeChords = Callable[[Sequence[Chord], Chord | None], Awaitable[None]]
BeforeText = Callable[[str], Awaitable[Taker | None]]
Rest = Callable[[Patience], Awaitable[object]]
"""Wait until the screen is at rest."""


def nothing_checked() -> None: ...


class InputController:
    """Sends input. The caller makes sure that only one action runs at a time."""

    def __init__(
        self, backend: Backend, curtain: Curtain, takeover: TakeoverMonitor, rest: Rest, clock: Clock, guard: InputGuard
    ) -> None:
        self._backend = backend
        self._guard = guard
        self._curtain = curtain
        self._takeover = takeover
        self._rest = rest
        self._clock = clock
        self._keys: list[str] = []
        self._buttons: dict[Button, Point] = {}
        self._typed_at = -math.inf
        self._typing_into: Window | None = None
        self._sent_chars = 0
        self._judged, self._is_field = Landing(), False
        self._checks = UNCHECKED
        self._last_click: tuple[Point, Button, float] | None = None
        self._has_sent = False
        self.came_from: Point | None = None
        """Where the pointer was before its last move; None if nobody knows."""

    # --- pointer

    async def move(self, to: Point) -> None:
        self._takeover.check()
        self._takeover.acting()
        self.came_from = self._backend.pointer.position()
        self._backend.pointer.move(to)

    async def click(self, at: Point, press: Press, check: Check | None = None) -> None:
        """Click. `check` is called right before the press, and raises if it would not reach its target."""
        await self._keep_apart(at, press.button)
        with self._cleared(at), self._holding(press.modifiers):
            await self.move(at)
            first = await self._landing(at, check)
            for number in range(press.count):
                if number:
                    # Pause, because a window manager handles each press first: a faster one may count apart.
                    await asyncio.sleep(_BETWEEN_CLICKS_S)
                    self._check_still(at, first, number, press.count)
                try:
                    with self._pressing(press.button, first.place):
                        pass
                except WindowCame as error:
                    what = Phrase(
                        "{count} of {whole} presses was made. {why}",
                        {"count": number, "whole": press.count, "why": error.why.what},
                        many="{count} of {whole} presses were made. {why}",
                    )
                    raise ToolFailed(what, _LOOK) from None
        self._last_click = (at, press.button, self._clock.now())

    async def _landing(self, at: Point, check: Check | None) -> Landing:
        """Return what a press here reaches, as it was when `check` passed.

        A tool tip may lie here for a moment, because programs show it first and move it aside then: the check is
        repeated once the program's own window is here instead.
        """
        windows = self._backend.windows
        first = windows.under(at)
        if check:
            await check()
        now = windows.under(at)
        is_covered = any(one.is_popup and one.area.contains(at) for one in windows.shown())
        if now.place == first.place or now.window != first.window or is_covered:
            return first
        return await self._landing(at, check)

    async def _keep_apart(self, at: Point, button: Button) -> None:
        """If a press now would complete a double click, wait until it no longer does."""
        if self.is_second(at, button):
            await self.outlast_double_click()

    async def outlast_double_click(self) -> None:
        """Wait until the next press, wherever it is, can no longer complete a double click."""
        left = self._double_click_ends() - self._clock.now()
        if left > 0:
            await self._clock.sleep(left)

    def is_second(self, at: Point, button: Button) -> bool:
        """True if a press now would complete a double click. It would not if the person moved the mouse."""
        if self._last_click is None:
            return False
        place, last_button, _ = self._last_click
        if last_button is not button or self._clock.now() >= self._double_click_ends():
            return False
        is_near = abs(place.x - at.x) <= _SAME_PLACE_PX and abs(place.y - at.y) <= _SAME_PLACE_PX
        return is_near and self._backend.pointer.position() == place

    def _double_click_ends(self) -> float:
        return (
            (self._last_click[2] if self._last_click else -math.inf)
            + self._backend.pointer.double_click_s()
            + _MARGIN_S
        )

    async def drag(
        self,
        path: Sequence[Point],
        press: Press,
        duration_s: float,
        check: Check | None = None,
        drop: Callable[[], None] = nothing_checked,
    ) -> None:
        """Press at the first point, move through the others, and release. Before the release, `drop` may raise."""
        steps = list(points_along(path, _STEP_PX))
        with self._cleared(*path), self._holding(press.modifiers):
            await self.move(path[0])
            first = await self._landing(path[0], check)
            with self._pressing(press.button, first.place):
                for point in steps:
                    # Pause, because programs start a drag only if they see the pointer move.
                    await asyncio.sleep(duration_s / len(steps))
                    await self.move(point)
                await self._worked_off()
                await self._drop(path, drop)

    def _check_still(self, at: Point, first: Landing, done: int, count: int) -> None:
        """Raise ToolFailed if the first click opened a window here: the next click must not land in it."""
        if self._backend.windows.under(at).window != first.window:
            what = Phrase(
                "Another window came up there: {count} of {whole} presses was made there, no other.",
                {"count": done, "whole": count},
                many="Another window came up there: {count} of {whole} presses were made there, the others were not.",
            )
            raise ToolFailed(what, _LOOK)

    async def _drop(self, path: Sequence[Point], check: Callable[[], None]) -> None:
        """Check the last point before the button is released. If that is forbidden, move back to the first point."""
        try:
            self._guard.check_press(path[-1])
            check()
        except ToolFailed:  # so that the person's object is not dropped at a forbidden place
            self._backend.pointer.move(path[0])
            await self._worked_off()
            raise

    async def scroll(self, at: Point | None, notches: tuple[int, int], modifiers: tuple[str, ...]) -> None:
        with self._cleared(at) if at else nullcontext(), self._holding(modifiers):
            if at:
                await self.move(at)
            for turn in range(max(map(abs, notches))):
                self._takeover.check()
                step = (int(math.copysign(turn < abs(d), d)) for d in notches)
                self._backend.pointer.scroll(*step)
                await asyncio.sleep(0)  # so that a stop can come between two notches

    async def button_down(self, button: Button) -> None:
        """Press a button and hold it until `button_up`, a stop, or the end."""
        self._takeover.check()
        self._guard.check_press(pointer_at(self._backend.pointer))
        self._buttons[button] = pointer_at(self._backend.pointer)
        self._backend.pointer.button(button, down=True)

    async def button_up(self, button: Button) -> None:
        if button in self._buttons:
            self._guard.check_press(pointer_at(self._backend.pointer))
            del self._buttons[button]
        self._backend.pointer.button(button, down=False)

    @contextmanager
    def _pressing(self, button: Button, place: str) -> Iterator[None]:
        self._takeover.check()
        self._guard.check_press(pointer_at(self._backend.pointer))
        # Note the button before it goes down, so that a stop in between releases it.
        self._buttons[button] = pointer_at(self._backend.pointer)
        try:
            with self._backend.pointer.only_at(place):
                self._has_sent = True
                self._backend.pointer.button(button, down=True)
            yield
        finally:
            if button in self._buttons:
                del self._buttons[button]
                self._backend.pointer.button(button, down=False)

    # --- keyboard

    async def press(
        self, chords: Sequence[Chord], repeat: int, hold_s: float, before: BeforeChords = nothing_to_check
    ) -> None:
        """Press the chords in order, `repeat` times in all. `before` gets the chords still to press, and may raise."""
        with self._judged_apart():
            await self._press_in_turn([*chords] * repeat, hold_s, before)

    async def _press_in_turn(self, whole: Sequence[Chord], hold_s: float, before: BeforeChords) -> None:
        has_just_typed = self._clock.now() - self._typed_at < _JUST_S
        if has_just_typed and any(key in _SUBMITS for chord in whole for key in chord.keys):
            await self._before_submitting()
        try:
            for number, chord in enumerate(whole):
                if number:
                    await self._worked_off()
                try:
                    await before(whole[number:], whole[number - 1] if number else None)
                except ToolFailed as error:
                    raise _stopped(number, len(whole), "chords", error) from None
                try:
                    with self._holding(chord.keys[:-1]), self._holding(await self._led(chord)):
                        await self._hold(chord, max(hold_s, _SWITCHING_S) if chord.may_switch else hold_s)
                        if chord.may_switch:
                            await self._backend.windows.arranged(_SWITCHING_S)
                except KeyboardMoved:  # because a menu may open while Alt is held alone
                    raise _stopped(number, len(whole), "chords", await self._moved()) from None
                if chord.may_switch:
                    await self._switched()
        finally:
            await self._give_back()

    async def _led(self, chord: Chord) -> tuple[str, ...]:
        """Return the keys of a chord that are still to be pressed: its last one.

        For Alt with a letter, first wait. Raises ToolFailed if the focus moved meanwhile.
        """
        if chord.lead_s:
            await self._worked_off()
            await asyncio.sleep(chord.lead_s)
            await self._checks.still()
        return chord.keys[-1:]

    def judged(self, landing: Landing, checks: KeyChecks = UNCHECKED, *, is_field: bool = False) -> None:
        """From now on, send keys only to the place that the policy judged. The checks raise if the focus moved."""
        self._judged, self._is_field, self._checks = landing, is_field, checks

    @contextmanager
    def _judged_apart(self) -> Iterator[None]:
        """At its end, the place that the policy judged for keys is forgotten."""
        try:
            yield
        finally:
            self.judged(Landing())

    def _only_where_judged(self) -> AbstractContextManager[None]:
        place = self._judged.place
        return self._backend.keyboard.only_into(place) if place else nullcontext()

    async def _switched(self) -> None:
        """Wait until the window manager has switched windows. Keys that are sent earlier would be lost."""
        windows = self._backend.windows
        await windows.arranged(_SWITCH_LIMIT_S)
        until = self._clock.now() + _SWITCH_LIMIT_S
        was = None
        while was != (now := windows.keyboard()) and self._clock.now() < until:
            self._takeover.check()
            was = now
            await windows.changed(_AT_REST_S)

    async def _hold(self, chord: Chord, seconds: float) -> None:
        """Hold the chord for `seconds`. The X server repeats held keys, so `still` is called again meanwhile."""
        until = self._clock.now() + seconds
        while (left := until - self._clock.now()) > 0:
            self._takeover.check()
            if chord.may_press and left < seconds - _HOLD_STEP_S:
                try:
                    await self._checks.still()
                except ToolFailed as error:
                    what = "{keys} was sent, and let go of before its time. {why}"
                    raise ToolFailed(Phrase(what, {"keys": str(chord), "why": error.why.what}), _LOOK) from None
            await asyncio.sleep(min(left, _HOLD_STEP_S))

    async def type_text(self, text: str, before: BeforeText = nothing_to_check) -> tuple[Route, ...]:
        """Type a text exactly. Returns the route of each piece, in order.

        `before` is called before each piece with the text that is left, and may raise.
        """
        left = plan(text, self._backend.keyboard.can_type)
        self._typing_into = self._active()
        is_dialog = self._typing_into is not None and self._typing_into.is_dialog
        opens_field = is_dialog or (text[:1] in _PATHS and not self._is_field)
        if opens_field and (left[0].route is Route.TYPED or not self._backend.exact.can_paste()):
            left = with_lead(left, self._backend.keyboard.can_type)
        routes: list[Route] = []
        self._sent_chars = since_pause = 0
        with self._backend.keyboard.plain(), self._judged_apart():
            while left:
                done = self._sent_chars
                if done and len(left) == 1 and left[0].text in _SUBMITS:
                    await self._before_submitting()
                try:
                    taker = await before("".join(one.source for one in left))
                except ToolFailed as error:
                    raise _stopped(done, len(text), "characters", error) from None
                if self._is_field and not is_dialog and is_best_pasted(left[0]) and self._backend.exact.can_paste():
                    left = [replace(left[0], route=Route.EXACT), *left[1:]]
                piece, *left = with_short_lead(left, taker)
                if taker is Taker.BUTTONS and done:
                    await self._clock.sleep(_BUTTON_S)
                try:
                    since_pause = await self._type(piece, since_pause)
                except KeyboardMoved as error:
                    self._sent_chars += error.sent_chars
                    raise _stopped(self._sent_chars, len(text), "characters", await self._moved()) from None
                if left:
                    await self._taken(piece, taker, opens_field=opens_field and not done)
                routes.append(piece.route)
        self._typed_at = self._clock.now()
        return tuple(dict.fromkeys(routes))

    async def _taken(self, piece: Piece, taker: Taker | None, *, opens_field: bool) -> None:
        """Wait until the program has handled the piece just sent, because it may have moved the focus."""
        if opens_field:
            await self._rest(_OPENING_A_FIELD)
        elif piece.route is not Route.KEY:
            await self._worked_off()
        elif piece.route is Route.KEY and not (taker is Taker.LINES and piece.text in _SUBMITS):
            await self._worked_off()
            await self._backend.windows.arranged(_ARRANGING_S)

    async def _before_submitting(self) -> None:
        active = self._active()
        is_dialog = active is not None and active.is_dialog
        await self._rest(_SUBMITTING_A_DIALOG if is_dialog else _SUBMITTING)

    async def _type(self, piece: Piece, since_pause: int) -> int:
        if piece.route is Route.KEY:
            with self._holding((piece.text,)):
                self._sent_chars += len(piece.source)
                return since_pause + 1
        if piece.route is Route.EXACT:
            if since_pause:
                await self._worked_off()
            self._check_window()
            if await self._type_exactly(piece.text):
                self._sent_chars += len(piece.text)
                return 0
        for part in slices(piece.text):
            if await self._takeover.free():
                self._check_window()
            self._takeover.acting()
            self._guard.check_keyboard()
            with self._only_where_judged():
                self._has_sent = True
                self._backend.keyboard.type_text(part)
            self._sent_chars += len(part)
            since_pause += len(part)
            await asyncio.sleep(0)  # so that a stop can come between two words
            if since_pause >= PACE_CHARS:
                await self._worked_off()
                self._check_window()
                since_pause = 0
        return since_pause

    def _check_window(self) -> None:
        """Raise KeyboardMoved if another window became active: the rest of the text must not land in it."""
        was, now = self._typing_into, self._active()
        if was and now and was.ref != now.ref:
            raise KeyboardMoved

    async def _moved(self) -> ToolFailed:
        """Says where the keyboard went. A window manager passes it on a moment later."""
        windows = self._backend.windows
        await windows.arranged(_ARRANGING_S)
        there = windows.keyboard().window
        if not there:
            return ToolFailed("No window has the keyboard now.")
        other = next((one for one in windows.all() if one.ref == there != self._judged.window), None)
        if other is None:
            return KeyboardMoved()
        return ToolFailed(Phrase("The keyboard went to {title!r}.", {"title": other.title}))

    async def _type_exactly(self, text: str) -> bool:
        """Paste the text, or type it with remapped keys. Returns False if the layout's keys should type it."""
        self._takeover.check()
        self._guard.check_keyboard()
        self._has_sent = True
        if await self._backend.exact.paste(text, self._paste_chord(), self._judged.place, self._checks):
            return True
        if self._backend.keyboard.can_type(text):
            return False
        await self._backend.exact.remap(text, self._judged.place)
        return True

    def _paste_chord(self) -> str:  # A terminal needs another chord, because ctrl+v quotes the next character there.
        active = self._active()
        if active and is_terminal(active.app):
            return "shift+Insert"
        return "ctrl+v" if self._backend.keyboard.can_type("v") else "shift+Insert"

    @contextmanager
    def _holding(self, keys: Sequence[str]) -> Iterator[None]:
        pressed: list[str] = []
        try:
            for key in keys:
                self._takeover.check()
                self._guard.check_key(key, self._keys)
                with self._only_where_judged():
                    self._has_sent = True
                    self._backend.keyboard.key(key, down=True)
                self._keys.append(key)
                pressed.append(key)
            yield
        finally:
            for key in reversed(pressed):
                if key in self._keys:
                    self._keys.remove(key)
                    self._backend.keyboard.key(key, down=False)

    # --- what surrounds an action

    def release_all(self) -> None:
        """Release all held keys and buttons. Buttons go up where they went down: a drop elsewhere was not judged."""
        while self._keys:
            self._backend.keyboard.key(self._keys.pop(), down=False)
        while self._buttons:
            button, pressed_at = self._buttons.popitem()
            if self._backend.pointer.position() != pressed_at:
                self._backend.pointer.move(pressed_at)
            self._backend.pointer.button(button, down=False)
        self._backend.keyboard.give_back()

    async def _give_back(self) -> None:
        if self._backend.keyboard.is_lending:
            await self._worked_off()
            self._backend.keyboard.give_back()

    async def worked_off(self) -> bool:
        """Wait until the active program has handled its input. Returns False if it has not in time."""
        return not self._has_sent or await self._worked_off(_LATE_LIMIT_S)

    async def _worked_off(self, limit_s: float = _PACE_LIMIT_S) -> bool:
        active = self._active()
        is_late = active is not None and await self._backend.windows.answers(active.ref, limit_s, whole=True) is False
        self._has_sent = is_late
        return not is_late

    def _active(self) -> Window | None:
        return next((window for window in self._backend.windows.all() if window.is_active), None)

    def _cleared(self, *points: Point) -> AbstractContextManager[None]:
        """Inside it, Wisp's own windows are hidden if one of them is near a point."""
        left, top = min(p.x for p in points) - _AROUND_PX, min(p.y for p in points) - _AROUND_PX
        right, bottom = max(p.x for p in points) + _AROUND_PX, max(p.y for p in points) + _AROUND_PX
        around = Rect(left, top, right - left + 1, bottom - top + 1)
        return self._curtain.drawn_back(around) if self._curtain.covers(around) else nullcontext()


def apart(at: Point, inside: Rect) -> Point:
    """Too far away to complete a double click, but on the same control; `at` if there is no such point."""
    shifts = ((_APART_PX, 0), (-_APART_PX, 0), (0, _APART_PX), (0, -_APART_PX))
    core = Rect(inside.x + _EDGE_PX, inside.y + _EDGE_PX, inside.width - 2 * _EDGE_PX, inside.height - 2 * _EDGE_PX)
    return next((there for dx, dy in shifts if core.contains(there := at.moved(dx, dy))), at)


def _stopped(done: int, whole: int, what: str, why: ToolFailed) -> ToolFailed:
    """Says how much was sent. The keys are not named: they may be part of a password."""
    if not done:
        return ToolFailed(
            Phrase("None of the {what} were sent. {why}", {"what": (what,), "why": why.why.what}), why.why.hint
        )
    told = Phrase(
        "{count} of {whole} {what} was sent, the other {left} were not. {why}",
        {"count": done, "whole": whole, "left": whole - done, "what": (what,), "why": why.why.what},
        many="The first {count} of {whole} {what} were sent, the other {left} were not. {why}",
    )
    return ToolFailed(told, f"{why.why.hint} {_LOOK}".lstrip())
