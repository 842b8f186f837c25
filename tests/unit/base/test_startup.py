"""Wisp's own processes start the same way from a checkout and through the entry of a frozen program."""

from __future__ import annotations

import marshal
import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.base import startup
from app.base.startup import NAMES, worker_command
from app.features.apps import webengine

_ROOT = Path(__file__).resolve().parents[3]
_NO_RULES = marshal.dumps(("", [], []))
_INPUT = {
    "ocr": ((), b"", b""),
    "documents": (("page", '{"charset": "utf-8", "url": ""}'), b"<h1>Wisp</h1>", b"# Wisp"),
    "watchdog": (("1",), b"bye\n", b""),
    "recorder": (("/tmp", "1000"), (len(_NO_RULES).to_bytes(8, "big") + _NO_RULES + b"!"), b""),
    "mcp": ((), b"", b""),
    "selections": ((), b"", b""),
    "clipboard": ((), b"", b""),
    "surfaces": (("/dev/null/no-surfaces",), b"", b""),
    "surface-windows": ((), b"", b""),
    "drawing": ((), (bytes.fromhex("00000001 00000001 0000000a") + b"no drawing"), bytes(4)),
    "apart": (("/dev/null/no-desktop",), b"", b""),
    "ender": (("/dev/null/no-run",), b"", b""),
    "forwarder": (("/dev/null/no-sandbox",), b"", b""),
}


@pytest.mark.parametrize("is_frozen", [False, pytest.param(True, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", NAMES)
def test_each_worker_starts_and_ends_with_its_input(
    name: str, monkeypatch: pytest.MonkeyPatch, *, is_frozen: bool
) -> None:
    if name == "surface-windows" and not webengine.is_installed():
        pytest.skip("QtWebEngine is an extra, and it is not installed")
    if is_frozen:
        monkeypatch.setattr(sys, "frozen", True, raising=False)
    arguments, given, answer = _INPUT[name]
    command = worker_command(name, *arguments)
    if is_frozen:
        assert command[:3] == [sys.executable, "worker", name]
        command = [sys.executable, "-m", "app", *command[1:]]  # as the frozen program takes it
    done = subprocess.run(command, input=given, capture_output=True, check=True, cwd=_ROOT, timeout=60)
    assert done.stdout.strip() == answer


def test_an_unknown_worker_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    assert startup.run_worker(["nobody"]) == 2
    assert "ocr, documents, watchdog" in capfd.readouterr().err


@pytest.mark.parametrize(("before", "after"), [(None, None), ("/opt/lib", "/opt/lib")])
def test_other_programs_do_not_get_the_libraries_of_the_frozen_program(
    before: str | None, after: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "/usr/lib/wisp/_internal")
    if before:
        monkeypatch.setenv("LD_LIBRARY_PATH_ORIG", before)
    startup.restore_library_path()
    assert (os.environ.get("LD_LIBRARY_PATH"), os.environ.get("LD_LIBRARY_PATH_ORIG")) == (after, None)
