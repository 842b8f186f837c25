"""The one source of truth for what can be called."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

from app.base.errors import ToolMisuse
from app.base.values import dataclass, field
from app.protocol.call import INTRODUCED, JsonValue, ToolCall, ToolResult
from app.protocol.spec import Effect, Param, ToolSpec


@dataclass(frozen=True, slots=True)
class Family:
    """Tools that share a handler class; `spec.execute` is a method of it, bound when the executor is built."""

    handler: type
    tools: tuple[ToolSpec, ...]


class Registry:
    """Tools by name and alias, in the order they were given. Two tools of one name are a bug and raise."""

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
        if tool.effect is Effect.DESKTOP and tool.aim is None:
            raise ValueError(f"{tool.name} is a desktop tool and does not say what it acts on: give it an aim.")
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
        """The tool of that name or alias."""
        known = self._names.get(name)
        return self._tools[known] if known else None

    def find_step(self, name: str) -> ToolSpec | None:
        """The tool that an action of a batch stands for."""
        return self._steps.get(name)

    def handler_of(self, name: str) -> type:
        """The family class of a tool known by its own name."""
        return self._families[name].handler


@dataclass(frozen=True, slots=True)
class GoalLimits:
    """The ceilings of one goal; `cost_usd` None leaves it to the turn's own."""

    passes: int
    seconds: float
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Pursued:
    """`text` is the last word on it; `deeds` are the lines that its calls answered with, in order."""

    is_reached: bool
    text: str
    passes: int
    seconds: float
    cost_usd: float | None
    deeds: tuple[str, ...] = ()


Pursue = Callable[[str, GoalLimits], Awaitable[Pursued]]


async def nobody_pursues(_goal: str, _limits: GoalLimits) -> Pursued:
    """Where no model is at work, or one that pursues a goal already."""
    raise ToolMisuse("Only a model at work can pursue a goal, and one at a time. Write the single steps instead.")


Emit = Callable[[str, Mapping[str, JsonValue]], None]
Admit = Callable[[ToolCall], Awaitable[str]]
Audit = Callable[[str, Mapping[str, JsonValue]], Awaitable[None]]


def _unheard(_event: str, _payload: Mapping[str, JsonValue]) -> None:
    return None


async def unkept(_kind: str, _details: Mapping[str, JsonValue]) -> None:
    """Drop the audit entry: for callers that keep no audit."""
    return


async def admitted(_step: ToolCall) -> str:
    """Admit every step: for tools without a gate."""
    return ""


class ToolDocs:
    """The handler of tool_docs. The dialect adds the docs, because it knows how calls are written."""

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
            description="Read the docs of one of the rarer tools, or of a family of them.",
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
    """`emit(event, payload)` feeds the call's card while it runs; `audit(kind, details)` records a state change;
    `admit(step)` must be asked before each action of a call that holds several: empty, or why it may not happen.
    `cancelled` is set when the person stops the turn (handlers that wait must watch it). `turn_id` groups what one
    turn changed, so that all of it can be taken back together; `began_at` is when it began, in seconds since 1970.
    `pursue(goal, limits)` has the model reach a goal. `heard` is set while the model has not yet read what the person
    said meanwhile: waits end early then. `said` is what the person wrote in this conversation, without what they quote
    or pass on; None where they wrote the call itself.
    """

    call_id: str = ""
    emit: Emit = _unheard
    audit: Audit = unkept
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    turn_id: str = ""
    began_at: float = 0.0
    admit: Admit = admitted
    pursue: Pursue = nobody_pursues
    heard: asyncio.Event = field(default_factory=asyncio.Event)
    said: str | None = None


def from_elsewhere(admit: Admit) -> Admit:
    """The question asked from the desktop's thread, answered on this one."""
    loop = asyncio.get_running_loop()

    async def ask(step: ToolCall) -> str:
        answer = asyncio.run_coroutine_threadsafe(_answered(admit, step), loop)
        return await asyncio.wrap_future(answer)

    return ask


async def _answered(admit: Admit, step: ToolCall) -> str:
    return await admit(step)
