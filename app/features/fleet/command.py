"""`wisp run-all TASKS.jsonl`: do all tasks of a file, each on a private desktop of its own, and keep what came of them.

The same command again goes on where the last one ended, however it ended. Ctrl+C lets no further task begin; a second
one ends those that run.
"""

from __future__ import annotations

import argparse
import os
import signal
import sqlite3
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from app import options as shared
from app.base import logs, own_files, resources
from app.base.clipping import clip_line
from app.base.errors import NeedsPerson
from app.base.signs import plain
from app.base.startup import STOPPED
from app.features.fleet.attempts import Conditions, Ended
from app.features.fleet.here import ThisComputer
from app.features.fleet.report import write_report
from app.features.fleet.results import Results
from app.features.fleet.tasks import Task, read_tasks
from app.protocol.call import JsonValue
from app.services.extras import require

_WHY_CHARS = 100
_NOT_PASSED = 1
_IN_VAIN = 4
"""More tasks than there are desktops, one after the other, that could not begin: then something is missing for all."""
_RAY = "ray"
_EXIT_CODES = """Exit codes:
  0    all tasks have passed
  1    some have not
  2    the command was written wrongly
  130  stopped; the same command goes on
"""


class Engine(Protocol):
    """Where tasks run. It decides nothing: what may begin, and what came of it, is in the results."""

    @property
    def desktops(self) -> int:
        """How many tasks run at a time."""
        ...

    def run(self, tasks: Sequence[Task], folder: Path, conditions: Conditions, /) -> Iterator[Mapping[str, str]]:
        """Run the tasks. Yields those that have ended by their ids, each with why it failed to run, "" if it ran."""
        ...

    def halt(self) -> None:
        """Let no further task begin."""
        ...

    def stop(self) -> None:
        """End what runs as well."""
        ...

    def close(self) -> None: ...


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXIT_CODES
    parser.add_argument("tasks", type=Path, help="a file with one task a line, as JSON")
    parser.add_argument(
        "--jobs",
        type=shared.count,
        default=max(1, (os.cpu_count() or 1) // 2),
        metavar="N",
        help="do N tasks at a time on this computer; otherwise one for every two processors",
    )
    parser.add_argument(
        "--engine", choices=("here", _RAY), default="here", help="here: on this computer; ray: on the Ray cluster"
    )
    parser.add_argument(
        "--results", type=Path, metavar="FOLDER", help="keep the results in this folder; otherwise in NAME-results"
    )
    parser.add_argument(
        "--again",
        action="append",
        default=[],
        metavar="WHAT",
        help="do tasks again that have run: a task's id, an outcome such as interrupted, or failed for all that have "
        "not passed; may be given several times",
    )
    parser.add_argument(
        "--record", action="store_true", help="keep a picture of the screen after each step, and a trace"
    )
    parser.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="NAME",
        help="let all tasks use a program, website, folder, tool server, button or tool without asking; may be given "
        "several times",
    )
    shared.add_provider_options(parser)
    shared.add_mode_option(parser)


def run(options: argparse.Namespace) -> int:
    logs.to_file()
    if options.engine == _RAY:
        require(_RAY, "fleet")
    tasks = read_tasks(options.tasks)
    folder = options.results or Path(f"{options.tasks.stem}-results")
    try:
        with Results(folder) as results, own_files.locked(folder / "results.db", waits=False):
            return _run(options, tasks, results)
    except BlockingIOError:
        raise NeedsPerson(f"Another run-all writes into {folder} now. Let it end, or stop it.") from None
    except sqlite3.Error as error:
        raise NeedsPerson(
            f"The results cannot be kept in {folder} ({error}). Free some room, or name another folder."
        ) from None


def _run(options: argparse.Namespace, tasks: Sequence[Task], results: Results) -> int:
    left = results.plan(tasks, options.again)
    if left:
        engine = _engine(options, results)
        try:
            _Progress(engine, results, len(tasks), len(left)).follow(
                engine.run(left, options.tasks.parent, _conditions(options))
            )
        finally:
            engine.close()
    else:
        shared.say("All tasks have run. To do those again that have not passed: --again failed")
    told = {str(one["id"]): one for one in results.newest()}
    ran = [told[task.id] for task in tasks if task.id in told]
    report = write_report(results.folder, options.tasks.name, ran, len(tasks))
    passed = sum(bool(one["passed"]) for one in ran)
    shared.say("{passed} of {total} tasks have passed.", passed=passed, total=len(tasks))
    if interrupted := sum(one["outcome"] == Ended.INTERRUPTED.value for one in ran):
        shared.say(
            "{count} tasks were interrupted, and what they did is not known. To do them again: --again interrupted",
            count=interrupted,
        )
    shared.say("The report: {path}", path=str(report))
    if len(ran) < len(tasks):
        shared.say("{count} tasks have not begun. The same command goes on.", count=len(tasks) - len(ran))
    if len(ran) < len(tasks) or results.is_stopped():
        return STOPPED
    return 0 if passed == len(tasks) else _NOT_PASSED


def _engine(options: argparse.Namespace, results: Results) -> Engine:
    if options.engine == _RAY:
        from app.features.fleet.cluster import RayCluster  # late, because it needs the extra

        return RayCluster(results)
    return ThisComputer(results, options.jobs)


def _conditions(options: argparse.Namespace) -> Conditions:
    """Return the options that each desk gets."""
    own: list[str] = []
    for name in ("provider", "model", "base_url", "dialect", "mode"):
        if value := getattr(options, name):
            own += [f"--{name.replace('_', '-')}", str(value)]
    for name in options.allow:
        own += ["--allow", name]
    return Conditions(tuple(own), options.record)


class _Progress:
    """A line for each task that has ended, a bar below them, and what Ctrl+C does."""

    def __init__(self, engine: Engine, results: Results, total: int, left: int) -> None:
        from tqdm import tqdm  # late, because it takes a twentieth of a second

        self._engine = engine
        self._results = results
        self._is_told = False
        self._in_vain = 0
        self._outcomes: Mapping[str, str] = resources.in_language("report.toml", shared.words_here().language)[
            "outcomes"
        ]
        shared.say("{left} of {total} tasks are to do, {jobs} at a time.", left=left, total=total, jobs=engine.desktops)
        sys.stdout.flush()
        self._bar = tqdm(total=total, initial=total - left, unit="task", disable=None, dynamic_ncols=True)

    def follow(self, ended: Iterator[Mapping[str, str]]) -> None:
        before = {number: signal.signal(number, self._signalled) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            for some in ended:
                for told in self._results.settle(some):
                    self._bar.write(self._line(told), file=sys.stdout)
                    self._bar.update()
                    self._note(told)
                sys.stdout.flush()
                if self._results.is_stopped():
                    self._engine.stop()
                elif self._results.is_halted and not self._is_told:
                    self._engine.halt()
                    self._is_told = True
        finally:
            self._bar.close()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _note(self, told: Mapping[str, JsonValue]) -> None:
        """End the batch if no task can begin any more, as when the model cannot be reached, so that all wait for it."""
        self._in_vain = self._in_vain + 1 if told["outcome"] == Ended.NOT_BEGUN.value else 0
        if self._in_vain == _IN_VAIN + self._engine.desktops and not self._results.is_halted:
            self._results.halt()
            shared.warn("None of the last {count} tasks could begin, so no further one is tried.", count=self._in_vain)

    def _line(self, told: Mapping[str, JsonValue]) -> str:
        sign = "✓" if told["passed"] else "✗"
        seconds = f"{told['seconds']:.1f} s" if isinstance(told.get("seconds"), float) else ""
        outcome = self._outcomes[str(told["outcome"])]
        said = "" if told["passed"] else str(told["why"] or told.get("answer", ""))
        ended = f"{outcome} · {said}" if said else outcome
        return f"{sign} {told['id']}  {seconds}  {clip_line(plain(ended)[0], _WHY_CHARS)}"

    def _signalled(self, number: int, _frame: object) -> None:
        """Change flags only, because this runs between any two steps of the rest."""
        if self._results.is_halted or number == signal.SIGTERM:
            self._results.stop()
        else:
            self._results.halt()
            shared.warn("No further task begins. Those that run come to their end; Ctrl+C again stops them.")
