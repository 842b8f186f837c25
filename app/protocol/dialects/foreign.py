"""Read calls that the model wrote in the format of another agent. Used only if its finished reply has no proper call.

It reads: Wisp's other dialects written as text, Qwen's `<function=name><parameter=name>…`, the `<function_calls>`
`<invoke name="…">` form, GLM's `<arg_key>`, JSON objects with name and arguments (alone, in a code fence, as
`tool_calls`, in `<tool_call>`), a tool's name in front of a JSON object (ReAct, and the chat templates of Mistral,
DeepSeek, Kimi and gpt-oss), calls in Python, and inline XML in a code fence that reaches to the end of the reply. It
translates well-known tool and argument names. A call counts only if its tool exists and its markup is complete;
everything else stays text. What such text may mean tells `unread`.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from app.base import ids
from app.base.values import dataclass
from app.protocol import payload
from app.protocol.call import Block, Child, JsonValue
from app.protocol.dialects.batch import read_batch
from app.protocol.dialects.tags import ARGUMENTS, DEFAULTS, ELSEWHERE, TOOLS, names_of
from app.protocol.dialects.xml import read_xml
from app.protocol.message import CallClosed, CallCut, Misread, ReaderEvent, Text
from app.protocol.payload import without_edge_newlines
from app.protocol.spec import ToolSpec

_DSML = re.compile(r"<(/?)[|｜]DSML[|｜](\w+)")
_TOKEN = re.compile(r"<[|｜][^<>|｜\n]{1,48}[|｜]>|\[/?(?:TOOL_CALLS|ARGS)\]")
_MARKUP = re.compile(
    r"<function=(?P<qwen>[\w.-]+)\s*>(?P<qwen_inside>.*?)</function>"
    r"|<invoke\s+name=[\"'](?P<invoke>[\w.-]+)[\"']\s*>(?P<invoke_inside>.*?)</invoke\s*>"
    r"|<tool_call>\s*(?P<glm>[\w.-]+)\s*(?P<glm_inside><arg_key>.*?)</tool_call>",
    re.DOTALL,
)
_PARAMETER = re.compile(
    r"<parameter(?:=([\w.-]+)|\s+name=[\"']([\w.-]+)[\"'])[^<>]*>(.*?)</parameter\s*>"
    r"|<arg_key>([\w.-]+)</arg_key>\s*<arg_value>(.*?)</arg_value>",
    re.DOTALL,
)
_WRAPPER = re.compile(r"\s*</?(?:function_calls|antml:function_calls|tool_calls?)\s*>\s*")
_FENCE_START = re.compile(r"```[\w+-]*[ \t]*\r?\n\s*\Z")
_NAMED = re.compile(
    r"(?m)^[ \t]*(?:commentary\s+to=|Action\s*:)?[ \t]*(?:functions\.)?(?P<name>[A-Za-z_][\w.-]{0,63})(?::\d+)?"
    r"(?:[\s`]|json\b|(?:Action Input|Input|Arguments)\s*:)*+(?=\{)"
)
_PYTHON = re.compile(r"(?m)^[ \t]*(?=\[?(?:print\()?(?:[A-Za-z_]\w*\.){0,4}[A-Za-z_]\w*\()")
_PYTHON_MODULE = re.compile(r"(?:functions|default_api|tools)\.")
_FENCE = re.compile(r"(?m)^[ \t]{0,12}(?P<run>`{3,}|~{3,})(?P<info>[^`\r\n]*)\r?$")
_HINT = re.compile(r"[<{(`~]")
_LONGEST = 1_000_000  # Longer replies are not read, because several patterns search the whole text.
_LONGEST_PYTHON = 4096
_PYTHON_ATTEMPTS = 8
_ATTEMPTS = 200
"""The most places in one reply at which the reader tries to parse JSON."""

_NAME_KEYS = ("name", "tool", "tool_name", "action")
_ARGUMENT_KEYS = ("arguments", "args", "parameters", "input", "tool_input", "action_input", "params")


@dataclass(frozen=True, slots=True)
class ForeignCall:
    """A call with the names that the model used, and its place in the text. Its tool may not exist."""

    name: str
    given: Mapping[str, JsonValue]
    start: int
    end: int


def read_foreign(text: str, specs: Sequence[ToolSpec]) -> list[Block]:
    """In order; [] if no call is certain."""
    return [part for part in split_foreign(text, specs) if isinstance(part, Block)]


def split_foreign(text: str, specs: Sequence[ToolSpec]) -> list[str | Block]:
    """Split text into the calls that the model wrote in a foreign format, and the prose between them, in order."""
    if len(text) > _LONGEST or not _HINT.search(text):
        return [text]
    plain = without_tokens(text)
    for read in (_from_batch, _from_inline, _from_markup, _from_end, _from_fence):
        parts = read(plain, specs)
        if any(isinstance(part, Block) for part in parts):
            return parts
    return [text]


def without_tokens(text: str) -> str:
    """Blanks take the place of the marks of chat templates. All else keeps its place."""
    plain = _DSML.sub(lambda mark: f"<{mark[1]}{mark[2]}".ljust(len(mark[0])), text)
    return _TOKEN.sub(lambda token: "\n".ljust(len(token[0])), plain)


def foreign_calls(plain: str) -> Iterator[list[ForeignCall]]:
    """Yield what each of the foreign formats finds in a text without tokens, in order."""
    for find in (_in_markup, _in_json, _behind_names, _in_python):
        yield list(find(plain))


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
    """Prose and calls in order; [] if a call is broken."""
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
    for call in _in_markup(text):
        if block := block_of(call, specs):
            parts += [_WRAPPER.sub("", text[end : call.start]), block]
            end = call.end
    return [*parts, _WRAPPER.sub("", text[end:])] if parts else []


def _in_markup(text: str) -> Iterator[ForeignCall]:
    for found in _MARKUP.finditer(text):
        kind = found.lastgroup.removesuffix("_inside") if found.lastgroup else ""
        if not is_quoted(text, found.start()):
            yield ForeignCall(found[kind], _parameters(found[f"{kind}_inside"]), *found.span())


def _parameters(inside: str) -> Mapping[str, JsonValue]:
    """Either tags of their own or a JSON object."""
    if inside.lstrip().startswith("{"):
        try:
            given: JsonValue = payload.load(inside)
        except (ValueError, RecursionError):
            return {}
        return given if isinstance(given, dict) else {}
    found = _PARAMETER.finditer(inside)
    return {one[1] or one[2] or one[4]: without_edge_newlines(one[3] or one[5] or "") for one in found}


def is_quoted(text: str, at: int) -> bool:
    """Say whether this place is in inline code or inside a code fence."""
    return text[:at].count("```") % 2 == 1 or text[:at].endswith("`")


def _from_end(text: str, specs: Sequence[ToolSpec]) -> list[str | Block]:
    """Read the calls that end the reply, one behind the other. What more text follows is an example, not a call."""
    for calls in (list(_in_json(text)), list(_behind_names(text)), list(_in_python(text))):
        last: list[ForeignCall] = []
        for call in calls:
            last = [call] if last and is_said(text[last[-1].end : call.start]) else [*last, call]
        blocks = [block for call in last if (block := block_of(call, specs))]
        if blocks and len(blocks) == len(last) and not is_said(text[last[-1].end :]):
            return [_FENCE_START.sub("", _WRAPPER.sub("\n", text[: last[0].start])), *blocks]
    return []


def is_said(text: str) -> bool:
    """False if the text is only the marks around a call."""
    return bool(_WRAPPER.sub("", re.sub(r"```[\w+-]*", "", text)).strip("` \r\n\t"))


def _in_json(text: str) -> Iterator[ForeignCall]:
    for start, end, value in _json_values(text):
        calls = [_json_call(item, start, end) for item in _items(value)]
        if all(calls):
            yield from filter(None, calls)


def _behind_names(text: str) -> Iterator[ForeignCall]:
    """Find JSON objects that stand behind a name at the beginning of a line."""
    decoder = json.JSONDecoder()
    end = 0
    for found in islice(_NAMED.finditer(text), _ATTEMPTS):
        if found.start() < end:
            continue
        try:
            value, end = decoder.raw_decode(text, found.end())
        except (ValueError, RecursionError):
            continue
        yield ForeignCall(found["name"], value, found.start(), end)


def _in_python(text: str) -> Iterator[ForeignCall]:
    """Find calls in Python that end the text, whose arguments are constants with names."""
    end = len(text.rstrip("` \r\n\t"))
    if not text.endswith((")", "]"), 0, end):
        return
    for found in islice(_PYTHON.finditer(text, max(0, end - _LONGEST_PYTHON), end), _PYTHON_ATTEMPTS):
        try:
            tree = ast.parse(text[found.end() : end])
            calls = [_python_call(node) for one in tree.body for node in _python_calls(one)]
        except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
            continue
        yield from (ForeignCall(name, given, found.end(), end) for name, given in calls)
        return


def _python_calls(node: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls that a statement consists of. Raises ValueError for any other statement."""
    match node:
        case ast.Expr(value=ast.List(elts=items)):
            for item in items:
                yield from _python_calls(ast.Expr(item))
        case ast.Expr(value=ast.Call(func=ast.Name(id="print"), args=[shown])):
            yield from _python_calls(ast.Expr(shown))
        case ast.Expr(value=ast.Call(args=[]) as call):
            yield call
        case _:
            raise ValueError(node)


def _python_call(call: ast.Call) -> tuple[str, Mapping[str, JsonValue]]:
    given: dict[str, JsonValue] = {str(one.arg): ast.literal_eval(one.value) for one in call.keywords}
    # Written as JSON once, because a Python constant may be one that JSON does not have.
    return _PYTHON_MODULE.sub("", ast.unparse(call.func)), json.loads(json.dumps(given))


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


def _json_call(item: JsonValue, start: int, end: int) -> ForeignCall | None:
    if isinstance(item, dict) and isinstance(item.get("function"), dict):
        item = item["function"]
    if not isinstance(item, dict):
        return None
    name = next((item[key] for key in _NAME_KEYS if isinstance(item.get(key), str)), None)
    given: JsonValue = next((item[key] for key in _ARGUMENT_KEYS if key in item), {})
    if isinstance(given, str):
        try:
            given = payload.load(given)
        except (ValueError, RecursionError):  # because some models send the arguments as damaged JSON text
            return None
    return ForeignCall(str(name), given, start, end) if name and isinstance(given, dict) else None


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
    """The start and content of a fence that ends the text, closed or not; None if there is none."""
    opened: re.Match[str] | None = None
    for line in _FENCE.finditer(text):
        if opened is None:
            opened = line
        elif line["run"].startswith(opened["run"]) and not line["info"].strip():
            if not text[line.end() :].strip():
                return opened.start(), text[opened.end() : line.start()]
            opened = None
    return (opened.start(), text[opened.end() :]) if opened else None


def block_of(call: ForeignCall, specs: Sequence[ToolSpec], meant: ToolSpec | None = None) -> Block | None:
    """Return the call with Wisp's names, or None if the tool does not exist. `meant` is the tool, if it is known."""
    spec = meant or _spec(call.name, specs)
    if spec is None:
        return None
    values = {argument_of(key, spec): value for key, value in call.given.items() if value is not None}
    for key, value in DEFAULTS.get(call.name.lower(), {}).items():
        if spec.param(key) and key not in values:
            values[key] = value
    children = tuple(Child(key, value) for key, value in values.items() if isinstance(value, str))
    others = {key: json.dumps(value) for key, value in values.items() if not isinstance(value, str)}
    name = call.name if call.name in (spec.name, *spec.aliases) else spec.name
    return Block(ids.unique("call_"), name, others, children, span=(call.start, call.end))


def _spec(name: str, specs: Sequence[ToolSpec]) -> ToolSpec | None:
    known = {alias: spec for spec in specs for alias in (spec.name, *spec.aliases)}
    candidates = (name, *TOOLS.get(name.lower(), ()))
    return next((known[candidate] for candidate in candidates if candidate in known), None)


def argument_of(name: str, spec: ToolSpec) -> str:
    """Return Wisp's name for an argument, or the given name if it is known already or has no translation."""
    if spec.param(name):
        return name
    return next((ours for ours in ARGUMENTS.get(name.lower(), ()) if spec.param(ours)), name)
