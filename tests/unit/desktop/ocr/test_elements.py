"""Refs of text that was read off windows: the same line keeps its ref, and what is gone is said to be gone."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from app.base.errors import ToolFailed, ToolMisuse
from app.base.facts import Became, Came, Fact, Named, Went
from app.base.geometry import Rect
from app.desktop.accessibility.matching import Description, normal
from app.desktop.backends import Frame, Window
from app.desktop.capture import part_of
from app.desktop.elements import Accessibility, Element, NoAccessibility, Outline, OutlineRequest
from app.desktop.headless import HeadlessDesktop
from app.desktop.ocr.elements import SIZEABLE, OcrElements, empty_parts, is_written
from app.desktop.ocr.evidence import rewritten, texts_that_fit
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
        seen = (line for line in self.lines if frame.area.contains(line.box.center))
        return tuple(line for line in seen if any(part_of(frame, line.box.overlap(frame.area) or line.box).bgrx))

    async def close(self) -> None: ...

    async def grab(self, area: Rect) -> Frame:
        pixels = bytearray(area.size.area * 4)
        for line in self.lines:
            if shown := line.box.overlap(area):
                colour = bytes((128 + sum(line.text.encode()) % 128, 0, 0, 0))
                for y in range(shown.y - area.y, shown.bottom - area.y):
                    start = (y * area.width + shown.x - area.x) * 4
                    pixels[start : start + shown.width * 4] = colour * shown.width
        return Frame(area, bytes(pixels))


class _Room:
    def __init__(self, *lines: TextBox, tree: Accessibility | None = None) -> None:
        self.screen = _Screen(lines)
        self.headless = HeadlessDesktop(accessibility=tree)
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


class _Tree(NoAccessibility):
    """A program that tells these elements of itself."""

    def __init__(self, *told: tuple[str, str, Rect]) -> None:
        super().__init__()
        self.outlined = Outline("", tuple(_element(*one) for one in told))

    async def outline(self, request: OutlineRequest) -> Outline:
        return self.outlined


def _element(role: str, name: str, box: Rect) -> Element:
    return Element("e1", role, name, "", box, frozenset(), "Ops", "xterm", 7)


_FRAME = ("frame", "Ops", _WINDOW.area)
_BAR = ("label", "Deployments of today", Rect(100, 100, 400, 40))


async def test_what_a_password_field_shows_is_never_read() -> None:
    lines = (_line("hunter2", 140), _line("Sign in", 200))
    room = _Room(*lines, tree=_Tree(("password text", "Password", Rect(110, 130, 300, 40))))
    assert [line.name for line in await room.written.inside(_WINDOW)] == ["Sign in"]
    assert await room.written.fitting(_WINDOW, (Description("hunter2"),)) == []


@pytest.mark.parametrize(
    ("told", "lines", "found"),
    [
        ((_FRAME, _BAR), (_line("letter.txt", 200),), [Rect(112, 192, 116, 36)]),
        (
            (_FRAME, _BAR, ("panel", "Files", Rect(100, 140, 400, 160))),
            (_line("letter.txt", 200),),
            [Rect(112, 192, 116, 36)],
        ),
        ((_FRAME, _BAR, ("list item", "letter.txt", Rect(100, 140, 400, 160))), (_line("letter.txt", 200),), []),
        ((_FRAME, _BAR, ("text", "", Rect(100, 140, 400, 160))), (_line("letter.txt", 200),), []),
        ((_FRAME, _BAR), (_line("Deployments", 110),), []),
        ((_FRAME, _BAR), (TextBox("-", Rect(120, 200, 300, 2), 1.0),), []),
    ],
    ids=["silent", "a named panel tells nothing", "told", "an empty field", "blank", "a mere line"],
)
async def test_only_parts_that_are_silent_and_not_blank_are_to_be_read(
    told: tuple[tuple[str, str, Rect], ...], lines: tuple[TextBox, ...], found: list[Rect]
) -> None:
    tree = _Tree(*told)
    room = _Room(*lines, tree=tree)
    assert await room.written.silent_parts(_WINDOW, tree.outlined, SIZEABLE) == found


async def test_a_small_silent_part_is_read_only_for_something_that_is_looked_for() -> None:
    tree = _Tree(_FRAME, ("label", "All", Rect(100, 120, 400, 180)))
    room = _Room(_line("Up", 100), tree=tree)
    assert await room.written.silent_parts(_WINDOW, tree.outlined, SIZEABLE) == []
    assert await room.written.silent_parts(_WINDOW, tree.outlined) == [Rect(112, 100, 36, 25)]


def test_empty_parts_hold_none_of_the_boxes_and_are_the_largest_first() -> None:
    boxes = [Rect(0, 0, 1000, 50), Rect(0, 50, 301, 550), Rect(500, 300, 120, 40)]
    parts = empty_parts(Rect(0, 0, 1000, 600), boxes, 20_000, 6)
    assert parts and not any(part.overlap(box) for part in parts for box in boxes)
    assert parts[0].size.area == max(part.size.area for part in parts)
    assert sum(part.size.area for part in parts) > 0.9 * (699 * 550 - 120 * 40)


@pytest.mark.parametrize("box", [Rect(-300, 0, 200, 600), Rect(1200, 0, 200, 600), Rect(0, -90, 1000, 50)])
def test_a_box_beside_an_area_takes_nothing_of_it(box: Rect) -> None:
    area = Rect(0, 0, 1000, 600)
    assert empty_parts(area, [box], 20_000, 6) == empty_parts(area, [], 20_000, 6)


@pytest.mark.parametrize(
    ("read", "wanted", "least", "most"),
    [
        ("Größe", "Größe", 0.99, 1.0),
        ("StraBe", "Straße", 0.8, 0.92),
        ("lnbox", "Inbox", 0.8, 0.92),
        ("O kelvin", "0 kelvin", 0.8, 0.92),
        ("modem.txt", "modern.txt", 0.8, 0.92),
        ("Datei lOO GroBe", "Größe", 0.8, 0.9),
        ("Save", "Discard", 0.0, 0.0),
    ],
)
def test_letters_that_look_alike_fit_but_not_as_well(read: str, wanted: str, least: float, most: float) -> None:
    fits = texts_that_fit([_line(read)], (Description(normal(wanted)),))
    assert least <= max((fit.score for fit in fits), default=0.0) <= most


def _lines(*texts: str) -> list[TextBox]:
    return [TextBox(text, Rect(10, 20 * place, 80, 14), 0.99) for place, text in enumerate(texts)]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (("count 0", "Save"), ("count 1", "Save"), [Became(Named("", "count 0"), "count 1")]),
        (("$",), ("$", "hello"), [Came((Named("", "hello"),))]),
        (("row 1", "row 2"), ("row 1",), [Went((Named("", "row 2"),))]),
        (("row 1", "row 1"), ("row 1",), [Went((Named("", "row 1"),))]),
        # What recognition confuses, and a clock, are no effect.
        (("Bill", "10:41:59"), ("BiII", "10:42:00"), []),
        (("Plain words",), ("Plainwords",), []),
        (("C Large",), ("C Large", "C"), []),
        (("•Small", "Large"), ("Small", "• Large"), []),
        (("me@box‡~# nosuch",), ("me@box;~# nosuch",), []),
        (("3+4",), ("3-4",), [Became(Named("", "3+4"), "3-4")]),
    ],
)
def test_lines_that_differ_are_told(before: tuple[str, ...], after: tuple[str, ...], told: list[Fact]) -> None:
    assert rewritten(_lines(*before), _lines(*after)) == told


@pytest.mark.parametrize(("score", "told"), [(0.99, [Came((Named("", "Small"),))]), (0.85, [])])
async def test_a_line_that_was_there_but_badly_read_is_not_told_as_new(score: float, told: list[Fact]) -> None:
    line = TextBox("Small", Rect(120, 120, 60, 20), 0.99)
    room = _Room()
    before, after = (Frame(_WINDOW.area, bytes([shade]) * (_WINDOW.area.size.area * 4)) for shade in (1, 2))
    room.screen.lines = (line,)
    first = () if score > 0.9 else (replace(line, text="CSmaII", score=score),)

    async def read_text(frame: Frame) -> tuple[TextBox, ...]:
        return first if frame.bgrx[:1] == b"\1" else (line,)

    room.screen.read_text = read_text  # type: ignore[method-assign]  # two pictures that are read differently
    assert await room.written.changed(_WINDOW, before, after, [line.box]) == told
