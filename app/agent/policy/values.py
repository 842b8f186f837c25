"""What is judged (`Action`, `Control`, `Provenance`) and what comes of it (`Verdict`): values only."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Protocol

from app.base.values import dataclass, field
from app.desktop.backends import TerminalFront
from app.desktop.elements import Binding
from app.protocol.call import JsonValue, Media, ToolCall
from app.protocol.spec import Effect, ScreenAim

NOTHING: Mapping[str, JsonValue] = MappingProxyType({})
OWN_FOLDER = ".wisp"
"""In a workspace: its rules. Wisp reads them without asking, so no tool may write there."""

_WEIGHT = (
    Effect.READS, Effect.TALKS, Effect.DESKTOP, Effect.WRITES, Effect.NETWORK, Effect.EXECUTES, Effect.SETTINGS,
)  # fmt: skip
"""The milder effect first."""


class Decision(StrEnum):
    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class Consequence(StrEnum):
    """What may come of an act: the only kinds that tables and rules may name."""

    OWN = "own"
    """It acts on a window of Wisp."""
    PASSWORD = "password"
    """It puts text into a password field."""
    SECRET = "secret"
    """It reads or changes keys, passwords or settings of Wisp."""
    STARTS = "starts"
    """It changes what the system, git or Wisp runs without asking."""
    SESSION = "session"
    """It ends or locks the session, or is Wisp's stop key."""
    INNER = "inner"
    """It reaches an address of this machine or of the local network."""
    ODD = "odd"
    """It names an address that is none of a public host."""
    TERMINAL = "terminal"
    """It runs what stands in a terminal."""
    OUTWARD = "outward"
    """It sends something to others."""
    IRREVERSIBLE = "irreversible"
    """It cannot be taken back."""
    PRIVILEGED = "privileged"
    """It gives a permission."""
    PERSISTS = "persists"
    """It keeps something for later times."""
    OUTSIDE = "outside"
    """It changes a file outside the workspace."""
    CARRIES = "carries"
    """It moves or copies a folder that holds what the system, git or an editor runs without asking."""
    FAR = "far"
    """It reads a file outside the workspace."""
    PRIVATE = "private"
    """It may read keys or passwords that stand in the workspace."""
    UNASKED = "private unasked"
    """It reads such a file by its name, and the person did not name it."""
    FOREIGN = "foreign"
    """It reads a file of the workspace that came from elsewhere."""
    UNCLEAR = "unclear"
    """It names a place that cannot be made out."""
    SUBMITS = "submits"
    """It submits a field of a program that reaches the network."""
    CLOSES = "closes"
    """It closes a window."""
    NEW_HOST = "new host"
    """It reaches a host that neither the person nor a rule of theirs named."""
    CRAFTED = "crafted address"
    """It names an address that could carry something out, and that nobody but the model wrote."""
    NEW_WORDS = "new words"
    """It searches for words that are not the person's."""
    SHARED = "typed to others"
    """It puts words that are not the person's into a window from which they reach others: browser, mail or chat."""
    SANDBOXED = "sandboxed"
    """A command in the sandbox."""
    UNSANDBOXED = "unsandboxed"
    """A command without a sandbox around it."""
    LEAVES = "leaves"
    """A command that asks to write outside the sandbox."""
    REACHES_OUT = "reaches out"
    """A command that asks for the network."""
    LAUNCHES = "launches"
    """It opens a document that can run or load things with its program, or builds or runs what is written, outside the
    sandbox.
    """
    LOOKS = "looks"
    """A command in the sandbox that only reads."""
    UNKNOWN = "unknown"
    """It acts on what nothing describes, so that its effect cannot be read."""
    ANSWERED = "answered"
    """Its effect is unknown, in a window where the person has allowed such acts, or that they named."""


Kinds = frozenset[Consequence]


class Mode(StrEnum):
    ASK = "ask"
    AUTO = "auto"
    PLAN = "plan"
    YOLO = "yolo"


class Stakes(StrEnum):
    """The class of a desktop act: what is known of its consequences."""

    HARMLESS = "harmless"
    CONSEQUENTIAL = "consequential"
    UNKNOWN = "unknown"


_KNOWN_TO_MATTER = frozenset(
    {
        Consequence.OWN, Consequence.PASSWORD, Consequence.SECRET, Consequence.SESSION, Consequence.INNER,
        Consequence.TERMINAL, Consequence.OUTWARD, Consequence.IRREVERSIBLE, Consequence.PRIVILEGED,
        Consequence.SUBMITS, Consequence.LAUNCHES,
    }
)  # fmt: skip
"""An answer about what is unknown never covers one of these."""


@dataclass(frozen=True, slots=True)
class LeftField:
    """A field of a program `app` in which a file may get its name, and its text. `folders` are those that it shows."""

    app: str
    text: str
    folders: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlWindow:
    """The window that a control is in. `ref` names it for its life.

    `is_terminal` and `is_launcher`: its program starts others, by what is typed or by what is opened. `builds`: keys of
    its program can build or run what is written there. `is_frame`: the control is the frame of the window.
    `is_occupied`: something else than a shell at its prompt may take what is typed into the terminal. `fronts` are what
    takes it, for each pseudo-terminal; empty where that is not known. They are not compared, because programs come and
    go in a terminal without a change of what was shown.
    """

    title: str = ""
    app: str = ""
    ref: str = ""
    is_own: bool = False
    is_terminal: bool = False
    is_launcher: bool = False
    builds: bool = False
    is_dialog: bool = False
    is_frame: bool = False
    is_occupied: bool = False
    fronts: tuple[TerminalFront, ...] = field(default=(), compare=False)

    @property
    def runs_programs(self) -> bool:
        """Return whether typed words followed by Return start programs there."""
        return self.is_terminal or self.is_launcher

    @property
    def opens_items(self) -> bool:
        """Return whether items are opened there, as in a file manager; in a terminal a double click only selects."""
        return self.is_launcher and not self.is_terminal

    @property
    def place(self) -> str:
        """Return what names the window for a task; empty where none is known."""
        return "\0".join((self.app, self.ref or self.title)) if self.app or self.ref else ""

    @property
    def key(self) -> str:
        """Return what names the window, whatever program describes the control; empty where none is known."""
        return self.ref or self.place


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlScene:
    """What is around a control.

    `default` is the name of the window's default button, which Return presses, and `buttons` are the names of all of a
    dialog, or of those that it may press where no default is known. `words` are the sentences of the dialog (or small
    window), and what is chosen there. `fields` is what
    stands in the dialog's text fields, `bindings` are the controls that keys press there; None where that was not read.
    """

    default: str = ""
    buttons: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    fields: tuple[str, ...] | None = None
    bindings: tuple[Binding, ...] | None = None
    is_menu_open: bool = False
    has_password: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlKeyboard:
    """What keys would do there. `pasted` is what a paste would type; None where that is not known.

    `symbols` maps keys to all key symbols that they make in the present layouts. `left` is the field that has the
    keyboard and that the act may leave.
    """

    pasted: str | None = None
    symbols: tuple[tuple[str, frozenset[str]], ...] = ()
    left: LeftField | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """What a call would act on, as the desktop describes it now. All texts were written by programs: untrusted.

    `role`, `name` and `states` are accessibility's. `is_known` is False where nothing describes what is there, or where
    its program has not answered. `is_silent`: its program has answered, and describes nothing there. `is_late`: its
    program has not worked off the input before. `opens` is what an item of a file manager is (a `DocumentKind`), where
    it is known. `address` is what stands in a browser's address bar. `files` are the absolute paths that a program
    would be started from and with.
    """

    role: str = ""
    name: str = ""
    states: frozenset[str] = frozenset()
    window: ControlWindow = ControlWindow()
    scene: ControlScene = ControlScene()
    keyboard: ControlKeyboard = ControlKeyboard()
    is_known: bool = True
    is_silent: bool = False
    is_late: bool = False
    opens: str = ""
    address: str = ""
    files: tuple[str, ...] = ()


LINES_KEPT = 16
"""For each program, this many of the lines typed last are kept."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a call's idea may come from.

    `tainted_by`: whose text the turn has read; empty where it read only the person's. `said`: the person's words.
    `planned`: the person wrote the plan that runs. `answered`: windows (`ControlWindow.place`) where the person has
    allowed acts of unknown effect for this task. `secrets`: files with keys or passwords that were read. `personal`:
    kinds of personal data that were read (see `personal_in`). `links`: addresses in the text that was read. `hosts`:
    hosts that the person has allowed. `typed`: the single lines that the turn typed, by program; under "" what it put
    on the clipboard. `instructions`: the person's own text, which can give permission. `lines`: text typed in each
    window (`ControlWindow.key`) since the last Return there. `terminals`: new, empty terminals (`ControlWindow.ref`) of
    this turn; only there does `lines` hold the whole line. `shared`: windows (`ControlWindow.key`) where words of the
    model may reach others, with all that was read by now. `shown`: programs whose windows were there when the screen
    was read.
    """

    tainted_by: tuple[str, ...] = ()
    said: str = ""
    planned: bool = False
    answered: frozenset[str] = frozenset()
    secrets: tuple[str, ...] = ()
    personal: tuple[str, ...] = ()
    links: Collection[str] = frozenset()
    hosts: Collection[str] = frozenset()
    typed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    instructions: str = ""
    lines: Mapping[str, str] = field(default_factory=dict)
    terminals: Collection[str] = frozenset()
    shared: Collection[str] = frozenset()
    shown: Collection[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Action:
    """What a call comes to. `kinds` are its consequences; paths are resolved, hosts as they are written; `reasons` are
    sentences on why a command is no more harmless. `is_added`: its tool is one that others made.
    """

    tool: str
    effects: frozenset[Effect]
    kinds: Kinds = frozenset()
    controls: tuple[Control, ...] = ()
    paths: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    text: str = ""
    command: str = ""
    reasons: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    arguments: Mapping[str, JsonValue] = field(default_factory=lambda: NOTHING)
    is_added: bool = False

    @property
    def effect(self) -> Effect:
        """The weightiest of its effects."""
        return max(self.effects, key=_WEIGHT.index)

    @property
    def control(self) -> Control:
        """The last thing it acts on; where nothing is known, an empty one."""
        return self.controls[-1] if self.controls else Control()

    @property
    def stakes(self) -> Stakes:
        """Return what is known of its consequences."""
        if self.kinds & _KNOWN_TO_MATTER:
            return Stakes.CONSEQUENTIAL
        return Stakes.UNKNOWN if Consequence.UNKNOWN in self.kinds else Stakes.HARMLESS


@dataclass(frozen=True, slots=True)
class Verdict:
    """`sentence` says why, to the person who is asked or to the model that is denied. `rule` names what decided, and
    `where` says in which file it stands. `may_remember`: the person may allow this always, by a rule of theirs.
    `is_for_taint`: it is so only because somebody else's words were read.
    """

    decision: Decision
    sentence: str = ""
    rule: str = ""
    where: str = ""
    may_remember: bool = False
    act: Action | None = None
    is_for_taint: bool = False


class TargetInspector(Protocol):
    """All take a few milliseconds and never raise: what cannot be known is left out."""

    async def shown(self) -> frozenset[str]:
        """The programs that have windows now, also hidden ones; an empty name for what is not known."""
        ...

    async def seen(self, call: ToolCall, aim: ScreenAim) -> Sequence[Control]:
        """Return what the call would act on now."""
        ...

    async def picture(self, call: ToolCall, aim: ScreenAim) -> tuple[Media, tuple[int, int] | None] | None:
        """The part of the screen it would act on, and where in it; None where there is nothing to show."""
        ...


class NoDesktop:
    """Nothing is known of the screen."""

    async def shown(self) -> frozenset[str]:
        return frozenset({""})

    async def seen(self, call: ToolCall, aim: ScreenAim) -> Sequence[Control]:  # noqa: ARG002
        return ()

    async def picture(self, call: ToolCall, aim: ScreenAim) -> tuple[Media, tuple[int, int] | None] | None:  # noqa: ARG002
        return None
