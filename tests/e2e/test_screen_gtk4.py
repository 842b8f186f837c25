"""A program of GTK 4: positions come within its window, and what shows is only said to be visible."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.base.geometry import Rect
from app.desktop.choose import open_desktop
from app.desktop.controller import DesktopController
from app.desktop.desktop import Desktop
from app.desktop.elements import Element, OutlineRequest
from app.desktop.x11.virtual import VirtualDesktop
from tests.support import observer
from tests.support.desktop_tools import Tools
from tests.support.waiting import eventually

pytestmark = pytest.mark.timeout(120)

EDITOR = "gtk4-print-editor"
TITLE = "GTK Print Editor"


@pytest.fixture
def desk(desktop: VirtualDesktop) -> Iterator[Desktop]:
    desk = open_desktop(environment=desktop.environment)
    with observer.started(EDITOR, app=EDITOR):
        yield desk
    desk.close()


async def controls(desk: Desktop) -> dict[str, Element]:
    async def read(controller: DesktopController) -> dict[str, Element]:
        outline = await controller.backend.accessibility.outline(OutlineRequest(window=TITLE))
        return {element.name or element.role: element for element in outline.elements}

    return await desk.run(read)


def moved(box: tuple[int, int, int, int], by: Rect) -> Rect:
    x, y, width, height = box
    return Rect(by.x + x, by.y + y, width, height)


async def test_every_control_is_told_where_it_is_on_the_screen(desk: Desktop) -> None:
    told = await controls(desk)
    window = next(element.box for name, element in told.items() if name.startswith(TITLE))
    theirs = {node.name or node.role: node.box for node in observer.observe(EDITOR)}
    assert told["File"].box == moved(theirs["File"], window)
    assert told["Help"].box == moved(theirs["Help"], window)
    assert told["text"].box == moved(theirs["GtkTextView"], window)
    assert not any(name.startswith("Gtk") for name in told)


@pytest.mark.long
async def test_what_is_typed_into_it_is_read_back(desk: Desktop) -> None:
    tools = Tools(desk)
    field = (await controls(desk))["text"]
    await tools("computer_click", ref=field.ref)
    typed = await tools("computer_type", text="Grüße, 日本")
    assert typed.payload["proof"] == "confirmed"
    assert [node.text for node in observer.observe(EDITOR) if node.role == "text"] == ["Grüße, 日本"]


async def test_an_entry_of_its_menu_is_chosen(desk: Desktop) -> None:
    tools = Tools(desk)
    await tools("choose_menu", path="File > Quit")
    assert eventually(lambda: not observer.observe(EDITOR))


@pytest.mark.long
async def test_an_entry_of_a_menu_is_clicked_by_ref_where_the_menu_really_is(desk: Desktop) -> None:
    tools = Tools(desk)
    await tools("computer_click", target="File menu")
    quit_entry = (await controls(desk))["Quit"]
    await tools("computer_click", ref=quit_entry.ref)
    assert eventually(lambda: not observer.observe(EDITOR))
