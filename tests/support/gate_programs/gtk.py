"""A GTK 3 window made of its arguments: TITLE KIND:NAME…; prints what happens to it. Run by the system's Python."""

import sys

import gi

gi.require_version("Gdk", "3.0")
gi.require_version("Gtk", "3.0")
from gi.repository import Gdk, GLib, Gtk  # noqa: E402


def say(*words):
    print(*words, flush=True)


def button(name):
    made = Gtk.Button.new_with_mnemonic(name)
    plain = name.replace("_", "")
    made.connect("clicked", lambda _: (say("pressed", plain), plain == "Leave" and Gtk.main_quit()))
    return made


def default(name):
    """A button that Return presses wherever the focus is."""
    made = button(name)
    made.set_can_default(True)
    GLib.idle_add(window.set_default, made)
    return made


def focused(name):
    made = button(name)
    GLib.idle_add(made.grab_focus)
    return made


def bare(name):
    """A button that shows only a picture, and says no name."""
    made = Gtk.Button()
    made.add(Gtk.Image.new_from_icon_name("edit-delete", Gtk.IconSize.BUTTON))
    made.connect("clicked", lambda _: say("pressed", name))
    return made


def entry(name, *, hidden=False):
    made = Gtk.Entry()
    made.get_accessible().set_name(name)
    made.set_visibility(not hidden)
    made.set_activates_default(True)
    made.connect("changed", lambda e: say("value", name, e.get_text()))
    return made


def send(name):
    """A field whose Return sends."""
    made = entry(name)
    made.connect("activate", lambda e: say("sent", e.get_text()))
    return made


def upload(name):
    """An area that takes dropped or middle-clicked text."""
    made = Gtk.EventBox()
    made.add(Gtk.Label(label=name))
    made.drag_dest_set(Gtk.DestDefaults.ALL, [], Gdk.DragAction.COPY)
    made.drag_dest_add_text_targets()
    made.connect("drag-data-received", lambda _w, _c, _x, _y, data, *_: say("dropped", data.get_text()))
    return made


def switch(name):
    made = Gtk.Switch()
    made.get_accessible().set_name(name)
    made.connect("notify::active", lambda s, _: say("switched", name, s.get_active()))
    return made


def check(name):
    made = Gtk.CheckButton.new_with_mnemonic(name)
    made.connect("toggled", lambda c: say("checked", name.replace("_", ""), c.get_active()))
    return made


def combo(name):
    made = Gtk.ComboBoxText()
    for item in name.split(","):
        made.append_text(item)
    made.connect("changed", lambda c: say("picked", c.get_active_text()))
    return made


def slider(name):
    made = Gtk.Scale.new_with_range(Gtk.Orientation.HORIZONTAL, 0, 100, 1)
    made.get_accessible().set_name(name)
    made.connect("value-changed", lambda s: say("slid", name, int(s.get_value())))
    return made


def tabs(name):
    made = Gtk.Notebook()
    for title in name.split(","):
        made.append_page(Gtk.Label(label=f"Page of {title}"), Gtk.Label(label=title))
    made.connect("switch-page", lambda n, page, _: say("tab", n.get_tab_label_text(page)))
    return made


def rows(name):
    """A list whose rows act when they are activated."""
    made = Gtk.ListBox()
    for item in name.split(","):
        made.add(Gtk.Label(label=item))
    made.connect("row-activated", lambda _, row: say("opened", row.get_child().get_text()))
    return made


def text(name):
    made = Gtk.TextView()
    made.set_size_request(300, 60)
    made.get_buffer().set_text(name)
    made.get_buffer().connect("changed", lambda b: say("text", b.get_text(*b.get_bounds(), True).replace("\n", "|")))
    return made


def canvas(name):
    """A drawing that describes nothing; it tells keys and presses."""
    made = Gtk.DrawingArea(can_focus=True)
    made.set_size_request(300, 120)
    made.add_events(Gdk.EventMask.BUTTON_PRESS_MASK | Gdk.EventMask.KEY_PRESS_MASK | Gdk.EventMask.SCROLL_MASK)
    made.connect("button-press-event", lambda _, e: say(name, "point", int(e.x), int(e.y)))
    made.connect("scroll-event", lambda _, e: say(name, "wheel"))
    made.connect("key-press-event", lambda _, e: say(name, "key", Gdk.keyval_name(e.keyval)))
    return made


def move_focus(name):
    """Typing anything into this field moves the focus to the button of the window that is pressed by Space."""
    made = entry(name)
    made.connect("changed", lambda _: window.child_focus(Gtk.DirectionType.TAB_FORWARD))
    return made


def label(name):
    return Gtk.Label(label=name)


def accel(name):
    """`<Control>d=Delete`: a shortcut without a control."""
    keys, what = name.split("=")
    group = Gtk.AccelGroup()
    group.connect(*Gtk.accelerator_parse(keys), 0, lambda *_: say("pressed", what) or True)
    window.add_accel_group(group)


def key(name):
    """`d=Delete`: a bare key of the window, as mail programs have."""
    wanted, what = name.split("=")
    window.connect("key-press-event", lambda _, e: Gdk.keyval_name(e.keyval) == wanted and say("pressed", what))


def menu(name):
    """`_File/_Delete`: an item of the menu bar."""
    top, *way = name.split("/")
    if top not in menus:
        item = Gtk.MenuItem.new_with_mnemonic(top)
        menus[top] = Gtk.Menu()
        item.set_submenu(menus[top])
        bar.append(item)
        bar.show_all()
    here = menus[top]
    for step in way[:-1]:
        branch = Gtk.MenuItem.new_with_mnemonic(step)
        below = Gtk.Menu()
        branch.set_submenu(below)
        here.append(branch)
        here = below
    leaf = Gtk.MenuItem.new_with_mnemonic(way[-1])
    leaf.connect("activate", lambda _: say("chosen", way[-1].replace("_", "")))
    here.append(leaf)


MADE = {
    "button": button, "default": default, "focused": focused, "bare": bare, "entry": entry, "send": send,
    "password": lambda name: entry(name, hidden=True), "upload": upload, "switch": switch, "check": check,
    "combo": combo, "slider": slider, "tabs": tabs, "rows": rows, "text": text, "canvas": canvas, "label": label,
    "moving": move_focus, "accel": accel, "key": key, "menu": menu,
}  # fmt: skip
window = Gtk.Window(title=sys.argv[1])
window.connect("destroy", lambda _: (say("closed"), Gtk.main_quit()))
box, bar, menus = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, spacing=4), Gtk.MenuBar(), {}
window.add(box)
box.pack_start(bar, False, False, 0)
for argument in sys.argv[2:]:
    kind, _, what = argument.partition(":")
    widget = MADE[kind](what)
    if widget:
        box.pack_start(widget, True, True, 2)
window.set_default_size(420, 300)
window.show_all()
Gtk.main()
