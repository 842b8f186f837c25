"""What programs do not tell accessibility is found all the same: painted lists, menus, far rows, cells, single keys."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.desktop.x11.virtual import VirtualDesktop
from tests.support.co_process import CoProcess
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


def test_a_list_that_is_painted_is_read_and_its_files_are_dragged(wisp: CoProcess, environment: dict[str, str]) -> None:
    with world("painted", environment) as shown:
        listing = wisp("read_screen")["echo"]
        wisp("computer_drag", {"from": "letter.txt", "to": "post"})
        assert shown.happened(lambda line: line == "dropped letter.txt on post"), shown.lines
        wisp("computer_click", target="Größe")
        assert shown.happened(lambda line: line == "pressed Größe"), shown.lines
    assert 'button "Up"' in listing
    assert 'writing "letter.txt"' in listing


def test_a_menu_that_is_not_described_is_read_off_the_screen(wisp: CoProcess, environment: dict[str, str]) -> None:
    with world("qt5 menu", environment) as shown:
        wisp("computer_click", target="Thing 3", button="right")
        listing = wisp("read_screen")["echo"]
        wisp("computer_click", target="Duplicate")
        assert shown.happened(lambda line: line == "chosen Duplicate"), shown.lines
    assert 'list item "Thing 3"' in listing
    assert 'writing "Properties"' in listing
