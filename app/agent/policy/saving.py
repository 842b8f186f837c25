"""Find the files that an act in a program may save, from what was typed and from the fields of its dialog.

What the file tools refuse, a save dialog must not do for them (SECURITY.md: "A dialog that saves or opens a file is
judged by the paths that were typed or pasted in its program").
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from urllib.parse import unquote

from app.agent.policy import consequences, keystrokes, terminals
from app.agent.policy.chords import ALT, SUPER, Stroke
from app.agent.policy.keystrokes import DesktopAct
from app.agent.policy.sentences import table
from app.agent.policy.values import Action, Consequence, Kinds, LeftField, Provenance
from app.protocol.spec import ScreenAim
from app.services.files import document_kinds, places, survey

EDITED = "\b"
"""In the place of a typed line: keys changed a part of what stood there."""

_EDITS = frozenset({"BackSpace", "Delete", "Left", "Right", "Home", "End", "Up", "Down", "Tab"})
_STAYS = frozenset({"a", "c", "v", "x", "z", "Insert", "Escape", "space"})
"""With ctrl held they edit a line, and Escape gives it up."""
_SIGNS = {"slash": "/", "period": ".", "asciitilde": "~", "underscore": "_", "minus": "-", "space": " ", "comma": ","}
_NAME_EDGES = "*()[]:,•●"


def saves(act: DesktopAct) -> bool:
    """Return whether an act saves the document that its window shows.

    Always False in a terminal, and in a browser, where a page writes its own title.
    """
    control = act.control
    if control.window.is_terminal or consequences.sends_on_return(control):
        return False
    if act.aim is ScreenAim.FOCUS:
        return keystrokes.presses_save(act.keys)
    return consequences.is_pressed_role(control.role) and consequences.says_save(control.name)


def written_in_terminal(act: DesktopAct) -> Iterator[str]:
    """Return the files that an act may make an editor in a terminal save: those it was started with or names in its
    title.

    Which key saves them is not known.
    """
    control = act.control
    is_there = terminals.is_inside(control) and control.window.is_occupied and terminals.may_edit(control)
    if is_there and not terminals.writes_nothing(act.keys, act.text):
        yield from filter(None, [starting_in(control.window.title)])
        yield from terminals.written_in(control)


def names_file(act: DesktopAct) -> bool:
    """Return whether confirming the dialog saves a file: by the pressed button, or by the window's title."""
    return any(map(consequences.says_save, (act.label, *act.control.window.title.split())))


def edits(keys: Sequence[str]) -> bool:
    """Return whether one of these chords edits a line or moves the caret in it."""
    return any(key.rpartition("+")[2] in _EDITS for key in keys)


@cache
def _silent_keys() -> frozenset[str]:
    """Return the keys that write nothing."""
    known = table("keys")
    return frozenset(known["activates"]["submits"]).union(*(known["harmless"].values())) | {"KP_Enter"}


def texts_of(act: Action) -> tuple[str, ...]:
    """Return the texts that a desktop act types, pastes or sets, as far as they are known."""
    signs = "".join(
        _SIGNS.get(key, key) for key in act.keys if key not in _silent_keys() and not re.search(r".\+|^F\d+$", key)
    )
    edited = EDITED if edits(act.keys) else ""
    return tuple(filter(None, (act.text, act.control.keyboard.pasted, signs, edited)))


def paths_in(lines: Sequence[str], copied: Sequence[str]) -> Iterator[str]:
    """Yield the paths among typed lines, alone and joined. A protected name counts as one in the home folder."""
    lines = [line for line in lines if line != EDITED]
    joined = ["".join(lines[start:end]) for end in range(1, len(lines) + 1) for start in range(end)]
    for line in dict.fromkeys([*joined, *copied]):
        path = unquote(line.strip().removeprefix("file://")) if "file://" in line else line.strip()
        at_home = Path.home() / path
        if path.startswith(("~", "/")):
            yield path
        elif path and "\0" not in path and places.starts_by_itself(at_home.parts):
            yield str(at_home)


def names_in(act: DesktopAct, lines: Sequence[str]) -> tuple[str, ...] | None:
    """Return the names under which a dialog may save: the content of its fields, with what the act itself types there.

    If the fields cannot be read, the name is the line typed last. Returns None if the name may have been edited since.
    """
    line, fields = act.line, act.control.scene.fields
    if line or fields is None:
        if not line and EDITED in lines[-2:]:
            return None
        last = line or next(iter(lines[-1:]), "")
        is_path = last.startswith((".", "~")) or "/" in last
        return (last, *_merged(line, fields or ())) if line or is_path else ()
    if len(act.keys) > 1:
        return None  # because the keys before the one that saves may change the name
    return tuple(filter(None, (field.strip() for field in fields)))


def names_given(act: DesktopAct, provenance: Provenance) -> dict[str, Kinds]:
    """Return the names with consequences that the act gives to a file or folder, each with its consequences.

    A dialog that asks for a name gives it when it is confirmed. Elsewhere a field of a file manager may give it as soon
    as an act leaves the field (`ControlKeyboard.left`).
    """
    found: dict[str, Kinds] = {}
    window = act.control.window
    if left := _left_by(act, provenance):
        found = {name: _kinds_of(name, left.folders) for name in filter(None, [left.text])}
    asks_for = consequences.names_item(act.control)
    if asks_for and (act.aim is not ScreenAim.FOCUS or act.submits):
        stands = names_in(act, provenance.typed.get(window.app, ()))
        if stands is None:
            return {act.line: frozenset({Consequence.UNCLEAR})}
        is_renamed = asks_for == "renames" and any(_suffix(word) for word in titled(window.title))
        for name in stands:
            found[name] = _kinds_of(name, (), may_lose_suffix=not is_renamed)
    return {name: kinds for name, kinds in found.items() if kinds}


def _left_by(act: DesktopAct, provenance: Provenance) -> LeftField | None:
    """Return the field that the act leaves if the turn typed in its program and its text can be a name; else None."""
    left = act.control.keyboard.left
    if left is None or not provenance.typed.get(left.app) or "/" in left.text:
        return None
    leaves = act.aim is not ScreenAim.FOCUS or any(_leaves(stroke) for one in act.keys for stroke in one.strokes)
    return left if leaves else None


def _leaves(stroke: Stroke) -> bool:
    is_edit = stroke.key in _EDITS - {"Tab", "Up", "Down"} or stroke.key in _STAYS
    return not stroke.is_sign and not (is_edit and not stroke.held & {ALT, SUPER})


def _kinds_of(name: str, folders: Sequence[str], *, may_lose_suffix: bool = True) -> Kinds:
    """Return the consequences of a file with this name: STARTS if the system would run it at a start, UNCLEAR if it is
    no plain document.
    """
    paths = [Path(folder, name) for folder in folders if "\0" not in name]
    if _starts_at_home(Path(name)) or any(places.starts_by_itself(path.parts) for path in paths):
        return frozenset({Consequence.STARTS})
    has_suffix = bool(_suffix(name)) or not may_lose_suffix
    is_plain = "/" not in name and (document_kinds.is_plain_name(name) if has_suffix else not name.startswith("."))
    return frozenset() if is_plain else frozenset({Consequence.UNCLEAR})


def _suffix(name: str) -> str:
    return Path(name.replace("\0", "")).suffix


def _merged(line: str, fields: Sequence[str]) -> tuple[str, ...]:
    """Return the start-up files that a field may name once the line is inserted somewhere into its text."""
    stood = [field for field in fields if field]
    whole = (field[:at] + line + field[at:] for field in stood for at in range(len(field) + 1))
    return tuple(str(path) for one in whole if _starts_at_home(path := Path.home() / one.removeprefix("~/")))


def _starts_at_home(path: Path) -> bool:
    return "\0" not in str(path) and places.starts_by_itself(Path(os.path.normpath(Path.home() / path)).parts)


def is_unclear(name: str) -> bool:
    """Return whether a file of this name may be a start-up file, depending on the folder that the dialog shows."""
    if name.startswith(("/", "~/")):
        return False
    return name.startswith((".", "~")) or "/" in name or "\\" in name or not document_kinds.is_plain_name(name)


def titled(title: str) -> tuple[str, ...]:
    """Return the words of a window's title that may name the file that the window shows."""
    parts = [title, *title.split(" - "), *title.split()]
    return tuple(filter(None, dict.fromkeys(part.strip().strip(_NAME_EDGES) for part in parts)))


def names_document(title: str) -> bool:
    """Return whether a window's title names a file."""
    return any(_suffix(word) and document_kinds.is_plain_name(word) for word in titled(title))


def starting_in(title: str) -> str:
    """Return the start-up file, or the folder of such files, in a window's title; "" if the title names none."""
    return next((word for word in titled(title) if places.starts_by_itself(Path(word).parts)), "")


def linked_in(title: str, workspace: Path) -> str:
    """Return the link, symbolic or hard, that the file named in a window's title is; "" if it is none.

    A title may name the file's folder, too. If it does not, every file of that name in the workspace counts.
    """
    words = [word for word in titled(title) if "\0" not in word]
    folders = [workspace, *(Path(word).expanduser() for word in words if word.startswith(("~/", "/")) or word == "~")]
    for path in (folder / Path(word).expanduser() for folder in folders for word in words):
        try:
            if path.is_symlink() or places.starts_here(path) or places.is_known_inode(path):
                return str(path)
        except (OSError, RuntimeError, ValueError):  # because a title may hold anything
            continue
    found = survey.survey(workspace)
    return next((str(path) for path in (*found.linked, *found.links) if path.name in words), "")
