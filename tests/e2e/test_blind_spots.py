"""What programs do not tell accessibility is found all the same: painted lists, menus, far rows, cells, single keys."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.desktop.x11.virtual import VirtualDesktop
from tests.support.co_process import CoProcess
from tests.support.sampling import first_of
from tests.support.worlds import world

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
            patch.delenv(name, raising=False)
        with VirtualDesktop(1280, 800) as virtual:
            yield virtual.environment


@pytest.fixture(scope="module")
def wisp(environment: dict[str, str]) -> Iterator[CoProcess]:
    with CoProcess(environment) as process:
        yield process


@pytest.mark.long
def test_a_list_that_is_painted_is_read_and_its_files_are_dragged(wisp: CoProcess, environment: dict[str, str]) -> None:
    with world("painted", environment) as shown:
        listing = wisp("read_screen")["echo"]
        wisp("computer_drag", {"from": "letter.txt", "to": "post"})
        assert shown.happened(lambda line: line == "dropped letter.txt on post"), shown.lines
        wisp("computer_click", target="Größe")
        assert shown.happened(lambda line: line == "pressed Größe"), shown.lines
    assert 'button "Up"' in listing
    assert 'writing "letter.txt"' in listing


@pytest.mark.long
def test_a_menu_that_is_not_described_is_read_off_the_screen(wisp: CoProcess, environment: dict[str, str]) -> None:
    with world("qt5 menu", environment) as shown:
        wisp("computer_click", target="Thing 3", button="right")
        listing = wisp("read_screen")["echo"]
        wisp("computer_click", target="Duplicate")
        assert shown.happened(lambda line: line == "chosen Duplicate"), shown.lines
    assert 'list item "Thing 3"' in listing
    assert 'writing "Properties"' in listing


@pytest.mark.long
def test_a_menu_of_qt_is_opened_by_its_mnemonic(wisp: CoProcess, environment: dict[str, str]) -> None:
    with world("qt5 menu", environment) as shown:
        wisp("read_screen")  # from here on Qt asks the accessibility bus about each key
        wisp("computer_key", keys="alt+o")
        wisp("computer_key", keys="Return")
        assert shown.happened(lambda line: line == "chosen By name"), shown.lines


@pytest.mark.parametrize(
    ("kit", "numbers"),
    first_of([(kit, (150, 199, 7)) for kit in ("gtk3", "qt5", "qt6", "chromium")]),
)
def test_a_row_that_is_out_of_sight_is_scrolled_to(
    wisp: CoProcess, environment: dict[str, str], kit: str, numbers: tuple[int, ...]
) -> None:
    with world(f"{kit} rows", environment) as shown:
        if kit == "chromium":
            wisp("wait_for", text="Row 3")
        for number in numbers:
            told = wisp("computer_click", target=f"Row {number}")
            assert shown.happened(lambda line, number=number: line == f"row {number}"), (shown.lines, told["echo"])
            assert told["payload"]["proof"] != "suspected no-op", told["echo"]


@pytest.mark.long
@pytest.mark.parametrize("kit", ["qt6", "gtk3"])
def test_a_look_and_a_click_that_is_refused_scroll_nothing(
    wisp: CoProcess, environment: dict[str, str], tmp_path: Path, kit: str
) -> None:
    script = tmp_path / "script.json"
    click = '<computer_click target="Row 150"/>'
    script.write_text(json.dumps({"replies": [{"text": click}, {"text": "It was not done."}]}))
    command = (sys.executable, "-m", "app", "do", "look", "--provider", "scripted")
    plan = environment | {"WISP_MODE": "plan", "WISP_SCRIPT": str(script), "WISP_DATA_DIR": str(tmp_path)}
    with world(f"{kit} rows", environment):
        found = wisp("locate_screen_element", target="Row 150")
        told = subprocess.run(command, env=plan, capture_output=True, text=True, check=False).stdout
        listing = wisp("read_screen")["echo"]
    assert "out of sight" in found["echo"]
    assert ("Not run" in told, "Row 2" in listing) == (True, True), (told, listing)


@pytest.mark.long
def test_fields_and_lists_of_a_page_that_lets_nothing_be_set_are_set(
    wisp: CoProcess, environment: dict[str, str]
) -> None:
    with world("chromium", environment) as shown:
        wisp("wait_for", text="Dead")
        name = wisp("locate_screen_element", target="Name field")["payload"]["ref"]
        fruit = wisp("locate_screen_element", target="Fruit")["payload"]["ref"]
        typed = wisp("set_value", ref=name, value="Ada Byron")
        chosen = wisp("set_value", ref=fruit, value="Banana")
        assert shown.happened(lambda line: line == "name Ada Byron"), typed["echo"]
        assert shown.happened(lambda line: line.startswith("fruit")), chosen["echo"]
    assert [line for line in shown.lines if line.startswith("fruit")] == ["fruit Banana"]
    assert (typed["payload"]["proof"], chosen["payload"]["proof"]) == ("confirmed", "confirmed")


@pytest.mark.long
def test_cells_of_a_sheet_are_clicked_by_their_address_and_read_with_their_values(
    wisp: CoProcess, environment: dict[str, str]
) -> None:
    with world("calc", environment) as shown:
        wisp("wait_for", window="LibreOffice Calc")
        for cell, text in (("B3", "12"), ("C7", "=B3*2")):
            wisp("computer_click", target=cell)
            typed = wisp("computer_type", text=f"{text}\n")
            assert shown.happened(lambda line, told=f"{cell} {text}": line == told), (shown.lines, typed["echo"])
        listing = wisp("read_screen")["echo"]
        found = re.search(r'(e\d+) table cell "C7" = "24"', listing)
        assert found and 'table cell "B3" = "12"' in listing and "greyed" not in found.string.split("C7")[1][:60], (
            listing
        )
        shown.lines.clear()
        wisp("computer_click", ref=found[1])
        assert shown.happened(lambda line: line == "at C7"), shown.lines


_SIGNS = "Grüße 世界 ✓ abc → Ω≈ç√ Привет £€ "
_HUNDRED = (_SIGNS + "".join(chr(point) for point in range(0x3B1, 0x3FF)))[:100]


@pytest.mark.long
def test_every_character_reaches_a_canvas_that_takes_no_paste(wisp: CoProcess, environment: dict[str, str]) -> None:
    with world("tk canvas", environment) as shown:
        wisp("computer_click", target="Drawing")
        wisp("computer_type", text=_HUNDRED)
        shown.happened(lambda _: len(shown.lines) == len(_HUNDRED), 30.0)
        assert "".join(chr(int(line.removeprefix("key "))) for line in shown.lines) == _HUNDRED
