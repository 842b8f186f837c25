"""Wisp on a real KWin: its windows, its keys, and what its pictures show."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.base.geometry import Rect
from app.desktop.backends import Window
from app.desktop.choose import open_desktop
from app.desktop.controller import DesktopController
from app.desktop.desktop import Desktop
from app.desktop.keys import chord
from app.desktop.wayland.bus import Place, SessionBus
from app.desktop.wayland.heard_key import HeardKey
from app.desktop.wayland.kwin import KwinKey, KwinWindows
from tests.support.compositors import composited, inside, is_installed
from tests.support.consent import answering
from tests.support.observer import text_of
from tests.support.waiting import eventually

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not is_installed("kwin"), reason="KWin is not installed; scripts/setup portals brings it"),
]

_SHORTCUTS = Place("org.kde.kglobalaccel", "/component/kwin", "org.kde.kglobalaccel.Component")
_NAMES = Place("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
_STOP, _QUEUE = "Wisp: stop (Ctrl+Alt+Escape)", "wisp.key_stop_Control_L_Alt_L_Escape"
_SCRIPTING = Place("org.kde.KWin", "/Scripting", "org.kde.kwin.Scripting")


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    with composited("kwin", tmp_path / "home") as found:
        yield found


@pytest.fixture
def bus(environment: dict[str, str]) -> Iterator[SessionBus]:
    opened = SessionBus(environment)
    yield opened
    opened.close()


@pytest.fixture
def listing(bus: SessionBus) -> Iterator[KwinWindows]:
    made = KwinWindows(bus)
    made.follow(lambda: None)
    yield made
    made.leave()


@pytest.fixture
def editor(environment: dict[str, str]) -> Iterator[None]:
    with subprocess.Popen(inside("mousepad"), env=environment, stderr=subprocess.DEVNULL) as program:
        yield
        program.terminate()


def one(listing: KwinWindows, is_so: Callable[[Window], bool] = lambda _: True) -> Window:
    """Wait for the only window to be so."""
    assert eventually(lambda: [is_so(window) for window in listing.windows()] == [True]), listing.windows()
    return listing.windows()[0]


def test_a_window_goes_where_it_is_placed_however_it_lay_before(
    bus: SessionBus, listing: KwinWindows, editor: None
) -> None:
    window = one(listing, lambda window: window.is_active)
    assert window.app == "org.xfce.mousepad"
    wanted = Rect(130, 140, 610, 460)
    for shortcut in ("Window Maximize", "Window Fullscreen", "Window Quick Tile Left"):
        bus.call(_SHORTCUTS, "invokeShortcut", "s", shortcut)
        one(listing, lambda window: window.area.height == 800)
        listing.place(window.ref, wanted)
        placed = one(listing, lambda window: window.area == wanted)
        assert placed.content
        assert placed.content.overlap(wanted) == placed.content
    listing.minimise(window.ref)
    one(listing, lambda window: window.is_minimised)
    listing.focus(window.ref)
    one(listing, lambda window: window.is_active and not window.is_minimised)
    listing.close(window.ref)
    assert eventually(lambda: not listing.windows())


def test_a_key_is_heard_until_it_is_taken_back(environment: dict[str, str], bus: SessionBus) -> None:
    def shortcuts() -> list[str]:
        return [name for name in bus.call(_SHORTCUTS, "shortcutNames") if "Wisp" in name]

    def hear(keys: str, who: str) -> HeardKey:
        return HeardKey(environment, "stop", chord(keys), lambda: heard.append(who), lost.append)

    heard, lost = list[str](), list[str]()
    one, other = hear("ctrl+alt+escape", "one"), hear("ctrl+alt+escape", "other")
    taken = hear("ctrl+super+escape", "taken")
    assert eventually(lambda: lost == ["KDE (Kill Window)"])
    taken.close()
    assert eventually(lambda: shortcuts() == [_STOP])
    assert eventually(lambda: len(bus.call(_NAMES, "ListQueuedOwners", "s", _QUEUE)) == 2)
    bus.call(_SHORTCUTS, "invokeShortcut", "s", _STOP)
    assert eventually(lambda: sorted(heard) == ["one", "other"])
    one.close()
    bus.call(_SHORTCUTS, "invokeShortcut", "s", _STOP)
    assert eventually(lambda: sorted(heard) == ["one", "other", "other"])
    other.close()
    assert not shortcuts()


def test_the_key_of_a_wisp_that_was_killed_goes_at_the_next_press(environment: dict[str, str], bus: SessionBus) -> None:
    killed = SessionBus(environment)
    KwinKey(killed, "stop", chord("ctrl+alt+escape"), lambda: None).grab()
    killed.close()
    assert _STOP in bus.call(_SHORTCUTS, "shortcutNames")
    bus.call(_SHORTCUTS, "invokeShortcut", "s", _STOP)
    assert eventually(lambda: _STOP not in bus.call(_SHORTCUTS, "shortcutNames"))


def test_the_script_of_a_wisp_that_was_killed_goes_at_the_next_window(
    environment: dict[str, str], bus: SessionBus, listing: KwinWindows
) -> None:
    killed = SessionBus(environment)
    KwinWindows(killed).windows()
    script = f"wisp{killed.name.replace(':', '-')}-windows"
    killed.close()
    assert bus.call(_SCRIPTING, "isScriptLoaded", "s", script)
    with subprocess.Popen(inside("mousepad"), env=environment, stderr=subprocess.DEVNULL) as program:
        assert eventually(lambda: not bus.call(_SCRIPTING, "isScriptLoaded", "s", script))
        program.terminate()


@pytest.fixture
def desktop(environment: dict[str, str]) -> Iterator[Desktop]:
    """A desktop that the person lets Wisp see and use."""

    async def begin(controller: DesktopController) -> None:
        assert controller.backend.access
        await controller.backend.access.open()

    opened = open_desktop(environment=environment)
    with answering(environment, allow=True):
        asyncio.run(opened.run(begin))
    yield opened
    opened.close()


def test_wisp_types_where_the_keyboard_is(environment: dict[str, str], desktop: Desktop, editor: None) -> None:
    async def has_keyboard(controller: DesktopController) -> bool:
        return any(window.is_active for window in controller.backend.windows.all())

    async def type_text(controller: DesktopController) -> None:
        controller.backend.keyboard.type_text("Hello, KWin!")

    assert eventually(lambda: asyncio.run(desktop.run(has_keyboard)))
    asyncio.run(desktop.run(type_text))
    assert eventually(lambda: text_of("mousepad", environment=environment) == "Hello, KWin!")
