"""Answers that the person may give by a press, while nothing else has been said."""

from __future__ import annotations

from dataclasses import replace

from app.agent import events as agent
from app.base.clipping import clip_line
from app.ui.presenter.items import added
from app.ui.presenter.view import Offer, View

_QUESTION = "ask_followup_question"
_MOST = 8
_ANSWER_CHARS = 200


def offered(view: View, event: agent.ToolFinished) -> View:
    """The view with a question's answers below its words; nothing for a question without any."""
    answers = _answers(event.payload.get("options")) if event.ok and event.tool == _QUESTION else ()
    return added(view, Offer(f"i{view.serial}", answers)) if answers else view


def withdrawn(view: View) -> View:
    """Something was said: what was offered before is gone."""
    if not any(isinstance(item, Offer) for item in view.items):
        return view
    return replace(view, items=tuple(item for item in view.items if not isinstance(item, Offer)))


def _answers(options: object) -> tuple[str, ...]:
    """Lines that are shown, and sent, as they are."""
    if not isinstance(options, (list, tuple)):
        return ()
    lines = (clip_line(option, _ANSWER_CHARS) for option in options if isinstance(option, str))
    return tuple(dict.fromkeys(line for line in lines if line))[:_MOST]
