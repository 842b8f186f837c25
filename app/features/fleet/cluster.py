"""Run tasks on a Ray cluster. Ray queues them, places them, carries their files, and runs again what never began.

A node holds as many desktops as its resource `desktop` says: `ray start --resources='{"desktop": 4}'`. An actor beside
this process keeps the ledger, so that a node asks it before a task acts, and hands it the result before it returns: a
node that dies takes no result along, and what it had begun does not begin again.
https://docs.ray.io/en/latest/ray-core/fault-tolerance.html
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

from app.base.clipping import clip_line
from app.base.errors import NeedsPerson
from app.base.version import version
from app.desktop.ocr.rapid import shared_reader
from app.features.fleet.attempts import FAULT, Conditions, Result, carry_out, files_of
from app.features.fleet.client import DeskNotStarted
from app.features.fleet.results import Results
from app.features.fleet.tasks import Task

DESKTOP = "desktop"
_RETRIES = 5
_LOOK_S = 0.5
_WHY_CHARS = 200
_START = "ray start --head --disable-usage-stats --resources='{\"desktop\": 2}'"
_log = logging.getLogger(__name__)


class RemoteLedger:
    """The ledger, as a node of the cluster sees it: each call waits for the answer."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor

    def begin(self, task: str, node: str) -> bool:
        return bool(_get(self._actor.begin.remote(task, node)))

    def finish(self, result: Result) -> None:
        _get(self._actor.finish.remote(result))

    def is_stopped(self) -> bool:
        return bool(_get(self._actor.is_stopped.remote()))


def _release() -> str:
    """The version without the words on how it was installed."""
    return version().partition(" ")[0]


def _get(ref: Any) -> Any:
    import ray

    return ray.get(ref)


def carry_out_there(
    task: Task, files: Mapping[str, Any], conditions: Conditions, ledger: RemoteLedger, needed: str
) -> None:
    """Do a task on this node. `needed` is the version of Wisp that asks."""
    if _release() != needed:
        raise DeskNotStarted(f"This node has Wisp {_release()}, and the batch was started by Wisp {needed}.")
    _read_text_in_one_process()
    carry_out(task, {name: _get(ref) for name, ref in files.items()}, conditions, ledger)


@cache
def _read_text_in_one_process() -> ExitStack:
    """For all tasks that this process does, one after the other. It ends with this process."""
    kept = ExitStack()
    kept.enter_context(shared_reader())
    return kept


class RayCluster:
    """A connection to the cluster that runs on this computer. Raises NeedsPerson if there is none."""

    def __init__(self, results: Results) -> None:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        self._ray: Any = ray
        self._results = results
        try:
            ray.init(address="auto", log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, ray.exceptions.AuthenticationError) as error:
            why = clip_line(str(error), _WHY_CHARS)
            raise NeedsPerson(f"No Ray cluster can be used here ({why}). Start one: {_START}") from None
        if not ray.cluster_resources().get(DESKTOP):
            raise NeedsPerson(f"No node of the cluster may hold a desktop. Start each with how many it holds: {_START}")
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        actor = ray.remote(Results).options(num_cpus=0, scheduling_strategy=here)
        self._actor: Any = actor.remote(results.folder.resolve())
        self._refs: dict[Any, str] = {}

    @property
    def desktops(self) -> int:
        """How many desktops the cluster holds now."""
        return int(self._ray.cluster_resources().get(DESKTOP, 0))

    def run(
        self, tasks: Sequence[Task], folder: Path, conditions: Conditions, do: Any = carry_out_there
    ) -> Iterator[Mapping[str, str]]:
        """Run the tasks. Yields those that have ended by their ids, each with why it failed to run."""
        ray, ledger = self._ray, RemoteLedger(self._actor)
        put = ray.remote(do).options(
            num_cpus=0, resources={DESKTOP: 1}, max_retries=_RETRIES, retry_exceptions=[DeskNotStarted]
        )
        needed = _release()
        for task in tasks:
            files = {name: ray.put(data) for name, data in files_of(task, folder).items()}
            self._refs[put.remote(task, files, conditions, ledger, needed)] = task.id
        while self._refs:
            done, _ = ray.wait([*self._refs], num_returns=len(self._refs), timeout=_LOOK_S)
            ended = {self._refs.pop(ref): self._why(ref) for ref in done}
            if self._results.is_halted:
                ended = {task: why for task, why in ended.items() if not self._results.is_waiting(task)}
            yield ended

    def halt(self) -> None:
        """Let no further task begin: what waits is taken out of the queue."""
        self._ray.get(self._actor.halt.remote())
        for ref, task in self._refs.items():
            if self._results.is_waiting(task):
                self._ray.cancel(ref)

    def stop(self) -> None:
        """End what runs as well."""
        self._ray.get(self._actor.stop.remote())

    def close(self) -> None:
        self._ray.shutdown()

    def _why(self, ref: Any) -> str:
        errors = self._ray.exceptions
        try:
            self._ray.get(ref)
        except errors.TaskCancelledError:
            return ""
        except errors.RayTaskError as error:
            if isinstance(error.cause, (DeskNotStarted, errors.RayError)):
                return clip_line(str(error.cause), _WHY_CHARS)
            _log.exception("A task failed.")
            return FAULT
        except errors.RayError:  # because its node or its process has died
            return ""
        return ""
