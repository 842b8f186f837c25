"""The process that shows small apps with QtWebEngine, each in a window and a profile of its own.

It reads requests from its standard input, one line of JSON each, and writes an answer for each to its standard output:
`{"number": 1, "op": "show", "url": "http://ID.localhost/TOKEN/", "width": 400, "height": 480}` and
`{"number": 1, "ok": true}`. `{"crashed": "http://ID.localhost/TOKEN/"}` tells that a window's process has ended by
itself. It ends with its last window, or when its input ends. A window loads what lies below its own address and nothing
else. The walls of the network are Chromium's switches, set by the process that starts this one.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

from PySide6.QtCore import QBuffer, QEvent, QIODevice, QObject, QRect, Qt, QTimer, QUrl, Signal
from PySide6.QtGui import QCloseEvent, QContextMenuEvent, QGuiApplication, QIcon, QImageWriter
from PySide6.QtWebEngineCore import (
    QWebEnginePage,
    QWebEngineProfile,
    QWebEngineSettings,
    QWebEngineUrlRequestInfo,
    QWebEngineUrlRequestInterceptor,
)
from PySide6.QtWebEngineWidgets import QWebEngineView
from PySide6.QtWidgets import QApplication, QMenu

_CLASS = "wisp-surface"
_FLAGS = "QTWEBENGINE_CHROMIUM_FLAGS"
_JPEG_QUALITY = 75
_DRAWN_MS = 5_000
_Attribute = QWebEngineSettings.WebAttribute
_OFF = (
    *(_Attribute.JavascriptCanOpenWindows, _Attribute.JavascriptCanAccessClipboard, _Attribute.JavascriptCanPaste),
    *(_Attribute.LocalStorageEnabled, _Attribute.PluginsEnabled, _Attribute.PdfViewerEnabled),
    *(_Attribute.LocalContentCanAccessRemoteUrls, _Attribute.LocalContentCanAccessFileUrls),
    *(_Attribute.NavigateOnDropEnabled, _Attribute.DnsPrefetchEnabled, _Attribute.HyperlinkAuditingEnabled),
    *(_Attribute.ScreenCaptureEnabled, _Attribute.FullScreenSupportEnabled, _Attribute.ErrorPageEnabled),
    *(_Attribute.AllowWindowActivationFromJavaScript, _Attribute.AllowRunningInsecureContent),
)
_ON = (_Attribute.WebRTCPublicInterfacesOnly, _Attribute.PlaybackRequiresUserGesture, _Attribute.AutoLoadIconsForPage)
_Act = QWebEnginePage.WebAction
_MENU = (_Act.Undo, _Act.Redo, _Act.Cut, _Act.Copy, _Act.Paste, _Act.SelectAll)


class _OwnAddressOnly(QWebEngineUrlRequestInterceptor):
    """Blocks every request that leaves the address of one window."""

    def __init__(self, own: str, parent: QObject) -> None:
        super().__init__(parent)
        self._own = own

    def interceptRequest(self, info: QWebEngineUrlRequestInfo) -> None:
        url = info.requestUrl()
        info.block(url.scheme() not in ("data", "blob") and not url.toString().startswith(self._own))


class _SurfacePage(QWebEnginePage):
    """A page that stays where it is, opens nothing and gets no permission."""

    def __init__(self, own: str, profile: QWebEngineProfile, parent: QObject) -> None:
        super().__init__(profile, parent)
        self._own = own
        for attribute in (*_OFF, *_ON):
            self.settings().setAttribute(attribute, attribute in _ON)
        self.permissionRequested.connect(lambda asked: asked.deny())
        self.fileSystemAccessRequested.connect(lambda asked: asked.reject())
        self.registerProtocolHandlerRequested.connect(lambda asked: asked.reject())
        self.fullScreenRequested.connect(lambda asked: asked.reject())

    def acceptNavigationRequest(
        self,
        url: QUrl | str,
        type: QWebEnginePage.NavigationType,
        in_window: bool,  # noqa: FBT001 - as Qt calls it
        /,
    ) -> bool:
        """Accept the window's own address in the window, and what lies below it in the frame inside."""
        text = url if isinstance(url, str) else url.toString()
        return text == self._own if in_window else text.startswith(self._own) or text.startswith("about:")

    def createWindow(self, type: QWebEnginePage.WebWindowType, /) -> QWebEnginePage:
        return None  # type: ignore[return-value]  # what Qt takes as a refusal

    def javaScriptConsoleMessage(
        self, level: QWebEnginePage.JavaScriptConsoleMessageLevel, message: str, line: int, source: str, /
    ) -> None:
        """Drop it. Otherwise a page could fill the disk through the log."""


class SurfaceView(QWebEngineView):
    """The window of a small app. `closed` is emitted once it has been closed.

    `drawn` is emitted once: when its page is seen in it for the first time, or nobody should wait for that any longer.
    """

    closed = Signal()
    crashed = Signal()
    drawn = Signal()

    def __init__(self, url: str) -> None:
        self._profile = QWebEngineProfile()  # off the record: nothing of it is written to the disk
        self._profile.setPersistentPermissionsPolicy(QWebEngineProfile.PersistentPermissionsPolicy.AskEveryTime)
        self._profile.downloadRequested.connect(lambda wanted: wanted.cancel())
        self._profile.setUrlRequestInterceptor(_OwnAddressOnly(url, self._profile))
        super().__init__(self._profile)
        self.setPage(_SurfacePage(url, self._profile, self))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.titleChanged.connect(self.setWindowTitle)
        self.iconChanged.connect(self._take_icon)
        # Not at once, because Qt still uses the page after this signal.
        self.renderProcessTerminated.connect(lambda: QTimer.singleShot(0, self, self.crashed.emit))
        self.page().windowCloseRequested.connect(self.close)
        self.is_drawn = False
        # Until its first frame has a size, a page is white, also for a while after it has loaded.
        self.page().contentsSizeChanged.connect(self._watch)
        QTimer.singleShot(_DRAWN_MS, self, self._note_drawn)
        self.load(QUrl(url))

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Show what belongs to a text field. Qt's own menu would show the source, save the page and go back."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addActions([self.page().action(one) for one in _MENU if self.page().action(one).isEnabled()])
        if menu.actions():
            menu.popup(event.globalPos())

    def closeEvent(self, event: QCloseEvent) -> None:
        super().closeEvent(event)
        self.closed.emit()
        self._note_drawn()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Note that the page is drawn, after the paint event of the widget that shows it."""
        if event.type() == QEvent.Type.Paint:
            watched.removeEventFilter(self)
            QTimer.singleShot(0, self, self._note_drawn)
        return super().eventFilter(watched, event)

    def _watch(self) -> None:
        self.page().contentsSizeChanged.disconnect(self._watch)
        if shown := self.focusProxy():
            shown.installEventFilter(self)

    def _note_drawn(self) -> None:
        if not self.is_drawn:
            self.is_drawn = True
            self.drawn.emit()

    def _take_icon(self, icon: QIcon) -> None:
        if not icon.isNull():
            self.setWindowIcon(icon)


class SurfaceWindows(QObject):
    """All windows by their addresses, and what they are asked. `arrived` carries a request from the reading thread."""

    arrived = Signal(bytes)

    def __init__(self, answers: BinaryIO) -> None:
        super().__init__()
        self._answers = answers
        self._views: dict[str, SurfaceView] = {}
        self.arrived.connect(self._answer, Qt.ConnectionType.QueuedConnection)

    def listen(self, requests: BinaryIO) -> None:
        """Read requests in a thread of their own until there are no more."""
        threading.Thread(target=self._read, args=(requests,), name="requests", daemon=True).start()

    def _read(self, requests: BinaryIO) -> None:
        for line in requests:
            self.arrived.emit(line)
        self.arrived.emit(b"")

    def _answer(self, line: bytes) -> None:
        if not line:  # because the worker has ended, or wishes it
            QGuiApplication.exit(0)
            return
        said = json.loads(line)
        view = self._views.get(said["url"])
        if said["op"] == "picture" and view and not view.is_drawn:
            view.drawn.connect(lambda: self._reply(said))
        else:
            self._reply(said)

    def _reply(self, said: Mapping[str, Any]) -> None:
        self._tell({"number": said["number"], "ok": self._done(said)})

    def _tell(self, words: Mapping[str, Any]) -> None:
        self._answers.write(json.dumps(words).encode() + b"\n")
        self._answers.flush()

    def _done(self, said: Mapping[str, Any]) -> Any:
        url = said["url"]
        if said["op"] == "show":
            self._show(url, said["width"], said["height"])
            return True
        view = self._views.get(url)
        if view is None:
            return None
        match said["op"]:
            case "raise":
                view.setWindowState(view.windowState() & ~Qt.WindowState.WindowMinimized)
                view.raise_()
                if said["takes_keyboard"]:
                    view.activateWindow()
            case "resize" if not view.isMaximized() and not view.isFullScreen():
                view.resize(said["width"] or view.width(), said["height"] or view.height())
            case "reload":
                view.load(QUrl(url))
            case "close":
                view.close()
            case "picture":
                return _picture(view, said["width"])
        return True

    def _show(self, url: str, width: int, height: int) -> None:
        view = SurfaceView(url)
        view.closed.connect(lambda: self._views.pop(url, None))
        view.crashed.connect(lambda: self._tell({"crashed": url}))
        self._views[url] = view
        view.resize(width, height)
        view.move(QGuiApplication.primaryScreen().availableGeometry().center() - view.rect().center())
        _name(view, url)
        view.show()


def run(_: Sequence[str]) -> int:
    """Show windows until the last one closes. Without Chromium's switches, which are walls, it refuses to start."""
    first = sys.stdin.buffer.readline()
    if not first or not os.environ.get(_FLAGS):
        return 2 if first else 0
    # What Chromium prints itself must not get between the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    QGuiApplication.setDesktopFileName(_CLASS)
    app = QApplication([_CLASS])
    app.setApplicationName(_CLASS)
    windows = SurfaceWindows(answers)
    windows.arrived.emit(first)
    windows.listen(sys.stdin.buffer)
    code = app.exec()
    answers.flush()
    os._exit(code)  # because Chromium's threads may hold up an orderly end, and nothing has to be saved


def _picture(view: SurfaceView, width: int) -> Mapping[str, Any] | None:
    """At most `width` pixels wide, as JPEG; None if nothing is drawn."""
    taken = view.grab(QRect(0, 0, view.width(), view.height())).toImage()
    if taken.isNull():
        return None
    if taken.width() > width:
        taken = taken.scaledToWidth(width, Qt.TransformationMode.SmoothTransformation)
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QImageWriter(buffer, b"jpeg")
    writer.setQuality(_JPEG_QUALITY)
    writer.write(taken)
    data = base64.b64encode(buffer.data().data()).decode()
    return {"data": data, "width": taken.width(), "height": taken.height()}


def _name(view: SurfaceView, url: str) -> None:
    """Give the window the class that Chromium gives it. Menus and Wisp find it by that, and Qt cannot set it."""
    if QGuiApplication.platformName() != "xcb":
        return
    from Xlib.display import Display

    display = Display()
    try:
        window = display.create_resource_object("window", int(view.winId()))
        window.set_wm_class(url.split("/")[2], _CLASS)
        display.sync()
    finally:
        display.close()
