"""Looking, for a model that takes no pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from app.base.errors import ToolFailed
from app.base.facts import Named, ShownThing, ShownThings
from app.base.geometry import Rect
from app.desktop.backends import Frame, Window
from app.desktop.desktop import Desktop
from app.desktop.elements import Element, NoAccessibility, Outline, OutlineRequest
from app.desktop.headless import HeadlessDesktop
from app.desktop.ocr.rapid import TextBox
from app.protocol.call import JsonValue, ToolCall, ToolResult
from app.tools.pictures import ModelSight
from app.tools.registry import TurnContext, admitted
from app.tools.watching import WATCHING, Watching

_ABOUT = (
    "The screen in words, since you take no pictures. Boxes are (x,y,width,height) in screen pixels; "
    "act on elements by ref, or at a point."
)
_EDITOR = Window("w1", "Notes", "editor", Rect(0, 0, 600, 800), pid=1)
_GAME = Window("w2", "Chess", "game", Rect(600, 0, 600, 800), pid=2)


class _Tells(NoAccessibility):
    """A tree that is given by the test."""

    def __init__(self, *elements: Element) -> None:
        super().__init__()
        self.elements = elements

    async def outline(self, _request: OutlineRequest) -> Outline:
        return Outline("", self.elements)


class _Writing:
    """Text that stands on the screen; reading it may fail."""

    def __init__(self, *lines: TextBox, failure: str = "") -> None:
        self.lines = lines
        self.failure = failure
        self.read: list[Rect] = []

    async def read_text(self, frame: Frame) -> tuple[TextBox, ...]:
        self.read.append(frame.area)
        if self.failure:
            raise ToolFailed(self.failure)
        return self.lines

    async def close(self) -> None: ...


def _button(ref: str, name: str, x: int, y: int, *, window: str = "Notes") -> Element:
    states = frozenset({"sensitive", "enabled"})
    return Element(ref, "button", name, "", Rect(x, y, 80, 20), states, window, "editor", 1)


class _Room:
    """Looks at a headless desktop; `needs_words` may change meanwhile."""

    def __init__(self) -> None:
        self.tree, self.writing = _Tells(), _Writing()
        self.needs_words = True
        self.headless = HeadlessDesktop(accessibility=self.tree)
        self.desktop = Desktop(self.headless.backend, ocr=self.writing)

    async def __call__(self, tool: str, **arguments: JsonValue) -> ToolResult:
        [spec] = [spec for spec in WATCHING.tools if spec.name == tool]
        watching = Watching(self.desktop, ModelSight(takes_pictures=lambda: not self.needs_words))
        return await spec.execute(watching, ToolCall("1", tool, arguments), TurnContext(admitted, "1"))

    def shows(self, windows: Sequence[Window], *elements: Element) -> None:
        self.headless.opened[:] = windows
        self.tree.elements = elements


@pytest.fixture
def room() -> Iterator[_Room]:
    made = _Room()
    yield made
    made.desktop.close()


async def test_the_screen_comes_as_what_programs_tell_of_it(room: _Room) -> None:
    room.shows([_EDITOR], _button("e1", "Save", 10, 10), _button("e2", "Open", 100, 10))
    lines = ['e1 button "Save" (10,10,80,20)', 'e2 button "Open" (100,10,80,20)']
    assert await room("screen_capture") == ToolResult(
        True,
        "screen_capture",
        {"elements": 2, "written": 0, "lines": [*lines]},
        "\n".join([_ABOUT, *lines]),
        facts=(ShownThings(tuple(ShownThing(Named("button", name)) for name in ("Save", "Open"))),),
    )
    assert room.writing.read == []


async def test_a_region_keeps_to_what_lies_in_it(room: _Room) -> None:
    room.shows([_EDITOR], _button("e1", "Save", 10, 10), _button("e2", "Open", 100, 10))
    result = await room("zoom", region="0,0,95,200", space="screen")
    assert result.llm_echo == f'{_ABOUT}\ne1 button "Save" (10,10,80,20)'


async def test_what_is_written_in_a_window_that_tells_nothing_is_read(room: _Room) -> None:
    room.shows([_EDITOR, _GAME], _button("e1", "Save", 10, 10))
    in_game, in_editor = TextBox("Check!", Rect(700, 100, 60, 20), 0.9), TextBox("Save", Rect(12, 12, 60, 16), 0.9)
    room.writing.lines = (in_editor, in_game)
    result = await room("screen_capture")
    assert result.llm_echo.splitlines()[1:] == [
        'e1 button "Save" (10,10,80,20)',
        't1 writing "Check!" (700,100,60,20)',
    ]
    assert room.writing.read == [_GAME.area]


async def test_a_window_that_cannot_be_read_is_named(room: _Room) -> None:
    room.shows([_GAME])
    room.writing.failure = "Text recognition is not installed."
    result = await room("screen_capture", window="Chess")
    assert (result.ok, result.llm_echo.splitlines()[1:]) == (
        True,
        ['Nothing is known of what is inside "Chess": Text recognition is not installed.'],
    )


async def test_an_empty_screen_says_so(room: _Room) -> None:
    assert (await room("screen_capture")).llm_echo == f"{_ABOUT}\nNothing is told or written there."


async def test_a_full_screen_is_clipped_and_says_how_much_is_missing(room: _Room) -> None:
    room.shows([_EDITOR], *(_button(f"e{n}", "x" * 60, 10, n % 700) for n in range(400)))
    result = await room("screen_capture")
    *lines, last = result.llm_echo.splitlines()[1:]
    assert last == f"[{400 - len(lines)} more lines: choose a window or a region]"
    assert 10_000 < len(result.llm_echo) < 12_500


async def test_a_model_that_takes_pictures_gets_one(room: _Room) -> None:
    room.needs_words = False
    assert [media.media_type for media in (await room("screen_capture")).llm_media] == ["image/jpeg"]
    room.needs_words = True
    assert (await room("screen_capture")).llm_media == ()
