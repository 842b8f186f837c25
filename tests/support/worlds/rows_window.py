"""A list of two hundred rows in GTK 3, of which a few are in sight. Run by the system's Python."""

import gi

gi.require_version("Gtk", "3.0")
from gi.repository import GLib, Gtk  # noqa: E402


def tell(*words: object) -> None:
    print(*words, flush=True)


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
