"""The summon key, which opens Wisp from any program, on all systems."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

from PySide6.QtCore import QCoreApplication, QObject, QSocketNotifier, Qt, Signal
from PySide6.QtGui import QGuiApplication
from Xlib import XK, X
from Xlib.display import Display
from Xlib.error import BadAccess, CatchError, ConnectionClosedError

from app.base.values import dataclass
from app.ui.approvals.devices import WITNESS
from app.ui.machine import HearKey, hear_no_key

_MODIFIERS = {
    "ctrl": "ctrl",
    "control": "ctrl",
    "alt": "alt",
    "option": "alt",
    "shift": "shift",
    "super": "super",
    "meta": "super",
    "win": "super",
    "cmd": "super",
    "command": "super",
}
_NAMED = ("space", "enter", "tab", "escape", "insert", "delete", "home", "end", "pageup", "pagedown", "pause", "print")
_OTHER_NAMES = {"return": "enter", "esc": "escape", "del": "delete", "ins": "insert", "page_up": "pageup"}
_FUNCTION = re.compile(r"f([1-9]|1\d|2[0-4])$")


@dataclass(frozen=True, slots=True)
class Keys:
    """A key combination. `modifiers` are `ctrl`, `alt`, `shift`, `super`; `key` is a character, `f1` to `f24`, or a
    name such as `space`."""

    modifiers: frozenset[str]
    key: str


def parsed(text: str) -> Keys:
    """Parse a text such as `ctrl+alt+space`. Raises ValueError with a sentence for an unknown key, or one used in
    typing."""
    tr = QCoreApplication.translate
    *held, last = [part.strip().lower() for part in text.split("+")]
    key = _OTHER_NAMES.get(last, last)
    unknown = [part for part in held if part not in _MODIFIERS]
    if unknown or not (len(key) == 1 or key in _NAMED or _FUNCTION.match(key)):
        raise ValueError(
            tr("Hotkey", "“{keys}” is no key. Write it like ctrl+alt+space or super+f9.").format(keys=text)
        )
    modifiers = frozenset(_MODIFIERS[part] for part in held)
    if not _FUNCTION.match(key) and not modifiers - {"shift"}:
        raise ValueError(
            tr("Hotkey", "“{keys}” is typed too often to open Wisp. Add ctrl, alt or super.").format(keys=text)
        )
    return Keys(modifiers, key)


class Grab(Protocol):
    """A key combination that only Wisp receives, until the grab is closed."""

    def close(self) -> None: ...


class Hotkey(QObject):
    """The summon key. `ignored` is emitted for a press that does not count, `lost` if the desktop has the key already.

    On Wayland the grab hears it only while an X11 program has the keyboard; `hear_key` hears it always, where it can.
    """

    pressed = Signal()
    ignored = Signal()
    lost = Signal(str)

    def __init__(self, hear_key: HearKey = hear_no_key) -> None:
        super().__init__()
        self._hear_key = hear_key
        self._grab: Grab | None = None
        self._unhear: Callable[[], None] | None = None

    def use(self, text: str) -> str:
        """Listen to this key combination instead of the old one; "" listens to none. Returns what is wrong with it,
        else ""."""
        self.close()
        if not text.strip():
            return ""
        try:
            self._grab = _grabbed(parsed(text), self.pressed.emit, self.ignored.emit)
        except ValueError as error:
            return _problem(text, error)
        self._unhear = self._hear_key(
            text, self.pressed.emit, lambda owner: self.lost.emit(_problem(text, _had(owner)))
        )
        return ""

    def close(self) -> None:
        """Release the key for other programs."""
        if self._unhear is not None:
            self._unhear()
            self._unhear = None
        if self._grab is not None:
            self._grab.close()
            self._grab = None


def _problem(keys: str, why: object) -> str:
    told = QCoreApplication.translate("Hotkey", "The key that opens Wisp ({keys}) does not work: {why}")
    return told.format(keys=keys, why=why)


def _had(owner: str) -> str:
    told = QCoreApplication.translate("Hotkey", "{owner} uses this key. Choose another one in the settings.")
    return told.format(owner=owner)


def _grabbed(keys: Keys, pressed: Callable[[], None], ignored: Callable[[], None]) -> Grab:
    platform = QGuiApplication.platformName()
    if platform == "xcb":
        return X11Grab(keys, pressed, ignored)
    if platform in ("windows", "cocoa"):
        return PortableGrab(keys, pressed)
    raise ValueError(
        QCoreApplication.translate(
            "Hotkey", "Here only the system can do that: in its settings, give a key the command “wisp”."
        )
    )


_NAMES = {"super": "cmd", "pageup": "page_up", "pagedown": "page_down", "escape": "esc", "print": "print_screen"}


class PortableGrab(QObject):
    """A grab through pynput, for systems other than X11. Raises ValueError if the combination is not available."""

    _heard = Signal()

    def __init__(self, keys: Keys, pressed: Callable[[], None]) -> None:
        super().__init__()
        try:
            from pynput import keyboard
        except (ImportError, OSError) as error:
            sorry = QCoreApplication.translate("Hotkey", "Wisp cannot notice keys here ({why}). Install Wisp again.")
            raise ValueError(sorry.format(why=error)) from None
        self._heard.connect(pressed, Qt.ConnectionType.QueuedConnection)
        self._listener = keyboard.GlobalHotKeys({written(keys): self._heard.emit})
        self._listener.start()

    def close(self) -> None:
        """Stop listening."""
        self._listener.stop()


def written(keys: Keys) -> str:
    """Return the keys in pynput's notation: `<ctrl>+<alt>+<space>`."""
    parts = [*sorted(keys.modifiers), keys.key]
    return "+".join(part if len(part) == 1 else f"<{_NAMES.get(part, part)}>" for part in parts)


_MASKS = {"shift": X.ShiftMask, "ctrl": X.ControlMask, "alt": X.Mod1Mask, "super": X.Mod4Mask}
_LOCKS = (0, X.LockMask, X.Mod2Mask, X.LockMask | X.Mod2Mask)
_SYMBOLS = {
    "space": "space", "enter": "Return", "tab": "Tab", "escape": "Escape", "insert": "Insert", "delete": "Delete",
    "home": "Home", "end": "End", "pageup": "Page_Up", "pagedown": "Page_Down", "pause": "Pause", "print": "Print",
}  # fmt: skip
_UNICODE = 0x01000000
_LATIN_1 = 0x100


class X11Grab(QObject):
    """A grab on X11, without a thread: it calls `pressed` or `ignored` on the GUI thread. Raises ValueError if the grab
    is refused."""

    def __init__(self, keys: Keys, pressed: Callable[[], None], ignored: Callable[[], None]) -> None:
        super().__init__()
        self._keys = keys
        self._pressed = pressed
        self._ignored = ignored
        self._released_at = 0
        WITNESS.prepare()
        self._display = Display()
        self._root = self._display.screen().root
        try:
            self._grab()
        except ValueError:
            self._display.close()
            raise
        self._bell = QSocketNotifier(self._display.fileno(), QSocketNotifier.Type.Read, self)
        self._bell.activated.connect(self._arrived)

    def close(self) -> None:
        """Release the key."""
        self._bell.setEnabled(False)
        with suppress(ConnectionClosedError, OSError):  # because the display may have gone first
            self._display.close()

    def _grab(self) -> None:
        tr = QCoreApplication.translate
        code = self._display.keysym_to_keycode(_symbol(self._keys.key))
        if not code:
            raise ValueError(tr("Hotkey", "There is no such key on this keyboard. Choose another one in the settings."))
        mask = sum(_MASKS[name] for name in self._keys.modifiers)
        taken = CatchError(BadAccess)
        for lock in _LOCKS:
            self._root.grab_key(code, mask | lock, False, X.GrabModeAsync, X.GrabModeAsync, onerror=taken)
        self._display.sync()
        if taken.get_error():
            raise ValueError(
                tr("Hotkey", "Another program has taken this key already. Choose another one in the settings.")
            )

    def _arrived(self) -> None:
        try:
            while self._display.pending_events():
                self._heard(self._display.next_event())
        except ConnectionClosedError:
            self._bell.setEnabled(False)  # because the X server is gone, which Qt reports better

    def _heard(self, event: Any) -> None:
        if event.type == X.KeyRelease:
            self._released_at = event.time
        elif event.type == X.KeyPress and event.time != self._released_at:
            # A key that is held repeats: each repetition is a release and a press of the same millisecond.
            counts = WITNESS.may_wish(event.detail, event.time)
            self._pressed() if counts else self._ignored()
        elif event.type == X.MappingNotify:  # because in another layout the key may have another code
            self._display.refresh_keyboard_mapping(event)
            self._root.ungrab_key(X.AnyKey, X.AnyModifier)
            with suppress(
                ValueError
            ):  # because the key may be back in the next layout: XWayland takes that of each device
                self._grab()


def _symbol(key: str) -> int:
    if len(key) == 1:
        return ord(key) if ord(key) < _LATIN_1 else _UNICODE + ord(key)
    name = _SYMBOLS.get(key) or key.upper()
    symbol: int = XK.string_to_keysym(name)
    return symbol
