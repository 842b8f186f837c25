"""What is judged and what comes of it: values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from app.protocol.result import JsonValue
from app.protocol.spec import Effect

NOTHING: Mapping[str, JsonValue] = MappingProxyType({})


class Decision(StrEnum):
    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class Mode(StrEnum):
    ASK = "ask"
    AUTO = "auto"
    PLAN = "plan"
    YOLO = "yolo"


@dataclass(frozen=True, slots=True)
class Control:
    """What a call would act on, as the desktop tells it now. All texts were written by programs: untrusted.

    `role` and `name` are accessibility's; `default` is the name of the dialog's default button, which Return presses.
    """

    window: str = ""
    app: str = ""
    role: str = ""
    name: str = ""
    default: str = ""
    is_own: bool = False
    is_terminal: bool = False


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a call's idea may come from: whose words the turn has read (empty: nobody else's), what the person said,
    and whether the person themselves wrote the plan that is carried out.
    """

    tainted_by: tuple[str, ...] = ()
    said: str = ""
    planned: bool = False


@dataclass(frozen=True, slots=True)
class Act:
    """What a call comes to. `kinds` are its consequences; paths are resolved, hosts as they are written; `reasons` are
    sentences on why a command is no more harmless.
    """

    tool: str
    effect: Effect
    kinds: frozenset[str] = frozenset()
    controls: tuple[Control, ...] = ()
    paths: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    text: str = ""
    command: str = ""
    reasons: tuple[str, ...] = ()
    arguments: Mapping[str, JsonValue] = field(default_factory=lambda: NOTHING)

    @property
    def control(self) -> Control:
        """The last thing it acts on; where nothing is known, an empty one."""
        return self.controls[-1] if self.controls else Control()


@dataclass(frozen=True, slots=True)
class Verdict:
    """`sentence` says why, to the person who is asked or to the model that is denied. `rule` names what decided, and
    `where` says in which file it stands. `may_remember`: the person may allow this always, by a rule of theirs.
    """

    decision: Decision
    sentence: str = ""
    rule: str = ""
    where: str = ""
    may_remember: bool = False
    act: Act | None = None
