"""Names in a clause: of programs, windows and things to click. What is not surely a name is refused."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.providers.offline.words import Refusal, Token, WordKind, lexicon

Tokens = Sequence[Token]
_APP_WORD = re.compile(r"[\w+][\w+'-]*")
_WINDOW_WORD = re.compile(r"[\w+][\w+'.-]*|-|–|—")
_MARKS = re.compile(r"[\"“”„«»`]|<\w|\w>")
"""What a name without quotation marks does not hold: half a quotation, a tag."""
_MOST_WORDS = 6
_SIGN = 2
"""Characters of what is surely a label of its own beside a word for it."""
_SHORTEST_GERUND = 5


def said(tokens: Tokens) -> str:
    """The words as written, with single blanks between them and quotation marks around what was quoted."""
    shown = [f"“{token.text}”" if token.kind is WordKind.QUOTED else token.text for token in tokens]
    glued = ["" if token.kind is WordKind.SEPARATOR else " " for token in tokens]
    return "".join(glue + text for glue, text in zip(glued, shown, strict=True)).strip()


def app_name(tokens: Tokens) -> str | Refusal:
    """The name of a program to open."""
    objects = "objects.apps"
    rest = _without_lead(without_article(tokens), f"{objects}.prefixes")
    rest = without_end(rest, f"{objects}.suffixes")
    if quoted := _only_quoted(rest):
        return quoted
    refusal = refused_name(rest, tokens)
    if refusal:
        return refusal
    if (
        _is_listed(rest[0], f"{objects}.not_first")
        or _is_listed(rest[-1], f"{objects}.not_last")
        or _is_gerund(rest[0])
    ):
        return Refusal("unreadable", said(tokens))
    if _has_article(rest) or rest[0].text.isdigit() or not all(_APP_WORD.fullmatch(token.text) for token in rest):
        return Refusal("unreadable", said(tokens))
    return said(rest)


def window_name(tokens: Tokens, *, going: bool = False) -> str | Refusal:
    """The title of a window to close or (`going`) to go to."""
    rest = without_end(without_article(tokens), "objects.apps.suffixes")
    if quoted := _only_quoted(rest):
        return quoted
    refusal = refused_name(rest, tokens)
    if refusal:
        return refusal
    last = "objects.places.not_windows" if going else "objects.apps.not_last"
    is_listed = _is_listed(rest[-1], last) or _is_listed(rest[0], "objects.apps.not_first")
    if is_listed or (going and _is_listed(rest[0], "objects.places.not_first")) or _has_article(rest):
        return Refusal("unreadable", said(tokens))
    if _looks_like_address(rest[-1].text) or not all(_WINDOW_WORD.fullmatch(token.text) for token in rest):
        return Refusal("unreadable", said(tokens))
    return said(rest)


def label(tokens: Tokens) -> str | Refusal:
    """The visible name of something to click or drag."""
    rest = _without_short_lead(_without_lead(without_article(tokens), "objects.labels.leads"))
    rest = without_end(rest, "objects.labels.nouns")
    if quoted := _only_quoted(rest):
        return quoted
    refusal = refused_name(rest, tokens)
    if refusal:
        return refusal
    if all(_is_listed(token, "objects.labels.descriptions") for token in rest):
        return Refusal("which", said(tokens))
    return said(rest)


def is_any_of_a_kind(tokens: Tokens) -> bool:
    """`the file`, `a folder`: there are many, and nothing says which."""
    rest = without_article(tokens)
    return (
        len(rest) == 1 < len(tokens) and rest[0].kind is WordKind.WORD and _is_listed(rest[0], "objects.labels.kinds")
    )


def spoken(name: str | Refusal, tokens: Tokens) -> str:
    """The name with the article that it was said with."""
    return f"the {name}" if tokens and tokens[0].low == "the" else str(name)


def without_article(tokens: Tokens) -> Tokens:
    """Leaves a lone article, which may be a name."""
    return tokens[1:] if len(tokens) > 1 and _is_listed(tokens[0], "objects.articles") else tokens


def without_end(tokens: Tokens, path: str) -> Tokens:
    """Leaves the tokens alone where nothing else would stay."""
    length, _ = lexicon().phrases(path).at_end(tokens)
    return tokens[:-length] if 0 < length < len(tokens) else tokens


def refused_name(rest: Tokens, whole: Tokens) -> Refusal | None:
    """Why `rest` cannot be any name, said about `whole`."""
    part = said(whole)
    if not rest or all(
        _is_listed(token, "objects.pronouns") or _is_listed(token, "objects.articles") for token in rest
    ):
        return Refusal("which", part)
    for path, kind in (("negations", "negation"), ("conditions", "condition"), ("strangers", "unreadable")):
        if any(_is_listed(token, f"objects.{path}") for token in rest):
            return Refusal(kind, part)
    if any(token.kind is not WordKind.WORD or _MARKS.search(token.text) for token in rest) or len(rest) > _MOST_WORDS:
        return Refusal("unreadable", part)
    if any(token.text in lexicon().table("objects.verbs") for token in rest[1:]):
        return Refusal("unreadable", part)
    return None


def _without_lead(tokens: Tokens, path: str) -> Tokens:
    length, _ = lexicon().phrases(path).at(tokens)
    return tokens[length:] if length < len(tokens) else tokens


def _without_short_lead(tokens: Tokens) -> Tokens:
    """`button 7`, `menu item "Save"`; `Text Editor` and `Menu Bar` are names."""
    rest = _without_lead(tokens, "objects.labels.short_leads")
    return rest if len(rest) == 1 and (rest[0].kind is WordKind.QUOTED or len(rest[0].text) <= _SIGN) else tokens


def _only_quoted(tokens: Tokens) -> str:
    return tokens[0].text.strip() if len(tokens) == 1 and tokens[0].kind is WordKind.QUOTED else ""


def _is_listed(token: Token, path: str) -> bool:
    return lexicon().phrases(path).at((token,))[0] == 1


def _has_article(tokens: Tokens) -> bool:
    return any(_is_listed(token, "objects.articles") for token in tokens[1:])


def _is_gerund(token: Token) -> bool:
    return token.low.endswith("ing") and len(token.low) >= _SHORTEST_GERUND


def _looks_like_address(word: str) -> bool:
    return "/" in word or re.search(r"\.(com|org|net|io|de|edu|gov|dev|app|co|uk)$", word.lower()) is not None
