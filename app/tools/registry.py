"""The registry of all tools that a model can call."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence

from app.base.errors import ToolMisuse
from app.base.values import dataclass, field
from app.protocol.call import INTRODUCED, JsonValue, Media, ToolCall, ToolResult
from app.protocol.spec import Effect, Param, RareFamily, ToolSpec

PICTURES = RareFamily("pictures", "see, draw pictures")
READING = RareFamily("reading", "a long file in chunks, many files at once, what source files define")
LOOKING = RareFamily("looking", "find one thing by its looks, list what changed since a picture")
"""What `view_image` shares with the tools that draw: one line of the prompt."""


@dataclass(frozen=True, slots=True)
class Family:
    """Tools that share a handler class. `spec.execute` is one of its methods, bound when the executor is created."""

    handler: type
    tools: tuple[ToolSpec, ...]


class Registry:
    """Tools by name and alias, in the given order. Two tools with the same name are a bug and raise ValueError."""

    def __init__(self, *families: Family) -> None:
        self._families: dict[str, Family] = {}
        self._tools: dict[str, ToolSpec] = {}
        self._names: dict[str, str] = {}
        self._steps: dict[str, ToolSpec] = {}
        for family in families:
            for tool in family.tools:
                self._add(family, tool)

    def _add(self, family: Family, tool: ToolSpec) -> None:
        for name in (tool.name, *tool.aliases):
            if name in self._names:
                raise ValueError(f"Two tools are called {name!r}.")
            self._names[name] = tool.name
        if tool.is_unaimed:
            raise ValueError(f"{tool.name} does not say what it does to the screen: give it an aim and a gesture.")
        for step in tool.steps:
            if step in self._steps:
                raise ValueError(f"Two tools are the step {step!r} of a batch.")
            self._steps[step] = tool
        self._tools[tool.name] = tool
        self._families[tool.name] = family

    def __iter__(self) -> Iterator[ToolSpec]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(self._tools.values())

    def find(self, name: str) -> ToolSpec | None:
        """By name or alias; None if there is none."""
        known = self._names.get(name)
        return self._tools[known] if known else None

    def find_step(self, name: str) -> ToolSpec | None:
        """Return the tool that a batch action of this name runs; None if there is none."""
        return self._steps.get(name)

    def handler_of(self, name: str) -> type:
        """By the tool's own name."""
        return self._families[name].handler


@dataclass(frozen=True, slots=True)
class GoalLimits:
    """The limits of one goal of a subagent. If `cost_usd` is None, the limit of the turn applies."""

    passes: int
    seconds: float
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Pursued:
    """The outcome of a goal. `text` is the model's last statement; `deeds` are the results of its calls, in order."""

    is_reached: bool
    text: str
    passes: int
    seconds: float
    cost_usd: float | None
    deeds: tuple[str, ...] = ()


Pursue = Callable[[str, GoalLimits], Awaitable[Pursued]]


async def nobody_pursues(_goal: str, _limits: GoalLimits) -> Pursued:
    """Refuse a goal: there is no model, or it already works towards one."""
    raise ToolMisuse("Only a model at work can pursue a goal, and one at a time. Write the single steps instead.")


Consult = Callable[[str, str, tuple[Media, ...]], Awaitable[str]]


async def nobody_consulted(_system: str, _question: str, _pictures: tuple[Media, ...]) -> str:
    """Refuse a question to the model: the person or a program wrote the call, and no model is at work."""
    raise ToolMisuse("Only a model at work can be asked.")


Emit = Callable[[str, Mapping[str, JsonValue]], None]
Admit = Callable[[ToolCall], Awaitable[str]]
Audit = Callable[[str, Mapping[str, JsonValue]], Awaitable[None]]


def _unheard(_event: str, _payload: Mapping[str, JsonValue]) -> None:
    return None


async def unkept(_kind: str, _details: Mapping[str, JsonValue]) -> None:
    """Do not record the audit entry. Used by callers that have no audit log."""
    return


def nothing_judged() -> Collection[str] | None:
    """None: no paths were judged, because a person or a program wrote the call."""
    return None


async def admitted(_step: ToolCall) -> str:
    """Allow every step of a call that a person or a program wrote."""
    return ""


class ToolDocs:
    """The handler of tool_docs. The dialect adds the documentation, because it knows how calls are written."""

    def __init__(self, specs: Sequence[ToolSpec]) -> None:
        self._specs = specs

    async def show(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        wanted = call.text("name").strip().casefold()
        families = {spec.rare.name: None for spec in self._specs if spec.rare}
        if wanted in families:
            names = [spec.name for spec in self._specs if spec.rare and spec.rare.name == wanted]
        else:
            names = [spec.name for spec in self._specs if wanted in (spec.name, *spec.aliases)]
        if not names:
            raise ToolMisuse(f"name: there is no tool or family {wanted!r}. The families: {', '.join(families)}.")
        listed: list[JsonValue] = list(names)
        return ToolResult(True, call.name, {INTRODUCED: listed}, f"The docs of {', '.join(names)}.")


DOCS = Family(
    ToolDocs,
    (
        ToolSpec(
            name="tool_docs",
            description="Read the docs of a tool, or of a family of rarer ones.",
            effect=Effect.TALKS,
            execute=ToolDocs.show,
            attrs=(Param("name", description="a tool or a family", required=True),),
            examples=('<tool_docs name="memory"/>',),
        ),
    ),
)

HEARD = "the person has said something, which you read next."


@dataclass(frozen=True, slots=True)
class TurnContext:
    """What a handler may use of the turn.

    `emit(event, payload)` updates the call's card while it runs; `audit(kind, details)` records a change. A call with
    several actions must ask `admit(step)` before each: it returns "" or why the step is forbidden. `cancelled` is set
    when the person stops the turn; handlers that wait must watch it. `turn_id` groups what one turn changed, so that
    all of it can be undone together; `began_at` is its start, in seconds since 1970. `pursue(goal, limits)` makes the
    model work towards a goal. `consult(system, question, pictures)` asks the model once, outside of the conversation
    and without tools, and returns its answer; its cost counts for the turn. `heard` is set while the model has not yet
    read what the person said meanwhile: waits then end early. `said` is what the person wrote in this conversation,
    without text that they quote or pass on, and `turns` are the ids of its turns; both are None if the person wrote the
    call. `tainted_by` names whose words the turn has read; `messages` are all messages of the person, in full.
    `judged` returns the paths that the policy judged for this call, with their links resolved: it may act on no others.
    """

    admit: Admit
    call_id: str = ""
    emit: Emit = _unheard
    audit: Audit = unkept
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    turn_id: str = ""
    began_at: float = 0.0
    pursue: Pursue = nobody_pursues
    consult: Consult = nobody_consulted
    heard: asyncio.Event = field(default_factory=asyncio.Event)
    said: str | None = None
    turns: Collection[str] | None = None
    tainted_by: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    judged: Callable[[], Collection[str] | None] = nothing_judged


def from_elsewhere(admit: Admit) -> Admit:
    """Return an `admit` that the desktop's thread may call. It runs the given one on the present event loop."""
    loop = asyncio.get_running_loop()

    async def ask(step: ToolCall) -> str:
        answer = asyncio.run_coroutine_threadsafe(_answered(admit, step), loop)
        return await asyncio.wrap_future(answer)

    return ask


async def _answered(admit: Admit, step: ToolCall) -> str:
    return await admit(step)
