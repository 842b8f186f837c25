"""What is not found by name: a model with eyes is asked to point, one without is told."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.base.geometry import Point, Rect
from app.desktop.backends import Frame, Window
from app.desktop.capture import PictureBudget
from app.desktop.desktop import Desktop
from app.desktop.headless import HeadlessDesktop, Moved
from app.desktop.ocr.rapid import TextBox
from app.desktop.targets import NotFound
from app.protocol.call import JsonValue, ToolCall, ToolResult
from app.tools.computer import COMPUTER, Computer
from app.tools.pictures import ModelSight
from app.tools.registry import TurnContext, admitted

_FRONT = Window("w1", "Board", "game", Rect(200, 100, 800, 600), 3, is_active=True)


class _Blank:
    """Reads nothing."""

    async def read_text(self, _frame: Frame) -> tuple[TextBox, ...]:
        return ()

    async def close(self) -> None: ...


class _Room:
    def __init__(self) -> None:
        self.headless = HeadlessDesktop()
        self.headless.opened[:] = [_FRONT]
        self.desktop = Desktop(self.headless.backend, ocr=_Blank())
        self.sight = ModelSight(PictureBudget(400, 4000))

    async def __call__(self, tool: str, **arguments: JsonValue) -> ToolResult:
        [spec] = [spec for spec in COMPUTER.tools if spec.name == tool]
        return await spec.execute(
            Computer(self.desktop, self.sight), ToolCall("1", tool, arguments), TurnContext(admitted, "1")
        )


@pytest.fixture
def room() -> Iterator[_Room]:
    made = _Room()
    yield made
    made.desktop.close()


async def test_the_window_in_front_comes_as_a_picture_to_point_in(room: _Room) -> None:
    done = await room("computer_click", target="the white queen")
    assert (done.ok, done.event, done.payload["tag"]) == (False, "tool_error", "computer_click")
    assert done.payload["region"] == [200, 100, 800, 600]
    assert [(media.width, media.height) for media in done.llm_media] == [(400, 300)]
    assert "Or point in this picture, by x and y" in done.llm_echo
    assert room.headless.done == []


async def test_points_refer_to_that_picture_afterwards(room: _Room) -> None:
    await room("computer_click", target="the white queen")
    await room("computer_move", x=100, y=50)
    assert room.headless.done == [Moved(Point(401, 201))]


async def test_a_model_without_eyes_is_told_that_it_is_not_there(room: _Room) -> None:
    room.sight = ModelSight(takes_pictures=lambda: False)
    with pytest.raises(NotFound, match="Nothing on the screen fits 'the white queen'"):
        await room("computer_click", target="the white queen")
