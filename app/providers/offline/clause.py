"""Read one clause: its verb, the verb's object, and the steps that follow from both."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from functools import partial

from app.base.values import dataclass, replace
from app.providers.offline import forms, pointer, typing_text
from app.providers.offline.pointer import repeats, seconds
from app.providers.offline.typing_text import type_quoted
from app.providers.offline.words import Phrases, PlannedCall, Refusal, Steps, Token, WordKind, lexicon, tokens_of

MAY_STAND_ALONE = "super"


def press(tokens: Sequence[Token]) -> Steps:
    """Return the step that presses one chord, once or several times: `ctrl s`, `tab twice`. Refuses unknown keys."""
    rest, count = repeats(tokens)
    if len(rest) > 1 and rest[-1].low == "button":
        return _pressed_button(rest, count)
    keys = chord(rest)
    if not keys:
        return Refusal("key" if rest else "which", typing_text.name_in(tokens) or "press")
    if not 1 <= count <= lexicon().number("keys.say.most_repeats"):
        return Refusal("range", typing_text.name_in(tokens))
    arguments: dict[str, str | int] = {"keys": keys}
    if count > 1:
        arguments["repeat"] = count
    return (PlannedCall("computer_key", arguments, "press", keys if count == 1 else f"{keys} × {count}"),)


def _pressed_button(tokens: Sequence[Token], count: int) -> Steps:
    name = typing_text.label(tokens)
    if isinstance(name, Refusal):
        return name
    if count != 1:
        return Refusal("range", typing_text.name_in(tokens))
    return (PlannedCall("computer_click", {"target": name}, "click", f"“{name}”"),)


def chord(tokens: Sequence[Token]) -> str:
    """Return the chord as the keyboard tool writes it; "" if the words name no keys."""
    if len(tokens) == 1 and tokens[0].kind is WordKind.QUOTED:
        sign = tokens[0].text.strip()
        if len(sign) == 1:
            return sign
        tokens = tokens_of(sign)
    tokens = typing_text.without_end(_without_lead(tokens), "keys.say.nouns")
    if not tokens or any(token.kind is not WordKind.WORD for token in tokens):
        return ""
    return _join(_pieces(tokens))


def _without_lead(tokens: Sequence[Token]) -> Sequence[Token]:
    length, _ = lexicon().phrases("keys.say.before").at(tokens)
    return tokens[length:] if length < len(tokens) else tokens


def _pieces(tokens: Sequence[Token]) -> list[Token]:
    """Return the words and the parts of `ctrl+shift+t`. A plus or minus sign at the end is a key itself."""
    keys = lexicon().phrases("keys.keys")
    pieces: list[Token] = []
    for token in tokens:
        if len(token.text) == 1 or keys.whole((token,)):
            pieces.append(token)
            continue
        for part in re.findall(r"[^+-]+|(?<=[+-])[+-]$", token.text):
            pieces.append(Token(WordKind.WORD, part, token.start, token.end))
    return pieces


def _join(pieces: Sequence[Token]) -> str:
    """Return modifiers and one key as a chord. Every piece must be used."""
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


def wait(tokens: Sequence[Token]) -> Steps:
    if not tokens:
        return Refusal("which", "wait")
    if said := lexicon().phrases("numbers.waits").whole(tokens):
        return _waited(float(lexicon().table("numbers.waits")[said]))
    is_for = tokens[0].low == "for"
    duration = seconds(tokens[1:] if is_for else tokens)
    if duration is not None:
        return _waited(duration) if _is_allowed(duration) else Refusal("range", typing_text.name_in(tokens))
    limit, rest = _limit(tokens)
    length, lead = lexicon().phrases("numbers.waiting.until").at(rest)
    if not length:
        return Refusal("unreadable", f"wait {typing_text.name_in(tokens)}")
    if not _is_allowed(limit):
        return Refusal("range", typing_text.name_in(tokens))
    return _appearing(rest[length:], limit, lead)


def _is_allowed(duration: float) -> bool:
    return 0 < duration <= lexicon().number("numbers.limits.wait_s")


def _waited(duration: float) -> Steps:
    value = int(duration) if duration == int(duration) else round(duration, 3)
    return (PlannedCall("wait", {"seconds": value}, "wait", f"{value} s"),)


def _limit(tokens: Sequence[Token]) -> tuple[float, Sequence[Token]]:
    """Read a time limit such as `up to 20 seconds`. Return it in seconds (or the default) and the words after it."""
    length, _ = lexicon().phrases("numbers.waiting.up_to").at(tokens)
    for stop in range(length + 1, min(length + 6, len(tokens)) + 1) if length else ():
        duration = seconds(tokens[length:stop])
        if duration is not None:
            return duration, tokens[stop:]
    return lexicon().number("numbers.limits.appears_s"), tokens


def _appearing(tokens: Sequence[Token], limit: float, lead: str) -> Steps:
    rest = typing_text.without_end(tokens, "numbers.waiting.appears")
    has_quotes = len(rest) == 1 and rest[0].kind is WordKind.QUOTED
    is_told = len(rest) < len(tokens) or lead in lexicon().table("numbers.waiting.sees")
    if not (is_told or has_quotes):
        return Refusal("unreadable", f"wait {lead} {typing_text.name_in(tokens)}".strip())
    text = rest[0].text.strip() if has_quotes else typing_text.label(rest)
    if isinstance(text, Refusal):
        return text
    if not text:
        return Refusal("which", f"wait {lead}")
    limit_s = int(limit) if limit == int(limit) else limit
    return (PlannedCall("wait_for", {"text": text, "limit_s": limit_s}, "wait_for", f"“{text}”"),)


Tokens = Sequence[Token]
_HELD = re.compile(r"(?P<modifier>[a-z]+)[-+](?P<verb>.+)")
_CLICKS = ("click", "double_click", "triple_click", "right_click", "middle_click")
_REFUSED = ("negation", "condition", "question", "past", "outside")


@dataclass(frozen=True, slots=True)
class ClauseHead:
    """The beginning of a clause: its action (empty if there is none) and where its arguments begin."""

    action: str
    length: int
    modifier: str = ""


def without_fillers(tokens: Tokens) -> tuple[Tokens, bool]:
    """Return the clause without polite words at its start, and whether they made it a question."""
    starts, requests = lexicon().phrases("commands.fillers.start"), lexicon().phrases("commands.fillers.request")
    between = lexicon().phrases("commands.between")
    is_request = False
    while tokens:
        asked, _ = requests.at(tokens)
        if head_of(tokens).action:
            break
        length = asked or starts.at(tokens)[0] or between.at(tokens)[0] or (tokens[0].kind is WordKind.SEPARATOR)
        if not length or (asked and _is_not_request(tokens)):
            break
        is_request = is_request or bool(asked)
        tokens = tokens[length:]
    return tokens, is_request


def _is_not_request(tokens: Tokens) -> bool:
    """Say whether a phrase such as `would you mind opening` is a question: the longest phrase decides."""
    asked, _ = lexicon().phrases("commands.fillers.request").at(tokens)
    return lexicon().phrases("commands.refusals.question").at(tokens)[0] > asked


def head_of(tokens: Tokens) -> ClauseHead:
    """Return the verb at the start of a clause without fillers."""
    length, action = _verbs().at(tokens)
    if length:
        return ClauseHead(action, length)
    held = _HELD.fullmatch(tokens[0].low) if tokens and tokens[0].kind is WordKind.WORD else None
    modifier = lexicon().phrases("keys.modifiers").at((_word(held["modifier"]),))[1] if held else ""
    if held and modifier:
        length, action = _verbs().at([_word(held["verb"]), *tokens[1:]])
        if action in _CLICKS:
            return ClauseHead(action, length, modifier)
    return ClauseHead("", 0)


@functools.cache
def verbs() -> frozenset[str]:
    """Return all verbs that are one word."""
    return frozenset(verb for said in lexicon().table("commands.verbs").values() for verb in said if verb.isalpha())


def begins_like_command(tokens: Tokens) -> bool:
    """Say whether a reader would take the words for a command or a prohibition."""
    rest, _ = without_fillers(tokens)
    phrases = lexicon().phrases
    if head_of(rest).action or phrases("commands.refusals.outside").at(rest)[0]:
        return True
    negation, _ = phrases("commands.refusals.negation").at(rest)
    return bool(negation) and begins_like_command(rest[negation:])


def read_clause(tokens: Tokens, *, implied: str = "") -> Steps:
    """Return the steps of a clause without fillers. `implied` is the verb of the clause before it."""
    whole, tokens = tokens, without_ending(tokens)
    if look := lexicon().phrases("commands.clauses").whole(tokens):
        return forms.planned_steps(lexicon().table(f"forms.looks.{look}"), {})
    head = head_of(tokens)
    if implied == "press" and names_keys(tokens):
        return press(tokens)
    if refusal := _refused(tokens, head):
        return refusal
    rest = tokens[head.length :]
    if head.action:
        steps = _as_named(_read_action(head, rest), tokens, whole[len(tokens) :])
        is_key = isinstance(steps, Refusal) and steps.kind == "key"
        return replace(steps, part=typing_text.name_in(tokens)) if isinstance(steps, Refusal) and not is_key else steps
    return _elided(tokens, implied) if implied else Refusal("unreadable", typing_text.name_in(tokens))


def _as_named(steps: Steps, tokens: Tokens, ending: Tokens) -> Steps:
    """Return a click with the ending that was left out, where it may belong to the name: the screen decides."""
    may_belong = lexicon().phrases("commands.fillers.in_names").whole(ending)
    if isinstance(steps, Refusal) or not may_belong or any(token.kind is WordKind.QUOTED for token in tokens):
        return steps
    step, given = steps[0], steps[0].arguments
    if len(steps) > 1 or step.tool != "computer_click" or "target" not in given or "count" in given:
        return steps
    name = f"{given['target']} {ending[0].text}"
    return (replace(step, arguments={**given, "target": name}, what=f"“{name}”"),)


def names_keys(tokens: Tokens) -> bool:
    """Say whether the clause has only keys, as in `press tab and enter twice`."""
    return bool(chord(repeats(without_ending(tokens))[0]))


def _refused(tokens: Tokens, head: ClauseHead) -> Refusal | None:
    """Return why Wisp cannot do a clause that begins with a refused phrase. The longest phrase decides."""
    found = [(*lexicon().phrases(f"commands.refusals.{kind}").at(tokens), kind) for kind in _REFUSED]
    length, said, kind = max(found, key=lambda entry: entry[0])
    if length <= head.length:
        return None
    table, rest = lexicon().table("commands.nearest"), typing_text.name_in(tokens[length:])
    near = str(table.get(f"{said} …" if rest else said) or table.get(said, ""))
    return Refusal(kind, typing_text.name_in(tokens), near.replace("{rest}", rest))


def _read_action(head: ClauseHead, rest: Tokens) -> Steps:
    if head.action in _CLICKS:
        return pointer.click(head.action, rest, head.modifier)
    return _ACTIONS[head.action](rest)


def _named(phrase: str, tool: str, argument: str, tokens: Tokens) -> Steps:
    """Return the call of `tool` with the program or window that the clause names as its `argument`."""
    is_going = phrase == "focus"
    name = typing_text.app_name(tokens) if phrase == "open" else typing_text.window_name(tokens, going=is_going)
    if isinstance(name, Refusal):
        return name
    return (PlannedCall(tool, {argument: name}, phrase, typing_text.spoken(name, tokens)),)


def _bring(tokens: Tokens) -> Steps:
    """Read `bring X to the front`. A clause without "to the front" is refused, because it may not mean a window."""
    rest = typing_text.without_end(tokens, "objects.places.front")
    return _ACTIONS["focus"](rest) if len(rest) < len(tokens) else Refusal("unreadable", typing_text.name_in(tokens))


def _type(tokens: Tokens) -> Steps:
    if any(token.kind is WordKind.QUOTED for token in tokens):
        return type_quoted(tokens)
    return Refusal("which" if not tokens else "ambiguous", typing_text.name_in(tokens) or "type")


_ACTIONS: dict[str, Callable[[Tokens], Steps]] = {
    "open": partial(_named, "open", "open_app", "name"),
    "close": partial(_named, "close", "close_window", "title"),
    "focus": partial(_named, "focus", "focus_window", "title"),
    "bring": _bring,
    "type": _type,
    "press": press,
    "scroll": pointer.scroll,
    "drag": pointer.drag,
    "wait": wait,
}


def _elided(tokens: Tokens, implied: str) -> Steps:
    """Read a clause without its own verb, as in `open the calculator and the terminal`.

    The verb before applies only if the clause can mean nothing else.
    """
    if implied in ("open", "close"):
        known = lexicon().phrases("objects.apps.known")
        bare = typing_text.without_end(typing_text.without_article(tokens), "objects.apps.suffixes")
        return _ACTIONS[implied](tokens) if known.whole(bare) else Refusal("unreadable", typing_text.name_in(tokens))
    if implied != "press" and _is_click_target(tokens):
        return pointer.click(implied, tokens)
    return Refusal("unreadable", typing_text.name_in(tokens))


def _is_click_target(tokens: Tokens) -> bool:
    """Say whether the words name a click target: `on Save`, `"Save"`, `the 7 button`, a single sign."""
    if not tokens:
        return False
    nouns = lexicon().phrases("objects.labels.nouns")
    is_sign = len(tokens) == 1 and (tokens[0].kind is WordKind.QUOTED or len(tokens[0].text) == 1)
    return is_sign or (len(tokens) > 1 and (tokens[0].low == "on" or nouns.at_end(tokens)[0] > 0))


def elides_to(steps: Sequence[PlannedCall], action: str) -> str:
    """Return the verb that the next clause may leave out; "" if the next clause must have a verb of its own."""
    if action == "press":
        return "" if steps[-1].arguments.get("keys") == MAY_STAND_ALONE else "press"
    return action if action in ("open", "close", *_CLICKS) else ""


def without_ending(tokens: Tokens) -> Tokens:
    while tokens and tokens[-1].kind is WordKind.SEPARATOR:
        tokens = tokens[:-1]
    while len(shorter := typing_text.without_end(tokens, "commands.fillers.end")) < len(tokens):
        tokens = shorter
    return tokens


def _word(text: str) -> Token:
    return Token(WordKind.WORD, text, 0, 0)


def _verbs() -> Phrases:
    return lexicon().phrases("commands.verbs")
