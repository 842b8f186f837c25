"""A form whose first field does something after a number of signs:
TITLE entry|area press|pin|swap SIGNS [BUSY_MS [SWAP_MS]].

`press` gives the keyboard to "Sign contract", `pin` to a password field, and `swap` makes the field itself one a little
later. A text that arrives just as the field is swapped is no fault of who sent it: nobody can look again in the moment
between the last look and the arrival (see SECURITY.md).
"""

import sys
import time

import gi

gi.require_version("Gtk", "3.0")
from gi.repository import GLib, Gtk  # noqa: E402

title, kind, then, signs, busy_ms, swap_ms = (*sys.argv[1:], *("0", "50")[len(sys.argv) - 5 :])
done = []
_JUST_S = 0.05


def say(*words):
    print(*words, flush=True)


def password(entry):
    entry.set_visibility(False)
    entry.get_accessible().set_name("PIN")
    since = time.monotonic() if done else 0.0
    entry.connect(
        "changed",
        lambda changed: say("value PIN" if time.monotonic() - since > _JUST_S else "just PIN", changed.get_text()),
    )


def text_of(source):
    return source.get_text(*source.get_bounds(), True) if kind == "area" else source.get_text()


def on_changed(source):
    say("value Name", text_of(source))
    if done or len(text_of(source)) < int(signs):
        return
    done.append(then)
    time.sleep(int(busy_ms) / 1000)
    {"press": sign.grab_focus, "pin": pin.grab_focus, "swap": lambda: GLib.timeout_add(int(swap_ms), password, field)}[
        then
    ]()


window, box = Gtk.Window(title=title), Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
window.connect("destroy", Gtk.main_quit)
window.add(box)
field = Gtk.TextView() if kind == "area" else Gtk.Entry()
field.get_accessible().set_name("Name")
sign, pin = Gtk.Button(label="Sign contract"), Gtk.Entry()
sign.connect("clicked", lambda _: say("pressed Sign contract"))
password(pin)
for widget in (field, sign, pin):
    box.pack_start(widget, widget is field, True, 4)
(field.get_buffer() if kind == "area" else field).connect("changed", on_changed)
GLib.idle_add(field.grab_focus)
window.set_default_size(420, 300)
window.show_all()
Gtk.main()
