"""One attempt at one task: open a desktop, set up, let Wisp do it, check. On any computer in the same way."""

from __future__ import annotations

import base64
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from app.base.errors import WispError
from app.base.values import dataclass
from app.base.withheld import without_secrets
from app.features.fleet.client import Desk, DeskSilent, OverMemory
from app.features.fleet.tasks import Task
from app.protocol.call import JsonValue

FAULT = "Wisp made a mistake of its own. The details are in its log."
_SETUP_LIMIT_S = 120.0
_CHECK_LIMIT_S = 60.0
_WIND_UP_S = 15.0
"""So long a stopped task may take to end."""
_SETTLE_LIMIT_S = 30.0
_VARIABLE_CHARS = 30_000  # Linux takes 128 kB for one variable
_STOPPED = "You stopped it."


class Ended(StrEnum):
    """How an attempt ended where Wisp itself does not say it. Otherwise it is the outcome of `wisp do`."""

    NOT_DONE = "not done"
    STOPPED = "stopped"
    TIMED_OUT = "timed out"
    OVER_MEMORY = "over memory"
    INTERRUPTED = "interrupted"
    """It had begun, and its process, computer or batch ended before it did. What it did is not known."""
    NOT_BEGUN = "not begun"
    """Nothing was done, so it may run again by itself."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A picture of the screen after a step. `data` is a JPEG or PNG file."""

    at_s: float
    label: str
    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Result:
    """What came of an attempt. `told` is its line among the results, but for what the batch itself knows.

    `trace` are the lines of `wisp export-trace`.
    """

    task: str
    told: Mapping[str, JsonValue]
    pictures: Sequence[Snapshot] = ()
    trace: Sequence[str] = ()


class Ledger(Protocol):
    """Keeps what has begun and what came of it, where it outlasts this process."""

    def begin(self, task: str, node: str) -> bool:
        """Note that the task begins to act. Returns False if it must not: it began before, or the batch is ending."""
        ...

    def finish(self, result: Result) -> None:
        """Keep what came of it."""
        ...

    def is_stopped(self) -> bool:
        """Whether what runs is to end at once."""
        ...


@dataclass(frozen=True, slots=True)
class Conditions:
    """What holds for all tasks of a batch. `options` are those of `wisp desk`."""

    options: tuple[str, ...] = ()
    is_recording: bool = False


def options_for(task: Task, conditions: Conditions) -> list[str]:
    """Return the options of the desk for a task: the batch's, and then its own."""
    own = [part for name in task.allow for part in ("--allow", name)]
    own += ["--provider", task.provider] if task.provider else []
    own += ["--model", task.model] if task.model else []
    return [*conditions.options, *own, *(["--record"] if conditions.is_recording else [])]


def carry_out(task: Task, files: Mapping[str, bytes], conditions: Conditions, ledger: Ledger) -> None:
    """Do the task on a desktop of its own. `files` are those of the task, by their names in the working folder.

    What came of it goes to the ledger. Raises DeskNotStarted, before anything was done.
    """
    with Desk(options_for(task, conditions), task.memory_limit_mb) as desk:
        for name, data in files.items():
            path = desk.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        if ledger.begin(task.id, socket.gethostname()):
            ledger.finish(_Attempt(task, ledger.is_stopped, is_recording=conditions.is_recording).run(desk))


class _Attempt:
    """Collects what happens on the desktop."""

    def __init__(self, task: Task, is_stopped: Callable[[], bool], *, is_recording: bool) -> None:
        self._task = task
        self._is_recording = is_recording
        self._is_stopped = is_stopped
        self._receipts: list[JsonValue] = []
        self._pictures: list[Snapshot] = []
        self._trace: Sequence[str] = ()
        self._used: dict[str, JsonValue] = {}
        self._outcome, self._why, self._answer = "", "", ""
        self._has_acted = bool(task.setup)

    def run(self, desk: Desk) -> Result:
        began, ran_s = time.monotonic(), 0.0
        check: Mapping[str, JsonValue] | None = None
        try:
            if self._set_up(desk):
                began = time.monotonic()
                is_well = self._play(desk)
                ran_s = time.monotonic() - began
                check = self._check(desk) if is_well else None
                if is_well and self._is_recording:
                    self._trace = desk.ask("trace", _SETTLE_LIMIT_S)["lines"]
        except OverMemory as error:
            self._end(Ended.OVER_MEMORY, str(error))
        except WispError as error:
            if self._outcome:  # of the task itself, which is over
                self._why = self._why or str(error)
            else:
                self._end(Ended.INTERRUPTED if self._has_acted else Ended.NOT_BEGUN, str(error))
        passed = check["exit_code"] == 0 if check else None if self._task.check else self._outcome == "done"
        told: dict[str, JsonValue] = {
            "outcome": self._outcome,
            "passed": passed,
            "answer": self._answer,
            "why": self._why,
            "check": check,
            "receipts": self._receipts,
            **self._used,
            "seconds": round(ran_s or time.monotonic() - began, 3),
            "peak_mb": round(desk.peak_mb),
            "acted": self._has_acted,
        }
        return Result(self._task.id, told, self._pictures, self._trace)

    def _set_up(self, desk: Desk) -> bool:
        if not self._task.setup:
            return True
        ran = self._run(desk, self._task.setup, _SETUP_LIMIT_S)
        if self._is_stopped():
            self._end(Ended.STOPPED, _STOPPED)
        elif ran["exit_code"]:
            self._end(Ended.NOT_DONE, f"The command that sets it up {_failed(ran, _SETUP_LIMIT_S)}")
        else:
            desk.ask("settle", _SETTLE_LIMIT_S)
        return not self._outcome

    def _run(self, desk: Desk, command: str, limit_s: float, **variables: str) -> Mapping[str, Any]:
        def watch() -> None:
            if self._is_stopped():
                desk.stop()

        given: dict[str, Any] = {"command": command, "limit_s": limit_s, "variables": variables}
        return desk.ask("run", limit_s + _WIND_UP_S, watch=watch, **given)

    def _play(self, desk: Desk) -> bool:
        """Let Wisp do the task. Returns False if the desktop hangs since."""
        limit = time.monotonic() + self._task.time_limit_s
        ends: list[tuple[Ended, str]] = []

        def watch() -> None:
            if ends:
                return
            if self._is_stopped():
                ends.append((Ended.STOPPED, _STOPPED))
            elif time.monotonic() >= limit:
                ends.append((Ended.TIMED_OUT, f"It took longer than {self._task.time_limit_s:g} seconds."))
            if ends:
                desk.stop()

        given = {"words": self._task.words, "script": list(self._task.script)}
        try:
            ended = desk.ask("play", self._task.time_limit_s + _WIND_UP_S, self._hear, watch, **given)
        except DeskSilent:  # because it did not end when it was stopped
            self._end(*ends[0])
            return False
        self._outcome, self._answer = str(ended["outcome"]), str(ended["answer"])
        self._used |= {name: ended[name] for name in ("provider", "model") if name in ended}
        if ends:
            self._end(*ends[0])
        elif not (ended["has_answered"] or self._has_acted):  # because the model could not be reached
            self._end(Ended.NOT_BEGUN, self._answer)
        return True

    def _check(self, desk: Desk) -> Mapping[str, JsonValue] | None:
        if not self._task.check:
            return None
        told = {"WISP_OUTCOME": self._outcome, "WISP_ANSWER": self._answer[:_VARIABLE_CHARS]}
        ran = self._run(desk, self._task.check, _CHECK_LIMIT_S, **told)
        if ran["exit_code"]:
            self._why = self._why or f"Its check {_failed(ran, _CHECK_LIMIT_S)}"
        return {"exit_code": ran["exit_code"], "output": without_secrets(ran["output"])}

    def _hear(self, event: str, told: Mapping[str, Any]) -> None:
        match event:
            case "acted":
                self._has_acted = True
            case "receipt":
                self._receipts.append(told)
            case "usage":
                self._used |= told
            case "picture":
                self._pictures.append(
                    Snapshot(told["at_s"], told["label"], told["media_type"], base64.b64decode(told["data"]))
                )

    def _end(self, how: Ended, why: str) -> None:
        self._outcome, self._why = how.value, why


def _failed(ran: Mapping[str, Any], limit_s: float) -> str:
    how = f"took longer than {limit_s:g} seconds" if ran["is_late"] else f"failed ({ran['exit_code']})"
    return without_secrets(f"{how}. {ran['output']}".strip())


def files_of(task: Task, folder: Path) -> dict[str, bytes]:
    """Read the files that a task brings, by their names in the working folder. Raises OSError."""
    return {name: (folder / source).read_bytes() for name, source in task.files.items()}
