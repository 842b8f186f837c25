"""Read an answer's prose and find the tags in it that are calls.

A protocol tag inside inline code or a fenced block is a quotation, not a call. (If a reply's only call is in a fence,
`foreign` reads the whole reply again.) The reader distinguishes a mention ("use <read_file> to look") from a call by
the text after the tag. While that is unclear, it holds the text back until a close tag, another tag, an empty line or a
few thousand characters decide. If the turn `has_read` text from other people, a call with prose before and after it on
its line is a quotation too, and so is a call in any text that `Quotations` finds quoted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, MutableMapping
from functools import cached_property

from app.base.values import dataclass
from app.protocol.dialects import signs
from app.protocol.dialects.markdown import InlineCode, Markdown, Mention, Quotations
from app.protocol.dialects.stream import ReaderState, UnreadText
from app.protocol.dialects.tags import AFTER_NAME, NAME, OpenTag, Tag, TagForm
from app.protocol.message import Invented, ReaderEvent, Text, Thought

COMMENT = "<!--"

_TAG = re.compile(r"<(?=[A-Za-z_!]|/t|/?\Z)")
_LONE_CLOSE = re.compile(r"</think(?:ing)?\s{0,16}>")
"""The end of a thought without a beginning, as some models begin inside it. What precedes it was shown already."""
_CLOSES = ("/think>", "/thinking>")
_PROSE_GOES_ON = frozenset(" \t,.;:!?)/*_")
"""Characters that continue a sentence after a mentioned tag; a payload rarely begins with one."""

_MOST_GUESSES = 64
_LONGEST_GUESS = 40
_UNFINISHED_NAME = re.compile(r"[A-Za-z_][\w.:-]{0,39}")

_FRAGMENT = 4
"""At the end of a stream, `<` plus this much of a tool's name counts as a call that was cut short."""


@dataclass(frozen=True, slots=True)
class ProseTag:
    """A tag name that has a meaning in prose: its form, the state after the tag, and how to report a cut inside it.

    `is_meant(text after the tag, place)` says whether the tag is certainly a call; None asks for more text.
    `skips_space` leaves out the space after the tag before the question. `is_speech` marks a call that only talks.
    """

    form: TagForm
    follow: Callable[[Tag, UnreadText], ReaderState]
    cut: Callable[[Tag, UnreadText], None]
    is_meant: Callable[[str, Markdown], bool | None]
    skips_space: bool = False
    is_speech: bool = False


def is_text_meant(text: str, _line: Markdown) -> bool | None:
    """Say whether a tag that holds plain text is meant as a call."""
    return text[0] not in _PROSE_GOES_ON if text else None


class Prose:
    """The state between tags. One object serves the whole message, because it follows the Markdown.

    `guess` may return a tag for an unknown name, such as a misspelt tool name.
    """

    def __init__(
        self,
        words: MutableMapping[str, ProseTag],
        guess: Callable[[str], ProseTag | None] | None = None,
        *,
        has_read: bool = False,
    ) -> None:
        self.words = words
        self._guess = guess
        self._guesses = 0
        self._has_read = has_read
        self._speech = frozenset(name for name, word in words.items() if word.is_speech)
        self.markdown = Markdown(Quotations() if has_read else None)
        self._follow = self.markdown.pass_over
        self._fragment_at: int | None = None
        self._prefixes = frozenset(name[:length] for name in (*words, *_CLOSES) for length in range(len(name) + 1))
        self._prefixes |= {"!", "!-"}
        self._first_words = sorted(words)

    @cached_property
    def any_open(self) -> re.Pattern[str]:
        """The pattern for the opening tag of any known tool. Compiled only when a call with a payload needs it."""
        return re.compile("<(?:" + "|".join(map(re.escape, self._first_words)) + r")(?=[\s/>])")

    def take(self, stream: UnreadText) -> ReaderState:
        self._fragment_at = None
        data, start = stream.data, stream.at
        at = seen = start
        while token := _TAG.search(data, at):
            stop = token.start()
            self.markdown.pass_over(data[seen:stop])
            seen = stop
            if behind := self._behind_lone_close(stream, stop):
                self._said(stream, start, stop)
                stream.at = start = seen = at = behind
                continue
            following = self._opening(stream, stop)
            if following:
                self._said(stream, start, stop)
                return following(stream)
            if self._may_open(data, stop) and not stream.ended:
                self._fragment_at = stream.position(stop) if self._begun(data[stop:]) else None
                return self._said(stream, start, stop)
            at = stop + 1
        self.markdown.pass_over(data[seen:])
        return self._said(stream, start, len(data))

    def take_plain(self, chunk: str, _stream: UnreadText) -> list[ReaderEvent] | None:
        if not chunk or ("<" in chunk and _TAG.search(chunk)):
            return None
        self._follow(chunk)
        return [Text(chunk)]

    def end(self, stream: UnreadText) -> ReaderState | None:
        rest = stream.data[stream.at :]
        meant = self._begun(rest)
        if meant:
            tag = Tag(meant[0], stream.position(), stop=stream.position(len(stream.data)), raw=rest)
            self.words[meant[0]].cut(tag, stream)
            return None
        stream.at = self._behind_lone_close(stream, stream.at) or stream.at
        self._said(stream, stream.at, len(stream.data))
        return None

    @property
    def opened_at(self) -> int | None:
        return self._fragment_at

    def tag_read(self, tag: Tag, stream: UnreadText) -> ReaderState:
        if tag.closes_itself or tag.attrs:
            return self.follow(tag, stream)
        return Mention(self, tag)

    def follow(self, tag: Tag, stream: UnreadText) -> ReaderState:
        """Enter the state after a tag that is certainly a call."""
        word = self.words[tag.name]
        if self._has_read and word.form.is_call and not word.is_speech and not stream.is_holding:
            stream.is_cited = self.markdown.is_cited
            stream.is_doubtful = stream.is_cited or self.markdown.is_behind_prose
        self.markdown.begin_afresh()
        return word.follow(tag, stream)

    def tag_refused(self, name: str, stream: UnreadText) -> ReaderState:
        self.say(f"<{name}", stream)
        return self

    def tag_cut(self, tag: Tag, stream: UnreadText) -> ReaderState | None:
        self.words[tag.name].cut(tag, stream)
        return None

    def tag_fenced(self, tag: Tag, stream: UnreadText) -> ReaderState:
        self.words[tag.name].cut(tag, stream)
        self.markdown.begin_afresh()
        return self

    def is_meant(self, tag: Tag, text: str) -> bool | None:
        return self.words[tag.name].is_meant(text, self.markdown)

    def is_named(self, tag: Tag, text: str) -> bool:
        """Say whether a tag that is no call stands alone in quotation marks: `text` is what follows it."""
        return not self.is_call(tag) and signs.is_enclosed(self.markdown.last, text[:1])

    def skips_space(self, tag: Tag) -> bool:
        return self.words[tag.name].skips_space

    def is_call(self, tag: Tag) -> bool:
        return self.words[tag.name].form.is_call

    def say(self, text: str, stream: UnreadText) -> None:
        """Report a text as prose without looking for tags in it."""
        self.markdown.pass_quoted(text)
        if text:
            self._settle(text, stream)
            stream.emit(Text(text))

    def _settle(self, text: str, stream: UnreadText) -> None:
        """If closed calls wait for the rest of their line, decide now: words after them make them quotations."""
        rest = text.lstrip(" \t\r") if stream.is_holding else ""
        if rest:
            stream.settle(is_quoted=rest[0] != "\n", speech=self._speech)

    def _begun(self, rest: str) -> list[str]:
        """The calls whose tag may have begun at the end."""
        if len(rest) < _FRAGMENT or rest[0] != "<" or self.markdown.in_fence or self.markdown.open_ticks:
            return []
        return sorted(name for name, word in self.words.items() if name.startswith(rest[1:]) and word.form.is_call)

    def _said(self, stream: UnreadText, start: int, stop: int) -> ReaderState:
        if stop > start:
            text = stream.data[start:stop]
            if stream.is_holding:
                self._settle(text, stream)
            stream.events.append(Text(text))
            stream.at = stop
        return self

    def _opening(self, stream: UnreadText, at: int) -> Callable[[UnreadText], ReaderState] | None:
        """What reads on from the `<` at this place; None if the `<` is only text."""
        if stream.data.startswith(COMMENT, at):
            is_code = self.markdown.in_fence or self.markdown.open_ticks
            return None if is_code else lambda _stream: comment(self)
        name = NAME.match(stream.data, at)
        if name is None or name.end() == len(stream.data) or stream.data[name.end()] not in AFTER_NAME:
            return None
        if (name[1] not in self.words and self._guess is None) or self.markdown.in_fence:
            return None
        return self._open if name[1] in self.words or self._is_guessed(name[1]) else None

    def _behind_lone_close(self, stream: UnreadText, at: int) -> int:
        """The end of a `</think>` that closes nothing and is not quoted; 0 if none is at this place."""
        close = _LONE_CLOSE.match(stream.data, at)
        if close is None or (close.end() == len(stream.data) and not stream.ended):
            return 0
        is_named = signs.is_enclosed(self.markdown.last, stream.data[close.end() : close.end() + 1])
        return 0 if is_named or self.markdown.in_fence or self.markdown.open_ticks else close.end()

    def _is_guessed(self, name: str) -> bool:
        """Say whether the name resembles a tool's name; if so, it counts as known from then on.

        Only a limited number of names is tried.
        """
        if self._guess is None or self._guesses == _MOST_GUESSES or len(name) > _LONGEST_GUESS:
            return False
        word = self._guess(name)
        if word is not None:
            self.words[name] = word
        elif "_" in name:
            self._guesses += 1
        return word is not None

    def _may_open(self, data: str, at: int) -> bool:
        rest = data[at + 1 :]
        if not rest:
            return True
        may = rest in self._prefixes or (self._guess is not None and _UNFINISHED_NAME.fullmatch(rest) is not None)
        return may and not self.markdown.in_fence

    def _open(self, stream: UnreadText) -> ReaderState:
        if self.markdown.open_ticks:
            return InlineCode(self, self.markdown.open_ticks)
        name = NAME.match(stream.data, stream.at)
        assert name is not None
        return OpenTag(name[1], self.words[name[1]].form, self, stream)


_UNFINISHED = re.compile(r"`?</?\w{0,24}\s{0,16}\Z|`\Z|--?\Z")


class Opaque:
    """Reads text up to a match of `tag` that `ends` it. `piece` is called with each part of the text, `done` with the
    last tag ("" at the end of the message).
    """

    def __init__(
        self,
        tag: re.Pattern[str],
        following: ReaderState,
        piece: Callable[[str, UnreadText], None],
        done: Callable[[str, UnreadText], None],
        ends: Callable[[str], bool] = lambda _tag: True,
    ) -> None:
        self._tag = tag
        self._following = following
        self._piece = piece
        self._done = done
        self._ends = ends

    def take(self, stream: UnreadText) -> ReaderState:
        while found := self._tag.search(stream.data, stream.at):
            if self._ends(found[0]):
                self._pass(stream, found.start())
                stream.at = found.end()
                self._done(found[0], stream)
                return self._following
            self._pass(stream, found.end())
        unfinished = _UNFINISHED.search(stream.data, max(stream.at, len(stream.data) - 48))
        self._pass(stream, unfinished.start() if unfinished else len(stream.data))
        return self

    def end(self, stream: UnreadText) -> ReaderState | None:
        self._pass(stream, len(stream.data))
        self._done("", stream)
        return None

    @property
    def opened_at(self) -> int | None:
        return None

    def _pass(self, stream: UnreadText, stop: int) -> None:
        if stop > stream.at:
            self._piece(stream.data[stream.at : stop], stream)
        stream.at = stop


_THINK = re.compile(r"(?P<tick>`?)<(?P<open>think(?:ing)?)\s{0,16}>|</(?P<close>think(?:ing)?)\s{0,16}>")


def thinking(name: str, following: ReaderState) -> ReaderState:
    """Return a state that reads `<think>` or `<thinking>`; blank thoughts are dropped.

    A thought may hold thoughts, each with its own close tag. It ends with the close tag that is left for it: one of its
    own name, or one of the other name that no thought in it needs. A tag behind a backtick is only mentioned.
    """
    open_thoughts = Counter([name])
    blank: list[str] | None = []

    def ends(tag: str) -> bool:
        found = _THINK.match(tag)
        assert found is not None
        if closed := found["close"]:
            open_thoughts[closed if open_thoughts[closed] else name] -= 1
        elif not found["tick"]:
            open_thoughts[found["open"]] += 1
        return not open_thoughts[name]

    def think(text: str, stream: UnreadText) -> None:
        nonlocal blank
        if blank is not None:
            blank.append(text)
            if text.isspace():
                return
            text = "".join(blank)
            blank = None
        stream.emit(Thought(text))

    def done(_close: str, stream: UnreadText) -> None:
        if blank is None:
            stream.emit(Thought("", last=True))

    return Opaque(_THINK, following, think, done, ends)


def invented(name: str, following: ReaderState) -> ReaderState:
    """Return a state that reads results which the model wrote itself, and reports them as one piece if any."""
    pieces: list[str] = []

    def done(_close: str, stream: UnreadText) -> None:
        text = "".join(pieces)
        if text.strip():
            stream.emit(Invented(text))

    return Opaque(re.compile(rf"</{name}\s{{0,16}}>"), following, lambda text, _stream: pieces.append(text), done)


def comment(following: ReaderState) -> ReaderState:
    """Return a state that reads `<!-- … -->`, shows it as written, and runs nothing in it."""

    def say(text: str, stream: UnreadText) -> None:
        if text:
            stream.emit(Text(text))

    return Opaque(re.compile("-->"), following, say, say)
