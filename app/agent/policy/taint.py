"""Whose words a call's result brings into the turn: what somebody else may have written taints it."""

from __future__ import annotations

from app.agent.policy.tables import by_tool, table
from app.agent.policy.values import Act
from app.protocol.spec import ToolSpec


def source_of(act: Act, spec: ToolSpec) -> str:
    """The source by its name in the tables; empty where nothing foreign is read."""
    tables = table("calls")
    source: str = by_tool(tables["reads"], spec.name) or tables["reads_by_effect"].get(act.effect.value, "")
    if source == "outside":
        return source if "far" in act.kinds else _workspace(act)
    if source == "command":
        return _workspace(act) if _is_walled_in(act) else source
    return source


def _workspace(act: Act) -> str:
    """What stands in the workspace is the person's own, unless it came from elsewhere."""
    return "workspace" if "foreign" in act.kinds else ""


def _is_walled_in(act: Act) -> bool:
    """Whether a command can only have read the workspace."""
    return bool(act.kinds & {"looks", "walled"}) and "reaches out" not in act.kinds
