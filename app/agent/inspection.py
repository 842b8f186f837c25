"""Tells the gate what a call would act on, from the desktop as it is now."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from app.agent.policy import Control, LeftField
from app.agent.policy.chords import strokes
from app.agent.policy.consequences import is_address_bar, is_line
from app.agent.policy.keystrokes import may_paste, needs_bindings
from app.base.errors import ToolFailed, WispError
from app.base.geometry import Point, Rect
from app.desktop.backends import Window
from app.desktop.capture import PictureBudget
from app.desktop.controller import DesktopController, Target
from app.desktop.desktop import Desktop
from app.desktop.ocr.elements import is_written
from app.desktop.preview import FocusRequest, PreviewedTarget
from app.desktop.programs import choose, is_terminal
from app.protocol.call import Media, ToolCall
from app.services.browser.elements import PageElement
from app.services.browser.session import BrowserSession
from app.services.files.document_kinds import kind_of
from app.services.files.document_kinds import target_of as target_of_opening
from app.tools.acts import path_of, target_of

_log = logging.getLogger(__name__)

_PICTURE_WIDTH_PX = 480
_PICTURE_HEIGHT_PX = 200
_PROGRAM, _AWAY = "program", "away"
_TOLD_STATES = frozenset({"editable", "read-only"})


class DesktopInspector:
    """Implements `agent.policy.TargetInspector`."""

    def __init__(self, desktop: Desktop, browser: BrowserSession | None = None) -> None:
        self._desktop = desktop
        self._browser = browser

    async def seen(self, call: ToolCall, aim: str) -> Sequence[Control]:
        """What the call would act on. Where a target cannot be found its own words stand for it; the call will fail.

        A program that has not answered may answer when the call runs: what is there is not known.
        """
        if self._browser and call.id in self._browser.judged:
            return (_in_page(*self._browser.judged[call.id]),)
        return await self._desktop.run(_seen, call, aim)

    async def shown(self) -> frozenset[str]:
        try:
            return await self._desktop.run(_shown)
        except WispError:  # because the desktop may be out of reach, behind a lock for instance
            return frozenset({""})

    async def picture(self, call: ToolCall, aim: str) -> tuple[Media, tuple[int, int] | None] | None:
        if self._browser and call.id in self._browser.judged:
            return None  # because what it acts on is on no screen
        return await self._desktop.run(_picture, call, aim)


def _in_page(element: PageElement, host: str) -> Control:
    """An element of a page as the desktop would describe it: in a program that sends, in the window of its host."""
    states = frozenset({"editable"}) if element.role in ("entry", "text", "password text") else frozenset[str]()
    return Control(host, "chromium", element.role, element.name, window_ref=f"page {host}", states=states, fields=())


async def _shown(controller: DesktopController) -> frozenset[str]:
    return frozenset(window.app for window in controller.backend.windows.all() if not window.is_own)


async def _seen(controller: DesktopController, call: ToolCall, aim: str) -> tuple[Control, ...]:
    try:
        met = [] if aim in (_PROGRAM, _AWAY) else await _met(controller, call, aim)
        if aim == "focus":
            controller.key_targets.keep(call.id, met[-1].element, is_known=True)
        seen = _started(controller, call) if aim == _PROGRAM else tuple(_control(controller, one) for one in met)
        has_fields = not met or met[-1].scene.fields != ()
        left = await _left(controller, met[-1] if aim == "focus" else None) if has_fields else None
        return (*seen[:-1], replace(seen[-1] if seen else Control(), left=left)) if left else seen
    except WispError as error:
        _log.info("What %s would act on is not known: %s", call.name, error)
        may_come = isinstance(error, ToolFailed) and error.transient
        return (Control(role="label", name=call.text("target") or call.text("to"), is_known=not may_come),)


async def _left(controller: DesktopController, focus: PreviewedTarget | None) -> LeftField | None:
    """The field with the keyboard in which a file may get its name: it does where an act leaves it."""
    active = next((window for window in controller.backend.windows.all() if window.is_active), None)
    if active is None or is_terminal(active.app):
        return None
    is_launcher = not active.is_dialog and controller.backend.apps.is_launcher(active)
    if not (is_launcher or active.is_dialog):
        return None
    focus = focus or await controller.preview.focus(FocusRequest())
    element = focus.element
    if element is None or not is_line(_described(focus)) or not (is_launcher or focus.scene.is_in_items):
        return None
    return LeftField(focus.app, element.value, tuple(controller.backend.apps.shown_folders(active)))


def _started(controller: DesktopController, call: ToolCall) -> tuple[Control, ...]:
    """The program that the call would start; nothing for an address or a document, and where none would be started."""
    name = call.text("name").strip()
    if target_of_opening(name):
        return ()
    apps = controller.backend.apps
    try:
        program = choose(name, apps.installed(), apps.command, apps.preferred)
        words = apps.command_line(program)
    except WispError:  # because a call that fails starts nothing
        return ()
    return (Control(app=program.name, files=tuple(word for word in words if Path(word).is_absolute())),)


async def _met(controller: DesktopController, call: ToolCall, aim: str) -> list[PreviewedTarget]:
    if aim == "focus":
        return [await controller.preview.focus(_focus_of(call))]
    if aim == "element":
        ref = call.text("ref")
        return (
            [PreviewedTarget(await controller.written.element(ref))]
            if is_written(ref)
            else [await controller.preview.of_element(ref)]
        )
    if aim == "ends":
        return [await _foreseen(controller, call, target) for target in path_of(call)]
    if aim == "menu":
        return [PreviewedTarget(window=controller.active_window())]
    target = target_of(call)
    if target == Target():
        return [await controller.preview.under(controller.backend.pointer.position())]
    return [await _foreseen(controller, call, target)]


async def _foreseen(controller: DesktopController, call: ToolCall, target: Target) -> PreviewedTarget:
    """What the call will act on: looked for once, and again only where the look has grown old."""
    kept = controller.preview.kept(call.id, target)
    return kept[1] if kept else await controller.preview.foresee(call.id, target)


def _focus_of(call: ToolCall) -> FocusRequest:
    """What must be known of the focus to judge a call. A chord before a paste may change what is pasted."""
    keys = call.text("keys")
    known = strokes(keys)
    return FocusRequest(
        with_bindings=needs_bindings(keys),
        pastes=may_paste(keys) and len(keys.split()) == 1,
        keys=tuple(dict.fromkeys(known)),
    )


def _control(controller: DesktopController, met: PreviewedTarget) -> Control:
    control = _described(met)
    if met.element is not None and is_address_bar(control):
        control = replace(control, address=met.element.value)
    place, element = met.window, met.element
    if element is not None and element.pid and (place is None or place.pid != element.pid):
        # Use the element's own window, because desktops and panels are in no window list, and `place` is below them.
        place = Window("", element.window, element.app, element.box, element.pid)
    apps = controller.backend.apps
    if apps.builds(place):
        control = replace(control, builds=True)
    if not (met.is_launcher or apps.is_launcher(place, met.role)):
        return control
    return replace(control, is_launcher=True, opens=_item(apps.shown_folders(place), met.name) if place else "")


def _item(folders: Sequence[str], name: str) -> str:
    """What a file manager's item of that name is; empty where no folder, or more than one, has such a file."""
    if not name or "/" in name:
        return ""
    found = [Path(folder, name) for folder in folders]
    kinds = [kind_of(str(path)).value for path in found if os.path.lexists(path)]
    return kinds[0] if len(kinds) == 1 else ""


def _described(met: PreviewedTarget) -> Control:
    scene = met.scene
    return Control(
        met.title,
        met.app,
        met.role,
        met.name,
        scene.default,
        met.is_own,
        met.is_terminal,
        window_ref=met.window.ref if met.window else "",
        is_known=met.is_known,
        is_late=met.is_late,
        is_dialog=scene.is_dialog or (met.window is not None and met.window.is_dialog),
        is_menu_open=scene.is_menu_open,
        has_password=scene.has_password,
        states=met.states & _TOLD_STATES,
        words=scene.words,
        bindings=scene.bindings,
        pasted=met.pasted,
        symbols=met.symbols,
        fields=scene.fields,
        is_silent=scene.has_answered and not scene.is_described and met.window is not None,
        is_frame=met.is_frame,
    )


async def _picture(
    controller: DesktopController, call: ToolCall, aim: str
) -> tuple[Media, tuple[int, int] | None] | None:
    if aim in (_PROGRAM, _AWAY):
        return None
    try:
        met = await _met(controller, call, aim)
        point = await _point(controller, call, aim)
        area = _around(point, controller.backend.screen.extent()) if point else None
        if area is None and met[-1].window is not None:
            area = met[-1].window.area.overlap(controller.backend.screen.extent())
        if area is None:
            return None
        capture = await controller.screen_capture.capture(area, "the place", PictureBudget(), is_glance=True)
    except WispError as error:
        _log.info("No picture of what %s would act on: %s", call.name, error)
        return None
    geometry = capture.geometry
    media = Media(capture.data, capture.media_type, geometry.sent.width, geometry.sent.height, "the place")
    if point is None:
        return media, None
    x, y = geometry.to_picture(point)
    return media, (round(x), round(y))


async def _point(controller: DesktopController, call: ToolCall, aim: str) -> Point | None:
    """Where on the screen the call would act; None where it has no place."""
    if aim in ("focus", "menu"):
        return None
    if aim == "element":
        met = (await _met(controller, call, aim))[-1]
        return met.element.box.center if met.element else None
    target = path_of(call)[-1] if aim == "ends" else target_of(call)
    if target == Target():
        return controller.backend.pointer.position()
    kept = controller.preview.kept(call.id, target)
    return (kept[0] if kept else await controller.aim(target)).point


def _around(point: Point, extent: Rect) -> Rect | None:
    """A part of the screen with the point in it, near its middle."""
    width, height = min(_PICTURE_WIDTH_PX, extent.width), min(_PICTURE_HEIGHT_PX, extent.height)
    left = min(max(point.x - width // 2, extent.x), extent.x + extent.width - width)
    top = min(max(point.y - height // 2, extent.y), extent.y + extent.height - height)
    return Rect(left, top, width, height).overlap(extent)
