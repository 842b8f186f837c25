"""What is written reads back as exactly what was planned."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from app.protocol.call import JsonValue
from app.providers.offline import provider
from app.providers.offline.plans import Plan, PlannedCall, Value, understood
from tests.unit.providers.offline.dialogue import WORLD, calls_in
from tests.unit.providers.offline.test_sentences import DONE

TEXT = st.text(alphabet=st.characters(codec="utf-8"), min_size=1, max_size=80)
PARTS = (
    "</computer_type>|<computer_type>|]]>|<![CDATA[|&lt;|&|<|>|\"|'|\n| |a|</say>|</result>|</attempt_completion>|"
    "<open_app name='x'/>|<!--|```|<think>|🎉|\t|\r\n"
)
MARKUP = st.lists(st.sampled_from(PARTS.split("|")), min_size=1, max_size=10).map("".join)


def as_pairs(text: str) -> list[tuple[str, dict[str, JsonValue]]]:
    return [(call.name, dict(call.arguments)) for call in calls_in(text)]


def test_the_calls_of_every_sentence_read_back() -> None:
    for row in DONE:
        reading = understood(row["say"], WORLD)
        steps = reading.steps if isinstance(reading, Plan) else ()
        assert as_pairs("".join(map(provider.call, steps))) == [(step.tool, typed(step.arguments)) for step in steps]


def typed(arguments: Mapping[str, Value]) -> dict[str, Any]:
    """The arguments as a tool gets them: a patch is JSON."""
    return {name: json.loads(str(value)) if name == "patch" else value for name, value in arguments.items()}


@given(TEXT | MARKUP)
def test_any_text_to_type_reads_back_exactly(text: str) -> None:
    assert as_pairs(provider.call(PlannedCall("computer_type", {"text": text}))) == [("computer_type", {"text": text})]


@given(TEXT | MARKUP)
def test_any_words_for_the_person_are_one_call_and_nothing_else(text: str) -> None:
    assert [name for name, _ in as_pairs(provider.completion(f"Found: {text}"))] == ["attempt_completion"]
    assert [name for name, _ in as_pairs(provider.speech(f"Found: {text}", "warm"))] == ["say"]


@given(TEXT | MARKUP)
def test_pieces_are_the_whole_text(text: str) -> None:
    assert "".join(provider.pieces(text)) == text
