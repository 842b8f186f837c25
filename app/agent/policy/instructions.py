"""Read the person's text as sentences: which of them instruct Wisp, and which commands the person wrote out.

What a sentence names is allowed without a question. One that denies, asks, supposes or reports names nothing, and takes
what it mentions away from what other sentences name. Nor does a sentence name anything if one of its clauses is no
instruction, as in a story, a warning or a list. Long and quoted text counts as somebody else's (SECURITY.md: "A
sentence names something only if each of its clauses begins with a listed verb"; the words are in
`resources/policy/words.toml`).
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
_SEPARATOR = re.compile(r"\s*([,:;])(?=\s|$)|\s+[-–—]+\s+|\s*[—()…]+\s*|\.{2,}")
_LONGEST_PLACE = 4
_LONGEST_ITEM = 3
_LONGEST_NAMING = 6
_FIRST_TOKENS = 4
"""So many may stand before the verb of a sentence that begins with a place, such as `In the form click …`."""


@dataclass(frozen=True, slots=True)
class SpokenSentence:
    r"""A sentence of the person. `tokens` are words, marks, and places of quotes (`\0n\0`); `raw` is the text as
    written.

    `counts`: it denies and reports nothing. `is_order`: all its clauses are instructions to Wisp.
    """

    tokens: tuple[str, ...]
    quotes: tuple[str, ...]
    raw: str
    counts: bool
    is_order: bool = True

    def quote(self, token: str) -> str | None:
        return self.quotes[int(found[1])] if (found := _SLOT.fullmatch(token)) else None

    def holds(self, words: Sequence[str]) -> bool:
        """Return whether the sentence contains these words in this order, quoted or not."""
        spoken = plain_words(self.raw)
        return any(tuple(spoken[at : at + len(words)]) == tuple(words) for at in range(len(spoken)))


@dataclass(frozen=True, slots=True)
class Instructions:
    sentences: tuple[SpokenSentence, ...]
    commands: frozenset[str]

    @property
    def counting(self) -> Iterator[SpokenSentence]:
        return (one for one in self.sentences if one.counts and one.is_order)

    def denies(self, words: Sequence[str]) -> bool:
        """Return whether these words occur in a sentence that denies or only reports something."""
        return any(one.holds(words) for one in self.sentences if not one.counts)


@cache
def listed(section: str, name: str) -> frozenset[str]:
    return frozenset(table("words")[section][name])


@cache
def _blocks() -> frozenset[str]:
    return frozenset(word for words in table("words")["blocks"].values() for word in words)


def read(said: str) -> Instructions:
    """Read the person's text. A long text counts as pasted, so it contains no instruction."""
    text = said.translate(_MARKS).replace("’", "'").replace("\0", "")
    if len(text) > table("words")["limits"]["characters"]:
        return Instructions((), frozenset())
    text = "\n".join(_before_title(tuple(_own_lines(text))))
    sentences = tuple(_sentences(text))
    if any(_speaks(one.tokens, "takes_back", "words") for one in sentences):
        return Instructions((), frozenset())
    return Instructions(sentences, _commands(text))


def straight(said: str) -> str:
    """Return the text with straight quotation marks in place of curved and pointed ones."""
    return said.translate(_MARKS)


def own_words(said: str) -> str:
    """Return the person's text without lines that they quote or pass on; "" for a long text, which counts as pasted."""
    is_long = len(said) > table("words")["limits"]["characters"]
    return "" if is_long else "\n".join(_own_lines(said.translate(_MARKS)))


def _own_lines(text: str) -> Iterator[str]:
    """Yield the lines up to where somebody else's text begins, without lines that quote by `>` or `|`."""
    heads = tuple(table("words")["reports"]["heads"])
    for line in text.splitlines():
        start = line.strip().casefold()
        if start.startswith(heads) or _is_speaker(start):
            return
        if not start.startswith((">", "|")):
            yield line
        if any(_own_part(part)[1] for part in _SENTENCE.split(line)):
            return


def _before_title(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines before the first title or greeting. After it, a text follows that is no instruction to Wisp."""
    for line in lines:
        text = line.strip().casefold()
        is_title = bool(text) and text[-1] not in '.!?:;,"`' and not gives_orders(text)
        if (is_title or _greets(text)) and len(lines) > 1:
            return
        yield line


def _greets(text: str) -> bool:
    words = text.replace(",", " ").rstrip(" .!").split()
    return bool(words) and words[0] in listed("openings", "greetings") and "wisp" not in words


def _is_speaker(line: str) -> bool:
    """Return whether a line is nothing but a name and a colon, as before what somebody says."""
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
    for found in reversed([*_denying_names().finditer(hidden)]):
        quotes.append(found["name"])
        hidden = f"{hidden[: found.start('name')]} \0{len(quotes) - 1}\0 {hidden[found.end('name') :]}"
    is_reported = False
    parts = _SENTENCE.split(hidden)
    ends = [found[0] for found in _SENTENCE.finditer(hidden)]
    for part, end, following in zip(parts, [*ends, ""], [*parts[1:], ""], strict=True):
        own, hands_over = _own_part(_without_dictation(_without_tail(part)))
        tokens = tuple(_TOKEN.findall(own.casefold()))
        is_reported = is_reported or _is_report(tokens)
        counts = not is_reported and not _is_blocked(own, tokens)
        raw = _SLOT.sub(lambda found: f'"{quotes[int(found[1])]}"', own)
        is_order = gives_orders(own.casefold()) and ("\n" in end or not _goes_on(following))
        yield SpokenSentence(tokens, tuple(quotes), raw, counts, is_order)
        is_reported = is_reported or hands_over


def _goes_on(following: str) -> bool:
    """Return whether the text after a mark such as `!` continues the sentence, as in `Click Send! is what they
    shouted`.
    """
    return following[:1].islower() and not gives_orders(_without_tail(following.casefold()))


def _speaks(tokens: Sequence[str], section: str, name: str) -> bool:
    """Return whether the tokens contain a phrase of this list of the word table, as whole words."""
    spoken = f" {' '.join(tokens)} "
    return any(f" {phrase} " in spoken for phrase in listed(section, name))


def _own_part(sentence: str) -> tuple[str, bool]:
    """Return the sentence up to a text that Wisp is to write or to rework.

    The second value is True if that text may continue after the sentence.
    """
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
    """Return whether the sentence reports or introduces what somebody else said."""
    if any(word in listed("reports", "words") for word in tokens):
        return True
    return any(one in listed("reports", "introducing") and after == ":" for one, after in itertools.pairwise(tokens))


def _without_tail(sentence: str) -> str:
    """Return the sentence without an end that only asks Wisp to say something, such as `tell me …`."""
    folded = sentence.casefold()
    found = [at for tail in table("words")["reports"]["tails"] if (at := folded.find(tail)) > 0]
    return sentence[: min(found)] if found else sentence


def _without_dictation(sentence: str) -> str:
    """Return the sentence without the words that Wisp is to write, because they name nothing.

    Example: `Write a mail that says "…"`.
    """
    tokens = _TOKEN.findall(sentence.casefold())
    first = next((token for token in tokens if token not in listed("openings", "words")), "")
    return _dictation().sub(" ", sentence) if first in listed("deeds", "compose") else sentence


@cache
def _dictation() -> re.Pattern[str]:
    words = "|".join(map(re.escape, listed("reports", "words")))
    return re.compile(rf"\b(?:(?:that|which|qui|que|die|das)\s+)?(?:{words})\s*[:,]?\s*\0\d+\0", re.IGNORECASE)


def _is_blocked(text: str, tokens: Iterable[str]) -> bool:
    words = tuple(tokens)
    if any(word in _blocks() or word.endswith("n't") for word in words):
        return True
    if _speaks(words, "conditions", "phrases") or _speaks(words, "conditions", "warnings"):
        return True
    polite = tuple(table("words")["openings"]["polite"])
    return text.rstrip().endswith("?") and not text.strip().casefold().startswith(polite)


def gives_orders(text: str) -> bool:
    """Return whether every clause of a text in lower case is an instruction, or the beginning or the end of one."""
    if _greets(text):
        return False
    verb, is_named = "", False
    for clause, mark in _clauses(text):
        words = _without_opener(clause)
        begins = next((at for at, word in enumerate(words[: _LONGEST_PLACE + 1]) if word in _orders()), -1)
        begins = -1 if words[begins + 1 : begins + 2] == ["of"] else begins
        if not words or (mark == "," and not verb and _is_place(words)):
            continue
        if begins == 0 or (begins > 0 and not verb and _is_place(words[:begins])) or _is_infinitive(words):
            verb, is_named = words[max(begins, 0)], False
            if _tells(words[begins + 1 :]):
                return False
        elif not verb or not _is_object(words, verb, is_named=is_named):
            return False
        if mark == ":":
            return verb in listed("deeds", "run")
        is_named = is_named or any(map(_names_something, words))
    return True


def _tells(words: Sequence[str]) -> bool:
    """Return whether the words after a verb tell a story: somebody acts in them, or more text follows what is named."""
    followers = frozenset().union(
        *(listed("fillers", name) for name in ("words", "ends", "articles")),
        *(listed("objects", name) for name in ("towards", "models", "sources", "vague")),
        *(listed("openings", name) for name in ("words", "polite", "harmless")),
    )
    is_more = any(
        _names_something(one) and not _names_something(after) and after not in followers
        for one, after in itertools.pairwise(words)
    )
    return is_more or bool(set(words) & (listed("orders", "finite") | listed("orders", "others")))


def _clauses(text: str) -> Iterator[tuple[list[str], str]]:
    """Yield each clause of a sentence: its words, and the mark or joining word that ends it ("" at the end)."""
    words: list[str] = []
    joins = listed("fillers", "joins") | {":", ";"}
    for word in _SEPARATOR.sub(lambda found: f" {found[1] or ';'} ", text.rstrip(" .!?")).split():
        if word in joins:
            yield words, word
            words = []
        elif bare := word.strip(".!?'\"[]"):
            words.append(bare)
    yield words, ""


@cache
def _orders() -> frozenset[str]:
    """Return the verbs by which a person tells Wisp to do something."""
    known = {word for name in ("deeds", "verbs") for words in table("words")[name].values() for word in words}
    return frozenset(known.union(*table("words")["orders"]["verbs"].values()))


def _without_opener(words: list[str]) -> list[str]:
    """Return the words of a clause without polite or harmless words at its beginning, such as "please"."""
    phrases = [phrase.split() for name in ("words", "polite", "harmless") for phrase in listed("openings", name)]
    while found := max((len(one) for one in phrases if words[: len(one)] == one), default=0):
        words = words[found:]
    return words


def _is_place(words: Sequence[str]) -> bool:
    """Return whether the clause only names a place, as in `in the form`."""
    longest = _LONGEST_PLACE if words[1:2] and words[1] in listed("fillers", "articles") else _LONGEST_PLACE - 1
    is_telling = set(words) & (listed("orders", "finite") | listed("orders", "subjects"))
    return words[0] in listed("openings", "places") and len(words) <= longest and not is_telling


def _is_infinitive(words: Sequence[str]) -> bool:
    """Return whether the clause ends with its verb, as in `den Entwurf löschen`."""
    is_verb = words[-1].endswith("n") and any(words[-1] in forms for forms in table("words")["verbs"].values())
    return is_verb and len(words) <= _LONGEST_NAMING and words[0] in listed("fillers", "articles")


def _is_object(words: Sequence[str], verb: str, *, is_named: bool) -> bool:
    """Return whether a clause continues with the object of `verb`, or says how long to wait.

    False for a clause that tells an outcome. `is_named`: the verb already has an object.
    """
    if words[0] in listed("orders", "until"):
        return True
    if set(words) & (listed("orders", "finite") | listed("orders", "subjects")):
        return False
    if any(map(_names_something, words)):
        return len(words) <= _LONGEST_NAMING
    is_list = verb in listed("deeds", "write") | listed("deeds", "search") | listed("deeds", "compose")
    return is_list and not is_named and len(words) <= _LONGEST_ITEM


def _names_something(word: str) -> bool:
    return word.startswith(("\0", "~/", "/", "device:/")) or "." in word


def begins_clause(one: SpokenSentence, at: int) -> bool:
    """Return whether a command can begin with this token."""
    before = one.tokens[:at]
    if not before or before[-1] == "," or before[-1] in listed("openings", "words"):
        return True
    polite = (tuple(phrase.split()) for phrase in table("words")["openings"]["polite"])
    return before in polite or (
        before[0] in listed("openings", "places") and ":" not in before and len(before) <= _FIRST_TOKENS
    )


def may_end(one: SpokenSentence, at: int) -> bool:
    """Return whether the name of a window, file or button can end before token `at` of the sentence."""
    if at >= len(one.tokens):
        return True
    token = one.tokens[at]
    return token in ".,!;?:" or token in listed("fillers", "ends")


@cache
def _denying_names() -> re.Pattern[str]:
    """Match a button whose name denies something, such as Don't Save, behind a verb of pressing: it denies no order.

    Only names that no language uses to deny the verb itself are listed, and nothing that they could deny may follow.
    """
    deeds, names = listed("deeds", "press"), listed("fillers", "denying_names")
    begins, joins = listed("openings", "words"), listed("fillers", "joins")
    follows = ("button", *listed("openings", "places"), *joins)
    parts = (deeds, names, listed("fillers", "words"), {*begins, *joins} - {","}, follows)
    verbs, called, between, before, after = ("|".join(map(re.escape, words)) for words in parts)
    start, end = rf"(?:^|[.,!;?:]|(?<!\w)(?:{before})(?!\w))\s*", rf"(?=\s*(?:$|[.!;?:]|(?:{after})(?!\w)))"
    shape = rf"{start}(?:{verbs})(?:\s+(?:{between}))*\s+(?P<name>{called})(?!\w){end}"
    return re.compile(shape, re.IGNORECASE | re.MULTILINE)


@cache
def _running() -> re.Pattern[str]:
    verbs = "|".join(map(re.escape, table("words")["deeds"]["run"]))
    fillers = "|".join(map(re.escape, table("words")["fillers"]["words"]))
    return re.compile(rf"(?<!\w)(?:{verbs})(?:\s+(?:{fillers}))*\s*(:?)\s*(?=\S)", re.IGNORECASE)


def _commands(text: str) -> frozenset[str]:
    """Return the commands that the person wrote: quoted after a verb such as "run", or the rest of the line after it.

    If a word around a command denies, supposes or reports, no command of the text counts.
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
    """Return the command after a verb such as "run" that begins a clause, "" if there is none, and the rest of the
    line.
    """
    before, rest = line[: found.start()], line[found.end() :]
    sentence, quoted = _SENTENCE.split(before)[-1], _QUOTED.match(rest)
    tokens = tuple(_TOKEN.findall(sentence.casefold()))
    behind, *following = _SENTENCE.split(rest[quoted.end() :]) if quoted else [""]
    spoken = f"{sentence}{found[0]} \0000\0 {_without_tail(behind)}"
    is_order = gives_orders(_QUOTED.sub(" \0001\0 ", spoken).casefold()) and not any(map(_goes_on, following[:1]))
    if not is_order or not begins_clause(SpokenSentence(tokens, (), before, counts=True), len(tokens)):
        return "", line
    if quoted:
        return next(group for group in quoted.groups() if group is not None).strip(), before + rest[quoted.end() :]
    return (rest.strip(), before) if found[1] else ("", line)
