"""One program at a time acts on a display; Wisp's own tasks share it; nothing stays locked."""

from __future__ import annotations

import asyncio
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from app.base.errors import ToolFailed
from app.desktop.driving import Driving
from tests.support.waiting import until, within

_HOLDS = """
import asyncio, sys
from pathlib import Path
from app.desktop.driving import Driving

async def hold(path, name, kind):
    Driving(Path(path)).take(name, alone=kind == "alone")
    print("has it", flush=True)
    await asyncio.to_thread(sys.stdin.read)

asyncio.run(hold(*sys.argv[1:]))
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "driving"


@asynccontextmanager
async def _held(place: Path, name: str, kind: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Another process that has taken the display, until it is killed."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _HOLDS, str(place), name, kind),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout
    assert await within(process.stdout.readline()) == b"has it\n"
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def _refusal(driving: Driving, name: str = "Codex", *, alone: bool) -> str:
    try:
        driving.take(name, alone=alone)
    except ToolFailed as error:
        return str(error)
    return ""


async def test_who_has_it_alone_is_named_to_all_others_until_its_process_is_killed(place: Path) -> None:
    mine = Driving(place)
    async with _held(place, "Claude\nCode", "alone") as other:
        assert "Claude Code" in _refusal(mine, alone=True)
        assert "Claude Code" in _refusal(mine, alone=False)
        other.kill()
        await other.wait()
        assert _refusal(mine, alone=True) == ""
    mine.release()


async def test_wisps_own_tasks_do_not_hinder_each_other(place: Path) -> None:
    mine, client = Driving(place), Driving(place)
    async with _held(place, "Wisp", "shared"):
        assert _refusal(mine, "Wisp", alone=False) == ""
        assert "Wisp" in _refusal(client, alone=True)
    assert "Wisp" in _refusal(client, alone=True)
    mine.release()
    assert _refusal(client, alone=True) == ""
    client.release()


async def test_what_is_held_alone_stays_so_while_its_own_calls_share_it(place: Path) -> None:
    mine = Driving(place)
    mine.take("Codex", alone=True)
    mine.take("Wisp", alone=False)
    assert "Codex" in _refusal(Driving(place), "Wisp", alone=False)
    mine.release()
    mine.release()


async def test_who_does_nothing_for_a_while_gives_it_up_but_not_in_the_middle_of_a_call(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.desktop.driving._IDLE_S", 0.02)
    mine, other, is_over = Driving(place), Driving(place), asyncio.Event()

    async def long_call() -> None:
        mine.take("Codex", alone=True)
        await is_over.wait()

    call = asyncio.create_task(long_call())
    await asyncio.sleep(0.2)
    assert "Codex" in _refusal(other, alone=True)
    is_over.set()
    await call
    await until(lambda: not _refusal(other, alone=True))
    other.release()


async def test_another_display_and_one_on_which_nothing_happens_are_free(tmp_path: Path) -> None:
    several = [Driving(tmp_path / "one"), Driving(tmp_path / "two"), Driving(None), Driving(None)]
    assert [_refusal(one, alone=True) for one in several] == [""] * 4
    assert stat.S_IMODE((tmp_path / "one").stat().st_mode) == 0o600
    for one in several:
        one.release()
