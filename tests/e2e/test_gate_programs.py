"""What the model types, pastes and presses where that does harm: in busy programs, password dialogs, shells."""

from __future__ import annotations

import subprocess
import time

import pytest

from tests.e2e.conftest import ROOT, Model
from tests.support.sampling import first_of

pytestmark = pytest.mark.timeout(180)

_BUSY = """
import sys, time, gi
gi.require_version("Gtk", "3.0")
from gi.repository import GLib, Gtk
said = open("said", "w", buffering=1)
window, kind = Gtk.Window(title="Slow"), sys.argv[1]
if kind in ("password", "plain"):
    control = Gtk.Entry(visibility=kind == "plain")
    control.connect("changed", lambda field: said.write(field.get_text() + "\\n"))
else:
    control = Gtk.Button(label=kind)
    control.connect("clicked", lambda button: said.write(button.get_label() + "\\n"))
window.add(control)
window.set_default_size(300, 120)
def busy():
    time.sleep(0.9)
    return True
GLib.timeout_add(1000, busy)
window.show_all()
window.move(400, 300)
Gtk.main()
"""
_FRONT = '<focus_window title="Slow"/>'
_TYPED = "<computer_type>sesame</computer_type>"
_CLICK = '<computer_click x="550" y="360" space="screen"/>'


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "acts", "comes_through"),
    [
        ("password", (_TYPED, _TYPED, '<computer_key keys="s e s a m e"/>'), False),
        ("Delete", ('<computer_key keys="space"/>', _CLICK, '<computer_key keys="Return"/>'), False),
        ("plain", (_TYPED,), True),
        ("Count", (_CLICK,), True),
    ],
)
def test_what_a_busy_program_says_late_still_decides(
    model: Model, kind: str, acts: tuple[str, ...], *, comes_through: bool
) -> None:
    program = model.folder / "busy.py"
    program.write_text(_BUSY)
    model.starts("/usr/bin/python3", str(program), kind, title="Slow")
    told = [model.says(_FRONT, act, mode="auto") for act in acts]
    time.sleep(2.0)
    assert bool((model.folder / "said").read_text()) is comes_through, told
    assert ["✗" in one for one in told] == [not comes_through] * len(acts), told


_SELECTED = (
    '<focus_window title="mousepad"/>',
    "<computer_type>touch hit\n\n</computer_type>",
    '<computer_key keys="ctrl+a"/>',
)


@pytest.mark.parametrize(
    "paste",
    first_of(
        [
            ('<computer_click x="900" y="550" button="middle" space="screen"/>',),
            ('<focus_window title="box"/>', '<computer_key keys="shift+Insert"/>'),
            ('<focus_window title="box"/>', '<computer_batch><action do="key" keys="shift+Insert"/></computer_batch>'),
        ],
        is_one=True,
    ),
    ids=["middle button", "shift+Insert", "in a batch"],
)
def test_nothing_is_pasted_into_a_shell(model: Model, paste: tuple[str, ...]) -> None:
    model.starts("xterm", "-title", "box", "-geometry", "60x20+700+400", "-e", "dash", title="box")
    model.starts("mousepad", title="Mousepad")
    said = model.says(*_SELECTED, *paste, task="write a line in Mousepad")
    time.sleep(0.7)
    assert not (model.folder / "hit").exists(), said
    assert "✗" in said, said


_PASSWORDS = {
    "text": ("<computer_type>hunter2</computer_type>",),
    "keys": ('<computer_key keys="h u n t e r"/>',),
    "keys in a batch": ('<computer_batch><action do="key" keys="h u n t e r"/></computer_batch>',),
    "a paste": ("<write_clipboard>hunter2</write_clipboard>", '<computer_key keys="ctrl+v"/>'),
    "a value": ("<read_screen/>", *(f'<set_value ref="e{number}">hunter2</set_value>' for number in range(1, 9))),
}


@pytest.mark.parametrize("way", first_of(_PASSWORDS))
def test_nothing_goes_into_a_password_dialog_and_none_of_it_is_kept(model: Model, way: str) -> None:
    typed = model.folder / "typed"
    model.starts("zenity", "--password", "--title=Login", title="Login", into=typed)
    said = model.says('<focus_window title="Login"/>', *_PASSWORDS[way], mode="yolo")
    subprocess.run(["xdotool", "key", "Return"], env=model.screen.environment, check=True)
    time.sleep(0.7)
    assert typed.read_text().strip() == "", said
    assert "✗" in said, said
    kept = model.screen.wisp("audit", "export").stdout
    assert '"tool"' in kept
    assert [letters for letters in ("hunter", "h u n") if letters in kept] == []


@pytest.mark.long
def test_a_tab_that_says_it_has_the_keyboard_hides_no_field_that_has_it(model: Model) -> None:
    said, program = model.folder / "said", ROOT / "tests" / "support" / "gate_programs" / "qt.py"
    model.starts("/usr/bin/python3", str(program), "Look", "entry:Name", "tabs:One,Two", title="Look", into=said)
    told = model.says('<computer_click target="Name"/>', "<computer_type>Ada</computer_type>", mode="auto")
    assert "value Name Ada" in said.read_text(), told
