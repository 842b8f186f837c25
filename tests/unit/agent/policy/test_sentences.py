"""The sentence that a person is asked, as data: each line is a call and the sentence it gets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from app.agent.policy import Provenance, sentences
from app.agent.policy.values import Action, Consequence
from app.protocol.call import ToolCall
from app.protocol.spec import Effect, ToolSpec, unbound
from tests.support.policy_rows import ROWS, SPECS, policy_of, provenance_of, seen_in

TABLE = Path(__file__).resolve().parents[3] / "data" / "asking.jsonl"
ASKED = [json.loads(line) for line in TABLE.read_text(encoding="utf-8").splitlines()]
KNOWN = SPECS | {
    name: ToolSpec(name, "A stand-in.", Effect.NETWORK, unbound)
    for name in ("mcp_github_create_issue", "browser_action")
}
FOR_MODELS = ("It ", "x and y", "look before", "unverifiable", "None", "  ", "{", "()", "?.")


def _question(row: dict[str, Any], folder: Path, provenance: Provenance) -> str:
    call = ToolCall("c1", row["tool"], row["args"])
    act = policy_of(row, folder).decide(call, KNOWN[row["tool"]], seen_in(row), provenance).act
    assert act is not None
    return sentences.question(act, provenance)


def test_there_are_sentences_enough() -> None:
    assert len(ASKED) >= 80


@pytest.mark.parametrize("row", ASKED, ids=lambda row: row["says"][:60])
def test_the_question_is_the_tables(row: dict[str, Any], tmp_path: Path) -> None:
    provenance = Provenance((row["tainted"],) if "tainted" in row else ())
    assert _question(row, tmp_path, provenance) == row["says"]


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
    (said, *_) = sentences.deeds(command, only_looks=False)
    assert not said.startswith(("list ", "read ", "search ", "look for ", "print "))


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
