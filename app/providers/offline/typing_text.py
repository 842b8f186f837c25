"""Read clauses about text to type. If the extent of the text is unclear, refuse and advise to quote it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.base.texts import clip_line
from app.providers.offline.words import PlannedCall, Refusal, Steps, Token, WordKind, lexicon

Tokens = Sequence[Token]
_APP_WORD = re.compile(r"[\w+][\w+'-]*")
_WINDOW_WORD = re.compile(r"[\w+][\w+'.-]*|-|–|—")
_MARKS = re.compile(r"[\"“”„«»`]|<\w|\w>")
"""Marks that a name without quotation marks must not contain: half a quotation, or a tag."""
_MOST_WORDS = 6
_SIGN = 2
"""A name of at most this length after a word such as `button` is certainly a label."""
_SHORTEST_GERUND = 5


def name_in(tokens: Tokens) -> str:
    """Return the words as written, with single blanks, and with quotation marks around quoted text."""
    shown = [f"“{token.text}”" if token.kind is WordKind.QUOTED else token.text for token in tokens]
    glued = ["" if token.kind is WordKind.SEPARATOR else " " for token in tokens]
    return "".join(glue + text for glue, text in zip(glued, shown, strict=True)).strip()


def app_name(tokens: Tokens) -> str | Refusal:
    """Return the name of a program to open."""
    objects = "objects.apps"
    rest = _names_without_lead(without_article(tokens), f"{objects}.prefixes")
    rest = without_end(rest, f"{objects}.suffixes")
    if found := _only_quoted(rest) or refused_name(rest, tokens):
        return found
    if (
        _is_listed(rest[0], f"{objects}.not_first")
        or _is_listed(rest[-1], f"{objects}.not_last")
        or _is_gerund(rest[0])
    ):
        return Refusal("unreadable", name_in(tokens))
    if _has_article(rest) or rest[0].text.isdigit() or not all(_APP_WORD.fullmatch(token.text) for token in rest):
        return Refusal("unreadable", name_in(tokens))
    return name_in(rest)


def window_name(tokens: Tokens, *, going: bool = False) -> str | Refusal:
    """Return the title of a window to close or, with `going`, to go to."""
    rest = without_end(without_article(tokens), "objects.apps.suffixes")
    if found := _only_quoted(rest) or _titled(rest) or refused_name(rest, tokens):
        return found
    last = "objects.places.not_windows" if going else "objects.apps.not_last"
    is_listed = _is_listed(rest[-1], last) or _is_listed(rest[0], "objects.apps.not_first")
    if is_listed or (going and _is_listed(rest[0], "objects.places.not_first")) or _has_article(rest):
        return Refusal("unreadable", name_in(tokens))
    if _looks_like_address(rest[-1].text) or not all(_WINDOW_WORD.fullmatch(token.text) for token in rest):
        return Refusal("unreadable", name_in(tokens))
    return name_in(rest)


def label(tokens: Tokens) -> str | Refusal:
    """Return the visible name of an element to click or drag."""
    rest = _without_short_lead(_names_without_lead(without_article(tokens), "objects.labels.leads"))
    rest = without_end(rest, "objects.labels.nouns")
    if found := _only_quoted(rest) or _known_answer(rest) or refused_name(rest, tokens):
        return found
    if all(_is_listed(token, "objects.labels.descriptions") for token in rest):
        return Refusal("which", name_in(tokens))
    return name_in(rest)


def is_any_of_a_kind(tokens: Tokens) -> bool:
    """Say whether the words name only a kind (`the file`, `a folder`), so that it is unclear which one."""
    rest = without_article(tokens)
    return (
        len(rest) == 1 < len(tokens) and rest[0].kind is WordKind.WORD and _is_listed(rest[0], "objects.labels.kinds")
    )


def spoken(name: str | Refusal, tokens: Tokens) -> str:
    """Return the name with the definite article in front, if the person used one."""
    return f"{tokens[0].low} {name}" if tokens and _is_listed(tokens[0], "objects.definite") else str(name)


def without_article(tokens: Tokens) -> Tokens:
    """Return the words without an article. A lone article stays, because it may be a name."""
    return tokens[1:] if len(tokens) > 1 and _is_listed(tokens[0], "objects.articles") else tokens


def without_end(tokens: Tokens, path: str) -> Tokens:
    """Return the words without an ending that is listed at `path`, unless nothing else would remain."""
    length, _ = lexicon().phrases(path).at_end(tokens)
    return tokens[:-length] if 0 < length < len(tokens) else tokens


def refused_name(rest: Tokens, whole: Tokens) -> Refusal | None:
    """Return why the words in `rest` cannot be a name, or None if they can. The refusal quotes `whole`."""
    part = name_in(whole)
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


def _names_without_lead(tokens: Tokens, path: str) -> Tokens:
    length, _ = lexicon().phrases(path).at(tokens)
    return tokens[length:] if length < len(tokens) else tokens


def _without_short_lead(tokens: Tokens) -> Tokens:
    """Return the label after a word for its kind: `button 7`, `menu item "Save"`. `Text Editor` is a name."""
    rest = _names_without_lead(tokens, "objects.labels.short_leads")
    return rest if len(rest) == 1 and (rest[0].kind is WordKind.QUOTED or len(rest[0].text) <= _SIGN) else tokens


def _only_quoted(tokens: Tokens) -> str:
    return tokens[0].text.strip() if len(tokens) == 1 and tokens[0].kind is WordKind.QUOTED else ""


def _known_answer(tokens: Tokens) -> str:
    """Return the name of a button such as `Don't Save`, whose words elsewhere forbid something; "" for other words."""
    return name_in(tokens) if lexicon().phrases("objects.labels.answers").whole(tokens) else ""


def _titled(tokens: Tokens) -> str:
    """Return a title of several words with capital letters, such as `Save As`; "" for others."""
    if _known_answer(tokens):
        return name_in(tokens)
    is_title = len(tokens) > 1 and all(_WINDOW_WORD.fullmatch(one.text) and one.text[:1].isupper() for one in tokens)
    is_refused = any(_is_listed(one, f"objects.{path}") for one in tokens for path in ("negations", "conditions"))
    is_verbose = any(_is_listed(one, "objects.verbs") for one in tokens[1:])
    return name_in(tokens) if is_title and not (is_refused or is_verbose or len(tokens) > _MOST_WORDS) else ""


def _is_listed(token: Token, path: str) -> bool:
    return lexicon().phrases(path).at((token,))[0] == 1


def _has_article(tokens: Tokens) -> bool:
    return any(_is_listed(token, "objects.articles") for token in tokens[1:])


def _is_gerund(token: Token) -> bool:
    return token.low.endswith("ing") and len(token.low) >= _SHORTEST_GERUND


def _looks_like_address(word: str) -> bool:
    return "/" in word or re.search(r"\.(com|org|net|io|de|edu|gov|dev|app|co|uk)$", word.lower()) is not None


_SHOWN = 40
_MAY_GO_IN = ("enter", "input")


def type_quoted(tokens: Sequence[Token]) -> Steps:
    """Read `"text"`, `the word "text"`, `"text" into the search box`."""
    at = next(i for i, token in enumerate(tokens) if token.kind is WordKind.QUOTED)
    if at and not lexicon().phrases("objects.typing.lead_in").whole(tokens[:at]):
        return Refusal("ambiguous", name_in(tokens))
    before = _place(tokens[at + 1 :])
    if isinstance(before, Refusal):
        return before
    return (*before, typed(tokens[at].text)) if tokens[at].text else Refusal("which", "type")


def typed(text: str) -> PlannedCall:
    return PlannedCall("computer_type", {"text": text}, "type", f"“{clip_line(text, _SHOWN)}”")


def _place(tokens: Sequence[Token]) -> Steps:
    """Return the steps that first bring the keyboard to the place that the words name; () for no place."""
    if not tokens or lexicon().phrases("objects.fields.here").whole(tokens):
        return ()
    if tokens[0].low not in lexicon().table("objects.fields.into"):
        return Refusal("unreadable", name_in(tokens))
    where = tokens[1:]
    if lexicon().phrases("objects.fields.here").whole(where):
        return ()
    if where and where[-1].low in lexicon().table("objects.fields.nouns"):
        name = label(where)
        return (
            name
            if isinstance(name, Refusal)
            else (PlannedCall("computer_click", {"target": name}, "click", f"“{name}”"),)
        )
    window = window_name(where)
    if isinstance(window, Refusal):
        return window
    focus = PlannedCall("focus_window", {"title": window}, "focus", window)
    if len(without_article(where)) < len(where) or lexicon().phrases("objects.apps.known").whole(where):
        return (focus,)
    # a name alone may be a field's or a window's, and only the screen tells which
    field = lexicon().table("objects.fields")["nouns"][0]
    return (PlannedCall("computer_click", {"target": f"{window} {field}"}, "click", f"“{window}”", focus),)


def type_plain(tokens: Sequence[Token], text: str, verb: str) -> Steps:
    """Read text without quotation marks: `text` as written, `tokens` its words, `verb` the word that introduced it."""
    lead, text = _without_lead(tokens, text)
    tokens = tokens[lead:]
    refusal = _composition(tokens, text, verb) or _doubt(tokens, text, verb)
    return refusal or (typed(text),)


def _without_lead(tokens: Sequence[Token], text: str) -> tuple[int, str]:
    """Return how many tokens only introduce the text (`the word hello`), and the text without them."""
    lead, said = lexicon().phrases("objects.typing.lead_in").at(tokens)
    if not lead or len(tokens) == lead:
        return 0, text
    is_one_word = said in lexicon().table("objects.typing.one_word") and len(tokens) == lead + 1
    if not is_one_word and not tokens[lead - 1].text.endswith(":"):
        return 0, text
    return lead, text[tokens[lead].start - tokens[0].start :]


def _composition(tokens: Sequence[Token], text: str, verb: str) -> Refusal | None:
    """Refuse a wish for text that Wisp would have to invent, or that the person did not give."""
    if not text:
        return Refusal("which", "type")
    words = [token.low for token in tokens]
    listed = lexicon().table("objects.typing")
    if lexicon().phrases("objects.typing.stands_for").whole(tokens):
        return Refusal("which", text)
    if lexicon().phrases("objects.typing.lead_in").at(tokens)[0] > 1:
        return None
    if verb.startswith("write") and words[0] in listed["to_whom"]:
        return Refusal("outside", text)
    is_asked = (
        verb.startswith("write")
        or words[0] in listed["to_whom"]
        or "about" in words
        or words[0] in listed["determiners"]
    )
    if is_asked and any(word in listed["genres"] for word in words[:4]):
        return Refusal("outside", text)
    return None


def _doubt(tokens: Sequence[Token], text: str, verb: str) -> Refusal | None:
    """Refuse if it is unclear which words belong to the text."""
    phrases = lexicon().phrases
    words = [token for token in tokens if token.kind is not WordKind.SEPARATOR]
    is_doubtful = (
        _is_torn(tokens)
        or phrases("objects.typing.doubts").inside(tokens[1:])
        or phrases("objects.typing.doubtful_starts").at(tokens)[0]
        or phrases("objects.typing.lead_in").at(tokens)[0] > 1
        or ((verb.endswith(" in") or verb in _MAY_GO_IN) and phrases("objects.typing.after_in").at(tokens)[0])
        or (len(words) > 1 and phrases("objects.typing.doubtful_ends").at_end(words[1:])[0])
        or _names_a_place(words)
    )
    return Refusal("ambiguous", text) if is_doubtful else None


def _is_torn(tokens: Sequence[Token]) -> bool:
    """Say whether the text begins with a mark before its words, or contains half a quotation."""
    has_words = any(token.kind is not WordKind.SEPARATOR for token in tokens)
    marks = sum(token.text.count('"') for token in tokens if token.kind is WordKind.WORD)
    return (has_words and tokens[0].kind is WordKind.SEPARATOR) or marks % 2 == 1


def _names_a_place(words: Sequence[Token]) -> bool:
    """Say whether the end may name a place, as in `hello in the search box`."""
    into = lexicon().table("objects.fields.into")
    nouns = {*lexicon().table("objects.fields.nouns"), *lexicon().table("objects.apps.known"), "window", "app"}
    return len(words) > 2 and words[-1].low in nouns and any(word.low in into for word in words[1:-1])
