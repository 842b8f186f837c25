"""Read clauses about the pointer: clicks on a name or a place, scrolling, dragging."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.providers.offline import typing_text
from app.providers.offline.words import PlannedCall, Refusal, Steps, Token, Value, WordKind, lexicon

_DIGITS = re.compile(r"\d{1,6}(\.\d{1,6})?")
_GLUED = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)([a-z]+)")
_HALF = 0.5


def number(tokens: Sequence[Token]) -> float | None:
    """Read `3`, `1.5`, `three`, `twenty-five`, `two and a half`. Return None for anything else."""
    words = [part for token in tokens for part in token.low.split("-")]
    if words[-3:] == ["and", "a", "half"] and len(words) > 3:
        whole = _plain(words[:-3])
        return None if whole is None else whole + _HALF
    if words in (["half"], ["half", "a"], ["half", "an"], ["a", "half"]):
        return _HALF
    if words == ["a", "couple", "of"]:
        return 2
    return _plain(words)


def whole_number(tokens: Sequence[Token]) -> int | None:
    value = number(tokens)
    return int(value) if value is not None and value == int(value) else None


def seconds(tokens: Sequence[Token]) -> float | None:
    """Read a duration with its unit, in seconds: `2 seconds`, `500ms`, `half a minute`."""
    if not tokens or any(token.kind is not WordKind.WORD for token in tokens):
        return None
    units = lexicon().table("numbers.seconds")
    glued = _GLUED.fullmatch(tokens[0].low) if len(tokens) == 1 else None
    if glued and glued.group(2) in units:
        return float(glued.group(1)) * float(units[glued.group(2)])
    if tokens[-1].low not in units:
        return None
    amount = number(tokens[:-1])
    return None if amount is None else amount * float(units[tokens[-1].low])


def repeats(tokens: Sequence[Token]) -> tuple[Sequence[Token], int]:
    """Split off `twice`, `3 times` or `3x` at the end. Returns the words before it and the count (default 1)."""
    if not tokens:
        return tokens, 1
    last = tokens[-1].low
    words = lexicon().table("numbers.repeats")
    if last in words:
        return tokens[:-1], int(words[last])
    if re.fullmatch(r"\d{1,4}x|x\d{1,4}", last):
        return tokens[:-1], int(last.strip("x"))
    if last == "times" and len(tokens) > 1:
        count = whole_number(tokens[-2:-1])
        if count is not None:
            return tokens[:-2], count
    return tokens, 1


def _plain(words: Sequence[str]) -> float | None:
    if len(words) == 1 and _DIGITS.fullmatch(words[0]):
        return float(words[0])
    known = lexicon().table("numbers.words")
    values = [known[word] for word in words if word in known]
    if not values or len(values) != len(words) or len(values) > 2:
        return None
    if len(values) == 2 and not (values[0] >= 20 and 0 < values[1] < 10):
        return None
    return float(sum(values))


_POINT = re.compile(
    r"(?P<lead>at |on |to )?(?:the )?(?P<noun>(?:screen )?(?:position|point|coordinates?|pixel|location|coords?) )?"
    r"(?P<open>\( ?)?(?:x ?[=:]? ?)?(?P<x>-?\d{1,5}) ?(?:,| |and|by) ?(?:y ?[=:]? ?)?(?P<y>-?\d{1,5})(?(open) ?\))",
    re.IGNORECASE,
)
_POINTED = re.compile(r"\d+,\d+")
_SURE_FROM = 10
_BUTTONS: dict[str, dict[str, Value]] = {
    "click": {},
    "double_click": {"count": 2},
    "triple_click": {"count": 3},
    "right_click": {"button": "right"},
    "middle_click": {"button": "middle"},
}
_MOST_CLICKS = 3
_DIRECTIONS = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
_DRAG_JOINS = {"to", "onto", "into", "until"}


def point(tokens: Sequence[Token]) -> tuple[int, int] | None:
    """Read `100, 200`, `at (100,200)`, `x=100 y=200`. Return None for two bare digits, which may not be a place."""
    if any(token.kind is WordKind.QUOTED for token in tokens):
        return None
    found = _POINT.fullmatch(typing_text.name_in(tokens))
    if not found:
        return None
    x, y = int(found["x"]), int(found["y"])
    is_sure = found["lead"] or found["noun"] or found["open"] or max(x, y) >= _SURE_FROM or min(x, y) < 0
    return (x, y) if is_sure else None


def click(action: str, tokens: Sequence[Token], modifier: str = "") -> Steps:
    """Return the steps of a click of the kind `action`, or a Refusal. The key `modifier` is held down.

    `tokens` are the words after the verb: a name or a place, perhaps with a count (`twice`).
    """
    rest, count = repeats(_without_leading_count(tokens))
    extra: dict[str, Value] = dict(_BUTTONS[action])
    if count > 1:
        if action != "click" or count > _MOST_CLICKS:
            return Refusal("range", typing_text.name_in(tokens))
        extra["count"] = count
    if modifier:
        extra["modifiers"] = modifier
    if place := point(rest):
        if min(place) < 0:
            return Refusal("off_screen", typing_text.name_in(tokens))
        arguments: dict[str, Value] = {"x": place[0], "y": place[1], "space": "screen"}
        return (PlannedCall("computer_click", {**arguments, **extra}, action, f"at {place[0]}, {place[1]}"),)
    name = typing_text.label(rest[1:] if len(rest) > 1 and rest[0].low == "on" else rest)
    if isinstance(name, Refusal):
        return name
    return (PlannedCall("computer_click", {"target": name, **extra}, action, f"“{name}”"),)


def _without_leading_count(tokens: Sequence[Token]) -> Sequence[Token]:
    """Return `twice on X` as `X twice`."""
    for length in (1, 2):
        head = tokens[:length]
        if len(tokens) > length + 1 and tokens[length].low in ("on", "at") and not repeats(head)[0]:
            return [*tokens[length + (tokens[length].low == "on") :], *head]
    return tokens


def scroll(tokens: Sequence[Token]) -> Steps:
    """Return the step that scrolls by wheel notches in one direction. Down and right are positive."""
    rest = _without_fillers(tokens)
    phrases = lexicon().phrases
    if end := phrases("numbers.scroll.ends").whole(rest):
        said = typing_text.name_in(rest)
        return _scrolled("up" if end == "top" else "down", lexicon().number("numbers.scroll.end"), said)
    ways = phrases("numbers.scroll.directions")
    directions = [(i, *way) for i in range(len(rest)) if (way := ways.at(rest, i))[0]]
    if len(directions) != 1:
        return Refusal("which" if not rest else "unreadable", typing_text.name_in(tokens) or "scroll")
    at, length, direction = directions[0]
    amount = _amount([*rest[:at], *rest[at + length :]])
    if amount is None:
        return Refusal("unreadable", typing_text.name_in(tokens))
    if not 1 <= amount <= lexicon().number("numbers.scroll.most"):
        return Refusal("range", typing_text.name_in(tokens))
    return _scrolled(direction, amount, typing_text.name_in(rest[at : at + length]))


def _without_fillers(tokens: Sequence[Token]) -> Sequence[Token]:
    length, _ = lexicon().phrases("numbers.scroll.fillers").at(tokens)
    rest = [token for token in tokens[length:] if token.low != "by"]
    return typing_text.without_end(rest, "numbers.scroll.fillers")


def _amount(tokens: Sequence[Token]) -> float | None:
    if not tokens:
        return lexicon().number("numbers.scroll.plain")
    if said := lexicon().phrases("numbers.scroll.amounts").whole(tokens):
        return float(lexicon().table("numbers.scroll.amounts")[said])
    before, count = repeats(tokens)
    if not before:
        return float(count)
    units = lexicon().table("numbers.scroll.units")
    return whole_number(tokens[:-1] if tokens[-1].low in units else tokens)


def _scrolled(direction: str, amount: float, what: str) -> Steps:
    dx, dy = _DIRECTIONS[direction]
    return (PlannedCall("computer_scroll", {"dx": dx * int(amount), "dy": dy * int(amount)}, "scroll", what),)


def drag(tokens: Sequence[Token]) -> Steps:
    """Return the steps of a drag from one name or place to another."""
    joins = [i for i, token in enumerate(tokens) if token.low in _DRAG_JOINS]
    if len(joins) != 1:
        return Refusal("which" if not joins else "unreadable", typing_text.name_in(tokens) or "drag")
    head, tail = tokens[: joins[0]], tokens[joins[0] + 1 :]
    ends = (_end_of_drag(head[1:] if head and head[0].low == "from" else head), _end_of_drag(tail))
    for end in ends:
        if isinstance(end, Refusal):
            return end
    start, stop = str(ends[0]), str(ends[1])
    arguments: dict[str, Value] = {"from": start, "to": stop}
    if _POINTED.fullmatch(start) or _POINTED.fullmatch(stop):
        arguments["space"] = "screen"
    return (PlannedCall("computer_drag", arguments, "drag", f"“{start}” to “{stop}”"),)


def _end_of_drag(tokens: Sequence[Token]) -> str | Refusal:
    place = point(tokens)
    if place and min(place) < 0:
        return Refusal("off_screen", typing_text.name_in(tokens))
    if typing_text.is_any_of_a_kind(tokens):
        return Refusal("which", typing_text.name_in(tokens))
    return f"{place[0]},{place[1]}" if place else typing_text.label(tokens)
