"""What is written reads back as exactly what was planned."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from app.protocol.call import JsonValue
from app.providers.offline import provider
from app.providers.offline.provider import read_wish
from app.providers.offline.wording import phrasebook
from app.providers.offline.words import Plan, PlannedCall
from tests.unit.providers.offline.dialogue import calls_in
from tests.unit.providers.offline.table import DONE

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


def spoken_and_written(wish: str) -> str:
    reading = read_wish(wish)
    assert isinstance(reading, Plan)
    steps = enumerate(reading.steps)
    return "".join(
        provider.speech(phrasebook("en").doing(step, index), "warm") + provider.call(step) for index, step in steps
    )


def test_the_calls_of_every_sentence_read_back() -> None:
    written = {sentence.say: as_pairs(spoken_and_written(sentence.say)) for sentence in DONE}
    called = {say: [pair for pair in pairs if pair[0] != "say"] for say, pairs in written.items()}
    assert called == {sentence.say: list(sentence.calls) for sentence in DONE}


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
