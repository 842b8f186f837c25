"""On Wayland, programs tell places within their windows: what Wisp makes of that is where the pixels are."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy
import pytest

from app.base.geometry import Point, Rect
from app.desktop.accessibility.atspi import AtSpi
from app.desktop.backends import Button
from app.desktop.choose import open_desktop
from app.desktop.controller import DesktopController
from app.desktop.desktop import Desktop
from app.desktop.elements import GOOD, Element
from tests.support.compositors import composited
from tests.support.desktop_tools import Tools

pytestmark = [pytest.mark.long, pytest.mark.timeout(180)]

_FORM = str(Path(__file__).with_name("coloured_form.py"))
_SYSTEM = "/usr/bin/python3"
_QT = {"QT_QPA_PLATFORM": "wayland"}
_PAGE = (
    "<!doctype html><title>Coloured form</title><body style='margin:0'><button style='position:absolute;left:200px;"
    "top:120px;width:100px;height:32px;background:#f0f;border:none;border-radius:0'>Press me</button>"
)
_CHROMIUM = ("chromium", "--ozone-platform=wayland", "--no-sandbox", "--no-first-run", "--disable-gpu")
_LIMIT_S = 30.0
_MAGENTA, _GREEN = (255, 0, 255), (0, 255, 0)

Kit = tuple[tuple[str, ...], dict[str, str]]
KITS: dict[str, Kit] = {
    "GTK 3": ((_SYSTEM, _FORM, "3.0"), {}),
    "GTK 3 with its own frame": ((_SYSTEM, _FORM, "3.0", "csd"), {}),
    "GTK 3 on XWayland": ((_SYSTEM, _FORM, "3.0"), {"GDK_BACKEND": "x11"}),
    "GTK 4": ((_SYSTEM, _FORM, "4.0"), {}),
    "GTK 4 with its own frame": ((_SYSTEM, _FORM, "4.0", "csd"), {}),
    "Qt": ((sys.executable, _FORM, "qt"), _QT),
}
ARRANGEMENTS = ("floating disable", "floating enable", "move position 640 px 320 px", "resize set 500 px 400 px")


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with composited("sway", tmp_path_factory.mktemp("sway")) as environment:
        yield environment


@pytest.fixture(scope="module")
def desk(session: dict[str, str]) -> Iterator[Desktop]:
    desk = open_desktop(environment=session)
    yield desk
    desk.close()


@contextmanager
def running(session: Mapping[str, str], command: tuple[str, ...], extra: Mapping[str, str]) -> Iterator[int]:
    """Run a program, and yield its process. Its window is gone at the end."""
    program = subprocess.Popen(
        command,
        env={**session, **extra},
        cwd=os.environ["HOME"],  # where some programs leave a file
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield program.pid
    finally:
        with suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
        program.wait(10)


def arrange(session: Mapping[str, str], how: str) -> None:
    subprocess.run(["swaymsg", f"[title=.] {how}"], env=dict(session), stdout=subprocess.DEVNULL, check=False)


async def found(desk: Desktop, name: str) -> Element | None:
    """What is called so, as a second look by its ref tells it; None if nothing is."""

    async def find(controller: DesktopController) -> Element | None:
        tree = controller.backend.accessibility
        good = [match for match in await tree.find(name) if match.score >= GOOD and match.element.name == name]
        return await tree.element(good[0].element.ref) if good else None

    return await desk.run(find)


async def coloured(desk: Desktop, colour: tuple[int, int, int]) -> Rect | None:
    """The rectangle around all pixels of a colour."""

    async def look(controller: DesktopController) -> Rect | None:
        screen = controller.backend.screen
        frame = screen.grab(screen.extent())
        pixels = numpy.frombuffer(frame.bgrx, numpy.uint8).reshape(frame.area.height, frame.area.width, 4)
        rows, columns = numpy.nonzero((pixels[:, :, 2::-1] == colour).all(axis=2))
        if not len(rows):
            return None
        left, top = int(columns.min()), int(rows.min())
        return Rect(left, top, int(columns.max()) - left + 1, int(rows.max()) - top + 1)

    return await desk.run(look)


async def click(desk: Desktop, at: Point) -> None:
    async def act(controller: DesktopController) -> None:
        controller.backend.pointer.move(at)
        controller.backend.pointer.button(Button.LEFT, down=True)
        controller.backend.pointer.button(Button.LEFT, down=False)

    await desk.run(act)


async def titles(controller: DesktopController) -> list[str]:
    return [window.title for window in controller.backend.windows.all()]


async def escape(controller: DesktopController) -> None:
    controller.backend.keyboard.key("Escape", down=True)
    controller.backend.keyboard.key("Escape", down=False)


async def agreed(desk: Desktop, name: str, colour: tuple[int, int, int], fits: Callable[[Rect, Rect], bool]) -> None:
    """Wait until a control is told where its colour is."""
    limit = time.monotonic() + _LIMIT_S
    while True:
        element, there = await found(desk, name), await coloured(desk, colour)
        if element and there and fits(element.box, there):
            return
        assert time.monotonic() < limit, (name, element and element.box, there)


async def below(desk: Desktop, name: str, top: int) -> Point:
    """The middle of a control, once it lies below that height."""
    limit = time.monotonic() + _LIMIT_S
    while not (element := await found(desk, name)) or element.box.y < top:
        assert time.monotonic() < limit, element
    return element.box.center


@pytest.mark.parametrize("kit", KITS)
async def test_a_control_is_told_where_its_pixels_are(desk: Desktop, session: dict[str, str], kit: str) -> None:
    with running(session, *KITS[kit]):
        await agreed(desk, "Press me", _MAGENTA, Rect.__eq__)
        for how in ARRANGEMENTS:
            arrange(session, how)
            await agreed(desk, "Press me", _MAGENTA, Rect.__eq__)


async def test_what_is_in_a_page_is_told_where_its_pixels_are(
    desk: Desktop, session: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "page.html").write_text(_PAGE)
    command = (*_CHROMIUM, "--force-renderer-accessibility", f"file://{tmp_path}/page.html")
    with running(session, command, {}):
        for how in ARRANGEMENTS:
            arrange(session, how)
            await agreed(desk, "Press me", _MAGENTA, Rect.__eq__)


@pytest.mark.parametrize("kit", KITS)
async def test_an_entry_of_a_menu_has_its_true_place_or_none(desk: Desktop, session: dict[str, str], kit: str) -> None:
    with running(session, *KITS[kit]):
        await agreed(desk, "Press me", _MAGENTA, Rect.__eq__)
        for how, top in (("floating enable", 200), ("move position 600 px 640 px", 640)):  # there it opens upwards
            arrange(session, how)
            await click(desk, await below(desk, "File", top))
            if kit.startswith("GTK 4"):
                await asyncio.sleep(1)
                assert await found(desk, "Beta") is None
            else:
                await agreed(desk, "Beta", _GREEN, lambda told, there: there.overlap(told) == told)
            await desk.run(escape)  # because XWayland does not hear of a click beside its windows


async def test_a_program_is_asked_what_lies_at_a_point_as_it_counts_points(
    desk: Desktop, session: dict[str, str], tmp_path: Path
) -> None:
    async def over(controller: DesktopController, element: Element, point: Point) -> str:
        return await controller.backend.accessibility.obstacle(element.ref, point)

    (tmp_path / "page.html").write_text(_PAGE)
    chromium = (*_CHROMIUM, "--force-renderer-accessibility", f"file://{tmp_path}/page.html")
    for (command, extra), names in ((KITS["Qt"], ("Press me", "File")), ((chromium, {}), ("Reload", "New Tab"))):
        with running(session, command, extra):
            await agreed(desk, "Press me", _MAGENTA, Rect.__eq__)
            arrange(session, "floating enable")
            await below(desk, "Press me", 280)
            one, other = [await found(desk, name) for name in names]
            assert one and other
            assert await desk.run(over, one, one.box.center) == ""
            assert names[1] in await desk.run(over, one, other.box.center)


@pytest.mark.parametrize("kit", ["GTK 3", "GTK 3 with its own frame", "Qt"])
async def test_an_entry_beside_its_window_is_chosen(desk: Desktop, session: dict[str, str], kit: str) -> None:
    with running(session, *KITS[kit]):
        await agreed(desk, "Press me", _MAGENTA, Rect.__eq__)
        arrange(session, "floating enable")
        await below(desk, "File", 200)
        arrange(session, "move position 600 px 640 px")
        await below(desk, "File", 640)
        done = await Tools(desk)("choose_menu", path="File > Beta")
        limit = time.monotonic() + _LIMIT_S
        while "Chose Beta" not in await desk.run(titles):
            assert time.monotonic() < limit, done.llm_echo
            await asyncio.sleep(0.1)


async def test_an_entry_without_a_place_is_chosen_by_its_action(desk: Desktop, session: dict[str, str]) -> None:
    with running(session, ("gtk4-print-editor",), {}):
        await below(desk, "File", 0)
        await Tools(desk)("choose_menu", path="File > Quit")
        limit = time.monotonic() + _LIMIT_S
        while await found(desk, "File"):
            assert time.monotonic() < limit
            await asyncio.sleep(0.1)


async def test_a_busy_program_has_not_answered(desk: Desktop, session: dict[str, str]) -> None:
    async def answered(controller: DesktopController, pid: int, limit_s: float) -> bool | None:
        tree = controller.backend.accessibility
        assert isinstance(tree, AtSpi)
        return await tree.answered(pid, limit_s)

    for kit in ("GTK 3", "GTK 4", "Qt"):
        with running(session, *KITS[kit]) as pid:
            await agreed(desk, "Press me", _MAGENTA, Rect.__eq__)
            assert await desk.run(answered, pid, 5.0) is True
            button = await found(desk, "Press me")
            assert button
            began = time.monotonic()
            await click(desk, button.box.center)
            assert await desk.run(answered, pid, 0.3) is False
            assert await desk.run(answered, pid, 5.0) is True
            assert 0.9 < time.monotonic() - began < 4
    assert await desk.run(answered, os.getpid(), 1.0) is None
