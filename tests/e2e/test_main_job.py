"""Say it, and it happens: the command, real programs, and an eye that is not ours."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.conftest import Screen
from tests.support.loopback import AnthropicServer
from tests.support.observer import observe
from tests.support.sampling import first_of
from tests.support.waiting import eventually


def _display_of_calculator(screen: Screen) -> str:
    texts = [node.text for node in observe("galculator", screen.environment) if node.text and node.showing]
    return texts[0].strip() if texts else ""


def _shows(screen: Screen, number: str) -> bool:
    return eventually(lambda: _display_of_calculator(screen) == number)


def test_the_offline_provider_calculates_in_a_real_calculator(screen: Screen) -> None:
    done = screen.wisp("do", "open the calculator and type 12*7=")
    assert (done.returncode, _shows(screen, "84")) == (0, True), done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "84"


@pytest.mark.long
def test_a_program_that_was_named_is_written_in_though_no_bus_says_what_it_is(screen: Screen) -> None:
    """A display without a session bus, as VNC servers start it."""
    without = {name: value for name, value in screen.environment.items() if name != "DBUS_SESSION_BUS_ADDRESS"}
    done = replace(screen, environment=without).wisp("do", "open the calculator and type 12*7=")
    assert done.returncode in (0, 1), done.stdout + done.stderr
    assert "Typed" in done.stdout
    assert "permission" not in done.stdout


def test_a_click_by_name_presses_the_right_key(screen: Screen) -> None:
    done = screen.wisp("do", "open the calculator, then click on 7, then click on the 5 button")
    assert (done.returncode, _shows(screen, "75")) == (0, True), done.stdout + done.stderr


def test_a_note_is_written_and_saved_exactly(screen: Screen) -> None:
    note = screen.home / "note.txt"
    wish = f'open the text editor and type "Zwölf Äpfel, 3 € – done" and press ctrl+s and type "{note}" and press enter'
    done = screen.wisp("do", wish)
    assert done.returncode == 0, done.stdout + done.stderr
    assert eventually(note.exists), done.stdout
    assert note.read_text(encoding="utf-8").rstrip("\n") == "Zwölf Äpfel, 3 € – done"


@pytest.mark.long
@pytest.mark.parametrize(
    ("saving", "name"),
    [
        ("save it as note.txt in {folder}", "note.txt"),
        ("save it as note.txt in {folder}, save it as copy.txt in {folder}", "copy.txt"),
        ('press ctrl+s, type "{folder}/plain" into Name and click Save', "plain"),
    ],
)
def test_a_text_is_saved_in_the_folder_that_is_named(screen: Screen, saving: str, name: str) -> None:
    folder = screen.home / "post"
    folder.mkdir()
    wish = f'open the text editor, type "Zwölf Äpfel", {saving.format(folder=folder)}'
    done = screen.wisp("do", wish)
    assert done.returncode == 0, done.stdout + done.stderr
    assert eventually((folder / name).is_file), done.stdout
    assert (folder / name).read_text(encoding="utf-8").rstrip("\n") == "Zwölf Äpfel"


@pytest.mark.long
def test_a_text_is_not_called_saved_while_its_dialog_asks_whether_to_replace_a_file(screen: Screen) -> None:
    note = screen.home / "post" / "note.txt"
    note.parent.mkdir()
    note.write_text("old", encoding="utf-8")
    done = screen.wisp("do", f'open the text editor, type "new", save it as note.txt in {note.parent}')
    assert (done.returncode, note.read_text(encoding="utf-8")) == (1, "old"), done.stdout + done.stderr
    assert "but I cannot see whether this worked" in done.stdout


@pytest.mark.long
def test_a_name_without_a_suffix_is_saved_where_the_person_quotes_it(screen: Screen) -> None:
    done = screen.wisp("do", 'open the text editor, type "hi", press ctrl+s, type "saved" into Name and click Save')
    assert done.returncode == 0, done.stdout + done.stderr
    assert eventually(lambda: any(screen.home.rglob("saved"))), done.stdout


def test_claude_does_the_same_through_its_real_sdk_and_sees_the_screen(screen: Screen) -> None:
    replies = [
        '<say tone="warm">Looking first.</say><screen_capture/>',
        '<open_app name="calculator"/>',
        "<computer_type>12*7=</computer_type>",
        "<attempt_completion><result>The display reads 84.</result></attempt_completion>",
    ]
    with AnthropicServer(replies=replies) as server:
        done = screen.wisp(
            *("do", "what is 12*7 in the calculator?", "--provider", "anthropic"),
            WISP_BASE_URL=server.url,
            ANTHROPIC_API_KEY="k",
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert _shows(screen, "84")
    images = [
        part["source"]["media_type"]
        for message in server.requests[1].body["messages"]
        for part in (message["content"] if isinstance(message["content"], list) else [])
        if part["type"] == "image"
    ]
    assert len(images) == 1
    assert images[0].startswith("image/")


def test_without_a_display_it_works_on_a_private_one_and_says_where_the_pictures_are(
    bare_environment: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    done = bare_environment("do", "open the calculator and type 12*7=")
    assert done.returncode == 0, done.stdout + done.stderr
    folder = Path(done.stderr.rsplit(" in ", 1)[1].strip())
    kept = sorted(path.name for path in folder.iterdir())
    events = [json.loads(line)["event"] for line in (folder / "transcript.jsonl").read_text().splitlines()]
    assert kept == ["first.jpg", "last.jpg", "transcript.jsonl"]
    assert (events[0], events[-1]) == ("turn_started", "turn_ended")


def test_json_output_is_one_event_a_line_in_the_order_of_the_protocol(screen: Screen) -> None:
    done = screen.wisp("do", "open the calculator", "--json")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    names = [event["event"] for event in events]
    calls = [event["call_id"] for event in events if event["event"] == "tag_start"]
    closed = [event["call_id"] for event in events if "echo" in event]
    assert done.returncode == 0
    assert names[0] == "turn_started"
    assert names[-1] == "turn_ended"
    assert "open_app" in names
    assert sorted(calls) == sorted(closed)


@pytest.mark.parametrize(
    ("wish", "word"),
    first_of(
        [
            ("open the flux capacitor", "flux capacitor"),
            ("click on Teleport", "Teleport"),
            ("write me a poem about the sea", "without a model"),
        ]
    ),
)
def test_what_cannot_be_done_is_said_in_a_sentence_and_nothing_happens(screen: Screen, wish: str, word: str) -> None:
    done = screen.wisp("do", wish)
    assert done.returncode in {0, 1}
    assert word.lower() in done.stdout.lower()
    assert _windows(screen) == []


def _windows(screen: Screen) -> list[str]:
    listed = subprocess.run(["wmctrl", "-l"], env=screen.environment, capture_output=True, text=True, check=False)
    return listed.stdout.splitlines()


def test_a_dry_run_touches_nothing(screen: Screen) -> None:
    done = screen.wisp("do", "open the calculator and type 12*7=", "--dry-run")
    assert (done.returncode, _windows(screen)) == (0, []), done.stdout + done.stderr
