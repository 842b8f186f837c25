"""What is opened in a program that starts programs asks, unless it is known to be a folder or a plain document."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.agent.policy import Control, LeftField, Mode, Policy, Provenance
from app.assembly import registry
from app.desktop.elements import Binding
from app.protocol.call import ToolCall

REGISTRY = registry()
MANAGER = Control("sub", "pcmanfm", "icon", "evil", is_launcher=True)
EDITOR = Control("notes", "mousepad", "icon", "evil")
DOUBLE = ("computer_click", {"target": "evil", "count": 2})
SINGLE = ("computer_click", {"target": "evil"})
PRESS = ("press", {"ref": "e1"})
OPEN = replace(MANAGER, role="menu item", name="_Open")
ENTRIES = (Binding("o;<Alt>f:o;", "menu item", "Open"), Binding("c;<Alt>f:c;", "menu item", "Copy"))
IN_MENU = replace(OPEN, name="Copy", is_menu_open=True, bindings=ENTRIES)
IDE = Control("main.py", "geany", "text", "", builds=True, bindings=())


@pytest.mark.parametrize(
    ("call", "control", "launches"),
    [
        (DOUBLE, MANAGER, True),
        (DOUBLE, replace(MANAGER, opens="runs"), True),
        (DOUBLE, replace(MANAGER, opens="loads"), True),
        (DOUBLE, replace(MANAGER, opens="unknown"), True),
        (DOUBLE, replace(MANAGER, opens="plain"), False),
        (DOUBLE, replace(MANAGER, opens="folder"), False),
        (DOUBLE, EDITOR, False),
        (DOUBLE, replace(MANAGER, role="terminal", is_terminal=True), False),
        (SINGLE, MANAGER, False),
        (SINGLE, replace(MANAGER, opens="runs"), True),
        (SINGLE, replace(MANAGER, opens="loads"), True),
        (SINGLE, replace(MANAGER, opens="plain"), False),
        (PRESS, MANAGER, True),
        (PRESS, replace(MANAGER, opens="folder"), False),
        (SINGLE, OPEN, True),
        (PRESS, OPEN, True),
        (SINGLE, replace(OPEN, name="Ausführen"), True),
        (SINGLE, replace(OPEN, name="Open With…"), False),
        (SINGLE, replace(OPEN, name="Open Parent"), False),
        (SINGLE, replace(OPEN, name="Open Parent with Script"), True),
        (SINGLE, replace(OPEN, name="Copy"), False),
        (SINGLE, replace(OPEN, is_launcher=False), False),
        (("choose_menu", {"path": "File > Open"}), OPEN, True),
        (("computer_key", {"keys": "space"}), replace(OPEN, is_menu_open=True), True),
        (("computer_key", {"keys": "o"}), IN_MENU, True),
        (("computer_key", {"keys": "Return"}), replace(OPEN, is_menu_open=True), True),
        (("computer_key", {"keys": "Return"}), IN_MENU, False),
        (("computer_type", {"text": "o"}), IN_MENU, True),
        (("computer_key", {"keys": "c"}), IN_MENU, False),
        (("computer_key", {"keys": "F5"}), IDE, True),
        (("computer_key", {"keys": "ctrl+F9"}), IDE, True),
        (("computer_key", {"keys": "ctrl+s"}), IDE, False),
        (("computer_key", {"keys": "F5"}), replace(IDE, builds=False), False),
        (SINGLE, replace(IDE, role="menu item", name="Build"), True),
        (SINGLE, replace(IDE, role="menu item", name="Save"), False),
    ],
)
def test_opening_an_item_is_starting_it(
    tmp_path: Path, call: tuple[str, dict[str, Any]], control: Control, launches: bool
) -> None:
    name, arguments = call
    spec = REGISTRY.find(name)
    assert spec
    policy = Policy(tmp_path, persons=tmp_path / "none.toml")
    verdict = policy.decide(ToolCall("c1", name, arguments), spec, (control,))
    assert verdict.act
    assert ("launches" in verdict.act.kinds) is launches, verdict
    assert verdict.decision.value == "ask" or not launches


@pytest.mark.parametrize(
    ("control", "decision"),
    [
        (replace(MANAGER, opens="folder"), "allow"),
        (replace(MANAGER, opens="plain"), "allow"),
        (replace(MANAGER, opens="runs"), "ask"),
        (replace(MANAGER, opens="unknown"), "ask"),
        (replace(MANAGER, opens=""), "ask"),
        (replace(MANAGER, opens="folder", role="entry"), "ask"),
        (replace(MANAGER, opens="folder", role="terminal", is_terminal=True), "ask"),
    ],
)
def test_return_on_a_folder_or_a_plain_document_opens_it(tmp_path: Path, control: Control, decision: str) -> None:
    spec = REGISTRY.find("computer_key")
    assert spec
    policy = Policy(tmp_path, persons=tmp_path / "none.toml")
    verdict = policy.decide(ToolCall("c1", "computer_key", {"keys": "Return"}), spec, (control,))
    assert verdict.decision.value == decision, verdict


PAD = Control("Pad", "pad", window_ref="w1", is_known=False, is_silent=True)
CLICK = ("computer_click", {"x": 4, "y": 5})
ALONE = Provenance(("screen",), "go on", personal=("screen",), shown=("pad",))


@pytest.mark.parametrize(
    ("call", "control", "provenance", "mode", "decision"),
    [
        (CLICK, PAD, ALONE, Mode.AUTO, "allow"),
        (("computer_type", {"text": "ab"}), PAD, ALONE, Mode.AUTO, "allow"),
        (("computer_key", {"keys": "Left a"}), PAD, ALONE, Mode.AUTO, "allow"),
        (CLICK, PAD, Provenance((), "go on"), Mode.AUTO, "allow"),
        (CLICK, PAD, ALONE, Mode.ASK, "ask"),
        (CLICK, PAD, replace(ALONE, shown=("pad", "chromium")), Mode.AUTO, "ask"),
        (CLICK, PAD, replace(ALONE, shown=("", "pad")), Mode.AUTO, "ask"),
        (CLICK, PAD, replace(ALONE, tainted_by=("screen", "web")), Mode.AUTO, "ask"),
        (CLICK, PAD, replace(ALONE, personal=("screen", "files")), Mode.AUTO, "ask"),
        (CLICK, PAD, replace(ALONE, secrets=(".env",)), Mode.AUTO, "ask"),
        (CLICK, replace(PAD, is_silent=False), ALONE, Mode.AUTO, "ask"),
        (CLICK, replace(PAD, is_dialog=True), ALONE, Mode.AUTO, "ask"),
        (CLICK, replace(PAD, is_launcher=True), ALONE, Mode.AUTO, "ask"),
        (CLICK, replace(PAD, app=""), replace(ALONE, shown=()), Mode.AUTO, "ask"),
        (CLICK, replace(PAD, app="chromium"), replace(ALONE, shown=("chromium",)), Mode.AUTO, "ask"),
        (CLICK, replace(PAD, app="x11-ssh-askpass"), replace(ALONE, shown=("x11-ssh-askpass",)), Mode.AUTO, "ask"),
        (CLICK, replace(PAD, role="button", name="Delete"), ALONE, Mode.AUTO, "ask"),
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
    spec = REGISTRY.find(call[0])
    assert spec
    policy = Policy(tmp_path, mode, persons=tmp_path / "none.toml")
    verdict = policy.decide(ToolCall("c1", *call), spec, (control,), provenance)
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
    spec = REGISTRY.find("computer_click")
    assert spec
    policy = Policy(tmp_path, persons=tmp_path / "none.toml")
    verdict = policy.decide(ToolCall("c1", *CLICK), spec, (replace(PAD, window=title, app=app),), Provenance((), said))
    assert verdict.decision.value == decision, verdict


SILENT = Control("Login", "Tk", is_known=False, is_launcher=True)
"""An interpreter's window that describes nothing: it might start programs, and its field might hide what is typed."""


@pytest.mark.parametrize(
    ("text", "control", "said", "decision", "kinds"),
    [
        ("sesame", SILENT, "", "ask", {"unknown"}),
        ("d", replace(SILENT, is_launcher=False), "", "ask", {"unknown"}),
        ("sesame", replace(SILENT, role="unknown", is_menu_open=True), "", "ask", {"unknown"}),
        ("sesame", SILENT, "type sesame into Login", "allow", {"answered"}),
        ("sesame\n", SILENT, "type sesame into Login", "ask", {"terminal", "answered"}),
        ("sesame", replace(SILENT, role="password text"), "type sesame into Login", "deny", {"password"}),
        ("sesame", replace(SILENT, role="button", name="Go", is_known=True), "", "ask", {"unknown"}),
        ("sesame", replace(SILENT, role="entry"), "", "allow", set()),
        ("sesame", replace(SILENT, is_known=True), "", "allow", set()),
    ],
)
def test_typing_where_nothing_tells_what_takes_it_asks_unless_the_person_named_the_window(
    tmp_path: Path, text: str, control: Control, said: str, decision: str, kinds: set[str]
) -> None:
    spec = REGISTRY.find("computer_type")
    assert spec
    policy = Policy(tmp_path, persons=tmp_path / "none.toml")
    call = ToolCall("c1", "computer_type", {"text": text})
    verdict = policy.decide(call, spec, (control,), Provenance(said=said))
    assert verdict.act
    assert (verdict.decision.value, set(verdict.act.kinds)) == (decision, kinds)


NAMING = Control(
    'Rename "hello.txt"', "Thunar", "entry", "", "_Rename", is_launcher=True, is_dialog=True, bindings=(),
    words=("Enter the new name:",), fields=("world.txt",),
)  # fmt: skip
"""The dialog of a file manager that asks for a name."""
FOLDER = replace(NAMING, window="Create New Folder", default="Create", fields=("Photos",))
WINDOW = replace(NAMING, window="Rename - Thunar", default="", is_dialog=False, words=())
TYPED = ("computer_type", {"text": "world.txt\n"})
RETURN = ("computer_key", {"keys": "Return"})
PASTED = ("computer_key", {"keys": "ctrl+v"})
MIDDLE = ("computer_click", {"target": "e", "button": "middle"})


@pytest.mark.parametrize(
    ("call", "control", "runs"),
    [
        (RETURN, NAMING, False),
        (TYPED, NAMING, False),
        (RETURN, FOLDER, False),
        (RETURN, replace(FOLDER, role="text"), False),
        (RETURN, replace(NAMING, window="Rename Multiple Files", role="table cell", default="Apply"), True),
        (PASTED, replace(NAMING, pasted="world.txt"), False),
        (MIDDLE, replace(NAMING, pasted="world.txt"), False),
        (RETURN, replace(NAMING, window="Rename File", default="_OK"), False),
        (SINGLE, replace(NAMING, role="button", name="_Rename"), False),
        (RETURN, WINDOW, True),
        (TYPED, WINDOW, True),
        (PASTED, replace(WINDOW, pasted="world.txt"), True),
        (RETURN, replace(WINDOW, role="icon", name="world.txt"), True),
        (RETURN, replace(NAMING, role="icon", name="world.txt"), True),
        (RETURN, replace(NAMING, role=""), True),
        (RETURN, replace(NAMING, is_known=False), True),
        (RETURN, replace(NAMING, is_terminal=True), True),
        (RETURN, replace(NAMING, builds=True), True),
        (RETURN, replace(NAMING, default=""), True),
        (RETURN, replace(NAMING, default="_Run"), True),
        (RETURN, replace(NAMING, default="_Open"), True),
        (RETURN, replace(NAMING, default="Launch"), True),
        (RETURN, replace(NAMING, window="Run Program", default="_OK"), True),
        (RETURN, replace(NAMING, window="Open With", default="_OK"), True),
        (RETURN, replace(NAMING, window="Create Launcher", default="_Create"), True),
        (RETURN, replace(NAMING, window="Open Location", default="_OK"), True),
        (RETURN, replace(NAMING, window="run: Rename", default="_Rename"), True),
        (RETURN, replace(NAMING, window=""), True),
    ],
)
def test_a_name_that_a_file_manager_asks_for_is_no_command(
    tmp_path: Path, call: tuple[str, dict[str, Any]], control: Control, runs: bool
) -> None:
    name, arguments = call
    spec = REGISTRY.find(name)
    assert spec
    verdict = Policy(tmp_path, persons=tmp_path / "none.toml").decide(ToolCall("c1", name, arguments), spec, (control,))
    assert verdict.act
    assert ("terminal" in verdict.act.kinds) is runs, verdict
    assert verdict.decision.value == ("ask" if runs else "allow"), verdict


BUTTON = replace(NAMING, role="button", name="_Rename")


@pytest.mark.parametrize(
    ("call", "control", "decision"),
    [
        (RETURN, replace(NAMING, fields=(".bashrc",)), "deny"),
        (RETURN, replace(NAMING, fields=("evil.desktop",)), "ask"),
        (RETURN, replace(NAMING, fields=("world.sh",)), "ask"),
        (RETURN, replace(NAMING, fields=("hello",)), "ask"),
        (RETURN, replace(NAMING, fields=("Photos",), window='Rename "Pictures"'), "allow"),
        (RETURN, replace(NAMING, fields=(".hidden",)), "ask"),
        (RETURN, replace(NAMING, fields=None), "allow"),
        (RETURN, replace(FOLDER, fields=(".config",)), "ask"),
        (SINGLE, replace(BUTTON, fields=(".bashrc",)), "deny"),
        (SINGLE, replace(BUTTON, fields=("evil.desktop",)), "ask"),
        (SINGLE, replace(BUTTON, name="_Cancel", fields=(".bashrc",)), "allow"),
        (("computer_type", {"text": "evil.desktop\n"}), NAMING, "ask"),
        (("computer_type", {"text": ".bashrc\n"}), NAMING, "deny"),
        (("computer_type", {"text": "evil.desktop"}), NAMING, "allow"),
        (("computer_key", {"keys": "period Return"}), replace(NAMING, fields=("bashrc",)), "ask"),
        (("computer_key", {"keys": "period"}), replace(NAMING, fields=("bashrc",)), "allow"),
        (("computer_type", {"text": ".\n"}), replace(NAMING, fields=("bashrc",)), "deny"),
    ],
)
def test_the_name_that_a_dialog_gives_a_file_is_judged(
    tmp_path: Path, call: tuple[str, dict[str, Any]], control: Control, decision: str
) -> None:
    name, arguments = call
    spec = REGISTRY.find(name)
    assert spec
    verdict = Policy(tmp_path, persons=tmp_path / "none.toml").decide(ToolCall("c1", name, arguments), spec, (control,))
    assert verdict.decision.value == decision, verdict


ITEM = Control("home", "Caja", "icon", "notes.txt", is_launcher=True)
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
    name, arguments = call
    spec = REGISTRY.find(name)
    assert spec
    policy = Policy(tmp_path, persons=tmp_path / "none.toml")
    seen = (replace(ITEM, left=LeftField("Caja", text, folders)),)
    verdict = policy.decide(ToolCall("c1", name, arguments), spec, seen, Provenance(typed={"Caja": typed}))
    assert verdict.decision.value == decision, verdict


@pytest.mark.parametrize(
    "keys", ["ctrl+a", "ctrl+c", "BackSpace", "Home", "shift+End", "d", "period", "Escape", "ctrl+Left"]
)
def test_editing_a_name_leaves_nothing(tmp_path: Path, keys: str) -> None:
    spec = REGISTRY.find("computer_key")
    assert spec
    field = Control("home", "Caja", "entry", is_launcher=True, bindings=(), left=LeftField("Caja", ".bashrc"))
    call = ToolCall("c1", "computer_key", {"keys": keys})
    policy = Policy(tmp_path, persons=tmp_path / "none.toml")
    verdict = policy.decide(call, spec, (field,), Provenance(typed={"Caja": (".bashrc",)}))
    assert verdict.decision.value == "allow", verdict


TERMINAL = Control("sh", "xfce4-terminal", "menu item", "_Paste", is_terminal=True, is_launcher=True)


@pytest.mark.parametrize(
    ("call", "control", "kinds"),
    [
        (SINGLE, TERMINAL, {"terminal"}),
        (("choose_menu", {"path": "Edit > Paste"}), TERMINAL, {"terminal"}),
        (SINGLE, replace(TERMINAL, name="Einfügen"), {"terminal"}),
        (SINGLE, replace(TERMINAL, name="Copy"), set()),
        (("computer_key", {"keys": "Return"}), replace(TERMINAL, is_menu_open=True), {"terminal"}),
        (("computer_key", {"keys": "Return"}), IN_MENU, set()),
    ],
)
def test_an_entry_that_pastes_into_a_terminal_types_there(
    tmp_path: Path, call: tuple[str, dict[str, Any]], control: Control, kinds: set[str]
) -> None:
    name, arguments = call
    spec = REGISTRY.find(name)
    assert spec
    verdict = Policy(tmp_path, persons=tmp_path / "none.toml").decide(ToolCall("c1", name, arguments), spec, (control,))
    assert verdict.act
    assert set(verdict.act.kinds) == kinds


@pytest.mark.parametrize("is_terminal", [False, True])
def test_only_a_terminal_is_called_one(tmp_path: Path, is_terminal: bool) -> None:
    control = Control('Rename "hello.txt"', "Thunar", "text", "", "Rename", is_launcher=True, is_terminal=is_terminal)
    spec = REGISTRY.find("computer_key")
    assert spec
    call = ToolCall("c1", "computer_key", {"keys": "Return"})
    verdict = Policy(tmp_path, persons=tmp_path / "none.toml").decide(call, spec, (control,))
    assert verdict.decision.value == "ask"
    assert ("in a terminal" in verdict.sentence) is is_terminal, verdict.sentence
