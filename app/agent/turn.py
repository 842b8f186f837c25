"""One turn while it runs: who listens, what state it is in, what it has cost, what the person said meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from app.agent.budget import Budget
from app.agent.events import AgentEvent, State, StateChanged
from app.agent.evidence import Evidence
from app.agent.permits import Permits
from app.agent.repetition import Repetition
from app.protocol.message import ImagePart, Part, TextPart
from app.protocol.result import Media

Tell = Callable[[AgentEvent], None]


@dataclass(frozen=True, slots=True)
class Words:
    """What the person said: text and pictures."""

    text: str
    media: tuple[Media, ...] = ()

    @property
    def parts(self) -> tuple[Part, ...]:
        text: tuple[Part, ...] = (TextPart(self.text),) if self.text.strip() else ()
        return (*text, *(ImagePart(media) for media in self.media))


@dataclass(slots=True)
class Learned:
    """What a conversation has read so far, as far as it says where a call may go: `personal` things of the person,
    addresses that stood in what was read, and hosts that the person allowed with what had been read then.

    Once it `has_acted`, only web pages count for addresses: it could have composed the rest itself.
    """

    personal: tuple[str, ...] = ()
    links: set[str] = field(default_factory=set)
    hosts: dict[str, frozenset[str]] = field(default_factory=dict)
    has_acted: bool = False

    def note_personal(self, source: str) -> None:
        if source and source not in self.personal:
            self.personal = (*self.personal, source)

    def hosts_known(self, read: Iterable[str]) -> frozenset[str]:
        """The hosts that were allowed when no less had been read than now."""
        now = {*self.personal, *read}
        return frozenset(host for host, known in self.hosts.items() if known >= now)

    def allow_hosts(self, hosts: Iterable[str], read: Iterable[str]) -> None:
        self.hosts |= dict.fromkeys(hosts, frozenset({*self.personal, *read}))


class Mood:
    """The state the presence shows; told only when it changes."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self.state = State.IDLE

    def become(self, state: State) -> None:
        if state is not self.state:
            self.state = state
            self._tell(StateChanged(state))


@dataclass(slots=True)
class Turn:
    """`meanwhile` collects what the person says while the turn runs; `refused` counts refusals in a row.

    `quoted_in` is the last pass whose quoted calls the model was told about.
    `keeps_list` says that a checklist was kept whose end the model has not been asked for.
    `said` are the person's own words in it; `tainted_by` says whose words it has read since they last spoke.
    `copied` is what it put on the clipboard.
    """

    id: str
    tell: Tell
    mood: Mood
    budget: Budget
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    meanwhile: list[Words] = field(default_factory=list)
    repetition: Repetition = field(default_factory=Repetition)
    follows_plan: bool = False
    refused: int = 0
    nudged: bool = False
    quoted_in: int = 0
    keeps_list: bool = False
    looping: bool = False
    begun: bool = False
    expired: bool = False
    watch: asyncio.TimerHandle | None = None
    made_room: bool = False
    said: list[str] = field(default_factory=list)
    tainted_by: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    wrote: set[str] = field(default_factory=set)
    ran_commands: bool = False
    began_at: float = field(default_factory=time.time)
    copied: str = ""
    learned: Learned = field(default_factory=Learned)
    permits: Permits = field(default_factory=Permits)
    evidence: Evidence = field(default_factory=Evidence)

    def hear(self, text: str) -> None:
        """The person has spoken: what comes next is their doing, whatever was read before."""
        self.said.append(text)
        self.tainted_by = ()

    def read(self, source: str) -> None:
        """The turn has read what somebody else may have written."""
        if source not in self.tainted_by:
            self.tainted_by = (*self.tainted_by, source)

    def learn(self, secrets: Iterable[str]) -> None:
        """The turn may have read these files with keys or passwords. That stays, whatever the person says then."""
        self.secrets = tuple(dict.fromkeys([*self.secrets, *secrets]))

    def take_meanwhile(self) -> list[Words]:
        taken, self.meanwhile = self.meanwhile, []
        return taken
