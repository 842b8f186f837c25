"""A GTK 3 window whose list of files is painted: accessibility tells its buttons and field, and nothing of the files.

It prints what it is made to do: `pressed NAME`, `dropped NAME on NAME`, `button Up`.
"""

import gi

gi.require_version("Gtk", "3.0")
from gi.repository import GLib, Gtk  # noqa: E402  # because the version comes first

ROW_PX = 48
NAMES = ["letter.txt", "post", "Größe"]
held: list[str] = []


def tell(*words: object) -> None:
    print(*words, flush=True)


def name_at(y: float) -> str:
    row = int(y // ROW_PX)
    return NAMES[row] if 0 <= row < len(NAMES) else ""


def paint(_area: Gtk.DrawingArea, picture: object) -> None:
    picture.set_source_rgb(1, 1, 1)
    picture.paint()
    picture.set_source_rgb(0, 0, 0)
    picture.select_font_face("Noto Sans")
    picture.set_font_size(18)
    for row, name in enumerate(NAMES):
        picture.move_to(24, row * ROW_PX + 30)
        picture.show_text(name)


def press(_area: Gtk.DrawingArea, event: object) -> None:
    held[:] = [name_at(event.y)]
    tell("pressed", *held)


def release(_area: Gtk.DrawingArea, event: object) -> None:
    if held and name_at(event.y) not in ("", *held):
        tell("dropped", *held, "on", name_at(event.y))


window = Gtk.Window(title="Files")
box, bar, area = Gtk.Box(orientation=Gtk.Orientation.VERTICAL), Gtk.Box(), Gtk.DrawingArea()
for label in ("Back", "Up"):
    button = Gtk.Button(label=label)
    button.connect("clicked", lambda pressed: tell("button", pressed.get_label()))
    bar.pack_start(button, False, False, 0)
place = Gtk.Entry(text="/home")
bar.pack_start(place, True, True, 0)
area.add_events(0x100 | 0x200 | 0x8)  # presses, releases, motion with the first button
area.connect("draw", paint)
area.connect("button-press-event", press)
area.connect("button-release-event", release)
box.pack_start(bar, False, False, 0)
box.pack_start(area, True, True, 0)
window.add(box)
window.set_default_size(420, 300)
window.connect("destroy", Gtk.main_quit)
window.show_all()
GLib.timeout_add(300, tell, "ready")
Gtk.main()
