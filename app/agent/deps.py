"""The parts of a session. `app.assembly` chooses each one; the agent decides nothing about them."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Collection, Mapping

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
    """Requested changes. A new conversation begins with the summary `begin_with`.

    None keeps the history; "" clears it.
    """

    begin_with: str | None = None
    name: str = ""


class ConversationRequests:
    """Collects the changes that tools request. The session applies them after each turn."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._begin_with: str | None = None
        self._name = ""

    def is_planning(self) -> bool:
        return self._policy.mode is Mode.PLAN

    def is_yolo(self) -> bool:
        return self._policy.mode is Mode.YOLO

    async def hand_over(self, summary: str) -> None:
        """Begin a new conversation with the summary, after this turn."""
        self._begin_with = summary

    async def reset(self) -> None:
        """Begin an empty conversation, after this turn."""
        self._begin_with = ""

    async def rename(self, name: str) -> None:
        """Rename the assistant, from the next turn on."""
        self._name = name

    def take(self) -> ConversationWishes:
        """Return what was requested since the last call."""
        wishes = ConversationWishes(self._begin_with, self._name)
        self._begin_with, self._name = None, ""
        return wishes


Remind = Callable[[str], Awaitable[Mapping[str, str]]]


async def nothing_remembered(_said: str) -> Mapping[str, str]:
    """For sessions without memory and skills."""
    return {}


Expand = Callable[[str], Awaitable[str]]


async def no_command(_text: str) -> str:
    """Return "", for sessions in which no text is a command."""
    return ""


KeepProgress = Callable[[str], Awaitable[Mapping[str, JsonValue]]]


@dataclass(frozen=True, slots=True)
class Nearby:
    """The tools for pursuing a goal, and their executor: only the screen can be reached."""

    registry: Registry
    executor: Executor


@dataclass(frozen=True, slots=True)
class SessionDeps:
    """Everything that a session needs.

    `attended`: a person can answer approvals. `window_tokens` is the model's context size. `tool_names` are other names
    under which tools are taught. `follows_plan`: the provider carries out what the person spelled out, so repeating is
    no loop. Tools use `conversation` to request changes. `keep_progress` saves a call's checklist, returns what the
    interface shows of it, and never raises. `resolve` finds what a call would act on. `record` saves the
    conversation. `remind` returns texts that match the person's words, by heading. `untaught` returns the
    names of tools that are of no use now, such as those of tool servers where there is none. `expand` returns the text
    behind a command such as `/server:prompt`, "" for other words.
    `turn_ids` names turns; names that are saved must be unique over all sessions.
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
    untaught: Callable[[], Collection[str]] = tuple
    expand: Expand = no_command
    clock: Clock = field(default_factory=SystemClock)
    audit: Audit | None = None
    conversation: ConversationRequests | None = None
    keep_progress: KeepProgress | None = None
    nearby: Nearby | None = None
    resolve: TargetInspector = field(default_factory=NoDesktop)
    record: Recorder = field(default_factory=NoRecorder)
    turn_ids: Callable[[], str] = field(default_factory=lambda: ids.counter("turn"))
    attended: bool = True
    follows_plan: bool = False
    window_tokens: int = 200_000
    tool_names: Mapping[str, str] = field(default_factory=dict)
    chance: random.Random = field(default_factory=random.Random)
