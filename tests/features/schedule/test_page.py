"""What the pages of planned tasks say of a run that was asked for."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.base.clock import SystemClock
from app.features.schedule import page
from app.features.schedule.agenda import Agenda, Job, standard_agenda
from app.features.schedule.times import read


@dataclass
class _NeverBegins:
    """A process that goes on for ever. Each look at it lets another process begin and end a run of another job."""

    agenda: Agenda
    other: int
    is_killed: bool = False
    returncode: None = None

    def poll(self) -> None:
        self.agenda.finish(self.agenda.run_now(self.other), "done", "")

    def kill(self) -> None:
        self.is_killed = True


@pytest.fixture
def agenda(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Agenda:
    monkeypatch.setenv("WISP_DATA_DIR", str(tmp_path))
    return standard_agenda(SystemClock())


async def test_a_run_that_never_begins_is_ended_and_no_other_jobs_run_counts_for_it(
    agenda: Agenda, monkeypatch: pytest.MonkeyPatch
) -> None:
    when = read("every hour", SystemClock().wall(), "UTC")
    asked, other = (agenda.add(Job(name, "hello", when, "/w")).id for name in ("Asked", "Other"))
    process = _NeverBegins(agenda, other)
    monkeypatch.setattr(page, "_BEGIN_LIMIT_S", 0.01)
    monkeypatch.setattr(page, "start_wisp", lambda *_words: process)
    async with asyncio.timeout(20):
        assert await page.PlannedTasks().act("run", str(asked)) == "unbegun"
    assert process.is_killed
    agenda.close()


async def test_a_run_that_has_begun_is_told_even_if_its_process_goes_on(
    agenda: Agenda, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = agenda.add(Job("Asked", "hello", read("every hour", SystemClock().wall(), "UTC"), "/w")).id
    process = _NeverBegins(agenda, asked)
    monkeypatch.setattr(page, "start_wisp", lambda *_words: process)
    assert await page.PlannedTasks().act("run", str(asked)) == "run"
    assert not process.is_killed
    agenda.close()


async def test_a_run_that_began_and_failed_at_once_has_begun(agenda: Agenda, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = agenda.add(Job("Asked", "hello", read("every hour", SystemClock().wall(), "UTC"), "/w")).id

    class _FailsAtOnce:
        returncode = 1

        def poll(self) -> int:
            agenda.finish(agenda.run_now(asked), "failed", "")
            return 1

    monkeypatch.setattr(page, "start_wisp", lambda *_words: _FailsAtOnce())
    assert await page.PlannedTasks().act("run", str(asked)) == "run"
    agenda.close()
