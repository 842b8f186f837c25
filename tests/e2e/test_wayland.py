"""On weston, which lets no program see or drive others: nothing on its screen is called done, and all else works."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.assembly import nearby
from app.protocol.spec import Effect

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
_LIMIT_S = 30.0
_CALLS = {
    spec.name: spec.examples[0] if spec.examples else f"<{spec.name}>Notes</{spec.name}>"
    for spec in nearby()
    if spec.aim or spec.effect is Effect.DESKTOP or spec.taint in ("screen", "clipboard")
}


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of a Wayland session. An X11 program has a window there, which changes nothing."""
    runtime = tmp_path_factory.mktemp("runtime")
    runtime.chmod(0o700)
    log = runtime / "weston.log"
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(runtime), "HOME": str(runtime)}
    words = ["weston", "--backend=headless-backend.so", "--xwayland", "--socket=wisp-test", f"--log={log}"]
    weston = subprocess.Popen(words, env=environment, stderr=subprocess.DEVNULL)
    try:
        limit = time.monotonic() + _LIMIT_S
        while not (found := re.search(r"listening on display (:\d+)", log.read_text() if log.exists() else "")):
            assert weston.poll() is None and time.monotonic() < limit, "weston did not start"
            time.sleep(0.05)
        environment |= {"WAYLAND_DISPLAY": "wisp-test", "DISPLAY": found[1]}
        with subprocess.Popen(["xterm"], env=environment, stderr=subprocess.DEVNULL) as xterm:
            looked = ["xdotool", "search", "--sync", "--onlyvisible", "--class", "xterm"]
            subprocess.run(looked, env=environment, capture_output=True, timeout=_LIMIT_S, check=True)
            yield environment
            xterm.terminate()
    finally:
        weston.terminate()
        weston.wait(10)


@pytest.mark.parametrize(
    "task", ["list the windows", 'type "hello"', "press enter", "click at 100, 100", "take a screenshot"]
)
def test_a_task_waits_for_the_person_and_says_what_to_do(session: dict[str, str], task: str) -> None:
    words = [sys.executable, "-m", "app", "do", task, "--provider", "offline", "--mode", "yolo"]
    done = subprocess.run(words, cwd=ROOT, env=session, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, "choose an X11 session" in done.stdout) == (3, True), done.stdout


def test_every_tool_of_the_screen_asks_for_the_person(session: dict[str, str]) -> None:
    words = [sys.executable, "-m", "app", "tool"]
    given = "".join(_CALLS.values())
    done = subprocess.run(words, cwd=ROOT, env=session, input=given, capture_output=True, text=True, timeout=120)  # noqa: PLW1510
    answers = {answer["tool"]: answer for answer in map(json.loads, done.stdout.splitlines())}
    assert (set(answers), len(answers) > 20) == (set(_CALLS), True), done.stderr
    assert [name for name, one in answers.items() if one["ok"] or not one["payload"].get("needs_person")] == []
    assert [name for name, one in answers.items() if "choose an X11 session" not in one["echo"]] == []


def test_the_doctor_tells_what_wayland_keeps_away_and_why(session: dict[str, str]) -> None:
    words = [sys.executable, "-m", "app", "doctor", "--json"]
    done = subprocess.run(words, cwd=ROOT, env=session, capture_output=True, text=True, timeout=120, check=False)
    found = {one["name"]: one for one in json.loads(done.stdout)}
    kept_away = ["Screen", "Screen pictures", "Mouse and keyboard", "Windows", "Clipboard"]
    assert {name: (found[name]["verdict"], "X11 session" in found[name]["fix"]) for name in kept_away} == dict.fromkeys(
        kept_away, ("fail", True)
    )
    keys = found["Stop key and summon key"]["detail"]
    assert ("Wayland" in keys, "Buttons and fields" in found, done.returncode) == (True, True, 1)


def test_what_needs_no_screen_is_done(session: dict[str, str]) -> None:
    words = [sys.executable, "-m", "app", "do", "what is 12*7?", "--provider", "offline"]
    done = subprocess.run(words, cwd=ROOT, env=session, capture_output=True, text=True, timeout=120, check=False)
    assert ("84" in done.stdout, done.stderr) == (True, ""), done.stdout
