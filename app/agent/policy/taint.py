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


def personal_in(act: Act, spec: ToolSpec) -> str:
    """What of the person's own the result brings into the turn, by its name in the tables; empty where nothing is.

    Personal is what stands on this machine or behind a sign-in, whoever wrote it: names and contents of files (also
    those of the workspace), what the screen or the clipboard shows, what a command printed (it can read the files of
    its workspace), what an MCP server answered. Public web pages are not, nor is what the person says in the turn.
    """
    tables = table("calls")
    source: str = by_tool(tables["reads"], spec.name) or tables["reads_by_effect"].get(act.effect.value, "")
    return {"outside": "files", "web": ""}.get(source, source)


def _is_walled_in(act: Act) -> bool:
    """Whether a command can only have read the workspace."""
    return bool(act.kinds & {"looks", "walled"}) and "reaches out" not in act.kinds
