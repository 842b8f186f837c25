"""Tool shapes read from a file, to parse text against tools that are not ours.

    {"tools": {"write_file": {"attrs": ["path"], "children": ["html"], "body": true, "close": {"html": "last"}}}}

`attrs` may be `["*"]`. Children may carry any attributes. Payloads that often hold their own close tag (`content`,
`diff`, `html`, `command`) end at the last one unless `close` says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.base.errors import WispError
from app.protocol import json_text
from app.protocol.result import JsonValue
from app.protocol.spec import Close, Effect, Param, ToolSpec, unbound

_COLLIDING = frozenset({"content", "diff", "html", "command"})
_FILES = frozenset({"content", "diff", "html"})
_KEYS = frozenset({"attrs", "children", "body", "close"})
_ANY = "*"


class BadShapes(WispError):
    """The file does not describe tools; the sentence says where."""


def shapes_of(text: str) -> tuple[ToolSpec, ...]:
    """The tools a file describes; raises `BadShapes`."""
    try:
        value: JsonValue = json_text.load(text)
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
        children=tuple(_child(child, close.get(child)) for child in children),
        body=Param("", short=False) if shape.get("body") else None,
        open=True,
    )


def _child(name: str, told: Close | None) -> Param:
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
