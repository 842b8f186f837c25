"""Decide about a call: may it run, must Wisp ask the person, or is it denied?

The first of these that fits decides: a deny rule of anybody, an ask rule of anybody, an allow rule of the person, the
mode (SECURITY.md: "A deny rule is final"; the rules and modes are in `resources/policy/default.toml`). A call that some
of Wisp's own rules or the mode would ask about runs unasked if the person's words name it, or a rule for this run
allows it.
"""

from __future__ import annotations

import copy
import math
import os
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from app.agent.policy import addresses, persons_words, rules, sentences
from app.agent.policy.call_analysis import CallAnalyzer, CommandClassifier, NobodyKnows
from app.agent.policy.chords import is_part, spelled
from app.agent.policy.rules import Rule, Rulebook, Vocabulary
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


_COMPOUND = frozenset(";|&$`()<>\n\r\\{}#")
"""Signs that make one command several, or another: a pattern never allows those."""
_LONGEST_CHARS = 2000
_FACTS: Mapping[str, Callable[[Action, Provenance], bool]] = {
    "tainted": lambda _act, known: bool(known.tainted_by),
    "planned": lambda _act, known: known.planned,
    "secret": lambda _act, known: bool(known.secrets),
    "personal": lambda _act, known: bool(known.personal),
    "local": addresses.is_local,
}


@dataclass(frozen=True, slots=True)
class PolicyDeps:
    """What the policy is given. `yolo_s` is how long YOLO mode lasts, in seconds; then the earlier mode returns.
    `own_keys` are the chords that stop Wisp and that open it. `tools` are all tools that can be called; rules may name
    no others. `allowed` are rules in their short form that allow something for this run. `own_ports` returns the ports
    of this machine that the conversation's commands serve. `language` is the person's, in two letters; "" is English.
    """

    commands: CommandClassifier = field(default_factory=NobodyKnows)
    clock: Clock = field(default_factory=SystemClock)
    yolo_s: float = YOLO_S
    own_keys: tuple[str, ...] = ()
    tools: Sequence[ToolSpec] = ()
    allowed: Sequence[str] = ()
    own_ports: Callable[[], Collection[int]] = tuple
    language: str = ""


@dataclass(frozen=True, slots=True)
class _Case:
    """The values that rules are compared with."""

    act: Action
    mode: Mode
    provenance: Provenance
    workspace: Path

    def fits(self, rule: Rule) -> bool:
        """Return whether all conditions of the rule hold."""
        if any(_FACTS[name](self.act, self.provenance) is not wanted for name, wanted in rule.facts.items()):
            return False
        is_vague = rule.then is Decision.ALLOW and "host" not in rule.conditions and Effect.NETWORK in self.act.effects
        if is_vague and self.act.tool in table("calls")["lasting"]["with_host"]:
            return False
        found = {**rules.described(self.act), "mode": (self.mode.value,)}
        return all(self._holds(rule, name, found[name]) for name in rule.conditions)

    def _holds(self, rule: Rule, name: str, values: tuple[str, ...]) -> bool:
        """Return whether the condition fits: to allow, all values must fit it; to ask or deny, one is enough."""
        patterns, wants_all = rule.conditions[name], rule.then is Decision.ALLOW
        if name == "path":
            patterns = tuple(_absolute(pattern, self.workspace) for pattern in patterns)
        if name == "keys":
            patterns = tuple(chord for pattern in patterns for chord in spelled(pattern))
        fitting = (_one_fits(name, value, patterns, wants_all=wants_all) for value in values)
        return bool(values) and (all(fitting) if wants_all else any(fitting))

    def say(self, template: str) -> str:
        return sentences.sentence(template, self.act, self.mode, self.provenance)

    def by(self, rule: Rule) -> Verdict:
        """Return the verdict of a rule."""
        template = rule.says or table("sentences")[f"rule_{rule.then.value}"]
        is_for_taint = rule.facts.get("tainted", False)
        told = self.say(template)
        return Verdict(
            rule.then, told, rule.name, rule.where, act=self.act, is_for_taint=is_for_taint, template=template
        )


class Policy:
    """Decides about one call at a time. `persons` is the person's rule file, if it is not in its usual place.

    Raises OSError or ValueError if Wisp's own rules are damaged or miss a desktop tool. An error in other rules makes
    every call ask.
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
        self._reader = CallAnalyzer(Workspace(self._workspace), around.commands, around.own_keys, around.own_ports)
        self._clock = around.clock
        self._yolo_s = around.yolo_s
        self._language = around.language
        self._mode = self._before = Mode.ASK
        self._until = math.inf
        if unaimed := [spec.name for spec in around.tools if spec.is_unaimed]:
            raise ValueError(f"Nothing says what these desktop tools act on: {', '.join(unaimed)}.")
        self._vocabulary = Vocabulary.of(around.tools)
        self._book = rules.load(self._workspace, persons, self._vocabulary)
        self._allowed = tuple(rules.rule_in_short(text, self._vocabulary) for text in around.allowed)
        self.switch(mode)

    @property
    def mode(self) -> Mode:
        """Return the mode that counts now: YOLO mode ends by itself."""
        if self._clock.now() >= self._until:
            self._mode, self._until = self._before, math.inf
        return self._mode

    @property
    def yolo_left_s(self) -> float:
        """Return the seconds until YOLO mode ends, and 0 in other modes."""
        return max(self._until - self._clock.now(), 0.0) if self.mode is Mode.YOLO else 0.0

    @property
    def book(self) -> Rulebook:
        """Return the rules that count now."""
        return self._book

    @property
    def language(self) -> str:
        """Return the language in which the person is asked, in two letters; "" is English."""
        return self._language

    def told(self, verdict: Verdict, provenance: Provenance) -> str:
        """Return the verdict's sentence for the person, in their language."""
        if verdict.act is None or not verdict.template:
            return verdict.sentence
        return sentences.told(verdict.template, verdict.act, self.mode, provenance, self._language)

    def switch(self, mode: Mode) -> None:
        """Switch to the mode that the person chose, from the next call on."""
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
        seen: Sequence[Control],
        provenance: Provenance,
    ) -> Verdict:
        """Return the verdict on a call that would act on `seen`, with the rule that decided."""
        case = self._case(self._reader.act(call, spec, seen, provenance), provenance)
        if spec.is_unaimed:
            return Verdict(Decision.DENY, case.say(table("sentences")["unaimed"]), "no aim", act=case.act)
        if rule := self._first(Decision.DENY, case):
            return case.by(rule)
        asking = [rule for rule in self._book.of(Decision.ASK) if case.fits(rule)]
        if rule := next((rule for rule in asking if not _is_answerable(rule)), None):
            return case.by(rule)
        if self._book.broken and _may_have_been_denied(case.act):
            template = table("sentences")["broken"] + self._book.broken.replace("$", "$$")
            return Verdict(Decision.ASK, case.say(template), "broken rules", act=case.act, template=template)
        verdict = case.by(asking[0]) if asking else self._unasked(case)
        return self._answered(verdict, case) if verdict.decision is Decision.ASK else verdict

    def _case(self, act: Action, provenance: Provenance) -> _Case:
        """Return the case for this act. Its new host is no longer new if an allow rule of the person names the host."""
        case = _Case(act, self.mode, provenance, self._workspace)
        own = (rule for rule in self._book.of(Decision.ALLOW) if not rule.is_ours and _names_hosts(rule, act.hosts))
        known = replace(case, act=replace(act, kinds=act.kinds - {Consequence.NEW_HOST}))
        return known if any(map(known.fits, own)) else case

    def _unasked(self, case: _Case) -> Verdict:
        """Return the verdict if no rule asks or denies: that of the first allow rule, else that of the mode."""
        rule = self._first(Decision.ALLOW, case)
        return case.by(rule) if rule else self._by_mode(case)

    def _answered(self, verdict: Verdict, case: _Case) -> Verdict:
        """Return ALLOW if the person's words or a rule for this run answer the question; else return `verdict`."""
        if persons_words.cover(case.act, case.provenance, case.workspace):
            return Verdict(Decision.ALLOW, "", persons_words.RULE, act=case.act)
        if rule := next(filter(case.fits, self._allowed), None):
            return Verdict(Decision.ALLOW, "", rule.name, rule.where, act=case.act)
        return verdict

    def rule_for(
        self, call: ToolCall, spec: ToolSpec, seen: Sequence[Control], provenance: Provenance, act: Action
    ) -> str:
        """Return a short rule that lets this call run; "" if there is none. The rule was tried on the call."""
        lasting = table("calls")["lasting"]["alone"]
        texts = (rules.in_short(act), *([f"tool={call.name}"] if call.name in lasting else []))
        return next((text for text in texts if self.allows(text, call, spec, seen, provenance)), "")

    def allows(
        self, rule: str, call: ToolCall, spec: ToolSpec, seen: Sequence[Control], provenance: Provenance
    ) -> bool:
        """Return whether the call would run with this rule in short form."""
        tried = copy.copy(self)
        try:
            tried._allowed = (*self._allowed, rules.rule_in_short(rule, self._vocabulary))
        except rules.BadRules:
            return False
        return tried.decide(call, spec, seen, provenance).decision is Decision.ALLOW

    def read(self, call: ToolCall, spec: ToolSpec) -> Action:
        """Return the call's action as far as it can be known without the screen."""
        return self._reader.act(call, spec, (), Provenance())

    def origins_of(self, act: Action) -> set[Path]:
        """Return the folders from elsewhere (cloned or downloaded) that an action reads from."""
        paths = act.paths if Effect.READS in act.effects else (str(self._workspace),)
        return {folder for path in paths if (folder := origins.foreign_folder(Path(path)))}

    def remember(self, act: Action) -> str:
        """Write a rule that always allows this action into the person's file, and apply it at once.

        Returns a sentence about it for the person. Raises NeedsPerson if the rule cannot be written.
        """
        told = rules.write(act, self._persons or rules.persons_file(), self._vocabulary)
        self._book = rules.load(self._workspace, self._persons, self._vocabulary)
        return told

    def _first(self, then: Decision, case: _Case) -> Rule | None:
        return next(filter(case.fits, self._book.of(then)), None)

    def _by_mode(self, case: _Case) -> Verdict:
        act = case.act
        decision, name = max(self._of_mode(act, case.mode), key=lambda one: _SEVERITY.index(one[0]))
        where, rule = rules.shipped_file().name, f"mode {case.mode.value}: {name}"
        if decision is Decision.ALLOW:
            return Verdict(decision, "", rule, where, act=act)
        template = table("sentences")["mode_asks" if decision is Decision.ASK else "mode_denies"]
        may_remember = decision is Decision.ASK and not case.provenance.tainted_by and rules.can(act)
        return Verdict(decision, case.say(template), rule, where, may_remember, act, template=template)

    def _of_mode(self, act: Action, mode: Mode) -> Iterator[tuple[Decision, str]]:
        """Yield the mode's decision about each effect and kind of the act, with the name of that effect or kind."""
        rules = self._book.modes[mode.value]
        for effect in sorted(act.effects):
            yield Decision(rules.get(effect.value, Decision.DENY.value)), effect.value
        kinds = rules.get("kinds", {})
        for kind in sorted(act.kinds):
            if kind in kinds:
                yield Decision(kinds[kind]), kind


def _may_have_been_denied(act: Action) -> bool:
    """Return whether a rule file that cannot be read may contain a rule against this act."""
    return not act.effects <= HARMLESS or bool(act.kinds & {Consequence.FAR, Consequence.UNCLEAR})


def _is_answerable(rule: Rule) -> bool:
    """Return whether the person's words may answer this rule's question. A rule that a person wrote always asks."""
    return rule.is_ours and rule.name in table("words")["answers"]["rules"]


def _names_hosts(rule: Rule, hosts: tuple[str, ...]) -> bool:
    """Return whether the rule names each of these hosts."""
    patterns = rule.conditions.get("host", ())
    return bool(patterns) and all(_one_fits("host", host, patterns, wants_all=True) for host in hosts)


def _one_fits(name: str, value: str, patterns: Iterable[str], *, wants_all: bool) -> bool:
    if name == "command" and wants_all:
        return value in patterns or (not _COMPOUND & set(value) and any(fnmatchcase(value, one) for one in patterns))
    if name == "keys" and not wants_all and any(is_part(pattern, value) for pattern in patterns):
        return True
    if name == "path":
        below = () if wants_all else tuple(f"{pattern.rstrip('/')}/*" for pattern in patterns)
        return any(fnmatchcase(value, pattern) for pattern in (*patterns, *below))
    return any(fnmatchcase(_plain(value), _plain(pattern)) for pattern in patterns)


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text[:_LONGEST_CHARS]).casefold().strip()


def _absolute(pattern: str, workspace: Path) -> str:
    """Return the path pattern as an absolute one, with links followed.

    It may begin with `~/`, be absolute already, or be relative to the workspace.
    """
    place = Path.home() / pattern[2:] if pattern.startswith("~/") else workspace / pattern
    return Path(os.path.realpath(place)).as_posix()
