"""How many turns an honest model needs for the stories and tasks of tests/data/turns: one for each call and each look.

    .venv/bin/python scripts/bench/turns.py [--before CHECKOUT] [--tasks] [WORD…]

In a story, the scripted model goes on only when the last answer holds what the next call rests on; otherwise it reads
the screen, and takes a picture where that does not help. In a task, it knows names alone, and writes as much into one
call as the checkout takes; it looks where something failed. Each has a private desktop. With `--before` another
checkout of Wisp plays the same in the same run. WORDs keep to those that have one of them in their name.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from app.desktop.x11.apps import describing
from app.desktop.x11.virtual import VirtualDesktop
from tests.support.co_process import CoProcess
from tests.support.worlds import world

_ROOT = Path(__file__).resolve().parents[2]
STORIES = _ROOT / "tests" / "data" / "turns" / "stories.toml"
_TASKS = STORIES.with_name("tasks.toml")
_CHARACTERS_A_TOKEN = 3.6


@dataclass(frozen=True)
class Story:
    """A row of the table."""

    name: str
    done: str
    call: list[dict[str, Any]]
    start: list[str] = field(default_factory=list)
    world: str = ""
    pixels: bool = False


@dataclass(frozen=True)
class Task:
    """A row of the other table."""

    name: str
    done: list[str]
    step: list[dict[str, Any]]
    start: list[str] = field(default_factory=list)
    world: str = ""
    programs: list[str] = field(default_factory=list)
    happened: list[str] = field(default_factory=list)


@dataclass
class Played:
    """What it took, and how many characters were read. `fault` is why it could not be played to its end."""

    calls: int = 0
    looks: int = 0
    characters: int = 0
    longest: int = 0
    pictures: int = 0
    fault: str = ""

    def read(self, answer: Mapping[str, Any]) -> None:
        """Count what the model reads of an answer."""
        self.characters += len(answer["echo"])
        self.longest = max(self.longest, len(answer["echo"]))
        self.pictures += len(answer["media"])

    def add(self, other: Played) -> None:
        self.calls += other.calls
        self.looks += other.looks
        self.characters += other.characters
        self.longest = max(self.longest, other.longest)
        self.pictures += other.pictures


class HonestModel:
    """Plays one story with one Wisp."""

    def __init__(self, wisp: CoProcess, story: Story, home: str) -> None:
        self._wisp = wisp
        self._story = story
        self._home = home
        self._answer: dict[str, Any] = {"echo": "", "media": []}
        self.played = Played()

    def play(self) -> Played:
        for step in self._story.call:
            found = self._found(step.get("needs", ""))
            given = {name: value for name, value in step.items() if name not in ("tool", "needs", "fails")}
            told = {name: self._filled(value, found) for name, value in given.items()}
            self._answer = self._wisp.attempt(step["tool"], told)
            self.played.read(self._answer)
            self.played.calls += 1
            if self._answer["ok"] == step.get("fails", False):
                self.played.fault = self._answer["echo"][:200]
                return self.played
        if self._found(self._story.done) is None and not self._story.pixels:
            self.played.fault = f"{self._story.done!r} is nowhere to be read"
        return self.played

    def _found(self, pattern: str) -> re.Match[str] | None:
        """What the model needs to have read, after as many looks as that takes."""
        looks = iter((("read_screen", {"view": "full"}), ("screen_capture", {})))
        while pattern and not (found := re.search(pattern, self._answer["echo"])):
            look = next(looks, None)
            if look is None or (self._story.pixels and self._answer["media"]):
                return None
            self._answer = self._wisp.attempt(*look)
            self.played.read(self._answer)
            self.played.looks += 1
        return found if pattern else None

    def _filled(self, value: Any, found: re.Match[str] | None) -> Any:
        if not isinstance(value, str):
            return value
        groups = found.groupdict() if found else {}
        return value.replace("{home}", self._home).replace("{ref}", groups.get("ref") or "{ref}")


class ModelByNames:
    """Plays one task with one Wisp. `taken` are the actions that its batch takes."""

    def __init__(self, wisp: CoProcess, task: Task, home: str, taken: frozenset[str]) -> None:
        self._wisp = wisp
        self._task = task
        self._home = home
        self._taken = taken
        self._told: list[str] = []
        self.played = Played()

    def play(self) -> Played:
        left = list(self._task.step)
        while left:
            count = next((at for at, step in enumerate(left) if step["do"] not in self._taken), len(left)) or 1
            done = self._do(left[:count])
            if done < count:
                failed = left[done]
                if "or" not in failed:
                    self.played.fault = self._told[-1][-200:]
                    return self.played
                self._look()
                left = [*failed["or"], *left[done + 1 :]]
            else:
                left = left[count:]
        if not self._is_done():
            self._look("full")
        if not self._is_done():
            self.played.fault = f"{self._task.done} are not all to be read"
        return self.played

    def _do(self, steps: Sequence[Mapping[str, Any]]) -> int:
        """Do some steps in one call. Returns how many of them were done."""
        actions = [
            {name: _filled(value, home=self._home) for name, value in step.items() if name != "or"} for step in steps
        ]
        tool, given = ("computer_batch", {"action": actions}) if len(actions) > 1 else _alone(actions[0])
        answer = self._wisp.attempt(tool, given)
        self.played.calls += 1
        self._hear(answer)
        return len(steps) if answer["ok"] else int(answer["payload"].get("done", 0))

    def _look(self, view: str = "interactive") -> None:
        self.played.looks += 1
        self._hear(self._wisp.attempt("read_screen", {"view": view}))

    def _hear(self, answer: Mapping[str, Any]) -> None:
        self.played.read(answer)
        self._told.append(answer["echo"])

    def _is_done(self) -> bool:
        return all(any(re.search(pattern, told) for told in self._told) for pattern in self._task.done)


_TOOLS = {
    "open": "open_app",
    "menu": "choose_menu",
    "find": "read_screen",
    "click": "computer_click",
    "type": "computer_type",
    "key": "computer_key",
}


def _alone(action: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the call that does one action by itself."""
    do, given = action["do"], {name: value for name, value in action.items() if name != "do"}
    match do:
        case "open":
            given = {"name": given["target"]}
        case "find":
            given = {"view": "find", "query": given["target"]}
        case "set_value":
            given = {"target": given["target"], "value": given["text"]}
    return _TOOLS.get(do, do), given


def _filled(value: Any, **known: str) -> Any:
    for name, filling in known.items():
        value = value.replace(f"{{{name}}}", filling) if isinstance(value, str) else value
    return value


@cache
def _taken(root: Path) -> frozenset[str]:
    """Return the actions that a checkout's batch takes, as its docs tell a model."""
    asked = "from app.tools.computer import ACTIONS; print(*ACTIONS)"
    told = subprocess.run([sys.executable, "-c", asked], cwd=root, stdout=subprocess.PIPE, text=True, check=True)
    return frozenset(told.stdout.split())


def _play(story: Story | Task, root: Path) -> Played:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home, contextlib.ExitStack() as open_things:
        os.environ.update({"HOME": home, "WISP_DATA_DIR": home})
        environment = open_things.enter_context(VirtualDesktop(1280, 800)).environment | {"HOME": home}
        window = open_things.enter_context(world(story.world, environment)) if story.world else None
        start = [_filled(word, python=sys.executable, root=str(_ROOT)) for word in story.start]
        open_things.enter_context(_started(start, environment))
        wisp = open_things.enter_context(CoProcess(environment, root))
        if isinstance(story, Task):
            played = ModelByNames(wisp, story, home, _taken(root)).play()
            lacking = [line for line in story.happened if window and not window.happened(partial(_is_told, line))]
            played.fault = played.fault or (f"{lacking} did not happen" if lacking else "")
            return played
        return HonestModel(wisp, story, home).play()


def _is_told(pattern: str, line: str) -> bool:
    return re.search(pattern, line) is not None


@contextlib.contextmanager
def _started(command: list[str], environment: Mapping[str, str]) -> Iterator[None]:
    if not command:
        yield
        return
    with subprocess.Popen(command, env=describing(environment), stdout=subprocess.DEVNULL) as program:
        yield
        program.kill()


def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", metavar="WORD")
    parser.add_argument("--before", type=Path, metavar="CHECKOUT", help="another checkout of Wisp to compare with")
    parser.add_argument("--tasks", action="store_true", help="the tasks by names instead of the stories")
    options = parser.parse_args()
    rows = [row for row in _rows(is_tasks=options.tasks) if _is_meant(row, options.words)]
    roots = {"before": options.before, "now": _ROOT} if options.before else {"now": _ROOT}
    totals = {name: Played() for name in roots}
    for row in rows:
        told = []
        for name, root in roots.items():
            played = _play(row, root)
            totals[name].add(played)
            told.append(f"{name} {_figures(played)}{f' FAILED: {played.fault}' if played.fault else ''}")
        print(f"{row.name:<52} {'   '.join(told)}", flush=True)
    print(f"{f'all {len(rows)}':<52} {'   '.join(f'{name} {_figures(total)}' for name, total in totals.items())}")
    return 0


def _rows(*, is_tasks: bool) -> list[Story] | list[Task]:
    if is_tasks:
        return [Task(**row) for row in tomllib.loads(_TASKS.read_text(encoding="utf-8"))["task"]]
    return [Story(**row) for row in tomllib.loads(STORIES.read_text(encoding="utf-8"))["story"]]


def _is_meant(row: Story | Task, words: Sequence[str]) -> bool:
    """Return whether a row is asked for. One whose program is missing is skipped, which is said."""
    if words and not any(word in row.name for word in words):
        return False
    lacking = [name for name in getattr(row, "programs", ()) if shutil.which(name) is None]
    if lacking:
        print(f"{row.name:<52} skipped: {', '.join(lacking)} is not installed")
    return not lacking


def _figures(played: Played) -> str:
    tokens = round(played.characters / _CHARACTERS_A_TOKEN)
    return (
        f"{played.calls + played.looks:3} turns, {played.looks:2} of them looks, {tokens:5} tokens, "
        f"longest {played.longest:5}, {played.pictures} pictures"
    )


if __name__ == "__main__":
    sys.exit(_main())
