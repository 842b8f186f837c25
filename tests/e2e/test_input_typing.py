"""Typing is exact: any text, any layout, caps lock or not, and nothing is left changed. Judged by a Qt text field."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from Xlib import X
from Xlib.display import Display

from app.desktop.backends import KeyboardMoved
from app.desktop.choose import open_desktop
from app.desktop.controller import DesktopController
from app.desktop.keys import KeyChecks, Route
from tests.e2e.conftest import ROOT, Screen
from tests.support.desktop_tools import Tools
from tests.support.exactness import random_text
from tests.support.fixture_window import FixtureWindow
from tests.support.sampling import first_of
from tests.support.waiting import eventually

_STRINGS = 60


@pytest.fixture
async def tools(screen: Screen) -> AsyncIterator[Tools]:
    opened = open_desktop(environment=screen.environment)
    try:
        yield Tools(opened)
    finally:
        opened.close()


@pytest.fixture
def field(screen: Screen) -> Iterator[FixtureWindow]:
    with FixtureWindow("text", environment=screen.environment) as window:
        yield window


def _run(screen: Screen, *command: str, given: str | None = None) -> str:
    done = subprocess.run(
        command, env=screen.environment, input=given, capture_output=True, text=True, check=True, timeout=10
    )
    return done.stdout


async def _type(controller: DesktopController, text: str) -> tuple[Route, ...]:
    return await controller.input.type_text(text)


def _holds(window: FixtureWindow, text: str) -> None:
    window.wait(lambda event: event["event"] == "text" and event["text"] == text)


def _keymap(screen: Screen) -> list[list[int]]:
    display = Display(screen.environment["DISPLAY"])
    try:
        return [list(row) for row in display.get_keyboard_mapping(8, 248)]
    finally:
        display.close()


def _is_caps_on(screen: Screen) -> bool:
    display = Display(screen.environment["DISPLAY"])
    try:
        return bool(display.screen().root.query_pointer().mask & X.LockMask)
    finally:
        display.close()


def _copied(screen: Screen, kind: str = "UTF8_STRING") -> bytes:
    """Return what the clipboard holds in this format; b"" if nothing."""
    command = ["xclip", "-selection", "clipboard", "-t", kind, "-o"]
    return subprocess.run(command, env=screen.environment, capture_output=True, check=False, timeout=10).stdout


def _owner(screen: Screen) -> int:
    """Return the window that offers the clipboard; 0 if there is none."""
    with closing(Display(screen.environment["DISPLAY"])) as display:
        owner = display.get_selection_owner(display.intern_atom("CLIPBOARD"))
        return int(owner.id) if owner else 0


def _is_connected(display: Display, window: int) -> bool:
    """Return whether the program of this window is still connected to the display."""
    part = display.display.info.resource_id_mask
    return any(one.resource_base | part == window | part for one in display.res_query_clients().clients)


def _copy(screen: Screen, kind: str, file: Path) -> None:
    """Let another program own the clipboard."""
    command = ["xclip", "-selection", "clipboard", "-t", kind, "-i", str(file)]
    subprocess.run(command, env=screen.environment, check=True, timeout=10)


@pytest.mark.parametrize("layout", first_of(["us", "de", "fr", "ru"]))
async def test_random_unicode_arrives_exactly_and_the_layout_stays(
    layout: str, tools: Tools, screen: Screen, field: FixtureWindow
) -> None:
    _run(screen, "setxkbmap", layout)
    before = _keymap(screen)
    for number in range(_STRINGS):
        text = random_text(number)
        field.forget()
        await tools.desktop.run(_type, text)
        await asyncio.to_thread(_holds, field, text)
    assert _keymap(screen) == before


@pytest.mark.parametrize("text", first_of(["MiXed Case 123 <>", "ÄÖü ß"]))
async def test_caps_lock_changes_nothing_and_stays_on(
    text: str, tools: Tools, screen: Screen, field: FixtureWindow
) -> None:
    _run(screen, "xdotool", "key", "Caps_Lock")
    await tools("computer_type", text=text)
    _holds(field, text)
    assert _is_caps_on(screen)


async def test_the_second_layout_of_two_is_typed_on_as_well(tools: Tools, screen: Screen, field: FixtureWindow) -> None:
    _run(screen, "setxkbmap", "us,ru", "-option", "grp:shifts_toggle")
    _run(screen, "xdotool", "key", "ISO_Next_Group")
    await tools("computer_type", text="привет, hello!")
    _holds(field, "привет, hello!")


@pytest.mark.long
async def test_what_the_layout_lacks_can_be_a_shortcut(tools: Tools, screen: Screen) -> None:
    _run(screen, "setxkbmap", "ru")
    before = _keymap(screen)
    with FixtureWindow("canvas", environment=screen.environment) as window:
        await tools("computer_key", keys="ctrl+s")
        pressed = window.wait(lambda event: event["event"] == "key" and event["key"] != "Key_Control")
        assert (pressed["key"], pressed["modifiers"]) == ("Key_S", ["ctrl"])
    assert _keymap(screen) == before


async def test_the_clipboard_holds_afterwards_what_it_held(
    tools: Tools, screen: Screen, field: FixtureWindow, tmp_path: Path
) -> None:
    file = tmp_path / "words.txt"
    file.write_text("precious", encoding="utf-8")
    _copy(screen, "UTF8_STRING", file)
    await tools("computer_type", text="日本語")
    _holds(field, "日本語")
    assert await asyncio.to_thread(_run, screen, "xclip", "-selection", "clipboard", "-o") == "precious"


async def test_what_changed_after_the_keys_were_sent_gets_none_of_the_text(tools: Tools, field: FixtureWindow) -> None:
    async def changed() -> None:
        raise KeyboardMoved

    async def paste(controller: DesktopController) -> None:
        with pytest.raises(KeyboardMoved):
            await controller.backend.exact.paste("secret", "ctrl+v", "", KeyChecks(taking=changed))

    await tools.desktop.run(paste)
    await tools("computer_type", text="Ada Lovelace")
    await asyncio.to_thread(_holds, field, "Ada Lovelace")


async def test_a_large_clipboard_survives_in_its_own_format_and_outlives_wisp(
    tools: Tools, screen: Screen, field: FixtureWindow, tmp_path: Path
) -> None:
    picture = tmp_path / "picture.bin"
    picture.write_bytes(random.Random(1).randbytes(1_000_000))
    _copy(screen, "image/png", picture)
    await tools("computer_type", text="漢字")
    await asyncio.to_thread(_holds, field, "漢字")
    assert await asyncio.to_thread(_copied, screen, "image/png") == picture.read_bytes()
    await asyncio.to_thread(tools.desktop.close)
    assert await asyncio.to_thread(_copied, screen, "image/png") == picture.read_bytes()


_COPIES_AND_DIES = """
import asyncio, os
from app.desktop.choose import open_desktop

async def copy(controller):
    await controller.backend.clipboard.write("naïve 日本")

asyncio.run(open_desktop(environment=os.environ).run(copy))
os._exit(1)
"""


def test_what_wisp_copied_outlives_a_killed_wisp_until_others_copy_something(screen: Screen, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", _COPIES_AND_DIES], cwd=ROOT, env=screen.environment, check=False, timeout=60)
    assert eventually(lambda: _copied(screen) == "naïve 日本".encode())
    keeper = _owner(screen)
    (tmp_path / "words.txt").write_text("other", encoding="utf-8")
    with closing(Display(screen.environment["DISPLAY"])) as display:  # opened before, or it could get the keeper's ids
        assert _is_connected(display, keeper)
        _copy(screen, "UTF8_STRING", tmp_path / "words.txt")
        assert eventually(lambda: not _is_connected(display, keeper))
    assert _copied(screen) == b"other"


async def test_the_clipboard_of_a_password_manager_stays_its_own(
    tools: Tools, screen: Screen, field: FixtureWindow, tmp_path: Path
) -> None:
    (tmp_path / "mark").write_text("secret", encoding="utf-8")
    _copy(screen, "x-kde-passwordManagerHint", tmp_path / "mark")
    manager = _owner(screen)
    await tools("computer_type", text="日本語")
    await asyncio.to_thread(_holds, field, "日本語")
    assert _owner(screen) == manager != 0


async def test_a_terminal_gets_what_its_keys_lack(tools: Tools, screen: Screen, tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    screen.environment["LC_ALL"] = "C.UTF-8"
    await tools("open_app", name="terminal")
    await tools("computer_type", text=f"printf %s 'naïve 日本' > {file}\n")
    assert eventually(lambda: file.exists() and file.read_text(encoding="utf-8") == "naïve 日本")


@pytest.mark.long
async def test_long_text_with_many_lines_is_exact(tools: Tools, field: FixtureWindow) -> None:
    text = "\n".join(f"{number}: The quick brown <fox> & 'friends' {{}}" for number in range(200))
    await tools("computer_type", text=text)
    await asyncio.to_thread(_holds, field, text)
