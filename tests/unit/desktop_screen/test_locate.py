"""The ladder from a description to a place: accessibility, recognised text, a model's own eyes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import pytest

from app.base.errors import ToolFailed, ToolMisuse
from app.base.geometry import Point, Rect
from app.desktop.api import Frame, Window
from app.desktop.elements import Element, Match, NoAccessibility
from app.desktop.headless import HeadlessDesktop
from app.desktop.locate import Ambiguous, Located, Locator, Vision
from app.desktop.ocr.api import TextBox
from app.desktop.stop import StopFlag


class Told(NoAccessibility):
    """Accessibility that finds what the test gives it."""

    def __init__(self, *matches: Match, silent: Sequence[str] = (), further_down: Match | None = None) -> None:
        super().__init__()
        self._matches = matches
        self._further_down = further_down
        self._silent = tuple(silent)

    async def find(self, query: str, *, role: str = "", limit: int = 8) -> tuple[Match, ...]:
        return self._matches

    async def reveal(self, query: str) -> Match | None:
        return self._further_down

    async def silent(self) -> tuple[str, ...]:
        return self._silent


@dataclass
class Written:
    """Text recognition of a screen on which the test wrote; notes what it was shown."""

    lines: tuple[TextBox, ...] = ()
    shown: list[Rect] = field(default_factory=list)

    async def read_text(self, frame: Frame) -> tuple[TextBox, ...]:
        self.shown.append(frame.area)
        return tuple(line for line in self.lines if frame.area.contains(line.box.center))

    async def close(self) -> None: ...


@dataclass
class Pointing:
    """A model that sees what is described at one place."""

    box: Rect | None

    async def place(self, description: str, frame: Frame) -> Rect | None:
        return self.box


def match(name: str, score: float, x: int = 0, role: str = "button", ref: str = "e1") -> Match:
    element = Element(ref, role, name, "", Rect(x, 100, 40, 20), frozenset(), "Letter", "editor", 7)
    return Match(element, score)


def line(text: str, x: int = 0, y: int = 0, score: float = 1.0) -> TextBox:
    return TextBox(text, Rect(x, y, 10 * len(text), 20), score)


def locator(
    told: Told | None = None,
    written: Written | None = None,
    vision: Vision | None = None,
    windows: Sequence[Window] = (),
) -> Locator:
    desktop = HeadlessDesktop(accessibility=told or Told())
    desktop.opened.extend(windows)
    backend = desktop.backend(StopFlag())

    def grab(area: Rect) -> Awaitable[Frame]:
        return _given(lambda: backend.screen.grab(area))

    return Locator(backend, grab, written or Written(), vision)


async def _given(make: Callable[[], Frame]) -> Frame:
    return make()


async def test_a_good_element_is_found_without_a_look_at_pixels() -> None:
    written = Written((line("Save"),))
    found = await locator(Told(match("Save", 1.0), match("Save As", 0.7, x=50, ref="e2")), written).locate("Save")
    assert (found.point, found.how, found.ref, found.score) == (Point(20, 110), "accessibility", "e1", 1.0)
    assert [other.name for other in found.runners_up] == ["Save As"]
    assert written.shown == []


async def test_two_elements_that_fit_equally_are_asked_about() -> None:
    told = Told(match("OK", 1.0), match("OK", 1.0, x=300, ref="e2"), match("OK then", 0.8, x=600, ref="e3"))
    with pytest.raises(Ambiguous, match=r"2 things fit 'OK'.*e1 button 'OK' at \(20, 110\).*e2 button") as caught:
        await locator(told).locate("OK")
    assert [candidate.ref for candidate in caught.value.candidates] == ["e1", "e2"]


async def test_two_that_lie_on_each_other_are_one() -> None:
    found = await locator(Told(match("OK", 1.0), match("OK", 1.0, role="label", ref="e2"))).locate("OK")
    assert found.ref == "e1"


async def test_what_programs_do_not_tell_is_read_off_the_screen() -> None:
    found = await locator(Told(match("Saved", 0.7)), Written((line("Save draft", 200, 40),))).locate("save draft")
    assert (found.point, found.box, found.how, found.ref) == (Point(250, 50), Rect(200, 40, 100, 20), "ocr", "")


async def test_what_stands_further_down_on_a_page_is_scrolled_to_before_pixels_are_read() -> None:
    written = Written((line("Terms"),))
    found = await locator(Told(further_down=match("Terms", 1.0, ref="e9")), written).locate("Terms")
    assert (found.ref, found.how, written.shown) == ("e9", "accessibility", [])


async def test_a_name_inside_a_line_is_placed_by_its_share_of_it() -> None:
    found = await locator(written=Written((line("File Edit View Help", 100, 0),))).locate("View menu")
    assert (found.box, found.point) == (Rect(200, 0, 40, 20), Point(220, 10))


async def test_blanks_that_recognition_lost_do_not_matter() -> None:
    found = await locator(written=Written((line("Linknumber1"),))).locate("Link number 1")
    assert (found.how, found.name) == ("ocr", "Linknumber1")


async def test_the_same_text_twice_is_asked_about() -> None:
    with pytest.raises(Ambiguous, match="2 things fit 'Open'"):
        await locator(written=Written((line("Open", 0, 0), line("Open", 0, 200)))).locate("Open")


async def test_text_is_read_in_windows_that_tell_nothing_and_in_the_active_one() -> None:
    front = Window("w1", "Front", "a", Rect(0, 0, 100, 100), 1, is_active=True)
    mute = Window("w2", "Terminal", "b", Rect(200, 0, 100, 100), 2)
    away = Window("w3", "Away", "c", Rect(400, 0, 100, 100), 3, is_minimised=True)
    written = Written()
    with pytest.raises(ToolFailed):
        await locator(written=written, windows=[front, mute, away]).locate("Anything")
    assert written.shown == [front.area, mute.area]


async def test_only_the_given_area_counts() -> None:
    area = Rect(200, 50, 100, 100)
    found = await locator(Told(match("OK", 1.0), match("OK", 1.0, x=210, ref="e2"))).locate("OK", area)
    assert found.ref == "e2"


async def test_the_models_own_eyes_are_the_last_to_be_asked() -> None:
    eyes = Pointing(Rect(10, 10, 20, 20))
    found = await locator(Told(match("Bin", 0.65)), vision=eyes).locate("the red bin icon")
    assert (found.how, found.point) == ("vision", Point(20, 20))
    assert [other.name for other in found.runners_up] == ["Bin"]


async def test_nothing_anywhere_is_said_with_what_is_nearest_and_who_was_silent() -> None:
    told = Told(match("Preferences", 0.7), silent=["frozen"])
    with pytest.raises(ToolFailed) as caught:
        await locator(told, vision=Pointing(None)).locate("Properties")
    assert str(caught.value) == (
        "Nothing on the screen fits 'Properties'. Nearest: e1 button 'Preferences' at (20, 110) in 'Letter'. "
        "frozen did not answer and may show it. Look with screen_capture."
    )


async def test_an_empty_description_is_a_mistake_of_the_call() -> None:
    with pytest.raises(ToolMisuse, match="description is empty"):
        await locator().locate("  ")


def test_a_place_is_told_on_one_line_however_it_is_named() -> None:
    place = Located(Point(1, 2), Rect(0, 0, 2, 4), "accessibility", 1.0, "a\nb" + "x" * 100, "button", "e1", "W\n1")
    assert place.told == f"e1 button 'a b{'x' * 56}…' at (1, 2) in 'W 1'"
