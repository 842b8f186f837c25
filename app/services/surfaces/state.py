"""The data that a surface saves: one JSON value, read by JSON Pointer (RFC 6901), changed by JSON Patch (RFC 6902).

A patch is applied completely or not at all. Values are plain JSON of limited size and depth, because a surface and a
model may both write anything.
"""

from __future__ import annotations

import copy
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from app.base.errors import ToolFailed, ToolMisuse

MOST_BYTES = 1_000_000
_MOST_DEPTH = 32
_MOST_STEPS = 500
_INDEX = re.compile(r"0|[1-9]\d{0,8}")
_BAD_ESCAPE = re.compile(r"~(?![01])")
_SHOWN = 80


def encoded(value: Any) -> bytes:
    """Return the value as the bytes of its file. Raises ToolFailed if it is no plain JSON, too large or too deep."""
    _check(value, 0)
    data = json.dumps(value, ensure_ascii=False, indent=1).encode("utf-8", "surrogatepass")
    if len(data) > MOST_BYTES:
        raise ToolFailed(f"The state would have {len(data)} bytes, and a surface keeps {MOST_BYTES} at most.")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        raise ToolFailed("The state holds half of a surrogate pair, which no file can hold.") from None
    return data


def decoded(text: str | bytes) -> Any:
    """Read JSON text. Raises ToolMisuse if it is invalid, also for NaN and for numbers that JSON cannot hold."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ToolMisuse(f"That is no JSON ({error}).") from None


def resolve(value: Any, pointer: str) -> Any:
    """Return the value at a JSON pointer. Raises ToolFailed if there is none."""
    for name in _names(pointer):
        value = _inside(value, name, pointer)
    return value


def patched(value: Any, patch: Sequence[Any]) -> Any:
    """Return a changed copy of the value. Raises WispError if any operation of the patch cannot be applied."""
    if len(patch) > _MOST_STEPS:
        raise ToolMisuse(f"patch: {len(patch)} operations are too many; give {_MOST_STEPS} at most.")
    value = copy.deepcopy(value)
    for number, step in enumerate(patch, 1):
        if not isinstance(step, Mapping) or step.get("op") not in _OPERATIONS:
            raise ToolMisuse(f"patch: operation {number} needs op, one of {', '.join(_OPERATIONS)}.")
        try:
            value = _OPERATIONS[str(step["op"])](value, step)
            if step["op"] == "copy":  # because copies of copies double the state each time
                encoded(value)
        except KeyError as error:
            raise ToolMisuse(f"patch: operation {number} ({step['op']}) needs {error.args[0]}.") from None
        except (ToolFailed, ToolMisuse) as error:
            raise type(error)(f"patch: operation {number} ({step['op']}): {error}") from None
    return value


def _check(value: Any, depth: int) -> None:
    if depth > _MOST_DEPTH:
        raise ToolFailed(f"The state is nested more than {_MOST_DEPTH} levels deep.")
    if isinstance(value, float) and not math.isfinite(value):
        raise ToolFailed("The state holds a number that JSON cannot hold, such as NaN.")
    if isinstance(value, Mapping):
        for name, one in value.items():
            if not isinstance(name, str):
                raise ToolFailed("The state has a name that is no text.")
            _check(one, depth + 1)
    elif isinstance(value, (list, tuple)):
        for one in value:
            _check(one, depth + 1)
    elif value is not None and not isinstance(value, (str, int, float, bool)):
        raise ToolFailed("The state holds something that is no JSON.")


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def _names(pointer: Any) -> list[str]:
    if not isinstance(pointer, str):
        raise ToolMisuse("path: a JSON Pointer is a text, such as /items/0/done.")
    if pointer and not pointer.startswith("/"):
        raise ToolMisuse(f"path: {pointer[:_SHOWN]!r} is no JSON Pointer: it begins with /, as in /items/0/done.")
    if _BAD_ESCAPE.search(pointer):
        raise ToolMisuse(f"path: in {pointer[:_SHOWN]!r} a ~ must be written ~0, and a / in a name ~1.")
    return [name.replace("~1", "/").replace("~0", "~") for name in pointer.split("/")[1:]]


def _inside(value: Any, name: str, pointer: str) -> Any:
    if isinstance(value, dict) and name in value:
        return value[name]
    if isinstance(value, list) and _INDEX.fullmatch(name) and int(name) < len(value):
        return value[int(name)]
    there = f" It has {', '.join(sorted(value)[:12])}." if isinstance(value, dict) and value else ""
    long = f" The list has {len(value)} items." if isinstance(value, list) else ""
    raise ToolFailed(f"There is nothing at {pointer[:_SHOWN]!r}.{there}{long}")


def _parent(value: Any, pointer: Any) -> tuple[Any, str]:
    """Return the object or list that contains the pointer's target, and the pointer's last part."""
    *above, last = _names(pointer)
    for name in above:
        value = _inside(value, name, pointer)
    if not isinstance(value, (dict, list)):
        raise ToolFailed(f"{pointer[:_SHOWN]!r} leads into a value that holds nothing.")
    return value, last


def _add(value: Any, step: Mapping[str, Any]) -> Any:
    return _put(value, step["path"], copy.deepcopy(step["value"]))


def _put(value: Any, pointer: Any, new: Any) -> Any:
    if not _names(pointer):
        return new
    holder, last = _parent(value, pointer)
    if isinstance(holder, dict):
        holder[last] = new
    elif last == "-":
        holder.append(new)
    elif _INDEX.fullmatch(last) and int(last) <= len(holder):
        holder.insert(int(last), new)
    else:
        raise ToolFailed(f"{pointer[:_SHOWN]!r} is no place in a list of {len(holder)} items; - is its end.")
    return value


def _remove(value: Any, step: Mapping[str, Any]) -> Any:
    pointer = step["path"]
    resolve(value, pointer)
    if not _names(pointer):
        return None
    holder, last = _parent(value, pointer)
    del holder[int(last) if isinstance(holder, list) else last]
    return value


def _replace(value: Any, step: Mapping[str, Any]) -> Any:
    pointer, new = step["path"], copy.deepcopy(step["value"])
    resolve(value, pointer)
    if not _names(pointer):
        return new
    holder, last = _parent(value, pointer)
    holder[int(last) if isinstance(holder, list) else last] = new
    return value


def _move(value: Any, step: Mapping[str, Any]) -> Any:
    source, target = _names(step["from"]), _names(step["path"])
    if source != target and target[: len(source)] == source:
        raise ToolFailed("It cannot be moved into itself.")
    moved = resolve(value, step["from"])
    return _put(_remove(value, {"path": step["from"]}), step["path"], moved)


def _copy(value: Any, step: Mapping[str, Any]) -> Any:
    return _put(value, step["path"], copy.deepcopy(resolve(value, step["from"])))


def _test(value: Any, step: Mapping[str, Any]) -> Any:
    expected, found = step["value"], resolve(value, step["path"])
    # As text, because to Python true equals 1.
    if json.dumps(found, sort_keys=True) != json.dumps(expected, sort_keys=True):
        raise ToolFailed(f"{step['path']!r} is {json.dumps(found, ensure_ascii=False)[:_SHOWN]} by now.")
    return value


_OPERATIONS: Mapping[str, Callable[[Any, Mapping[str, Any]], Any]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}
