"""A path that the turn typed in a program is judged when a dialog of that program may save there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.agent.policy import Action, Control, Policy, Provenance, saving
from app.agent.policy.call_analysis import texts_of
from app.assembly import registry
from app.protocol.call import ToolCall
from app.protocol.spec import Effect
from app.services.files import places

REGISTRY = registry()
FIELD = Control("Save As", "Mousepad", "text", default="Save", is_dialog=True)
SAVE = Control("Save As", "Mousepad", "push button", "_Save", is_dialog=True)
DOCUMENT = Control("Untitled", "Mousepad", "text")
RETURN, CLICK = ("computer_key", {"keys": "Return"}), ("computer_click", {"target": "Save"})
SAVES = ("computer_key", {"keys": "ctrl+s"})
PASTE = ("computer_key", {"keys": "ctrl+v KP_Enter"})
STARTS = "~/.bashrc"
DESKTOP = frozenset({Effect.DESKTOP})


@pytest.mark.parametrize(
    ("call", "control", "typed", "said", "decision"),
    [
        (RETURN, FIELD, {"Mousepad": (STARTS,)}, "", "deny"),
        (("computer_key", {"keys": "KP_Enter"}), FIELD, {"Mousepad": (STARTS,)}, "", "deny"),
        (("computer_type", {"text": f"{STARTS}\n"}), FIELD, {}, "", "deny"),
        (CLICK, SAVE, {"Mousepad": (STARTS,)}, "", "deny"),
        (CLICK, replace(SAVE, name="Speichern"), {"Mousepad": (STARTS,)}, "", "deny"),
        (("press", {"ref": "e1"}), replace(SAVE, name="OK"), {"Mousepad": (STARTS,)}, "", "deny"),
        (RETURN, FIELD, {"Mousepad": ("hello", "~/.bash", "rc")}, "", "deny"),
        (RETURN, FIELD, {"Mousepad": (".bashrc",)}, "", "deny"),
        (RETURN, FIELD, {"Mousepad": ("~/.ssh/id_rsa",)}, "", "deny"),
        (PASTE, FIELD, {"": (STARTS,)}, "", "deny"),
        (RETURN, replace(FIELD, pasted=STARTS), {}, "", "deny"),
        (RETURN, FIELD, {"Mousepad": (STARTS,)}, "write into ~/.bashrc", "deny"),
        (RETURN, FIELD, {"Mousepad": ("~/Documents/letter.txt",)}, "", "ask"),
        (RETURN, FIELD, {"Mousepad": ("~/Documents/letter.txt",)}, "save it as letter.txt", "allow"),
        (RETURN, FIELD, {"Mousepad": ("@WS@/letter.txt",)}, "", "allow"),
        (RETURN, FIELD, {"Mousepad": ("letter.txt",)}, "", "allow"),
        (CLICK, SAVE, {"Mousepad": ("letter.txt",)}, "", "allow"),
        (CLICK, replace(SAVE, name="Cancel"), {"Mousepad": (STARTS,)}, "", "allow"),
        (RETURN, FIELD, {"Other": (STARTS,)}, "", "allow"),
        (RETURN, DOCUMENT, {"Mousepad": (STARTS,)}, "", "allow"),
        (SAVES, replace(DOCUMENT, window="*~/.bashrc - Mousepad"), {}, "", "deny"),
        (SAVES, replace(DOCUMENT, window="a.desktop - /home/ada/.config/autostart - Geany"), {}, "", "deny"),
        (CLICK, replace(SAVE, role="menu item", window=".bashrc - Mousepad", is_dialog=False), {}, "", "deny"),
        (("choose_menu", {"path": "File > Save"}), replace(DOCUMENT, window=".bashrc - Mousepad"), {}, "", "deny"),
        (SAVES, replace(DOCUMENT, window="notes.txt - Mousepad"), {}, "", "allow"),
        (("computer_key", {"keys": "ctrl+c"}), replace(DOCUMENT, window=".bashrc - Mousepad"), {}, "", "allow"),
        (RETURN, replace(FIELD, fields=(".xsessionrc",)), {"Mousepad": ("xsessionrc", "\b", ".")}, "", "deny"),
        (RETURN, replace(FIELD, fields=(".xsessionrc",)), {}, "", "deny"),
        (CLICK, replace(SAVE, fields=("~/.bashrc",)), {}, "", "deny"),
        (RETURN, replace(FIELD, default="Open", fields=("~/.bashrc",)), {}, "", "allow"),
        (RETURN, replace(FIELD, fields=("autostart/evil.desktop",)), {}, "", "ask"),
        (RETURN, replace(FIELD, fields=("evil.desktop",)), {}, "", "ask"),
        (RETURN, replace(FIELD, fields=(".anything",)), {}, "", "ask"),
        (RETURN, replace(FIELD, fields=("bashrc",)), {}, "", "ask"),
        (("computer_key", {"keys": "Home period Return"}), replace(FIELD, fields=("a.txt",)), {}, "", "ask"),
        (("computer_type", {"text": ".\n"}), replace(FIELD, fields=("xsessionrc",)), {}, "", "deny"),
        (RETURN, FIELD, {"Mousepad": ("~/.bashrcx", "\b")}, "", "ask"),
        (RETURN, FIELD, {"Mousepad": ("autostart/evil.desktop",)}, "", "ask"),
        (RETURN, replace(FIELD, fields=("letter.txt",)), {"Mousepad": ("hello", "\b", "letter.txt")}, "", "allow"),
        (RETURN, replace(FIELD, fields=("@WS@/letter",)), {"Mousepad": ("@WS@/letter",)}, "", "allow"),
        (("computer_type", {"text": "letter.txt\n"}), replace(FIELD, fields=("Untitled 1",)), {}, "", "allow"),
        (CLICK, replace(SAVE, window="Question", fields=()), {"Mousepad": ("hello",)}, "", "allow"),
        (RETURN, replace(FIELD, window="Find", default="Find", fields=("a/b",)), {}, "", "allow"),
        (("computer_key", {"keys": "Tab"}), Control("home", "Caja", "text", is_launcher=True), {}, "", "ask"),
        (("computer_key", {"keys": "Tab"}), Control("home", "Caja", "icon", is_launcher=True), {}, "", "allow"),
        (SAVES, replace(DOCUMENT, window="*linked.txt - Mousepad"), {}, "", "deny"),
        (SAVES, replace(DOCUMENT, window="@WS@/linked.txt - Mousepad"), {}, "", "deny"),
        (SAVES, replace(DOCUMENT, window="inner.txt - Mousepad"), {}, "", "allow"),
        (RETURN, replace(FIELD, default="Open"), {"Mousepad": (STARTS,)}, "", "allow"),
        (RETURN, replace(FIELD, default="Open"), {"Mousepad": ("~/.ssh/id_rsa",)}, "", "deny"),
    ],
)
def test_a_dialog_saves_where_the_file_tools_may(
    tmp_path: Path, call: tuple[str, dict[str, str]], control: Control, typed: dict[str, tuple[str, ...]],
    said: str, decision: str,
) -> None:  # fmt: skip
    name, arguments = call
    spec = REGISTRY.find(name)
    assert spec
    lines = {app: tuple(one.replace("@WS@", str(tmp_path)) for one in texts) for app, texts in typed.items()}
    fields = control.fields and tuple(field.replace("@WS@", str(tmp_path)) for field in control.fields)
    control = replace(control, window=control.window.replace("@WS@", str(tmp_path)), fields=fields)
    (tmp_path / "linked.txt").symlink_to(Path.home() / ".bashrc")
    (tmp_path / "inner.txt").symlink_to(tmp_path / "letter.txt")
    policy = Policy(tmp_path, persons=tmp_path / "none.toml")
    provenance = Provenance(said=said, typed=lines)
    verdict = policy.decide(ToolCall("c1", name, arguments), spec, (control,), provenance)
    assert verdict.decision.value == decision, verdict


@pytest.mark.parametrize(
    ("act", "texts"),
    [
        (Action("computer_type", DESKTOP, text=STARTS), (STARTS,)),
        (Action("computer_key", DESKTOP, frozenset(), (replace(FIELD, pasted=STARTS),), keys=("ctrl+v",)), (STARTS,)),
        (Action("computer_key", DESKTOP, keys=("asciitilde", "slash", "a")), ("~/a",)),
        (Action("computer_key", DESKTOP, keys=("Return",)), ()),
        (Action("computer_key", DESKTOP, keys=("BackSpace", "c")), ("c", "\b")),
    ],
)
def test_what_an_act_types_is_known_in_later_calls(act: Action, texts: tuple[str, ...]) -> None:
    assert texts_of(act) == texts


@pytest.mark.parametrize("is_hard", [False, True])
@pytest.mark.parametrize(
    ("folder", "title"),
    [
        ("Docs", "*notes.txt - ~/Docs - Geany"),
        ("Docs", "~/Docs/notes.txt - Mousepad"),
        ("Docs", "notes.txt (~/Docs) - Editor"),
        ("ws/s", "notes.txt - Mousepad"),
        ("ws", "notes.txt - FeatherPad"),
        ("ws/a/b/c", "*notes.txt - Editor"),
    ],
)
def test_a_start_up_file_under_another_name_is_not_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, title: str, *, is_hard: bool
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    places._inodes.cache_clear()
    (tmp_path / ".profile").write_text("old")
    (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "ws").mkdir(exist_ok=True)
    notes = tmp_path / folder / "notes.txt"
    (notes.hardlink_to if is_hard else notes.symlink_to)(tmp_path / ".profile")
    assert saving.linked_in(title, tmp_path / "ws") == str(notes)
    assert places.starts_here(notes.resolve())
    assert not saving.linked_in("other.txt - ~/Docs - Geany", tmp_path / "ws")
