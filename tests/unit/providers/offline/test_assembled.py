"""Plain commands in the assembled assistant, whose tools really run."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from app.assistant import Assistant, assembled
from app.base.errors import ToolFailed
from app.features.apps.chromium import settings
from app.features.apps.client import SurfaceEngine
from app.settings.store import Settings


def _assembled(folder: Path) -> AbstractAsyncContextManager[Assistant]:
    chosen = {"model.provider": "offline", "files.workspace": str(folder)}
    return assembled(Settings(chosen, {}), without_screen=True)


async def test_what_the_person_spelled_out_runs_without_a_question(tmp_path: Path) -> None:
    async with _assembled(tmp_path) as assistant:
        said = (await assistant.send('öffne das Terminal, tippe "ls" und drücke enter')).text
    assert "„ls“ getippt und enter gedrückt" in said


async def test_a_file_whose_name_begins_with_my_is_meant_before_one_without(tmp_path: Path) -> None:
    for name in ("my notes.md", "notes.md", "letter.txt"):
        (tmp_path / name).write_text(name)
    async with _assembled(tmp_path) as assistant:
        told = [(await assistant.send(wish)).text for wish in ("delete my notes.md", "delete my letter.txt")]
    assert told == ["Deleted “my notes.md”.", "Deleted “letter.txt”."]
    assert [file.name for file in tmp_path.glob("*.*")] == ["notes.md"]


@pytest.mark.feature("apps")
async def test_an_app_that_wisp_made_is_opened_by_its_name_and_named_where_it_is_near(tmp_path: Path) -> None:
    async with _assembled(tmp_path) as assistant:
        await assistant.send("make a to-do list")
        wishes = ("open the to-do list", "öffne To-do list", "rename the to-do list to Groceries", "open Groceris")
        told = [(await assistant.send(wish)).text for wish in wishes]
    assert told[:2] == ["Here is To-do list.", "Hier ist To-do list."]
    assert "Groceries" in told[3]


_APPS = [
    ("zeig mir meine Apps", "Es gibt noch keine Apps."),
    ("rename my timer to Tea timer", "could not"),
    ("make a timer", "Here is Timer."),
    ("mach einen Timer", "Timer gab es schon."),
    ("rename my timer to Tea timer", "Done."),
    ("undo that", "Taken back."),
    ("benenne Foo in Bar um", "Das ging nicht"),
    ("make another timer", "Here is Timer 2."),
    ("rename app-timer to Teeuhr", "Done."),
    ("rename Timer 2 to teeuhr", "could not"),
    ("delete the timer", "(Timer: app-timer, app-timer-2)"),
    ("make another timer", "Here is Timer."),
    ("set a timer for 5 minutes", "The timer runs for 5 min."),
    ("show my apps", "Teeuhr"),
    ("lösche Timer 2", "Timer 2 ist gelöscht."),
    ("what time is it", ":"),
    ("undo that", "Taken back."),
    ("undo that", "Taken back."),
    ("mach eine Aufgabenliste", "Hier ist Aufgaben."),
    ("rename the to-do list to Post", "Done."),
    ("lösche die Aufgabenliste", "Post ist gelöscht."),
]


@pytest.mark.feature("apps")
async def test_small_apps_are_made_once_and_renamed_by_words(tmp_path: Path) -> None:
    async with _assembled(tmp_path) as assistant:
        told = [(await assistant.send(wish)).text for wish, _ in _APPS]
    assert [(one, said) for one, (_, said) in zip(told, _APPS, strict=True) if said not in one] == []


@pytest.mark.feature("apps")
async def test_why_the_window_of_a_new_app_did_not_open_is_told_whatever_the_engine_calls_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(_engine: SurfaceEngine, _surface: str) -> str:
        raise ToolFailed(settings()["says"]["no_start"].format(program="Engine", said="qt_plugin_path is not set"))

    monkeypatch.setattr(SurfaceEngine, "open", broken)
    async with _assembled(tmp_path) as assistant:
        said = (await assistant.send("make a timer")).text
    assert "“qt_plugin_path is not set”" in said
    assert "launch_app" not in said
