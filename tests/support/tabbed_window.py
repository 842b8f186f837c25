"""A window whose open menu lies over tabs and fields: tabbed_window.py gtk3|qt5|qt6. It writes down what was chosen.

Qt 5 and GTK 3 are run by the system's Python.
"""

import sys

_KIT = sys.argv[1]
_ENTRIES, _INNER = ("New", "Collect", "Open", "Save"), ("Mail", "Print")


def tell(*words: object) -> None:
    print(*words, flush=True)


def in_gtk() -> None:
    import gi

    gi.require_version("Gtk", "3.0")
    from gi.repository import GLib, Gtk

    def filled(menu: Gtk.Menu, names: tuple[str, ...]) -> Gtk.Menu:
        for name in names:
            entry = Gtk.MenuItem(label=name)
            entry.connect("activate", lambda _, name=name: tell("chosen", name))
            menu.append(entry)
        return menu

    def holder(name: str, menu: Gtk.Menu) -> Gtk.MenuItem:
        entry = Gtk.MenuItem(label=name)
        entry.set_submenu(menu)
        return entry

    window, box, bar, tabs = Gtk.Window(title="Tabbed"), Gtk.VBox(), Gtk.MenuBar(), Gtk.Notebook()
    menu = filled(Gtk.Menu(), _ENTRIES)
    menu.append(holder("Share", filled(Gtk.Menu(), _INNER)))
    bar.append(holder("File", menu))
    for name in ("General", "Advanced"):
        tabs.append_page(Gtk.Entry(), Gtk.Label(label=name))
    box.pack_start(bar, False, False, 0)
    box.pack_start(tabs, True, True, 0)
    window.add(box)
    window.set_default_size(400, 300)
    window.show_all()
    GLib.timeout_add(300, tell, "ready")
    Gtk.main()


def in_qt() -> None:
    if _KIT == "qt5":
        from PyQt5 import QtCore, QtWidgets
    else:
        from PySide6 import QtCore, QtWidgets
    app = QtWidgets.QApplication(["tabs"])
    window, tabs = QtWidgets.QMainWindow(), QtWidgets.QTabWidget()
    menu = window.menuBar().addMenu("&File")
    inner = QtWidgets.QMenu("S&hare", menu)
    for holder, names in ((menu, _ENTRIES), (inner, _INNER)):
        for name in names:
            holder.addAction(f"&{name}").triggered.connect(lambda _, name=name: tell("chosen", name))
    menu.addMenu(inner)
    for name in ("General", "Advanced"):
        tabs.addTab(QtWidgets.QLineEdit(), name)
    window.setCentralWidget(tabs)
    window.setWindowTitle("Tabbed")
    window.setGeometry(100, 100, 400, 300)
    window.show()
    QtCore.QTimer.singleShot(300, lambda: tell("ready"))
    getattr(app, "exec_" if _KIT == "qt5" else "exec")()


in_gtk() if _KIT == "gtk3" else in_qt()
