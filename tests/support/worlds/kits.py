"""Start a small window in the toolkit that the command line names: gtk3, qt5 or qt6.

Qt 5 and GTK 3 are run by the system's Python, so this module imports nothing of ours.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

_SETTLED_MS = 300


def tell(*words: object) -> None:
    print(*words, flush=True)


def show(in_gtk: Callable[[Any], Any], in_qt: Callable[[Any], Any]) -> None:
    """Show the window that the function of the toolkit makes, say "ready", and run until the window is closed.

    The functions get the toolkit's module: Gtk or QtWidgets.
    """
    kit = sys.argv[1]
    if kit == "gtk3":
        import gi

        gi.require_version("Gtk", "3.0")
        from gi.repository import GLib, Gtk

        window = in_gtk(Gtk)
        window.connect("destroy", Gtk.main_quit)
        window.show_all()
        GLib.timeout_add(_SETTLED_MS, tell, "ready")
        Gtk.main()
        return
    if kit == "qt5":
        from PyQt5 import QtCore, QtWidgets
    else:
        from PySide6 import QtCore, QtWidgets
    app = QtWidgets.QApplication(sys.argv[:1])
    window = in_qt(QtWidgets)
    window.show()
    QtCore.QTimer.singleShot(_SETTLED_MS, lambda: tell("ready"))
    getattr(app, "exec_" if kit == "qt5" else "exec")()
