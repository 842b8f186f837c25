"""Every test of the presence runs on a real X server, never offscreen."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import Any

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.desktop.x11.virtual import VirtualDesktop
from app.settings.store import Settings
from app.ui import application, eventloop, garbage
from app.ui.approvals.devices import WITNESS, EveryPress
from app.ui.machine import Collection
from app.ui.presence import Presence
from app.ui.theme.appearance import Look
from tests.support.compositor import composited
from tests.support.waiting import within
from tests.ui.fake_agent import FakeAgent

_LIMIT_MS = 45_000


@pytest.fixture(scope="session")
def qapp_args(desktop: VirtualDesktop) -> list[str]:
    """Asked for by pytest-qt before it makes the application: the private desktop is up by then."""
    return ["wisp-tests"]


@pytest.fixture(scope="session", autouse=True)
def ended_before_the_server(desktop: VirtualDesktop, qapp: QApplication) -> Iterator[None]:
    """Qt hangs up before the X server goes: it would end the process otherwise."""
    garbage.collect_between_events()
    yield
    qapp.shutdown()


@pytest.fixture(autouse=True)
def every_press_counts() -> Iterator[None]:
    """Qt's own test presses come from no device; what tells devices apart has tests of its own."""
    WITNESS.use(EveryPress())
    yield
    WITNESS.use(None)


@pytest.fixture(autouse=True)
def nothing_left_open(qapp: QApplication) -> Iterator[None]:
    """A window that one test leaves open would cover what the next one looks at."""
    yield
    for window in QApplication.topLevelWidgets():
        window.hide()


@pytest.fixture(scope="module")
def compositing(request: pytest.FixtureRequest, desktop: VirtualDesktop) -> Iterator[None]:
    """For modules that use `with_and_without_a_compositor`."""
    if not request.param:
        yield
        return
    with composited(desktop.environment):
        yield


_BARE, _COMPOSITED = pytest.param(False, id="bare"), pytest.param(True, id="composited")


def _compositing(*values: object) -> list[pytest.MarkDecorator]:
    which = pytest.mark.parametrize("compositing", values, indirect=True, scope="module")
    return [pytest.mark.usefixtures("compositing"), which]


with_and_without_a_compositor = _compositing(_BARE, _COMPOSITED)
without_a_compositor = _compositing(_BARE, pytest.param(True, id="composited", marks=pytest.mark.long))
"""What a compositor changes in nothing that the core of the tests looks at."""


class PatientBot(QtBot):
    """pytest-qt's robot with limits that only a fault reaches, also where many programs share two cores."""

    def waitUntil(self, callback: Callable[[], object], *, timeout: int = _LIMIT_MS) -> None:
        super().waitUntil(callback, timeout=timeout)

    def waitSignal(self, signal: object, *, timeout: int = _LIMIT_MS, **others: Any) -> Any:
        return super().waitSignal(signal, timeout=timeout, **others)

    def waitExposed(self, widget: QWidget, *, timeout: int = _LIMIT_MS) -> Any:
        return super().waitExposed(widget, timeout=timeout)

    def waitActive(self, widget: QWidget, *, timeout: int = _LIMIT_MS) -> Any:
        return super().waitActive(widget, timeout=timeout)


@pytest.fixture
def qtbot(qapp: QApplication, request: pytest.FixtureRequest) -> QtBot:
    return PatientBot(request)


@pytest.fixture
def own_bus(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A session bus on which nothing starts by itself: the desktop's own starts a notification service, for example,
    once some test notifies, and that has the name from then on."""
    command = ["dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address=1"]
    environment = {**os.environ, "XDG_DATA_DIRS": "/nonexistent", "XDG_DATA_HOME": "/nonexistent"}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as daemon:
        assert daemon.stdout is not None
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", daemon.stdout.readline().strip())
        yield
        daemon.terminate()


@pytest.fixture
def look(qapp: QApplication) -> Iterator[Look]:
    made = application.look_of(qapp, Settings({}, {}))
    yield made
    made.around.close()


@pytest.fixture
def still(qapp: QApplication) -> Iterator[Look]:
    """A look with reduced motion: words appear at once."""
    made = application.look_of(qapp, Settings({"presence.reduced_motion": True}, {}))
    yield made
    made.around.close()


@pytest.fixture
def agent() -> FakeAgent:
    return FakeAgent()


@pytest.fixture
def collections() -> Mapping[str, Collection]:
    """What the presence's pages list. A test that needs some has a fixture of its own."""
    return {}


@pytest.fixture
def presence(still: Look, collections: Mapping[str, Collection]) -> Iterator[Presence]:
    made = Presence(still, collections=collections)
    made.show()
    yield made
    made.close()
    made.orb.close()
    # A hidden window still counts as focused where no other window took the keyboard: the next test would find it.
    if (focused := QGuiApplication.focusWindow()) is not None:
        focused.destroy()


def run_and_undress(qapp: QApplication, look: Look, presence: Presence, story: Coroutine[Any, Any, int]) -> None:
    """Run a story in which the look changes, and give Qt's widgets the usual look back."""
    try:
        eventloop.run_until(qapp, within(story))
    finally:
        application.look_of(qapp, Settings({}, {}), look)
    presence.orb.close()


Drive = Callable[[Coroutine[Any, Any, None]], None]


@pytest.fixture
def drive(qapp: QApplication, presence: Presence, agent: FakeAgent) -> Drive:
    """Runs a coroutine that does what a person does, with the agent attached."""

    async def attached(script: Coroutine[Any, Any, None]) -> int:
        presence.attach(agent)
        try:
            await within(script)
        finally:
            presence.detach()
        return 0

    return lambda script: _ended(eventloop.run_until(qapp, attached(script)))


def _ended(code: int) -> None:
    assert code == 0
