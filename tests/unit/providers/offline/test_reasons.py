"""What a person who speaks German reads where a step failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.assistant import assembled
from app.settings.store import Settings


@pytest.mark.parametrize(
    ("wish", "why"),
    [
        ("öffne Frobnikator", "Es gibt hier kein Programm „Frobnikator“. Am nächsten kommen: Text Editor."),
        ("schließe Frobnikator", "Kein Fenster heißt „Frobnikator“. Es ist kein Fenster offen."),
        ("wie viele Dateien sind in /nirgends", "„/nirgends“ gibt es nicht."),
        ("vergiss dass ich Katzen mag", "Davon habe ich mir nichts gemerkt."),
        ("list files in Nowhere", "There is no “Nowhere”."),
        ("list files in ~/nirgends", "There is no “~/nirgends”."),
        ("close Frobnikator", "No window is called “Frobnikator”. No window is open."),
    ],
)
async def test_why_a_step_failed_is_said_in_the_language_of_the_wish(tmp_path: Path, wish: str, why: str) -> None:
    settings = Settings({"model.provider": "offline", "files.workspace": str(tmp_path)}, {})
    async with assembled(settings, without_screen=True) as assistant:
        said = (await assistant.send(wish)).text
    assert said.endswith(f": {why}")


async def test_what_the_person_spelled_out_runs_without_a_question(tmp_path: Path) -> None:
    settings = Settings({"model.provider": "offline", "files.workspace": str(tmp_path), "trust.mode": "ask"}, {})
    async with assembled(settings, without_screen=True) as assistant:
        said = (await assistant.send('öffne das Terminal, tippe "ls" und drücke enter')).text
    assert "„ls“ getippt und enter gedrückt" in said


async def test_a_file_whose_name_begins_with_my_is_meant_before_one_without(tmp_path: Path) -> None:
    for name in ("my notes.md", "notes.md", "letter.txt"):
        (tmp_path / name).write_text(name)
    settings = Settings({"model.provider": "offline", "files.workspace": str(tmp_path)}, {})
    async with assembled(settings, without_screen=True) as assistant:
        told = [(await assistant.send(wish)).text for wish in ("delete my notes.md", "delete my letter.txt")]
    assert told == ["Deleted “my notes.md”.", "Deleted “letter.txt”."]
    assert [file.name for file in tmp_path.glob("*.*")] == ["notes.md"]


async def test_an_app_that_wisp_made_is_opened_by_its_name_and_named_where_it_is_near(tmp_path: Path) -> None:
    settings = Settings({"model.provider": "offline", "files.workspace": str(tmp_path)}, {})
    async with assembled(settings, without_screen=True) as assistant:
        await assistant.send("make a to-do list")
        told = [
            (await assistant.send(wish)).text for wish in ("open the to-do list", "öffne To-do list", "open to-do lost")
        ]
    assert "opened" in told[0], told
    assert "geöffnet" in told[1], told
    assert "No program called “to-do lost” is installed" in told[2]
    assert told[2].endswith("Of Wisp's own apps: “To-do list”.")


_APPS = [
    ("rename my timer to Tea timer", "There is no app “timer”. There are none yet."),
    ("make a timer", "Here is Timer."),
    ("make a timer", "Timer was there already."),
    ("mach einen Timer", "Timer gab es schon."),
    ("rename my timer to Tea timer", "Done."),
    ("undo that", "Taken back."),
    ("benenne Foo in Bar um", "Eine App „Foo“ gibt es nicht. Es gibt: „Timer“."),
    ("make another timer", "Here is Timer 2."),
    ("benenne meinen Timer in Teeuhr um", "Erledigt."),
    ("rename Timer 2 to Teeuhr", "Done."),
    ("rename Teeuhr to Timer", "Several apps are called “Teeuhr”: app-timer"),
    ("rename app-timer-2 to Timer", "Done."),
]


async def test_small_apps_are_made_once_and_renamed_by_words(tmp_path: Path) -> None:
    settings = Settings({"model.provider": "offline", "files.workspace": str(tmp_path)}, {})
    async with assembled(settings, without_screen=True) as assistant:
        told = [(await assistant.send(wish)).text for wish, _ in _APPS]
    assert [(one, said) for one, (_, said) in zip(told, _APPS, strict=True) if said not in one] == []
