"""Translate between Anthropic's own computer tools and Wisp's tools, and between their arguments.

Models that have `computer_toolset_20260801` get it in place of Wisp's tools that it covers. Older models have one tool
named `computer` whose `action` names the member. A call of such a tool becomes a call of Wisp's tool, so that the
policy, the cards and the execution need not know the vendor. In the history it is the member's call again, exactly as
the model wrote it. Source: the vendor's page on the computer use tool, September 2026, and its SDK's types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from app.base.geometry import Size
from app.base.values import dataclass, field
from app.protocol.call import JsonValue

TOOLSET = "computer_toolset_20260801"
FAMILY = "computer"
BETAS = {"computer_20251124": "computer-use-2025-11-24", "computer_20250124": "computer-use-2025-01-24"}

Args = Mapping[str, JsonValue]
Spell = Callable[[Any], Args]


def _point(value: Any) -> Args:
    x, y = value
    return {"x": x, "y": y}


def _named(name: str) -> Spell:
    return lambda value: {name: value}


def _region(value: Any) -> Args:
    left, top, right, bottom = value
    return {"region": f"{left},{top},{right},{bottom}"}


def _hold(value: Any) -> Args:
    return {"hold_ms": round(value * 1000)}


def _path(args: Mapping[str, Any]) -> Args:
    (x0, y0), (x1, y1) = args["start_coordinate"], args["coordinate"]
    return {"path": f"{x0},{y0} {x1},{y1}"}


_NOTCHES = {"up": ("dy", -1), "down": ("dy", 1), "left": ("dx", -1), "right": ("dx", 1)}


def _notches(args: Mapping[str, Any]) -> Args:
    axis, sign = _NOTCHES[args["scroll_direction"]]
    return {axis: sign * args["scroll_amount"]}


@dataclass(frozen=True, slots=True)
class Member:
    """How one member of the vendor's tool is expressed with Wisp's `tool`.

    `fixed` arguments are always given. `spelled` converts single arguments; `joined` converts the arguments that it
    names together. All other arguments pass unchanged, and Wisp's tool checks them.
    """

    tool: str
    fixed: Args = field(default_factory=dict)
    spelled: Mapping[str, Spell] = field(default_factory=dict)
    joined: tuple[tuple[str, ...], Callable[[Mapping[str, Any]], Args]] | None = None


_HELD = {"text": _named("modifiers")}
_AT = {"coordinate": _point}

MEMBERS: Mapping[str, Member] = {
    "screenshot": Member("screen_capture"),
    "zoom": Member("zoom", spelled={"region": _region}),
    "left_click": Member("computer_click", spelled=_AT | _HELD),
    "right_click": Member("computer_click", {"button": "right"}, _AT | _HELD),
    "middle_click": Member("computer_click", {"button": "middle"}, _AT | _HELD),
    "double_click": Member("computer_click", {"count": 2}, _AT | _HELD),
    "triple_click": Member("computer_click", {"count": 3}, _AT | _HELD),
    "left_click_drag": Member("computer_drag", spelled=_HELD, joined=(("start_coordinate", "coordinate"), _path)),
    "mouse_move": Member("computer_move", spelled=_AT),
    "left_mouse_down": Member("mouse_down"),
    "left_mouse_up": Member("mouse_up"),
    "cursor_position": Member("cursor_position"),
    "scroll": Member("computer_scroll", spelled=_AT | _HELD, joined=(("scroll_direction", "scroll_amount"), _notches)),
    "type": Member("computer_type"),
    "key": Member("computer_key", spelled={"text": _named("keys")}),
    "hold_key": Member("computer_key", spelled={"text": _named("keys"), "duration": _hold}),
    "wait": Member("wait", spelled={"duration": _named("seconds")}),
}
_NEEDED = frozenset({"screen_capture", "computer_click"})
_BY_NAME = ("computer_click", frozenset({"x", "y", "capture", "space"}))
"""Wisp's click stays declared beside the vendor's, without screen places, because only Wisp's takes names and refs."""

_OLDEST = "computer_20250124"
_NOT_IN_OLDEST = frozenset({"zoom"})


def to_our_call(
    member: str, args: Args, members: Mapping[str, Member] = MEMBERS, family: str = FAMILY
) -> tuple[str, Args]:
    """Return Wisp's tool and its arguments for a vendor's call.

    An unknown member, or arguments of another form, pass unchanged, so that Wisp refuses them with its usual sentences.
    """
    known = members.get(member)
    if known is None:
        return f"{family}.{member}", args
    rest = dict(args)
    ours: dict[str, JsonValue] = dict(known.fixed)
    try:
        if known.joined and all(name in rest for name in known.joined[0]):
            ours |= known.joined[1](rest)
            rest = {name: value for name, value in rest.items() if name not in known.joined[0]}
        for name, spell in known.spelled.items():
            if rest.get(name) is not None:
                ours |= spell(rest[name])
            rest.pop(name, None)
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError):
        # Let the tool refuse them, because the model may send arguments of any form.
        return known.tool, args
    return known.tool, ours | rest


def declared(tool: str, ours: Sequence[Mapping[str, JsonValue]], screen: Size) -> list[Mapping[str, JsonValue]]:
    """Return the tools to declare: the vendor's own, and those of Wisp's tools (`ours`) that the vendor's do not cover.

    Wisp's click is still declared, for clicks by name and by ref. Members without a tool of Wisp's are disabled. If
    Wisp's tools control no screen, only Wisp's are declared.
    """
    names = {str(one["name"]) for one in ours}
    if not tool or not names >= _NEEDED:
        return list(ours)
    covered = {member.tool for name, member in MEMBERS.items() if tool != _OLDEST or name not in _NOT_IN_OLDEST}
    kept = [_by_name(one) for one in ours if one["name"] not in covered or one["name"] == _BY_NAME[0]]
    return [_entry(tool, names, screen), *kept]


def _by_name(one: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    """Without the arguments that the vendor's clicks cover; any tool but the click is unchanged."""
    shape = one["input_schema"]
    given = shape.get("properties") if isinstance(shape, dict) else None
    if one["name"] != _BY_NAME[0] or not isinstance(shape, dict) or not isinstance(given, dict):
        return one
    properties = {name: value for name, value in given.items() if name not in _BY_NAME[1]}
    description = "Click by what is written there (target; surest) or by ref."
    return {**one, "description": description, "input_schema": {**shape, "properties": properties}}


def _entry(tool: str, names: Iterable[str], screen: Size) -> Mapping[str, JsonValue]:
    missing = [name for name, member in MEMBERS.items() if member.tool not in names]
    if tool == TOOLSET:
        return {"type": tool} | ({"configs": {name: {"enabled": False} for name in missing}} if missing else {})
    entry: dict[str, JsonValue] = {
        "type": tool,
        "name": FAMILY,
        "display_width_px": screen.width,
        "display_height_px": screen.height,
    }
    if tool == "computer_20251124" and "zoom" not in missing:
        entry["enable_zoom"] = True
    return entry
