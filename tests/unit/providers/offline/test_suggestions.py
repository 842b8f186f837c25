"""What Wisp proposes is done when it is said back, word for word."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from string import Formatter
from typing import Any

import pytest

from app.base import resources
from app.base.translation import words_in
from app.providers.offline.plans import Plan, understood
from app.providers.offline.reading import Refusal
from app.providers.offline.wording import phrasebook
from app.providers.offline.world import World
from app.settings.tokens import THEMES
from tests.unit.providers.offline.dialogue import Dialogue

QUOTED = re.compile(r"[“„]([^“”„]+)[“”]")
PHRASES = {
    language: resources.table(f"offline/{name}.toml", resources.Table)
    for language, name in (("en", "phrases"), ("de", "phrases_de"))
}
AFTERNOON = datetime.datetime(2026, 11, 23, 16, 5)


def texts(node: Any) -> Iterator[str]:
    """Every text in a table."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, (dict, list)):
        for one in node.values() if isinstance(node, dict) else node:
            yield from texts(one)


def is_whole(text: str) -> bool:
    return not any(name for _, name, _, _ in Formatter().parse(text) if name)


PROPOSED = {
    language: [
        said
        for text in texts({name: table[name] for name in ("talk", "near", "failed")})
        for said in QUOTED.findall(text)
    ]
    for language, table in PHRASES.items()
}
"""What people are told to say, by language."""
CHIPS = [
    *resources.table("suggestions.toml", resources.Table)["suggestions"],
    *(
        text
        for row in resources.table("suggestions.toml", resources.Table)["fitting"].values()
        for text in row["plain"]
    ),
    *(
        wish[name]
        for wish in resources.table("welcome.toml", resources.Table)["wish"]
        for name in ("text", "undo")
        if name in wish
    ),
    "What can you do?",
]
GERMAN = words_in("de")


def understands(wish: str) -> bool:
    return not isinstance(understood(wish, World()), Refusal)


@pytest.mark.parametrize("text", dict.fromkeys(CHIPS))
def test_every_chip_is_done_in_english_and_in_german(text: str) -> None:
    assert understands(text)
    assert understands(GERMAN(text))
    assert GERMAN(text) != text


@pytest.mark.parametrize("language", PHRASES)
def test_every_sentence_that_is_quoted_for_the_person_is_understood(language: str) -> None:
    whole = [said for said in PROPOSED[language] if is_whole(said)]
    assert len(whole) > 40
    assert [said for said in whole if not understands(said)] == []


@pytest.mark.parametrize("language", PHRASES)
@pytest.mark.parametrize("name", ['"Draft (1) - Mousepad on the left"', "e4"])
def test_a_proposal_that_names_one_of_several_things_comes_to_that_thing(language: str, name: str) -> None:
    wishes = [table["again"].format(name=name) for table in PHRASES[language].values() if "again" in table]
    readings = [(wish, understood(wish, World())) for wish in wishes]
    assert wishes
    for wish, reading in readings:
        assert isinstance(reading, Plan), wish
        [step] = reading.steps
        assert name.strip('"') in [str(one).removesuffix(" check box") for one in step.arguments.values()], wish


@pytest.mark.parametrize("language", PHRASES)
def test_other_proposals_with_a_name_in_them_are_understood(language: str) -> None:
    table = PHRASES[language]
    wishes = [table["asking"]["wish"].format(button=name) for name in ("Cancel", '"Don\'t Save"')]
    wishes += [table["made_before"][said].format(what="Timer") for said in ("done", "result")]
    wishes += [table["run"]["network"].format(command="curl a.example")]
    assert [one for wish in wishes for one in QUOTED.findall(wish) if not understands(one)] == []


def names(node: Any) -> Any:
    """The names in a table, and the places in its texts."""
    if isinstance(node, dict):
        return {name: names(value) for name, value in node.items()}
    if isinstance(node, list):
        return "list"
    return {name for _, name, _, _ in Formatter().parse(str(node)) if name}


@pytest.mark.parametrize("language", PHRASES)
def test_an_answer_about_themes_names_each_of_them(language: str) -> None:
    plain = re.sub(r"[ -]", "", phrasebook(language).talk("themes").casefold())
    assert [name for name in THEMES if name.replace("-", "") not in plain] == []


def test_both_languages_say_the_same_things() -> None:
    assert names(PHRASES["de"]) == names(PHRASES["en"])


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        ("what time is it", "16:05"),
        ("What is the date today?", "Monday, 23 November 2026"),
        ("Wie spät ist es?", "16:05 Uhr"),
        ("Welcher Tag ist heute?", "Montag, der 23. November 2026"),
    ],
)
async def test_the_time_and_the_date_are_told(wish: str, said: str) -> None:
    talk = Dialogue()
    talk.clock.time = AFTERNOON.timestamp()
    reply = await talk.say(wish)
    assert (reply.said, reply.calls, reply.ends) == (said, [], True)


async def test_a_wish_is_answered_in_its_language() -> None:
    talk = Dialogue()
    await talk.say("öffne den Rechner")
    assert (await talk.succeed("open_app")).said == "Erledigt."


async def test_a_wish_without_a_word_of_a_language_is_answered_in_that_of_the_one_before() -> None:
    talk = Dialogue()
    await talk.say("Wie spät ist es?")
    assert (await talk.say("frobnicate")).said.startswith("„frobnicate“ habe ich nicht verstanden")


async def test_a_command_for_a_terminal_that_was_just_opened_is_typed_there() -> None:
    talk = Dialogue()
    assert (await talk.say("open the terminal and run ls")).calls == [("open_app", {"name": "terminal"})]
    assert (await talk.succeed("open_app")).calls == [("computer_type", {"text": "ls"})]
    assert (await talk.succeed("computer_type")).calls == [("computer_key", {"keys": "enter"})]
