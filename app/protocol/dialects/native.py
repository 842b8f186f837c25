"""Native tool use: the model calls tools in the vendor's format, declared by JSON schemas and answered by id."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from app.protocol import docs, payload
from app.protocol.call import Block, JsonValue, ToolCall
from app.protocol.dialects.api import Answer, DialectReader, Introductions, Pacing
from app.protocol.dialects.batch import json_docs, write_batch
from app.protocol.dialects.tags import ELSEWHERE
from app.protocol.dialects.xml import read_xml
from app.protocol.message import (
    Author,
    CallClosed,
    CallCut,
    CallDelta,
    CallOpened,
    ImagePart,
    Message,
    Misread,
    Part,
    ReaderEvent,
    ResultPart,
    Role,
    TextPart,
)
from app.protocol.payload import DEFAULT_LIMITS
from app.protocol.spec import Param, ToolSpec


class NativeDialect:
    """The native dialect. Its calls come from `NativeCalls`; its reader reads the prose.

    A call that the model writes into its prose as XML is a call, too, by the same rules as in the XML dialect.

    A tool's declaration never changes between passes, because the vendor caches the declarations. Tools that `detail`
    tells in a line are declared with that line and the bare names and types of their arguments; their docs come with
    the answer to their first call and to every failed call. Rare tools are only named in the prompt, one line per
    family.
    After the model has called one or asked for its docs, its declaration is added behind the others.
    """

    name = "native"
    pacing = Pacing.WHOLE_MESSAGE

    def __init__(self, guide: str = "", detail: docs.Detail = docs.EVERYTHING) -> None:
        self._guide = guide
        self._detail = detail
        self._introductions = Introductions(json_docs)

    def teach(self, specs: Sequence[ToolSpec]) -> str:
        return f"{self._guide.strip()}\n\n{docs.families(specs, self._detail)}".strip() + "\n"

    def schemas(self, specs: Sequence[ToolSpec], met: Sequence[str] = ()) -> tuple[Mapping[str, JsonValue], ...]:
        """Each is `{"name", "description", "input_schema"}`; each provider converts them for its API."""
        known: set[Param] = set()
        with_progress = next((spec for spec in specs if not spec.is_speech), None)
        declared: list[Mapping[str, JsonValue]] = []
        for spec in (spec for spec in specs if not spec.rare):
            is_brief = self._detail.tier(spec) is docs.Tier.LINE
            shape = docs.compact(spec, known, is_brief=is_brief, has_progress=spec is with_progress)
            purpose = docs.brief(spec) if is_brief else spec.description
            declared.append({"name": spec.name, "description": purpose, "input_schema": shape})
        rare = {spec.name: spec for spec in specs if spec.rare}
        for spec in (rare[name] for name in met if name in rare):
            shape = docs.compact(spec, set())
            declared.append({"name": spec.name, "description": spec.description, "input_schema": shape})
        self._introductions.begin(specs, self._detail.told_by_line(specs))
        return tuple(declared)

    def reader(self, specs: Sequence[ToolSpec], *, has_read: bool = False) -> DialectReader:
        return read_xml(specs, DEFAULT_LIMITS, has_read=has_read, elsewhere=ELSEWHERE)

    def write(self, calls: Sequence[ToolCall], specs: Sequence[ToolSpec]) -> str:  # noqa: ARG002
        """Only transcripts use this text, because vendors receive calls as parts of a message."""
        return write_batch(calls)

    def answer(self, answers: Sequence[Answer]) -> Message:
        """Return one result part per call, by its id. Complaints without a call follow as text."""
        parts: list[Part] = [self._result(answer) for answer in answers if answer.call_id]
        loose = [answer for answer in answers if not answer.call_id]
        parts += [TextPart(f"{answer.tool}: {answer.result.llm_echo}", Author.WISP) for answer in loose]
        parts += [ImagePart(media) for answer in loose for media in answer.result.llm_media]
        return Message(Role.USER, tuple(parts))

    def _result(self, answer: Answer) -> ResultPart:
        notes = answer.call.notes if answer.call else ()
        text = "\n".join([answer.result.llm_echo, *notes, *self._introductions.due(answer)])
        return ResultPart(answer.call_id, text, answer.result.llm_media, is_error=not answer.result.ok)


_TOKEN = re.compile(r'["\\\[\]{},:]')
_SHOWN_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


class NativeCalls:
    """Collects the native calls of one answer, by call id."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[str, _Strings]] = {}

    @property
    def is_open(self) -> bool:
        return bool(self._open)

    def started(self, call_id: str, name: str) -> list[ReaderEvent]:
        self._open[call_id] = (name, _Strings())
        return [CallOpened(call_id, name)]

    def delta(self, call_id: str, piece: str) -> list[ReaderEvent]:
        """Take a piece of the arguments' JSON. Report texts at its top level as they grow, for display."""
        if call_id not in self._open:
            return []
        return [CallDelta(call_id, name, text) for name, text in self._open[call_id][1].feed(piece)]

    def ended(self, call_id: str, args: Mapping[str, JsonValue], unread: str = "") -> list[ReaderEvent]:
        """Report a complete call. If the vendor's arguments are no JSON object, `unread` is their text."""
        name, _ = self._open.pop(call_id, ("", None))
        if unread:
            cut = Block(call_id, name, args={}, partial=True)
            detail = f"The arguments of {name} are no JSON object: {_why(unread)}. Call it again."
            return [CallCut(cut), Misread("invalid_json", detail, 0)]
        return [CallClosed(Block(call_id, name, args=args))]

    def cut(self) -> list[ReaderEvent]:
        """End the stream: report every call that is still open as cut."""
        events: list[ReaderEvent] = [
            CallCut(Block(call_id, name, args={}, partial=True)) for call_id, (name, _) in self._open.items()
        ]
        self._open.clear()
        return events


def _why(text: str) -> str:
    try:
        payload.load(text)
    except json.JSONDecodeError as error:
        return f"{error.msg}, line {error.lineno}, column {error.colno}"
    except (ValueError, RecursionError):
        return "it cannot be read"
    return "it is another value"


class _Strings:
    """Follows a JSON object while it streams and returns the text of its top-level strings. For display only."""

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = False
        self._is_key = True
        self._key = ""
        self._rest = ""

    def feed(self, piece: str) -> list[tuple[str, str]]:
        data = self._rest + piece
        self._rest = ""
        shown: list[str] = []
        events: list[tuple[str, str]] = []
        at = 0
        while at < len(data):
            token = _TOKEN.search(data, at)
            stop = token.start() if token else len(data)
            if self._in_string:
                shown.append(data[at:stop])
            if token is None:
                break
            after = self._meet(data, stop, shown)
            if after < 0:
                self._rest = data[stop:]
                break
            if token[0] == '"' and not self._in_string:
                self._told("".join(shown), events)
                shown = []
            at = after
        if self._in_string:
            self._told("".join(shown), events)
        return events

    def _told(self, text: str, events: list[tuple[str, str]]) -> None:
        if self._depth != 1:
            return
        if self._is_key:
            self._key += text
        elif text:
            events.append((self._key, text))

    def _meet(self, data: str, at: int, shown: list[str]) -> int:
        """Take the token at `at`. Return where to continue, or -1 if an escape is not yet complete."""
        letter = data[at]
        if letter == '"':
            self._in_string = not self._in_string
            if self._in_string and self._is_key and self._depth == 1:
                self._key = ""
            return at + 1
        if self._in_string:
            return self._escape(data, at, shown) if letter == "\\" else self._plain(letter, at, shown)
        if letter in "[{":
            self._depth += 1
        elif letter in "]}":
            self._depth -= 1
        elif self._depth == 1:
            self._is_key = letter == ","
        return at + 1

    def _plain(self, letter: str, at: int, shown: list[str]) -> int:
        shown.append(letter)
        return at + 1

    def _escape(self, data: str, at: int, shown: list[str]) -> int:
        code = data[at + 1 : at + 2]
        size = 6 if code == "u" else 2
        if len(data) < at + size:
            return -1
        if code == "u":
            return self._code_point(data, at, shown)
        shown.append(_SHOWN_ESCAPES.get(code, code))
        return at + size

    def _code_point(self, data: str, at: int, shown: list[str]) -> int:
        r"""Read `\\uXXXX`, or a pair of surrogates that together form one character."""
        high = re.match(r"\\u[dD][89abAB][0-9a-fA-F]{2}", data[at:])
        if high and len(data) < at + 12 and r"\u".startswith(data[at + 6 : at + 8][:2]):
            return -1
        size = 12 if high and data.startswith(r"\u", at + 6) else 6
        try:
            shown.append(payload.load(f'"{data[at : at + size]}"'))
        except ValueError:  # because a model may write `\u` without four hexadecimal digits
            shown.append("\ufffd")
        return at + size
