"""Wisp's private desktops for harnesses, such as OSWorld's. Other programs import this as `wisp.benchmark`.

A harness drives a desktop by `reset`, `act` and `observe`, or lets Wisp do a task by `play`, and judges by commands of
its own. All of it blocks. Several desktops may be open at a time, each used by one thread.

Mouse and keyboard are the harness's without a question. Whatever else a call of Wisp's tools reaches, such as files and
commands, passes Wisp's gate, which refuses what a person would have to permit; `allow` permits it by name.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from app.base.errors import WispError
from app.base.values import dataclass
from app.features.fleet import actions
from app.features.fleet.client import Desk, DeskLost, OverMemory

_ACT_LIMIT_S = 600.0
_LOOK_LIMIT_S = 120.0
_COMMAND_LIMIT_S = 120.0
_WIND_UP_S = 15.0
"""So long a stopped task, or a killed command, may take to end."""


class ActionFailed(WispError):
    """The action was refused or did not work. The text says why, and what was done before."""


class EpisodeEnded(WispError):
    """There is no desktop to act on: nothing was reset yet, or the episode has ended."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What a desktop shows. `picture` is a PNG of the whole screen, whose pixels are the coordinates of actions.

    `tree` lists windows and controls, a line each: ref, role, name, value, and (x,y,width,height). `told` is what
    Wisp found out about the action before it.
    """

    picture: bytes
    tree: str
    told: str = ""
    instruction: str = ""


@dataclass(frozen=True, slots=True)
class Played:
    """What came of a task that Wisp did. `outcome` is as of `wisp do` ("done", "not done", …), or "timed out".

    `receipts` tell each step; `usage` holds input_tokens, output_tokens and cost_usd where a model was asked.
    """

    outcome: str
    answer: str
    receipts: Sequence[Mapping[str, Any]]
    usage: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CommandResult:
    """A command's exit code, and the beginning of what it wrote."""

    exit_code: int
    output: str


class Desktop:
    """Private desktops, one after the other: each `reset` begins a fresh one, with a home folder of its own.

    `provider`, `model`, `allow` and `mode` are as for `wisp do`. `memory_limit_mb` bounds all programs together. A
    desktop ends with the thread that reset it.
    """

    def __init__(
        self,
        *,
        provider: str = "",
        model: str = "",
        allow: Sequence[str] = (),
        mode: str = "",
        memory_limit_mb: int = 0,
        width: int = 1280,
        height: int = 800,
    ) -> None:
        given = {"--provider": provider, "--model": model, "--mode": mode, "--size": f"{width}x{height}"}
        self._options = [part for name, value in given.items() if value for part in (name, value)]
        self._options += [part for name in allow for part in ("--allow", name)]
        self._memory_limit_mb = memory_limit_mb
        self._desk: Desk | None = None
        self._hands = actions.Hands(self._pointer)
        self._instruction = ""
        self.ended = ""
        """DONE or FAIL, once the episode has ended."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def folder(self) -> Path:
        """The folder in which commands run, Wisp works, and programs save by default."""
        return self._opened().folder

    def reset(
        self, files: Mapping[str, str | Path | bytes] | None = None, setup: str = "", instruction: str = ""
    ) -> Observation:
        """End what there is, and begin anew. `files` are put into the folder, by their names there: a path or bytes.

        `setup` is a command that `sh` runs; programs that it starts with `&` stay. Raises DeskNotStarted, and WispError
        if the setup fails.
        """
        self.close()
        self._desk = Desk(self._options, self._memory_limit_mb)
        self._hands, self._instruction, self.ended = actions.Hands(self._pointer), instruction, ""
        for name, source in (files or {}).items():
            self._put(name, source if isinstance(source, bytes) else Path(source).read_bytes())
        if setup:
            ran = self.run(setup)
            if ran.exit_code:
                raise WispError(f"The setup failed ({ran.exit_code}): {ran.output}")
            self._ask("settle", _LOOK_LIMIT_S)
        return self.observe()

    def observe(self) -> Observation:
        return self._seen("")

    def act(self, action: str | Mapping[str, Any]) -> Observation:
        """Do an action (see `actions.py`), and return what is seen afterwards. Raises ActionFailed, EpisodeEnded."""
        self._check_running()
        told = list[str]()
        try:
            for step in actions.read(action):
                if step.kind in (actions.DONE, actions.FAIL):
                    self.ended = step.kind
                    break
                for tool, arguments in self._hands.calls(step):
                    answer = self._ask("act", _ACT_LIMIT_S, tool=tool, arguments=arguments)
                    if not answer["ok"]:
                        raise ActionFailed(answer["text"])
                    told.append(answer["text"])
        except (DeskLost, OverMemory):
            raise
        except WispError as error:
            raise ActionFailed(" ".join([str(error), *(["Done before:", *told] if told else [])])) from None
        return self._seen("\n".join(told))

    def play(self, words: str, *, script: Sequence[Any] = (), time_limit_s: float = 300.0) -> Played:
        """Let Wisp do a task. `script` takes the place of a model, as in the file of `wisp do --script`."""
        self._check_running()
        desk, limit = self._opened(), time.monotonic() + time_limit_s
        receipts, usage = list[Mapping[str, Any]](), dict[str, Any]()
        is_late = False

        def hear(event: str, told: Mapping[str, Any]) -> None:
            if event == "receipt":
                receipts.append(told)
            elif event == "usage":
                usage.update(told)

        def watch() -> None:
            nonlocal is_late
            if not is_late and time.monotonic() >= limit:
                is_late = True
                desk.stop()

        ended = self._ask("play", time_limit_s + _WIND_UP_S, hear=hear, watch=watch, words=words, script=list(script))
        return Played("timed out" if is_late else ended["outcome"], ended["answer"], receipts, usage)

    def run(self, command: str, limit_s: float = _COMMAND_LIMIT_S) -> CommandResult:
        """Run a command of the harness by `sh`, in the desktop's environment and folder. Also after the episode."""
        ran = self._ask("run", limit_s + _WIND_UP_S, command=command, limit_s=limit_s)
        return CommandResult(ran["exit_code"], ran["output"])

    def done(self) -> None:
        """End the episode: no acts any more. Commands still run, so that the harness can judge."""
        self.ended = self.ended or actions.DONE

    def close(self) -> None:
        """End the desktop with all its programs, and delete its home folder."""
        if self._desk:
            self._desk.close()
            self._desk = None

    def _put(self, name: str, data: bytes) -> None:
        path = (self.folder / name).resolve()
        if not path.is_relative_to(self.folder.resolve()):
            raise WispError(f"{name!r} lies outside of the desktop's folder.")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def _seen(self, told: str) -> Observation:
        seen = self._ask("observe", _LOOK_LIMIT_S)
        return Observation(base64.b64decode(seen["data"]), seen["tree"], told, self._instruction)

    def _pointer(self) -> tuple[float, float]:
        at = self._ask("pointer", _LOOK_LIMIT_S)
        return at["x"], at["y"]

    def _ask(self, what: str, within_s: float, **given: Any) -> Mapping[str, Any]:
        desk = self._opened()
        try:
            return desk.ask(what, within_s, **given)
        except (DeskLost, OverMemory, KeyboardInterrupt):  # after which an answer might come to a later request
            self.close()
            raise

    def _opened(self) -> Desk:
        if self._desk is None:
            raise EpisodeEnded("There is no desktop: it has ended, or was never begun. Begin one: reset().")
        return self._desk

    def _check_running(self) -> None:
        self._opened()
        if self.ended:
            raise EpisodeEnded(f"The episode has ended ({self.ended}). Begin another: reset().")
