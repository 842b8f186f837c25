"""Every test of the presence runs on a real X server, never offscreen."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.desktop.x11.virtual import VirtualDesktop
from app.settings.store import Settings
from app.ui import application, eventloop
from app.ui.presence import Presence
from app.ui.theme.appearance import Look
from tests.support.compositor import composited
from tests.support.waiting import within

_LIMIT_MS = 45_000


@pytest.fixture(autouse=True)
def on_a_desktop(ended_before_the_server: None, every_press_counts: None, nothing_left_open: None) -> None:
    """What the presence has in the tests of features, all tests here have."""


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


def run_and_undress(qapp: QApplication, look: Look, presence: Presence, story: Coroutine[Any, Any, int]) -> None:
    """Run a story in which the look changes, and give Qt's widgets the usual look back."""
    try:
        eventloop.run_until(qapp, within(story))
    finally:
        application.look_of(qapp, Settings({}, {}), look)
    presence.orb.close()
