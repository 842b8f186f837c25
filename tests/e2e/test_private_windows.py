"""What belongs to a password manager is seen by nobody: no picture, no outline, no recognised text."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
from PIL import Image

from app.base.geometry import Rect
from app.desktop.backends import Window
from app.desktop.choose import open_desktop
from app.desktop.controller import DesktopController
from app.desktop.desktop import Desktop
from app.desktop.privacy import private_by
from app.desktop.x11.virtual import VirtualDesktop
from app.protocol.call import JsonValue, ToolCall, ToolResult
from app.tools.registry import TurnContext, admitted
from app.tools.screen import SCREEN, ScreenReading
from tests.support import observer
from tests.support.compositor import composited
from tests.support.desktop_tools import Tools

pytestmark = pytest.mark.timeout(120)

VAULT = ("zenity", "--info", "--class=KeePassXC", "--title=Vault", "--text=correct horse battery staple")


@pytest.fixture
def desk(desktop: VirtualDesktop) -> Iterator[Desktop]:
    desk = open_desktop(environment=desktop.environment)
    yield desk
    desk.close()


async def read(desk: Desktop, tool: str, **arguments: JsonValue) -> ToolResult:
    spec = next(spec for spec in SCREEN.tools if spec.name == tool)
    result: ToolResult = await spec.execute(ScreenReading(desk), ToolCall("1", tool, arguments), TurnContext(admitted))
    return result


async def window_called(desk: Desktop, title: str) -> Window:
    async def find(controller: DesktopController) -> Window:
        return controller.find_window(title)

    return await desk.run(find)


def colours_in(result: ToolResult, area: Rect) -> set[tuple[int, ...]]:
    """The brightest and the darkest of each channel, in a picture of the whole screen at its own size."""
    picture = Image.open(io.BytesIO(result.llm_media[0].data))
    part = picture.crop((area.x + 8, area.y + 8, area.right - 8, area.bottom - 8))
    return set(part.getextrema())  # type: ignore[arg-type]


def is_black(result: ToolResult, area: Rect) -> bool:
    return all(high <= 2 for _, high in colours_in(result, area))


async def test_it_is_black_in_every_picture(desk: Desktop) -> None:
    tools = Tools(desk)
    with observer.started(*VAULT, app="zenity"):
        vault = await window_called(desk, "Vault")
        shot = await tools("screen_capture")
        assert is_black(shot, vault.area)
        assert not is_black(shot, Rect(0, 700, 200, 90))
        assert "What is black there is private: 'Vault'" in shot.llm_echo
        box = f"{vault.area.x},{vault.area.y},{vault.area.right},{vault.area.bottom}"
        for picture in (await tools("screen_capture", window="Vault"), await tools("zoom", region=box, space="screen")):
            assert all(high <= 2 for _, high in Image.open(io.BytesIO(picture.llm_media[0].data)).getextrema())  # type: ignore[misc]


async def test_its_words_are_in_no_outline_and_are_not_recognised(desk: Desktop) -> None:
    tools = Tools(desk)
    with observer.started(*VAULT, app="zenity"):
        assert any("horse" in node.name for node in observer.observe("zenity"))
        for view in ("interactive", "full", "diff"):
            assert "horse" not in (await read(desk, "read_screen", view=view)).llm_echo
        named = await read(desk, "read_screen", window="Vault")
        assert "horse" not in named.llm_echo
        assert "Left out because it is private: 'Vault'." in named.llm_echo
        assert not (await read(desk, "locate_screen_element", target="correct horse battery staple")).ok
        await tools("screen_capture")
        assert "horse" not in (await tools("changes")).llm_echo


@pytest.mark.long
async def test_a_window_in_front_of_it_is_seen_and_its_rest_is_black(desk: Desktop) -> None:
    tools = Tools(desk)
    with observer.started(*VAULT, app="zenity"), observer.started("galculator", app="galculator"):
        vault = await window_called(desk, "Vault")
        await tools("move_window", title="galculator", x=vault.area.x - 60, y=vault.area.y + 60)
        await tools("focus_window", title="galculator")
        front = await window_called(desk, "galculator")
        shot = await tools("screen_capture")
        assert not is_black(shot, front.area)
        rest = Rect(front.area.right, vault.area.y, vault.area.right - front.area.right, vault.area.height)
        assert is_black(shot, Rect(vault.area.x, vault.area.y, vault.area.width, front.area.y - vault.area.y))
        assert rest.width <= 16 or is_black(shot, rest)


@pytest.mark.long
async def test_menus_of_it_are_black_too(desktop: VirtualDesktop) -> None:
    desk = open_desktop(environment=desktop.environment, private=private_by("mousepad"))
    try:
        tools = Tools(desk)
        with observer.started("mousepad", "--disable-server", app="mousepad"):
            window = await window_called(desk, "Mousepad")
            await tools("computer_key", keys="alt+f")
            shot = await tools("screen_capture")
            menu = next(n for n in observer.observe("mousepad") if n.role == "menu" and n.name == "File")
            assert menu.showing
            assert is_black(shot, window.area)
            popups = await desk.run(_popups)
            assert popups
            assert all(is_black(shot, area) for area in popups)
    finally:
        desk.close()


async def _popups(controller: DesktopController) -> list[Rect]:
    listed = {window.area for window in controller.backend.windows.all()}
    areas = [window.area for window in controller.backend.windows.shown() if window.area not in listed]
    return [area for area in areas if area.size.area > 2500 and area.overlap(controller.backend.screen.extent())]


@pytest.mark.long
async def test_under_a_compositor_it_is_black_too(desk: Desktop, desktop: VirtualDesktop) -> None:
    tools = Tools(desk)
    with composited(desktop.environment), observer.started(*VAULT, app="zenity"):
        vault = await window_called(desk, "Vault")
        shot = await tools("screen_capture")
        assert is_black(shot, vault.area)
        assert not is_black(shot, Rect(0, 700, 200, 90))
