"""Find the call that a finished reply means but that did not run, so that the model can be told how to write it."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence

from app.base.values import dataclass, replace
from app.protocol.call import Block, JsonValue
from app.protocol.dialects.foreign import argument_of, foreign_calls, is_quoted, is_said, without_tokens
from app.protocol.dialects.signs import VOID_ELEMENTS
from app.protocol.dialects.tags import ELSEWHERE, TOOLS, names_of, nearest
from app.protocol.dialects.xml import read_xml
from app.protocol.message import CallClosed, Text
from app.protocol.spec import ToolSpec

_LONGEST = 20_000
"""Longer replies are not searched."""
_LAST_TAG = re.compile(
    r"(?m)(?:^ {0,3}|</(?P<before>[A-Za-z][\w.-]*)>[ \t]*)<(?P<name>[A-Za-z][\w.-]*)"
    r"(?P<attrs>(?:\s+[\w.:-]+\s*=\s*(?:\"[^\"]*\"|'[^']*'))*)\s*"
    r"(?:/>|>(?P<inside>(?s:.*?))</(?P=name)\s*>)\s*\Z"
)
_LAST_MARKUP = re.compile(
    r"(?m)^ {0,3}(?:<(?:antml:)?(?:tool_calls?|function_calls|invoke|function)\b|\{\s*\"(?:name|tool)\"\s*:)(?s:.*)\Z"
)
_MARKUP_NAME = re.compile(r"(?:\"(?:name|tool)\"\s*:\s*\"|function=|name=[\"'])([\w.-]+)")
_GIVEN = re.compile(r"([\w.:-]+)\s*=\s*[\"']|<([A-Za-z][\w.:-]*)[\s/>]")
_LONGEST_LAST = 4096
"""A tag that ends a reply is looked for in this many characters."""
_CODE = re.compile(r"`+|~{3,}")
_CODE_START = re.compile(r"(?m)^[ \t]*(?:`{3,}|~{3,})[^`\r\n]*$")
_BRACKETS = re.compile(r"(?m)^[ \t]*\[([A-Za-z]\w*)((?:\s+\w+\s*=\s*\"[^\"\]\n]*\")*)\s*/?\][ \t]*$")
_WIDE = str.maketrans("＜＞／＝＂＇", "<>/=\"'")


@dataclass(frozen=True, slots=True)
class UnreadCall:
    """A call that did not run. `name` is the tool as the model wrote it; `meant` is the call with the tool and the
    arguments that it probably means, None if no tool is like it. Only if `is_certain`, it can be nothing but a call.
    `is_disguised`: it is a call of Wisp's own in code marks or with other signs, as one writes what shall not run.
    """

    name: str
    meant: Block | None
    is_certain: bool = True
    is_disguised: bool = False


def unread_call(text: str, specs: Sequence[ToolSpec]) -> UnreadCall | None:
    """Return the call that a finished reply without a proper call means; None if it means none."""
    if len(text) > _LONGEST:
        return None
    plain = without_tokens(text)
    return (
        _foreign(plain, specs)
        or _disguised(text, plain, specs)
        or _last_markup(plain, specs)
        or _last_tag(plain, specs)
    )


def meant_by(block: Block, specs: Sequence[ToolSpec]) -> Block | None:
    """The call of a tool that does not exist as one of the tool that is most like it; None if none is."""
    known = {name: spec for spec in specs for name in (spec.name, *spec.aliases)}
    given = {name: value for name, value in (block.args or {}).items() if value is not None}
    attrs = {**block.attrs, **{name: _as_text(value) for name, value in given.items()}}
    name = block.name
    if attrs.get("name") in known:
        name = attrs.pop("name")
    elif "action" in attrs:
        name = f"{name}_{attrs.pop('action')}"
    candidates = (name, *TOOLS.get(name.lower(), ()))
    spec = known.get(next((one for one in candidates if one in known), nearest(name, known)))
    if spec is None or not name.isascii():  # because letters that only look alike are no slip of a model
        return None
    children = tuple(replace(child, name=argument_of(child.name, spec)) for child in block.children)
    attrs = {argument_of(key, spec): value for key, value in attrs.items()}
    return replace(block, name=spec.name, attrs=attrs, children=children, args=None)


def _as_text(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _foreign(plain: str, specs: Sequence[ToolSpec]) -> UnreadCall | None:
    """The last call in another agent's format, if its tool exists, or if it fits the tool most like it."""
    for calls in foreign_calls(plain):
        for call in calls[-1:]:
            meant = meant_by(Block("", call.name, args=call.given), specs)
            if meant and (call.name in names_of(specs) or _fits(meant, specs)):
                return UnreadCall(call.name, meant, not is_said(plain[call.end :]))
    return None


def _fits(meant: Block, specs: Sequence[ToolSpec]) -> bool:
    spec = next(one for one in specs if one.name == meant.name)
    given = [*meant.attrs, *(child.name for child in meant.children)]
    return bool(given) and all(spec.param(name) or spec.parts_of(name) for name in given)


def _disguised(text: str, plain: str, specs: Sequence[ToolSpec]) -> UnreadCall | None:
    """The last call of Wisp's own in code marks, with escaped or wide signs, or in square brackets."""
    shown = html.unescape(plain) if "&lt;" in plain else plain
    shown = _BRACKETS.sub(r"<\1\2/>", _CODE.sub("", _CODE_START.sub("", shown.translate(_WIDE))))
    if shown == text:
        return None
    reader = read_xml(specs, elsewhere=ELSEWHERE)
    events = [*reader.feed(shown), *reader.flush()]
    speech = names_of([spec for spec in specs if spec.voiced])
    blocks = [event.block for event in events if isinstance(event, CallClosed) and event.block.name not in speech]
    if not blocks:
        return None
    said = "".join(event.text for event in events if isinstance(event, Text))
    return UnreadCall(blocks[-1].name, None, not said.strip(), is_disguised=True)


def _last_markup(plain: str, specs: Sequence[ToolSpec]) -> UnreadCall | None:
    """A call in markup or JSON that ends the reply and cannot be read. One that is cut off names a tool."""
    last = _LAST_MARKUP.search(plain, max(0, len(plain) - _LONGEST_LAST))
    if last is None or is_quoted(plain, last.start()):
        return None
    called = _MARKUP_NAME.search(last[0])
    name = called[1] if called else "tool_call"
    is_whole = "<" in last[0][:4] and last[0].rstrip().endswith((">", "}"))
    return UnreadCall(name, meant_by(Block("", name), specs)) if is_whole or name in names_of(specs) else None


def _last_tag(plain: str, specs: Sequence[ToolSpec]) -> UnreadCall | None:
    """Return the tag that ends the reply, if no tool has its name.

    It counts if it stands on lines of its own or directly behind a tool's close tag, outside code, and looks like a
    call: by a name of several words on one line, by arguments that a tool of a similar name takes (or any tool, for
    a tag that closes itself and is no HTML), or by the name of a tool in it.
    """
    tag = _LAST_TAG.search(plain, max(0, len(plain) - _LONGEST_LAST))
    if tag is None or is_quoted(plain, tag.start()) or tag["name"] in names_of(specs):
        return None  # a tool that exists has run: what cannot be read of it is told where it is read
    name, inside = tag["name"], tag["inside"] or ""
    if tag["before"] and tag["before"] not in names_of(specs):
        return None
    reader = read_xml(specs, elsewhere=frozenset([name]))
    written = plain[tag.start("name") - 1 : tag.end()]
    block = next((one.block for one in [*reader.feed(written), *reader.flush()] if isinstance(one, CallClosed)), None)
    meant = meant_by(block, specs) if block else None
    if "_" in name and "\n" not in tag[0].strip() and "<" not in inside:
        return UnreadCall(name, meant)
    if block and meant and block.attrs.keys() - meant.attrs.keys() >= {"name"}:
        return UnreadCall(meant.name, meant)
    given = {attr or child for attr, child in _GIVEN.findall(f"{tag['attrs']} {inside}")}
    is_bare = tag["inside"] is None and name.lower() not in VOID_ELEMENTS
    alike = [spec for spec in specs if is_bare or (meant and meant.name == spec.name)]
    fits = any(all(spec.param(argument_of(one, spec)) for one in given) for spec in alike)
    is_fitting = meant is not None and is_bare and _fits(meant, specs)
    return UnreadCall(name, meant) if given and (fits or is_fitting) else None
