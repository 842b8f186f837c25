"""A list of two hundred rows, of which a few are in sight: rows_window.py gtk3|qt5|qt6."""

from typing import Any

from kits import show, tell


def in_gtk(gtk: Any) -> Any:
    window, scrolled, rows = gtk.Window(title="Rows"), gtk.ScrolledWindow(), gtk.ListBox()
    for number in range(200):
        rows.add(gtk.Label(label=f"Row {number}"))
    rows.connect("row-activated", lambda _, row: tell("row", row.get_index()))
    scrolled.add(rows)
    window.add(scrolled)
    window.set_default_size(200, 300)
    return window


def in_qt(widgets: Any) -> Any:
    rows = widgets.QListWidget()
    rows.setWindowTitle("Rows")
    rows.addItems([f"Row {number}" for number in range(200)])
    rows.itemClicked.connect(lambda item: tell("row", item.text().removeprefix("Row ")))
    rows.resize(200, 300)
    return rows


show(in_gtk, in_qt)
