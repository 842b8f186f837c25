"""One argument's value: read from text, or checked as JSON, against what its parameter declares."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import NoReturn

from app.base.errors import ToolMisuse
from app.protocol import json_text
from app.protocol.result import JsonValue
from app.protocol.spec import Kind, Param

_INTEGER = re.compile(r"[+-]?\d{1,300}(?:\.0{1,9})?")
_NUMBER = re.compile(r"[+-]?(?:\d{1,300}(?:\.\d{0,300})?|\.\d{1,300})(?:[eE][+-]?\d{1,3})?")
_TRUE = frozenset({"true", "yes", "1", "on", ""})
_FALSE = frozenset({"false", "no", "0", "off"})
_CALLED = {
    Kind.TEXT: "text",
    Kind.INTEGER: "a whole number",
    Kind.NUMBER: "a number",
    Kind.FLAG: "true or false",
    Kind.OBJECT: "a JSON object",
    Kind.LIST: "a JSON array",
}


def from_text(param: Param, text: str, *, is_item: bool = False) -> JsonValue:
    """The value that a piece of text stands for. `is_item` reads one of several (`many`), otherwise all as JSON."""
    if param.many and not is_item:
        return _checked(param, _json(param, text) if param.attrs else _list(param, text.strip()))
    if param.attrs:
        return _checked(param, _json(param, text), is_item=is_item)
    if param.kind is Kind.TEXT:
        return _chosen(param, text)
    if not text.strip() and param.kind is not Kind.FLAG:
        return ""
    return _in_range(param, _READ[param.kind](param, text.strip()))


def from_json(param: Param, value: JsonValue) -> JsonValue:
    """The value itself if it has the declared type."""
    return _checked(param, value)


def _wrong(param: Param, value: object) -> NoReturn:
    shown = json.dumps(value, ensure_ascii=False, default=str)
    shown = shown if len(shown) <= 60 else shown[:57] + "…"
    wanted = f"a list, each item {_item_called(param)}" if param.many else _item_called(param)
    raise ToolMisuse(f"{param.name} must be {wanted}, not {shown}.")


def _item_called(param: Param) -> str:
    return "an object" if param.attrs else _CALLED[param.kind]


def _checked(param: Param, value: JsonValue, *, is_item: bool = False) -> JsonValue:
    if param.many and not is_item:
        if not isinstance(value, list):
            _wrong(param, value)
        return [_checked(param, item, is_item=True) for item in value]
    if param.attrs:
        return _fields(param, value)
    if param.takes_json and not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False, indent=2)
    if not _has_kind(param.kind, value):
        _wrong(param, value)
    if param.kind is Kind.INTEGER and isinstance(value, float):
        value = int(value)
    return _chosen(param, value) if isinstance(value, str) else _in_range(param, value)


def _has_kind(kind: Kind, value: JsonValue) -> bool:
    if kind in (Kind.INTEGER, Kind.NUMBER):
        return _is_number(value, whole=kind is Kind.INTEGER)
    wanted = {Kind.TEXT: str, Kind.FLAG: bool, Kind.OBJECT: Mapping, Kind.LIST: list}[kind]
    return isinstance(value, wanted)


def _is_number(value: JsonValue, *, whole: bool) -> bool:
    if isinstance(value, float):
        return math.isfinite(value) and (value.is_integer() or not whole)
    return isinstance(value, int) and not isinstance(value, bool)


def _fields(param: Param, value: JsonValue) -> JsonValue:
    """A child with attributes: an object of them, and its text under `text`."""
    if isinstance(value, str):
        value = {"text": value}
    if not isinstance(value, Mapping):
        _wrong(param, value)
    known = {name: attr for attr in param.attrs for name in (attr.name, *attr.aliases)}
    fields: dict[str, JsonValue] = {}
    for name, item in value.items():
        if name in known:
            fields[known[name].name] = _checked(known[name], item)
        elif name == "text" and isinstance(item, str):
            fields[name] = item
        else:
            takes = ", ".join([*(attr.name for attr in param.attrs), "text"])
            raise ToolMisuse(f"{param.name} has no field {name!r}; it takes {takes}.")
    for attr in param.attrs:
        if attr.required and fields.get(attr.name, "") == "":
            raise ToolMisuse(f"{param.name} needs {attr.name}.")
    return fields


def _chosen(param: Param, text: str) -> str:
    if not param.choices or text in param.choices or text == "":
        return text
    folded = text.strip().casefold()
    choice = next((choice for choice in param.choices if choice.casefold() == folded), None)
    if choice is None and param.otherwise:
        return param.otherwise
    if choice is None:
        raise ToolMisuse(f"{param.name} is {text[:60]!r}; choose one of {', '.join(param.choices)}.")
    return choice


def _in_range(param: Param, value: JsonValue) -> JsonValue:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return value
    if param.minimum is not None and value < param.minimum:
        raise ToolMisuse(f"{param.name} is {value}; it must be at least {param.minimum:g}.")
    if param.maximum is not None and value > param.maximum:
        raise ToolMisuse(f"{param.name} is {value}; it must be at most {param.maximum:g}.")
    return value


def _integer(param: Param, text: str) -> JsonValue:
    if not _INTEGER.fullmatch(text):
        _wrong(param, text)
    return int(text.partition(".")[0])


def _number(param: Param, text: str) -> JsonValue:
    if _INTEGER.fullmatch(text):
        return int(text.partition(".")[0])
    if not _NUMBER.fullmatch(text) or not math.isfinite(float(text)):
        _wrong(param, text)
    return float(text)


def _flag(param: Param, text: str) -> JsonValue:
    folded = text.casefold()
    if folded not in _TRUE and folded not in _FALSE:
        _wrong(param, text)
    return folded in _TRUE


def _json(param: Param, text: str) -> JsonValue:
    try:
        value: JsonValue = json_text.load(text, parse_constant=lambda _name: _wrong(param, text))
    except (ValueError, RecursionError):
        _wrong(param, text)
    return value


def _object(param: Param, text: str) -> JsonValue:
    value = _json(param, text)
    return value if isinstance(value, dict) else _wrong(param, text)


def _list(param: Param, text: str) -> JsonValue:
    """A JSON array; without brackets, one item a line, or on one line separated by commas."""
    if text.startswith("["):
        value = _json(param, text)
        return value if isinstance(value, list) else _wrong(param, text)
    lines = text.split("\n") if "\n" in text else text.split(",")
    return [line.strip() for line in lines if line.strip()]


_READ = {Kind.INTEGER: _integer, Kind.NUMBER: _number, Kind.FLAG: _flag, Kind.OBJECT: _object, Kind.LIST: _list}
