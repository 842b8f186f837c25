"""A window that closes under the keys: what it did not get reaches no other window. Judged by the window behind it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.co_process import CoProcess
from tests.support.managers import is_installed, managed
from tests.support.waiting import eventually

_FIELD = Path(__file__).resolve().parents[1] / "support" / "closing_field.py"
_LETTERS = 2


class Field:
    """A text field in a program of its own. `lines` is what it wrote down: "ready", then its text at each change."""

    def __init__(self, environment: dict[str, str], folder: Path, title: str, place: str, *letters: str) -> None:
        self._file = folder / title
        with self._file.open("w") as output:
            command = ["/usr/bin/python3", str(_FIELD), title, place, *letters]
            self.program = subprocess.Popen(command, env=environment, stdout=output)
        assert eventually(lambda: self.lines == ["ready"])

    @property
    def lines(self) -> list[str]:
        return self._file.read_text(encoding="utf-8").splitlines()


@contextmanager
def _two_fields(environment: dict[str, str], folder: Path) -> Iterator[tuple[Field, Field]]:
    """A field that closes at its second letter, the pointer on it, and one behind it."""
    environment = {**environment, "PYTHONIOENCODING": "utf-8"}
    subprocess.run(["xdotool", "mousemove", "150", "150"], env=environment, check=True, timeout=10)
    behind = Field(environment, folder, "Behind", "400x300+20+20")
    front = Field(environment, folder, "Front", "200x100+100+100", str(_LETTERS))
    try:
        yield front, behind
    finally:
        for field in (front, behind):
            field.program.kill()
            field.program.wait()


@pytest.mark.parametrize("text", ["plain words " * 300, "é日本 " * 200], ids=["typed", "remapped"])
@pytest.mark.parametrize("manager", ["none", pytest.param("xfwm4", marks=pytest.mark.long), "openbox"])
def test_a_window_behind_gets_nothing_of_what_is_typed(manager: str, text: str, tmp_path: Path) -> None:
    """Without a manager the keyboard follows the pointer, so the X server hands it to the window behind at once."""
    if not is_installed(manager):
        pytest.skip(f"{manager} is not installed; scripts/setup all brings it")
    with managed(manager, tmp_path / "home") as environment, _two_fields(environment, tmp_path) as (front, behind):
        with CoProcess(environment) as wisp:
            typed = wisp.attempt("computer_type", text=text)
        front.program.wait(10)
        assert behind.lines == ["ready"], typed["echo"]
    assert front.lines[-1] == text[:_LETTERS]
    counted = re.search(r"The first (\d+) of (\d+) characters were sent, the other (\d+) were not\.", typed["echo"])
    assert (typed["ok"], counted is not None) == (False, True), typed["echo"]
    sent, whole, unsent = map(int, counted.groups())  # type: ignore[union-attr]
    assert (whole, _LETTERS <= sent < whole, unsent) == (len(text), True, whole - sent)


def test_a_window_that_closes_has_not_taken_the_text_for_sure(tmp_path: Path) -> None:
    with managed("openbox", tmp_path / "home") as environment, _two_fields(environment, tmp_path) as (front, _):
        with CoProcess(environment) as wisp:
            typed = wisp.attempt("computer_type", text="ten letter")
        front.program.wait(10)
    assert not typed["ok"] or typed["payload"]["proof"] != "confirmed", typed["echo"]
