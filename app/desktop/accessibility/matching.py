"""Score how well an element matches a description: 1.0 is its exact name, below `FLOOR` it is another element.

The kinds of match are so far apart that the fuzzy part never decides the order: exact name, name of a symbol, exact
description, words of the name, misspelt name.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache

from app.base import resources
from app.base.values import dataclass, replace
from app.desktop.accessibility import constants as spi
from app.desktop.accessibility.nodes import Node

_QUOTES = "\"'“”‘’«»`"
_MNEMONIC = re.compile(r"(?<![\w&])[_&](?=\w)")
_ENDING = re.compile(r"(?<=\w)\s*(?:…|\.\.\.|:)$")


@dataclass(frozen=True, slots=True)
class Description:
    """One reading of a person's description: a normalised name ("": any name) and possible roles (empty: any role).

    `is_shortened`: without a last word that may belong to the name, so that the whole name wins.
    """

    name: str
    roles: frozenset[str] = frozenset()
    is_shortened: bool = False


@dataclass(frozen=True, slots=True)
class _Words:
    roles: Mapping[str, frozenset[str]]
    filler: tuple[str, ...]
    behind: tuple[str, ...]
    symbols: Mapping[str, frozenset[str]]
    flags: Mapping[str, bool]


@cache
def _words() -> _Words:
    data = resources.table("screen/words.toml", resources.Table)
    symbols: dict[str, frozenset[str]] = {}
    for line in data["symbols"]["lines"]:
        for word in line:
            symbols[word] = symbols.get(word, frozenset()) | frozenset(line)
    roles = {word: frozenset(meant) for word, meant in data["roles"].items()}
    filler = sorted(data["filler"]["words"], key=len, reverse=True)
    flags = {word: state == "on" for state, words in data["flags"].items() for word in words}
    return _Words(
        dict(sorted(roles.items(), key=lambda entry: -len(entry[0]))),
        tuple(filler),
        tuple(data["filler"]["behind"]),
        symbols,
        flags,
    )


@cache
def normal(name: str) -> str:
    """For comparison: letter case, blanks, mnemonic marks, and a final ellipsis or colon do not count."""
    text = " ".join(unicodedata.normalize("NFKC", name.replace("…", "...")).casefold().split())
    if len(text) > 1:
        text = _MNEMONIC.sub("", text)
    return _ENDING.sub("", text) if len(text) > 1 else text


def synonyms(name: str) -> frozenset[str]:
    """Return other names of a key or symbol. The result may also contain `name` itself."""
    return _words().symbols.get(name, frozenset())


def flag_called(word: str) -> bool | None:
    """True for a word that means on, False for off, None for any other."""
    return _words().flags.get(normal(word))


def roles_called(word: str) -> frozenset[str]:
    """`word` is an everyday word for a kind of element. An AT-SPI role name means that role."""
    word = " ".join(word.casefold().replace("-", " ").replace("_", " ").split())
    if not word:
        return frozenset()
    return _words().roles.get(word) or _words().roles.get(word.removesuffix("s")) or frozenset({word})


def readings(query: str) -> tuple[Description, ...]:
    """Return the ways to understand a description, the most literal first.

    "the Save button" is read as the name "the save button", and as "save" among buttons. Quoted text is the name.
    """
    found = [Description(normal(query.strip().strip(_QUOTES)))]
    quoted = re.search(r"[\"“«](.+?)[\"”»]|(?<!\w)['‘](.+?)['’](?!\w)", query)
    rest = _without_filler(normal(query))
    if quoted:
        name = normal(quoted.group(1) or quoted.group(2))
        around = normal(query.replace(quoted.group(0), " "))
        roles = next((roles for word, roles in _words().roles.items() if _has_word(around, word)), frozenset[str]())
        found.append(Description(name, roles))
    else:
        found.append(Description(rest))
        found.extend(_split(rest))
        short = next((rest.removesuffix(f" {word}") for word in _words().behind if rest.endswith(f" {word}")), "")
        found += [replace(way, is_shortened=True) for way in (Description(short), *_split(short)) if short]
    return tuple(dict.fromkeys(reading for reading in found if reading.name or reading.roles))


def _split(text: str) -> list[Description]:
    """As a name and a kind of element ("save button", "button save"), or no reading without a kind."""
    for word, roles in _words().roles.items():
        if text == word:
            return [Description("", roles)]
        for name in (text.removesuffix(f" {word}"), text.removeprefix(f"{word} ")):
            if name != text:
                return [Description(normal(_without_filler(name).strip(_QUOTES)), roles)]
    return []


def _without_filler(text: str) -> str:
    for word in _words().filler:
        text = text.removeprefix(f"{word} ")
    return text.strip()


def _has_word(text: str, word: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None


FLOOR = 0.6
_EXACT = 1.0
_SYNONYM = 0.97
_DESCRIBED = 0.92
_ROLE_ALONE = 0.9
_WORDS = 0.62
_WORDS_SPAN = 0.26
_MISSPELT = 0.9
_MISSPELT_FROM = 75.0
_SHORTEST_FUZZY = 3
_WRONG_ROLE = 0.75
_NOT_OPERABLE = 0.99
_SHORTENED = 0.98


def score(node: Node, ways: Sequence[Description]) -> float:
    """Return the best score over all readings of a description, or 0 if none matches."""
    is_known_by_content = node.place or node.role == spi.COMBO_BOX
    names = normal(node.called), normal(node.tip), normal(node.value or "") if is_known_by_content else ""
    best = max((_fit(node, names, way) for way in ways), default=0.0)
    return best if best >= FLOOR else 0.0


def _fit(node: Node, names: tuple[str, str, str], way: Description) -> float:
    """Score one reading. `names` are the node's name, its description, and what it holds if it is a cell of a sheet or
    a combo box.
    """
    if way.roles and not way.name:
        return _ROLE_ALONE if node.role in way.roles and not way.is_shortened else 0.0
    name, described, held = names
    fit = max(name_fit(name, way.name), name_fit(held, way.name))
    if fit < _DESCRIBED and described and described == way.name:
        fit = _DESCRIBED
    if way.roles and node.role not in way.roles:
        fit *= _WRONG_ROLE
    fit *= _SHORTENED if way.is_shortened else 1.0
    return fit if node.is_operable else fit * _NOT_OPERABLE


def name_fit(name: str, wanted: str) -> float:
    """Return how well two normalised names match, whatever their elements are."""
    if not name or not wanted:
        return 0.0
    if name == wanted:
        return _EXACT
    if name in synonyms(wanted):
        return _SYNONYM
    if min(len(wanted), len(name)) < _SHORTEST_FUZZY:  # because one wrong letter of two is half the name
        return 0.0
    return max(_words_fit(name, wanted), _spelling_fit(name, wanted))


def _words_fit(name: str, wanted: str) -> float:
    """Score a name in which each wanted word begins a word of the name. The more of the name they cover, the better.

    Numbers are not shortened: item 1 is not item 12.
    """
    words = name.split()
    if not all(any(_begins(word, part) for word in words) for part in wanted.split()):
        return 0.0
    return _WORDS + _WORDS_SPAN * min(len(wanted) / len(name), 1.0)


def _begins(word: str, part: str) -> bool:
    return word == part if part.isdigit() else word.startswith(part)


def _spelling_fit(name: str, wanted: str) -> float:
    from rapidfuzz.fuzz import ratio

    if _digits(name) != _digits(wanted):
        return 0.0
    likeness = ratio(name, wanted, score_cutoff=_MISSPELT_FROM)
    return likeness / 100 * _MISSPELT


def _digits(text: str) -> list[str]:
    """The numbers of a name, which are never misspelt: row 3 is not row 13."""
    return "".join(letter if letter.isdigit() else " " for letter in text).split()
