"""Short stories told to the real `wisp tool`, with real programs, read back through files or an independent eye."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.e2e.conftest import Screen
from tests.support.co_process import CoProcess
from tests.support.observer import observe, text_of
from tests.support.waiting import eventually

_SUMS = (
    ("12*7=", "84"), ("9-4=", "5"), ("8/2=", "4"), ("1+1=", "2"), ("99*9=", "891"), ("7-7=", "0"),
    ("5*5=", "25"), ("100/8=", "12.5"), ("3+4=", "7"), ("66/3=", "22"), ("15-6=", "9"), ("0.5*4=", "2"),
)  # fmt: skip


@pytest.fixture
def wisp(screen: Screen) -> Iterator[CoProcess]:
    with CoProcess(screen.environment) as process:
        yield process


def _editor_holds(screen: Screen, text: str) -> bool:
    return eventually(lambda: text_of("mousepad", environment=screen.environment) == text)


@contextmanager
def _answering(screen: Screen, *command: str) -> Iterator[subprocess.Popen[str]]:
    """A program that prints what it was told once it is closed."""
    program = subprocess.Popen(command, env=screen.environment, cwd=screen.home, stdout=subprocess.PIPE, text=True)
    try:
        yield program
    finally:
        program.kill()
        program.communicate()


def _display(screen: Screen) -> str:
    return text_of("galculator", environment=screen.environment).strip()


@pytest.mark.long
def test_twelve_sums_by_the_names_of_the_buttons(wisp: CoProcess, screen: Screen) -> None:
    wisp("open_app", name="calculator")
    for keys, result in _SUMS:
        for key in ("AC", *keys):
            assert wisp("computer_click", target=key)["payload"]["route"] == "name"
        assert eventually(lambda r=result: _display(screen) == r), keys  # type: ignore[misc]


@pytest.mark.long
def test_a_sum_is_typed_and_another_pressed_without_the_mouse(wisp: CoProcess, screen: Screen) -> None:
    wisp("open_app", name="calculator")
    wisp("computer_type", text="6*7=")
    assert eventually(lambda: _display(screen) == "42")
    for name in ("AC", "8", "+", "1", "="):
        found = wisp("locate_screen_element", target=name, window="galculator")
        wisp("press", ref=found["payload"]["ref"])
    assert eventually(lambda: _display(screen) == "9")


@pytest.mark.long
def test_a_result_is_copied_from_one_program_into_another(wisp: CoProcess, screen: Screen) -> None:
    wisp("open_app", name="calculator")
    wisp("computer_type", text="125*8=")
    wisp("computer_key", keys="ctrl+c")
    wisp("open_app", name="text editor")
    wisp("computer_type", text="It is ")
    wisp("computer_key", keys="ctrl+v")
    assert _editor_holds(screen, "It is 1000")


@pytest.mark.long
def test_a_note_is_saved_under_a_new_name(wisp: CoProcess, screen: Screen) -> None:
    file = screen.home / "naïve note.txt"
    wisp("open_app", name="text editor")
    wisp("computer_type", text="Zwölf Äpfel\n\t— 3 €, 日本語")
    wisp("choose_menu", path="File > Save As")
    wisp("wait_for", window="Save")
    wisp("computer_key", keys="ctrl+a")
    wisp("computer_type", text=f"{file}\n")
    assert eventually(file.exists)
    assert eventually(lambda: file.read_text(encoding="utf-8").rstrip("\n") == "Zwölf Äpfel\n\t— 3 €, 日本語")


@pytest.mark.long
def test_every_word_of_a_kind_is_replaced(wisp: CoProcess, screen: Screen) -> None:
    wisp("open_app", name="text editor")
    wisp("computer_type", text="red fox, red hen, red rose")
    wisp("choose_menu", path="Search > Find and Replace")
    wisp("wait_for", window="Replace")
    wisp("computer_batch", action=[
        {"do": "type", "text": "red"}, {"do": "click", "target": "Replace all in:"},
        {"do": "click", "target": "Replace with:"}, {"do": "type", "text": "blue"},
        {"do": "click", "target": "Replace All"},
    ])  # fmt: skip
    assert _editor_holds(screen, "blue fox, blue hen, blue rose")


def test_what_was_written_is_taken_back_and_done_again(wisp: CoProcess, screen: Screen) -> None:
    wisp("open_app", name="text editor")
    wisp("computer_type", text="first")
    wisp("computer_key", keys="ctrl+z")
    assert _editor_holds(screen, "")
    wisp("choose_menu", path="Edit > Redo")
    assert _editor_holds(screen, "first")


@pytest.mark.long
def test_a_word_is_chosen_by_a_double_click_and_a_line_by_a_triple_click(wisp: CoProcess, screen: Screen) -> None:
    wisp("open_app", name="text editor")
    wisp("computer_type", text="alpha beta\n")
    field = next(n for n in observe("mousepad", screen.environment) if n.role == "text" and n.showing)
    x, y = field.box[0] + 12, field.box[1] + 8
    wisp("computer_click", x=x, y=y, space="screen", count=2)
    wisp("computer_type", text="gamma")
    assert _editor_holds(screen, "gamma beta\n")
    wisp("computer_click", x=x, y=y, space="screen", count=3)
    wisp("computer_type", text="delta")
    assert eventually(lambda: "gamma" not in text_of("mousepad", environment=screen.environment))
    assert text_of("mousepad", environment=screen.environment).startswith("delta")


@pytest.mark.long
def test_a_file_is_opened_through_the_dialog_and_changed(wisp: CoProcess, screen: Screen) -> None:
    file = screen.home / "list.txt"
    file.write_text("milk\n", encoding="utf-8")
    wisp("open_app", name="text editor")
    wisp("computer_key", keys="ctrl+o")
    wisp("wait_for", window="Open")
    wisp("computer_type", text=f"{file}\n")
    assert _editor_holds(screen, "milk\n")
    wisp("computer_key", keys="ctrl+End")
    wisp("computer_type", text="bread\n")
    wisp("computer_key", keys="ctrl+s")
    assert eventually(lambda: file.read_text(encoding="utf-8") == "milk\nbread\n")


def test_text_moves_through_the_clipboard(wisp: CoProcess, screen: Screen) -> None:
    wisp("write_clipboard", text="über\nzwei")
    wisp("open_app", name="text editor")
    wisp("computer_key", keys="ctrl+v")
    assert _editor_holds(screen, "über\nzwei")
    wisp("computer_type", text="!")
    wisp("computer_key", keys="ctrl+a ctrl+c")
    assert wisp("read_clipboard")["payload"]["text"].endswith("zwei!")


def test_unsaved_work_is_asked_about_and_thrown_away(wisp: CoProcess, screen: Screen) -> None:
    wisp("open_app", name="text editor")
    wisp("computer_type", text="draft")
    refused = wisp.attempt("close_window", title="mousepad")
    assert not refused["ok"]
    wisp("computer_click", target="Don't Save")
    assert eventually(lambda: observe("mousepad", screen.environment) == [])


@pytest.mark.long
def test_a_word_is_found_from_the_menu(wisp: CoProcess, screen: Screen) -> None:
    wisp("open_app", name="text editor")
    wisp("computer_type", text="one\ntwo\nthree")
    wisp("computer_key", keys="ctrl+Home ctrl+f")
    wisp("computer_type", text="two\n")
    wisp("computer_key", keys="Escape")
    wisp("computer_type", text="2")
    assert _editor_holds(screen, "one\n2\nthree")


@pytest.mark.long
def test_a_file_is_chosen_in_a_file_dialog(wisp: CoProcess, screen: Screen) -> None:
    file = screen.home / "Bücher 2026.txt"
    file.touch()
    with _answering(screen, "zenity", "--file-selection", "--title=Which file") as dialog:
        wisp("wait_for", window="Which file")
        wisp("computer_type", text=str(file))
        wisp("computer_key", keys="Return")
        assert dialog.communicate(timeout=20)[0] == f"{file}\n"


@pytest.mark.long
def test_a_file_is_found_by_its_name_in_a_file_dialog(wisp: CoProcess, screen: Screen) -> None:
    (screen.home / "report.txt").touch()
    command = ("zenity", "--file-selection", "--title=Which file", f"--filename={screen.home}/")
    with _answering(screen, *command) as dialog:
        wisp("wait_for", window="Which file")
        wisp("computer_click", target="report.txt")
        wisp("computer_click", target="OK")
        assert dialog.communicate(timeout=20)[0] == f"{screen.home}/report.txt\n"


@pytest.mark.long
def test_boxes_in_a_list_are_ticked(wisp: CoProcess, screen: Screen) -> None:
    rows = ("FALSE", "bread", "TRUE", "milk", "FALSE", "tea")
    command = ("zenity", "--list", "--checklist", "--title=Shopping", "--column=", "--column=What", *rows)
    with _answering(screen, *command) as dialog:
        wisp("wait_for", window="Shopping")
        wisp("computer_click", target="tea", count=2)
        wisp("computer_key", keys="space")
        wisp("computer_click", target="OK")
        assert dialog.communicate(timeout=20)[0] == "milk|tea\n"


def test_a_slider_is_set_to_a_number(wisp: CoProcess, screen: Screen) -> None:
    with _answering(screen, "zenity", "--scale", "--title=How much", "--value=10") as dialog:
        wisp("wait_for", window="How much")
        shown = wisp("read_screen", window="How much")["echo"]
        (ref,) = re.findall(r"(e\d+) slider", shown)
        wisp("set_value", ref=ref, value="42")
        wisp("computer_click", target="OK")
        assert dialog.communicate(timeout=20)[0] == "42\n"
