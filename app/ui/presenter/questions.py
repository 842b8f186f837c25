"""A question to the person as an item of the thread."""

from __future__ import annotations

from app.agent import events as agent
from app.ui.presenter.view import Approval, Picture


def question(key: str, event: agent.ApprovalWanted) -> Approval:
    """Everything the person must know before they answer, word for word."""
    return Approval(
        key,
        event.approval_id,
        event.call_id,
        event.sentence,
        event.detail,
        who=event.who,
        undo=event.undo,
        rule=event.rule,
        sources=tuple(event.sources),
        reasons=tuple(event.reasons),
        scopes=tuple(event.scopes),
        picture=_picture(event),
    )


def _picture(event: agent.ApprovalWanted) -> Picture | None:
    if event.picture is None:
        return None
    media = event.picture
    return Picture(media.data, media.width, media.height, media.label, event.ring)
