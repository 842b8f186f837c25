"""An entry is chosen by its way also where its menu lies over the tabs and fields of its window."""

from __future__ import annotations

import pytest

from tests.e2e.conftest import Screen
from tests.support.co_process import CoProcess
from tests.support.sampling import first_of
from tests.support.worlds import world


@pytest.mark.parametrize("kit", first_of(["qt5", "qt6", "gtk3"]))
def test_an_entry_over_tabs_is_chosen_and_a_tab_under_the_menu_is_not_pressed(kit: str, screen: Screen) -> None:
    with world(f"{kit} tabs", screen.environment) as shown, CoProcess(screen.environment) as wisp:
        wisp("choose_menu", path="File > Collect")
        wisp("choose_menu", path="File > Share > Print")
        wisp("computer_click", target="File")
        covered = wisp.attempt("computer_click", target="General")
        shown.happened(lambda line: line == "chosen Print", limit_s=10.0)
        assert shown.lines == ["chosen Collect", "chosen Print"]
    assert (covered["ok"], "an open list or menu lies over it" in covered["echo"]) == (False, True)


@pytest.mark.long
@pytest.mark.timeout(240)
def test_a_cell_is_where_it_is_told_before_the_pointer_was_in_the_sheet_and_goes_by_what_it_holds(
    screen: Screen,
) -> None:
    with world("calc", screen.environment) as sheet, CoProcess(screen.environment) as wisp:
        wisp("wait_for", window="LibreOffice Calc")
        x, y, width, height = wisp("locate_screen_element", target="B7")["payload"]["box"]
        wisp("computer_click", x=x + width // 2, y=y + height // 2, space="screen")
        wisp("computer_type", text="lamp\n")
        assert sheet.happened(lambda line: line == "B7 lamp", limit_s=20.0), sheet.lines
        assert "B7" in wisp("read_screen", view="find", query="lamp")["echo"]
        wisp("choose_menu", path="Edit > Select All")
        refused = wisp.attempt("choose_menu", path="File > Send")
    assert (refused["ok"], "Email Document..." in refused["echo"]) == (False, True)
