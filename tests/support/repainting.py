"""A plain X window that paints itself anew a known time after it was clicked; it tells nothing about itself.

`--after MS` repaints by a timer, `--busy MS` works for so long and repaints then; `--caret` blinks, `--spinner` never
rests, `--still` never repaints. Answers `_NET_WM_PING` in the order of its events, as toolkits do.
"""

from __future__ import annotations

import argparse
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

COLOURS = (0x204060, 0xC08040)
SIDE_PX = 300
_CARET_S = 0.3
_FRAME_S = 0.03


@contextmanager
def repainting(*options: str, environment: Mapping[str, str], title: str = "Repainting") -> Iterator[None]:
    """The window, on the screen and with the keyboard."""
    command = [sys.executable, str(Path(__file__).resolve()), "--title", title, *options]
    program = subprocess.Popen(command, env=dict(environment), stdout=subprocess.PIPE)
    try:
        assert program.stdout
        assert program.stdout.readline() == b"shown\n"
        yield
    finally:
        program.kill()
        program.wait()
        program.stdout.close()  # type: ignore[union-attr]


class _Window:
    def __init__(self, options: argparse.Namespace) -> None:
        from Xlib import X
        from Xlib.display import Display

        self._options = options
        self._display: Any = Display()
        screen = self._display.screen()
        events = X.ExposureMask | X.ButtonPressMask | X.StructureNotifyMask
        x, y = (int(part) for part in options.at.split(","))
        self._window = screen.root.create_window(
            x, y, SIDE_PX, SIDE_PX, 0, screen.root_depth, event_mask=events, background_pixel=COLOURS[0]
        )
        self._window.set_wm_name(options.title)
        self._window.set_wm_class("repainting", "Repainting")
        self._window.set_wm_normal_hints(flags=1 | 2, min_width=SIDE_PX, min_height=SIDE_PX)
        self._ping = self._display.intern_atom("_NET_WM_PING")
        self._window.set_wm_protocols([self._ping])
        self._paint = self._window.create_gc(foreground=COLOURS[0])
        self._number, self._ticks, self._due = 0, 0, 0.0
        self._root = screen.root
        self._window.map()

    def run(self) -> None:
        tick_s = _FRAME_S if self._options.spinner else _CARET_S
        next_tick = time.monotonic() + tick_s
        while True:
            while self._display.pending_events():
                self._heard(self._display.next_event())
            now = time.monotonic()
            if self._due and now >= self._due:
                self._due = 0.0
                self._repaint()
            if now >= next_tick:
                next_tick = now + tick_s
                self._tick()
            self._display.flush()
            until = min(self._due or next_tick, next_tick)
            select.select([self._display.fileno()], [], [], max(until - time.monotonic(), 0))

    def _heard(self, event: Any) -> None:
        from Xlib import X

        if event.type == X.Expose and event.count == 0:
            self._fill(0, 0, SIDE_PX, SIDE_PX, COLOURS[self._number % 2])
            self._display.sync()
            print("shown", flush=True)
        elif event.type == X.ButtonPress and not self._options.still:
            time.sleep(self._options.busy / 1000)
            if self._options.after:
                self._due = time.monotonic() + self._options.after / 1000
            else:
                self._repaint()
        elif event.type == X.ClientMessage and event.data[1][0] == self._ping:
            event.window = self._root
            self._root.send_event(event, event_mask=X.SubstructureRedirectMask | X.SubstructureNotifyMask)

    def _repaint(self) -> None:
        self._number += 1
        self._fill(40, 40, 220, 220, COLOURS[self._number % 2])

    def _tick(self) -> None:
        self._ticks += 1
        if self._options.caret:
            self._fill(20, 20, 2, 16, (0, 0xFFFFFF)[self._ticks % 2])
        if self._options.spinner:
            self._fill(10, 270, 80, 16, 0)
            self._fill(10 + self._ticks * 7 % 60, 270, 16, 16, 0xFFFFFF)

    def _fill(self, x: int, y: int, width: int, height: int, colour: int) -> None:
        self._paint.change(foreground=colour)
        self._window.fill_rectangle(self._paint, x, y, width, height)


def _main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--title", default="Repainting")
    parser.add_argument("--at", default="100,100")
    parser.add_argument("--after", type=float, default=0)
    parser.add_argument("--busy", type=float, default=0)
    for flag in ("--caret", "--spinner", "--still"):
        parser.add_argument(flag, action="store_true")
    _Window(parser.parse_args()).run()


if __name__ == "__main__":
    _main()
