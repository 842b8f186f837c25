"""Run one call and always return one result. A tool's errors become sentences for the model here.

Only `asyncio.CancelledError` passes through: the person stopped the turn, and the caller must end it.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Protocol, runtime_checkable

from app.base import facts, signs
from app.base.clock import Clock, backoff_s
from app.base.errors import Cancelled, NeedsPerson, Remedy, ToolFailed, WispError
from app.base.facts import Fact, Failed, NotAllowed, Rehearsed, Undoable
from app.base.phrases import Phrase
from app.base.values import dataclass, replace
from app.protocol.arguments import to_call
from app.protocol.call import Block, GateRefusal, JsonValue, ToolCall, ToolResult, failed, not_run, tool_error
from app.protocol.dialects.tags import nearest
from app.protocol.spec import HARMLESS, Effect, ToolSpec
from app.tools.registry import Audit, Registry, TurnContext, unkept


def made_plain(result: ToolResult) -> ToolResult:
    """Remove hidden characters from the result, and add a note on how many there were, for the model."""
    echo, hidden = signs.plain(result.llm_echo)
    if hidden:
        echo += f"\n[{hidden} hidden or control characters were left out]"
    media = tuple(replace(media, label=signs.plain(media.label)[0]) for media in result.llm_media)
    payload = {name: _plain(value) for name, value in result.payload.items()}
    told: tuple[Fact, ...] = facts.of_json(_plain(facts.as_json(result.facts))) if result.facts else ()
    return replace(result, payload=payload, llm_echo=echo, llm_media=media, facts=told)


def _plain(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return signs.plain(value)[0]
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, Sequence):
        return [_plain(item) for item in value]
    return value


_log = logging.getLogger(__name__)

_FIRST_WAIT_S = 0.2
_LONGEST_WAIT_S = 5.0
STARTED_BY_HAND = "the person who started wisp tool"

Run = Callable[[ToolCall, TurnContext], Awaitable[ToolResult]]


@runtime_checkable
class WatchesCalls(Protocol):
    """A handler that the executor informs before any tool runs, of its own family or another."""

    async def before(self, spec: ToolSpec, call: ToolCall) -> None: ...


class Gate(Protocol):
    """Decides about every call before it runs."""

    async def admit(self, call: ToolCall, spec: ToolSpec) -> str:
        """The sentence that the model reads instead of a result, or "" to run the call now. May wait for a person."""
        ...


_YOURS = (
    "Nothing was done. Wisp does this only after you yourself have answered its question. Say it in Wisp, or in a "
    "terminal: wisp do"
)
_THEIRS = (
    "Nothing was done: what ends the session, or deletes for good, needs the person's answer to a question, and no "
    "program may write that. They can say it in Wisp, or in a terminal by `wisp do`."
)


class WrittenByThePerson:
    """Allows every call but those that end the session or delete for good. A program or a person wrote the calls.

    The audit log records that the person allowed them.
    """

    def __init__(self, audit: Audit = unkept) -> None:
        self._audit = audit

    async def admit(self, call: ToolCall, spec: ToolSpec) -> str:
        if Effect.ENDS in spec.effects_of(call):
            return GateRefusal(_THEIRS, NotAllowed(is_unattended=True), Phrase(_YOURS))
        if not spec.effects_of(call) <= HARMLESS:
            await self._audit("allowed", {"tool": call.name, "arguments": dict(call.arguments), "by": STARTED_BY_HAND})
        return ""


async def note_outcome(audit: Audit, execution: Execution, spec: ToolSpec, turn_id: str = "") -> None:
    """Record the outcome of an allowed call that may change something. Actions of a dry run are not recorded."""
    call, result = execution.call, execution.result
    if call is None or result.payload.get("denied") or spec.effects_of(call) <= HARMLESS:
        return
    why = {} if result.ok else {"why": result.llm_echo}
    done = "dry_run" if result.payload.get("dry_run") else "done"
    await audit(done if result.ok else "failed", {"tool": spec.name, "turn": turn_id, **why})


@dataclass(frozen=True, slots=True)
class Execution:
    """The outcome of a call. `call` is None if its arguments could not be read. The time is only the handler's."""

    result: ToolResult
    call: ToolCall | None
    elapsed_s: float


class Executor:
    """Runs the calls of a registry with the given handlers, one object per family.

    `attempts` includes the first one. Only failures marked as transient are tried again, and never an action on the
    screen. `without_screen` means that the desktop only writes down what is done on it; `dry_run` means besides that no
    other call runs at all that does more than look. Raise ValueError if a family has no handler.
    """

    def __init__(
        self,
        registry: Registry,
        handlers: Iterable[object],
        clock: Clock,
        *,
        attempts: int = 3,
        seed: int | None = None,
        dry_run: bool = False,
        without_screen: bool = False,
    ) -> None:
        self._registry = registry
        self._clock = clock
        self._attempts = attempts
        self._dry_run = dry_run
        self._is_screen_rehearsed = dry_run or without_screen
        self._random = random.Random(seed)
        given = tuple(handlers)
        self._runs = _bound(registry, given)
        self._watching = tuple(handler for handler in given if isinstance(handler, WatchesCalls))

    async def run(self, block: Block, gate: Gate, context: TurnContext) -> Execution:
        """Read the call, ask the policy, and run it. After an error in the first two steps, nothing runs."""
        spec = self._registry.find(block.name)
        if spec is None:
            return Execution(made_plain(tool_error(block.name, self._unknown(block.name), for_model=True)), None, 0.0)
        call: ToolCall | None = None
        begun = self._clock.now()
        try:
            call = to_call(spec, block)
            if refusal := await gate.admit(call, spec):
                return Execution(made_plain(not_run(spec.name, refusal)), call, 0.0)
            begun = self._clock.now()
            effects = spec.effects_of(call)
            if self._dry_run and Effect.DESKTOP not in effects and not spec.only_looks(call):
                return Execution(made_plain(_rehearsed(_imagined(call))), call, 0.0)
            is_rehearsal = self._is_screen_rehearsed and Effect.DESKTOP in effects
            if is_rehearsal:  # what did not happen is not recorded as if it had
                context = replace(context, audit=unkept)
            for handler in self._watching:
                await handler.before(spec, call)
            # An act on the screen was judged by what was there, and may have happened before it failed.
            attempts = 1 if Effect.DESKTOP in effects else self._attempts
            result = await self._tried(self._runs[spec.name], call, context, attempts)
            if result.payload.get("undoable") is True:
                result = replace(result, facts=(*result.facts, Undoable()))
            if is_rehearsal and result.ok:
                result = _rehearsed(result)
        except Exception as error:  # because a handler's bug must not end the turn
            result = _translated(spec.name, error)
        return Execution(made_plain(result), call, self._clock.now() - begun)

    async def _tried(self, run: Run, call: ToolCall, context: TurnContext, attempts: int) -> ToolResult:
        for attempt in range(1, attempts):
            try:
                return await run(call, context)
            except ToolFailed as error:
                if not error.transient or context.cancelled.is_set():
                    raise
                _log.info("%s failed for a passing reason, try %d: %s", call.name, attempt, error)
            await self._clock.sleep(backoff_s(attempt, _FIRST_WAIT_S, _LONGEST_WAIT_S, self._random))
        return await run(call, context)

    def _unknown(self, name: str) -> str:
        near = nearest(name, [spec.name for spec in self._registry])
        hint = f"Did you mean {near}?" if near else "Use one of the tools listed in the instructions."
        return f"There is no tool called {name!r}, so nothing ran. {hint}"


def _bound(registry: Registry, handlers: tuple[object, ...]) -> dict[str, Run]:
    runs: dict[str, Run] = {}
    for spec in registry:
        family = registry.handler_of(spec.name)
        handler = next((handler for handler in handlers if isinstance(handler, family)), None)
        if handler is None:
            raise ValueError(f"No {family.__name__} was given to run {spec.name!r}.")
        runs[spec.name] = partial(spec.execute, handler)
    return runs


def _imagined(call: ToolCall) -> ToolResult:
    """For a call with an effect, which a dry run does not run: nobody tried whether it would succeed."""
    return ToolResult(True, call.name, dict(call.arguments), f"{call.name}: not run, nothing was tried.")


def _rehearsed(result: ToolResult) -> ToolResult:
    """Mark the result of an action in a dry run as such, for the model, the person and programs."""
    payload, told = {**result.payload, "dry_run": True}, Rehearsed()
    return replace(result, payload=payload, llm_echo=f"{result.llm_echo} {told.said}", facts=(*result.facts, told))


def _translated(tool: str, error: Exception) -> ToolResult:
    if isinstance(error, NeedsPerson):
        payload: dict[str, JsonValue] = {"tag": tool, "reason": str(error), "needs_person": True}
        if error.remedy is Remedy.EXTRA:
            payload["remedy"] = error.remedy.value
        echo = f"{tool}: Only the person can help here. Tell them, and wait: {error}"
        return ToolResult(False, "tool_error", payload, echo, facts=(*error.facts, error.why))
    if isinstance(error, WispError):
        told = failed(tool, error.why, *error.facts)
        is_stop = isinstance(error, Cancelled)  # which is no failure of the call
        return replace(told, payload={**told.payload, "interrupted": True}) if is_stop else told
    if isinstance(error, (TimeoutError, asyncio.TimeoutError)):
        why = Failed(Phrase("It took too long, so Wisp stopped it."), "Look at what has happened before trying again.")
        return failed(tool, why)
    _log.error("The tool %s raised.", tool, exc_info=error)
    what = "Wisp made a mistake of its own here ({kind}). The call was right."
    return failed(tool, Failed(Phrase(what, {"kind": type(error).__name__}), "Try another way."))
