"""The gate that every call passes: find its target, ask the policy and the person, and notice loops.

Any error here means no.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from app.agent import asking
from app.agent.agent_events import ApprovalAnswered, ApprovalWanted, Notice, ProgramsUsed, Scope, State
from app.agent.cards import Cards
from app.agent.policy import Control, Decision, Need, Policy, Subject, TargetInspector, Tier, Trust, Verdict
from app.agent.policy.call_analysis import source_of
from app.agent.policy.decision import answers
from app.agent.policy.values import LASTING, Action, Consequence
from app.agent.prompt import told
from app.agent.turn import ASK_AT, Tell, Turn
from app.base.clipping import shell_word
from app.base.errors import NeedsPerson, WispError
from app.base.facts import NotAllowed
from app.base.phrases import NO_PHRASE, Phrase
from app.base.translation import words_in
from app.base.values import dataclass, replace
from app.base.withheld import WITHHELD
from app.desktop.elements import SECRET
from app.protocol.call import GateRefusal, JsonValue, ToolCall, ToolResult
from app.protocol.spec import HARMLESS, Effect, ScreenAim, ToolSpec
from app.services.files import origins
from app.tools.registry import Audit, Registry

REFUSALS = 3
"""A turn ends after this many refusals in a row."""


@dataclass(frozen=True, slots=True)
class ApprovalAnswer:
    """The person's answer. `refusal` is the sentence for the model, "" if the call is allowed.

    `words` are those that the person said with a no; the refusal contains them.
    """

    refusal: str = ""
    scope: Scope = Scope.ONCE
    words: str = ""

    @classmethod
    def denied(cls, words: str = "") -> ApprovalAnswer:
        said = told("denied_words", words=words) if words else told("denied")
        return cls(GateRefusal(said, NotAllowed(said_no=True), Phrase("You said no.")), words=words)

    @classmethod
    def unasked(cls, why: Phrase) -> ApprovalAnswer:
        """Return a no that is not the person's: `why` says what kept them from answering."""
        return cls(GateRefusal(why.for_models, NotAllowed(), why))

    @property
    def is_denied(self) -> bool:
        """True if the person said no. Otherwise a refusal means that they did not answer."""
        return isinstance(self.refusal, GateRefusal) and self.refusal.refused.said_no


class AsksPerson(Protocol):
    """Asks the person. `attended`: there may be somebody to answer."""

    @property
    def attended(self) -> bool: ...

    async def ask(self, wanted: ApprovalWanted, tell: Tell) -> ApprovalAnswer:
        """Ask and wait. The refusal of a question that nobody was there to answer says so (`NotAllowed`)."""
        ...


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
        """True while a question is shown, or waits until another one is answered."""
        return self._asking > 0

    def close(self) -> None:
        """Ask nothing more, because nobody can answer. Who waits for an answer is cancelled."""
        self.attended = False
        for waiting in self._waiting.values():
            waiting.cancel()

    def answer(self, approval_id: str, *, allow: bool, words: str = "", scope: str = Scope.ONCE.value) -> None:
        """Pass on the person's answer. Answers to closed questions are ignored; an unknown scope means once."""
        waiting = self._waiting.get(approval_id)
        if waiting and not waiting.done():
            known = Scope(scope) if scope in {each.value for each in Scope} else Scope.ONCE
            waiting.set_result((allow, words, known))

    async def ask(self, wanted: ApprovalWanted, tell: Tell) -> ApprovalAnswer:
        """Show the question and wait. `wanted` gets its id here; a scope that it does not offer counts as once."""
        if not self.attended:
            return ApprovalAnswer(GateRefusal(told("unattended"), NotAllowed(is_unattended=True), Phrase(_UNATTENDED)))
        self._asking += 1
        try:
            async with self._turnstile:
                allowed, words, scope = await self._asked(replace(wanted, approval_id=self._new_id()), tell)
        finally:
            self._asking -= 1
        if allowed:
            return ApprovalAnswer(scope=scope if scope in wanted.scopes else Scope.ONCE)
        return ApprovalAnswer.denied(words)

    async def _asked(self, wanted: ApprovalWanted, tell: Tell) -> tuple[bool, str, Scope]:
        approval_id = wanted.approval_id
        waiting: asyncio.Future[tuple[bool, str, Scope]] = asyncio.get_running_loop().create_future()
        self._waiting[approval_id] = waiting
        ended = ApprovalAnswered(approval_id, allowed=False, is_withdrawn=True)
        tell(wanted)
        try:
            allowed, words, scope = await waiting
            ended = ApprovalAnswered(approval_id, allowed, words, scope)
        finally:
            del self._waiting[approval_id]
            tell(ended)
        return allowed, words, scope


_CIRCLING = (
    "It has done the same {count} time in a row, with nothing new to show for it. Let it go on?",
    "It has done the same {count} times in a row, with nothing new to show for it. Let it go on?",
)
_CHANGED = "It was not done, because something else is there now than when you were asked."
_SCREEN, _WORKSPACE = "screen", "workspace"
_UNATTENDED = "It needs your permission, and you were not there to give it."
_SAY_IT = "Say it where you can answer: in Wisp, or in a terminal."
_ONCE = frozenset({Subject.SETTINGS, Subject.SESSION, Subject.KEEPING, Subject.SENDING})
"""What a yes allows for this one call only."""


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


def _denied(verdict: Verdict) -> GateRefusal:
    said = f"{verdict.told} {verdict.hint or told('unchangeable')}"
    return GateRefusal(said, NotAllowed(), Phrase(verdict.sentence), verdict.advice)


class PermissionGate:
    """Decides for each call of one turn whether it may run."""

    def __init__(self, judges: Judges, approvals: AsksPerson, turn: Turn, cards: Cards) -> None:
        self._judges = judges
        self._approvals = approvals
        self._turn = turn
        self._cards = cards
        self._circling = NO_PHRASE
        self._expected: list[Need] = []

    async def expect(self, calls: Sequence[tuple[ToolCall, ToolSpec]]) -> None:
        """Look ahead at calls that are about to run: the first question is for all programs that they open."""
        self._expected = []
        for call, spec in calls if self._approvals.attended else ():
            with suppress(WispError):  # because the call itself tells of it
                needs = (await self._judged(call, spec)).verdict.needs if spec.opens else ()
                self._expected += [need for need in needs if need.subject is Subject.PROGRAM]

    async def admit(self, call: ToolCall, spec: ToolSpec) -> str:
        """Return "" if the call may run, after a question where one is needed, or else why it may not."""
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

    async def record_taint(self, call: ToolCall, spec: ToolSpec) -> None:
        """Mark the turn, after a call, with the sources whose words the call's result contains.

        The screen counts only while a program shows there that reaches others.
        """
        act = self._judges.policy.read(call, spec)
        source = source_of(act, spec)
        if source == _SCREEN and source not in self._turn.tainted_by:
            shown = await self._judges.resolve.shown()
            source = source if any(self._judges.policy.tier(owner) is Tier.OTHERS for owner in shown) else ""
        if source:
            self._turn.read(source)
        self._turn.learn(act.secrets)
        self._note_files(act)
        if spec.copied:
            self._turn.copied = call.text(spec.copied)

    def _note_files(self, act: Action) -> None:
        """Taint the turn with files that others changed meanwhile. Changes by its own commands do not count."""
        turn = self._turn
        if Effect.EXECUTES in act.effects:
            turn.ran_commands = True
        elif Effect.WRITES in act.effects:
            turn.wrote |= set(act.paths)
        elif Effect.READS in act.effects and not turn.ran_commands and self._is_changed(act):
            turn.read(_WORKSPACE)

    def _is_changed(self, act: Action) -> bool:
        turn = self._turn
        return any(origins.is_changed_since(Path(path), turn.began_at, turn.wrote) for path in act.paths)

    def learn(self, call: ToolCall, spec: ToolSpec, result: ToolResult) -> None:
        """Note that a call has worked, so that earlier refusals no longer count."""
        if result.ok and spec.effects_of(call) != {Effect.TALKS}:
            self._turn.refused = 0

    async def _judged(self, call: ToolCall, spec: ToolSpec) -> _Case:
        """Find what the call would act on, unless the policy denies it anyway."""
        trust = self._trust()
        verdict = self._judges.policy.decide(call, spec, (), trust)
        if not spec.aim or verdict.decision is Decision.DENY:
            return _Case(call, spec, (), verdict)
        seen = tuple(await self._judges.resolve.seen(call, spec.aim))
        return _Case(call, spec, seen, self._judges.policy.decide(call, spec, seen, trust))

    def _trust(self) -> Trust:
        turn = self._turn
        return Trust(
            frozenset(turn.learned.grants),
            "\n".join(turn.learned.own),
            is_planned=turn.follows_plan and not turn.is_prompted,
            tainted_by=turn.tainted_by,
            secrets=turn.secrets,
        )

    async def _settled(self, case: _Case) -> str:
        """Decide the case. Returns the refusal for the model, "" if the call may run. The decision is recorded."""
        verdict = case.verdict
        by, refusal = "policy", ""
        is_meant_for_password = verdict.act is not None and Consequence.PASSWORD in verdict.act.kinds
        if is_meant_for_password or any(control.role == SECRET for control in case.seen):
            self._withhold(case.call, case.spec)
        if verdict.decision is Decision.DENY:
            refusal = _denied(verdict)
        elif verdict.decision is Decision.ASK:
            refusal = await self._ask(case)
            by = _answerer(refusal)
        if not refusal and verdict.act is not None:
            self._note_programs(verdict.act)
        if self._judges.audit and (refusal or not case.spec.effects_of(case.call) <= HARMLESS):
            await self._judges.audit("refused" if refusal else "allowed", _ruling(case, by, refusal, self._turn.id))
        return refusal

    def _note_programs(self, act: Action) -> None:
        """Tell which programs the task uses, when it uses a new one."""
        learned = self._turn.learned
        needs = [need for need in act.needs if need.subject is Subject.PROGRAM]
        # What the words named once stays granted, also when the conversation goes on another day.
        learned.grants |= {need.grant for need in needs if need.is_named}
        new = dict.fromkeys(need.name for need in needs if need.name not in learned.used)
        if new:
            learned.used.extend(new)
            granted = sorted(key for subject, key in learned.grants if subject is Subject.PROGRAM)
            self._turn.tell(ProgramsUsed(tuple(learned.used), tuple(granted)))

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

    def _unless_circling(self, call: ToolCall, verdict: Verdict) -> Verdict:
        repetition = self._turn.repetition
        count = max(repetition.note(call.name, call.arguments), repetition.idle)
        if count < ASK_AT:
            return verdict
        self._turn.looping = True
        is_asked = verdict.decision is Decision.ASK
        self._circling = Phrase(_CIRCLING[0], {"count": count}, many=_CIRCLING[1])
        circling = self._circling.said(words_in(self._judges.policy.language))
        sentence = f"{verdict.sentence if is_asked else ''} {circling}".lstrip()
        said = f"{verdict.told if is_asked else ''} {told('circling', count=str(count))}".lstrip()
        rule, where = (verdict.rule, verdict.where) if is_asked else ("", "")
        return replace(verdict, decision=Decision.ASK, sentence=sentence, told=said, rule=rule, where=where)

    def _with_expected(self, case: _Case) -> _Case:
        """Adds the other programs that the person is about to be asked for, if the case asks for one."""
        needs, grants = case.verdict.needs, self._turn.learned.grants
        if all(need.subject is not Subject.PROGRAM for need in needs):
            return case
        more = [need for need in self._expected if need.grant not in grants]
        self._expected = []  # because a no is not asked about again
        return replace(case, verdict=replace(case.verdict, needs=tuple(dict.fromkeys((*needs, *more)))))

    async def _ask(self, case: _Case) -> str:
        case = self._with_expected(case)
        if self._approvals.attended:
            self._turn.mood.become(State.NEEDS_YOU)
        wanted = await self._wanted(case)
        # Taken before the answer, because a call that runs beside this one may read something meanwhile.
        trust = self._trust()
        with self._turn.budget.waiting():
            answer = await self._approvals.ask(wanted, self._turn.tell)
        if _is_unanswered(answer.refusal):
            return self._with_way_on(answer.refusal, case, wanted.sentence)
        if answer.refusal:
            return answer.refusal
        if self._turn.looping:
            self._turn.looping = False
            self._turn.repetition.forgive()
        if not await self._is_as_it_was(case):
            return GateRefusal(told("changed_meanwhile"), NotAllowed(), Phrase(_CHANGED))
        self._keep(case, answer.scope, trust)
        return ""

    def _with_way_on(self, refusal: str, case: _Case, asked: str) -> str:
        """For an unattended run: adds the reason and the names that would allow the call."""
        # After a secret was read no name helps: only a person can decide what may leave then.
        barred = any(need.is_outward for need in case.verdict.needs) and self._turn.secrets
        names = () if barred else asking.way_on(case.verdict.needs)
        words = " ".join(f"--allow {shell_word(name)}" for name in names)
        said = told("unattended_why", why=case.verdict.told, refusal=refusal)
        barrier = NotAllowed(is_unattended=True, rule="\n".join(names))
        given = {"why": case.verdict.sentence, "names": words}
        if not names:
            return GateRefusal(said, barrier, Phrase(f"{_UNATTENDED} {{why}}", given), Phrase(_SAY_IT), asked)
        what, advice = Phrase("It needs your permission. {why}", given), Phrase("To allow it: {names}", given)
        return GateRefusal(f"{said} {told('allowing', names=words)}", barrier, what, advice, asked)

    async def _is_as_it_was(self, case: _Case) -> bool:
        """True if the call would still act on what the person saw. The screen may have changed."""
        aim = case.spec.aim
        if not aim:
            return True
        seen = tuple(await self._judges.resolve.seen(case.call, aim))
        now = self._judges.policy.decide(case.call, case.spec, seen, self._trust())
        if aim is ScreenAim.UNSAVED:  # because the person may have saved meanwhile
            return all(one in case.seen for one in seen) and now.decision is not Decision.DENY
        return seen == case.seen and now.decision is not Decision.DENY

    def _keep(self, case: _Case, scope: Scope, trust: Trust) -> None:
        """Save a yes: for the task, and for good if the person wants that."""
        needs, policy = case.verdict.needs, self._judges.policy
        for need in needs:
            if need.subject not in _ONCE:
                self._turn.learned.grants |= answers(need, policy.mode, trust)
        if scope is not Scope.ALWAYS:
            return
        try:
            saved = policy.saved.add(needs)
        except NeedsPerson as error:
            # The call itself is allowed, because only the lasting grant could not be stored.
            self._turn.tell(Notice("warning", str(error)))
        else:
            self._turn.tell(Notice("info", told("always", names=", ".join(one.name for one in saved))))

    async def _wanted(self, case: _Case) -> ApprovalWanted:
        call, verdict = case.call, case.verdict
        wanted = ApprovalWanted("", call.id, call.name, verdict.sentence, _detail(call))
        if verdict.act is None:
            return wanted
        language, aim = self._judges.policy.language, case.spec.aim
        pictured = await self._judges.resolve.picture(call, aim) if aim and self._approvals.attended else None
        words = words_in(language)
        circling = self._circling.said(words) if self._turn.looping else ""
        if circling and not verdict.rule:
            asked = asking.AskedSentence(circling)
        else:
            asked = asking.question(verdict.needs, verdict.act, language, self._turn.by).followed_by(circling)
        lasts = bool(verdict.needs) and all(need.subject in LASTING and need.key for need in verdict.needs)
        owners = [control.window.owner for control in case.seen if control.window.owner.ref]
        return replace(
            wanted,
            sentence=asked.text,
            deed=asked.deed,
            strong=asked.strong,
            why=verdict.sentence if verdict.rule else circling,
            who=asking.who(verdict.act),
            undo=asking.undo(verdict.act, language),
            rule=f"{verdict.rule} ({verdict.where})" if verdict.where else verdict.rule,
            sources=asking.sources(self._turn.tainted_by, language),
            reasons=tuple(reason.said(words) for reason in verdict.act.reasons),
            scopes=(Scope.TASK, Scope.ALWAYS) if lasts else (Scope.ONCE,),
            icon=owners[-1].icon if owners else "",
            picture=pictured[0] if pictured else None,
            ring=pictured[1] if pictured else None,
        )


def _answerer(refusal: str) -> str:
    if isinstance(refusal, GateRefusal) and not refusal.refused.said_no:
        return "nobody there" if refusal.refused.is_unattended else "policy"
    return "person"


def _is_unanswered(refusal: str) -> bool:
    return isinstance(refusal, GateRefusal) and refusal.refused.is_unattended


def _ruling(case: _Case, by: str, refusal: str, turn_id: str) -> dict[str, JsonValue]:
    """For the audit: what would happen, who decided, by which rule."""
    call, verdict = case.call, case.verdict
    told_: dict[str, JsonValue] = {"tool": call.name, "arguments": dict(call.arguments), "turn": turn_id, "by": by}
    rule = f"{verdict.rule} ({verdict.where})" if verdict.where else verdict.rule
    return {**told_, "rule": rule, **({"why": refusal} if refusal else {})}


_POINTING = frozenset({"x", "y", "ref", "target", "capture", "space"})
"""Arguments that are left out of the detail, because the question names the target and shows its place."""


def _detail(call: ToolCall) -> str:
    """The arguments word for word, without positions: a single text, or a line for each name."""
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
