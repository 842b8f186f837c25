"""Answer plain commands with calls, without a model."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from itertools import pairwise

from app.base.texts import clip_line, clip_middle
from app.base.values import dataclass, replace
from app.protocol.message import Message
from app.protocol.payload import encode
from app.providers.offline import forms, sums, wording
from app.providers.offline.clause import (
    begins_like_command,
    elides_to,
    head_of,
    names_keys,
    read_clause,
    verbs,
    without_ending,
    without_fillers,
)
from app.providers.offline.questions import discarding, open_dialog, told_of
from app.providers.offline.typing_text import name_in, type_plain
from app.providers.offline.wording import Exchange, Phrasebook, StepOutcome, exchanges, phrasebook
from app.providers.offline.words import (
    ENGLISH,
    Cut,
    Plan,
    PlannedCall,
    Reading,
    Refusal,
    Resume,
    Steps,
    Talk,
    Token,
    Value,
    WordKind,
    cuts,
    language_of,
    lexicon,
    tokens_of,
)

_NEAREST_ENDS = 4
_IMPLIED = ("", "open", "close", "press", "click", "double_click", "triple_click", "right_click", "middle_click")


class Chain:
    """Reads one wish from its end to its beginning, so that each place is read only once."""

    def __init__(self, wish: str, tokens: Sequence[Token]) -> None:
        self._wish = wish
        self._tokens = tokens
        self._cuts = cuts(tokens)
        self._read: dict[tuple[int, str], Steps] = {}
        self._is_request = without_fillers(tokens)[1]

    def steps(self) -> Steps:
        """Return all steps, or why there are none."""
        for cut in reversed(self._cuts):
            for implied in _IMPLIED:
                self._read[cut.start, implied] = self._from(cut.start, implied)
        return self._from(0, "")

    def _from(self, start: int, implied: str) -> Steps:
        rest, _ = without_fillers(self._tokens[start:])
        if not rest:
            return ()
        at = len(self._tokens) - len(rest)
        head = head_of(rest)
        is_key = implied == "press" and names_keys(self._tokens[at : self._ends(at)[0].end])
        if head.action == "type" and not is_key and not self._begins_quoted(at + head.length):
            return self._typing(at, at + head.length)
        return self._clause(at, implied if implied == "press" or not head.action else "")

    def _begins_quoted(self, at: int) -> bool:
        lead, _ = lexicon().phrases("objects.typing.lead_in").at(self._tokens, at)
        return any(i < len(self._tokens) and self._tokens[i].kind is WordKind.QUOTED for i in (at, at + lead))

    def _clause(self, at: int, implied: str) -> Steps:
        """Read the shortest clause at token `at` that leaves a readable rest. `implied` is the verb before it."""
        first: Refusal | None = None
        for cut in self._ends(at)[:_NEAREST_ENDS]:
            tokens = self._tokens[at : cut.end]
            said = self._raw(without_ending(tokens))
            steps = self._command(said, cut) or forms.clause(said) or read_clause(tokens, implied=implied)
            if not isinstance(steps, Refusal):
                if self._is_question(cut) and not _is_look(steps):
                    return Refusal("question", name_in(tokens))
                steps = self._with_rest(steps, cut, _action_of(steps, tokens, implied))
            if not isinstance(steps, Refusal):
                return steps
            first = first or steps
        return first or Refusal("unreadable", name_in(self._tokens[at:]))

    def _command(self, said: str, cut: Cut) -> Steps:
        """Read a command whose last word is a dot, as in `git add .`: the dot is a folder and ends no sentence."""
        end = self._tokens[cut.end - 1].end
        dots = forms.DOTS.match(self._wish, end) if self._wish[:end].endswith(said) else None
        steps = forms.clause(said + dots[0]) if dots else ()
        return steps if isinstance(steps, tuple) and steps and steps[0].tool == "execute_command" else ()

    def _raw(self, tokens: Sequence[Token]) -> str:
        return self._wish[tokens[0].start : tokens[-1].end] if tokens else ""

    def _with_rest(self, steps: Steps, cut: Cut, action: str) -> Steps:
        assert not isinstance(steps, Refusal)
        rest = self._after(cut, elides_to(steps, action))
        return rest if isinstance(rest, Refusal) else (*steps, *rest)

    def _after(self, cut: Cut, implied: str) -> Steps:
        return self._read[cut.start, implied] if cut.start < len(self._tokens) else ()

    def _is_question(self, cut: Cut) -> bool:
        return not self._is_request and any(token.text == "?" for token in self._tokens[cut.end : cut.start])

    def _ends(self, at: int) -> list[Cut]:
        ends = [cut for cut in self._cuts if cut.end > at]
        whole = len(self._tokens)
        return ends if ends and ends[-1].start == whole else [*ends, Cut(whole, whole)]

    def _typing(self, verb: int, at: int) -> Steps:
        """Read text without quotation marks, up to the first place where a command certainly begins."""
        for cut in self._cuts:
            if cut.end < at or cut.start >= len(self._tokens):
                continue
            following = self._tokens[cut.start :]
            rest = self._read[cut.start, ""]
            if not isinstance(rest, Refusal) and (rest or self._is_please(cut)):
                return self._typed(verb, at, self._end_of_text(cut) if rest else cut.end, rest)
            if begins_like_command(following) or not without_fillers(following)[0] or cut.is_strong:
                return Refusal("ambiguous", name_in(self._tokens[verb:]))
        return self._typed(verb, at, len(self._tokens), ())

    def _end_of_text(self, cut: Cut) -> int:
        """Return the index of the token after the text to type; -1 if a "!" or "?" may or may not be part of it.

        The last mark after the text ends it and is not typed. Before a word like "and", a last "!" or "?" is typed.
        """
        end = cut.end
        while end + 1 < cut.start and self._is_mark(end) and self._is_mark(end + 1):
            end += 1
        mark = self._tokens[end].text if end < cut.start else ""
        if mark not in ("!", "?"):
            return end
        is_text = self._tokens[cut.start - 1].kind is WordKind.WORD and not (mark == "?" and self._is_request)
        return end + 1 if is_text else -1

    def _is_mark(self, at: int) -> bool:
        """Return whether the token is a separator directly after the token before it."""
        token = self._tokens[at]
        return token.kind is WordKind.SEPARATOR and token.start == self._tokens[at - 1].end

    def _is_please(self, cut: Cut) -> bool:
        """Say whether `…, please` ends the wish as politeness. Without the comma it may be text."""
        return cut.is_comma and [token.low for token in self._tokens[cut.start :] if token.low] == ["please"]

    def _typed(self, verb: int, at: int, end: int, rest: Sequence[PlannedCall]) -> Steps:
        if end < 0:
            return Refusal("ambiguous", name_in(self._tokens[verb:]))
        tokens = self._tokens[at:end]
        if not rest:
            tokens = self._without_last_mark(tokens)
        text = self._raw(tokens)
        asks = bool(tokens) and tokens[0].low in lexicon().table("objects.typing.question_words")
        if asks and self._is_request:
            return Refusal("ambiguous", name_in(self._tokens[verb:end]))
        steps = type_plain(tokens, text, name_in(self._tokens[verb:at]).lower())
        return Refusal(steps.kind, name_in(self._tokens[verb:end])) if isinstance(steps, Refusal) else (*steps, *rest)

    def _without_last_mark(self, tokens: Sequence[Token]) -> Sequence[Token]:
        """Return the tokens without the final mark that belongs to the wish and not to the typed text.

        A full stop belongs to the wish if the wish begins with a capital letter or has other sentences; a question mark
        does if the wish is a question.
        """
        marks = [token.text for token in tokens if token.kind is WordKind.SEPARATOR]
        if len(tokens) < 2 or tokens[-1].kind is not WordKind.SEPARATOR:
            return tokens
        has_sentences = any(mark in ".!?" for mark in marks[:-1])
        is_sentence = self._wish.lstrip()[:1].isupper() or any(cut.is_full_stop for cut in self._cuts[:-1])
        is_stop = marks[-1] == "." and not has_sentences and (is_sentence or tokens[-2].text.endswith("="))
        return tokens[:-1] if is_stop or (marks[-1] == "?" and self._is_request) else tokens


def _action_of(steps: Steps, tokens: Sequence[Token], implied: str) -> str:
    """Return the verb of a clause: its own, or the verb before it if the clause has only keys."""
    is_keys = not isinstance(steps, Refusal) and bool(steps) and steps[-1].phrase == "press"
    return "press" if is_keys else head_of(tokens).action or implied


def _is_look(steps: Steps) -> bool:
    looks = ("read", "windows", "capture", *lexicon().table("notes.notes")["answers"])
    return not isinstance(steps, Refusal) and all(step.phrase in looks for step in steps)


_READING_SHOWN = 60
_ASKING = ("question", "condition", "unreadable")
"""The refusals of words that may be a question about the person, which memory may answer."""


def read_wish(wish: str) -> Reading:
    """Return what the wish asks for. Either the whole wish becomes a plan, or no part of it does."""
    if len(wish) > lexicon().number("numbers.limits.characters"):
        return Refusal("too_long")
    tokens = tokens_of(wish, verbs())
    rest, _ = without_fillers(tokens)
    if later := forms.later(wish, rest):
        return _planned_later(*later)
    if steps := forms.whole(wish, rest):
        return Plan(steps)
    unclosed = next((token for token in tokens if token.kind is WordKind.UNCLOSED), None)
    if unclosed:
        return Refusal("quote", clip_line(unclosed.text, _READING_SHOWN))
    words = tuple(token for token in tokens if token.kind is not WordKind.SEPARATOR)
    reading = _in_words(words) or sums.answer(wish, rest) or _planned(wish, tokens)
    if isinstance(reading, Refusal) and reading.kind in _ASKING and (look := forms.asked(wish, rest)):
        return Plan((look,))
    return reading


def _in_words(words: tuple[Token, ...]) -> Reading | None:
    """Read a wish that is one known phrase, with or without polite words around it."""
    rest, _ = without_fillers(words)
    for candidate in (words, rest, without_ending(words), without_ending(rest)):
        if topic := lexicon().phrases("commands.talk").whole(candidate):
            return Talk(topic)
        if lexicon().phrases("commands.resume").whole(candidate):
            return Resume()
    return None


def _planned_later(when: str, task: str) -> Reading:
    """Return a plan that schedules the task, if Wisp could do the task now; otherwise a refusal."""
    reading = read_wish(task)
    if isinstance(reading, Plan) and all(step.phrase not in ("schedule", "remind") for step in reading.steps):
        return Plan((forms.planned(when, task, reading.steps),))
    return reading if isinstance(reading, Refusal) else Refusal("unreadable", clip_line(task, _READING_SHOWN))


def _planned(wish: str, tokens: tuple[Token, ...]) -> Reading:
    steps = Chain(wish, tokens).steps()
    if isinstance(steps, Refusal):
        return Refusal(steps.kind, clip_line(steps.part, _READING_SHOWN), steps.near)
    if not steps:
        return Refusal("unreadable", clip_line(wish, _READING_SHOWN)) if wish.strip() else Talk("no_wish")
    if refusal := _for_a_terminal(steps):
        return refusal
    if len(steps) > lexicon().number("numbers.limits.steps"):
        return Refusal("too_many")
    return Plan(steps)


def _for_a_terminal(steps: Sequence[PlannedCall]) -> Refusal | None:
    """Refuse a wish to open a terminal and then run a command: the command is meant to run in that terminal."""
    is_open = False
    for step in steps:
        is_open = (
            is_open
            or str(step.arguments.get("name", step.arguments.get("title", ""))).casefold()
            in (lexicon().table("objects.apps")["terminals"])
        )
        if is_open and step.tool == "execute_command":
            command = str(step.arguments["command"])
            near = str(lexicon().table("commands.nearest")["in a terminal"])
            return Refusal("unreadable", command, near.replace("{rest}", command))
    return None


_TAG = re.compile(r"<(?!\s)([^<>]*)(>)?")
_TOKEN = re.compile(r"\s*\w{1,6}|\s*[^\w\s]|\s+")


def speech(text: str, tone: str) -> str:
    return f'<say tone="{tone}">{_shown(text)}</say>'


def completion(text: str) -> str:
    return f"<attempt_completion><result>{_shown(text)}</result></attempt_completion>"


def call(step: PlannedCall) -> str:
    """Return the call as a self-closing tag. Plain text to type is put between tags; other text is an attribute."""
    arguments = dict(step.arguments)
    body = str(arguments.pop("text")) if step.tool == "computer_type" and _is_plain(step.arguments["text"]) else ""
    tag = step.tool + "".join(f' {name}="{encode(_written(value))}"' for name, value in arguments.items())
    return f"<{tag}>{body}</{step.tool}>" if body else f"<{tag}/>"


def _written(value: Value) -> str:
    if isinstance(value, list):
        return "".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def pieces(text: str) -> list[str]:
    """Return the text in pieces of about a token."""
    return _TOKEN.findall(text)


def _is_plain(text: Value) -> bool:
    """Say whether text between tags would be read back unchanged and cannot look like anything else."""
    return re.fullmatch(r"\w|\w[^<>&]*[^<>&\s]", str(text)) is not None


def _shown(text: str) -> str:
    """Return words for the person. They may quote a tool's result, so no character in them may begin a tag."""
    return _TAG.sub(lambda tag: f"‹{tag[1]}{'›' if tag[2] else ''}", text).strip()


_SHOWN = 1500
"""How many characters of the beginning and of the end of a screen reading are shown."""
_HALT = Talk("halt")
_UNDO = Talk("undo")
_ANSWER_CHARS = 24
_FAILED_RUN = re.compile(r"Run \S+ (?:ended with exit code (?!0 )|was ended by signal |has ended)")


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply of the offline provider, with the reason why it ended.

    `stop_reason` is `refusal` if Wisp declined the wish or a step failed: the turn then counts as failed. It is
    `unverified` if nothing shows that a step worked.
    """

    text: str
    stop_reason: str = "end_turn"


def reply_to(messages: Sequence[Message], now: datetime.datetime, name: str) -> Reply:
    """Return the assistant's next message, derived only from the conversation, the time and the assistant's name."""
    said = exchanges(messages)
    if not said:
        return Reply(completion(phrasebook(ENGLISH).talk(Talk("no_wish"), now)))
    spoken = (language_of(tokens_of(wish)) for exchange in reversed(said) for wish in exchange.wishes)
    book = phrasebook(next(filter(None, spoken), ENGLISH))
    reading, outcomes = _current(said)
    match reading:
        case Plan(steps):
            return _next(book, steps, outcomes, said[-1].outcomes)
        case Talk():
            return Reply(completion(book.talk(reading, now, name)))
        case Refusal():
            return _declined(book.refused(reading, understands))
        case Resume():
            return Reply(completion(book.talk(Talk("nothing_left"), now)))


def understands(wish: str) -> bool:
    """Return whether Wisp can do or answer the wish as it is written."""
    return not isinstance(read_wish(wish), Refusal)


def _current(said: Sequence[Exchange]) -> tuple[Reading, list[StepOutcome]]:
    """Return the reading of the wish to carry out, and all outcomes so far, also those before it was resumed."""
    outcomes: list[StepOutcome] = []
    for at, exchange in reversed(list(enumerate(said))):
        outcomes = [*exchange.outcomes, *outcomes]
        reading = _together(exchange.wishes)
        if reading == _UNDO and _has_changed(said[:at]):
            reading = Plan((PlannedCall("undo_last_change", {}, "undo"),))
        if not isinstance(reading, Resume):
            is_idle = exchange is not said[-1] and not said[-1].outcomes
            return (Resume() if is_idle and not _has_more(reading, outcomes) else reading), outcomes
    return Resume(), outcomes


def _has_changed(said: Sequence[Exchange]) -> bool:
    """Return whether the wish before ended with a change that Wisp itself can take back, such as one of the theme."""
    reading = _together(said[-1].wishes) if said else None
    tools = lexicon().table("notes.notes")["undone"]
    is_done = isinstance(reading, Plan) and len(said[-1].outcomes) == len(reading.steps)
    return is_done and said[-1].outcomes[-1].ok and isinstance(reading, Plan) and reading.steps[-1].tool in tools


def _has_more(reading: Reading, outcomes: Sequence[StepOutcome]) -> bool:
    return isinstance(reading, Plan) and sum(outcome.ok for outcome in outcomes) < len(reading.steps)


def _together(wishes: Sequence[str]) -> Reading:
    """Combine the first wish with the wishes that the person added during its execution."""
    readings = [read_wish(wish) for wish in wishes]
    if len(readings) == 1:
        return readings[0]
    for reading in readings:
        if isinstance(reading, Refusal) or reading == _HALT:
            return reading
    steps = [step for reading in readings if isinstance(reading, Plan) for step in reading.steps]
    return Plan(tuple(steps)) if steps else readings[-1]


def _next(
    book: Phrasebook, steps: Sequence[PlannedCall], outcomes: Sequence[StepOutcome], latest: Sequence[StepOutcome]
) -> Reply:
    done = sum(outcome.ok for outcome in outcomes)
    steps, is_retried = _as_tried(steps, outcomes)
    if latest and not latest[-1].ok and not is_retried:
        if wording.is_denied(latest[-1].text):
            return Reply(completion(book.left(steps[:done])))
        index = min(done, len(steps) - 1)
        sentence = book.failed(steps[index], steps[:done], latest[-1].text)
        sentence = f"{sentence} {_asked(book, latest[-1].text)}".strip()
        return Reply(completion(sentence)) if wording.is_unattended(latest[-1].text) else _declined(sentence)
    if latest and done and steps[done - 1].phrase == "run" and _FAILED_RUN.match(latest[-1].text):
        text = str(book.table("failed")["exited" if done >= len(steps) else "exited_early"])
        found = book.found(steps[done - 1], latest[-1].text)
        return _declined(text.format(steps=book.listed(steps[:done]), found=found))
    if latest and done and not latest[-1].is_dry and not latest[-1].shows(steps[done - 1].must_show):
        asked = _asked(book, latest[-1].text)
        return Reply(speech(book.doubted(steps[:done], steps[done - 1 : done], asked), "apologetic"), "unverified")
    if done >= len(steps):
        return _finished(book, steps, [outcome for outcome in outcomes if outcome.ok])
    step = steps[done]
    if latest and step.tool == "computer_type" and (dialog := open_dialog(latest[-1].text)) and dialog.question:
        text = str(book.table("failed")["exited_early"])  # because a question takes no text
        return _declined(text.format(steps=book.listed(steps[:done]), found=_asked(book, latest[-1].text)))
    return Reply(speech(book.doing(step, done), "warm") + call(step))


def _as_tried(steps: Sequence[PlannedCall], outcomes: Sequence[StepOutcome]) -> tuple[Sequence[PlannedCall], bool]:
    """Return the steps with the replaced ones exchanged, and whether the last outcome led to a replacement."""
    tried, done, is_retried = list(steps), 0, False
    for outcome in outcomes:
        step = tried[done] if done < len(tried) else None
        otherwise = step.otherwise if step and wording.is_missing(outcome.text) else None
        if step and step.phrase == "close_unsaved" and (button := discarding(outcome.text)):
            otherwise = replace(step, tool="computer_click", arguments={"target": button})
        if step and step.phrase == "make":
            tried[done] = wording.as_made(step, outcome.text)
        is_retried = bool(otherwise) and not outcome.ok
        if otherwise and is_retried:
            tried[done] = otherwise
        elif otherwise and step and step.tool != otherwise.tool:
            tried.insert(done + 1, otherwise)  # because the keys that close it worked, and brought up a question
        done += outcome.ok
    return tried, is_retried


def _finished(book: Phrasebook, steps: Sequence[PlannedCall], outcomes: Sequence[StepOutcome]) -> Reply:
    """Return the last reply of a plan: what was done, and which steps nothing confirms."""
    found = _found(book, steps, outcomes)
    if steps[-1].phrase == "ask" and found == book.table("ask")["nothing"]:
        return _declined(found)
    asked = _asked(book, outcomes[-1].text) if outcomes and len(outcomes) == len(steps) else ""
    first = ""
    if outcomes and not found and len(outcomes) == len(steps):
        found = book.outcome_of(steps[-1], outcomes[-1].text)
        value = book.value_of(steps[-1], outcomes[-1].text)
        # The answer stands first, where the step changed a text into one that is short enough to be an answer.
        first = f"{value}\n\n" if value in found and 0 < len(value) <= _ANSWER_CHARS else ""
    if any(outcome.is_dry for outcome in outcomes):
        return Reply(completion(book.rehearsed(steps, found)))
    pairs = list(zip(steps, outcomes, strict=False))
    doubted = [step for step, outcome in pairs if wording.is_doubted(step, outcome.proof)]
    for (step, _), (look, seen) in pairwise(pairs):
        if step.phrase == "copy" and book.found(look, seen.text) == book.table(look.phrase)["nothing"]:
            doubted.append(step)
    if doubted:
        return Reply(speech(book.doubted(steps, doubted, f"{found} {asked}".strip()), "apologetic"), "unverified")
    told = book.finished(steps, [outcome.proof for outcome in outcomes], found)
    return Reply(completion(f"{first}{told} {asked}"))


def _asked(book: Phrasebook, echo: str) -> str:
    """Return what an open dialog that the tool's answer names asks, and how to answer it; "" without a dialog."""
    return told_of(echo, book.table("asking"))


def _found(book: Phrasebook, steps: Sequence[PlannedCall], outcomes: Sequence[StepOutcome]) -> str:
    """Return what the plan's readings of the screen found, one after the other. Rehearsed calls have found nothing."""
    looks = [book.found(step, one.text) for step, one in zip(steps, outcomes, strict=False) if not one.is_dry]
    return "\n".join(clip_middle(look, _SHOWN, _SHOWN) for look in looks if look)


def _declined(sentence: str) -> Reply:
    return Reply(speech(sentence, "apologetic"), "refusal")
