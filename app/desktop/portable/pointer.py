"""The mouse, by pyautogui; the two extra buttons by pynput."""

from __future__ import annotations

from app.base.errors import ToolFailed
from app.base.geometry import Point
from app.desktop.api import Button
from app.desktop.portable.drivers import button_driver, mouse_driver

_EXTRA = {Button.BACK: "x1", Button.FORWARD: "x2"}
_NOTCH = 1
_DOUBLE_CLICK_S = 0.5
"""The default of Windows and macOS."""


class PortablePointer:
    """`notch` is what the system counts as one notch of the wheel (120 on Windows)."""

    def __init__(self, notch: int = _NOTCH) -> None:
        self._notch = notch

    def position(self) -> Point:
        at = mouse_driver().position()
        return Point(int(at.x), int(at.y))

    def double_click_s(self) -> float:
        return _DOUBLE_CLICK_S

    def move(self, to: Point) -> None:
        mouse_driver().moveTo(to.x, to.y, duration=0)

    def button(self, button: Button, *, down: bool) -> None:
        if button in _EXTRA:
            self._extra(button, down=down)
        elif down:
            mouse_driver().mouseDown(button=button.value)
        else:
            mouse_driver().mouseUp(button=button.value)

    def _extra(self, button: Button, *, down: bool) -> None:
        mouse = button_driver()
        known = getattr(mouse.Button, _EXTRA[button], None)
        if known is None:
            raise ToolFailed(f"This system's mouse has no {button.value} button; use the program's own control.")
        controller = mouse.Controller()
        (controller.press if down else controller.release)(known)

    def scroll(self, dx: int, dy: int) -> None:
        if dy:
            mouse_driver().scroll(-dy * self._notch)
        if dx:
            mouse_driver().hscroll(dx * self._notch)
