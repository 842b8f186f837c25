"""What a person is asked, and in which words."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from app.agent import asking
from app.agent.policy import Mode, Policy, Trust
from app.agent.policy.values import Action
from app.assembly import registry
from app.base import resources
from app.base.translation import languages, words_in
from app.desktop.backends import Owner
from app.protocol.call import ToolCall
from app.protocol.spec import Effect
from app.services.sandbox.layout import classify
from tests.support.controls import MAIL, TERMINAL, described

LANGUAGES = languages()[1:]


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WISP_DATA_DIR", str(tmp_path / "wisp"))


def _asked(folder: Path, tool: str, language: str = "", owner: Owner | None = None, **arguments: Any) -> Any:
    spec = registry().find(tool)
    assert spec is not None
    seen = (described(owner, "button", "Send", title="Inbox"),) if owner else ()
    verdict = Policy(folder, Mode.ASK).decide(ToolCall("c1", tool, arguments), spec, seen, Trust())
    assert verdict.act is not None
    return asking.question(verdict.needs, verdict.act, language), verdict


@pytest.mark.parametrize(
    ("language", "question"),
    [
        ("", "Let Wisp use Thunderbird and press “Send”? Wisp wants to press “Send” in “Inbox”."),
        ("de", "Darf Wisp Thunderbird benutzen und „Send“ drücken? Wisp möchte auf „Send“ in „Inbox“ klicken."),
    ],
)
def test_a_program_is_asked_for_by_its_name_with_what_is_to_be_done_there(
    tmp_path: Path, language: str, question: str
) -> None:
    asked, _ = _asked(tmp_path, "computer_click", language, MAIL, target="Send")
    assert asked.text == question
    assert [question[start:end] for start, end in asked.strong] == ["press" if not language else "klicken"]


def test_the_reason_says_what_a_program_of_its_tier_can_do(tmp_path: Path) -> None:
    _, verdict = _asked(tmp_path, "computer_click", "", TERMINAL, target="Send")
    assert "You did not name XTerm." in verdict.sentence
    assert "run any command that you can." in verdict.sentence


@pytest.mark.parametrize(
    ("command", "question"),
    [
        ("rm -r old", "Wisp wants to delete old."),
        ("curl -T notes.txt example.com", "Wisp wants to send notes.txt to example.com."),
        ("sudo apt install vim", "Wisp wants to install vim on the system as administrator."),
        ("for f in *; do rm $f; done", "Wisp wants to run “for f in *; do rm $f; done”."),
    ],
)
def test_a_command_is_told_in_words_or_shown_as_it_is(command: str, question: str) -> None:
    act = Action("execute_command", frozenset({Effect.EXECUTES}), command=command)
    assert asking.question((), act).text == question


@pytest.mark.parametrize(
    "command",
    [
        "find . -name '*.py' -delete",
        "find . -exec rm {} +",
        "cat a.txt; for f in *; do rm $f; done",
        "ls $(rm -rf x)",
        "cat <<END | sh\nrm x\nEND",
        "echo 'open",
        "awk 'BEGIN { system(\"rm x\") }'",
    ],
)
def test_a_command_that_does_more_than_look_is_never_called_a_look(command: str) -> None:
    said = asking.question((), Action("execute_command", frozenset({Effect.EXECUTES}), command=command))
    assert not said.deed.startswith(("list ", "read ", "search ", "look for ", "print "))


def test_the_verbs_of_a_call_are_no_marks_of_the_question() -> None:
    act = Action("open_app", frozenset({Effect.DESKTOP}), arguments={"name": "a *b* \x02c\x03 {name}"})
    asked = asking.question((), act)
    assert (asked.text, asked.strong) == ("Wisp wants to open a *b* c {name}.", ((14, 18),))


@pytest.mark.parametrize(
    ("schedule", "german"),
    [
        ("daily 9:00", "das täglich um 09:00 ("),
        ("mon,sat 17:00", "das jeden Montag, Samstag um 17:00 ("),
        ("every 2 hours", "das alle 2 Stunden ("),
    ],
)
@pytest.mark.feature("schedule")
def test_when_a_plan_runs_is_asked_in_german(schedule: str, german: str, tmp_path: Path) -> None:
    asked, _ = _asked(tmp_path, "cron", "de", schedule=schedule, task="tidy up")
    assert asked.text.startswith(f"Wisp möchte {german}")


def _places(words: Any) -> set[str]:
    """Return the path of every text in a table of words, such as `why.program`."""
    if not isinstance(words, dict):
        return {""}
    return {f"{name}.{rest}".rstrip(".") for name, one in words.items() for rest in _places(one)}


OPTIONAL = ("deeds.verb", "deeds.forms", "deeds.keys", "words.names", "words.instead")
"""What a language needs no words of its own for: what it has no forms of, and what only models read."""
NOT_WORDS = {"glyph", "kind", "body", "hidden", "named"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_language_has_words_for_all_that_is_asked(language: str) -> None:
    english, own = (
        _places(resources.table(f"languages/{one}/asking.toml", resources.Table)) for one in ("en", language)
    )
    assert [place for place in sorted(english - own) if not place.startswith(OPTIONAL)] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_language_has_words_for_every_tool(language: str) -> None:
    english, own = (resources.table(f"languages/{one}/tools.toml", resources.Table) for one in ("en", language))
    lacking = [
        f"{tool}: {part}"
        for tool, words in english.items()
        for part, one in words.items()
        if part not in NOT_WORDS
        and part not in own.get(tool, {})
        and any(map(str.isalpha, re.sub(r"{.*?}", "", str(one))))
    ]
    assert lacking == []
    assert own.keys() <= english.keys()


@pytest.mark.parametrize(
    ("reason", "german"),
    [
        ("curl x", "Wisp weiß nicht, ob er etwas ändert: niemand weiß, was „curl“ tut."),
        ("cat /etc/x", "Wisp weiß nicht, ob er etwas ändert: „/etc/x“ liegt außerhalb des Arbeitsordners."),
    ],
)
def test_a_reason_is_said_in_german(reason: str, german: str, tmp_path: Path) -> None:
    (told,) = classify(reason, tmp_path, tmp_path).reasons
    assert told.said(words_in("de")) == german


def test_models_read_no_you_that_is_the_person_and_no_it_that_is_wisp() -> None:
    words = asking.words_in(asking.MODELS, "words")
    tables = ("why", "tiers", "rule", "walls", "does", "sources")
    told = [words[name] for name in ("plan", "after_reading", "after_secrets")]
    told += [sentence for table in tables for sentence in words[table].values()]
    assert [one for one in told if re.search(r"\byou(r|rs)?\b|^It has|^It can|^It may", one)] == []
