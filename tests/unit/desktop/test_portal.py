"""One portal session: what the person answers, what is remembered, and what reaches the compositor."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from app.base.errors import NeedsPerson, ToolFailed
from app.base.geometry import Point, Rect
from app.desktop.wayland.bus import SessionBus
from app.desktop.wayland.hands import PortalHands, PortalKeyboard
from app.desktop.wayland.portal import PortalSession, Stream, is_offered, versions
from app.desktop.wayland.portal_clipboard import PortalClipboard
from app.settings import store
from tests.support.portals import Portals
from tests.support.waiting import until, within

_TEXT = "text/plain;charset=utf-8"


class Opened:
    """What is made of a session here: the hands alone."""

    def __init__(self) -> None:
        self.hands = PortalHands(lambda: Point(640, 400))
        self.streams: tuple[Stream, ...] = ()

    async def begin(self, connect: Callable[[], int], streams: tuple[Stream, ...], hands: int) -> None:
        for _ in streams:
            os.close(connect())
        self.streams = streams
        self.hands.begin(hands)

    def end(self) -> None:
        self.streams = ()
        self.hands.end()


class Place:
    def __init__(self, address: str) -> None:
        self.bus = SessionBus({}, address)
        self.opened = Opened()
        self.session = PortalSession(self.bus, self.opened)
        self.clipboard = PortalClipboard(self.session)
        self.questions: list[object] = []
        self.session.on_question(self.questions.append)


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    command = ["dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address=1"]
    environment = {**os.environ, "XDG_DATA_DIRS": "/nonexistent", "XDG_DATA_HOME": "/nonexistent"}
    monkeypatch.setenv("HOME", str(tmp_path))
    kept = dict[str, str]()
    monkeypatch.setattr(store, "key_of", lambda name: kept.get(name, ""))
    monkeypatch.setattr(store, "keep", kept.__setitem__)
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as daemon:
        assert daemon.stdout is not None
        yield daemon.stdout.readline().strip()
        daemon.terminate()


def story(address: str, told: Callable[[Place], Awaitable[None]]) -> None:
    async def run() -> None:
        place = Place(address)
        place.bus.watch(asyncio.get_running_loop())
        try:
            await told(place)
        finally:
            place.session.close()
            place.bus.close()

    asyncio.run(within(run()))


def test_the_person_is_asked_once_and_what_they_allowed_is_kept(address: str) -> None:
    async def told(place: Place) -> None:
        assert is_offered(place.bus)
        assert versions(place.bus) == {"RemoteDesktop": 2, "ScreenCast": 5, "Clipboard": 1, "GlobalShortcuts": 1}
        await place.session.open()
        assert place.opened.streams == (Stream(49, Rect(0, 0, 1280, 800)),)
        place.session.close()
        await place.session.open()

    with Portals(address) as portals:
        story(address, told)
        assert portals.questions == 1


def test_a_refusal_counts_until_the_person_asks_anew(address: str) -> None:
    async def told(place: Place) -> None:
        for _ in range(2):
            with pytest.raises(NeedsPerson, match="answered with no"):
                await place.session.open()
        assert portals.questions == 1
        portals.allows = True
        place.session.asked_anew()
        await place.session.open()
        assert len(place.questions) == 2

    with Portals(address, allows=False) as portals:
        story(address, told)


def test_a_stopped_task_takes_its_question_back(address: str) -> None:
    async def told(place: Place) -> None:
        opening = asyncio.ensure_future(place.session.open())
        await until(lambda: portals.questions)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        await until(lambda: not portals.sessions)

    with Portals(address, allows=None) as portals:
        story(address, told)


def test_without_remote_interaction_the_person_is_told(address: str) -> None:
    async def told(place: Place) -> None:
        with pytest.raises(NeedsPerson, match="Allow Remote Interaction"):
            await place.session.open()

    with Portals(address, gives_input=False):
        story(address, told)


def test_text_is_typed_in_the_layout_that_is_used(address: str) -> None:
    async def told(place: Place) -> None:
        await place.session.open()
        keyboard = PortalKeyboard(place.opened.hands, lambda: "", lambda _may_have_moved: None)
        keyboard.type_text("zy Z!")
        portals.input.choose_layout(1)
        await until(lambda: keyboard.can_type("ß"))
        keyboard.type_text("zy Größe: 5 €")
        place.opened.hands.sync()
        assert (portals.input.keyboard.typed, portals.input.fault) == ("zy Z!zy Größe: 5 €", "")

    with Portals(address, layouts="us,de") as portals:
        story(address, told)


def test_a_locked_screen_takes_no_input_and_an_open_one_does_again(address: str) -> None:
    async def told(place: Place) -> None:
        await place.session.open()
        hands = place.opened.hands
        hands.move(Point(1, 1), 0)
        hands.sync()
        portals.input.pause()
        hands.sync()
        with pytest.raises(ToolFailed, match="takes no input"):
            hands.button(272, down=True, ahead_ms=0)
        portals.input.resume()
        hands.sync()
        hands.button(272, down=True, ahead_ms=0)
        hands.button(272, down=False, ahead_ms=0)
        hands.notch(0, -1, 0)
        hands.sync()
        button = [("button", 272, 1), ("button", 272, 0)]
        assert portals.input.events == [("motion", 1.5, 1.5), *button, ("scroll", 0, -120)]

    with Portals(address) as portals:
        story(address, told)


def test_sharing_that_was_stopped_is_not_begun_again_by_itself(address: str) -> None:
    async def told(place: Place) -> None:
        await place.session.open()
        portals.stop_sharing()
        await until(lambda: not place.session.path)
        with pytest.raises(NeedsPerson, match="ended Wisp's access"):
            await place.session.open()
        place.session.asked_anew()
        await place.session.open()
        assert portals.questions == 1

    with Portals(address) as portals:
        story(address, told)


def test_the_clipboard_goes_both_ways(address: str) -> None:
    async def told(place: Place) -> None:
        await place.session.open()
        portals.copy({_TEXT: "Grüße".encode()})
        await until(lambda: place.clipboard._kinds)
        assert await place.clipboard.read() == "Grüße"
        await place.clipboard.write("from here" * 20_000)
        assert await asyncio.to_thread(portals.paste, _TEXT) == b"from here" * 20_000
        assert await asyncio.to_thread(portals.paste, "image/png") is None

    with Portals(address) as portals:
        story(address, told)
