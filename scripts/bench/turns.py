"""How many turns an honest model needs for the stories of tests/data/turns: one for each call, and one for each look.

    .venv/bin/python scripts/bench/turns.py [--before CHECKOUT] [WORD…]

The scripted model goes on only when the last answer holds what the next call rests on; otherwise it reads the screen,
and takes a picture where that does not help. Every story has a private desktop. With `--before` another checkout of
Wisp plays the same stories in the same run. WORDs keep to the stories that have one of them in their name.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from app.desktop.x11.apps import describing
from app.desktop.x11.virtual import VirtualDesktop
from tests.support.co_process import CoProcess
from tests.support.worlds import world

_ROOT = Path(__file__).resolve().parents[2]
STORIES = _ROOT / "tests" / "data" / "turns" / "stories.toml"


@dataclass(frozen=True)
class Story:
    """A row of the table."""

    name: str
    done: str
    call: list[dict[str, Any]]
    start: list[str] = field(default_factory=list)
    world: str = ""
    pixels: bool = False


@dataclass
class Played:
    """What it took. `fault` is why the story could not be played to its end."""

    calls: int = 0
    looks: int = 0
    fault: str = ""


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
            self.played.looks += 1
        return found if pattern else None

    def _filled(self, value: Any, found: re.Match[str] | None) -> Any:
        if not isinstance(value, str):
            return value
        groups = found.groupdict() if found else {}
        return value.replace("{home}", self._home).replace("{ref}", groups.get("ref") or "{ref}")


def _play(story: Story, root: Path) -> Played:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home, contextlib.ExitStack() as open_things:
        os.environ.update({"HOME": home, "WISP_DATA_DIR": home})
        environment = open_things.enter_context(VirtualDesktop(1280, 800)).environment | {"HOME": home}
        if story.world:
            open_things.enter_context(world(story.world, environment))
        open_things.enter_context(_started(story.start, environment))
        wisp = open_things.enter_context(CoProcess(environment, root))
        return HonestModel(wisp, story, home).play()


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
    options = parser.parse_args()
    rows = tomllib.loads(STORIES.read_text(encoding="utf-8"))["story"]
    stories = [Story(**row) for row in rows if not options.words or any(word in row["name"] for word in options.words)]
    roots = {"before": options.before, "now": _ROOT} if options.before else {"now": _ROOT}
    totals = {name: Played() for name in roots}
    for story in stories:
        told = []
        for name, root in roots.items():
            played = _play(story, root)
            totals[name].calls += played.calls
            totals[name].looks += played.looks
            told.append(f"{name} {_figures(played)}{f' FAILED: {played.fault}' if played.fault else ''}")
        print(f"{story.name:<52} {'   '.join(told)}", flush=True)
    print(
        f"{f'{len(stories)} stories':<52} {'   '.join(f'{name} {_figures(total)}' for name, total in totals.items())}"
    )
    return 0


def _figures(played: Played) -> str:
    return f"{played.calls + played.looks:3} turns, {played.looks:2} of them looks"


if __name__ == "__main__":
    sys.exit(_main())
