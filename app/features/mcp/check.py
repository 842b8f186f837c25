"""The check of `wisp doctor` for tool servers."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

from app.base.findings import Finding, note, ok
from app.features.mcp.configuration import Configuration


def tool_servers() -> Finding:
    """Check the configuration of tool servers, and that the package for them is installed if one is configured."""
    name, configured = "tool servers", Configuration(Path.cwd()).read()
    if configured.problems:
        return note(name, configured.problems[0], "mend that file; wisp mcp list says more")
    if not configured.servers:
        return ok(name, "none configured")
    if importlib.util.find_spec("mcp") is None:
        return note(name, "the package that speaks to them is missing", 'pip install ".[mcp]"')
    if not shutil.which("bwrap") and any(one.kind == "stdio" and one.sandbox for one in configured.servers.values()):
        return note(name, "there is no sandbox to start them in", "sudo apt-get install bubblewrap")
    return ok(name, f"{len(configured.servers)} configured")
