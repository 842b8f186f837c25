"""Send input: each low-level event checks the stop flag first, and all held keys and buttons are released again.

Lives on the desktop thread.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import pairwise

from app.base.clock import Clock
from app.base.errors import ToolFailed
from app.base.geometry import Point, Rect
from app.base.values import dataclass, replace
from app.desktop.backends import (
    Backend,
    Button,
    Check,
    Curtain,
    KeyboardMoved,
    Landing,
    Window,
    WindowCame,
    nothing_to_check,
)
from app.desktop.keys import (
    PACE_CHARS,
    Chord,
    Piece,
    Route,
    Taker,
    is_best_pasted,
    plan,
    slices,
    with_lead,
    with_short_lead,
)
from app.desktop.programs import is_terminal
from app.desktop.takeover import InputGuard, TakeoverMonitor
from app.desktop.verification import Patience

_BETWEEN_CLICKS_S = 0.06
"""Two clicks closer than this are one double click to most programs."""
_SAME_PLACE_PX = 6
_APART_PX = 12
_EDGE_PX = 3
_MARGIN_S = 0.02
_STEP_PX = 12
_PACE_LIMIT_S = 1.0
_LATE_LIMIT_S = 2.0
"""A program may be busy so long before what it does with its input counts as unknown."""
_HOLD_STEP_S = 0.02
_AROUND_PX = 2
_SUBMITTING = Patience(first_s=0.06, quiet_s=0.06, limit_s=0.6)
_SUBMITTING_A_DIALOG = Patience(first_s=0.3, quiet_s=0.3, limit_s=2.0, fades=True)
"""Return after a text submits it: dialogs drop it while they still look at what was typed. The button that takes it
comes to life 0.25 s after the last key in GTK's file dialog, on an idle machine.
"""
_OPENING_A_FIELD = Patience(first_s=0.06, quiet_s=0.06, limit_s=0.5)
"""In dialogs the first key of a text may open the field for the others: GTK's file dialog drops what comes sooner."""
_SUBMITS = frozenset({"Return", "KP_Enter"})
_JUST_S = 1.0

_SWITCHING_S = 0.12
"""Keys that switch windows are held so long: the window manager must grab the keyboard while the modifier is down."""
_SWITCH_LIMIT_S = 1.0
_ARRANGING_S = 0.2
_AT_REST_S = 0.06
_LOOK = "Look before going on."

BeforeChords = Callable[[Sequence[Chord], Chord | None], Awaitable[None]]
BeforeText = Callable[[str], Awaitable[Taker | None]]

Rest = Callable[[Patience], Awaitable[object]]
"""Waits until the screen is at rest."""


def nothing_checked() -> None: ...


@dataclass(frozen=True, slots=True)
class Press:
    """How a button is pressed: how often, with which modifier keys (own names) held."""

    button: Button = Button.LEFT
    count: int = 1
    modifiers: tuple[str, ...] = ()


class InputController:
    """One action at a time; the caller holds the lock."""

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
        self._judged, self._is_field = Landing(), False
        self._still: Check = nothing_to_check
        self._last_click: tuple[Point, Button, float] | None = None
        self._has_sent = False

    # --- pointer

    async def move(self, to: Point) -> None:
        self._takeover.check()
        self._takeover.acting()
        self._backend.pointer.move(to)

    async def click(self, at: Point, press: Press, check: Check | None = None) -> None:
        """Click. `check` is called right before the press, and raises if the press would not reach its target."""
        await self._keep_apart(at, press.button)
        with self._cleared(at), self._holding(press.modifiers):
            await self.move(at)
            first = self._backend.windows.under(at)
            if check:
                await check()
            for number in range(press.count):
                if number:
                    # Pause, because a window manager handles each press first: a faster one may count apart.
                    await asyncio.sleep(_BETWEEN_CLICKS_S)
                    self._check_still(at, first, number, press.count)
                try:
                    with self._pressing(press.button, first.place):
                        pass
                except WindowCame as error:
                    raise ToolFailed(f"{number} of {press.count} presses were made. {error} {_LOOK}") from None
        self._last_click = (at, press.button, self._clock.now())

    def apart(self, at: Point, inside: Rect, button: Button) -> Point:
        """A point of the same control that makes no double click with the last press; `at` where there is none."""
        if not self._is_second(at, button):
            return at
        shifts = ((_APART_PX, 0), (-_APART_PX, 0), (0, _APART_PX), (0, -_APART_PX))
        core = Rect(inside.x + _EDGE_PX, inside.y + _EDGE_PX, inside.width - 2 * _EDGE_PX, inside.height - 2 * _EDGE_PX)
        return next((there for dx, dy in shifts if core.contains(there := at.moved(dx, dy))), at)

    async def _keep_apart(self, at: Point, button: Button) -> None:
        """Wait until a second click at the same place can no longer count as a double click."""
        if self._last_click and self._is_second(at, button):
            await self.outlast_double_click()

    async def outlast_double_click(self) -> None:
        """Wait until no program can take a press for the second of a double click, wherever the two are."""
        left = self._double_click_ends() - self._clock.now()
        if left > 0:
            await self._clock.sleep(left)

    def _is_second(self, at: Point, button: Button) -> bool:
        """Whether programs would take a press now for the second of a double click.

        Where a hand moved the pointer since, it is the person's own doing.
        """
        if self._last_click is None:
            return False
        place, last_button, _ = self._last_click
        if last_button is not button or self._clock.now() >= self._double_click_ends():
            return False
        is_near = abs(place.x - at.x) <= _SAME_PLACE_PX and abs(place.y - at.y) <= _SAME_PLACE_PX
        return is_near and self._backend.pointer.position() == place

    def _double_click_ends(self) -> float:
        when = self._last_click[2] if self._last_click else -math.inf
        return when + self._backend.pointer.double_click_s() + _MARGIN_S

    async def drag(
        self,
        path: Sequence[Point],
        press: Press,
        duration_s: float,
        check: Check | None = None,
        drop: Callable[[], None] = nothing_checked,
    ) -> None:
        """Press at the first point, move through the others, let go at the last. `check` as in `click`; `drop` raises
        ToolFailed where the button must not be let go.
        """
        steps = list(_steps(path))
        with self._cleared(*path), self._holding(press.modifiers):
            await self.move(path[0])
            first = self._backend.windows.under(path[0])
            if check:
                await check()
            with self._pressing(press.button, first.place):
                for point in steps:
                    await asyncio.sleep(duration_s / len(steps))
                    await self.move(point)
                await self._worked_off()
                await self._drop(path, drop)

    def _check_still(self, at: Point, first: Landing, done: int, count: int) -> None:
        """What follows the first press of several must not land in a window that this one opened."""
        if self._backend.windows.under(at).window != first.window:
            raise ToolFailed(
                f"Another window came up there: {done} of {count} presses were made there, the others were not. {_LOOK}"
            )

    async def _drop(self, path: Sequence[Point], check: Callable[[], None]) -> None:
        """Check the place before the button is released. If it is forbidden, move the pointer back to the start."""
        try:
            self._guard.check_press(path[-1])
            check()
        except ToolFailed:  # so that the person's object is not dropped at a forbidden place
            self._backend.pointer.move(path[0])
            await self._worked_off()
            raise

    async def scroll(self, at: Point | None, notches: tuple[int, int], modifiers: tuple[str, ...]) -> None:
        dx, dy = notches
        with self._cleared(at) if at else nullcontext(), self._holding(modifiers):
            if at:
                await self.move(at)
            for turn in range(max(abs(dx), abs(dy))):
                self._takeover.check()
                self._backend.pointer.scroll(_sign(dx) if turn < abs(dx) else 0, _sign(dy) if turn < abs(dy) else 0)
                await asyncio.sleep(0)

    async def button_down(self, button: Button) -> None:
        """Press and keep pressed until `button_up`, a stop, or the end."""
        self._takeover.check()
        self._guard.check_press(self._backend.pointer.position())
        self._buttons[button] = self._backend.pointer.position()
        self._backend.pointer.button(button, down=True)

    async def button_up(self, button: Button) -> None:
        if button in self._buttons:
            self._guard.check_press(self._backend.pointer.position())
            del self._buttons[button]
        self._backend.pointer.button(button, down=False)

    @contextmanager
    def _pressing(self, button: Button, place: str) -> Iterator[None]:
        self._takeover.check()
        self._guard.check_press(self._backend.pointer.position())
        self._buttons[button] = self._backend.pointer.position()
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
        """Each chord in turn, the whole `repeat` times, each held for `hold_s`. `before` is asked with those that are
        left, and the one sent last; what it raises ends the sequence.
        """
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
                with self._holding(chord.keys):
                    await self._hold(max(hold_s, _SWITCHING_S) if chord.may_switch else hold_s)
                    if chord.may_switch:
                        await self._backend.windows.arranged(_SWITCHING_S)
                if chord.may_switch:
                    await self._switched()
        finally:
            await self._give_back()

    def judged(self, landing: Landing, still: Check = nothing_to_check, *, is_field: bool = False) -> None:
        """What is pressed next was judged by where the keyboard is: it reaches that or nothing. `still` raises where
        another control has it by now. `is_field` says that a text field is there, which takes a text in one go.
        """
        self._judged, self._is_field, self._still = landing, is_field, still

    @contextmanager
    def _judged_apart(self) -> Iterator[None]:
        """Forget at the end where the keyboard was judged to be."""
        try:
            yield
        finally:
            self.judged(Landing())

    def _only_where_judged(self) -> AbstractContextManager[None]:
        place = self._judged.place
        return self._backend.keyboard.only_into(place) if place else nullcontext()

    async def _switched(self) -> None:
        """Return once the window manager has done what such a chord asks for: what is sent sooner, it swallows."""
        windows = self._backend.windows
        await windows.arranged(_SWITCH_LIMIT_S)
        until = self._clock.now() + _SWITCH_LIMIT_S
        was = None
        while was != (now := windows.keyboard()) and self._clock.now() < until:
            self._takeover.check()
            was = now
            await windows.changed(_AT_REST_S)

    async def _hold(self, seconds: float) -> None:
        until = self._clock.now() + seconds
        while (left := until - self._clock.now()) > 0:
            self._takeover.check()
            await asyncio.sleep(min(left, _HOLD_STEP_S))

    async def type_text(self, text: str, before: BeforeText = nothing_to_check) -> tuple[Route, ...]:
        """Type it exactly; returns the routes that were taken. `before` is asked with the text that is left: at each
        line, line break and tab, at each word for an entry, and after `PACE_CHARS`. What it raises ends the typing.
        """
        left = plan(text, self._backend.keyboard.can_type)
        self._typing_into = self._active()
        is_dialog = self._typing_into is not None and self._typing_into.is_dialog
        left = with_lead(left) if is_dialog else left
        routes: list[Route] = []
        done = since_pause = 0
        with self._backend.keyboard.plain(), self._judged_apart():
            while left:
                if done and len(left) == 1 and left[0].text in _SUBMITS:
                    await self._before_submitting()
                try:
                    taker = await before("".join(one.source for one in left))
                except ToolFailed as error:
                    raise _stopped(done, len(text), "characters", error) from None
                if self._is_field and not is_dialog and is_best_pasted(left[0]) and self._backend.exact.can_paste():
                    left = [replace(left[0], route=Route.EXACT), *left[1:]]
                piece, *left = with_short_lead(left, taker)
                try:
                    since_pause = await self._type(piece, since_pause)
                except KeyboardMoved as error:
                    raise ToolFailed(f"Typing stopped half way: {error} {_LOOK}") from None
                if left:
                    await self._taken(piece, taker, opens_field=is_dialog and not done)
                done += len(piece.source)
                routes.append(piece.route)
        self._typed_at = self._clock.now()
        return tuple(dict.fromkeys(routes))

    async def _taken(self, piece: Piece, taker: Taker | None, *, opens_field: bool) -> None:
        """Return once the program has worked off a part of a text that may have moved the keyboard."""
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
                return since_pause + 1
        if piece.route is Route.EXACT:
            if since_pause:
                await self._worked_off()
            self._check_window()
            if await self._type_exactly(piece.text):
                return 0
        for part in slices(piece.text):
            if await self._takeover.free():
                self._check_window()
            self._takeover.acting()
            self._guard.check_keyboard()
            with self._only_where_judged():
                self._has_sent = True
                self._backend.keyboard.type_text(part)
            since_pause += len(part)
            await asyncio.sleep(0)
            if since_pause >= PACE_CHARS:
                await self._worked_off()
                self._check_window()
                since_pause = 0
        return since_pause

    def _check_window(self) -> None:
        """What is left of a text must not land in a window that came up meanwhile. Raises ToolFailed."""
        was, now = self._typing_into, self._active()
        if was and now and was.ref != now.ref:
            raise ToolFailed(
                f"Typing stopped half way: the keyboard went from {was.title!r} to {now.title!r}. Look before going on."
            )

    async def _type_exactly(self, text: str) -> bool:
        """False where nothing but keys of the layout is left to try."""
        self._takeover.check()
        self._guard.check_keyboard()
        self._has_sent = True
        if await self._backend.exact.paste(text, self._paste_chord(), self._judged.place, self._still):
            return True
        if self._backend.keyboard.can_type(text):
            return False
        await self._backend.exact.remap(text)
        return True

    def _paste_chord(self) -> str:
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
        """Let go of all keys that we hold, and of buttons where they were pressed: no drop elsewhere was judged."""
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
        """Return once the active program has worked off what was sent. False where it is late: any of that may still
        move the keyboard. True also for a program that never says.
        """
        return not self._has_sent or await self._worked_off(_LATE_LIMIT_S)

    async def _worked_off(self, limit_s: float = _PACE_LIMIT_S) -> bool:
        active = self._active()
        is_late = active is not None and await self._backend.windows.answers(active.ref, limit_s, whole=True) is False
        self._has_sent = is_late
        return not is_late

    def _active(self) -> Window | None:
        return next((window for window in self._backend.windows.all() if window.is_active), None)

    def _cleared(self, *points: Point) -> AbstractContextManager[None]:
        """Our own windows out of the way of the pointer, where they are in it."""
        left, top = min(p.x for p in points) - _AROUND_PX, min(p.y for p in points) - _AROUND_PX
        right, bottom = max(p.x for p in points) + _AROUND_PX, max(p.y for p in points) + _AROUND_PX
        around = Rect(left, top, right - left + 1, bottom - top + 1)
        return self._curtain.drawn_back(around) if self._curtain.covers(around) else nullcontext()


def _stopped(done: int, whole: int, what: str, why: ToolFailed) -> ToolFailed:
    """How much was done and how much was not; not the keys themselves, which may be meant for a password."""
    if not done:
        return ToolFailed(f"None of the {what} were sent. {why}")
    return ToolFailed(f"The first {done} of {whole} {what} were sent, the other {whole - done} were not. {why} {_LOOK}")


def _steps(path: Sequence[Point]) -> Iterator[Point]:
    """Points along the path, close enough that programs see a movement; the last one is the path's last."""
    for start, end in pairwise(path):
        count = max(abs(end.x - start.x), abs(end.y - start.y)) // _STEP_PX + 1
        for step in range(1, count + 1):
            yield Point(start.x + (end.x - start.x) * step // count, start.y + (end.y - start.y) * step // count)


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)
