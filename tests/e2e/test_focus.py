"""Whoever works in another program keeps the keyboard, whatever Wisp shows by itself. Judged by the X server."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from string import ascii_lowercase

import pytest
from Xlib import XK, X
from Xlib.display import Display
from Xlib.error import XError

from scripts.device import PersonsDevices
from tests.e2e.conftest import ROOT
from tests.support.compositor import composited
from tests.support.managers import is_installed, managed
from tests.support.waiting import eventually

_MOMENTS = (
    *("welcome", "first task", "offer", "second task", "question", "answer", "failure", "theme", "settings", "mark"),
    *("welcome again", "wish", "answer to the wish", "closing", "reminder", "question while closed"),
)
_POINTER = (X.NotifyPointer, X.NotifyPointerRoot, X.NotifyInferior)
_GRABS = (X.NotifyGrab, X.NotifyUngrab)


class FocusRecord:
    """Records on a connection of its own when a window loses the keyboard, or another one is called the active one."""

    def __init__(self, environment: dict[str, str], title: str) -> None:
        self._display = Display(environment["DISPLAY"])
        self._display.set_error_handler(lambda *_: None)
        self._active = self._display.intern_atom("_NET_ACTIVE_WINDOW")
        self._root = self._display.screen().root
        assert eventually(lambda: self.front() == title), f"{title} did not get the keyboard"
        self._number = self._front()
        window = self._display.create_resource_object("window", self._number)
        window.change_attributes(event_mask=X.FocusChangeMask)
        self._root.change_attributes(event_mask=X.PropertyChangeMask)
        self._display.sync()

    def look(self) -> list[str]:
        """Return what was lost since the last look."""
        lost: list[str] = []
        self._display.sync()
        while self._display.pending_events():
            event = self._display.next_event()
            if event.type == X.FocusOut and event.detail not in _POINTER and event.mode not in _GRABS:
                lost.append("the keyboard")
            elif event.type == X.PropertyNotify and event.atom == self._active and self._front() != self._number:
                lost.append(f"the front, to {self._name(self._front())}")
        return lost

    def front(self) -> str:
        """Return the title of the active window, if it has the keyboard, too."""
        number = self._front()
        return self._name(number) if self._focused() == number else ""

    def close(self) -> None:
        self._display.close()

    def _front(self) -> int:
        found = self._root.get_full_property(self._active, X.AnyPropertyType)
        return int(found.value[0]) if found is not None and len(found.value) else 0

    def _focused(self) -> int:
        """Return the window that has the keyboard, or the one around it that is called the active one."""
        focus = self._display.get_input_focus().focus
        number, active = int(getattr(focus, "id", focus)), self._front()
        try:
            while number not in (0, 1, active, self._root.id):
                parent = self._display.create_resource_object("window", number).query_tree().parent
                number = int(parent.id) if parent else 0
        except XError:
            return 0
        return number

    def _name(self, number: int) -> str:
        try:
            return str(self._display.create_resource_object("window", number).get_wm_name())
        except XError:
            return ""


@contextmanager
def _letter(environment: dict[str, str], folder: Path) -> Iterator[Path]:
    """Another program, with the keyboard: what is typed into it stands in the file."""
    written = folder / "letter"
    command = ["xterm", "-title", "letter", "-e", "sh", "-c", f"stty -icanon; exec cat > '{written}'"]
    program = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    try:
        assert eventually(written.exists)
        yield written
    finally:
        program.terminate()
        program.wait()


@contextmanager
def _day(environment: dict[str, str]) -> Iterator[Callable[[str], None]]:
    """The presence in a process of its own; what is yielded lets a moment of its day come."""
    command = [sys.executable, "-m", "tests.support.presence_day"]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, env=environment, cwd=ROOT, stdin=pipe, stdout=pipe, text=True, bufsize=1)

    def come(moment: str) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        print(moment, file=process.stdin)
        assert process.stdout.readline().strip() == moment

    try:
        yield come
        process.communicate("quit\n", timeout=30)
        assert process.returncode == 0
    finally:
        process.kill()
        process.wait()


def _write_to_wisp(environment: dict[str, str], person: PersonsDevices, record: FocusRecord) -> None:
    """What the person does themselves: the keyboard goes to Wisp at their key, and back when they have sent."""
    person.press_together(XK.XK_Control_L, XK.XK_Alt_L, XK.XK_space)
    assert eventually(lambda: record.front() == "Mira")
    person.type("look around\n")
    assert eventually(lambda: record.front() == "letter")
    record.look()


def _spent(environment: dict[str, str], folder: Path) -> dict[str, list[str]]:
    """Spend the day while the person writes a sign into the other program at each moment. Return what was lost when."""
    lost: dict[str, list[str]] = {}
    typed = ""
    with _letter(environment, folder) as letter, closing(FocusRecord(environment, "letter")) as record:
        person = PersonsDevices(environment)
        with _day(environment) as come:
            for moment, sign in zip(_MOMENTS, ascii_lowercase, strict=False):
                come(moment)
                if moment == "wish":
                    _write_to_wisp(environment, person, record)
                person.type(sign)
                typed += sign
                has_arrived = eventually(lambda typed=typed: letter.read_text() == typed, limit_s=5)
                if gone := record.look():
                    lost[moment] = gone
                assert has_arrived, (moment, lost, letter.read_text(), typed)
        if gone := record.look():
            lost["end"] = gone
        person.close()
    return lost


def _each() -> Iterator[object]:
    for manager in ("openbox", "xfwm4", "marco"):
        for compositor in (False, True):
            is_core = (manager, compositor) == ("openbox", True)
            name = f"{manager}{'-composited' * compositor}"
            yield pytest.param(manager, compositor, id=name, marks=[] if is_core else [pytest.mark.long])


@pytest.mark.parametrize(("manager", "compositor"), list(_each()))
def test_nothing_that_comes_by_itself_takes_the_keyboard(manager: str, tmp_path: Path, *, compositor: bool) -> None:
    if not is_installed(manager):
        pytest.skip(f"{manager} is not installed; scripts/setup all brings it")
    with managed(manager, tmp_path / "home") as managed_environment:
        environment = {**managed_environment, "WISP_DATA_DIR": str(tmp_path / "home" / "wisp")}
        with composited(environment) if compositor else nullcontext():
            assert _spent(environment, tmp_path) == {}
