"""Windows for stories, each run as a program of its own: a board to drag cards on, and a form and a canvas in GTK.

    python3 tests/support/boards.py board | gtk4_form | gtk3_canvas

What is in GTK runs by the system's Python, which has its bindings.
"""

from __future__ import annotations

import sys


def board() -> int:
    """A card and a column in Qt. The label says whether the card was dropped on the column."""
    from PySide6.QtCore import QMimeData, Qt
    from PySide6.QtGui import QDrag, QDragEnterEvent, QDropEvent, QMouseEvent
    from PySide6.QtWidgets import QApplication, QLabel, QVBoxLayout, QWidget

    application = QApplication(sys.argv)
    application.setApplicationName("Board")

    class Card(QLabel):
        def mouseMoveEvent(self, event: QMouseEvent) -> None:
            if event.buttons() & Qt.MouseButton.LeftButton:
                drag, data = QDrag(self), QMimeData()
                data.setText(self.text())
                drag.setMimeData(data)
                drag.exec()

    class Column(QLabel):
        def dragEnterEvent(self, event: QDragEnterEvent) -> None:
            event.acceptProposedAction()

        def dropEvent(self, event: QDropEvent) -> None:
            event.acceptProposedAction()
            said.setText("moved")

    window, said = QWidget(), QLabel("nothing yet")
    window.setWindowTitle("Board")
    layout = QVBoxLayout(window)
    column = Column("Done")
    column.setAcceptDrops(True)
    for label in (Card("Paint fence"), column, said):
        label.setMinimumHeight(60)
        layout.addWidget(label)
    window.resize(320, 320)
    window.show()
    return application.exec()


def gtk4_form() -> int:
    """A form with a field, a button that sends it, and one that accepts something."""
    import gi

    gi.require_version("Gtk", "4.0")
    from gi.repository import GLib, Gtk

    GLib.set_prgname("Fourth form")

    def begin(application: Gtk.Application) -> None:
        window = Gtk.ApplicationWindow(application=application, title="Fourth form")
        box = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, spacing=12)
        name, said = Gtk.Entry(), Gtk.Label(label="Nothing sent")
        label = Gtk.Label(label="_Name", use_underline=True, mnemonic_widget=name)
        send, accept = Gtk.Button(label="Send"), Gtk.Button(label="Accept cookies")
        send.connect("clicked", lambda _: said.set_label(f"Sent: {name.get_text()}"))
        accept.connect("clicked", lambda _: said.set_label("Accepted"))
        for one in (label, name, send, accept, said):
            box.append(one)
        window.set_child(box)
        window.present()

    application = Gtk.Application(application_id="org.wisp.FourthForm")
    application.connect("activate", begin)
    return int(application.run([]))


def gtk3_canvas() -> int:
    """A window with a blue patch whose program draws the frame. It tells what reaches it, a line each."""
    import gi

    gi.require_version("Gtk", "3.0")
    gi.require_version("Gdk", "3.0")
    from gi.repository import Gdk, Gtk

    kinds = {
        Gdk.EventType.BUTTON_PRESS: "press", Gdk.EventType.DOUBLE_BUTTON_PRESS: "double",
        Gdk.EventType.BUTTON_RELEASE: "release", Gdk.EventType.SCROLL: "scroll",
    }  # fmt: skip

    def paint(area: Gtk.DrawingArea, context: object) -> None:
        context.set_source_rgb(0, 0, 1)  # type: ignore[attr-defined]
        context.rectangle(20, 30, 80, 40)  # type: ignore[attr-defined]
        context.fill()  # type: ignore[attr-defined]

    def tell(_area: Gtk.DrawingArea, event: Gdk.Event) -> None:
        if event.type in kinds:
            what = event.scroll.direction.value_nick if event.type is Gdk.EventType.SCROLL else event.button.button
            print(kinds[event.type], what, int(event.x), int(event.y), flush=True)

    window, area = Gtk.Window(title="Canvas"), Gtk.DrawingArea()
    window.set_titlebar(Gtk.HeaderBar(title="Canvas", show_close_button=True))
    area.set_size_request(500, 300)
    area.add_events(Gdk.EventMask.BUTTON_PRESS_MASK | Gdk.EventMask.BUTTON_RELEASE_MASK | Gdk.EventMask.SCROLL_MASK)
    area.connect("draw", paint)
    area.connect("event", tell)
    window.add(area)
    window.connect("destroy", Gtk.main_quit)
    window.show_all()
    Gtk.main()
    return 0


if __name__ == "__main__":
    sys.exit({"board": board, "gtk4_form": gtk4_form, "gtk3_canvas": gtk3_canvas}[sys.argv[1]]())
