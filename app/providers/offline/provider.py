"""The provider that needs no model: it reads plain commands and answers with calls."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.base.texts import clip_line, clip_middle
from app.base.values import dataclass
from app.protocol.message import Message
from app.protocol.payload import encode
from app.providers.offline import wording
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
from app.providers.offline.typing_text import name_in, type_plain
from app.providers.offline.wording import Exchange, StepOutcome, exchanges
from app.providers.offline.words import (
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
    lexicon,
    tokens_of,
)

_NEAREST_ENDS = 4
_IMPLIED = ("", "open", "close", "press", "click", "double_click", "triple_click", "right_click", "middle_click")


@dataclass(frozen=True, slots=True)
class Cut:
    """A place between clauses: the token a clause before it ends at, and the one a clause after it begins at."""

    end: int
    start: int
    is_comma: bool = False
    is_full_stop: bool = False
    is_strong: bool = False


class Chain:
    """The reading of one wish, worked out from its end to its beginning so that each place is read once."""

    def __init__(self, wish: str, tokens: Sequence[Token]) -> None:
        self._wish = wish
        self._tokens = tokens
        self._cuts = _cuts(tokens)
        self._read: dict[tuple[int, str], Steps] = {}
        self._is_request = without_fillers(tokens)[1]

    def steps(self) -> Steps:
        """All steps, or why there are none."""
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
        """The shortest clause after which the rest can be read too."""
        first: Refusal | None = None
        for cut in self._ends(at)[:_NEAREST_ENDS]:
            tokens = self._tokens[at : cut.end]
            steps = read_clause(tokens, implied=implied)
            if not isinstance(steps, Refusal):
                if self._is_question(cut) and not _is_look(steps):
                    return Refusal("question", name_in(tokens))
                steps = self._with_rest(steps, cut, _action_of(steps, tokens, implied))
            if not isinstance(steps, Refusal):
                return steps
            first = first or steps
        return first or Refusal("unreadable", name_in(self._tokens[at:]))

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
        """Text without quotation marks: up to the first place where a command surely begins."""
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
        """Return the end of the text before the cut. Marks after it belong to it, except the last. -1 if unclear."""
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
        """`…, please` at the end of a wish is politeness; without the comma it may be text."""
        return cut.is_comma and [token.low for token in self._tokens[cut.start :] if token.low] == ["please"]

    def _typed(self, verb: int, at: int, end: int, rest: Sequence[PlannedCall]) -> Steps:
        if end < 0:
            return Refusal("ambiguous", name_in(self._tokens[verb:]))
        tokens = self._tokens[at:end]
        if not rest:
            tokens = self._without_last_mark(tokens)
        text = self._wish[tokens[0].start : tokens[-1].end] if tokens else ""
        asks = bool(tokens) and tokens[0].low in lexicon().table("objects.typing.question_words")
        if asks and self._is_request:
            return Refusal("ambiguous", name_in(self._tokens[verb:end]))
        steps = type_plain(tokens, text, name_in(self._tokens[verb:at]).lower())
        return Refusal(steps.kind, name_in(self._tokens[verb:end])) if isinstance(steps, Refusal) else (*steps, *rest)

    def _without_last_mark(self, tokens: Sequence[Token]) -> Sequence[Token]:
        """Without the mark that ends the wish itself and is no part of the text to type.

        A full stop is the wish's where the wish begins with a capital letter or holds other sentences, a question mark
        where the wish was put as a question.
        """
        marks = [token.text for token in tokens if token.kind is WordKind.SEPARATOR]
        if len(tokens) < 2 or tokens[-1].kind is not WordKind.SEPARATOR:
            return tokens
        has_sentences = any(mark in ".!?" for mark in marks[:-1])
        is_sentence = self._wish.lstrip()[:1].isupper() or any(cut.is_full_stop for cut in self._cuts[:-1])
        is_stop = marks[-1] == "." and not has_sentences and (is_sentence or tokens[-2].text.endswith("="))
        return tokens[:-1] if is_stop or (marks[-1] == "?" and self._is_request) else tokens


def _action_of(steps: Steps, tokens: Sequence[Token], implied: str) -> str:
    """The verb that a clause was read with: its own, or the one before where it names keys only."""
    is_keys = not isinstance(steps, Refusal) and bool(steps) and steps[-1].phrase == "press"
    return "press" if is_keys else head_of(tokens).action or implied


def _is_look(steps: Steps) -> bool:
    return not isinstance(steps, Refusal) and all(step.phrase in ("read", "windows", "capture") for step in steps)


def _cuts(tokens: Sequence[Token]) -> list[Cut]:
    found: list[Cut] = []
    at = 0
    while at < len(tokens):
        cut = _cut_at(tokens, at)
        if cut:
            found.append(cut)
        at = cut.start if cut else at + 1
    return found


def _cut_at(tokens: Sequence[Token], at: int) -> Cut | None:
    """Match the separators between two clauses at `at`."""
    between = lexicon().phrases("commands.between")
    start, is_strong = at, False
    while start < len(tokens):
        length, strength = between.at(tokens, start)
        is_strong = is_strong or strength == "strong"
        if not length and tokens[start].kind is not WordKind.SEPARATOR:
            break
        start += length or 1
    marks = [token.text for token in tokens[at:start]]
    return Cut(at, start, "," in marks, "." in marks, is_strong) if start > at else None


_READING_SHOWN = 60


def read_wish(wish: str) -> Reading:
    """Either the whole wish becomes a plan, or none of it does."""
    if len(wish) > lexicon().number("numbers.limits.characters"):
        return Refusal("too_long")
    tokens = tokens_of(wish, verbs())
    if plan := _of_memory(wish, tokens):
        return plan
    unclosed = next((token for token in tokens if token.kind is WordKind.UNCLOSED), None)
    if unclosed:
        return Refusal("quote", clip_line(unclosed.text, _READING_SHOWN))
    words = tuple(token for token in tokens if token.kind is not WordKind.SEPARATOR)
    return _in_words(words) or _planned(wish, tokens)


_ENDS = " \t\n.!?"


def _of_memory(wish: str, tokens: tuple[Token, ...]) -> Plan | None:
    """What is to be remembered, recalled or forgotten: the whole wish, because a fact may hold any words."""
    rest, _ = without_fillers(tokens)
    length, tool = lexicon().phrases("commands.memory").at(rest)
    if not length or (len(rest) > length and rest[length].low in lexicon().table("commands.not_memory")["before"]):
        return None
    text = wish[rest[length].start :].strip(_ENDS) if len(rest) > length else ""
    if not text:
        return Plan((PlannedCall("recall", {}, "recall", "everything"),)) if tool == "recall" else None
    arguments: dict[str, Value] = {"query" if tool == "recall" else "text": text}
    return Plan((PlannedCall(tool, arguments, tool, f"“{clip_line(text, _READING_SHOWN)}”"),))


def _in_words(words: tuple[Token, ...]) -> Reading | None:
    """Wishes that are a phrase of their own, with or without politeness around them."""
    rest, _ = without_fillers(words)
    for candidate in (words, rest, without_ending(words), without_ending(rest)):
        if topic := lexicon().phrases("commands.talk").whole(candidate):
            return Talk(topic)
        if lexicon().phrases("commands.resume").whole(candidate):
            return Resume()
    return None


def _planned(wish: str, tokens: tuple[Token, ...]) -> Reading:
    steps = Chain(wish, tokens).steps()
    if isinstance(steps, Refusal):
        return Refusal(steps.kind, clip_line(steps.part, _READING_SHOWN), steps.near)
    if not steps:
        return Refusal("unreadable", clip_line(wish, _READING_SHOWN)) if wish.strip() else Talk("no_wish")
    if len(steps) > lexicon().number("numbers.limits.steps"):
        return Refusal("too_many")
    return Plan(steps)


_ANGLES = str.maketrans("<>", "‹›")
_TOKEN = re.compile(r"\s*\w{1,6}|\s*[^\w\s]|\s+")


def speech(text: str, tone: str) -> str:
    return f'<say tone="{tone}">{_shown(text)}</say>'


def completion(text: str) -> str:
    return f"<attempt_completion><result>{_shown(text)}</result></attempt_completion>"


def call(step: PlannedCall) -> str:
    """A self-closing tag; plain text to type stands between tags, any other in an attribute, where entities hold."""
    arguments = dict(step.arguments)
    body = str(arguments.pop("text")) if step.tool == "computer_type" and _is_plain(step.arguments["text"]) else ""
    tag = step.tool + "".join(f' {name}="{encode(str(value))}"' for name, value in arguments.items())
    return f"<{tag}>{body}</{step.tool}>" if body else f"<{tag}/>"


def pieces(text: str) -> list[str]:
    """The text a token at a time."""
    return _TOKEN.findall(text)


def _is_plain(text: Value) -> bool:
    """Whether text reads back from between tags as it is and can be taken for nothing else."""
    return re.fullmatch(r"\w|\w[^<>&]*[^<>&\s]", str(text)) is not None


def _shown(text: str) -> str:
    """Words for the person. They may quote a tool's result, and nothing in them may become a tag."""
    return text.translate(_ANGLES).strip()


_SHOWN = 1500
"""Characters of each end of what a look at the screen brought."""
_HALT = Talk("halt")


@dataclass(frozen=True, slots=True)
class Reply:
    """`stop_reason` is `refusal` where the wish was declined or a step failed: the turn then counts as failed. It is
    `unverified` where nothing shows that a step worked."""

    text: str
    stop_reason: str = "end_turn"


def reply_to(messages: Sequence[Message]) -> Reply:
    """The next message of the assistant, worked out from nothing but the conversation."""
    said = exchanges(messages)
    if not said:
        return Reply(completion(wording.talk("no_wish")))
    reading, outcomes = _current(said)
    match reading:
        case Plan(steps):
            return _next(steps, outcomes, said[-1].outcomes)
        case Talk(topic):
            return Reply(completion(wording.talk(topic)))
        case Refusal():
            return _declined(wording.refused(reading))
        case Resume():
            return Reply(completion(wording.talk("nothing_left")))


def _current(said: Sequence[Exchange]) -> tuple[Reading, list[StepOutcome]]:
    """What is to be done now, and all that has been done of it, this time and before it was resumed."""
    outcomes: list[StepOutcome] = []
    for exchange in reversed(said):
        outcomes = [*exchange.outcomes, *outcomes]
        reading = _together(exchange.wishes)
        if not isinstance(reading, Resume):
            is_idle = exchange is not said[-1] and not said[-1].outcomes
            return (Resume() if is_idle and not _has_more(reading, outcomes) else reading), outcomes
    return Resume(), outcomes


def _has_more(reading: Reading, outcomes: Sequence[StepOutcome]) -> bool:
    return isinstance(reading, Plan) and sum(outcome.ok for outcome in outcomes) < len(reading.steps)


def _together(wishes: Sequence[str]) -> Reading:
    """What was wished for first, then what was added while it was carried out."""
    readings = [read_wish(wish) for wish in wishes]
    if len(readings) == 1:
        return readings[0]
    for reading in readings:
        if isinstance(reading, Refusal) or reading == _HALT:
            return reading
    steps = [step for reading in readings if isinstance(reading, Plan) for step in reading.steps]
    return Plan(tuple(steps)) if steps else readings[-1]


def _next(steps: Sequence[PlannedCall], outcomes: Sequence[StepOutcome], latest: Sequence[StepOutcome]) -> Reply:
    done = sum(outcome.ok for outcome in outcomes)
    if latest and not latest[-1].ok:
        index = min(done, len(steps) - 1)
        return _declined(wording.failed(steps[index], steps[:done], wording.reason(steps[index], latest[-1].text)))
    if done >= len(steps):
        return _finished(steps, [outcome for outcome in outcomes if outcome.ok])
    step = steps[done]
    return Reply(speech(wording.doing(step, done), "warm") + call(step))


def _finished(steps: Sequence[PlannedCall], outcomes: Sequence[StepOutcome]) -> Reply:
    """The end of a plan: what was done, and which of it nothing shows to have worked."""
    found = _found(steps, [outcome.text for outcome in outcomes])
    if outcomes and not found and len(outcomes) == len(steps):
        found = wording.outcome_of(steps[-1], outcomes[-1].text)
    if any(outcome.is_dry for outcome in outcomes):
        return Reply(completion(wording.rehearsed(steps, found)))
    doubted = [step for step, outcome in zip(steps, outcomes, strict=False) if wording.is_doubted(step, outcome.proof)]
    if doubted:
        return Reply(speech(wording.doubted(steps, doubted, found), "apologetic"), "unverified")
    return Reply(completion(wording.finished(steps, [outcome.proof for outcome in outcomes], found)))


def _found(steps: Sequence[PlannedCall], echoes: Sequence[str]) -> str:
    """What the looks of a plan brought, each after the other."""
    looks = [wording.found(step, echo) for step, echo in zip(steps, echoes, strict=False)]
    return "\n".join(clip_middle(look, _SHOWN, _SHOWN) for look in looks if look)


def _declined(sentence: str) -> Reply:
    return Reply(speech(sentence, "apologetic"), "refusal")
