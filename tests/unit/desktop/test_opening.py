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
DIALOG = Window("w3", "Save As", "browser", Rect(50, 50, 200, 100), 7, is_active=True, is_dialog=True)


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

    def command_line(self, app: App) -> tuple[str, ...]:
        return (app.ref,)

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


async def test_the_dialog_of_a_running_program_that_keeps_the_keyboard_is_told() -> None:
    room = _Room()
    behind = replace(BROWSER, is_active=False)
    room.headless.opened[:] = [DIALOG, behind]

    def happens() -> None:
        room.headless.opened[:] = [DIALOG, replace(behind, title="Page")]

    opened = await room.opener(happens).open_address("https://a.example/")
    assert opened == Opened("https://a.example/", replace(behind, title="Page"), is_new=False, dialog=DIALOG)


@pytest.mark.parametrize(
    ("now", "front"),
    [
        ([BROWSER], None),
        ([DIALOG, replace(BROWSER, is_active=False)], DIALOG),
        ([replace(EDITOR, is_active=True), replace(BROWSER, is_active=False)], replace(EDITOR, is_active=True)),
        ([replace(BROWSER, ref="w9", title="Next")], None),
        ([replace(BROWSER, ref="w9", title="Second"), replace(BROWSER, is_active=False)], None),
    ],
    ids=["it has the keyboard", "a late dialog", "another program", "replaced", "a second window of it"],
)
async def test_what_took_the_keyboard_from_the_opened_window_is_told_once(
    now: list[Window], front: Window | None
) -> None:
    room = _Room()
    opener = room.opener(lambda: room.retitle("Page"))
    await opener.open_address("https://a.example/")
    room.headless.opened[:] = now
    strayed = opener.strayed()
    assert (strayed[1] if strayed else None, opener.strayed()) == (front, None)


async def test_after_another_act_the_keyboard_may_be_anywhere() -> None:
    room = _Room()
    opener = room.opener(lambda: room.retitle("Page"))
    await opener.open_address("https://a.example/")
    room.headless.opened[:] = [DIALOG]
    opener.acted()
    assert opener.strayed() is None


async def test_a_closed_window_whose_number_another_program_got_is_no_longer_one_that_was_made() -> None:
    room, new = _Room(), Window("w9", "Sums", "calculator", Rect(0, 0, 90, 90), 9, is_active=True)
    opener = room.opener(lambda: room.headless.opened.insert(0, new))
    await opener.open_address("https://example.com/")
    assert opener.made_among([new, BROWSER]) == {"w9"}
    assert opener.made_among([replace(new, pid=77), BROWSER]) == set()
