"""Somebody at the desk, in a process of their own: presses the stop key when told, and sees what still came after it.

Times are the X server's own, so that a loaded machine cannot make them look better or worse. `Onlooker` is the Python
side; run as a script it is the process. What XTEST's own devices do is the agent's doing; all else is the person's.
"""

from __future__ import annotations

import json
import os
import select
import struct
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

_RAW = struct.Struct("<HIIH")
_ANSWER_S = 30.0


@dataclass(frozen=True)
class Seen:
    """`late_ms`: from the stop key's press to the agent's last press or movement after it, 0 where none came.

    `sent` is what the agent had sent before, `held` how many keys and buttons are down now.
    """

    late_ms: int
    sent: int
    after: int
    held: int


class Onlooker:
    """`press_stop_key(after_s)` returns at once; the key is pressed so long after the agent's next press or movement.

    `seen()` tells what there was to see since it was last asked.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        root = Path(__file__).resolve().parents[2]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.onlooker"],
            cwd=root, env=dict(environment), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
        )  # fmt: skip
        assert self._line() == {"ready": True}

    def __enter__(self) -> Onlooker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def press_stop_key(self, after_s: float) -> None:
        self._say(f"press {after_s}")

    def seen(self) -> Seen:
        self._say("tell")
        return Seen(**self._line())

    def _say(self, word: str) -> None:
        assert self._process.stdin
        self._process.stdin.write(word + "\n")
        self._process.stdin.flush()

    def _line(self) -> dict[str, Any]:
        assert self._process.stdout
        told: dict[str, Any] = json.loads(self._process.stdout.readline())
        return told


class _Watch:
    def __init__(self) -> None:
        from Xlib import XK
        from Xlib.display import Display
        from Xlib.ext import xinput

        from scripts.device import PersonsDevices

        self._person = PersonsDevices(os.environ)
        self._chord = (XK.XK_Control_L, XK.XK_Alt_L, XK.XK_Escape)
        self.display = Display()
        # From 2.1 on raw events come also while a menu has grabbed the keyboard; python-xlib would ask for 2.0.
        opcode = self.display.display.get_extension_major(xinput.extname)
        xinput.XIQueryVersion(display=self.display.display, opcode=opcode, major_version=2, minor_version=2)
        devices = self.display.xinput_query_device(xinput.AllDevices).devices
        self._agent = {device.deviceid for device in devices if "XTEST" in str(device.name)}
        self._escape = self.display.keysym_to_keycode(XK.XK_Escape)
        self._kinds = (xinput.RawKeyPress, xinput.RawButtonPress, xinput.RawMotion)
        masks = xinput.RawKeyPressMask | xinput.RawButtonPressMask | xinput.RawMotionMask
        self.display.screen().root.xinput_select_events([(xinput.AllMasterDevices, masks)])
        self.display.sync()
        self.wait_s = 0.0
        self.press_at = 0.0
        self._forget()

    def _forget(self) -> None:
        self._pressed, self._last, self._sent, self._after = 0, 0, 0, 0

    def look(self) -> None:
        while self.display.pending_events():
            event = self.display.next_event()
            if getattr(event, "evtype", None) in self._kinds:
                self._note(*_RAW.unpack_from(event.data))

    def _note(self, _device: int, when: int, detail: int, source: int) -> None:
        if source not in self._agent:
            self._pressed = self._pressed or (when if detail == self._escape else 0)
            return
        if self.wait_s:
            self.wait_s, self.press_at = 0.0, time.monotonic() + self.wait_s
        self._sent += not self._pressed
        self._after += bool(self._pressed)
        self._last = when if self._pressed else 0

    def press_if_due(self) -> None:
        if self.press_at and time.monotonic() >= self.press_at:
            self.press_at = 0.0
            self._person.press_together(*self._chord)

    def tell(self) -> dict[str, int]:
        self.display.sync()
        self.look()
        buttons = int(self.display.screen().root.query_pointer().mask) & 0x1F00
        keys = sum(bin(byte).count("1") for byte in self.display.query_keymap())
        told = {
            "late_ms": self._last - self._pressed if self._last else 0,
            "sent": self._sent,
            "after": self._after,
            "held": keys + bin(buttons).count("1"),
        }
        self._forget()
        return told


def _main() -> None:
    watch = _Watch()
    print(json.dumps({"ready": True}), flush=True)
    while True:
        left = max(watch.press_at - time.monotonic(), 0.0) if watch.press_at else None
        ready, _, _ = select.select([watch.display.fileno(), sys.stdin], [], [], left)
        watch.press_if_due()
        watch.look()
        if sys.stdin not in ready:
            continue
        word = os.read(sys.stdin.fileno(), 4096).decode()
        for line in word.splitlines():
            if line.startswith("press "):
                watch.wait_s = float(line.split()[1])
            elif line == "tell":
                print(json.dumps(watch.tell()), flush=True)
        if not word:
            return


if __name__ == "__main__":
    _main()
