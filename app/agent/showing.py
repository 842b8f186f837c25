"""What leaves the agent for a person's eyes hides and reorders no words; what is asked of them shows every sign."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from app.agent.events import AgentEvent, ApprovalWanted, StateChanged, UsageChanged
from app.base import signs

_PICTURES = "media"


def showable(event: AgentEvent) -> AgentEvent:
    """The event with all its texts made plain; the same event where nothing had to change."""
    if isinstance(event, (StateChanged, UsageChanged)):
        return event
    clean = signs.revealed if isinstance(event, ApprovalWanted) else signs.bare
    changes: dict[str, Any] = {}
    for name in event.__slots__:
        if name != _PICTURES:
            old = getattr(event, name)
            new = _cleaned(old, clean)
            if new is not old:
                changes[name] = new
    return dataclasses.replace(event, **changes) if changes else event


def _cleaned(value: Any, clean: Callable[[str], str]) -> Any:
    """The value itself where nothing in it changes."""
    if type(value) is str:
        new = clean(value)
        return value if new == value else new
    if isinstance(value, Mapping):
        items = {name: _cleaned(item, clean) for name, item in value.items()}
        return items if any(items[name] is not value[name] for name in items) else value
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        found = [_cleaned(item, clean) for item in value]
        return found if any(new is not old for new, old in zip(found, value, strict=True)) else value
    return value
