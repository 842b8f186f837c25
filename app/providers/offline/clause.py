"""One clause: its verb, what the verb is said about, and the steps that follow from both."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from app.providers.offline import keyboard, names, pointer, waiting
from app.providers.offline.lexicon import lexicon
from app.providers.offline.numbers import repeats
from app.providers.offline.steps import Refusal, Step, Steps
from app.providers.offline.typing_text import type_quoted
from app.providers.offline.words import Kind, Phrases, Token

Tokens = Sequence[Token]
_HELD = re.compile(r"(?P<modifier>[a-z]+)[-+](?P<verb>.+)")
_LOOKS = {"capture": "screen_capture", "read": "read_screen", "windows": "list_windows"}
_CLICKS = ("click", "double_click", "triple_click", "right_click", "middle_click")
_REFUSED = ("negation", "condition", "question", "past", "outside")


@dataclass(frozen=True, slots=True)
class Head:
    """How a clause begins: its action (empty where there is none) and where its arguments do."""

    action: str
    length: int
    modifier: str = ""


def without_fillers(tokens: Tokens) -> tuple[Tokens, bool]:
    """The clause without what is only politeness before it, and whether that made a question of a wish."""
    starts, requests = lexicon().phrases("commands.fillers.start"), lexicon().phrases("commands.fillers.request")
    between = lexicon().phrases("commands.between")
    is_request = False
    while tokens:
        asked, _ = requests.at(tokens)
        if head_of(tokens).action:
            break
        length = asked or starts.at(tokens)[0] or between.at(tokens)[0] or (tokens[0].kind is Kind.SEPARATOR)
        if not length or (asked and _is_not_request(tokens)):
            break
        is_request = is_request or bool(asked)
        tokens = tokens[length:]
    return tokens, is_request


def _is_not_request(tokens: Tokens) -> bool:
    """`could you mind`, `would you mind opening`: longer question phrases win over the polite ones."""
    asked, _ = lexicon().phrases("commands.fillers.request").at(tokens)
    return lexicon().phrases("commands.refusals.question").at(tokens)[0] > asked


def head_of(tokens: Tokens) -> Head:
    """The verb that a clause without fillers begins with."""
    length, action = _verbs().at(tokens)
    if length:
        return Head(action, length)
    held = _HELD.fullmatch(tokens[0].low) if tokens and tokens[0].kind is Kind.WORD else None
    modifier = lexicon().phrases("keys.modifiers").at((_word(held["modifier"]),))[1] if held else ""
    if held and modifier:
        length, action = _verbs().at([_word(held["verb"]), *tokens[1:]])
        if action in _CLICKS:
            return Head(action, length, modifier)
    return Head("", 0)


@functools.cache
def verbs() -> frozenset[str]:
    """Verbs of one word."""
    return frozenset(verb for said in lexicon().table("commands.verbs").values() for verb in said if verb.isalpha())


def begins_like_command(tokens: Tokens) -> bool:
    """Whether somebody who reads this would take it for something to do, or not to do."""
    rest, _ = without_fillers(tokens)
    phrases = lexicon().phrases
    if head_of(rest).action or phrases("commands.refusals.outside").at(rest)[0]:
        return True
    negation, _ = phrases("commands.refusals.negation").at(rest)
    return bool(negation) and begins_like_command(rest[negation:])


def read_clause(tokens: Tokens, *, implied: str = "") -> Steps:
    """The steps of a clause, fillers already gone from its start. `implied` is the verb of the clause before."""
    tokens = without_ending(tokens)
    if look := lexicon().phrases("commands.clauses").whole(tokens):
        return (Step(_LOOKS[look], {"view": "interactive"} if look == "read" else {}, look),)
    head = head_of(tokens)
    if implied == "press" and names_keys(tokens):
        return keyboard.press(tokens)
    if refusal := _refused(tokens, head):
        return refusal
    rest = tokens[head.length :]
    if head.action:
        steps = _read_action(head, rest)
        is_key = isinstance(steps, Refusal) and steps.kind == "key"
        return replace(steps, part=names.said(tokens)) if isinstance(steps, Refusal) and not is_key else steps
    return _elided(tokens, implied) if implied else Refusal("unreadable", names.said(tokens))


def names_keys(tokens: Tokens) -> bool:
    """Whether the clause is nothing but keys, as in `press tab and enter twice`."""
    return bool(keyboard.chord(repeats(without_ending(tokens))[0]))


def _refused(tokens: Tokens, head: Head) -> Refusal | None:
    """A clause that begins with one of the words for things not done here; the longest phrase decides."""
    found = [(*lexicon().phrases(f"commands.refusals.{kind}").at(tokens), kind) for kind in _REFUSED]
    length, said, kind = max(found, key=lambda entry: entry[0])
    if length <= head.length:
        return None
    near = str(lexicon().table("commands.nearest").get(said, ""))
    return Refusal(kind, names.said(tokens), near.replace("{rest}", names.said(tokens[length:])))


def _read_action(head: Head, rest: Tokens) -> Steps:
    if head.action in _CLICKS:
        return pointer.click(head.action, rest, head.modifier)
    return _ACTIONS[head.action](rest)


def _open(tokens: Tokens) -> Steps:
    name = names.app_name(tokens)
    return _named(name, Step("open_app", {"name": str(name)}, "open", names.spoken(name, tokens)))


def _close(tokens: Tokens) -> Steps:
    name = names.window_name(tokens)
    return _named(name, Step("close_window", {"title": str(name)}, "close", names.spoken(name, tokens)))


def _focus(tokens: Tokens) -> Steps:
    name = names.window_name(tokens, going=True)
    return _named(name, Step("focus_window", {"title": str(name)}, "focus", names.spoken(name, tokens)))


def _bring(tokens: Tokens) -> Steps:
    """`bring X to the front`; without the end it is no window that is to be brought."""
    rest = names.without_end(tokens, "objects.places.front")
    return _focus(rest) if len(rest) < len(tokens) else Refusal("unreadable", names.said(tokens))


def _named(name: str | Refusal, step: Step) -> Steps:
    return name if isinstance(name, Refusal) else (step,)


def _type(tokens: Tokens) -> Steps:
    if any(token.kind is Kind.QUOTED for token in tokens):
        return type_quoted(tokens)
    return Refusal("which" if not tokens else "ambiguous", names.said(tokens) or "type")


_ACTIONS: dict[str, Callable[[Tokens], Steps]] = {
    "open": _open,
    "close": _close,
    "focus": _focus,
    "bring": _bring,
    "type": _type,
    "press": keyboard.press,
    "scroll": pointer.scroll,
    "drag": pointer.drag,
    "wait": waiting.wait,
}


def _elided(tokens: Tokens, implied: str) -> Steps:
    """`open the calculator and the terminal`: only what can be nothing else goes on with the verb before."""
    if implied in ("open", "close"):
        known = lexicon().phrases("objects.apps.known")
        bare = names.without_end(names.without_article(tokens), "objects.apps.suffixes")
        return _ACTIONS[implied](tokens) if known.whole(bare) else Refusal("unreadable", names.said(tokens))
    if implied != "press" and _is_click_target(tokens):
        return pointer.click(implied, tokens)
    return Refusal("unreadable", names.said(tokens))


def _is_click_target(tokens: Tokens) -> bool:
    """`on Save`, `"Save"`, `the 7 button`, a single sign."""
    if not tokens:
        return False
    nouns = lexicon().phrases("objects.labels.nouns")
    is_sign = len(tokens) == 1 and (tokens[0].kind is Kind.QUOTED or len(tokens[0].text) == 1)
    return is_sign or (len(tokens) > 1 and (tokens[0].low == "on" or nouns.at_end(tokens)[0] > 0))


def elides_to(steps: Sequence[Step], action: str) -> str:
    """The verb that a following clause may leave out; empty where it must be said again."""
    if action == "press":
        return "" if steps[-1].arguments.get("keys") == keyboard.MAY_STAND_ALONE else "press"
    return action if action in ("open", "close", *_CLICKS) else ""


def without_ending(tokens: Tokens) -> Tokens:
    while tokens and tokens[-1].kind is Kind.SEPARATOR:
        tokens = tokens[:-1]
    while len(shorter := names.without_end(tokens, "commands.fillers.end")) < len(tokens):
        tokens = shorter
    return tokens


def _word(text: str) -> Token:
    return Token(Kind.WORD, text, 0, 0)


def _verbs() -> Phrases:
    return lexicon().phrases("commands.verbs")
