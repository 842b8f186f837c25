"""What pressing a control means, by its words and its role."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache

from app.agent.policy.tables import table
from app.agent.policy.values import Consequence, Control

_LONGEST_CHARS = 200
_WORD = re.compile(r"[\w'’]+")
_DOTS = ("…", "...")
_MENU, _TERMINAL = "menu item", "terminal"
_EDITABLE, _READ_ONLY = "editable", "read-only"
_PICTURES = ("So", "Co", "Cn")
"""Signs that stand for what nobody reads out: symbols such as a waste bin, and those of icon fonts."""


def meaning_of(role: str, name: str) -> frozenset[str]:
    """The consequences of pressing a control of that role and name; none where its words say nothing."""
    group = _group(role)
    plain = _plain(name)
    if group is None or not plain or (role.endswith(_MENU) and plain.endswith(_DOTS)):
        return frozenset()
    if len(_WORD.findall(plain)) > group:
        return frozenset({Consequence.UNKNOWN}) if is_pressed_role(role) and _kinds_in(plain) else frozenset()
    return _kinds_in(plain)


def meaning_in(role: str, name: str, around: Control) -> frozenset[str]:
    """The consequences of pressing a control of that role and name, with the words of the dialog around it."""
    own = meaning_of(role, name)
    if own or role not in table("controls")["dialogs"]["roles"]:
        return own
    spoken = _plain(name).rstrip(".…!")
    if spoken in _spoken("harmless") or not (around.is_dialog or not spoken or spoken in _spoken("affirms")):
        return own
    return words_of(around)


def words_of(around: Control) -> frozenset[str]:
    """What the dialog around a control says that it is about."""
    found: set[str] = set()
    for sentence in around.words:
        found |= _kinds_in(_plain(sentence))
    return frozenset(found)


def press_of(control: Control) -> frozenset[str]:
    """What pressing a control comes to; of unknown effect where it cannot be read."""
    if is_field(control) or (control.is_terminal and control.role in ("", _TERMINAL)):
        return meaning_of(control.role, control.name)
    kinds = meaning_in(control.role, control.name, control)
    return kinds if kinds or is_readable(control) else kinds | {Consequence.UNKNOWN}


def is_readable(control: Control) -> bool:
    """Whether what it says of itself is enough to know what pressing it does."""
    if not control.is_known or control.role in table("controls")["roles"]["opaque"]:
        return False
    name = _plain(control.name)
    return not is_pressed_role(control.role) or (bool(name) and all(_is_read(sign) for sign in name))


def is_pressed_role(role: str) -> bool:
    """Whether controls of that role do something when they are pressed."""
    return role in table("controls")["roles"]["pressed"]["roles"]


def is_password(control: Control) -> bool:
    return control.role in table("controls")["roles"]["passwords"]


def is_field(control: Control) -> bool:
    """Whether text can be typed there: by its role, unless it says that it is read only, or by what it says itself."""
    if _EDITABLE in control.states:
        return True
    is_shown_only = _READ_ONLY in control.states
    return control.role in table("controls")["roles"]["fields"] and not is_shown_only


def sends_on_return(control: Control) -> bool:
    """Whether Return in a field of this program reaches the network."""
    app = control.app.casefold()
    return any(fnmatchcase(app, pattern) for pattern in table("controls")["submits"]["apps"])


def _group(role: str) -> int | None:
    """How many words a name of this role may have to be judged; None where the role says that it is no control."""
    roles = table("controls")["roles"]
    for group in (roles["pressed"], roles["perhaps"]):
        if role in group["roles"]:
            most: int = group["most_words"]
            return most
    return None


@cache
def _phrases() -> tuple[tuple[tuple[str, ...], frozenset[str]], ...]:
    return tuple(_listed())


def _listed() -> Iterator[tuple[tuple[str, ...], frozenset[str]]]:
    for entry in table("controls")["words"].values():
        kinds = frozenset(entry["kinds"])
        for language, phrases in entry.items():
            if language != "kinds":
                for phrase in phrases:
                    yield tuple(_WORD.findall(_plain(phrase))), kinds


def _kinds_in(plain: str) -> frozenset[str]:
    words = tuple(_WORD.findall(plain))
    found: set[str] = set()
    for phrase, kinds in _phrases():
        if _holds(words, phrase) or (_is_unspaced(phrase) and phrase[0] in plain):
            found |= kinds
    return frozenset(found)


@cache
def _spoken(kind: str) -> frozenset[str]:
    """What buttons of dialogs are called in all languages."""
    entries = table("controls")["dialogs"][kind]
    return frozenset(_plain(phrase) for phrases in entries.values() for phrase in phrases)


def _is_read(sign: str) -> bool:
    """Whether a sign is of a script that the tables have words of, or says nothing by itself."""
    if unicodedata.category(sign) in _PICTURES:
        return False
    return not sign.isalpha() or unicodedata.name(sign, "").startswith(tuple(table("controls")["scripts"]["read"]))


def _plain(name: str) -> str:
    """Compared without case, marks of mnemonics, invisible signs and blanks at the ends."""
    text = unicodedata.normalize("NFKC", name[:_LONGEST_CHARS].replace("…", "\0")).replace("\0", "…").casefold()
    shown = (sign for sign in text if sign not in "_&" and unicodedata.category(sign) != "Cf")
    return "".join(shown).replace("’", "'").strip()


def _holds(words: tuple[str, ...], phrase: tuple[str, ...]) -> bool:
    size = len(phrase)
    return any(words[at : at + size] == phrase for at in range(len(words) - size + 1))


def _is_unspaced(phrase: tuple[str, ...]) -> bool:
    """Whether the script puts no blanks between words."""
    first = unicodedata.name(phrase[0][0], "") if len(phrase) == 1 else ""
    return first.startswith(("CJK", "HIRAGANA", "KATAKANA"))
