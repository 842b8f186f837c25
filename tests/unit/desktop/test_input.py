"""The computer tools on a desktop on which nothing happens but everything is written down."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from app.base.errors import Cancelled, ToolFailed, ToolMisuse
from app.base.geometry import Point, Rect
from app.desktop.backends import Button, Frame, Pointer, Window
from app.desktop.desktop import Desktop
from app.desktop.elements import Element, NoAccessibility
from app.desktop.headless import HeadlessDesktop, Moved, PressedDown, Released, Scrolled, Started, Typed
from app.desktop.keys import UNCHECKED, KeyChecks
from app.desktop.takeover import StopFlag
from app.protocol.call import CHANGED_PART, JsonValue, ToolCall, ToolResult
from app.tools.pictures import ModelSight, with_changed_part
from tests.support.desktop_tools import Tools
from tests.support.stage import FakeClock


@pytest.fixture
def headless() -> HeadlessDesktop:
    return HeadlessDesktop()


@pytest.fixture
def tools(headless: HeadlessDesktop) -> Iterator[Tools]:
    desktop = Desktop(headless.backend)
    yield Tools(desktop)
    desktop.close()


async def test_a_click_moves_presses_and_lets_go_with_the_modifiers_around_it(
    tools: Tools, headless: HeadlessDesktop
) -> None:
    result = await tools("computer_click", {"x": 3, "y": 4, "button": "right", "modifiers": "ctrl+shift"})
    assert headless.done == [
        PressedDown("Control_L"), PressedDown("Shift_L"),
        Moved(Point(3, 4)), PressedDown(Button.RIGHT), Released(Button.RIGHT),
        Released("Shift_L"), Released("Control_L"),
    ]  # fmt: skip
    assert dict(result.payload) == {
        "x": 3, "y": 4, "button": "right", "count": 1, "target": "", "route": "point",
        "verdict": "unchanged", "proof": "suspected no-op", "window": "",
    }  # fmt: skip
    assert result.llm_echo == (
        "Clicked (3, 4) on the screen with the right button. Nothing on the screen changed. (suspected no-op)"
    )


async def test_a_click_without_a_receipt_says_that_nothing_was_looked_at(
    tools: Tools, headless: HeadlessDesktop
) -> None:
    result = await tools("computer_click", x=3, y=4, receipt="none")
    assert headless.done == [Moved(Point(3, 4)), PressedDown(Button.LEFT), Released(Button.LEFT)]
    assert (result.payload["verdict"], result.payload["proof"]) == ("unseen", "unverifiable")
    assert "was not looked at" in result.llm_echo


class _SlowPointer:
    """A pointer of a desktop where two presses within 400 ms are a double click."""

    def __init__(self, pointer: Pointer) -> None:
        self._pointer = pointer

    def double_click_s(self) -> float:
        return 0.4

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pointer, name)


class _Seven(NoAccessibility):
    """One button, which every ref names."""

    def __init__(self, box: Rect) -> None:
        super().__init__()
        self._element = Element("e1", "button", "7", "", box, frozenset({"sensitive", "showing"}), "", "press", 0)

    async def element(self, ref: str) -> Element:
        return self._element

    async def at(self, point: Point) -> Element | None:
        return self._element if self._element.box.contains(point) else None


_WIDE, _TINY = Rect(80, 40, 40, 20), Rect(95, 45, 10, 10)


@pytest.mark.parametrize(
    ("box", "first", "then", "second", "waits_s"),
    [
        (_WIDE, {"x": 100, "y": 50}, "", {"x": 100, "y": 50}, []),
        (_WIDE, {"x": 100, "y": 50}, "", {"x": 104, "y": 50}, []),
        (_WIDE, {"x": 100, "y": 50}, "", {"x": 108, "y": 50}, []),
        (_WIDE, {"x": 100, "y": 50}, "", {"x": 100, "y": 50, "button": "right"}, []),
        (_WIDE, {"x": 100, "y": 50}, "a hand moves", {"x": 100, "y": 50}, []),
        (_WIDE, {"x": 100, "y": 50}, "time passes", {"x": 100, "y": 50}, []),
        (_WIDE, {"ref": "e1"}, "", {"ref": "e1"}, []),
        (_WIDE, {"x": 100, "y": 50}, "", {"ref": "e1"}, []),
        (_TINY, {"ref": "e1"}, "", {"ref": "e1"}, [0.42]),
    ],
)
async def test_a_second_click_waits_only_where_it_would_make_a_double_click_of_two(
    headless: HeadlessDesktop,
    box: Rect,
    first: dict[str, JsonValue],
    then: str,
    second: dict[str, JsonValue],
    waits_s: list[float],
) -> None:
    clock, pointer = FakeClock(), headless.backend(StopFlag()).pointer
    slow = cast(Pointer, _SlowPointer(pointer))
    backend = replace(headless.backend(StopFlag()), pointer=slow, accessibility=_Seven(box))
    desktop = Desktop(lambda _flag: backend, clock=clock)
    tools = Tools(desktop)
    await tools("computer_click", first, receipt="none")
    if then == "a hand moves":
        pointer.move(Point(5, 5))
    elif then:
        clock.advance(0.5)
    clock.slept.clear()
    await tools("computer_click", second, receipt="none")
    desktop.close()
    assert [round(one, 2) for one in clock.slept] == waits_s
    presses = [one for one in headless.done if isinstance(one, PressedDown)]
    assert len(presses) == 2


class _Focused(NoAccessibility):
    """One field, with the keyboard."""

    def __init__(self, role: str, *states: str) -> None:
        super().__init__()
        self._field = Element("e1", role, "Note", "", Rect(0, 0, 9, 9), frozenset({"focused", *states}), "", "", 0)

    async def focused(self) -> Element:
        return self._field

    async def has_keyboard(self, ref: str, judged: tuple[str, str] | None = None) -> bool:
        return ref == self._field.ref


class _Pasting:
    """A clipboard that says what was pasted where."""

    def __init__(self, *, can_paste: bool) -> None:
        self.pasted: list[str] = []
        self._can_paste = can_paste

    def can_paste(self) -> bool:
        return self._can_paste

    async def paste(self, text: str, chord: str, into: str = "", checks: KeyChecks = UNCHECKED) -> bool:
        await checks.still()
        self.pasted.append(f"{chord} {into} {text}")
        return True

    async def remap(self, text: str, into: str = "") -> None:
        raise AssertionError(text)


_LONG = "twenty-four characters of text"


@pytest.mark.parametrize(
    ("role", "states", "can_paste", "text", "is_pasted"),
    [
        ("entry", ("editable",), True, _LONG, True),
        ("text", ("editable", "multi-line"), True, _LONG, True),
        ("entry", ("editable",), True, "short", True),
        ("entry", ("editable",), True, "s", False),
        ("entry", ("editable",), False, _LONG, False),
        ("entry", (), True, _LONG, False),
        ("password text", ("editable",), True, _LONG, False),
        ("terminal", ("editable", "multi-line"), True, _LONG, False),
        ("push button", (), True, _LONG, False),
    ],
)
async def test_a_long_text_is_pasted_into_a_field_that_is_known_to_be_one(
    headless: HeadlessDesktop, role: str, states: tuple[str, ...], can_paste: bool, text: str, is_pasted: bool
) -> None:
    exact, field = _Pasting(can_paste=can_paste), _Focused(role, *states)
    desktop = Desktop(lambda *given: replace(headless.backend(*given), accessibility=field, exact=exact))
    await Tools(desktop)("computer_type", text=text)
    desktop.close()
    typed = "".join(done.text for done in headless.done if isinstance(done, Typed))
    pasted = [f"ctrl+v  {text}"] if is_pasted else []
    assert (exact.pasted, typed) == (pasted, "" if is_pasted else text)


async def test_typing_goes_in_slices_with_keys_between(tools: Tools, headless: HeadlessDesktop) -> None:
    await tools("computer_type", text="abcdefghijklmnopqrs\n日")
    assert headless.done == [
        Typed("abcdefghijklmnop"), Typed("qrs"), PressedDown("Return"), Released("Return"), Typed("日"),
    ]  # fmt: skip


async def test_scrolling_turns_notch_by_notch(tools: Tools, headless: HeadlessDesktop) -> None:
    await tools("computer_scroll", dx=-1, dy=2)
    assert headless.done == [Scrolled(-1, 1), Scrolled(0, 1)]


async def test_keys_are_repeated(tools: Tools, headless: HeadlessDesktop) -> None:
    await tools("computer_key", keys="Tab", repeat=2)
    assert headless.done == [PressedDown("Tab"), Released("Tab")] * 2


async def test_a_drag_by_places_needs_both(tools: Tools, headless: HeadlessDesktop) -> None:
    with pytest.raises(ToolMisuse, match="Drag from where to where"):
        await tools("computer_drag", {"from": "3,4"})
    with pytest.raises(ToolMisuse, match="two points or more"):
        await tools("computer_drag", path="3,4")
    await tools("computer_drag", {"from": "3,4", "to": "5,4", "duration_ms": 0})
    assert headless.done == [Moved(Point(3, 4)), PressedDown(Button.LEFT), Moved(Point(5, 4)), Released(Button.LEFT)]


async def test_half_a_point_is_misuse(tools: Tools) -> None:
    with pytest.raises(ToolMisuse, match="both x and y"):
        await tools("computer_click", x=3)
    with pytest.raises(ToolMisuse, match="Where"):
        await tools("computer_click")


async def test_points_refer_to_the_newest_capture_and_a_glance_is_none(tools: Tools, headless: HeadlessDesktop) -> None:
    await tools("screen_capture", region="100,50,300,150")
    await tools("zoom", region="10,10,20,20")
    await tools("computer_move", x=0, y=0)
    assert headless.done == [Moved(Point(100, 50))]


async def test_a_point_is_none_of_a_picture_whose_window_is_gone(tools: Tools, headless: HeadlessDesktop) -> None:
    headless.opened = [Window("w1", "Save As", "Editor", Rect(100, 50, 300, 150), is_active=True)]
    await tools("screen_capture", window="Save As")
    await tools("computer_move", x=1, y=2)
    headless.opened = []
    with pytest.raises(ToolMisuse, match="gone"):
        await tools("computer_move", x=1, y=2)
    moved = await tools("computer_move", x=120, y=60, space="screen")
    assert headless.done == [Moved(Point(101, 52)), Moved(Point(120, 60))]
    assert "(120, 60) on the screen" in moved.llm_echo


async def test_a_batch_stops_at_the_first_failure_and_shows_the_screen(tools: Tools, headless: HeadlessDesktop) -> None:
    actions = [{"do": "type", "text": "a"}, {"do": "click", "target": "Nowhere"}, {"do": "key", "keys": "Return"}]
    result = await tools("computer_batch", {"action": actions})
    assert headless.done == [Typed("a")]
    assert not result.ok
    assert "2. click failed: Nothing on the screen fits 'Nowhere'" in result.llm_echo
    assert "not run" in result.llm_echo
    assert len(result.llm_media) == 1


@pytest.mark.long
async def test_of_many_captures_the_newest_two_alone_keep_their_pixels(headless: HeadlessDesktop, tools: Tools) -> None:
    area = headless.picture.area
    others = _frames()  # of other tests, which may still be alive
    for shade in range(12):
        headless.picture = Frame(area, bytes((shade, shade, shade, 255)) * area.size.area)
        await tools("screen_capture")
    kept = {frame.bgrx[0] for frame in _frames() if not any(frame is one for one in others)}
    assert kept == {10, 11}


def _frames() -> list[Frame]:
    gc.collect()
    return [one for one in gc.get_objects() if isinstance(one, Frame)]


async def test_an_empty_batch_is_misuse(tools: Tools) -> None:
    with pytest.raises(ToolMisuse, match="needs actions"):
        await tools("computer_batch")


async def test_nothing_changed_is_told_without_a_picture(tools: Tools) -> None:
    await tools("screen_capture")
    assert (await tools("changes")).llm_echo == "Nothing has changed since capture c1."


async def test_an_opened_program_is_in_front(tools: Tools, headless: HeadlessDesktop) -> None:
    result = await tools("open_app", name="calculator")
    assert headless.done == [Started("Calculator")]
    assert dict(result.payload) == {"name": "Calculator", "title": "Calculator", "window": "w1"}


@pytest.mark.parametrize(
    ("named", "opened"),
    [
        ("~/Documents", "~/Documents"),
        ("file:///srv/my%20notes.txt", "/srv/my notes.txt"),
        ("https://example.org/a", "https://example.org/a"),
    ],
)
async def test_what_is_opened_is_what_the_policy_judged(
    named: str, opened: str, tools: Tools, headless: HeadlessDesktop
) -> None:
    await tools("open_app", name=named)
    assert headless.done == [Started(str(Path(opened).expanduser()) if opened.startswith("~") else opened)]


async def test_waiting_for_what_never_comes_ends_at_the_limit(tools: Tools) -> None:
    with pytest.raises(ToolFailed, match="did not come"):
        await tools("wait_for", window="Nothing", limit_s=0.1)


async def test_the_clipboard_is_written_and_read(tools: Tools) -> None:
    await tools("write_clipboard", text="héllo")
    assert (await tools("read_clipboard")).llm_echo == "The clipboard holds:\nhéllo"


@pytest.mark.parametrize("sign", ["\x1b[201~", "\x03", "\x9b201~"])
async def test_no_control_character_comes_to_the_clipboard(tools: Tools, sign: str) -> None:
    await tools("write_clipboard", text="one\n\ttwo")
    with pytest.raises(ToolMisuse, match="control characters"):
        await tools("write_clipboard", text=f"ls{sign}\nrm -r .")
    assert (await tools("read_clipboard")).llm_echo == "The clipboard holds:\none\n\ttwo"


async def test_a_stopped_desktop_sends_nothing(tools: Tools, headless: HeadlessDesktop) -> None:
    tools.desktop.stop()
    for tool, arguments in (("computer_click", {"x": 1, "y": 1}), ("computer_type", {"text": "a"})):
        with pytest.raises(Cancelled):
            await tools(tool, arguments)
    assert headless.done == []


async def test_a_button_held_down_is_let_go_at_a_stop(tools: Tools, headless: HeadlessDesktop) -> None:
    await tools("mouse_down", x=1, y=1)
    tools.desktop.stop()
    await tools.desktop.run(_nothing)
    assert headless.done == [Moved(Point(1, 1)), PressedDown(Button.LEFT), Released(Button.LEFT)]


async def test_a_button_that_nobody_let_go_of_is_let_go_where_it_was_pressed(
    tools: Tools, headless: HeadlessDesktop
) -> None:
    await tools("mouse_down", x=1, y=1)
    await tools("computer_move", x=50, y=60)
    tools.desktop.stop()
    await tools.desktop.run(_nothing)
    moves = [Moved(Point(1, 1)), PressedDown(Button.LEFT), Moved(Point(50, 60))]
    assert headless.done == [*moves, Moved(Point(1, 1)), Released(Button.LEFT)]


async def _nothing(_controller: object) -> None:
    return None


class _Orb:
    """A window of ours on a corner of the screen, and what was asked of it."""

    def __init__(self, headless: HeadlessDesktop) -> None:
        self.area = Rect(1000, 600, 100, 100)
        self.log: list[object] = []
        self._headless = headless

    def covers(self, area: Rect) -> bool:
        return self.area.overlap(area) is not None

    @contextmanager
    def drawn_back(self, area: Rect) -> Iterator[None]:
        before = len(self._headless.done)
        yield
        self.log.append((area.contains(self.area.center), self._headless.done[before:]))

    def point_at(self, place: Rect, name: str, came_from: Point) -> None:
        return None

    def unmark(self) -> None:
        return


async def test_our_own_window_is_drawn_back_around_what_it_covers_and_only_then(headless: HeadlessDesktop) -> None:
    orb = _Orb(headless)
    desktop = Desktop(headless.backend, orb)
    tools = Tools(desktop)
    try:
        await tools("computer_click", x=10, y=10)
        assert orb.log == []
        await tools("computer_click", x=1050, y=650)
        beneath = [Moved(Point(1050, 650)), PressedDown(Button.LEFT), Released(Button.LEFT)]
        assert orb.log == [(True, beneath)]
        await tools("screen_capture", region="0,0,500,500", space="screen")
        assert len(orb.log) == 1
        await tools("screen_capture")
        assert orb.log[1:] == [(True, [])]
    finally:
        desktop.close()


async def test_what_was_done_is_not_done_again_because_looking_failed(
    tools: Tools, headless: HeadlessDesktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = iter((False, True))

    def look(_frame: object, area: Rect) -> object:
        if next(looks, True):
            raise ToolFailed("The screen could not be captured.", transient=True)
        return headless.picture

    monkeypatch.setattr("app.desktop.capture.part_of", look)
    with pytest.raises(ToolFailed, match="It was carried out") as failure:
        await tools("computer_click", x=1, y=1)
    assert not failure.value.transient
    assert headless.done == [Moved(Point(1, 1)), PressedDown(Button.LEFT), Released(Button.LEFT)]


class _Answering:
    """Windows that write down when they are waited for. A busy one answers in time at first, then never again."""

    def __init__(self, headless: HeadlessDesktop, stop: StopFlag, answers: Sequence[bool | None] = (True,)) -> None:
        self._done: list[object] = headless.done  # type: ignore[assignment]
        self._windows = headless.backend(stop).windows
        self._left = list(answers)

    async def answers(self, ref: str, limit_s: float, *, whole: bool = False) -> bool | None:
        self._done.append("answered")
        return self._left.pop(0) if len(self._left) > 1 else self._left[0]

    def __getattr__(self, name: str) -> object:
        return getattr(self._windows, name)


async def test_the_program_works_off_each_chord_before_the_next_one_is_judged(headless: HeadlessDesktop) -> None:
    headless.opened.append(Window("w1", "Form", "form", Rect(0, 0, 9, 9), 7, is_active=True))
    desktop = Desktop(lambda stop: replace(headless.backend(stop), windows=cast(Any, _Answering(headless, stop))))
    try:
        await Tools(desktop)("computer_key", keys="Tab space")
    finally:
        desktop.close()
    tab, space = headless.done.index(Released("Tab")), headless.done.index(PressedDown("space"))
    assert [str(one) for one in headless.done[tab + 1 : space]] == ["answered"]


@pytest.mark.parametrize(("answers", "sent"), [((True,), 3), ((None,), 3), ((False,), 1), ((True, False), 2)])
async def test_what_follows_input_that_a_program_has_not_worked_off_is_judged_as_unknown(
    headless: HeadlessDesktop, answers: tuple[bool | None, ...], sent: int
) -> None:
    """A field that hands the keyboard on may not have seen the key yet: it says that it still has the keyboard."""
    headless.opened.append(Window("w1", "Form", "form", Rect(0, 0, 9, 9), 7, is_active=True))
    windows = lambda stop: cast(Any, _Answering(headless, stop, answers))  # noqa: E731
    asked: list[str] = []

    async def refuse(step: ToolCall) -> str:
        asked.append(step.text("keys"))
        return "Not known."

    desktop = Desktop(
        lambda stop: replace(headless.backend(stop), windows=windows(stop), accessibility=_Focused("entry", "editable"))
    )
    try:
        with suppress(ToolFailed):
            await Tools(desktop, refuse)("computer_key", keys="a b c")
    finally:
        desktop.close()
    assert [done.what for done in headless.done if isinstance(done, PressedDown)] == ["a", "b", "c"][:sent]
    assert asked == ([] if sent == 3 else [" ".join("abc"[sent:])])


async def test_a_part_that_changed_without_a_word_comes_as_a_picture_or_as_its_text(
    tools: Tools,
) -> None:
    part: list[JsonValue] = [10, 10, 60, 40]
    result = ToolResult(True, "computer_click", {CHANGED_PART: part}, "Clicked.")
    seen = await tools.desktop.run(with_changed_part, result, ModelSight())
    read = await tools.desktop.run(with_changed_part, result, ModelSight(takes_pictures=lambda: False))
    (picture,) = seen.llm_media
    assert (picture.width, picture.height) == (60, 40)
    assert 'To point in it, add capture="c1".' in seen.llm_echo
    assert (read.llm_media, read.llm_echo.startswith("Clicked.")) == ((), True)


class _NextPage(NoAccessibility):
    """A button with the keyboard, which another one takes over at the third look."""

    def __init__(self) -> None:
        super().__init__()
        self._looks = 0

    async def focused(self) -> Element | None:
        self._looks += 1
        ref = "e1" if self._looks < 3 else "e2"
        return Element(ref, "push button", "Next", "", Rect(0, 0, 9, 9), frozenset({"focused"}), "", "Form", 7)

    async def has_keyboard(self, ref: str, judged: tuple[str, str] | None = None) -> bool:
        return ref == (await self.focused()).ref


@pytest.mark.parametrize(("keys", "is_held"), [("Return", False), ("Down", True)])
async def test_a_held_key_presses_nothing_but_what_was_judged(
    headless: HeadlessDesktop, keys: str, *, is_held: bool
) -> None:
    headless.opened.append(Window("w1", "Form", "form", Rect(0, 0, 9, 9), 7, is_active=True))
    desktop = Desktop(lambda stop: replace(headless.backend(stop), accessibility=_NextPage()))
    tools = Tools(desktop)
    try:
        if is_held:
            await tools("computer_key", keys=keys, hold_ms=200)
        else:
            with pytest.raises(ToolFailed, match="keyboard"):
                await tools("computer_key", keys=keys, hold_ms=60_000)
    finally:
        desktop.close()
    assert headless.done[-1] == Released(keys)


class _AltTakesIt(_NextPage):
    """A button with the keyboard, which another one takes over while Alt is held."""

    def __init__(self, done: Sequence[object]) -> None:
        super().__init__()
        self._done = done

    async def focused(self) -> Element | None:
        self._looks = 3 if PressedDown("Alt_L") in self._done else 0
        return await super().focused()


async def test_a_chord_that_stops_while_alt_is_held_says_what_was_sent(headless: HeadlessDesktop) -> None:
    headless.opened.append(Window("w1", "Form", "form", Rect(0, 0, 9, 9), 7, is_active=True))
    desktop = Desktop(lambda stop: replace(headless.backend(stop), accessibility=_AltTakesIt(headless.done)))
    try:
        with pytest.raises(ToolFailed, match="1 of 3 chords was sent, the other 2 were not"):
            await Tools(desktop)("computer_key", keys="Down alt+f x")
    finally:
        desktop.close()
    assert [done.what for done in headless.done if isinstance(done, PressedDown)] == ["Down", "Alt_L"]
    assert headless.done[-1] == Released("Alt_L")
