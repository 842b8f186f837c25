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
from app.desktop.backends import Backend, Landing, Owner, Window
from app.desktop.elements import Element, Scene, SceneRequest
from app.desktop.targets import Aim

T = TypeVar("T")
H = TypeVar("H", bound=Hashable)

_FRESH_S = 2.0
_REMEMBERED = 64
_LIMIT_S = 0.4
"""How long to wait for a program if the policy does not depend on its answer."""
_PATIENCE_S = 2.0
"""How long the policy waits for a program. After that, the control there counts as unknown."""
_LOOK_AGAIN_S = 0.05
_NOWHERE = Scene()
_NOT_JUDGED = ("Something else is there now than when you allowed this.", "Look again before acting.")


@dataclass(frozen=True, slots=True)
class PreviewedTarget:
    """What an action would hit: the control, as far as its program describes it, its window, and their program.

    `symbols` are what keys make in the present layouts. `landing`: where keys went when the keyboard's target was
    looked up; None for other targets.
    """

    element: Element | None = None
    window: Window | None = None
    scene: Scene = _NOWHERE
    owner: Owner = Owner()
    symbols: tuple[tuple[str, frozenset[str]], ...] = ()
    is_frame: bool = False
    landing: Landing | None = None

    @property
    def is_own(self) -> bool:
        """True for a target of any Wisp, this one or another."""
        pids = {thing.pid for thing in (self.element, self.window) if thing}
        return os.getpid() in pids or (self.window is not None and self.window.is_own)

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

    async def foresee(self, call_id: str, target: H) -> PreviewedTarget:
        """Return what a call with this target would hit, and keep it for `aim`. Raises the errors of finding it."""
        await self._worked_off()  # because what was typed before may still change what is there
        try:
            aim = await self._find(target)
            limit = self._clock.now() + _LIMIT_S
            while aim.element and "sensitive" not in aim.element.states and self._clock.now() < limit:
                # A dialog allows its answer a moment after it got what it asks for.
                await asyncio.sleep(_LOOK_AGAIN_S)
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
            raise ToolFailed(*_NOT_JUDGED)
        return await self._reached(replace(aim, window=met.window), kept.met)

    async def _reached(self, aim: Aim, judged: PreviewedTarget) -> Aim:
        """Scroll to the target. Raises ToolFailed if another control appears there."""
        if not aim.beyond:
            return aim
        reached = await self._reach(aim)
        met = await self.met_by(reached)
        if not _is_same(met, judged):
            raise ToolFailed(*_NOT_JUDGED)
        return replace(reached, window=met.window)

    async def met_by(self, aim: Aim) -> PreviewedTarget:
        if aim.element is None:
            return await self.under(aim.point)
        window = self._window_of(aim.element) or self._window_at(aim.point)
        return self._met(aim.element, window)

    async def at(self, point: Point) -> Element | None:
        """None if the control's program does not answer in time."""
        return await _in_time(self._backend.accessibility.at(point))

    async def under(self, point: Point) -> PreviewedTarget:
        framed = self._backend.windows.under(point).framed
        if frame := next((window for window in self._backend.windows.all() if framed and window.ref == framed), None):
            return replace(self._met(None, frame), is_frame=True)
        top = self._window_at(point)
        scene = await self._scene(SceneRequest(pid=top.pid if top else 0, point=point))
        return self._met(scene.element, self._window_of(scene.element) or top, scene)

    async def focus(self, keys: tuple[str, ...] = ()) -> PreviewedTarget:
        """Return the control with the keyboard focus, and what `keys` make. Waits until earlier keys are handled."""
        await self._worked_off()
        # By the focus itself, because the window manager may say late, or not at all, that another window has it.
        landing = self._backend.windows.keyboard()
        window = next((window for window in self._backend.windows.all() if window.ref == landing.window), None)
        if menu := next((shown for shown in self._backend.windows.shown() if shown.takes_keys), None):
            return replace(self._met(None, menu), landing=landing)
        scene = await self._scene(SceneRequest(pid=window.pid if window else 0))
        element = scene.element
        if element is not None and window is not None and element.pid not in (0, window.pid):
            element = None
        keyboard = self._backend.keyboard
        symbols = tuple((key, made) for key in keys if (made := keyboard.symbols_of(key)))
        return replace(self._met(element, window, scene), symbols=symbols, landing=landing)

    def of_window(self, window: Window | None) -> PreviewedTarget:
        return self._met(None, window)

    async def of_element(self, call_id: str, ref: str) -> PreviewedTarget:
        """Return what a call with this ref would act on, and keep it for `element`. Raises as `foresee` does."""
        await self._worked_off()
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
            raise ToolFailed(*_NOT_JUDGED)
        return element

    async def _by_ref(self, ref: str) -> tuple[Element, PreviewedTarget]:
        element = await self._backend.accessibility.element(ref)
        return element, await self.met_by(Aim(element.box.center, "ref", element))

    def _met(self, element: Element | None, window: Window | None, scene: Scene = _NOWHERE) -> PreviewedTarget:
        # Desktops and panels are in no window list: then the element's own process says whose they are.
        is_apart = element is not None and element.pid and (window is None or window.pid != element.pid)
        pid, app = (
            (element.pid, element.app) if element and is_apart else (window.pid, window.app) if window else (0, "")
        )
        owner = self._backend.apps.owner(pid, app) if pid or app else Owner()
        return PreviewedTarget(element, window, scene, owner)

    async def _scene(self, request: SceneRequest) -> Scene:
        """The scene once its program has answered; after a time limit, the incomplete scene."""
        limit = self._clock.now() + _PATIENCE_S
        while True:
            left = max(limit - self._clock.now(), _LOOK_AGAIN_S)
            try:
                scene = await self._backend.accessibility.scene(replace(request, patience_s=left))
            except ToolFailed:  # because the program may still be starting
                scene = Scene(has_answered=False)
            if scene.has_answered or self._clock.now() >= limit:
                return scene
            await asyncio.sleep(_LOOK_AGAIN_S)

    def _window_of(self, element: Element | None) -> Window | None:
        if element is None:
            return None
        fitting = [w for w in self._backend.windows.all() if w.title == element.window and element.pid in (0, w.pid)]
        return fitting[0] if fitting else None

    def _window_at(self, point: Point) -> Window | None:
        """This Wisp's windows do not count: they hide during a click."""
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
    return window, met.owner.ref, met.title, met.role, met.name, met.is_frame


async def _in_time(asked: Awaitable[T]) -> T | None:
    try:
        async with asyncio.timeout(_LIMIT_S):
            return await asked
    except (ToolFailed, TimeoutError):  # A late answer counts as none, because a person waits for this question.
        return None
