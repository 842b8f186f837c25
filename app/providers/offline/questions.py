"""Find the dialog that a tool's answer says is open, and tell the person what they can say to answer it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from app.base import resources
from app.base.values import dataclass

_QUOTED = r'"(?:[^"\\]|\\.)*"'
_NAMED = re.compile(
    rf" ?(?:The dialog (?P<title>{_QUOTED})|A dialog) (?:asks: (?P<text>{_QUOTED})|stands in front\.)"
    rf"(?: Its buttons: (?P<buttons>{_QUOTED}(?:, {_QUOTED})*)\.)?"
)
"""How tools name a dialog that must be answered (`app.desktop.accessibility.outline`)."""
_PLAIN = re.compile(r"[^\W\d_]{2,}")
_MOST_NAMED = 4


@dataclass(frozen=True, slots=True)
class OpenDialog:
    """A dialog that is open, and the names of its buttons. `question` is its text; "" if the text is not known."""

    title: str
    question: str
    buttons: tuple[str, ...]


def open_dialog(echo: str) -> OpenDialog | None:
    """Return the dialog that is named last in a tool's answer (`echo`); None if no dialog is named."""
    every = list(_NAMED.finditer(echo))
    if not every:
        return None
    found = every[-1]
    title, text = (_plain(found[name]) for name in ("title", "text"))
    return OpenDialog(title, text, tuple(_plain(name) for name in re.findall(_QUOTED, found["buttons"] or "")))


def discarding(echo: str) -> str:
    """Return the button that discards unsaved changes in the open dialog that the tool's answer names; "" for none."""
    dialog, known = open_dialog(echo), resources.table("offline/notes.toml", resources.Table)["notes"]["discards"]
    return next((name for name in dialog.buttons if name.lower().replace("’", "'") in known), "") if dialog else ""


def without_dialogs(echo: str) -> str:
    """Return a tool's answer without the sentences that name a dialog."""
    return _NAMED.sub("", echo)


def told_of(echo: str, words: Mapping[str, Any]) -> str:
    """Return what an open dialog asks and what the person can say; "" if the tool's answer (`echo`) names no dialog.

    `words` is the table `asking` of a phrase book.
    """
    dialog = open_dialog(echo)
    if dialog is None:
        return ""
    wishes = [str(words["wish"]).format(button=_as_said(name)) for name in dialog.buttons[:_MOST_NAMED]]
    kind = "question" if "?" in dialog.question else "message" if dialog.question else "dialog"
    kind = kind if dialog.question or dialog.title else "nameless"
    said = str(words[kind]).format(text=dialog.question, title=dialog.title)
    return f"{said} {str(words['answer']).format(wishes=words['either'].join(wishes))}" if wishes else said


def _as_said(name: str) -> str:
    """Return a button's name as a person writes it in a wish: in quotation marks, unless it is one plain word."""
    return name if _PLAIN.fullmatch(name) or '"' in name else f'"{name}"'


def _plain(quoted: str | None) -> str:
    """Return the text of a quotation in a tool's answer; "" for None."""
    try:
        return str(json.loads(quoted)) if quoted else ""
    except ValueError:  # because a cut line may end inside the quotation
        return (quoted or "").strip('"')
