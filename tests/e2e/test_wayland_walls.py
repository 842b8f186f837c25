"""The walls of the screen on Wayland: what is private is seen by nobody, and an act goes only where it was judged."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from app.base.errors import ToolFailed
from app.base.geometry import Point
from app.desktop.backends import Button, KeyboardMoved, Window, WindowCame
from app.desktop.choose import open_desktop
from app.desktop.controller import DesktopController
from app.desktop.desktop import Desktop
from app.desktop.privacy import private_by
from tests.support.compositors import composited, is_installed
from tests.support.desktop_tools import Tools

T = TypeVar("T")

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(120),
    pytest.mark.skipif(not is_installed("sway"), reason="sway is not installed; scripts/setup wayland brings it"),
]


@pytest.fixture
def session(tmp_path: Path) -> Iterator[dict[str, str]]:
    with composited("sway", tmp_path / "home") as environment:
        yield environment


@contextmanager
def _opened(environment: dict[str, str], private: str = "") -> Iterator[Desktop]:
    desk = open_desktop(environment=environment, private=private_by(private))
    try:
        yield desk
    finally:
        desk.close()


@contextmanager
def _running(environment: dict[str, str], *command: str) -> Iterator[None]:
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as program:
        try:
            yield
        finally:
            program.kill()


async def _eventually(desk: Desktop, ask: Callable[[DesktopController], T]) -> T:
    """Ask on the desktop's thread until there is an answer that counts."""

    async def asked(controller: DesktopController) -> T:
        return ask(controller)

    async with asyncio.timeout(20):
        while not (found := await desk.run(asked)):  # noqa: ASYNC110 - it happens in another program
            await asyncio.sleep(0.05)
    return found


async def _window(desk: Desktop, app: str) -> Window:
    def find(controller: DesktopController) -> Window | None:
        return next((one for one in controller.backend.windows.all() if one.app == app), None)

    found = await _eventually(desk, find)
    assert found is not None
    return found


def _sway(environment: dict[str, str], *words: str) -> None:
    subprocess.run(["swaymsg", *words], env=environment, check=True, capture_output=True)


async def test_a_private_window_is_black_and_not_described(session: dict[str, str]) -> None:
    with _opened(session, "mousepad") as desk, _running(session, "mousepad"), _running(session, "foot"):
        await _window(desk, "mousepad")
        terminal = await _window(desk, "foot")
        window = await _window(desk, "mousepad")

        async def look(controller: DesktopController) -> tuple[bytes, bytes]:
            screen = controller.backend.screen
            return bytes(screen.grab(window.area).bgrx), bytes(screen.grab(terminal.area).bgrx)

        inside, beside = await desk.run(look)
        assert (any(inside), any(beside)) == (False, True)
        assert not (await Tools(desk)("computer_click", target="File")).ok


async def test_a_window_that_came_over_the_place_gets_no_press(session: dict[str, str]) -> None:
    with _opened(session) as desk, _running(session, "mousepad"):
        first = await _window(desk, "mousepad")
        at = first.area.center

        async def judge(controller: DesktopController) -> str:
            controller.backend.pointer.move(at)
            return controller.backend.windows.under(at).place

        place = await desk.run(judge)
        with _running(session, "foot", "--fullscreen"):
            await _window(desk, "foot")

            async def press(controller: DesktopController) -> None:
                with controller.backend.pointer.only_at(place):
                    controller.backend.pointer.button(Button.LEFT, down=True)

            async def type_(controller: DesktopController) -> None:
                with controller.backend.keyboard.only_into(first.ref):
                    controller.backend.keyboard.type_text("lost")

            with pytest.raises(WindowCame):
                await desk.run(press)
            with pytest.raises(KeyboardMoved):
                await desk.run(type_)


async def test_a_hand_is_noticed_and_then_nobody_knows_where_the_pointer_is(session: dict[str, str]) -> None:
    with _opened(session) as desk, _running(session, "mousepad"):
        await _window(desk, "mousepad")

        async def move(controller: DesktopController) -> Point | None:
            await controller.input.move(Point(300, 300))
            return controller.backend.pointer.position()

        async def position(controller: DesktopController) -> Point | None:
            return controller.backend.pointer.position()

        assert await desk.run(move) == Point(300, 300)
        await asyncio.sleep(0.3)  # so long that what comes now is not Wisp's
        assert await desk.run(position) == Point(300, 300)
        _sway(session, "seat", "-", "cursor", "move", "40", "0")
        await _eventually(desk, lambda controller: controller.backend.pointer.position() is None)
        with pytest.raises(ToolFailed, match="pointer"):
            await Tools(desk)("mouse_down")
