"""`wisp parse`: read a model's text from standard input, and print the reader's events, one JSON object per line.

`{"kind": "text|tool|think|execute|results|end|error", "name", "attrs", "children", "body", "args", "partial", "text",
"code"}`, only the keys that apply. Prose is one block per stretch between calls; a call that was cut off is a tool
block with `"partial": true`. A message without any call is looked through for foreign formats, as the agent does.
"""

from __future__ import annotations

import argparse
import codecs
import sys
from collections.abc import Iterator, Mapping, Sequence
from io import BufferedReader
from pathlib import Path
from typing import cast

from app.base import output
from app.base.errors import WispError
from app.commands.tools import registered
from app.protocol import payload
from app.protocol.call import Block, Child, JsonValue
from app.protocol.dialects.batch import read_batch
from app.protocol.dialects.foreign import split_foreign
from app.protocol.dialects.stream import StreamReader
from app.protocol.dialects.xml import read_xml
from app.protocol.message import (
    BatchClosed,
    CallClosed,
    CallCut,
    DeclaredEnd,
    Invented,
    Misread,
    ReaderEvent,
    Text,
    Thought,
)
from app.protocol.spec import Close, Effect, Param, ToolSpec, unbound

_COLLIDING = frozenset({"content", "diff", "html", "command"})
_FILES = frozenset({"content", "diff", "html"})
_KEYS = frozenset({"attrs", "children", "body", "close"})
_ANY = "*"


class BadShapes(WispError):
    """The file does not describe tools. The sentence says where the error is."""


def shapes_of(text: str) -> tuple[ToolSpec, ...]:
    """Return the tools that a file describes. Raises BadShapes."""
    try:
        value: JsonValue = payload.load(text)
    except (ValueError, RecursionError) as error:
        raise BadShapes(f"The tools file is no JSON: {error}.") from None
    tools = value.get("tools") if isinstance(value, dict) else None
    if not isinstance(tools, dict):
        raise BadShapes('The tools file needs an object "tools" that maps names to shapes.')
    return tuple(_shape(name, shape) for name, shape in tools.items())


def _shape(name: str, shape: JsonValue) -> ToolSpec:
    if not isinstance(shape, dict) or not set(shape) <= _KEYS:
        raise BadShapes(f"The shape of {name!r} must be an object with {', '.join(sorted(_KEYS))}.")
    close = _closes(name, shape.get("close", {}))
    children = _names(name, "children", shape.get("children", []))
    attrs = [attr for attr in _names(name, "attrs", shape.get("attrs", [])) if attr not in (_ANY, *children)]
    return ToolSpec(
        name,
        "",
        Effect.READS,
        unbound,
        attrs=tuple(Param(attr, short=False) for attr in attrs),
        children=tuple(_child_shape(child, close.get(child)) for child in children),
        body=Param("", short=False) if shape.get("body") else None,
        open=True,
    )


def _child_shape(name: str, told: Close | None) -> Param:
    close = told or (Close.LAST if name in _COLLIDING else Close.FIRST)
    is_file = name in _FILES or (told is Close.LAST and name not in _COLLIDING)
    return Param(name, close=close, short=not is_file)


def _names(tool: str, key: str, value: JsonValue) -> Sequence[str]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise BadShapes(f"{key} of {tool!r} must be a list of names.")
    return [name for name in value if isinstance(name, str)]


def _closes(tool: str, value: JsonValue) -> Mapping[str, Close]:
    kinds = {kind.value: kind for kind in Close}
    if not isinstance(value, dict) or not all(isinstance(kind, str) and kind in kinds for kind in value.values()):
        raise BadShapes(f'close of {tool!r} must map names of children to "first" or "last".')
    return {name: kinds[str(kind)] for name, kind in value.items()}


_MISUSED = 2
_READ_BYTES = 65_536

Line = dict[str, JsonValue]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dialect", choices=("xml", "batch"), default="xml", help="the form in which the calls are written"
    )
    parser.add_argument("--chunk", type=_count, metavar="N", help="read N characters at a time")
    parser.add_argument("--tools", metavar="FILE", help="take the tools from this JSON file")


def run(options: argparse.Namespace, specs: Sequence[ToolSpec] | None = None) -> int:
    """Return 0, or 2 with a sentence if the tools file cannot be used. `specs` default to the registry's."""
    try:
        known = shapes_of(Path(options.tools).read_text(encoding="utf-8")) if options.tools else specs
    except (OSError, UnicodeDecodeError, BadShapes) as error:
        print(f"wisp: {error}", file=sys.stderr)
        return _MISUSED
    if options.dialect == "batch":
        printer = _Printer(())
        reader = read_batch()
    else:
        known = registered() if known is None else known
        printer = _Printer(known)
        reader = read_xml(known)
    for line in _lines(reader, printer, _pieces(options.chunk)):
        _print(line)
    return 0


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError("write a whole number of 1 or more")
    return int(text)


def _pieces(size: int | None) -> Iterator[str]:
    """Yield standard input as it arrives, or in pieces of `size` characters. Bytes that are no UTF-8 become U+FFFD."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    held = ""
    source = cast(BufferedReader, sys.stdin.buffer)
    while data := source.read1(_READ_BYTES):
        held += decoder.decode(data)
        whole = len(held) - len(held) % size if size else len(held)
        yield from _cut(held[:whole], size)
        held = held[whole:]
    yield from _cut(held + decoder.decode(b"", final=True), size)


def _cut(text: str, size: int | None) -> Iterator[str]:
    step = size or max(len(text), 1)
    for at in range(0, len(text), step):
        yield text[at : at + step]


def _lines(reader: StreamReader, printer: _Printer, pieces: Iterator[str]) -> Iterator[Line]:
    for piece in pieces:
        for event in reader.feed(piece):
            yield from printer.take(event)
    for event in reader.flush():
        yield from printer.take(event)
    yield from printer.finish()


def _print(line: Line) -> None:
    print(output.as_json(line), flush=True)


class _Printer:
    """Turns the reader's events into lines. Joins pieces of prose and thought; drops what is for display only."""

    def __init__(self, foreign: Sequence[ToolSpec]) -> None:
        self._foreign = foreign
        self._text: list[str] = []
        self._thought: list[str] = []
        self._has_calls = False

    def take(self, event: ReaderEvent) -> Iterator[Line]:
        if isinstance(event, Text):
            self._text.append(event.text)
        elif isinstance(event, Thought):
            yield from self._think(event)
        elif line := self._line(event):
            self._has_calls = self._has_calls or line["kind"] in ("tool", "execute", "error")
            yield from self._prose()
            yield line

    def finish(self) -> Iterator[Line]:
        text = "".join(self._text)
        if self._has_calls or not self._foreign:
            yield from self._prose()
            return
        for part in split_foreign(text, self._foreign):
            yield from [_tool(part)] if isinstance(part, Block) else _spoken(part)

    def _think(self, event: Thought) -> Iterator[Line]:
        if not self._thought:
            yield from self._prose()
        self._thought.append(event.text)
        if event.last:
            yield {"kind": "think", "text": "".join(self._thought)}
            self._thought = []

    def _prose(self) -> Iterator[Line]:
        yield from _spoken("".join(self._text))
        self._text = []

    def _line(self, event: ReaderEvent) -> Line | None:
        match event:
            case CallClosed() | CallCut():
                return _tool(event.block)
            case BatchClosed():
                return {"kind": "execute"}
            case Invented():
                return {"kind": "results", "text": event.text}
            case DeclaredEnd():
                return {"kind": "end"}
            case Misread():
                return {"kind": "error", "code": event.code, "text": event.detail}
            case _:
                return None


def _spoken(text: str) -> list[Line]:
    return [{"kind": "text", "text": text}] if text.strip() else []


def _tool(block: Block) -> Line:
    if block.args is not None:
        return {"kind": "tool", "name": block.name, "args": dict(block.args), "partial": block.partial}
    return {
        "kind": "tool",
        "name": block.name,
        "attrs": dict(block.attrs),
        "children": {child.name: _child(child) for child in block.children},
        "body": block.body,
        "partial": block.partial,
    }


def _child(child: Child) -> JsonValue:
    return {**child.attrs, "text": child.text} if child.attrs else child.text
