"""The data that a surface saves: one JSON value, read by JSON Pointer (RFC 6901), changed by JSON Patch (RFC 6902).

A patch is applied completely or not at all. Values are plain JSON of limited size and depth, because a surface and a
model may both write anything.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from app.base.clipping import clip_line
from app.base.errors import ToolFailed, ToolMisuse
from app.base.phrases import Phrase

MOST_BYTES = 1_000_000
_MOST_DEPTH = 32
_MOST_STEPS = 500
_SHOWN, _TOLD_CHARS = 80, 300


def encoded(value: Any) -> bytes:
    """The bytes of the value's file. Raises ToolFailed if it is no plain JSON, too large or too deep."""
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
    """Raises ToolFailed if there is no value at the JSON pointer."""
    from jsonpointer import EndOfList, JsonPointer, JsonPointerException

    try:
        found = JsonPointer(pointer).resolve(value)
    except JsonPointerException as error:
        values = {"pointer": pointer[:_SHOWN], "why": clip_line(str(error), _TOLD_CHARS)}
        raise ToolFailed(Phrase("There is nothing at {pointer!r}: {why}.", values)) from None
    if isinstance(found, EndOfList):
        what = "There is nothing at {pointer!r}: - is the place after a list's last item."
        raise ToolFailed(Phrase(what, {"pointer": pointer[:_SHOWN]}))
    return found


def patched(value: Any, patch: Sequence[Any]) -> Any:
    """Return a changed copy of the value. Raises WispError if any operation of the patch cannot be applied."""
    from jsonpatch import InvalidJsonPatch, JsonPatch, JsonPatchException
    from jsonpointer import JsonPointerException

    if not patch:
        raise ToolMisuse("patch: it is empty, so nothing would change.")
    if len(patch) > _MOST_STEPS:
        raise ToolMisuse(f"patch: {len(patch)} operations are too many; give {_MOST_STEPS} at most.")
    value, copied = copy.deepcopy(value), 0
    for number, step in enumerate(patch, 1):
        try:
            _check(step, 0)
            operation = JsonPatch([step])
            if step["op"] == "copy" and isinstance(step.get("from"), str):
                copied += len(json.dumps(resolve(value, step["from"])))
                if copied > MOST_BYTES:  # because copies of copies double the state each time
                    raise ToolFailed(f"The copies have more than the {MOST_BYTES} bytes that a surface keeps.")
            value = operation.apply(value, in_place=True)
        except (JsonPatchException, JsonPointerException, ToolFailed) as error:
            kind = ToolMisuse if isinstance(error, InvalidJsonPatch) else ToolFailed
            raise kind(clip_line(f"patch: operation {number}: {error}", _TOLD_CHARS)) from None
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
