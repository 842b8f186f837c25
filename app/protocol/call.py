"""A call as it was written (`Block`) and as it runs (`ToolCall`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.base.values import dataclass, field

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


CHANGED_PART = "changed_part"
"""Under this name a payload says which part of the screen, in its pixels, changed without a word of its program."""
PAGE_PICTURE = "the browser's page"
"""The label of pictures that show no screen: no one points into the screen by them."""
INTRODUCED = "introduced"
"""Under this name a payload says of which tools the model wants the docs."""
FINISHED = "finished"
WAITING = "waiting"


def tool_error(tool: str, reason: str, *, for_model: bool = False) -> ToolResult:
    """The one shape of a failed call: `reason` is a sentence that says what to do. Only the model can follow one
    that is `for_model`."""
    payload: dict[str, JsonValue] = {"tag": tool, "reason": reason}
    return ToolResult(False, "tool_error", payload | ({"for_model": True} if for_model else {}), f"{tool}: {reason}")


@dataclass(frozen=True, slots=True)
class Child:
    """A typed sub-tag of a call, with its payload."""

    name: str
    text: str
    attrs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Block:
    """One call exactly as the model wrote it, before any value is judged; `name` may be an alias of the tool's.

    XML dialects fill `attrs`, `children` and `body`; JSON dialects fill `args`. `partial` means that the stream ended
    inside it: such a block never runs. `span` is its place in the message, in characters. `notes` are sentences for
    the model about what was read leniently (an argument given twice).
    """

    call_id: str
    name: str
    attrs: Mapping[str, str] = field(default_factory=dict)
    children: tuple[Child, ...] = ()
    body: str = ""
    args: Mapping[str, JsonValue] | None = None
    partial: bool = False
    span: tuple[int, int] = (0, 0)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The canonical call, whichever dialect wrote it: names to values of the declared types.

    Values that were not given are absent. The accessors exist so that handlers read typed values without casts; they
    may only be asked for parameters that the tool's spec declares with that kind. `notes` are sentences to add to
    what the model reads.
    """

    id: str
    name: str
    arguments: Mapping[str, JsonValue] = field(default_factory=dict)
    source_span: tuple[int, int] = (0, 0)
    progress: str = ""
    notes: tuple[str, ...] = field(default=(), compare=False)

    def has(self, name: str) -> bool:
        return name in self.arguments

    def text(self, name: str, default: str = "") -> str:
        value = self.arguments.get(name, default)
        assert isinstance(value, str), name
        return value

    def integer(self, name: str, default: int = 0) -> int:
        value = self.arguments.get(name, default)
        assert isinstance(value, int), name
        return value

    def number(self, name: str, default: float = 0.0) -> float:
        value = self.arguments.get(name, default)
        assert isinstance(value, (int, float)), name
        return float(value)

    def flag(self, name: str, default: bool = False) -> bool:  # noqa: FBT001, FBT002 - mirrors dict.get
        value = self.arguments.get(name, default)
        assert isinstance(value, bool), name
        return value
