"""Controls as tests write them: all facts in one flat list, whatever value of `Control` holds them."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from app.agent.policy import Control, ControlKeyboard, ControlScene, ControlWindow

_GROUPS = {
    field.name: group
    for group, kind in (("window", ControlWindow), ("scene", ControlScene), ("keyboard", ControlKeyboard))
    for field in fields(kind)
}


def described(
    window: str = "", app: str = "", role: str = "", name: str = "", default: str = "", **facts: Any
) -> Control:
    """A control in the window of that title."""
    return altered(Control(), title=window, app=app, role=role, name=name, default=default, **facts)


def altered(one: Control, **facts: Any) -> Control:
    """The control with other facts."""
    groups: dict[str, dict[str, Any]] = {}
    own = {name: value for name, value in facts.items() if name not in _GROUPS}
    for name, value in facts.items():
        if name in _GROUPS:
            groups.setdefault(_GROUPS[name], {})[name] = value
    return replace(one, **own, **{group: replace(getattr(one, group), **given) for group, given in groups.items()})
