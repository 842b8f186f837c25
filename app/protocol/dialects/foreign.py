"""Read calls that the model wrote in the format of another agent. Used only if its finished reply has no proper call.

It reads: Wisp's other dialects written as text, Qwen's `<function=name><parameter=name>…`, the `<function_calls>`
`<invoke name="…">` form, JSON objects with name and arguments (alone, in a code fence, as `tool_calls`, in
`<tool_call>`), and inline XML in a code fence that reaches to the end of the reply. It translates well-known tool and
argument names. A call counts only if its tool exists and its markup is complete; everything else stays text. If such
text ends the reply, `unread_call` names it, so that the model can be told that nothing ran.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from app.base import ids
from app.protocol import payload
from app.protocol.call import Block, Child, JsonValue
from app.protocol.dialects.batch import read_batch
from app.protocol.dialects.signs import VOID_ELEMENTS
from app.protocol.dialects.tags import ARGUMENTS, DEFAULTS, ELSEWHERE, TOOLS, names_of, nearest
from app.protocol.dialects.xml import read_xml
from app.protocol.message import CallClosed, CallCut, Misread, ReaderEvent, Text
from app.protocol.payload import without_edge_newlines
from app.protocol.spec import ToolSpec

_MARKUP = re.compile(
    r"<function=(?P<qwen>[\w.-]+)\s*>(?P<qwen_inside>.*?)</function>"
    r"|<invoke\s+name=[\"'](?P<invoke>[\w.-]+)[\"']\s*>(?P<invoke_inside>.*?)</invoke>",
    re.DOTALL,
)
_PARAMETER = re.compile(r"<parameter(?:=([\w.-]+)|\s+name=[\"']([\w.-]+)[\"'])\s*>(.*?)</parameter>", re.DOTALL)
_WRAPPER = re.compile(r"\s*</?(?:function_calls|antml:function_calls|tool_calls?)>\s*")
_FENCE = re.compile(r"(?m)^[ \t]{0,12}(?P<run>`{3,}|~{3,})(?P<info>[^`\r\n]*)\r?$")
_HINT = re.compile(r"<function=|<invoke\s|\"(?:name|function|tool_calls)\"\s*:|```|~~~|<[A-Za-z_]")
_LONGEST = 1_000_000  # Longer replies are not read, because several patterns search the whole text.
_ATTEMPTS = 200
"""The most places in one reply at which the reader tries to parse JSON."""

_ARGUMENT_KEYS = ("arguments", "args", "parameters", "input")


def read_foreign(text: str, specs: Sequence[ToolSpec]) -> list[Block]:
    """Return the calls in a finished reply, in order; [] if none is certain."""
    return [part for part in split_foreign(text, specs) if isinstance(part, Block)]


def split_foreign(text: str, specs: Sequence[ToolSpec]) -> list[str | Block]:
    """Split text into the calls that the model wrote in a foreign format, and the prose between them, in order."""
    if len(text) > _LONGEST or not _HINT.search(text):
        return [text]
    for read in (_from_batch, _from_inline, _from_markup, _from_json, _from_fence):
        parts = read(text, specs)
        if any(isinstance(part, Block) for part in parts):
            return parts
    return [text]


def _from_batch(text: str, specs: Sequence[ToolSpec]) -> list[str | Block]:
    """Read a JSON batch between its tags. All its tools must exist."""
    if "<execute" not in text:
        return []
    reader = read_batch()
    parts = _parts([*reader.feed(text), *reader.flush()])
    known = names_of(specs)
    return parts if all(part.name in known for part in parts if isinstance(part, Block)) else []


def _from_inline(text: str, specs: Sequence[ToolSpec]) -> list[str | Block]:
    """Read inline XML in a reply that should have used a batch."""
    reader = read_xml(specs, elsewhere=ELSEWHERE)
    return _parts([*reader.feed(text), *reader.flush()])


def _parts(events: Sequence[ReaderEvent]) -> list[str | Block]:
    """Return the prose and the calls in order; [] if a call is broken."""
    if any(isinstance(event, (Misread, CallCut)) for event in events):
        return []
    parts: list[str | Block] = []
    for event in events:
        if isinstance(event, CallClosed):
            parts.append(event.block)
        elif isinstance(event, Text):
            parts.append(event.text)
    return parts


def _from_markup(text: str, specs: Sequence[ToolSpec]) -> list[str | Block]:
    parts: list[str | Block] = []
    end = 0
    for found in _MARKUP.finditer(text):
        name, inside = found["qwen"] or found["invoke"], found["qwen_inside"] or found["invoke_inside"] or ""
        given = {one[1] or one[2]: without_edge_newlines(one[3]) for one in _PARAMETER.finditer(inside)}
        block = None if _is_quoted(text, found.start()) else _block(name, given, found.span(), specs)
        if block:
            parts += [_WRAPPER.sub("", text[end : found.start()]), block]
            end = found.end()
    return [*parts, _WRAPPER.sub("", text[end:])] if parts else []


def _is_quoted(text: str, at: int) -> bool:
    """Say whether this place is in inline code or inside a code fence."""
    return text[:at].count("```") % 2 == 1 or text[:at].endswith("`")


def _from_json(text: str, specs: Sequence[ToolSpec]) -> list[str | Block]:
    """Read JSON calls at the end of the reply. JSON that more text follows is an example, not a call."""
    for start, end, value in _json_values(text):
        blocks = [_json_call(item, (start, end), specs) for item in _items(value)]
        known = [block for block in blocks if block]
        if known and len(known) == len(blocks) and not _WRAPPER.sub("", text[end:]).strip("` \r\n\t"):
            before = re.sub(r"```[\w+-]*[ \t]*\r?\n\s*\Z", "", _WRAPPER.sub("\n", text[:start]))
            return [before, *known]
    return []


def _json_values(text: str) -> Iterator[tuple[int, int, JsonValue]]:
    """Yield the JSON objects and arrays that begin a line, with their places. Nested ones are left out."""
    decoder = json.JSONDecoder()
    end = 0
    for attempt, found in enumerate(re.finditer(r"(?m)^[ \t]*(?:<tool_calls?>\s*)?([{\[])", text)):
        if attempt == _ATTEMPTS:
            return
        if found.start(1) < end:
            continue
        try:
            value, end = decoder.raw_decode(text, found.start(1))
        # Deeply nested JSON makes the parser raise RecursionError instead of ValueError.
        except (ValueError, RecursionError):
            continue
        yield found.start(1), end, value


def _items(value: JsonValue) -> Sequence[JsonValue]:
    if isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
        return _items(value["tool_calls"])
    return value if isinstance(value, list) else [value]


def _json_call(item: JsonValue, span: tuple[int, int], specs: Sequence[ToolSpec]) -> Block | None:
    if isinstance(item, dict) and isinstance(item.get("function"), dict):
        item = item["function"]
    if not isinstance(item, dict) or not isinstance(item.get("name"), str):
        return None
    key = next((key for key in _ARGUMENT_KEYS if key in item), None)
    given = item[key] if key else {}
    if isinstance(given, str):
        try:
            given = payload.load(given)
        except (ValueError, RecursionError):  # because some models send the arguments as damaged JSON text
            return None
    return _block(str(item["name"]), given, span, specs) if isinstance(given, dict) else None


def _from_fence(text: str, specs: Sequence[ToolSpec]) -> list[str | Block]:
    """Read Wisp's own calls in a code fence that ends the reply, and the prose before it."""
    fence = _last_fence(text)
    if fence is None:
        return []
    start, inside = fence
    reader = read_xml(specs)
    events = [*reader.feed(inside), *reader.flush()]
    blocks = [event.block for event in events if isinstance(event, CallClosed)]
    said = "".join(event.text for event in events if isinstance(event, Text))
    before = [text[:start]] if text[:start].strip() else []
    return [] if said.strip() else [*before, *blocks]


def _last_fence(text: str) -> tuple[int, str] | None:
    """Return the start and content of a fence that ends the text, closed or not; None if there is none."""
    opened: re.Match[str] | None = None
    for line in _FENCE.finditer(text):
        if opened is None:
            opened = line
        elif line["run"].startswith(opened["run"]) and not line["info"].strip():
            if not text[line.end() :].strip():
                return opened.start(), text[opened.end() : line.start()]
            opened = None
    return (opened.start(), text[opened.end() :]) if opened else None


def _block(name: str, given: Mapping[str, JsonValue], span: tuple[int, int], specs: Sequence[ToolSpec]) -> Block | None:
    """Return the call with Wisp's names, or None if the tool does not exist."""
    spec = _spec(name, specs)
    if spec is None:
        return None
    values = {_argument(key, spec): value for key, value in given.items() if value is not None}
    for key, value in DEFAULTS.get(name.lower(), {}).items():
        if spec.param(key) and key not in values:
            values[key] = value
    children = tuple(Child(key, value) for key, value in values.items() if isinstance(value, str))
    others = {key: json.dumps(value) for key, value in values.items() if not isinstance(value, str)}
    is_ours = name in (spec.name, *spec.aliases)
    return Block(ids.unique("call_"), name if is_ours else spec.name, others, children, span=span)


def _spec(name: str, specs: Sequence[ToolSpec]) -> ToolSpec | None:
    known = {alias: spec for spec in specs for alias in (spec.name, *spec.aliases)}
    candidates = (name, *TOOLS.get(name.lower(), ()))
    return next((known[candidate] for candidate in candidates if candidate in known), None)


def _argument(name: str, spec: ToolSpec) -> str:
    """Return Wisp's name for an argument, or the given name if it is known already or has no translation."""
    if spec.param(name):
        return name
    return next((ours for ours in ARGUMENTS.get(name.lower(), ()) if spec.param(ours)), name)


_LAST_TAG = re.compile(
    r"(?m)(?:^ {0,3}|</(?P<before>[A-Za-z][\w.-]*)>[ \t]*)<(?P<name>[A-Za-z][\w.-]*)"
    r"(?P<attrs>(?:\s+[\w.:-]+\s*=\s*(?:\"[^\"]*\"|'[^']*'))*)\s*"
    r"(?:/>|>(?P<inside>(?s:.*?))</(?P=name)\s*>)\s*\Z"
)
_LAST_MARKUP = re.compile(r"(?m)^ {0,3}<(?:antml:)?(?:tool_calls?|function_calls|invoke|function)\b(?s:.*)[>}]\s*\Z")
_MARKUP_NAME = re.compile(r"(?:\"name\"\s*:\s*\"|function=|name=[\"'])([\w.-]+)")
_GIVEN = re.compile(r"([\w.:-]+)\s*=\s*[\"']|<([A-Za-z][\w.:-]*)[\s/>]")
_LONGEST_LAST = 4096
"""A tag that ends a reply is looked for in this many characters."""


def unread_call(text: str, specs: Sequence[ToolSpec]) -> str:
    """Return the name in a call that ends a finished reply and cannot run, as no tool has its name or its markup cannot
    be read; "" if there is none.

    A tag counts if it stands on lines of its own or directly behind a tool's close tag, outside code, and looks like a
    call: by a name of several words on one line, or by arguments that a tool of a similar name takes (or any tool, for
    a tag that closes itself and is no HTML).
    """
    end = text[-_LONGEST_LAST:]
    markup, tag = _LAST_MARKUP.search(end), _LAST_TAG.search(end)
    last = markup or tag
    if last is None or _is_quoted(text, len(text) - len(end) + last.start()):
        return ""
    if markup or tag is None:
        called = _MARKUP_NAME.search(last[0])
        return called[1] if called else "tool_call"
    name, inside = tag["name"], tag["inside"] or ""
    if tag["before"] and tag["before"] not in names_of(specs):
        return ""
    if name in names_of(specs):  # it has run: what cannot be read of a tool that exists is told where it is read
        return ""
    if "_" in name and "\n" not in tag[0].strip() and "<" not in inside:
        return name
    near = nearest(name, names_of(specs))
    given = {attr or child for attr, child in _GIVEN.findall(f"{tag['attrs']} {inside}")}
    is_bare = tag["inside"] is None and name.lower() not in VOID_ELEMENTS
    alike = [spec for spec in specs if is_bare or near in (spec.name, *spec.aliases)]
    fits = any(all(spec.param(_argument(one, spec)) for one in given) for spec in alike)
    return name if given and fits else ""
