"""From a wish to what is to be done about it."""

from __future__ import annotations

from collections.abc import Sequence

from app.base.texts import clip_line
from app.base.values import dataclass
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
from app.providers.offline.names import said
from app.providers.offline.typing_text import type_plain
from app.providers.offline.words import (
    Plan,
    PlannedCall,
    Reading,
    Refusal,
    Resume,
    Steps,
    Talk,
    Token,
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
                    return Refusal("question", said(tokens))
                steps = self._with_rest(steps, cut, _action_of(steps, tokens, implied))
            if not isinstance(steps, Refusal):
                return steps
            first = first or steps
        return first or Refusal("unreadable", said(self._tokens[at:]))

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
                return Refusal("ambiguous", said(self._tokens[verb:]))
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
            return Refusal("ambiguous", said(self._tokens[verb:]))
        tokens = self._tokens[at:end]
        if not rest:
            tokens = self._without_last_mark(tokens)
        text = self._wish[tokens[0].start : tokens[-1].end] if tokens else ""
        asks = bool(tokens) and tokens[0].low in lexicon().table("objects.typing.question_words")
        if asks and self._is_request:
            return Refusal("ambiguous", said(self._tokens[verb:end]))
        steps = type_plain(tokens, text, said(self._tokens[verb:at]).lower())
        return Refusal(steps.kind, said(self._tokens[verb:end])) if isinstance(steps, Refusal) else (*steps, *rest)

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


_SHOWN = 60


def read_wish(wish: str) -> Reading:
    """Either the whole wish becomes a plan, or none of it does."""
    if len(wish) > lexicon().number("numbers.limits.characters"):
        return Refusal("too_long")
    tokens = tokens_of(wish, verbs())
    unclosed = next((token for token in tokens if token.kind is WordKind.UNCLOSED), None)
    if unclosed:
        return Refusal("quote", clip_line(unclosed.text, _SHOWN))
    words = tuple(token for token in tokens if token.kind is not WordKind.SEPARATOR)
    return _in_words(words) or _planned(wish, tokens)


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
        return Refusal(steps.kind, clip_line(steps.part, _SHOWN), steps.near)
    if not steps:
        return Refusal("unreadable", clip_line(wish, _SHOWN)) if wish.strip() else Talk("no_wish")
    if len(steps) > lexicon().number("numbers.limits.steps"):
        return Refusal("too_many")
    return Plan(steps)
