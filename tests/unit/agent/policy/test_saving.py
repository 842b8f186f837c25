"""A path that the turn typed in a program is judged when a dialog of that program may save there."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.agent.policy import Action, Control, Policy, Provenance, saving
from app.agent.policy.saving import texts_of
from app.assembly import registry
from app.protocol.call import ToolCall
from app.protocol.spec import Effect
from app.services.files import places
from tests.support.controls import altered, described

REGISTRY = registry()
FIELD = described("Save As", "Mousepad", "text", default="Save", is_dialog=True)
SAVE = described("Save As", "Mousepad", "push button", "_Save", is_dialog=True)
DOCUMENT = described("Untitled", "Mousepad", "text")
RETURN, CLICK = ("computer_key", {"keys": "Return"}), ("computer_click", {"target": "Save"})
THESIS = altered(DOCUMENT, title="*thesis.txt - Editor")
SAVES = ("computer_key", {"keys": "ctrl+s"})
CLOSES = ("computer_key", {"keys": "alt+F4"})
PASTE = ("computer_key", {"keys": "ctrl+v KP_Enter"})
STARTS = "~/.bashrc"
DESKTOP = frozenset({Effect.DESKTOP})


@pytest.mark.parametrize(
    ("call", "control", "typed", "said", "decision"),
    [
        (RETURN, FIELD, {"Mousepad": (STARTS,)}, "", "deny"),
        (RETURN, altered(FIELD, pasted=STARTS), {}, "", "deny"),
        (("computer_key", {"keys": "alt+s"}), FIELD, {"Mousepad": (STARTS,)}, "", "deny"),
        (SAVES, altered(DOCUMENT, title="notes.txt - Mousepad"), {}, "", "allow"),
        (RETURN, altered(FIELD, default="Open", fields=("~/.bashrc",)), {}, "", "allow"),
        (RETURN, altered(FIELD, fields=("@WS@/letter",)), {"Mousepad": ("@WS@/letter",)}, "", "allow"),
        (RETURN, altered(FIELD, default="Open"), {"Mousepad": ("~/.ssh/id_rsa",)}, "", "deny"),
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
    fields = control.scene.fields and tuple(field.replace("@WS@", str(tmp_path)) for field in control.scene.fields)
    control = altered(control, title=control.window.title.replace("@WS@", str(tmp_path)), fields=fields)
    (tmp_path / "linked.txt").symlink_to(Path.home() / ".bashrc")
    (tmp_path / "inner.txt").symlink_to(tmp_path / "letter.txt")
    policy = Policy(tmp_path, persons=tmp_path / "none.toml")
    provenance = Provenance(said=said, typed=lines)
    verdict = policy.decide(ToolCall("c1", name, arguments), spec, (control,), provenance)
    assert verdict.decision.value == decision, verdict


@pytest.mark.parametrize(
    ("name", "said", "tainted", "decision"),  # what the screen holds leads no plan that the person wrote
    [
        ("saved", 'type "saved" into Name and click Save', (), "allow"),
        ("my letter", 'save it as "my letter"', (), "allow"),
        ("saved", "", (), "ask"),
        ("saved", 'the page says "saved"', (), "ask"),
        ("config", 'type "config" into Name and click Save', (), "ask"),
        (".anything", 'type ".anything" into Name and click Save', (), "ask"),
        (".bashrc", 'type ".bashrc" into Name and click Save', (), "deny"),
    ],
)
def test_a_name_that_its_folder_would_decide_is_the_persons_if_they_quote_it(
    tmp_path: Path, name: str, said: str, tainted: tuple[str, ...], decision: str
) -> None:
    spec = REGISTRY.find("computer_click")
    assert spec
    policy = Policy(tmp_path, persons=tmp_path / "none.toml")
    is_planned = "planned" in tainted
    provenance = Provenance(tainted, said, planned=is_planned, instructions=said, typed={"Mousepad": (name,)})
    seen = (altered(SAVE, fields=(name,)),)
    verdict = policy.decide(ToolCall("c1", "computer_click", {"target": "Save"}), spec, seen, provenance)
    assert verdict.decision.value == decision, verdict


@pytest.mark.parametrize(
    ("act", "texts"),
    [
        (Action("computer_type", DESKTOP, text=STARTS), (STARTS,)),
        (Action("computer_key", DESKTOP, frozenset(), (altered(FIELD, pasted=STARTS),), keys=("ctrl+v",)), (STARTS,)),
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
