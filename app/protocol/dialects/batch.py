"""The JSON batch: `<think>`, then `<execute>` with an array of calls, `<results>` in return, `<end>` when done."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from app.base import ids
from app.protocol import docs
from app.protocol.call import Block, ToolCall
from app.protocol.dialects import foreign_names, neutral, opaque
from app.protocol.dialects.api import Answer, Pacing, Reader
from app.protocol.dialects.batch_state import Execute
from app.protocol.dialects.markdown import Markdown
from app.protocol.dialects.prose import Prose, Word, is_text_meant
from app.protocol.dialects.stream import State, Stream, StreamReader
from app.protocol.dialects.tags import Tag, TagForm
from app.protocol.events import CallCut, Ended
from app.protocol.limits import DEFAULT_LIMITS, Limits
from app.protocol.message import ImagePart, Message, Part, Role, TextPart
from app.protocol.result import JsonValue
from app.protocol.spec import PROGRESS, ToolSpec

_BEGINS_BATCH = frozenset('[{"`<')
_NONE: Mapping[str, str] = MappingProxyType({})
_EXACT = TagForm(lambda _attribute: False, is_call=False)


class BatchDialect:
    """`guide` is the text that explains the dialect; the tools follow it."""

    name = "batch"
    pacing = Pacing.ONE_BATCH

    def __init__(self, guide: str = "", limits: Limits = DEFAULT_LIMITS) -> None:
        self._guide = guide
        self._limits = limits
        self._names: frozenset[str] = frozenset()

    def teach(self, specs: Sequence[ToolSpec]) -> str:
        return f"{self._guide.strip()}\n\n{docs.batch(specs)}\n".lstrip()

    def schemas(self, specs: Sequence[ToolSpec]) -> tuple[Mapping[str, JsonValue], ...]:  # noqa: ARG002
        return ()

    def reader(self, specs: Sequence[ToolSpec], *, has_read: bool = False) -> Reader:
        """Tool names are not checked here: a batch may hold an unknown one, and the others still run. Well-known names
        of other agents' tools stand for ours.
        """
        self._names = neutral.names_of(specs)
        return read_batch(self._limits, has_read=has_read, renamed=foreign_names.ours(self._names))

    def write(self, calls: Sequence[ToolCall], specs: Sequence[ToolSpec]) -> str:  # noqa: ARG002
        return write_batch(calls)

    def answer(self, answers: Sequence[Answer]) -> Message:
        """`<results>` with one object an answer, by position, then the pictures."""
        names = self._names | {answer.tool for answer in answers}
        lines = ",\n".join(f"  {json.dumps(_result(answer), ensure_ascii=False)}" for answer in answers)
        text = neutral.pattern(names).sub(r"\\u003c", f"[\n{lines}\n]" if lines else "[]").replace("</", r"<\/")
        parts: list[Part] = [TextPart(f"<results>\n{text}\n</results>")]
        parts += [ImagePart(media) for answer in answers for media in answer.result.llm_media]
        return Message(Role.USER, tuple(parts))


def read_batch(
    limits: Limits = DEFAULT_LIMITS, *, has_read: bool = False, renamed: Mapping[str, str] = _NONE
) -> StreamReader:
    """A reader of one message; it stops at the first valid batch. `has_read` as in `Dialect.reader`; `renamed` are
    tools that are known under another name.
    """
    prose: Prose

    def think(tag: Tag, _stream: Stream) -> State:
        return prose if tag.closes_itself else opaque.thinking(prose)

    def invent(tag: Tag, _stream: Stream) -> State:
        return prose if tag.closes_itself else opaque.invented(tag.name, prose)

    def execute(tag: Tag, stream: Stream) -> State:
        if not tag.closes_itself:
            return Execute(tag, prose, renamed)
        prose.say(tag.raw, stream)
        return prose

    def finish(tag: Tag, stream: Stream) -> State:
        stream.emit(Ended(tag.stop))
        return prose

    batch = Word(TagForm(lambda _attribute: False), execute, _cut, _is_batch_meant, skips_space=True)
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
    """The calls as a model writes them; `</` is escaped so that nothing in a string looks like a close tag."""
    lines = ",\n".join(f"  {json.dumps(_call(call), ensure_ascii=False)}" for call in calls)
    text = f"[\n{lines}\n]" if lines else "[]"
    return "<execute>\n" + text.replace("</", r"<\/") + "\n</execute>"


def _call(call: ToolCall) -> dict[str, JsonValue]:
    progress = {PROGRESS.name: call.progress} if call.progress else {}
    return {"name": call.name, "args": {**call.arguments, **progress}}


def _result(answer: Answer) -> dict[str, JsonValue]:
    notes = answer.call.notes if answer.call else ()
    content = "\n".join([answer.result.llm_echo, *notes])
    return {"tool": answer.tool, "status": "success" if answer.result.ok else "failure", "content": content}


def _word(follow: Callable[[Tag, Stream], State], is_meant: Callable[[str, Markdown], bool | None]) -> Word:
    return Word(_EXACT, follow, lambda _tag, _stream: None, is_meant)


def _cut(tag: Tag, stream: Stream) -> None:
    block = Block(ids.unique("call_"), "execute", args={}, partial=True, span=(tag.start, tag.stop))
    stream.emit(CallCut(block))


def _is_batch_meant(text: str, _line: Markdown) -> bool | None:
    return text[0] in _BEGINS_BATCH if text else None


def _is_end_meant(text: str, line: Markdown) -> bool | None:
    """`<end>` stands at the end of a line; anywhere else it is only spoken of."""
    rest = text.lstrip(" \t")
    if line.is_bare or rest[:1] in ("\n", "\r", "<"):
        return True
    return None if not rest else is_text_meant(text, line)
