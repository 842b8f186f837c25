"""Find what an action would hit before it runs, and check that the action hits the same. Runs on the desktop thread.

The policy judges a call by what is at its target. The action then uses that same target, which is kept for a moment.
After that moment the target is looked up again and must still be the same.
"""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from app.base.clock import Clock
from app.base.errors import ToolFailed, WispError
from app.base.geometry import Point
from app.base.values import dataclass, replace
from app.desktop.backends import Backend, Landing, TerminalFront, Window
from app.desktop.elements import Element, Scene, SceneRequest
from app.desktop.ocr.elements import is_written
from app.desktop.programs import is_terminal
from app.desktop.targets import Aim

T = TypeVar("T")
H = TypeVar("H", bound=Hashable)

_FRESH_S = 2.0
_REMEMBERED = 64
_LIMIT_S = 0.4
"""How long to wait for a program if the policy does not depend on its answer."""
_PATIENCE_S = 2.0
"""How long the policy waits for a program. After that, the target counts as unknown."""
_CLIPBOARD_S = 0.5
_LOOK_AGAIN_S = 0.05
_BETWEEN_S = 0.4
"""A program may take this long to report where it moved the keyboard focus."""
_PROMPT_S = 0.5
_TERMINAL = "terminal"
_EDITABLE = "editable"
_WORDED = frozenset({"button", "toggle button", "push button", "link"})
"""Roles whose meaning depends on the dialog around them."""
_ITEMS = frozenset({"icon", "list item", "table cell", "tree item"})
"""Roles that open together with every other selected item."""

_NOWHERE = Scene()
_NOT_JUDGED = "What is there now is not what was there when this was allowed. Look again before acting."


@dataclass(frozen=True, slots=True)
class FocusRequest:
    """What the policy needs about the focus: the controls' chords, the clipboard's text, and what `keys` produce."""

    with_bindings: bool = False
    pastes: bool = False
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PreviewedTarget:
    """What an action would hit: the control, as far as its program describes it, and its window.

    `is_late`: the program has not handled the previous input yet, and may still move the keyboard focus. `fronts` are
    what receives the keys on each pseudo-terminal of a terminal; empty if that is not known. `landing`: where keys went
    when the keyboard's target was looked up; None for other targets.
    """

    element: Element | None = None
    window: Window | None = None
    scene: Scene = _NOWHERE
    pasted: str | None = None
    symbols: tuple[tuple[str, frozenset[str]], ...] = ()
    is_launcher: bool = False
    is_frame: bool = False
    is_late: bool = False
    fronts: tuple[TerminalFront, ...] = ()
    landing: Landing | None = None

    @property
    def is_known(self) -> bool:
        """Return whether the program describes the target and has answered in full."""
        is_text = self.element is not None and is_written(self.element.ref)
        is_sure = self.scene.is_rehearsed or self.is_frame
        is_told = is_sure or (self.scene.has_answered and self.scene.is_described and not is_text)
        return is_told and not self.is_late

    @property
    def states(self) -> frozenset[str]:
        told = self.element.states if self.element else frozenset()
        return told | {_EDITABLE} if self.scene.is_rehearsed else told

    @property
    def is_own(self) -> bool:
        """Return whether the target belongs to a Wisp, this one or another."""
        pids = {thing.pid for thing in (self.element, self.window) if thing}
        return os.getpid() in pids or (self.window is not None and self.window.is_own)

    @property
    def is_terminal(self) -> bool:
        role = self.element.role if self.element else ""
        return role == _TERMINAL or (self.window is not None and is_terminal(self.window.app))

    @property
    def is_occupied(self) -> bool:
        """Return whether it is a terminal where more than shells at their prompts may receive the keys."""
        return (
            self.is_terminal
            and not self.is_frame
            and not (self.fronts and all(front.is_prompt for front in self.fronts))
        )

    @property
    def title(self) -> str:
        return self.window.title if self.window else self.element.window if self.element else ""

    @property
    def app(self) -> str:
        return self.window.app if self.window else self.element.app if self.element else ""

    @property
    def role(self) -> str:
        return self.element.role if self.element else ""

    @property
    def name(self) -> str:
        """The control's name, or its description if it is a picture without words."""
        return (self.element.name.strip() or self.element.description.strip()) if self.element else ""


@dataclass(frozen=True, slots=True)
class _Kept:
    aim: Aim | None
    met: PreviewedTarget
    at: float
    error: WispError | None = None


class TargetPreview(Generic[H]):
    """Finds and keeps the targets that the policy judges.

    `find` locates a target without changing anything; `reach` scrolls to one that is out of sight.
    """

    def __init__(
        self,
        backend: Backend,
        find: Callable[[H], Awaitable[Aim]],
        clock: Clock,
        worked_off: Callable[[], Awaitable[bool]],
        reach: Callable[[Aim], Awaitable[Aim]],
    ) -> None:
        self._backend = backend
        self._reach = reach
        self._worked_off = worked_off
        self._find = find
        self._clock = clock
        self._kept: OrderedDict[tuple[str, H | str], _Kept] = OrderedDict()
        self._held_in = ""
        self._occupied: tuple[str, tuple[TerminalFront, ...]] | None = None

    async def foresee(self, call_id: str, target: H) -> PreviewedTarget:
        """Return what a call with this target would hit, and keep it for `aim`. Raises the errors of finding it."""
        self._held_in = ""
        try:
            aim = await self._find(target)
            met = await self.met_by(aim)
        except WispError as error:
            self._keep(call_id, target, _Kept(None, PreviewedTarget(), self._clock.now(), error))
            raise
        self._keep(call_id, target, _Kept(replace(aim, window=met.window), met, self._clock.now()))
        return met

    def kept(self, call_id: str, target: H) -> tuple[Aim, PreviewedTarget] | None:
        """Return what was found for a call a moment ago, as judged by the policy and shown to the person; else None."""
        kept = self._kept.get((call_id, target))
        is_fresh = kept is not None and self._clock.now() - kept.at < _FRESH_S
        return (kept.aim, kept.met) if kept and kept.aim and is_fresh else None

    async def aim(self, call_id: str, target: H) -> Aim:
        """Return where the call acts. Raises ToolFailed if the policy judged something else."""
        kept = self._kept.pop((call_id, target), None)
        if kept is None:
            aim = await self._find(target)
            return await self._reach(aim) if aim.beyond else aim
        if kept.error is not None:
            raise kept.error
        if kept.aim is not None and self._clock.now() - kept.at < _FRESH_S:
            return await self._reached(kept.aim, kept.met)
        aim = await self._find(target)
        met = await self.met_by(aim)
        if not _is_same(met, kept.met):
            raise ToolFailed(_NOT_JUDGED)
        return await self._reached(replace(aim, window=met.window), kept.met)

    async def _reached(self, aim: Aim, judged: PreviewedTarget) -> Aim:
        """Scroll to the target. Raises ToolFailed if another control, or words not judged before, appear there."""
        if not aim.beyond:
            return aim
        reached = await self._reach(aim)
        met = await self.met_by(reached)
        is_other = _identity(replace(met, scene=judged.scene)) != _identity(judged)
        if is_other or met.is_known < judged.is_known or not set(met.scene.words) <= set(judged.scene.words):
            raise ToolFailed(_NOT_JUDGED)
        return replace(reached, window=met.window)

    async def met_by(self, aim: Aim) -> PreviewedTarget:
        """Return what is at the point of an aim, with the dialog around it if that decides what a press means."""
        return await self._with_fronts(await self._aimed_at(aim))

    async def _aimed_at(self, aim: Aim) -> PreviewedTarget:
        if aim.element is None:
            return await self._below(aim.point)
        window = self._window_of(aim.element) or self._window_at(aim.point)
        if is_written(aim.element.ref):
            return self._met(aim.element, window)
        opens = aim.element.role in _ITEMS and self._backend.apps.is_launcher(window, aim.element.role)
        if aim.element.role not in _WORDED and not opens:
            return self._met(aim.element, window, Scene(aim.element, is_described=True))
        if aim.beyond:
            around = await self._scene(SceneRequest(pid=aim.element.pid, point=aim.point))
            return self._met(aim.element, window, replace(around, element=aim.element))
        return self._met(aim.element, window, await self._scene(SceneRequest(ref=aim.element.ref)))

    async def at(self, point: Point) -> Element | None:
        """Return the control at a point, or None if its program does not answer in time."""
        return await _in_time(self._backend.accessibility.at(point))

    async def under(self, point: Point) -> PreviewedTarget:
        """Return what is at a point."""
        return await self._with_fronts(await self._below(point))

    async def _below(self, point: Point) -> PreviewedTarget:
        framed = self._backend.windows.under(point).framed
        if frame := next((window for window in self._backend.windows.all() if framed and window.ref == framed), None):
            return PreviewedTarget(window=frame, is_frame=True)
        top = self._window_at(point)
        scene = await self._scene(SceneRequest(pid=top.pid if top else 0, point=point))
        return self._met(scene.element, self._window_of(scene.element) or top, scene)

    async def focus(self, request: FocusRequest) -> PreviewedTarget:
        """Return the control with the keyboard focus and what keys do there. Unknown while sent keys are unhandled."""
        is_late = not await self._worked_off()
        # By the focus itself, because the window manager may say late, or not at all, that another window has it.
        landing = self._backend.windows.keyboard()
        window = next((window for window in self._backend.windows.all() if window.ref == landing.window), None)
        if menu := next((shown for shown in self._backend.windows.shown() if shown.takes_keys), None):
            return replace(self._met(None, menu), landing=landing)
        scene, has_left = await self._focused(window, request)
        element = scene.element
        if element is not None and window is not None and element.pid not in (0, window.pid):
            element, scene = None, replace(scene, element=None, is_described=False)
        keyboard = self._backend.keyboard
        symbols = tuple((key, made) for key in request.keys if (made := keyboard.symbols_of(key)))
        pasted = await self._pasted() if request.pastes else None
        met = self._met(element, window, replace(scene, has_answered=False) if has_left else scene)
        keys = replace(met, pasted=pasted, symbols=symbols, is_late=is_late, landing=landing)
        return await self._with_fronts(keys)

    async def of_window(self, window: Window) -> PreviewedTarget:
        """Return a window as a target, with the sentences and buttons that it contains."""
        scene = await self._scene(SceneRequest(pid=window.pid, title=window.title))
        return await self._with_fronts(self._met(None, window, scene))

    async def _with_fronts(self, met: PreviewedTarget) -> PreviewedTarget:
        """Add what receives keys in a terminal. If a program is busy there, wait a moment for its prompt, once."""
        limit = self._clock.now() + _PROMPT_S
        while (window := met.window) is not None and met.is_terminal and not met.is_frame:
            met = replace(met, fronts=self._backend.apps.fronts(window))
            known, now = self._occupied, (window.ref, met.fronts)
            if not met.is_occupied or now == known or self._clock.now() >= limit:
                self._occupied = now if met.is_occupied else None
                break
            await asyncio.sleep(_LOOK_AGAIN_S)
        return met

    async def _focused(self, window: Window | None, request: FocusRequest) -> tuple[Scene, bool]:
        """Return the scene around the focused control, and whether the focus was just lost.

        It was lost if a control of the window had it before, nothing was clicked since, and no control reports it now.
        """
        ref = window.ref if window else ""
        limit = self._clock.now() + _BETWEEN_S
        while True:
            pid = window.pid if window else 0
            scene = await self._scene(SceneRequest(pid=pid, with_bindings=request.with_bindings))
            has_left = scene.element is None and scene.is_described and not scene.is_menu_open and self._held_in == ref
            if not has_left or self._clock.now() >= limit:
                break
            await asyncio.sleep(_LOOK_AGAIN_S)
        self._held_in = ref if scene.element is not None else ""
        return scene, has_left

    async def of_element(self, call_id: str, ref: str) -> PreviewedTarget:
        """Return what a call with this ref would act on, and keep it for `element`. Raises as `foresee` does."""
        self._held_in = ""
        try:
            _, met = await self._by_ref(ref)
        except WispError as error:
            self._keep(call_id, ref, _Kept(None, PreviewedTarget(), self._clock.now(), error))
            raise
        self._keep(call_id, ref, _Kept(None, met, self._clock.now()))
        return met

    async def element(self, call_id: str, ref: str) -> Element:
        """Return the element of a ref for the call to act on. Raises ToolFailed if the policy judged another one."""
        kept = self._kept.pop((call_id, ref), None)
        if kept is None:
            return await self._backend.accessibility.element(ref)
        if kept.error is not None:
            raise kept.error
        element, met = await self._by_ref(ref)
        if not _is_same(met, kept.met):
            raise ToolFailed(_NOT_JUDGED)
        return element

    async def _by_ref(self, ref: str) -> tuple[Element, PreviewedTarget]:
        element = await self._backend.accessibility.element(ref)
        return element, await self.met_by(Aim(element.box.center, "ref", element))

    def will_fail(self, call_id: str) -> bool:
        """Return whether finding the call's target raised an error, which the call will raise again."""
        return any(kept.error is not None for (each, _), kept in self._kept.items() if each == call_id)

    def _met(self, element: Element | None, window: Window | None, scene: Scene = _NOWHERE) -> PreviewedTarget:
        role = element.role if element else ""
        is_launcher = role == _TERMINAL or self._backend.apps.is_launcher(window, role)
        return PreviewedTarget(element, window, scene, is_launcher=is_launcher)

    async def _scene(self, request: SceneRequest) -> Scene:
        """Return the scene once its program has answered; after a time limit, the incomplete scene."""
        limit = self._clock.now() + _PATIENCE_S
        while True:
            left = max(limit - self._clock.now(), _LOOK_AGAIN_S)
            try:
                scene = await self._backend.accessibility.scene(replace(request, patience_s=left))
            except ToolFailed:  # because the program may still be starting
                scene = Scene(has_answered=False)
                if request.ref:
                    raise
            if scene.has_answered or self._clock.now() >= limit:
                return scene
            await asyncio.sleep(_LOOK_AGAIN_S)

    async def _pasted(self) -> str | None:
        """Return the clipboard's text; None if it is empty or cannot be read in time."""
        try:
            async with asyncio.timeout(_CLIPBOARD_S):
                return await self._backend.clipboard.read() or None
        except (ToolFailed, TimeoutError):  # because the program that owns the clipboard may hang
            return None

    def _window_of(self, element: Element | None) -> Window | None:
        if element is None:
            return None
        fitting = [w for w in self._backend.windows.all() if w.title == element.window and element.pid in (0, w.pid)]
        return fitting[0] if fitting else None

    def _window_at(self, point: Point) -> Window | None:
        """Return the topmost window at a point. This Wisp's windows do not count: they hide during a click."""
        return next((w for w in self._backend.windows.all() if _takes(w, point)), None)

    def _keep(self, call_id: str, target: H | str, kept: _Kept) -> None:
        self._kept[(call_id, target)] = kept
        # Drop the oldest, because a call that the person denied never takes its target.
        while len(self._kept) > _REMEMBERED:
            self._kept.popitem(last=False)


def _takes(window: Window, point: Point) -> bool:
    return not window.is_minimised and window.pid != os.getpid() and window.area.contains(point)


def _is_same(one: PreviewedTarget, other: PreviewedTarget) -> bool:
    return _identity(one) == _identity(other)


def _identity(met: PreviewedTarget) -> tuple[object, ...]:
    window = met.window.ref if met.window else ""
    return (
        window,
        met.app,
        met.title,
        met.role,
        met.name,
        met.scene.words,
        met.is_known,
        met.is_frame,
        met.is_occupied,
    )


async def _in_time(asked: Awaitable[T]) -> T | None:
    try:
        async with asyncio.timeout(_LIMIT_S):
            return await asked
    except (ToolFailed, TimeoutError):  # A late answer counts as none, because a person waits for this question.
        return None
