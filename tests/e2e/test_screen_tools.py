"""The tools that read the screen, as a model calls them, on real programs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing

import pytest
from Xlib import X, Xatom
from Xlib.display import Display

from app.base.errors import ToolFailed, ToolMisuse
from app.base.geometry import Rect
from app.desktop.backends import Frame
from app.desktop.capture import PictureBudget, is_black
from app.desktop.choose import open_desktop
from app.desktop.controller import DesktopController
from app.desktop.desktop import Desktop
from app.desktop.ocr.rapid import RapidOcr
from app.desktop.x11.virtual import VirtualDesktop
from app.protocol.call import JsonValue, Media, ToolCall, ToolResult
from app.tools.pictures import ModelSight
from app.tools.registry import TurnContext, admitted
from app.tools.screen import SCREEN, ScreenReading
from tests.support import observer
from tests.support.desktop_tools import Tools
from tests.support.waiting import eventually, until

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def desk(desktop: VirtualDesktop) -> Iterator[Desktop]:
    desk = open_desktop(environment=desktop.environment)
    yield desk
    desk.close()


@pytest.fixture
def screen(desk: Desktop) -> ScreenReading:
    return ScreenReading(desk)


async def call(screen: ScreenReading, tool: str, **arguments: JsonValue) -> ToolResult:
    spec = next(spec for spec in SCREEN.tools if spec.name == tool)
    result: ToolResult = await spec.execute(screen, ToolCall("1", tool, arguments), TurnContext(admitted))
    return result


def text_ref_of(echo: str, text: str) -> str:
    """The ref of a line of text that was read off the screen."""
    found = re.search(rf'(t\d+) writing "{re.escape(text)}"', echo)
    assert found, f"{text!r} is not in:\n{echo}"
    return found[1]


def ref_of(echo: str, line: str) -> str:
    """The ref on the line of an outline that holds `line`."""
    found = re.search(rf"(e\d+) {re.escape(line)}", echo)
    assert found, f"{line!r} is not in:\n{echo}"
    return found[1]


async def test_what_is_read_can_be_pressed_and_what_changed_is_told(screen: ScreenReading) -> None:
    with observer.started("galculator", app="galculator"):
        read = await call(screen, "read_screen", window="galculator")
        for key in "12*7=":
            pressed = await call(screen, "press", ref=ref_of(read.llm_echo, f'toggle button "{key}"'))
            assert pressed.ok
        assert eventually(lambda: observer.text_of("galculator") == "84")
        changed = await call(screen, "read_screen", view="diff", window="galculator")
        assert '= "84"' in changed.llm_echo
        assert len(changed.llm_echo.splitlines()) < 6


async def test_a_value_that_was_set_is_confirmed_by_what_the_field_holds(screen: ScreenReading) -> None:
    with observer.started("zenity", "--entry", "--text=Your name", app="zenity"):
        found = await call(screen, "read_screen", view="find", query="text field", window="zenity")
        done = await call(screen, "set_value", ref=ref_of(found.llm_echo, "text"), value="Ada Łovelace")
        assert observer.text_of("zenity") == "Ada Łovelace"
        assert (done.payload["proof"], done.payload["value"]) == ("confirmed", "Ada Łovelace")


async def test_an_element_is_located_with_its_ref(screen: ScreenReading) -> None:
    with observer.started("galculator", app="galculator"):
        found = await call(screen, "locate_screen_element", target="the seven key")
        box = observer.named("galculator", "7").box
        assert (found.payload["how"], found.payload["box"]) == ("accessibility", list(box))
        assert f'ref="{found.payload["ref"]}"' in found.llm_echo


OPS = "printf '\\n\\n   Deployment finished\\n\\n   Roll back\\n'; "


def terminal(script: str, title: str = "Ops") -> AbstractContextManager[object]:
    command = ("xterm", "-fa", "monospace", "-fs", "14", "-T", title, "-e", OPS + script)
    return observer.started(*command, title=title)


async def test_what_a_terminal_shows_is_read_and_located_by_its_writing(screen: ScreenReading) -> None:
    with terminal("sleep 60"):
        read = await call(screen, "read_screen", window="Ops")
        ref = text_ref_of(read.llm_echo, "Roll back")
        found = await call(screen, "locate_screen_element", target="Roll back", window="Ops")
        assert (found.payload["how"], found.payload["ref"]) == ("ocr", ref)
        with pytest.raises(ToolMisuse, match="can be clicked: computer_click"):
            await call(screen, "press", ref=ref)


@pytest.mark.long
async def test_all_text_in_a_region_is_read_and_nothing_beside_it(screen: ScreenReading) -> None:
    with terminal("sleep 60"):
        whole = await call(screen, "read_screen", window="Ops")
        line = re.search(r'writing "Roll back" \((\d+),(\d+),(\d+),(\d+)\)', whole.llm_echo)
        assert line is not None
        left, top, width, height = (int(number) for number in line.groups())
        around = f"{left - 8},{top - 4},{left + width + 8},{top + height + 4}"
        read = await call(screen, "read_screen", region=around)
        assert re.findall(r'writing "(.*?)"', read.llm_echo) == ["Roll back"]
        nothing = await call(screen, "read_screen", region="1,1,3,3")
        assert "Nothing is told or written there." in nothing.llm_echo


@pytest.mark.long
async def test_of_a_marked_part_its_picture_is_read_whatever_the_screen_shows_by_now(desk: Desktop) -> None:
    sight = ModelSight()
    marked = ScreenReading(desk, sight)
    with terminal("sleep 60"):
        shown = await desk.run(lambda controller: controller.screen_capture.capture(
            controller.find_window("Ops").area, "Ops", PictureBudget()))  # fmt: skip
    sight.note_marked([Media(shown.data, "image/jpeg", 1, 1, "a part of the screen")])
    sight.note_marked([Media(b"", "image/png", 1, 1, "from the clipboard")])
    read = await call(marked, "read_screen", region="marked")
    assert "Roll back" in read.llm_echo
    assert "Roll back" not in (await call(marked, "read_screen")).llm_echo


@pytest.mark.long
async def test_text_of_a_terminal_is_clicked_by_name_and_by_ref(desk: Desktop, screen: ScreenReading) -> None:
    tools = Tools(desk)
    listen = "printf '\\033[?1000h'; stty raw -echo; while read -n 6 -r click; do printf '\\r\\nclicked '; done"
    with terminal(f"bash -c {shlex.quote(listen)}"):
        by_name = await tools("computer_click", target="Roll back")
        assert (by_name.payload["route"], by_name.payload["verdict"]) == ("ocr", "changed")
        await tools("wait_for", text="clicked")
        read = await call(screen, "read_screen", window="Ops")
        by_ref = await tools("computer_click", ref=text_ref_of(read.llm_echo, "Roll back"))
        assert by_ref.payload["target"] == "Roll back"


@pytest.mark.long
async def test_text_that_a_terminal_is_about_to_show_is_waited_for_and_told_as_a_change(desk: Desktop) -> None:
    tools = Tools(desk)
    with terminal("read; echo; echo '   All servers up'; sleep 60"):
        await tools("wait_for", text="Roll back")
        await tools("screen_capture")
        await tools("computer_key", keys="Return")
        await tools("wait_for", text="All servers up")
        told = await tools("changes")
        assert 'writing "All servers up"' in told.llm_echo
        with pytest.raises(ToolFailed, match="the text 'Deployment' is still there"):
            await tools("wait_for", text="Deployment", gone=True, limit_s=0.5)


@pytest.mark.long
async def test_what_changed_in_a_terminal_is_told_line_by_line(desk: Desktop, screen: ScreenReading) -> None:
    tools = Tools(desk)
    with terminal("read; clear; echo; echo '   All servers up'; sleep 60"):
        await tools("wait_for", text="Roll back")
        await call(screen, "read_screen", view="diff", window="Ops")
        again = await call(screen, "read_screen", view="diff", window="Ops")
        assert "writing" not in again.llm_echo
        await tools("computer_key", keys="Return")
        await tools("wait_for", text="All servers up")
        changed = await call(screen, "read_screen", view="diff", window="Ops")
        assert re.search(r'^\+ t\d+ writing "All servers up"', changed.llm_echo, re.MULTILINE)
        assert re.search(r'^- t\d+ writing "Roll back"', changed.llm_echo, re.MULTILINE)


@pytest.mark.long
async def test_what_is_nowhere_comes_as_a_picture_to_point_in(desk: Desktop, screen: ScreenReading) -> None:
    async def front(controller: DesktopController) -> Rect:
        return controller.find_window("Ops").area

    tools = Tools(desk)
    with terminal("sleep 60"):
        done = await call(screen, "locate_screen_element", target="the red bin")
        area = await desk.run(front)
        assert (done.ok, done.event, len(done.llm_media)) == (False, "tool_error", 1)
        assert done.payload["region"] == [area.x, area.y, area.width, area.height]
        clicked = await tools("computer_click", target="the red bin")
        assert (clicked.ok, len(clicked.llm_media)) == (False, 1)
        pointed = await tools("computer_move", x=10, y=10)
        assert (pointed.payload["x"], pointed.payload["y"]) == (area.x + 10, area.y + 10)


async def test_find_needs_to_know_what(screen: ScreenReading) -> None:
    with pytest.raises(ToolMisuse, match="needs a query"):
        await call(screen, "read_screen", view="find")


async def test_a_ref_from_nowhere_is_refused_by_every_tool_that_takes_one(screen: ScreenReading) -> None:
    for tool in ("press", "set_value"):
        with pytest.raises(ToolMisuse, match="read the screen again"):
            await call(screen, tool, ref="e77", value="x")


async def test_a_window_that_is_not_there_is_said(screen: ScreenReading) -> None:
    with pytest.raises(ToolFailed, match="No window is called 'Nowhere'"):
        await call(screen, "locate_screen_element", target="OK", window="Nowhere")


def picture(text: str) -> Frame:
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("RGBX", (400, 60), "white")
    ImageDraw.Draw(image).text((50, 15), text, fill="black", font=ImageFont.load_default(22))
    return Frame(Rect(1000, 500, 400, 60), image.tobytes())


async def test_text_is_read_with_its_place_on_the_screen() -> None:
    ocr = RapidOcr()
    first = await ocr.read_text(picture("Deployments"))
    assert [line.text for line in first] == ["Deployments"]
    assert Rect(1040, 505, 200, 50).contains(first[0].box.center)
    assert await ocr.read_text(picture("Deployments")) == first
    assert await ocr.read_text(picture("")) == ()
    await ocr.close()


@pytest.mark.long
async def test_text_recognition_that_was_dropped_starts_again() -> None:
    ocr = RapidOcr()
    assert [line.text for line in await ocr.read_text(picture("First"))] == ["First"]
    await ocr.close()
    assert [line.text for line in await ocr.read_text(picture("Second"))] == ["Second"]
    await ocr.close()


async def test_a_desktop_that_is_all_black_is_a_picture(desk: Desktop, desktop: VirtualDesktop) -> None:
    display = Display(desktop.environment["DISPLAY"])
    window = display.screen().root.create_window(0, 0, 1280, 800, 0, X.CopyFromParent, background_pixel=0)
    state, fullscreen = map(display.intern_atom, ("_NET_WM_STATE", "_NET_WM_STATE_FULLSCREEN"))
    window.set_wm_name("Night")
    window.change_property(state, Xatom.ATOM, 32, [fullscreen])
    window.map()
    display.sync()

    async def look(controller: DesktopController) -> tuple[bool, Rect]:
        screen = controller.screen_capture
        await until(lambda: is_black(controller.backend.screen.grab(controller.backend.screen.extent())))
        shown = await screen.capture(controller.backend.screen.extent(), "screen", PictureBudget())
        return any(one.title == "Night" for one in controller.backend.windows.all()), shown.geometry.region

    with closing(display):
        assert await desk.run(look) == (True, Rect(0, 0, 1280, 800))
