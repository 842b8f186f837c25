"""What the presence shows, as values. Widgets show exactly this and decide nothing."""

from __future__ import annotations

from enum import StrEnum

from app.agent.agent_events import Outcome, Scope
from app.agent.recording import Spent
from app.base.errors import Remedy
from app.base.values import dataclass
from app.ui.cards.kinds import CardContent
from app.ui.orb.state import Orb


class Status(StrEnum):
    """The state of a card. WAITING: the call waits for an approval. UNVERIFIED: it is done, but no check showed its
    effect."""

    RUNNING = "running"
    WAITING = "waiting"
    OK = "ok"
    UNVERIFIED = "unverified"
    FAILED = "failed"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class ShownPicture:
    """An encoded picture with its size in pixels. `ring` is where Wisp clicked, in the picture's pixels; None for no
    click."""

    data: bytes
    width: int
    height: int
    label: str = ""
    ring: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A message of the person, with the names of what they attached. `waits` is True until the agent has taken it."""

    key: str
    text: str
    attached: tuple[str, ...] = ()
    waits: bool = False

    @property
    def said(self) -> str:
        """The text; for a message without words, the names of what was attached."""
        return self.text if self.text.strip() else ", ".join(self.attached)


@dataclass(frozen=True, slots=True)
class SpokenItem:
    """Speech of Wisp, or a part of it: a long speech becomes several items with one `call_id`.

    `fence` is the line that opened the code block in which the item begins, "" outside of code. `final` marks the last
    words of a turn that succeeded.
    """

    key: str
    call_id: str
    tone: str
    text: str
    done: bool = False
    final: bool = False
    fence: str = ""


@dataclass(frozen=True, slots=True)
class BrowserStep:
    """The browser after one step: what it did, the address, a picture of the page, and the new lines of its console."""

    action: str
    url: str
    picture: ShownPicture | None = None
    console: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """One result of a web search."""

    title: str
    url: str
    snippet: str = ""


@dataclass(frozen=True, slots=True)
class Card:
    """One call. `since` is when it began, in seconds on the presence's clock; `body` holds the end of a long text.
    `sentence` is what came of it, or why it failed.
    All calls of one browser share a card: `call` is the id of the newest one, and `sights` has one step for each
    call. `content` is what a feature's kind of card shows; its picture is the card's."""

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
    content: CardContent | None = None

    @property
    def call_id(self) -> str:
        return self.call or self.key.partition(":")[2]

    @property
    def is_open(self) -> bool:
        """Whether the call of the card has not ended yet."""
        return self.status in (Status.RUNNING, Status.WAITING)


@dataclass(frozen=True, slots=True)
class Approval:
    """A call that waits for the person. `allowed` is None until the person answers; `closed`: the call was given up
    before.

    `scope` is how far the answer reaches, `at` is when it came, in seconds on the presence's clock (0 if not known),
    and `words` came with it. The other fields are those of the question.
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
    at: float = 0.0
    picture: ShownPicture | None = None
    deed: str = ""
    strong: tuple[tuple[int, int], ...] = ()
    icon: str = ""

    @property
    def is_open(self) -> bool:
        return self.allowed is None and not self.closed


@dataclass(frozen=True, slots=True)
class Offer:
    """The answers to a question, each one line. They go as soon as anything is said. The buttons show `labels`
    instead of the answers, if there are labels."""

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
    """The checklist of a turn: its lines, each done or not."""

    key: str
    steps: tuple[ChecklistLine, ...]


@dataclass(frozen=True, slots=True)
class Command:
    """A command that the model suggests and the person may run themselves."""

    key: str
    text: str


@dataclass(frozen=True, slots=True)
class TakeBack:
    """The offer to undo a turn that has ended. The turn made `count` changes: to files and, with `is_mixed`, to Wisp's
    memory.

    With `deleted`, it is about these files, which a command has deleted: the person keeps them deleted or restores
    them.
    """

    key: str
    turn_id: str
    count: int
    deleted: frozenset[str] = frozenset()
    is_mixed: bool = False


@dataclass(frozen=True, slots=True)
class NoticeItem:
    """A message about the turn itself, such as a warning; `level` is info, warning or error."""

    key: str
    level: str
    sentence: str


@dataclass(frozen=True, slots=True)
class TurnOutcome:
    """How a turn ended, in words: the result, the question, or the error."""

    key: str
    outcome: Outcome
    text: str


Item = Asked | SpokenItem | Card | Approval | Offer | ShownChecklist | Command | TakeBack | NoticeItem | TurnOutcome


@dataclass(frozen=True, slots=True)
class News:
    """Something that happened while the person did not look. `level`: done, question, approval, info, warning or
    error. `item` is the key of the thread's item that it is about. `at` is when, in seconds on the presence's clock."""

    key: str
    level: str
    text: str
    item: str
    at: float


_NOTHING = Spent()


@dataclass(frozen=True, slots=True)
class View:
    """Everything on show. `dropped` counts items that are gone from the top of a very long thread; `pointed` is
    where on the screen Wisp last acted, until a picture shows it; `checklist` is the key of this turn's checklist;
    `changed` are the files that this turn has changed so far; `since` is when the turn began; `before` is the usage
    of the turns before this one; `unseen` counts the news since the inbox was last opened; `using` are the names of
    the programs that the conversation uses, the newest last; `silent` is the call whose words a card tells already;
    `lacks_extra`: a call of this turn failed because a part of Wisp is missing."""

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
    lacks_extra: bool = False
    silent: str = ""
    mode: str = "ask"
    using: tuple[str, ...] = ()

    @property
    def open_approval(self) -> Approval | None:
        return next((item for item in reversed(self.items) if isinstance(item, Approval) and item.is_open), None)


@dataclass(frozen=True, slots=True)
class Decide:
    """Intent: the person answers an approval. `words` explain a no to the model; `scope` says how far a yes reaches."""

    approval_id: str
    allow: bool
    words: str
    scope: str


@dataclass(frozen=True, slots=True)
class Choose:
    """Intent: the person pressed an answer that the model offered."""

    words: str


@dataclass(frozen=True, slots=True)
class Mend:
    """Intent: the person pressed the button that repairs a failure."""

    remedy: Remedy


@dataclass(frozen=True, slots=True)
class TakeBackTurn:
    """Intent: the person undoes what this turn changed in files."""

    turn_id: str


@dataclass(frozen=True, slots=True)
class KeepTurn:
    """Intent: the person keeps what this turn changed in files."""

    turn_id: str


@dataclass(frozen=True, slots=True)
class OpenPicture:
    picture: ShownPicture


@dataclass(frozen=True, slots=True)
class SaveGuide:
    """Intent: the person saves the pictures of these steps as a guide, each with the words on its card."""

    steps: tuple[Card, ...]


@dataclass(frozen=True, slots=True)
class PressCard:
    """Intent: the person pressed a button of a feature's card."""

    button: str
    card: Card


Intent = Decide | Choose | Mend | TakeBackTurn | KeepTurn | OpenPicture | SaveGuide | PressCard
"""What the person does in a row."""
