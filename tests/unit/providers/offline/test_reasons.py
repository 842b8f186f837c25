"""What a person who speaks German reads where a step failed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from app.assistant import assembled
from app.base.errors import ToolFailed
from app.services.surfaces.chromium import settings
from app.services.surfaces.client import SurfaceEngine
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


@pytest.mark.parametrize(
    ("wish", "offer"),
    [
        ("turn the volume down", "what can you do?"),
        ("lösche alles in Downloads", "was kannst du?"),
        ("why is the sky blue?", "search the web for why is the sky blue"),
    ],
)
async def test_the_web_is_offered_for_a_question_and_never_for_an_order(tmp_path: Path, wish: str, offer: str) -> None:
    settings = Settings({"model.provider": "offline", "files.workspace": str(tmp_path)}, {})
    async with assembled(settings, without_screen=True) as assistant:
        said = (await assistant.send(wish)).text
    assert re.findall(r"[“„]([^“”„]+)[“”]", said) == [wish, offer]


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
        wishes = ("open the to-do list", "öffne To-do list", "rename the to-do list to Groceries", "open Groceris")
        told = [(await assistant.send(wish)).text for wish in wishes]
    assert told[:2] == ["Here is To-do list.", "Hier ist To-do list."]
    assert "No program called “Groceris” is installed" in told[3]
    assert told[3].endswith("Of Wisp's own apps: “Groceries”.")


_APPS = [
    ("zeig mir meine Apps", "Es gibt noch keine Apps."),
    ("rename my timer to Tea timer", "There is no app “Timer”. There are none yet."),
    ("make a timer", "Here is Timer."),
    ("make a timer", "Timer was there already."),
    ("mach einen Timer", "Timer gab es schon."),
    ("rename my timer to Tea timer", "Done."),
    ("undo that", "Taken back."),
    ("benenne Foo in Bar um", "Eine App „Foo“ gibt es nicht. Es gibt: „Timer“."),
    ("make another timer", "Here is Timer 2."),
    ("benenne meinen Timer in Teeuhr um", "Erledigt."),
    ("rename Timer 2 to Teeuhr", "Another app (app-timer) is called “Teeuhr” already."),
    ("benenne Timer 2 in teeuhr um", "„Teeuhr“ heißt schon eine andere App (app-timer)."),
    ("rename Teeuhr to TEEUHR", "Done."),
    ("delete the timer", "(Timer: app-timer, app-timer-2)"),
    ("rename app-timer-2 to Timer", "Done."),
    ("open app-timer", "Here is TEEUHR."),
    ("make another timer", "Here is Timer 2."),
    ("set a timer for 5 minutes", "The timer runs for 5 min."),
    ("noch einen Timer für 90 Sekunden", "Der Timer läuft, 1 min 30 s."),
    ("show my apps", "Timer 3"),
    ("delete the timer", "Deleted Timer."),
    ("what time is it", ":"),
    ("undo that", "Taken back."),
    ("lösche den Timer", "Timer ist gelöscht."),
    ("lösche app-timer-3", "Timer 3 ist gelöscht."),
    ("undo that", "Taken back."),
    ("undo that", "Taken back."),
    ("open Timer 2", "Here is Timer 2."),
    ("make a to-do list called Shopping", "Here is Shopping."),
    ("mach eine Aufgabenliste", "Hier ist Aufgaben."),
    ("rename the to-do list to Post", "Done."),
    ("lösche die Aufgabenliste", "Post ist gelöscht."),
]


async def test_small_apps_are_made_once_and_renamed_by_words(tmp_path: Path) -> None:
    settings = Settings({"model.provider": "offline", "files.workspace": str(tmp_path)}, {})
    async with assembled(settings, without_screen=True) as assistant:
        told = [(await assistant.send(wish)).text for wish, _ in _APPS]
    assert [(one, said) for one, (_, said) in zip(told, _APPS, strict=True) if said not in one] == []


async def test_why_the_window_of_a_new_app_did_not_open_is_told_whatever_the_engine_calls_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(_engine: SurfaceEngine, _surface: str) -> str:
        raise ToolFailed(settings()["says"]["no_start"].format(program="Engine", said="qt_plugin_path is not set"))

    monkeypatch.setattr(SurfaceEngine, "open", broken)
    chosen = Settings({"model.provider": "offline", "files.workspace": str(tmp_path)}, {})
    async with assembled(chosen, without_screen=True) as assistant:
        said = (await assistant.send("make a timer")).text
    assert "“qt_plugin_path is not set”" in said
    assert "launch_app" not in said
