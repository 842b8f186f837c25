"""What pressing a control means, by its words and its role."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache

from app.agent.policy.tables import table
from app.agent.policy.values import Control

_LONGEST_CHARS = 200
_WORD = re.compile(r"[\w'’]+")
_DOTS = ("…", "...")
_MENU = "menu item"


def meaning_of(role: str, name: str) -> frozenset[str]:
    """The consequences of pressing a control of that role and name; none where its words say nothing."""
    group = _group(role)
    plain = _plain(name)
    if group is None or not plain or (role.endswith(_MENU) and plain.endswith(_DOTS)):
        return frozenset()
    words = tuple(_WORD.findall(plain))
    if len(words) > group:
        return frozenset()
    found: set[str] = set()
    for phrase, kinds in _phrases():
        if _holds(words, phrase) or (_is_unspaced(phrase) and phrase[0] in plain):
            found |= kinds
    return frozenset(found)


def is_password(control: Control) -> bool:
    return control.role in table("controls")["roles"]["passwords"]


def is_field(control: Control) -> bool:
    """Whether text can be typed there."""
    return control.role in table("controls")["roles"]["fields"]


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
