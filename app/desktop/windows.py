"""The Windows backend."""

from __future__ import annotations

import asyncio
import ctypes
import os
import sys
from collections.abc import Callable, Sequence
from ctypes import wintypes
from pathlib import Path

from app.base.errors import ToolFailed
from app.base.geometry import Point, Rect
from app.base.phrases import Phrase
from app.desktop.backends import (
    STAYED_BEHIND,
    App,
    Backend,
    Formats,
    Frame,
    Landing,
    Launched,
    PlainWindows,
    Window,
    landing,
)
from app.desktop.elements import NoAccessibility
from app.desktop.keys import Chord
from app.desktop.portable import (
    DirectTyping,
    PortableKeyboard,
    PortableListener,
    PortablePointer,
    PortableScreen,
    output_of,
)
from app.desktop.programs import HandedOverApps

if sys.platform == "win32":
    _NOTCH = 120
    _PER_MONITOR_V2 = -4

    def make_backend() -> Backend:
        """Make the Windows backend, on the desktop thread. All coordinates are physical pixels.

        The first caller decides how Windows scales coordinates, so this runs before pyautogui is loaded.
        """
        # Ask for physical pixels first, because Windows accepts this only once in a process.
        ctypes.windll.user32.SetProcessDpiAwarenessContext(ctypes.c_void_p(_PER_MONITOR_V2))
        screen, keyboard = PortableScreen(), PortableKeyboard()

        async def close() -> None:
            screen.close()

        def listen(stop_key: Chord, stop: Callable[[], None], touched: Callable[[], None]) -> Callable[[], None]:
            return PortableListener(stop_key, stop, touched).close

        return Backend(
            name="windows",
            screen=screen,
            pointer=PortablePointer(_NOTCH),
            keyboard=keyboard,
            exact=DirectTyping(keyboard),
            windows=Win32Windows(),
            apps=StartMenu(),
            clipboard=PowerShellClipboard(),
            accessibility=NoAccessibility("Wisp does not read Windows' accessibility tree."),
            close=close,
            listen=listen,
        )


assert sys.platform == "win32"

_MENU = "Microsoft/Windows/Start Menu/Programs"
_READ = "[Console]::OutputEncoding=[Text.Encoding]::UTF8; Get-Clipboard -Raw"
_WRITE = "[Console]::InputEncoding=[Text.Encoding]::UTF8; Set-Clipboard -Value ([Console]::In.ReadToEnd())"


class StartMenu(HandedOverApps):
    """The shortcuts of the start menu. The Windows shell starts them, so they are no child processes of Wisp."""

    def installed(self) -> tuple[App, ...]:
        roots = (os.environ.get("PROGRAMDATA", ""), os.environ.get("APPDATA", ""))
        folders = (Path(root) / _MENU for root in roots if root)
        found = (path for folder in folders for path in sorted(folder.rglob("*.lnk")))
        return tuple(App(str(path), path.stem, (path.stem.lower(),)) for path in found)

    def launch(self, app: App, arguments: Sequence[str] = ()) -> Launched:
        return self._start(app.name, app.ref, " ".join(arguments))

    def open(self, address: str) -> Launched:
        return self._start(address, address, "")

    def _start(self, name: str, path: str, arguments: str) -> Launched:
        try:
            os.startfile(path, "open", arguments)
        except OSError as error:
            raise ToolFailed(f"{name} could not be opened: {error.strerror}.") from None
        return Launched(0, name)


class PowerShellClipboard:
    """The clipboard's text through PowerShell, which copes with a clipboard that another program has opened."""

    async def read(self) -> str:
        return (await output_of("powershell", "-NoProfile", "-Command", _READ)).removesuffix("\r\n")

    async def write(self, text: str) -> None:
        await output_of("powershell", "-NoProfile", "-Command", _WRITE, given=text)

    async def selected(self, window: str) -> str:  # noqa: ARG002
        return ""

    async def formats(self) -> Formats:
        return {"text/plain": (await self.read()).encode("utf-8")}


assert sys.platform == "win32"

_LIMIT_S, _POLL_S = 2.0, 0.05
_MINIMISE, _RESTORE = 6, 9  # https://learn.microsoft.com/en-us/windows/win32/api/winuser/nf-winuser-showwindow
_CLOSE = 0x0010
_NULL_MESSAGE = 0x0000  # https://learn.microsoft.com/en-us/windows/win32/winmsg/wm-null
_ABORT_IF_HUNG = 0x0002  # https://learn.microsoft.com/en-us/windows/win32/api/winuser/nf-winuser-sendmessagetimeoutw
_CLOAKED = 14  # https://learn.microsoft.com/en-us/windows/win32/api/dwmapi/ne-dwmapi-dwmwindowattribute
_QUERY_LIMITED = 0x1000  # https://learn.microsoft.com/en-us/windows/win32/procthread/process-security-and-access-rights
_PATH_CHARS = 1024

_user32 = ctypes.windll.user32
_kernel32 = ctypes.windll.kernel32
_dwm = ctypes.windll.dwmapi
_Visit = ctypes.WINFUNCTYPE(wintypes.BOOL, wintypes.HWND, wintypes.LPARAM)


class Win32Windows(PlainWindows):
    """The top-level windows. EnumWindows lists them topmost first."""

    def all(self) -> tuple[Window, ...]:
        handles: list[int] = []

        def visit(handle: int, _: int) -> bool:
            handles.append(handle)
            return True

        _user32.EnumWindows(_Visit(visit), 0)
        return tuple(_told(handle) for handle in handles if _is_shown(handle))

    def shown(self) -> tuple[Window, ...]:
        return tuple(window for window in self.all() if not window.is_minimised)

    def keyboard(self) -> Landing:
        return landing(self.shown())

    def under(self, point: Point) -> Landing:
        return landing(self.shown(), point)

    async def focus(self, ref: str) -> Window:
        window, handle = self._find(ref), _handle(ref)
        if window.is_minimised:
            _user32.ShowWindow(handle, _RESTORE)
        _user32.SetForegroundWindow(handle)
        # Check the result, because Windows refuses background programs:
        # https://docs.microsoft.com/en-us/windows/win32/api/winuser/nf-winuser-allowsetforegroundwindow
        if not await _until(lambda: int(_user32.GetForegroundWindow() or 0) == handle):
            raise ToolFailed(Phrase(STAYED_BEHIND, {"title": window.title}))
        return self._find(ref)

    async def close(self, ref: str) -> bool:
        handle = _handle(self._find(ref).ref)
        _user32.PostMessageW(handle, _CLOSE, 0, 0)
        return await _until(lambda: not _user32.IsWindow(handle))

    async def place(self, ref: str, area: Rect) -> Window:
        handle = _handle(self._find(ref).ref)
        _user32.ShowWindow(handle, _RESTORE)
        _user32.MoveWindow(handle, area.x, area.y, area.width, area.height, True)
        return self._find(ref)

    async def minimise(self, ref: str) -> None:
        _user32.ShowWindow(_handle(self._find(ref).ref), _MINIMISE)

    async def answers(self, ref: str, limit_s: float, *, whole: bool = False) -> bool | None:  # noqa: ARG002
        result = wintypes.DWORD()
        millis = int(limit_s * 1000)
        answered = await asyncio.to_thread(  # on a thread, because a hung window blocks the call
            _user32.SendMessageTimeoutW, _handle(ref), _NULL_MESSAGE, 0, 0, _ABORT_IF_HUNG, millis, ctypes.byref(result)
        )
        return bool(answered)

    async def picture(self, ref: str) -> Frame | None:  # noqa: ARG002
        return None

    async def arranged(self, limit_s: float) -> bool:  # noqa: ARG002
        return True

    async def changed(self, limit_s: float) -> None:
        before = self.all()
        await _until(lambda: self.all() != before, limit_s)

    def _find(self, ref: str) -> Window:
        found = next((window for window in self.all() if window.ref == ref), None)
        if found is None:
            raise ToolFailed("That window is gone.", "list_windows shows what is there.")
        return found


async def _until(is_so: Callable[[], bool], limit_s: float = _LIMIT_S) -> bool:
    loop = asyncio.get_running_loop()
    limit = loop.time() + limit_s
    while not is_so():
        if loop.time() >= limit:
            return False
        await asyncio.sleep(_POLL_S)
    return True


def _is_shown(handle: int) -> bool:
    cloaked = wintypes.DWORD()
    # Skip cloaked windows, because suspended store apps count as visible:
    # https://learn.microsoft.com/windows/win32/api/dwmapi/nf-dwmapi-dwmgetwindowattribute
    _dwm.DwmGetWindowAttribute(handle, _CLOAKED, ctypes.byref(cloaked), ctypes.sizeof(cloaked))
    return bool(_user32.IsWindowVisible(handle)) and not cloaked.value and _user32.GetWindowTextLengthW(handle) > 0


def _told(handle: int) -> Window:
    length = _user32.GetWindowTextLengthW(handle) + 1
    title = ctypes.create_unicode_buffer(length)
    _user32.GetWindowTextW(handle, title, length)
    area = wintypes.RECT()
    _user32.GetWindowRect(handle, ctypes.byref(area))
    pid = wintypes.DWORD()
    _user32.GetWindowThreadProcessId(handle, ctypes.byref(pid))
    return Window(
        ref=f"w{handle:x}",
        title=title.value,
        app=_program(pid.value),
        area=Rect(area.left, area.top, area.right - area.left, area.bottom - area.top),
        pid=pid.value,
        is_active=int(_user32.GetForegroundWindow() or 0) == handle,
        is_minimised=bool(_user32.IsIconic(handle)),
    )


def _program(pid: int) -> str:
    process = _kernel32.OpenProcess(_QUERY_LIMITED, False, pid)
    if not process:
        return ""
    path, size = ctypes.create_unicode_buffer(_PATH_CHARS), wintypes.DWORD(_PATH_CHARS)
    _kernel32.QueryFullProcessImageNameW(process, 0, path, ctypes.byref(size))
    _kernel32.CloseHandle(process)
    return path.value.rsplit("\\", 1)[-1].removesuffix(".exe")


def _handle(ref: str) -> int:
    try:
        return int(ref.removeprefix("w"), 16)
    except ValueError:
        raise ToolFailed(
            "That window is not there.", f"There is no window {ref!r}; list_windows shows what is there."
        ) from None
