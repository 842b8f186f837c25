"""What keys, letters and clicks do in a terminal: by the keys at a shell's prompt, by the program elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.agent.policy import Control, Decision, Policy, Provenance
from app.assembly import registry
from app.desktop.backends import FrontProgram, TerminalFront
from app.desktop.elements import Binding
from app.protocol.call import ToolCall
from tests.support.controls import altered, described

REGISTRY = registry()
PROMPT = described("sh", "xterm", ref="w1", is_terminal=True, is_launcher=True, is_known=False)
SHELL = TerminalFront((FrontProgram("bash"),), is_prompt=True)


def _key(keys: str, **more: Any) -> ToolCall:
    return ToolCall("c1", "computer_key", {"keys": keys, **more})


def _type(text: str) -> ToolCall:
    return ToolCall("c1", "computer_type", {"text": text})


CLICK = ToolCall("c1", "computer_click", {"x": 5, "y": 5})
DRAG = ToolCall("c1", "computer_drag", {"path": "1,1 2,2"})
SCROLL = ToolCall("c1", "computer_scroll", {"x": 1, "y": 1, "dy": 1})


def _in_front(*names: str, title: str = "sh", files: tuple[str, ...] = (), **facts: bool) -> Control:
    """A terminal in which these programs take the keys; without a name, one that nothing is known of."""
    programs = tuple(FrontProgram(name, files) for name in names)
    return altered(PROMPT, title=title, is_occupied=True, fronts=(TerminalFront(programs, **facts),) if names else ())


def _decided(folder: Path, call: ToolCall, control: Control, said: str) -> Decision:
    spec = REGISTRY.find(call.name)
    assert spec
    seen = (control, control) if call.name == "computer_drag" else (control,)
    policy = Policy(folder, persons=folder / "none.toml")
    return policy.decide(call, spec, seen, Provenance(said=said, instructions=said)).decision


NAMED = "Write a list in the xterm."
REACHING = (
    "ctrl+t ctrl+o ctrl+r ctrl+z Insert F3 F4 F5 F12 F13 alt+f alt+semicolon alt+b Escape ctrl+bracketleft ctrl+3 "
    "shift+Insert ctrl+backslash ctrl+shift+o ctrl+s+o"
)
"""Keys of nano that read or write another file or run something, begin such a key, or are not known."""


@pytest.mark.parametrize(
    "keys",
    [
        "Escape", "alt+e", "ctrl+v", "F1",
        "Page_Down", "ctrl+shift+Up", "super+Up",
    ],
)  # fmt: skip
def test_at_a_prompt_a_key_that_may_run_the_line_asks_whatever_the_person_named(tmp_path: Path, keys: str) -> None:
    assert _decided(tmp_path, _key(keys), PROMPT, NAMED) is Decision.ASK


@pytest.mark.parametrize(
    "keys",
    [
        "Left", "End", "Delete", "ctrl+u", "ctrl+y", "ctrl+r", "ctrl+shift+c",
    ],
)  # fmt: skip
def test_at_a_prompt_what_only_edits_the_line_or_scrolls_needs_no_answer(tmp_path: Path, keys: str) -> None:
    assert _decided(tmp_path, _key(keys), PROMPT, "Look at it.") is Decision.ALLOW


@pytest.mark.parametrize(
    ("control", "call"),
    [
        (_in_front("nano"), _type("bread and milk")),
        (_in_front("nano"), _key("Delete")),
        (_in_front("less"), CLICK),
        (_in_front("less"), _key("End Home Page_Down")),
        (_in_front("nano"), _key("ctrl+c")),
        (_in_front("htop"), _key("F10")),
        (_in_front("less"), ToolCall("c1", "computer_click", {"target": "one"})),
    ],
)
def test_a_calm_program_in_a_terminal_asks_unless_the_person_names_it_or_the_terminal(
    tmp_path: Path, control: Control, call: ToolCall
) -> None:
    name = control.window.fronts[0].programs[-1].name
    said = ("Look at the list.", NAMED, f"Look at the list in {name}.")
    assert [_decided(tmp_path, call, control, one) for one in said] == [Decision.ASK, Decision.ALLOW, Decision.ALLOW]


@pytest.mark.parametrize(
    ("said", "decision"),
    [
        ("Do less talking.", Decision.ASK),
        ("Find less of it.", Decision.ASK),
        ("Scroll down in less.", Decision.ALLOW),
        ('Quit "less".', Decision.ALLOW),
        ("Less ist offen: verlasse less.", Decision.ALLOW),
    ],
)
def test_a_word_of_everyday_language_names_no_program_in_a_terminal(
    tmp_path: Path, said: str, decision: Decision
) -> None:
    assert _decided(tmp_path, _key("Page_Down"), _in_front("less"), said) is decision


@pytest.mark.parametrize(
    ("control", "call"),
    [
        *((_in_front("nano"), _key(keys)) for keys in REACHING.split()),
        (_in_front("nano"), CLICK),
        (_in_front("nano"), DRAG),
        (_in_front("htop"), CLICK),
        (_in_front("htop"), DRAG),
        (_in_front("htop"), _key("F9")),
        (_in_front("htop"), _key("F8")),
        (_in_front("top"), _key("shift+w")),
        (_in_front("less"), _key("shift+1")),
        (_in_front("less"), _key("ctrl+x")),
        (_in_front("less"), _key("ctrl+o")),
        (_in_front("vim.basic"), _type("dd")),
        (_in_front("vim.basic"), _key("Escape")),
        (_in_front("mc"), CLICK),
        (_in_front("mc"), DRAG),
        (_in_front("mc"), ToolCall("c1", "mouse_up", {"x": 1, "y": 1})),
        (_in_front("mc"), ToolCall("c1", "computer_click", {"x": 5, "y": 5, "button": "right"})),
        (_in_front("less"), _type("v")),
        (_in_front("git"), _type("e")),
        (_in_front("top"), _type("W")),
        (_in_front("top"), _type("k")),
        (_in_front("top"), _key("r")),
        (_in_front("htop"), _type("s")),
        (_in_front("less"), _type("!")),
        (_in_front("less"), _type(":e")),
        (_in_front("less"), _key("s")),
        (_in_front("git", "less"), _type("|")),
        (altered(PROMPT, fronts=(SHELL,)), ToolCall("c1", "computer_click", {"x": 3, "y": 4, "modifiers": "ctrl"})),
        (PROMPT, ToolCall("c1", "computer_drag", {"path": "1,1 2,2", "modifiers": "ctrl"})),
        *(
            (altered(PROMPT, app=app), call)
            for app in ("kitty", "Alacritty", "org.wezfurlong.wezterm")
            for call in (CLICK, DRAG)
        ),
        (_in_front("less"), _key("v")),
        (_in_front("dmesg", "vim.basic"), _type("dd")),
        (_in_front(""), _type("dd")),
        (_in_front(), _type("dd")),
        (_in_front(), CLICK),
        # A line that is not read yet goes to the shell that comes after the program.
        (_in_front("sleep", reads_lines=True), _key("Escape")),
        (_in_front("cat", reads_lines=True), _key("ctrl+d")),
        (_in_front("htop", has_unread=True), _key("Escape")),
        # The first of several keys may end the program.
        (_in_front("nano"), _key("ctrl+x Escape")),
        (_in_front("nano"), _key("ctrl+x", repeat=2)),
        (_in_front("less"), _key("q Page_Down")),
        (_in_front("nano"), _key("ctrl+x Left Page_Down")),
        (_in_front("nano"), _key("ctrl+x", hold_ms=2000)),
        (altered(_in_front("nano"), fronts=(SHELL, TerminalFront((FrontProgram("nano"),)))), _key("Tab")),
    ],
)
def test_what_may_run_typed_words_in_a_terminal_asks_whatever_the_person_named(
    tmp_path: Path, control: Control, call: ToolCall
) -> None:
    names = " ".join(program.name for front in control.window.fronts for program in front.programs)
    assert _decided(tmp_path, call, control, f"Use the xterm and {names}.") is Decision.ASK


@pytest.mark.parametrize(
    ("control", "call"),
    [
        (_in_front("vim.basic"), SCROLL),
        (_in_front("vim.basic"), _key("shift+Page_Up")),
        (PROMPT, CLICK),
        (PROMPT, DRAG),
        (altered(PROMPT, fronts=(SHELL,)), CLICK),
        (altered(_in_front("mc"), is_frame=True), DRAG),
    ],
)
def test_scrolling_and_selecting_in_a_terminal_need_no_answer(tmp_path: Path, control: Control, call: ToolCall) -> None:
    assert _decided(tmp_path, call, control, "Look at it.") is Decision.ALLOW


@pytest.mark.parametrize("call", [_type("x"), _key("ctrl+s"), _key("y"), CLICK])
@pytest.mark.parametrize(
    "control",
    [
        _in_front("nano", files=("/nowhere/.bashrc",)),
        _in_front("vim.basic", files=("/nowhere/-n", "/nowhere/.git/hooks/post-merge")),
        _in_front("vim.basic", title=".bashrc (~) - VIM"),
        _in_front(title="nano ~/.bashrc"),
        _in_front("", files=("/nowhere/.bashrc",)),
        _in_front("busybox", files=("/nowhere/vi", "/nowhere/.bashrc")),
        _in_front("tee", files=("/nowhere/.profile",), reads_lines=True),
    ],
)
def test_an_editor_that_was_started_with_a_file_that_starts_by_itself_takes_no_key(
    tmp_path: Path, control: Control, call: ToolCall
) -> None:
    assert _decided(tmp_path, call, control, NAMED) is Decision.DENY


@pytest.mark.parametrize(
    ("control", "call"),
    [
        (_in_front("nano", files=("/nowhere/.bashrc",)), _key("ctrl+c")),
        (_in_front("nano", files=("/nowhere/.bashrc",)), SCROLL),
        (_in_front("less", files=("/nowhere/.bashrc",)), _key("Page_Down")),
        (_in_front("less", title="less ~/.bashrc"), _key("Page_Down")),
        (_in_front("git", "nano", files=("/nowhere/notes.txt",)), _key("ctrl+s")),
    ],
)
def test_what_writes_no_such_file_is_judged_as_ever(tmp_path: Path, control: Control, call: ToolCall) -> None:
    assert _decided(tmp_path, call, control, NAMED) is Decision.ALLOW


@pytest.mark.parametrize("role", ["", "terminal"])
def test_an_editor_in_a_terminal_saves_under_no_name_that_starts_by_itself(tmp_path: Path, role: str) -> None:
    spec, call = REGISTRY.find("computer_key"), _key("Return")
    assert spec
    control = altered(_in_front("nano"), role=role, is_known=bool(role))
    typed = {"xterm": ("~/.bashrc",)}
    policy = Policy(tmp_path, persons=tmp_path / "none.toml")
    assert policy.decide(call, spec, (control,), Provenance(said=NAMED, typed=typed)).decision is Decision.DENY


def test_a_drag_that_begins_in_a_terminal_with_a_key_held_asks_wherever_it_ends(tmp_path: Path) -> None:
    call = ToolCall("c1", "computer_drag", {"path": "1,1 900,900", "modifiers": "ctrl"})
    spec, elsewhere = REGISTRY.find(call.name), described("desktop", "pcmanfm", "panel")
    assert spec
    policy = Policy(tmp_path, persons=tmp_path / "none.toml")
    decided = policy.decide(call, spec, (PROMPT, elsewhere), Provenance(said=NAMED, instructions=NAMED))
    assert decided.decision is Decision.ASK


LETTERS = TerminalFront((FrontProgram("bash"),), is_prompt=True, is_utf8=True)
WAITS = TerminalFront((FrontProgram("sleep"),), reads_lines=True)


@pytest.mark.parametrize("call", [_type("für"), _type("日本"), _key("ü")])
@pytest.mark.parametrize(
    ("fronts", "decision"),
    [
        ((SHELL,), Decision.ASK),
        ((LETTERS, SHELL), Decision.ASK),
        ((WAITS,), Decision.ASK),
        ((LETTERS,), Decision.ALLOW),
        ((TerminalFront((FrontProgram("nano"),)),), Decision.ALLOW),
    ],
)
def test_letters_beyond_ascii_ask_where_a_line_editor_may_take_their_parts_for_keys(
    tmp_path: Path, call: ToolCall, fronts: tuple[TerminalFront, ...], decision: Decision
) -> None:
    control = altered(PROMPT, is_occupied=not all(front.is_prompt for front in fronts), fronts=fronts)
    assert _decided(tmp_path, call, control, NAMED) is decision


@pytest.mark.parametrize("keys", ["Home", "End", "Delete"])
def test_keys_that_one_shell_does_not_know_ask_there(tmp_path: Path, keys: str) -> None:
    zsh = TerminalFront((FrontProgram("zsh"),), is_prompt=True)
    decided = [_decided(tmp_path, _key(keys), altered(PROMPT, fronts=(one,)), NAMED) for one in (SHELL, zsh)]
    assert decided == [Decision.ALLOW, Decision.ASK]


DIALOG = altered(PROMPT, app="mate-terminal", title="Editing Profile", is_dialog=True, is_known=True)


@pytest.mark.parametrize(
    ("role", "call"),
    [
        ("entry", _type("touch hit")),
        ("entry", _key("ctrl+v")),
        ("entry", ToolCall("c1", "set_value", {"ref": "e7", "value": "touch hit"})),
        ("check box", _key("space")),
        ("combo box", SCROLL),
        ("", CLICK),
        ("", _key("Down")),
    ],
)
@pytest.mark.parametrize("said", [NAMED, "Set up the profile in mate-terminal."])
def test_what_changes_a_setting_of_a_terminal_asks(tmp_path: Path, role: str, call: ToolCall, said: str) -> None:
    control = altered(DIALOG, role=role, name="Run a custom command", is_known=bool(role))
    assert _decided(tmp_path, call, control, said) is Decision.ASK


@pytest.mark.parametrize("binding", ["check box", "entry"])
def test_a_key_that_is_bound_to_a_setting_of_a_terminal_asks(tmp_path: Path, binding: str) -> None:
    bound = (Binding("<Alt>r", binding, "Run a custom command"),)
    control = altered(DIALOG, role="button", name="Close", bindings=bound)
    assert _decided(tmp_path, _key("alt+r"), control, NAMED) is Decision.ASK


@pytest.mark.parametrize(
    ("role", "call"), [("button", CLICK), ("page tab", CLICK), ("entry", _key("Tab")), ("entry", _key("Escape"))]
)
def test_leaving_a_dialog_of_a_terminal_needs_no_answer(tmp_path: Path, role: str, call: ToolCall) -> None:
    assert _decided(tmp_path, call, altered(DIALOG, role=role, name="Close"), NAMED) is Decision.ALLOW
