"""`wisp schedule`, as a person types it."""

from __future__ import annotations

import pytest

from app.cli import main


@pytest.fixture(autouse=True)
def on_no_display(monkeypatch: pytest.MonkeyPatch) -> None:
    """A display that is set and used by nothing here, so that no private one is started."""
    monkeypatch.setenv("DISPLAY", ":0")


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    main(["schedule", *words])
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("name", ["tool=web_search", "*", " ", "a\nb"])
def test_only_names_can_be_allowed(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert main(["schedule", "add", "--yes", "every 2 hours", "look", "--allow", name]) != 0
    assert "allow: " in capsys.readouterr().err
    assert printed(capsys, "list") == ["Nothing is planned."]


@pytest.mark.parametrize("task", ["open the calculator", "notify me: stretch", "what is the date"])
def test_a_task_is_kept_without_a_word_more(capsys: pytest.CaptureFixture[str], task: str) -> None:
    told = printed(capsys, "add", "--yes", "every 2 hours", task)
    assert told[1].rpartition(" ")[2] == "1"


def test_a_schedule_that_does_not_exist_is_answered_with_those_that_do(capsys: pytest.CaptureFixture[str]) -> None:
    printed(capsys, "add", "--yes", "every 2 hours", "notify me: stretch")
    assert main(["schedule", "remove", "7"]) != 0
    assert "There is no planned task 7. There is: 1. notify me: stretch." in capsys.readouterr().err
