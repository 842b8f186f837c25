"""What happens to Wisp's eyes when the accessibility bus itself stops, dies or was never there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path

import psutil
import pytest

from app.base.errors import ToolFailed
from app.desktop.accessibility.atspi import AtSpi
from app.desktop.x11.virtual import VirtualDesktop
from tests.support import observer

pytestmark = pytest.mark.timeout(90)
ROOT = Path(__file__).parents[2]


@pytest.fixture
def environment() -> Iterator[Mapping[str, str]]:
    """A desktop of its own, because its bus will not survive."""
    with VirtualDesktop(800, 600) as desktop:
        yield desktop.environment


@pytest.fixture
async def eyes(environment: Mapping[str, str]) -> AsyncIterator[AtSpi]:
    eyes = AtSpi(environment)
    yield eyes
    await eyes.close()


def bus_of(environment: Mapping[str, str]) -> int:
    """The process id of the desktop's accessibility bus."""
    launchers = [child for child in psutil.Process().children() if child.name().startswith("at-spi-bus")]
    (launcher,) = [c for c in launchers if c.environ()["XDG_RUNTIME_DIR"] == environment["XDG_RUNTIME_DIR"]]
    (bus,) = launcher.children()
    return int(bus.pid)


async def names(eyes: AtSpi, query: str) -> list[str]:
    return [match.element.name for match in await eyes.find(query) if match.score > 0.9]


async def test_a_bus_that_hangs_is_an_error_and_works_again_when_it_goes_on(
    environment: Mapping[str, str], eyes: AtSpi
) -> None:
    with observer.started("galculator", app="galculator", environment=environment):
        assert await names(eyes, "7") == ["7"]
        bus = bus_of(environment)
        os.kill(bus, signal.SIGSTOP)
        try:
            with pytest.raises(ToolFailed, match="accessibility bus does not answer"):
                await eyes.find("7")
            with pytest.raises(ToolFailed, match="accessibility bus does not answer"):
                await eyes.focused()
        finally:
            os.kill(bus, signal.SIGCONT)
        assert await names(eyes, "7") == ["7"]


_COLD = """
import asyncio, os, sys, time

class Cold:
    def find_spec(self, name, path=None, target=None):
        if name == "dbus_fast.aio":
            time.sleep(3.0)  # a cold disk: longer than a bus may take

sys.meta_path.insert(0, Cold())
from app.desktop.accessibility.atspi import AtSpi

async def main():
    eyes = AtSpi(os.environ)
    print([match.element.name for match in await eyes.find("7") if match.score > 0.9])
    await eyes.close()

asyncio.run(main())
"""


@pytest.mark.long
def test_a_cold_import_is_not_taken_for_a_bus_that_does_not_answer(environment: Mapping[str, str]) -> None:
    with observer.started("galculator", app="galculator", environment=environment):
        command = [sys.executable, "-c", _COLD]
        done = subprocess.run(command, cwd=ROOT, env=dict(environment), capture_output=True, text=True, check=False)
    assert done.stdout == "['7']\n", done.stderr


@pytest.mark.long
async def test_after_the_bus_died_programs_on_a_new_one_are_found(environment: Mapping[str, str], eyes: AtSpi) -> None:
    with observer.started("galculator", app="galculator", environment=environment):
        assert await names(eyes, "7") == ["7"]
        os.kill(bus_of(environment), signal.SIGKILL)
        with pytest.raises(ToolFailed, match="accessibility bus does not answer"):
            await eyes.find("7")
    with observer.started("galculator", app="galculator", environment=environment):
        assert await names(eyes, "7") == ["7"]


async def test_without_a_session_bus_every_look_says_so() -> None:
    eyes = AtSpi({})
    with pytest.raises(ToolFailed, match="no session bus: DBUS_SESSION_BUS_ADDRESS is not set"):
        await eyes.find("7")
    await eyes.close()


async def test_an_address_where_nobody_listens_is_named() -> None:
    eyes = AtSpi({"DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent/bus"})
    with pytest.raises(ToolFailed, match="no connection to unix:path=/nonexistent/bus"):
        await eyes.find("7")
    await eyes.close()


@pytest.mark.long
async def test_an_address_that_is_none_is_named() -> None:
    eyes = AtSpi({"DBUS_SESSION_BUS_ADDRESS": "carrier-pigeon"})
    with pytest.raises(ToolFailed, match="no connection to carrier-pigeon"):
        await eyes.find("7")
    await eyes.close()


async def test_closing_after_the_session_is_gone_is_no_error() -> None:
    with VirtualDesktop(640, 480) as desktop:
        eyes = AtSpi(desktop.environment)
        assert await eyes.find("Anything") == ()
    await eyes.close()
