"""What every desktop backend promises, whichever platform it serves."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator
from contextlib import closing

import pytest
from Xlib import XK, X, Xutil
from Xlib.display import Display
from Xlib.ext import xtest

from app.base.errors import ToolFailed
from app.base.geometry import Point, Rect
from app.desktop.backends import Button, Window, WindowState
from app.desktop.choose import open_desktop
from app.desktop.controller import DesktopController
from app.desktop.desktop import Desktop
from app.desktop.keys import chord
from app.desktop.x11.listener import Listener
from app.desktop.x11.virtual import VirtualDesktop
from scripts.device import PersonsDevices
from tests.support.waiting import eventually, until


@pytest.fixture(params=["headless", "x11", "portable"])
async def any_desktop(request: pytest.FixtureRequest) -> AsyncIterator[Desktop]:
    if request.param == "headless":
        opened = open_desktop(dry_run=True)
    else:
        virtual: VirtualDesktop = request.getfixturevalue("desktop")
        opened = open_desktop(environment=virtual.environment, is_portable=request.param == "portable")
    yield opened
    opened.close()


async def test_the_monitors_lie_inside_the_extent(any_desktop: Desktop) -> None:
    async def look(controller: DesktopController) -> tuple[tuple[Rect, ...], Rect]:
        return controller.backend.screen.monitors(), controller.backend.screen.extent()

    monitors, extent = await any_desktop.run(look)
    assert monitors
    assert all(monitor.overlap(extent) == monitor for monitor in monitors)


async def test_a_grab_has_four_bytes_for_each_pixel_of_its_area(any_desktop: Desktop) -> None:
    async def grab(controller: DesktopController, area: Rect) -> int:
        frame = controller.backend.screen.grab(area)
        assert frame.area == area
        return len(frame.bgrx)

    assert await any_desktop.run(grab, Rect(10, 20, 33, 17)) == 33 * 17 * 4


async def test_the_pointer_is_where_it_was_moved(any_desktop: Desktop) -> None:
    async def move(controller: DesktopController, to: Point) -> Point:
        controller.backend.pointer.move(to)
        return controller.backend.pointer.position()

    for point in (Point(0, 0), Point(1279, 799), Point(640, 17)):
        assert await any_desktop.run(move, point) == point


@pytest.mark.parametrize("button", list(Button))
async def test_every_button_goes_down_and_up(button: Button, any_desktop: Desktop) -> None:
    async def press(controller: DesktopController) -> None:
        controller.backend.pointer.button(button, down=True)
        controller.backend.pointer.button(button, down=False)

    await any_desktop.run(press)


async def test_ascii_can_be_typed_directly_and_chinese_need_not(any_desktop: Desktop) -> None:
    async def ask(controller: DesktopController) -> tuple[bool, bool]:
        return controller.backend.keyboard.can_type("Hello, <World>!"), controller.backend.keyboard.is_lending

    assert await any_desktop.run(ask) == (True, False)


async def test_the_clipboard_gives_back_what_it_got(any_desktop: Desktop) -> None:
    async def copy(controller: DesktopController, text: str) -> str:
        await controller.backend.clipboard.write(text)
        return await controller.backend.clipboard.read()

    for text in ("plain", "naïve 日本 🚀\n\tend"):
        assert await any_desktop.run(copy, text) == text


async def test_a_window_that_is_not_there_cannot_be_handled(any_desktop: Desktop) -> None:
    async def focus(controller: DesktopController) -> None:
        await controller.backend.windows.focus("wffffff")

    async def close(controller: DesktopController) -> None:
        await controller.backend.windows.close("wffffff")

    for work in (focus, close):
        with pytest.raises(ToolFailed, match="gone"):
            await any_desktop.run(work)


async def test_a_window_that_takes_no_keys_comes_to_the_front_and_is_not_called_active(desktop: VirtualDesktop) -> None:
    display = Display(desktop.environment["DISPLAY"])
    for title, takes_keys in (("Clock", 0), ("Letter", 1)):
        window = display.screen().root.create_window(100, 100, 200, 200, 0, X.CopyFromParent)
        window.set_wm_name(title)
        window.set_wm_normal_hints(flags=Xutil.USPosition)  # or else the window manager puts them side by side
        window.set_wm_hints(flags=Xutil.InputHint, input=takes_keys)
        window.map()
        display.sync()

    async def bring(controller: DesktopController) -> tuple[bool, list[str]]:
        windows = controller.backend.windows

        def stack() -> list[Window]:
            return [one for one in windows.all() if one.title in ("Clock", "Letter")]

        def is_covered() -> bool:
            found = stack()
            is_last = [(one.title, one.is_active) for one in found] == [("Letter", True), ("Clock", False)]
            return is_last and found[0].area == found[1].area  # the window manager places them later than it lists them

        await until(is_covered)
        focused = await windows.focus(stack()[1].ref)
        return focused.is_active, [one.title for one in stack()]

    opened = open_desktop(environment=desktop.environment)
    with closing(display), closing(opened):
        assert await opened.run(bring) == (False, ["Clock", "Letter"])


async def test_an_opened_program_has_the_keyboard_until_it_is_closed(any_desktop: Desktop) -> None:
    async def story(controller: DesktopController) -> tuple[bool, bool, bool]:
        opened = await controller.opener.open("terminal")
        active = controller.active_window()
        had_keyboard = active is not None and active.ref == opened.window.ref
        closed = await controller.backend.windows.close(opened.window.ref)
        return opened.is_new, had_keyboard, closed

    assert await any_desktop.run(story) == (True, True, True)


@pytest.mark.parametrize("state", list(WindowState))
async def test_a_window_takes_a_state_and_gives_it_back(state: WindowState, any_desktop: Desktop) -> None:
    async def story(controller: DesktopController) -> list[bool]:
        opened = await controller.opener.open("terminal")
        windows = controller.backend.windows
        shown = [await windows.set_state(opened.window.ref, state, on=on) for on in (True, False)]
        await windows.close(opened.window.ref)
        return [state in window.states for window in shown]

    assert await any_desktop.run(story) == [True, False]


async def test_a_window_is_sent_to_another_desktop_and_followed(any_desktop: Desktop) -> None:
    async def story(controller: DesktopController) -> tuple[int, int]:
        opened = await controller.opener.open("terminal")
        windows = controller.backend.windows
        before = windows.desktops().current
        await windows.send_to_desktop(opened.window.ref, before + 1)
        await windows.go_to_desktop(before + 1)
        sent = next(one for one in windows.all() if one.ref == opened.window.ref)
        followed = windows.desktops().current
        await windows.go_to_desktop(before)
        await windows.close(opened.window.ref)
        return sent.desktop - before, followed - before

    assert await any_desktop.run(story) == (1, 1)


async def test_a_stop_holds_until_it_is_lifted(any_desktop: Desktop) -> None:
    any_desktop.stop()
    assert any_desktop.is_stopped
    any_desktop.resume()
    assert not any_desktop.is_stopped


def test_a_made_stop_key_stops_every_wisp_of_the_desktop_and_other_made_keys_none(desktop: VirtualDesktop) -> None:
    heard: list[str] = []

    def listener(name: str) -> Listener:
        return Listener(
            desktop.environment, chord("ctrl+alt+escape"), lambda: heard.append(name), lambda: heard.append("touched")
        )

    with closing(listener("presence")), closing(listener("do")):
        for keys in ("a", "Escape", "ctrl+alt+Escape"):
            subprocess.run(["xdotool", "key", keys], env=desktop.environment, check=True)
        assert eventually(lambda: {"presence", "do"} <= set(heard))
    assert set(heard) == {"presence", "do"}


@pytest.mark.parametrize("is_menu_open", [False, True])
@pytest.mark.parametrize("held", [XK.XK_Shift_L, XK.XK_Super_L, XK.XK_Control_L, XK.XK_a])
def test_the_stop_key_stops_whatever_wisp_holds(held: int, desktop: VirtualDesktop, *, is_menu_open: bool) -> None:
    heard: list[str] = []
    person = PersonsDevices(desktop.environment)
    wisp = menu = person.display
    with closing(person), closing(_listener(desktop, heard)):
        if is_menu_open:
            menu.screen().root.grab_keyboard(True, X.GrabModeAsync, X.GrabModeAsync, X.CurrentTime)
        xtest.fake_input(wisp, X.KeyPress, wisp.keysym_to_keycode(held))
        person.tap(XK.XK_Escape)
        assert eventually(lambda: heard == ["touched"])
        person.press_together(XK.XK_Control_L, XK.XK_Alt_L, XK.XK_Escape)
        xtest.fake_input(wisp, X.KeyRelease, wisp.keysym_to_keycode(held))
        wisp.sync()
        assert eventually(lambda: "stop" in heard)
    assert heard[:4] == ["touched", "touched", "touched", "stop"]


def test_the_stop_key_lies_where_a_new_layout_has_it(desktop: VirtualDesktop) -> None:
    heard: list[str] = []
    display = Display(desktop.environment["DISPLAY"])
    here, there = (display.keysym_to_keycode(symbol) for symbol in (XK.XK_Escape, XK.XK_F9))
    rows = [display.get_keyboard_mapping(code, 1)[0] for code in (here, there)]

    def lay(*codes: int) -> None:
        for code, row in zip(codes, rows, strict=True):
            display.change_keyboard_mapping(code, [row])
        display.sync()

    with closing(display), closing(_listener(desktop, heard)):
        lay(there, here)
        try:
            press = ["xdotool", "key", "ctrl+alt+Escape"]
            assert eventually(lambda: subprocess.run(press, env=desktop.environment, check=True) and "stop" in heard)
        finally:
            lay(here, there)


def _listener(desktop: VirtualDesktop, heard: list[str]) -> Listener:
    key = chord("ctrl+alt+escape")
    return Listener(desktop.environment, key, lambda: heard.append("stop"), lambda: heard.append("touched"))
