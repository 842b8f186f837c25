"""Values of the policy: what it judges (`Action`, `Control`, `Provenance`) and its result (`Verdict`)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Protocol

from app.base.texts import Phrase
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
    """A possible consequence of an act. Tables and rules may use no other words."""

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
    """The class of a desktop act: harmless, consequential, or unknown."""

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
    """A text field that may name a file, with its text. `app` is its program; `folders` are those that the dialog
    shows.
    """

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
        """Return whether typed words followed by Return start programs in this window."""
        return self.is_terminal or self.is_launcher

    @property
    def opens_items(self) -> bool:
        """Return whether the window opens items, as a file manager does. In a terminal a double click only selects."""
        return self.is_launcher and not self.is_terminal

    @property
    def place(self) -> str:
        """Return the key under which a task remembers the window; "" if the window is unknown."""
        return "\0".join((self.app, self.ref or self.title)) if self.app or self.ref else ""

    @property
    def key(self) -> str:
        """Return the window's key, whichever program describes the control; "" if the window is unknown."""
        return self.ref or self.place


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlScene:
    """What the window shows around a control.

    `default` is the name of the window's default button, which Return presses. `buttons` are the names of all buttons
    of a dialog, or of those that Return may press if no default is known. `words` are the sentences and the chosen
    values of the dialog or small window; `near` are the few sentences beside the control in a larger window.
    `is_message`: the dialog or window holds nothing but sentences, buttons and sliders. `fields` are the texts in the
    dialog's text fields; `bindings` are the controls that keys press. Both are None if they were not read.
    """

    default: str = ""
    buttons: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    near: tuple[str, ...] = ()
    is_message: bool = False
    fields: tuple[str, ...] | None = None
    bindings: tuple[Binding, ...] | None = None
    is_menu_open: bool = False
    has_password: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlKeyboard:
    """What keys would do at a control. `pasted` is the text that a paste would type; None if it is not known.

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
    allowed acts of unknown effect for this task. `opened`: windows (`ControlWindow.ref`) of programs that this turn
    opened by the name that the person gave them. `secrets`: files with keys or passwords that were read. `personal`:
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
    opened: frozenset[str] = frozenset()
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
    """What a call would do, as the policy judges it. `kinds` are its consequences; paths are resolved, hosts are as
    written.

    `reasons` are sentences on why a command is not harmless. `is_added`: the tool belongs to an added tool server.
    `agreed` is what the tool itself says of the call, for the question to the person.
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
    agreed: Phrase | None = None

    @property
    def effect(self) -> Effect:
        """Return the worst of the action's effects."""
        return max(self.effects, key=_WEIGHT.index)

    @property
    def control(self) -> Control:
        """Return the last control that the action acts on; an empty one if none is known."""
        return self.controls[-1] if self.controls else Control()

    @property
    def stakes(self) -> Stakes:
        """Return how much is known about the action's consequences."""
        if self.kinds & _KNOWN_TO_MATTER:
            return Stakes.CONSEQUENTIAL
        return Stakes.UNKNOWN if Consequence.UNKNOWN in self.kinds else Stakes.HARMLESS


@dataclass(frozen=True, slots=True)
class Verdict:
    """The policy's decision on a call. `sentence` says why, to the person who is asked or to the model that is denied.
    `rule` names the rule, mode or words that decided; `where` is the rule's file. `may_remember`: the person may save a
    rule that always allows this. `is_for_taint`: it was decided so only because somebody else's words were read.
    `template` is the sentence before its names were filled in.
    """

    decision: Decision
    sentence: str = ""
    rule: str = ""
    where: str = ""
    may_remember: bool = False
    act: Action | None = None
    is_for_taint: bool = False
    template: str = ""


class TargetInspector(Protocol):
    """Finds what calls would act on. Methods take a few milliseconds and never raise: the unknown is left out."""

    async def shown(self) -> frozenset[str]:
        """Return the programs that have windows now, hidden ones included; "" for an unknown program."""
        ...

    async def seen(self, call: ToolCall, aim: ScreenAim) -> Sequence[Control]:
        """Return what the call would act on now."""
        ...

    async def picture(self, call: ToolCall, aim: ScreenAim) -> tuple[Media, tuple[int, int] | None] | None:
        """Return the part of the screen that the call acts on, and the point in it; None if nothing can be shown."""
        ...


class NoDesktop:
    """The inspector of a machine without a desktop: everything is unknown."""

    async def shown(self) -> frozenset[str]:
        return frozenset({""})

    async def seen(self, call: ToolCall, aim: ScreenAim) -> Sequence[Control]:  # noqa: ARG002
        return ()

    async def picture(self, call: ToolCall, aim: ScreenAim) -> tuple[Media, tuple[int, int] | None] | None:  # noqa: ARG002
        return None
