"""Short stories with real programs, and what happens when things are not as they should be."""

from __future__ import annotations

import asyncio
import gc
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.base.errors import NeedsPerson, ToolFailed
from app.desktop.choose import open_desktop
from app.desktop.x11.virtual import VirtualDesktop
from tests.e2e.conftest import Screen
from tests.support.desktop_tools import Tools
from tests.support.fixture_window import FixtureWindow
from tests.support.observer import observe, text_of
from tests.support.sampling import first_of
from tests.support.waiting import eventually


@contextmanager
def _running(screen: Screen, *command: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(command, env=screen.environment, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.long
async def test_what_a_field_holds_is_proof_of_typing(tools: Tools) -> None:
    await tools("open_app", name="mousepad")
    result = await tools("computer_type", text="Dear Ada,\nhow are you?")
    assert result.payload["proof"] == "confirmed"
    assert "The field holds the text." in result.llm_echo


async def test_a_form_is_filled_in_one_go(tools: Tools, screen: Screen) -> None:
    with _running(screen, "zenity", "--forms", "--title=Who", "--add-entry=Name", "--add-entry=Town") as form:
        await tools("wait_for", window="Who")
        actions = [
            {"do": "type", "text": "Zoë"}, {"do": "key", "keys": "Tab"},
            {"do": "type", "text": "Łódź"}, {"do": "click", "target": "OK"},
        ]  # fmt: skip
        result = await tools("computer_batch", {"action": actions})
        assert result.ok, result.llm_echo
        assert (await asyncio.to_thread(form.communicate, timeout=10))[0] == "Zoë|Łódź\n"


@pytest.mark.parametrize(("answer", "code"), first_of([("Yes", 0), ("No", 1)]))
async def test_a_question_is_answered_by_its_button(answer: str, code: int, tools: Tools, screen: Screen) -> None:
    with _running(screen, "zenity", "--question", "--title=Sure", "--text=Go on?") as question:
        await tools("wait_for", window="Sure")
        await tools("computer_click", target=answer)
        assert await asyncio.to_thread(question.wait, timeout=10) == code


async def test_a_menu_entry_is_chosen_by_its_way(tools: Tools, screen: Screen) -> None:
    await tools("open_app", name="mousepad")
    await tools("computer_type", text="abc")
    await tools("choose_menu", path="Edit > Select All")
    await tools("computer_type", text="x")
    assert eventually(lambda: text_of("mousepad", environment=screen.environment) == "x")


@pytest.mark.long
async def test_a_menu_that_is_not_there_leaves_nothing_open(tools: Tools, screen: Screen) -> None:
    await tools("open_app", name="mousepad")
    with pytest.raises(ToolFailed, match="'Frobnicate'"):
        await tools("choose_menu", path="Edit > Frobnicate")
    await tools("computer_type", text="typed")
    assert eventually(lambda: text_of("mousepad", environment=screen.environment) == "typed")


@pytest.mark.long
async def test_what_is_typed_behind_alt_tab_reaches_the_window_that_it_goes_to(tools: Tools, screen: Screen) -> None:
    """The window manager takes all keys for as long as it goes through the windows."""
    with (
        FixtureWindow("text", "--title", "Left", environment=screen.environment) as left,
        FixtureWindow("text", "--title", "Right", "--at", "650,100", environment=screen.environment) as right,
    ):
        for number in range(4):
            for window in (left, right):
                await tools("computer_key", keys="alt+Tab")
                await tools("computer_type", text=f"{number} ways, ")
                window.wait(lambda event, number=number: event.get("text", "").endswith(f"{number} ways, "))
        wanted = "".join(f"{number} ways, " for number in range(4))
        assert [window.told[-1]["text"] for window in (left, right)] == [wanted, wanted]


async def test_a_window_is_moved_and_minimised_and_comes_back(tools: Tools) -> None:
    await tools("open_app", name="mousepad")
    moved = await tools("move_window", title="mousepad", x=40, y=60, width=500, height=400)
    assert [moved.payload[name] for name in ("x", "y", "width", "height")] == [40, 60, 500, 400]
    await tools("minimise_window", title="mousepad")
    windows = (await tools("list_windows")).payload["windows"]
    assert windows[0]["minimised"] is True  # type: ignore[index,call-overload]
    await tools("focus_window", title="mousepad")
    windows = (await tools("list_windows")).payload["windows"]
    assert (windows[0]["minimised"], windows[0]["active"]) == (False, True)  # type: ignore[index,call-overload]


@pytest.mark.long
async def test_changes_are_told_by_place_and_text(tools: Tools) -> None:
    await tools("open_app", name="calculator")
    await tools("screen_capture")
    await tools("computer_click", target="7")
    told = await tools("changes")
    assert told.payload["regions"]
    assert "Changed since c1" in told.llm_echo


@pytest.mark.long
async def test_a_windowed_program_in_no_menu_is_opened_by_its_command(screen: Screen, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    shutil.copy(str(shutil.which("galculator")), tmp_path / "bin" / "sumpad")
    screen.environment["PATH"] += f":{tmp_path / 'bin'}"
    desktop = open_desktop(environment=screen.environment)
    try:
        tools = Tools(desktop)
        assert (await tools("open_app", name="sumpad")).payload["name"] == "sumpad"
        with pytest.raises(ToolFailed, match="No program called 'ls'"):
            await tools("open_app", name="ls")
    finally:
        desktop.close()


@pytest.mark.long
async def test_several_of_one_name_are_asked_about(tools: Tools, screen: Screen) -> None:
    for _ in range(2):
        await tools("open_app", name="xterm")
    with pytest.raises(ToolFailed, match="Several windows fit"):
        await tools("close_window", title="xterm")


@pytest.mark.long
async def test_a_window_that_closes_under_the_text_ends_the_typing(tools: Tools, screen: Screen) -> None:
    with (
        FixtureWindow("text", "--title", "Below", environment=screen.environment),
        FixtureWindow("text", "--title", "Above", environment=screen.environment) as above,
    ):
        typing = asyncio.create_task(tools("computer_type", text="words of it\n" * 4000))
        await asyncio.to_thread(above.wait, lambda event: event["event"] == "text")
        above.say("close")
        with pytest.raises(ToolFailed, match=r"The keyboard went from|Typing stopped half way"):
            await typing


@pytest.mark.long
async def test_a_frozen_program_does_not_hold_us_up(tools: Tools, screen: Screen) -> None:
    with FixtureWindow("canvas", environment=screen.environment) as window:
        window.freeze()
        try:
            began = time.monotonic()
            await tools("computer_click", x=300, y=250, space="screen")
            await tools("computer_type", text="hello")
            took = time.monotonic() - began
        finally:
            window.thaw()
    assert took < 20


async def test_windows_work_where_nobody_manages_them() -> None:
    with VirtualDesktop(1000, 700, window_manager=False) as virtual:
        desktop = open_desktop(environment=virtual.environment)
        tools = Tools(desktop)
        try:
            await tools("open_app", name="calculator")
            await tools("computer_type", text="6*7=")
            assert eventually(lambda: any(n.text == "42" for n in observe("galculator", virtual.environment)))
            await tools("close_window", title="galculator")
            assert (await tools("list_windows")).payload["windows"] == []
        finally:
            desktop.close()


def test_without_a_display_the_sentence_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(NeedsPerson, match="DISPLAY is not set"):
        open_desktop(environment={"HOME": str(tmp_path)})


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_display_that_does_not_answer_is_named(tmp_path: Path) -> None:
    """python-xlib leaves the sockets of a failed attempt to the garbage collector, hence the filter."""
    with pytest.raises(NeedsPerson, match=":4321 does not answer"):
        open_desktop(environment={"HOME": str(tmp_path), "DISPLAY": ":4321"})
    gc.collect()
