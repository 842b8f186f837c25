"""How often a model's task asks: once for each program that was not named, never twice, never after Always."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from app.agent.agent_events import AgentEvent, ApprovalWanted
from app.assistant import assemble
from app.settings.store import load
from tests.e2e.conftest import Screen

CALCULATE = '<open_app name="calculator"/>', "<computer_type>12*7=</computer_type>"
NOTE = '<open_app name="mousepad"/>', "<computer_type>hello</computer_type>"
SHELL = '<open_app name="xterm"/>', "<computer_type>ls\n</computer_type>"
FILES = ('<open_app name="pcmanfm"/>', '<computer_key keys="F5"/>')
WRITE = ('<write_file path="notes.md"><content>x</content></write_file>', '<read_file path="notes.md"/>')
RUN = ('<execute_command command="ls -l"/>',)
AGAIN = ('<focus_window title="Mousepad"/>', "<computer_type> again</computer_type>")
TASKS: list[tuple[str, tuple[tuple[str, ...], ...], list[str]]] = [
    ("Open the calculator and multiply 12 by 7", (CALCULATE,), []),
    ("What is 12 times 7? Work it out on screen", (CALCULATE,), ["Galculator"]),
    ("Write hello in Mousepad", (NOTE,), []),
    ("Write hello somewhere", (NOTE,), ["Mousepad"]),
    ("Write hello in the text editor, and again", (NOTE, AGAIN), []),
    ("Write hello twice", (NOTE, AGAIN), ["Mousepad"]),
    ("List the folder in XTerm", (SHELL,), []),
    ("List the folder", (SHELL,), ["XTerm"]),
    ("List the folder twice", (SHELL, SHELL), ["XTerm"]),
    ("Show my files in PCManFM", (FILES,), []),
    ("Show my files", (FILES,), ["File Manager PCManFM"]),
    ("Calculate in Galculator and write it in Mousepad", (CALCULATE, NOTE), []),
    ("Calculate in Galculator and write it down", (CALCULATE, NOTE), ["Mousepad"]),
    ("Calculate and write it in Mousepad", (CALCULATE, NOTE), ["Galculator"]),
    ("Calculate, write it down", (CALCULATE, NOTE), ["Galculator", "Mousepad"]),
    ("Calculate, write it down, list the folder", (CALCULATE, NOTE, SHELL), ["Galculator", "Mousepad", "XTerm"]),
    ("Keep a note in this folder", (WRITE,), []),
    ("List what is here by a command", (RUN,), []),
    ("Keep a note and list what is here", (WRITE, RUN), []),
    ("Keep a note, and show it", (WRITE, NOTE), ["Mousepad"]),
    ("Don't use Mousepad unless you must. Write hello", (NOTE,), ["Mousepad"]),
    ("Rechne 12*7 im Galculator", (CALCULATE,), []),
    ("Schreib hallo, aber ohne XTerm", (NOTE, SHELL), ["Mousepad", "XTerm"]),
    ("Use Mousepad and XTerm", (NOTE, SHELL), []),
    ("Use XTerm and Mousepad, then Galculator", (SHELL, NOTE, CALCULATE), []),
]
CORE = {1, 12}


@pytest.mark.parametrize(
    ("say", "parts", "programs"),
    [
        pytest.param(*task, id=str(number), marks=() if number in CORE else (pytest.mark.long,))
        for number, task in enumerate(TASKS)
    ],
)
async def test_a_task_asks_once_for_each_program_that_was_not_named(
    say: str,
    parts: tuple[tuple[str, ...], ...],
    programs: list[str],
    screen: Screen,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for answer, expected in (("always", programs), ("task", [])):
        assert await _asked(say, parts, answer, screen, tmp_path, monkeypatch) == expected


async def _asked(
    say: str,
    parts: tuple[tuple[str, ...], ...],
    answer: str,
    screen: Screen,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> list[str]:
    """Play the calls, each in a pass of its own, and return the programs that were asked for."""
    script = folder / "script.toml"
    end = "<attempt_completion><result>ok</result></attempt_completion>"
    calls = [call for part in parts for call in part]
    script.write_text("".join(f"[[replies]]\ntext = '''{reply}'''\n" for reply in (*calls, end)), encoding="utf-8")
    for name, value in (screen.environment | {"WISP_SCRIPT": str(script)}).items():
        monkeypatch.setenv(name, value)
    settings = load().with_values(model__provider="scripted", files__workspace=str(folder))
    assistant = assemble(settings, attended=True)
    found: list[str] = []

    def hear(event: AgentEvent) -> None:
        if isinstance(event, ApprovalWanted):
            found.append(event.sentence.removeprefix("Let Wisp use ").partition("?")[0])
            asyncio.get_running_loop().call_soon(lambda: assistant.answer(event.approval_id, allow=True, scope=answer))

    assistant.subscribe(hear)
    try:
        await assistant.send(say, own=say)
    finally:
        await assistant.close()
    return found
