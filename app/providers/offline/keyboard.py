"""Clauses about keys: `ctrl+s`, `control s`, `the escape key`, `enter twice`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.providers.offline import names
from app.providers.offline.lexicon import lexicon
from app.providers.offline.numbers import repeats
from app.providers.offline.steps import Refusal, Step, Steps
from app.providers.offline.words import Kind, Phrases, Token, tokens_of

MAY_STAND_ALONE = "super"


def press(tokens: Sequence[Token]) -> Steps:
    """Keys as one chord, pressed once or several times."""
    rest, count = repeats(tokens)
    if len(rest) > 1 and rest[-1].low == "button":
        return _pressed_button(rest, count)
    keys = chord(rest)
    if not keys:
        return Refusal("key" if rest else "which", names.said(tokens) or "press")
    if not 1 <= count <= lexicon().number("keys.say.most_repeats"):
        return Refusal("range", names.said(tokens))
    arguments: dict[str, str | int] = {"keys": keys}
    if count > 1:
        arguments["repeat"] = count
    return (Step("computer_key", arguments, "press", keys if count == 1 else f"{keys} × {count}"),)


def _pressed_button(tokens: Sequence[Token], count: int) -> Steps:
    name = names.label(tokens)
    if isinstance(name, Refusal):
        return name
    if count != 1:
        return Refusal("range", names.said(tokens))
    return (Step("computer_click", {"target": name}, "click", f"“{name}”"),)


def chord(tokens: Sequence[Token]) -> str:
    """The chord in the keyboard tool's spelling, empty where the words are no keys."""
    if len(tokens) == 1 and tokens[0].kind is Kind.QUOTED:
        sign = tokens[0].text.strip()
        if len(sign) == 1:
            return sign
        tokens = tokens_of(sign)
    tokens = names.without_end(_without_lead(tokens), "keys.say.nouns")
    if not tokens or any(token.kind is not Kind.WORD for token in tokens):
        return ""
    return _join(_pieces(tokens))


def _without_lead(tokens: Sequence[Token]) -> Sequence[Token]:
    length, _ = lexicon().phrases("keys.say.before").at(tokens)
    return tokens[length:] if length < len(tokens) else tokens


def _pieces(tokens: Sequence[Token]) -> list[Token]:
    """Words as said, and the parts of `ctrl+shift+t`; a plus or minus sign at the end of one is a key."""
    keys = lexicon().phrases("keys.keys")
    pieces: list[Token] = []
    for token in tokens:
        if len(token.text) == 1 or keys.whole((token,)):
            pieces.append(token)
            continue
        for part in re.findall(r"[^+-]+|(?<=[+-])[+-]$", token.text):
            pieces.append(Token(Kind.WORD, part, token.start, token.end))
    return pieces


def _join(pieces: Sequence[Token]) -> str:
    """Modifiers, then one key; everything must be used up."""
    modifiers: list[str] = []
    at = 0
    table = lexicon().phrases("keys.modifiers")
    while at < len(pieces) and (name := table.at(pieces, at)[1]) and name not in modifiers:
        modifiers.append(name)
        at += 1
        if at + 1 < len(pieces) and (pieces[at].text == "+" or pieces[at].low in lexicon().table("keys.say.joins")):
            at += 1
    if at == len(pieces):
        return modifiers[0] if modifiers == [MAY_STAND_ALONE] else ""
    key = _key(pieces[at:], lexicon().phrases("keys.keys"), shifted=not modifiers)
    return "+".join([*modifiers, key]) if key else ""


def _key(pieces: Sequence[Token], keys: Phrases, *, shifted: bool) -> str:
    if len(pieces) == 1 and len(pieces[0].text) == 1:
        return pieces[0].text if shifted else pieces[0].text.lower()
    return keys.whole(pieces)
