"""The window in GTK. Run by the system's Python: gtk_window.py 3|4."""

from __future__ import annotations

import sys

import gi

_GTK_4 = sys.argv[1] == "4"
gi.require_version("Gtk", "4.0" if _GTK_4 else "3.0")
from gi.repository import GLib, Gtk  # noqa: E402

clicks: list[int] = []


def tell(*words: object) -> None:
    print(*words, flush=True)


def counted(_button: object) -> None:
    clicks.append(1)
    label.set_text(f"count {len(clicks)}")
    tell("count", len(clicks))


def later(_button: object) -> None:
    def now() -> bool:
        label.set_text("late")
        tell("late")
        return False

    GLib.timeout_add(150, now)


def reverts(entry: Gtk.Entry) -> None:
    if entry.get_text() != "locked":
        tell("tried", entry.get_text())
        GLib.idle_add(entry.set_text, "locked")


def note(_button: object) -> None:
    dialog = Gtk.Window(title="Note", transient_for=window)
    close = Gtk.Button(label="Dismiss")
    close.connect("clicked", lambda _: (tell("dismissed"), dialog.destroy()))
    put(dialog, close)
    dialog.set_default_size(200, 80)
    show(dialog)
    tell("note")


def put(holder: Gtk.Window, child: Gtk.Widget) -> None:
    (holder.set_child if _GTK_4 else holder.add)(child)


def show(shown: Gtk.Window) -> None:
    (shown.present if _GTK_4 else shown.show_all)()


def named(widget: Gtk.Widget, name: str) -> Gtk.Widget:
    if _GTK_4:
        widget.update_property([Gtk.AccessibleProperty.LABEL], [name])
    else:
        widget.get_accessible().set_name(name)
    return widget


def build() -> None:
    column = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, spacing=4)
    put(window, column)
    buttons = {"Count": counted, "Dead": lambda _: None, "Late": later, "Show note": note}
    for name, act in buttons.items():
        button = Gtk.Button(label=name)
        button.connect("clicked", act)
        column.append(button) if _GTK_4 else column.add(button)
    check = Gtk.CheckButton(label="Agree")
    check.connect("toggled", lambda c: tell("agree", c.get_active()))
    name = named(Gtk.Entry(), "Name")
    name.connect("changed", lambda e: tell("name", e.get_text()))
    fixed = named(Gtk.Entry(text="locked"), "Fixed")
    fixed.connect("changed", reverts)
    volume = named(Gtk.Scale.new_with_range(Gtk.Orientation.HORIZONTAL, 0, 100, 1), "Volume")
    volume.connect("value-changed", lambda s: tell("volume", round(s.get_value())))
    body = named(Gtk.TextView(), "Body")
    body.set_size_request(300, 60)
    body.get_buffer().connect("changed", lambda b: tell("body", b.props.text.replace("\n", "|")))
    fruit = Gtk.ComboBoxText()
    for text in ("Apple", "Banana", "Cherry"):
        fruit.append_text(text)
    fruit.set_active(0)
    fruit.connect("changed", lambda c: tell("fruit", c.get_active_text()))
    for widget in (label, check, name, fixed, volume, body, named(fruit, "Fruit")):
        column.append(widget) if _GTK_4 else column.add(widget)


window = Gtk.Window(title=f"World GTK {sys.argv[1]}")
label = Gtk.Label(label="count 0")
build()
window.set_default_size(420, 480)
loop = GLib.MainLoop()
show(window)
tell("ready")
loop.run()
