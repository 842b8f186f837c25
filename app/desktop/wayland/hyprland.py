"""Windows by Hyprland's own messages. https://wiki.hypr.land/IPC/"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.base.errors import ToolFailed
from app.base.geometry import Rect
from app.base.phrases import Phrase
from app.desktop.backends import Window, number_of_ref
from app.desktop.wayland import kernel
from app.desktop.wayland.windows import Listing

_LIMIT_S = 2.0
_READ_BYTES = 1 << 16
_AWAY = "special:minimised"
"""The workspace that windows are put away on: Hyprland minimises none."""


class HyprlandWindows(Listing):
    """The windows of Hyprland, topmost first. `folder` holds its sockets."""

    name = "Hyprland"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._events: socket.socket | None = None

    def _asked(self, text: str) -> str:
        found = bytearray()
        try:
            with kernel.connected(self._folder / ".socket.sock", _LIMIT_S) as opened:
                opened.sendall(text.encode())
                while part := opened.recv(_READ_BYTES):
                    found += part
        except OSError as error:
            raise ToolFailed(f"Hyprland does not answer on its socket ({error}).", transient=True) from None
        return found.decode("utf-8", "replace")

    def _told(self, what: str) -> Any:
        try:
            return json.loads(self._asked(f"j/{what}"))
        except ValueError as error:
            raise ToolFailed(f"Hyprland does not tell its {what} ({error}).", transient=True) from None

    def windows(self) -> tuple[Window, ...]:
        monitors = self._told("monitors")
        visible = {
            one[kind]["id"] for one in monitors for kind in ("activeWorkspace", "specialWorkspace") if kind in one
        }
        active = self._told("activewindow").get("address", "")
        clients = [client for client in self._told("clients") if client["mapped"]]

        def is_visible(client: dict[str, Any]) -> bool:
            return not client["hidden"] and client["workspace"]["id"] in visible

        tiled = {client["pid"] for client in clients if not client["floating"]}
        clients.sort(
            key=lambda one: (not is_visible(one), not one["fullscreen"], not one["floating"], one["focusHistoryID"])
        )
        return tuple(
            Window(
                ref=f"w{one['address'].removeprefix('0x')}",
                title=one["title"],
                app=one["class"],
                area=(area := Rect(*one["at"], *one["size"])),
                pid=one["pid"],
                is_active=one["address"] == active,
                is_minimised=not is_visible(one),
                is_dialog=one["floating"] and one["pid"] in tiled,
                desktop=max(one["workspace"]["id"], 0),
                content=area,
            )
            for one in clients
        )

    def focus(self, ref: str) -> None:
        self._run(f"focuswindow address:{_address(ref)}")

    def close(self, ref: str) -> None:
        self._run(f"closewindow address:{_address(ref)}")

    def place(self, ref: str, area: Rect) -> None:
        """Let the window float, where it is to lie: a tiled one has the place that its neighbours leave it."""
        which = f"address:{_address(ref)}"
        self._run(f"setfloating {which}")
        self._run(f"resizewindowpixel exact {area.width} {area.height},{which}")
        self._run(f"movewindowpixel exact {area.x} {area.y},{which}")

    def minimise(self, ref: str) -> None:
        self._run(f"movetoworkspacesilent {_AWAY},address:{_address(ref)}")

    def _run(self, command: str) -> None:
        if (answer := self._asked(f"dispatch {command}").strip()) != "ok":
            raise ToolFailed(Phrase("Hyprland refused: {said}", {"said": answer}))

    def follow(self, changed: Callable[[], None]) -> None:
        """Call `changed` whenever something happens to a window, on the running event loop."""
        self._events = kernel.connected(self._folder / ".socket2.sock", _LIMIT_S)
        kernel.hear(self._events, changed)

    def leave(self) -> None:
        """End the connection."""
        if self._events:
            asyncio.get_running_loop().remove_reader(self._events.fileno())
            self._events.close()


def _address(ref: str) -> str:
    return hex(number_of_ref(ref))
