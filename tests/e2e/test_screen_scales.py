"""At scale factors above 1, a click into the middle of a box that Wisp tells reaches the control."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.desktop.choose import open_desktop
from app.desktop.controller import DesktopController
from app.desktop.desktop import Desktop
from app.desktop.elements import Element
from app.desktop.x11.virtual import VirtualDesktop
from tests.support import observer
from tests.support.waiting import eventually

pytestmark = [pytest.mark.long, pytest.mark.timeout(90)]

FORM = Path(__file__).with_name("qt_form.py")
ROW = "<p><button onclick=\"document.title='Pressed {0}'\">Button {0}</button></p>"
CHROMIUM = ("chromium", "--no-sandbox", "--no-first-run", "--disable-gpu", "--force-renderer-accessibility")


@pytest.fixture
def desk(desktop: VirtualDesktop) -> Iterator[Desktop]:
    desk = open_desktop(environment=desktop.environment)
    yield desk
    desk.close()


async def found(desk: Desktop, query: str, app: str) -> Element:
    """What is called so, as a second look by its ref tells it."""

    async def find(controller: DesktopController) -> Element:
        matches = [
            match.element for match in await controller.backend.accessibility.find(query) if match.element.app == app
        ]
        return await controller.backend.accessibility.element(matches[0].ref)

    return await desk.run(find)


def click(element: Element, desktop: VirtualDesktop) -> None:
    """By another program's hands."""
    x, y = str(element.box.center.x), str(element.box.center.y)
    subprocess.run(["xdotool", "mousemove", x, y, "click", "1"], env=desktop.environment, check=True, timeout=10)


async def test_gtk_at_2(desk: Desktop, desktop: VirtualDesktop) -> None:
    with observer.started("galculator", app="galculator", environment={**desktop.environment, "GDK_SCALE": "2"}):
        seven = await found(desk, "7", "galculator")
        x, y, width, height = observer.named("galculator", "7").box
        assert (seven.box.x, seven.box.y, seven.box.width, seven.box.height) == (2 * x, 2 * y, 2 * width, 2 * height)
        click(seven, desktop)
        assert eventually(lambda: observer.text_of("galculator") == "7")


@pytest.mark.parametrize("factor", ["1.25", "2"])
async def test_qt(desk: Desktop, desktop: VirtualDesktop, factor: str) -> None:
    environment = {**desktop.environment, "QT_SCALE_FACTOR": factor}
    with observer.started(sys.executable, str(FORM), app="Order form", environment=environment):
        click(await found(desk, "Order now", "Order form"), desktop)
        assert eventually(lambda: any(node.name == "Ordered" for node in observer.observe("Order form")))


async def test_a_page_and_the_browser_around_it(desk: Desktop, desktop: VirtualDesktop, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<!doctype html><title>Few</title>" + "".join(ROW.format(number) for number in range(3)))
    command = (*CHROMIUM, "--force-device-scale-factor=2", "--window-size=600,380", page.as_uri())
    environment = {**desktop.environment, "ACCESSIBILITY_ENABLED": "1"}
    with observer.started(*command, app="Chromium", environment=environment):
        assert eventually(lambda: any(n.name == "Button 1" for n in observer.observe("Chromium")))
        click(await found(desk, "Button 1", "Chromium"), desktop)
        assert eventually(lambda: any("Pressed 1" in node.name for node in observer.observe("Chromium")))
        click(await found(desk, "Reload", "Chromium"), desktop)
        assert eventually(lambda: any("Few" in n.name for n in observer.observe("Chromium") if n.role == "frame"))
