"""Sentences that contain free words, such as a search, a folder, a command or a time. Their patterns are data."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any

from app.base.texts import clip_line
from app.base.values import replace
from app.providers.offline.words import (
    PlannedCall,
    Refusal,
    Steps,
    Token,
    Value,
    lexicon,
    tokens_of,
)

_SHOWN = 60
_MOST_RECALLED = 30
_MOST_ANSWERS = 3
ENDS = " \t\n.!?"
DOTS = re.compile(r"\s+\.{1,2}(?!\S)")
_QUOTES = "\"'`“”„«»"
_CLOCK = re.compile(
    r"(?P<hour>\d{1,2})(?:[:.](?P<minute>\d\d))?(?: ?(?P<half>am|pm))?(?: ?(?:o'clock|uhr))?(?: (?P<past>\d\d))?",
    re.IGNORECASE,
)
_FILES = ("file", "any", "second")
"""The places of a pattern that name a file."""
_PLACE = re.compile(r"(?<!\?P)<(\w+)>")


def clause(text: str) -> Steps:
    """Return the calls for a clause that matches a known pattern, or why it is not clear; () for any other."""
    for form, shape in _clauses():
        if said := shape.fullmatch(_bare(text)):
            places = _places(said)
            if "near" in form:
                return Refusal(form["unclear"], text, form["near"].format(**places))
            return _named_whole(form, places, said) or planned_steps(form, places)
    return ()


def _named_whole(form: Mapping[str, Any], places: Mapping[str, str], said: re.Match[str]) -> Steps:
    """Return the calls for a file whose name may begin with the word before it: `my notes.md`, or else `notes.md`."""
    before = re.search(lexicon().table("forms.may_be_named")["said"], said.string[: _start(said)], re.IGNORECASE)
    if not before or not places.get("file") or places["file"] != said["file"]:
        return ()
    named = planned_steps(form, {**places, "file": f"{before[1]} {places['file']}"})
    steps = planned_steps(form, places)
    return tuple(replace(one, otherwise=two) for one, two in zip(named, steps, strict=True)) if len(steps) == 1 else ()


def _start(said: re.Match[str]) -> int:
    return said.start("file") if "file" in said.re.groupindex else 0


def planned_steps(form: Mapping[str, Any], places: Mapping[str, str]) -> tuple[PlannedCall, ...]:
    """Return the calls of a pattern, with the words at its places filled in."""
    return tuple(_step(step, places) for step in form.get("steps", (form,)))


def _bare(text: str) -> str:
    """Return the text without blanks and `.!?` at both ends.

    A `.` or `..` after a blank stays, because it is a folder (`git add .`).
    """
    bare = text.strip(ENDS)
    dots = DOTS.match(text, text.find(bare) + len(bare))
    return bare + (dots[0] if dots else "")


def _step(step: Mapping[str, Any], places: Mapping[str, str]) -> PlannedCall:
    arguments: dict[str, Value] = {name: value.format(**places) for name, value in step["arguments"].items()}
    arguments |= {name: int(str(arguments[name])) for name in step.get("numbers", ())}
    arguments |= {name: [str(arguments[name])] for name in step.get("many", ())}
    arguments |= dict.fromkeys(step.get("flags", ()), True)
    what = clip_line(str(step.get("what", "")).format(**places), _SHOWN)
    return PlannedCall(step["tool"], arguments, step["phrase"], what, must_show=step.get("must_show", ""))


def whole(wish: str, tokens: Sequence[Token]) -> tuple[PlannedCall, ...]:
    """Read a wish that ends with words taken literally, such as a fact to remember or a command to run.

    `tokens` are the wish's words without polite ones at its start.
    """
    text = _bare(wish[tokens[0].start :]) if tokens else ""
    for form, shape in _clauses():
        if form.get("is_whole") and (said := shape.fullmatch(text)):
            return planned_steps(form, _places(said))
    length, tool = lexicon().phrases("commands.whole").at(tokens)
    if not length or (len(tokens) > length and tokens[length].low in lexicon().table("commands.not_whole")["before"]):
        return ()
    text = _joined(wish[tokens[length].start :].strip(f"{ENDS},")) if len(tokens) > length else ""
    if tool == "forget" and lexicon().phrases("commands.not_whole.everything").whole(tokens_of(text)):
        return (PlannedCall("forget", {"all": True}, "forget_all"),)
    if tool == "recall" and (not text or lexicon().phrases("commands.not_whole.person").whole(tokens_of(text))):
        return (PlannedCall("recall", {"limit": _MOST_RECALLED}, "recall_all"),)
    if not text:
        return ()
    named = lexicon().table("forms.names").get(tool, "text")
    return (PlannedCall(tool, {named: text}, tool, f"“{clip_line(text, _SHOWN)}”"),)


def asked(wish: str, tokens: Sequence[Token]) -> PlannedCall | None:
    """Return the look-up in memory for a question such as `when does my train leave`; None for anything else.

    `tokens` are without polite words before. A question with a second part that is no question, such as a condition, is
    never looked up.
    """
    text = wish[tokens[0].start :].strip(ENDS) if tokens else ""
    if not re.fullmatch(lexicon().table("forms.questions")["said"], text, re.IGNORECASE):
        return None
    return PlannedCall("recall", {"query": text, "limit": _MOST_ANSWERS}, "ask", f"“{clip_line(text, _SHOWN)}”")


def _joined(text: str) -> str:
    """Return the text without a leading conjunction, such as `dass` in `dass mein Zug fährt`."""
    tokens = tokens_of(text)
    length, _ = lexicon().phrases("commands.not_whole.joints").at(tokens)
    return text[tokens[length].start :] if length < len(tokens) else text


def later(wish: str, tokens: Sequence[Token]) -> tuple[str, str] | None:
    """Split a wish for later into time and task: `every day at 9 open the calculator`."""
    text = wish[tokens[0].start :].strip(ENDS) if tokens else ""
    begins = lexicon().phrases("commands.whole").at(tokens)[1]
    holds_any_words = bool(begins) or lexicon().phrases("commands.verbs.type").inside(tokens)
    for means, shape, is_behind in _times():
        if (said := shape.fullmatch(text)) and not (is_behind and holds_any_words):
            places = _places(said)
            task = " ".join(filter(None, (places.get("head"), places["task"]))).strip(" ,:")
            return " ".join(means.format(**places).split()), _task(task)
    return None


def planned(when: str, task: str, steps: Sequence[PlannedCall]) -> PlannedCall:
    """Return the call that schedules the task."""
    arguments: dict[str, Value] = {"schedule": when, "task": task}
    if [step.phrase for step in steps] == ["push_notification"]:
        return PlannedCall("cron", arguments, "remind", f"“{steps[0].arguments['title']}”")
    return PlannedCall("cron", arguments, "schedule", f"“{clip_line(task, _SHOWN)}”")


def _task(text: str) -> str:
    """Return the task as the scheduled run reads it. A reminder becomes a wish to tell the person."""
    for shape in lexicon().table("forms.reminders")["shapes"]:
        if said := re.fullmatch(shape["said"], text, re.IGNORECASE):
            return str(shape["means"]).format(**said.groupdict())
    return text


@functools.cache
def _clauses() -> tuple[tuple[Mapping[str, Any], re.Pattern[str]], ...]:
    """Return each form with its pattern; a form with several wordings once for each."""
    return tuple(
        (form, _compiled(said))
        for form in lexicon().table("forms")["clauses"]
        for said in ([form["said"]] if isinstance(form["said"], str) else form["said"])
    )


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
    return re.compile(_PLACE.sub(lambda one: f"(?P<{one[1]}>{either(places[one[1]])})", said), re.IGNORECASE)


def either(places: Sequence[str]) -> str:
    """Return a pattern that matches any of the texts. Longer ones come first, because a shorter one may begin them."""
    return "|".join(sorted(places, key=len, reverse=True))


def _places(said: re.Match[str]) -> dict[str, str]:
    """Return the text at each placeholder of a matched pattern, as the tool expects it; "" for an unused one.

    The result also has `beside`: the folder of the named file, with a `/` at its end.
    """
    meanings = lexicon().table("forms.meanings")
    found = {}
    for place, text in said.groupdict("").items():
        bare = text[1:-1] if len(text) > 1 and text[0] in _QUOTES and text[-1] in _QUOTES else text
        found[place] = str(meanings.get(place, {}).get(bare.casefold(), bare))
        if place == "time" and (clock := _CLOCK.fullmatch(found[place])):
            found[place] = _on_the_clock(clock)
    if (known := meanings["folder"]) and said.groupdict("").get("folder", "").casefold() in known:
        found |= {place: _at_home(found[place], known) for place in _FILES if place in found}
    named = found.get("file", "") + found.get("any", "")
    return {**found, "beside": named[: named.rfind("/") + 1]}


def _at_home(path: str, known: Mapping[str, str]) -> str:
    """Return the path with a known folder at its start in the home, as the other folder of the same sentence is."""
    head, slash, rest = path.partition("/")
    return f"{known[head.casefold()]}/{rest}" if slash and head.casefold() in known else path


def _on_the_clock(said: re.Match[str]) -> str:
    """Return `9`, `9.30`, `9 pm` and `9 Uhr 30` as hours and minutes of the day."""
    hour = int(said["hour"])
    if said["half"]:
        hour = hour % 12 + (12 if said["half"].casefold() == "pm" else 0)
    return f"{hour}:{said['minute'] or said['past'] or '00'}"
