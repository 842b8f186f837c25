"""Turn a call as the model wrote it into a call that can run. Only this module judges argument values.

XML writes every value as text; JSON gives each value a type. Text is converted to the declared type. A JSON value must
already have it (a bool is no integer). Every complaint is one sentence that names the argument and says how to repair
the call.
"""

from __future__ import annotations

import difflib
import json
import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn

from app.base.errors import ToolMisuse
from app.protocol import payload
from app.protocol.call import Block, Child, JsonValue, ToolCall
from app.protocol.spec import PROGRESS, Effect, Param, ToolSpec, ValueType

_INTEGER = re.compile(r"[+-]?\d{1,300}(?:\.0{1,9})?")
_NUMBER = re.compile(r"[+-]?(?:\d{1,300}(?:\.\d{0,300})?|\.\d{1,300})(?:[eE][+-]?\d{1,3})?")
_LONGEST_CHARS = 10_000
"""Of names, keys, places and the like: no use needs more, and a search for one may take its square in time."""
_TRUE = frozenset({"true", "yes", "1", "on", ""})
_FALSE = frozenset({"false", "no", "0", "off"})
_CALLED = {
    ValueType.TEXT: "text",
    ValueType.INTEGER: "a whole number",
    ValueType.NUMBER: "a number",
    ValueType.FLAG: "true or false",
    ValueType.OBJECT: "a JSON object",
    ValueType.LIST: "a JSON array",
}


def from_text(param: Param, text: str, *, is_item: bool = False) -> JsonValue:
    """Convert text to the parameter's type. `is_item`: the text is one item of a `many` parameter, else all of them.

    Raises ToolMisuse.
    """
    if param.many and not is_item:
        return _checked(param, _json(param, text) if param.attrs else _list(param, text.strip()))
    if param.attrs:
        # Plain words are the child's own text, which models also write as an attribute.
        return _checked(param, _json(param, text) if text.lstrip()[:1] in _OBJECT_STARTS else text, is_item=is_item)
    if param.kind is ValueType.TEXT:
        return _chosen(param, text)
    if not text.strip() and param.kind is not ValueType.FLAG:
        return ""
    return _in_range(param, _READ[param.kind](param, text.strip()))


def from_json(param: Param, value: JsonValue) -> JsonValue:
    """The value, if it has the declared type. Raises ToolMisuse otherwise."""
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
    if param.kind is ValueType.INTEGER and isinstance(value, float):
        value = int(value)
    return _chosen(param, value) if isinstance(value, str) else _in_range(param, value)


def _has_kind(kind: ValueType, value: JsonValue) -> bool:
    if kind in (ValueType.INTEGER, ValueType.NUMBER):
        return _is_number(value, whole=kind is ValueType.INTEGER)
    wanted = {ValueType.TEXT: str, ValueType.FLAG: bool, ValueType.OBJECT: Mapping, ValueType.LIST: list}[kind]
    return isinstance(value, wanted)


def _is_number(value: JsonValue, *, whole: bool) -> bool:
    if isinstance(value, float):
        return math.isfinite(value) and (value.is_integer() or not whole)
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _fields(param: Param, value: JsonValue) -> JsonValue:
    """Of a child that has attributes, with its own text under `text`."""
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
    if param.short and len(text) > _LONGEST_CHARS:
        raise ToolMisuse(f"{param.name} has {len(text)} characters; it may have at most {_LONGEST_CHARS}.")
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
        value: JsonValue = payload.load(text, parse_constant=lambda _name: _wrong(param, text))
    except (ValueError, RecursionError):  # because deep nesting raises RecursionError instead of ValueError
        _wrong(param, text)
    return value


def _object(param: Param, text: str) -> JsonValue:
    value = _json(param, text)
    return value if isinstance(value, dict) else _wrong(param, text)


def _list(param: Param, text: str) -> JsonValue:
    """Read a JSON array. Text without brackets has one item per line, or comma-separated items on one line."""
    if text.startswith("["):
        value = _json(param, text)
        return value if isinstance(value, list) else _wrong(param, text)
    lines = text.split("\n") if "\n" in text else text.split(",")
    return [line.strip() for line in lines if line.strip()]


_READ = {
    ValueType.INTEGER: _integer,
    ValueType.NUMBER: _number,
    ValueType.FLAG: _flag,
    ValueType.OBJECT: _object,
    ValueType.LIST: _list,
}

_OBJECT_STARTS = ("", "{", "[", '"')
_PAIR = re.compile(r"([A-Za-z_]\w*)\s*=\s*\"([^\"]*)\"")
_TAG = re.compile(r"<([A-Za-z_][\w.:-]*)[\s>/]")
_TEXT = "text"
_NUMBERS = re.compile(r"[+-]?\d{1,9}(?:\.\d{1,9})?")


def to_call(spec: ToolSpec, block: Block) -> ToolCall:
    """The block as a typed call of this tool. Raises ToolMisuse for anything the model must repair."""
    if block.partial:
        raise ToolMisuse(f"The call of {spec.name} was cut off; write it again as a whole.")
    given = _from_json(spec, block.args) if block.args is not None else _from_xml(spec, block)
    progress = given.pop(PROGRESS.name, "") if spec.param(PROGRESS.name) is None else ""
    _require(spec, given)
    return ToolCall(
        block.call_id,
        spec.name,
        given,
        progress=progress if isinstance(progress, str) else "",
        notes=block.notes,
    )


def _meant(name: str, names: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(names), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def _param(spec: ToolSpec, name: str) -> Param:
    param = spec.param(name) or (PROGRESS if name == PROGRESS.name else None)
    if param is not None:
        return param
    if spec.open:
        return Param(name, short=False)
    names = [known.name for known in spec.params]
    takes = f" It takes {', '.join(names)}." if names else " It takes no arguments."
    raise ToolMisuse(f"{spec.name} has no argument {name[:60]!r}.{_meant(name[:60], names) or takes}")


def _from_json(spec: ToolSpec, args: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    values: dict[str, JsonValue] = {}
    for name, value in args.items():
        if value is None:
            continue
        if parts := spec.parts_of(name):
            for part, number in _spread(name, parts, value).items():
                _put(values, spec, part, from_json(_param(spec, part), number))
        else:
            param = _param(spec, name)
            if param.name == name or args.get(param.name) is None:
                _put(values, spec, param.name, from_json(param, value))
    return values


def _spread(name: str, parts: Sequence[str], value: JsonValue) -> dict[str, JsonValue]:
    """Split a list of numbers (JSON or text) into the arguments that `parts` names, in order. Raises ToolMisuse."""
    numbers: Sequence[JsonValue] = value if isinstance(value, list) else ()
    if isinstance(value, str):
        numbers = [float(number) if "." in number else int(number) for number in _NUMBERS.findall(value)]
    if len(numbers) != len(parts):
        raise ToolMisuse(f"{name} must hold {len(parts)} numbers; or write {', '.join(parts)}.")
    return dict(zip(parts, numbers, strict=True))


def _from_xml(spec: ToolSpec, block: Block) -> dict[str, JsonValue]:
    values: dict[str, JsonValue] = {}
    for name, text in block.attrs.items():
        if parts := spec.parts_of(name):
            values |= _spread(name, parts, text)
        elif (param := _param(spec, name)).name == name or param.name not in block.attrs:
            _put(values, spec, param.name, from_text(param, text))
    for name, children in _by_name(spec, block.children).items():
        if parts := spec.parts_of(name):
            values |= _spread(name, parts, children[-1].text)
            continue
        param = _param(spec, name)
        read = [_child_value(param, child) for child in children]
        _put(values, spec, name, [item for value in read for item in _items(value)] if param.many else read[-1])
    if block.body:
        _put_body(values, spec, block)
    return values


def _put(values: dict[str, JsonValue], spec: ToolSpec, name: str, value: JsonValue) -> None:
    if not _is_nothing(spec, name, value):
        values[name] = value


def _is_nothing(spec: ToolSpec, name: str, value: JsonValue) -> bool:
    """Say whether an empty value counts as not given: it does for optional values of a fixed form."""
    param = spec.param(name)
    return value == "" and param is not None and (bool(param.choices) or param.kind is not ValueType.TEXT)


def _by_name(spec: ToolSpec, children: Sequence[Child]) -> dict[str, list[Child]]:
    """Group the children by the name of the argument that each of them gives."""
    named: dict[str, list[Child]] = {}
    for child in children:
        param = spec.param(child.name)
        named.setdefault(param.name if param else child.name, []).append(child)
    return named


def _items(value: JsonValue) -> Sequence[JsonValue]:
    return value if isinstance(value, list) else [value]


def _child_value(param: Param, child: Child) -> JsonValue:
    if not param.attrs:
        return from_text(param, child.text, is_item=param.many)
    known = {name: attr for attr in param.attrs for name in (attr.name, *attr.aliases)}
    unknown = next((name for name in child.attrs if name not in known), None)
    if unknown is not None:
        raise ToolMisuse(f"{param.name} has no {unknown!r}; it takes {', '.join(attr.name for attr in param.attrs)}.")
    value: dict[str, JsonValue] = {known[name].name: from_text(known[name], text) for name, text in child.attrs.items()}
    _require_fields(param, value)
    return value | ({_TEXT: child.text} if child.text else {})


def _require_fields(param: Param, value: Mapping[str, JsonValue]) -> None:
    for attr in param.attrs:
        if attr.required and value.get(attr.name, "") == "":
            raise ToolMisuse(f"<{param.name}> needs {attr.name}{_about(attr)}.")


def _put_body(values: dict[str, JsonValue], spec: ToolSpec, block: Block) -> None:
    """Store the text between the tags as the body, as attributes written there, or as the one required text that is
    missing. Else ignore it, unless the call acts and has no other argument.
    """
    if spec.body is not None:
        if spec.body.name not in values:
            _put(values, spec, spec.body.name, from_text(spec.body, block.body))
        return
    stray = block.body.strip()
    known = {param.name for param in spec.params}
    for name, text in _PAIR.findall(stray) if not values else ():
        _put(values, spec, _param(spec, name).name, from_text(_param(spec, name), text))
    for tag in _TAG.findall(stray):
        if not values or difflib.get_close_matches(tag, known, n=1):
            _param(spec, tag)
    missing = [param for param in spec.params if param.required and param.name not in values]
    if stray and len(missing) == 1 and missing[0].kind is ValueType.TEXT and not missing[0].attrs:
        _put(values, spec, missing[0].name, from_text(missing[0], stray))
    if stray and not values and spec.effect is not Effect.READS:
        raise ToolMisuse(f"{spec.name} takes no text between its tags. It takes {', '.join(sorted(known))}.")


def _require(spec: ToolSpec, values: Mapping[str, JsonValue]) -> None:
    for param in spec.params:
        if not param.required:
            continue
        if param.name not in values:
            raise ToolMisuse(f"{spec.name} needs {param.name}{_about(param)}.")
        if param.short and values[param.name] == "":
            raise ToolMisuse(f"{spec.name}: {param.name} is empty; it needs a value.")


def _about(param: Param) -> str:
    return f": {param.description.rstrip('.')}" if param.description else ""
