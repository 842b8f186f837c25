"""Programs that hand out no whole tree: Qt and Chromium, read level by level, judged by libatspi."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from app.base.errors import ToolFailed, ToolMisuse
from app.desktop.accessibility.atspi import AtSpi
from app.desktop.elements import Element, OutlineRequest, OutlineView
from app.desktop.x11.virtual import VirtualDesktop
from tests.support import observer
from tests.support.waiting import eventually

pytestmark = pytest.mark.timeout(120)

FORM = Path(__file__).with_name("qt_form.py")
ROWS = "".join(
    f'<p><a href="#{n}">Link number {n}</a> <button onclick="document.title=\'Pressed {n}\'">Button {n}</button>'
    f" <label><input type=checkbox>Check {n}</label></p>"
    for n in range(100)
)


@pytest.fixture(scope="module")
def form(desktop: VirtualDesktop) -> Iterator[subprocess.Popen[bytes]]:
    with observer.started(sys.executable, str(FORM), app="Order form") as program:
        yield program


@pytest.fixture(scope="module")
def browser(desktop: VirtualDesktop, tmp_path_factory: pytest.TempPathFactory) -> Iterator[subprocess.Popen[bytes]]:
    page = tmp_path_factory.mktemp("page") / "page.html"
    page.write_text(f"<!doctype html><title>Three hundred</title><h1>Things</h1>{ROWS}")
    command = ("chromium", "--no-sandbox", "--no-first-run", "--disable-gpu", "--force-renderer-accessibility")
    environment = {**desktop.environment, "ACCESSIBILITY_ENABLED": "1"}
    with observer.started(*command, page.as_uri(), app="Chromium", environment=environment) as program:
        assert eventually(lambda: any(n.name == "Link number 0" for n in observer.observe("Chromium")))
        yield program


@pytest.fixture
async def eyes(desktop: VirtualDesktop) -> AsyncIterator[AtSpi]:
    eyes = AtSpi()
    yield eyes
    await eyes.close()


async def the(eyes: AtSpi, query: str, app: str) -> Element:
    matches = [match for match in await eyes.find(query) if match.element.app == app and match.score > 0.9]
    assert len(matches) == 1, f"{query!r}: {matches}"
    return matches[0].element


async def test_every_showing_control_of_a_qt_window_has_the_place_libatspi_reports(eyes: AtSpi, form: object) -> None:
    outline = await eyes.outline(OutlineRequest(OutlineView.INTERACTIVE, window="Order form"))
    ours = {(e.name, (e.box.x, e.box.y, e.box.width, e.box.height)) for e in outline.elements if e.role == "button"}
    theirs = {(n.name, n.box) for n in observer.observe("Order form") if n.role in ("push button", "button")}
    assert ours == {(name, box) for name, box in theirs if name != "Secret button"}
    assert {name for name, _ in ours} == {"Order now", "Cancel"}


async def test_a_qt_field_goes_by_its_label(eyes: AtSpi, form: object) -> None:
    field = await the(eyes, "Street field", "Order form")
    await eyes.set_value(field.ref, "Ærøvej 4, 日本")
    assert await eyes.text_of(field.ref) == "Ærøvej 4, 日本"
    seen = [node.text for node in observer.observe("Order form") if node.text and "vej" in node.text]
    assert seen == ["Ærøvej 4, 日本"]


async def test_a_qt_number_field_takes_a_number(eyes: AtSpi, form: object) -> None:
    field = await the(eyes, "Pieces", "Order form")
    await eyes.set_value(field.ref, "12")
    assert [node.value for node in observer.observe("Order form") if node.role == "spin button"] == [12.0]


async def test_a_qt_box_is_set_on_and_off(eyes: AtSpi, form: object) -> None:
    box = await the(eyes, "Gift wrapping check box", "Order form")
    for value in ("on", "on", "off", "off"):
        await eyes.set_value(box.ref, value)
        assert await eyes.text_of(box.ref) == value
        assert ("checked" in observer.named("Order form", "Gift wrapping").states) is (value == "on")
    with pytest.raises(ToolMisuse, match='Write "on" or "off"'):
        await eyes.set_value(box.ref, "perhaps")


async def test_a_qt_combo_box_that_cannot_be_set_says_so_and_keeps_its_choice(eyes: AtSpi, form: object) -> None:
    (box,) = [m.element for m in await eyes.find("combo box", role="combo box") if m.element.app == "Order form"]
    with pytest.raises(ToolFailed, match=r"Click it .* and choose"):
        await eyes.set_value(box.ref, "Large")
    assert [n.name for n in observer.observe("Order form") if n.role == "combo box"] == ["Small"]
    with pytest.raises(ToolMisuse, match="There are: 'Small', 'Medium', 'Large'"):
        await eyes.set_value(box.ref, "Huge")


async def test_a_gtk_combo_box_is_set_to_a_choice(eyes: AtSpi, desktop: VirtualDesktop) -> None:
    choices = ("--add-combo=Size", "--combo-values=Small|Medium|Large")
    with observer.started("zenity", "--forms", *choices, app="zenity"):
        (box,) = [m.element for m in await eyes.find("combo box", role="combo box") if m.element.app == "zenity"]
        await eyes.set_value(box.ref, "Medium")
        assert [n.name for n in observer.observe("zenity") if n.role == "combo box"] == ["Medium"]


async def test_a_qt_button_pressed_by_name_does_what_it_does(eyes: AtSpi, form: object) -> None:
    await eyes.press((await the(eyes, "Gift wrapping check box", "Order form")).ref)
    await eyes.press((await the(eyes, "Order now", "Order form")).ref)
    assert eventually(
        lambda: any(node.name == "Ordered, wrapped" for node in observer.observe("Order form") if node.showing)
    )


async def test_what_a_qt_window_hides_is_not_found(eyes: AtSpi, form: object) -> None:
    assert [match.element.name for match in await eyes.find("Secret button") if match.score > 0.7] == []


async def test_a_password_is_never_told(eyes: AtSpi, form: object) -> None:
    outline = await eyes.outline(OutlineRequest(OutlineView.FULL, window="Order form"))
    (field,) = [element for element in outline.elements if element.role == "password text"]
    assert (field.value, "hunter2" in outline.text) == ("", False)
    assert await eyes.text_of(field.ref) == ""
    await eyes.set_value(field.ref, "hunter3")
    assert await eyes.text_of(field.ref) == ""
    matches = [match.element for match in await eyes.find("Password field") if match.element.app == "Order form"]
    assert [element.value for element in matches] == [""]


async def test_all_that_shows_of_three_hundred_elements_is_named(eyes: AtSpi, browser: object) -> None:
    outline = await eyes.outline(OutlineRequest(OutlineView.INTERACTIVE, window="Chromium", budget=20_000))
    roles = {"link", "button", "check box"}
    ours = {(e.role, e.name) for e in outline.elements if e.role in roles and e.name[-1:].isdigit()}
    kinds = {"push button": "button", "button": "button", "link": "link", "check box": "check box"}
    theirs = {
        (kinds[n.role], n.name)
        for n in observer.observe("Chromium")
        if n.role in kinds and n.showing and n.name[-1:].isdigit() and n.box[2] and n.box[3]
    }
    assert ours == theirs
    assert len(ours) >= 30


async def test_a_button_of_a_page_is_pressed_by_name(eyes: AtSpi, browser: object) -> None:
    await eyes.press((await the(eyes, "Button 7", "Chromium")).ref)
    assert eventually(lambda: any("Pressed 7" in node.name for node in observer.observe("Chromium")))


async def test_a_number_in_a_name_is_never_taken_for_another(eyes: AtSpi, browser: object) -> None:
    best = (await eyes.find("Link number 3"))[0]
    assert (best.element.name, best.score) == ("Link number 3", 1.0)
    assert [match for match in await eyes.find("Link number 345") if match.score > 0.7] == []


async def test_what_stands_further_down_on_a_page_is_scrolled_to(eyes: AtSpi, browser: object) -> None:
    assert [match for match in await eyes.find("Button 93") if match.score > 0.9] == []
    match = await eyes.reveal("Button 93")
    assert match is not None
    seen = observer.named("Chromium", "Button 93")
    assert (seen.showing, seen.box[1]) == (True, match.element.box.y)
    await eyes.press(match.element.ref)
    assert eventually(lambda: any("Pressed 93" in node.name for node in observer.observe("Chromium")))


async def test_what_is_on_no_page_is_not_revealed(eyes: AtSpi, browser: object) -> None:
    assert await eyes.reveal("Button 1234") is None
