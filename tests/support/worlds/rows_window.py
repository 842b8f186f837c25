"""A list of two hundred rows, of which a few are in sight: rows_window.py gtk3|qt5|qt6."""

import sys

_KIT = sys.argv[1]


def tell(*words: object) -> None:
    print(*words, flush=True)


def in_gtk() -> None:
    import gi

    gi.require_version("Gtk", "3.0")
    from gi.repository import GLib, Gtk

    window, scrolled, rows = Gtk.Window(title="Rows"), Gtk.ScrolledWindow(), Gtk.ListBox()
    for number in range(200):
        rows.add(Gtk.Label(label=f"Row {number}"))
    rows.connect("row-activated", lambda _, row: tell("row", row.get_index()))
    scrolled.add(rows)
    window.add(scrolled)
    window.set_default_size(200, 300)
    window.connect("destroy", Gtk.main_quit)
    window.show_all()
    GLib.timeout_add(300, tell, "ready")
    Gtk.main()


def in_qt() -> None:
    if _KIT == "qt5":
        from PyQt5 import QtCore, QtWidgets
    else:
        from PySide6 import QtCore, QtWidgets
    app = QtWidgets.QApplication(["rows"])
    rows = QtWidgets.QListWidget()
    rows.setWindowTitle("Rows")
    rows.addItems([f"Row {number}" for number in range(200)])
    rows.itemClicked.connect(lambda item: tell("row", item.text().removeprefix("Row ")))
    rows.resize(200, 300)
    rows.show()
    QtCore.QTimer.singleShot(300, lambda: tell("ready"))
    getattr(app, "exec_" if _KIT == "qt5" else "exec")()


in_gtk() if _KIT == "gtk3" else in_qt()
