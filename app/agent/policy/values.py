"""Values of the policy: what it judges (`Action`, `Control`, `Trust`) and its result (`Verdict`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Protocol

from app.base.phrases import NO_PHRASE, Phrase
from app.base.values import dataclass, field
from app.desktop.backends import Owner
from app.protocol.call import JsonValue, Media, ToolCall
from app.protocol.spec import Effect, ScreenAim

NOTHING: Mapping[str, JsonValue] = MappingProxyType({})
OWN_FOLDER = ".wisp"
"""In a workspace: its rules. Wisp reads them without asking, so no tool may write there."""

_WEIGHT = (
    Effect.READS, Effect.TALKS, Effect.DESKTOP, Effect.WRITES, Effect.NETWORK, Effect.EXECUTES, Effect.SETTINGS,
    Effect.ENDS,
)  # fmt: skip
"""The milder effect first."""


class Decision(StrEnum):
    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class Mode(StrEnum):
    ASK = "ask"
    AUTO = "auto"
    PLAN = "plan"
    YOLO = "yolo"


class Tier(StrEnum):
    """What a program can do for whoever uses it (`resources/policy/programs.toml`)."""

    ORDINARY = "ordinary"
    COMMANDS = "runs commands"
    OTHERS = "reaches others"
    NEVER = "never"


class Consequence(StrEnum):
    """A fact about an act. The first nine are walls: they are denied in every mode."""

    OWN = "own"
    """It acts on a window of Wisp."""
    NEVER = "never"
    """It acts in a password manager, a keyring, an administrator's dialog or a lock screen."""
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
    UNAIMED = "unaimed"
    """Its tool does not say what it acts on."""
    OUTSIDE = "outside"
    """It changes a file outside the workspace."""
    CARRIES = "carries"
    """It moves or copies a folder that holds what the system, git or an editor runs without asking."""
    UNCLEAR = "unclear"
    """It names a place that cannot be made out."""
    UNASKED = "private unasked"
    """It reads keys or passwords of the workspace by their name, and the person did not name them."""
    FOREIGN = "foreign"
    """It reads a file that came from elsewhere."""
    PERSISTS = "persists"
    """It keeps words for later tasks."""
    OUTWARD = "outward"
    """It gives a file to others."""
    LAUNCHES = "launches"
    """It opens a document that can run or load things with its program, outside the sandbox."""
    SANDBOXED = "sandboxed"
    """A command in the sandbox."""
    UNSANDBOXED = "unsandboxed"
    """A command without a sandbox around it."""
    LEAVES = "leaves"
    """A command that asks to write outside the sandbox."""
    REACHES_OUT = "reaches out"
    """A command that asks for the network."""
    LOOKS = "looks"
    """A command in the sandbox that only reads."""


WALLS = (
    Consequence.UNAIMED, Consequence.OWN, Consequence.NEVER, Consequence.PASSWORD, Consequence.SECRET,
    Consequence.STARTS, Consequence.SESSION, Consequence.INNER, Consequence.ODD,
)  # fmt: skip
Kinds = frozenset[Consequence]


class Subject(StrEnum):
    """What a question is about, and what a grant is for."""

    PROGRAM = "program"
    HOST = "host"
    SERVER = "server"
    """An MCP server."""
    FOLDER = "folder"
    """A folder outside the workspace, to write in."""
    COMMAND = "command"
    """A command with the network, or without a sandbox around it."""
    LEAVING = "leaving"
    """A command that leaves the sandbox though there is one."""
    OPENING = "opening"
    """A document that its program may run."""
    TYPING = "typing"
    """Text for a program that runs commands, after others' words were read."""
    BUTTON = "button"
    """A control whose name says that it sends, pays or deletes for good."""
    SENDING = "sending"
    """A file for a host."""
    SECRET = "secret"
    """A file of the workspace with keys or passwords."""
    KEEPING = "keeping"
    """Words for later tasks, after others' words were read."""
    SETTINGS = "settings"
    """A setting, a schedule, a rule, a server."""
    SESSION = "session"
    """The end of the person's session. Nothing permits it but their answer to this very question."""
    WARNING = "warning"
    """A call of which the model itself says that it may destroy something."""


LASTING = frozenset({Subject.PROGRAM, Subject.HOST, Subject.FOLDER, Subject.COMMAND, Subject.LEAVING})
"""What "Always" can be said of. Not of a tool server: another one may have its name elsewhere (`wisp mcp trust`)."""


@dataclass(frozen=True, slots=True)
class Need:
    """What an act needs a grant for. `key` identifies it, `name` is for people.

    `tier` is a program's. `is_outward`: something of the person's can leave the machine by it. `is_named`: the person's
    own words name it. `names` are a program's other names. `is_nameable`: `--allow` can name it.
    """

    subject: Subject
    key: str
    name: str = ""
    tier: Tier = Tier.ORDINARY
    is_outward: bool = False
    is_named: bool = False
    names: tuple[str, ...] = ()
    is_nameable: bool = True

    @property
    def grant(self) -> tuple[Subject, str]:
        return self.subject, self.key


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlWindow:
    """The window that a control is in. `ref` names it for its life. `owner` is its program.

    `host` is the site of a page in Wisp's own browser; such a page has no window. `is_frame`: the control is the frame
    of the window.
    """

    title: str = ""
    app: str = ""
    ref: str = ""
    host: str = ""
    owner: Owner = Owner()
    is_own: bool = False
    is_frame: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """What a call would act on, as the desktop describes it now. All texts were written by programs: untrusted.

    `role` and `name` are accessibility's. `default` is the name of the window's default button, which Return
    presses. `has_password`: the window holds a password field. `symbols` maps keys to all key symbols that they make in
    the present layouts.
    """

    role: str = ""
    name: str = ""
    window: ControlWindow = ControlWindow()
    default: str = ""
    has_password: bool = False
    symbols: tuple[tuple[str, frozenset[str]], ...] = ()


@dataclass(frozen=True, slots=True)
class Trust:
    """What a call may rest on.

    `grants` are the person's answers so far and their saved ones, as `Need.grant`. `words` are the person's own, which
    permit what they name. `is_planned`: the person wrote the plan that runs. `tainted_by`: whose words the task has
    read; empty where it read only the person's. `secrets`: files with keys or passwords that were read.
    """

    grants: frozenset[tuple[Subject, str]] = frozenset()
    words: str = ""
    is_planned: bool = False
    tainted_by: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Action:
    """What a call would do, as the policy judges it. `kinds` are facts about it, `needs` what it needs a grant for.

    Paths are resolved, hosts are as written. `reasons` are sentences on why a command is not harmless. `is_added`: the
    tool belongs to an added tool server. `agreed` is what the tool itself says of the call, for the question.
    """

    tool: str
    effects: frozenset[Effect]
    kinds: Kinds = frozenset()
    needs: tuple[Need, ...] = ()
    controls: tuple[Control, ...] = ()
    paths: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    text: str = ""
    command: str = ""
    reasons: tuple[Phrase, ...] = ()
    secrets: tuple[str, ...] = ()
    arguments: Mapping[str, JsonValue] = field(default_factory=lambda: NOTHING)
    is_added: bool = False
    agreed: Phrase | None = None

    @property
    def effect(self) -> Effect:
        """The worst of the action's effects."""
        return max(self.effects, key=_WEIGHT.index)

    @property
    def control(self) -> Control:
        """The last control that the action acts on; an empty one if none is known."""
        return self.controls[-1] if self.controls else Control()


@dataclass(frozen=True, slots=True)
class Verdict:
    """The policy's decision on a call. `sentence` says why, in the person's language, and `told` tells models; of a
    denied call, `hint` tells the model what to do instead, and `advice` the person.

    `rule` names the wall, mode or rule that decided; `where` is the rule's file. `needs` are what a yes would grant.
    """

    decision: Decision
    sentence: str = ""
    rule: str = ""
    where: str = ""
    needs: tuple[Need, ...] = ()
    act: Action | None = None
    told: str = ""
    hint: str = ""
    advice: Phrase = NO_PHRASE


class TargetInspector(Protocol):
    """Finds what calls would act on. Methods take a few milliseconds and never raise: the unknown is left out."""

    async def shown(self) -> tuple[Owner, ...]:
        """Return the programs that have visible windows now."""
        ...

    async def seen(self, call: ToolCall, aim: ScreenAim) -> Sequence[Control]: ...

    async def picture(self, call: ToolCall, aim: ScreenAim) -> tuple[Media, tuple[int, int] | None] | None:
        """Return the part of the screen that the call acts on, and the point in it; None if nothing can be shown."""
        ...


class NoDesktop:
    """The inspector of a machine without a desktop: everything is unknown."""

    async def shown(self) -> tuple[Owner, ...]:
        return ()

    async def seen(self, call: ToolCall, aim: ScreenAim) -> Sequence[Control]:  # noqa: ARG002
        return ()

    async def picture(self, call: ToolCall, aim: ScreenAim) -> tuple[Media, tuple[int, int] | None] | None:  # noqa: ARG002
        return None
