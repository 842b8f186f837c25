"""What of the Wayland backend needs no compositor: the wire, the keymap, pictures of windows, Hyprland's windows."""

from __future__ import annotations

import json
import random
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from app.base.errors import NeedsPerson, ToolFailed
from app.base.geometry import Rect
from app.desktop.backends import Frame
from app.desktop.wayland.hyprland import HyprlandWindows
from app.desktop.wayland.keyboard import keymap_of
from app.desktop.wayland.pictures import found_in
from app.desktop.wayland.wire import Wire


@contextmanager
def _served(path: Path, answer: Callable[[socket.socket], None]) -> Iterator[None]:
    """Serve a socket: `answer` gets each connection."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection:
                    answer(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join(5)


# --- the wire


def test_an_error_of_the_protocol_breaks_the_connection_and_says_why(tmp_path: Path) -> None:
    def refuse(connection: socket.socket) -> None:
        connection.recv(4096)
        said = b"no such thing\0\0\0"
        body = (7).to_bytes(4, "little") + (3).to_bytes(4, "little") + (14).to_bytes(4, "little") + said
        connection.sendall((1).to_bytes(4, "little") + ((8 + len(body)) << 16).to_bytes(4, "little") + body)
        connection.recv(4096)

    with _served(tmp_path / "wayland-9", refuse):
        wire = Wire(tmp_path / "wayland-9")
        with pytest.raises(ToolFailed, match="no such thing"):
            wire.roundtrip()
        with pytest.raises(ToolFailed):
            wire.flush()
        wire.close()


def test_a_compositor_that_hangs_ends_with_a_sentence(tmp_path: Path) -> None:
    def hang(connection: socket.socket) -> None:
        while connection.recv(4096):
            pass

    with _served(tmp_path / "wayland-9", hang):
        wire = Wire(tmp_path / "wayland-9")
        with pytest.raises(ToolFailed, match="no answer"):
            wire.roundtrip(0.05)
        wire.close()


def test_a_display_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(NeedsPerson, match="wayland-77"):
        Wire(tmp_path / "wayland-77")


def test_events_are_passed_on_however_they_are_cut(tmp_path: Path) -> None:
    def tell(connection: socket.socket) -> None:
        connection.recv(4096)
        body = (8).to_bytes(4, "little") + b"gr\xc3\xb6\xc3\x9fe\0"
        event = (2).to_bytes(4, "little") + ((8 + len(body)) << 16).to_bytes(4, "little") + body
        for byte in event:
            connection.sendall(bytes([byte]))
        connection.recv(4096)

    heard: list[str] = []
    with _served(tmp_path / "wayland-9", tell):
        wire = Wire(tmp_path / "wayland-9")
        wire.create(1, 1, "n", events={0: ("s", heard.append)})
        assert wire.wait(lambda: bool(heard), 2)
        wire.close()
    assert heard == ["größe"]


# --- the keymap


def test_the_keymap_is_one_that_an_x_server_takes(tmp_path: Path) -> None:
    """The X server reads keymaps with xkbcomp, and keeps its old layout where that fails."""
    (tmp_path / "keymap").write_text(keymap_of({"ü": 200, "你": 201, "😀": 202}), encoding="utf-8")
    told = subprocess.run(
        ["xkbcomp", "-w", "0", "-xkb", str(tmp_path / "keymap"), str(tmp_path / "compiled")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    compiled = (tmp_path / "compiled").read_text(encoding="utf-8", errors="replace").casefold()
    assert [
        name for name in ("udiaeresis", "u4f60", "1f600", "iso_left_tab", "xf86audiomute") if name not in compiled
    ] == []


# --- where a window lies


def _picture(width: int, height: int, seed: int, place: Rect | None = None) -> Frame:
    chance = random.Random(seed)
    return Frame(place or Rect(0, 0, width, height), chance.randbytes(width * height * 4))


def _pasted(screen: Frame, window: Frame, left: int, top: int) -> Frame:
    pixels, row = bytearray(screen.bgrx), window.area.width * 4
    for line in range(window.area.height):
        start = ((top + line) * screen.area.width + left) * 4
        pixels[start : start + row] = window.bgrx[line * row : line * row + row]
    return Frame(screen.area, bytes(pixels))


def test_a_window_is_found_where_its_picture_is_even_if_half_of_it_is_covered() -> None:
    screen, window, cover = _picture(800, 600, 1), _picture(300, 200, 2), _picture(300, 120, 3)
    shown = _pasted(_pasted(screen, window, 217, 91), cover, 217, 91)
    assert found_in(shown, window) == Rect(217, 91, 300, 200)
    assert found_in(shown, window, Rect(10, 10, 300, 200)) == Rect(217, 91, 300, 200)


def test_a_window_that_is_not_there_or_is_there_twice_is_not_found() -> None:
    screen, window = _picture(800, 600, 1), _picture(200, 100, 2)
    twice = _pasted(_pasted(screen, window, 10, 10), window, 400, 300)
    plain = Frame(Rect(0, 0, 200, 100), bytes(200 * 100 * 4))
    assert [found_in(screen, window), found_in(twice, window), found_in(screen, plain)] == [None, None, None]


def test_a_screen_that_does_not_begin_at_the_origin_is_counted_from_its_corner() -> None:
    screen, window = _picture(800, 600, 1, Rect(-800, 100, 800, 600)), _picture(200, 100, 2)
    assert found_in(_pasted(screen, window, 50, 60), window) == Rect(-750, 160, 200, 100)


# --- Hyprland


def _client(**told: Any) -> dict[str, Any]:
    usual = {"mapped": True, "hidden": False, "floating": False, "fullscreen": 0, "workspace": {"id": 1}}
    return {**usual, "class": "foot", "pid": 40, "focusHistoryID": 1, **told}


class _Hyprland:
    """Answers as Hyprland does, and keeps the commands that it got. https://wiki.hypr.land/IPC/"""

    def __init__(self) -> None:
        self.commands: list[str] = []
        self.refuses = False
        clients = [
            _client(address="0xa1", title="below", at=[0, 0], size=[640, 800], focusHistoryID=0),
            _client(address="0xb2", title="question", at=[300, 200], size=[200, 100], floating=True, pid=40),
            _client(address="0xc3", title="elsewhere", at=[0, 0], size=[640, 800], workspace={"id": 4}, pid=50),
        ]
        self._told: Mapping[str, Any] = {
            "j/clients": clients,
            "j/activewindow": clients[0],
            "j/monitors": [{"activeWorkspace": {"id": 1}, "specialWorkspace": {"id": 0}}],
        }

    def answer(self, connection: socket.socket) -> None:
        asked = connection.recv(4096).decode()
        if asked in self._told:
            connection.sendall(json.dumps(self._told[asked]).encode())
            return
        self.commands.append(asked)
        connection.sendall(b"invalid" if self.refuses else b"ok")


@pytest.fixture
def hyprland(tmp_path: Path) -> Iterator[tuple[_Hyprland, HyprlandWindows]]:
    server = _Hyprland()
    with _served(tmp_path / ".socket.sock", server.answer):
        yield server, HyprlandWindows(tmp_path)


def test_hyprlands_windows_come_topmost_first_those_out_of_sight_last(
    hyprland: tuple[_Hyprland, HyprlandWindows],
) -> None:
    found = hyprland[1].windows()
    assert [(one.title, one.is_active, one.is_dialog, one.is_minimised) for one in found] == [
        ("question", False, True, False),
        ("below", True, False, False),
        ("elsewhere", False, False, True),
    ]
    assert found[0].area == found[0].content == Rect(300, 200, 200, 100)


def test_hyprland_is_told_which_window_and_a_refusal_is_told(hyprland: tuple[_Hyprland, HyprlandWindows]) -> None:
    server, windows = hyprland
    ref = windows.windows()[0].ref
    windows.focus(ref)
    windows.place(ref, Rect(5, 6, 700, 500))
    assert server.commands[0] == "dispatch focuswindow address:0xb2"
    assert [command.split(maxsplit=2)[1] for command in server.commands[1:]] == [
        "setfloating", "resizewindowpixel", "movewindowpixel",
    ]  # fmt: skip
    server.refuses = True
    with pytest.raises(ToolFailed, match="invalid"):
        windows.close(ref)
    with pytest.raises(ToolFailed, match="not there"):
        windows.focus("the editor")
