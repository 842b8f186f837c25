"""Native tool use: the vendor's own calls, declared as JSON schemas, answered by id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.protocol import docs, schema
from app.protocol.call import ToolCall
from app.protocol.dialects import opaque
from app.protocol.dialects.api import Answer, Pacing, Reader
from app.protocol.dialects.batch import write_batch
from app.protocol.dialects.prose import Prose, Word, is_text_meant
from app.protocol.dialects.stream import State, Stream, StreamReader
from app.protocol.dialects.tags import Tag, TagForm
from app.protocol.limits import DEFAULT_LIMITS, Limits
from app.protocol.message import ImagePart, Message, Part, ResultPart, Role, TextPart
from app.protocol.result import JsonValue
from app.protocol.spec import PROGRESS, Param, ToolSpec


class NativeDialect:
    """Its reader reads prose only; the calls come from `native_calls.NativeCalls`.

    Every tool is declared, and in the same words from pass to pass, since what is declared stands in the vendor's
    cache. Tools that are not `in_full` are declared by a line and the bare names and types of their arguments; their
    docs come with the answer to their first call, and to every call that fails.
    """

    name = "native"
    pacing = Pacing.WHOLE_MESSAGE

    def __init__(self, guide: str = "", limits: Limits = DEFAULT_LIMITS, in_full: frozenset[str] | None = None) -> None:
        self._guide = guide
        self._limits = limits
        self._in_full = in_full
        self._undescribed: dict[str, ToolSpec] = {}
        self._described: set[str] = set()

    def teach(self, specs: Sequence[ToolSpec]) -> str:  # noqa: ARG002
        return self._guide.strip() + "\n"

    def schemas(self, specs: Sequence[ToolSpec]) -> tuple[Mapping[str, JsonValue], ...]:
        """In the neutral form `{"name", "description", "input_schema"}`; providers spell it for their wire."""
        known: set[Param] = set()
        with_progress = next((spec for spec in specs if not spec.is_speech), None)
        declared: list[Mapping[str, JsonValue]] = []
        for spec in specs:
            is_brief = self._is_brief(spec)
            shape = schema.compact(spec, known, is_brief=is_brief, has_progress=spec is with_progress)
            purpose = docs.brief(spec) if is_brief else spec.description
            declared.append({"name": spec.name, "description": purpose, "input_schema": shape})
        self._undescribed = {spec.name: spec for spec in specs if self._is_brief(spec) and not docs.is_told(spec)}
        return tuple(declared)

    def _is_brief(self, spec: ToolSpec) -> bool:
        return self._in_full is not None and spec.name not in self._in_full

    def reader(self, specs: Sequence[ToolSpec], *, has_read: bool = False) -> Reader:  # noqa: ARG002
        prose: Prose

        def think(tag: Tag, _stream: Stream) -> State:
            return prose if tag.closes_itself else opaque.thinking(prose)

        form = TagForm(lambda _attribute: False, is_call=False)
        word = Word(form, think, lambda _tag, _stream: None, is_text_meant)
        prose = Prose({"think": word, "thinking": word})
        return StreamReader(prose, self._limits)

    def write(self, calls: Sequence[ToolCall], specs: Sequence[ToolSpec]) -> str:  # noqa: ARG002
        """For transcripts: vendors take calls as parts of a message, never as text."""
        return write_batch(calls)

    def answer(self, answers: Sequence[Answer]) -> Message:
        """A result part for every call, by its id; complaints that belong to no call follow as text."""
        parts: list[Part] = [self._result(answer) for answer in answers if answer.call_id]
        loose = [answer for answer in answers if not answer.call_id]
        parts += [TextPart(f"{answer.tool}: {answer.result.llm_echo}") for answer in loose]
        parts += [ImagePart(media) for answer in loose for media in answer.result.llm_media]
        return Message(Role.USER, tuple(parts))

    def _result(self, answer: Answer) -> ResultPart:
        notes = answer.call.notes if answer.call else ()
        text = "\n".join([answer.result.llm_echo, *notes, *self._docs(answer)])
        return ResultPart(answer.call_id, text, answer.result.llm_media, is_error=not answer.result.ok)

    def _docs(self, answer: Answer) -> tuple[str, ...]:
        """What the model was not told yet about the tool it called."""
        spec = None if answer.toolset else self._undescribed.get(answer.tool)
        if spec is None or (answer.result.ok and answer.tool in self._described):
            return ()
        self._described.add(answer.tool)
        return (f"What {spec.name} takes:\n{docs.batch((spec,))}",)


def native_args(call: ToolCall) -> Mapping[str, JsonValue]:
    """The arguments as the schema declares them."""
    return {**call.arguments, **({PROGRESS.name: call.progress} if call.progress else {})}
