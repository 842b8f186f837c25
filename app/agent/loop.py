"""Run a turn, pass after pass, until no result must be read by the model.

The loop knows no tool by name: specs say what must be read, and results say what happens next.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace

from app.agent.agent_events import Notice, Outcome, PassStarted, State, TurnEnded
from app.agent.calls import Calls, ending
from app.agent.cards import Cards
from app.agent.context import Compactor, estimated_tokens, text_tokens
from app.agent.deps import SessionDeps
from app.agent.gate import REFUSALS, Approvals, PermissionGate
from app.agent.model_pass import ModelPass
from app.agent.policy import Mode
from app.agent.prompt import asks_person, only_announces, rendered, teaching, told
from app.agent.prompt import ending as closing
from app.agent.recording import Entry, EntryKind, History, KeptFirst, WrittenAhead, note
from app.agent.subagent import Consultation, Pursuit
from app.agent.turn import Turn, Words, with_prompt
from app.base.clipping import clip_line
from app.base.errors import ContextOverflow, PictureRefused, ToolsDeclined, WispError
from app.base.translation import words_in
from app.protocol.dialects.api import Answer, Pacing, introduced
from app.protocol.dialects.choose import by_name, shortest
from app.protocol.message import Author, CallPart, Message, Role, user
from app.providers.api import Request
from app.settings.catalog import MAX_TOKENS

_MOST_IN_VAIN = 3
"""After this many passes in a row in which calls were meant and none could be read, the turn ends."""
_ALLOWED_CHARS = 300
_ANSWER_SHARE = 4
"""An answer may take at most this part of the model's context window."""
_WRITTEN = "xml"
"""The dialect for models that accept no declared tools."""


class Loop:
    """Runs turns over one history."""

    def __init__(self, parts: SessionDeps, history: History, approvals: Approvals) -> None:
        self._history = history
        self._approvals = approvals
        calls = (part.name for message in history.messages for part in message.parts if isinstance(part, CallPart))
        self._met = list(dict.fromkeys(calls))
        self._speak(parts)

    @property
    def _language(self) -> str:
        return self._parts.policy.language

    def rename(self, name: str) -> None:
        """Rename the assistant and rebuild the system prompt."""
        self._speak(replace(self._parts, settings=self._parts.settings.with_values(presence__name=name)))

    def _speak(self, parts: SessionDeps) -> None:
        """Use these parts, and build the system prompt and the tool declarations from them.

        Tools of other modes are left out.
        """
        self._parts = parts
        self._taught_for = mode, untaught = self._now()
        taught = tuple(
            spec
            for spec in parts.registry.specs
            if spec.name not in untaught and (not spec.taught_in or mode in spec.taught_in)
        )
        self.system, self._schemas = teaching(parts.dialect, taught, parts.settings, parts.tool_names, self._met)
        self._compactor = Compactor(parts, self._history, self.system)

    def _now(self) -> tuple[Mode, frozenset[str]]:
        """What decides which tools are taught: the mode, and which are of no use now."""
        return self._parts.policy.mode, frozenset(self._parts.untaught())

    async def run(self, turn: Turn) -> TurnEnded:
        """Run the turn to its end. Raises the ProviderError that stopped it; the history can always be continued."""
        while True:
            if sentence := turn.budget.exceeded(self._language):
                return TurnEnded(turn.id, Outcome.FAILED, sentence)
            turn.budget.passes += 1
            turn.mood.become(State.THINKING)
            if turn.cancelled.is_set():
                raise asyncio.CancelledError
            turn.tell(PassStarted(turn.budget.passes))
            await self._compactor.keep_room(turn)
            ended = await self._fitting_pass(turn)
            if not await self._hear_meanwhile(turn) and ended:
                return ended

    async def _context(self, turn: Turn) -> str:
        try:
            facts = await self._parts.facts.gather()
            remembered = await self._parts.remind("\n".join(turn.said))
            return rendered({**facts, **remembered, "Permission": self._permission(turn)})
        except WispError as error:
            return str(error)

    def _permission(self, turn: Turn) -> str:
        """For the model: the permission mode, whether a person is there to answer, and what is allowed."""
        policy, who = self._parts.policy, "attended" if self._parts.attended else "nobody_there"
        names = dict.fromkeys([*policy.allowed, *turn.learned.used])
        allowed = f" {told('allowed', names=clip_line(', '.join(names), _ALLOWED_CHARS))}" if names else ""
        return told("permission", mode=policy.mode.value, who=told(who), allowed=allowed)

    async def _fitting_pass(self, turn: Turn) -> TurnEnded | None:
        """Run one pass. After an error about size, pictures or tools, change the request for the next pass.

        A conversation that is too long is shortened once a turn, or else the docs of the tools. Pictures that the
        service refuses are taken out. Declared tools are replaced by calls written as text.
        """
        try:
            return await self._one_pass(turn)
        except ContextOverflow:  # Make room only once, because a second overflow shows that it did not help.
            if turn.made_room or not (await self._compactor.make_room(turn) or self._shorten_docs(turn)):
                raise
            turn.made_room = True
        except PictureRefused as error:
            if not self._compactor.leave_out_refused(error, turn):
                raise
        except ToolsDeclined:
            if not self._schemas:
                raise
            self._speak(replace(self._parts, dialect=by_name(_WRITTEN)))
        return None

    def _shorten_docs(self, turn: Turn) -> bool:
        """Teach the tools in as few words as possible: as calls that are written as text, without declarations.

        Return False if that would free little, or if native calls were made, which vendors refuse without declarations.
        """
        before = self._prefix_tokens()
        has_calls = any(isinstance(part, CallPart) for message in self._history.messages for part in message.parts)
        if has_calls or estimated_tokens(self._history) > before:
            return False
        self._speak(replace(self._parts, dialect=shortest(self._parts.dialect.name)))
        if self._prefix_tokens() >= before:
            return False
        turn.tell(Notice("info", closing("short_docs", self._language)))
        return True

    def _prefix_tokens(self) -> float:
        return text_tokens(self.system + json.dumps(self._schemas))

    async def _one_pass(self, turn: Turn) -> TurnEnded | None:
        if self._taught_for != self._now():
            self._speak(self._parts)
        context = await self._context(turn)
        cards = Cards(turn.tell, self._parts.registry)
        turn_gate = PermissionGate(self._parts, self._approvals, turn, cards)
        written = WrittenAhead(turn_gate, self._parts.record)
        gate = KeptFirst(written, self._parts.record)
        calls = Calls(self._parts.executor, self._parts.registry, turn, cards, turn_gate, gate)
        calls.audit, calls.keep_progress = self._parts.audit, self._parts.keep_progress
        if self._parts.nearby:
            calls.pursuit = Pursuit(self._parts, self._parts.nearby, turn, self._run_within)
        calls.consultation = None if turn.follows_plan else Consultation(self._parts, turn)
        calls.record = self._parts.record
        one = ModelPass(self._parts, turn, cards, calls, has_read=self._history.holds_others_words)
        written.said, gate.warn = one.message, lambda sentence: turn.tell(Notice("warning", sentence))

        def ask(more: tuple[Message, ...]) -> Request:
            return self._request(context, more)

        try:
            await one.run(ask)
        finally:
            self._keep(one, calls)
        ended = self._judge(turn, one, calls)
        return replace(ended, offers=one.offers, told_by_card=one.is_told_by_card) if ended else None

    async def _run_within(self, parts: SessionDeps, history: History, turn: Turn) -> TurnEnded:
        """Run a turn inside a turn, with the same person to ask."""
        return await Loop(parts, history, self._approvals).run(turn)

    def _request(self, context: str, more: tuple[Message, ...]) -> Request:
        return Request(
            self._parts.model,
            self.system,
            (*self._history.messages, *more),
            context,
            self._schemas,
            min(self._parts.settings[MAX_TOKENS], self._parts.window_tokens // _ANSWER_SHARE),
        )

    def _keep(self, one: ModelPass, calls: Calls) -> None:
        """Add the model's message and the results of its calls to the history."""
        kept = [Entry(EntryKind.MODEL, one.message())]
        answers = calls.answers
        if self._parts.dialect.pacing is Pacing.ONE_FEEDBACK_CALL:
            answers = [answer for answer in answers if calls.feeds_back(answer)]
        if answers:
            kept.append(Entry(EntryKind.RESULTS, self._parts.dialect.answer(answers)))
        self._history.extend(*kept)
        self._meet(answers)

    def _meet(self, answers: Sequence[Answer]) -> None:
        """Declare rare tools from the next pass on, after they were called or asked for."""
        met = dict.fromkeys(name for answer in answers for name in (*introduced(answer), answer.tool))
        new = [
            name for name in met if name not in self._met and (spec := self._parts.registry.find(name)) and spec.rare
        ]
        if new:
            self._met += new
            self._speak(self._parts)

    def _judge(self, turn: Turn, one: ModelPass, calls: Calls) -> TurnEnded | None:
        """How the turn ends after this pass, or None for another pass."""
        if one.is_repeating:
            return TurnEnded(turn.id, Outcome.REPEATING, closing("repeating", self._language))
        last = ending(calls.answers)
        if turn.reports:
            spoken = one.spoken[-1] if one.spoken else ""
            text = str(last.payload.get("text", "")) if last else spoken
            return TurnEnded(turn.id, Outcome.WAITING, text or closing("denials", self._language))
        if last and last.ends_turn:
            text = str(last.payload.get("text", ""))
            outcome = Outcome(last.ends_turn)
            if outcome is Outcome.FINISHED and text:
                outcome = self._outcome_of(turn, text, is_declared=True)
            return TurnEnded(turn.id, outcome, text)
        if turn.refused >= REFUSALS:
            turn.reports = True
            self._history.add(EntryKind.NOTE, note("last_pass"))
            return None
        if turn.looping:
            return TurnEnded(turn.id, Outcome.WAITING, closing("repeated", self._language))
        must_read = [answer for answer in calls.answers if calls.feeds_back(answer)]
        turn.in_vain = turn.in_vain + 1 if self._is_in_vain(one, must_read) else 0
        if turn.in_vain == _MOST_IN_VAIN:
            return _in_vain(turn, one, must_read, self._language)
        if one.hint:
            self._history.add(EntryKind.NOTE, user(one.hint, Author.WISP))
        if must_read or one.hint:
            return None
        return self._after_words(turn, one)

    def _is_in_vain(self, one: ModelPass, must_read: Sequence[Answer]) -> bool:
        """True if calls were meant, and none of them could be read, or none worked of those before a cut."""
        if one.stop_reason == "max_tokens":
            return not any(answer.result.ok for answer in must_read)
        return bool(must_read or one.hint) and not any(answer.call_id for answer in must_read)

    def _after_words(self, turn: Turn, one: ModelPass) -> TurnEnded | None:
        """Return the end of the turn if no result must be read, else None.

        The model's last words are the answer. If they only announce an answer, the model is asked once to go on.
        """
        spoken = one.spoken[-1] if one.spoken else ""
        if spoken and turn.evidence.needs_person and not self._parts.attended:
            return TurnEnded(turn.id, Outcome.WAITING, spoken)
        if one.stop_reason == "refusal":
            return TurnEnded(turn.id, Outcome.FAILED, spoken or closing("refusal", self._language))
        if one.stop_reason == "unverified":
            return TurnEnded(turn.id, Outcome.UNVERIFIED, spoken)
        wanting = self._what_is_wanting(one, spoken)
        if wanting and not turn.nudged:
            turn.nudged = True
            self._history.add(EntryKind.NOTE, note(wanting))
            return None
        if not spoken and not one.has_ended:
            if one.stop_reason == "max_tokens":
                return _cut_in_vain(turn, self._language)
            return TurnEnded(turn.id, Outcome.FAILED, closing("empty", self._language))
        if one.stop_reason == "max_tokens":
            turn.tell(Notice("warning", closing("cut_off", self._language)))
            return TurnEnded(turn.id, Outcome.CUT_OFF, spoken or closing("cut_off", self._language))
        outcome = self._outcome_of(turn, spoken)
        if one.is_quoting and outcome is Outcome.FINISHED and not self._parts.attended:
            outcome = Outcome.UNVERIFIED
        return TurnEnded(turn.id, outcome, spoken)

    def _outcome_of(self, turn: Turn, words: str, *, is_declared: bool = False) -> Outcome:
        """Return the outcome of a turn that ends with these words. A question to the person waits for the answer.

        Only an unattended turn needs proof: a person sees the result, and may have wanted words alone. A provider
        that follows a plan has computed the answer that it declares, so that its words alone may be all that was asked,
        and admit nothing: it has other ways to end a turn that failed.
        """
        is_computed = is_declared and self._parts.follows_plan
        proven = turn.evidence.outcome_of("" if is_computed else words, is_declared=is_declared)
        if proven is Outcome.ANSWERED and is_computed:
            proven = Outcome.FINISHED
        if asks_person(words, has_worked=proven is Outcome.FINISHED and not turn.evidence.has_only_looked):
            return Outcome.WAITING
        return Outcome.FINISHED if self._parts.attended else proven

    def _what_is_wanting(self, one: ModelPass, spoken: str) -> str:
        """Return the name of the note that asks the model to continue; "" if its answer may end the turn."""
        if one.has_invented:
            return "invented"
        if one.has_ended:
            return ""
        if not spoken:
            return "empty"
        return "nudge" if only_announces(spoken) else ""

    async def _hear_meanwhile(self, turn: Turn) -> bool:
        """Add to the history what the person wrote while the model worked. Returns False if they wrote nothing."""
        words: list[Words] = []
        while len(words) < len(turn.meanwhile):
            words.append(await self._expanded(turn.meanwhile[len(words)], turn))
        turn.take_meanwhile()  # only now, so that a stop meanwhile loses no words
        tainted: tuple[str, ...] = ()
        for said in words:
            turn.hear(said)
            # The next pass reads all of them together, so later words do not undo what an earlier one brought.
            tainted = turn.tainted_by = tuple(dict.fromkeys((*tainted, *turn.tainted_by)))
            parts = said.meanwhile(told("said_meanwhile", text=said.told))
            self._history.extend(Entry(EntryKind.PERSON, Message(Role.USER, parts)), heard=1)
        return bool(words)

    async def _expanded(self, words: Words, turn: Turn) -> Words:
        """Return the words with what a command in them brings. If it fails, tell the person; the turn goes on."""
        try:
            return await with_prompt(words, self._parts.expand)
        except WispError as error:
            turn.tell(Notice("warning", error.for_people(words_in(self._language))))
            return words


def _cut_in_vain(turn: Turn, language: str) -> TurnEnded:
    return TurnEnded(turn.id, Outcome.CUT_OFF, closing("limit_too_small", language, setting=MAX_TOKENS.key))


def _in_vain(turn: Turn, one: ModelPass, must_read: Sequence[Answer], language: str) -> TurnEnded:
    if one.stop_reason == "max_tokens":
        return _cut_in_vain(turn, language)
    name = one.unread_call or must_read[0].tool
    return TurnEnded(turn.id, Outcome.FAILED, closing("unread_call", language, name=name))
