"""The words of the thread: their pace, what of them is visible, and the rows that fold."""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from app.base.values import dataclass
from app.ui.presenter.view import Approval, Asked, Card, Item, NoticeItem, SpokenItem, Status, TurnOutcome

_KEPT = "\n\t"
_HIDDEN = ("Cc", "Cf", "Co", "Cn", "Zl", "Zp")
_ODD_SPACES = "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000\u115f\u3164"


def visible(text: str) -> str:
    """Every invisible character and every odd space is written as its code, such as `⟨U+202E⟩`."""
    return "".join(character if _can_be_seen(character) else f"⟨U+{ord(character):04X}⟩" for character in text)


def _can_be_seen(character: str) -> bool:
    if character in _KEPT:
        return True
    return unicodedata.category(character) not in _HIDDEN and character not in _ODD_SPACES


_COMMAS = ",;:–—"
_STOPS = ".!?…\n"


class Pacer:
    """Shows text at a speaking pace and pauses at commas and stops. No text is shown more than `behind_s` after it
    arrived.

    With `chars_per_s` 0, everything is shown at once.
    """

    def __init__(self, chars_per_s: float, comma_s: float, stop_s: float, behind_s: float) -> None:
        self._per_char = 1 / chars_per_s if chars_per_s else 0.0
        self._breath = {**dict.fromkeys(_COMMAS, comma_s), **dict.fromkeys(_STOPS, stop_s)}
        self._behind = behind_s
        self._arrived: deque[tuple[float, int]] = deque()
        self._credit = 0.0
        self._now = 0.0
        self.shown = 0

    def arrive(self, length: int) -> None:
        """Note that the text now has `length` characters."""
        self._arrived.append((self._now, length))

    def advance(self, text: str, elapsed_s: float) -> int:
        """Return how many characters of `text` to show after `elapsed_s` more seconds."""
        self._now += elapsed_s
        if not self._per_char:
            self.shown = len(text)
            return self.shown
        self._credit += elapsed_s
        while self.shown < len(text) and self._credit >= (cost := self._cost(text[self.shown])):
            self._credit -= cost
            self.shown += 1
        if self.shown == len(text):
            self._credit = 0.0
        self._catch_up(len(text))
        return self.shown

    def _cost(self, character: str) -> float:
        return self._per_char + self._breath.get(character, 0.0)

    def _catch_up(self, length: int) -> None:
        due = 0
        while self._arrived and self._arrived[0][0] <= self._now - self._behind:
            due = self._arrived.popleft()[1]
        if min(due, length) > self.shown:
            self.shown = min(due, length)
            self._credit = 0.0


_LINE_CHARS = 64
_READ_S = 0.9
"""How long a line stays after its last word."""


class Captions:
    """Cuts speech into lines and shows one at a time. The next line follows after the time to speak and read the
    current one.

    The time is shorter if several lines wait.
    """

    def __init__(self, chars_per_s: float) -> None:
        self._per_char = 1 / chars_per_s
        self._taken: dict[str, int] = {}
        self._waiting: deque[tuple[str, str]] = deque()
        self._left_s = 0.0
        self.current: tuple[str, str] | None = None
        """Its tone and its words."""

    @property
    def is_done(self) -> bool:
        """Whether the last line was shown long enough to be read."""
        return not self._waiting and self._left_s <= 0

    def skip(self, items: Iterable[Item]) -> None:
        """Treat these items as seen, because they were visible elsewhere."""
        self._taken = {item.key: len(item.text) for item in items if isinstance(item, SpokenItem)}
        self._waiting.clear()
        self.current, self._left_s = None, 0.0

    def hear(self, items: Sequence[Item], *, running: bool) -> None:
        """Take the speech of the thread's items. The end of a speech that still grows waits until its line is
        complete."""
        for at, item in enumerate(items):
            if isinstance(item, SpokenItem) and self._taken.get(item.key, 0) < len(item.text):
                is_whole = item.done or not running or at < len(items) - 1
                self._take(item, is_whole=is_whole)
        self.advance(0.0)

    def say(self, tone: str, text: str) -> None:
        """Take words that are no speech of the thread. They are one line."""
        self._waiting.append((tone, " ".join(text.split())))
        self.advance(0.0)

    def advance(self, elapsed_s: float) -> None:
        """Let time pass, in seconds, and show the next line when the time of the current one is over."""
        self._left_s -= elapsed_s * (1 + len(self._waiting))
        if self._left_s <= 0 and self._waiting:
            self.current = self._waiting.popleft()
            tone, words = self.current
            self._left_s = 0.0 if tone == "urgent" and self._waiting else len(words) * self._per_char + _READ_S

    def _take(self, item: SpokenItem, *, is_whole: bool) -> None:
        text = item.text[self._taken.get(item.key, 0) :]
        while text and (end := _line_end(text, is_whole=is_whole)):
            words = " ".join(_MARKS.sub("", text[:end]).split())
            if words:
                self._waiting.append((item.tone, words))
            self._taken[item.key] = self._taken.get(item.key, 0) + end
            text = text[end:]


TIMES = re.compile(r"(?<=[\d)])\*(?=[\d(.])")
"""A sum's sign, which Markdown would take for a mark: `typed “12*7=”. I typed “12*7=”` is no emphasis."""
_MARKS = re.compile(rf"(?!{TIMES.pattern})[*`#>|]+")
"""Of Markdown: a caption is plain."""
_PAIRS = re.compile(rf"(?!{TIMES.pattern})(\*\*|__|~~|`+|\*)(?=\S)(.+?)(?<=\S)\1")
_HEADS = re.compile(r"^ {0,3}(?:#{1,6} +|> ?)", re.MULTILINE)


def unmarked(text: str) -> str:
    """Return Markdown as plain words, for lists, notifications and screen readers."""
    return _PAIRS.sub(r"\2", _HEADS.sub("", text))


def _line_end(text: str, *, is_whole: bool) -> int:
    """After a sentence, else at a space; 0 if the line still grows."""
    found = re.search(r"[.!?:…](?=\s|$)|\n", text)
    if found is not None and found.end() <= _LINE_CHARS:
        return found.end()
    if len(text) > _LINE_CHARS:
        space = text.rfind(" ", 0, _LINE_CHARS)
        return space + 1 if space > 0 else _LINE_CHARS
    return len(text) if is_whole else 0


FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


def closes(line: str, fence: str) -> bool:
    """Return whether a line ends the fenced code that began with `fence`."""
    return bool(FENCE.match(line)) and line.strip().startswith(fence) and not line.strip(f" \n{fence[0]}")


def open_fence(text: str, fence: str = "") -> str:
    """Return the fence, such as `~~~`, of the code block in which the text ends; "" if it ends in prose. `fence` is
    the one in which it begins."""
    for line in text.splitlines(keepends=True):
        found = FENCE.match(line)
        if fence and closes(line, fence):
            fence = ""
        elif found and not fence:
            fence = found[1]
    return fence


FOLDED_FROM = 2
"""A single step is a line of its own already."""


@dataclass(frozen=True, slots=True)
class Fold:
    """The steps of a turn, shown as one line. `rest` are the items between the cards; they are shown when the fold
    is open."""

    key: str
    cards: tuple[Card, ...]
    is_open: bool = False
    rest: tuple[Item, ...] = ()


Row = Item | Fold
_ASKED_WITHIN = 20
"""A question that is open stands near the thread's end."""


def folded(items: Iterable[Item], opened: frozenset[str] = frozenset(), *, running: bool = False) -> tuple[Row, ...]:
    """Return the rows of the thread: the person's words, one line for the steps to each answer, and the answer.

    A fold whose key is in `opened` shows its steps. While a turn runs, only steps that have ended fold.
    """
    rows: list[Row] = []
    turn: list[Item] = []
    waiting: list[Item] = []
    all_items = tuple(items)
    asked = {item.call_id for item in all_items[-_ASKED_WITHIN:] if isinstance(item, Approval) and item.is_open}
    for item in all_items:
        if isinstance(item, Card) and item.status is Status.WAITING and item.call_id in asked:
            continue  # because the question says what it is about
        if isinstance(item, Asked):
            if item.waits:
                waiting.append(item)
                continue
            rows.extend(_turn_rows(turn, opened, ended=True))
            turn = []
            rows.append(item)
        else:
            turn.append(item)
    return (*rows, *_turn_rows(turn, opened, ended=not running), *waiting)


def _turn_rows(turn: list[Item], opened: frozenset[str], *, ended: bool) -> Iterator[Row]:
    """Once the turn has ended, all its steps are one fold; before, each series of ended steps is one."""
    if not ended:
        yield from _run_rows(turn, opened)
        return
    last = max((at for at, item in enumerate(turn) if isinstance(item, Card)), default=-1)
    has_answer = any(isinstance(item, (SpokenItem, TurnOutcome)) for item in turn[last + 1 :])
    steps = [item for item in turn[: last + 1] if _is_step(item, with_speech=has_answer)]
    cards = [item for item in steps if isinstance(item, Card)]
    if len(cards) < FOLDED_FROM or any(card.is_open for card in cards):
        yield from turn
        return
    yield from _fold(steps, opened)
    folded_away = {item.key for item in steps}
    yield from (item for item in turn if item.key not in folded_away)


def _is_step(item: Item, *, with_speech: bool) -> bool:
    """True for a card, an approval, an info notice or, `with_speech`, speech."""
    if isinstance(item, SpokenItem):
        return with_speech
    if isinstance(item, NoticeItem):
        return item.level == "info"
    # What was made stays in sight, with its buttons.
    return isinstance(item, Approval) or (isinstance(item, Card) and item.content is None)


def _run_rows(turn: list[Item], opened: frozenset[str]) -> Iterator[Row]:
    """For a running turn. Each series of successful steps is one fold; the newest item never folds."""
    run: list[Item] = []
    for item in turn[:-1]:
        if isinstance(item, Card) and item.content is None and item.status in (Status.OK, Status.UNVERIFIED):
            run.append(item)
            continue
        yield from _fold(run, opened)
        run = []
        yield item
    yield from _fold(run, opened)
    yield from turn[-1:]


def _fold(steps: list[Item], opened: frozenset[str]) -> Iterator[Row]:
    cards = tuple(item for item in steps if isinstance(item, Card))
    if len(cards) < FOLDED_FROM:
        yield from steps
        return
    key = f"f{cards[0].key}"
    rest = tuple(item for item in steps if not isinstance(item, Card))
    yield Fold(key, cards, key in opened, rest)
    if key in opened:
        yield from steps
