"""A package of somebody else adds abilities after a yes, and takes nothing along when it fails."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from app.settings import store
from app.settings.catalog import FEATURES_AGREED

ROOT = Path(__file__).resolve().parents[2]
_EXAMPLE = ROOT / "examples" / "wisp-greeting"
_PIP = ("-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--target")
_GREET = ("do", "greet Ada", "--provider", "offline", "--no-screen")
Wisp = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the example in a folder of its own, as `pip install` does."""
    folder = tmp_path_factory.mktemp("packages")
    shutil.copytree(_EXAMPLE, folder / "source")
    command: Sequence[str] = [sys.executable, *_PIP, str(folder / "site"), str(folder / "source")]
    subprocess.run(command, check=True, capture_output=True)
    return folder / "site"


@pytest.fixture
def wisp(site: Path, tmp_path: Path) -> Wisp:
    """Return what runs `wisp` where the package is installed, with settings of its own."""
    packages = shutil.copytree(site, tmp_path / "site")

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join([str(packages), str(ROOT)])
        command = [sys.executable, "-m", "app", *words]
        return subprocess.run(
            command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
        )

    return run


def test_before_a_yes_nothing_of_a_package_is_imported(wisp: Wisp, tmp_path: Path) -> None:
    (tmp_path / "site" / "wisp_greeting" / "__init__.py").write_text("raise SystemExit('I was imported')")
    listed = wisp("features")
    assert (listed.returncode, "wisp features allow wisp-greeting" in listed.stdout) == (0, True)
    assert "- greet" not in wisp("tools").stdout


def test_after_a_yes_its_tool_its_sentence_and_its_card_are_there(wisp: Wisp) -> None:
    assert wisp("features", "allow", "wisp-greeting").returncode == 1  # because nobody said yes
    assert wisp("features", "allow", "wisp-greeting", "--yes").returncode == 0
    assert '<greet name="Ada"/>' in wisp("tools", "greet").stdout
    done = wisp(*_GREET)
    assert (done.returncode, "Greeted Ada" in done.stdout, done.stderr) == (0, True, "")


def test_one_that_is_switched_off_or_forbidden_again_is_gone(wisp: Wisp) -> None:
    wisp("features", "allow", "wisp-greeting", "--yes")
    wisp("features", "off", "greeting")
    assert "- greet" not in wisp("tools").stdout
    wisp("features", "on", "greeting")
    assert "- greet" in wisp("tools").stdout
    wisp("features", "forbid", "wisp-greeting")
    assert "- greet" not in wisp("tools").stdout


_OPENED = "return OpenFeature(handlers=(Greetings(room.clock),))"
_RAISES = "raise RuntimeError('it is broken')"
_BREAKS = {
    "no feature": ("FEATURE = Greeting()", "FEATURE = 7"),
    "settings": ("    words =", "    settings = ('mine',)\n    words ="),
    "commands": ("    words =", "    commands = ['mine']\n    words ="),
    "tools": ("return (GREETINGS,)", _RAISES),
    "conversation": (_OPENED, _RAISES),
    "handler": (_OPENED, "return OpenFeature()"),
    "name": ('name = "greeting"', 'name = "\\x1b[31m,"'),
    "exit": ("FEATURE = Greeting()", "raise SystemExit('bye')"),
    "reminder": (_OPENED, _OPENED.replace("),))", "),), remind=lambda said: 1 / 0)")),
}


def _break(site: Path, what: str) -> None:
    module = site / "wisp_greeting" / "__init__.py"
    before, after = _BREAKS[what]
    text = module.read_text(encoding="utf-8")
    assert before in text
    module.write_text(text.replace(before, after), encoding="utf-8")


@pytest.mark.parametrize("what", _BREAKS)
def test_one_that_fails_leaves_the_rest_whole(wisp: Wisp, tmp_path: Path, what: str) -> None:
    store.save(FEATURES_AGREED, "wisp-greeting")
    _break(tmp_path / "site", what)
    done = wisp("do", "what is 6*7?", "--provider", "offline", "--no-screen")
    assert (done.returncode, "42" in done.stdout) == (0, True), done.stderr


@pytest.mark.parametrize("file", ["offline/en.yaml", "offline/acts.toml", "languages/en/tools.toml"])
def test_words_that_cannot_be_read_leave_the_rest_whole(wisp: Wisp, tmp_path: Path, file: str) -> None:
    store.save(FEATURES_AGREED, "wisp-greeting")
    (tmp_path / "site" / "wisp_greeting" / "words" / file).write_text("intents: [(\n[greet", encoding="utf-8")
    done = wisp("do", "what is 6*7?", "--provider", "offline", "--no-screen")
    assert (done.returncode, "42" in done.stdout) == (0, True), done.stderr


def test_the_doctor_names_one_that_does_not_load(wisp: Wisp, tmp_path: Path) -> None:
    store.save(FEATURES_AGREED, "wisp-greeting")
    _break(tmp_path / "site", "no feature")
    (found,) = [one for one in json.loads(wisp("doctor", "--json").stdout) if one["name"] == "Abilities"]
    assert (found["verdict"], "greeting" in found["detail"]) == ("note", True)
