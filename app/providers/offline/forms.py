"""Sentences that contain free words, such as a search, a folder, a command or a time. Their patterns are data."""

from __future__ import annotations

import ast
import functools
import operator
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from app.base.texts import clip_line
from app.providers.offline.words import (
    ENGLISH,
    PlannedCall,
    Refusal,
    Steps,
    Talk,
    Token,
    Value,
    language_of,
    lexicon,
    tokens_of,
)

_SHOWN = 60
_ENDS = " \t\n.!?"
DOTS = re.compile(r"\s+\.{1,2}(?!\S)")
_QUOTES = "\"'`“”„«»"
_CLOCK = re.compile(
    r"(?P<hour>\d{1,2})(?:[:.](?P<minute>\d\d))?(?: ?(?P<half>am|pm))?(?: ?(?:o'clock|uhr))?(?: (?P<past>\d\d))?",
    re.IGNORECASE,
)
_PLACE = re.compile(r"(?<!\?P)<(\w+)>")


def clause(text: str) -> Steps:
    """Return the calls for a clause that matches a known pattern, or why it is not clear; () for any other."""
    for form, shape in _clauses():
        if said := shape.fullmatch(_bare(text)):
            places = _places(said)
            if "near" in form:
                return Refusal(form["unclear"], text, form["near"].format(**places))
            return planned_steps(form, places)
    return ()


def planned_steps(form: Mapping[str, Any], places: Mapping[str, str]) -> tuple[PlannedCall, ...]:
    """Return the calls of a pattern, with the words at its places filled in."""
    return tuple(_step(step, places) for step in form.get("steps", (form,)))


def _bare(text: str) -> str:
    """Return the text without what ends a sentence. Dots that stand alone, as in `git add .`, are a folder."""
    bare = text.strip(_ENDS)
    dots = DOTS.match(text, text.find(bare) + len(bare))
    return bare + (dots[0] if dots else "")


def _step(step: Mapping[str, Any], places: Mapping[str, str]) -> PlannedCall:
    arguments: dict[str, Value] = {name: value.format(**places) for name, value in step["arguments"].items()}
    arguments |= {name: int(arguments[name]) for name in step.get("numbers", ())}
    arguments |= dict.fromkeys(step.get("flags", ()), True)
    what = clip_line(str(step.get("what", "")).format(**places), _SHOWN)
    return PlannedCall(step["tool"], arguments, step["phrase"], what, must_show=step.get("must_show", ""))


def whole(wish: str, tokens: Sequence[Token]) -> tuple[PlannedCall, ...]:
    """Read a wish to remember, recall, forget, tell or search something. Its text takes the whole wish.

    `tokens` are the wish's words without polite ones at the start.
    """
    length, tool = lexicon().phrases("commands.whole").at(tokens)
    if not length or (len(tokens) > length and tokens[length].low in lexicon().table("commands.not_whole")["before"]):
        return ()
    text = _joined(wish[tokens[length].start :].strip(f"{_ENDS},")) if len(tokens) > length else ""
    if tool == "forget" and lexicon().phrases("commands.not_whole.everything").whole(tokens_of(text)):
        return (PlannedCall("forget", {"all": True}, "forget_all"),)
    if not text:
        return (PlannedCall("recall", {}, "recall_all"),) if tool == "recall" else ()
    named = lexicon().table("forms.names").get(tool, "text")
    return (PlannedCall(tool, {named: text}, tool, f"“{clip_line(text, _SHOWN)}”"),)


def _joined(text: str) -> str:
    """Return the text without a leading conjunction, such as `dass` in `dass mein Zug fährt`."""
    tokens = tokens_of(text)
    length, _ = lexicon().phrases("commands.not_whole.joints").at(tokens)
    return text[tokens[length].start :] if length < len(tokens) else text


def later(wish: str, tokens: Sequence[Token]) -> tuple[str, str] | None:
    """Split a wish for later into time and task: `every day at 9 open the calculator`."""
    text = wish[tokens[0].start :].strip(_ENDS) if tokens else ""
    begins = lexicon().phrases("commands.whole").at(tokens)[1]
    holds_any_words = bool(begins) or lexicon().phrases("commands.verbs.type").inside(tokens)
    for means, shape, is_behind in _times():
        if (said := shape.fullmatch(text)) and not (is_behind and holds_any_words):
            places = _places(said)
            task = " ".join(filter(None, (places.get("head"), places["task"]))).strip(" ,:")
            return " ".join(means.format(**places).split()), _task(task)
    return None


def planned(when: str, task: str, steps: Sequence[PlannedCall]) -> PlannedCall:
    """Return the call that schedules a task. The task may use without asking what the person named."""
    asked = dict.fromkeys(step.tool for step in steps if step.tool in lexicon().table("forms.reminders")["allowed"])
    arguments: dict[str, Value] = {"schedule": when, "task": task}
    if asked:
        arguments["allow"] = "; ".join(f"tool={tool}" for tool in asked)
    return PlannedCall("cron", arguments, "schedule", f"“{clip_line(task, _SHOWN)}”")


def _task(text: str) -> str:
    """Return the task as the scheduled run reads it. A reminder becomes a wish to tell the person."""
    for shape in lexicon().table("forms.reminders")["shapes"]:
        if said := re.fullmatch(shape["said"], text, re.IGNORECASE):
            return str(shape["means"]).format(**said.groupdict())
    return text


_SUM = re.compile(r"(?!.*[\d.]{16})[\d.+\-*/() ]{3,100}")
"""Longer numbers would not be exact."""
_SIGNS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}


def answer(wish: str, tokens: Sequence[Token]) -> Talk | None:
    """Return the answer to a sum such as `what is 23*19`. `tokens` are the wish's words without polite ones."""
    sums = lexicon().table("forms.sums")
    shape = rf"(?:(?:{_either(sums['asks'])}):? )?(?P<sum>.+?)(?: (?:{_either(sums['ends'])}))?"
    said = re.fullmatch(shape, wish[tokens[0].start :].strip(f"{_ENDS}=") if tokens else "", re.IGNORECASE)
    plain, marks = said["sum"] if said else "", sums["marks"][language_of(tokens) or ENGLISH]
    if re.fullmatch(_either(sums["others"]), wish.strip(_ENDS)):  # a date, a time or a telephone number by itself
        return None
    for sign, words in (*marks["numbers"].items(), *sums["signs"].items()):
        plain = re.sub(rf" ?(?:{_either(words)}) ?", sign, plain, flags=re.IGNORECASE)
    try:
        tree = ast.parse(plain.strip() if _SUM.fullmatch(plain) else "", mode="eval").body
        value = _value(tree) if isinstance(tree, ast.BinOp) else None
    except ZeroDivisionError:
        return Talk("by_zero")
    except (SyntaxError, ValueError):  # because the words only look like a sum
        return None
    if said is None or value is None:
        return None
    shown = str(value) if value.denominator == 1 else f"{float(value):.10g}"
    sign = "=" if Fraction(shown) == value else "≈"
    return Talk("sum", f"{said['sum'].strip()} {sign} {shown.replace('.', marks['point'])}")


def _value(node: ast.expr) -> Fraction:
    """Work out numbers and the four signs. Anything else raises ValueError."""
    match node:
        case ast.Constant(int() | float() as number):
            return Fraction(str(number))
        case ast.UnaryOp(ast.USub(), inside):
            return -_value(inside)
        case ast.BinOp(left, sign, right) if type(sign) in _SIGNS:
            return Fraction(_SIGNS[type(sign)](_value(left), _value(right)))
    raise ValueError(ast.dump(node))


@functools.cache
def _clauses() -> tuple[tuple[Mapping[str, Any], re.Pattern[str]], ...]:
    return tuple((form, _compiled(form["said"])) for form in lexicon().table("forms")["clauses"])


@functools.cache
def _times() -> tuple[tuple[str, re.Pattern[str], bool], ...]:
    """Return each time pattern with its position: after the first words, before the whole wish, or after it."""
    heads, found = "|".join(lexicon().table("forms.reminders")["heads"]), []
    for time in lexicon().table("forms")["times"]:
        said, means = time["said"], time["means"]
        found.append((means, _compiled(rf"(?P<head>{heads}) {said},? (?P<task>.+)"), False))
        found.append((means, _compiled(rf"{said}[,:]? (?P<task>.+)"), False))
        if not time.get("is_first"):
            found.append((means, _compiled(rf"(?P<task>.+?),? {said}"), True))
    return tuple(found)


def _compiled(said: str) -> re.Pattern[str]:
    places = lexicon().table("forms.places")
    return re.compile(_PLACE.sub(lambda one: f"(?P<{one[1]}>{_either(places[one[1]])})", said), re.IGNORECASE)


def _either(places: Sequence[str]) -> str:
    """Match any of the texts. Longer ones come first, because a shorter one may be their beginning."""
    return "|".join(sorted(places, key=len, reverse=True))


def _places(said: re.Match[str]) -> dict[str, str]:
    """Return the text at each place of a pattern, in the form that a tool takes; "" for a place left out."""
    meanings = lexicon().table("forms.meanings")
    found = {}
    for place, text in said.groupdict("").items():
        bare = text[1:-1] if len(text) > 1 and text[0] in _QUOTES and text[-1] in _QUOTES else text
        found[place] = str(meanings.get(place, {}).get(bare.casefold(), bare))
        if place == "time" and (clock := _CLOCK.fullmatch(found[place])):
            found[place] = _on_the_clock(clock)
    return found


def _on_the_clock(said: re.Match[str]) -> str:
    """Return `9`, `9.30`, `9 pm` and `9 Uhr 30` as hours and minutes of the day."""
    hour = int(said["hour"])
    if said["half"]:
        hour = hour % 12 + (12 if said["half"].casefold() == "pm" else 0)
    return f"{hour}:{said['minute'] or said['past'] or '00'}"
