"""The X11 backend: all interfaces of `backends.py`, over one connection to the X server."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any

from Xlib.display import Display
from Xlib.error import ConnectionClosedError, DisplayConnectionError

from app.base.errors import NeedsPerson
from app.desktop.accessibility.atspi import AtSpi
from app.desktop.backends import Backend, ExactTyping, KeyboardMoved, Window, Windows
from app.desktop.keys import UNCHECKED, Chord, KeyChecks
from app.desktop.portable import (
    PortableKeyboard,
    PortableListener,
    PortablePointer,
    PortableScreen,
    SentInput,
    button_driver,
    key_driver,
    mouse_driver,
)
from app.desktop.privacy import Private
from app.desktop.takeover import StopFlag
from app.desktop.x11.apps import DesktopEntries
from app.desktop.x11.connection import Connection, X11Drawing
from app.desktop.x11.keeper import SelectionKeeper
from app.desktop.x11.keyboard import X11Keyboard
from app.desktop.x11.listener import Listener
from app.desktop.x11.occupation import locker_of
from app.desktop.x11.pointer import X11Pointer, X11Screen
from app.desktop.x11.selection import Selection, X11Clipboard, X11ExactTyping
from app.desktop.x11.windows import X11Windows

_ENDING_S, _ENDING_STEP_S = 5.0, 0.02


def make_backend(
    environment: Mapping[str, str], stop: StopFlag, private: Private, *, is_portable: bool = False
) -> Backend:
    """Make the backend, on the desktop thread and inside its running event loop.

    Raises NeedsPerson if the display cannot be opened.
    """
    connection = Connection(environment)
    screen = X11Screen(connection)
    keyboard = X11Keyboard(connection)
    windows = X11Windows(connection)
    keeper = SelectionKeeper(environment)
    clipboard, primary = (Selection(connection, name, keeper.keep) for name in ("CLIPBOARD", "PRIMARY"))
    apps = DesktopEntries(environment)

    def known() -> tuple[Window, ...]:
        return (*windows.shown(), *(window for window in windows.all() if window.is_minimised))

    accessibility = AtSpi(environment, known, private, screen.monitors)

    async def close() -> None:
        with ExitStack() as leaving:
            for leave in (connection.close, screen.close, apps.close, keyboard.give_all_back):
                # Leave in reverse order, because the lent keys are given back over the connection.
                leaving.callback(leave)
            await keeper.close()
            await accessibility.close()

    def listen(stop_key: Chord, on_stop: Callable[[], None], touched: Callable[[], None]) -> Callable[[], None]:
        return Listener(environment, stop_key, on_stop, touched).close

    backend = Backend(
        name=f"x11{environment.get('DISPLAY', '')}",
        screen=screen,
        pointer=X11Pointer(connection),
        keyboard=keyboard,
        exact=X11ExactTyping(keyboard, windows, (clipboard, primary), stop),
        windows=windows,
        apps=apps,
        clipboard=X11Clipboard(clipboard, primary),
        accessibility=accessibility,
        close=close,
        listen=listen,
        drawing=X11Drawing(connection),
        reach=partial(_reach, windows, screen, is_wayland=_is_xwayland(connection, environment)),
        shows_drawing=screen.shows_drawing,
    )
    return with_portable_input(backend, environment, keyboard) if is_portable else backend


def _reach(windows: Windows, screen: X11Screen, *, is_wayland: bool) -> None:
    """Raise NeedsPerson if the screen is locked, has gone, or is that of XWayland: native programs are not on it."""
    if is_wayland:
        raise NeedsPerson(
            "This is a Wayland session, and DISPLAY leads to XWayland, which shows only X11 programs. Set "
            "WAYLAND_DISPLAY (it is wayland-0 or wayland-1, as a rule), or choose an X11 session (“on Xorg”)."
        )
    try:
        locker = locker_of(windows, screen.extent())
    except ConnectionClosedError:
        raise NeedsPerson("This screen has gone: its X server has ended. Start Wisp again.") from None
    if locker:
        raise NeedsPerson(f"The screen is locked ({locker}). Unlock it, then ask again.")


def _is_xwayland(connection: Connection, environment: Mapping[str, str]) -> bool:
    """Return whether this is a Wayland session and the display is its XWayland.

    It says so by an extension, and by the names of its outputs before it had that.
    """
    if environment.get("XDG_SESSION_TYPE") != "wayland":
        return False
    if connection.display.query_extension("XWAYLAND") is not None:
        return True
    if not connection.display.has_extension("RANDR"):
        return False
    monitors = connection.root.xrandr_get_monitors(is_active=True).monitors
    return any(connection.atom_name(monitor.name).startswith("XWAYLAND") for monitor in monitors)


class PortableX11Keyboard(PortableKeyboard):
    """Presses keys through pynput. The layout and the spare keys are those of `X11Keyboard`.

    Keys are sent by symbol: for a character, pynput makes events that programs can tell from real ones, and xterm
    drops.
    """

    def __init__(self, layout: X11Keyboard, sent: SentInput) -> None:
        super().__init__()
        self._layout = layout
        self._sent = sent
        self._into = ""

    def key(self, name: str, *, down: bool) -> None:
        stroke = self._layout.stroke(name)
        if stroke is None:
            self._sent.sent("key")
            self._layout.key(name, down=down)
            return
        held = ["Shift_L"] if len(name) == 1 and stroke.shift else []
        for one in [*held, name] if down else [name, *held]:
            self._press(self._symbol(one), down=down)

    def type_text(self, text: str) -> None:
        for number, character in enumerate(text):
            stroke = self._layout.stroke(character)
            assert stroke is not None, character
            self._check_place(number)
            held = ["Shift_L"] * stroke.shift + ["ISO_Level3_Shift"] * stroke.level_3
            symbols = [self._symbol(name) for name in (*held, character)]
            for symbol in symbols:
                self._press(symbol, down=True)
            for symbol in reversed(symbols):
                self._press(symbol, down=False)

    def _symbol(self, name: str) -> int:
        """That of the key without modifiers, by which Xlib finds the key."""
        stroke, keymap = self._layout.stroke(name), self._layout.keymap()
        return keymap.rows[stroke.keycode - keymap.first][0] if stroke else 0

    def _press(self, symbol: int, *, down: bool) -> None:
        if down:
            self._sent.sent("key")
        self._send(key_driver().KeyCode.from_vk(symbol), down=down)

    @property
    def is_lending(self) -> bool:
        return self._layout.is_lending

    def place(self, name: str) -> str:
        return self._layout.place(name)

    def can_type(self, text: str) -> bool:
        return self._layout.can_type(text)

    def symbols_of(self, name: str) -> frozenset[str]:
        return self._layout.symbols_of(name)

    @contextmanager
    def only_into(self, place: str) -> Iterator[None]:
        """Check the focus before each key. The server is not grabbed, because it would not serve pynput either."""
        self._into = place
        try:
            self._check_place()
            yield
        finally:
            self._into = ""

    def _check_place(self, sent_chars: int = 0) -> None:
        if self._into and not self._layout.is_place(self._into):
            raise KeyboardMoved(sent_chars)

    @contextmanager
    def plain(self) -> Iterator[None]:
        with ExitStack() as held:
            with self._sent.keys_by_other_means():
                held.enter_context(self._layout.plain())
            try:
                yield
            finally:
                with self._sent.keys_by_other_means():
                    held.close()

    def give_back(self) -> None:
        self._layout.give_back()


class _Announced:
    """Types as `exact` does, and first tells the listener that these keys are Wisp's own."""

    def __init__(self, exact: ExactTyping, sent: SentInput) -> None:
        self._exact = exact
        self._sent = sent

    def can_paste(self) -> bool:
        return self._exact.can_paste()

    async def paste(self, text: str, chord: str, into: str = "", checks: KeyChecks = UNCHECKED) -> bool:
        with self._sent.keys_by_other_means():
            return await self._exact.paste(text, chord, into, checks)

    async def remap(self, text: str, into: str = "") -> None:
        with self._sent.keys_by_other_means():
            await self._exact.remap(text, into)


class PortableX11Listener(PortableListener):
    """A listener that ends before its display may close."""

    def _end(self, listener: Any) -> None:
        """Disable the listener's recording over a separate connection, and wait until its thread has ended.

        pynput's own `stop` does nothing before its thread has begun, and queues its request on the connection that the
        thread reads: python-xlib sends it with the next event only (https://github.com/moses-palmer/pynput/pull/583).
        """
        with listener._condition:
            if not listener._condition.wait_for(lambda: listener._ready, _ENDING_S):
                return  # it could not open its connections
        until = time.monotonic() + _ENDING_S
        name = os.environ["DISPLAY"]
        # Ignore an error, because the display may have gone.
        with suppress(ConnectionClosedError, DisplayConnectionError), closing(Display(name)) as control:
            control.set_error_handler(lambda *_: None)  # because the thread frees the recording when it ends
            while listener.is_alive() and time.monotonic() < until:
                control.record_disable_context(listener._context)
                control.sync()
                threading.Thread.join(listener, _ENDING_STEP_S)


def with_portable_input(backend: Backend, environment: Mapping[str, str], layout: X11Keyboard) -> Backend:
    """Return the same desktop with capture by mss, and input by pyautogui and pynput.

    Raises NeedsPerson if one of them does not load.
    """
    _aim(environment.get("DISPLAY", ""))
    sent, screen = SentInput(), PortableScreen()
    button_driver()

    async def close() -> None:
        screen.close()
        await backend.close()

    def listen(stop_key: Chord, on_stop: Callable[[], None], touched: Callable[[], None]) -> Callable[[], None]:
        return PortableX11Listener(stop_key, on_stop, touched, sent).close

    return replace(
        backend,
        name=f"portable{environment.get('DISPLAY', '')}",
        screen=screen,
        pointer=PortablePointer(sent=sent),
        keyboard=PortableX11Keyboard(layout, sent),
        exact=_Announced(backend.exact, sent),
        close=close,
        listen=listen,
    )


def _aim(display: str) -> None:
    """Make pyautogui, pynput and mss use a display. They read it from the environment, pyautogui only when it loads."""
    os.environ["DISPLAY"] = display
    mouse_driver()
    module: Any = sys.modules["pyautogui._pyautogui_x11"]
    if module._display.get_display_name() != display:
        module._display.close()
        module._display = Display(display)
