"""Two monitors side by side: what is captured, told and clicked on the second one, at several scales."""

from __future__ import annotations

import io
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from app.base.errors import ToolMisuse
from app.desktop.choose import open_desktop
from app.desktop.controller import DesktopController
from app.desktop.desktop import Desktop
from app.desktop.elements import Element
from app.desktop.x11.virtual import VirtualDesktop
from tests.support import observer
from tests.support.desktop_tools import Tools
from tests.support.fixture_window import FixtureWindow
from tests.support.repainting import COLOURS, SIDE_PX, repainting
from tests.support.waiting import eventually

pytestmark = pytest.mark.timeout(120)

FORM = Path(__file__).with_name("qt_form.py")
LEFT, RIGHT = (1000, 900), (1600, 900)


@pytest.fixture(scope="module")
def monitors() -> Iterator[VirtualDesktop]:
    """A left monitor of 1000x900 and a right one of 1600x900."""
    with VirtualDesktop(LEFT[0] + RIGHT[0], 900) as desktop:
        for name, (width, height), x, output in (("left", LEFT, 0, "screen"), ("right", RIGHT, LEFT[0], "none")):
            place = f"{width}/{width // 4}x{height}/{height // 4}+{x}+0"
            command = ["xrandr", "--setmonitor", name, place, output]
            subprocess.run(command, env=desktop.environment, check=True, capture_output=True, timeout=20)
        yield desktop


@pytest.fixture
def desk(monitors: VirtualDesktop) -> Iterator[Desktop]:
    desk = open_desktop(environment=monitors.environment)
    yield desk
    desk.close()


async def test_each_monitor_and_all_of_them_are_captured(desk: Desktop, monitors: VirtualDesktop) -> None:
    tools = Tools(desk)
    with repainting("--still", "--at", "1300,200", environment=monitors.environment):
        left, right, both = [await tools("screen_capture", monitor=number) for number in (1, 2, 0)]
    assert left.payload["region"] == [0, 0, *LEFT]
    assert right.payload["region"] == [LEFT[0], 0, *RIGHT]
    assert both.payload["region"] == [0, 0, LEFT[0] + RIGHT[0], 900]
    colour = tuple(COLOURS[0].to_bytes(3, "big"))
    for shot, shows in ((left, False), (right, True), (both, True)):
        picture = Image.open(io.BytesIO(shot.llm_media[0].data))
        found = [count for count, pixel in picture.getcolors(1 << 24) if _is_like(pixel, colour)]  # type: ignore[union-attr, arg-type]
        scale = picture.width / shot.payload["region"][2]  # type: ignore[index, operator]
        assert (sum(found) > 0.9 * SIDE_PX * SIDE_PX * scale * scale) is shows


def _is_like(pixel: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    return all(abs(one - other) < 12 for one, other in zip(pixel, wanted, strict=True))


async def test_there_is_no_third_monitor(desk: Desktop) -> None:
    with pytest.raises(ToolMisuse, match="There is no monitor 3; there are 2"):
        await Tools(desk)("screen_capture", monitor=3)


async def test_points_of_a_capture_of_the_second_monitor_land_there(desk: Desktop, monitors: VirtualDesktop) -> None:
    tools, chance = Tools(desk), random.Random(7)
    where = ("--size", "700x500", "--at", "1500,150", "--bare", "yes")
    with FixtureWindow("canvas", *where, environment=monitors.environment) as window:
        shot = await tools("screen_capture", monitor=2)
        scale = RIGHT[0] / shot.payload["width"]  # type: ignore[operator]
        for _ in range(25):
            x, y = chance.randrange(1510, 2190), chance.randrange(160, 640)
            picture = {"x": int((x - LEFT[0]) / scale), "y": int(y / scale)}
            await tools("computer_move", picture, capture=shot.payload["capture"])
            await desk.run(_click)
            landed = window.wait(lambda event: event["event"] == "press")
            assert max(abs(landed["x"] - x), abs(landed["y"] - y)) <= max(scale / 2, 1)
            window.forget()


async def _click(controller: DesktopController) -> None:
    from app.desktop.backends import Button

    controller.backend.pointer.button(Button.LEFT, down=True)
    controller.backend.pointer.button(Button.LEFT, down=False)


async def _found(desk: Desktop, query: str, app: str) -> Element:
    async def find(controller: DesktopController) -> Element:
        return next(m.element for m in await controller.backend.accessibility.find(query) if m.element.app == app)

    return await desk.run(find)


@pytest.mark.long
@pytest.mark.parametrize("factor", ["1", "1.25", "2"])
async def test_what_a_qt_window_tells_there_is_clicked_where_it_is(
    desk: Desktop, monitors: VirtualDesktop, factor: str
) -> None:
    environment = {**monitors.environment, "QT_SCALE_FACTOR": factor}
    with observer.started(sys.executable, str(FORM), app="Order form", environment=environment):
        await Tools(desk)("move_window", title="Order form", x=1400, y=100)
        order = await _found(desk, "Order now", "Order form")
        assert order.box.x > LEFT[0]
        await Tools(desk)("computer_click", ref=order.ref)
        assert eventually(lambda: any(node.name == "Ordered" for node in observer.observe("Order form", environment)))


@pytest.mark.long
@pytest.mark.parametrize("factor", ["1", "2"])
async def test_what_a_gtk_window_tells_there_is_clicked_where_it_is(
    desk: Desktop, monitors: VirtualDesktop, factor: str
) -> None:
    environment = {**monitors.environment, "GDK_SCALE": factor}
    with observer.started("galculator", app="galculator", environment=environment):
        await Tools(desk)("move_window", title="galculator", x=1400, y=100)
        seven = await _found(desk, "7", "galculator")
        assert seven.box.x > LEFT[0]
        await Tools(desk)("computer_click", ref=seven.ref)
        assert eventually(lambda: observer.text_of("galculator", environment=environment) == "7")
