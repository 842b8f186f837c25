"""What the presence shows, as values. Widgets draw exactly this and decide nothing."""

from __future__ import annotations

from enum import StrEnum

from app.agent.agent_events import Outcome, Scope
from app.agent.recording import Spent
from app.base.errors import Remedy
from app.base.values import dataclass
from app.ui.orb.state import Orb


class Status(StrEnum):
    """The state of a card. WAITING: for an approval. UNVERIFIED: done, but no check showed that it worked."""

    RUNNING = "running"
    WAITING = "waiting"
    OK = "ok"
    UNVERIFIED = "unverified"
    FAILED = "failed"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class ShownPicture:
    """An encoded picture with its size in pixels; `ring` is where it clicked, in the picture's pixels."""

    data: bytes
    width: int
    height: int
    label: str = ""
    ring: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """The person's own words. `waits` until the agent has taken them."""

    key: str
    text: str
    waits: bool = False


@dataclass(frozen=True, slots=True)
class SpokenItem:
    """Speech, or a part of it: a long one goes on in further items, `continued` from the second on. `fence` is that of
    the code in which it goes on. `final` ends a turn that came out well."""

    key: str
    call_id: str
    tone: str
    text: str
    continued: bool = False
    done: bool = False
    final: bool = False
    fence: str = ""


@dataclass(frozen=True, slots=True)
class BrowserStep:
    """What a browser showed after one step: where it was, the page, the console's new lines."""

    action: str
    url: str
    picture: ShownPicture | None = None
    console: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """One thing that a search in the web has found."""

    title: str
    url: str
    snippet: str = ""


@dataclass(frozen=True, slots=True)
class Card:
    """One call. `since` is when it began, on the presence's clock; `body` holds the end of a long text. The calls of
    one browser share a card: `call` is then the newest one's id, and `sights` has a step for each."""

    key: str
    tool: str
    glyph: str
    verb: str
    object: str
    kind: str = "row"
    status: Status = Status.RUNNING
    body: str = ""
    body_left_out: int = 0
    output: str = ""
    output_left_out: int = 0
    sentence: str = ""
    picture: ShownPicture | None = None
    since: float = 0.0
    elapsed_s: float | None = None
    left_s: float | None = None
    share: float | None = None
    call: str = ""
    url: str = ""
    sights: tuple[BrowserStep, ...] = ()
    sources: tuple[Source, ...] = ()

    @property
    def call_id(self) -> str:
        return self.call or self.key.partition(":")[2]

    @property
    def is_open(self) -> bool:
        """Whether its call has not ended yet."""
        return self.status in (Status.RUNNING, Status.WAITING)


@dataclass(frozen=True, slots=True)
class Approval:
    """A call that waits for the person. `allowed` is None until it is answered; `closed` once the call was given up.

    The other fields are those of the question itself; `scope` is how far the answer reached.
    """

    key: str
    approval_id: str
    call_id: str
    sentence: str
    detail: str
    glyph: str = "shield"
    allowed: bool | None = None
    words: str = ""
    closed: bool = False
    who: str = ""
    undo: str = ""
    rule: str = ""
    why: str = ""
    sources: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    scopes: tuple[Scope, ...] = (Scope.ONCE,)
    scope: Scope = Scope.ONCE
    picture: ShownPicture | None = None

    @property
    def is_open(self) -> bool:
        return self.allowed is None and not self.closed


@dataclass(frozen=True, slots=True)
class Offer:
    """Answers to a question, each one line; gone as soon as anything is said. `labels` stand on the buttons in their
    place."""

    key: str
    answers: tuple[str, ...]
    labels: tuple[str, ...] = ()
    remedy: Remedy = Remedy.AGAIN


@dataclass(frozen=True, slots=True)
class ChecklistLine:
    """One line of a checklist."""

    text: str
    done: bool


@dataclass(frozen=True, slots=True)
class ShownChecklist:
    """What a turn means to do, and how far it is."""

    key: str
    steps: tuple[ChecklistLine, ...]


@dataclass(frozen=True, slots=True)
class Command:
    """A command that the person may run themselves."""

    key: str
    text: str


@dataclass(frozen=True, slots=True)
class TakeBack:
    """A turn that has ended and has changed `count` files, or facts that are remembered too (`is_mixed`), which can be
    undone.

    With `deleted`, a command that has deleted them: the person keeps it so or puts them back.
    """

    key: str
    turn_id: str
    count: int
    deleted: frozenset[str] = frozenset()
    is_mixed: bool = False


@dataclass(frozen=True, slots=True)
class NoticeItem:
    """A sentence about the run itself; `level` is info, warning or error."""

    key: str
    level: str
    sentence: str


@dataclass(frozen=True, slots=True)
class TurnOutcome:
    """How a turn came out, with its words: the result, the question, or what went wrong."""

    key: str
    outcome: Outcome
    text: str


Item = Asked | SpokenItem | Card | Approval | Offer | ShownChecklist | Command | TakeBack | NoticeItem | TurnOutcome


@dataclass(frozen=True, slots=True)
class News:
    """An event that the person has not seen. `level`: done, question, approval, info, warning or error. `item` is the
    key of its item in the thread. `at` is seconds on the presence's clock."""

    key: str
    level: str
    text: str
    item: str
    at: float


_NOTHING = Spent()


@dataclass(frozen=True, slots=True)
class View:
    """Everything on show. `dropped` counts items that are gone from the top of a very long thread; `pointed` is where
    on the screen it last acted and no picture has shown it yet; `checklist` is the key of this turn's checklist;
    `changed` are the files that this turn has changed so far; `since` is when the turn began; `before` is what the
    turns before this one used; `unseen` counts the news that the inbox has not shown yet."""

    orb: Orb = Orb.IDLE
    items: tuple[Item, ...] = ()
    running: bool = False
    unread: int = 0
    attended: bool = False
    doing: str = ""
    since: float = 0.0
    turn: Spent = _NOTHING
    before: Spent = _NOTHING
    news: tuple[News, ...] = ()
    unseen: int = 0
    serial: int = 0
    dropped: int = 0
    pointed: tuple[int, int] | None = None
    checklist: str = ""
    changed: frozenset[str] = frozenset()
    mode: str = "ask"

    @property
    def open_approval(self) -> Approval | None:
        return next((item for item in reversed(self.items) if isinstance(item, Approval) and item.is_open), None)


@dataclass(frozen=True, slots=True)
class Decide:
    """The person's decision about a call that waits. `words` go with a no; `scope` says how far a yes reaches."""

    approval_id: str
    allow: bool
    words: str
    scope: str


@dataclass(frozen=True, slots=True)
class Choose:
    """The person pressed one of the answers that the model offered."""

    words: str


@dataclass(frozen=True, slots=True)
class Mend:
    """The person pressed what mends a failure."""

    remedy: Remedy


@dataclass(frozen=True, slots=True)
class TakeBackTurn:
    """The person takes back what this turn changed in files."""

    turn_id: str


@dataclass(frozen=True, slots=True)
class KeepTurn:
    """The person keeps what this turn changed in files."""

    turn_id: str


@dataclass(frozen=True, slots=True)
class OpenPicture:
    picture: ShownPicture


@dataclass(frozen=True, slots=True)
class SaveGuide:
    """The person keeps the pictures of these steps, with what each did."""

    steps: tuple[Card, ...]


Intent = Decide | Choose | Mend | TakeBackTurn | KeepTurn | OpenPicture | SaveGuide
"""What the person does in a row."""
