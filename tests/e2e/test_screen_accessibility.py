"""Wisp's own eyes on real GTK 3 programs, against what the system's libatspi says of the same windows."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator

import pytest

from app.base.errors import ToolFailed, ToolMisuse
from app.base.geometry import Point
from app.desktop.accessibility.atspi import AtSpi
from app.desktop.elements import Element, OutlineRequest, OutlineView
from app.desktop.x11.virtual import VirtualDesktop
from tests.support import observer
from tests.support.waiting import eventually

pytestmark = pytest.mark.timeout(90)


@pytest.fixture(scope="module")
def calculator(desktop: VirtualDesktop) -> Iterator[subprocess.Popen[bytes]]:
    with observer.started("galculator", app="galculator") as program:
        yield program


@pytest.fixture
def editor(desktop: VirtualDesktop) -> Iterator[subprocess.Popen[bytes]]:
    with observer.started("mousepad", "--disable-server", app="mousepad") as program:
        yield program


@pytest.fixture
async def eyes(desktop: VirtualDesktop) -> AsyncIterator[AtSpi]:
    eyes = AtSpi()
    yield eyes
    await eyes.close()


async def the(eyes: AtSpi, query: str, app: str) -> Element:
    """The one best match of a program, exact or by another word for it."""
    matches = [match for match in await eyes.find(query) if match.element.app == app and match.score > 0.9]
    assert len(matches) == 1, f"{query!r}: {matches}"
    return matches[0].element


async def pressed(eyes: AtSpi, *queries: str) -> None:
    for query in queries:
        await eyes.press((await the(eyes, query, "galculator")).ref)


def display() -> str:
    return observer.text_of("galculator")


async def test_keys_pressed_by_what_is_written_on_them_calculate(eyes: AtSpi, calculator: object) -> None:
    await pressed(eyes, "AC", "1", "2", "*", "7", "=")
    assert eventually(lambda: display() == "84"), display()


async def test_keys_pressed_by_what_they_are_called_calculate(eyes: AtSpi, calculator: object) -> None:
    await pressed(eyes, "AC", "nine", "the divide key", "two", "plus", "the button zero", "point", "5", "equals")
    assert eventually(lambda: display() == "5"), display()


async def test_an_unlettered_key_is_found_by_its_tool_tip(eyes: AtSpi, calculator: object) -> None:
    assert (await the(eyes, "square root", "galculator")).name == "sqrt"
    assert (await the(eyes, "Clear display", "galculator")).name == "C"


async def test_boxes_are_those_that_libatspi_reports(eyes: AtSpi, calculator: object) -> None:
    outline = await eyes.outline(OutlineRequest(OutlineView.INTERACTIVE, window="galculator"))
    ours = {
        (e.name, (e.box.x, e.box.y, e.box.width, e.box.height)) for e in outline.elements if e.role == "toggle button"
    }
    theirs = {(n.name, n.box) for n in observer.observe("galculator") if n.role == "toggle button" and n.showing}
    assert ours == theirs
    assert len(ours) == 27


async def test_what_the_display_holds_is_the_value_of_its_element(eyes: AtSpi, calculator: object) -> None:
    await pressed(eyes, "AC", "4", "2")
    (field,) = [match.element for match in await eyes.find("text field") if match.element.app == "galculator"]
    assert (field.role, field.value, await eyes.text_of(field.ref)) == ("text", "42", "42")


async def test_the_element_under_a_point_is_the_innermost(eyes: AtSpi, calculator: object) -> None:
    seven = await the(eyes, "7", "galculator")
    assert await eyes.at(seven.box.center) == seven
    assert await eyes.at(Point(1279, 1)) is None


async def test_a_ref_names_the_same_object_from_look_to_look(eyes: AtSpi, calculator: object) -> None:
    first = await the(eyes, "8", "galculator")
    outline = await eyes.outline(OutlineRequest(OutlineView.INTERACTIVE))
    assert first.ref == (await the(eyes, "eight", "galculator")).ref
    assert [element.name for element in outline.elements if element.ref == first.ref] == ["8"]


async def test_a_closed_menu_shows_nothing_of_what_is_in_it(eyes: AtSpi, calculator: object) -> None:
    assert [match.element.name for match in await eyes.find("Scientific Mode") if match.score > 0.9] == []
    await eyes.press((await the(eyes, "View menu", "galculator")).ref)
    item = await the(eyes, "Scientific Mode", "galculator")
    seen = observer.named("galculator", "Scientific Mode")
    assert (item.role, item.box.x, item.box.y) == ("radio menu item", seen.box[0], seen.box[1])
    await eyes.press((await the(eyes, "Basic Mode", "galculator")).ref)


async def test_a_greyed_key_is_not_pressed(eyes: AtSpi, calculator: object) -> None:
    with pytest.raises(ToolFailed, match="greyed out"):
        await pressed(eyes, "MR")


async def test_text_put_into_an_editor_is_there_to_the_letter(eyes: AtSpi, editor: object) -> None:
    text = "é ü 日本語 שלום 🚀\n\ttwo lines"
    (field,) = [match.element for match in await eyes.find("text area") if match.element.app == "mousepad"]
    await eyes.set_value(field.ref, text)
    # An editor that draws such letters for the first time loads their fonts, and answers nobody meanwhile.
    assert eventually(lambda: observer.text_of("mousepad") == text)
    assert await eyes.text_of(field.ref) == text


async def test_the_editor_that_was_just_opened_has_the_keyboard(eyes: AtSpi, editor: object) -> None:
    focused = await eyes.focused()
    assert focused is not None
    assert (focused.app, focused.role, focused.window) == ("mousepad", "text", "Untitled 1 - Mousepad")


async def test_a_label_takes_no_text(eyes: AtSpi, calculator: object) -> None:
    with pytest.raises(ToolFailed, match="Click it and type"):
        await eyes.set_value((await the(eyes, "File", "galculator")).ref, "x")


async def test_what_is_gone_is_said_with_what_is_nearest_now(eyes: AtSpi, calculator: object) -> None:
    with observer.started("zenity", "--question", "--text=Really?", "--ok-label=Calculate", app="zenity"):
        button = await the(eyes, "Calculate", "zenity")
    with pytest.raises(ToolFailed, match=r"no longer on the screen.*Nearest now: e\d+ menu 'Calculator'"):
        await eyes.press(button.ref)


async def test_a_ref_that_was_never_given_is_a_mistake_of_the_call(eyes: AtSpi, calculator: object) -> None:
    with pytest.raises(ToolMisuse, match="no element 'e999'"):
        await eyes.element("e999")


async def test_a_frozen_program_is_named_and_hides_nothing_of_the_others(
    eyes: AtSpi, calculator: subprocess.Popen[bytes], editor: object
) -> None:
    os.kill(calculator.pid, signal.SIGSTOP)
    try:
        assert (await the(eyes, "Search menu", "mousepad")).role == "menu"
        outline = await eyes.outline(OutlineRequest(OutlineView.INTERACTIVE))
        assert (outline.silent, await eyes.silent()) == (("galculator",), ("galculator",))
        assert '"galculator" does not answer' in outline.text
    finally:
        os.kill(calculator.pid, signal.SIGCONT)
    assert eventually(lambda: display() != "")
    assert (await the(eyes, "7", "galculator")).name == "7"


async def test_of_a_window_that_is_named_no_other_program_is_asked(
    eyes: AtSpi, calculator: subprocess.Popen[bytes], editor: object
) -> None:
    os.kill(calculator.pid, signal.SIGSTOP)
    try:
        outline = await eyes.outline(OutlineRequest(OutlineView.INTERACTIVE, window="mousepad"))
    finally:
        os.kill(calculator.pid, signal.SIGCONT)
    assert ("galculator" in outline.text, outline.silent) == (False, ())
    assert 'menu "Search"' in outline.text


async def test_icons_without_a_name_go_by_the_text_under_them(eyes: AtSpi, desktop: VirtualDesktop) -> None:
    with observer.started("pcmanfm", "--new-win", "/usr", app="pcmanfm"):
        icon = await the(eyes, "libexec", "pcmanfm")
        assert icon.role == "icon"


async def test_of_six_thousand_cells_those_in_sight_are_read(eyes: AtSpi, desktop: VirtualDesktop) -> None:
    rows = [str(number) for number in range(6000)]
    with observer.started("zenity", "--list", "--column=even", "--column=odd", *rows, app="zenity"):
        outline = await eyes.outline(OutlineRequest(OutlineView.FULL, window="zenity"))
    cells = [element.name for element in outline.elements if element.role == "table cell"]
    assert cells == rows[: len(cells)]
    assert 8 <= len(cells) <= 60
    assert [element.name for element in outline.elements if element.role == "table column header"] == ["even", "odd"]
