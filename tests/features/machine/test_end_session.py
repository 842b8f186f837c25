"""What ends the session never runs without an answer of the person, from every way in: logind itself tells."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import mcp_types as types
import pytest
from mcp import Client

from app.agent.agent_events import AgentEvent, ApprovalWanted
from app.agent.asking import question
from app.agent.inspection import DesktopInspector
from app.agent.policy import Mode, Policy, Trust
from app.assembly import registry
from app.assistant import Assistant, assemble, assembled
from app.base.geometry import Rect
from app.desktop.backends import Window
from app.desktop.desktop import Desktop
from app.desktop.headless import HeadlessDesktop
from app.features.serve.server import ClientDesk
from app.protocol.call import Block, ToolCall
from app.settings.store import Settings
from tests.features.machine.conftest import MockedMachine
from tests.support.waiting import eventually, within

ENDINGS = ("suspend", "log_out", "restart", "shut_down")
_METHODS = {"suspend": "Suspend", "log_out": "Terminate", "restart": "Reboot", "shut_down": "PowerOff"}
_SAID = {
    "suspend": "go to sleep",
    "log_out": "log me out",
    "restart": "restart the computer",
    "shut_down": "fahr den Rechner herunter",
}


@pytest.fixture
def logind(machine: MockedMachine) -> MockedMachine:
    machine.mock("logind")
    login = ("org.freedesktop.login1", "/org/freedesktop/login1")
    machine.tell(
        "--system", *login, "org.freedesktop.DBus.Mock.AddSession", "'auto'", "'seat0'", "500", "'ada'", "true"
    )
    return machine


def _ended(machine: MockedMachine) -> list[str]:
    """The methods of logind that end something, which were called."""
    ending = {*_METHODS.values(), "Hibernate", "TerminateSession", "TerminateUser", "Kill", "KillSession"}
    return [name for name in machine.calls("logind") if name in ending]


def _settings(folder: Path, provider: str = "offline", **more: str) -> Settings:
    folder.mkdir(exist_ok=True)
    return Settings({"model.provider": provider, "files.workspace": str(folder), **more}, {})


def _scripted(folder: Path, *replies: str, **more: str) -> Settings:
    script = folder.with_suffix(".json")
    script.write_text(json.dumps({"replies": [{"text": reply} for reply in replies]}))
    return _settings(folder, "scripted", **{"model.script": str(script), "trust.mode": "yolo", **more})


@asynccontextmanager
async def _nobody(settings: Settings) -> AsyncIterator[Assistant]:
    """An assistant that nobody watches, and that is allowed whatever a name can allow."""
    async with assembled(settings, without_screen=True, allowed=("end_session", *ENDINGS)) as assistant:
        yield assistant


@pytest.mark.parametrize("action", ENDINGS)
async def test_a_sentence_ends_nothing_where_nobody_can_be_asked(
    logind: MockedMachine, tmp_path: Path, action: str
) -> None:
    async with _nobody(_settings(tmp_path / "work")) as assistant:
        told: list[AgentEvent] = []
        assistant.subscribe(told.append)
        await within(assistant.send(_SAID[action]))
    assert any(action in str(event) for event in told)
    assert _ended(logind) == []


async def test_a_model_in_yolo_mode_ends_nothing_in_any_dialect(logind: MockedMachine, tmp_path: Path) -> None:
    xml = "".join(f'<end_session action="{action}"/>' for action in ENDINGS)
    batch = json.dumps({"calls": [{"tool": "end_session", "args": {"action": action}} for action in ENDINGS]})
    for name, reply, dialect in (("xml", xml, "xml"), ("batch", batch, "batch")):
        settings = _scripted(tmp_path / name, reply, "<say>Done.</say>", **{"model.dialect": dialect})
        async with _nobody(settings) as assistant:
            told: list[AgentEvent] = []
            assistant.subscribe(told.append)
            await within(assistant.send("Shut down, restart, suspend and log out: I allow it."))
        assert any("end_session" in str(event) for event in told)
    assert _ended(logind) == []


async def test_wisp_tool_ends_nothing_and_says_the_way(logind: MockedMachine, tmp_path: Path) -> None:
    async with _nobody(_settings(tmp_path / "work")) as assistant:
        for action in ENDINGS:
            result = await assistant.run(Block("c1", "end_session", args={"action": action}))
            assert (result.ok, "wisp do" in result.llm_echo) == (False, True)
    assert _ended(logind) == []


async def test_an_mcp_client_ends_nothing_without_the_persons_yes(logind: MockedMachine, tmp_path: Path) -> None:
    answers = ["no", "yes"]
    asked: list[str] = []

    async def answer(_context: object, params: types.ElicitRequestParams) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"answer": answers.pop(0)})

    async with _nobody(_settings(tmp_path / "work", **{"trust.mode": "yolo"})) as assistant:

        async def open_assistant() -> Assistant:
            return assistant

        make = partial(ClientDesk, open_assistant, everything=True, is_own_desktop=False)
        info = types.Implementation(name="robby", title="Robby", version="1")
        async with Client(make(may_elicit=False).server("1.0"), client_info=info) as client:
            assert (await client.call_tool("end_session", {"action": "shut_down"})).is_error
        how = {"client_info": info, "elicitation_callback": answer}
        async with Client(make(may_elicit=True).server("1.0"), **how) as client:  # type: ignore[arg-type]
            assert (await client.call_tool("end_session", {"action": "restart"})).is_error
            assert _ended(logind) == []
            assert not (await client.call_tool("end_session", {"action": "suspend"})).is_error
    assert len(asked) == 2
    assert eventually(lambda: _ended(logind) == ["Suspend"])


async def _answered(settings: Settings, said: str, *, allow: bool) -> list[ApprovalWanted]:
    """Say it to an assistant, and answer what it asks. Returns the questions."""
    asked: list[ApprovalWanted] = []
    assistant = assemble(settings, without_screen=True, attended=True)

    def hear(event: AgentEvent) -> None:
        if isinstance(event, ApprovalWanted):
            asked.append(event)
            assistant.answer(event.approval_id, allow=allow, scope="always")

    assistant.subscribe(hear)
    try:
        await within(assistant.send(said))
    finally:
        await assistant.close()
    return asked


@pytest.mark.parametrize("action", ENDINGS)
async def test_the_persons_answer_decides_each_time(logind: MockedMachine, tmp_path: Path, action: str) -> None:
    settings = _settings(tmp_path / "work")
    assert len(await _answered(settings, _SAID[action], allow=False)) == 1
    assert _ended(logind) == []
    for times in (1, 2):
        assert len(await _answered(settings, _SAID[action], allow=True)) == 1
        assert eventually(lambda times=times: _ended(logind) == [_METHODS[action]] * times)  # type: ignore[misc]


class _NotesDesktop(HeadlessDesktop):
    """A desktop with windows of these titles."""

    def __init__(self, *titles: str) -> None:
        super().__init__()
        self.opened = [Window(f"w{at}", title, "notes", Rect(0, 0, 9, 9)) for at, title in enumerate(titles)]


async def test_the_question_names_the_windows_with_unsaved_changes(tmp_path: Path) -> None:
    titles = ("*letter.txt - Mousepad", "report.txt", "todo.txt* - Kate", "● main.py - Code", "2*3")
    desktop = Desktop(_NotesDesktop(*titles).backend)
    spec = registry().find("end_session")
    assert spec is not None and spec.aim is not None
    call = ToolCall("c1", spec.name, {"action": "shut_down"})
    try:
        seen = await DesktopInspector(desktop).seen(call, spec.aim)
    finally:
        desktop.close()
    verdict = Policy(tmp_path, Mode.YOLO).decide(call, spec, seen, Trust(words="shut down"))
    assert verdict.act is not None
    for language in ("", "de"):
        asked = question(verdict.needs, verdict.act, language).text
        assert [title in asked for title in titles] == [True, False, True, True, False]
