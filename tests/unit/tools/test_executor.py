"""One call in, one result out, whatever happens in between."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

import pytest

from app.base.errors import Cancelled
from app.base.facts import Failed, NotAllowed, first
from app.base.phrases import Phrase
from app.protocol.call import Block, ToolCall, ToolResult, tool_error
from app.protocol.spec import ToolSpec
from app.tools.executor import Execution, Executor, Gate, WrittenByThePerson
from app.tools.registry import Registry, TurnContext, admitted
from tests.support.stage import BROKEN, BUSY, LOCKED, WORKBENCH, FakeClock, Workbench

_READ = Block("c1", "read", {"path": "a.txt"})
_DONE = ToolResult(True, "read", {"path": "a.txt"}, "a.txt holds 3 lines.")


class _Says:
    """A gate with a fixed answer, or one that breaks."""

    def __init__(self, answer: str = "", error: Exception | None = None) -> None:
        self._answer = answer
        self._error = error

    async def admit(self, _call: ToolCall, _spec: ToolSpec) -> str:
        if self._error:
            raise self._error
        return self._answer


def _run(bench: Workbench, block: Block = _READ, gate: Gate | None = None, clock: FakeClock | None = None) -> Execution:
    executor = Executor(Registry(WORKBENCH), [bench], clock or FakeClock(), attempts=3, seed=1)
    return asyncio.run(executor.run(block, gate or WrittenByThePerson(), TurnContext(admitted, "c1")))


def test_a_call_becomes_a_result_and_keeps_its_typed_form() -> None:
    bench = Workbench()
    assert _run(bench) == Execution(_DONE, ToolCall("c1", "read", {"path": "a.txt"}), 0.0)
    assert bench.done == ["read a.txt"]


def test_an_unknown_tool_is_answered_with_the_nearest_name() -> None:
    execution = _run(Workbench(), Block("c1", "raed"))
    told = "There is no tool called 'raed', so nothing ran. Did you mean read?"
    assert execution.result == tool_error("raed", told, for_model=True)


def test_a_name_like_no_other_is_answered_all_the_same() -> None:
    execution = _run(Workbench(), Block("c1", "teleport"))
    assert execution.result.llm_echo == (
        "teleport: There is no tool called 'teleport', so nothing ran. Use one of the tools listed in the instructions."
    )


def test_misuse_is_answered_and_nothing_runs() -> None:
    bench = Workbench()
    execution = _run(bench, Block("c1", "click", {"x": "left"}))
    assert (execution.result.ok, execution.result.event, execution.call) == (False, "tool_error", None)
    assert bench.done == []


def test_a_refusal_of_the_gate_is_the_result_and_nothing_runs() -> None:
    bench = Workbench()
    execution = _run(bench, gate=_Says("The person said no."))
    result = execution.result
    assert (result.ok, result.llm_echo) == (False, "read: not run. The person said no.")
    assert (result.payload["denied"], first(NotAllowed, result.facts)) == (True, NotAllowed())
    assert bench.done == []


def test_a_gate_that_breaks_lets_nothing_through(caplog: pytest.LogCaptureFixture) -> None:
    bench = Workbench()
    execution = _run(bench, gate=_Says(error=KeyError("rules")))
    assert (execution.result.ok, bench.done) == (False, [])


def test_a_passing_failure_is_tried_again_with_growing_waits() -> None:
    bench, clock = Workbench(failures=[BUSY, BUSY]), FakeClock()
    execution = _run(bench, clock=clock)
    assert execution.result == _DONE
    assert bench.done == ["read a.txt"] * 3
    assert [0.1 <= clock.slept[0] <= 0.2, 0.2 <= clock.slept[1] <= 0.4] == [True, True]
    assert execution.elapsed_s == pytest.approx(sum(clock.slept))


def test_the_last_try_of_a_passing_failure_counts() -> None:
    bench = Workbench(failures=[BUSY, BUSY, BUSY])
    assert _run(bench).result == tool_error("read", "The disk is busy.")
    assert bench.done == ["read a.txt"] * 3


def test_a_lasting_failure_is_not_tried_again() -> None:
    bench = Workbench(failures=[BROKEN])
    assert _run(bench).result == tool_error("read", "There is no such file.")
    assert bench.done == ["read a.txt"]


def test_an_act_on_the_screen_is_never_tried_again() -> None:
    bench = Workbench(failures=[BUSY])
    assert _run(bench, Block("c1", "click", {"x": "5"})).result == tool_error("click", "The disk is busy.")
    assert bench.done == ["click 5"]


def test_a_stopped_turn_tries_nothing_again() -> None:
    bench, clock = Workbench(failures=[BUSY]), FakeClock()
    executor = Executor(Registry(WORKBENCH), [bench], clock)

    async def stopped() -> Execution:
        context = TurnContext(admitted, "c1")
        context.cancelled.set()
        return await executor.run(_READ, WrittenByThePerson(), context)

    assert asyncio.run(stopped()).result == tool_error("read", "The disk is busy.")
    assert (bench.done, clock.slept) == (["read a.txt"], [])


def test_what_only_the_person_can_do_is_said_so() -> None:
    execution = _run(Workbench(failures=[LOCKED]))
    result = execution.result
    assert (result.ok, result.payload["needs_person"]) == (False, True)
    assert result.llm_echo.startswith("read: Only the person")
    assert result.llm_echo.endswith("Unlock the screen.")
    assert first(Failed, result.facts) == Failed(Phrase("Unlock the screen."))


def test_a_stop_seen_by_the_tool_is_a_result() -> None:
    execution = _run(Workbench(failures=[Cancelled("The person pressed the stop key.")]))
    told = tool_error("read", "The person pressed the stop key.")
    assert execution.result == replace(told, payload={**told.payload, "interrupted": True})


def test_a_tool_that_took_too_long_is_a_result() -> None:
    assert not _run(Workbench(failures=[TimeoutError()])).result.ok


def test_a_fault_of_ours_is_logged_with_its_trace_and_told_without(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        execution = _run(Workbench(failures=[ZeroDivisionError("secret detail")]))
    failed = first(Failed, execution.result.facts)
    assert (execution.result.ok, failed and "ZeroDivisionError" in failed.said) == (False, True)
    assert "secret detail" not in execution.result.llm_echo
    assert "secret detail" in caplog.text


async def test_cancelling_reaches_the_tool_and_the_caller() -> None:
    bench = Workbench()
    executor = Executor(Registry(WORKBENCH), [bench], FakeClock())
    task = asyncio.create_task(executor.run(Block("c1", "long"), WrittenByThePerson(), TurnContext(admitted, "c1")))
    await bench.began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert bench.cancelled == 1


def test_a_family_without_a_handler_is_a_bug() -> None:
    with pytest.raises(ValueError, match="No Workbench was given"):
        Executor(Registry(WORKBENCH), [], FakeClock())
