"""Who reads which sentence: a person or a model. A person reads no ids, places, tool names or steps for a model."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from app.agent.policy import Mode, Policy, Provenance, sentences
from app.assembly import registry
from app.base import resources
from app.base.texts import for_people
from app.protocol.arguments import to_call
from app.protocol.call import ToolCall
from app.protocol.dialects.choose import by_name
from app.protocol.message import CallClosed
from app.protocol.spec import Effect, ToolSpec
from app.settings.catalog import ALL, Setting
from app.ui.presenter.wording import words_for

APP = Path(__file__).resolve().parents[2] / "app"
SPECS = {spec.name: spec for spec in registry().specs}
_NAMES = "|".join(sorted((*(name for name in SPECS if "_" in name), "task_progress"), key=len, reverse=True))
FOR_MODELS = re.compile(
    rf"\b(?:{_NAMES})\b|\b[ew]\d+\w?\b|\bx and y\b|\bunverifiable\b|\blook (?:again )?before\b|\bref\b|\bcoordinates?\b"
    r"|\(-?\d+, ?-?\d+\)|\bcapture [a-z]?\d+\b|\bWay on:|\byolo\b|\bmilliseconds\b|\bthe person\b",
    re.IGNORECASE,
)
PERSON, MODEL, BOTH = "a person", "a model", "a model, and a person in a few words of it"
ADDRESSEES = {
    # Who reads the sentences of a resource, by its file and the table in it. The first pattern that fits counts.
    "browser/browser.toml/sentences.*": BOTH,
    "desktop/wallpaper.toml/says.*": BOTH,
    "extras.toml/*": PERSON,
    "images.toml/says.*": BOTH,
    "languages/*": PERSON,
    "offline/notes.toml/*": PERSON,
    "offline/phrases*": PERSON,
    "people.toml/*.person": PERSON,
    "people.toml/*.model": MODEL,
    "policy/asking.toml/*": PERSON,
    "policy/default.toml/*": MODEL,  # What a person reads of it is asked of the policy below.
    "policy/sentences.toml/mode_denies": MODEL,
    "policy/sentences.toml/rule_deny": MODEL,
    "policy/sentences.toml/unaimed": MODEL,
    "policy/sentences.toml/*": PERSON,
    "preferences.toml/*": PERSON,
    "prompts/loop.toml/words.trust*_folders": PERSON,
    "prompts/loop.toml/words.repeated_ask": PERSON,
    "prompts/loop.toml/endings.*": PERSON,
    "prompts/*": MODEL,
    "suggestions.toml/*": PERSON,
    "surfaces/engine.toml/answers.*": PERSON,
    "surfaces/*": BOTH,
    "welcome.toml/*": PERSON,
}
RAISED = {
    # Who reads the sentence of an error or event of the code, by the name of its class.
    "NeedsPerson": BOTH,
    "Notice": PERSON,
    "ToolMisuse": BOTH,
    "ToolFailed": BOTH,
}
_SPACES = re.compile(r"\s+")


def _texts(value: Any, at: str = "") -> Iterator[tuple[str, str]]:
    """Yield every text of a table with the path to it, such as `sentences.gone`."""
    if isinstance(value, str):
        yield at, value
    elif isinstance(value, dict):
        for name, one in value.items():
            # A table of translations has the English texts as its names; in that of rules they are a model's.
            yield from _texts(f"{name}", at) if " " in name and not at.endswith("rules") else ()
            yield from _texts(one, f"{at}.{name}".lstrip("."))
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one, at)


def _is_sentence(text: str) -> bool:
    return (
        len(text.split()) >= 4 and (text[0].isupper() or text[0] in "“$") and text.rstrip()[-1:] in (".", "!", "?", "…")
    )


def _resources() -> Iterator[tuple[str, str]]:
    root = resources.path(".")
    documented = {setting.description for setting in ALL}  # which documents the file of the settings, with its values
    documented |= {resources.texts_of("de").get(text, "") for text in documented}
    for file in sorted(root.rglob("*.toml")):
        name = file.relative_to(root).as_posix()
        for at, text in _texts(resources.table(name, resources.Table)):
            if _is_sentence(text) and text not in documented:
                yield f"{name}/{at}", text


def _addressee(place: str) -> str:
    return next((who for pattern, who in ADDRESSEES.items() if fnmatchcase(place, pattern)), "")


def _literal(node: ast.expr) -> str:
    """Return a text of the code, with "…" for what is filled in; "" if it is none."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(_literal(part) or "…" for part in node.values)
    if isinstance(node, ast.BinOp):
        return _literal(node.left) + _literal(node.right)
    return "…" if isinstance(node, ast.FormattedValue) else ""


def _raised() -> Iterator[tuple[str, str, str]]:
    """Yield the place, the class and the text of every sentence in the code that an error or a notice is made with."""
    for file in sorted(APP.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in RAISED:
                for argument in node.args:
                    if text := _literal(argument):
                        yield f"{file.relative_to(APP)}:{node.lineno}", node.func.id, text


def _wrong(text: str) -> list[str]:
    return FOR_MODELS.findall(_SPACES.sub(" ", text))


def test_every_sentence_of_the_resources_has_an_addressee() -> None:
    assert [place for place, _ in _resources() if not _addressee(place)] == []


def test_no_entry_of_the_list_of_addressees_is_idle() -> None:
    used = {pattern for place, _ in _resources() for pattern in ADDRESSEES if fnmatchcase(place, pattern)}
    assert sorted(set(ADDRESSEES) - used) == []


def test_no_sentence_for_a_person_holds_words_for_a_model() -> None:
    read = [
        (place, text if _addressee(place) == PERSON else for_people(text))
        for place, text in _resources()
        if _addressee(place) != MODEL
    ]
    assert [(place, wrong) for place, text in read if (wrong := _wrong(text))] == []


@pytest.mark.parametrize("setting", ALL, ids=lambda setting: setting.key)
def test_the_settings_explain_themselves_in_a_persons_words(setting: Setting[Any]) -> None:
    english = resources.table("preferences.toml", resources.Table)["abouts"].get(setting.key, setting.description)
    shown = [english, resources.texts_of("de").get(english, "")]
    assert [wrong for text in shown if (wrong := _wrong(text))] == []


def test_no_error_and_no_notice_tells_a_person_what_is_for_a_model() -> None:
    found = [(place, text if RAISED[name] == PERSON else for_people(text)) for place, name, text in _raised()]
    assert len(found) > 300
    assert [(place, wrong, text) for place, text in found if (wrong := _wrong(text))] == []


def _example(spec: ToolSpec) -> dict[str, Any]:
    """Return the arguments of the tool's first example."""
    if not spec.examples:
        return {}
    reader = by_name("xml").reader((spec,))
    for event in (*reader.feed(spec.examples[0]), *reader.flush()):
        if isinstance(event, CallClosed):
            return dict(to_call(spec, event.block).arguments)
    return {}


@pytest.mark.parametrize("spec", SPECS.values(), ids=lambda spec: spec.name)
def test_every_tool_has_its_own_card_for_the_person(spec: ToolSpec) -> None:
    words = words_for(spec.name)
    assert words is not words_for("generic"), f"{spec.name} has no entry in cards.toml"
    if not words.hidden:
        assert all((words.present, words.past, words.failed))
    assert [_wrong(text) for text in (words.present, words.past, words.failed, *words.objects) if _wrong(text)] == []


@pytest.mark.parametrize("language", ["", "de"])
@pytest.mark.parametrize("spec", SPECS.values(), ids=lambda spec: spec.name)
def test_every_tool_has_its_own_question_for_the_person(spec: ToolSpec, language: str, tmp_path: Path) -> None:
    """The general words, such as "use TOOL", are for tools of others, or for what only reads."""
    verdict = Policy(tmp_path, Mode.ASK).decide(
        ToolCall("c1", spec.name, _example(spec)), spec, (), Provenance(("web",))
    )
    assert verdict.act is not None
    asked = sentences.question(verdict.act, Provenance(), language)
    assert asked.strong, asked.text
    told = (asked.text, sentences.undo(verdict.act, language), sentences.who_as_written(verdict.act))
    assert [_wrong(text) for text in told if _wrong(text)] == []
    general = spec.name.replace("_", " ")
    assert "_" not in spec.name or spec.effect in (Effect.READS, Effect.TALKS) or general not in asked.text, asked.text
