"""Decide what keys, letters and clicks do in a terminal, by the program that receives them.

A shell at its prompt takes letters as a line, and keys that every line editor knows edit it. Escape and Tab may run
what stands there: `shell-expand-line` and programmable completion (readline(3), "Commands";
https://www.gnu.org/software/bash/manual/html_node/Programmable-Completion.html). Any other program takes each key
at once. Where it is not known to be calm, any key may run what was typed: vim runs a yanked line by `@`
(https://vimhelp.org/repeat.txt.html#complex-repeat).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from app.agent.policy.chords import ALTGR, SHIFT, Pressed, Stroke, combinations, listed_chords, pressed
from app.agent.policy.sentences import table
from app.agent.policy.values import Consequence, Control, Kinds
from app.base import resources
from app.desktop.backends import TerminalFront

_SHOWN = frozenset({"terminal"})
_INSIDE = _SHOWN | {"", "writing"}
"""Roles of what a terminal shows: its own, that of words that were read off its pixels, and none."""
_BEGUN = "\x1b"
"""At the end of a terminal's line: a key was begun there, such as Escape, that the next one may end."""
_NAMING_CHARS = 3
_LEADS = r"(?:[\"'`“„«‘]|\b(?:in|from|leave|quit|exit|close|aus|verlasse|beende)\s)"
_NOTHING: Kinds = frozenset()
_UNKNOWN: Kinds = frozenset({Consequence.UNKNOWN})
_MAY_RUN: Kinds = frozenset({Consequence.TERMINAL})
_ENDS_LINE = frozenset({"Return", "KP_Enter", "ctrl+c", "ctrl+u"})
UNKNOWN_LINE = "\0"
"""The text that stands for a terminal line of unknown content."""


def is_inside(control: Control) -> bool:
    """Return whether the control is the terminal's own text, not a menu or button around it."""
    return control.window.is_terminal and control.role in (_SHOWN if control.window.is_dialog else _INSIDE)


def of_setting(role: str, around: Control) -> Kinds:
    """Return the consequences of changing a control in a terminal's dialogs: it may set what the next shell runs."""
    is_setting = role in table("terminals")["settings"] or (role in _INSIDE - _SHOWN and around.window.is_dialog)
    return _MAY_RUN if around.window.is_terminal and is_setting and not around.window.is_frame else _NOTHING


def of_chord(one: Pressed, control: Control, *, is_first: bool) -> Kinds:
    """Return the consequences of a chord in a terminal. A chord before it may have ended the program in front."""
    at_prompt = _NOTHING if _edits_line(one, control) else _MAY_RUN
    if not control.window.is_occupied:
        is_answer = any(stroke.is_sign or stroke.whole == {"space"} for stroke in one.strokes)
        return at_prompt | (_UNKNOWN if is_answer else _NOTHING)
    if _is_listed(one, "scrolls"):
        return _NOTHING
    later = _NOTHING if is_first else at_prompt
    found = _MAY_RUN if not control.window.fronts else _NOTHING
    for front in control.window.fronts:
        if _takes_each(front):
            found |= later if all(_stays(stroke, front) for stroke in one.strokes) else _MAY_RUN
        elif not _takes_lines(front):
            found |= _MAY_RUN
        else:
            found |= at_prompt
    return found | _UNKNOWN


def only_moves(one: Pressed) -> bool:
    """Return whether the chord holds only keys that end no program in a terminal, such as arrow keys."""
    return all(stroke.whole in combinations(tuple(table("terminals")["keys"]["all"])) for stroke in one.strokes)


def of_letters(text: str, control: Control) -> Kinds:
    """Return the consequences of letters in a terminal. A shell waits for Return; one letter may answer a question."""
    fronts = control.window.fronts
    is_read = all(front.is_utf8 or text.isascii() or _takes_each(front) for front in fronts)
    if not control.window.is_occupied:
        is_answer = len(text) == 1 or text.strip().casefold() in table("controls")["names"]["answers"]
        return (_UNKNOWN if is_answer else _NOTHING) | (_NOTHING if is_read else _MAY_RUN)
    is_held = is_read and _is_held(control) and not any(_starts(front) & set(text) for front in fronts)
    return _UNKNOWN if is_held else _UNKNOWN | _MAY_RUN


def of_press(control: Control) -> Kinds:
    """Return the consequences of a click or drag in a terminal: it selects text, unless the program there reads the
    mouse.
    """
    if not is_inside(control) or control.window.is_frame:
        return of_setting(control.role, control)
    obeyed, app = table("terminals")["mouse"], control.window.app.casefold()
    if any(fnmatchcase(app, one) for one in obeyed["opens"]) or not _names(control).isdisjoint(obeyed["programs"]):
        return _MAY_RUN
    return _NOTHING if not control.window.is_occupied else _UNKNOWN if _is_held(control) else _MAY_RUN


def of_begun_key(control: Control, keys: Sequence[Pressed], line: str) -> Kinds:
    """Return the consequences of an act at a prompt where a key sequence is unfinished: the act may complete it."""
    is_over = not line.endswith(_BEGUN) or (control.window.is_occupied and _are_calm(control))
    is_given_up = bool(keys) and _is_listed(keys[0], "interrupts")
    return _NOTHING if is_over or is_given_up or not is_inside(control) else _MAY_RUN


def mark_begun(line: str, before: str, control: Control, keys: Sequence[str], text: str) -> str:
    """Return the line after an act, with a mark at its end if a key sequence is unfinished.

    Only Return or ctrl+c surely ends such a sequence: after Escape it may be a longer key, or the commands of vi
    (readline(3), "VI Mode").
    """
    is_begun = before.endswith(_BEGUN)
    if is_inside(control) and not (control.window.is_occupied and _are_calm(control)):
        for one in (one for key in keys for one in pressed(key)):
            is_ended = one.holds(listed_chords("activates", "submits")) or _is_listed(one, "interrupts")
            is_begun = not is_ended and (is_begun or not _edits_line(one, control))
        for sign in (sign for sign in text if unicodedata.category(sign) == "Cc"):
            is_begun = sign not in "\r\n"
    return line + _BEGUN if is_begun else line


def unmarked(line: str) -> str:
    return line.removesuffix(_BEGUN)


def written_in(control: Control) -> Iterator[str]:
    """Yield the paths that editors in front in a terminal may write to, from their command lines."""
    for front in control.window.fronts:
        for program in front.programs:
            yield from program.files if _edits(program.name) else ()


def may_edit(control: Control) -> bool:
    """Return whether an editor may be running in front in the terminal, so that it gets the keys."""
    return not control.window.fronts or any(map(_edits, _names(control)))


def writes_nothing(keys: Sequence[Pressed], text: str) -> bool:
    """Return whether these keys write nothing, whatever program in a terminal receives them."""
    return bool(keys) and not text and all(_is_listed(one, "scrolls", "interrupts") for one in keys)


def is_named(control: Control, said: str) -> bool:
    """Return whether the person's words name a program that runs in front in the terminal, whatever the case of
    letters.

    The system knows these names. A name that is an everyday word counts only in quotes or after "in".
    """
    return any(_is_said(name.casefold(), said) for name in _names(control) if len(name) >= _NAMING_CHARS)


def _names(control: Control) -> frozenset[str]:
    """Return the names of the programs in front in a terminal."""
    return frozenset(program.name for front in control.window.fronts for program in front.programs)


def _is_said(name: str, said: str) -> bool:
    before = _LEADS if name in table("terminals")["ordinary"] else r"\b"
    return re.search(f"{before}{re.escape(name)}\\b", said) is not None


def _edits(name: str) -> bool:
    """Return whether a program is an editor, or may be one because its name is not known."""
    return not name or any(fnmatchcase(name, editor) for editor in table("terminals")["editors"])


def _is_held(control: Control) -> bool:
    """Return whether no program in front would run the typed text at a key press."""
    fronts = control.window.fronts
    return bool(fronts) and all(_is_calm(front) or _takes_lines(front) for front in fronts)


def _are_calm(control: Control) -> bool:
    """Return whether all programs in front are calm and take each key at once. In a calm program no key runs typed
    text.
    """
    fronts = control.window.fronts
    return bool(fronts) and all(_is_calm(front) and not front.reads_lines for front in fronts)


def _edits_line(one: Pressed, control: Control) -> bool:
    """Return whether a chord only edits the shell's line, or types one character that the shell reads as such."""
    is_plain = all(stroke.key.isascii() and ALTGR not in stroke.held for stroke in one.strokes if stroke.is_sign)
    is_read = is_plain or all(front.is_utf8 for front in control.window.fronts)
    unbound = {key for name in _names(control) for key in table("terminals")["unbound"].get(name, ())}
    is_listed = all(stroke.is_sign or stroke.whole in listed_chords("harmless", "prompt") for stroke in one.strokes)
    return is_listed and is_read and unbound.isdisjoint(stroke.key for stroke in one.strokes)


def _stays(stroke: Stroke, front: TerminalFront) -> bool:
    """Return whether a key reaches no file, command or other program. `front` is a calm program that takes each key at
    once.
    """
    if not stroke.is_sign:
        lists = (table("terminals")["keys"].get(one, ()) for one in ("all", *(each.name for each in front.programs)))
        return stroke.whole in listed_chords("harmless", "interrupts").union(*map(combinations, map(tuple, lists)))
    is_sure = ALTGR not in stroke.held and (SHIFT not in stroke.held or stroke.key.isalpha())
    return is_sure and stroke.key not in {sign.lower() for sign in _starts(front)}


def _takes_each(front: TerminalFront) -> bool:
    """Return whether a calm program takes each key at once, so that no key is left for the program after it."""
    return _is_calm(front) and not (front.reads_lines or front.has_unread)


def _is_calm(front: TerminalFront) -> bool:
    calm = frozenset(table("terminals")["calm"])
    return bool(front.programs) and all(program.name in calm for program in front.programs)


def _takes_lines(front: TerminalFront) -> bool:
    """Return whether the program in front is a shell, or reads whole lines."""
    shells = resources.words("desktop/line_shells.txt")
    are_shells = bool(front.programs) and all(program.name in shells for program in front.programs)
    return front.is_prompt or front.reads_lines or are_shells


def _starts(front: TerminalFront) -> frozenset[str]:
    """Return the letters by which a program in front starts an editor."""
    known = table("terminals")["starts"]
    return frozenset(sign for program in front.programs for sign in known.get(program.name, ()))


def _is_listed(one: Pressed, *names: str) -> bool:
    """Return whether each part of a chord is in one of these lists of keys."""
    return all(stroke.whole in listed_chords("harmless", *names) for stroke in one.strokes)


def line_after(before: str, text: str, keys: Sequence[str]) -> str:
    """Return the text in a terminal's line after the act's text or chords. A null character means an unknown line.

    An unknown line stays unknown, because Return may only continue an open quotation.
    """
    if UNKNOWN_LINE in before:
        return before
    if keys:
        return "" if len(keys) == 1 and keys[0] in _ENDS_LINE else UNKNOWN_LINE
    if "\n" not in text:
        return before + text
    return "" if text.count("\n") == 1 and text.endswith("\n") else UNKNOWN_LINE
