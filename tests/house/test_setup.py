"""What `scripts/setup` leaves of Qt, what it adds and keeps, and how it answers a word that it does not know."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SETUP = ROOT / "scripts" / "setup"
ENGINE = "pyside6-addons"
_PYTHON = r"""#!/bin/sh
root=$(dirname "$0")/../..
case "$*" in
    *"import PySide6.QtWebEngineWidgets"*) ls -d "$root"/.venv/lib/python3.11/site-packages/pyside6_addons-* ;;
    *"pip install"*)
        echo "$*" | tr ' ' '\n' | grep '\.lock$' | xargs cat >>"$root/asked"
        if grep -q '^pyside6-addons==' "$root/asked"; then
            mkdir -p "$root/.venv/lib/python3.11/site-packages/pyside6_addons-1.dist-info"
        fi ;;
esac
"""
_TOOLS = ("awk", "bash", "cat", "cut", "dirname", "du", "find", "grep", "head", "ls", "mkdir")
_MORE_TOOLS = ("rm", "sh", "sha256sum", "tail", "tr", "xargs")


class Checkout:
    """A checkout with an environment whose Python notes what pip installs, on a system without apt."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("requirements.lock", "tests/requirements.lock", "resources/extras/surfaces.lock", "scripts/setup"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
        self.qt = folder / ".venv" / "lib" / "python3.11" / "site-packages" / "PySide6"
        (self.qt / "Qt" / "translations").mkdir(parents=True)
        python = folder / ".venv" / "bin" / "python"
        python.parent.mkdir()
        python.write_text(_PYTHON, encoding="utf-8")
        python.chmod(0o755)
        (folder / "commands").mkdir()
        for name in (*_TOOLS, *_MORE_TOOLS):
            found = shutil.which(name)
            assert found, name
            (folder / "commands" / name).symlink_to(found)

    def set_up(self, *words: str) -> set[str]:
        """Set up. Returns the packages that pip was asked for."""
        (self.folder / "asked").unlink(missing_ok=True)
        done = subprocess.run(
            [self.folder / "scripts" / "setup", *words],
            env={"PATH": str(self.folder / "commands"), "DISPLAY": ":0", "PYTHON": sys.executable},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        asked = self.folder / "asked"
        return set(re.findall(r"^([a-z0-9-]+)==", asked.read_text(), re.MULTILINE)) if asked.exists() else set()


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_the_window_engine_is_added_to_what_is_there_and_follows_each_new_lock(checkout: Checkout) -> None:
    assert ENGINE not in checkout.set_up("small")
    asked = checkout.set_up("surfaces")
    assert (ENGINE in asked, "rapidocr" in asked) == (True, False), "it is still the small one"
    assert [checkout.set_up(*words) for words in ((), ("surfaces",), ("wayland",), ("small",))] == [set()] * 4
    with (checkout.folder / "requirements.lock").open("a") as lock:
        lock.write("# changed\n")
    asked = checkout.set_up()
    assert (ENGINE in asked, "rapidocr" in asked) == (True, False)
    assert {ENGINE, "rapidocr"} <= checkout.set_up("test")


def test_what_the_window_engine_is_linked_to_stays_and_other_parts_of_qml_go(checkout: Checkout) -> None:
    names = ("Core", "Quick", "QuickWidgets", "Qml", "QmlMeta", "QmlModels", "QmlWorkerScript")
    stays = [f"Qt/lib/libQt6{name}.so.6" for name in names]
    stays += ["Qt/libexec/QtWebEngineProcess", "QtPrintSupport.abi3.so"]
    goes = ["Qt/lib/libQt6QuickControls2.so.6", "Qt/lib/libQt6QmlCompiler.so.6", "Qt/libexec/uic", "Qt/qml/a/qmldir"]
    for name in (*stays, *goes):
        (checkout.qt / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout.qt / name).touch()
    checkout.set_up()
    assert {str(one.relative_to(checkout.qt)) for one in checkout.qt.rglob("*") if one.is_file()} == set(stays)


@pytest.mark.parametrize("words", [["nonsense"], [""], ["small", "surfaces"]])
def test_a_word_that_is_no_set_up_is_refused_with_those_that_are(checkout: Checkout, words: list[str]) -> None:
    script = checkout.folder / "scripts" / "setup"
    done = subprocess.run([script, *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert all(mode in done.stderr for mode in ("small", "whole", "surfaces", "wayland", "test", "all")), done.stderr
