"""The inbox: what happened while nobody looked."""

from __future__ import annotations

from dataclasses import replace

from app.agent import events as agent
from app.base.clipping import clip_line
from app.ui.presenter.view import News, View

KEPT = 100
_TEXT_CHARS = 240
_LEVELS = {
    agent.Outcome.FINISHED: "done",
    agent.Outcome.WAITING: "question",
    agent.Outcome.STOPPED: "stopped",
    agent.Outcome.FAILED: "error",
    agent.Outcome.ANSWERED: "done",
    agent.Outcome.UNVERIFIED: "done",
    agent.Outcome.CUT_OFF: "error",
    agent.Outcome.REPEATING: "error",
}


def after(view: View, event: agent.AgentEvent, now: float) -> View:
    """The view with the event in the inbox, where it is one to be told and nobody looks."""
    if view.attended:
        return view
    if isinstance(event, agent.TurnEnded):
        return noted(view, _LEVELS[event.outcome], event.text, now)
    if isinstance(event, agent.ApprovalWanted):
        return noted(view, "approval", event.sentence, now)
    if isinstance(event, agent.Notice) and event.level != "info":
        return noted(view, event.level, event.sentence, now)
    return view


def noted(view: View, level: str, text: str, now: float) -> View:
    """One more piece of news, about the thread's newest item."""
    item = view.items[-1].key if view.items else ""
    number = int(view.news[-1].key[1:]) + 1 if view.news else 0
    made = News(f"n{number}", level, clip_line(text, _TEXT_CHARS), item, now)
    return replace(view, news=(*view.news, made)[-KEPT:], unread=view.unread + 1, unseen=view.unseen + 1)


def seen(view: View) -> View:
    """The person has opened the inbox."""
    return replace(view, unseen=0) if view.unseen else view


def cleared(view: View) -> View:
    """The person needs none of it any more."""
    return replace(view, news=(), unseen=0)
