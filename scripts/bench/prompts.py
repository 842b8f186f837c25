"""How often ordinary tasks ask, in each mode, with real programs on a private desktop: `-m scripts.bench.prompts`.

The goal is at most 0.3 questions a task. Every question is answered with a yes.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
from pathlib import Path

from app.agent.agent_events import AgentEvent, ApprovalWanted
from app.assistant import assemble
from app.desktop.x11.virtual import VirtualDesktop
from app.settings.store import Settings

TASKS = {
    "calculate": ['<open_app name="galculator"/>', "<computer_type>12*7=</computer_type>", "<screen_capture/>"],
    "calculate by clicks": [
        '<open_app name="galculator"/>',
        '<computer_click target="7"/>',
        '<computer_click target="8"/>',
        '<computer_click target="="/>',
        "<screen_capture/>",
    ],
    "write": ['<open_app name="mousepad"/>', "<computer_type>Dear Ada,\n\nhello.\n</computer_type>"],
    "save": [
        '<open_app name="mousepad"/>',
        "<computer_type>Dear Ada</computer_type>",
        '<computer_key keys="ctrl+s"/>',
        "<computer_type>letter.txt</computer_type>",
        '<computer_key keys="Return"/>',
        "<screen_capture/>",
    ],
    "find in a text": [
        '<open_app name="mousepad"/>',
        '<choose_menu path="Edit > Find"/>',
        "<computer_type>x</computer_type>",
    ],
    "close": ['<open_app name="galculator"/>', '<close_window title="galculator"/>'],
    "close by a key": ['<open_app name="galculator"/>', "<screen_capture/>", '<computer_key keys="alt+F4"/>'],
    "note": ['<write_file path="notes.txt"><content>one</content></write_file>', '<read_file path="notes.txt"/>'],
    "look": ["<screen_capture/>", "<read_screen/>", "<list_windows/>"],
    "list": ["<execute_command>ls -l</execute_command>"],
    "build": [
        '<write_file path="Makefile"><content>all:\n\techo hi</content></write_file>',
        "<execute_command>make</execute_command>",
    ],
    "copy": [
        '<open_app name="mousepad"/>',
        "<computer_type>abc</computer_type>",
        '<computer_key keys="ctrl+a ctrl+c"/>',
        "<read_clipboard/>",
    ],
}


async def asked_in(mode: str, replies: list[str]) -> list[str]:
    """The questions of one task."""
    folder = Path(tempfile.mkdtemp())
    os.environ["WISP_DATA_DIR"] = str(folder / "wisp")
    script = folder / "script.toml"
    script.write_text("".join(f"[[replies]]\ntext = '''{reply}'''\n" for reply in (*replies, "Done.")))
    values = {"model.provider": "scripted", "model.script": str(script), "files.workspace": str(folder)}
    assistant = assemble(Settings({**values, "trust.mode": mode}, {}))
    asked: list[str] = []

    def hear(event: AgentEvent) -> None:
        if isinstance(event, ApprovalWanted):
            asked.append(event.sentence)
            loop = asyncio.get_running_loop()
            loop.call_soon(lambda: assistant.answer(event.approval_id, allow=True))

    assistant.subscribe(hear)
    try:
        await assistant.send("Do it.")
    finally:
        await assistant.close()
    return asked


async def main() -> None:
    for mode in ("ask", "auto"):
        found = {name: await asked_in(mode, replies) for name, replies in TASKS.items()}
        for name, asked in found.items():
            print(f"{mode:5}{name:20}{len(asked)}  {'; '.join(asked)}")
        print(f"{mode:5}{sum(map(len, found.values())) / len(found):.2f} questions a task")


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    with VirtualDesktop(1280, 800) as virtual:
        os.environ.update(virtual.environment)
        asyncio.run(main())
