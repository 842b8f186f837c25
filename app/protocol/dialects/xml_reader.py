"""Reads inline XML: prose with calls in it, reasoning, and results nobody asked the model for."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence

from app.protocol import payload
from app.protocol.call import Block
from app.protocol.dialects import opaque
from app.protocol.dialects.markdown import Markdown
from app.protocol.dialects.prose import Prose, Word, is_text_meant
from app.protocol.dialects.stream import State, Stream, StreamReader
from app.protocol.dialects.tags import NAME, Tag, TagForm
from app.protocol.dialects.xml_call import Call, child_of
from app.protocol.dialects.xml_children import Children
from app.protocol.limits import DEFAULT_LIMITS, Limits
from app.protocol.spec import Effect, Kind, Param, ToolSpec, unbound

_THINKING = ("think", "thinking")
_RESULTS = ("tool_results", "results")
_PEEK = 96
_SHORTEST_GUESS = 6
_NEAR = 0.8
"""How much a name must be like a tool's to be taken for it; `difflib` calls 1 equal."""

Meant = Callable[[str, Markdown], bool | None]


def read_xml(
    specs: Sequence[ToolSpec],
    limits: Limits = DEFAULT_LIMITS,
    *,
    has_read: bool = False,
    elsewhere: frozenset[str] = frozenset(),
) -> StreamReader:
    """A reader of one message for these tools; `has_read` as in `Dialect.reader`.

    With names of tools that are taught `elsewhere`, a call of one that is not ours is read as a call all the same, and
    so is one whose name is nearly that of a tool: whoever runs it answers that there is no such tool.
    """
    words: dict[str, Word] = {}
    prose_of: list[Prose] = []
    for spec in specs:
        for name in (spec.name, *spec.aliases):
            words[name] = _call_word(spec, name, words, prose_of)
    for name in _THINKING:
        words.setdefault(name, _plain_word(_think(prose_of)))
    for name in _RESULTS:
        words.setdefault(name, _plain_word(_invent(prose_of)))
    for name in sorted(elsewhere - words.keys()):
        words[name] = _unknown_word(name, words, prose_of)
    prose_of.append(Prose(words, _guess(words, prose_of) if elsewhere else None, has_read=has_read))
    return StreamReader(prose_of[0], limits)


def _call_word(spec: ToolSpec, name: str, words: Mapping[str, Word], prose_of: list[Prose]) -> Word:
    flags = frozenset(param.name for param in spec.params if param.kind is Kind.FLAG)

    def follow(tag: Tag, stream: Stream) -> State:
        call = Call(spec, tag)
        call.open(stream)
        if tag.closes_itself:
            call.close(tag.stop, stream)
            return prose_of[0]
        return Children(call, prose_of[0], prose_of[0].any_open)

    def cut(tag: Tag, stream: Stream) -> None:
        Call(spec, tag).cut(tag.stop, stream)

    takes_body = spec.body is not None
    meant = _body_is_meant(spec) if takes_body else _children_are_meant(spec, name, words)
    form = TagForm(lambda _attr: True, flags)
    return Word(form, follow, cut, meant, skips_space=not takes_body, is_speech=spec.is_speech)


def _unknown_word(name: str, words: Mapping[str, Word], prose_of: list[Prose]) -> Word:
    shape = ToolSpec(name, "", Effect.TALKS, unbound, body=Param("text", short=False), open=True)
    return _call_word(shape, name, words, prose_of)


def _guess(words: Mapping[str, Word], prose_of: list[Prose]) -> Callable[[str], Word | None]:
    known = [name for name, word in words.items() if word.form.is_call]
    plain = {_without_marks(name) for name in known}

    def guess(name: str) -> Word | None:
        is_near = len(name) >= _SHORTEST_GUESS and _without_marks(name) in plain
        if not is_near and "_" in name:
            is_near = bool(difflib.get_close_matches(name.lower(), known, 1, _NEAR))
        return _unknown_word(name, words, prose_of) if is_near else None

    return guess


def _without_marks(name: str) -> str:
    return re.sub(r"[_.:-]", "", name).lower()


def _plain_word(follow: Callable[[Tag, Stream], State]) -> Word:
    form = TagForm(lambda _attr: True, is_call=False)
    return Word(form, follow, lambda _tag, _stream: None, is_text_meant)


def _think(prose_of: list[Prose]) -> Callable[[Tag, Stream], State]:
    return lambda tag, _stream: prose_of[0] if tag.closes_itself else opaque.thinking(prose_of[0])


def _invent(prose_of: list[Prose]) -> Callable[[Tag, Stream], State]:
    return lambda tag, _stream: prose_of[0] if tag.closes_itself else opaque.invented(tag.name, prose_of[0])


def _body_is_meant(spec: ToolSpec) -> Meant:
    """A tool with a body: certain, unless a sentence seems to go on behind the tag."""

    def is_meant(text: str, line: Markdown) -> bool | None:
        certain = is_text_meant(text, line)
        if certain is not False:
            return certain
        rest = text.lstrip()
        if not rest:
            return None if len(text) < _PEEK else False
        if payload.CDATA_START.startswith(rest[: len(payload.CDATA_START)]):
            return True if len(rest) >= len(payload.CDATA_START) else None
        return _starts_child(spec, rest, others={})

    return is_meant


def _children_are_meant(spec: ToolSpec, tag_name: str, words: Mapping[str, Word]) -> Meant:
    """A tool without a body: certain, if a child or its own close tag follows."""
    close = f"</{tag_name}"

    def is_meant(text: str, _line: Markdown) -> bool | None:
        if not text:
            return None
        for start in (close, "<!--", payload.CDATA_START):
            if text.startswith(start):
                return True
            if start.startswith(text):
                return None
        return _starts_child(spec, text, others=words)

    return is_meant


def _starts_child(spec: ToolSpec, text: str, others: Mapping[str, Word]) -> bool | None:
    """Whether the text begins with a sub-tag of the tool: a declared one, or one that is no tool of ours."""
    name = NAME.match(text)
    if not name:
        return None if text == "<" else False
    if name.end() == len(text) and len(text) < _PEEK:
        return None
    return child_of(spec, name[1]) is not None or (bool(others) and name[1] not in others)


def finished(reader: StreamReader, text: str) -> list[Block]:
    """The complete calls of a whole message."""
    reader.feed(text)
    reader.flush()
    return reader.drain()
