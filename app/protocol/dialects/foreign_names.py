"""Well-known names of other agents' tools and arguments, and what ours are called."""

from __future__ import annotations

from collections.abc import Mapping

TOOLS: Mapping[str, tuple[str, ...]] = {
    "ls": ("list_files",),
    "list_dir": ("list_files",),
    "grep": ("search_files",),
    "write": ("write_to_file", "write_file"),
    "write_to_file": ("write_file",),
    "write_file": ("write_to_file",),
    "create_file": ("write_to_file", "write_file"),
    "read": ("read_file",),
    "view_file": ("read_file",),
    "edit": ("replace_in_file",),
    "bash": ("execute_command",),
    "shell": ("execute_command",),
    "run_command": ("execute_command",),
    "run_terminal_cmd": ("execute_command",),
    "webfetch": ("web_fetch",),
    "websearch": ("web_search",),
}
"""By the foreign name in lower case; the first of ours that exists is meant."""

ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "file_path": ("path",),
    "filepath": ("path",),
    "filename": ("path",),
    "file": ("path",),
    "directory": ("path",),
    "pattern": ("regex",),
    "query": ("regex",),
    "include": ("file_pattern",),
    "glob": ("file_pattern",),
    "cmd": ("command",),
    "contents": ("content",),
    "file_text": ("content",),
    "coordinates": ("coordinate",),
}

DEFAULTS: Mapping[str, Mapping[str, str]] = {"ls": {"recursive": "false"}, "list_dir": {"recursive": "false"}}
"""What a foreign tool does unless told otherwise, where ours must be told."""
