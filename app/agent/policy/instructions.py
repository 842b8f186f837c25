"""The person's text as sentences: which of them tell Wisp to act, and which commands they write out.

A sentence that denies, asks, supposes or reports names nothing, and what it speaks of is named nowhere else either.
Long and quoted text is somebody else's.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from app.agent.policy.consequences import plain_words
from app.agent.policy.sentences import table
from app.base.values import dataclass

_QUOTED = re.compile(r"\"([^\"\n]*)\"|`([^`\n]*)`|(?<![\w\"])'([^'\n]+)'(?!\w)")
_MARKS = str.maketrans(dict.fromkeys("“”„«»‟", '"'))
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_TOKEN = re.compile(r"\0\d+\0|[\w'’-]+|[^\w\s]")
_SLOT = re.compile(r"\0(\d+)\0")
_PAUSE = re.compile(r"[:,](?=\s|$)")
_SPEAKER = re.compile(r"[^\W\d_][\w.'-]*(?: [\w.'-]+){0,2}:")
_FIRST_TOKENS = 4
"""So many may stand before the verb of a sentence that begins with a place, such as `In the form click …`."""


@dataclass(frozen=True, slots=True)
class SpokenSentence:
    """`tokens` are words, marks, and places of quotes (`\\0n\\0`). `raw` is the sentence as it was written."""

    tokens: tuple[str, ...]
    quotes: tuple[str, ...]
    raw: str
    counts: bool

    def quote(self, token: str) -> str | None:
        return self.quotes[int(found[1])] if (found := _SLOT.fullmatch(token)) else None

    def holds(self, words: Sequence[str]) -> bool:
        """Whether the words stand anywhere in it, quoted or not."""
        spoken = plain_words(self.raw)
        return any(tuple(spoken[at : at + len(words)]) == tuple(words) for at in range(len(spoken)))


@dataclass(frozen=True, slots=True)
class Instructions:
    sentences: tuple[SpokenSentence, ...]
    commands: frozenset[str]

    @property
    def counting(self) -> Iterator[SpokenSentence]:
        return (one for one in self.sentences if one.counts)

    def denies(self, words: Sequence[str]) -> bool:
        """Whether a sentence that names nothing speaks of it."""
        return any(one.holds(words) for one in self.sentences if not one.counts)


@cache
def listed(section: str, name: str) -> frozenset[str]:
    return frozenset(table("words")[section][name])


@cache
def _blocks() -> frozenset[str]:
    return frozenset(word for words in table("words")["blocks"].values() for word in words)


def read(said: str) -> Instructions:
    """Read the person's text. A long one is pasted and says nothing."""
    text = said.translate(_MARKS).replace("’", "'").replace("\0", "")
    if len(text) > table("words")["limits"]["characters"]:
        return Instructions((), frozenset())
    text = "\n".join(_own_lines(text))
    sentences = tuple(_sentences(text))
    if any(_speaks(one.tokens, "takes_back", "words") for one in sentences):
        return Instructions((), frozenset())
    return Instructions(sentences, _commands(text))


def own_words(said: str) -> str:
    """The person's text without the lines that they quote or pass on. A long one is pasted and says nothing."""
    is_long = len(said) > table("words")["limits"]["characters"]
    return "" if is_long else "\n".join(_own_lines(said.translate(_MARKS)))


def _own_lines(text: str) -> Iterator[str]:
    """The lines before somebody else's text begins."""
    heads = tuple(table("words")["reports"]["heads"])
    for line in text.splitlines():
        start = line.strip().casefold()
        if start.startswith(heads) or _is_speaker(start):
            return
        if not start.startswith((">", "|")):
            yield line
        if any(_own_part(part)[1] for part in _SENTENCE.split(line)):
            return


def _is_speaker(line: str) -> bool:
    """Whether a line is nothing but a name and a colon, as before what somebody says."""
    told = listed("openings", "words") | frozenset().union(*map(frozenset, table("words")["deeds"].values()))
    return _SPEAKER.fullmatch(line) is not None and not told & set(_TOKEN.findall(line))


def _sentences(text: str) -> Iterator[SpokenSentence]:
    quotes: list[str] = []

    def hide(found: re.Match[str]) -> str:
        quotes.append(next(group for group in found.groups() if group is not None))
        return f" \0{len(quotes) - 1}\0 "

    hidden = _QUOTED.sub(hide, text)
    # What follows a quotation mark without its end may all be a quotation.
    hidden = re.split(r"[\"`]", hidden)[0]
    is_reported = False
    for part in _SENTENCE.split(hidden):
        own, hands_over = _own_part(_without_dictation(_without_tail(part)))
        tokens = tuple(_TOKEN.findall(own.casefold()))
        is_reported = is_reported or _is_report(tokens)
        counts = not is_reported and not _is_blocked(own, tokens)
        raw = _SLOT.sub(lambda found: f'"{quotes[int(found[1])]}"', own)
        yield SpokenSentence(tokens, tuple(quotes), raw, counts)
        is_reported = is_reported or hands_over


def _speaks(tokens: Sequence[str], section: str, name: str) -> bool:
    """Whether one of the listed phrases stands in it, as whole words."""
    spoken = f" {' '.join(tokens)} "
    return any(f" {phrase} " in spoken for phrase in listed(section, name))


def _own_part(sentence: str) -> tuple[str, bool]:
    """The sentence up to a text that Wisp is to write or to work on, and whether that text may go on behind it."""
    tokens = _TOKEN.findall(sentence.casefold())
    skipped = listed("openings", "words") | {word for phrase in listed("openings", "polite") for word in phrase.split()}
    is_text = any(token in listed("deeds", "rework") for token in tokens)
    is_written = next((token for token in tokens if token not in skipped), "") in listed("deeds", "compose")
    for mark in _PAUSE.finditer(sentence) if is_text or is_written else ():
        after = sentence[mark.end() :].lstrip()
        is_quoted, is_next = after[:1] in ("\0", '"', "`", "'"), after.casefold().startswith(_next())
        if not after or (mark[0] == ":" and not is_quoted) or (mark[0] == "," and not is_quoted and not is_next):
            return sentence[: mark.start()], mark[0] == ":" or is_text
    is_named = any(sign in sentence.rstrip(" .!?") for sign in './\0"`')
    return sentence, (is_text and not is_named) or _speaks(tokens, "reports", "pointing")


def _next() -> tuple[str, ...]:
    return tuple(f"{word} " for word in listed("fillers", "joins"))


def _is_report(tokens: Sequence[str]) -> bool:
    """Whether somebody else's words follow, or stand there."""
    if any(word in listed("reports", "words") for word in tokens):
        return True
    return any(one in listed("reports", "introducing") and after == ":" for one, after in itertools.pairwise(tokens))


def _without_tail(sentence: str) -> str:
    """Return the sentence without its end, where that asks for nothing but words."""
    folded = sentence.casefold()
    found = [at for tail in table("words")["reports"]["tails"] if (at := folded.find(tail)) > 0]
    return sentence[: min(found)] if found else sentence


def _without_dictation(sentence: str) -> str:
    """The sentence without what Wisp is to write, as in `Write a mail that says "…"`: those words name nothing."""
    tokens = _TOKEN.findall(sentence.casefold())
    first = next((token for token in tokens if token not in listed("openings", "words")), "")
    return _dictation().sub(" ", sentence) if first in listed("deeds", "compose") else sentence


@cache
def _dictation() -> re.Pattern[str]:
    words = "|".join(map(re.escape, listed("reports", "words")))
    return re.compile(rf"\b(?:(?:that|which|qui|que|die|das)\s+)?(?:{words})\s*[:,]?\s*\0\d+\0", re.IGNORECASE)


def _is_blocked(text: str, tokens: Iterable[str]) -> bool:
    words = tuple(tokens)
    if any(word in _blocks() or word.endswith("n't") for word in words) or _speaks(words, "conditions", "phrases"):
        return True
    polite = tuple(table("words")["openings"]["polite"])
    return text.rstrip().endswith("?") and not text.strip().casefold().startswith(polite)


def begins_clause(one: SpokenSentence, at: int) -> bool:
    """Whether a command can begin with this token."""
    before = one.tokens[:at]
    if not before or before[-1] == "," or before[-1] in listed("openings", "words"):
        return True
    polite = (tuple(phrase.split()) for phrase in table("words")["openings"]["polite"])
    return before in polite or (
        before[0] in listed("openings", "places") and ":" not in before and len(before) <= _FIRST_TOKENS
    )


def may_end(one: SpokenSentence, at: int) -> bool:
    """Whether a name can end before this token."""
    if at >= len(one.tokens):
        return True
    token = one.tokens[at]
    return token in ".,!;?:" or token in listed("fillers", "ends")


@cache
def _running() -> re.Pattern[str]:
    verbs = "|".join(map(re.escape, table("words")["deeds"]["run"]))
    fillers = "|".join(map(re.escape, table("words")["fillers"]["words"]))
    return re.compile(rf"(?<!\w)(?:{verbs})(?:\s+(?:{fillers}))*\s*(:?)\s*(?=\S)", re.IGNORECASE)


def _commands(text: str) -> frozenset[str]:
    """The commands that the person wrote out: quoted after a verb of running, or after it to the end of the line.

    A word that denies, supposes or reports anywhere around them takes all of them back.
    """
    commands: set[str] = set()
    for line in text.splitlines():
        found = _running().search(line)
        command, around = _command_in(line, found) if found else ("", line)
        around = _without_tail(around)
        tokens = _TOKEN.findall(around.casefold())
        if _is_report(tokens) or _is_blocked(around, tokens):
            return frozenset()
        commands |= {command} if command else set()
    return frozenset(commands)


def _command_in(line: str, found: re.Match[str]) -> tuple[str, str]:
    """The command after a verb of running that begins a clause, and what stands around it."""
    before, rest = line[: found.start()], line[found.end() :]
    tokens = tuple(_TOKEN.findall(_SENTENCE.split(before)[-1].casefold()))
    if not begins_clause(SpokenSentence(tokens, (), before, counts=True), len(tokens)):
        return "", line
    if quoted := _QUOTED.match(rest):
        return next(group for group in quoted.groups() if group is not None).strip(), before + rest[quoted.end() :]
    return (rest.strip(), before) if found[1] else ("", line)
