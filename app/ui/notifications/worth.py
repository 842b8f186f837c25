"""What is worth a notification: pure, from two views that follow each other."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication

from app.agent.events import Outcome
from app.base.clipping import clip_line
from app.ui.orb.state import Orb
from app.ui.presenter.view import Ended, Said, View

_CHARS = 240


@dataclass(frozen=True, slots=True)
class Note:
    """A short headline and its text; `urgent` where the person is waited for."""

    title: str
    text: str
    urgent: bool = False


def worth_telling(before: View, after: View) -> Note | None:
    """The news between two views; None where there is none, or the person saw it happen."""
    tr = QCoreApplication.translate
    asked = after.open_approval
    if asked is not None and before.open_approval is None and not before.attended:
        return Note(tr("Notifications", "Wisp needs your word"), clip_line(asked.sentence, _CHARS), urgent=True)
    if after.attended or not (before.running and not after.running):
        return None
    words = _last_words(after)
    if after.orb is Orb.ERROR:
        return Note(tr("Notifications", "That did not work"), words)
    if after.orb is Orb.NEEDS_YOU:
        return Note(tr("Notifications", "Wisp has a question"), words, urgent=True)
    return Note(tr("Notifications", "Done"), words)


def _last_words(view: View) -> str:
    for item in reversed(view.items):
        if isinstance(item, Ended) and item.outcome is not Outcome.STOPPED:
            return clip_line(item.text, _CHARS)
        if isinstance(item, Said):
            return clip_line(item.text, _CHARS)
    return ""
