"""The policy of a conversation: the mode, the person's rules and their lasting grants around `decision.decide`.

The first of these that fits decides: a wall, a deny rule of anybody, an ask rule of anybody, an allow rule of the
person, the decision itself.
"""

from __future__ import annotations

import math
import os
import unicodedata
from collections.abc import Callable, Collection, Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from app.agent import asking
from app.agent.policy import decision, rules
from app.agent.policy.call_analysis import CallAnalyzer, CommandClassifier, NobodyKnows
from app.agent.policy.grants import SavedGrants
from app.agent.policy.rules import Rule, Rulebook, Vocabulary
from app.agent.policy.values import (
    Action,
    Control,
    Decision,
    Mode,
    Need,
    Subject,
    Tier,
    Trust,
    Verdict,
)
from app.base.clock import Clock, SystemClock
from app.base.phrases import Phrase
from app.base.values import dataclass, field, replace
from app.desktop.backends import Owner
from app.protocol.call import ToolCall
from app.protocol.spec import HARMLESS, ToolSpec
from app.services.files.places import Workspace

YOLO_S = 1800.0
"""As long as a turn may take."""
_COMPOUND = frozenset(";|&$`()<>\n\r\\{}#")
"""Signs that make one command several, or another: a pattern never allows those."""
_PLAN = "plan"
_OTHER_MODE = "Choose another mode to let it run (`wisp do --mode ask`)."
_LONGEST_CHARS = 2000
_SHALLOW = 2
"""Parts of a path that holds too much to be allowed as a whole, such as / and /home."""


@dataclass(frozen=True, slots=True)
class PolicyDeps:
    """What the policy is given. `yolo_s` is how long YOLO mode lasts, in seconds; then the earlier mode returns.

    `own_keys` are the chords that stop Wisp and that open it. `tools` are all tools that can be called; rules may name
    no others. `allowed` are the names of what is allowed in this run. `own_ports` returns the ports of this machine
    that the conversation's commands serve. `language` is the person's, in two letters; "" is English.
    `is_own_desktop`: the desktop is Wisp's own virtual one, where every program may be used.
    """

    commands: CommandClassifier = field(default_factory=NobodyKnows)
    clock: Clock = field(default_factory=SystemClock)
    yolo_s: float = YOLO_S
    own_keys: tuple[str, ...] = ()
    tools: Sequence[ToolSpec] = ()
    allowed: Sequence[str] = ()
    own_ports: Callable[[], Collection[int]] = tuple
    language: str = ""
    is_own_desktop: bool = False


class Policy:
    """Decides about one call at a time. `persons` is the person's rule file, if it is not in its usual place.

    Raises ValueError if a desktop tool does not say what it acts on. An error in the rules makes every call ask.
    """

    def __init__(
        self,
        workspace: Path,
        mode: Mode = Mode.ASK,
        *,
        surroundings: PolicyDeps | None = None,
        persons: Path | None = None,
    ) -> None:
        self._workspace = workspace.resolve()
        around = surroundings or PolicyDeps()
        if unaimed := [spec.name for spec in around.tools if spec.is_unaimed]:
            raise ValueError(f"Nothing says what these desktop tools act on: {', '.join(unaimed)}.")
        self._book = rules.load(self._workspace, persons, Vocabulary.of(around.tools))
        self._reader = CallAnalyzer(
            Workspace(self._workspace), around.commands, around.own_keys, around.own_ports, self._book.programs
        )
        self.saved = SavedGrants()
        self._around = around
        self._allowed = tuple(name.casefold().strip() for name in around.allowed)
        self._mode = self._before = Mode.ASK
        self._until = math.inf
        self.switch(mode)

    @property
    def mode(self) -> Mode:
        """The mode that counts now: YOLO mode ends by itself."""
        if self._around.clock.now() >= self._until:
            self._mode, self._until = self._before, math.inf
        return self._mode

    @property
    def yolo_left_s(self) -> float:
        """The seconds until YOLO mode ends, and 0 in other modes."""
        return max(self._until - self._around.clock.now(), 0.0) if self.mode is Mode.YOLO else 0.0

    @property
    def book(self) -> Rulebook:
        """The person's rules that count now."""
        return self._book

    @property
    def language(self) -> str:
        """The language in which the person is asked, in two letters; "" is English."""
        return self._around.language

    @property
    def _readers(self) -> tuple[str, str]:
        """The languages in which a verdict is told: the person's and the models'."""
        return self.language, asking.MODELS

    @property
    def allowed(self) -> tuple[str, ...]:
        """The names of what is allowed in this run, and of what the person allowed for good."""
        return (*self._around.allowed, *(one.name for one in self.saved.all()))

    def switch(self, mode: Mode) -> None:
        """Switch to the mode that the person chose, from the next call on."""
        now = self.mode
        if mode is Mode.YOLO:
            self._before = now if now is not Mode.YOLO else self._before
            self._until = self._around.clock.now() + self._around.yolo_s
        else:
            self._until = math.inf
        self._mode = mode

    def tier(self, owner: Owner) -> Tier:
        """Return what a program can do for whoever uses it."""
        return self._reader.tier(owner)

    def decide(self, call: ToolCall, spec: ToolSpec, seen: Sequence[Control], trust: Trust) -> Verdict:
        """Return the verdict on a call that would act on `seen`, with what decided."""
        act = self._reader.act(call, spec, seen, trust)
        mode, by = self.mode, f"mode {self.mode.value}"
        by_itself, needs, wall = decision.decide(mode, act, self._with_lasting(act, trust))
        if wall is not None:
            sentence, told = (asking.of_wall(wall, act, language) for language in self._readers)
            return Verdict(Decision.DENY, sentence, wall.value, act=act, told=told, hint=asking.instead(wall.value))
        for then in (Decision.DENY, Decision.ASK):
            if rule := next((rule for rule in self._book.of(then) if self._fits(rule, act)), None):
                return self._by_rule(rule, act)
        if self._book.broken and not act.effects <= HARMLESS:
            broken = self._book.broken
            return Verdict(Decision.ASK, broken, "broken rules", needs=_whole(act), act=act, told=broken)
        if by_itself is Decision.DENY:
            sentence, told = (asking.of_plan(act, language) for language in self._readers)
            hint, advice = asking.instead(_PLAN), Phrase(_OTHER_MODE)
            return Verdict(Decision.DENY, sentence, by, act=act, told=told, hint=hint, advice=advice)
        if by_itself is Decision.ALLOW:
            return Verdict(Decision.ALLOW, "", by, act=act)
        is_open = not trust.secrets and decision.ALWAYS_ASKED.isdisjoint(need.subject for need in needs)
        if is_open and (rule := next((r for r in self._book.of(Decision.ALLOW) if self._fits(r, act)), None)):
            return self._by_rule(rule, act)
        sentence, told = (asking.of_needs(needs, act, trust, language) for language in self._readers)
        return Verdict(Decision.ASK, sentence, by, needs=needs, act=act, told=told)

    def read(self, call: ToolCall, spec: ToolSpec) -> Action:
        """The action as far as it can be known without the screen."""
        return self._reader.act(call, spec, (), Trust())

    def _with_lasting(self, act: Action, trust: Trust) -> Trust:
        """Adds the grants that do not come from this task."""
        lasting = {one.grant for one in self.saved.all()}
        lasting |= {need.grant for need in act.needs if self._is_allowed(need)}
        return replace(trust, grants=trust.grants | lasting) if lasting else trust

    def _is_allowed(self, need: Need) -> bool:
        """True if this run allows it by its name, or because the whole desktop is Wisp's own."""
        if need.subject is Subject.PROGRAM and self._around.is_own_desktop:
            return True
        if not need.is_nameable:
            return False
        if need.subject is Subject.HOST and need.key:
            return any("." in name and f".{need.key}".endswith(f".{name}") for name in self._allowed)
        if need.subject is Subject.FOLDER:
            # as they were written, because file names may differ in their capitals only
            folders = [Path(os.path.realpath(Path(name).expanduser())) for name in self._around.allowed]
            place = Path(need.key.split("\0")[0])
            return any(place.is_relative_to(folder) for folder in folders if len(folder.parts) > _SHALLOW)
        names = {need.name.casefold(), need.key.casefold(), *need.names}
        return not names.isdisjoint(self._allowed)

    def _fits(self, rule: Rule, act: Action) -> bool:
        """Return whether all conditions of a rule hold.

        To allow, all values of the act must fit a condition; to ask or deny, one is enough.
        """
        found = {**rules.described(act), "mode": ((self.mode.value,),)}
        wants_all = rule.then is Decision.ALLOW
        for name, patterns in rule.conditions.items():
            given = tuple(_absolute(one, self._workspace) for one in patterns) if name == "path" else patterns
            fitting = [any(_one_fits(name, one, given, wants_all=wants_all) for one in value) for value in found[name]]
            if not fitting or not (all(fitting) if wants_all else any(fitting)):
                return False
        return True

    def _by_rule(self, rule: Rule, act: Action) -> Verdict:
        if rule.then is Decision.ALLOW:
            return Verdict(rule.then, "", rule.name, rule.where, act=act)
        sentence, told = (rule.says or asking.of_rule(rule.then, act, language) for language in self._readers)
        needs = _whole(act) if rule.then is Decision.ASK else ()
        return Verdict(rule.then, sentence, rule.name, rule.where, needs, act, told)


def _whole(act: Action) -> tuple[Need, ...]:
    """Return a need that only this very act answers."""
    return (Need(Subject.WARNING, f"{act.tool}\0{sorted(map(str, act.arguments.items()))}"),)


def _one_fits(name: str, value: str, patterns: Iterable[str], *, wants_all: bool) -> bool:
    if name == "command" and wants_all:
        return value in patterns or (not _COMPOUND & set(value) and any(fnmatchcase(value, one) for one in patterns))
    if name == "path":
        below = () if wants_all else tuple(f"{pattern.rstrip('/')}/*" for pattern in patterns)
        return any(fnmatchcase(value, pattern) for pattern in (*patterns, *below))
    return any(fnmatchcase(_plain(value), _plain(pattern)) for pattern in patterns)


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text[:_LONGEST_CHARS]).casefold().strip()


def _absolute(pattern: str, workspace: Path) -> str:
    """Links are followed.

    The pattern may begin with `~/`, be absolute already, or be relative to the workspace.
    """
    place = Path.home() / pattern[2:] if pattern.startswith("~/") else workspace / pattern
    return Path(os.path.realpath(place)).as_posix()
