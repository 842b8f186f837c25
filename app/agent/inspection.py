"""Find what a call would act on, from the current state of the desktop, for the gate."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from app.agent.policy import Control, ControlKeyboard, ControlScene, ControlWindow, LeftField
from app.agent.policy.chords import strokes
from app.agent.policy.consequences import is_address_bar, is_line
from app.agent.policy.keystrokes import may_paste, needs_bindings
from app.base.errors import NeedsPerson, ToolMisuse, WispError
from app.base.geometry import Point, Rect
from app.desktop.backends import Window
from app.desktop.capture import PictureBudget
from app.desktop.controller import DesktopController, Target
from app.desktop.desktop import Desktop
from app.desktop.ocr.elements import is_written
from app.desktop.preview import FocusRequest, PreviewedTarget
from app.desktop.programs import choose, is_terminal
from app.protocol.call import Media, ToolCall
from app.protocol.spec import ScreenAim
from app.services.browser.elements import PageElement
from app.services.browser.session import BrowserSession
from app.services.files.document_kinds import DocumentKind, kind_of
from app.services.files.document_kinds import target_of as target_of_opening
from app.tools.acts import path_of, target_of

_log = logging.getLogger(__name__)

_PICTURE_WIDTH_PX = 480
_PICTURE_HEIGHT_PX = 200
_NOWHERE = (ScreenAim.PROGRAM, ScreenAim.AWAY)
"""Aims that have no place on the screen."""
_CELL, _MILD = "table cell", (DocumentKind.FOLDER.value, DocumentKind.PLAIN.value)
_TOLD_STATES = frozenset({"editable", "multi-line", "read-only"})


class DesktopInspector:
    """Implements `agent.policy.TargetInspector`."""

    def __init__(self, desktop: Desktop, browser: BrowserSession | None = None) -> None:
        self._desktop = desktop
        self._browser = browser

    async def seen(self, call: ToolCall, aim: ScreenAim) -> Sequence[Control]:
        """Return the controls that the call would act on.

        If the call is certain to fail, the control is described by the call's own arguments. If it cannot be read now,
        the control is unknown, because the call may still succeed.
        """
        if self._browser and call.id in self._browser.judged:
            return (control_in_page(*self._browser.judged[call.id]),)
        return await self._desktop.run(_seen, call, aim)

    async def shown(self) -> frozenset[str]:
        try:
            return await self._desktop.run(_shown)
        except WispError:  # because the desktop may be out of reach, behind a lock for instance
            return frozenset({""})

    async def picture(self, call: ToolCall, aim: ScreenAim) -> tuple[Media, tuple[int, int] | None] | None:
        if self._browser and call.id in self._browser.judged:
            return None  # because what it acts on is on no screen
        return await self._desktop.run(_picture, call, aim)


def control_in_page(element: PageElement, host: str) -> Control:
    """Describe an element of a web page as the desktop would, in a window named by its host."""
    states = frozenset({"editable"}) if element.role in ("entry", "text", "password text") else frozenset[str]()
    return Control(
        role=element.role,
        name=element.name,
        states=states,
        window=ControlWindow(title=host, app="chromium", ref=f"page {host}"),
        scene=ControlScene(fields=()),
    )


async def _shown(controller: DesktopController) -> frozenset[str]:
    return frozenset(window.app for window in controller.backend.windows.all() if not window.is_own)


async def _seen(controller: DesktopController, call: ToolCall, aim: ScreenAim) -> tuple[Control, ...]:
    try:
        met = [] if aim in _NOWHERE else await _met(controller, call, aim)
        if aim is ScreenAim.FOCUS:
            controller.key_targets.keep(call.id, met[-1].element, met[-1].landing)
        seen = (
            _started(controller, call) if aim is ScreenAim.PROGRAM else tuple(_control(controller, one) for one in met)
        )
        has_fields = not met or met[-1].scene.fields != ()
        left = await _left(controller, met[-1] if aim is ScreenAim.FOCUS else None) if has_fields else None
        last = seen[-1] if seen else Control()
        return (*seen[:-1], replace(last, keyboard=replace(last.keyboard, left=left))) if left else seen
    except NeedsPerson:
        raise
    except WispError as error:
        # The policy judges an unknown control instead, because an unreadable screen must not end the turn.
        _log.info("What %s would act on is not known: %s", call.name, error)
        is_sure = isinstance(error, ToolMisuse) or controller.preview.will_fail(call.id)
        return (Control(role="label", name=call.text("target") or call.text("to"), is_known=is_sure),)


async def _left(controller: DesktopController, focus: PreviewedTarget | None) -> LeftField | None:
    """Return the focused field if it may hold the name of a file, so that leaving it may rename the file; else None."""
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
    """Return the program that the call would start; none for an address or a document."""
    name = call.text("name").strip()
    if target_of_opening(name):
        return ()
    apps = controller.backend.apps
    try:
        program = choose(name, apps.installed(), apps.command, apps.preferred)
        words = apps.command_line(program)
    except WispError:  # because a call that fails starts nothing
        return ()
    files = tuple(word for word in words if Path(word).is_absolute())
    return (Control(window=ControlWindow(app=program.name), files=files),)


async def _met(controller: DesktopController, call: ToolCall, aim: ScreenAim) -> list[PreviewedTarget]:
    if aim is ScreenAim.FOCUS:
        return [await controller.preview.focus(_focus_of(call))]
    if aim is ScreenAim.ELEMENT:
        ref = call.text("ref")
        return (
            [PreviewedTarget(await controller.written.element(ref))]
            if is_written(ref)
            else [await controller.preview.of_element(call.id, ref)]
        )
    if aim is ScreenAim.ENDS:
        return [await _foreseen(controller, call, target) for target in path_of(call)]
    if aim is ScreenAim.MENU:
        return [PreviewedTarget(window=controller.active_window())]
    if aim is ScreenAim.WINDOW:
        return [await controller.preview.of_window(controller.find_window(call.text("title")))]
    target = target_of(call)
    if target == Target():
        return [await controller.preview.under(controller.backend.pointer.position())]
    return [await _foreseen(controller, call, target)]


async def _foreseen(controller: DesktopController, call: ToolCall, target: Target) -> PreviewedTarget:
    """Find what the call will act on. The result is reused until it is too old."""
    kept = controller.preview.kept(call.id, target)
    return kept[1] if kept else await controller.preview.foresee(call.id, target)


def _focus_of(call: ToolCall) -> FocusRequest:
    """Return what to find out about the focus before the call's keys are judged.

    `pastes` is False for several chords, because a chord before the paste may change the clipboard.
    """
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
        control = replace(control, window=replace(control.window, builds=True))
    if not (met.is_launcher or apps.is_launcher(place, met.role)):
        return control
    opens = _opened(apps.shown_folders(place), met) if place else ""
    return replace(control, window=replace(control.window, is_launcher=True), opens=opens)


def _opened(folders: Sequence[str], met: PreviewedTarget) -> str:
    """Return the document kind of the selected items: a kind that is not mild if there is one, "" if one is unknown."""
    kind, selected = _item(folders, met.name), met.scene.selected
    if selected is None:
        return ""
    # Skip texts that are no file, because a row has more cells than the one with its file's name.
    others = [_item(folders, name) for name in selected]
    known = [other for other in others if other or met.role != _CELL]
    return next((other for other in known if other not in (kind, *_MILD)), kind)


def _item(folders: Sequence[str], name: str) -> str:
    """Return the document kind of an item of a file manager; "" unless exactly one of the folders has such a file."""
    if not name or "/" in name:
        return ""
    found = [Path(folder, name) for folder in folders]
    kinds = [kind_of(str(path)).value for path in found if os.path.lexists(path)]
    return kinds[0] if len(kinds) == 1 else ""


def _described(met: PreviewedTarget) -> Control:
    scene = met.scene
    window = ControlWindow(
        title=met.title,
        app=met.app,
        ref=met.window.ref if met.window else "",
        is_own=met.is_own,
        is_terminal=met.is_terminal,
        is_occupied=met.is_occupied,
        fronts=met.fronts,
        is_dialog=scene.is_dialog or (met.window is not None and met.window.is_dialog),
        is_frame=met.is_frame,
    )
    around = ControlScene(
        default=scene.default,
        buttons=scene.buttons,
        words=scene.words,
        near=scene.near,
        is_message=scene.is_message,
        fields=scene.fields,
        bindings=scene.bindings,
        is_menu_open=scene.is_menu_open,
        has_password=scene.has_password,
    )
    return Control(
        role=met.role,
        name=met.name,
        states=met.states & _TOLD_STATES,
        window=window,
        scene=around,
        keyboard=ControlKeyboard(pasted=met.pasted, symbols=met.symbols),
        is_known=met.is_known,
        is_silent=scene.has_answered and not scene.is_described and met.window is not None,
        is_late=met.is_late,
    )


async def _picture(
    controller: DesktopController, call: ToolCall, aim: ScreenAim
) -> tuple[Media, tuple[int, int] | None] | None:
    if aim in (*_NOWHERE, ScreenAim.WINDOW):
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
        # The question is asked without a picture, because the words alone still describe the call.
        _log.info("No picture of what %s would act on: %s", call.name, error)
        return None
    geometry = capture.geometry
    media = Media(capture.data, capture.media_type, geometry.sent.width, geometry.sent.height, "the place")
    if point is None:
        return media, None
    x, y = geometry.to_picture(point)
    return media, (round(x), round(y))


async def _point(controller: DesktopController, call: ToolCall, aim: ScreenAim) -> Point | None:
    """Return the point on the screen at which the call would act; None for a call that acts at no point."""
    if aim in (ScreenAim.FOCUS, ScreenAim.MENU):
        return None
    if aim is ScreenAim.ELEMENT:
        met = (await _met(controller, call, aim))[-1]
        return met.element.box.center if met.element else None
    target = path_of(call)[-1] if aim is ScreenAim.ENDS else target_of(call)
    if target == Target():
        return controller.backend.pointer.position()
    kept = controller.preview.kept(call.id, target)
    return (kept[0] if kept else await controller.aim(target)).point


def _around(point: Point, extent: Rect) -> Rect | None:
    """Return the rectangle to show around a point: of limited size, inside `extent`, the point near its middle."""
    width, height = min(_PICTURE_WIDTH_PX, extent.width), min(_PICTURE_HEIGHT_PX, extent.height)
    left = min(max(point.x - width // 2, extent.x), extent.x + extent.width - width)
    top = min(max(point.y - height // 2, extent.y), extent.y + extent.height - height)
    return Rect(left, top, width, height).overlap(extent)
