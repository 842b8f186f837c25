"""Receipts are judged by what the window itself wrote down: nothing is confirmed that did not happen.

`scripts/bench/receipts.py` plays the whole table on every toolkit.
"""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator

import pytest

from tests.e2e.conftest import Screen
from tests.support.co_process import CoProcess
from tests.support.sampling import first_of
from tests.support.waiting import eventually
from tests.support.worlds import world


@pytest.fixture
def wisp(screen: Screen) -> Iterator[CoProcess]:
    with CoProcess(screen.environment) as process:
        yield process


@pytest.mark.parametrize("kit", first_of(["gtk3", "gtk4", "qt5", "qt6", "chromium"]))
def test_a_button_that_works_is_confirmed_and_a_dead_one_never(wisp: CoProcess, screen: Screen, kit: str) -> None:
    with world(kit, screen.environment) as shown:
        wisp("wait_for", text="Dead")
        dead = wisp("computer_click", target="Dead button")
        works = wisp("computer_click", target="Count button")
        assert shown.happened(lambda line: line == "count 1")
        pressed = wisp("press", ref=wisp("locate_screen_element", target="Count button")["payload"]["ref"])
        assert shown.happened(lambda line: line == "count 2")
        off = wisp.attempt("computer_click", target="Off button")
    assert (dead["payload"]["proof"] != "confirmed", works["payload"]["proof"]) == (True, "confirmed"), dead["echo"]
    assert pressed["payload"]["proof"] == "confirmed", pressed["echo"]
    assert (off["ok"], "greyed out: nothing was pressed" in off["echo"]) == (False, True), off["echo"]


@pytest.mark.parametrize("kit", first_of(["gtk3", "gtk4", "qt5", "qt6", "chromium"]))
def test_what_is_typed_into_a_field_is_confirmed_and_what_the_field_throws_away_is_not(
    wisp: CoProcess, screen: Screen, kit: str
) -> None:
    with world(kit, screen.environment) as shown:
        wisp("wait_for", text="Dead")
        wisp("computer_click", target="Name field")
        kept = wisp("computer_type", text="hello")
        assert shown.happened(lambda line: line == "name hello")
        wisp("computer_click", target="Fixed field")
        lost = wisp("computer_type", text="hello")
        assert shown.happened(lambda line: line.startswith("tried"))
    assert (kept["payload"]["proof"], lost["payload"]["proof"] != "confirmed") == ("confirmed", True), lost["echo"]


@pytest.mark.parametrize("kit", first_of(["gtk3", "qt5", "qt6"]))
def test_a_value_that_the_field_reverts_is_not_confirmed(wisp: CoProcess, screen: Screen, kit: str) -> None:
    with world(kit, screen.environment):
        wisp("wait_for", text="Dead")
        fixed = wisp("locate_screen_element", target="Fixed field")["payload"]["ref"]
        name = wisp("locate_screen_element", target="Name field")["payload"]["ref"]
        lost = wisp("set_value", ref=fixed, value="other")
        kept = wisp("set_value", ref=name, value="two  lines")
    assert (lost["payload"]["proof"] != "confirmed", kept["payload"]["proof"]) == (True, "confirmed"), lost["echo"]


@pytest.mark.parametrize("kit", first_of(["gtk3", "gtk4", "qt5", "qt6", "chromium"]))
def test_what_does_not_last_or_happens_by_itself_proves_nothing(wisp: CoProcess, screen: Screen, kit: str) -> None:
    def ref(name: str) -> str:
        return str(wisp("locate_screen_element", target=name)["payload"]["ref"])

    with world(kit, screen.environment):
        wisp("wait_for", text="Dead")
        told = {"a value put back later": wisp("set_value", ref=ref("Code field"), value="abc")}
        wisp("computer_click", target="Code field")
        told["a text put back later"] = wisp("computer_type", text="hello")
        wisp("computer_click", target="Number field")
        refused = wisp("computer_type", text="abc")
        told["a tick put back later"] = wisp("computer_click", target="Stubborn check box")
        wisp("computer_click", target="Rename button")
        told["a title that ticks"] = wisp("computer_click", target="Dead button")
        wisp("computer_click", target="Rename button")
        wisp("computer_click", target="Move bar button")
        told["a bar that moves"] = wisp("computer_click", target="Dead button")
        wisp("computer_click", target="Show note button")
        wisp("wait_for", text="Write down")
        told["a dialog that only closes"] = wisp("computer_click", target="Write down button")
    confirmed = {what: one["echo"] for what, one in told.items() if one["payload"]["proof"] == "confirmed"}
    assert confirmed == {}
    assert refused["payload"]["proof"] == "suspected no-op", refused["echo"]


@pytest.mark.long
def test_a_value_is_not_called_failed_where_its_program_is_silent_after_it(wisp: CoProcess, screen: Screen) -> None:
    with world("gtk3", screen.environment) as shown:
        wisp("wait_for", text="Dead")
        heavy = wisp("locate_screen_element", target="Heavy field")["payload"]["ref"]
        put = wisp.attempt("set_value", ref=heavy, value="日本 🚀")
        assert shown.happened(lambda line: line == "heavy 日本 🚀")
    # How long it is silent is the machine's affair: it is read back then, or the receipt says that it could not be.
    is_told = "It could not be read back." in put["echo"]
    assert (put["ok"], put["payload"].get("proof")) == (True, "unverifiable" if is_told else "confirmed"), put["echo"]


@pytest.mark.long
def test_a_press_on_a_covered_window_is_proven_by_what_its_program_tells(wisp: CoProcess, screen: Screen) -> None:
    with world("gtk3", screen.environment) as shown:
        wisp("wait_for", text="Dead")
        ref = wisp("locate_screen_element", target="Count button")["payload"]["ref"]
        command = ("xterm", "-title", "box", "-geometry", "200x60+0+0")
        with subprocess.Popen(command, env=screen.environment, stderr=subprocess.DEVNULL) as box:
            wisp("wait_for", window="box")
            pressed = wisp("press", ref=ref)
            box.kill()
        assert shown.happened(lambda line: line == "count 1")
    assert pressed["payload"]["proof"] == "confirmed", pressed["echo"]


@pytest.mark.long
def test_a_window_that_another_program_opens_meanwhile_proves_nothing(wisp: CoProcess, screen: Screen) -> None:
    with world("gtk3", screen.environment):
        wisp("wait_for", text="Dead")
        late = "sleep 0.4; exec xterm -title stranger"
        with subprocess.Popen(("sh", "-c", late), env=screen.environment, stderr=subprocess.DEVNULL) as stranger:
            limit = time.monotonic() + 3
            while "stranger" not in wisp("list_windows")["echo"] and time.monotonic() < limit:
                dead = wisp("computer_click", target="Dead button")
                assert dead["payload"]["proof"] != "confirmed", dead["echo"]
            stranger.kill()


@pytest.mark.long
def test_a_password_typed_without_echo_is_no_suspected_no_op(wisp: CoProcess, screen: Screen) -> None:
    command = ("xterm", "-title", "quiet", "-e", "sh", "-c", "stty -echo; printf ready; read secret; sleep 9")
    with subprocess.Popen(command, env=screen.environment, stderr=subprocess.DEVNULL) as terminal:
        wisp("wait_for", window="quiet")
        wisp("focus_window", title="quiet")
        wisp("wait", seconds=0.5)
        typed = wisp("computer_type", text="hunter")
        terminal.kill()
    assert typed["payload"]["proof"] == "unverifiable", typed["echo"]


@pytest.mark.long
def test_a_tool_tip_takes_no_press_and_is_nothing_that_opened(wisp: CoProcess, screen: Screen) -> None:
    wisp("open_app", name="galculator")
    for key, sum_shown in (("7", "7"), ("5", "75")):
        wisp("computer_move", target=key)
        assert eventually(lambda: _has_tip(screen))
        clicked = wisp("computer_click", target=key)
        told = (clicked["payload"]["proof"], f"'{sum_shown}'" in clicked["echo"], "opened" in clicked["echo"])
        assert told == ("confirmed", True, False), clicked["echo"]


def _has_tip(screen: Screen) -> bool:
    def printed(*command: str) -> str:
        return subprocess.run(command, env=screen.environment, capture_output=True, text=True, check=False).stdout

    numbers = re.findall(r"(0x[0-9a-f]+) \"galculator\"", printed("xwininfo", "-root", "-children"))
    kinds = ((printed("xprop", "-id", number, "_NET_WM_WINDOW_TYPE"), number) for number in numbers)
    return any("TOOLTIP" in kind and "IsViewable" in printed("xwininfo", "-id", number) for kind, number in kinds)


@pytest.mark.long
def test_a_press_that_only_closes_a_list_over_its_dialog_is_not_confirmed(wisp: CoProcess, screen: Screen) -> None:
    for name in ("nota.txt", "note.txt"):
        (screen.home / name).touch()
    wisp("open_app", name="mousepad")
    wisp("computer_key", keys="ctrl+shift+s")
    wisp("computer_type", text="~/not")
    wisp("wait_for", text="note.txt")
    taken = wisp("computer_click", target="Cancel")
    assert "Save As" in wisp("list_windows")["echo"]
    closed = wisp("computer_click", target="Cancel")
    assert taken["payload"]["proof"] == "unverifiable", taken["echo"]
    assert "'Save As' closed" in closed["echo"]


@pytest.mark.long
def test_a_closed_list_of_a_page_tells_its_choice_and_a_press_on_it_nothing_unsaid(
    wisp: CoProcess, screen: Screen
) -> None:
    with world("chromium", screen.environment):
        wisp("wait_for", text="Dead")
        read = wisp("read_screen")["echo"]
        pressed = wisp("press", ref=wisp("locate_screen_element", target="Fruit")["payload"]["ref"])
    assert 'combo box "Fruit" = "Apple"' in read
    assert "()" not in pressed["echo"]


@pytest.mark.long
def test_a_button_under_an_open_list_is_not_pressed_and_one_beside_it_is_not_confirmed(
    wisp: CoProcess, screen: Screen
) -> None:
    with world("chromium list", screen.environment) as shown:
        wisp("wait_for", text="Wide")
        wisp("computer_click", target="Size")
        covered = wisp.attempt("computer_click", target="Order button")
        beside = wisp("computer_click", target="Wide button")
        assert shown.since(1.0) == []
        pressed = wisp("computer_click", target="Order button")
        assert shown.happened(lambda line: line == "order")
    assert (covered["ok"], "an open list or menu lies over it" in covered["echo"]) == (False, True)
    assert beside["payload"]["proof"] == "unverifiable", beside["echo"]
    assert "closed, and it may have taken the press" in beside["echo"]
    assert pressed["payload"]["proof"] != "suspected no-op", pressed["echo"]


@pytest.mark.long
def test_a_dialog_that_closes_as_it_should_is_not_called_busy(wisp: CoProcess, screen: Screen) -> None:
    with world("gtk3", screen.environment) as shown:
        wisp("wait_for", text="Dead")
        wisp("computer_click", target="Show note button")
        wisp("wait_for", window="Note")
        closed = wisp("computer_click", target="Dismiss button")
        assert shown.happened(lambda line: line == "dismissed")
    assert ("'Note' closed" in closed["echo"], "busy" in closed["echo"]) == (True, False), closed["echo"]


@pytest.mark.long
@pytest.mark.parametrize("kit", ["gtk3", "qt5", "qt6"])
def test_the_field_inside_tabs_and_documents_has_the_keyboard(wisp: CoProcess, screen: Screen, kit: str) -> None:
    with world(kit, screen.environment):
        wisp("wait_for", text="Dead")
        wisp("computer_click", target="Body")
        wisp("computer_type", text="two\nlines  ")
        read = wisp("read_screen", view="full", window="World")["echo"]
    (focused,) = [line for line in read.splitlines() if " focused" in line]
    assert '= "two⏎lines  "' in focused


def test_an_editor_proves_what_was_saved_and_claims_nothing_for_a_menu_that_closed(
    wisp: CoProcess, screen: Screen
) -> None:
    wisp("open_app", name="mousepad")
    wisp("computer_type", text="one two")
    left = wisp("computer_key", keys="Left")
    assert ("from 7 to 6" in left["echo"], left["payload"]["proof"]) == (True, "confirmed"), left["echo"]
    wisp("computer_key", keys="Home")
    still = wisp("computer_key", keys="Home")
    assert ("only the caret" in still["echo"], still["payload"]["proof"]) == (True, "unverifiable"), still["echo"]
    wisp("computer_key", keys="shift+End")
    copied = wisp("choose_menu", path="Edit > Copy")
    assert copied["payload"]["proof"] == "unverifiable", copied["echo"]
    ticked = wisp("choose_menu", path="View > Line Numbers")
    assert ("checked" in ticked["echo"], ticked["payload"]["proof"]) == (True, "confirmed"), ticked["echo"]
    wisp("computer_key", keys="ctrl+s")
    cancelled = wisp("computer_click", target="Cancel")
    assert ("'Save As' closed" in cancelled["echo"], cancelled["payload"]["proof"]) == (True, "confirmed"), cancelled
    wisp("computer_key", keys="ctrl+s")
    wisp("computer_type", text="~/told.txt")
    saved = wisp("computer_click", target="Save")
    assert (screen.home / "told.txt").read_text(encoding="utf-8") == "one two"
    assert re.search(r'/told.txt" was written at \d\d:\d\d:\d\d: 7 bytes', saved["echo"]), saved["echo"]
    assert ("'Save As' closed" in saved["echo"], saved["payload"]["proof"]) == (True, "confirmed"), saved["echo"]


@pytest.mark.long
def test_a_key_of_a_calculator_tells_what_it_shows_and_a_tool_tip_that_fades_proves_nothing(
    wisp: CoProcess, screen: Screen
) -> None:
    wisp("open_app", name="galculator")
    pressed = wisp("press", target="7")
    assert (pressed["payload"]["proof"], "holds '7' now" in pressed["echo"]) == ("confirmed", True), pressed["echo"]
    wisp("computer_move", target="MS")
    assert eventually(lambda: _has_tip(screen))
    dead = wisp("computer_key", keys="F9")
    assert (dead["payload"]["proof"] != "confirmed", "Gone" in dead["echo"]) == (True, False), dead["echo"]


@pytest.mark.long
def test_a_row_of_a_list_is_clicked_by_a_press(wisp: CoProcess, screen: Screen) -> None:
    command = ["zenity", "--list", "--title=Fruit", "--column=Name", "Apple", "Pear"]
    with subprocess.Popen(command, env=screen.environment, stdout=subprocess.DEVNULL) as listing:
        wisp("wait_for", text="Pear")
        pressed = wisp("press", target="Pear")
        listing.kill()
    assert (pressed["payload"]["proof"], '"Pear" is now selected' in pressed["echo"]) == ("confirmed", True)
