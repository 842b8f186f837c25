"""The ladder from a description to a place: what programs tell, then what is written in their windows."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from app.base.errors import ToolFailed, ToolMisuse
from app.base.geometry import ModelSpace, Point, Rect
from app.base.phrases import Phrase
from app.desktop.backends import Frame, Landing, Window
from app.desktop.elements import Element, Match, NoAccessibility, NoLongerInSight, Outline, OutlineRequest, OutOfSight
from app.desktop.headless import HeadlessDesktop
from app.desktop.ocr.elements import OcrElements
from app.desktop.ocr.rapid import TextBox
from app.desktop.takeover import StopFlag
from app.desktop.targets import Aim, Ambiguous, Located, Locator, NotFound, OutOfReach, Search, TargetResolver


class DescribedScreen(NoAccessibility):
    """Accessibility that finds what the test gives it, or fails."""

    def __init__(
        self,
        *matches: Match,
        elements: Sequence[Element] = (),
        empty: Sequence[str] = (),
        silent: Sequence[str] = (),
        further_down: Match | None = None,
        failure: str = "",
    ) -> None:
        super().__init__()
        self._matches = matches
        self._outline = Outline("", tuple(elements), empty=tuple(empty))
        self._further_down = further_down
        self._silent = tuple(silent)
        self._failure = failure

    def _check(self) -> None:
        if self._failure:
            raise ToolFailed(self._failure)

    async def find(self, query: str, *, role: str = "", limit: int = 8) -> tuple[Match, ...]:
        self._check()
        return self._matches

    async def outline(self, request: OutlineRequest) -> Outline:
        self._check()
        return self._outline

    async def beyond(self, query: str) -> OutOfSight | None:
        self._check()
        found = self._further_down
        return OutOfSight(found.element, found.element, is_row=False) if found else None

    async def silent(self) -> tuple[str, ...]:
        return self._silent


@dataclass
class Recogniser:
    """Text recognition of a screen on which the test wrote; notes what it was shown."""

    lines: tuple[TextBox, ...] = ()
    shown: list[Rect] = field(default_factory=list)

    async def read_text(self, frame: Frame) -> tuple[TextBox, ...]:
        self.shown.append(frame.area)
        return tuple(line for line in self.lines if frame.area.contains(line.box.center))

    async def close(self) -> None: ...


def match(name: str, score: float, x: int = 0, role: str = "button", ref: str = "e1") -> Match:
    element = Element(ref, role, name, "", Rect(x, 100, 40, 20), frozenset({"sensitive"}), "Letter", "editor", 7)
    return Match(element, score)


def line(text: str, x: int = 0, y: int = 0, score: float = 1.0) -> TextBox:
    return TextBox(text, Rect(x, y, 10 * len(text), 20), score)


PAGE = Window("w9", "Page", "viewer", Rect(0, 0, 1280, 800), 9)


def locator(
    told: DescribedScreen | None = None, ocr: Recogniser | None = None, windows: Sequence[Window] = (PAGE,)
) -> Locator:
    desktop = HeadlessDesktop(accessibility=told or DescribedScreen())
    desktop.opened.extend(windows)
    backend = desktop.backend(StopFlag())

    async def grab(area: Rect) -> Frame:
        return backend.screen.grab(area)

    return Locator(backend, OcrElements(backend, grab, ocr or Recogniser()))


async def locate(locator: Locator, description: str, area: Rect | None = None) -> Located:
    return await locator.locate(Search(description, area=area))


async def test_a_good_element_is_found_without_a_look_at_pixels() -> None:
    ocr = Recogniser((line("Save"),))
    told = DescribedScreen(match("Save", 1.0), match("Save As", 0.7, x=50, ref="e2"))
    found = await locate(locator(told, ocr), "Save")
    assert (found.point, found.how, found.element.ref, found.score) == (Point(20, 110), "accessibility", "e1", 1.0)
    assert [other.element.name for other in found.runners_up] == ["Save As"]
    assert ocr.shown == []


async def test_two_elements_that_fit_equally_are_asked_about() -> None:
    told = DescribedScreen(match("OK", 1.0), match("OK", 1.0, x=300, ref="e2"), match("OK then", 0.8, x=600, ref="e3"))
    with pytest.raises(Ambiguous, match=r"2 things fit 'OK'.*e1 button 'OK' at \(20, 110\).*e2 button") as caught:
        await locate(locator(told), "OK")
    assert [candidate.element.ref for candidate in caught.value.candidates] == ["e1", "e2"]


async def test_two_that_lie_on_each_other_are_one() -> None:
    told = DescribedScreen(match("OK", 1.0), match("OK", 1.0, role="label", ref="e2"))
    assert (await locate(locator(told), "OK")).element.ref == "e1"


async def test_a_value_is_for_a_field_and_not_for_what_else_has_its_name() -> None:
    header, field = match("Name", 1.0, role="table column header"), match("Name", 0.98, 300, "text", "e2")
    told = DescribedScreen(header, field)
    assert (await locator(told).locate(Search("Name", is_field=True))).element.ref == "e2"
    with pytest.raises(NotFound, match="e1 table column header 'Name'"):
        await locator(DescribedScreen(header)).locate(Search("Name", is_field=True))


class Framing:
    """Windows whose upper forty lines are their frame."""

    def __init__(self, windows: object) -> None:
        self._windows = windows

    def under(self, point: Point) -> Landing:
        return Landing("f9", framed="w9") if point.y < 40 else Landing("9", "w9")

    def __getattr__(self, name: str) -> object:
        return getattr(self._windows, name)


async def test_a_word_of_a_windows_title_is_no_target() -> None:
    desktop = HeadlessDesktop(accessibility=DescribedScreen())
    desktop.opened.append(PAGE)
    backend = desktop.backend(StopFlag())
    backend = replace(backend, windows=Framing(backend.windows))

    async def grab(area: Rect) -> Frame:
        return backend.screen.grab(area)

    texts = Recogniser((line("Find and Replace", 40, 4), line("Replace it", 40, 200)))
    found = await locate(Locator(backend, OcrElements(backend, grab, texts)), "Replace")
    assert found.point.y > 100


async def test_what_programs_do_not_tell_is_read_off_their_windows() -> None:
    found = await locate(
        locator(DescribedScreen(match("Saved", 0.7)), Recogniser((line("Save draft", 200, 40),))), "save draft"
    )
    assert (found.point, found.element.box, found.how) == (Point(250, 50), Rect(200, 40, 100, 20), "ocr")
    assert (found.element.ref, found.element.role, found.element.window) == ("t1", "writing", "Page")
    assert [other.element.name for other in found.runners_up] == ["Saved"]


async def test_what_stands_further_down_on_a_page_is_found_before_pixels_are_read() -> None:
    ocr = Recogniser((line("Terms"),))
    found = await locate(locator(DescribedScreen(further_down=match("Terms", 1.0, ref="e9")), ocr), "Terms")
    assert (found.element.ref, found.how, ocr.shown) == ("e9", "accessibility", [])
    assert "e9 button 'Terms' out of sight below" in found.told(ModelSpace())


async def test_a_name_inside_a_line_is_placed_by_its_share_of_it() -> None:
    found = await locate(locator(ocr=Recogniser((line("File Edit View Help", 100, 0),))), "View menu")
    assert (found.element.box, found.point) == (Rect(200, 0, 40, 20), Point(220, 10))


async def test_blanks_that_recognition_lost_do_not_matter() -> None:
    found = await locate(locator(ocr=Recogniser((line("Linknumber1"),))), "Link number 1")
    assert (found.how, found.element.name) == ("ocr", "Linknumber1")


async def test_the_same_text_twice_is_asked_about() -> None:
    with pytest.raises(Ambiguous, match="2 things fit 'Open'"):
        await locate(locator(ocr=Recogniser((line("Open", 0, 0), line("Open", 0, 200)))), "Open")


async def test_text_is_only_read_in_windows_that_tell_nothing() -> None:
    telling = Window("w1", "Letter", "editor", Rect(0, 0, 100, 100), 1, is_active=True)
    mute = Window("w2", "Terminal", "b", Rect(200, 0, 100, 100), 2)
    away = Window("w3", "Away", "c", Rect(400, 0, 100, 100), 3, is_minimised=True)
    ocr = Recogniser()
    told = DescribedScreen(elements=[match("Text", 1.0).element])
    with pytest.raises(NotFound):
        await locate(locator(told, ocr, [telling, mute, away]), "Anything")
    assert ocr.shown == [mute.area]


async def test_a_window_of_which_only_the_frame_is_told_tells_nothing() -> None:
    frame = match("Letter", 1.0, role="frame").element
    ocr = Recogniser((line("Sign in", 10, 10),))
    window = Window("w1", "Letter", "editor", Rect(0, 0, 200, 100), 1, is_active=True)
    found = await locate(locator(DescribedScreen(elements=[frame], empty=["Letter"]), ocr, [window]), "Sign in")
    assert (found.how, found.element.ref) == ("ocr", "t1")


async def test_text_that_another_window_covers_is_not_found() -> None:
    front = Window("w1", "Letter", "editor", Rect(0, 0, 100, 100), 1, is_active=True)
    behind = Window("w2", "Terminal", "b", Rect(0, 0, 400, 100), 2)
    ocr = Recogniser((line("Open", 10, 10), line("Open", 200, 10)))
    told = DescribedScreen(elements=[match("Text", 1.0).element])
    assert (await locate(locator(told, ocr, [front, behind]), "Open")).element.box.x == 200


async def test_a_text_that_is_about_to_show_is_waited_for() -> None:
    ocr = Recogniser()
    asyncio.get_running_loop().call_later(0.15, lambda: setattr(ocr, "lines", (line("Done"),)))
    front = Window("w1", "Ops", "xterm", Rect(0, 0, 400, 200), 7, is_active=True)
    found = await locator(ocr=ocr, windows=[front]).locate(Search("Done", patience_s=20))
    assert (found.how, found.element.name) == ("ocr", "Done")
    assert len(ocr.shown) > 1


async def test_only_the_given_area_counts() -> None:
    area = Rect(200, 50, 100, 100)
    told = DescribedScreen(match("OK", 1.0), match("OK", 1.0, x=210, ref="e2"))
    assert (await locate(locator(told), "OK", area)).element.ref == "e2"


async def test_a_window_that_was_named_is_read_whatever_it_tells() -> None:
    window = Window("w1", "Letter", "editor", Rect(0, 0, 200, 100), 1)
    told = DescribedScreen(elements=[match("Text", 1.0).element])
    ocr = Recogniser((line("Stamp", 10, 10),))
    assert (await locate(locator(told, ocr, [window]), "Stamp", window.area)).how == "ocr"


async def test_without_an_accessibility_bus_the_text_of_windows_is_found() -> None:
    told = DescribedScreen(failure="The accessibility bus does not answer.")
    found = await locate(locator(told, Recogniser((line("Open", 0, 0),))), "Open")
    assert (found.how, found.element.ref) == ("ocr", "t1")


async def test_nothing_anywhere_is_said_with_what_is_nearest_who_was_silent_and_where_to_look() -> None:
    front = Window("w1", "Letter", "editor", Rect(1200, 0, 200, 100), 1, is_active=True)
    told = DescribedScreen(match("Preferences", 0.7), silent=["frozen"])
    with pytest.raises(NotFound) as caught:
        await locate(locator(told, windows=[front]), "Properties")
    assert str(caught.value) == (
        "Nothing on the screen fits 'Properties'. Nearest: e1 button 'Preferences' at (20, 110) on the screen "
        "in 'Letter'. frozen did not answer and may show it."
    )
    assert caught.value.area == Rect(1200, 0, 80, 100)


async def test_nothing_anywhere_and_no_bus_is_said() -> None:
    with pytest.raises(NotFound, match=r"fits 'Open'\. The accessibility bus does not answer\."):
        await locate(locator(DescribedScreen(failure="The accessibility bus does not answer.")), "Open")


async def test_an_empty_description_is_a_mistake_of_the_call() -> None:
    with pytest.raises(ToolMisuse, match="description is empty"):
        await locate(locator(), "  ")


def test_a_place_is_told_on_one_line_however_it_is_named() -> None:
    element = Element("e1", "button", "a\nb" + "x" * 100, "", Rect(0, 0, 2, 4), frozenset(), "W\n1", "app", 1)
    told = Located(element, "accessibility", 1.0).told(ModelSpace())
    assert told == f"e1 button 'a b{'x' * 56}…' at (1, 2) on the screen in 'W 1'"


class Renamed(NoAccessibility):
    """A control that is called so by the time the pointer is there."""

    def __init__(self, now: Element) -> None:
        super().__init__()
        self._now = now

    async def element(self, ref: str) -> Element:
        return self._now


@pytest.mark.parametrize(
    ("name", "role", "is_pressed"),
    [("Cancel", "button", True), ("Delete all", "button", False), ("Cancel", "link", False), ("", "button", False)],
)
async def test_what_is_called_otherwise_under_the_pointer_is_not_pressed(
    name: str, role: str, *, is_pressed: bool
) -> None:
    now = match(name, 1.0, role=role).element
    desktop = HeadlessDesktop(accessibility=Renamed(now))
    desktop.opened.append(Window("w1", "Letter", "editor", Rect(0, 0, 1280, 800), 7))
    backend = desktop.backend(StopFlag())

    async def grab(area: Rect) -> Frame:
        return backend.screen.grab(area)

    aim = Aim(Point(20, 110), "name", match("Cancel", 1.0).element)
    resolver = TargetResolver(backend, OcrElements(backend, grab, Recogniser()))
    if is_pressed:
        await resolver.hit_test(aim)
        return
    with pytest.raises(OutOfReach, match=r"'Cancel' in 'Letter' is now the .* Nothing was done"):
        await resolver.hit_test(aim)


class FarRows(NoAccessibility):
    """A list of rows of 17 pixels, of which each notch of the wheel moves so many; it ends at the last."""

    def __init__(self, notch_px: int, rows: int = 200) -> None:
        super().__init__()
        self.top, self._notch_px, self._most = 0, notch_px, rows * 17 - 300
        self.turns: list[int] = []

    async def wheel(self, _at: Point, notches: tuple[int, int], _modifiers: tuple[str, ...]) -> None:
        self.turns.append(notches[1])
        self.top = max(0, min(self.top + notches[1] * self._notch_px, self._most))

    def _row(self, name: str) -> Element:
        row = match(name, 1.0, role="list item").element
        return replace(row, box=Rect(100, 100 + int(name.removeprefix("Row ")) * 17 - self.top, 180, 17))

    async def find(self, query: str, *, role: str = "", limit: int = 8) -> tuple[Match, ...]:
        row = self._row(query)
        return (Match(row, 1.0),) if Rect(100, 100, 200, 300).contains(row.box.center) else ()

    async def beyond(self, query: str) -> OutOfSight | None:
        holder = replace(match("", 1.0, role="list").element, box=Rect(100, 100, 200, 300))
        return None if await self.find(query) else OutOfSight(self._row(query), holder, is_row=True)

    async def element(self, ref: str) -> Element:
        return self._row("Row 0")


@pytest.mark.parametrize(("notch_px", "is_found"), [(51, True), (9, True), (240, True), (0, False)])
@pytest.mark.parametrize("number", [30])
async def test_the_wheel_is_turned_over_a_list_until_the_row_shows_and_no_longer(
    notch_px: int, number: int, *, is_found: bool
) -> None:
    rows = FarRows(notch_px)
    desktop = HeadlessDesktop(accessibility=rows)
    desktop.opened.append(Window("w1", "Letter", "editor", Rect(0, 0, 1280, 800), 7))
    backend = desktop.backend(StopFlag())

    async def grab(area: Rect) -> Frame:
        return backend.screen.grab(area)

    resolver = TargetResolver(backend, OcrElements(backend, grab, Recogniser()), wheel=rows.wheel)
    found = await resolver.at_name(f"Row {number}")
    assert (found.point, rows.turns) == (Point(200, 250), []), "a look turns no wheel"
    if is_found:
        aim = await resolver.reach(found)
        assert (aim.element and aim.element.name, len(rows.turns) <= 4) == (f"Row {number}", True), rows.turns
    else:
        with pytest.raises(OutOfReach, match="could not be scrolled to"):
            await resolver.reach(found)
        assert len(rows.turns) == 1


class FarRowOfRef(FarRows):
    """Rows of which the one that has the ref e1 lies out of sight."""

    async def element(self, ref: str) -> Element:
        raise NoLongerInSight(Phrase(f"{ref} is no longer on the screen."), "", "Row 150")


async def test_a_ref_of_what_lies_out_of_sight_is_aimed_at_where_the_caller_can_scroll() -> None:
    backend = HeadlessDesktop(accessibility=FarRowOfRef(51)).backend(StopFlag())

    async def grab(area: Rect) -> Frame:
        return backend.screen.grab(area)

    resolver = TargetResolver(backend, OcrElements(backend, grab, Recogniser()))
    aim = await resolver.at_ref("e1", may_scroll=True)
    assert (aim.beyond, aim.point, aim.route) == ("Row 150", Point(200, 250), "ref")
    for ref, may_scroll in (("e1", False), ("e2", True)):
        with pytest.raises(NoLongerInSight):
            await resolver.at_ref(ref, may_scroll=may_scroll)
