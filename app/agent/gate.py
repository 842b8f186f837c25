"""The gate that every call passes: find its target, ask the policy and the person, and notice loops.

Any error here means no.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from app.agent.agent_events import ApprovalAnswered, ApprovalWanted, Notice, Scope, State
from app.agent.cards import Cards
from app.agent.policy import (
    Control,
    Decision,
    Policy,
    Provenance,
    TargetInspector,
    Verdict,
    addresses,
    call_analysis,
    persons_words,
    saving,
    sentences,
    terminals,
)
from app.agent.policy.consequences import is_password
from app.agent.policy.values import Action, Consequence, Stakes
from app.agent.prompt import told
from app.agent.turn import ASK_AT, Tell, Turn
from app.base.errors import NeedsPerson
from app.base.texts import WITHHELD, shell_word
from app.base.values import dataclass, replace
from app.protocol.call import GateRefusal, JsonValue, ToolCall, ToolResult
from app.protocol.spec import HARMLESS, LOOKING, PASSING, Effect, Gesture, ScreenAim, ToolSpec
from app.services.files import origins
from app.tools.registry import Audit, Registry

REFUSALS = 3
"""A turn ends after this many refusals in a row."""


@dataclass(frozen=True, slots=True)
class ApprovalAnswer:
    """The person's answer. `refusal` is the sentence for the model, "" if the call is allowed."""

    refusal: str = ""
    scope: Scope = Scope.ONCE


class Approvals:
    """Approval questions, one at a time. If not `attended`, no person can answer: each question is denied."""

    def __init__(self, new_id: Callable[[], str], *, attended: bool) -> None:
        self._new_id = new_id
        self.attended = attended
        self._waiting: dict[str, asyncio.Future[tuple[bool, str, Scope]]] = {}
        # Ask one question at a time, because the person must know which one they answer.
        self._turnstile = asyncio.Lock()
        self._asking = 0

    @property
    def is_waiting(self) -> bool:
        """Return whether a question is shown, or waits until another one is answered."""
        return self._asking > 0

    def answer(self, approval_id: str, *, allow: bool, words: str = "", scope: str = Scope.ONCE.value) -> None:
        """Pass on the person's answer. Answers to closed questions are ignored; an unknown scope means once."""
        waiting = self._waiting.get(approval_id)
        if waiting and not waiting.done():
            known = Scope(scope) if scope in {each.value for each in Scope} else Scope.ONCE
            waiting.set_result((allow, words, known))

    async def ask(self, wanted: ApprovalWanted, tell: Tell) -> ApprovalAnswer:
        """Show the question and wait. `wanted` gets its id here; a scope that it does not offer counts as once."""
        if not self.attended:
            return ApprovalAnswer(told("unattended"))
        self._asking += 1
        try:
            async with self._turnstile:
                allowed, words, scope = await self._asked(replace(wanted, approval_id=self._new_id()), tell)
        finally:
            self._asking -= 1
        if allowed:
            return ApprovalAnswer(scope=scope if scope in wanted.scopes else Scope.ONCE)
        return ApprovalAnswer(told("denied_words", words=words) if words else told("denied"))

    async def _asked(self, wanted: ApprovalWanted, tell: Tell) -> tuple[bool, str, Scope]:
        approval_id = wanted.approval_id
        waiting: asyncio.Future[tuple[bool, str, Scope]] = asyncio.get_running_loop().create_future()
        self._waiting[approval_id] = waiting
        answered = (False, "", Scope.ONCE)
        tell(wanted)
        try:
            answered = await waiting
        finally:
            del self._waiting[approval_id]
            tell(ApprovalAnswered(approval_id, answered[0], answered[1], answered[2]))
        return answered


_ALLOWS = "--allow"
_WEB, _SCREEN, _WORKSPACE = "web", "screen", "workspace"


class Judges(Protocol):
    """What the gate needs from a session's parts."""

    @property
    def policy(self) -> Policy: ...

    @property
    def registry(self) -> Registry: ...

    @property
    def resolve(self) -> TargetInspector: ...

    @property
    def audit(self) -> Audit | None: ...


@dataclass(frozen=True, slots=True)
class _Case:
    """A call with its targets, and the policy's verdict on it."""

    call: ToolCall
    spec: ToolSpec
    seen: tuple[Control, ...]
    verdict: Verdict


class PermissionGate:
    """Decides for each call of one turn whether it may run."""

    def __init__(self, judges: Judges, approvals: Approvals, turn: Turn, cards: Cards) -> None:
        self._judges = judges
        self._approvals = approvals
        self._turn = turn
        self._cards = cards
        self._typed: set[tuple[str, str]] = set()
        self._circling = ""

    async def admit(self, call: ToolCall, spec: ToolSpec) -> str:
        if self._turn.reports and spec.effects_of(call) != {Effect.TALKS}:
            return told("only_report")
        case = await self._judged(call, spec)
        verdict = case.verdict
        if verdict.decision is not Decision.DENY and spec.feeds_back and not self._turn.follows_plan:
            case = replace(case, verdict=self._unless_circling(call, verdict))
        refusal = await self._settled(case)
        self._turn.refused += bool(refusal)
        if not refusal:
            self._turn.judged[call.id] = case.verdict.act.paths if case.verdict.act else ()
            if spec.effects_of(call) != {Effect.TALKS}:
                self._turn.mood.become(State.BUSY)
            self._cards.running(call, spec)
        return refusal

    async def admit_step(self, step: ToolCall) -> str:
        """Judge one action inside an allowed call like a separate call, right before it happens."""
        spec = self._judges.registry.find_step(step.name)
        if spec is None:
            return told("unknown_step", step=step.name)
        refusal = await self._settled(await self._judged(replace(step, name=spec.name), spec))
        self._turn.refused += bool(refusal)
        return refusal

    async def note_shown(self, call: ToolCall, spec: ToolSpec) -> None:
        """After a call that read the screen, note the programs with windows: they may have written what it read."""
        if call_analysis.source_of(self._judges.policy.read(call, spec), spec) == _SCREEN:
            self._turn.learned.shown |= await self._judges.resolve.shown()

    def record_taint(self, call: ToolCall, spec: ToolSpec) -> None:
        """Mark the turn, after a call, with the sources whose words the call's result contains."""
        act = self._judges.policy.read(call, spec)
        if source := call_analysis.source_of(act, spec):
            self._turn.read(source)
        if source == _WORKSPACE:
            self._turn.origins |= self._judges.policy.origins_of(act)
        self._turn.learn(act.secrets)
        self._note_files(act)
        if spec.copied:
            self._turn.copied = call.text(spec.copied)
            self._turn.note_typed("", self._turn.copied)

    def _note_files(self, act: Action) -> None:
        """Taint the turn with files that others changed meanwhile. Changes by its own commands do not count."""
        turn = self._turn
        if Effect.EXECUTES in act.effects:
            turn.ran_commands = True
        elif Effect.WRITES in act.effects:
            turn.wrote |= set(act.paths)
        elif Effect.READS in act.effects and not turn.ran_commands and self._is_changed(act):
            turn.read(_WORKSPACE)
            turn.origins |= {None}

    def _is_changed(self, act: Action) -> bool:
        turn = self._turn
        return any(origins.is_changed_since(Path(path), turn.began_at, turn.wrote) for path in act.paths)

    def learn(self, call: ToolCall, spec: ToolSpec, result: ToolResult) -> None:
        """Note what a call has read, as far as it decides where later calls may go."""
        act, learned = self._judges.policy.read(call, spec), self._turn.learned
        learned.note_personal(call_analysis.personal_in(act, spec))
        learned.has_acted = learned.has_acted or not act.effects <= LOOKING
        if result.ok and act.effects != {Effect.TALKS}:
            self._turn.refused = 0
        self._note_terminals(act, spec, result)
        self._note_opened(call, spec, result)
        is_page = call_analysis.source_of(act, spec) == _WEB
        if is_page or not learned.has_acted:
            learned.links |= addresses.links_in(result.llm_echo)

    async def _judged(self, call: ToolCall, spec: ToolSpec) -> _Case:
        """Find what the call would act on, unless the policy denies it anyway."""
        provenance = self._provenance()
        verdict = self._judges.policy.decide(call, spec, (), provenance)
        if not spec.aim or verdict.decision is Decision.DENY:
            return _Case(call, spec, (), verdict)
        seen = tuple(await self._judges.resolve.seen(call, spec.aim))
        return _Case(call, spec, seen, self._judges.policy.decide(call, spec, seen, provenance))

    def _provenance(self) -> Provenance:
        turn = self._turn
        learned = turn.learned
        return Provenance(
            turn.tainted_by,
            "\n".join(turn.said),
            planned=turn.follows_plan and not turn.is_prompted,
            answered=turn.permits.answered,
            opened=turn.permits.opened,
            secrets=turn.secrets,
            personal=learned.personal,
            links=learned.links,
            hosts=learned.hosts_known(turn.tainted_by),
            typed=turn.typed,
            instructions=turn.instructions,
            lines=learned.lines,
            terminals=turn.terminals,
            shown=learned.shown,
            shared=turn.permits.shared(self._private()),
        )

    async def _settled(self, case: _Case) -> str:
        """Decide the case. Returns the refusal for the model, "" if the call may run. The decision is recorded."""
        verdict = case.verdict
        by, refusal = "your words" if verdict.rule == persons_words.RULE else "policy", ""
        is_meant_for_password = verdict.act is not None and Consequence.PASSWORD in verdict.act.kinds
        if is_meant_for_password or any(map(is_password, case.seen)):
            self._withhold(case.call, case.spec)
        if verdict.decision is Decision.DENY:
            refusal = verdict.sentence or told("denied")
        elif verdict.decision is Decision.ASK and not self._turn.looping and self._is_covered(verdict):
            by = "person, for this task"
        elif verdict.decision is Decision.ASK:
            by = "person" if self._approvals.attended else "nobody there"
            refusal = await self._ask(case)
        if not refusal:
            self._note_typing(case)
        if self._judges.audit and (refusal or not case.spec.effects_of(case.call) <= HARMLESS):
            await self._judges.audit("refused" if refusal else "allowed", _ruling(case, by, refusal, self._turn.id))
        if verdict.act is not None and case.seen and not refusal:
            for text in saving.texts_of(verdict.act):
                self._turn.note_typed(case.seen[-1].window.app, text)
        return refusal

    def _withhold(self, call: ToolCall, spec: ToolSpec) -> None:
        """Keep text for a password field out of every record: typed text, single letters, pasted text."""
        WITHHELD.add(call.text(spec.typed))
        keys = call.text(spec.pressed)
        letters = [one for one in keys.split() if len(one) == 1]
        if letters:
            WITHHELD.add(keys)
            WITHHELD.add("".join(letters))
        elif keys:
            WITHHELD.add(self._turn.copied)

    def _is_covered(self, verdict: Verdict) -> bool:
        """Return whether the person has allowed the same action before in this task."""
        return verdict.act is not None and self._turn.permits.cover(verdict.act, self._known())

    def _private(self) -> tuple[str, ...]:
        """Return `_known` and the kinds of personal data read: all that the model's words could reveal."""
        return (*self._known(), *self._turn.learned.personal)

    def _known(self) -> tuple[str, ...]:
        """Return the names of the sources that the turn has read, and its secret files; not the person's own data."""
        return (*self._turn.tainted_by, *self._turn.secrets)

    def _unless_circling(self, call: ToolCall, verdict: Verdict) -> Verdict:
        repetition = self._turn.repetition
        count = max(repetition.note(call.name, call.arguments), repetition.idle)
        if count < ASK_AT:
            return verdict
        self._turn.looping = True
        is_asked = verdict.decision is Decision.ASK
        self._circling = told("repeated_ask", count=str(count))
        sentence = f"{verdict.sentence if is_asked else ''} {self._circling}".lstrip()
        rule, where = (verdict.rule, verdict.where) if is_asked else ("", "")
        return replace(verdict, decision=Decision.ASK, sentence=sentence, rule=rule, where=where, may_remember=False)

    async def _ask(self, case: _Case) -> str:
        if self._approvals.attended:
            self._turn.mood.become(State.NEEDS_YOU)
        wanted = await self._wanted(case)
        # Taken before the answer, because a call that runs beside this one may read something meanwhile.
        known, private = self._known(), self._private()
        with self._turn.budget.waiting():
            answer = await self._approvals.ask(wanted, self._turn.tell)
        if answer.refusal and not self._approvals.attended:
            return self._with_way_on(answer.refusal, case, wanted.sentence)
        if answer.refusal:
            self._turn.own_words.clear()  # because a no may take back what they named
            return answer.refusal
        if self._turn.looping:
            self._turn.looping = False
            self._turn.repetition.forgive()
        if not await self._is_as_it_was(case):
            return told("changed_meanwhile")
        self._keep(case, answer.scope, known, private)
        return ""

    def _with_way_on(self, refusal: str, case: _Case, asked: str) -> str:
        """Return the refusal for an unattended run, with the reason, the rule, and a rule that would allow the call."""
        verdict = case.verdict
        why = verdict.sentence.replace(_ALLOWS, "…")  # because it quotes the call, whose words must add no rule
        said = told("unattended_rule", refusal=refusal, why=why, rule=verdict.rule or "repetition")
        if verdict.act is None:
            return said
        policy = self._judges.policy
        rule = policy.rule_for(case.call, case.spec, case.seen, self._provenance(), verdict.act)
        way = f" {told('allowing_rule', rule=shell_word(rule))}" if rule else ""
        return GateRefusal(f"{said}{way}", rule, asked)

    async def _is_as_it_was(self, case: _Case) -> bool:
        """Return whether the call would still act on what the person saw, and has not become consequential there.

        The screen may have changed, and in a terminal the program that receives the keys.
        """
        aim, asked = case.spec.aim, case.verdict.act
        if not aim:
            return True
        seen = tuple(await self._judges.resolve.seen(case.call, aim))
        now = self._judges.policy.decide(case.call, case.spec, seen, self._provenance())
        if seen != case.seen or now.decision is Decision.DENY:
            return False
        is_more = now.act is not None and asked is not None and now.act.stakes is not asked.stakes
        return not (is_more and now.act is not None and now.act.stakes is Stakes.CONSEQUENTIAL)

    def _keep(self, case: _Case, scope: Scope, known: Sequence[str], private: Sequence[str]) -> None:
        """Save an answer: the allowed hosts, the window, and a rule if the person wants one.

        `known` are the sources that the question named; `private` also includes the person's own.
        """
        verdict = case.verdict
        if verdict.act is None:
            return
        brought = call_analysis.source_of(verdict.act, case.spec)
        self._turn.permits.answer(verdict.act, {*private, brought, call_analysis.personal_in(verdict.act, case.spec)})
        self._turn.learned.allow_hosts(verdict.act.hosts, {*self._turn.tainted_by, brought})
        if scope is Scope.ONCE:
            return
        self._turn.permits.add(verdict.act, {*known, *verdict.act.secrets, brought})
        if scope is Scope.ALWAYS:
            folders = self._trustable(verdict)
            try:
                told_ = self._trust(folders) if folders else self._judges.policy.remember(verdict.act)
            except NeedsPerson as error:
                # The call itself is allowed, because only the lasting rule could not be stored.
                self._turn.tell(Notice("warning", str(error)))
            else:
                self._turn.tell(Notice("info", told_))

    def _trustable(self, verdict: Verdict) -> tuple[Path, ...]:
        """Return the cloned or downloaded folders that caused the question, if trusting them would avoid it."""
        turn = self._turn
        if verdict.may_remember or turn.tainted_by != (_WORKSPACE,) or not verdict.is_for_taint:
            return ()
        return tuple(sorted(filter(None, turn.origins))) if None not in turn.origins else ()

    def _trust(self, folders: Sequence[Path]) -> str:
        """Save that the person trusts these folders. Returns a sentence that says so. Raises NeedsPerson."""
        for folder in folders:
            origins.trust(folder)
        self._turn.tainted_by = ()
        self._turn.origins.clear()
        return told("trusted_folders", folders=_listed_folders(folders))

    async def _wanted(self, case: _Case) -> ApprovalWanted:
        call, verdict = case.call, case.verdict
        wanted = ApprovalWanted("", call.id, call.name, verdict.sentence, _detail(call))
        if verdict.act is None:
            return wanted
        language = self._judges.policy.language
        aim = case.spec.aim
        pictured = await self._judges.resolve.picture(call, aim) if aim and self._approvals.attended else None
        folders = self._trustable(verdict)
        scopes = (Scope.ONCE, Scope.TASK, *((Scope.ALWAYS,) if verdict.may_remember or folders else ()))
        trusting = told("trusting_folders", folders=_listed_folders(folders)) if folders else ""
        circling = sentences.in_language(self._circling, language) if self._turn.looping else ""
        asked = self._question(verdict, circling).followed_by(sentences.in_language(trusting, language))
        why = self._judges.policy.told(verdict, self._provenance()) if verdict.rule or not circling else ""
        return replace(
            wanted,
            sentence=asked.text,
            deed=asked.deed,
            strong=asked.strong,
            why=f"{why} {circling}".strip(),
            who=sentences.who_as_written(verdict.act),
            undo=sentences.undo(verdict.act, language),
            rule=f"{verdict.rule} ({verdict.where})" if verdict.where else verdict.rule,
            sources=sentences.sources(self._turn.tainted_by, language),
            reasons=tuple(sentences.in_language(reason, language) for reason in verdict.act.reasons),
            scopes=scopes,
            picture=pictured[0] if pictured else None,
            ring=pictured[1] if pictured else None,
        )

    def _question(self, verdict: Verdict, circling: str) -> sentences.AskedSentence:
        """Return the question for the person. After a loop alone, it only asks whether to go on."""
        if verdict.act is None or (circling and not verdict.rule):
            return sentences.AskedSentence(circling)
        asked = sentences.question(verdict.act, self._provenance(), self._judges.policy.language)
        return asked.followed_by(circling)

    def _note_typing(self, case: _Case) -> None:
        """Remember the text typed into a window, because a terminal may only run the person's own command."""
        control, act, spec = case.seen[-1] if case.seen else Control(), case.verdict.act, case.spec
        if act is None or not control.window.key or spec.aim is ScreenAim.PROGRAM or spec.gesture is Gesture.HOVER:
            return
        lines, once = self._turn.learned.lines, (case.call.id, control.window.key)
        before, line = lines.get(control.window.key, ""), terminals.UNKNOWN_LINE
        if spec.aim is ScreenAim.FOCUS:
            # A step that is judged twice would count twice.
            if once not in self._typed:
                line = terminals.line_after(terminals.unmarked(before), act.text, act.keys)
            self._typed.add(once)
        elif not spec.typed and (
            not control.window.is_terminal or (not before and _only_focuses(case.call, spec, control))
        ):
            return
        lines[control.window.key] = terminals.mark_begun(line, before, control, act.keys, act.text)

    def _note_terminals(self, act: Action, spec: ToolSpec, result: ToolResult) -> None:
        """Remember a new terminal with an empty line. Forget all after a failed action, which may have typed."""
        if not result.ok and Effect.DESKTOP in act.effects:
            self._turn.terminals.clear()
        elif result.payload.get("new_terminal") and spec.aim is ScreenAim.PROGRAM:
            window = str(result.payload.get("window", ""))
            if window and window not in self._turn.learned.lines:
                self._turn.terminals.add(window)

    def _note_opened(self, call: ToolCall, spec: ToolSpec, result: ToolResult) -> None:
        """Remember the window of a program that was opened as the person named it: "the calculator", Galculator."""
        name, window = call.text(spec.opens) if spec.opens else "", str(result.payload.get("window", ""))
        if result.ok and window and call_analysis.is_named(name, "\n".join(self._turn.said)):
            self._turn.permits.opened |= {window}


def _listed_folders(folders: Sequence[Path]) -> str:
    return ", ".join(map(str, folders))


def _ruling(case: _Case, by: str, refusal: str, turn_id: str) -> dict[str, JsonValue]:
    """Return a decision for the audit: what would happen, who decided, by which rule."""
    call, verdict = case.call, case.verdict
    told_: dict[str, JsonValue] = {"tool": call.name, "arguments": dict(call.arguments), "turn": turn_id, "by": by}
    rule = f"{verdict.rule} ({verdict.where})" if verdict.where else verdict.rule
    return {**told_, "rule": rule, **({"why": refusal} if refusal else {})}


def _only_focuses(call: ToolCall, spec: ToolSpec, control: Control) -> bool:
    """Return whether a press in a terminal leaves its command line unchanged."""
    is_plain = spec.gesture is Gesture.CLICK and call.text("button") in ("", "left") and not call.text("modifiers")
    return spec.gesture in PASSING or (is_plain and control.role in ("", "terminal"))


_POINTING = frozenset({"x", "y", "ref", "target", "capture", "space"})
"""Arguments that are left out of the detail, because the question names the target and shows its place."""


def _detail(call: ToolCall) -> str:
    """Return the call's arguments word for word, without positions: a single text, or a line for each name."""
    values = [(name, value) for name, value in call.arguments.items() if name not in _POINTING]
    if len(values) == 1 and isinstance(values[0][1], str):
        return values[0][1]
    return "\n".join(f"{name}: {_plain(value)}" for name, value in values)


def _plain(value: JsonValue) -> str:
    if isinstance(value, str):
        return f"\n{value}" if "\n" in value else value
    return json.dumps(value, ensure_ascii=False, default=_listed)


def _listed(value: Mapping[str, JsonValue] | Sequence[JsonValue]) -> object:
    return dict(value) if isinstance(value, Mapping) else list(value)
