"""Several monitors on one virtual screen, as RANDR tells them to programs."""

from __future__ import annotations

from Xlib.display import Display
from Xlib.ext import randr
from Xlib.protocol import rq

_MM_PER_PX = 0.25


class _SetMonitor(rq.Request):
    """python-xlib's own `set_monitor` cannot pack its nested structure."""

    _request = rq.Struct(
        rq.Card8("opcode"),
        rq.Opcode(43),
        rq.RequestLength(),
        rq.Card32("window"),
        rq.Card32("name"),
        rq.Bool("primary"),
        rq.Bool("automatic"),
        rq.LengthOf("outputs", 2),
        rq.Int16("x"),
        rq.Int16("y"),
        rq.Card16("width"),
        rq.Card16("height"),
        rq.Card32("width_mm"),
        rq.Card32("height_mm"),
        rq.List("outputs", rq.Card32Obj),
    )


def split(display_name: str, width: int, height: int) -> None:
    """Make two monitors of this size, side by side, of one wide screen; the left one is the primary."""
    display = Display(display_name)
    outputs = list(display.screen().root.xrandr_get_screen_resources().outputs)
    for number in range(2):
        name = display.intern_atom(f"monitor{number}")
        _SetMonitor(
            display=display.display, opcode=display.display.get_extension_major(randr.extname),
            window=display.screen().root.id, name=name, primary=number == 0, automatic=False,
            outputs=[] if number else outputs,
            x=width * number, y=0, width=width, height=height,
            width_mm=int(width * _MM_PER_PX), height_mm=int(height * _MM_PER_PX),
        )  # fmt: skip
    display.sync()
    display.close()
