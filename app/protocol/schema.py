"""JSON Schemas of tools, as native tool use declares them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from app.protocol.result import JsonValue
from app.protocol.spec import PROGRESS, Kind, Param, ToolSpec


def of_tool(spec: ToolSpec) -> dict[str, JsonValue]:
    """The schema of a tool's arguments as one object. Nothing undeclared is allowed."""
    return _object(spec.params if spec.param(PROGRESS.name) else (*spec.params, PROGRESS), closed=not spec.open)


def compact(
    spec: ToolSpec, known: set[Param], *, is_brief: bool = False, has_progress: bool = False
) -> dict[str, JsonValue]:
    """The same in as few characters as it can be said, without bounds, which are judged anyway: an argument that is in
    `known` was described before, and joins it here. A brief schema holds only what must be given.
    """
    if is_brief:
        params = tuple(replace(_bare(param), description="") for param in spec.params if param.required)
    else:
        params = tuple(_undescribed(param, known) for param in spec.params)
    return _object((*params, PROGRESS) if has_progress else params, closed=None)


def _undescribed(param: Param, known: set[Param]) -> Param:
    if param in known:
        return replace(_bare(param), description="")
    known.add(param)
    return replace(_bare(param), choices=param.choices, attrs=tuple(_undescribed(attr, known) for attr in param.attrs))


def _bare(param: Param) -> Param:
    """Without what only limits its values."""
    return replace(param, minimum=None, maximum=None, choices=())


def _object(params: Sequence[Param], *, closed: bool | None) -> dict[str, JsonValue]:
    """With `closed` None it is not said whether more is allowed."""
    properties: dict[str, JsonValue] = {param.name: of_param(param) for param in params}
    required = [param.name for param in params if param.required]
    return {
        "type": "object",
        "properties": properties,
        **({"required": required} if required else {}),
        **({} if closed is None else {"additionalProperties": not closed}),
    }


def of_param(param: Param) -> dict[str, JsonValue]:
    """The schema of one argument; a child with attributes is an object, a repeated one an array."""
    if param.many:
        return _described(param, {"type": "array", "items": _value(param)})
    return _described(param, _value(param))


def _described(param: Param, schema: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return {**schema, **({"description": param.description} if param.description else {})}


def _value(param: Param) -> dict[str, JsonValue]:
    if param.attrs:
        return _object((*param.attrs, Param("text", description="the text inside")), closed=True)
    schema: dict[str, JsonValue] = {"type": param.kind.value}
    if param.kind is Kind.LIST:
        schema["items"] = {}
    if param.choices:
        schema["enum"] = list(param.choices)
    if param.minimum is not None:
        schema["minimum"] = _plain(param.minimum)
    if param.maximum is not None:
        schema["maximum"] = _plain(param.maximum)
    return schema


def _plain(number: float) -> JsonValue:
    return int(number) if float(number).is_integer() else number
