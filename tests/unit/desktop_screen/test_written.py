"""Refs of text that was read off windows: the same line keeps its ref, and what is gone is said to be gone."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from app.base.errors import ToolFailed, ToolMisuse
from app.base.geometry import Rect
from app.desktop.accessibility.matching import Description
from app.desktop.backends import Frame, Window
from app.desktop.headless import HeadlessDesktop
from app.desktop.ocr.elements import OcrElements, is_written
from app.desktop.ocr.rapid import TextBox
from app.desktop.takeover import StopFlag

_WINDOW = Window("w1", "Ops", "xterm", Rect(100, 100, 400, 200), 7)


@dataclass
class _Screen:
    """A screen with lines of text: each is drawn in a colour that its words decide, so that it has looks."""

    lines: tuple[TextBox, ...]
    reads: int = 0

    async def read_text(self, frame: Frame) -> tuple[TextBox, ...]:
        self.reads += 1
        return tuple(line for line in self.lines if frame.area.contains(line.box.center))

    async def close(self) -> None: ...

    async def grab(self, area: Rect) -> Frame:
        pixels = bytearray(area.size.area * 4)
        for line in self.lines:
            if shown := line.box.overlap(area):
                colour = bytes((sum(line.text.encode()) % 256, 0, 0, 0))
                for y in range(shown.y - area.y, shown.bottom - area.y):
                    start = (y * area.width + shown.x - area.x) * 4
                    pixels[start : start + shown.width * 4] = colour * shown.width
        return Frame(area, bytes(pixels))


class _Room:
    def __init__(self, *lines: TextBox) -> None:
        self.screen = _Screen(lines)
        self.headless = HeadlessDesktop()
        self.headless.opened[:] = [_WINDOW]
        self.written = OcrElements(self.headless.backend(StopFlag()), self.screen.grab, self.screen)

    async def first(self) -> str:
        return (await self.written.inside(self.headless.opened[0]))[0].ref

    def scroll(self, dy: int) -> None:
        lines = self.screen.lines
        self.screen.lines = tuple(replace(line, box=_down(line.box, dy)) for line in lines)


def _down(box: Rect, dy: int, dx: int = 0) -> Rect:
    return Rect(box.x + dx, box.y + dy, box.width, box.height)


def _line(text: str, y: int = 120) -> TextBox:
    return TextBox(text, Rect(120, y, 10 * len(text), 20), 1.0)


async def test_a_line_that_is_read_again_keeps_its_ref() -> None:
    room = _Room(_line("Roll back"), _line("Deploy", 160))
    first = await room.written.inside(_WINDOW)
    assert [(line.ref, line.name, line.window, line.app) for line in first] == [
        ("t1", "Roll back", "Ops", "xterm"),
        ("t2", "Deploy", "Ops", "xterm"),
    ]
    assert await room.written.inside(_WINDOW) == first


async def test_a_line_that_stands_still_is_found_without_reading() -> None:
    room = _Room(_line("Roll back"))
    ref = await room.first()
    assert (await room.written.element(ref)).box == Rect(120, 120, 90, 20)
    assert room.screen.reads == 1


async def test_a_line_goes_with_its_window() -> None:
    room = _Room(_line("Roll back"))
    ref = await room.first()
    room.headless.opened[:] = [replace(_WINDOW, area=_down(_WINDOW.area, 50, dx=300))]
    room.screen.lines = (TextBox("Roll back", Rect(420, 170, 90, 20), 1.0),)
    assert (await room.written.element(ref)).box == Rect(420, 170, 90, 20)
    assert room.screen.reads == 1


async def test_a_line_that_was_scrolled_is_found_anew_under_its_ref() -> None:
    room = _Room(_line("Roll back"), _line("Deploy", 160))
    ref = await room.first()
    room.scroll(60)
    found = await room.written.element(ref)
    assert (found.ref, found.box) == (ref, Rect(120, 180, 90, 20))
    assert room.screen.reads == 2
    assert await room.written.element(ref) == found
    assert room.screen.reads == 2


async def test_a_line_that_is_gone_is_said_with_what_is_like_it() -> None:
    room = _Room(_line("Roll back"))
    ref = await room.first()
    room.screen.lines = (_line("Roll backwards now"),)
    with pytest.raises(ToolFailed, match=r"t1 \(text 'Roll back'\) no longer stands there. Nearest now: t2 'Roll back"):
        await room.written.element(ref)


async def test_a_line_of_a_window_that_was_closed_is_said_to_be_gone() -> None:
    room = _Room(_line("Roll back"))
    ref = await room.first()
    room.headless.opened.clear()
    with pytest.raises(ToolFailed, match="its window is closed or minimised"):
        await room.written.element(ref)


async def test_a_text_that_was_never_read_is_a_mistake_of_the_call() -> None:
    with pytest.raises(ToolMisuse, match="no text 't9'"):
        await _Room().written.element("t9")


async def test_a_part_of_a_line_has_a_ref_of_its_own() -> None:
    room = _Room(_line("File Edit View"))
    [(element, score)] = await room.written.fitting(_WINDOW, (Description("edit"),))
    assert (element.name, element.box) == ("edit", Rect(170, 120, 40, 20))
    assert 0.9 < score < 0.94
    assert (await room.written.element(element.ref)).box == element.box


async def test_the_same_words_at_two_places_are_two_lines() -> None:
    room = _Room(_line("Open"), _line("Open", 200))
    assert [line.ref for line in await room.written.inside(_WINDOW)] == ["t1", "t2"]


async def test_the_oldest_lines_are_forgotten() -> None:
    room = _Room(_line("First"))
    ref = await room.first()
    for number in range(2000):
        room.screen.lines = (_line(f"Line {number}"),)
        await room.written.inside(_WINDOW)
    with pytest.raises(ToolMisuse, match=f"no text '{ref}'"):
        await room.written.element(ref)
    room.screen.lines = (_line("First"), _line("Line 1999", 160))
    assert [line.ref for line in await room.written.inside(_WINDOW)] == ["t2002", "t2003"]


def test_refs_of_text_are_told_from_those_of_elements() -> None:
    assert [ref for ref in ("t3", "e3", "") if is_written(ref)] == ["t3"]
