"""An address that a running program takes is shown somewhere, or said to be handed over; never a failure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from app.base.errors import ToolFailed
from app.base.geometry import Rect
from app.desktop.backends import App, Backend, Launched, Window
from app.desktop.headless import HeadlessDesktop
from app.desktop.programs import Opened, Opener
from app.desktop.takeover import StopFlag

BROWSER = Window("w1", "Start", "browser", Rect(0, 0, 400, 300), 7, is_active=True)
EDITOR = Window("w2", "Notes", "editor", Rect(0, 0, 400, 300), 8)


class _Clock:
    """Every look at the clock takes a fifth of a second."""

    def __init__(self) -> None:
        self._now = 0.0

    def now(self) -> float:
        self._now += 0.2
        return self._now

    def wall(self) -> float:
        return self._now


class _Apps:
    """Programs that end at once with `words`, after `happens` to the windows."""

    def __init__(self, happens: Callable[[], None], words: str | None) -> None:
        self._happens = happens
        self._words = words

    def installed(self) -> tuple[App, ...]:
        return ()

    def command(self, name: str) -> App | None:
        return App(name, name)

    def preferred(self, asked: str) -> tuple[str, ...]:
        return ()

    def launch(self, app: App, arguments: Sequence[str] = ()) -> Launched:
        return self.open(app.name)

    def open(self, address: str) -> Launched:
        self._happens()
        return Launched(9, address)

    def how_it_ended(self, launched: Launched) -> str | None:
        return self._words


class _Room:
    def __init__(self) -> None:
        self.headless = HeadlessDesktop()
        self.headless.opened[:] = [BROWSER, EDITOR]

    def opener(self, happens: Callable[[], None] = lambda: None, words: str | None = "") -> Opener:
        backend: Backend = replace(self.headless.backend(StopFlag()), apps=_Apps(happens, words))
        return Opener(backend, StopFlag(), _Clock())

    def retitle(self, title: str) -> None:
        self.headless.opened[0] = replace(BROWSER, title=title)


async def test_a_page_in_a_new_tab_is_found_by_the_windows_new_title() -> None:
    room = _Room()
    opened = await room.opener(lambda: room.retitle("Page")).open_address("https://a.example/")
    assert opened == Opened("https://a.example/", replace(BROWSER, title="Page"), is_new=False)


@pytest.mark.parametrize("words", ["", None])
async def test_an_address_that_leaves_no_trace_was_handed_over(words: str | None) -> None:
    opened = await _Room().opener(words=words).open_address("https://a.example/")
    assert opened == Opened("https://a.example/", None, is_new=False)


async def test_an_opener_that_fails_is_a_failure() -> None:
    with pytest.raises(ToolFailed, match="no browser"):
        await _Room().opener(words="exit code 3. no browser").open_address("https://a.example/")


async def test_a_program_without_a_window_is_a_failure() -> None:
    with pytest.raises(ToolFailed, match="no window of it appeared"):
        await _Room().opener().open("player")
