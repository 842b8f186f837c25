"""What the backends of real desktops promise, each read back by a program that is not ours."""

from __future__ import annotations

import asyncio
import io
import signal
import subprocess
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import pytest
from PIL import Image, ImageChops
from Xlib.protocol.display import Display as XConnection
from Xlib.protocol.event import event_class

from app.base.errors import ToolFailed
from app.base.geometry import Point, Rect
from app.desktop.backends import Backend, Button, Frame, Window
from app.desktop.choose import open_desktop
from app.desktop.controller import DesktopController
from app.desktop.desktop import Desktop
from app.desktop.keys import chord
from app.desktop.x11.virtual import VirtualDesktop
from tests.support.compositors import (
    DESKTOPS,
    composited,
    inside,
    is_installed,
    picture_of,
    with_extension,
)
from tests.support.consent import answering
from tests.support.fixture_window import FixtureWindow
from tests.support.waiting import eventually, until

T = TypeVar("T")
_PATCH = Rect(20, 30, 80, 40)
_WORDS = "The quick brown fox\njumps over\nthe lazy dog."
_BLUE = (0, 0, 255)
_LIMIT_S = 30.0
_TRIES = 100
_UNIQUE = "Ünï “x” <b>&amp; 你好 😀"
_TEXT = "".join(chr(sign) for sign in range(0x20, 0x7F))
_FOREIGN = "äöüÄÖÜßéñ€£你好мир😀é"
_MANY = "".join(chr(0x4E00 + number) for number in range(300))
_MOST_ON_X11 = 20
_AT_ONCE = 100_000
_BIG = "0123456789abcdef" * (5_000_000 // 16)


@dataclass
class Place:
    """A desktop with its backend open, and the programs that look at it from outside."""

    name: str
    environment: dict[str, str]
    desktop: Desktop

    @cached_property
    def screen(self) -> Rect:
        return Rect(0, 0, *self.picture().size)

    @property
    def is_x11(self) -> bool:
        return self.name == "x11"

    @property
    def is_on_portals(self) -> bool:
        return self.name in DESKTOPS

    async def run(self, work: Callable[[Backend], Awaitable[T]]) -> T:
        async def on_it(controller: DesktopController) -> T:
            return await work(controller.backend)

        return await self.desktop.run(on_it)

    async def ask(self, question: Callable[[Backend], T]) -> T:
        """Call something that needs no waiting."""

        async def asked(backend: Backend) -> T:
            return question(backend)

        return await self.run(asked)

    def window(self, mode: str, *options: str, platform: str = "") -> FixtureWindow:
        # Qt's own frame, which GNOME asks for, takes presses beyond its edges and on the first pixels of the content.
        qt = {"QT_QPA_PLATFORM": platform or ("xcb" if self.is_x11 else "wayland")}
        frameless = {"QT_WAYLAND_DISABLE_WINDOWDECORATION": "1"} if self.name == "gnome" else {}
        return FixtureWindow(mode, *options, environment={**self.environment, **qt, **frameless})

    def output(self, *command: str, given: bytes | None = None) -> bytes:
        done = subprocess.run(command, env=self.environment, input=given, capture_output=True, timeout=30, check=False)
        return done.stdout

    def picture(self) -> Image.Image:
        """The whole screen, as another program sees it."""
        if self.is_on_portals:
            return picture_of(self.name, self.environment)
        look = ("import", "-window", "root", "png:-") if self.is_x11 else ("grim", "-")
        return Image.open(io.BytesIO(self.output(*look))).convert("RGB")

    def copied(self, kind: str = "") -> bytes:
        """What another program gets when it pastes."""
        if self.has_xclip:
            return self.output("xclip", "-selection", "clipboard", "-o", "-t", kind or "UTF8_STRING")
        return self.output(*self._of_wayland("wl-paste", "--no-newline", *(("--type", kind) if kind else ())))

    @property
    def has_xclip(self) -> bool:
        """Whether the other programs for the clipboard are those of X11: GNOME has no protocol for such programs."""
        return self.name in ("x11", "gnome")

    def _of_wayland(self, *command: str) -> Sequence[str]:
        """A program for the clipboard that speaks the protocol of this compositor."""
        return inside(*command) if self.is_on_portals else command

    @contextmanager
    def copying(self, content: bytes, kind: str = "") -> Iterator[subprocess.Popen[bytes]]:
        """Another program holds the clipboard meanwhile."""
        by_x11 = ("xclip", "-selection", "clipboard", "-quiet", "-i")
        command = by_x11 if self.has_xclip else self._of_wayland("wl-copy", "--foreground")
        typed = (("-t" if self.has_xclip else "--type"), kind) if kind else ()
        owner = subprocess.Popen(
            [*command, *typed], env=self.environment, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert owner.stdin
        owner.stdin.write(content)
        owner.stdin.close()
        try:
            assert eventually(lambda: self.copied(kind) == content)
            yield owner
        finally:
            owner.kill()
            owner.wait()


def _x11(leaving: ExitStack, home: Path) -> dict[str, str]:
    return leaving.enter_context(VirtualDesktop(1280, 800)).environment | {"HOME": str(home)}


async def _open(backend: Backend) -> None:
    assert backend.access
    await backend.access.open()


@pytest.fixture(
    scope="module",
    params=["x11", "sway", "labwc", *(pytest.param(name, marks=pytest.mark.long) for name in DESKTOPS)],
)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    name = request.param
    if name != "x11" and not is_installed(name):
        brings = "portals" if name in DESKTOPS else "wayland"
        pytest.skip(f"{name} is not installed; scripts/setup {brings} brings it where the system has it")
    home = tmp_path_factory.mktemp(name)
    with ExitStack() as leaving, pytest.MonkeyPatch.context() as patch:
        # python-xlib has one table of events for all X servers, and they number their extensions differently.
        patch.setattr(XConnection, "event_classes", event_class.copy())
        prepare = with_extension if name in DESKTOPS else None
        composed = None if name == "x11" else composited(name, home, prepare=prepare)
        environment = leaving.enter_context(composed) if composed else _x11(leaving, home)
        desktop = open_desktop(environment=environment)
        leaving.callback(desktop.close)
        made = Place(name, environment, desktop)
        if made.is_on_portals:
            with answering(environment, allow=True):
                asyncio.run(made.run(_open))
        yield made


@pytest.fixture(scope="module")
def canvas(place: Place) -> Iterator[FixtureWindow]:
    """A window with a blue patch that tells what reaches it. It is there in every test of this file."""
    blue = ",".join(str(part) for part in (_PATCH.x, _PATCH.y, _PATCH.width, _PATCH.height))
    with place.window(
        "canvas", "--title", "Canvas", "--size", "600x400", "--blue", blue, "--hover", "yes", "--words", _WORDS
    ) as window:
        assert eventually(lambda: patch_in(place.picture()) is not None)
        yield window


@pytest.fixture(scope="module")
def page(place: Place, canvas: FixtureWindow) -> Iterator[FixtureWindow]:
    """A text field beside the canvas."""
    with place.window("text", "--title", "Page", "--size", "400x200", "--at", "760,100") as window:
        yield window


def patch_in(picture: Image.Image) -> Rect | None:
    """Return where the blue patch is."""
    bands = picture.split()
    masks = [
        band.point(lambda value, wanted=wanted: 255 * (value == wanted))
        for band, wanted in zip(bands, _BLUE, strict=True)
    ]
    box = ImageChops.multiply(ImageChops.multiply(masks[0], masks[1]), masks[2]).getbbox()
    return Rect(box[0], box[1], box[2] - box[0], box[3] - box[1]) if box else None


def _origin(place: Place) -> Point:
    """Return where the canvas begins, by its patch in a picture of another program's."""
    patch = patch_in(place.picture())
    assert patch is not None and patch.size == _PATCH.size
    return Point(patch.x - _PATCH.x, patch.y - _PATCH.y)


def _image(frame: Frame) -> Image.Image:
    return Image.frombytes("RGB", (frame.area.width, frame.area.height), bytes(frame.bgrx), "raw", "BGRX")


async def _window(place: Place, title: str, *, is_active: bool = False) -> Window:
    """Return the listed window of this title, once it is there (and active, if that is asked for)."""
    found: list[Window] = []

    def is_meant(one: Window) -> bool:
        return one.title == title and (one.is_active or not is_active)

    async def listed(backend: Backend) -> None:
        await until(lambda: found.extend(filter(is_meant, backend.windows.all())) or found, _LIMIT_S)

    await place.run(listed)
    return found[-1]


async def _in_front(place: Place, title: str) -> Window:
    ref = (await _window(place, title)).ref
    return await place.run(lambda backend: backend.windows.focus(ref))


async def _told(window: FixtureWindow, *kinds: str, last: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
    """Return what the window told of these kinds, up to the event that is the `last`."""
    await asyncio.to_thread(window.wait, last, _LIMIT_S)
    return [event for event in window.told if event["event"] in kinds]


# --- Screen


async def test_the_screen_is_seen_as_another_program_sees_it(place: Place, canvas: FixtureWindow) -> None:
    monitors, extent = await place.ask(lambda backend: (backend.screen.monitors(), backend.screen.extent()))
    assert (monitors, extent) == ((place.screen,), place.screen)
    for _ in range(_TRIES):  # a portal's picture comes a moment after the change
        frame = await place.ask(lambda backend: backend.screen.grab(place.screen))
        assert frame.area == place.screen
        if not place.is_on_portals or _image(frame) == place.picture():
            break
    assert ImageChops.difference(_image(frame), place.picture()).getbbox() is None


async def test_a_part_of_the_screen_is_that_part(place: Place, canvas: FixtureWindow) -> None:
    origin = _origin(place)
    patch = Rect(origin.x + _PATCH.x, origin.y + _PATCH.y, _PATCH.width, _PATCH.height)
    around = Rect(patch.x - 3, patch.y - 2, patch.width + 10, patch.height + 7)
    inside, outside = await place.ask(lambda backend: (backend.screen.grab(patch), backend.screen.grab(around)))
    assert _image(inside).getcolors() == [(patch.size.area, _BLUE)]
    assert patch_in(_image(outside)) == Rect(3, 2, patch.width, patch.height)


async def test_what_is_not_on_the_screen_cannot_be_seen(place: Place) -> None:
    for area in (Rect(5000, 10, 20, 20), Rect(place.screen.right - 10, 10, 20, 20)):
        with pytest.raises(ToolFailed):
            await place.ask(lambda backend, area=area: backend.screen.grab(area))


# --- Pointer


def _local(canvas: FixtureWindow, event: dict[str, Any]) -> Point:
    return Point(int(event["x"] - canvas.ready["x"]), int(event["y"] - canvas.ready["y"]))


async def _on_canvas(place: Place, canvas: FixtureWindow) -> Point:
    """Return where the canvas begins. It is in front, the pointer is on it, and all it told is forgotten."""
    await _in_front(place, "Canvas")
    origin = _origin(place)
    for number in range(_TRIES):  # the first move may only be an entry
        canvas.forget()
        to = origin.moved(100 + number, 100)
        await place.ask(lambda backend, to=to: backend.pointer.move(to))
        await asyncio.sleep(0.05)
        if any(event["event"] == "move" for event in canvas.quiet()):
            break
    canvas.forget()
    return origin


async def test_the_pointer_reaches_the_very_pixel_that_it_is_sent_to(place: Place, canvas: FixtureWindow) -> None:
    origin = await _on_canvas(place, canvas)
    for wanted in (Point(0, 0), Point(1, 1), Point(199, 307), Point(20, 31), Point(333, 5)):
        to = origin.moved(wanted.x, wanted.y)
        assert await place.ask(lambda backend, to=to: (backend.pointer.move(to), backend.pointer.position())[1]) == to
        await _told(canvas, last=lambda event, wanted=wanted: _local(canvas, event) == wanted)


async def test_every_button_goes_down_and_up_as_itself(place: Place, canvas: FixtureWindow) -> None:
    await _on_canvas(place, canvas)
    for button in Button:
        for down in (True, False):
            await place.ask(lambda backend, button=button, down=down: backend.pointer.button(button, down=down))
    names = ("LeftButton", "MiddleButton", "RightButton", "BackButton", "ForwardButton")
    told = await _told(
        canvas, "press", "release", last=lambda event: (event["event"], event["button"]) == ("release", names[-1])
    )
    assert [(one["event"], one["button"]) for one in told] == [
        (kind, name) for name in names for kind in ("press", "release")
    ]


@pytest.mark.parametrize(("dx", "dy"), [(0, 1), (0, -1), (1, 0), (-1, 0)])
async def test_a_notch_of_the_wheel_is_one_notch(place: Place, canvas: FixtureWindow, dx: int, dy: int) -> None:
    await _on_canvas(place, canvas)
    for _ in range(3):
        await place.ask(lambda backend: backend.pointer.scroll(dx, dy))
        await _told(canvas, last=lambda event: event["event"] == "wheel")  # Qt adds up those that come together
    turned = [(one["dx"], one["dy"]) for one in canvas.quiet() if one["event"] == "wheel"]
    assert turned == [(-120 * dx, -120 * dy)] * 3  # Qt counts from right to left and from below


async def test_a_held_button_drags(place: Place, canvas: FixtureWindow) -> None:
    origin = await _on_canvas(place, canvas)
    path = [Point(50, 60), Point(70, 66), Point(240, 300)]

    def drag(backend: Backend) -> None:
        backend.pointer.move(origin.moved(path[0].x, path[0].y))
        backend.pointer.button(Button.LEFT, down=True)
        for local in path[1:]:
            backend.pointer.move(origin.moved(local.x, local.y))
        backend.pointer.button(Button.LEFT, down=False)

    await place.ask(drag)
    told = await _told(canvas, "press", "release", last=lambda event: event["event"] == "release")
    assert [(one["event"], _local(canvas, one)) for one in told] == [("press", path[0]), ("release", path[-1])]


# --- Keyboard


def _tap(backend: Backend, *names: str) -> None:
    for name in names:
        backend.keyboard.key(name, down=True)
    for name in reversed(names):
        backend.keyboard.key(name, down=False)


_QT_NAMES = {
    "Page_Up": "PageUp", "Page_Down": "PageDown", "BackSpace": "Backspace", "space": "Space", "Tab": "Tab",
}  # fmt: skip
_NAMED = (
    "Return", "Tab", "Escape", "BackSpace", "Delete", "Insert", "Home", "End", "Page_Up", "Page_Down", "Left", "Right",
    "Up", "Down", "space", "Menu", "F1", "F5", "F10", "F12",
)  # fmt: skip


async def test_named_keys_are_those_keys(place: Place, canvas: FixtureWindow) -> None:
    await _on_canvas(place, canvas)
    for name in _NAMED:
        await place.ask(lambda backend, name=name: _tap(backend, name))
    told = await _told(
        canvas, "key", "key_up", last=lambda event: (event["event"], event.get("key")) == ("key_up", "Key_F12")
    )
    wanted = [f"Key_{_QT_NAMES.get(name, name)}" for name in _NAMED]
    assert [(one["event"], one["key"]) for one in told] == [
        (kind, name) for name in wanted for kind in ("key", "key_up")
    ]


@pytest.mark.parametrize(
    ("keys", "key", "held"),
    [
        ("ctrl+s", "Key_S", ["ctrl"]),
        ("ctrl+shift+Left", "Key_Left", ["shift", "ctrl"]),
        ("alt+x", "Key_X", ["alt"]),
        ("shift+F4", "Key_F4", ["shift"]),
        ("ctrl+alt+1", "Key_1", ["ctrl", "alt"]),
        ("ctrl+plus", "Key_Plus", ["shift", "ctrl"]),
    ],
)
async def test_chords_hold_their_modifiers_and_let_go(
    place: Place, canvas: FixtureWindow, keys: str, key: str, held: list[str]
) -> None:
    await _on_canvas(place, canvas)
    await place.ask(lambda backend: _tap(backend, *chord(keys.replace("plus", "+")).keys))
    await place.ask(lambda backend: _tap(backend, "q"))
    told = await _told(canvas, "key", last=lambda event: event.get("key") == "Key_Q")
    pressed = [(one["key"], one["modifiers"]) for one in told if not one["key"].endswith(("Shift", "Control", "Alt"))]
    assert pressed == [(key, held), ("Key_Q", [])]


async def _typed(place: Place, page: FixtureWindow, text: str, work: Callable[[Backend], Awaitable[object]]) -> None:
    """See whether the page holds just this text after the work."""
    await _in_front(place, "Page")
    page.forget()
    await place.run(work)
    if text:
        await _told(page, last=lambda event: event["event"] == "text" and len(event["text"]) >= len(text))
    page.quiet()
    held = [event["text"] for event in page.told if event["event"] == "text"]
    assert (held[-1] if held else "") == text


async def test_plain_text_is_typed_sign_by_sign(place: Place, page: FixtureWindow) -> None:
    async def write(backend: Backend) -> None:
        assert backend.keyboard.can_type(_TEXT)
        for start in range(0, len(_TEXT), 16):
            backend.keyboard.type_text(_TEXT[start : start + 16])
        for name in ("Return", "Tab"):
            _tap(backend, name)
        backend.keyboard.type_text("Zz")

    await _typed(place, page, _TEXT + "\n\tZz", write)


@pytest.mark.parametrize(
    "text", [_FOREIGN, "Grüße — 你好 ok 😀!", "€" * 40, _MANY], ids=["foreign", "mixed", "one", "many"]
)
async def test_any_text_is_typed_exactly(place: Place, page: FixtureWindow, text: str) -> None:
    # openbox is busy for a minute with 300 changes of the X server's key map.
    text = text[:_MOST_ON_X11] if place.is_x11 else text
    await _typed(place, page, text, lambda backend: _write(place, backend, text))
    # The layout is the old one again, and no key hangs.
    await _typed(place, page, "az", lambda backend: _plain(backend, "az"))


async def _write(place: Place, backend: Backend, text: str) -> None:
    """Write what the layout lacks: with keys that are lent for it, which portals do not."""
    if place.is_on_portals:
        assert await backend.exact.paste(text, "ctrl+v")
    else:
        await backend.exact.remap(text)


async def _plain(backend: Backend, text: str) -> None:
    with backend.keyboard.plain():
        backend.keyboard.type_text(text)


async def test_a_text_is_pasted_and_the_clipboard_stays(place: Place, page: FixtureWindow) -> None:
    async def paste(backend: Backend) -> None:
        await backend.clipboard.write("mine")
        if backend.exact.can_paste():
            assert await backend.exact.paste(_FOREIGN, "ctrl+v")
        else:
            await backend.exact.remap(_FOREIGN)

    await _typed(place, page, _FOREIGN, paste)
    assert await place.run(lambda backend: backend.clipboard.read()) == "mine"


async def test_keys_have_one_place_whatever_they_write(place: Place) -> None:
    places, symbols = await place.ask(
        lambda backend: (
            [backend.keyboard.place(name) for name in ("a", "A", "Escape", "1")],
            backend.keyboard.symbols_of("a"),
        )
    )
    assert (places[0] == places[1], len(set(places))) == (True, 3)
    assert {"a", "A"} <= symbols


# --- Clipboard


@pytest.mark.parametrize("text", ["plain", "naïve 日本 🚀\n\tend\r\n", _BIG], ids=["plain", "foreign", "large"])
async def test_a_copied_text_is_read_by_others_and_the_other_way_round(place: Place, text: str) -> None:
    await place.run(lambda backend: backend.clipboard.write(text))
    assert (await asyncio.to_thread(place.copied)).decode() == text
    assert await place.run(lambda backend: backend.clipboard.read()) == text
    # xclip serves one program at a time what is too long for one message, and GNOME's own keeper asks as well.
    other = text[::-1][: _AT_ONCE if place.name == "gnome" else None]
    with place.copying(other.encode()):
        assert await _is_read(place, other)


async def _is_read(place: Place, text: str) -> bool:
    """Return whether Wisp reads this. A portal tells a moment later that another program has the clipboard."""
    for _ in range(_TRIES):
        if await place.run(lambda backend: backend.clipboard.read()) == text:
            return True
        await asyncio.sleep(0.05)
    return False


async def test_an_empty_clipboard_has_no_text(place: Place) -> None:
    with place.copying(b"<b>x</b>", "application/x-notes"):
        while "text/plain" in await place.run(lambda backend: backend.clipboard.formats()):  # noqa: ASYNC110
            await asyncio.sleep(0.05)  # because a portal tells a moment later who offers what
        text, formats = await place.run(_both)
        assert (text, formats.get("application/x-notes")) == ("", b"<b>x</b>")
    assert await place.run(_both) == ("", {})
    await place.run(lambda backend: backend.clipboard.write(""))
    assert await asyncio.to_thread(place.copied) == b""


async def _both(backend: Backend) -> tuple[str, dict[str, bytes]]:
    return await backend.clipboard.read(), dict(await backend.clipboard.formats())


async def test_an_owner_that_hangs_does_not_hang_the_reader(place: Place) -> None:
    with place.copying(b"never read") as owner:
        owner.send_signal(signal.SIGSTOP)
        async with asyncio.timeout(_LIMIT_S):
            try:
                assert await place.run(lambda backend: backend.clipboard.read()) == ""
            except ToolFailed as error:
                assert str(error).endswith(".")


# --- Windows


async def test_a_window_is_listed_as_what_it_is(place: Place, canvas: FixtureWindow) -> None:
    with place.window("canvas", "--title", _UNIQUE, "--size", "300x200", "--at", "800,500") as other:
        new = await _window(place, _UNIQUE, is_active=True)
        old = await _window(place, "Canvas")
        assert (new.ref != old.ref, new.is_active, old.is_active) == (True, True, False)
        assert (new.pid in (0, other.pid), new.app != "", new.is_own) == (True, True, False)
        assert new.area.size.area == 0 or new.area.overlap(place.screen) == new.area
        again = await _window(place, _UNIQUE)
        assert again == new, "a window has one name for as long as it is there"
    await place.run(lambda backend: _gone(backend, new.ref))
    assert (await _window(place, "Canvas")).ref == old.ref


async def _gone(backend: Backend, ref: str) -> None:
    await until(lambda: ref not in [one.ref for one in backend.windows.all()])


async def test_a_window_lies_where_it_is_seen(place: Place, canvas: FixtureWindow) -> None:
    window = await _in_front(place, "Canvas")
    origin = _origin(place)
    content = Rect(origin.x, origin.y, int(canvas.ready["width"]), int(canvas.ready["height"]))
    assert content.overlap(window.area) is not None
    assert window.area.contains(origin)
    told = getattr(window, "content", None)
    assert told is None or (told.x, told.y) == (origin.x, origin.y)
    beneath = await place.ask(lambda backend: backend.windows.under(origin.moved(5, 5)))
    assert (beneath.window, bool(beneath.place), beneath.is_own) == (window.ref, True, False)


async def test_keys_go_to_the_window_that_is_brought_forward(
    place: Place, canvas: FixtureWindow, page: FixtureWindow
) -> None:
    for _ in range(2):
        front = await _in_front(place, "Canvas")
        assert front.is_active
        assert (await place.ask(lambda backend: backend.windows.keyboard())).window == front.ref
        canvas.forget()
        await place.ask(lambda backend: _tap(backend, "k"))
        await _told(canvas, last=lambda event: event.get("key") == "Key_K")
        await _typed(place, page, "p", lambda backend: _plain(backend, "p"))


async def test_a_window_is_closed(place: Place, canvas: FixtureWindow) -> None:
    with place.window("canvas", "--title", "Closing", "--size", "300x200") as other:
        window = await _window(place, "Closing")
        assert await place.run(lambda backend: backend.windows.close(window.ref))
        assert eventually(lambda: other.has_ended)


async def test_a_window_is_placed_or_it_is_said_why_not(place: Place, canvas: FixtureWindow) -> None:
    wanted = Rect(300, 200, 420, 310)
    with place.window("canvas", "--title", "Placed", "--size", "300x200"):
        window = await _window(place, "Placed")
        try:
            placed = await place.run(lambda backend: backend.windows.place(window.ref, wanted))
        except ToolFailed as error:
            assert str(error).endswith(".")
            return
        assert placed.area == wanted
        for inside, outside in ((Point(300, 200), Point(299, 199)), (Point(719, 509), Point(720, 510))):
            under = await place.ask(lambda backend, at=inside: backend.windows.under(at))
            beside = await place.ask(lambda backend, at=outside: backend.windows.under(at))
            assert (window.ref in (under.window, under.framed), window.ref in (beside.window, beside.framed)) == (
                True,
                False,
            )


async def test_a_window_is_put_away_and_comes_back_or_it_is_said_why_not(place: Place, canvas: FixtureWindow) -> None:
    with place.window("canvas", "--title", "Away", "--size", "300x200"):
        window = await _window(place, "Away")
        try:
            await place.run(lambda backend: backend.windows.minimise(window.ref))
        except ToolFailed as error:
            assert str(error).endswith(".")
            return
        away = await _window(place, "Away")
        assert (away.is_minimised, away.is_active) == (True, False)
        assert window.ref not in [one.ref for one in await place.ask(lambda backend: backend.windows.shown())]
        back = await _in_front(place, "Away")
        assert (back.ref, back.is_minimised, back.is_active) == (window.ref, False, True)


async def test_a_new_window_ends_the_wait_for_a_change(place: Place, canvas: FixtureWindow) -> None:
    async def wait(backend: Backend) -> None:
        before = len(backend.windows.all())
        async with asyncio.timeout(_LIMIT_S):
            while len(backend.windows.all()) == before:
                await backend.windows.changed(10 * _LIMIT_S)

    waiting = asyncio.create_task(place.run(wait))
    await asyncio.sleep(0.2)
    with place.window("canvas", "--title", "New", "--size", "300x200"):
        await waiting


async def test_a_window_that_is_gone_cannot_be_handled(place: Place, canvas: FixtureWindow) -> None:
    with place.window("canvas", "--title", "Short", "--size", "300x200"):
        ref = (await _window(place, "Short")).ref
    await place.run(lambda backend: _gone(backend, ref))
    works: Sequence[Callable[[Backend], Awaitable[object]]] = (
        lambda backend: backend.windows.focus(ref),
        lambda backend: backend.windows.close(ref),
        lambda backend: backend.windows.place(ref, Rect(0, 0, 300, 300)),
        lambda backend: backend.windows.minimise(ref),
    )
    for work in works:
        with pytest.raises(ToolFailed, match="gone"):
            await place.run(work)


async def test_a_hanging_program_does_not_hang_the_caller(place: Place, canvas: FixtureWindow) -> None:
    with place.window("canvas", "--title", "Hanging", "--size", "300x200") as other:
        ref = (await _window(place, "Hanging")).ref
        assert await place.run(lambda backend: backend.windows.answers(ref, _LIMIT_S)) in (True, None)
        other.freeze()
        try:
            async with asyncio.timeout(_LIMIT_S):
                assert await place.run(lambda backend: backend.windows.answers(ref, 0.3)) in (False, None)
        finally:
            other.thaw()


async def test_a_windows_own_picture_shows_that_window_or_there_is_none(place: Place, canvas: FixtureWindow) -> None:
    ref = (await _in_front(place, "Canvas")).ref
    frame = await place.run(lambda backend: backend.windows.picture(ref))
    assert frame is None or (patch_in(_image(frame)) or place.screen).size == _PATCH.size


# --- X11 programs, which have a server of their own on Wayland


async def test_an_x11_program_is_driven_like_any_other(place: Place, canvas: FixtureWindow) -> None:
    with place.window("text", "--title", "Old", "--size", "300x200", platform="xcb") as old:
        window = await _in_front(place, "Old")
        assert (window.pid, window.area.overlap(place.screen)) == (old.pid, window.area)
        middle = window.area.center
        under = await place.ask(lambda backend: backend.windows.under(middle))
        assert under.window == window.ref
        await place.run(lambda backend: _plain(backend, "Hello, World! "))
        await place.run(lambda backend: _write(place, backend, _FOREIGN))
        await _told(old, last=lambda event: event.get("text") == "Hello, World! " + _FOREIGN)
        await place.run(lambda backend: backend.clipboard.write("from Wisp"))
        copied = await asyncio.to_thread(place.output, "xclip", "-selection", "clipboard", "-o")
        assert copied == b"from Wisp"
        assert await place.run(lambda backend: backend.windows.close(window.ref))


# --- Drawing and programs


async def test_what_is_drawn_is_told(place: Place, canvas: FixtureWindow) -> None:
    async def follow(backend: Backend) -> None:
        drawn = backend.drawing.follow() if backend.drawing else None
        if drawn is None:
            return  # it says that it cannot tell
        areas: list[Rect | None] = [drawn.area()]
        with place.window("canvas", "--title", "Drawn", "--size", "300x200"):
            assert await drawn.more(_LIMIT_S)
            await until(lambda: areas.append(drawn.area()) or areas[-1])
            area = areas[-1]
            assert area and area.overlap(place.screen) == area

    await place.run(follow)


async def test_a_program_is_started_and_named(place: Place, canvas: FixtureWindow) -> None:
    started: list[int] = []

    async def start(backend: Backend) -> None:
        app = next(app for app in backend.apps.installed() if "galculator" in app.ref)
        before = {one.ref for one in backend.windows.all()}
        launched = backend.apps.launch(app)
        started.append(launched.pid)
        await until(lambda: {one.ref for one in backend.windows.all()} - before)
        window = next(one for one in backend.windows.all() if one.ref not in before)
        assert backend.apps.how_it_ended(launched) is None
        owner = backend.apps.owner(window.pid, window.app)
        assert "galculator" in owner.labels
        await backend.windows.close(window.ref)
        await until(lambda: backend.apps.how_it_ended(launched) is not None)

    await place.run(start)


async def test_the_screen_can_be_reached_and_the_backend_says_its_name(place: Place) -> None:
    name, reach = await place.ask(lambda backend: (backend.name, backend.reach))
    assert name.startswith("x11" if place.is_x11 else "wayland")
    if reach is not None:
        await place.ask(lambda backend: backend.reach and backend.reach())
