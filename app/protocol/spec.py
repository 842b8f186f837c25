"""The tool contract: what a tool is called, what it takes, what it does to the world.

Everything else about a tool is generated from its `ToolSpec`: the prompt's docs, the JSON schemas, the way every
dialect reads and writes a call, the coercion of arguments.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from enum import Enum, StrEnum
from typing import Any

from app.base.values import dataclass
from app.protocol.call import ToolCall, ToolResult


class Close(Enum):
    """Where a payload written as a child or body ends (the text may hold its own close tag)."""

    FIRST = "first"
    """At the first close tag."""
    LAST = "last"
    """At the last close tag before the parent's; for payloads like file contents, diffs and HTML."""


class Effect(StrEnum):
    """What a call does to the world; policy judges by it."""

    READS = "reads"
    WRITES = "writes"
    EXECUTES = "executes"
    NETWORK = "network"
    DESKTOP = "desktop"
    TALKS = "talks"
    SETTINGS = "settings"


HARMLESS = frozenset({Effect.READS, Effect.TALKS})
"""Effects that change nothing outside the conversation."""


@dataclass(frozen=True, slots=True)
class RareFamily:
    """Tools that few conversations need. `purpose` says in a few words what they are for."""

    name: str
    purpose: str


class ValueType(StrEnum):
    """The type of an argument, named as JSON Schema names it."""

    TEXT = "string"
    INTEGER = "integer"
    NUMBER = "number"
    FLAG = "boolean"
    OBJECT = "object"
    LIST = "array"


@dataclass(frozen=True, slots=True)
class Param:
    """One argument. An attribute, a child and a field of a JSON call are three spellings of the same thing.

    `attrs` are the attributes of a child that has its own (the child's value is then an object whose text, if any,
    is under `text`). `many` makes repeated children a list. `short` values are trimmed and have entities decoded.
    A payload loses one line break at each end, one at its start only with `keeps_final_newline`. With `is_typed`, what
    CDATA holds keeps its end, and other text loses all blank lines there: they are layout, not keys. `aliases` are
    other names that models give it: read, never taught. `otherwise` is what a value outside `choices` counts as.
    `takes_json` turns a JSON value that is no text into its text.
    """

    name: str
    kind: ValueType = ValueType.TEXT
    description: str = ""
    required: bool = False
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    close: Close = Close.FIRST
    attrs: tuple[Param, ...] = ()
    many: bool = False
    short: bool = True
    keeps_final_newline: bool = False
    is_typed: bool = False
    aliases: tuple[str, ...] = ()
    otherwise: str = ""
    takes_json: bool = False


class ScreenAim(StrEnum):
    """What on the screen a tool acts on. The gate looks at that before the tool runs.

    `POINT`: a place of the screen. `ELEMENT`: an element by its ref. `FOCUS`: what has the keyboard. `ENDS`: both ends
    of a path. `MENU`: an entry of a menu bar. `PROGRAM`: a program that it starts. `AWAY`: what has the keyboard, by
    taking it away. `NONE`: nothing that could be looked at beforehand, or steps that are judged one by one.
    """

    POINT = "point"
    ELEMENT = "element"
    FOCUS = "focus"
    ENDS = "ends"
    MENU = "menu"
    PROGRAM = "program"
    AWAY = "away"
    NONE = ""


Execute = Callable[..., Awaitable[ToolResult]]
"""A method of the family's class: `(self, call: ToolCall, turn: TurnContext) -> ToolResult`."""

EffectsByCall = Callable[[ToolCall], frozenset[Effect]]
"""All that a call with these arguments does. May look at files; never raises."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One tool. `attrs` and `children` differ only in how the docs teach them; both spellings are read.

    `body` is the payload written between the tags (in JSON: the field of its name).
    `splits` maps a name under which models write one list to the arguments that its numbers fill.
    `is_speech` marks a tool that only says its body to the person.
    `needs_answer` marks a tool that is left out of the docs in YOLO mode, because there the person does not answer.
    `is_checklist` marks a tool that is left out of the docs where no checklist is kept.
    A tool with a `rare` family shares one line of the prompt with it; the answer to its first call tells the rest.
    `is_wait` marks a tool that waits for the earlier calls of a message, and that the later ones wait for.
    `effect` is what every call does. Where the arguments change that, `effects_by_call` names all effects of one call.
    `aim` is what on the screen it acts on; the registry refuses a desktop tool without one. `typed`, `pressed`,
    `copied` and `opens` name the argument that holds what is typed, the chords, what goes to the clipboard, and what
    is opened with its program. `taint` is whose words the result brings into the turn: `screen`, `clipboard`, `web`,
    `mcp`, `outside` (only files outside the workspace), `command` (only what a command may have got from outside),
    `skill` (only skills that are not Wisp's own), `memory` (only past conversations, because facts are the person's
    own words); where it is empty, the effect says it. `steps` are its names inside computer_batch.
    `open` accepts any attribute (used for shapes read from a file, never by our own tools).
    """

    name: str
    description: str
    effect: Effect
    execute: Execute
    attrs: tuple[Param, ...] = ()
    children: tuple[Param, ...] = ()
    body: Param | None = None
    examples: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    voiced: bool = False
    feeds_back: bool = True
    is_speech: bool = False
    is_wait: bool = False
    needs_answer: bool = False
    is_checklist: bool = False
    rare: RareFamily | None = None
    splits: tuple[tuple[str, tuple[str, ...]], ...] = ()
    open: bool = False
    aim: ScreenAim | None = None
    typed: str = ""
    pressed: str = ""
    copied: str = ""
    opens: str = ""
    taint: str = ""
    steps: tuple[str, ...] = ()
    effects_by_call: EffectsByCall | None = None

    def effects_of(self, call: ToolCall) -> frozenset[Effect]:
        """What this call does to the world."""
        return self.effects_by_call(call) if self.effects_by_call else frozenset({self.effect})

    @property
    def params(self) -> tuple[Param, ...]:
        """All arguments, in the order the docs list them."""
        return (*self.attrs, *self.children, *((self.body,) if self.body else ()))

    def param(self, name: str) -> Param | None:
        """The argument of that name or alias."""
        exact = next((param for param in self.params if param.name == name), None)
        return exact or next((param for param in self.params if name in param.aliases), None)

    def parts_of(self, name: str) -> tuple[str, ...]:
        """Return the arguments that a list of this name fills, or () if the name is a parameter or unknown."""
        return () if self.param(name) else dict(self.splits).get(name, ())


PROGRESS = Param(
    "task_progress",
    description="optional checklist of the whole task, one `- [ ]` or `- [x]` line each",
)
"""Accepted by every tool, kept in `ToolCall.progress`, never handed to a handler."""


async def unbound(*_: Any) -> ToolResult:
    """Handler of a spec that has none: one read from a file, or one in a test of the readers."""
    raise RuntimeError("A shape without a handler was executed.")
