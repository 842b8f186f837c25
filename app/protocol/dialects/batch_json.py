"""From the text of a batch to its calls: strict JSON, all or nothing, every complaint with its place and its repair."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import NoReturn

from app.protocol import json_text
from app.protocol.limits import Limits
from app.protocol.result import JsonValue

_FENCE = re.compile(r"\s*```[\w+-]*[ \t]*\r?\n(.*?)\r?\n?[ \t]*```\s*", re.DOTALL)
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\Z)|[\[{\]}]', re.DOTALL)
"""Possessive, because every step that could be taken back is remembered, and strings are long."""


class BadBatch(Exception):
    """`detail` is a stable word, `offset` a place in the batch's text; the message is what is wrong and the repair."""

    def __init__(self, detail: str, offset: int, sentence: str) -> None:
        super().__init__(sentence)
        self.detail = detail
        self.offset = offset


class _Unfit(Exception):
    """JSON that Python would take and nobody else; `token` is how it is written."""

    def __init__(self, token: str, sentence: str) -> None:
        super().__init__(sentence)
        self.token = token


def calls_of(text: str, limits: Limits) -> list[tuple[str, Mapping[str, JsonValue]]]:
    """Name and arguments of every call, in order; raises `BadBatch`. One code fence around the array is forgiven."""
    fence = _FENCE.fullmatch(text)
    start = fence.start(1) if fence else 0
    try:
        return _calls(fence[1] if fence else text, limits)
    except BadBatch as bad:
        raise BadBatch(bad.detail, bad.offset + start, str(bad)) from None


def _calls(text: str, limits: Limits) -> list[tuple[str, Mapping[str, JsonValue]]]:
    _check_depth(text, limits.json_depth)
    value = _loaded(text)
    if not isinstance(value, list):
        raise BadBatch("not_array", _first(text), 'the batch must be a JSON array, [{"name": …, "args": {…}}]')
    if len(value) > limits.calls_per_batch:
        raise BadBatch("too_many_calls", 0, f"{len(value)} calls; a batch holds at most {limits.calls_per_batch}")
    return [_call(item, number, text) for number, item in enumerate(value, start=1)]


def _call(item: JsonValue, number: int, text: str) -> tuple[str, Mapping[str, JsonValue]]:
    def bad(detail: str, sentence: str) -> NoReturn:
        raise BadBatch(detail, _first(text), f"call {number} {sentence}")

    if not isinstance(item, dict):
        bad("element_not_object", 'is no object; write {"name": …, "args": {…}}')
    for key in ("name", "args"):
        if key not in item:
            bad(f"missing_{key}", f'has no "{key}"; write {{"name": …, "args": {{…}}}}')
    name, args = item["name"], item["args"]
    if not isinstance(name, str) or not name:
        bad("bad_name", 'has a "name" that is no text')
    if not isinstance(args, dict):
        bad("bad_args", 'has "args" that are no object')
    return name, args


def _loaded(text: str) -> JsonValue:
    try:
        value: JsonValue = json_text.load(
            text, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_without_duplicates
        )
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise BadBatch("invalid_json", error.pos, f"{_repair(error)} ({place})") from None
    except RecursionError:
        raise BadBatch("too_deep", 0, "the JSON is nested too deeply") from None
    except _Unfit as unfit:
        offset = max(text.rfind(unfit.token), 0)
        place = f"line {text.count(chr(10), 0, offset) + 1}, column {offset - text.rfind(chr(10), 0, offset)}"
        raise BadBatch("invalid_json", offset, f"{unfit} ({place})") from None
    except ValueError as error:
        raise BadBatch("invalid_json", 0, str(error)) from None
    return value


def _repair(error: json.JSONDecodeError) -> str:
    if error.msg.startswith("Invalid control character"):
        return r"a string holds a raw line break or control character; write \n instead"
    if error.msg.startswith("Invalid \\escape"):
        return r"a string holds a lone backslash; write \\ instead"
    if error.pos >= len(error.doc.rstrip()):
        return "the array is not closed; end it with ]"
    return error.msg[:1].lower() + error.msg[1:]


def _no_constant(name: str) -> NoReturn:
    raise _Unfit(name, f"{name} is no JSON; use a number or null")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise _Unfit(text, f"the number {text[:40]} is too large")
    return value


def _without_duplicates(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _Unfit(json.dumps(twice), f'the key "{twice[:40]}" stands twice in one object; keep one')
    return value


def _check_depth(text: str, limit: int) -> None:
    depth = 0
    for found in _STRING_OR_BRACKET.finditer(text):
        if text[found.start()] in "[{":
            depth += 1
        elif text[found.start()] in "]}":
            depth -= 1
        if depth > limit:
            raise BadBatch("too_deep", found.start(), f"the JSON is nested deeper than {limit} levels; flatten it")


def _first(text: str) -> int:
    return len(text) - len(text.lstrip())
