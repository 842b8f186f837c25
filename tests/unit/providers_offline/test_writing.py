"""What is written reads back as exactly what was planned."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.protocol.result import JsonValue
from app.providers.offline import wording, write
from app.providers.offline.reading import read_wish
from app.providers.offline.steps import Plan, Step
from tests.unit.providers_offline.dialogue import calls_in
from tests.unit.providers_offline.table import DONE, Sentence

TEXT = st.text(alphabet=st.characters(codec="utf-8"), min_size=1, max_size=80)
MARKUP = st.lists(
    st.sampled_from(
        [
            "</computer_type>",
            "<computer_type>",
            "]]>",
            "<![CDATA[",
            "&lt;",
            "&",
            "<",
            ">",
            '"',
            "'",
            "\n",
            " ",
            "a",
            "</say>",
            "</result>",
            "</attempt_completion>",
            "<open_app name='x'/>",
            "<!--",
            "```",
            "<think>",
            "🎉",
            "\t",
            "\r\n",
        ]
    ),
    min_size=1,
    max_size=10,
).map("".join)


def as_pairs(text: str) -> list[tuple[str, dict[str, JsonValue]]]:
    return [(call.name, dict(call.arguments)) for call in calls_in(text)]


@pytest.mark.parametrize("sentence", DONE, ids=lambda sentence: sentence.say[:50])
def test_the_calls_of_a_sentence_read_back(sentence: Sentence) -> None:
    reading = read_wish(sentence.say)
    assert isinstance(reading, Plan)
    spoken = [wording.doing(step, index) for index, step in enumerate(reading.steps)]
    written = "".join(
        write.speech(said, "warm") + write.call(step) for said, step in zip(spoken, reading.steps, strict=True)
    )
    assert [pair for pair in as_pairs(written) if pair[0] != "say"] == list(sentence.calls)


@given(TEXT | MARKUP)
@settings(max_examples=400, deadline=None)
def test_any_text_to_type_reads_back_exactly(text: str) -> None:
    assert as_pairs(write.call(Step("computer_type", {"text": text}))) == [("computer_type", {"text": text})]


@given(TEXT | MARKUP)
@settings(max_examples=400, deadline=None)
def test_any_words_for_the_person_are_one_call_and_nothing_else(text: str) -> None:
    assert [name for name, _ in as_pairs(write.completion(f"Found: {text}"))] == ["attempt_completion"]
    assert [name for name, _ in as_pairs(write.speech(f"Found: {text}", "warm"))] == ["say"]


@given(TEXT | MARKUP)
@settings(max_examples=200, deadline=None)
def test_pieces_are_the_whole_text(text: str) -> None:
    assert "".join(write.pieces(text)) == text
