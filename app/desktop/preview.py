"""Find what an action would hit before it runs, and hold the action to it. Runs on the desktop thread.

The policy judges a call by what is under its target. The action then uses that same target: it is kept for a moment,
and after that moment the target is looked up again and must be the same.
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
from app.desktop.backends import Backend, Window
from app.desktop.elements import Element, Scene, SceneRequest
from app.desktop.ocr.elements import is_written
from app.desktop.programs import is_terminal
from app.desktop.targets import Aim

T = TypeVar("T")
H = TypeVar("H", bound=Hashable)

_FRESH_S = 2.0
_REMEMBERED = 64
_LIMIT_S = 0.4
"""A look that decides nothing does not wait longer for a program."""
_PATIENCE_S = 2.0
"""A program that does not answer in this time is unknown. So long an act that is judged waits for it."""
_CLIPBOARD_S = 0.5
_LOOK_AGAIN_S = 0.05
_BETWEEN_S = 0.4
"""A program that moves the keyboard tells so long later where to."""
_TERMINAL = "terminal"
_EDITABLE = "editable"
_WORDED = frozenset({"button", "toggle button", "push button"})
"""Roles that mean what the dialog around them says."""

_NOWHERE = Scene()


@dataclass(frozen=True, slots=True)
class FocusRequest:
    """What the policy needs to know of the focus: the controls that the keys may press, the text they paste or type."""

    with_bindings: bool = False
    pastes: bool = False
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PreviewedTarget:
    """What is there: the control, as far as its program tells, and the window it is in.

    `is_late`: the program has not worked off the input before, and may yet move the keyboard.
    """

    element: Element | None = None
    window: Window | None = None
    scene: Scene = _NOWHERE
    pasted: str | None = None
    symbols: tuple[tuple[str, frozenset[str]], ...] = ()
    is_launcher: bool = False
    is_frame: bool = False
    is_late: bool = False

    @property
    def is_known(self) -> bool:
        """Whether its program describes what is there, and has answered in full."""
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
        """Whether it belongs to a Wisp, this one or another."""
        pids = {thing.pid for thing in (self.element, self.window) if thing}
        return os.getpid() in pids or (self.window is not None and self.window.is_own)

    @property
    def is_terminal(self) -> bool:
        role = self.element.role if self.element else ""
        return role == _TERMINAL or (self.window is not None and is_terminal(self.window.app))

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
        """What it is called; a picture without words by its tip."""
        return (self.element.name.strip() or self.element.description.strip()) if self.element else ""


@dataclass(frozen=True, slots=True)
class _Kept:
    aim: Aim | None
    met: PreviewedTarget
    at: float
    error: WispError | None = None


class TargetPreview(Generic[H]):
    """`find` aims at a target of its own kind."""

    def __init__(
        self,
        backend: Backend,
        find: Callable[[H], Awaitable[Aim]],
        clock: Clock,
        worked_off: Callable[[], Awaitable[bool]],
    ) -> None:
        self._backend = backend
        self._worked_off = worked_off
        self._find = find
        self._clock = clock
        self._kept: OrderedDict[tuple[str, H], _Kept] = OrderedDict()
        self._held_in = ""

    async def foresee(self, call_id: str, target: H) -> PreviewedTarget:
        """What a call with this target would meet. Raises as `find`, and again when the call aims."""
        self._held_in = ""
        try:
            aim = await self._find(target)
        except WispError as error:
            self._keep(call_id, target, _Kept(None, PreviewedTarget(), self._clock.now(), error))
            raise
        met = await self.met_by(aim)
        self._keep(call_id, target, _Kept(replace(aim, window=met.window), met, self._clock.now()))
        return met

    def kept(self, call_id: str, target: H) -> tuple[Aim, PreviewedTarget] | None:
        """What was foreseen for a call just now: what the gate judged, shows to the person, and lets happen."""
        kept = self._kept.get((call_id, target))
        is_fresh = kept is not None and self._clock.now() - kept.at < _FRESH_S
        return (kept.aim, kept.met) if kept and kept.aim and is_fresh else None

    async def aim(self, call_id: str, target: H) -> Aim:
        """Where the call acts. ToolFailed where that is no longer what was foreseen."""
        kept = self._kept.pop((call_id, target), None)
        if kept is None:
            return await self._find(target)
        if kept.error is not None:
            raise kept.error
        if kept.aim is not None and self._clock.now() - kept.at < _FRESH_S:
            return kept.aim
        aim = await self._find(target)
        met = await self.met_by(aim)
        if not _is_same(met, kept.met):
            raise ToolFailed("What is there now is not what was there when this was allowed. Look again before acting.")
        return replace(aim, window=met.window)

    async def met_by(self, aim: Aim) -> PreviewedTarget:
        """What is under an aim, with the dialog around it where that says what a press means."""
        if aim.element is None:
            return await self.under(aim.point)
        window = self._window_of(aim.element) or self._window_at(aim.point)
        if is_written(aim.element.ref):
            return self._met(aim.element, window)
        if aim.element.role not in _WORDED:
            return self._met(aim.element, window, Scene(aim.element, is_described=True))
        return self._met(aim.element, window, await self._scene(SceneRequest(ref=aim.element.ref)))

    async def at(self, point: Point) -> Element | None:
        """The control under a point, if its program tells in time."""
        return await _in_time(self._backend.accessibility.at(point))

    async def under(self, point: Point) -> PreviewedTarget:
        """What is under a point."""
        framed = self._backend.windows.under(point).framed
        if frame := next((window for window in self._backend.windows.all() if framed and window.ref == framed), None):
            return PreviewedTarget(window=frame, is_frame=True)
        top = self._window_at(point)
        scene = await self._scene(SceneRequest(pid=top.pid if top else 0, point=point))
        return self._met(scene.element, self._window_of(scene.element) or top, scene)

    async def focus(self, request: FocusRequest) -> PreviewedTarget:
        """What has the keyboard, and what the keys might do there. Not known while keys are on their way."""
        is_late = not await self._worked_off()
        window = next((window for window in self._backend.windows.all() if window.is_active), None)
        if menu := next((shown for shown in self._backend.windows.shown() if shown.takes_keys), None):
            return self._met(None, menu)
        scene, has_left = await self._focused(window, request)
        element = scene.element
        if element is not None and window is not None and element.pid not in (0, window.pid):
            element, scene = None, replace(scene, element=None, is_described=False)
        keyboard = self._backend.keyboard
        symbols = tuple((key, made) for key in request.keys if (made := keyboard.symbols_of(key)))
        pasted = await self._pasted() if request.pastes else None
        met = self._met(element, window, replace(scene, has_answered=False) if has_left else scene)
        return replace(met, pasted=pasted, symbols=symbols, is_late=is_late)

    async def _focused(self, window: Window | None, request: FocusRequest) -> tuple[Scene, bool]:
        """The scene around what has the keyboard, and whether a control has just lost it to another one: a control of
        the window had it, nothing was pointed at since, and now none says that it has it.
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

    async def of_element(self, ref: str) -> PreviewedTarget:
        """An element by its ref. Errors as `Accessibility.element`."""
        self._held_in = ""
        element = await self._backend.accessibility.element(ref)
        return await self.met_by(Aim(element.box.center, "ref", element))

    def _met(self, element: Element | None, window: Window | None, scene: Scene = _NOWHERE) -> PreviewedTarget:
        role = element.role if element else ""
        is_launcher = role == _TERMINAL or self._backend.apps.is_launcher(window, role)
        return PreviewedTarget(element, window, scene, is_launcher=is_launcher)

    async def _scene(self, request: SceneRequest) -> Scene:
        """The scene as soon as its program has answered; after a while as far as it has."""
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
        """What the clipboard would type; None where that cannot be read in time."""
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
        """The topmost window there that is not ours: ours step aside for clicks."""
        return next((w for w in self._backend.windows.all() if _takes(w, point)), None)

    def _keep(self, call_id: str, target: H, kept: _Kept) -> None:
        self._kept[(call_id, target)] = kept
        while len(self._kept) > _REMEMBERED:
            self._kept.popitem(last=False)


def _takes(window: Window, point: Point) -> bool:
    return not window.is_minimised and window.pid != os.getpid() and window.area.contains(point)


def _is_same(one: PreviewedTarget, other: PreviewedTarget) -> bool:
    return _identity(one) == _identity(other)


def _identity(met: PreviewedTarget) -> tuple[object, ...]:
    window = met.window.ref if met.window else ""
    return (window, met.app, met.title, met.role, met.name, met.scene.words, met.is_known, met.is_frame)


async def _in_time(asked: Awaitable[T]) -> T | None:
    try:
        async with asyncio.timeout(_LIMIT_S):
            return await asked
    except (ToolFailed, TimeoutError):
        return None
