"""A dialog that stands open is named, with what can be said to answer it, and nothing is typed into it by mistake."""

from __future__ import annotations

import pytest

from tests.e2e.conftest import Screen
from tests.support.co_process import CoProcess
from tests.support.observer import observe
from tests.support.waiting import eventually

pytestmark = pytest.mark.long

EDITOR = "mousepad"


def fields(screen: Screen) -> list[str]:
    """What every text that shows in the editor's windows holds."""
    texts = (node.text for node in observe(EDITOR, screen.environment) if node.role == "text" and node.showing)
    return [text for text in texts if text]


@pytest.fixture
def saving(screen: Screen) -> Screen:
    """The editor with a text, and its dialog for saving in front."""
    (screen.home / "Documents").mkdir()
    done = screen.wisp("do", "open the text editor, type hello and press ctrl+shift+s")
    assert done.returncode == 0, done.stdout
    return screen


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        (
            'open the text editor and type "weg damit"',
            "Mousepad is open, but a dialog of it has the keyboard and must be answered first. "
            "The dialog “Save As” is open.",
        ),
        (
            'öffne den Texteditor und tippe "weg damit"',
            "Mousepad ist offen, aber ein Dialog davon hat die Tastatur und muss zuerst beantwortet werden. "
            "Der Dialog „Save As“ ist offen.",
        ),
    ],
)
@pytest.mark.parametrize("is_behind", [False, True])
def test_nothing_is_typed_into_the_dialog_of_the_program_that_was_to_be_opened(
    saving: Screen, wish: str, said: str, *, is_behind: bool
) -> None:
    if is_behind:
        assert saving.wisp("do", "open the terminal").returncode == 0
    done = saving.wisp("do", wish)
    assert (done.returncode, said in done.stdout) == (1, True), done.stdout
    assert not any("weg" in text for text in fields(saving))


def test_a_model_is_told_which_dialog_stands_before_the_program_it_opens(saving: Screen) -> None:
    with CoProcess(saving.environment) as wisp:
        answer = wisp.attempt("open_app", name="text editor")
        assert not answer["ok"]
        assert 'The dialog "Save As" stands in front. Its buttons: "Cancel", "Save".' in answer["echo"]
        wisp("computer_click", target="Cancel")
        assert wisp("open_app", name="text editor")["ok"]


def test_the_question_whether_to_replace_a_file_is_told_and_answered(saving: Screen) -> None:
    file = saving.home / "Documents" / "einkauf.txt"
    file.write_text("old")
    assert saving.wisp("do", "click Cancel").returncode == 0
    done = saving.wisp("do", "save it as einkauf.txt in Documents")
    asked = "question is open: “A file named “einkauf.txt” already exists. Do you want to replace it?"
    assert (done.returncode, asked in done.stdout) == (1, True), done.stdout
    assert done.stdout.strip().endswith("“click Cancel”, “click Replace”")
    opened = saving.wisp("do", "open the text editor").stdout
    assert asked in opened
    assert saving.wisp("do", "click Cancel").returncode == 0, "of the two Cancel buttons, the question's"
    assert "Save As" in saving.wisp("do", "which windows are open").stdout
    assert file.read_text() == "old"


def test_a_message_that_a_folder_does_not_exist_is_told(saving: Screen) -> None:
    assert saving.wisp("do", "click Cancel").returncode == 0
    done = saving.wisp("do", "speichere es als a.txt in ~/Nirgends")
    assert done.returncode == 1
    assert "Meldung ist offen: „The folder contents could not be displayed" in done.stdout
    assert done.stdout.strip().endswith("„klicke auf OK“")
    assert eventually(lambda: saving.wisp("do", "click OK").returncode == 0)


def test_a_file_dialog_with_a_name_in_it_is_closed_and_writes_nothing(saving: Screen) -> None:
    done = saving.wisp("do", 'type "~/Documents/a.txt" then close this window')
    assert done.returncode == 0, done.stdout
    assert "Save As" not in saving.wisp("do", "which windows are open").stdout
    assert list((saving.home / "Documents").iterdir()) == []
