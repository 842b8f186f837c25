"""Run tasks on this computer, several at a time."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from pathlib import Path

from app.desktop.ocr.rapid import shared_reader
from app.features.fleet.attempts import FAULT, Conditions, carry_out, files_of
from app.features.fleet.client import DeskNotStarted
from app.features.fleet.results import Results
from app.features.fleet.tasks import Task

_log = logging.getLogger(__name__)


class ThisComputer:
    """Runs `jobs` tasks at a time, each in a thread that waits for its desktop."""

    def __init__(self, results: Results, jobs: int) -> None:
        self._results = results
        self.desktops = jobs

    def run(self, tasks: Sequence[Task], folder: Path, conditions: Conditions) -> Iterator[Mapping[str, str]]:
        """Run the tasks. Yields those that have ended by their ids, each with why it failed to run."""

        def run(task: Task) -> None:
            if not self._results.is_halted:
                carry_out(task, files_of(task, folder), conditions, self._results)

        with shared_reader(), ThreadPoolExecutor(self.desktops, "desk") as pool:
            running = {pool.submit(run, task): task.id for task in tasks}
            for done in as_completed(running):
                name = running[done]
                if not (self._results.is_halted and self._results.is_waiting(name)):
                    yield {name: _why(done)}

    def halt(self) -> None:
        """Let no further task begin."""

    def stop(self) -> None:
        """End what runs as well: each looks at the results."""

    def close(self) -> None:
        """Nothing is open."""


def _why(done: Future[None]) -> str:
    error = done.exception()
    if error is None or isinstance(error, (DeskNotStarted, OSError)):
        return str(error or "")
    _log.error("A task failed.", exc_info=error)
    return FAULT
