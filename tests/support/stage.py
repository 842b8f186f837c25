"""What the agent's tests play on: a clock nobody waits for, a family of fake tools, a session over a script."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from app.agent.agent_events import AgentEvent, StateChanged, TurnEnded, TurnStarted
from app.agent.deps import SessionDeps
from app.agent.policy import Mode, Policy
from app.agent.session import Session
from app.base.errors import NeedsPerson, ToolFailed
from app.protocol.call import Media, ToolCall, ToolResult
from app.protocol.dialects.choose import by_name
from app.protocol.spec import Close, Effect, Execute, Gesture, Param, ScreenAim, ToolSpec, ValueType
from app.providers.scripted import Reply, Scripted
from app.settings.store import Settings
from app.tools.conversation import SAY, Speech
from app.tools.executor import Executor
from app.tools.registry import Family, Registry, TurnContext

PICTURE = Media(b"picture", "image/png", 280, 280, "the screen")


class FakeClock:
    """Time that passes only when somebody sleeps or a test says so."""

    def __init__(self) -> None:
        self.time = 1000.0
        self.slept: list[float] = []

    def now(self) -> float:
        return self.time

    def wall(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds
        await asyncio.sleep(0)

    def advance(self, seconds: float) -> None:
        self.time += seconds


def typing_tool(execute: Execute) -> ToolSpec:
    """What the gate has to know of a tool that types a text where the keyboard is."""
    return ToolSpec(
        "computer_type",
        "Fake.",
        Effect.DESKTOP,
        execute,
        attrs=(Param("text", required=True),),
        aim=ScreenAim.FOCUS,
        typed="text",
    )


@dataclass
class Workbench:
    """Fake tools. `done` is what ran, in the order it began and ended; `failures` are raised first, one per try."""

    done: list[str] = field(default_factory=list)
    failures: list[Exception] = field(default_factory=list)
    hold: asyncio.Event = field(default_factory=asyncio.Event)
    began: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: int = 0

    async def look(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        self.done.append("look")
        return ToolResult(True, "looked", {}, "A picture of the screen.", (PICTURE,))

    async def read(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        self.done.append(f"read {call.text('path')}")
        if self.failures:
            raise self.failures.pop(0)
        return ToolResult(True, "read", {"path": call.text("path")}, f"{call.text('path')} holds 3 lines.")

    async def write(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        self.done.append(f"write {call.text('path')}: {call.text('content')}")
        return ToolResult(True, "written", {"path": call.text("path")}, f"Wrote {call.text('path')}.")

    async def note(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        self.done.append(f"note {call.text('text')}")
        return ToolResult(True, "noted", {}, "Noted.")

    async def run(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        self.done.append(f"run {call.text('command')}")
        turn.emit("output", {"text": "starting"})
        return ToolResult(True, "ran", {}, f"{call.text('command')}: exit 0")

    async def click(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        self.done.append(f"click {call.integer('x')}")
        if self.failures:
            raise self.failures.pop(0)
        await asyncio.sleep(0)
        self.done.append(f"clicked {call.integer('x')}")
        return ToolResult(True, "clicked", {}, "Clicked.")

    async def press(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        self.done.append(f"press {call.text('target')}")
        return ToolResult(True, "pressed", {}, f"Pressed, for the {len(self.done)}. time.")

    async def open(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        self.done.append(f"open {call.text('name')}")
        return ToolResult(True, "opened", {}, f"Opened {call.text('name')}.")

    async def long(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        self.done.append(f"long {call.text('name')}")
        self.began.set()
        try:
            await self.hold.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        self.done.append(f"long {call.text('name')} over")
        return ToolResult(True, "long", {}, f"{call.text('name')} is over.")

    async def fetch(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        self.done.append(f"fetch {call.text('url')}")
        self.began.set()
        await self.hold.wait()
        return ToolResult(True, "fetched", {}, f"{call.text('url')} says hello.")


def _spec(name: str, effect: Effect, *params: Param, **more: Any) -> ToolSpec:
    return ToolSpec(name, f"Fake: {name}.", effect, getattr(Workbench, name), attrs=params, **more)


WORKBENCH = Family(
    Workbench,
    (
        _spec("look", Effect.READS, is_screenshot=True),
        _spec("read", Effect.READS, Param("path", required=True)),
        _spec(
            "write",
            Effect.WRITES,
            Param("path", required=True),
            body=Param("content", close=Close.LAST, required=True, short=False),
        ),
        _spec("note", Effect.READS, Param("text", required=True), feeds_back=False),
        _spec("run", Effect.EXECUTES, Param("command", required=True)),
        _spec("click", Effect.DESKTOP, Param("x", ValueType.INTEGER, required=True), aim=ScreenAim.NONE),
        _spec("press", Effect.DESKTOP, Param("target", required=True), aim=ScreenAim.POINT, gesture=Gesture.CLICK),
        _spec("open", Effect.DESKTOP, Param("name", required=True), aim=ScreenAim.PROGRAM, opens="name"),
        _spec("fetch", Effect.NETWORK, Param("url", required=True)),
        _spec("long", Effect.READS, Param("name")),
    ),
)


class Stage:
    """A session over a script, with everything that happened written down."""

    def __init__(
        self,
        folder: Path,
        *replies: Reply,
        dialect: str = "xml",
        settings: Mapping[str, Any] | None = None,
        **parts: Any,
    ) -> None:
        self.bench = Workbench()
        self.clock = FakeClock()
        self.provider = Scripted(replies, self.clock)
        self.registry = Registry(SAY, WORKBENCH)
        self.events: list[AgentEvent] = []
        mode = parts.pop("mode", Mode.ASK)
        chosen: dict[str, Any] = {
            "provider": self.provider,
            "model": "scripted",
            "dialect": by_name(dialect),
            "registry": self.registry,
            "executor": Executor(self.registry, [Speech(), self.bench], self.clock, seed=1),
            "policy": Policy(folder, mode),
            "settings": Settings(settings or {}, {}),
            "clock": self.clock,
            "chance": random.Random(1),
        }
        self.session = Session(SessionDeps(**{**chosen, **parts}))
        self._names: dict[str, str] = {}
        self._turns: dict[str, str] = {}
        self.session.subscribe(self._keep)

    async def send(self, text: str = "Do it.", media: tuple[Media, ...] = (), own: str = "") -> TurnEnded:
        ended = await self.session.send(text, media, own)
        return replace(ended, turn_id=self._turn(ended.turn_id))

    def _keep(self, event: AgentEvent) -> None:
        """Keep an event with its call named by the order of appearance: c1, c2, …"""
        call_id = getattr(event, "call_id", "")
        if call_id:
            name = self._names.setdefault(call_id, f"c{len(self._names) + 1}")
            event = replace(event, call_id=name)  # type: ignore[arg-type]
        if isinstance(event, (TurnStarted, TurnEnded)):
            event = replace(event, turn_id=self._turn(event.turn_id))
        self.events.append(event)

    def _turn(self, turn_id: str) -> str:
        """Turns are named by their order too: turn1, turn2, …"""
        return self._turns.setdefault(turn_id, f"turn{len(self._turns) + 1}")

    def of(self, *kinds: type) -> list[AgentEvent]:
        return [event for event in self.events if isinstance(event, kinds)]

    @property
    def states(self) -> list[str]:
        return [event.state.value for event in self.events if isinstance(event, StateChanged)]

    def asked(self, request: int) -> str:
        """What a request's last message says, as text."""
        return texts(self.provider.requests[request].messages[-1].parts)


def texts(parts: Sequence[Any]) -> str:
    return "\n".join(part.text for part in parts if hasattr(part, "text"))


BUSY = ToolFailed("The disk is busy.", transient=True)
BROKEN = ToolFailed("There is no such file.")
LOCKED = NeedsPerson("Unlock the screen.")
