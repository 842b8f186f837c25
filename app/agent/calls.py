"""Run the calls of a message in order: each goes through the gate to its result."""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from app.agent.cards import Cards
from app.agent.deps import KeepProgress
from app.agent.gate import PermissionGate
from app.agent.policy.naming import own_words
from app.agent.prompt import told
from app.agent.recording import NoRecorder, Recorder
from app.agent.subagent import Consultation, Pursuit
from app.agent.turn import ASK_AT, WARN_AT, Turn
from app.base import ids
from app.base.errors import WispError
from app.base.facts import Failed
from app.base.phrases import Phrase
from app.base.values import dataclass
from app.protocol.arguments import to_call
from app.protocol.call import CHANGED_PART, FINISHED, Block, JsonValue, ToolCall, ToolResult, tool_error
from app.protocol.dialects.api import Answer
from app.protocol.spec import PROGRESS, Effect, ToolSpec
from app.providers.pairing import HALTED
from app.tools.executor import Execution, Executor, Gate, note_outcome
from app.tools.registry import Audit, Registry, TurnContext

AT_ONCE = 8
"""How many calls of one batch run at the same time."""
_PATHS = ("path", "source", "destination")
_ACTS = frozenset({Effect.DESKTOP, Effect.EXECUTES})
_BOUND = frozenset({Effect.READS, Effect.WRITES, Effect.DESKTOP})
"""Effects of calls that wait for an earlier action."""


@dataclass(frozen=True, slots=True)
class Reach:
    """What a call does, which paths and vendor toolset it touches, and whether all other calls wait for it."""

    effects: frozenset[Effect]
    touched: frozenset[str]
    is_wait: bool = False


def reach_of(block: Block, spec: ToolSpec | None, toolset: str = "") -> Reach:
    """Return the effects of a call and the files it touches. `spec` is None for an unknown tool."""
    if spec is None:
        return Reach(frozenset({Effect.TALKS}), frozenset())
    is_place = spec.effect is not Effect.DESKTOP
    touched = {posixpath.normpath(path) for path in _paths(block, spec)} if is_place else set()
    effects = {spec.effect}
    if spec.effects_by_call:
        # It waits for earlier calls, because its effects depend on files that they may still write.
        effects.add(Effect.EXECUTES)
    return Reach(frozenset(effects), frozenset(touched | {f"toolset {toolset}"} if toolset else touched), spec.is_wait)


def keep_order(first: Reach, second: Reach) -> bool:
    """True if the second call reads or changes what the first changes, so that it must wait."""
    if first.is_wait or second.is_wait or _share(first, second):
        return True
    if first.effects & _ACTS and second.effects & _BOUND:
        return True
    is_look = Effect.READS in first.effects and not first.touched
    if Effect.DESKTOP in second.effects:
        return is_look or bool(first.effects & {Effect.WRITES, Effect.EXECUTES})
    return Effect.EXECUTES in second.effects and bool(first.effects & {Effect.WRITES, Effect.DESKTOP})


def _share(first: Reach, second: Reach) -> bool:
    """True if both touch the same file, or a folder and a file in it, and one of them changes it."""
    if any(name.startswith("toolset ") for name in first.touched & second.touched):
        return True
    if first.effects | second.effects == {Effect.READS}:
        return False
    return any(_holds(one, other) or _holds(other, one) for one in first.touched for other in second.touched)


def _holds(folder: str, path: str) -> bool:
    return folder in (path, ".") or path.startswith(f"{folder}/")


async def side_by_side(reaches: Sequence[Reach], run: Callable[[int], Awaitable[None]]) -> None:
    """Run the calls of a batch by index, each after those it must wait for, at most `AT_ONCE` at a time."""
    places = asyncio.Semaphore(AT_ONCE)
    running: list[asyncio.Task[None]] = []

    async def run_after(earlier: list[asyncio.Task[None]], index: int) -> None:
        if earlier:
            await asyncio.wait(earlier)
        async with places:
            await run(index)

    async with asyncio.TaskGroup() as group:
        for index, mine in enumerate(reaches):
            earlier = [task for task, other in zip(running, reaches, strict=False) if keep_order(other, mine)]
            running.append(group.create_task(run_after(earlier, index)))


def _paths(block: Block, spec: ToolSpec) -> Iterator[str]:
    given = [*block.attrs.items(), *((child.name, child.text) for child in block.children), *(block.args or {}).items()]
    for name, value in given:
        param = spec.param(name)
        if (param.name if param else name) in _PATHS:
            yield from (
                one for one in (value if isinstance(value, (list, tuple)) else (value,)) if isinstance(one, str)
            )


_NONE: Mapping[str, str] = MappingProxyType({})


class Calls:
    """Runs calls and collects their `answers`, which stay complete even if a run is cancelled."""

    def __init__(
        self,
        executor: Executor,
        registry: Registry,
        turn: Turn,
        cards: Cards,
        turn_gate: PermissionGate,
        gate: Gate,
    ) -> None:
        self._executor = executor
        self._registry = registry
        self._turn = turn
        self._cards = cards
        self._turn_gate = turn_gate
        self._gate = gate
        self.audit: Audit | None = None
        self.keep_progress: KeepProgress | None = None
        self.pursuit: Pursuit | None = None
        self.consultation: Consultation | None = None
        self.record: Recorder = NoRecorder()
        self.answers: list[Answer] = []

    async def run(self, block: Block) -> Answer:
        """Run one call to its end."""
        self._cards.closed(block)
        self.answers.append(self._interrupted(block))
        place = len(self.answers) - 1
        answer = await self._executed(block)
        self.answers[place] = answer
        return answer

    async def run_together(self, blocks: Sequence[Block], toolsets: Mapping[str, str] = _NONE) -> None:
        """Run a batch in parallel, except for calls whose order matters.

        `toolsets` maps call ids to the vendor's toolset: its calls run in order, up to the first that fails.
        """
        first = len(self.answers)
        await self._turn_gate.expect(list(self._readable(blocks)))
        for block in blocks:
            self._cards.closed(block)
            self.answers.append(self._interrupted(block))
        failed: set[str] = set()

        async def run_one(index: int) -> None:
            toolset = toolsets.get(blocks[index].call_id, "")
            halted = toolset in failed
            answer = self._halted(blocks[index], toolset) if halted else await self._executed(blocks[index])
            self.answers[first + index] = answer
            if toolset and not answer.result.ok:
                failed.add(toolset)

        await side_by_side([self._reach(block, toolsets.get(block.call_id, "")) for block in blocks], run_one)

    def _readable(self, blocks: Sequence[Block]) -> Iterator[tuple[ToolCall, ToolSpec]]:
        """Yield the calls that can be read, with their tools. The executor tells of the others."""
        for block in blocks:
            spec = self._registry.find(block.name)
            with suppress(WispError):
                if spec is not None:
                    yield to_call(spec, block), spec

    async def end_toolset(self, toolsets: Mapping[str, str]) -> None:
        """Add a screenshot to the last toolset result, so that the model needs no call to see its effect."""
        place = max((at for at, answer in enumerate(self.answers) if answer.call_id in toolsets), default=None)
        screenshot = next((spec for spec in self._registry if spec.is_screenshot), None)
        if place is None or screenshot is None:
            return
        last = self.answers[place]
        if last.result.ok and (not last.result.llm_media or CHANGED_PART in last.result.payload):
            seen = await self._looked(Block(ids.unique("call_"), screenshot.name))
            self.answers[place] = replace(last, result=replace(last.result, llm_media=seen.llm_media))

    async def _looked(self, block: Block) -> ToolResult:
        """Take a screenshot that the model did not ask for. It is judged and shown like a call, but not added to
        `answers`.
        """
        self._cards.closed(block)
        execution = await self._executor.run(block, self._turn_gate, self._context(block.call_id))
        await self._note_reading(execution)
        self._cards.finished(block.call_id, execution.result, execution.elapsed_s)
        return execution.result

    def complain(self, tool: str, reason: str, call_id: str = "") -> None:
        """Add an error answer for a call that cannot run; `reason` tells the model why."""
        self.answers.append(Answer(call_id, tool, tool_error(tool, reason, for_model=True)))

    def end_pass(self) -> None:
        """End the pass. If the latest passes changed nothing, add a warning to the last answer."""
        repetition = self._turn.repetition
        repetition.end_pass()
        if self.answers and repetition.idle >= WARN_AT > repetition.count:
            last = self.answers[-1]
            self.answers[-1] = replace(last, result=_warned(last.result, told("idle", count=str(repetition.idle))))

    def feeds_back(self, answer: Answer) -> bool:
        """Return whether the model must read this answer before it continues."""
        spec = self._registry.find(answer.tool)
        return spec is None or spec.feeds_back or not answer.result.ok

    async def _executed(self, block: Block) -> Answer:
        try:
            execution = await self._executor.run(block, self._gate, self._context(block.call_id))
        except asyncio.CancelledError:  # The card must still end, since nobody else closes it.
            self._cards.finished(block.call_id, self._interrupted(block).result)
            raise
        execution = self._with_list(self._watched(block, execution))
        await self._note_reading(execution)
        self.record.call_ended(block.call_id, execution.result)
        await self._note_outcome(execution)
        await self._keep_progress(block.call_id, execution)
        self._cards.finished(block.call_id, execution.result, execution.elapsed_s)
        return Answer(block.call_id, self._name(block), execution.result, execution.call)

    async def _note_outcome(self, execution: Execution) -> None:
        """Record the outcome of a call that changes something. The gate has already recorded a refusal."""
        call = execution.call
        spec = self._registry.find(call.name) if call else None
        result = execution.result
        if result.payload.get("denied"):
            self._turn.evidence.is_refused = True
        if result.payload.get("denied"):
            return
        if call is None or spec is None:
            if not self._turn.evidence.has_acted:  # nothing but calls that cannot run is no finished task
                self._turn.evidence.note({Effect.DESKTOP}, result)
            return
        self._turn.evidence.has_acted = self._turn.evidence.has_acted or not spec.voiced
        self._turn.evidence.note(spec.effects_of(call), result)
        if self.audit:
            await note_outcome(self.audit, execution, spec, self._turn.id)

    async def _note_reading(self, execution: Execution) -> None:
        """Record the taint of a result. A failed call counts too, because its error may quote what was read."""
        spec = self._registry.find(execution.call.name) if execution.call else None
        if execution.call and spec and not execution.result.payload.get("denied"):
            await self._turn_gate.record_taint(execution.call, spec)
            self._turn_gate.learn(execution.call, spec, execution.result)

    def _with_list(self, execution: Execution) -> Execution:
        """Replace the result that would end the turn by an error, once, if the turn kept a checklist and this call has
        none.
        """
        call, spec = execution.call, self._registry.find(execution.call.name) if execution.call else None
        is_end = spec is not None and not spec.feeds_back and execution.result.ends_turn == FINISHED
        if not call or not is_end or call.progress or not self._turn.keeps_list:
            return execution
        self._turn.keeps_list = False
        return replace(execution, result=tool_error(call.name, told("list_missing"), for_model=True))

    async def _keep_progress(self, call_id: str, execution: Execution) -> None:
        """Save the checklist that the model wrote into a call, and show it, if the call has worked."""
        if self.keep_progress and execution.call and execution.call.progress and execution.result.ok:
            self._cards.progress(call_id, PROGRESS.name, await self.keep_progress(execution.call.progress))
            self._turn.keeps_list = True

    def _watched(self, block: Block, execution: Execution) -> Execution:
        """Add a warning to a call that is repeated without a new result, even if it could not be parsed."""
        if self._turn.follows_plan or not self._counts(block, execution):
            return execution
        repetition = self._turn.repetition
        repetition.note_result(execution.result)
        if repetition.count < WARN_AT:
            return execution
        return replace(execution, result=_warned(execution.result, told("repeated", count=str(repetition.count))))

    def _counts(self, block: Block, execution: Execution) -> bool:
        """Return whether repeating this call is a loop.

        The policy counts the calls that reached it. This method counts the calls that failed before, such as unreadable
        ones.
        """
        if execution.call is None:
            count = self._turn.repetition.note(block.name, _as_written(block))
            self._turn.looping = self._turn.looping or count >= ASK_AT
            return True
        spec = self._registry.find(execution.call.name)
        return spec is not None and spec.feeds_back

    def _context(self, call_id: str) -> TurnContext:
        def emit(event: str, payload: Mapping[str, JsonValue]) -> None:
            self._cards.progress(call_id, event, payload)

        turn = self._turn
        context = TurnContext(
            self._turn_gate.admit_step,
            call_id,
            emit,
            cancelled=turn.cancelled,
            turn_id=turn.id,
            turns=(*turn.learned.turns, turn.id),
            began_at=turn.began_at,
            heard=turn.heard,
            said="\n".join(map(own_words, turn.learned.said)),
            tainted_by=turn.tainted_by,
            messages=tuple(turn.learned.said),
            judged=lambda: turn.judged.get(call_id, ()),
        )
        if self.pursuit:
            context = replace(context, pursue=partial(self.pursuit.pursue, call_id))
        if self.consultation:
            context = replace(context, consult=self.consultation.ask)
        return replace(context, audit=self.audit) if self.audit else context

    def _interrupted(self, block: Block) -> Answer:
        name = self._name(block)
        result = tool_error(name, told("stopped_call"), for_model=True)
        return Answer(block.call_id, name, replace(result, payload={**result.payload, "interrupted": True}))

    def _reach(self, block: Block, toolset: str) -> Reach:
        return reach_of(block, self._registry.find(block.name), toolset)

    def _name(self, block: Block) -> str:
        spec = self._registry.find(block.name)
        return spec.name if spec else block.name

    def _halted(self, block: Block, toolset: str) -> Answer:
        reason = HALTED.get(toolset) or told("halted", toolset=toolset)
        failed: tuple[Failed, ...] = (Failed(Phrase(reason), is_for_model=True),)
        payload: dict[str, JsonValue] = {"tag": self._name(block), "reason": reason, "for_model": True}
        result = ToolResult(False, "tool_error", payload, reason, facts=failed)
        self._cards.finished(block.call_id, result)
        return Answer(block.call_id, self._name(block), result)


def _as_written(block: Block) -> dict[str, JsonValue]:
    children: list[JsonValue] = [[child.name, child.text] for child in block.children]
    return {"attrs": dict(block.attrs), "children": children, "body": block.body, "args": dict(block.args or {})}


def _warned(result: ToolResult, warning: str) -> ToolResult:
    return replace(result, llm_echo=f"{result.llm_echo}\n{warning}".lstrip())


def ending(answers: Sequence[Answer]) -> ToolResult | None:
    """Return the first result that ends the turn, or None."""
    return next((answer.result for answer in answers if answer.result.ends_turn), None)
