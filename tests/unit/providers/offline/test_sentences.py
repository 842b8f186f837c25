"""What people say and what it comes to."""

from __future__ import annotations

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.providers.offline.provider import read_wish, understands
from app.providers.offline.wording import phrasebook
from app.providers.offline.words import Plan, Refusal, Resume, Talk
from tests.unit.providers.offline.table import DECLINED, DONE, SENTENCES, Sentence

# A text to type and a fact may hold any words: what follows belongs to them.
WHOLE = ("computer_type", "remember", "recall", "forget", "web_search", "push_notification", "cron")
"""Their text may hold any words, so that nothing is chained behind it. So may a command behind a colon."""
CHAINED = tuple(s for s in DONE if s.calls[-1][0] not in WHOLE and not re.search("(?:run|aus|network): ", s.say))
ENGLISH = phrasebook("en")
WORDS = sorted({word for sentence in SENTENCES for word in sentence.say.split()})


def outcome(wish: str) -> Sentence:
    match read_wish(wish):
        case Plan(steps):
            return Sentence(wish, tuple((step.tool, dict(step.arguments)) for step in steps))
        case Talk(topic):
            return Sentence(wish, answered=topic)
        case Resume():
            return Sentence(wish, answered="resume")
        case Refusal(kind):
            return Sentence(wish, declined=kind)


@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda sentence: sentence.say[:50])
def test_a_sentence_comes_to_what_the_table_says(sentence: Sentence) -> None:
    assert outcome(sentence.say) == sentence


@pytest.mark.parametrize("before", ["please ", "could you ", "Hey Wisp, ", "First, ", "now ", "Please, "])
def test_politeness_before_a_sentence_changes_nothing(before: str) -> None:
    asked = [s for s in DONE if s.say[-1] not in "?." and not s.say.lstrip()[0].isdigit() and s.say[0] not in "-"]
    polite = [s for s in asked if before != "could you " or not s.say.lower().startswith(("could", "can", "hey"))]
    assert [outcome(before + s.say).calls for s in polite] == [s.calls for s in polite]


@pytest.mark.parametrize(
    "before", ["don't ", "do not ", "never ", "should I ", "did you ", "how do I ", "if it rains, ", "I opened "]
)
def test_what_is_not_wanted_asked_conditional_or_past_is_never_done(before: str) -> None:
    assert [s.say for s in DONE if outcome(before + s.say).calls] == []


@pytest.mark.parametrize("join", [" and ", ", ", "; ", ", then ", " then "])
def test_sentences_chain(join: str) -> None:
    plain = [s for s in CHAINED if s.say[-1] not in ".?!,;" and not s.say.endswith((" then", " and"))]
    chained = {s.say: outcome(s.say + join + "press f5").calls for s in plain}
    assert chained == {s.say: (*s.calls, ("computer_key", {"keys": "f5"})) for s in plain}


@given(st.text(max_size=200))
def test_no_text_raises_and_text_without_a_command_does_nothing(text: str) -> None:
    letters = text.translate({ord(letter): None for letter in string.ascii_letters})
    assert outcome(letters).calls == ()
    assert outcome(text).say == text


@given(st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join))
def test_words_in_any_order_never_raise_and_always_have_words_to_say(wish: str) -> None:
    reading = read_wish(wish)
    if isinstance(reading, Refusal):
        assert ENGLISH.refused(reading, understands).endswith((".", "“."))
    if isinstance(reading, Plan):
        assert all(ENGLISH.doing(step, index) for index, step in enumerate(reading.steps))
        assert ENGLISH.finished(reading.steps, [], "")


@given(st.text(alphabet=st.characters(exclude_characters='"“”', codec="utf-8"), min_size=1, max_size=60))
def test_quoted_text_is_typed_exactly(text: str) -> None:
    assert outcome(f'type "{text}" then press enter').calls == (
        ("computer_type", {"text": text}),
        ("computer_key", {"keys": "enter"}),
    )


def test_a_wish_of_many_clauses_is_read_in_one_go() -> None:
    wish = " and ".join(["press a"] * 40)
    assert len(outcome(wish).calls) == 40
    assert outcome(wish + " and press a").declined == "too_many"


def test_a_very_long_wish_is_declined() -> None:
    assert outcome("type " + "a" * 5000).declined == "too_long"


def test_a_refusal_is_one_sentence_with_the_nearest_thing() -> None:
    readings = [read_wish(sentence.say) for sentence in DECLINED]
    spoken = [ENGLISH.refused(reading, understands) for reading in readings if isinstance(reading, Refusal)]
    assert len(spoken) == len(DECLINED)
    assert [said for said in spoken if "\n" in said or "so I did nothing; " not in said or said[-1] != "."] == []


@pytest.mark.parametrize(
    ("wish", "nearest"),
    [
        ("opn the calculator", "“open the calculator”"),
        ("clik on Save", "“click on Save”"),
        ("save the file", "“press ctrl+s”"),
        ("use the text editor", "“open the text editor”"),
        ("select the File menu", "“click on the File menu”"),
        ("is the calculator open?", "which windows are open"),
        ("remind me tomorrow to stretch", "“remind me tomorrow at 9 to stretch”"),
    ],
)
def test_the_nearest_thing_is_named(wish: str, nearest: str) -> None:
    refusal = read_wish(wish)
    assert isinstance(refusal, Refusal)
    assert nearest in ENGLISH.refused(refusal, understands)
