"""Commands run for real behind the wall: hostile ones reach nothing outside, ordinary ones work."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.base.clock import SystemClock
from app.desktop.x11.virtual import VirtualDesktop
from app.services.processes.commands import Processes
from app.services.sandbox.layout import classify
from tests.hostile.commands_played import Command, load, named, run, run_all
from tests.hostile.commands_room import room
from tests.hostile.observers.injected import InputWatch
from tests.hostile.observers.processes import descendants
from tests.support.sampling import spread
from tests.support.waiting import eventually
from tests.support.walls import needs_wall

pytestmark = pytest.mark.timeout(400)  # hundreds of commands in one test

_PATIENCE_S = 40.0
_STARTS = 25


@needs_wall
@pytest.mark.parametrize(
    ("corpus", "count"),
    [
        ("commands", 10),
        ("escapes", 10),
        pytest.param("commands", 1000, marks=pytest.mark.long),
        pytest.param("escapes", 1000, marks=pytest.mark.long),
    ],
)
async def test_no_command_gets_out(desktop: VirtualDesktop, tmp_path: Path, corpus: str, count: int) -> None:
    before = set(descendants())
    with InputWatch(desktop.environment["DISPLAY"]) as keys, room(tmp_path / "room") as here:
        ran = await run_all(spread(load(corpus), count), here)
        effects = here.effects()
        # What Wisp records the output with may still be about to end.
        is_all_gone = eventually(lambda: set(descendants()) <= before | {here.victim.pid}, limit_s=10)
    assert [f"{one.case.id}: {what}: {one.case.command[:200]}" for one in ran for what in one.wrong] == []
    assert effects == []
    assert keys.seen == []
    assert is_all_gone


@pytest.mark.long
@needs_wall
async def test_links_that_are_swapped_while_the_wall_is_built_lead_nowhere(
    desktop: VirtualDesktop, tmp_path: Path
) -> None:
    """One command swaps folders for links to the neighbour's all the time, others begin meanwhile."""
    swap = "mkdir -p a; while :; do mkdir a/.git; rmdir a/.git; ln -s @OUT@ a/.git; rm a/.git; done"
    look = "cat a/.git/plan.txt; ls a/.git/repo && echo GOT'-THROUGH'; echo x > a/.git/@MARK@"
    with room(tmp_path / "room") as here:
        space = here.workspace("shared")
        wall = here.wall(space)
        swapper = Processes(here.root / "runs", SystemClock(), wall=wall)
        swapping = await swapper.start(named(swap, here), space)
        ran = [await run(Command(f"look-{number}", look), here, wall, space) for number in range(_STARTS)]
        await swapper.stop(swapping)
        effects = here.effects()
    assert [what for one in ran for what in one.wrong] == []
    assert effects == []


@needs_wall
@pytest.mark.parametrize("count", [10, pytest.param(1000, marks=pytest.mark.long)])
async def test_ordinary_commands_work_and_leave_nothing_outside(
    desktop: VirtualDesktop, tmp_path: Path, count: int
) -> None:
    with room(tmp_path / "room") as here:
        ran = await run_all(spread(load("commands_benign"), count), here, limit_s=_PATIENCE_S)
        effects = here.effects()
    assert [f"{one.case.id}: {one.case.command}: {one.output}" for one in ran if one.exit_code != 0] == []
    assert [f"{one.case.id}: {one.output}" for one in ran if one.case.prints not in one.output] == []
    assert [one.case.id for one in ran if one.wrong] == []
    assert effects == []


def test_commands_that_only_look_are_known_and_no_others(desktop: VirtualDesktop, tmp_path: Path) -> None:
    with room(tmp_path / "room") as here:
        space = here.workspace("space")
        benign = {one.command: one.looks for one in load("commands_benign")}
        known = {one for one in benign if classify(named(one, here), space, space).read_only}
        hostile = [one.command for name in ("commands", "escapes") for one in load(name)]
        believed = [one for one in hostile if classify(named(one, here), space, space).read_only]
    assert known == {one for one, looks in benign.items() if looks}
    assert believed == []
