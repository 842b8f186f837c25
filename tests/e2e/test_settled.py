"""What a settled screen shows: the effect of the action, however long the program takes to paint it."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator

import pytest

from app.base.geometry import Rect
from app.desktop.backends import Press
from app.desktop.choose import open_desktop
from app.desktop.controller import DesktopController
from app.desktop.desktop import Desktop
from app.desktop.verification import Receipt
from app.desktop.x11.connection import Connection
from app.desktop.x11.virtual import VirtualDesktop
from app.desktop.x11.windows import X11Windows
from tests.support.compositor import composited, manager_stopped
from tests.support.repainting import repainting
from tests.support.sampling import first_of
from tests.support.waiting import eventually

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def desk(desktop: VirtualDesktop) -> Iterator[Desktop]:
    desk = open_desktop(environment=desktop.environment)
    yield desk
    desk.close()


async def _clicked(controller: DesktopController) -> tuple[Receipt, bool]:
    """The receipt of a click into the window, and whether the screen shows its effect when the receipt is there."""
    inside = controller.find_window("Repainting").area.center
    spot = Rect(inside.x, inside.y, 1, 1)
    before = controller.backend.screen.grab(spot)
    seen = await controller.act(lambda: controller.input.click(inside, Press()), spot)
    return seen, controller.backend.screen.grab(spot) != before


@pytest.mark.parametrize(
    "options",
    first_of(
        [
            ("--after", "20"),
            ("--after", "100"),
            ("--after", "400"),
            ("--busy", "20"),
            ("--busy", "400"),
            ("--busy", "1200"),
            ("--after", "20", "--caret"),
            ("--busy", "400", "--caret"),
            ("--after", "100", "--spinner"),
        ],
        is_one=True,
    ),
    ids=" ".join,
)
async def test_the_effect_shows_when_the_screen_is_said_to_be_at_rest(
    desk: Desktop, desktop: VirtualDesktop, options: tuple[str, ...]
) -> None:
    with repainting(*options, environment=desktop.environment):
        seen, is_shown = await desk.run(_clicked)
    assert (seen.verdict, seen.is_calm, is_shown) == ("changed", True, True)


@pytest.mark.parametrize("options", first_of([("--still",), ("--still", "--caret")], is_one=True), ids=" ".join)
async def test_a_click_that_does_nothing_is_a_suspected_no_op(
    desk: Desktop, desktop: VirtualDesktop, options: tuple[str, ...]
) -> None:
    with repainting(*options, environment=desktop.environment):
        seen, is_shown = await desk.run(_clicked)
    assert (seen.verdict, seen.proof, seen.is_calm, is_shown) == ("unchanged", "suspected no-op", True, False)


@pytest.mark.long
async def test_a_program_that_does_not_work_off_its_input_is_named(desk: Desktop, desktop: VirtualDesktop) -> None:
    with repainting("--busy", "60000", environment=desktop.environment):
        seen, _ = await desk.run(_clicked)
    assert seen.proof == "unverifiable"
    assert "'Repainting' has not answered yet: it is busy or frozen." in seen.sentence


@pytest.mark.long
async def test_a_click_that_the_window_manager_holds_back_is_waited_for(desk: Desktop, desktop: VirtualDesktop) -> None:
    """A ping that overtakes the click would be answered at once: the click would count as one that did nothing."""
    with repainting("--busy", "20", environment=desktop.environment), manager_stopped(desktop.environment) as go_on:
        threading.Timer(1.5, go_on).start()
        seen, is_shown = await desk.run(_clicked)
    assert (seen.verdict, is_shown) == ("changed", True)


@pytest.mark.long
@pytest.mark.parametrize("options", [("--after", "20"), ("--busy", "400"), ("--after", "20", "--caret")], ids=" ".join)
async def test_under_a_compositor_the_effect_shows_as_well(
    desk: Desktop, desktop: VirtualDesktop, options: tuple[str, ...]
) -> None:
    with composited(desktop.environment), repainting(*options, environment=desktop.environment):
        seen, is_shown = await desk.run(_clicked)
    assert (seen.verdict, seen.is_calm, is_shown) == ("changed", True, True)


async def test_what_moves_elsewhere_is_no_effect_of_the_click(desk: Desktop, desktop: VirtualDesktop) -> None:
    with (
        repainting("--spinner", "--at", "700,100", environment=desktop.environment, title="Player"),
        repainting("--still", environment=desktop.environment),
    ):
        seen, _ = await desk.run(_clicked)
    assert (seen.verdict, seen.proof) == ("elsewhere", "unverifiable")


async def test_the_keyboard_is_where_the_focus_is_before_the_window_manager_says_so(
    desk: Desktop, desktop: VirtualDesktop
) -> None:
    """What is sent in between reaches the window with the focus: it must be judged by that one."""

    async def holder(controller: DesktopController) -> str:
        return controller.backend.windows.keyboard().window

    async def ref_of(controller: DesktopController) -> str:
        return controller.find_window("Player").ref

    with (
        repainting("--still", "--at", "700,100", environment=desktop.environment, title="Player"),
        repainting("--still", environment=desktop.environment),
    ):
        player, before = await desk.run(ref_of), await desk.run(holder)
        with manager_stopped(desktop.environment):
            subprocess.run(["xdotool", "windowfocus", str(int(player[1:], 16))], env=desktop.environment, check=True)  # noqa: ASYNC221
            assert (before != player, await desk.run(holder)) == (True, player)


@pytest.mark.long
@pytest.mark.parametrize(
    ("told", "is_read_again"),
    [
        (("_NET_WM_USER_TIME", "32c", "7"), False),
        (("WM_HINTS", "32c", "7"), False),
        (("_NET_WM_NAME", "8u", "Other"), True),
        (("_NET_WM_WINDOW_OPACITY", "32c", "7"), True),
    ],
    ids=lambda one: one[0] if isinstance(one, tuple) else "",
)
async def test_the_windows_are_read_again_only_where_one_has_changed(
    desktop: VirtualDesktop, told: tuple[str, str, str], *, is_read_again: bool
) -> None:
    """Programs note a time at every click and key. What is read shows in the requests that the X server gets."""
    connection = Connection(desktop.environment)
    windows = X11Windows(connection)

    def asked() -> int:
        before = connection.display.display.request_serial
        windows.all()
        return int(connection.display.display.request_serial - before)

    with repainting("--still", environment=desktop.environment):
        assert eventually(lambda: any(window.title == "Repainting" for window in windows.all()))
        number = next(window.ref for window in windows.all() if window.title == "Repainting")[1:]
        assert eventually(lambda: asked() == asked())
        least = asked()
        name, kind, value = told

        def is_read_again_now() -> bool:
            command = ["xprop", "-id", f"0x{number}", "-f", name, kind, "-set", name, value]
            subprocess.run(command, env=desktop.environment, check=True)
            return asked() > least

        # Something else may have changed a window at the same moment, so one quiet try tells that nothing was read.
        assert is_read_again_now() if is_read_again else eventually(lambda: not is_read_again_now())
    connection.close()
