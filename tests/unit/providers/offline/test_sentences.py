"""What people say and what it comes to."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.protocol.call import JsonValue
from app.providers.offline.plans import Plan, Resume, Talk, Understood, understood
from app.providers.offline.reading import Refusal
from app.providers.offline.wording import phrasebook
from app.providers.offline.world import World
from tests.conftest import DATA
from tests.unit.providers.offline.dialogue import WORLD

Row = dict[str, Any]
Calls = list[tuple[str, dict[str, JsonValue]]]

AS_GOOD = {
    # A click looks for the best match of its target, with or without the kind of the thing.
    "right click the trash icon for me",
}
"""Sentences of held_out.toml that come to other calls than it says, which do the same."""
WHOLE = ("computer_type", "write_file", "remember", "recall", "forget", "web_search", "push_notification", "cron")
"""Their text may hold any words, so that nothing is chained behind it. So may a command to run."""
LANGUAGES = ("en", "de")
F5: dict[str, JsonValue] = {"keys": "f5"}


def rows(name: str) -> list[Row]:
    return list(tomllib.loads((DATA / f"offline/{name}.toml").read_text(encoding="utf-8"))["sentence"])


HELD_OUT = rows("held_out")
SENTENCES = [
    row for file in sorted((DATA / "offline").glob("*.toml")) if file.stem != "held_out" for row in rows(file.stem)
]
DONE = [row for row in SENTENCES if "calls" in row]


NAMED = (
    "Documents/Taxes/tax return 2024.pdf",
    "Documents/lease.docx",
    "Documents/survey.docx",
    "Papers/survey.pdf",
    "Documents/Projects/Versicherung.odt",
    "Documents/Holiday",
    "Documents/Projects/Recipes",
    "Music/Yellow Submarine.mp3",
    "Downloads/big-setup.exe",
    "Pictures/Screenshot 2026-11-02.png",
    "Documents/minutes.txt",
    "Downloads/backup.tar.gz",
    "Papers/statement.pdf",
)
"""Files and folders by which the tables name some, the newest and largest last."""
LATER = 4_000_000_000


@pytest.fixture(autouse=True)
def home(own_data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folders of the tables, each with one file of every kind, and some that are named."""
    for folder in ("Desktop", "Documents", "Downloads", "Pictures", "Music", "Videos"):
        (tmp_path / folder).mkdir()
        for ending in ("png", "pdf", "jpg", "txt", "mp3", "docx", "csv", "zip"):
            (tmp_path / folder / f"x.{ending}").touch()
    for number, name in enumerate(NAMED):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix:
            file.write_bytes(b"x" * (number + 1))
            os.utime(file, (LATER + number, LATER + number))
        else:
            file.mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))


def read(wish: str) -> Understood:
    return understood(wish, WORLD)


def calls(wish: str) -> Calls:
    reading = read(wish)
    return [(step.tool, dict(step.arguments)) for step in reading.steps] if isinstance(reading, Plan) else []


def wanted(row: Row) -> Calls:
    return [(tool, arguments) for tool, arguments in row.get("calls", ())]


def comes_to(wish: str) -> Row:
    """The row that a table would hold for the wish."""
    match read(wish):
        case Plan():
            return {"calls": calls(wish)}
        case Talk(topic):
            return {"answered": topic}
        case Resume():
            return {"answered": "resume"}
        case Refusal():
            return {"declined": True}


def told(row: Row) -> Row:
    """A row of a table without the words."""
    return (
        {"calls": wanted(row)} if "calls" in row else {name: row[name] for name in row if name not in ("say", "kind")}
    )


CROSSED = World(
    apps=(
        ("app-timer", "Foo"),
        ("app-timer-2", "Timer"),
        ("app-odd", "app-timer"),
        ("app-to-do-list", "Post"),
        ("app-unit-converter", "a"),
        ("app-einheiten-umrechnen-2", "b"),
        ("app-post", "Foo"),
    )
)
"""Apps whose names are those of others."""
MEANT = {
    "app-timer": ["app-timer"],
    "app app-timer": ["app-timer"],
    "app-timer-2": ["app-timer-2"],
    "app-gone": ["app-gone"],
    "Timer": ["app-timer-2"],
    "Foo": [],
}
IN_ENGLISH = {**MEANT, "to-do list": ["app-to-do-list"], "unit converter": []}
IN_GERMAN = {**MEANT, "Aufgabenliste": ["app-to-do-list"], "Einheitenumrechner": []}


@pytest.mark.parametrize(
    ("shape", "meant"),
    [
        ("delete the {}", IN_ENGLISH),
        ("open the {}", IN_ENGLISH),
        ("rename the {} to Tea", IN_ENGLISH),
        ("lösche die {}", IN_GERMAN),
        ("öffne die {}", IN_GERMAN),
        ("benenne die {} in Tee um", IN_GERMAN),
    ],
)
def test_an_app_is_meant_by_its_id_or_else_by_its_name_or_as_the_only_one_of_its_sort(
    shape: str, meant: dict[str, list[str]]
) -> None:
    readings = {said: understood(shape.format(said), CROSSED) for said in meant}
    found = {
        said: [next(iter(step.arguments.values())) for step in reading.steps] if isinstance(reading, Plan) else []
        for said, reading in readings.items()
    }
    assert found == meant
    refused = [reading.kind for reading in readings.values() if isinstance(reading, Refusal)]
    assert refused == ["several_apps", "several_apps"]


def test_what_is_there_already_is_opened_and_not_made() -> None:
    wishes = ("make a timer", "set a timer for 5 minutes", "make a habit tracker called foo", "make another timer")
    readings = [understood(wish, CROSSED) for wish in wishes]
    first = [(one.steps[0].tool, one.steps[0].arguments.get("id")) for one in readings if isinstance(one, Plan)]
    assert first == [
        ("launch_app", "app-timer-2"),
        ("launch_app", "app-timer-2"),
        ("launch_app", "app-timer"),
        ("create_app", None),
    ]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_length_of_time_that_is_not_taken_is_told_as_people_write_it(language: str) -> None:
    book = phrasebook(language)
    told = [
        book.refused(reading)
        for reading in map(read, ("set a timer for 0 minutes", "wait 0 seconds", "set a timer for 100000.5 hours"))
        if isinstance(reading, Refusal)
    ]
    assert ["0 s" in one for one in told] == [True, True, False]
    assert told[0] == told[1]
    assert "100000 h 30 min" in told[2] and "24 h" in told[2]


@pytest.mark.parametrize("row", SENTENCES, ids=lambda row: row["say"][:50])
def test_a_sentence_comes_to_what_the_table_says(row: Row) -> None:
    assert comes_to(row["say"]) == told(row)


def test_sentences_that_the_grammar_never_saw_are_read_rightly_or_not_at_all() -> None:
    missed = [row["say"] for row in HELD_OUT if comes_to(row["say"]) != told(row) and row["say"] not in AS_GOOD]
    assert [say for say in missed if comes_to(say) != {"declined": True}] == []
    assert len(missed) <= len(HELD_OUT) / 10, missed


@pytest.mark.parametrize("before", ["please ", "could you ", "Hey Wisp, ", "First, ", "now ", "Please, "])
def test_politeness_before_a_sentence_changes_nothing(before: str) -> None:
    plain = [row for row in DONE if row["kind"] == "en" and row["say"][-1] not in "?." and is_bare(row["say"])]
    assert [row["say"] for row in plain if calls(before + row["say"]) != wanted(row)] == []


def is_bare(say: str) -> bool:
    """Whether a sentence begins with its verb."""
    return not re.match(r"\W|\d|(?:could|can|would|will|please|hey|hi|ok|i|let|what|which|how|in|every)\b", say, re.I)


@pytest.mark.parametrize(
    "before", ["don't ", "do not ", "never ", "should I ", "did you ", "how do I ", "if it rains, ", "I opened "]
)
def test_what_is_not_wanted_asked_conditional_or_past_is_never_done(before: str) -> None:
    plain = [row["say"] for row in DONE if row["kind"] == "en" and not re.search(r"forget| > ", row["say"])]
    assert [say for say in plain if calls(before + say)] == []


@pytest.mark.parametrize(
    "wish",
    [
        "open the calculator if it rains",
        "öffne nicht den Rechner",
        "öffne den Rechner nicht",
        "lösche bitte nicht plan.txt",
        "soll ich den Rechner öffnen?",
        "wie öffne ich den Rechner?",
        "hast du den Rechner geöffnet?",
        "ich habe den Rechner geöffnet",
        "wenn es regnet, öffne den Rechner",
        "öffne den Rechner, wenn es regnet",
    ],
)
def test_neither_is_it_where_the_words_for_that_stand_elsewhere(wish: str) -> None:
    assert calls(wish) == []


_JOINS = (" and ", ", ", "; ", ", then ", " then ")


@pytest.mark.parametrize("join", _JOINS)
def test_sentences_chain(join: str) -> None:
    plain = [row for row in DONE if row["say"][-1] not in ".?!" and is_closed(row)]
    rows = plain[_JOINS.index(join) :: len(_JOINS)]  # each sentence once: with which word it is joined, is one rule
    missed = [
        row["say"] for row in rows if calls(f"{row['say']}{join}press f5") != [*wanted(row), ("computer_key", F5)]
    ]
    assert missed == []


def is_closed(row: Row) -> bool:
    """Whether a sentence ends with no text that could hold any words, and is not a plan for later."""
    return wanted(row)[-1][0] not in (*WHOLE, "execute_command")


@given(st.text(max_size=200))
@example("0»0")
@example("²³»0")
def test_no_text_raises_and_text_without_a_letter_does_nothing(text: str) -> None:
    read(text)
    assert calls("".join(sign for sign in text if not sign.isalpha())) == []


_WORDS = sorted({word for row in SENTENCES for word in row["say"].split()})
_MARKS = [
    "\n",
    "\r",
    *["please.", "OK", "bitte;", "thanks!", ".", ";", "»", ">", "→", "and", "then", "?", "“", '"', ",", "5"],
]


@given(st.lists(st.sampled_from(_WORDS) | st.sampled_from(_MARKS), max_size=14))
@example(["please.", "OK"])
@example(["bitte.", "danke.", "OK"])
def test_words_in_any_order_never_raise_and_always_have_words_to_say(words: list[str]) -> None:
    reading, book = read(" ".join(words)), phrasebook("en")
    if isinstance(reading, Refusal):
        assert book.refused(reading).endswith(".")
    if isinstance(reading, Plan):
        assert book.finished(reading.steps, [], "") and book.listed(reading.steps)


@given(st.text(alphabet=st.characters(exclude_characters='"“”', codec="utf-8"), min_size=1, max_size=60))
@example("\r")
@example(" ")
def test_quoted_text_is_typed_exactly(text: str) -> None:
    assert calls(f'type "{text}" then press enter') == [
        ("computer_type", {"text": text}),
        ("computer_key", {"keys": "enter"}),
    ]


def test_a_wish_of_many_clauses_is_read_in_one_go() -> None:
    wish = " and ".join(["press a"] * 40)
    assert len(calls(wish)) == 40
    assert read(wish + " and press a") == Refusal("too_many")


def test_a_very_long_wish_is_declined() -> None:
    assert read("type " + "a" * 5000) == Refusal("too_long")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_refusal_is_one_sentence_and_what_it_offers_is_understood(language: str) -> None:
    book = phrasebook(language)
    readings = [read(row["say"]) for row in (*SENTENCES, *HELD_OUT) if row.get("declined")]
    refused = [reading for reading in readings if isinstance(reading, Refusal)]
    assert len(refused) == len(readings)
    assert [said for said in map(book.refused, refused) if "\n" in said or not said.endswith(".")] == []
    offers = {offer for reading in refused for offer in book.near(reading)}
    assert len(offers) > 1
    assert [offer for offer in sorted(offers) if isinstance(read(offer), Refusal)] == []


@pytest.mark.parametrize(
    ("wish", "language", "offers"),
    [
        ("turn the oven down", "en", ["what can you do?"]),
        ("lösche alles in Downloads", "de", ["was kannst du?"]),
        ("why is the sky blue?", "en", ["search the web for why is the sky blue"]),
    ],
)
def test_the_web_is_offered_for_a_question_and_never_for_an_order(wish: str, language: str, offers: list[str]) -> None:
    reading = read(wish)
    assert isinstance(reading, Refusal)
    assert phrasebook(language).near(reading) == offers
