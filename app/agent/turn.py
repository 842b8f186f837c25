"""One turn: its state, and the evidence that its actions worked."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Set

from app.agent.agent_events import AgentEvent, Attachment, Outcome, State, StateChanged
from app.agent.budget import Budget
from app.agent.policy.naming import own_words
from app.agent.policy.values import Subject
from app.agent.prompt import admits_failure, told
from app.base import ids, resources
from app.base.signs import plain
from app.base.values import dataclass, field, replace
from app.protocol.call import JsonValue, Media, ToolResult
from app.protocol.message import Author, ImagePart, Part, TextPart
from app.protocol.spec import Effect

_CONFIRMED = "confirmed"
_NOTHING = "suspected no-op"
_SERVER = "mcp"
"""The source of what a tool server wrote, as the tables of the policy name it."""
_LOOKS = {Effect.READS, Effect.TALKS}


@dataclass(slots=True)
class Evidence:
    """What is known about the effects of a turn's actions.

    `in_doubt`: the last action failed, or is not confirmed. `in_vain`: it failed, or changed nothing. `has_looked`: the
    model has looked since. `needs_person`: the last call waits for the person. `is_refused`: the last action was not
    allowed, and none has worked since. `has_only_looked`: no call was to change anything. `saw_nothing`: the last look
    failed.
    """

    has_acted: bool = False
    has_only_looked: bool = True
    saw_nothing: bool = False
    in_doubt: bool = False
    in_vain: bool = False
    has_looked: bool = False
    needs_person: bool = False
    is_refused: bool = False

    def note(self, effects: Set[Effect], result: ToolResult) -> None:
        """Note the result of a call that ran."""
        if effects <= {Effect.TALKS}:
            return
        self.has_acted = True
        self.needs_person = bool(result.payload.get("needs_person"))
        if effects <= _LOOKS:
            self.has_looked = self.has_looked or result.ok
            self.saw_nothing = not result.ok
            return
        self.has_only_looked = False
        self.is_refused = self.is_refused and not result.ok
        is_rehearsal = result.payload.get("dry_run") is True
        proof = _CONFIRMED if is_rehearsal else result.payload.get("proof", _CONFIRMED)
        self.in_doubt = not result.ok or proof != _CONFIRMED
        self.in_vain = not result.ok or proof == _NOTHING
        self.has_looked = result.ok and bool(result.llm_media)

    def outcome_of(self, words: str, *, is_declared: bool = False) -> Outcome:
        """`is_declared`: the words are said to be the turn's result."""
        if self.is_refused:
            return Outcome.WAITING
        if not self.has_acted:
            return Outcome.ANSWERED
        if not is_declared and admits_failure(words, is_own=True, sentences=1):
            return Outcome.FAILED
        if self.in_doubt and admits_failure(words, is_own=is_declared):
            return Outcome.FAILED
        if self.has_only_looked and admits_failure(words, is_own=is_declared or not self.saw_nothing):
            return Outcome.FAILED
        is_in_vain = self.saw_nothing if self.has_only_looked else self.in_vain and not self.has_looked
        return Outcome.UNVERIFIED if is_in_vain else Outcome.FINISHED


WARN_AT = 3
ASK_AT = 5


class LoopDetector:
    """Notices repetition. `count` is how often the same call was made in a row with the same result.

    `idle` is how many passes in a row had the same results, or ended with the same picture of the screen.
    """

    def __init__(self) -> None:
        self._call = ""
        self._result = ""
        self._brought: list[str] = []
        self._results = _Run()
        self._pictures = _Run()
        self._picture = ""
        self.count = 0

    @property
    def idle(self) -> int:
        return max(self._results.length, self._pictures.length)

    def forgive(self) -> None:
        """Start counting again, because the person wants the repeated call to go on."""
        self._results, self._pictures, self.count = _Run(), _Run(), 0

    def note(self, name: str, arguments: Mapping[str, JsonValue]) -> int:
        """Return how many times in a row this call was made, including this one."""
        call = json.dumps([name, arguments], sort_keys=True, ensure_ascii=False, default=str)
        if call != self._call:
            self._call, self._result, self.count = call, "", 0
        self.count += 1
        return self.count

    def note_result(self, result: ToolResult) -> None:
        """Note the result of the call. A new result starts the count again."""
        pictures = [hashlib.sha256(media.data).hexdigest() for media in result.llm_media]
        seen = "\n".join([result.llm_echo, *pictures])
        if self._result and seen != self._result:
            self.count = 1
        self._result = seen
        self._brought.append(seen)
        self._picture = pictures[-1] if pictures else self._picture

    def end_pass(self) -> None:
        """End a pass. A pass without results or without a picture does not count."""
        if self._brought:
            self._results.add("\n".join(self._brought))
        if self._picture:
            self._pictures.add(self._picture)
        self._brought, self._picture = [], ""


class _Run:
    """The length of the latest run of equal values."""

    def __init__(self) -> None:
        self._last = ""
        self.length = 0

    def add(self, value: str) -> None:
        self.length = self.length + 1 if value == self._last else 1
        self._last = value


Tell = Callable[[AgentEvent], None]


@dataclass(frozen=True, slots=True)
class Words:
    """What the person wrote, and what they attached. `own` is the part that they surely wrote themselves.

    `read_before` is None for a message of the person. Otherwise this is an earlier task, which they agreed to then:
    these sources had been read when it was made. `brought` is what others wrote in it, as the model reads it: nothing
    in such a message can permit anything. `wish` is what the person wants, if that is not the text itself.
    """

    text: str
    media: tuple[Media, ...] = ()
    own: str = ""
    read_before: tuple[str, ...] | None = None
    brought: str = ""
    wish: str = ""
    attached: tuple[Attachment, ...] = ()

    @property
    def whole(self) -> str:
        """The text, and below it a line for each attachment."""
        if not self.attached:
            return self.text
        heading = resources.table("prompts/attached.toml", dict[str, str])["heading"]
        return "\n".join([self.text, "", heading, *(one.line for one in self.attached)]).strip()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the attachments."""
        return tuple(one.name for one in self.attached)

    @property
    def told(self) -> str:
        """All of it with what others wrote in it."""
        return f"{self.whole}\n{self.brought}" if self.brought else self.whole

    @property
    def parts(self) -> tuple[Part, ...]:
        return self._parts(self.told, Author.PERSON)

    def meanwhile(self, told: str) -> tuple[Part, ...]:
        """Return the parts of words that the person wrote while a turn ran; `told` is the text for the model."""
        return self._parts(told, Author.MEANWHILE)

    def _parts(self, told: str, author: Author) -> tuple[Part, ...]:
        wish = self.wish or self.text
        kinds = tuple(one.kind for one in self.attached)
        text = TextPart(told, author, "" if wish == told else wish, holds_others=bool(self.brought), attached=kinds)
        return (*([text] if self.whole.strip() else []), *(ImagePart(media) for media in self.media))


async def with_prompt(words: Words, expand: Callable[[str], Awaitable[str]]) -> Words:
    """Return the words with the text of the prompt that they call as a command. Raises WispError if it fails.

    Only what the person typed is a command, not a schedule that a model made or an answer that it offered.
    """
    is_typed = words.read_before is None and words.own.strip() == words.whole.strip()
    if not is_typed or not (brought := await expand(words.text)):
        return words
    served = plain(brought)[0]
    return replace(words, brought=told("served_prompt", fence=ids.unique(), text=served), wish=served)


@dataclass(slots=True)
class Learned:
    """What a conversation knows that decides what it may do.

    `grants` are the person's answers (`Need.grant`), `own` the parts of their messages that they surely wrote
    themselves: these permit what they name. `used` are the names of the programs that it has used. `said` is what the
    person wrote, the newest last; `turns` are the ids of its turns.
    """

    grants: set[tuple[Subject, str]] = field(default_factory=set)
    own: list[str] = field(default_factory=list)
    used: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    turns: list[str] = field(default_factory=list)


class Mood:
    """The state that the interface shows. `tell` is called only when it changes."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self.state = State.IDLE

    def become(self, state: State) -> None:
        if state is not self.state:
            self.state = state
            self._tell(StateChanged(state))


@dataclass(slots=True)
class Turn:
    """The state of one turn. `by` is the name of another agent whose calls these are; "" for those of Wisp's model.

    `meanwhile` collects what the person writes while the turn runs; `refused` counts refusals in a row. `reports`:
    too many calls were refused, and the model has one last pass, for words only. `quoted_in` is the last pass with
    a note about quoted calls. `in_vain` counts passes in a row whose calls could not be read. `is_prompted`: a tool
    server's prompt is part of what the turn carries out. `keeps_list`: the turn keeps a checklist, and the model
    was not asked to finish it yet. `said` is the person's text. `tainted_by` are the sources read since the person
    last wrote. `copied` is the text that the turn put on the clipboard. `judged` are the paths that each admitted
    call was judged by, with their links resolved, by its id.
    """

    id: str
    tell: Tell
    mood: Mood
    budget: Budget
    by: str = ""
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    meanwhile: list[Words] = field(default_factory=list)
    heard: asyncio.Event = field(default_factory=asyncio.Event)
    repetition: LoopDetector = field(default_factory=LoopDetector)
    follows_plan: bool = False
    is_prompted: bool = False
    refused: int = 0
    reports: bool = False
    nudged: bool = False
    quoted_in: int = 0
    in_vain: int = 0
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
    evidence: Evidence = field(default_factory=Evidence)
    judged: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def hear(self, words: Words) -> None:
        """Record that the person wrote. The next actions follow the person's wish, even if the turn read other texts
        before.
        """
        brought = (_SERVER,) if words.brought else ()
        self.is_prompted |= bool(brought)
        self.learned.own.append("" if brought else own_words(words.own))
        if words.read_before is not None:
            self.tainted_by = (*words.read_before, *brought)
            return
        self.said.append(words.text)
        self.learned.said.append(words.text)
        self.tainted_by = brought

    def read(self, source: str) -> None:
        """Note that the turn has read something that somebody else may have written."""
        if source not in self.tainted_by:
            self.tainted_by = (*self.tainted_by, source)

    def learn(self, secrets: Iterable[str]) -> None:
        """Note that the turn may have read these secret files. This stays, whatever the person writes later."""
        self.secrets = tuple(dict.fromkeys([*self.secrets, *secrets]))

    def hear_meanwhile(self, words: Words) -> None:
        """Note what the person writes while the turn runs: a wait ends early, and the next pass reads it."""
        self.meanwhile.append(words)
        self.heard.set()

    def take_meanwhile(self) -> list[Words]:
        taken, self.meanwhile = self.meanwhile, []
        self.heard.clear()
        return taken
