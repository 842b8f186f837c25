"""Windows by sway's own messages, which are i3's. https://man.archlinux.org/man/sway-ipc.7.en"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from app.base.errors import ToolFailed
from app.base.geometry import Rect
from app.base.phrases import Phrase
from app.base.values import replace
from app.desktop.backends import Desktops, NotOffered, Window, WindowState, number_of_ref
from app.desktop.wayland import kernel
from app.desktop.wayland.windows import Listing

_MAGIC = b"i3-ipc"
_HEAD = struct.Struct("=6sII")
_COMMAND, _SUBSCRIBE, _TREE = 0, 2, 4
_LIMIT_S = 2.0


class SwayWindows(Listing):
    """The windows of sway, native ones and those of XWayland, topmost first. `x_number` tells which are of XWayland."""

    name = "sway"

    def __init__(self, path: str) -> None:
        self._path = path
        self._socket = self._open()
        self._events: socket.socket | None = None
        self._x_numbers: dict[str, int] = {}

    def _open(self) -> socket.socket:
        try:
            return kernel.connected(Path(self._path), _LIMIT_S)
        except OSError as error:
            raise ToolFailed(f"sway does not answer on its socket ({error}). Is it still running?") from None

    def _asked(self, kind: int, text: str = "") -> Any:
        try:
            return _ask(self._socket, kind, text)
        except (OSError, EOFError, ValueError):  # because sway closes the socket of a slow reader, or was restarted
            self._socket.close()
            self._socket = self._open()
        try:
            return _ask(self._socket, kind, text)
        except (OSError, EOFError, ValueError) as error:
            raise ToolFailed(f"sway does not tell its windows ({error}).", transient=True) from None

    def windows(self) -> tuple[Window, ...]:
        tree = self._asked(_TREE)
        self._x_numbers = {_ref(leaf): int(leaf["window"]) for leaf in _leaves(tree) if leaf.get("window")}
        found = [window for workspace in _workspaces(tree) for window in _stacked(workspace)]
        first = {window.pid: window.ref for window in sorted(found, key=lambda one: -number_of_ref(one.ref))}
        # sway does not tell which window is a dialog, but lets each float, and gives later windows higher numbers.
        found = [replace(one, is_dialog=one.is_dialog and first[one.pid] != one.ref) for one in found]
        return tuple(sorted(found, key=lambda window: window.is_minimised))

    def x_number(self, ref: str) -> int | None:
        """Return the number that a window of the last list has in XWayland; 0 for a native window."""
        return self._x_numbers.get(ref, 0)

    def focus(self, ref: str) -> None:
        self._run(f"[con_id={number_of_ref(ref)}] focus")

    def close(self, ref: str) -> None:
        self._run(f"[con_id={number_of_ref(ref)}] kill")

    def place(self, ref: str, area: Rect) -> None:
        """Let the window float, where it is to lie: a tiled one has the place that its neighbours leave it."""
        width, height = area.width, area.height
        by = f"[con_id={number_of_ref(ref)}]"
        self._run(
            f"{by} fullscreen disable, floating enable, resize set width {width} px height {height} px, "
            f"move absolute position {area.x} px {area.y} px"
        )

    def minimise(self, ref: str) -> None:
        """Move the window to the scratchpad: sway has nothing else that puts a window out of sight."""
        self._run(f"[con_id={number_of_ref(ref)}] move scratchpad")

    def set_state(self, ref: str, state: WindowState, *, on: bool) -> None:
        """Fill the screen with the window, or no longer: sway maximises none and keeps none above the others."""
        if state is not WindowState.FULL_SCREEN:
            raise NotOffered
        self._run(f"[con_id={number_of_ref(ref)}] fullscreen {'enable' if on else 'disable'}")

    def desktops(self) -> Desktops:
        shown = next(_workspaces(self._asked(_TREE)), {})
        return Desktops(max(int(shown.get("num") or 0), 0), 0)

    def go_to_desktop(self, number: int) -> None:
        self._run(f"workspace number {number}")

    def send_to_desktop(self, ref: str, number: int) -> None:
        self._run(f"[con_id={number_of_ref(ref)}] move container to workspace number {number}")

    def _run(self, command: str) -> None:
        for answer in self._asked(_COMMAND, command):
            if not answer.get("success"):
                raise ToolFailed(Phrase("sway refused: {said}", {"said": str(answer.get("error", ""))}))

    # --- news

    def follow(self, changed: Callable[[], None]) -> None:
        """Call `changed` whenever something happens to a window, on the running event loop."""
        self._events = self._open()
        _ask(self._events, _SUBSCRIBE, '["window", "workspace"]')
        kernel.hear(self._events, changed)

    def leave(self) -> None:
        """End the connection."""
        self._socket.close()
        if self._events:
            asyncio.get_running_loop().remove_reader(self._events.fileno())
            self._events.close()


def _ask(by: socket.socket, kind: int, text: str) -> Any:
    raw = text.encode()
    by.sendall(_HEAD.pack(_MAGIC, len(raw), kind) + raw)
    length = _HEAD.unpack(_received(by, _HEAD.size))[1]
    return json.loads(_received(by, length))


def _received(by: socket.socket, length: int) -> bytes:
    found = bytearray()
    while len(found) < length:
        part = by.recv(length - len(found))
        if not part:
            raise EOFError("it closed the connection")
        found += part
    return bytes(found)


def _workspaces(tree: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the workspaces, the one with the keyboard first."""
    found = [workspace for output in tree["nodes"] for workspace in output["nodes"]]
    yield from sorted(found, key=lambda one: not any(leaf["focused"] for leaf in _leaves(one)))


def _stacked(workspace: dict[str, Any]) -> Iterator[Window]:
    """Yield the windows of a workspace, topmost first: full screen, then floating ones, then tiled ones."""
    floating = [(leaf, True) for node in reversed(workspace["floating_nodes"]) for leaf in _leaves(node)]
    tiled = [(leaf, False) for node in workspace["nodes"] for leaf in _leaves(node)]
    for leaf, floats in sorted(floating + tiled, key=lambda pair: not pair[0]["fullscreen_mode"]):
        yield replace(_window(leaf), desktop=max(int(workspace.get("num") or 0), 0), is_dialog=floats)


def _leaves(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the windows in a node, the last used ones first."""
    if node.get("pid"):
        yield node
        return
    inner = {child["id"]: child for child in (*node["floating_nodes"], *node["nodes"])}
    for number in node["focus"]:
        if number in inner:
            yield from _leaves(inner[number])


def _window(leaf: dict[str, Any]) -> Window:
    frame, title, inner = leaf["rect"], leaf["deco_rect"], leaf["window_rect"]
    # The title bar lies above the rectangle of a tiled window, and belongs to it here.
    above = title["height"]
    area = Rect(frame["x"], frame["y"] - above, frame["width"], frame["height"] + above)
    content = Rect(frame["x"] + inner["x"], frame["y"] + inner["y"], inner["width"], inner["height"])
    properties = leaf.get("window_properties") or {}
    return Window(
        ref=_ref(leaf),
        title=leaf["name"] or "",
        app=leaf.get("app_id") or properties.get("class", ""),
        area=area,
        pid=leaf["pid"],
        is_active=leaf["focused"],
        is_minimised=not leaf["visible"],  # in the scratchpad, on another workspace, or behind a tab
        content=content,
        states=frozenset({WindowState.FULL_SCREEN} if leaf["fullscreen_mode"] else ()),
    )


def _ref(leaf: dict[str, Any]) -> str:
    return f"w{leaf['id']:x}"
