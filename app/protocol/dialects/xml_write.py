"""Writes calls as inline XML that reads back to equal calls, whatever their arguments hold.

Scalars and short texts are attributes. A longer text is a child or the body, in CDATA as soon as it holds markup; where
it holds its own close tag, too, it becomes an attribute, in which entities can spell anything.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from app.protocol import entities, payload
from app.protocol.call import ToolCall
from app.protocol.result import JsonValue
from app.protocol.spec import PROGRESS, Kind, Param, ToolSpec

_LONG = 120
_TEXT = "text"


def write_xml(calls: Sequence[ToolCall], specs: Sequence[ToolSpec]) -> str:
    """The calls, one a line. A call of a tool that is not among the specs is written with attributes only."""
    known = {spec.name: spec for spec in specs}
    return "\n".join(_call(call, known.get(call.name)) for call in calls)


def _call(call: ToolCall, spec: ToolSpec | None) -> str:
    attrs: list[str] = []
    children: list[str] = []
    body = ""
    progress = {PROGRESS.name: call.progress} if call.progress else {}
    for name, value in {**call.arguments, **progress}.items():
        param = (spec.param(name) if spec else None) or (PROGRESS if name in progress else None)
        written = _inside(param, value, spec) if param and spec else None
        if written is None:
            attrs.append(_attribute(name, value))
        elif spec and param is spec.body:
            body = written
        else:
            children.append(written)
    start = " ".join([f"<{call.name}", *attrs])
    inside = "".join(children) + body
    return f"{start}>{inside}</{call.name}>" if inside else f"{start}/>"


def _attribute(name: str, value: JsonValue) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f'{name}="{entities.encode(text)}"'


def _inside(param: Param, value: JsonValue, spec: ToolSpec) -> str | None:
    """The value as body or child; None where only an attribute will do."""
    if param is spec.body and not param.many and not param.attrs:
        return _payload(value, spec.name, param) if isinstance(value, str) else None
    if not param.many:
        return _child(param, value) if param.attrs or _is_long(param, value, spec) else None
    items = [_child(param, item) for item in value] if isinstance(value, (list, tuple)) else []
    texts = [item for item in items if item is not None]
    return "".join(texts) if texts and len(texts) == len(items) else None


def _is_long(param: Param, value: JsonValue, spec: ToolSpec) -> bool:
    return param in spec.children or (isinstance(value, str) and (len(value) > _LONG or "\n" in value))


def _child(param: Param, value: JsonValue) -> str | None:
    attrs = ""
    if param.attrs:
        if not isinstance(value, Mapping) or value.get(_TEXT) == "":
            return None
        attrs = "".join(f" {_attribute(name, item)}" for name, item in value.items() if name != _TEXT)
        value = value.get(_TEXT)
        if value is None:
            return f"<{param.name}{attrs}/>"
    elif param.kind is not Kind.TEXT:
        value = json.dumps(value, ensure_ascii=False)
    text = _payload(value, param.name, param) if isinstance(value, str) else None
    return None if text is None else f"<{param.name}{attrs}>{text}</{param.name}>"


def _payload(text: str, close_name: str, param: Param) -> str | None:
    """The text so that it reads back exactly; None where no payload can."""
    if text and text == text.strip() and text[0].isalnum() and not {"<", "&"} & set(text):
        return text
    if not text or f"</{close_name}" in text:
        return None
    if param.keeps_final_newline:
        return f"{payload.CDATA_START}\n{text}{payload.CDATA_END}"
    return None if text.endswith("\r") else f"{payload.CDATA_START}\n{text}\n{payload.CDATA_END}"
