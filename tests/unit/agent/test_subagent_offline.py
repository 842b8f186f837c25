"""A goal in plain words is carried out without any model, on a desktop where nothing really happens."""

from __future__ import annotations

from pathlib import Path

from app.agent.budget import Budget, Ceilings
from app.agent.deps import Nearby, SessionDeps
from app.agent.gate import Approvals
from app.agent.loop import Loop
from app.agent.policy import Mode, Policy
from app.agent.recording import History
from app.agent.subagent import Pursuit
from app.agent.turn import Mood, Turn
from app.base import ids
from app.base.clock import SystemClock
from app.desktop.desktop import Desktop
from app.desktop.headless import HeadlessDesktop, Started, Typed
from app.protocol.dialects.choose import by_name
from app.providers.offline import OfflineProvider
from app.settings.store import Settings
from app.tools.computer import COMPUTER, Computer
from app.tools.conversation import SAY, Speech
from app.tools.executor import Executor
from app.tools.registry import GoalLimits, Pursued, Registry
from app.tools.windows import WINDOWS, WindowTools


async def _pursued(folder: Path, desktop: Desktop, goal: str) -> Pursued:
    clock, settings = SystemClock(), Settings({}, {})
    registry = Registry(SAY, COMPUTER, WINDOWS)
    executor = Executor(registry, [Speech(), Computer(desktop), WindowTools(desktop)], clock, dry_run=True)
    parts = SessionDeps(
        OfflineProvider(), "offline", by_name("xml"), registry, executor, Policy(folder, Mode.ASK), settings,
        follows_plan=True,
    )  # fmt: skip

    async def run(inner: SessionDeps, history: History, turn: Turn) -> object:
        return await Loop(inner, history, Approvals(ids.counter("a"), attended=False)).run(turn)

    def tell(_event: object) -> None:
        return None

    turn = Turn("t1", tell, Mood(tell), Budget(Ceilings.of(settings), None, clock), follows_plan=True)
    pursuit = Pursuit(parts, Nearby(registry, executor), turn, run)  # type: ignore[arg-type]
    return await pursuit.pursue("c1", goal, GoalLimits(10, 60.0))


async def test_plain_commands_are_carried_out(tmp_path: Path) -> None:
    headless = HeadlessDesktop()
    desktop = Desktop(headless.backend)
    try:
        pursued = await _pursued(tmp_path, desktop, "open the calculator and type 12*7=")
    finally:
        desktop.close()
    assert (pursued.is_reached, len(pursued.deeds)) == (True, 2)
    assert [deed for deed in headless.done if isinstance(deed, (Started, Typed))] == [
        Started("Calculator"), Typed("12*7="),
    ]  # fmt: skip


async def test_what_it_does_not_understand_is_not_reached(tmp_path: Path) -> None:
    headless = HeadlessDesktop()
    desktop = Desktop(headless.backend)
    try:
        pursued = await _pursued(tmp_path, desktop, "find out why the sea is salty")
    finally:
        desktop.close()
    assert (pursued.is_reached, headless.done) == (False, [])
    assert pursued.text
