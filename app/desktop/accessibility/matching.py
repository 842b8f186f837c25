"""How well an element fits a description: 1.0 is its exact name, below `FLOOR` it is somebody else.

The steps are far enough apart that order never depends on the fuzzy part: exact name, what a sign is called, exact
description, words of the name, misspelt name.
"""

from __future__ import annotations

from collections.abc import Sequence

from app.desktop.accessibility.nodes import Node
from app.desktop.accessibility.words import Reading, normal, synonyms

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


def score(node: Node, ways: Sequence[Reading]) -> float:
    """The best score over all readings of a description; 0 when it fits none."""
    names = _names(node)
    best = max((_fit(node, names, way) for way in ways), default=0.0)
    return best if best >= FLOOR else 0.0


def _names(node: Node) -> tuple[str, str]:
    return normal(node.called), normal(node.tip)


def _fit(node: Node, names: tuple[str, str], way: Reading) -> float:
    if way.roles and not way.name:
        return _ROLE_ALONE if node.role in way.roles else 0.0
    fit = name_fit(names[0], way.name)
    if fit < _DESCRIBED and names[1] and names[1] == way.name:
        fit = _DESCRIBED
    if way.roles and node.role not in way.roles:
        fit *= _WRONG_ROLE
    return fit if node.is_operable else fit * _NOT_OPERABLE


def name_fit(name: str, wanted: str) -> float:
    """How well one normalised name fits another, whatever carries it."""
    if not name or not wanted:
        return 0.0
    if name == wanted:
        return _EXACT
    if name in synonyms(wanted):
        return _SYNONYM
    if min(len(wanted), len(name)) < _SHORTEST_FUZZY:
        return 0.0
    return max(_words_fit(name, wanted), _spelling_fit(name, wanted))


def _words_fit(name: str, wanted: str) -> float:
    """Wanted words that all begin words of the name: the more of the name they are, the better."""
    words = name.split()
    if not all(any(word.startswith(part) for word in words) for part in wanted.split()):
        return 0.0
    return _WORDS + _WORDS_SPAN * min(len(wanted) / len(name), 1.0)


def _spelling_fit(name: str, wanted: str) -> float:
    from rapidfuzz.fuzz import ratio

    if _digits(name) != _digits(wanted):
        return 0.0
    likeness = ratio(name, wanted, score_cutoff=_MISSPELT_FROM)
    return likeness / 100 * _MISSPELT


def _digits(text: str) -> list[str]:
    """Numbers are never misspelt: row 3 is not row 13."""
    return "".join(letter if letter.isdigit() else " " for letter in text).split()
