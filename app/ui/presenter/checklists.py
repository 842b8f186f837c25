"""The turn's checklist: one item of the thread, brought up to date where it stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from app.agent import events as agent
from app.base.clipping import clip_line
from app.ui.presenter.items import added, replaced
from app.ui.presenter.view import Checklist, Step, View

_PROGRESS = "task_progress"
_TOOL = "focus_chain"
_STEP_CHARS = 300
_MOST = 200


def is_checklist(event: agent.ToolProgress) -> bool:
    return event.event == _PROGRESS


def read(view: View, event: agent.ToolFinished) -> View:
    """The view with the checklist that the model has looked at."""
    return listed(view, event.payload) if event.ok and event.tool == _TOOL else view


def listed(view: View, payload: Mapping[str, object]) -> View:
    """The turn's checklist as it is now; an empty one changes nothing."""
    steps = _steps(payload.get("items"))
    if not steps:
        return view
    if any(item.key == view.checklist for item in view.items):
        return replaced(view, Checklist(view.checklist, steps))
    made = Checklist(f"l{view.serial}", steps)
    return replace(added(view, made), checklist=made.key)


def _steps(items: object) -> tuple[Step, ...]:
    if not isinstance(items, (list, tuple)):
        return ()
    told = [item for item in items[:_MOST] if isinstance(item, Mapping)]
    return tuple(Step(clip_line(str(item.get("text", "")), _STEP_CHARS), item.get("done") is True) for item in told)
