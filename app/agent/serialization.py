"""Events and messages as JSON and back. Secrets and pictures are left out on the way.

What a newer Wisp wrote and this one does not know is passed over, never an error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from app.agent import agent_events
from app.agent.agent_events import AgentEvent, Outcome, TurnEnded
from app.agent.prompt import told
from app.agent.recording import Entry, EntryKind
from app.base.texts import cleaned
from app.protocol.call import Media
from app.protocol.message import CallPart, ImagePart, Message, OpaquePart, Part, ResultPart, Role, TextPart

_SHOWN: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        agent_events.TurnStarted,
        agent_events.SaidMeanwhile,
        agent_events.PassStarted,
        agent_events.TagStart,
        agent_events.TagDelta,
        agent_events.SayDelta,
        agent_events.ThoughtDelta,
        agent_events.ToolRunning,
        agent_events.ToolProgress,
        agent_events.ToolFinished,
        agent_events.UsageChanged,
        agent_events.Notice,
        agent_events.TurnEnded,
    )
}
"""What a conversation is shown again from. States and questions belong to the moment."""
_PARTS: dict[str, type[Any]] = {kind.__name__: kind for kind in (TextPart, OpaquePart, CallPart, ResultPart)}


def is_shown(event: AgentEvent) -> bool:
    """Whether the event is among those a conversation is shown again from."""
    return type(event).__name__ in _SHOWN


def event_to_text(event: AgentEvent) -> str:
    return _written(cleaned(_fields_of(event)))


def event_of(text: str) -> AgentEvent | None:
    """The event, or None where it is of a kind this program does not know."""
    tree = json.loads(text)
    kind = _SHOWN.get(tree.pop("is", ""))
    if kind is None:
        return None
    event: AgentEvent = kind(**_known(kind, tree))
    return replace(event, outcome=Outcome(event.outcome)) if isinstance(event, TurnEnded) else event


def message_to_text(message: Message) -> tuple[str, bool]:
    """Return the message as JSON text, and whether it lacks anything. A vendor's block is kept whole or left out."""
    parts: list[Any] = []
    altered = False
    for part in message.parts:
        plain = _plain(part)
        fields_ = _fields_of(plain)
        clean = cleaned(fields_)
        changed = plain is not part or clean != fields_
        altered = altered or changed
        if not (changed and isinstance(part, OpaquePart)):
            parts.append(clean)
    return _written({"role": message.role.value, "parts": parts}), altered


def _plain(part: Part) -> Part:
    """The part with words in place of its pictures."""
    if isinstance(part, ImagePart):
        return TextPart(_gone(part.media))
    if isinstance(part, ResultPart) and part.media:
        return replace(part, text="\n".join([part.text, *map(_gone, part.media)]).strip(), media=())
    return part


def _gone(media: Media) -> str:
    return told("picture_gone", label=media.label or "picture")


def entry_of(kind: str, text: str) -> Entry:
    return Entry(EntryKind[kind], message_of(text))


def message_of(text: str) -> Message:
    """Raises ValueError or KeyError where the text was not written by `message_to_text`."""
    tree = json.loads(text)
    parts = [_part(dict(part)) for part in tree["parts"]]
    return Message(Role(tree["role"]), tuple(part for part in parts if part))


def _part(tree: dict[str, Any]) -> Part | None:
    kind = _PARTS.get(tree.pop("is", ""))
    part: Part | None = kind(**_known(kind, tree)) if kind else None
    return part


def values_to_text(values: Mapping[str, Any]) -> str:
    """A call's arguments, secrets left out."""
    return _written(cleaned(_jsonable(values)))


def _fields_of(value: Any) -> dict[str, Any]:
    plain = {field.name: getattr(value, field.name) for field in fields(value) if field.name != "media"}
    return {"is": type(value).__name__, **_jsonable(plain)}


def _jsonable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _jsonable(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_jsonable(inner) for inner in value]
    return value if value is None or isinstance(value, (str, int, float, bool)) else str(value)


def _known(kind: type[Any], tree: Mapping[str, Any]) -> dict[str, Any]:
    names = {field.name for field in fields(kind)}
    return {name: value for name, value in tree.items() if name in names}


def _written(tree: Any) -> str:
    return json.dumps(tree, ensure_ascii=False, separators=(",", ":"))
