"""An entry is chosen by its way also where its menu lies over the tabs and fields of its window."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from app.desktop.x11.apps import describing
from tests.e2e.conftest import Screen
from tests.support.co_process import CoProcess
from tests.support.sampling import first_of
from tests.support.waiting import eventually

_WINDOW = Path(__file__).resolve().parents[1] / "support" / "tabbed_window.py"


@pytest.mark.parametrize("kit", first_of(["qt5", "qt6", "gtk3"]))
def test_an_entry_over_tabs_is_chosen_and_a_tab_under_the_menu_is_not_pressed(
    kit: str, screen: Screen, tmp_path: Path
) -> None:
    written = tmp_path / "written"
    command = [sys.executable if kit == "qt6" else "/usr/bin/python3", str(_WINDOW), kit]
    with written.open("w") as output:
        program = subprocess.Popen(command, env=describing(screen.environment), stdout=output)
    try:
        assert eventually(lambda: written.read_text() == "ready\n")
        with CoProcess(screen.environment) as wisp:
            wisp("choose_menu", path="File > Collect")
            wisp("choose_menu", path="File > Share > Print")
            wisp("computer_click", target="File")
            covered = wisp.attempt("computer_click", target="General")
        assert eventually(lambda: written.read_text() == "ready\nchosen Collect\nchosen Print\n")
        assert (covered["ok"], "an open list or menu lies over it" in covered["echo"]) == (False, True)
    finally:
        program.kill()
        program.wait()
