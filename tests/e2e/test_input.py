"""Eyes and hands on a real X server, judged by others: a Qt window, xdotool, libatspi, saved files."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from PIL import Image

from app.base.errors import Cancelled, ToolFailed, ToolMisuse
from app.desktop.choose import open_desktop
from tests.e2e.conftest import Screen
from tests.support.desktop_tools import Tools, pointer_by_xdotool
from tests.support.fixture_window import FixtureWindow
from tests.support.observer import observe, text_of
from tests.support.waiting import eventually


@pytest.fixture
async def tools(screen: Screen) -> AsyncIterator[Tools]:
    opened = open_desktop(environment=screen.environment)
    try:
        yield Tools(opened)
    finally:
        opened.close()


@pytest.mark.long
async def test_a_sum_typed_into_the_opened_calculator_is_there(tools: Tools, screen: Screen) -> None:
    opened = await tools("open_app", name="calculator")
    await tools("computer_type", text="44*5=")
    assert opened.payload["name"] == "Galculator"
    assert eventually(lambda: any(node.text == "220" for node in observe("galculator", screen.environment)))


@pytest.mark.long
async def test_a_button_is_clicked_by_its_name(tools: Tools, screen: Screen) -> None:
    await tools("open_app", name="galculator")
    for name in ("4", "2", "+", "1", "="):
        result = await tools("computer_click", target=name)
        assert result.payload["route"] == "name"
    assert eventually(lambda: any(node.text == "43" for node in observe("galculator", screen.environment)))


@pytest.mark.long
async def test_a_note_is_written_and_saved_exactly(tools: Tools, screen: Screen, tmp_path: Path) -> None:
    note = "Grüße, <b>world</b>!\n\t— naïve café, 日本語, привет, שלום, 🚀\nend"
    file = tmp_path / "note.txt"
    await tools("open_app", name="text editor")
    await tools("computer_type", text=note)
    assert eventually(lambda: text_of("mousepad", environment=screen.environment) == note)
    await tools("computer_key", keys="ctrl+s")
    await tools("wait_for", window="Save")
    await tools("computer_key", keys="ctrl+a")
    await tools("computer_type", text=f"{file}\n")
    assert eventually(file.exists)
    assert eventually(lambda: file.read_text(encoding="utf-8").rstrip("\n") == note)


async def test_a_point_of_a_capture_is_the_pixel_that_gets_the_click(tools: Tools, screen: Screen) -> None:
    with FixtureWindow("canvas", environment=screen.environment) as window:
        shown = await tools("screen_capture")
        assert (shown.payload["width"], shown.payload["height"]) == (1280, 800)
        await tools("computer_click", {"x": 300, "y": 250, "button": "right", "modifiers": "ctrl+shift"})
        press = window.wait(lambda event: event["event"] == "press")
        assert press == {
            "event": "press", "x": 300.0, "y": 250.0, "button": "RightButton", "modifiers": ["shift", "ctrl"],
        }  # fmt: skip
        assert pointer_by_xdotool(screen.environment) == (300, 250)


async def test_two_clicks_become_one_double_click_only_when_asked(tools: Tools, screen: Screen) -> None:
    with FixtureWindow("canvas", environment=screen.environment) as window:
        for _ in range(2):
            await tools("computer_click", x=300, y=250, space="screen")
        assert [event["event"] for event in window.quiet()] == ["press", "release", "press", "release"]
        window.forget()
        await tools("computer_click", x=400, y=250, space="screen", count=2)
        window.wait(lambda event: event["event"] == "double")
        window.wait(lambda event: event["event"] == "release")
        assert [event["event"] for event in window.quiet()] == ["press", "release", "double", "release"]


async def test_a_drag_presses_moves_and_lets_go(tools: Tools, screen: Screen) -> None:
    with FixtureWindow("canvas", environment=screen.environment) as window:
        await tools("computer_drag", path="200,200 300,260 220,300", space="screen")
        told = window.quiet()
        assert (told[0]["event"], told[0]["x"], told[0]["y"]) == ("press", 200.0, 200.0)
        assert (told[-1]["event"], told[-1]["x"], told[-1]["y"]) == ("release", 220.0, 300.0)
        assert (300.0, 260.0) in [(event["x"], event["y"]) for event in told[1:-1]]


async def test_the_wheel_turns_by_notches_with_modifiers(tools: Tools, screen: Screen) -> None:
    with FixtureWindow("canvas", environment=screen.environment) as window:
        await tools("computer_scroll", x=300, y=250, dx=1, dy=-2, modifiers="ctrl", space="screen")
        turned = [event for event in window.quiet() if event["event"] == "wheel"]
        assert (sum(event["dx"] for event in turned), sum(event["dy"] for event in turned)) == (-120, 240)
        assert all(event["modifiers"] == ["ctrl"] for event in turned)


async def test_chords_arrive_as_chords_and_nothing_stays_down(tools: Tools, screen: Screen) -> None:
    with FixtureWindow("canvas", environment=screen.environment) as window:
        await tools("computer_key", keys="ctrl+shift+t F5")
        told = [(event["event"], event["key"]) for event in window.quiet() if event["event"].startswith("key")]
        assert told == [
            ("key", "Key_Control"), ("key", "Key_Shift"), ("key", "Key_T"),
            ("key_up", "Key_T"), ("key_up", "Key_Shift"), ("key_up", "Key_Control"),
            ("key", "Key_F5"), ("key_up", "Key_F5"),
        ]  # fmt: skip


async def test_the_capture_is_within_the_budget_and_shows_what_is_there(tools: Tools) -> None:
    await tools("open_app", name="xterm")
    result = await tools("screen_capture")
    (media,) = result.llm_media
    picture = Image.open(io.BytesIO(media.data))
    assert (picture.format, picture.size) == ("JPEG", (media.width, media.height))
    assert picture.convert("L").getextrema()[1] > 200


async def test_an_unchanged_screen_is_told_in_one_line(tools: Tools) -> None:
    await tools("screen_capture")
    again = await tools("screen_capture")
    assert again.llm_media == ()
    assert again.llm_echo.startswith("The screen has not changed")


async def test_points_outside_and_unknown_captures_are_told_with_the_size(tools: Tools) -> None:
    await tools("screen_capture")
    with pytest.raises(ToolMisuse, match="1280x800"):
        await tools("computer_click", x=4000, y=3)
    with pytest.raises(ToolMisuse, match="no capture 'c99'"):
        await tools("computer_click", x=3, y=3, capture="c99")


async def test_a_name_that_is_not_there_is_not_clicked(tools: Tools) -> None:
    await tools("open_app", name="calculator")
    done = await tools("computer_click", target="Frobnicate")
    assert (done.ok, len(done.llm_media)) == (False, 1)
    assert "Nothing on the screen fits 'Frobnicate'" in done.llm_echo


async def test_a_program_that_is_not_installed_starts_nothing(tools: Tools) -> None:
    with pytest.raises(ToolFailed, match="No program called 'photoshop' is installed"):
        await tools("open_app", name="photoshop")
    assert (await tools("list_windows")).payload["windows"] == []


async def test_windows_are_listed_focused_and_closed(tools: Tools) -> None:
    await tools("open_app", name="calculator")
    await tools("open_app", name="xterm")
    focused = await tools("focus_window", title="galculator")
    assert focused.payload["title"] == "galculator"
    listed = (await tools("list_windows")).payload["windows"]
    assert [(w["app"], w["active"]) for w in listed] == [("Galculator", True), ("XTerm", False)]  # type: ignore[union-attr,index]
    await tools("close_window", title="galculator")
    left = (await tools("list_windows")).payload["windows"]
    assert [w["app"] for w in left] == ["XTerm"]  # type: ignore[union-attr,index]


async def test_after_a_stop_nothing_is_sent_until_it_is_lifted(tools: Tools, screen: Screen) -> None:
    with FixtureWindow("canvas", environment=screen.environment) as window:
        tools.desktop.stop()
        with pytest.raises(Cancelled):
            await tools("computer_click", x=300, y=250, space="screen")
        assert window.quiet() == []
        tools.desktop.resume()
        await tools("computer_click", x=300, y=250, space="screen")
        assert [event["event"] for event in window.quiet()] == ["press", "release"]
