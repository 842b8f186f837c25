"""The default dialect: the model writes XML calls between its sentences, and each runs when it closes."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Mapping, Sequence

from app.protocol import docs, payload
from app.protocol.call import Block, JsonValue, ToolCall
from app.protocol.dialects import tags
from app.protocol.dialects.api import Answer, DialectReader, Pacing, TextDialect
from app.protocol.dialects.markdown import Markdown
from app.protocol.dialects.prose import Prose, ProseTag, invented, is_text_meant, thinking
from app.protocol.dialects.stream import ReaderState, StreamReader, UnreadText
from app.protocol.dialects.tags import ELSEWHERE, NAME, Tag, TagForm
from app.protocol.dialects.xml_children import Children
from app.protocol.dialects.xml_payload import Call, child_of
from app.protocol.message import Author, ImagePart, Message, Part, Role, TextPart
from app.protocol.payload import DEFAULT_LIMITS, Limits, encode
from app.protocol.spec import PROGRESS, Close, Effect, Param, ToolSpec, ValueType, unbound

_LONG = 120
_TEXT = "text"
_CDATA_CLOSED = re.compile(rf"{re.escape(payload.CDATA_END)}\s*</")


def write_xml(calls: Sequence[ToolCall], specs: Sequence[ToolSpec]) -> str:
    """One call per line. A call of a tool without a spec is written with attributes only."""
    known = {spec.name: spec for spec in specs}
    return "\n".join(_call(call, known.get(call.name)) for call in calls)


def _call(call: ToolCall, spec: ToolSpec | None) -> str:
    attrs: list[str] = []
    children: list[str] = []
    body = ""
    progress = {PROGRESS.name: call.progress} if call.progress else {}
    for name, value in {**call.arguments, **progress}.items():
        param = (spec.param(name) if spec else None) or (PROGRESS if name in progress else None)
        written = _inside(param, value, spec) if param and spec else None
        if written is None:
            attrs.append(_attribute(name, value))
        elif spec and param is spec.body:
            body = written
        else:
            children.append(written)
    start = " ".join([f"<{call.name}", *attrs])
    inside = "".join(children) + body
    return f"{start}>{inside}</{call.name}>" if inside else f"{start}/>"


def _attribute(name: str, value: JsonValue) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f'{name}="{payload.encode(text)}"'


def _inside(param: Param, value: JsonValue, spec: ToolSpec) -> str | None:
    """The value as body or child text; None if only an attribute can hold it."""
    if param is spec.body and not param.many and not param.attrs:
        return _payload(value, spec.name, param) if isinstance(value, str) else None
    if not param.many:
        return _child(param, value) if param.attrs or _is_long(param, value, spec) else None
    items = [_child(param, item) for item in value] if isinstance(value, (list, tuple)) else []
    texts = [item for item in items if item is not None]
    return "".join(texts) if texts and len(texts) == len(items) else None


def _is_long(param: Param, value: JsonValue, spec: ToolSpec) -> bool:
    return param in spec.children or (isinstance(value, str) and (len(value) > _LONG or "\n" in value))


def _child(param: Param, value: JsonValue) -> str | None:
    attrs = ""
    if param.attrs:
        if not isinstance(value, Mapping) or value.get(_TEXT) == "":
            return None
        attrs = "".join(f" {_attribute(name, item)}" for name, item in value.items() if name != _TEXT)
        value = value.get(_TEXT)
        if value is None:
            return f"<{param.name}{attrs}/>"
    elif param.kind is not ValueType.TEXT:
        value = json.dumps(value, ensure_ascii=False)
    text = _payload(value, param.name, param) if isinstance(value, str) else None
    return None if text is None else f"<{param.name}{attrs}>{text}</{param.name}>"


def _payload(text: str, close_name: str, param: Param) -> str | None:
    """The text written as a payload that is read back unchanged; None if it cannot be written so."""
    # Not where the last close tag counts, because that may stand in a later payload, while CDATA has an end of its own.
    is_plain = param.close is Close.FIRST and text[:1].isalnum() and not {"<", "&"} & set(text)
    if is_plain and text == text.strip():
        return text
    if not text or f"</{close_name}" in text or _CDATA_CLOSED.search(text):
        return None
    if param.keeps_final_newline or param.is_typed:
        return f"{payload.CDATA_START}\n{text}{payload.CDATA_END}"
    return None if text.endswith("\r") else f"{payload.CDATA_START}\n{text}\n{payload.CDATA_END}"


_THINKING = ("think", "thinking")
_RESULTS = ("tool_results", "results")
_PEEK = 96
_SHORTEST_GUESS = 6
_NEAR = 0.8
"""How similar a name must be to a tool's name to count as it, as a `difflib` ratio (1 means equal)."""

Meant = Callable[[str, Markdown], bool | None]


def read_xml(
    specs: Sequence[ToolSpec],
    limits: Limits = DEFAULT_LIMITS,
    *,
    has_read: bool = False,
    elsewhere: frozenset[str] = frozenset(),
) -> StreamReader:
    """Return a reader of one message for these tools; `has_read` is as in `Dialect.reader`.

    `elsewhere` names tools of other programs. If it is given, a tag with one of these names, or with a name close to a
    tool's name, is also read as a call, so that the executor can answer that no such tool exists.
    """
    words: dict[str, ProseTag] = {}
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


def _call_word(spec: ToolSpec, name: str, words: Mapping[str, ProseTag], prose_of: list[Prose]) -> ProseTag:
    flags = frozenset(param.name for param in spec.params if param.kind is ValueType.FLAG)

    def follow(tag: Tag, stream: UnreadText) -> ReaderState:
        call = Call(spec, tag)
        call.open(stream)
        if tag.closes_itself:
            call.close(tag.stop, stream)
            return prose_of[0]
        return Children(call, prose_of[0], prose_of[0].any_open)

    def cut(tag: Tag, stream: UnreadText) -> None:
        Call(spec, tag).cut(tag.stop, stream)

    takes_body = spec.body is not None
    meant = _body_is_meant(spec) if takes_body else _children_are_meant(spec, name, words)
    form = TagForm(lambda _attr: True, flags)
    return ProseTag(form, follow, cut, meant, skips_space=not takes_body, is_speech=spec.is_speech)


def _unknown_word(name: str, words: Mapping[str, ProseTag], prose_of: list[Prose]) -> ProseTag:
    shape = ToolSpec(name, "", Effect.TALKS, unbound, body=Param("text", short=False), open=True)
    return _call_word(shape, name, words, prose_of)


def _guess(words: Mapping[str, ProseTag], prose_of: list[Prose]) -> Callable[[str], ProseTag | None]:
    known = [name for name, word in words.items() if word.form.is_call]
    plain = {_without_marks(name) for name in known}

    def guess(name: str) -> ProseTag | None:
        is_near = len(name) >= _SHORTEST_GUESS and _without_marks(name) in plain
        if not is_near and "_" in name:
            is_near = bool(difflib.get_close_matches(name.lower(), known, 1, _NEAR))
        return _unknown_word(name, words, prose_of) if is_near else None

    return guess


def _without_marks(name: str) -> str:
    return re.sub(r"[_.:-]", "", name).lower()


def _plain_word(follow: Callable[[Tag, UnreadText], ReaderState]) -> ProseTag:
    form = TagForm(lambda _attr: True, is_call=False)
    return ProseTag(form, follow, lambda _tag, _stream: None, is_text_meant)


def _think(prose_of: list[Prose]) -> Callable[[Tag, UnreadText], ReaderState]:
    return lambda tag, _stream: prose_of[0] if tag.closes_itself else thinking(tag.name, prose_of[0])


def _invent(prose_of: list[Prose]) -> Callable[[Tag, UnreadText], ReaderState]:
    return lambda tag, _stream: prose_of[0] if tag.closes_itself else invented(tag.name, prose_of[0])


def _body_is_meant(spec: ToolSpec) -> Meant:
    """It is a call unless a sentence seems to continue after the tag."""

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


def _children_are_meant(spec: ToolSpec, tag_name: str, words: Mapping[str, ProseTag]) -> Meant:
    """It is a call if a child or its own close tag follows."""
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


def _starts_child(spec: ToolSpec, text: str, others: Mapping[str, ProseTag]) -> bool | None:
    """Say whether the text begins with a sub-tag: a declared child, or a name that is none of `others`.

    None: too little text yet. Without `others`, only a declared child counts.
    """
    name = NAME.match(text)
    if not name:
        return None if text == "<" else False
    if name.end() == len(text) and len(text) < _PEEK:
        return None
    return child_of(spec, name[1]) is not None or (bool(others) and name[1] not in others)


def finished(reader: StreamReader, text: str) -> list[Block]:
    """Return the complete calls of a whole message."""
    reader.feed(text)
    reader.flush()
    return reader.drain()


class XmlDialect(TextDialect):
    """The inline XML dialect."""

    name = "xml"
    pacing = Pacing.ONE_FEEDBACK_CALL
    document = staticmethod(docs.xml)

    def reader(self, specs: Sequence[ToolSpec], *, has_read: bool = False) -> DialectReader:
        self._names = tags.names_of(specs)
        return read_xml(specs, self._limits, has_read=has_read, elsewhere=ELSEWHERE)

    def write(self, calls: Sequence[ToolCall], specs: Sequence[ToolSpec]) -> str:
        return write_xml(calls, specs)

    def answer(self, answers: Sequence[Answer]) -> Message:
        """Return a `<tool_results>` block with one entry per call, then the pictures.

        In the results, each `<` that would begin a protocol tag or the tag of a known tool becomes `&lt;`.
        """
        names = self._names | {answer.tool for answer in answers}
        entries = "\n".join(_entry(answer, names, self._introductions.due(answer)) for answer in answers)
        outcomes = tuple(answer.outcome for answer in answers)
        parts: list[Part] = [TextPart(f"<tool_results>\n{entries}\n</tool_results>", Author.WISP, outcomes=outcomes)]
        parts += [ImagePart(media) for answer in answers for media in answer.result.llm_media]
        return Message(Role.USER, tuple(parts))


def _entry(answer: Answer, names: frozenset[str], more: Sequence[str]) -> str:
    status = "ok" if answer.result.ok else "error"
    notes = answer.call.notes if answer.call else ()
    echo = tags.escape("\n".join([answer.result.llm_echo, *notes, *more]).strip("\n"), names)
    return f'<result tool="{encode(answer.tool)}" status="{status}">\n{echo}\n</result>'
