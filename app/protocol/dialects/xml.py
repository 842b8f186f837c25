"""Inline XML: calls written between sentences, run as they close. The default dialect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.protocol import docs
from app.protocol.call import ToolCall
from app.protocol.dialects import neutral
from app.protocol.dialects.api import Answer, Pacing, Reader
from app.protocol.dialects.foreign_names import ELSEWHERE
from app.protocol.dialects.xml_reader import read_xml
from app.protocol.dialects.xml_write import write_xml
from app.protocol.entities import encode
from app.protocol.limits import DEFAULT_LIMITS, Limits
from app.protocol.message import ImagePart, Message, Part, Role, TextPart
from app.protocol.result import JsonValue
from app.protocol.spec import ToolSpec


class XmlDialect:
    """`guide` is the text that explains the dialect; the tools follow it."""

    name = "xml"
    pacing = Pacing.ONE_FEEDBACK_CALL

    def __init__(self, guide: str = "", limits: Limits = DEFAULT_LIMITS) -> None:
        self._guide = guide
        self._limits = limits
        self._names: frozenset[str] = frozenset()

    def teach(self, specs: Sequence[ToolSpec]) -> str:
        return f"{self._guide.strip()}\n\n{docs.xml(specs)}\n".lstrip()

    def schemas(self, specs: Sequence[ToolSpec]) -> tuple[Mapping[str, JsonValue], ...]:  # noqa: ARG002
        return ()

    def reader(self, specs: Sequence[ToolSpec], *, has_read: bool = False) -> Reader:
        self._names = neutral.names_of(specs)
        return read_xml(specs, self._limits, has_read=has_read, elsewhere=ELSEWHERE)

    def write(self, calls: Sequence[ToolCall], specs: Sequence[ToolSpec]) -> str:
        return write_xml(calls, specs)

    def answer(self, answers: Sequence[Answer]) -> Message:
        """A `<tool_results>` block with one entry an answer, then the pictures.

        In the echoes every `<` that would begin a tag of the protocol, or of a tool the last reader knew, is `&lt;`.
        """
        names = self._names | {answer.tool for answer in answers}
        entries = "\n".join(_entry(answer, names) for answer in answers)
        parts: list[Part] = [TextPart(f"<tool_results>\n{entries}\n</tool_results>")]
        parts += [ImagePart(media) for answer in answers for media in answer.result.llm_media]
        return Message(Role.USER, tuple(parts))


def _entry(answer: Answer, names: frozenset[str]) -> str:
    status = "ok" if answer.result.ok else "error"
    notes = answer.call.notes if answer.call else ()
    echo = neutral.escape("\n".join([answer.result.llm_echo, *notes]).strip("\n"), names)
    return f'<result tool="{encode(answer.tool)}" status="{status}">\n{echo}\n</result>'
