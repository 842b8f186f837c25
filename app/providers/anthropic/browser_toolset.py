"""Translate calls of Anthropic's browser tools to Wisp's `browser_action`, and declare both beside each other.

Models that have the vendor's newest computer tools have `browser_toolset_20260801`, too. It is declared once
`browser_action` is, and takes over most of its actions. Sources: the vendor's page on the browser use tool, September
2026, and its SDK's types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.protocol.call import JsonValue
from app.providers.anthropic.computer_toolset import Args, Member, Spell, to_our_call

BROWSER_TOOLSET = "browser_toolset_20260801"
BROWSER = "browser"
"""The `toolset_name` of its calls and results."""


def _target(value: Any) -> Args:
    return {"ref": value["ref"]} if value["type"] == "ref" else {"coordinate": f"{value['x']},{value['y']}"}


def _address(value: Any) -> Args:
    """The vendor's addresses may lack the scheme."""
    if value in ("back", "forward", "reload"):
        return {"action": value}
    scheme = "" if "://" in value else "http://" if value.startswith(("localhost", "127.")) else "https://"
    return {"action": "launch", "url": scheme + value}


def _page(args: Mapping[str, Any]) -> Args:
    return {"action": {"up": "scroll_up", "down": "scroll_down"}[args["scroll_direction"]]}


def _tab(value: Any) -> Args:
    return {"number": int(value)}


def _value(value: Any) -> Args:
    return {"text": str(value).lower() if isinstance(value, bool) else str(value)}


def _left_out(_value: Any) -> Args:
    return {}


def _action(action: str, **spelled: Spell) -> Member:
    return Member(
        "browser_action", {"action": action} if action else {}, {"tab_id": _tab, "target": _target, **spelled}
    )


BROWSER_MEMBERS: Mapping[str, Member] = {
    "navigate": _action("", url=_address),
    "screenshot": _action("wait"),
    "left_click": _action("click"),
    "hover": _action("hover"),
    "mouse_move": _action("hover"),
    "scroll": Member(
        "browser_action",
        spelled={"tab_id": _tab, "target": _target, "scroll_amount": _left_out},
        joined=(("scroll_direction",), _page),
    ),
    "scroll_to": _action("hover"),
    "type": _action("type"),
    "key": _action("press", text=lambda keys: {"keys": keys}),
    "form_input": _action("type", value=_value),
    "read_page": _action("read", filter=_left_out, depth=_left_out, ref=_left_out),
    "get_page_text": _action("read"),
    "wait": _action("wait", duration=lambda seconds: {"seconds": seconds}),
    "list_tabs": _action("tab"),
    "switch_tab": _action("tab"),
}
_BROWSER_OFF = (
    *("zoom", "right_click", "middle_click", "double_click", "triple_click", "left_click_drag", "left_mouse_down"),
    *("left_mouse_up", "hold_key", "find", "new_tab", "close_tab"),
)
"""Members that are on unless they are switched off, and that no action of Wisp's browser tool carries out."""
_BROWSER_KEPT = ("launch", "close", "download", "upload")
_BROWSER_ARGUMENTS = frozenset({"action", "url", "ref", "target", "path", "attach"})


def to_browser_call(member: str, args: Args) -> tuple[str, Args]:
    """Return Wisp's tool and its arguments for a call of the vendor's browser tools, as `to_our_call` does."""
    return to_our_call(member, args, BROWSER_MEMBERS, BROWSER)


def with_browser(ours: Sequence[Mapping[str, JsonValue]]) -> list[Mapping[str, JsonValue]]:
    """Return the tools to declare, with the vendor's browser tools in place of the actions that they cover.

    The entry stands where `browser_action` stood, because what is declared before it must not change. Without that
    tool, all stays as it is.
    """
    found: list[Mapping[str, JsonValue]] = []
    for one in ours:
        if one.get("name") == "browser_action":
            found.append({"type": BROWSER_TOOLSET, "configs": {name: {"enabled": False} for name in _BROWSER_OFF}})
            found.append(_beside_browser(one))
        else:
            found.append(one)
    return found


def _beside_browser(one: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    """Only those actions stay that the vendor's tools do not have."""
    shape = one["input_schema"]
    given = shape.get("properties") if isinstance(shape, dict) else None
    if not isinstance(shape, dict) or not isinstance(given, dict):
        return one
    properties = {name: value for name, value in given.items() if name in _BROWSER_ARGUMENTS}
    action = properties.get("action")
    if isinstance(action, dict):
        properties["action"] = {**action, "enum": list(_BROWSER_KEPT)}
    description = (
        "What your browser tools cannot do: launch with attach (the person's own running browser), close, download, "
        "upload. Calls of tools that act outside the browser close it, too."
    )
    return {**one, "description": description, "input_schema": {**shape, "properties": properties}}
