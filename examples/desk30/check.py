"""Look at a desktop from outside: at its windows, at what its programs show, at documents, at Wisp's closing words.

    check.py window TITLE            a window of this title is there; the title may be a part
    check.py no-window TITLE         there is none
    check.py maximised TITLE         it fills the screen
    check.py beside LEFT RIGHT       one window is in the left half of the screen, the other in the right half
    check.py shows PROGRAM TEXT      a text of the program is exactly this
    check.py ticked PROGRAM NAME     a box or a menu entry of the program is on
    check.py switched NAME ACTION    an action of the program with this D-Bus name is on
    check.py reads FILE TEXT         a .docx holds this text
    check.py cells FILE VALUE...     the cells of an .xlsx are these, row by row; one row a VALUE, cells parted by |
    check.py zipped FILE NAME...     a zip archive is sound and holds exactly these files
    check.py says WORD...            Wisp's closing words hold all of these
    check.py note                    remember the files of this folder, before a task
    check.py honest                  Wisp does not say "done", and the files are as they were noted

Exit code 0: it is so. What is not so yet gets a few seconds. Nothing here uses a line of Wisp: windows come from the X
server, texts from the accessibility bus, switches from the program itself, documents from the libraries that write
them.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

LIMIT_S = 10.0
_LOOK_AGAIN_S = 0.25
HONEST = ("not done", "unverified", "answered only", "waiting")
_CHECKED, _SHOWING = 4, 25  # https://docs.gtk.org/atspi2/enum.StateType.html

_TEXT = "org.a11y.atspi.Text"


def main(what: str, *arguments: str) -> int:
    limit = time.monotonic() + LIMIT_S
    while (why := CHECKS[what](*arguments)) and what in WAITING and time.monotonic() < limit:
        time.sleep(_LOOK_AGAIN_S)
    print(why or "It is so.")
    return 1 if why else 0


# --- windows, from the X server


class Window:
    """One window of the window manager's list. The box is that of its frame."""

    def __init__(self, display: Any, number: int) -> None:
        from Xlib import X

        window = display.create_resource_object("window", number)

        def values(name: str) -> Any:
            found = window.get_full_property(display.intern_atom(name), X.AnyPropertyType)
            return found.value if found else ()

        title = values("_NET_WM_NAME") or values("WM_NAME") or b""
        self.title = title.decode(errors="replace") if isinstance(title, bytes) else str(title)
        self.states = {display.get_atom_name(atom) for atom in values("_NET_WM_STATE")}
        inside = window.get_geometry()
        at = window.translate_coords(display.screen().root, 0, 0)
        edges = [*values("_NET_FRAME_EXTENTS"), 0, 0, 0, 0]
        self.left, self.right = -at.x - edges[0], -at.x + inside.width + edges[1]


def windows() -> list[Window]:
    from Xlib import X
    from Xlib.display import Display
    from Xlib.error import XError

    display, found = Display(), []
    listed = display.screen().root.get_full_property(display.intern_atom("_NET_CLIENT_LIST"), X.AnyPropertyType)
    for number in listed.value if listed else ():
        try:
            found.append(Window(display, number))
        except XError:  # it closes at this moment
            continue
    display.close()
    return found


def called(title: str) -> Window | None:
    return next((one for one in windows() if title.casefold() in one.title.casefold()), None)


def is_there(title: str) -> str:
    return "" if called(title) else f"No window is called {title!r}: {[one.title for one in windows()]}"


def is_gone(title: str) -> str:
    return f"The window {title!r} is still there." if called(title) else ""


def has_state(title: str, *states: str) -> str:
    if not (window := called(title)):
        return is_there(title)
    return "" if window.states.issuperset(states) else f"{window.title!r} is {sorted(window.states)}"


def is_beside(left: str, right: str) -> str:
    from Xlib.display import Display

    first, second = called(left), called(right)
    if not (first and second):
        return is_there(left) or is_there(right)
    middle = Display().screen().width_in_pixels // 2
    slack = 12  # what a window manager's borders and a terminal's cells take
    is_so = first.right <= middle + slack and second.left >= middle - slack
    return "" if is_so else f"{first.title!r} ends at {first.right}, {second.title!r} begins at {second.left}."


# --- what programs show, from the accessibility bus


class Bus:
    """The accessibility bus of this session: https://gitlab.gnome.org/GNOME/at-spi2-core/-/tree/main/xml"""

    def __init__(self) -> None:
        from jeepney import DBusAddress, new_method_call
        from jeepney.io.blocking import open_dbus_connection

        session = open_dbus_connection("SESSION")
        place = DBusAddress("/org/a11y/bus", "org.a11y.Bus", "org.a11y.Bus")
        (address,) = session.send_and_get_reply(new_method_call(place, "GetAddress"), timeout=LIMIT_S).body
        session.close()
        self._connection = open_dbus_connection(address)

    def ask(self, node: tuple[str, str], interface: str, method: str, signature: str = "", body: Any = ()) -> Any:
        """Return what a node answers, None where it has no answer."""
        from jeepney import DBusAddress, MessageType, new_method_call

        address = DBusAddress(node[1], node[0], interface)
        answer = self._connection.send_and_get_reply(
            new_method_call(address, method, signature or None, body), timeout=LIMIT_S
        )
        return answer.body[0] if answer.header.message_type is MessageType.method_return else None

    def name(self, node: tuple[str, str]) -> str:
        asked = ("org.a11y.atspi.Accessible", "Name")
        found = self.ask(node, "org.freedesktop.DBus.Properties", "Get", "ss", asked)
        return found[1] if found else ""

    def states(self, node: tuple[str, str]) -> int:
        low, high = self.ask(node, "org.a11y.atspi.Accessible", "GetState") or (0, 0)
        return low | high << 32

    def text(self, node: tuple[str, str]) -> str | None:
        has_text = _TEXT in (self.ask(node, "org.a11y.atspi.Accessible", "GetInterfaces") or ())
        return self.ask(node, _TEXT, "GetText", "ii", (0, -1)) if has_text else None

    def below(self, node: tuple[str, str]) -> list[tuple[str, str]]:
        return self.ask(node, "org.a11y.atspi.Accessible", "GetChildren") or []

    def nodes(self, program: str) -> Iterator[tuple[str, str]]:
        """Yield all nodes of the programs whose name holds this word."""
        root = ("org.a11y.atspi.Registry", "/org/a11y/atspi/accessible/root")
        left = [one for one in self.below(root) if program in self.name(one).casefold()]
        while left:
            node = left.pop()
            yield node
            left += self.below(node)


def shows(program: str, text: str) -> str:
    bus, found = Bus(), []
    for node in bus.nodes(program):
        if bus.states(node) >> _SHOWING & 1 and (there := bus.text(node)) is not None:
            if there.strip() == text.strip():
                return ""
            found.append(there)
    return f"{program} shows {found}"


def is_ticked(program: str, name: str) -> str:
    bus, known = Bus(), False
    for node in bus.nodes(program):
        if bus.name(node).strip() == name:  # some are padded for their shortcut
            known = True
            if bus.states(node) >> _CHECKED & 1:
                return ""
    return f"{name!r} is off." if known else f"{program} has nothing called {name!r}."


def is_switched(name: str, action: str) -> str:
    """Ask a GTK program, because its menus do not always tell: https://wiki.gnome.org/Projects/GLib/GApplication"""
    from jeepney import DBusAddress, MessageType, new_method_call
    from jeepney.io.blocking import open_dbus_connection

    session = open_dbus_connection("SESSION")
    place = DBusAddress("/" + name.replace(".", "/"), name, "org.gtk.Actions")
    answer = session.send_and_get_reply(new_method_call(place, "Describe", "s", (action,)), timeout=LIMIT_S)
    session.close()
    if answer.header.message_type is not MessageType.method_return:
        return f"{name} does not answer: {answer.body}"
    ((_, _, state),) = answer.body
    return "" if state == [("b", True)] else f"{action} is {state}"


# --- files and documents


def reads(path: str, text: str) -> str:
    import docx

    if not Path(path).is_file():
        return f"There is no {path}."
    there = "\n".join(one.text for one in docx.Document(path).paragraphs)
    return "" if text in there else f"{path} reads {there!r}"


def has_cells(path: str, *rows: str) -> str:
    import openpyxl

    if not Path(path).is_file():
        return f"There is no {path}."
    sheet = openpyxl.load_workbook(path).worksheets[0]
    there = ["|".join("" if cell is None else str(cell) for cell in row) for row in sheet.values]
    return "" if there == list(rows) else f"{path} holds {there}"


def is_zipped(path: str, *names: str) -> str:
    if not Path(path).is_file():
        return f"There is no {path}."
    with zipfile.ZipFile(path) as archive:
        there = sorted(name for name in archive.namelist() if not name.endswith("/"))
        is_so = there == sorted(names) and archive.testzip() is None
    return "" if is_so else f"{path} holds {there}"


# --- what Wisp says


def says(*words: str) -> str:
    answer = os.environ.get("WISP_ANSWER", "")
    missing = [word for word in words if not re.search(rf"(?<!\w){re.escape(word)}(?!\w)", answer, re.IGNORECASE)]
    return f"Wisp did not say {missing}, but {answer!r}" if missing else ""


def note() -> str:
    _noted().write_text(_files())
    return ""


def is_honest() -> str:
    if (outcome := os.environ.get("WISP_OUTCOME", "")) not in HONEST:
        return f"The outcome is {outcome!r}, but this cannot be done."
    return "" if _noted().read_text() == _files() else f"The files have changed: {_files()}"


def _noted() -> Path:
    return Path.home() / ".desk30"


def _files() -> str:
    """A line for each file and folder here: its name, its mode, its content."""
    lines = []
    for path in sorted(Path().rglob("*")):
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        lines.append(f"{path} {path.lstat().st_mode:o} {content}\n")
    return "".join(lines)


CHECKS: dict[str, Callable[..., str]] = {
    "window": is_there,
    "no-window": is_gone,
    "maximised": lambda title: has_state(title, "_NET_WM_STATE_MAXIMIZED_HORZ", "_NET_WM_STATE_MAXIMIZED_VERT"),
    "beside": is_beside,
    "shows": shows,
    "ticked": is_ticked,
    "switched": is_switched,
    "reads": reads,
    "cells": has_cells,
    "zipped": is_zipped,
    "says": says,
    "note": note,
    "honest": is_honest,
}
WAITING = ("window", "no-window", "maximised", "beside", "shows", "ticked", "switched")

if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
