"""What is opened in a program that starts programs asks, unless it is known to be a folder or a plain document."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.agent.policy import Control, Decision, LeftField, Mode, Policy, Provenance, Verdict
from app.agent.policy.pointing import of_opening
from app.assembly import registry
from app.desktop.elements import Binding
from app.protocol.call import ToolCall
from tests.support.controls import altered, described

REGISTRY = registry()
SPECS = {spec.name: spec for spec in REGISTRY.specs}
MANAGER = described("sub", "pcmanfm", "icon", "evil", is_launcher=True)
EDITOR = described("notes", "mousepad", "icon", "evil")
DOUBLE = ("computer_click", {"target": "evil", "count": 2})
SINGLE = ("computer_click", {"target": "evil"})
PRESS = ("press", {"ref": "e1"})
OPEN = altered(MANAGER, role="menu item", name="_Open")
ENTRIES = (Binding("o;<Alt>f:o;", "menu item", "Open"), Binding("c;<Alt>f:c;", "menu item", "Copy"))
IN_MENU = altered(OPEN, name="Copy", is_menu_open=True, bindings=ENTRIES)
IDE = described("main.py", "geany", "text", "", builds=True, bindings=())
NOBODY = Provenance()


def _verdict(
    folder: Path,
    call: tuple[str, dict[str, Any]],
    control: Control,
    provenance: Provenance = NOBODY,
    mode: Mode | None = None,
) -> Verdict:
    """The verdict on one call that would act on one control, without rules of a person."""
    spec = REGISTRY.find(call[0])
    assert spec
    policy = Policy(folder, *([mode] if mode else []), persons=folder / "none.toml")
    return policy.decide(ToolCall("c1", *call), spec, (control,), provenance)


@pytest.mark.parametrize(
    ("call", "control", "launches"),
    [
        (DOUBLE, MANAGER, True),
        (DOUBLE, altered(MANAGER, role="terminal", is_terminal=True), False),
        (("mouse_up", {"target": "evil"}), MANAGER, True),
        (("computer_key", {"keys": "ctrl+o"}), EDITOR, False),
        (SINGLE, altered(OPEN, name="Copy"), False),
        (("computer_type", {"text": "o"}), IN_MENU, True),
        (SINGLE, altered(IDE, role="menu item", name="Save"), False),
    ],
)
def test_opening_an_item_is_starting_it(
    tmp_path: Path, call: tuple[str, dict[str, Any]], control: Control, launches: bool
) -> None:
    verdict = _verdict(tmp_path, call, control)
    assert verdict.act
    assert ("launches" in verdict.act.kinds) is launches, verdict
    if launches:
        assert verdict.decision is Decision.ASK


@pytest.mark.parametrize(("to", "launches"), [(MANAGER, True), (altered(MANAGER, name="other"), False)])
def test_a_drag_from_an_item_to_itself_is_a_click(to: Control, *, launches: bool) -> None:
    call = ToolCall("c1", "computer_drag", {})
    assert of_opening(call, SPECS[call.name], (MANAGER, to)) == (frozenset({"launches"}) if launches else frozenset())


@pytest.mark.parametrize(
    ("control", "decision"),
    [
        (altered(MANAGER, opens="folder"), "allow"),
        (altered(MANAGER, opens="plain"), "allow"),
        (altered(MANAGER, opens="runs"), "ask"),
        (altered(MANAGER, opens="unknown"), "ask"),
        (altered(MANAGER, opens=""), "ask"),
        (altered(MANAGER, opens="folder", role="entry"), "ask"),
        (altered(MANAGER, opens="folder", role="terminal", is_terminal=True), "ask"),
    ],
)
def test_return_on_a_folder_or_a_plain_document_opens_it(tmp_path: Path, control: Control, decision: str) -> None:
    verdict = _verdict(tmp_path, ("computer_key", {"keys": "Return"}), control)
    assert verdict.decision.value == decision, verdict


PAD = described("Pad", "pad", ref="w1", is_known=False, is_silent=True)
CLICK = ("computer_click", {"x": 4, "y": 5})
ALONE = Provenance(("screen",), "go on", personal=("screen",), shown=("pad",))


@pytest.mark.parametrize(
    ("call", "control", "provenance", "mode", "decision"),
    [
        (CLICK, PAD, ALONE, Mode.AUTO, "allow"),
        (CLICK, PAD, Provenance((), "go on"), Mode.AUTO, "allow"),
        (CLICK, PAD, replace(ALONE, shown=("pad", "chromium")), Mode.AUTO, "ask"),
        (CLICK, PAD, replace(ALONE, personal=("screen", "files")), Mode.AUTO, "ask"),
        (CLICK, altered(PAD, is_dialog=True), ALONE, Mode.AUTO, "ask"),
        (CLICK, altered(PAD, app=""), replace(ALONE, shown=()), Mode.AUTO, "ask"),
        (CLICK, altered(PAD, role="button", name="Delete"), ALONE, Mode.AUTO, "ask"),
    ],
)
def test_a_program_that_describes_nothing_needs_no_answer_in_auto_while_it_is_alone(
    tmp_path: Path,
    call: tuple[str, dict[str, Any]],
    control: Control,
    provenance: Provenance,
    mode: Mode,
    decision: str,
) -> None:
    verdict = _verdict(tmp_path, call, control, provenance, mode)
    assert verdict.decision.value == decision, verdict


@pytest.mark.parametrize(
    ("title", "app", "said", "decision"),
    [
        ("/home/ada/brief.txt", "featherpad", "ergänze drei im Brief", "allow"),
        ("plan.pdf - 1/3 (96 dpi)", "mupdf", "turn to the next page of the plan", "allow"),
        ("*brief.txt", "featherpad", "write to the letter", "ask"),
        ("a.ppm", "feh", "show me a picture", "ask"),
        ("open-letter.txt", "featherpad", "add to the letter", "ask"),
        ("open-letter.txt", "featherpad", "add to the open letter", "allow"),
        ("plan.pdf - Chromium", "chromium", "turn to the next page of the plan", "ask"),
    ],
)
def test_who_names_the_document_names_its_window(
    tmp_path: Path, title: str, app: str, said: str, decision: str
) -> None:
    verdict = _verdict(tmp_path, CLICK, altered(PAD, title=title, app=app), Provenance((), said))
    assert verdict.decision.value == decision, verdict


SILENT = described("Login", "Tk", is_known=False, is_launcher=True)
"""An interpreter's window that describes nothing: it might start programs, and its field might hide what is typed."""


@pytest.mark.parametrize(
    ("text", "control", "said", "decision", "kinds"),
    [
        ("sesame", SILENT, "", "ask", {"unknown"}),
        ("d", altered(SILENT, is_launcher=False), "", "ask", {"unknown"}),
        ("sesame", altered(SILENT, role="unknown", is_menu_open=True), "", "ask", {"unknown"}),
        ("sesame", SILENT, "type sesame into Login", "allow", {"answered"}),
        ("sesame\n", SILENT, "type sesame into Login", "ask", {"terminal", "answered"}),
        ("sesame", altered(SILENT, role="password text"), "type sesame into Login", "deny", {"password"}),
        ("sesame", altered(SILENT, role="button", name="Go", is_known=True), "", "ask", {"unknown"}),
        ("sesame", altered(SILENT, role="entry"), "", "allow", set()),
        ("sesame", altered(SILENT, is_known=True), "", "allow", set()),
    ],
)
def test_typing_where_nothing_tells_what_takes_it_asks_unless_the_person_named_the_window(
    tmp_path: Path, text: str, control: Control, said: str, decision: str, kinds: set[str]
) -> None:
    verdict = _verdict(tmp_path, ("computer_type", {"text": text}), control, Provenance(said=said))
    assert verdict.act
    assert (verdict.decision.value, set(verdict.act.kinds)) == (decision, kinds)


NAMING = described(
    'Rename "hello.txt"', "Thunar", "entry", "", "_Rename", is_launcher=True, is_dialog=True, bindings=(),
    words=("Enter the new name:",), fields=("world.txt",),
)  # fmt: skip
"""The dialog of a file manager that asks for a name."""
FOLDER = altered(NAMING, title="Create New Folder", default="Create", fields=("Photos",))
WINDOW = altered(NAMING, title="Rename - Thunar", default="", is_dialog=False, words=())
TYPED = ("computer_type", {"text": "world.txt\n"})
RETURN = ("computer_key", {"keys": "Return"})
PASTED = ("computer_key", {"keys": "ctrl+v"})
MIDDLE = ("computer_click", {"target": "e", "button": "middle"})


@pytest.mark.parametrize(
    ("call", "control", "runs"),
    [
        (RETURN, NAMING, False),
        (RETURN, altered(NAMING, title="Rename Multiple Files", role="table cell", default="Apply"), True),
        (RETURN, WINDOW, True),
        (RETURN, altered(NAMING, role=""), True),
        (RETURN, altered(NAMING, default=""), True),
        (RETURN, altered(NAMING, title="Run Program", default="_OK"), True),
        (RETURN, altered(NAMING, title=""), True),
    ],
)
def test_a_name_that_a_file_manager_asks_for_is_no_command(
    tmp_path: Path, call: tuple[str, dict[str, Any]], control: Control, runs: bool
) -> None:
    verdict = _verdict(tmp_path, call, control)
    assert verdict.act
    assert ("terminal" in verdict.act.kinds) is runs, verdict
    assert verdict.decision.value == ("ask" if runs else "allow"), verdict


BUTTON = altered(NAMING, role="button", name="_Rename")


@pytest.mark.parametrize(
    ("call", "control", "decision"),
    [
        (RETURN, altered(NAMING, fields=(".bashrc",)), "deny"),
        (RETURN, altered(NAMING, fields=("hello",)), "ask"),
        (RETURN, altered(NAMING, fields=(".hidden",)), "ask"),
        (SINGLE, altered(BUTTON, fields=(".bashrc",)), "deny"),
        (("computer_type", {"text": "evil.desktop\n"}), NAMING, "ask"),
        (("computer_type", {"text": "evil.desktop"}), NAMING, "allow"),
        (("computer_type", {"text": ".\n"}), altered(NAMING, fields=("bashrc",)), "deny"),
    ],
)
def test_the_name_that_a_dialog_gives_a_file_is_judged(
    tmp_path: Path, call: tuple[str, dict[str, Any]], control: Control, decision: str
) -> None:
    verdict = _verdict(tmp_path, call, control)
    assert verdict.decision.value == decision, verdict


ITEM = described("home", "Caja", "icon", "notes.txt", is_launcher=True)
AWAY = (SINGLE, ("computer_drag", {}), ("focus_window", {"title": "box"}), ("choose_menu", {"path": "View > Zoom In"}))


@pytest.mark.parametrize("call", [*AWAY, ("computer_key", {"keys": "alt+Tab"}), ("computer_key", {"keys": "super+d"})])
@pytest.mark.parametrize(
    ("text", "typed", "folders", "decision"),
    [
        (".bashrc", ("bashrc", "."), (), "deny"),
        ("evil.desktop", ("evil.desktop",), (), "ask"),
        ("pre-commit", ("pre-commit",), ("/home/ada/code/.git/hooks",), "deny"),
        ("letter.txt", ("letter.txt",), (), "allow"),
        ("Photos", ("Photos",), (), "allow"),
        ("/home/ada/.config/autostart", ("autostart",), (), "allow"),
        (".bashrc", (), (), "allow"),
    ],
)
def test_leaving_a_field_that_names_a_file_is_judged_by_its_text(
    tmp_path: Path,
    call: tuple[str, dict[str, Any]],
    text: str,
    typed: tuple[str, ...],
    folders: tuple[str, ...],
    decision: str,
) -> None:
    seen = altered(ITEM, left=LeftField("Caja", text, folders))
    verdict = _verdict(tmp_path, call, seen, Provenance(typed={"Caja": typed}))
    assert verdict.decision.value == decision, verdict


@pytest.mark.parametrize(
    "keys", ["ctrl+a", "ctrl+c", "BackSpace", "Home", "shift+End", "d", "period", "Escape", "ctrl+Left"]
)
def test_editing_a_name_leaves_nothing(tmp_path: Path, keys: str) -> None:
    field = described("home", "Caja", "entry", is_launcher=True, bindings=(), left=LeftField("Caja", ".bashrc"))
    verdict = _verdict(tmp_path, ("computer_key", {"keys": keys}), field, Provenance(typed={"Caja": (".bashrc",)}))
    assert verdict.decision.value == "allow", verdict


TERMINAL = described("sh", "xfce4-terminal", "menu item", "_Paste", is_terminal=True, is_launcher=True)


@pytest.mark.parametrize(
    ("call", "control", "kinds"),
    [
        (SINGLE, TERMINAL, {"terminal"}),
        (("choose_menu", {"path": "Edit > Paste"}), TERMINAL, {"terminal"}),
        (SINGLE, altered(TERMINAL, name="Einfügen"), {"terminal"}),
        (SINGLE, altered(TERMINAL, name="Copy"), set()),
        (("computer_key", {"keys": "Return"}), altered(TERMINAL, is_menu_open=True), {"terminal"}),
        (("computer_key", {"keys": "Return"}), IN_MENU, set()),
    ],
)
def test_an_entry_that_pastes_into_a_terminal_types_there(
    tmp_path: Path, call: tuple[str, dict[str, Any]], control: Control, kinds: set[str]
) -> None:
    verdict = _verdict(tmp_path, call, control)
    assert verdict.act
    assert set(verdict.act.kinds) == kinds


@pytest.mark.parametrize("is_terminal", [False, True])
def test_only_a_terminal_is_called_one(tmp_path: Path, is_terminal: bool) -> None:
    control = described('Rename "hello.txt"', "Thunar", "text", "", "Rename", is_launcher=True, is_terminal=is_terminal)
    verdict = _verdict(tmp_path, ("computer_key", {"keys": "Return"}), control)
    assert verdict.decision.value == "ask"
    assert ("in a terminal" in verdict.sentence) is is_terminal, verdict.sentence


SETTING_UP = described(
    "Edit Action", "thunar", "button", "OK", is_dialog=True, is_launcher=True, fields=("Look", "touch x")
)


@pytest.mark.parametrize(
    ("control", "asks"),
    [
        (SETTING_UP, True),
        (altered(SETTING_UP, name="Save"), True),
        (altered(SETTING_UP, fields=None), True),
        (altered(SETTING_UP, name="Cancel"), False),
        (altered(SETTING_UP, fields=()), False),
        (altered(SETTING_UP, title="Find File"), False),
        (altered(SETTING_UP, title="New Folder", name="Create"), False),
        (altered(SETTING_UP, is_launcher=False), False),
    ],
)
def test_a_yes_to_a_dialog_of_a_launcher_with_fields_may_set_up_a_command(control: Control, asks: bool) -> None:
    found = of_opening(ToolCall("c1", "computer_click", {"target": control.name}), SPECS["computer_click"], (control,))
    assert ("launches" in found) is asks


BLIND = described("notes", "xedit", ref="w7", is_launcher=True, is_known=False, is_silent=True)
"""A program that starts others and describes nothing; the person has named it, which answers what is unknown there."""
NAMED = Provenance(said="write a list in xedit and save it", typed={"xedit": ("touch hit",)})


@pytest.mark.parametrize(
    ("call", "control", "decision"),
    [
        (("computer_type", {"text": "eggs and tea"}), BLIND, "allow"),
        (("computer_click", {"target": "Save"}), altered(BLIND, role="writing", name="Save"), "allow"),
        (("mouse_up", {"x": 1, "y": 1}), BLIND, "ask"),
        (("computer_click", {"target": "Apropos"}), altered(BLIND, role="writing", name="Apropos"), "ask"),
        (("computer_key", {"keys": "F8"}), BLIND, "ask"),
        (("computer_key", {"keys": "space"}), BLIND, "ask"),
        (("computer_key", {"keys": "ctrl+x ctrl+e"}), altered(BLIND, is_launcher=False), "allow"),
    ],
)
def test_a_launcher_that_describes_nothing_may_run_what_was_typed_by_any_button_and_unknown_key(
    tmp_path: Path, call: tuple[str, dict[str, Any]], control: Control, decision: str
) -> None:
    verdict = _verdict(tmp_path, call, control, NAMED)
    assert verdict.decision.value == decision, verdict
    assert ("terminal" in (verdict.act.kinds if verdict.act else ())) is (decision == "ask"), verdict


def test_a_button_of_a_launcher_that_describes_nothing_runs_nothing_before_something_was_typed(tmp_path: Path) -> None:
    verdict = _verdict(tmp_path, ("computer_click", {"x": 1, "y": 1}), BLIND, replace(NAMED, typed={}))
    assert verdict.decision.value == "allow", verdict
