"""A conversation whose program was killed: the disk as it was at that moment, opened by another program."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from app.agent.agent_events import AgentEvent, Outcome, TagStart, ToolFinished, TurnEnded
from app.agent.policy import Mode
from app.agent.prompt import cut_off, ending, told
from app.protocol.message import CallPart, Message, ResultPart, Role
from app.providers.api import OpaqueBlock
from app.providers.scripted import Reply, native_call
from tests.support.archived import Kept
from tests.support.stage import texts

LOOK_FIRST = cut_off().said


async def _killed(folder: Path, dialect: str, *replies: Reply, meanwhile: str = "", finished: str = "") -> Path:
    """Run until the call `long` hangs, and the call `finished` is over; a copy of the disk at that moment."""
    kept = Kept(folder, *replies, dialect=dialect, mode=Mode.YOLO)
    over = asyncio.Event()
    kept.stage.session.subscribe(
        lambda event: over.set() if isinstance(event, ToolFinished) and event.tool == finished else None
    )
    running = asyncio.ensure_future(kept.stage.send("Fetch it."))
    await kept.stage.bench.began.wait()
    if finished:
        await over.wait()
    if meanwhile:
        speaking = asyncio.ensure_future(kept.stage.session.send(meanwhile))
        await asyncio.sleep(0)
    await kept.database.done()
    copy = folder / "after"
    copy.mkdir()
    for file in folder.glob("journal.*"):
        shutil.copy(file, copy / file.name)
    kept.stage.session.stop()
    await running
    if meanwhile:
        with suppress(asyncio.CancelledError):
            await speaking
    await kept.close()
    return copy


async def _reopened(folder: Path, dialect: str, **parts: object) -> tuple[Kept, list[AgentEvent]]:
    kept = Kept(folder, "It is done.", dialect=dialect, mode=Mode.YOLO, **parts)
    await kept.database.run(lambda db: db.execute("update conversations set holder = '1 1'").fetchone())
    return kept, await kept.reopen_newest()


def _messages(kept: Kept) -> list[str]:
    return [texts(entry.message.parts) for entry in kept.stage.session.history.entries]


async def test_a_call_that_was_running_is_answered_and_not_run_again(tmp_path: Path) -> None:
    copy = await _killed(tmp_path, "xml", '<say>On it.</say><long name="a"/> never heard')
    kept, _ = await _reopened(copy, "xml")
    person, said, results, note = _messages(kept)
    assert (person, said) == ("Fetch it.", '<say>On it.</say><long name="a"/>')
    assert results == (
        f'<tool_results>\n<result tool="long" status="error">\nlong: {LOOK_FIRST}\n</result>\n</tool_results>'
    )
    assert note == told("ended_turn")
    assert kept.stage.bench.done == []
    assert (await kept.stage.send("And?")).text == "It is done."
    assert [message.role for message in kept.stage.provider.requests[0].messages] == [
        Role.USER,
        Role.ASSISTANT,
        Role.USER,
    ]
    await kept.close()


async def test_calls_that_had_ended_keep_their_results(tmp_path: Path) -> None:
    reply = (*native_call("n1", "run", {"command": "ls"}), *native_call("n2", "long", {"name": "a"}))
    said = [OpaqueBlock("anthropic", {"signature": "EqoB"}), "Both.", *reply]
    copy = await _killed(tmp_path, "native", said, finished="run")
    kept, _ = await _reopened(copy, "native")
    entries = kept.stage.session.history.entries
    assert [type(part).__name__ for part in entries[1].message.parts] == [
        "OpaquePart",
        "TextPart",
        "CallPart",
        "CallPart",
    ]
    assert entries[2].message.parts == (
        ResultPart("n1", "ls: exit 0"),
        ResultPart("n2", f"long: {LOOK_FIRST}", is_error=True),
    )
    await kept.close()


@pytest.mark.parametrize("dialect", ["xml", "batch", "native"])
async def test_every_call_is_answered_in_every_dialect(tmp_path: Path, dialect: str) -> None:
    reply: Reply = {
        "xml": '<long name="a"/>',
        "batch": '<execute>[{"name": "long", "args": {"name": "a"}}]</execute>',
        "native": native_call("n1", "long", {"name": "a"}),
    }[dialect]
    copy = await _killed(tmp_path, dialect, reply)
    kept, _ = await _reopened(copy, dialect)
    entries = kept.stage.session.history.entries
    assert "look" in texts(entries[2].message.parts).lower()
    assert _unanswered([entry.message for entry in entries]) == []
    assert kept.stage.bench.done == []
    await kept.close()


def _unanswered(messages: list[Message]) -> list[str]:
    """Native calls whose answer does not stand in the next message."""
    answers = [{part.call_id for part in message.parts if isinstance(part, ResultPart)} for message in messages]
    return [
        part.id
        for number, message in enumerate(messages)
        for part in message.parts
        if isinstance(part, CallPart) and (number + 1 == len(messages) or part.id not in answers[number + 1])
    ]


async def test_words_said_meanwhile_are_there(tmp_path: Path) -> None:
    copy = await _killed(tmp_path, "xml", '<long name="a"/>', "Fine.", meanwhile="Only the first page!")
    kept, _ = await _reopened(copy, "xml")
    assert _messages(kept)[-1] == "While you worked, the person said: Only the first page!"
    again = Kept(copy, "Yes.")
    await kept.close()
    await again.reopen_newest()
    assert _messages(again).count("While you worked, the person said: Only the first page!") == 1
    await again.close()


async def test_what_is_shown_ends_with_closed_cards_and_an_ended_turn(tmp_path: Path) -> None:
    copy = await _killed(tmp_path, "xml", '<long name="a"/>')
    kept, shown = await _reopened(copy, "xml")
    opened = next(event for event in shown if isinstance(event, TagStart))
    turn = shown[0].turn_id  # type: ignore[union-attr]
    assert shown[-2:] == [
        ToolFinished(
            opened.call_id,
            "long",
            False,
            "tool_error",
            {"tag": "long", "reason": LOOK_FIRST},
            LOOK_FIRST,
            facts=(cut_off(),),
        ),
        TurnEnded(turn, Outcome.STOPPED, ending("interrupted")),
    ]
    await kept.close()


async def test_it_is_told_once_which_conversations_were_interrupted(tmp_path: Path) -> None:
    copy = await _killed(tmp_path, "xml", '<long name="a"/>')
    kept = Kept(copy, "Fine.")
    await kept.database.run(lambda db: db.execute("update conversations set holder = '1 1'").fetchone())
    assert [past.title for past in await kept.archive.interrupted()] == ["Fetch it."]
    assert await kept.archive.interrupted() == []
    await kept.reopen_newest()
    await kept.stage.send("Go on.")
    await kept.stage.session.close()
    assert await Kept(copy).archive.interrupted() == []


async def test_a_turn_that_runs_in_this_very_process_was_not_interrupted(tmp_path: Path) -> None:
    kept = Kept(await _killed(tmp_path, "xml", '<long name="a"/>'), "Fine.")
    assert await kept.archive.interrupted() == []
    await kept.close()
