"""Find where in an answer's Markdown a tag is: in prose, in code or in a quotation."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Protocol

from app.protocol.dialects import signs
from app.protocol.dialects.stream import ReaderState, UnreadText
from app.protocol.dialects.tags import Tag

_LINE = 4096
"""How many characters of a line the reader looks at."""

_BLOCK_QUOTE = 0
_CODE_INDENT = " " * 4  # https://spec.commonmark.org/0.31.2/#indented-code-blocks
# https://spec.commonmark.org/0.31.2/#lists
_CONTAINER = re.compile(r" {0,3}(?:(?P<quote>>) ?|(?P<mark>[-+*]|\d{1,9}[.)])(?: (?= {4})| {1,4}(?=[^ ])| *$))")
# https://spec.commonmark.org/0.31.2/#thematic-breaks
_BREAK_OR_HEADING = re.compile(r" {0,3}(?:([-*_])(?: *\1){2,} *$|#{1,6}(?: |$))")
_OPENS_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")  # https://spec.commonmark.org/0.31.2/#fenced-code-blocks
_CLOSES_FENCE = re.compile(r" {0,3}(`{3,}|~{3,}) *$")
_PLAIN_LINES = re.compile(
    rf"""(?:(?:[^\W\d_](?:[^\n\t`<\\{signs.OTHER_MARKS}]++|(?<=[^\W_])'|`[^`\n\t]++`(?!`)|<(?![!/A-Za-z]))*+"""
    r"""(?:(?<=\w`)|(?<![\s`'‘‚’(\[{])))?\n)++"""
)
"""Lines that cannot change the state: empty ones, and plain sentences whose quotation marks are all closed."""


class Quotations:
    """Follows an answer line by line and knows which parts of it are quotations, as CommonMark reads them.

    These count as quoted: text in a fence, in indented code, in a block quote (and a line that continues its
    paragraph), in inline code that an earlier line of the paragraph opened, in quotation marks of any script, in an
    open element, after a line that ends with an opening sign or has only signs, and after a line number. In doubt the
    text counts as quoted: that only costs the model one more pass.
    """

    def __init__(self) -> None:
        self._line: list[str] = []
        self._size = 0
        self._inside: tuple[int, ...] = ()
        self._fence = ""
        self._is_paragraph = False
        self._ticks = 0
        self._marks: tuple[str, ...] = ()
        self._elements: tuple[str, ...] = ()
        self._is_marked = False

    def follow(self, text: str) -> None:
        """Read the next text, which may be cut anywhere."""
        at = 0
        while True:
            if not self._size:
                at = self._pass_plain_lines(text, at)
            newline = text.find("\n", at)
            if newline < 0:
                self._add(text[at:])
                return
            self._add(text[at:newline])
            self._end_line("".join(self._line).rstrip())
            self._line, self._size = [], 0
            at = newline + 1

    @property
    def is_quoted(self) -> bool:
        """True if a call that begins here is quoted."""
        inside, rest, goes_on = self._place("".join(self._line) + signs.CALL)
        if self._is_marked or (self._fence and goes_on) or _BLOCK_QUOTE in inside or rest.startswith(_CODE_INDENT):
            return True
        return any(self._opened_by(rest, goes_on=goes_on)) or signs.is_copied(rest)

    def _pass_plain_lines(self, text: str, at: int) -> int:
        """Skip whole lines of plain prose at once. Return the index after them."""
        is_open = self._inside or self._fence or self._ticks or self._marks or self._elements
        plain = None if is_open else _PLAIN_LINES.match(text, at)
        if plain is None or (len(plain[0]) > _LINE and max(map(len, plain[0].split("\n"))) > _LINE):
            return at
        self._is_paragraph = not plain[0].endswith("\n\n") and plain[0] != "\n"
        return plain.end()

    def _add(self, piece: str) -> None:
        if piece and self._size < _LINE:
            self._line.append(piece[: _LINE - self._size])
            self._size += len(self._line[-1])

    def _end_line(self, line: str) -> None:
        inside, rest, goes_on = self._place(line)
        if self._fence and goes_on:
            closes = _CLOSES_FENCE.match(rest)
            self._fence = "" if closes and closes[1].startswith(self._fence) else self._fence
            return
        opens = _OPENS_FENCE.match(rest)
        self._inside, self._fence = inside, opens[1] if opens else ""
        is_code = not goes_on and rest.startswith(_CODE_INDENT)
        is_break = _BREAK_OR_HEADING.match(rest)
        self._is_marked = self._is_marked or (
            not (is_code or opens or is_break) and signs.opens_quote(rest, goes_on=goes_on)
        )
        self._is_paragraph = not (is_code or opens or not rest.strip() or is_break)
        ticks, marks, elements = self._opened_by(rest, goes_on=goes_on)
        if not (is_code or opens):
            self._marks, self._elements = marks, elements
        self._ticks = ticks if self._is_paragraph else 0
        if not self._is_paragraph:
            self._marks = signs.lasting(self._marks)

    def _place(self, line: str) -> tuple[tuple[int, ...], str, bool]:
        """Return the blocks around a line, the text inside them, and whether the paragraph or fence continues.

        A list item is stored as the number of columns by which its text is indented.
        """
        line, at, kept = line.expandtabs(4), 0, 0
        for block in self._inside:
            after = _after(line, at, block)
            if after is None:
                break
            at, kept = after, kept + 1
        is_whole = kept == len(self._inside)
        if self._fence and is_whole:
            return self._inside, line[at:], True
        at, opened = _opened(line, at, in_paragraph=is_whole and self._is_paragraph)
        rest = line[at:]
        goes_on = self._is_paragraph and not opened and bool(rest.strip())
        if goes_on and not is_whole and not _OPENS_FENCE.match(rest) and not _BREAK_OR_HEADING.match(rest):
            return self._inside, rest, True
        return (*self._inside[:kept], *opened), rest, goes_on and is_whole

    def _opened_by(self, rest: str, *, goes_on: bool) -> tuple[int, tuple[str, ...], tuple[str, ...]]:
        """Inline code, quotation marks and elements that are still open after the text."""
        ticks, marks = (self._ticks, self._marks) if goes_on else (0, signs.lasting(self._marks))
        elements = self._elements
        for number, part in enumerate(re.split("(`+)", rest)):
            if number % 2:
                ticks = len(part) if not ticks else 0 if ticks == len(part) else ticks
            elif not ticks:
                marks, elements = signs.open_marks(marks, part), signs.open_elements(elements, part)
        return ticks, marks, elements


def _after(line: str, at: int, block: int) -> int | None:
    """Where the text of an open block continues in a line; None if the line is not in the block."""
    if block != _BLOCK_QUOTE:
        return at + block if line.startswith(" " * block, at) else None if line[at:].strip() else at
    mark = _CONTAINER.match(line, at)
    return mark.end() if mark and mark["quote"] else None


def _opened(line: str, at: int, *, in_paragraph: bool) -> tuple[int, list[int]]:
    """The blocks that begin in a line, and the index at which their text begins."""
    opened: list[int] = []
    while (begins := _CONTAINER.match(line, at)) and not _BREAK_OR_HEADING.match(line[at:]):
        interrupts = begins["quote"] or (begins["mark"] in ("-", "+", "*", "1.", "1)") and begins.end() < len(line))
        if in_paragraph and not opened and not interrupts:
            break
        is_empty = not begins["quote"] and begins.end() == len(line)
        width = begins.end("mark") + 1 - at if is_empty else begins.end() - at
        opened.append(_BLOCK_QUOTE if begins["quote"] else width)
        at = begins.end()
    return at, opened


_HEAD = 24
"""How many characters of a line are kept: enough for its indentation and list mark."""

_INDENT = re.compile(r"[ \t]*(?:(?:[-*+>]|\d{1,3}[.)])[ \t]+)*[ \t]*")
_FENCE = 3
_FENCES = ("```", "~~~")
_FENCE_RUN = re.compile("|".join(_FENCES))
_RUN = re.compile("``{0,31}|~~{0,31}")  # https://spec.commonmark.org/0.31.2/#code-spans
_LONGEST_RUN = 32
_REST_OF_LINE = re.compile(r"[ \t]{0,64}(\r?\n|\r?\Z)?")
_NO_CODE = -1

_MANY = 512
"""The most pieces of text that wait before the reader follows them."""


class Markdown:
    """Follows the lines of prose and knows which fence or inline code is open. Inline code ends with its line.

    A line whose inline code is not closed has none. With `quotations`, it also follows quotations over several lines.
    It reads the text only when a tag asks about its place.
    """

    def __init__(self, quotations: Quotations | None = None) -> None:
        self._head = self._last = ""
        self._ticks = 0
        self._fence = ""
        self._fence_is_new = False
        self._is_behind_prose = False
        self._quotations = quotations
        self._waiting: list[str] = []

    @property
    def in_fence(self) -> bool:
        self._catch_up()
        return bool(self._fence)

    @property
    def open_ticks(self) -> int:
        """The length of the backtick run that may have opened inline code; 0 if there is none."""
        self._catch_up()
        return max(self._ticks, 0)

    @property
    def last(self) -> str:
        """The character before this place; "" at the start."""
        self._catch_up()
        return self._last

    @property
    def is_bare(self) -> bool:
        """True if the line so far holds only space. A call that ended on this line does not count."""
        self._catch_up()
        return self._is_blank

    @property
    def _is_blank(self) -> bool:
        return not self._head or self._head.isspace()

    @property
    def is_behind_prose(self) -> bool:
        """True if words precede this place on its line. A list mark is no word."""
        self._catch_up()
        return self._is_behind_prose or not _INDENT.fullmatch(self._head)

    @property
    def is_cited(self) -> bool:
        """True if the text here is quoted, regardless of the rest of its line."""
        self._catch_up()
        return self._quotations is not None and self._quotations.is_quoted

    def pass_over(self, text: str) -> None:
        """Note what a piece of prose opens or closes, such as a fence. Pieces may end anywhere, also within a line."""
        self._waiting.append(text)
        if len(self._waiting) > _MANY:
            self._catch_up(before_tag=False)

    def pass_quoted(self, text: str) -> None:
        """Pass a tag and the text after it without counting backticks."""
        self._catch_up()
        self._last = text[-1:] or self._last
        if self._quotations is not None:
            self._quotations.follow(text)
        self._pass(text, 0, len(text))

    def _catch_up(self, *, before_tag: bool = True) -> None:
        """Follow the waiting text. Unless a tag comes next, a backtick run at its end may still grow, so keep it."""
        if not self._waiting:
            return
        text = "".join(self._waiting)
        self._waiting.clear()
        stop = len(text)
        if before_tag:
            self._last = text[-1:] or self._last
            self._follow(text + "<", stop)
        else:
            stop = self._follow(text, text.rfind("\n", max(stop - _LINE, 0)) + 1 or stop)
            self._waiting.append(text[stop:])
        if self._quotations is not None:
            self._quotations.follow(text[:stop])

    def _follow(self, text: str, stop: int) -> int:
        """Read the text up to `stop`. Returns the index up to which the Markdown is certain."""
        at = 0
        has_fence = any(run in text for run in _FENCES)
        while at < stop:
            fence = _FENCE_RUN.search(text, at, stop) if has_fence else None
            newline = -1 if self._fence_is_new else text.rfind("\n", at, fence.start() if fence else stop)
            if newline >= 0:
                self._pass(text, at, newline + 1)
                at = newline + 1
            end = text.find("\n", at, stop) + 1 or stop
            while run := _RUN.search(text, at, end):
                self._pass(text, at, run.start())
                at = run.start()
                if not self._pass_run(text, run):
                    return at
                at = run.end()
            self._pass(text, at, end)
            at = end
        return stop

    def _pass(self, text: str, start: int, stop: int) -> None:
        """Pass text in which backticks do not count."""
        newline = text.rfind("\n", start, stop)
        if newline < 0:
            if len(self._head) < _HEAD:
                self._head += text[start : min(stop, start + _HEAD - len(self._head))]
        else:
            self._head = text[newline + 1 : min(stop, newline + 1 + _HEAD)]
            self._ticks = 0
            self._fence_is_new = False
            self._is_behind_prose = False

    def _pass_run(self, text: str, found: re.Match[str]) -> bool:
        """Return whether a run of backticks or tildes can be judged.

        The run must have ended, and a closing fence must be alone on the rest of its line.
        """
        run, stop = found[0], found.end()
        rest = _REST_OF_LINE.match(text, stop) if self._fence else None
        if stop == len(text) and len(run) < _LONGEST_RUN:
            return False
        if rest is not None and rest.end() == len(text) and not text.endswith("\n"):
            return False
        if self._fence_is_new and run[0] == "`":
            self._fence, self._fence_is_new = "", False
            self._ticks = 0 if len(run) == self._ticks else self._ticks
        elif self._fence:
            if run.startswith(self._fence) and rest is not None and rest[1] is not None and self._is_blank:
                self._fence = ""
        elif len(run) >= _FENCE and self._ticks == 0 and _INDENT.fullmatch(self._head):
            self._fence, self._fence_is_new = run, True
            self._ticks = len(run) if run[0] == "`" else 0
        elif run[0] == "`" and self._ticks != _NO_CODE:
            self._ticks = len(run) if self._ticks == 0 else 0 if self._ticks == len(run) else self._ticks
        self._head += run[: _HEAD - len(self._head)]
        return True

    def no_code_here(self) -> None:
        """Record that the open backtick run on this line was no inline code."""
        self._catch_up()
        self._ticks = _NO_CODE

    def begin_afresh(self) -> None:
        """Treat the text after a closing tag as the start of a new line."""
        self._catch_up()
        if self._quotations is not None:
            self._quotations.follow(signs.CALL)
        self._is_behind_prose = self.is_behind_prose
        self._head = self._last = ""
        self._ticks = 0


_LOOKAHEAD = 8192
"""The reader looks this many characters ahead for the text that decides."""

_LONGEST_DECIDER = 128
_PEEK = 96
_SPACE = re.compile(r"\s+")
_UNDECIDED = re.compile(r"(?:\n[ \t\r]{0,64}|<[^<>]{0,80})\Z")


class ProseState(ReaderState, Protocol):
    """What the look-ahead states need from the prose state around them."""

    markdown: Markdown

    @property
    def any_open(self) -> re.Pattern[str]: ...

    def say(self, text: str, stream: UnreadText) -> None: ...

    def follow(self, tag: Tag, stream: UnreadText) -> ReaderState: ...

    def is_meant(self, tag: Tag, text: str) -> bool | None: ...

    def is_named(self, tag: Tag, text: str) -> bool: ...

    def skips_space(self, tag: Tag) -> bool: ...

    def is_call(self, tag: Tag) -> bool: ...


class _Held:
    """Text that was read ahead, kept as a list of pieces."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._size = 0

    def take(self, stream: UnreadText, stop: int) -> None:
        self._pieces.append(stream.data[stream.at : stop])
        self._size += stop - stream.at
        stream.at = stop

    def find(self, pattern: re.Pattern[str], stream: UnreadText) -> re.Match[str] | None:
        """The first deciding match that begins within the look-ahead."""
        found = pattern.search(stream.data, stream.at)
        return found if found and self._size + found.start() - stream.at < _LOOKAHEAD else None

    def is_enough(self, stream: UnreadText) -> bool:
        """True if the text is long enough that a deciding match would have been found."""
        return self._size + len(stream.data) - stream.at >= _LOOKAHEAD + _LONGEST_DECIDER

    @property
    def text(self) -> str:
        return "".join(self._pieces)


class InlineCode:
    """Holds the text from a tag after a backtick, until the rest of its line shows whether it is inline code."""

    def __init__(self, prose: ProseState, ticks: int) -> None:
        self._prose = prose
        self._held = _Held()
        self._decides = re.compile(rf"\n|(?<!`)`{{{ticks}}}(?!`)")

    def take(self, stream: UnreadText) -> ReaderState:
        data = stream.data
        found = self._held.find(self._decides, stream)
        if found and (found[0] == "\n" or found.end() < len(data) or stream.ended):
            return self._decided(stream, found)
        if self._held.is_enough(stream):
            return self._no_code(stream)
        self._held.take(stream, max(len(data.rstrip("`")), stream.at))
        return self

    def end(self, stream: UnreadText) -> ReaderState | None:
        found = self._held.find(self._decides, stream)
        return self._decided(stream, found) if found else self._no_code(stream)

    @property
    def opened_at(self) -> int | None:
        return None

    def _decided(self, stream: UnreadText, found: re.Match[str]) -> ReaderState:
        if found[0] == "\n":
            return self._no_code(stream)
        self._held.take(stream, found.start())
        self._prose.say(self._held.text, stream)
        return self._prose

    def _no_code(self, stream: UnreadText) -> ReaderState:
        self._prose.markdown.no_code_here()
        stream.replay(self._held.text)
        return self._prose


@lru_cache(maxsize=256)
def _deciders(name: str, any_open: re.Pattern[str]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """The patterns that decide about a tag of that name, before and after a doubt within a line."""
    stops = rf"(?P<close></{re.escape(name)}\s{{0,16}}>)|{any_open.pattern}"
    return re.compile(rf"{stops}|\n[ \t]{{0,64}}\r?\n"), re.compile(stops)


class Mention:
    """The state after an opening tag without attributes. It decides if the tag is a call or only mentioned."""

    def __init__(self, prose: ProseState, tag: Tag) -> None:
        self._prose = prose
        self._tag = tag
        self._held = _Held()
        self._is_doubtful = False
        self._is_bare = prose.markdown.is_bare
        self._decides = _deciders(tag.name, prose.any_open)[self._is_bare]

    def take(self, stream: UnreadText) -> ReaderState:
        if not self._is_doubtful:
            if self._prose.is_named(self._tag, stream.data[stream.at : stream.at + 1]):
                return self._text(stream)
            meant = self._judge(stream)
            if meant:
                return self._call(stream)
            if meant is None:
                return self
            self._is_doubtful = True
        found = self._held.find(self._decides, stream)
        if found:
            return self._call(stream) if found["close"] else self._text(stream)
        if self._held.is_enough(stream):
            return self._call(stream) if self._is_bare else self._text(stream)
        undecided = _UNDECIDED.search(stream.data, stream.at)
        self._held.take(stream, undecided.start() if undecided else len(stream.data))
        return self

    def end(self, stream: UnreadText) -> ReaderState | None:
        return self._text(stream) if self._is_doubtful else self._call(stream)

    @property
    def opened_at(self) -> int | None:
        return self._tag.start if not self._is_doubtful and self._prose.is_call(self._tag) else None

    def _judge(self, stream: UnreadText) -> bool | None:
        if self._prose.skips_space(self._tag):
            space = _SPACE.match(stream.data, stream.at)
            if space:
                self._held.take(stream, space.end())
        return self._prose.is_meant(self._tag, stream.data[stream.at : stream.at + _PEEK])

    def _call(self, stream: UnreadText) -> ReaderState:
        stream.replay(self._held.text)
        return self._prose.follow(self._tag, stream)

    def _text(self, stream: UnreadText) -> ReaderState:
        self._prose.say(self._tag.raw, stream)
        stream.replay(self._held.text)
        return self._prose
