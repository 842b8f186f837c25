"""A window for the tests, run as a program of its own: a magenta button and a menu with a green entry.

The arguments: `3.0` or `4.0` for GTK (by the system's Python, which has `gi`) or `qt`, then `csd` for a window that
draws its own frame and shadow. It is busy for a second when the button is pressed. Its title names the chosen entry.
"""

from __future__ import annotations

import sys
import time

MAGENTA, GREEN = "#ff00ff", "#00ff00"
CSS = f"""
#magenta {{ background: {MAGENTA}; border: none; border-radius: 0; box-shadow: none; padding: 0; min-width: 80px;
  min-height: 30px; text-shadow: none; outline: none; }}
#green {{ background: {GREEN}; }}
"""
ENTRIES = ("Alpha", "Beta", "Gamma")


def be_busy() -> None:
    time.sleep(1)


def in_gtk(version: str, *, has_frame: bool) -> None:
    import gi

    gi.require_version("Gtk", version)
    gi.require_version("Gdk", version)
    from gi.repository import Gdk, Gio, GLib, Gtk

    style = Gtk.CssProvider()
    style.load_from_data(CSS.encode())
    box, button = Gtk.Box(orientation=Gtk.Orientation.VERTICAL), Gtk.Button(label="Press me", name="magenta")
    button.connect("clicked", lambda _: be_busy())
    button.set_halign(Gtk.Align.START)
    button.set_margin_start(200)
    button.set_margin_top(120)
    above = Gtk.Label(label="Above")
    window = Gtk.Window(title="Coloured form")
    window.set_default_size(420, 300)
    if has_frame:
        window.set_titlebar(Gtk.HeaderBar())
    if version == "3.0":
        Gtk.StyleContext.add_provider_for_screen(Gdk.Screen.get_default(), style, 900)
        bar, title, menu = Gtk.MenuBar(), Gtk.MenuItem(label="File"), Gtk.Menu()
        for name in ENTRIES:
            entry = Gtk.MenuItem(label=name, name="green" if name == "Beta" else name)
            entry.connect("activate", lambda one: window.set_title(f"Chose {one.get_label()}"))
            menu.append(entry)
        title.set_submenu(menu)
        bar.append(title)
        for part in (above, bar, button):
            box.pack_start(part, False, False, 0)
        window.add(box)
        window.connect("destroy", Gtk.main_quit)
        window.show_all()
        Gtk.main()
        return
    Gtk.StyleContext.add_provider_for_display(Gdk.Display.get_default(), style, 900)
    menu, entries = Gio.Menu(), Gio.Menu()
    for name in ENTRIES:
        entries.append(name, f"window.{name.lower()}")
    menu.append_submenu("File", entries)
    for part in (above, Gtk.PopoverMenuBar.new_from_model(menu), button):
        box.append(part)
    window.set_child(box)
    window.present()
    GLib.MainLoop().run()


def in_qt() -> None:
    from PySide6.QtWidgets import QApplication, QMainWindow, QPushButton, QWidget

    application = QApplication(sys.argv[:1])
    application.setApplicationName("Coloured form")
    window, page = QMainWindow(), QWidget()
    window.setWindowTitle("Coloured form")
    window.resize(420, 300)
    menu = window.menuBar().addMenu("File")
    for name in ENTRIES:
        menu.addAction(name).triggered.connect(lambda _, name=name: window.setWindowTitle(f"Chose {name}"))
    menu.setStyleSheet(f"QMenu::item {{ background: {GREEN}; padding: 4px 20px; }}")
    window.setCentralWidget(page)
    button = QPushButton("Press me", page)
    button.setGeometry(200, 120, 100, 32)
    button.setStyleSheet(f"background: {MAGENTA}; border: none;")
    button.clicked.connect(be_busy)
    window.show()
    application.exec()


if __name__ == "__main__":
    if sys.argv[1] == "qt":
        in_qt()
    else:
        in_gtk(sys.argv[1], has_frame="csd" in sys.argv)
