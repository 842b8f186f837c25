"""Rows of a long list that are out of sight are counted, named and clicked. Judged by what the dialog gives back."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from app.desktop.x11.apps import describing
from tests.e2e.conftest import Screen
from tests.support.co_process import CoProcess


@contextmanager
def _listed(screen: Screen, count: int) -> Iterator[tuple[CoProcess, subprocess.Popen[str]]]:
    """A dialog with that many rows, "Item 1" and on, of which a handful are in sight."""
    rows = [text for number in range(1, count + 1) for text in (f"Item {number}", f"#{number}")]
    command = ["zenity", "--list", "--title=Items", "--column=Name", "--column=Number", *rows]
    environment = describing(screen.environment)
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as dialog:
        try:
            with CoProcess(screen.environment) as wisp:
                wisp("wait_for", text="Item 2")
                yield wisp, dialog
        finally:
            dialog.kill()


@pytest.mark.parametrize("count", [120, pytest.param(1500, marks=pytest.mark.long)])
def test_a_row_far_down_is_scrolled_to_and_chosen(screen: Screen, count: int) -> None:
    with _listed(screen, count) as (wisp, dialog):
        far = wisp("computer_click", target=f"Item {count - 1}")
        wisp("computer_click", target="OK")
        chosen = dialog.communicate(timeout=10)[0]
    assert (chosen, far["payload"]["proof"]) == (f"Item {count - 1}\n", "confirmed"), far["echo"]


def test_a_row_is_not_taken_for_one_with_a_longer_number(screen: Screen) -> None:
    with _listed(screen, 120) as (wisp, dialog):
        for row in ("Item 120", "Item 5", "Item 12", "Item 1"):
            wisp("computer_click", target=row)
        wisp("computer_click", target="OK")
        assert dialog.communicate(timeout=10)[0] == "Item 1\n"


def test_a_reading_counts_what_is_out_of_sight_and_a_page_names_it(screen: Screen) -> None:
    with _listed(screen, 120) as (wisp, _):
        seen, whole = (wisp("read_screen", view=view, window="Items")["echo"] for view in ("interactive", "page"))
    counted = re.search(r"at least (\d+) more out of sight: view=page", seen)
    named = re.findall(r'table cell "(Item \d+)"', seen)
    assert counted, seen
    assert int(counted[1]) == 2 * (120 - len(named))
    assert re.findall(r'table cell "(Item \d+)"', whole) == [f"Item {number}" for number in range(1, 121)]
