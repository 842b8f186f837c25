"""The sentence that a person is asked, as data: each line is a call and the sentence it gets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from app.agent.policy import Mode, Provenance, sentences
from app.agent.policy.sentences import table
from app.agent.policy.values import Action, Consequence
from app.base import resources
from app.protocol.call import ToolCall
from app.protocol.spec import Effect, ToolSpec, unbound
from tests.support.policy_rows import ROWS, SPECS, policy_of, provenance_of, seen_in

TABLE = Path(__file__).resolve().parents[3] / "data" / "asking.jsonl"
ASKED = [json.loads(line) for line in TABLE.read_text(encoding="utf-8").splitlines()]
KNOWN = SPECS | {
    name: ToolSpec(name, "A stand-in.", Effect.NETWORK, unbound)
    for name in ("mcp_github_create_issue", "browser_action")
}
LANGUAGES = sorted(path.stem for path in resources.path("languages/policy").glob("*.toml"))
FOR_MODELS = ("It ", "x and y", "look before", "unverifiable", "None", "  ", "{", "()", "?.")


def _question(row: dict[str, Any], folder: Path, provenance: Provenance) -> str:
    return _asked(row, folder, provenance).text


def _asked(row: dict[str, Any], folder: Path, provenance: Provenance, language: str = "") -> sentences.AskedSentence:
    call = ToolCall("c1", row["tool"], row["args"])
    act = policy_of(row, folder).decide(call, KNOWN[row["tool"]], seen_in(row), provenance).act
    assert act is not None
    return sentences.question(act, provenance, language)


@pytest.mark.parametrize(
    ("schedule", "german"),
    [
        ("daily 9:00", "das täglich um 09:00 ("),
        ("mon,sat 17:00", "das jeden Montag und Samstag um 17:00 ("),
        ("weekdays 8:00", "das jeden Montag bis Freitag um 08:00 ("),
        ("mon,wed,fri 8:00", "das jeden Montag, Mittwoch und Freitag um 08:00 ("),
        ("mon,wed,fri,sun 8:00", "das jeden Montag, Mittwoch, Freitag und Sonntag um 08:00 ("),
        ("0 9 1 * *", "das jeden ersten Tag des Monats um 09:00 ("),
        ("every 2 hours", "das alle 2 Stunden ("),
    ],
)
def test_when_a_plan_runs_is_asked_in_german(schedule: str, german: str, tmp_path: Path) -> None:
    row = {"tool": "cron", "args": {"schedule": schedule, "task": "tidy up"}}
    assert _asked(row, tmp_path, Provenance(), "de").text.startswith(f"Wisp möchte {german}")


def _places(words: Any) -> set[str]:
    """Return the path of every text in a table of words, such as `what.desktop.press`."""
    if not isinstance(words, dict):
        return {""}
    return {f"{name}.{rest}".rstrip(".") for name, one in words.items() for rest in _places(one)}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("asking", ("risk", "tools", "effects", "programs", "frame", "and", "several", "everything", "many", "admin")),
        ("asking", ("unknown", "piped", "here", "above")),
        ("sentences", ("what", "named", "does", "unnamed", "unknown_window")),
    ],
)
def test_a_language_has_words_for_all_that_is_asked(language: str, name: str, parts: tuple[str, ...]) -> None:
    english = table(name)
    own = resources.table(f"languages/policy/{language}.toml", resources.Table)[name]
    assert [part for part in parts if part not in own] == []
    assert [place for part in parts for place in sorted(_places(english[part]) - _places(own[part])) if place] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_language_has_words_for_why_it_is_asked(language: str) -> None:
    rules = resources.table("policy/default.toml", resources.Table)["rule"]
    asked = {rule["says"] for rule in rules if rule["then"] == "ask" and "says" in rule}
    own = resources.table(f"languages/policy/{language}.toml", resources.Table)["sentences"]
    assert sorted(asked - set(own["rules"])) == []


def test_the_verbs_of_a_call_are_no_marks_of_the_question(tmp_path: Path) -> None:
    row = {"tool": "open_app", "args": {"name": "a *b* \x02c\x03 {name}"}}
    asked = _asked(row, tmp_path, Provenance())
    assert (asked.text, asked.strong) == ("Wisp wants to open a *b* c {name}.", ((14, 18),))


@pytest.mark.parametrize(
    ("reason", "german"),
    [
        ("It asks for the network.", "Er soll ins Netz dürfen."),
        (
            "It may do more than look: 'rm' is not known to only look.",
            "Er kann mehr tun als nachsehen: Von 'rm' ist nicht bekannt, dass es nur nachsieht.",
        ),
        ("It works in /srv/a, outside the workspace.", "Er arbeitet in /srv/a, außerhalb des Arbeitsordners."),
        ("A reason of tomorrow.", "A reason of tomorrow."),
    ],
)
def test_a_reason_is_said_in_german(reason: str, german: str) -> None:
    assert sentences.in_language(reason, "de") == german


def test_what_only_the_model_is_to_do_is_left_out_for_a_person(tmp_path: Path) -> None:
    row = {"mode": "auto", "seen": {"role": "", "name": "", "app": "", "window": ""}}
    policy = policy_of(row, tmp_path)
    call = ToolCall("c1", "computer_click", {"x": 400, "y": 200})
    verdict = policy.decide(call, KNOWN["computer_click"], seen_in(row), Provenance())
    assert "Way on" in verdict.sentence
    told = policy.told(verdict, Provenance())
    assert told == "It acts on a control without a name in a window, and what that does there cannot be read."
    assert verdict.act is not None
    german = sentences.told(verdict.template, verdict.act, Mode.AUTO, Provenance(), "de")
    assert german.startswith("Das betätigt ein Bedienelement ohne Namen in einem Fenster, und was das dort bewirkt, ")
    assert german.endswith("lässt sich nicht erkennen.")


@pytest.mark.parametrize("row", [param.values[0] for param in ROWS if param.values[0]["expect"] == "ask"])
def test_whatever_is_asked_is_asked_in_one_sentence_for_people(row: Any, tmp_path: Path) -> None:
    said = _question(row, tmp_path, provenance_of(row))
    assert said.startswith("Wisp wants to ")
    assert said.endswith(".")
    assert [words for words in FOR_MODELS if words in said] == []


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
    said = sentences.question(Action("execute_command", frozenset({Effect.EXECUTES}), command=command), Provenance())
    assert not said.deed.startswith(("list ", "read ", "search ", "look for ", "print "))


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("web_search", {"query": "cats"}, "It searches the web for “cats”"),
        (
            "use_mcp_tool",
            {"server_name": "words", "tool_name": "count"},
            "It uses the tool “count” of the server “words”",
        ),
    ],
)
def test_a_tool_that_says_more_than_its_effect_is_named_by_its_arguments(
    tool: str, arguments: dict[str, str], said: str
) -> None:
    act = Action(tool, frozenset({Effect.NETWORK}), frozenset({Consequence.OUTWARD}), arguments=arguments)
    assert sentences.what(act) == said


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        (frozenset[Consequence](), "It runs a command"),
        (
            frozenset({Consequence.FOREIGN}),
            "It runs a command in a workspace that came from elsewhere (if it is yours: wisp policy trust FOLDER)",
        ),
    ],
)
def test_a_command_in_a_cloned_folder_says_so_and_how_the_folder_is_trusted(
    kinds: frozenset[Consequence], said: str
) -> None:
    assert sentences.what(Action("execute_command", frozenset({Effect.EXECUTES}), kinds)) == said
