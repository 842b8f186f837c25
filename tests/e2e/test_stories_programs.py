"""Stories told with "the file manager", "the terminal" and "the text editor", whichever these are on this machine.

The suite plays them with the first program of each kind in the table, `scripts/bench/matrix.py` with all.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Screen
from tests.support.co_process import CoProcess
from tests.support.observer import text_of
from tests.support.programs import Programs, chosen
from tests.support.waiting import eventually


@pytest.fixture
def wisp(screen: Screen) -> Iterator[CoProcess]:
    with CoProcess(screen.environment) as process:
        yield process


@pytest.fixture(scope="module")
def programs() -> Programs:
    return chosen()


def _editor_holds(screen: Screen, programs: Programs, text: str) -> bool:
    app = programs.editor["app"]
    return eventually(lambda: text_of(app, environment=screen.environment).rstrip("\n") == text.rstrip("\n"))


def _give_name(wisp: CoProcess, window: str, name: str) -> None:
    """`window` asks for the name; without one the file manager has a field beside the picture."""
    if window:
        wisp("wait_for", window=window)
    wisp("computer_key", keys="ctrl+a")
    wisp("computer_type", text=f"{name}\n")


def _file_is(file: Path, text: str) -> bool:
    return eventually(lambda: file.exists() and file.read_text(encoding="utf-8").rstrip("\n") == text.rstrip("\n"))


def test_a_file_is_opened_by_its_path(wisp: CoProcess, screen: Screen, programs: Programs) -> None:
    file = screen.home / "words.txt"
    file.write_text("one two three", encoding="utf-8")
    wisp("open_app", name=str(file))
    assert _editor_holds(screen, programs, "one two three")
    wisp("computer_key", keys="ctrl+End")
    wisp("computer_type", text=" four")
    wisp("computer_key", keys="ctrl+s")
    assert _file_is(file, "one two three four")


@pytest.mark.long
def test_a_text_is_written_and_saved_by_its_path(wisp: CoProcess, screen: Screen, programs: Programs) -> None:
    file = screen.home / "note.txt"
    wisp("open_app", name="text editor")
    wisp("computer_type", text="Zwölf Äpfel\n3 € – done")
    assert _editor_holds(screen, programs, "Zwölf Äpfel\n3 € – done")
    wisp("computer_key", keys="ctrl+s")
    _give_name(wisp, programs.editor["save_window"], str(file))
    assert _file_is(file, "Zwölf Äpfel\n3 € – done")


@pytest.mark.long
def test_a_folder_is_made_and_renamed_in_the_file_manager(wisp: CoProcess, screen: Screen, programs: Programs) -> None:
    facts: Any = programs.files
    wisp("open_app", name="file manager")
    wisp("computer_key", keys="ctrl+shift+n")
    _give_name(wisp, facts["new_window"], "Größe")
    assert eventually((screen.home / "Größe").is_dir)
    wisp("wait_for", text="Größe")
    wisp("computer_click", target="Größe")
    wisp("computer_key", keys="F2")
    _give_name(wisp, facts["rename_window"], "Archiv")
    assert eventually((screen.home / "Archiv").is_dir)
    assert not (screen.home / "Größe").exists()


@pytest.mark.long
def test_a_file_is_copied_into_a_folder_in_the_file_manager(wisp: CoProcess, screen: Screen) -> None:
    (screen.home / "a.txt").write_text("content", encoding="utf-8")
    (screen.home / "kept").mkdir()
    wisp("open_app", name="file manager")
    wisp("computer_click", target="a.txt")
    wisp("computer_key", keys="ctrl+c")
    wisp("computer_click", target="kept", count=2)
    wisp("wait_for", window="kept")
    wisp("computer_key", keys="ctrl+v")
    assert eventually((screen.home / "kept" / "a.txt").is_file)


@pytest.mark.long
def test_a_file_is_dragged_into_a_folder(wisp: CoProcess, screen: Screen) -> None:
    (screen.home / "letter.txt").write_text("Dear Ada", encoding="utf-8")
    (screen.home / "post").mkdir()
    wisp("open_app", name="file manager")
    wisp("computer_drag", {"from": "letter.txt", "to": "post"})
    assert eventually((screen.home / "post" / "letter.txt").is_file)


def test_a_command_in_a_terminal_makes_a_file(wisp: CoProcess, screen: Screen) -> None:
    file = screen.home / "made.txt"
    wisp("open_app", name="terminal")
    wisp("computer_type", text=f"printf '%s\\n' \"it's\" '~{{}}|<>' > '{file}'\n")
    assert eventually(lambda: file.exists() and file.read_text(encoding="utf-8") == "it's\n~{}|<>\n")


def test_a_program_in_a_terminal_is_ended_by_its_chord(wisp: CoProcess, screen: Screen) -> None:
    file = screen.home / "ended"
    wisp("open_app", name="terminal")
    wisp("computer_type", text=f"sleep 600; touch '{file}'\n")
    wisp("computer_key", keys="ctrl+c")
    wisp("computer_type", text=f"touch '{file}'\n")
    assert eventually(file.exists)


@pytest.mark.long
def test_two_windows_stand_side_by_side_and_each_gets_its_own_text(
    wisp: CoProcess, screen: Screen, programs: Programs
) -> None:
    editor, made = programs.editor["title"], screen.home / "made"
    terminal = wisp("open_app", name="terminal")["payload"]["window"]
    wisp("open_app", name="text editor")
    wisp("move_window", title=editor, x=640, y=0, width=600, height=500)
    wisp("move_window", title=terminal, x=0, y=0, width=600, height=500)
    wisp("focus_window", title=terminal)
    wisp("computer_type", text=f"touch '{made}'\n")
    wisp("focus_window", title=editor)
    wisp("computer_type", text="only here")
    assert eventually(made.exists)
    assert _editor_holds(screen, programs, "only here")
