"""Input through pyautogui and pynput, captures through mss: the backend of Windows and macOS, optional on X11."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
import types
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any

import mss
from mss.base import MSS
from mss.exception import ScreenShotError

from app.base.clipping import clip_line
from app.base.errors import NeedsPerson, ToolFailed, ToolMisuse
from app.base.geometry import Point, Rect
from app.base.phrases import Phrase
from app.desktop.backends import Button, Frame
from app.desktop.keys import UNCHECKED, Chord, KeyChecks


@cache
def mouse_driver() -> Any:
    """Load pyautogui without its pauses. Raises NeedsPerson if it cannot be loaded."""
    # Stub mouseinfo: where tkinter is missing, the real one ends the whole program while pyautogui is imported.
    # https://github.com/asweigart/mouseinfo/issues/14
    sys.modules.setdefault("mouseinfo", types.ModuleType("mouseinfo"))
    try:
        import pyautogui
    except (ImportError, OSError, KeyError) as error:  # because some systems lack the library or the permission for it
        raise NeedsPerson(f"The mouse cannot be driven: pyautogui does not load ({error}). Reinstall Wisp.") from None
    pyautogui.PAUSE = 0  # because its default waits 0.1 s after each call
    pyautogui.FAILSAFE = False  # because Wisp has a stop corner of its own
    return pyautogui


@cache
def key_driver() -> Any:
    """Load pynput's keyboard module. Raises NeedsPerson if it cannot be loaded."""
    try:
        from pynput import keyboard
    except (ImportError, OSError) as error:
        raise NeedsPerson(f"The keyboard cannot be driven: pynput does not load ({error}). Reinstall Wisp.") from None
    return keyboard


@cache
def button_driver() -> Any:
    """Load pynput's mouse module, for buttons that pyautogui lacks. Raises NeedsPerson if it cannot be loaded."""
    try:
        from pynput import mouse
    except (ImportError, OSError) as error:
        raise NeedsPerson(f"The mouse cannot be driven: pynput does not load ({error}). Reinstall Wisp.") from None
    return mouse


_NAMES = {
    "Control_L": "ctrl",
    "Control_R": "ctrl_r",
    "Shift_L": "shift",
    "Shift_R": "shift_r",
    "Alt_L": "alt",
    "ISO_Level3_Shift": "alt_gr",
    "Super_L": "cmd",
    "Super_R": "cmd_r",
    "Return": "enter",
    "KP_Enter": "enter",
    "Escape": "esc",
    "BackSpace": "backspace",
    "Page_Up": "page_up",
    "Page_Down": "page_down",
    "Caps_Lock": "caps_lock",
    "Num_Lock": "num_lock",
    "Scroll_Lock": "scroll_lock",
    "Print": "print_screen",
    "XF86AudioMute": "media_volume_mute",
    "XF86AudioLowerVolume": "media_volume_down",
    "XF86AudioRaiseVolume": "media_volume_up",
    "XF86AudioPlay": "media_play_pause",
    "XF86AudioNext": "media_next",
    "XF86AudioPrev": "media_previous",
}
_KEYPAD = {"KP_Add": "+", "KP_Subtract": "-", "KP_Multiply": "*", "KP_Divide": "/", "KP_Decimal": ".", "KP_Equal": "="}


_OWN_S = 2.0
_LATE_S = 0.2
"""The listener may report a key for this long after it was sent."""
_PLACES = 64


class SentInput:
    """Remembers the events that Wisp sent, so that the listener does not count them as the person's.

    X11 does not mark events of XTEST as sent by a program (Windows and macOS mark theirs). The desktop thread writes,
    the listener's thread reads. An event that the listener did not report within two seconds is forgotten.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sent: deque[tuple[str, float]] = deque()
        self._places: deque[tuple[int, int]] = deque(maxlen=_PLACES)
        self._quiet_until = 0.0

    def moved(self, to: Point) -> None:
        with self._lock:
            self._places.append((to.x, to.y))

    def sent(self, kind: str, count: int = 1) -> None:
        """Note that `count` events of a kind (`key`, `button`, `scroll`) will be sent now."""
        with self._lock:
            self._sent.extend([(kind, time.monotonic())] * count)

    @contextmanager
    def keys_by_other_means(self) -> Iterator[None]:
        """Inside it and for a moment afterwards, every key event counts as sent by Wisp."""
        with self._lock:
            self._quiet_until = float("inf")
        try:
            yield
        finally:
            with self._lock:
                self._quiet_until = time.monotonic() + _LATE_S

    def is_own_place(self, x: int, y: int) -> bool:
        with self._lock:
            return (x, y) in self._places

    def is_own(self, kind: str) -> bool:
        """True if Wisp sent an event of that kind, which is then forgotten: each one sent counts once."""
        now = time.monotonic()
        with self._lock:
            while self._sent and self._sent[0][1] < now - _OWN_S:
                self._sent.popleft()
            found = next((one for one in self._sent if one[0] == kind), None)
            if found:
                self._sent.remove(found)
            return found is not None or (kind == "key" and now < self._quiet_until)


class PortableKeyboard:
    """A keyboard that types every character directly and never changes the layout."""

    def __init__(self) -> None:
        self._controller: Any = None

    @property
    def is_lending(self) -> bool:
        return False

    def _keys(self) -> Any:
        if self._controller is None:
            self._controller = key_driver().Controller()
        return self._controller

    def key(self, name: str, *, down: bool) -> None:
        self._send(portable_key(name), down=down)

    def _send(self, key: Any, *, down: bool) -> None:
        (self._keys().press if down else self._keys().release)(key)

    def place(self, name: str) -> str:
        return name

    def can_type(self, text: str) -> bool:  # noqa: ARG002
        return True

    def type_text(self, text: str) -> None:
        # By pynput, because pyautogui drops every character beyond ASCII and says nothing:
        # https://github.com/asweigart/pyautogui/issues/203. It also takes every layout for the American one:
        # https://github.com/asweigart/pyautogui/issues/249
        self._keys().type(text)

    def symbols_of(self, name: str) -> frozenset[str]:
        """Return the name itself, because Windows and macOS do not report the layout."""
        return frozenset({name})

    @contextmanager
    def plain(self) -> Iterator[None]:
        yield

    def only_into(self, place: str) -> AbstractContextManager[None]:  # noqa: ARG002
        return nullcontext()

    def give_back(self) -> None:
        return None


def portable_key(name: str) -> Any:
    """`name` is a name of `keys.py`. Raises ToolMisuse if pynput has no such key."""
    if len(name) == 1:
        return name
    if name in _KEYPAD:
        return _KEYPAD[name]
    if name.startswith("KP_") and name[3:].isdigit():
        return name[3:]
    known = getattr(key_driver().Key, _NAMES.get(name, name.lower()), None)
    if known is None:
        raise ToolMisuse(f"This system's keyboard has no key {name!r}.")
    return known


class DirectTyping:
    """Types any text through the keyboard, because pynput sends characters that the layout lacks."""

    def __init__(self, keyboard: PortableKeyboard) -> None:
        self._keyboard = keyboard

    def can_paste(self) -> bool:
        return False

    async def paste(self, text: str, chord: str, into: str = "", checks: KeyChecks = UNCHECKED) -> bool:  # noqa: ARG002
        self._keyboard.type_text(text)
        return True

    async def remap(self, text: str, into: str = "") -> None:  # noqa: ARG002
        self._keyboard.type_text(text)


_EXTRA = {Button.BACK: ("x1", "button8"), Button.FORWARD: ("x2", "button9")}
"""pynput's names on Windows and on X11."""
_NOTCH = 1
_DOUBLE_CLICK_S = 0.5
"""The default of Windows and macOS: neither library can ask for the person's setting."""


class PortablePointer:
    """The mouse through pyautogui. `notch` is what the system counts as one notch of the wheel (120 on Windows)."""

    def __init__(self, notch: int = _NOTCH, sent: SentInput | None = None) -> None:
        self._notch = notch
        self._sent = sent or SentInput()

    def position(self) -> Point:
        at = mouse_driver().position()
        return Point(int(at.x), int(at.y))

    def double_click_s(self) -> float:
        return _DOUBLE_CLICK_S

    def only_at(self, place: str) -> AbstractContextManager[None]:  # noqa: ARG002
        return nullcontext()

    def move(self, to: Point) -> None:
        self._sent.moved(to)
        mouse_driver().moveTo(to.x, to.y, duration=0)

    def button(self, button: Button, *, down: bool) -> None:
        self._sent.sent("button")
        if button in _EXTRA:
            self._extra(button, down=down)
        elif down:
            mouse_driver().mouseDown(button=button.value)
        else:
            mouse_driver().mouseUp(button=button.value)

    def _extra(self, button: Button, *, down: bool) -> None:
        mouse = button_driver()
        known = next((found for name in _EXTRA[button] if (found := getattr(mouse.Button, name, None))), None)
        if known is None:
            what = Phrase("This system's mouse has no {button} button.", {"button": button.value})
            raise ToolFailed(what, "Use the program's own control.")
        controller = mouse.Controller()
        (controller.press if down else controller.release)(known)

    def scroll(self, dx: int, dy: int) -> None:
        self._sent.sent("scroll", abs(dx) + abs(dy))
        if dy:
            mouse_driver().scroll(-dy * self._notch)
        if dx:
            mouse_driver().hscroll(dx * self._notch)


class PortableScreen:
    """Captures through mss, with one handle that stays open. Its first monitor is the whole desktop."""

    def __init__(self) -> None:
        self._handle: MSS | None = None

    def _open(self) -> MSS:
        # By mss, because pyautogui sees the first monitor alone: https://github.com/asweigart/pyautogui/issues/9.
        # One handle for one thread, because grabs at the same time fail on Windows:
        # https://github.com/BoboTiG/python-mss/issues/198
        if self._handle is None:
            self._handle = mss.MSS()
        return self._handle

    def monitors(self) -> tuple[Rect, ...]:
        return tuple(_rect(monitor) for monitor in self._open().monitors[1:])

    def extent(self) -> Rect:
        return _rect(self._open().monitors[0])

    def grab(self, area: Rect) -> Frame:
        wanted = {"left": area.x, "top": area.y, "width": area.width, "height": area.height}
        try:
            shot = self._open().grab(wanted)
        except ScreenShotError as error:
            self.close()
            raise ToolFailed(f"The screen could not be captured: {error}.", transient=True) from None
        if (shot.width, shot.height) == (area.width, area.height):
            return Frame(area, bytes(shot.raw))
        return Frame(area, _resized(bytes(shot.raw), (shot.width, shot.height), (area.width, area.height)))

    def close(self) -> None:
        if self._handle is not None:
            self._handle.close()
            self._handle = None


def _rect(monitor: dict[str, int]) -> Rect:
    return Rect(monitor["left"], monitor["top"], monitor["width"], monitor["height"])


def _resized(bgrx: bytes, size: tuple[int, int], wanted: tuple[int, int]) -> bytes:
    """Scale a capture of a Retina screen down so that each pixel is one pointer position."""
    from PIL import Image

    return Image.frombytes("RGBX", size, bgrx).resize(wanted, Image.Resampling.BOX).tobytes()


_JOLT = 3
"""This many movements in a row mean a hand; a single one may be a bump against the table."""
_CORNER = (0, 0)


class PortableListener:
    """Observes the person's mouse and keys through pynput. `stop` and `touched` are called on its threads.

    Without a `stop_key`, keys are not observed. On macOS, the system ends a program that listens to keys from another
    thread once Qt has started (https://github.com/moses-palmer/pynput/issues/511), so there only the mouse is observed.
    """

    def __init__(
        self,
        stop_key: Chord | None,
        stop: Callable[[], None],
        touched: Callable[[], None],
        sent: SentInput | None = None,
    ) -> None:
        self._sent = sent or SentInput()
        self._stop = stop
        self._touched = touched
        self._moves = 0
        self._down: set[Any] = set()
        self._keys: Any = None
        self._wanted: frozenset[Any] = frozenset()
        if stop_key is not None:
            self._keys = key_driver().Listener(on_press=self._pressed, on_release=self._released)
            self._wanted = frozenset(self._keys.canonical(portable_key(name)) for name in stop_key.keys)
            self._keys.start()
        self._mouse = button_driver().Listener(on_move=self._moved, on_click=self._clicked, on_scroll=self._scrolled)
        self._mouse.start()

    def close(self) -> None:
        """End the listening threads."""
        for listener in (self._keys, self._mouse):
            if listener is not None:
                self._end(listener)

    def _end(self, listener: Any) -> None:
        listener.stop()

    # `injected` has a default, because pynput 1.8.1 leaves it out for media keys and its listener would end:
    # https://github.com/moses-palmer/pynput/issues/676
    def _pressed(self, key: Any, injected: bool = False) -> None:  # noqa: FBT001, FBT002 - pynput's signature
        self._down.add(self._keys.canonical(key))
        if self._wanted <= self._down:
            self._stop()
        elif not injected and not self._sent.is_own("key"):
            self._touched()

    def _released(self, key: Any, _injected: bool = False) -> None:  # noqa: FBT001, FBT002 - as above
        self._down.discard(self._keys.canonical(key))

    def _moved(self, x: int, y: int, injected: bool = False) -> None:  # noqa: FBT001, FBT002 - as above
        if injected or self._sent.is_own_place(x, y):
            return
        if (x, y) == _CORNER:
            self._stop()
        self._moves += 1
        if self._moves >= _JOLT:
            self._touched()

    def _clicked(self, _x: int, _y: int, _button: Any, _down: bool, injected: bool = False) -> None:  # noqa: FBT001, FBT002 - as above
        if not injected and not self._sent.is_own("button"):
            self._touched()

    def _scrolled(self, _x: int, _y: int, _dx: int, _dy: int, injected: bool = False) -> None:  # noqa: FBT001, FBT002 - as above
        if not injected and not self._sent.is_own("scroll"):
            self._touched()


_LIMIT_S = 10.0
_WORDS_CHARS = 200


async def output_of(*command: str, given: str = "") -> str:
    """Run a program and return its output. Raises ToolFailed if it fails or takes too long."""
    process = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(_LIMIT_S):
            said, complaint = await process.communicate(given.encode("utf-8"))
    except TimeoutError:  # because a hanging helper would otherwise outlive Wisp
        process.kill()
        raise ToolFailed(f"{command[0]} did not answer within {_LIMIT_S:g} seconds.") from None
    if process.returncode:
        raise ToolFailed(f"{command[0]}: {clip_line(complaint.decode('utf-8', 'replace'), _WORDS_CHARS)}")
    return said.decode("utf-8", "replace")
