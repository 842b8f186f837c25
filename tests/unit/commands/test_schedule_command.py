"""`wisp schedule`, as a person types it: what will wait for an answer is said at once."""

from __future__ import annotations

import shlex

import pytest

from app.cli import main


@pytest.fixture(autouse=True)
def on_no_display(monkeypatch: pytest.MonkeyPatch) -> None:
    """A display that is set and used by nothing here, so that no private one is started."""
    monkeypatch.setenv("DISPLAY", ":0")


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    main(["schedule", *words])
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("task", "waits", "rule"),
    [
        ("search the web for cats", ["this will wait", "- It searches the web for “cats”."], "tool=web_search"),
        (
            'open the text editor, type "hello" and save it as plan.txt in Documents',
            ["this may wait", "- It presses Return in a window, and what that does there cannot be read."],
            "tool=computer_key kind=unknown keys=Return",
        ),
    ],
)
def test_what_will_wait_is_said_at_once_with_a_command_that_allows_it(
    capsys: pytest.CaptureFixture[str], task: str, waits: list[str], rule: str
) -> None:
    told = printed(capsys, "add", "--yes", "every 2 hours", task)
    assert (waits[0] in told[1], told[2]) == (True, waits[1])
    way_on = shlex.split(told[-1].partition(" && wisp schedule ")[2])
    assert way_on == ["add", "every 2 hours", task, "--allow", rule]
    assert [line for line in printed(capsys, *way_on, "--yes") if "wait" in line] == [], "it waits for nothing now"


@pytest.mark.parametrize("task", ["open the calculator", "notify me: stretch", "what is the date"])
def test_a_task_that_asks_nothing_is_kept_without_a_word_more(capsys: pytest.CaptureFixture[str], task: str) -> None:
    told = printed(capsys, "add", "--yes", "every 2 hours", task)
    assert (len(told), told[1][:9]) == (2, "Kept as 1")


def test_a_schedule_that_does_not_exist_is_answered_with_those_that_do(capsys: pytest.CaptureFixture[str]) -> None:
    printed(capsys, "add", "--yes", "every 2 hours", "notify me: stretch")
    assert main(["schedule", "remove", "7"]) != 0
    assert "There is no schedule 7. There is: 1. notify me: stretch." in capsys.readouterr().err
