"""Whole turns with a server that speaks the OpenAI wire, and takes the liberties that such servers take."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from app.agent.agent_events import Notice, Outcome, SayDelta, TurnEnded
from app.providers.openai_compatible.provider import OpenAICompatibleProvider
from tests.support.loopback import Broken, Call, Drop, Fault, OpenAIServer, Reply, Seen, Status
from tests.support.stage import Stage

_DONE = "<attempt_completion><result>Done.</result></attempt_completion>"


async def _turn(folder: Path, server: OpenAIServer, dialect: str) -> tuple[Stage, TurnEnded]:
    provider = OpenAICompatibleProvider(base_url=server.url, idle_s=5)
    stage = Stage(folder, dialect=dialect, provider=provider, model="llama3.2")
    try:
        return stage, await stage.send()
    finally:
        await provider.close()


def _speech(stage: Stage) -> str:
    return "".join(event.text for event in stage.events if isinstance(event, SayDelta))


async def test_calls_written_as_xml_in_a_native_conversation_run_and_end_the_turn(tmp_path: Path) -> None:
    async with OpenAIServer([Reply.of(Call("look"), stop="tool_use"), f"<say>There.</say>\n{_DONE}"]) as server:
        stage, ended = await _turn(tmp_path, server, "native")
    assert (ended.outcome, ended.text, len(server.requests)) == (Outcome.FINISHED, "Done.", 2)
    assert (stage.bench.done, _speech(stage)) == (["look"], "There.Done.")


def _calling(*deltas: dict[str, Any]) -> Reply:
    """Return a stream of these deltas of one call, each as the server writes it."""
    chunks = [{"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, **delta}]}}]} for delta in deltas]
    return Reply.of(*[Broken(json.dumps(chunk)) for chunk in chunks], stop="tool_use")


_WHOLE = ({"id": "c1", "function": {"name": "read", "arguments": {"path": "a"}}},)
_STREAMED = ({"id": "c1", "function": {"name": "read", "arguments": {}}}, {"function": {"arguments": {"path": "a"}}})


@pytest.mark.parametrize("deltas", [_WHOLE, _STREAMED], ids=["whole", "streamed"])
async def test_arguments_that_come_as_an_object_are_taken(deltas: tuple[dict[str, Any], ...], tmp_path: Path) -> None:
    async with OpenAIServer([_calling(*deltas), "Three lines."]) as server:
        stage, ended = await _turn(tmp_path, server, "native")
    assert (ended.text, stage.bench.done, len(server.requests)) == ("Three lines.", ["read a"], 2)


async def test_speech_that_broke_off_ends_where_the_next_call_begins(tmp_path: Path) -> None:
    async with OpenAIServer([Reply.of("<say>work", Fault("server_error")), _DONE]) as server:
        stage, ended = await _turn(tmp_path, server, "xml")
    assert (ended.outcome, ended.text, len(server.requests)) == (Outcome.FINISHED, "Done.", 2)
    assert _speech(stage) == "workDone."


_FULL = Status(400, message="This model's maximum context length is 4096 tokens.")


@pytest.mark.parametrize("dialect", ["xml", "batch", "native"])
async def test_a_model_that_reads_little_at_once_is_asked_again_with_the_shortest_docs(
    tmp_path: Path, dialect: str
) -> None:
    async with OpenAIServer([_FULL, "Hello."]) as server:
        stage, ended = await _turn(tmp_path, server, dialect)
    long, short = (json.dumps([body["messages"][0], body.get("tools", [])]) for body in server.bodies)
    assert (ended.text, len(stage.of(Notice))) == ("Hello.", 1)
    assert ("Fake: look." in long, "Fake: look." in short, "look, read (path)" in short) == (True, False, True)


async def test_a_model_that_reads_too_little_is_told_with_what_to_change(tmp_path: Path) -> None:
    async with OpenAIServer([_FULL, _FULL, "never asked"]) as server:
        _, ended = await _turn(tmp_path, server, "xml")
    assert (ended.outcome, len(server.requests)) == (Outcome.FAILED, 2)
    assert [way for way in ("4096", "OLLAMA_CONTEXT_LENGTH", "--ctx-size", "--model") if way not in ended.text] == []


async def test_a_long_conversation_is_no_reason_to_shorten_the_docs(tmp_path: Path) -> None:
    async with OpenAIServer([_FULL, "never asked"]) as server:
        provider = OpenAICompatibleProvider(base_url=server.url, idle_s=5)
        stage = Stage(tmp_path, provider=provider, model="llama3.2")
        ended = await stage.send("word " * 20_000)
        await provider.close()
    assert (ended.outcome, len(server.requests)) == (Outcome.FAILED, 1)


async def test_a_limit_of_the_answer_that_does_not_fit_is_left_out(tmp_path: Path) -> None:
    told = "you requested 9000 tokens (808 in the messages, 8192 in the completion). Please reduce the length"
    refusal = Status(400, message=f"This model's maximum context length is 4096 tokens. However, {told}")

    def answer(seen: Seen) -> Status | str:
        return refusal if {"max_tokens", "max_completion_tokens"} & seen.body.keys() else "Hello."

    async with OpenAIServer([answer] * 3) as server:
        _, ended = await _turn(tmp_path, server, "xml")
    assert (ended.text, len(server.requests)) == ("Hello.", 3)


async def test_a_connection_that_breaks_off_is_told_in_a_whole_sentence(tmp_path: Path) -> None:
    async with OpenAIServer([Reply.of("Hel", Drop()), "lo."]) as server:
        stage, ended = await _turn(tmp_path, server, "xml")
        place = server.url
    (notice,) = (event for event in stage.events if isinstance(event, Notice))
    assert notice.sentence.startswith(f"The model server at {place} broke off in the middle")
    assert ended.text == "Hello."
