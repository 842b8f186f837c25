"""A window whose open menu lies over tabs and fields: tabbed_window.py gtk3|qt5|qt6. It writes down what was chosen."""

from typing import Any

from kits import show, tell

_ENTRIES, _INNER = ("New", "Collect", "Open", "Save"), ("Mail", "Print")


def in_gtk(gtk: Any) -> Any:
    def filled(menu: Any, names: tuple[str, ...]) -> Any:
        for name in names:
            entry = gtk.MenuItem(label=name)
            entry.connect("activate", lambda _, name=name: tell("chosen", name))
            menu.append(entry)
        return menu

    def holder(name: str, menu: Any) -> Any:
        entry = gtk.MenuItem(label=name)
        entry.set_submenu(menu)
        return entry

    window, box, bar, tabs = gtk.Window(title="Tabbed"), gtk.VBox(), gtk.MenuBar(), gtk.Notebook()
    menu = filled(gtk.Menu(), _ENTRIES)
    menu.append(holder("Share", filled(gtk.Menu(), _INNER)))
    bar.append(holder("File", menu))
    for name in ("General", "Advanced"):
        tabs.append_page(gtk.Entry(), gtk.Label(label=name))
    box.pack_start(bar, False, False, 0)
    box.pack_start(tabs, True, True, 0)
    window.add(box)
    window.set_default_size(400, 300)
    return window


def in_qt(widgets: Any) -> Any:
    window, tabs = widgets.QMainWindow(), widgets.QTabWidget()
    menu = window.menuBar().addMenu("&File")
    inner = widgets.QMenu("S&hare", menu)
    for holder, names in ((menu, _ENTRIES), (inner, _INNER)):
        for name in names:
            holder.addAction(f"&{name}").triggered.connect(lambda _, name=name: tell("chosen", name))
    menu.addMenu(inner)
    for name in ("General", "Advanced"):
        tabs.addTab(widgets.QLineEdit(), name)
    window.setCentralWidget(tabs)
    window.setWindowTitle("Tabbed")
    window.setGeometry(100, 100, 400, 300)
    return window


show(in_gtk, in_qt)
