"""The description of a tool: its name, its arguments, and what it does to the world.

Everything else comes from its `ToolSpec`: the docs in the prompt, the JSON schemas, how every dialect reads and writes
a call, and how arguments are converted.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from enum import Enum, StrEnum
from typing import Any

from app.base.phrases import Phrase
from app.base.values import dataclass
from app.protocol.call import ToolCall, ToolResult


class Close(Enum):
    """Where a payload in a child or body ends, if its text may contain its own close tag."""

    FIRST = "first"
    """At the first close tag."""
    LAST = "last"
    """At the last close tag before the parent's; for payloads like file contents, diffs and HTML."""


class Effect(StrEnum):
    """What a call does to the world. The policy decides by it."""

    READS = "reads"
    WRITES = "writes"
    EXECUTES = "executes"
    NETWORK = "network"
    DESKTOP = "desktop"
    TALKS = "talks"
    SETTINGS = "settings"
    ENDS = "ends"
    """It ends what is open, or deletes for good. The person is asked about each such call, whatever they said."""


HARMLESS = frozenset({Effect.READS, Effect.TALKS})
"""Effects that change nothing outside the conversation."""
LOOKING = HARMLESS | {Effect.NETWORK}
"""Effects that change nothing of the person's: reading, talking, and asking servers."""


@dataclass(frozen=True, slots=True)
class RareFamily:
    """A group of tools that few conversations need. `purpose` says in a few words what they are for."""

    name: str
    purpose: str


class ValueType(StrEnum):
    """The type of an argument, with the names of JSON Schema."""

    TEXT = "string"
    INTEGER = "integer"
    NUMBER = "number"
    FLAG = "boolean"
    OBJECT = "object"
    LIST = "array"


@dataclass(frozen=True, slots=True)
class Param:
    """One argument. An attribute, a child and a JSON field are three ways to write the same argument.

    `attrs` are the attributes of a child that has its own (the value is then an object, with its text under `text`).
    `many` makes repeated children a list. `short` values are trimmed and have their entities decoded. A payload loses
    one line break at each end, or only at its start with `keeps_final_newline`. `is_typed` marks text to type: final
    blank lines are removed, because they are layout and not keys to press, unless the text is in CDATA. `aliases` are
    other names that models use: they are read but never taught. `otherwise` replaces a value outside `choices`.
    `takes_json` turns a JSON value that is no text into its text. One that is not `is_taught` is read, but in no docs
    and schemas.
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
    is_taught: bool = True


class ScreenAim(StrEnum):
    """What a tool acts on. The policy looks at that part of the screen before the tool runs.

    `POINT`: a place on the screen. `ELEMENT`: an element given by its ref. `FOCUS`: the element with the keyboard
    focus. `ENDS`: both ends of a drag. `MENU`: an entry of a menu bar. `PROGRAM`: a program that the tool starts.
    `AWAY`: the focused element, because the tool takes the focus away from it. `WINDOW`: a window by its title, which
    takes the focus away too. `UNSAVED`: all windows that show unsaved changes. `NONE`: nothing that the policy could
    look at before, or steps that it judges one by one.
    """

    POINT = "point"
    ELEMENT = "element"
    FOCUS = "focus"
    ENDS = "ends"
    MENU = "menu"
    PROGRAM = "program"
    AWAY = "away"
    WINDOW = "window"
    UNSAVED = "unsaved"
    NONE = ""


class Gesture(StrEnum):
    """What a tool does to the controls on the screen that it acts on: click, drag, scroll and others."""

    CLICK = "click"
    HOLD = "hold"
    """It presses a button of the mouse and keeps it pressed."""
    RELEASE = "release"
    DRAG = "drag"
    SCROLL = "scroll"
    HOVER = "hover"
    """It moves the pointer over a thing and presses nothing."""
    PRESS = "press"
    """It operates an element without the mouse."""
    SET = "set"
    """It gives an element a value."""
    CHOOSE = "choose"
    """It chooses an entry of a menu bar."""


PASSING = frozenset({Gesture.SCROLL, Gesture.HOVER})
"""Gestures that press nothing."""

POINTED_AT = frozenset({ScreenAim.POINT, ScreenAim.ELEMENT, ScreenAim.ENDS, ScreenAim.MENU})
"""Aims of the tools that have a gesture."""


Execute = Callable[..., Awaitable[ToolResult]]
"""A method of the family's class: `(self, call: ToolCall, turn: TurnContext) -> ToolResult`."""

EffectsByCall = Callable[[ToolCall], frozenset[Effect]]
"""Returns all effects of a call with these arguments. It may look at files; it never raises."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One tool. `attrs` and `children` differ only in the docs; both are read in either form.

    `body` is the payload between the tags (in JSON: the field with its name).
    `splits` maps the name of a list that models write to the arguments that its numbers fill.
    `is_speech` marks a tool that only says its body to the person.
    `taught_in` names the modes in which the docs teach the tool; empty: all of them.
    `is_checklist` marks a tool that the docs omit if Wisp keeps no checklist.
    `is_added` marks a tool that the docs omit if the person added no tool server.
    `is_screenshot` marks the tool whose picture a vendor's toolset expects after its last action.
    `asked_as` is the wish by which the page of a small app asks for what the tool does; "" if none may.
    A tool with a `rare` family shares one line of the prompt with it; the answer to its first call explains the rest.
    `leaves_traces` returns whether a call may change something that its effects do not name; a dry run does not run it.
    `is_wait` marks a tool that waits for the earlier calls of a message; the later calls wait for it.
    `effect` is the effect of every call. If the arguments change it, `effects_by_call` returns all effects of a call.
    `aim` is what the tool acts on, and `gesture` what it does there; the registry refuses a desktop tool without them.
    `typed`, `pressed`, `copied` and `opens` name the argument with the typed text, the key chords, the text for the
    clipboard, and the thing to open.
    `taint` says whose words the result brings into the turn: `screen`, `clipboard`, `web`, `mcp`, `outside` (only files
    outside the workspace and fetched web pages), `command` (only what a command may have received from outside),
    `skill` (only skills that are not Wisp's own), `memory` (only past conversations, because facts are the person's own
    words). If it is empty, the effect decides.
    `is_lasting`: what it does lasts beyond the task; `named_later` is the argument that stands in every later prompt.
    `is_always_asked`: the person decides about each call. `is_powerless`: it is asked about, but lets Wisp do nothing
    more later, so that a permission may name it beforehand.
    `steps` are the tool's names inside computer_batch.
    `read_back` returns a description of a call for the question to the person, or None. It never raises.
    `open` accepts any attribute (for specs read from a file, never for Wisp's own tools).
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
    taught_in: tuple[str, ...] = ()
    is_checklist: bool = False
    is_added: bool = False
    is_screenshot: bool = False
    asked_as: str = ""
    rare: RareFamily | None = None
    splits: tuple[tuple[str, tuple[str, ...]], ...] = ()
    open: bool = False
    aim: ScreenAim | None = None
    gesture: Gesture | None = None
    typed: str = ""
    pressed: str = ""
    copied: str = ""
    opens: str = ""
    taint: str = ""
    is_lasting: bool = False
    named_later: str = ""
    is_always_asked: bool = False
    is_powerless: bool = False
    steps: tuple[str, ...] = ()
    effects_by_call: EffectsByCall | None = None
    read_back: Callable[[ToolCall], Phrase | None] | None = None
    leaves_traces: Callable[[ToolCall], bool] | None = None

    def only_looks(self, call: ToolCall) -> bool:
        """True if the call changes nothing of the person's, here and elsewhere."""
        return self.effects_of(call) <= LOOKING and not (self.leaves_traces and self.leaves_traces(call))

    def effects_of(self, call: ToolCall) -> frozenset[Effect]:
        return self.effects_by_call(call) if self.effects_by_call else frozenset({self.effect})

    @property
    def is_unaimed(self) -> bool:
        """True if a desktop tool lacks its aim or its gesture, so that the policy cannot judge its calls."""
        is_gesture_missing = self.aim in POINTED_AT and self.gesture is None
        return self.effect is Effect.DESKTOP and (self.aim is None or is_gesture_missing)

    @property
    def params(self) -> tuple[Param, ...]:
        """In the order in which the docs list them."""
        return (*self.attrs, *self.children, *((self.body,) if self.body else ()))

    @property
    def taught(self) -> tuple[Param, ...]:
        """What docs and schemas name."""
        return tuple(param for param in self.params if param.is_taught)

    def param(self, name: str) -> Param | None:
        """None if no argument has this name or alias."""
        exact = next((param for param in self.params if param.name == name), None)
        return exact or next((param for param in self.params if name in param.aliases), None)

    def parts_of(self, name: str) -> tuple[str, ...]:
        """Return the arguments that are filled by a list with this name; () if no such list is split."""
        return () if self.param(name) else dict(self.splits).get(name, ())


PROGRESS = Param(
    "task_progress",
    description="optional checklist of the whole task, one `- [ ]` or `- [x]` line each",
)
"""An argument that every tool accepts. It is kept in `ToolCall.progress` and not given to the handler."""


async def unbound(*_: Any) -> ToolResult:
    """Take the place of the handler in a spec without one: a spec read from a file, or one in a reader test."""
    raise RuntimeError("A shape without a handler was executed.")
