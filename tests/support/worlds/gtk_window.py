"""The window in GTK. Run by the system's Python: gtk_window.py 3|4."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import gi

_GTK_4 = sys.argv[1] == "4"
for library in ("Gtk", "Gdk"):
    gi.require_version(library, "4.0" if _GTK_4 else "3.0")
from gi.repository import Gdk, GLib, Gtk  # noqa: E402

clicks: list[int] = []
ticks: list[int] = []


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
    if entry.get_text() not in ("", "locked"):  # because GTK 4 empties a field before it sets it
        tell("tried", entry.get_text())
        GLib.idle_add(entry.set_text, "locked")


def stalls(entry: Gtk.Entry) -> None:
    """Answer nothing for a while after a text was put in, as where fonts are loaded to draw it."""

    def stall() -> bool:
        time.sleep(1.5)
        tell("heavy", entry.get_text())
        return False

    GLib.idle_add(stall)


def puts_back(entry: Gtk.Entry) -> None:
    if entry.get_text() not in ("", "X9"):
        tell("tried", entry.get_text())
        GLib.timeout_add(150, lambda: entry.set_text("X9"))


def digits(entry: Gtk.Entry) -> None:
    if entry.get_text() and not entry.get_text().isdigit():
        GLib.idle_add(entry.set_text, "")


def note(_button: object) -> None:
    dialog = Gtk.Window(title="Note", transient_for=window)
    if _GTK_4:
        dialog.set_modal(True)
    else:
        dialog.set_type_hint(Gdk.WindowTypeHint.DIALOG)
    both = Gtk.Box(spacing=12)
    for name, told in (("Dismiss", "dismissed"), ("Write down", "lost")):
        button = Gtk.Button(label=name)
        button.connect("clicked", lambda _, told=told: (tell(told), dialog.destroy()))
        add(both, button)
    put(dialog, both)
    dialog.set_default_size(200, 80)
    show(dialog)
    tell("note")


def said(text: str, *words: object) -> None:
    label.set_text(text)
    tell(*(words or (text,)))


def clock(_button: object) -> None:
    ticks.append(0) if len(ticks) < 2 else ticks.clear()
    tell("clock", bool(ticks))
    if ticks:
        GLib.timeout_add(300, tick)


def tick() -> bool:
    if ticks:
        ticks.append(0)
        hours.set_text(f"second {len(ticks)}")
    return bool(ticks)


def starts(step: Callable[[int], object]) -> Callable[[object], None]:
    """A button's act that starts a step every 0.3 s, and ends it the next time."""
    steps: list[int] = []

    def go() -> bool:
        if steps:
            steps.append(0)
            step(len(steps))
        return bool(steps)

    def switch(_button: object) -> None:
        steps.clear() if steps else (steps.append(0), GLib.timeout_add(300, go))
        tell("runs", bool(steps))

    return switch


def moving() -> list[Gtk.Widget]:
    """What changes by itself, and what does not keep what is typed."""
    bar = named(Gtk.ProgressBar(), "Progress")
    titles = Gtk.Button(label="Rename")
    titles.connect("clicked", starts(lambda n: window.set_title(f"World {n} GTK {sys.argv[1]}")))
    moves = Gtk.Button(label="Move bar")
    moves.connect("clicked", starts(lambda n: bar.set_fraction(n % 50 / 50)))
    code, number = named(Gtk.Entry(text="X9"), "Code"), named(Gtk.Entry(), "Number")
    code.connect("changed", puts_back)
    number.connect("changed", digits)
    stubborn = Gtk.CheckButton(label="Stubborn")
    stubborn.connect("toggled", lambda box: box.get_active() and GLib.timeout_add(200, box.set_active, False))
    return [titles, moves, bar, code, number, stubborn]


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


def add(holder: Gtk.Box, *widgets: Gtk.Widget) -> None:
    for widget in widgets:
        holder.append(widget) if _GTK_4 else holder.add(widget)


def entry(name: str, text: str = "", **more: object) -> Gtk.Entry:
    made = named(Gtk.Entry(text=text, **more), name)
    made.connect("changed", lambda e: tell(name.lower(), e.get_text()))
    return made


def sizes() -> list[Gtk.Widget]:
    if _GTK_4:
        small, large = Gtk.CheckButton(label="Small"), Gtk.CheckButton(label="Large")
        large.set_group(small)
        small.set_active(True)
    else:
        small = Gtk.RadioButton(label="Small")
        large = Gtk.RadioButton(label="Large", group=small)
    for button in (small, large):
        button.connect("toggled", lambda b: b.get_active() and tell("size", b.get_label()))
    return [small, large]


def more() -> list[Gtk.Widget]:
    off = Gtk.Button(label="Off", sensitive=False)
    buttons = {
        "Save": lambda _: said("could not save", "save failed"),
        "Keep": lambda _: tell("keep failed"),
        "Clock": clock,
    }
    made = [off]
    for name, act in buttons.items():
        made.append(Gtk.Button(label=name))
        made[-1].connect("clicked", act)
    bold = Gtk.ToggleButton(label="Bold")
    bold.connect("toggled", lambda b: tell("bold", b.get_active()))
    order = entry("Order")
    order.connect("activate", lambda _: said("entered"))
    heavy = named(Gtk.Entry(), "Heavy")
    heavy.connect("changed", stalls)
    rows = Gtk.ScrolledWindow(height_request=90)
    (rows.set_child if _GTK_4 else rows.add)(Gtk.Label(label="\n".join(f"row {n}" for n in range(40))))
    rows.get_vadjustment().connect("value-changed", lambda a: tell("rows", round(a.get_value())))
    fields = [
        order, entry("Sealed", "sealed", editable=False), entry("Short", max_length=3),
        entry("Secret", visibility=False, input_purpose=Gtk.InputPurpose.PASSWORD), rows,
        Gtk.Label(label="Plain words"), hours, heavy,
    ]  # fmt: skip
    return [*made, bold, *sizes(), *fields]


def build() -> None:
    both = Gtk.Box(spacing=12)
    column, second, third = (Gtk.Box(orientation=Gtk.Orientation.VERTICAL, spacing=4) for _ in range(3))
    put(window, both)
    add(both, column, second, third)
    add(second, *more())
    add(third, *moving())
    buttons = {"Count": counted, "Dead": lambda _: None, "Late": later, "Show note": note}
    for name, act in buttons.items():
        button = Gtk.Button(label=name)
        button.connect("clicked", act)
        add(column, button)
    check = Gtk.CheckButton(label="Agree")
    check.connect("toggled", lambda c: tell("agree", c.get_active()))
    name = entry("Name")
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
    add(column, label, check, name, fixed, volume, body, named(fruit, "Fruit"))


window = Gtk.Window(title=f"World GTK {sys.argv[1]}")
label, hours = Gtk.Label(label="count 0"), Gtk.Label(label="second 0")
build()
window.set_default_size(640, 520)
loop = GLib.MainLoop()
show(window)
tell("ready")
loop.run()
