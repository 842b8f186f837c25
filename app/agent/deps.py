"""What a session is made of. `app.assembly` chooses each; the agent decides nothing about them."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Mapping

from app.agent.policy import Mode, NoDesktop, Policy, TargetInspector
from app.agent.prompt import Facts, NoFacts
from app.agent.recording import NoRecorder, Recorder
from app.base import ids
from app.base.clock import Clock, SystemClock
from app.base.values import dataclass, field
from app.protocol.call import JsonValue
from app.protocol.dialects.api import Dialect
from app.providers.api import Provider
from app.settings.store import Settings
from app.tools.executor import Executor
from app.tools.registry import Audit, Registry


@dataclass(frozen=True, slots=True)
class ConversationWishes:
    """`begin_with` is the summary a fresh conversation begins with; None keeps the history, empty clears it."""

    begin_with: str | None = None
    name: str = ""


class ConversationRequests:
    """Given to tools before the session exists; the session takes the wishes after each turn."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._begin_with: str | None = None
        self._name = ""

    def is_planning(self) -> bool:
        return self._policy.mode is Mode.PLAN

    def is_yolo(self) -> bool:
        return self._policy.mode is Mode.YOLO

    async def hand_over(self, summary: str) -> None:
        """After this turn: a fresh conversation that begins with the summary."""
        self._begin_with = summary

    async def reset(self) -> None:
        """After this turn: an empty conversation."""
        self._begin_with = ""

    async def rename(self, name: str) -> None:
        """From the next turn on the assistant is called so."""
        self._name = name

    def take(self) -> ConversationWishes:
        """What was wished for since the last time."""
        wishes = ConversationWishes(self._begin_with, self._name)
        self._begin_with, self._name = None, ""
        return wishes


Remind = Callable[[str], Awaitable[tuple[Mapping[str, str], bool]]]


async def nothing_remembered(_said: str) -> tuple[Mapping[str, str], bool]:
    """Where there is no memory and no skill."""
    return {}, False


KeepProgress = Callable[[str], Awaitable[Mapping[str, JsonValue]]]


@dataclass(frozen=True, slots=True)
class Nearby:
    """The tools that a goal is pursued with, and who runs them: nothing but the screen is in reach."""

    registry: Registry
    executor: Executor


@dataclass(frozen=True, slots=True)
class SessionDeps:
    """`attended` says whether a person can answer approvals; `window_tokens` is how much the model can read;
    `tool_names` holds other names that tools are taught by.

    `follows_plan` is for providers that carry out what the person spelled out: repeating is then no going in circles.
    `conversation` is the object that tools were given to ask for changes of it; `keep_progress` keeps the checklist a
    call carried, gives what the presence shows of it, and never raises. `resolve` tells what a call would act on;
    `look` names the tool whose picture a vendor's toolset wants behind its last action; `record` keeps the
    conversation. `remind` gives what fits the person's words, by heading, and whether it is personal. `turn_ids` names
    turns; what is kept on disk needs names that no other session has.
    """

    provider: Provider
    model: str
    dialect: Dialect
    registry: Registry
    executor: Executor
    policy: Policy
    settings: Settings
    facts: Facts = field(default_factory=NoFacts)
    remind: Remind = nothing_remembered
    clock: Clock = field(default_factory=SystemClock)
    audit: Audit | None = None
    conversation: ConversationRequests | None = None
    keep_progress: KeepProgress | None = None
    nearby: Nearby | None = None
    look: str = ""
    resolve: TargetInspector = field(default_factory=NoDesktop)
    record: Recorder = field(default_factory=NoRecorder)
    turn_ids: Callable[[], str] = field(default_factory=lambda: ids.counter("turn"))
    attended: bool = True
    follows_plan: bool = False
    window_tokens: int = 200_000
    tool_names: Mapping[str, str] = field(default_factory=dict)
    chance: random.Random = field(default_factory=random.Random)
