"""The JSON batch dialect: `<think>`, an array of calls in `<execute>`, results in `<results>`, `<end>` at the end."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NoReturn

from app.base import ids
from app.base.errors import ToolMisuse
from app.protocol import docs, payload
from app.protocol.arguments import to_call
from app.protocol.call import Block, JsonValue, ToolCall
from app.protocol.dialects import tags
from app.protocol.dialects.api import Answer, DialectReader, Pacing, TextDialect
from app.protocol.dialects.markdown import Markdown
from app.protocol.dialects.prose import Prose, ProseTag, invented, is_text_meant, thinking
from app.protocol.dialects.stream import Over, ReaderState, StreamReader, UnreadText
from app.protocol.dialects.tags import Tag, TagForm
from app.protocol.dialects.xml import finished, read_xml
from app.protocol.message import (
    Author,
    BatchClosed,
    CallClosed,
    CallCut,
    CallOpened,
    DeclaredEnd,
    ImagePart,
    Message,
    Misread,
    Part,
    ReaderEvent,
    Role,
    Text,
    TextPart,
)
from app.protocol.payload import DEFAULT_LIMITS, Limits
from app.protocol.spec import PROGRESS, ToolSpec

_FENCE = re.compile(r"\s*```[\w+-]*[ \t]*\r?\n(.*?)\r?\n?[ \t]*```\s*", re.DOTALL)
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\Z)|[\[{\]}]', re.DOTALL)
"""The quantifiers are possessive because a long string would otherwise fill the memory with backtracking points."""


class BadBatch(Exception):
    """A batch cannot be read. The message says what is wrong and how to repair it.

    `detail` is a stable error word; `offset` is the place in the batch's text.
    """

    def __init__(self, detail: str, offset: int, sentence: str) -> None:
        super().__init__(sentence)
        self.detail = detail
        self.offset = offset


class _Unfit(Exception):
    """Python's JSON parser accepts the text, but Wisp does not: it holds NaN, a huge number or a duplicate key."""

    def __init__(self, token: str, sentence: str) -> None:
        super().__init__(sentence)
        self.token = token


def calls_of(text: str, limits: Limits) -> list[tuple[str, Mapping[str, JsonValue]]]:
    """The name and arguments of every call, in order. A code fence around them is allowed. Raises BadBatch."""
    fence = _FENCE.fullmatch(text)
    start = fence.start(1) if fence else 0
    try:
        return _calls(fence[1] if fence else text, limits)
    except BadBatch as bad:
        raise BadBatch(bad.detail, bad.offset + start, str(bad)) from None


def _calls(text: str, limits: Limits) -> list[tuple[str, Mapping[str, JsonValue]]]:
    _check_depth(text, limits.json_depth)
    value = _loaded(text)
    if not isinstance(value, list):
        raise BadBatch("not_array", _first(text), 'the batch must be a JSON array, [{"name": …, "args": {…}}]')
    if len(value) > limits.calls_per_batch:
        raise BadBatch("too_many_calls", 0, f"{len(value)} calls; a batch holds at most {limits.calls_per_batch}")
    return [_read_call(item, number, text) for number, item in enumerate(value, start=1)]


def _read_call(item: JsonValue, number: int, text: str) -> tuple[str, Mapping[str, JsonValue]]:
    def bad(detail: str, sentence: str) -> NoReturn:
        raise BadBatch(detail, _first(text), f"call {number} {sentence}")

    if not isinstance(item, dict):
        bad("element_not_object", 'is no object; write {"name": …, "args": {…}}')
    for key in ("name", "args"):
        if key not in item:
            bad(f"missing_{key}", f'has no "{key}"; write {{"name": …, "args": {{…}}}}')
    name, args = item["name"], item["args"]
    if not isinstance(name, str) or not name:
        bad("bad_name", 'has a "name" that is no text')
    if not isinstance(args, dict):
        bad("bad_args", 'has "args" that are no object')
    return name, args


def _loaded(text: str) -> JsonValue:
    try:
        value: JsonValue = payload.load(
            text, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_without_duplicates
        )
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise BadBatch("invalid_json", error.pos, f"{_repair(error)} ({place})") from None
    except RecursionError:
        raise BadBatch("too_deep", 0, "the JSON is nested too deeply") from None
    except _Unfit as unfit:  # The place is searched in the text, because the parser's hooks do not know it.
        offset = max(text.rfind(unfit.token), 0)
        place = f"line {text.count(chr(10), 0, offset) + 1}, column {offset - text.rfind(chr(10), 0, offset)}"
        raise BadBatch("invalid_json", offset, f"{unfit} ({place})") from None
    except ValueError as error:
        raise BadBatch("invalid_json", 0, str(error)) from None
    return value


def _repair(error: json.JSONDecodeError) -> str:
    if error.msg.startswith("Invalid control character"):
        return r"a string holds a raw line break or control character; write \n instead"
    if error.msg.startswith("Invalid \\escape"):
        return r"a string holds a lone backslash; write \\ instead"
    if error.pos >= len(error.doc.rstrip()):
        return "the array is not closed; end it with ]"
    return error.msg[:1].lower() + error.msg[1:]


def _no_constant(name: str) -> NoReturn:
    raise _Unfit(name, f"{name} is no JSON; use a number or null")  # https://www.rfc-editor.org/rfc/rfc8259#section-6


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise _Unfit(text, f"the number {text[:40]} is too large")
    return value


def _without_duplicates(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    value = dict(pairs)
    if len(value) < len(pairs):
        # Parsers disagree about duplicate names: https://www.rfc-editor.org/rfc/rfc8259#section-4
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _Unfit(json.dumps(twice), f'the key "{twice[:40]}" stands twice in one object; keep one')
    return value


def _check_depth(text: str, limit: int) -> None:
    depth = 0
    for found in _STRING_OR_BRACKET.finditer(text):
        if text[found.start()] in "[{":
            depth += 1
        elif text[found.start()] in "]}":
            depth -= 1
        if depth > limit:
            raise BadBatch("too_deep", found.start(), f"the JSON is nested deeper than {limit} levels; flatten it")


def _first(text: str) -> int:
    return len(text) - len(text.lstrip())


_CLOSE = re.compile(r"</execute\s{0,16}>")
_OUTSIDE = re.compile(r'(?:[^"<]++|<(?!/|\Z))*+')
_INSIDE = re.compile(r'(?:[^"\\\n<]++|\\[^\n]|<(?!/|\Z))*+')
"""Text to skip: up to a quote, a close tag, a line break in a string, or an escape or tag cut by the chunk's end."""

_UNFINISHED = re.compile(r"<(?:/(?:e(?:x(?:e(?:c(?:u(?:t(?:e\s{0,16})?)?)?)?)?)?)?)?\Z")
_LONGEST_TAG = 32
_BLANK = re.compile(r"[ \t\r]*")
_GOES_ON = re.compile(r"\n|<(?:end|think|thinking|results|tool_results)\s*>")
_MAY_GO_ON = re.compile(r"<[a-z_]{0,12}\s{0,16}")
"""What may follow a batch in the protocol, and the beginning of it."""

_MANY = 256
"""The most chunks that wait before the reader looks into them."""

_NAME = re.compile(r'"name"\s*:\s*"([^"\\]{1,64})"')


class Execute:
    """Reads one batch. Reports nothing until the whole batch is valid."""

    def __init__(self, tag: Tag, prose: ReaderState, renamed: Mapping[str, str]) -> None:
        self._tag = tag
        self._prose = prose
        self._renamed = renamed
        self._pieces: list[str] = []
        self._size = 0
        self._in_string = False
        self._is_broken = False
        self._first_close: int | None = None
        self._is_too_long = False
        self._waiting: list[str] = []

    def take_plain(self, chunk: str, stream: UnreadText) -> list[ReaderEvent] | None:
        """Keep the chunk for later if no tag in it can end the batch; return None if one might."""
        is_full = len(self._waiting) == _MANY or self._size > stream.limits.payload
        if "</" in chunk or chunk[-1:] == "<" or is_full or self._first_close is not None:
            return None
        self._waiting.append(chunk)
        return []

    def take(self, stream: UnreadText) -> ReaderState:
        if self._waiting:
            stream.replay("".join(self._waiting))
            self._waiting.clear()
        if self._is_broken:
            return self._find_close(stream)
        while True:
            harmless = (_INSIDE if self._in_string else _OUTSIDE).match(stream.data, stream.at)
            assert harmless is not None
            self._pass(stream, harmless.end())
            if stream.at == len(stream.data):
                return self
            before = stream.at
            following = self._meet(stream)
            if following is not None:
                return following
            if stream.at == before:
                return self

    def end(self, stream: UnreadText) -> ReaderState | None:
        if self._waiting:
            return self.take(stream)
        if self._first_close is not None:
            return self._fall_back(stream)
        raw = "".join(self._pieces)
        names = _NAME.findall(raw)
        stop = stream.position(len(stream.data))
        name = names[-1] if names else "execute"
        stream.emit(CallCut(Block(ids.unique("call_"), name, args={}, partial=True, span=(self._tag.start, stop))))
        return None

    @property
    def opened_at(self) -> int | None:
        if self._first_close is not None and not "".join(self._pieces[self._first_close + 1 :]).strip():
            return None
        return self._tag.start

    def _pass(self, stream: UnreadText, stop: int) -> None:
        if stop <= stream.at:
            return
        self._size += stop - stream.at
        if self._size > stream.limits.payload:
            self._is_too_long = True
            self._first_close = None
            self._pieces.clear()
        else:
            self._pieces.append(stream.data[stream.at : stop])
        stream.at = stop

    def _meet(self, stream: UnreadText) -> ReaderState | None:
        """Handle a character that matters. Return the next state or None. If the cursor stays, more text is needed."""
        data, at = stream.data, stream.at
        if data[at] == '"':
            self._in_string = not self._in_string
            self._pass(stream, at + 1)
        elif data[at] == "\n":
            return self._break(stream)
        elif data[at] == "\\":
            self._pass(stream, at + 2 if at + 1 < len(data) else at)
        else:
            return self._meet_tag(stream)
        return None

    def _meet_tag(self, stream: UnreadText) -> ReaderState | None:
        found = _CLOSE.match(stream.data, stream.at)
        if not found:
            may_close = _UNFINISHED.match(stream.data, stream.at)
            self._pass(stream, stream.at if may_close else stream.at + 1)
        elif not self._in_string:
            stream.at = found.end()
            return self._closed(stream)
        else:
            if self._first_close is None:
                self._first_close = len(self._pieces)
            self._pass(stream, found.end())
        return None

    def _find_close(self, stream: UnreadText) -> ReaderState:
        """End an invalid batch at its first close tag."""
        found = _CLOSE.search(stream.data, stream.at)
        if found:
            self._pass(stream, found.start())
            stream.at = found.end()
            return self._closed(stream)
        unfinished = _UNFINISHED.search(stream.data, max(stream.at, len(stream.data) - _LONGEST_TAG))
        self._pass(stream, unfinished.start() if unfinished else len(stream.data))
        return self

    def _break(self, stream: UnreadText) -> ReaderState:
        """Handle a line break inside a string. JSON forbids it, so the quotes can no longer be trusted."""
        self._is_broken = True
        return self._fall_back(stream) if self._first_close is not None else self._find_close(stream)

    def _fall_back(self, stream: UnreadText) -> ReaderState:
        assert self._first_close is not None
        stream.replay("".join(self._pieces[self._first_close + 1 :]))
        del self._pieces[self._first_close :]
        return self._closed(stream)

    def _closed(self, stream: UnreadText) -> ReaderState:
        stop = stream.position()
        try:
            if self._is_too_long:
                raise BadBatch("too_long", 0, f"a batch may hold {stream.limits.payload} characters; send fewer calls")
            calls = calls_of("".join(self._pieces), stream.limits)
        except BadBatch as bad:
            detail = f"{bad.detail}: {bad}. Nothing of this batch ran; write the whole <execute> again."
            stream.emit(Misread("malformed_execute", detail, self._tag.stop + bad.offset))
            return self._prose
        blocks = [
            Block(ids.unique("call_"), self._renamed.get(name, name), args=args, span=(self._tag.start, stop))
            for name, args in calls
        ]
        for block in blocks:
            stream.emit(CallOpened(block.call_id, block.name))
            stream.emit(CallClosed(block))
        stream.emit(BatchClosed(tuple(block.call_id for block in blocks)))
        return Behind(self._prose) if stream.is_holding else Over()


class Behind:
    """The state after a batch with prose before it on its line. The rest of the line shows if the batch is quoted."""

    def __init__(self, prose: ReaderState) -> None:
        self._prose = prose

    def take(self, stream: UnreadText) -> ReaderState:
        return self._judge(stream) or self

    def end(self, stream: UnreadText) -> ReaderState | None:
        return self._judge(stream)

    @property
    def opened_at(self) -> int | None:
        return None

    def _judge(self, stream: UnreadText) -> ReaderState | None:
        space = _BLANK.match(stream.data, stream.at)
        assert space is not None
        if space[0]:
            stream.emit(Text(space[0]))
        stream.at = space.end()
        rest = stream.data[stream.at : stream.at + _LONGEST_TAG]
        if not rest or (not stream.ended and _MAY_GO_ON.fullmatch(rest)):
            return None
        is_quoted = stream.is_cited or not _GOES_ON.match(rest)
        stream.settle(is_quoted=is_quoted)
        return self._prose if is_quoted else Over()


_BEGINS_BATCH = frozenset('[{"`<')
_NONE: Mapping[str, str] = MappingProxyType({})
_EXACT = TagForm(lambda _attribute: False, is_call=False)


def json_docs(specs: Sequence[ToolSpec]) -> str:
    """Return the docs of the tools with JSON arguments. A tool's example is its first one, written as JSON."""
    return docs.batch(specs, _example)


def _example(spec: ToolSpec) -> str:
    blocks = finished(read_xml([spec]), spec.examples[0]) if spec.examples else []
    try:
        given = to_call(spec, blocks[0]).arguments if blocks else {}
    except ToolMisuse:  # because a tool of another package may have a wrong example
        given = {}
    return json.dumps({"name": spec.name, "args": dict(given)}, ensure_ascii=False)


class BatchDialect(TextDialect):
    """The JSON batch dialect."""

    name = "batch"
    pacing = Pacing.ONE_BATCH
    document = staticmethod(json_docs)

    def reader(self, specs: Sequence[ToolSpec], *, has_read: bool = False) -> DialectReader:
        """Return a reader that accepts unknown tool names, so that the other calls of the batch still run.

        Well-known tool names of other agents count as the names of Wisp's tools.
        """
        self._names = tags.names_of(specs)
        return read_batch(self._limits, has_read=has_read, renamed=tags.ours(self._names))

    def write(self, calls: Sequence[ToolCall], specs: Sequence[ToolSpec]) -> str:  # noqa: ARG002
        return write_batch(calls)

    def answer(self, answers: Sequence[Answer]) -> Message:
        """Return `<results>` with one object per call, in the order of the calls, then the pictures."""
        names = self._names | {answer.tool for answer in answers}
        results = (_result(answer, self._introductions.due(answer)) for answer in answers)
        lines = ",\n".join(f"  {json.dumps(result, ensure_ascii=False)}" for result in results)
        text = tags.pattern(names).sub(r"\\u003c", f"[\n{lines}\n]" if lines else "[]").replace("</", r"<\/")
        outcomes = tuple(answer.outcome for answer in answers)
        parts: list[Part] = [TextPart(f"<results>\n{text}\n</results>", Author.WISP, outcomes=outcomes)]
        parts += [ImagePart(media) for answer in answers for media in answer.result.llm_media]
        return Message(Role.USER, tuple(parts))


def read_batch(
    limits: Limits = DEFAULT_LIMITS, *, has_read: bool = False, renamed: Mapping[str, str] = _NONE
) -> StreamReader:
    """Return a reader of one message that stops at the first valid batch.

    `has_read` is as in `Dialect.reader`. `renamed` maps other names of a tool to its own.
    """
    prose: Prose

    def think(tag: Tag, _stream: UnreadText) -> ReaderState:
        return prose if tag.closes_itself else thinking(tag.name, prose)

    def invent(tag: Tag, _stream: UnreadText) -> ReaderState:
        return prose if tag.closes_itself else invented(tag.name, prose)

    def execute(tag: Tag, stream: UnreadText) -> ReaderState:
        if not tag.closes_itself:
            return Execute(tag, prose, renamed)
        prose.say(tag.raw, stream)
        return prose

    def finish(tag: Tag, stream: UnreadText) -> ReaderState:
        stream.emit(DeclaredEnd(tag.stop))
        return prose

    batch = ProseTag(TagForm(lambda _attribute: False), execute, _cut, _is_batch_meant, skips_space=True)
    prose = Prose(
        {
            "execute": batch,
            "end": _word(finish, _is_end_meant),
            **{name: _word(think, is_text_meant) for name in ("think", "thinking")},
            **{name: _word(invent, is_text_meant) for name in ("results", "tool_results")},
        },
        has_read=has_read,
    )
    return StreamReader(prose, limits)


def write_batch(calls: Sequence[ToolCall]) -> str:
    """Return the calls as a model writes them. `</` is escaped so that no string can look like a close tag."""
    lines = ",\n".join(f"  {json.dumps(_call(call), ensure_ascii=False)}" for call in calls)
    text = f"[\n{lines}\n]" if lines else "[]"
    return "<execute>\n" + text.replace("</", r"<\/") + "\n</execute>"


def _call(call: ToolCall) -> dict[str, JsonValue]:
    progress = {PROGRESS.name: call.progress} if call.progress else {}
    return {"name": call.name, "args": {**call.arguments, **progress}}


def _result(answer: Answer, more: Sequence[str]) -> dict[str, JsonValue]:
    notes = answer.call.notes if answer.call else ()
    content = "\n".join([answer.result.llm_echo, *notes, *more])
    return {"tool": answer.tool, "status": "success" if answer.result.ok else "failure", "content": content}


def _word(
    follow: Callable[[Tag, UnreadText], ReaderState], is_meant: Callable[[str, Markdown], bool | None]
) -> ProseTag:
    return ProseTag(_EXACT, follow, lambda _tag, _stream: None, is_meant)


def _cut(tag: Tag, stream: UnreadText) -> None:
    block = Block(ids.unique("call_"), "execute", args={}, partial=True, span=(tag.start, tag.stop))
    stream.emit(CallCut(block))


def _is_batch_meant(text: str, _line: Markdown) -> bool | None:
    return text[0] in _BEGINS_BATCH if text else None


def _is_end_meant(text: str, line: Markdown) -> bool | None:
    """Say whether `<end>` ends the answer: it does at the end of a line; elsewhere the text only mentions it."""
    rest = text.lstrip(" \t")
    if line.is_bare or rest[:1] in ("\n", "\r", "<"):
        return True
    return None if not rest else is_text_meant(text, line)
