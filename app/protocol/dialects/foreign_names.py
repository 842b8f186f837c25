"""Well-known names of other agents' tools and arguments, and what ours are called.

Those of `ELSEWHERE` are taught to models by other guides in the form of our own calls: written here they are calls of
tools that do not exist, and are answered as such.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

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

ELSEWHERE = frozenset(
    [
        "access_mcp_resource",
        "apply_patch",
        "ask_followup_question",
        "attempt_completion",
        "bash",
        "browser_action",
        "computer_click",
        "computer_key",
        "computer_type",
        "computer_use",
        "condense",
        "create_app",
        "create_shortcut",
        "create_svg",
        "cron",
        "delete_app",
        "delete_shortcut",
        "edit_file",
        "execute_command",
        "focus_chain",
        "forget",
        "generate_image",
        "get_ux_ui_strict_guidelines",
        "launch_app",
        "list_code_definition_names",
        "list_files",
        "list_mcp_resources",
        "list_mcp_tools",
        "list_recent_commands",
        "list_surfaces",
        "load_mcp_documentation",
        "locate_screen_element",
        "mutate_surface_data",
        "new_rule",
        "new_task",
        "open_app",
        "plan_mode_respond",
        "push_notification",
        "read_command_tail",
        "read_file",
        "read_surface_data",
        "recall",
        "remember",
        "rename_widget",
        "replace_in_file",
        "report_bug",
        "reset_chat",
        "reset_theme",
        "screen_capture",
        "search_files",
        "set_ai_name",
        "set_theme",
        "summarize_task",
        "update_app",
        "update_shortcut",
        "use_mcp_tool",
        "use_skill",
        "view_image",
        "wait_for_human_input",
        "wait_until",
        "web_fetch",
        "web_search",
        "write_file",
        "write_to_file",
    ]
)

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


def ours(known: Collection[str]) -> Mapping[str, str]:
    """The foreign names that are none of ours, with the tool of ours that is meant."""
    meant = {name: next((one for one in tools if one in known), "") for name, tools in TOOLS.items()}
    return {name: tool for name, tool in meant.items() if tool and name not in known}
