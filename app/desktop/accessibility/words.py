"""How people speak of what is on the screen: a description becomes names to look for and roles to look among.

The words themselves are data: `resources/screen/words.toml`.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from app.base import paths

_QUOTES = "\"'“”‘’«»`"
_MNEMONIC = re.compile(r"(?<![\w&])[_&](?=\w)")
_ENDING = re.compile(r"(?<=\w)\s*(?:…|\.\.\.|:)$")


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to understand a description: a normalised name (empty: any) among roles (none: all)."""

    name: str
    roles: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Words:
    roles: Mapping[str, frozenset[str]]
    filler: tuple[str, ...]
    symbols: Mapping[str, frozenset[str]]
    flags: Mapping[str, bool]


@cache
def _words() -> _Words:
    with open(paths.resources() / "screen" / "words.toml", "rb") as file:
        data = tomllib.load(file)
    symbols: dict[str, frozenset[str]] = {}
    for line in data["symbols"]["lines"]:
        for word in line:
            symbols[word] = symbols.get(word, frozenset()) | frozenset(line)
    roles = {word: frozenset(meant) for word, meant in data["roles"].items()}
    filler = sorted(data["filler"]["words"], key=len, reverse=True)
    flags = {word: state == "on" for state, words in data["flags"].items() for word in words}
    return _Words(dict(sorted(roles.items(), key=lambda entry: -len(entry[0]))), tuple(filler), symbols, flags)


@cache
def normal(name: str) -> str:
    """A name as it is compared: one spelling, one line, no case, no mnemonic marks, no ellipsis or colon at its end."""
    text = " ".join(unicodedata.normalize("NFKC", name.replace("…", "...")).casefold().split())
    if len(text) > 1:
        text = _MNEMONIC.sub("", text)
    return _ENDING.sub("", text) if len(text) > 1 else text


def synonyms(name: str) -> frozenset[str]:
    """What a normalised name of a key or sign is also called (itself not always included)."""
    return _words().symbols.get(name, frozenset())


def flag_called(word: str) -> bool | None:
    """True for a word that means on, False for off, None for any other."""
    return _words().flags.get(normal(word))


def roles_called(word: str) -> frozenset[str]:
    """The roles that a word for a kind of element may mean; a role's own name means itself."""
    word = " ".join(word.casefold().replace("-", " ").replace("_", " ").split())
    if not word:
        return frozenset()
    return _words().roles.get(word) or _words().roles.get(word.removesuffix("s")) or frozenset({word})


def readings(query: str) -> tuple[Reading, ...]:
    """The ways to understand a description, the most literal first.

    "the Save button" reads as the name "the save button", and as "save" among buttons. Text in quotes is the name.
    """
    found = [Reading(normal(query.strip().strip(_QUOTES)))]
    quoted = re.search(r"[\"“«](.+?)[\"”»]|(?<!\w)['‘](.+?)['’](?!\w)", query)
    rest = _without_filler(normal(query))
    if quoted:
        name = normal(quoted.group(1) or quoted.group(2))
        around = normal(query.replace(quoted.group(0), " "))
        roles = next((roles for word, roles in _words().roles.items() if _has_word(around, word)), frozenset[str]())
        found.append(Reading(name, roles))
    else:
        found.append(Reading(rest))
        found.extend(_split(rest))
    return tuple(dict.fromkeys(reading for reading in found if reading.name or reading.roles))


def _split(text: str) -> list[Reading]:
    """The readings in which the first or the last words are a kind of element: the longest kind wins."""
    for word, roles in _words().roles.items():
        if text == word:
            return [Reading("", roles)]
        for name in (text.removesuffix(f" {word}"), text.removeprefix(f"{word} ")):
            if name != text:
                return [Reading(normal(_without_filler(name).strip(_QUOTES)), roles)]
    return []


def _without_filler(text: str) -> str:
    for word in _words().filler:
        text = text.removeprefix(f"{word} ")
    return text.strip()


def _has_word(text: str, word: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None
