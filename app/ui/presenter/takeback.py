"""The files that a turn has changed, and the offer, once it has ended, to take the changes back."""

from __future__ import annotations

from dataclasses import replace

from app.agent import events as agent
from app.ui.presenter.items import added
from app.ui.presenter.view import TakeBack, View

_TOOLS = frozenset({"write_file", "replace_in_file", "delete_file", "execute_command"})


def noted(view: View, event: agent.ToolFinished) -> View:
    """The view that remembers the files which a call has changed, where the change can be undone."""
    if not event.ok or event.tool not in _TOOLS or event.payload.get("undoable") is not True:
        return view
    path, deleted = event.payload.get("path"), event.payload.get("deleted")
    changed = [path, *(deleted if isinstance(deleted, (list, tuple)) else ())]
    return replace(view, changed=view.changed | {one for one in changed if isinstance(one, str)})


def offered(view: View, event: agent.TurnEnded) -> View:
    """The view with the offer below everything else; nothing for a turn that has changed no file."""
    if not view.changed:
        return view
    made = TakeBack(f"i{view.serial}", event.turn_id, len(view.changed))
    return replace(added(view, made), changed=frozenset())


def accepted(view: View, turn_id: str) -> View:
    """The person takes a turn's changes back: nobody can do that twice."""
    left = (item for item in view.items if not (isinstance(item, TakeBack) and item.turn_id == turn_id))
    return replace(view, items=tuple(left))
