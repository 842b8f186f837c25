"""Facts survive being saved, and each tells models its sentence."""

from __future__ import annotations

import json
import types
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest

from app.base import facts
from app.base.facts import (
    Came,
    DialogAsks,
    Fact,
    FieldHolds,
    Holding,
    Named,
    StateNow,
    ValueNow,
    WindowChanged,
    WindowEvent,
)
from app.base.phrases import Phrase

_PHRASE = Phrase("{title!r} is {state}.", {"title": "Notes", "state": ("open", Phrase("new"))})


def _value(hint: Any) -> Any:
    """A value of that type that is none of its defaults."""
    if hint is Phrase:
        return _PHRASE
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return list(hint)[-1]
    if get_origin(hint) is tuple:
        return (_value(get_args(hint)[0]),) * 2
    if get_origin(hint) in (Union, types.UnionType):
        return _value(get_args(hint)[0])
    return {str: "x", bool: True, int: -9, float: 1.5}[hint] if hint in (str, bool, int, float) else _made(hint)


def _made(kind: type[Any]) -> Any:
    hints: Mapping[str, Any] = get_type_hints(kind)
    return _PHRASE if kind is Phrase else kind(**{name: _value(hint) for name, hint in hints.items()})


@pytest.mark.parametrize("kind", facts._KINDS.values(), ids=lambda kind: kind.__name__)
def test_a_fact_goes_to_json_and_back_unchanged(kind: type[Any]) -> None:
    made = (_made(kind),)
    back = facts.of_json(json.loads(json.dumps(facts.as_json(made))))
    assert back == made
    assert repr(back) == repr(made)  # because a word of an enumeration equals its text


def test_every_kind_of_fact_can_be_saved() -> None:
    assert {kind.__name__ for kind in Fact.__subclasses__()} - facts._KINDS.keys() == set()


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="Gossip"):
        facts.of_json([{"is": "Gossip", "text": "x"}])


@pytest.mark.parametrize(
    ("fact", "said"),
    [
        (WindowChanged(WindowEvent.RENAMED, "b", "a"), "The window 'a' is now called 'b'."),
        (DialogAsks("Quit", "Save?", ("No", "Yes")), 'The dialog "Quit" asks: "Save?" Its buttons: "No", "Yes".'),
        (DialogAsks(""), "A dialog stands in front."),
        (StateNow(Named("check box", "Agree"), "checked", is_on=False), 'check box "Agree" is no longer checked.'),
        (ValueNow(Named("text", ""), "7"), "text holds '7' now."),
        (Came((Named("link", "A"), Named("link", "B"), Named("", "c")), 2), 'New: link "A", "B", "c" and 2 more.'),
        (FieldHolds(Holding.OTHER, "b", is_taken_back=True), "The program took it back. It holds 'b' now."),
    ],
)  # fmt: skip
def test_models_read_a_sentence(fact: Fact, said: str) -> None:
    assert fact.said == said
