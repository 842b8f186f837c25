"""Where an act in a program may save a file: by what was typed, and by what stands in the fields of its dialog."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote

from app.agent.policy import consequences, keystrokes
from app.agent.policy.chords import ALT, SUPER, Pressed, Stroke
from app.agent.policy.values import Control, LeftField, Provenance
from app.services.files import document_kinds, places, survey

EDITED = "\b"
"""In the place of a typed line: keys changed a part of what stood there."""

_EDITS = frozenset({"BackSpace", "Delete", "Left", "Right", "Home", "End", "Up", "Down", "Tab"})
_STAYS = frozenset({"a", "c", "v", "x", "z", "Insert", "Escape", "space"})
"""With ctrl held they edit a line, and Escape gives it up."""
_NAME_EDGES = "*()[]:,•●"


def saves(aim: str, keys: Sequence[Pressed], control: Control) -> bool:
    """Whether an act saves the document that its window shows. A page writes its own title, so browsers count not."""
    if control.is_terminal or consequences.sends_on_return(control):
        return False
    if aim == "focus":
        return keystrokes.presses_save(keys)
    return consequences.is_pressed_role(control.role) and consequences.says_save(control.name)


def names_file(aim: str, control: Control) -> bool:
    """Whether what affirms a dialog saves a file: by the button that is pressed, or by the window's title."""
    is_default = aim == "focus" and not consequences.is_pressed_role(control.role)
    label = control.default if is_default else control.name
    return any(map(consequences.says_save, (label, *control.window.split())))


def edits(keys: Sequence[str]) -> bool:
    """Whether some of these chords edit a line, or go to another place in it."""
    return any(key.rpartition("+")[2] in _EDITS for key in keys)


def paths_in(lines: Sequence[str], copied: Sequence[str]) -> Iterator[str]:
    """What of the typed lines is a path, alone and with what was typed after it; protected names as those of home."""
    lines = [line for line in lines if line != EDITED]
    joined = ["".join(lines[start:end]) for end in range(1, len(lines) + 1) for start in range(end)]
    for line in dict.fromkeys([*joined, *copied]):
        path = unquote(line.strip().removeprefix("file://")) if "file://" in line else line.strip()
        at_home = Path.home() / path
        if path.startswith(("~", "/")):
            yield path
        elif path and "\0" not in path and places.starts_by_itself(at_home.parts):
            yield str(at_home)


def names_in(keys: Sequence[Pressed], text: str, control: Control, lines: Sequence[str]) -> tuple[str, ...] | None:
    """The names that a dialog may save under: what stands in its fields, with what the act itself types there.

    Where its fields cannot be read, the line that was typed last; None where that was edited since.
    """
    line = text.strip("\r\n")
    if line or control.fields is None:
        if not line and EDITED in lines[-2:]:
            return None
        last = line or next(iter(lines[-1:]), "")
        is_path = last.startswith((".", "~")) or "/" in last
        return (last, *_merged(line, control)) if line or is_path else ()
    if len(keys) > 1:
        return None  # because the keys before the one that saves may change the name
    return tuple(filter(None, (field.strip() for field in control.fields)))


def names_given(
    aim: str, keys: Sequence[Pressed], text: str, control: Control, provenance: Provenance
) -> dict[str, frozenset[str]]:
    """The names with consequences that the act gives a file or folder, each with its consequences.

    A dialog that asks for a name gives it when it is confirmed. Elsewhere a field of a file manager may give it as soon
    as an act leaves the field (`Control.left`).
    """
    found: dict[str, frozenset[str]] = {}
    if left := _left_by(aim, keys, control, provenance):
        found = {name: _kinds_of(name, left.folders) for name in filter(None, [left.text])}
    asks_for = consequences.names_item(control)
    line = text.strip("\r\n")
    if asks_for and (aim != "focus" or keystrokes.submits(keys, text)):
        stands = names_in(keys, text, control, provenance.typed.get(control.app, ()))
        if stands is None:
            return {line: frozenset({"unclear"})}
        is_renamed = asks_for == "renames" and any(_suffix(word) for word in titled(control.window))
        for name in stands:
            found[name] = _kinds_of(name, (), may_lose_suffix=not is_renamed)
    return {name: kinds for name, kinds in found.items() if kinds}


def _left_by(aim: str, keys: Sequence[Pressed], control: Control, provenance: Provenance) -> LeftField | None:
    """The field that the act leaves, if the turn typed in its program and its text can be a name."""
    left = control.left
    if left is None or not provenance.typed.get(left.app) or "/" in left.text:
        return None
    leaves = aim != "focus" or any(_leaves(stroke) for one in keys for stroke in one.strokes)
    return left if leaves else None


def _leaves(stroke: Stroke) -> bool:
    is_edit = stroke.key in _EDITS - {"Tab", "Up", "Down"} or stroke.key in _STAYS
    return not stroke.is_sign and not (is_edit and not stroke.held & {ALT, SUPER})


def _kinds_of(name: str, folders: Sequence[str], *, may_lose_suffix: bool = True) -> frozenset[str]:
    """What a name makes of a file: one that starts by itself, or one of another kind than a plain document."""
    paths = [Path(folder, name) for folder in folders if "\0" not in name]
    if _starts_at_home(Path(name)) or any(places.starts_by_itself(path.parts) for path in paths):
        return frozenset({"starts"})
    has_suffix = bool(_suffix(name)) or not may_lose_suffix
    is_plain = "/" not in name and (document_kinds.is_plain_name(name) if has_suffix else not name.startswith("."))
    return frozenset() if is_plain else frozenset({"unclear"})


def _suffix(name: str) -> str:
    return Path(name.replace("\0", "")).suffix


def _merged(line: str, control: Control) -> tuple[str, ...]:
    """Start-up files that come about where the line is put into what stands in a field."""
    stood = [field for field in control.fields or () if field]
    whole = (field[:at] + line + field[at:] for field in stood for at in range(len(field) + 1))
    return tuple(str(path) for one in whole if _starts_at_home(path := Path.home() / one.removeprefix("~/")))


def _starts_at_home(path: Path) -> bool:
    return "\0" not in str(path) and places.starts_by_itself(Path(os.path.normpath(Path.home() / path)).parts)


def is_unclear(name: str) -> bool:
    """Whether it may be a start-up file, depending on the folder that the dialog shows."""
    if name.startswith(("/", "~/")):
        return False
    return name.startswith((".", "~")) or "/" in name or "\\" in name or not document_kinds.is_plain_name(name)


def titled(title: str) -> tuple[str, ...]:
    """The words of a window's title that may name the file that it shows."""
    parts = [title, *title.split(" - "), *title.split()]
    return tuple(filter(None, dict.fromkeys(part.strip().strip(_NAME_EDGES) for part in parts)))


def starting_in(title: str) -> str:
    """The start-up file, or the folder of such files, that a window's title names; empty where it names none."""
    return next((word for word in titled(title) if places.starts_by_itself(Path(word).parts)), "")


def linked_in(title: str, workspace: Path) -> str:
    """The link that the file in a window's title is, symbolic or hard; empty where it is none.

    A title may name the file's folder beside it, or none: then every file of that name in the workspace counts.
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
