"""Clauses about text to type. What could be more than text, or less, is refused with the advice to quote it."""

from __future__ import annotations

from collections.abc import Sequence

from app.base.texts import clip_line
from app.providers.offline import names
from app.providers.offline.words import PlannedCall, Refusal, Steps, Token, WordKind, lexicon

_SHOWN = 40
_MAY_GO_IN = ("enter", "input")


def type_quoted(tokens: Sequence[Token]) -> Steps:
    """`"text"`, `the word "text"`, `"text" into the search box`."""
    at = next(i for i, token in enumerate(tokens) if token.kind is WordKind.QUOTED)
    if at and not lexicon().phrases("objects.typing.lead_in").whole(tokens[:at]):
        return Refusal("ambiguous", names.said(tokens))
    before = _place(tokens[at + 1 :])
    if isinstance(before, Refusal):
        return before
    return (*before, typed(tokens[at].text)) if tokens[at].text else Refusal("which", "type")


def typed(text: str) -> PlannedCall:
    return PlannedCall("computer_type", {"text": text}, "type", f"“{clip_line(text, _SHOWN)}”")


def _place(tokens: Sequence[Token]) -> Steps:
    """What must be done first for the text to go where it is said to go."""
    if not tokens or lexicon().phrases("objects.fields.here").whole(tokens):
        return ()
    if tokens[0].low not in lexicon().table("objects.fields.into"):
        return Refusal("unreadable", names.said(tokens))
    where = tokens[1:]
    if lexicon().phrases("objects.fields.here").whole(where):
        return ()
    if where and where[-1].low in lexicon().table("objects.fields.nouns"):
        name = names.label(where)
        return (
            name
            if isinstance(name, Refusal)
            else (PlannedCall("computer_click", {"target": name}, "click", f"“{name}”"),)
        )
    window = names.window_name(where)
    return window if isinstance(window, Refusal) else (PlannedCall("focus_window", {"title": window}, "focus", window),)


def type_plain(tokens: Sequence[Token], text: str, verb: str) -> Steps:
    """Text without quotation marks: `text` as written, `tokens` the same cut up, `verb` what it was introduced by."""
    lead, text = _without_lead(tokens, text)
    tokens = tokens[lead:]
    refusal = _composition(tokens, text, verb) or _doubt(tokens, text, verb)
    return refusal or (typed(text),)


def _without_lead(tokens: Sequence[Token], text: str) -> tuple[int, str]:
    """How many tokens only introduce the text (`the word hello`), and the text without them."""
    lead, said = lexicon().phrases("objects.typing.lead_in").at(tokens)
    if not lead or len(tokens) == lead:
        return 0, text
    is_one_word = said in lexicon().table("objects.typing.one_word") and len(tokens) == lead + 1
    if not is_one_word and not tokens[lead - 1].text.endswith(":"):
        return 0, text
    return lead, text[tokens[lead].start - tokens[0].start :]


def _composition(tokens: Sequence[Token], text: str, verb: str) -> Refusal | None:
    """Whether words of our own making are asked for, or a text that was not given."""
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
    """Whether it is open what belongs to the text."""
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
    """Whether the text begins with a mark before its words, or holds half a quotation."""
    has_words = any(token.kind is not WordKind.SEPARATOR for token in tokens)
    marks = sum(token.text.count('"') for token in tokens if token.kind is WordKind.WORD)
    return (has_words and tokens[0].kind is WordKind.SEPARATOR) or marks % 2 == 1


def _names_a_place(words: Sequence[Token]) -> bool:
    """`hello in the search box`: the end may say where."""
    into = lexicon().table("objects.fields.into")
    nouns = {*lexicon().table("objects.fields.nouns"), *lexicon().table("objects.apps.known"), "window", "app"}
    return len(words) > 2 and words[-1].low in nouns and any(word.low in into for word in words[1:-1])
