"""Split a wish into words, quoted texts and separators, each with its place in the wish."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any

from app.base import resources
from app.base.values import dataclass, field

# Opening mark to the marks that may close it. A straight mark also opens only where a word could begin.
_PAIRS = {'"': '"', "'": "'", "“": "”“", "„": "“”", "‘": "’", "«": "»", "»": "«", "`": "`", "‹": "›"}
_MUST_CLOSE = '"“„«`'
_SEPARATORS = ",;.!?"
_CURLY = str.maketrans({"’": "'", "‘": "'"})
_WORD = re.compile(r"\S+")
_GLUED = re.compile(r"[,;]([A-Za-z]+)(?![^\s,;])")
_BULLET = re.compile(r"[ \t]*(?:\d{1,2}[.)]|[-*•])[ \t]+")


class WordKind(Enum):
    WORD = "word"
    QUOTED = "quoted"
    SEPARATOR = "separator"
    UNCLOSED = "unclosed"


@dataclass(frozen=True, slots=True)
class Token:
    """One word, quoted text or separator. `text` is the word as written, or the quoted text; `low` is for look-ups."""

    kind: WordKind
    text: str
    start: int
    end: int

    @property
    def low(self) -> str:
        """Return the word in lower case, with plain apostrophes and without a final colon; "" for all other kinds."""
        return _folded(self.text) if self.kind is WordKind.WORD else ""


@functools.lru_cache(maxsize=4096)
def _folded(word: str) -> str:
    return word.lower().translate(_CURLY).rstrip(":")


def tokens_of(wish: str, verbs: Collection[str] = ()) -> tuple[Token, ...]:
    """Split a wish into tokens.

    A word ends at a blank, and at a comma or semicolon directly before one of `verbs` (`open xterm;type ls`).
    """
    found: list[Token] = []
    at = _after_bullet(wish, 0)
    while at < len(wish):
        if wish[at].isspace():
            if wish[at] == "\n" and found and found[-1].kind is not WordKind.SEPARATOR:
                found.append(Token(WordKind.SEPARATOR, "\n", at, at + 1))
            at = _after_bullet(wish, at + 1) if wish[at] == "\n" else at + 1
            continue
        quoted = _quoted(wish, at) if wish[at] in _PAIRS else None
        found.extend([quoted] if quoted else _word(wish, at, verbs))
        at = found[-1].end
    return tuple(found)


def _after_bullet(wish: str, line: int) -> int:
    """Return where the text of a line begins after `1.`, `2)`, `-` or `*`."""
    bullet = _BULLET.match(wish, line)
    return bullet.end() if bullet else line


def _quoted(wish: str, at: int) -> Token | None:
    mark = wish[at]
    end = _close(wish, at)
    if end >= 0:
        return Token(WordKind.QUOTED, wish[at + 1 : end], at, end + 1)
    return Token(WordKind.UNCLOSED, wish[at:], at, len(wish)) if mark in _MUST_CLOSE else None


def _close(wish: str, opened: int) -> int:
    marks = _PAIRS[wish[opened]]
    for at in range(opened + 1, len(wish)):
        if wish[at] in marks and (at + 1 == len(wish) or not (wish[at + 1].isalnum() or wish[at + 1] in marks)):
            return at
    return -1


def _word(wish: str, at: int, verbs: Collection[str]) -> list[Token]:
    match = _WORD.match(wish, at)
    assert match
    text = match.group()
    for glued in _GLUED.finditer(text):
        if glued[1].lower() in verbs:
            text = text[: glued.start(1)]
            break
    bare = text.rstrip(_SEPARATORS)
    if text.endswith("...") and bare:
        bare = text
    tokens = [Token(WordKind.WORD, bare, at, at + len(bare))] if bare else []
    return tokens + [
        Token(WordKind.SEPARATOR, mark, at + offset, at + offset + 1)
        for offset, mark in enumerate(text[len(bare) :], len(bare))
    ]


class Phrases:
    """A table from word sequences to values. The longest sequence that matches at a place wins."""

    def __init__(self, phrases: Mapping[str, str]) -> None:
        self._by_first: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        for phrase, value in phrases.items():
            words = tuple(phrase.split())
            self._by_first.setdefault(words[0], []).append((words, value))
        for same in self._by_first.values():
            same.sort(key=lambda entry: -len(entry[0]))

    @classmethod
    def of(cls, phrases: Iterable[str]) -> Phrases:
        """Return phrases whose value is the phrase itself."""
        return cls({phrase: phrase for phrase in phrases})

    def at(self, tokens: Sequence[Token], start: int = 0) -> tuple[int, str]:
        """Return how many tokens from `start` form a phrase, and its value; (0, "") if none do."""
        if start >= len(tokens):
            return 0, ""
        for words, value in self._by_first.get(tokens[start].low, ()):
            stop = start + len(words)
            if stop <= len(tokens) and all(t.low == w for t, w in zip(tokens[start:stop], words, strict=True)):
                return len(words), value
        return 0, ""

    def whole(self, tokens: Sequence[Token]) -> str:
        """Return the value if the tokens are exactly one phrase, otherwise ""."""
        length, value = self.at(tokens)
        return value if length and length == len(tokens) else ""

    def at_end(self, tokens: Sequence[Token]) -> tuple[int, str]:
        """Return the length and value of the longest phrase at the end of the tokens."""
        for start in range(len(tokens)):
            length, value = self.at(tokens, start)
            if length and start + length == len(tokens):
                return length, value
        return 0, ""

    def inside(self, tokens: Sequence[Token]) -> str:
        """Return the value of the first phrase found anywhere in the words."""
        return next((value for i in range(len(tokens)) if (value := self.at(tokens, i)[1])), "")


class Lexicon:
    """Everything that the grammar knows about its languages. Tables and phrases have names such as `file.table`."""

    def __init__(self, tables: Mapping[str, Mapping[str, Any]]) -> None:
        self._tables = tables
        self._phrases: dict[str, Phrases] = {}

    def table(self, path: str) -> Mapping[str, Any]:
        """Return the TOML table at `file.table`. A path that does not exist is a bug and raises KeyError."""
        node: Any = self._tables
        for name in path.split("."):
            node = node[name]
        result: Mapping[str, Any] = node
        return result

    def phrases(self, path: str) -> Phrases:
        """Return the phrases at `path`. In a list each phrase is its own value; in a table its value is its key."""
        if path not in self._phrases:
            node: Any = self.table(path)
            self._phrases[path] = Phrases(_values(node))
        return self._phrases[path]

    def number(self, path: str) -> float:
        node: Any = self.table(path)
        return float(node)


def _values(node: Any) -> dict[str, str]:
    if isinstance(node, list):
        return {phrase: phrase for phrase in node}
    return {phrase: key for key, value in node.items() for phrase in (value if isinstance(value, list) else [key])}


@functools.cache
def lexicon() -> Lexicon:
    """Return the rules from the resources: those for English, and the words that `more/` adds for other languages."""
    tables: dict[str, Any] = {name: _shipped(f"offline/{name}.toml") for name in _names("offline")}
    for name in _names("offline/more"):
        tables = _joined(tables, _shipped(f"offline/more/{name}.toml"))
    return Lexicon(tables)


def _names(folder: str) -> list[str]:
    return sorted(file.stem for file in resources.path(folder).glob("*.toml"))


def _shipped(name: str) -> resources.Table:
    return resources.table(name, resources.Table)


def _joined(one: Any, other: Any) -> Any:
    """Return both tables as one: lists become longer, and tables get the keys that they lack. Nothing is replaced."""
    if isinstance(one, list) and isinstance(other, list):
        return [*one, *other]
    if not (isinstance(one, Mapping) and isinstance(other, Mapping)):
        raise resources.DamagedResource(f"offline/more: {other!r} stands where {one!r} does")
    return {**one, **{name: _joined(one[name], value) if name in one else value for name, value in other.items()}}


ENGLISH = "en"


def language_of(tokens: Sequence[Token]) -> str:
    """Return the language of the first word that only one language has; "" if no word decides."""
    return lexicon().phrases("languages.words").inside(tokens)


Value = str | int | float | list[str]


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """One planned call. `phrase` names the sentences about it; `what` fills them.

    `otherwise` is the call to make if what this call looks for is not there. `must_show` is "opened" or "closed": the
    step has worked only if a confirmed receipt says so about a window.
    """

    tool: str
    arguments: Mapping[str, Value] = field(default_factory=dict)
    phrase: str = ""
    what: str = ""
    otherwise: PlannedCall | None = None
    must_show: str = ""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The whole wish is declined. `kind` names the sentence in `resources/offline/phrases.toml`."""

    kind: str
    part: str = ""
    near: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    steps: tuple[PlannedCall, ...]


@dataclass(frozen=True, slots=True)
class Talk:
    """An answer in words only, such as `help` or `hello`. `what` fills its sentence."""

    topic: str
    what: str = ""


@dataclass(frozen=True, slots=True)
class Resume:
    """A wish to continue the wish before it, such as "go on"."""


Reading = Plan | Talk | Resume | Refusal
Steps = tuple[PlannedCall, ...] | Refusal


@dataclass(frozen=True, slots=True)
class Cut:
    """A place between two clauses: the token where the first ends, and the token where the second begins."""

    end: int
    start: int
    is_comma: bool = False
    is_full_stop: bool = False
    is_strong: bool = False


def cuts(tokens: Sequence[Token]) -> list[Cut]:
    """Return the places between the clauses of a sentence, in order."""
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
