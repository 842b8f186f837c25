"""The one choke point: may a call run, must somebody be asked, or is it out of the question?

Order: a deny rule of anybody, an ask rule of anybody, an allow rule of the person, what the mode says. What some of
Wisp's own rules and the mode would ask is not asked where the person's words name it, or a rule of this run allows it.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from app.agent.policy import persons_words, rules, sentences
from app.agent.policy.call_analysis import CallAnalyzer, CommandClassifier, NobodyKnows
from app.agent.policy.rules import Rule, Rulebook, Vocabulary, fits, names_hosts
from app.agent.policy.sentences import table
from app.agent.policy.values import Action, Consequence, Control, Decision, Mode, Provenance, Verdict
from app.base.clock import Clock, SystemClock
from app.base.values import dataclass, field, replace
from app.protocol.call import ToolCall
from app.protocol.spec import HARMLESS, Effect, ToolSpec
from app.services.files import origins
from app.services.files.places import Workspace

_SEVERITY = (Decision.ALLOW, Decision.ASK, Decision.DENY)
YOLO_S = 1800.0
"""As long as a turn may take."""


@dataclass(frozen=True, slots=True)
class PolicyDeps:
    """What the policy is given. `yolo_s` is how long yolo lasts before the mode of before counts again; `own_keys` are
    Wisp's: the one that stops, the one that opens it. `tools` are all that can be called: rules may name no others.
    `allowed` are rules in their short form that allow something for this run.
    """

    commands: CommandClassifier = field(default_factory=NobodyKnows)
    clock: Clock = field(default_factory=SystemClock)
    yolo_s: float = YOLO_S
    own_keys: tuple[str, ...] = ()
    tools: Sequence[ToolSpec] = ()
    allowed: Sequence[str] = ()


class Policy:
    """Decides about one call at a time. `persons` is the person's file of rules, where it is not in its usual place.

    Raises OSError or ValueError where Wisp's own rules are damaged or miss a desktop tool; a fault in
    other rules makes everything ask.
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
        self._persons = persons
        around = surroundings or PolicyDeps()
        self._reader = CallAnalyzer(Workspace(self._workspace), around.commands, around.own_keys)
        self._clock = around.clock
        self._yolo_s = around.yolo_s
        self._mode = self._before = Mode.ASK
        self._until = math.inf
        if forgotten := [spec.name for spec in around.tools if _is_forgotten(spec)]:
            raise ValueError(f"Nothing says what these desktop tools act on: {', '.join(forgotten)}.")
        self._vocabulary = Vocabulary.of(around.tools)
        self._book = rules.load(self._workspace, persons, self._vocabulary)
        self._allowed = tuple(rules.rule_in_short(text, self._vocabulary) for text in around.allowed)
        self.switch(mode)

    @property
    def mode(self) -> Mode:
        """What counts now: yolo ends by itself."""
        if self._clock.now() >= self._until:
            self._mode, self._until = self._before, math.inf
        return self._mode

    @property
    def yolo_left_s(self) -> float:
        """Return the seconds until YOLO mode ends, and 0 in other modes."""
        return max(self._until - self._clock.now(), 0.0) if self.mode is Mode.YOLO else 0.0

    @property
    def book(self) -> Rulebook:
        """The rules in force."""
        return self._book

    def switch(self, mode: Mode) -> None:
        """The person chose another mode; it counts from the next call on."""
        now = self.mode
        if mode is Mode.YOLO:
            self._before = now if now is not Mode.YOLO else self._before
            self._until = self._clock.now() + self._yolo_s
        else:
            self._until = math.inf
        self._mode = mode

    def decide(
        self,
        call: ToolCall,
        spec: ToolSpec,
        seen: Sequence[Control] = (),
        provenance: Provenance = Provenance(),  # noqa: B008 - a frozen value
    ) -> Verdict:
        """The verdict on a call that would act on `seen`, with the rule that decided."""
        mode = self.mode
        act = self._known_hosts(self._reader.act(call, spec, seen, provenance))
        if _is_forgotten(spec):
            told = sentences.sentence(table("sentences")["forgotten"], act, mode, provenance)
            return Verdict(Decision.DENY, told, "no aim", act=act)
        if rule := self._first(Decision.DENY, act, mode, provenance):
            return self._by(rule, act, mode, provenance)
        asking = [rule for rule in self._book.of(Decision.ASK) if fits(rule, act, mode, provenance, self._workspace)]
        if rule := next((rule for rule in asking if not _is_answerable(rule)), None):
            return self._by(rule, act, mode, provenance)
        if self._book.broken and _may_have_been_denied(act):
            template = table("sentences")["broken"] + self._book.broken.replace("$", "$$")
            told = sentences.sentence(template, act, mode, provenance)
            return Verdict(Decision.ASK, told, "broken rules", act=act)
        verdict = self._by(asking[0], act, mode, provenance) if asking else self._unasked(act, mode, provenance)
        return self._answered(verdict, act, mode, provenance) if verdict.decision is Decision.ASK else verdict

    def _unasked(self, act: Action, mode: Mode, provenance: Provenance) -> Verdict:
        """The verdict where no rule asks."""
        if rule := self._first(Decision.ALLOW, act, mode, provenance):
            return self._by(rule, act, mode, provenance)
        return self._by_mode(act, mode, provenance)

    def _answered(self, verdict: Verdict, act: Action, mode: Mode, provenance: Provenance) -> Verdict:
        """The verdict on what would be asked: the person may have said yes in their words, or for this run."""
        if persons_words.cover(act, provenance):
            return Verdict(Decision.ALLOW, "", persons_words.RULE, act=act)
        allowed = (rule for rule in self._allowed if fits(rule, act, mode, provenance, self._workspace))
        if rule := next(allowed, None):
            return Verdict(Decision.ALLOW, "", rule.name, rule.where, act=act)
        return verdict

    def rule_for(
        self, call: ToolCall, spec: ToolSpec, seen: Sequence[Control], provenance: Provenance, act: Action
    ) -> str:
        """The rule in its short form that would let this call run, tried out; empty where none would."""
        text = rules.in_short(act)
        tried = copy.copy(self)
        try:
            tried._allowed = (*self._allowed, rules.rule_in_short(text, self._vocabulary))
        except rules.BadRules:
            return ""
        return text if tried.decide(call, spec, seen, provenance).decision is Decision.ALLOW else ""

    def read(self, call: ToolCall, spec: ToolSpec) -> Action:
        """What the call comes to by itself, without looking at the screen."""
        return self._reader.act(call, spec, (), Provenance())

    def origins_of(self, act: Action) -> set[Path]:
        """The folders from elsewhere that an act read in."""
        paths = act.paths if Effect.READS in act.effects else (str(self._workspace),)
        return {folder for path in paths if (folder := origins.foreign_folder(Path(path)))}

    def remember(self, act: Action) -> str:
        """The person wants this always: write a rule into their file and count it at once.

        The sentence that tells of it. Raises NeedsPerson where that cannot be done.
        """
        told = rules.write(act, self._persons or rules.persons_file(), self._vocabulary)
        self._book = rules.load(self._workspace, self._persons, self._vocabulary)
        return told

    def _known_hosts(self, act: Action) -> Action:
        """The act without the new host that a rule of the person allows by its name."""
        own = (rule for rule in self._book.of(Decision.ALLOW) if not rule.is_ours)
        if Consequence.NEW_HOST not in act.kinds or not any(names_hosts(rule, act.hosts) for rule in own):
            return act
        return replace(act, kinds=act.kinds - {Consequence.NEW_HOST})

    def _first(self, then: Decision, act: Action, mode: Mode, provenance: Provenance) -> Rule | None:
        rules = self._book.of(then)
        return next((rule for rule in rules if fits(rule, act, mode, provenance, self._workspace)), None)

    def _by(self, rule: Rule, act: Action, mode: Mode, provenance: Provenance) -> Verdict:
        template = rule.says or table("sentences")[f"rule_{rule.then.value}"]
        told = sentences.sentence(template, act, mode, provenance)
        return Verdict(rule.then, told, rule.name, rule.where, act=act, is_for_taint=rule.tainted is True)

    def _by_mode(self, act: Action, mode: Mode, provenance: Provenance) -> Verdict:
        found = list(self._of_mode(act, mode))
        decision, name = max(found, key=lambda one: _SEVERITY.index(one[0]))
        where = rules.shipped_file().name
        rule = f"mode {mode.value}: {name}"
        if decision is Decision.ALLOW:
            return Verdict(decision, "", rule, where, act=act)
        template = table("sentences")["mode_asks" if decision is Decision.ASK else "mode_denies"]
        told = sentences.sentence(template, act, mode, provenance)
        may_remember = decision is Decision.ASK and not provenance.tainted_by and rules.can(act)
        return Verdict(decision, told, rule, where, may_remember, act)

    def _of_mode(self, act: Action, mode: Mode) -> Iterator[tuple[Decision, str]]:
        """What the mode says to each of the call's effects and kinds, by name."""
        rules = self._book.modes[mode.value]
        for effect in sorted(act.effects):
            yield Decision(rules.get(effect.value, Decision.DENY.value)), effect.value
        kinds = rules.get("kinds", {})
        for kind in sorted(act.kinds):
            if kind in kinds:
                yield Decision(kinds[kind]), kind


def _is_forgotten(spec: ToolSpec) -> bool:
    """Whether a desktop tool does not say what it acts on, not even that it acts on nothing. The registry has none."""
    return spec.effect is Effect.DESKTOP and spec.aim is None


def _may_have_been_denied(act: Action) -> bool:
    """Whether a file of rules that cannot be read may have been meant to keep this from happening."""
    return not act.effects <= HARMLESS or bool(act.kinds & {Consequence.FAR, Consequence.UNCLEAR})


def _is_answerable(rule: Rule) -> bool:
    """Whether the person's words answer what the rule asks: only rules of Wisp, never one that a person wrote."""
    return rule.is_ours and rule.name in table("words")["answers"]["rules"]
