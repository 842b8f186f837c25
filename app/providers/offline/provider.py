"""Answer plain commands with calls, without a model."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from app.base.clipping import clip_middle
from app.base.fact_words import value_of
from app.base.facts import Listed, Missing, Ran, Undoable, WindowChanged
from app.base.values import dataclass, replace
from app.protocol.message import Message
from app.protocol.payload import encode
from app.providers.offline import answers
from app.providers.offline.conversation import Exchange, StepOutcome, Wish, exchanges
from app.providers.offline.plans import Plan, PlannedCall, Resume, Talk, Understood, Value, is_undo, named, understood
from app.providers.offline.reading import Refusal
from app.providers.offline.wording import (
    ENGLISH,
    Phrasebook,
    as_made,
    discarding,
    is_doubted,
    language_of,
    phrasebook,
)
from app.providers.offline.world import IN_FRONT, Mention

_TAG = re.compile(r"<(?!\s)([^<>]*)(>)?")
_TOKEN = re.compile(r"\s*\w{1,6}|\s*[^\w\s]|\s+")


def speech(text: str, tone: str, offers: Sequence[str] = (), *, is_told: bool = False) -> str:
    """Return a call that says the text. `offers` is what the person may say next; the presence shows it as buttons.

    `is_told`: the rows of the calls tell the same, so nothing shows it beside them.
    """
    return f'<say tone="{tone}"{_marked(offers, is_told=is_told)}>{_shown(text)}</say>'


def completion(text: str, offers: Sequence[str] = (), *, is_told: bool = False) -> str:
    """Return a call that ends the turn with the text; see `speech`."""
    marks = _marked(offers, is_told=is_told)
    return f"<attempt_completion{marks}><result>{_shown(text)}</result></attempt_completion>"


def _marked(offers: Sequence[str], *, is_told: bool) -> str:
    offered = f' offers="{encode(json.dumps(list(offers), ensure_ascii=False))}"' if offers else ""
    return f'{offered} told_by_card="true"' if is_told else offered


def call(step: PlannedCall) -> str:
    """A self-closing tag. Plain text to type is put between tags; other text is an attribute."""
    arguments = dict(step.arguments)
    body = str(arguments.pop("text")) if step.tool == "computer_type" and _is_plain(step.arguments["text"]) else ""
    for name, value in step.arguments.items():
        if isinstance(value, list) and len(value) > 1:
            body += "".join(f"<{name}>{encode(one)}</{name}>" for one in value)
            del arguments[name]
    tag = step.tool + "".join(f' {name}="{encode(_written(value))}"' for name, value in arguments.items())
    return f"<{tag}>{body}</{step.tool}>" if body else f"<{tag}/>"


def _written(value: Value) -> str:
    if isinstance(value, list):
        return "".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def pieces(text: str) -> list[str]:
    """Each piece is about a token."""
    return _TOKEN.findall(text)


def _is_plain(text: Value) -> bool:
    """Say whether text between tags would be read back unchanged and cannot look like anything else."""
    return re.fullmatch(r"\w|\w[^<>&]*[^<>&\s]", str(text)) is not None


def _shown(text: str) -> str:
    """Words may quote a tool's result, so no character in them may begin a tag."""
    return _TAG.sub(lambda tag: f"‹{tag[1]}{'›' if tag[2] else ''}", text).strip()


_SHOWN = 1500
"""How many characters of the beginning and of the end of a screen reading are shown."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply of the offline provider, with the reason why it ended.

    `stop_reason` is `refusal` if Wisp declined the wish or a step failed: the turn then counts as failed. It is
    `unverified` if nothing shows that a step worked.
    """

    text: str
    stop_reason: str = "end_turn"


__all__ = ["exchanges", "last_named", "pieces", "reply_to", "understood"]
_AT_WINDOWS = ("open_app", "focus_window", "close_window", "move_window", "minimise_window")
Read = Callable[[int, Wish], Understood]
"""Returns what a wish asks for, given its place among the exchanges of the conversation."""


def reply_to(messages: Sequence[Message], now: datetime.datetime, name: str, read: Read) -> Reply:
    """Derived only from the conversation, the time and the assistant's name."""
    said = exchanges(messages)
    if not said:
        return Reply(completion(phrasebook(ENGLISH).talk("no_wish")))
    spoken = (language_of(wish.text) for exchange in reversed(said) for wish in exchange.wishes)
    book = phrasebook(next(filter(None, spoken), ENGLISH))
    reading, outcomes = _current(said, read)
    match reading:
        case Plan(steps):
            return _next(book, steps, outcomes, said[-1].outcomes)
        case Talk(topic, given):
            return Reply(completion(answers.answer(topic, given, book, now, name)))
        case Refusal():
            return _declined(book.refused(reading), book.near(reading))
        case Resume():
            return Reply(completion(book.talk("nothing_left")))


def _current(said: Sequence[Exchange], read: Read) -> tuple[Understood, list[StepOutcome]]:
    """The wish to carry out, and all outcomes so far, also those before it was resumed."""
    outcomes: list[StepOutcome] = []
    for at, exchange in reversed(list(enumerate(said))):
        outcomes = [*exchange.outcomes, *outcomes]
        reading = _together(at, exchange.wishes, read)
        if isinstance(reading, Talk) and reading.topic == "again":
            reading = _before(said[:at], read)
        if isinstance(reading, Plan) and is_undo(reading):
            reading = _undoing(reading, said[:at], read)
        if isinstance(reading, Plan) and at and said[at - 1].outcomes:
            reading = _answering(reading, said[at - 1].outcomes[-1])
        if not isinstance(reading, Resume):
            is_idle = exchange is not said[-1] and not said[-1].outcomes
            return (Resume() if is_idle and not _has_more(reading, outcomes) else reading), outcomes
    return Resume(), outcomes


def _before(said: Sequence[Exchange], read: Read) -> Understood:
    """What was asked for last, to be done again."""
    readings = (_together(at, exchange.wishes, read) for at, exchange in reversed(list(enumerate(said))))
    return next((reading for reading in readings if isinstance(reading, Plan)), Resume())


def last_named(said: Sequence[Exchange], read: Read) -> Mention:
    """Return what was named last before the last wish of a conversation."""
    last = Mention()
    for at, exchange in enumerate(said[:-1]):
        match _together(at, exchange.wishes, read):
            case Talk("locate", {"paths": [path]}):
                last = replace(last, file=path)
            case Plan(steps):
                for step, outcome in zip(steps, (one for one in exchange.outcomes if one.ok), strict=False):
                    last = _named_by(step, outcome, last)
    return last


def _named_by(step: PlannedCall, outcome: StepOutcome, last: Mention) -> Mention:
    """What is named last behind a step that worked."""
    listed = outcome.get(Listed)
    if step.phrase == "first_file" and listed and listed.names:
        return replace(last, file=f"{str(step.arguments['path']).rstrip('/')}/{listed.names[0]}")
    if step.tool not in _AT_WINDOWS:
        return replace(last, file=path) if (path := named(step)) else last
    name = str(step.arguments.get("name", step.arguments.get("title", "")))
    window = outcome.get(WindowChanged)
    title = window.title if window else name
    if name.startswith(("/", "~/")):
        return Mention(file=name, window=title)
    program = last.program if "://" in name or name == last.window else name
    return replace(last, program=program, window="" if step.tool == "close_window" else title)


def _undoing(wish: Plan, said: Sequence[Exchange], read: Read) -> Understood:
    """Return how “undo that” is carried out after what was done before it in this conversation.

    What Wisp itself can take back, such as a theme, it takes back. Keys undo what was done in a program. Where nothing
    was done, no key is pressed, because it would undo what somebody else did.
    """
    for at, exchange in reversed(list(enumerate(said))):
        reading = _together(at, exchange.wishes, read)
        if not isinstance(reading, Plan) or is_undo(reading):
            continue
        outcomes = [outcome for outcome in exchange.outcomes if outcome.ok]
        pairs = zip(reading.steps, outcomes, strict=False)
        done = [outcome for step, outcome in pairs if not phrasebook(ENGLISH).is_look(step)]
        if done and done[-1].get(Undoable):
            return Plan((_TAKEN_BACK, *wish.steps[1:]))
        if done:
            return wish
    return Refusal("nothing_done")


def _answering(wish: Plan, before: StepOutcome) -> Plan:
    """“Close without saving” answers the dialog that the wish before it brought up and told."""
    first = wish.steps[0]
    is_meant = first.phrase == "close_unsaved" and first.arguments.get("title") == IN_FRONT
    answer = _discarded(first, before) if is_meant else None
    return Plan((answer, *wish.steps[1:])) if answer else wish


_TAKEN_BACK = PlannedCall("undo_last_change", {}, "undo")
"""How Wisp takes back what it has done itself, which no key in a program undoes."""


def _has_more(reading: Understood, outcomes: Sequence[StepOutcome]) -> bool:
    return isinstance(reading, Plan) and sum(outcome.ok for outcome in outcomes) < len(reading.steps)


def _together(at: int, wishes: Sequence[Wish], read: Read) -> Understood:
    """Combine the first wish of an exchange with those that the person added during its execution."""
    readings = [read(at, wish) for wish in wishes]
    if len(readings) == 1:
        return readings[0]
    for reading in readings:
        if isinstance(reading, Refusal) or (isinstance(reading, Talk) and reading.topic == "halt"):
            return reading
    steps = [step for reading in readings if isinstance(reading, Plan) for step in reading.steps]
    return Plan(tuple(steps)) if steps else readings[-1]


def _next(
    book: Phrasebook, steps: Sequence[PlannedCall], outcomes: Sequence[StepOutcome], latest: Sequence[StepOutcome]
) -> Reply:
    done = sum(outcome.ok for outcome in outcomes)
    steps, is_retried = _as_tried(steps, outcomes)
    if latest and not latest[-1].ok and not is_retried:
        if latest[-1].is_refused:
            return Reply(completion(book.left(steps[:done]), is_told=True))
        step = steps[min(done, len(steps) - 1)]
        found = _found(book, steps[:done], [outcome for outcome in outcomes if outcome.ok])
        sentence = f"{found}\n{book.failed(step, steps[:done], latest[-1])}".strip()
        is_told = not found and book.is_told(step, latest[-1])
        if latest[-1].is_unattended:
            return Reply(completion(sentence, is_told=is_told))
        return _declined(sentence, book.instead(step, latest[-1]), is_told=is_told)
    ran = latest[-1].get(Ran) if latest else None
    if done and ran and ran.has_failed and steps[done - 1].phrase == "run":
        text = str(book.table("failed")["exited" if done >= len(steps) else "exited_early"])
        found = book.found(steps[done - 1], latest[-1])
        is_told = book.is_told(steps[done - 1], latest[-1])
        if len(steps) > 1 or is_told:
            found = text.format(steps=book.listed(steps[:done]), found=f"{book.ended(latest[-1])} {found}")
        return _declined(found, is_told=is_told and done == len(steps))
    last = steps[done - 1]
    if latest and done and not latest[-1].is_dry and not latest[-1].shows(last.must_show, last.besides):
        told = book.doubted(steps[:done], [last], book.asked(latest[-1].dialog))
        return Reply(speech(told, "apologetic", book.answers(latest[-1].dialog)), "unverified")
    if done >= len(steps):
        return _finished(book, steps, [outcome for outcome in outcomes if outcome.ok])
    step = steps[done]
    if latest and step.tool == "computer_type" and (dialog := latest[-1].dialog) and dialog.text:
        text = str(book.table("failed")["exited_early"])  # because a question takes no text
        return _declined(text.format(steps=book.listed(steps[:done]), found=book.asked(dialog)), book.answers(dialog))
    return Reply(call(step))


def _as_tried(steps: Sequence[PlannedCall], outcomes: Sequence[StepOutcome]) -> tuple[Sequence[PlannedCall], bool]:
    """The steps with the replaced ones exchanged, and whether the last outcome led to a replacement."""
    tried, done, is_retried = list(steps), 0, False
    for outcome in outcomes:
        step = tried[done] if done < len(tried) else None
        otherwise = step.otherwise if step and outcome.get(Missing) else None
        if step and step.phrase == "close_unsaved":
            otherwise = _discarded(step, outcome)
        if step and step.phrase == "make":
            tried[done:] = as_made(step, outcome, tried[done + 1 :])
        is_retried = bool(otherwise) and not outcome.ok
        if otherwise and is_retried:
            tried[done] = otherwise
        elif otherwise and step and step.tool != otherwise.tool:
            tried.insert(done + 1, otherwise)  # because the keys that close it worked, and brought up a question
        done += outcome.ok
        if done < len(tried) and tried[done].phrase == "undo_keys" and outcome.get(Undoable):
            tried[done] = _TAKEN_BACK
    return tried, is_retried


def _discarded(step: PlannedCall, outcome: StepOutcome) -> PlannedCall | None:
    """Return the click that closes without saving, in the dialog that is open now; None without such a button.

    It has worked only if more than the dialog closes.
    """
    dialog, button = outcome.dialog, discarding(outcome)
    if dialog is None or not button:
        return None
    arguments = {"target": button}
    return replace(step, tool="computer_click", arguments=arguments, must_show="closed", besides=dialog.title)


def _finished(book: Phrasebook, steps: Sequence[PlannedCall], outcomes: Sequence[StepOutcome]) -> Reply:
    """What was done, and which steps nothing confirms."""
    found = _found(book, steps, outcomes)
    if steps[-1].phrase == "ask" and found == book.table("ask")["nothing"]:
        return _declined(found)
    is_whole = bool(outcomes) and len(outcomes) == len(steps)
    dialog = outcomes[-1].dialog if is_whole else None
    offers = book.answers(dialog)
    came = book.came_of(steps[-1], outcomes[-1]) if is_whole and not found else ""
    pairs = list(zip(steps, outcomes, strict=False))
    is_value = len(steps) > 1 and bool(came) and came == value_of(outcomes[-1].facts)  # which several steps were for
    is_told = is_whole and not is_value and all(book.is_told(step, one) for step, one in pairs)
    if dry := [step for step, one in pairs if one.is_dry]:
        real = [step for step, one in pairs if not one.is_dry and not book.is_look(step)]
        told = book.rehearsed(dry, found)
        return Reply(completion(book.beside(real, told) if real else told, is_told=is_told))
    # The last step that shows an effect. A window that closed shows nothing of what was done in it.
    shown = max((at for at, (_, one) in enumerate(pairs) if one.is_confirmed and not one.shows("closed")), default=-1)
    doubted = [step for at, (step, one) in enumerate(pairs) if is_doubted(step, one, is_followed=at < shown)]
    for (step, _), (look, seen) in pairwise(pairs):
        if step.phrase == "copy" and book.found(look, seen) == book.table(look.phrase)["nothing"]:
            doubted.append(step)
    if doubted:
        is_told = is_told and all(not one.is_confirmed for step, one in pairs if step in doubted)
        told = book.doubted(steps, doubted, found or came)
        return Reply(speech(told, "apologetic", offers, is_told=is_told), "unverified")
    return Reply(completion(found or book.finished(steps, outcomes[shown + 1 :], came), offers, is_told=is_told))


def _found(book: Phrasebook, steps: Sequence[PlannedCall], outcomes: Sequence[StepOutcome]) -> str:
    """What the plan's readings of the screen found, one after the other. Rehearsed calls have found nothing."""
    looks = [book.found(step, one) for step, one in zip(steps, outcomes, strict=False) if not one.is_dry]
    return "\n".join(clip_middle(look, _SHOWN, _SHOWN) for look in looks if look)


def _declined(sentence: str, offers: Sequence[str] = (), *, is_told: bool = False) -> Reply:
    return Reply(speech(sentence, "apologetic", offers, is_told=is_told), "refusal")
