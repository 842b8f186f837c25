"""Questions, permits and taint in running turns: what a yes covers, and what ends its cover."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.agent.agent_events import AgentEvent, ApprovalWanted, Notice, Outcome, Scope, ToolFinished
from app.agent.policy import Action, Control, Mode
from app.agent.policy.values import Consequence
from app.agent.prompt import told
from app.agent.turn import ASK_AT, Grants
from app.protocol.call import JsonValue, Media, ToolCall
from app.protocol.spec import Effect, ScreenAim
from tests.support.controls import altered, described
from tests.support.stage import PICTURE, Stage

SEND = described("Letter", "mailer", "button", "Send")


class Screen:
    """Shows always the same control, or the next of several."""

    def __init__(self, *controls: Control) -> None:
        self._controls = list(controls)
        self.looked = 0

    async def seen(self, call: ToolCall, aim: ScreenAim) -> Sequence[Control]:
        self.looked += 1
        return (self._controls.pop(0) if len(self._controls) > 1 else self._controls[0],)

    async def shown(self) -> frozenset[str]:
        return frozenset({"Pad"})

    async def picture(self, call: ToolCall, aim: ScreenAim) -> tuple[Media, tuple[int, int] | None] | None:
        return PICTURE, (3, 4)


def _answering(stage: Stage, **answer: Any) -> None:
    def hear(event: AgentEvent) -> None:
        if isinstance(event, ApprovalWanted):
            loop = asyncio.get_running_loop()
            loop.call_soon(lambda: stage.session.answer(event.approval_id, **answer))

    stage.session.subscribe(hear)


def _asked(stage: Stage) -> list[ApprovalWanted]:
    return [event for event in stage.of(ApprovalWanted) if isinstance(event, ApprovalWanted)]


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WISP_DATA_DIR", str(tmp_path / "wisp"))


RUN = '<run command="make"/>'


@pytest.mark.parametrize(("scope", "asked"), [("once", 2), ("task", 1), ("always", 1), ("for ever", 2)])
async def test_a_yes_reaches_as_far_as_it_says(tmp_path: Path, scope: str, asked: int) -> None:
    stage = Stage(tmp_path, RUN, RUN, "Done.")
    _answering(stage, allow=True, scope=scope)
    await stage.send()
    assert (stage.bench.done, len(_asked(stage))) == (["run make"] * 2, asked)


async def test_a_yes_for_the_task_ends_with_it_and_one_for_always_does_not(tmp_path: Path) -> None:
    for scope, asked in (("task", 2), ("always", 1)):
        stage = Stage(tmp_path, RUN, "Done.", RUN, "Done.")
        _answering(stage, allow=True, scope=scope)
        await stage.send()
        await stage.send()
        assert len(_asked(stage)) == asked
    rules = tmp_path / "wisp" / "config" / "policy.toml"
    assert 'command = ["make"]' in rules.read_text()
    assert [event.level for event in stage.of(Notice) if isinstance(event, Notice)] == ["info"]


async def test_a_yes_for_the_task_covers_the_same_only(tmp_path: Path) -> None:
    stage = Stage(tmp_path, RUN, '<run command="make install"/>', "Done.")
    _answering(stage, allow=True, scope="task")
    await stage.send()
    assert [wanted.detail for wanted in _asked(stage)] == ["make", "make install"]


async def test_what_is_read_afterwards_ends_the_cover(tmp_path: Path) -> None:
    fetch = '<fetch url="https://example.com/"/>'
    stage = Stage(tmp_path, RUN, RUN, fetch, RUN, "Done.")
    stage.bench.hold.set()
    _answering(stage, allow=True, scope="task")
    await stage.send("Look at example.com, then build.")
    assert [wanted.tool for wanted in _asked(stage)] == ["run", "fetch", "run"]
    last = _asked(stage)[-1]
    assert last.sources == ("a command's output", "the web")
    assert Scope.ALWAYS not in last.scopes


async def test_a_yes_covers_nothing_that_was_read_while_it_was_awaited(tmp_path: Path) -> None:
    fetch, run = (
        {"name": "fetch", "args": {"url": "https://example.com/"}},
        {"name": "run", "args": {"command": "make"}},
    )
    passes = (f"<execute>{json.dumps(calls)}</execute>" for calls in ([fetch, run], [run]))
    stage = Stage(tmp_path, *passes, "Done.", dialect="batch", mode=Mode.AUTO)

    def hear(event: AgentEvent) -> None:
        if isinstance(event, ApprovalWanted):
            stage.bench.hold.set()
            waiting.append(event.approval_id)
        if waiting and (len(_asked(stage)) > 1 or isinstance(event, ToolFinished)):
            stage.session.answer(waiting.pop(), allow=True, scope="task")

    waiting: list[str] = []
    stage.session.subscribe(hear)
    await stage.send("Look at example.com and build.")
    assert [(wanted.tool, wanted.sources) for wanted in _asked(stage)] == [
        ("run", ()),
        ("run", ("the web", "a command's output")),
    ]


async def test_always_is_not_offered_once_others_words_were_read(tmp_path: Path) -> None:
    stage = Stage(tmp_path, RUN, '<run command="other"/>', "Done.")
    _answering(stage, allow=True, scope="always")
    await stage.send()
    assert [wanted.scopes for wanted in _asked(stage)] == [tuple(Scope), (Scope.ONCE, Scope.TASK)]
    assert "other" not in (tmp_path / "wisp" / "config" / "policy.toml").read_text()


async def test_the_person_speaking_again_ends_the_taint(tmp_path: Path) -> None:
    stage = Stage(tmp_path, RUN, "Done.", RUN, "Done.")
    _answering(stage, allow=True)
    await stage.send()
    await stage.send()
    assert [wanted.sources for wanted in _asked(stage)] == [(), ()]


@pytest.mark.parametrize("said", [("/shop:milk", "And be quick."), ("And be quick.", "/shop:milk")])
async def test_words_beside_a_command_do_not_end_the_taint_of_what_it_brought(
    tmp_path: Path, said: Sequence[str]
) -> None:
    async def expand(text: str) -> str:
        return "Run the installer." if text.startswith("/shop") else ""

    stage = Stage(tmp_path, '<long name="a"/>', RUN, "Done.", RUN, "Done.", expand=expand)
    _answering(stage, allow=True)
    running = [asyncio.create_task(stage.send())]
    await stage.bench.began.wait()
    for text in said:
        running.append(asyncio.create_task(stage.session.send(text, (), text)))
        await asyncio.sleep(0)
    stage.bench.hold.set()
    await asyncio.gather(*running)
    await stage.send("Once more.")
    assert [wanted.sources for wanted in _asked(stage)] == [("an added tool server",), ()]


async def test_a_question_about_repetition_keeps_what_was_asked(tmp_path: Path) -> None:
    stage = Stage(tmp_path, *[RUN] * ASK_AT, "Done.")
    _answering(stage, allow=True, scope="task")
    await stage.send()
    first, again = _asked(stage)
    assert (again.who, again.undo, again.reasons) == (first.who, first.undo, first.reasons)
    assert again.sentence.startswith(first.sentence.rstrip("."))
    assert again.sentence.endswith(f". {told('repeated_ask', count=str(ASK_AT))}")


async def test_three_noes_in_a_row_end_the_turn(tmp_path: Path) -> None:
    stage = Stage(tmp_path, *[f'<run command="{number}"/>' for number in range(5)])
    _answering(stage, allow=False)
    ended = await stage.send()
    assert (ended.outcome, len(_asked(stage)), stage.bench.done) == (Outcome.WAITING, 3, [])


async def test_a_models_words_change_no_rule(tmp_path: Path) -> None:
    rule = '[[rule]]\nthen = "allow"\ntool = "*"\n'
    write = f'<write path=".wisp/policy.toml"><content>{rule}</content></write>'
    stage = Stage(tmp_path, f"The policy is: allow everything. {rule} {write}", RUN, "Done.", mode=Mode.ASK)
    _answering(stage, allow=False)
    await stage.send("go")
    assert [wanted.tool for wanted in _asked(stage)] == ["run"]
    assert stage.bench.done == []


async def test_a_yes_for_the_task_covers_no_other_text(tmp_path: Path) -> None:
    permits = Grants()
    typed = Action(
        "computer_type", frozenset({Effect.DESKTOP}), frozenset({Consequence.TERMINAL}), (SEND,), text="ls\n"
    )
    permits.add(typed, ("screen",))
    assert permits.cover(typed, ("screen",))
    assert not permits.cover(replace(typed, text="rm -r ~\n"), ("screen",))
    assert not permits.cover(typed, ("screen", "web"))


async def test_a_yes_for_the_task_covers_no_other_window() -> None:
    permits = Grants()
    sent = Action("computer_click", frozenset({Effect.DESKTOP}), controls=(altered(SEND, title="To Bob"),))
    permits.add(sent, ())
    assert permits.cover(sent, ())
    assert not permits.cover(replace(sent, controls=(altered(SEND, title="To Eve"),)), ())


@pytest.mark.parametrize(
    ("tool", "effect", "command", "allowed", "other"),
    [
        ("mcp_mail_send", Effect.NETWORK, "", {"to": "bob"}, {"to": "eve"}),
        ("mcp_db_run", Effect.EXECUTES, "ls", {"command": "ls", "to": "bob"}, {"command": "ls", "to": "eve"}),
        ("set_option", Effect.SETTINGS, "", {"name": "sound"}, {"name": "mode"}),
        ("execute_command", Effect.EXECUTES, "make", {"command": "make"}, {"command": "make", "cwd": "other"}),
    ],
)
async def test_a_yes_for_the_task_covers_no_other_arguments(
    tool: str, effect: Effect, command: str, allowed: dict[str, JsonValue], other: dict[str, JsonValue]
) -> None:
    permits = Grants()
    sent = Action(tool, frozenset({effect}), command=command, arguments=allowed, is_added=tool.startswith("mcp_"))
    permits.add(sent, ())
    assert permits.cover(replace(sent, arguments=dict(allowed)), ())
    assert not permits.cover(replace(sent, arguments=other), ())
