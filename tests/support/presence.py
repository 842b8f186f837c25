"""The presence on the private desktop, for tests of its parts and for those of features: it never runs offscreen."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import Any

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from app.desktop.x11.virtual import VirtualDesktop
from app.settings.store import Settings
from app.ui import application, eventloop, garbage
from app.ui.approvals.devices import WITNESS, EveryPress
from app.ui.cards.kinds import CardKind
from app.ui.machine import Collection
from app.ui.presence import Presence
from app.ui.theme.appearance import Look
from tests.support.pages import list_pages
from tests.support.waiting import within
from tests.ui.fake_agent import FakeAgent


@pytest.fixture(scope="session")
def ended_before_the_server(desktop: VirtualDesktop, qapp: QApplication) -> Iterator[None]:
    """Qt hangs up before the X server goes: it would end the process otherwise."""
    garbage.collect_between_events()
    yield
    qapp.shutdown()


@pytest.fixture
def every_press_counts() -> Iterator[None]:
    """Qt's own test presses come from no device; what tells devices apart has tests of its own."""
    WITNESS.use(EveryPress())
    yield
    WITNESS.use(None)


@pytest.fixture
def nothing_left_open(qapp: QApplication) -> Iterator[None]:
    """A window that one test leaves open would cover what the next one looks at."""
    yield
    for window in QApplication.topLevelWidgets():
        window.hide()


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
def kinds() -> Mapping[str, CardKind]:
    """The kinds of cards that features bring. A test that needs some has a fixture of its own."""
    return {}


@pytest.fixture
def presence(
    still: Look,
    collections: Mapping[str, Collection],
    kinds: Mapping[str, CardKind],
    ended_before_the_server: None,
    every_press_counts: None,
    nothing_left_open: None,
) -> Iterator[Presence]:
    made = Presence(still, collections=collections, kinds=kinds, pages=list_pages())
    made.show()
    yield made
    made.close()
    made.orb.close()
    # A hidden window still counts as focused where no other window took the keyboard: the next test would find it.
    if (focused := QGuiApplication.focusWindow()) is not None:
        focused.destroy()


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
