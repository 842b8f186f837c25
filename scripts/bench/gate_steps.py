"""What a step of a task costs with the gate as it is, beside the gate of an earlier revision, in one run.

scripts/bench/gate_steps.py REVISION [ROUNDS]

A step is one pass of `wisp do` with the scripted provider: read the reply, judge the call, act, look, and answer. Both
sides play the same replies in the same editor in turn, so that the machine's load meets both. The cost of a step is
the difference between a long task and a short one. Prints the medians and their ratio.
"""

from __future__ import annotations

import argparse
import os
import statistics
import string
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from app.desktop.x11.virtual import VirtualDesktop

ROOT = Path(__file__).resolve().parents[2]
_ACTS = {
    "a key": '<computer_key keys="{letter}"/>',
    "a word": "<computer_type>{word} </computer_type>",
    "a click": '<computer_click x="{x}" y="400" space="screen"/>',
}
"""No two steps are the same, because the loop ends a task that goes round in circles."""
_FRONT = '<focus_window title="Mousepad"/>'
_END = "<attempt_completion><result>ok</result></attempt_completion>"
_SHORT, _LONG = 2, 17
_STARTS_S = 4.0
_ROUNDS = 4


def _task_s(environment: dict[str, str], tree: Path, act: str, count: int) -> float:
    """How long a task of so many steps takes. Raises RuntimeError where a step did not run."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "script.toml")
        script.write_text("".join(f"[[replies]]\ntext = '''{one}'''\n" for one in (_FRONT, *_varied(act, count), _END)))
        own = {"WISP_SCRIPT": str(script), "WISP_DATA_DIR": f"{folder}/data", "HOME": folder, "PYTHONPATH": str(tree)}
        began = time.perf_counter()
        command = [sys.executable, "-m", "app", "do", "write in Mousepad", "--provider", "scripted"]
        done = subprocess.run(command, env=environment | own, cwd=tree, capture_output=True, text=True, check=False)
        took = time.perf_counter() - began
    if (done.stdout + done.stderr).count("✓") <= count:
        raise RuntimeError(done.stdout + done.stderr)
    return took


def _varied(act: str, count: int) -> list[str]:
    letters = string.ascii_lowercase[:count]
    return [act.format(letter=one, word=letters[: at + 1], x=600 + 5 * at) for at, one in enumerate(letters)]


def _step_ms(environment: dict[str, str], tree: Path, act: str) -> float:
    long, short = (_task_s(environment, tree, act, count) for count in (_LONG, _SHORT))
    return (long - short) / (_LONG - _SHORT) * 1000


def _bench(earlier: Path, rounds: int) -> None:
    with VirtualDesktop(1280, 800) as virtual:
        environment = {**os.environ, **virtual.environment}
        editor = subprocess.Popen(["mousepad"], env=environment, stderr=subprocess.DEVNULL)
        time.sleep(_STARTS_S)
        for name, act in _ACTS.items():
            taken: dict[Path, list[float]] = {earlier: [], ROOT: []}
            for _ in range(rounds):
                for tree, found in taken.items():
                    found.append(_step_ms(environment, tree, act))
            before, after = (statistics.median(found) for found in taken.values())
            print(f"{name:8} before {before:7.1f} ms   after {after:7.1f} ms   ratio {after / before:.2f}", flush=True)
        editor.kill()
        editor.wait()


if __name__ == "__main__":
    told = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    told.add_argument("revision", help="the earlier one")
    told.add_argument("rounds", nargs="?", type=int, default=_ROUNDS, help=f"{_ROUNDS}")
    options = told.parse_args()
    with tempfile.TemporaryDirectory() as made:
        earlier = Path(made, "earlier")
        subprocess.run(
            ["git", "worktree", "add", "-q", "--detach", str(earlier), options.revision], cwd=ROOT, check=True
        )
        try:
            _bench(earlier, options.rounds)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(earlier)], cwd=ROOT, check=True)
