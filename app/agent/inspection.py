"""Find what a call would act on, from the current state of the desktop, for the gate."""

from __future__ import annotations

import logging
import mimetypes
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from app.agent.policy import Control, ControlWindow
from app.agent.policy.chords import strokes
from app.base.errors import NeedsPerson, WispError
from app.base.geometry import Point, Rect
from app.desktop.backends import Owner, pointer_at
from app.desktop.capture import PictureBudget
from app.desktop.controller import DesktopController, Target
from app.desktop.desktop import Desktop
from app.desktop.ocr.elements import is_written
from app.desktop.preview import PreviewedTarget
from app.desktop.programs import choose, owner_of
from app.protocol.call import Media, ToolCall
from app.protocol.spec import ScreenAim
from app.services.files.document_kinds import target_of as target_of_opening
from app.tools.acts import path_of, target_of

_log = logging.getLogger(__name__)

_PICTURE_WIDTH_PX = 480
_PICTURE_HEIGHT_PX = 200
_NOWHERE = (ScreenAim.PROGRAM, ScreenAim.AWAY, ScreenAim.UNSAVED)
"""Aims that have no place on the screen."""
_UNSAVED = re.compile(r"^\s*[*•●]|\*(?=\s|$)")
"""How titles tell of unsaved changes: `*notes.txt`, `● notes.txt`, `notes.txt* - Kate`, `notes.txt *`."""


class PageInspector(Protocol):
    """Knows the elements of pages in Wisp's own browser that are being judged."""

    def element(self, call_id: str, /) -> Control | None:
        """None if the call acts on no page."""
        ...


class DesktopInspector:
    """Implements `agent.policy.TargetInspector`. `pages` returns who knows about web pages, or None."""

    def __init__(self, desktop: Desktop, pages: Callable[[], PageInspector | None] = lambda: None) -> None:
        self._desktop = desktop
        self._pages = pages

    async def seen(self, call: ToolCall, aim: ScreenAim) -> Sequence[Control]:
        """No controls where nothing can be found, because the call will fail."""
        if element := self._on_a_page(call):
            return (element,)
        return await self._desktop.run(_seen, call, aim)

    async def shown(self) -> tuple[Owner, ...]:
        try:
            return await self._desktop.run(_shown)
        except WispError:  # because the desktop may be out of reach, behind a lock for instance
            return ()

    async def picture(self, call: ToolCall, aim: ScreenAim) -> tuple[Media, tuple[int, int] | None] | None:
        if self._on_a_page(call):
            return None  # because what it acts on is on no screen
        return await self._desktop.run(_picture, call, aim)

    def _on_a_page(self, call: ToolCall) -> Control | None:
        pages = self._pages()
        return pages.element(call.id) if pages else None


async def _shown(controller: DesktopController) -> tuple[Owner, ...]:
    windows = [window for window in controller.backend.windows.all() if not window.is_own and not window.is_minimised]
    return tuple(dict.fromkeys(controller.backend.apps.owner(window.pid, window.app) for window in windows))


async def _seen(controller: DesktopController, call: ToolCall, aim: ScreenAim) -> tuple[Control, ...]:
    if aim is ScreenAim.PROGRAM:
        return _started(controller, call)
    if aim is ScreenAim.UNSAVED:
        return _unsaved(controller)
    try:
        met = [] if aim in _NOWHERE else await _met(controller, call, aim)
    except NeedsPerson:
        raise
    except WispError as error:
        _log.info("What %s would act on is not known: %s", call.name, error)
        return ()
    if aim is ScreenAim.FOCUS:
        last = met[-1]
        controller.key_targets.keep(call.id, last.element, last.landing, is_known=last.scene.has_answered)
    return tuple(map(_described, met))


def _unsaved(controller: DesktopController) -> tuple[Control, ...]:
    """As far as the windows' titles tell."""
    windows = [one for one in controller.backend.windows.all() if not one.is_own and _UNSAVED.search(one.title)]
    owner = controller.backend.apps.owner
    return tuple(
        Control(window=ControlWindow(title=one.title, app=one.app, ref=one.ref, owner=owner(one.pid, one.app)))
        for one in windows
    )


def _started(controller: DesktopController, call: ToolCall) -> tuple[Control, ...]:
    """Return the program that the call would start, or that opens the address or document; none if it is unknown."""
    name, apps = call.text("name").strip(), controller.backend.apps
    if target := target_of_opening(name):
        kind = "x-scheme-handler/https" if target.address else mimetypes.guess_type(target.path)[0] or ""
        preferred = [entry.removesuffix(".desktop") for entry in apps.preferred(kind)] if kind else []
        known = {app.ref.rsplit("/", 1)[-1].removesuffix(".desktop"): app for app in apps.installed()}
        owner = next((owner_of(known[entry]) for entry in preferred if entry in known), None)
        title = "" if target.address else Path(target.path).name
        return (Control(window=ControlWindow(title=title, app=owner.name, owner=owner)),) if owner else ()
    try:
        program = choose(name, apps.installed(), apps.command, apps.preferred)
    except WispError:  # because a call that fails starts nothing
        return ()
    return (Control(window=ControlWindow(app=program.name, owner=owner_of(program, called=name))),)


async def _met(controller: DesktopController, call: ToolCall, aim: ScreenAim) -> list[PreviewedTarget]:
    preview = controller.preview
    if aim is ScreenAim.FOCUS:
        return [await preview.focus(tuple(dict.fromkeys(strokes(call.text("keys")))))]
    if aim is ScreenAim.ELEMENT and (ref := call.text("ref")):
        if is_written(ref):
            return [PreviewedTarget(await controller.written.element(ref))]
        return [await preview.of_element(call.id, ref)]
    if aim is ScreenAim.ENDS:
        return [await _foreseen(controller, call, target) for target in path_of(call)]
    if aim is ScreenAim.MENU:
        return [preview.of_window(controller.active_window())]
    if aim is ScreenAim.WINDOW:
        return [preview.of_window(controller.find_window(call.text("title")))]
    target = target_of(call)
    if target == Target():
        return [await preview.under(pointer_at(controller.backend.pointer))]
    return [await _foreseen(controller, call, target)]


async def _foreseen(controller: DesktopController, call: ToolCall, target: Target) -> PreviewedTarget:
    """Find what the call will act on. The result is reused until it is too old."""
    kept = controller.preview.kept(call.id, target)
    return kept[1] if kept else await controller.preview.foresee(call.id, target)


def _described(met: PreviewedTarget) -> Control:
    window = ControlWindow(
        title=met.title,
        app=met.app,
        ref=met.window.ref if met.window else "",
        owner=met.owner,
        is_own=met.is_own,
        is_frame=met.is_frame,
    )
    return Control(
        role=met.role,
        name=met.name,
        window=window,
        default=met.scene.default,
        has_password=met.scene.has_password,
        symbols=met.symbols,
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
    """None for a call that acts at no point."""
    if aim in (ScreenAim.FOCUS, ScreenAim.MENU):
        return None
    if aim is ScreenAim.ELEMENT:
        met = (await _met(controller, call, aim))[-1]
        return met.element.box.center if met.element else None
    target = path_of(call)[-1] if aim is ScreenAim.ENDS else target_of(call)
    if target == Target():
        return pointer_at(controller.backend.pointer)
    kept = controller.preview.kept(call.id, target)
    return (kept[0] if kept else await controller.aim(target)).point


def _around(point: Point, extent: Rect) -> Rect | None:
    """Return the rectangle to show around a point: of limited size, inside `extent`, the point near its middle."""
    width, height = min(_PICTURE_WIDTH_PX, extent.width), min(_PICTURE_HEIGHT_PX, extent.height)
    left = min(max(point.x - width // 2, extent.x), extent.x + extent.width - width)
    top = min(max(point.y - height // 2, extent.y), extent.y + extent.height - height)
    return Rect(left, top, width, height).overlap(extent)
