"""What a tool answers, and the pictures that may go with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

JsonValue = None | bool | int | float | str | Sequence["JsonValue"] | Mapping[str, "JsonValue"]


@dataclass(frozen=True, slots=True)
class Media:
    """A picture for the model's next turn. `data` is the encoded file; `label` says what it shows, in text."""

    data: bytes
    media_type: str
    width: int
    height: int
    label: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """`event` and `payload` become the presence's card; `llm_echo` and `llm_media` are what the model reads next.

    `ends_turn` is set by results after which no further pass follows: None goes on, otherwise how the turn ended.
    """

    ok: bool
    event: str
    payload: Mapping[str, JsonValue] = field(default_factory=dict)
    llm_echo: str = ""
    llm_media: tuple[Media, ...] = ()
    ends_turn: str | None = None


FINISHED = "finished"
WAITING = "waiting"


def tool_error(tool: str, reason: str) -> ToolResult:
    """The one shape of a failed call: `reason` is a sentence that says what to do."""
    return ToolResult(False, "tool_error", {"tag": tool, "reason": reason}, f"{tool}: {reason}")
