"""Tools for the reader tests, and short ways to read with them."""

from __future__ import annotations

from dataclasses import replace

from app.protocol.call import Block, Child
from app.protocol.dialects.api import DialectReader
from app.protocol.dialects.xml import read_xml
from app.protocol.message import CallClosed, CallCut, CallDelta, Invented, Misread, ReaderEvent, Text, Thought
from app.protocol.spec import Close, Effect, Param, ToolSpec, ValueType, unbound

SAY = ToolSpec(
    "say",
    "Speak.",
    Effect.TALKS,
    unbound,
    attrs=(Param("tone"),),
    body=Param("text", required=True, short=False),
    is_speech=True,
)
READ = ToolSpec(
    "read_file",
    "Read a file.",
    Effect.READS,
    unbound,
    attrs=(
        Param("path", required=True, description="the file"),
        Param("line", ValueType.INTEGER, minimum=1, maximum=99),
        Param("whole", ValueType.FLAG),
        Param("mode", choices=("text", "hex")),
        Param("scale", ValueType.NUMBER),
    ),
    examples=('<read_file path="a.txt"/>',),
    aliases=("cat",),
)
WRITE = ToolSpec(
    "write_file",
    "Write a file.",
    Effect.WRITES,
    unbound,
    attrs=(Param("path", required=True),),
    body=Param("content", required=True, short=False, close=Close.LAST),
)
APP = ToolSpec(
    "create_app",
    "Make an app.",
    Effect.WRITES,
    unbound,
    attrs=(Param("name"),),
    children=(
        Param("html", short=False, close=Close.LAST),
        Param("doc", attrs=(Param("lang"), Param("pages", ValueType.INTEGER)), many=True),
        Param("tags", ValueType.LIST),
        Param("settings", ValueType.OBJECT),
    ),
)
DONE = ToolSpec(
    "attempt_completion", "Finish.", Effect.TALKS, unbound, children=(Param("result", required=True, short=False),)
)
ALL = (SAY, READ, WRITE, APP, DONE)


def events(text: str, reader: DialectReader | None = None) -> list[ReaderEvent]:
    """All reports about a whole message."""
    reader = reader or read_xml(ALL)
    return [*reader.feed(text), *reader.flush()]


def outline(text: str, reader: DialectReader | None = None) -> list[object]:
    """What was read: prose as text, reasoning and the rest as pairs, calls as blocks without id, place and notes."""
    seen: list[object] = []
    for event in events(text, reader):
        match event:
            case Text():
                if seen and isinstance(seen[-1], str):
                    seen[-1] += event.text
                else:
                    seen.append(event.text)
            case Thought() if event.text:
                seen.append(("thought", event.text))
            case Invented():
                seen.append(("invented", event.text))
            case Misread():
                seen.append(("misread", event.code))
            case CallClosed() | CallCut():
                seen.append(replace(event.block, call_id="", span=(0, 0), notes=()))
    return seen


def shown(text: str, reader: DialectReader | None = None) -> list[tuple[str, str]]:
    """What was shown of payloads while they arrived, pieces of one argument joined."""
    seen: list[tuple[str, str]] = []
    for event in events(text, reader):
        if isinstance(event, CallDelta) and seen and seen[-1][0] == event.param:
            seen[-1] = (event.param, seen[-1][1] + event.text)
        elif isinstance(event, CallDelta):
            seen.append((event.param, event.text))
    return seen


def call(
    name: str, attrs: dict[str, str] | None = None, *children: tuple[str, str], body: str = "", partial: bool = False
) -> Block:
    """A block as `outline` gives it."""
    return Block("", name, attrs or {}, tuple(Child(*child) for child in children), body, partial=partial)
