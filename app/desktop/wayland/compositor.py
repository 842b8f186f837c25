"""What a compositor offers: its globals, its seat and its outputs. A broken connection is opened again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress

from app.base.errors import NeedsPerson, ToolFailed
from app.base.geometry import Rect
from app.base.values import dataclass, field
from app.desktop.wayland.wire import Events, Wire, socket_of

_OUTPUT, _SEAT, _SHM, _XDG_OUTPUT = "wl_output", "wl_seat", "wl_shm", "zxdg_output_manager_v1"
SCREENCOPY = "zwlr_screencopy_manager_v1"
IMAGE_COPY, IMAGE_SOURCE = "ext_image_copy_capture_manager_v1", "ext_output_image_capture_source_manager_v1"
POINTER = "zwlr_virtual_pointer_manager_v1"
KEYBOARD = "zwp_virtual_keyboard_manager_v1"
TOPLEVELS = "zwlr_foreign_toplevel_manager_v1"
TOPLEVEL_LIST = "ext_foreign_toplevel_list_v1"
TOPLEVEL_SOURCE = "ext_foreign_toplevel_image_capture_source_manager_v1"
CLIPBOARDS = ("ext_data_control_manager_v1", "zwlr_data_control_manager_v1")
IDLE, KDE_IDLE = "ext_idle_notifier_v1", "org_kde_kwin_idle"
_WANTED = {
    _OUTPUT: 4, _SEAT: 5, _SHM: 1, _XDG_OUTPUT: 3, SCREENCOPY: 3, IMAGE_COPY: 1, IMAGE_SOURCE: 1, POINTER: 2,
    KEYBOARD: 1, TOPLEVELS: 3, CLIPBOARDS[0]: 1, CLIPBOARDS[1]: 2, IDLE: 2, KDE_IDLE: 1,
    TOPLEVEL_LIST: 1, TOPLEVEL_SOURCE: 1,
}  # fmt: skip
"""The newest version of each interface that is understood here."""
NEEDED = {
    "capture": (SCREENCOPY, IMAGE_COPY),
    "pointer": (POINTER,),
    "keyboard": (KEYBOARD,),
    "clipboard": CLIPBOARDS,
    "windows": (TOPLEVELS,),
}
"""What a compositor needs for each ability: one of these interfaces. Without it the ability is missing."""


@dataclass(slots=True)
class Output:
    """A monitor. `area` is its place in logical pixels; `transform` how its picture is turned (wl_output.transform)."""

    number: int
    name: str = ""
    area: Rect = field(default_factory=lambda: Rect(0, 0, 0, 0))
    transform: int = 0


class Compositor:
    """The connection to a compositor, with its objects. Raises NeedsPerson if there is none.

    `on_connect` functions are called once now, and again after the connection broke and was opened anew.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        path = socket_of(environment)
        if path is None:
            raise NeedsPerson(
                "There is no Wayland screen here, because WAYLAND_DISPLAY is not set. "
                "Start Wisp inside a desktop session."
            )
        self.path = path
        self._makers: list[Callable[[Wire], None]] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._watched = -1
        self._connect()

    def _connect(self) -> None:
        self._offered: dict[str, tuple[int, int]] = {}
        self._bound: dict[str, int] = {}
        self._outputs: dict[int, Output] = {}
        self._wire = wire = Wire(self.path)
        events: Events = {0: ("usu", self._appeared), 1: ("u", self._went)}
        self._registry = wire.create(1, 1, "n", events=events)
        wire.roundtrip()
        wire.roundtrip()  # for what the outputs tell of themselves
        for make in self._makers:
            make(wire)

    @property
    def wire(self) -> Wire:
        """The live connection. Raises NeedsPerson if the compositor is gone."""
        if self._wire.broken:
            self._unwatch()
            self._wire.close()
            self._connect()
            if self._loop:
                self.watch(self._loop, self._on_end)
        return self._wire

    def on_connect(self, make: Callable[[Wire], None]) -> None:
        self._makers.append(make)
        make(self.wire)

    def watch(self, loop: asyncio.AbstractEventLoop, on_end: Callable[[], None] = lambda: None) -> None:
        """Pass events on as they arrive, on this event loop. `on_end` is called when the connection breaks."""
        self._loop, self._on_end, self._watched = loop, on_end, self._wire.fileno()
        loop.add_reader(self._watched, self._read)

    def _read(self) -> None:
        self._wire.read()
        if self._wire.broken:
            self._unwatch()
            self._on_end()
            return
        with suppress(ToolFailed):  # because the next request tells that the connection broke
            self._wire.flush()

    def _unwatch(self) -> None:
        if self._loop and self._watched >= 0:
            self._loop.remove_reader(self._watched)
            self._watched = -1

    def close(self) -> None:
        self._unwatch()
        self._wire.close()

    # --- globals

    def has(self, *interfaces: str) -> bool:
        """One of the interfaces is enough."""
        return any(interface in self._offered for interface in interfaces)

    def missing(self) -> tuple[str, ...]:
        """Abilities of `NEEDED` that the compositor lacks."""
        return tuple(ability for ability, interfaces in NEEDED.items() if not self.has(*interfaces))

    def version(self, interface: str) -> int:
        """Return the version in which an interface is used; 0 if the compositor does not offer it."""
        return min(self._offered.get(interface, (0, 0))[1], _WANTED[interface])

    def bound(self, interface: str) -> int:
        """Return the object of an interface. Raises NeedsPerson if the compositor does not offer it."""
        if interface not in self._offered:
            raise NeedsPerson(
                f"This desktop does not let Wisp do that ({interface} is missing). What to do: wisp doctor"
            )
        if interface not in self._bound:
            self._bound[interface] = self._bind(*self._offered[interface], interface)
        return self._bound[interface]

    def seat(self) -> int:
        return self.bound(_SEAT)

    def shm(self) -> int:
        return self.bound(_SHM)

    def _bind(self, name: int, offered: int, interface: str) -> int:
        version = min(offered, _WANTED[interface])
        return self._wire.create(self._registry, 0, "usun", name, interface, version)

    def _appeared(self, name: int, interface: str, version: int) -> None:
        if interface not in _WANTED:
            return
        if interface == _OUTPUT:
            self._add_output(name, version)
            return
        self._offered[interface] = (name, version)
        if interface == _XDG_OUTPUT:
            for output in self._outputs.values():
                self._place_output(output)

    def _went(self, name: int) -> None:
        self._outputs.pop(name, None)

    # --- outputs

    def outputs(self) -> list[Output]:
        """Return the monitors that show something, as they are now."""
        self.wire.roundtrip()
        return [output for output in self._outputs.values() if output.area.size.area]

    def _add_output(self, name: int, version: int) -> None:
        output = self._outputs[name] = Output(self._bind(name, version, _OUTPUT))

        def geometry(x: int, y: int, *rest: object) -> None:
            output.transform = int(str(rest[-1]))
            if not self.has(_XDG_OUTPUT):
                output.area = Rect(x, y, output.area.width, output.area.height)

        def mode(flags: int, width: int, height: int, _refresh: int) -> None:
            if flags & 1 and not self.has(_XDG_OUTPUT):
                output.area = Rect(output.area.x, output.area.y, width, height)

        def named(text: str) -> None:
            output.name = text

        self._wire.hear(output.number, {0: ("iiiiissi", geometry), 1: ("uiii", mode), 4: ("s", named)})
        if self.has(_XDG_OUTPUT):
            self._place_output(output)

    def _place_output(self, output: Output) -> None:
        """Hear where the output lies in the layout, in logical pixels: its mode has physical ones."""

        def placed(x: int, y: int) -> None:
            output.area = Rect(x, y, output.area.width, output.area.height)

        def sized(width: int, height: int) -> None:
            output.area = Rect(output.area.x, output.area.y, width, height)

        events = {0: ("ii", placed), 1: ("ii", sized)}
        self._wire.create(self.bound(_XDG_OUTPUT), 1, "no", output.number, events=events)
