"""What a session is made of. `wiring` chooses each; the agent decides nothing about them."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from app.agent.conversation import Conversation
from app.agent.policy import NoDesktop, Policy, Resolve
from app.agent.prompt import Facts, NoFacts
from app.agent.record import Record, Unrecorded
from app.base import ids
from app.base.clock import Clock, SystemClock
from app.protocol.dialects.api import Dialect
from app.protocol.result import JsonValue
from app.providers.api import Provider
from app.settings.store import Settings
from app.tools.context import Audit
from app.tools.executor import Executor
from app.tools.registry import Registry

KeepProgress = Callable[[str], Awaitable[Mapping[str, JsonValue]]]


@dataclass(frozen=True, slots=True)
class Nearby:
    """The tools that a goal is pursued with, and who runs them: nothing but the screen is in reach."""

    registry: Registry
    executor: Executor


@dataclass(frozen=True, slots=True)
class Parts:
    """`attended` says whether a person can answer approvals; `window_tokens` is how much the model can read.

    `follows_plan` is for providers that carry out what the person spelled out: repeating is then no going in circles.
    `conversation` is the object that tools were given to ask for changes of it; `keep_progress` keeps the checklist a
    call carried, gives what the presence shows of it, and never raises. `resolve` tells what a call would act on;
    `look` names the tool whose picture a vendor's toolset wants behind its last action; `record` keeps the
    conversation. `turn_ids` names turns; what is kept on disk needs names that no other session has.
    """

    provider: Provider
    model: str
    dialect: Dialect
    registry: Registry
    executor: Executor
    policy: Policy
    settings: Settings
    facts: Facts = field(default_factory=NoFacts)
    clock: Clock = field(default_factory=SystemClock)
    audit: Audit | None = None
    conversation: Conversation | None = None
    keep_progress: KeepProgress | None = None
    nearby: Nearby | None = None
    look: str = ""
    resolve: Resolve = field(default_factory=NoDesktop)
    record: Record = field(default_factory=Unrecorded)
    turn_ids: Callable[[], str] = field(default_factory=lambda: ids.counter("turn"))
    attended: bool = True
    follows_plan: bool = False
    window_tokens: int = 200_000
    chance: random.Random = field(default_factory=random.Random)
