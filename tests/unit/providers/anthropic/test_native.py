"""The vendor's computer tools from declaration to replay, against a server that keeps the vendor's rules."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from app.base.errors import Refused
from app.protocol.call import Media
from app.protocol.message import CallPart, Message, OpaquePart, ResultPart, Role, TextPart, assistant, user
from app.providers.anthropic.provider import AnthropicProvider
from app.providers.api import (
    Alive,
    NativeCallDelta,
    NativeCallEnded,
    NativeCallStarted,
    OpaqueBlock,
    Request,
    StreamEvent,
    TextDelta,
    Thinking,
)
from tests.support.loopback import AnthropicServer, Call, Ping, Reply, Status, Thought
from tests.unit.providers.anthropic.test_computer_toolset import OURS, tools

PICTURE = Media(b"\x89PNG\r\n\x1a\n00000000\x00\x00\x04\x00\x00\x00\x03\x00", "image/png", 1024, 768)
CLICK = Call("left_click", {"coordinate": [3, 4]}, "c1", toolset="computer")


@pytest.fixture
async def server() -> AsyncIterator[AnthropicServer]:
    async with AnthropicServer() as server:
        yield server


@pytest.fixture
async def provider(server: AnthropicServer) -> AsyncIterator[AnthropicProvider]:
    provider = AnthropicProvider("sk-test", base_url=server.url)
    yield provider
    await provider.close()


async def told(provider: AnthropicProvider, *messages: Message, model: str = "claude-sonnet-5-5") -> list[StreamEvent]:
    request = Request(
        model, "You are Wisp.", messages or (user("click"),), "It is noon.", tuple(tools(*OURS, "open_app"))
    )
    return [event async for event in provider.stream(request)]


def calls(events: list[StreamEvent]) -> list[StreamEvent]:
    return [event for event in events if isinstance(event, (NativeCallStarted, NativeCallDelta, NativeCallEnded))]


async def test_a_call_of_the_toolset_arrives_as_ours(server: AnthropicServer, provider: AnthropicProvider) -> None:
    server.replies = [Reply.of(CLICK, stop="tool_use")]
    assert calls(await told(provider)) == [
        NativeCallStarted("c1", "computer_click", "computer"),
        NativeCallDelta("c1", '{"x": 3, "y": 4}'),
        NativeCallEnded("c1", {"x": 3, "y": 4}),
    ]
    assert server.bodies[0]["tools"][0]["type"] == "computer_toolset_20260801"
    assert [tool.get("name") for tool in server.bodies[0]["tools"]] == [None, "computer_click", "open_app"]


async def test_a_conversation_with_toolset_thinking_and_pictures_keeps_all_the_vendors_rules(
    server: AnthropicServer, provider: AnthropicProvider
) -> None:
    """The server refuses wrong pairs, wrong toolsets and thinking whose prefix has changed."""
    second = Call("screenshot", {}, "c2", toolset="computer")
    server.replies = [Reply.of(Thought("hm", "c2lnMQ=="), CLICK, second, stop="tool_use"), "Done."]
    events = await told(provider)
    thought = next(event for event in events if isinstance(event, OpaqueBlock))
    made = (OpaquePart("anthropic", thought.value), CallPart("c1", "computer_click", {"x": 3, "y": 4}, "computer"))
    history = (
        user("click"),
        Message(Role.ASSISTANT, (*made, CallPart("c2", "screen_capture", {}, "computer"))),
        Message(Role.USER, (ResultPart("c1", "Clicked."), ResultPart("c2", "", (PICTURE,)))),
    )
    assert TextDelta("Done.") in await told(provider, *history)
    said = server.bodies[1]["messages"]
    assert [block["type"] for block in said[1]["content"]] == ["thinking", "tool_use", "tool_use"]
    assert said[1]["content"][1] == {
        "type": "tool_use",
        "id": "c1",
        "name": "left_click",
        "input": {"coordinate": [3, 4]},
        "toolset_name": "computer",
    }
    assert [block.get("toolset_name") for block in said[2]["content"][:2]] == ["computer", "computer"]


async def test_the_facts_of_an_earlier_moment_do_not_invalidate_thinking(
    server: AnthropicServer, provider: AnthropicProvider
) -> None:
    """Not even for a server that refuses what it may otherwise drop: the request only ever grows."""
    server.replies = [Reply.of(Thought("hm", "c2lnMg=="), "Hello."), "Again."]
    thought = next(event for event in await told(provider) if isinstance(event, OpaqueBlock))
    reply = Message(Role.ASSISTANT, (OpaquePart("anthropic", thought.value), TextPart("Hello.")))
    await told(provider, user("click"), reply, user("again"))
    strict = server.bodies[1] | {"thinking": {"type": "adaptive"}}
    assert server.rules.broken_by(strict, server.requests[1].headers) == ""
    changed = strict | {"system": "Somebody else."}
    assert "bound to a different conversation" in server.rules.broken_by(changed, server.requests[1].headers)


async def test_an_older_model_names_the_member_among_the_arguments(
    server: AnthropicServer, provider: AnthropicProvider
) -> None:
    server.replies = [
        Reply.of(Call("computer", {"action": "key", "text": "ctrl+s"}, "c1"), stop="tool_use"),
        "Done.",
    ]
    assert calls(await told(provider, model="claude-opus-4-6")) == [
        NativeCallStarted("c1", "computer_key", "computer"),
        NativeCallDelta("c1", '{"keys": "ctrl+s"}'),
        NativeCallEnded("c1", {"keys": "ctrl+s"}),
    ]
    assert "computer-use-2025-11-24" in server.requests[0].headers["anthropic-beta"]
    answer = Message(Role.USER, (ResultPart("c1", "Pressed.", (PICTURE,)),))
    history = (user("save"), Message(Role.ASSISTANT, (CallPart("c1", "computer_key", {"keys": "ctrl+s"}),)), answer)
    await told(provider, *history, model="claude-opus-4-6")
    assert server.bodies[1]["messages"][1]["content"][0]["input"] == {"action": "key", "text": "ctrl+s"}
    declared = server.bodies[1]["tools"][0]
    assert (declared["display_width_px"], declared["display_height_px"]) == (1024, 768)


async def test_a_tool_type_that_is_refused_is_left_out_once_and_for_all(server: AnthropicServer) -> None:
    refusal = Status(400, message="'claude-sonnet-5-5' does not support tool types: computer_toolset_20260801.")
    server.replies = [refusal, "one", "two"]
    for word in ("one", "two"):
        provider = AnthropicProvider("sk-test", base_url=server.url)
        assert TextDelta(word) in await told(provider)
        await provider.close()
    kinds = [[tool.get("type", "ours") for tool in body["tools"]] for body in server.bodies]
    assert kinds[0] == ["computer_toolset_20260801", "ours", "ours"]
    assert kinds[1] == kinds[2] == ["ours"] * (len(OURS) + 1)


async def with_pages(
    provider: AnthropicProvider, *messages: Message, model: str = "claude-sonnet-5-5"
) -> list[StreamEvent]:
    request = Request(model, "", messages or (user("open it"),), "", tuple(tools(*OURS, "browser_action")))
    return [event async for event in provider.stream(request)]


NAVIGATE = Call("navigate", {"url": "example.com"}, "n1", toolset="browser")
PRESS = Call("left_click", {"target": {"type": "ref", "ref": "e5"}}, "n2", toolset="browser")


async def test_calls_of_the_browser_tools_arrive_as_ours_and_are_replayed_as_written(
    server: AnthropicServer, provider: AnthropicProvider
) -> None:
    """The server refuses results of another toolset, and a toolset entry with anything more than the API takes."""
    server.replies = [Reply.of(NAVIGATE, PRESS, CLICK, stop="tool_use"), "Done."]
    events = await with_pages(provider)
    launched = {"action": "launch", "url": "https://example.com"}
    assert calls(events)[:3] == [
        NativeCallStarted("n1", "browser_action", "browser"),
        NativeCallDelta("n1", json.dumps(launched)),
        NativeCallEnded("n1", launched),
    ]
    assert NativeCallEnded("n2", {"action": "click", "ref": "e5"}) in events
    assert NativeCallStarted("c1", "computer_click", "computer") in events
    made = (
        CallPart("n1", "browser_action", launched, "browser"),
        CallPart("n2", "browser_action", {"action": "click", "ref": "e5"}, "browser"),
        CallPart("c1", "computer_click", {"x": 3, "y": 4}, "computer"),
    )
    answers = (ResultPart("n1", "No such page.", is_error=True), ResultPart("c1", "Clicked."))
    history = (user("open it"), Message(Role.ASSISTANT, made), Message(Role.USER, answers))
    assert TextDelta("Done.") in await with_pages(provider, *history)
    said, told = server.bodies[1]["messages"][1:3]
    assert [block["toolset_name"] for block in told["content"]] == ["browser", "browser", "computer"]
    assert said["content"][0]["input"] == {"url": "example.com"}
    assert told["content"][1]["content"][0]["text"] == "Not executed: an earlier action in this turn failed."
    kinds = [tool.get("type", tool.get("name")) for tool in server.bodies[1]["tools"]]
    assert [kinds[0], kinds[-2:]] == ["computer_toolset_20260801", ["browser_toolset_20260801", "browser_action"]]


@pytest.mark.parametrize("model", ["claude-opus-4-6", "claude-haiku-4-5"])
async def test_models_without_the_browser_tools_get_ours(
    server: AnthropicServer, provider: AnthropicProvider, model: str
) -> None:
    server.replies = ["Done."]
    await with_pages(provider, model=model)
    assert "browser_toolset_20260801" not in str(server.bodies[0]["tools"])
    assert server.bodies[0]["tools"][-1]["name"] == "browser_action"


async def test_browser_tools_that_a_server_refuses_are_left_out_once_and_for_all(server: AnthropicServer) -> None:
    refusal = Status(400, message="tools.5: Input tag 'browser_toolset_20260801' found using 'type' does not match")
    server.replies = [refusal, "one", "two"]
    for _ in range(2):
        provider = AnthropicProvider("sk-test", base_url=server.url)
        await with_pages(provider)
        await provider.close()
    has = ["browser_toolset_20260801" in str(body["tools"]) for body in server.bodies]
    assert has == [True, False, False]
    assert server.bodies[2]["tools"][0]["type"] == "computer_toolset_20260801"


async def test_a_field_that_is_refused_again_is_a_refusal(server: AnthropicServer, provider: AnthropicProvider) -> None:
    refusal = Status(400, message="thinking.block_binding: Extra inputs are not permitted")
    server.replies = [refusal, refusal, "too late"]
    with pytest.raises(Refused, match="block_binding"):
        await told(provider)
    assert "block_binding" in server.bodies[0]["thinking"]
    assert "block_binding" not in server.bodies[1]["thinking"]


async def test_the_vendors_pings_are_signs_of_life(server: AnthropicServer, provider: AnthropicProvider) -> None:
    server.replies = ["warm", Reply.of("x", Ping(), Ping())]
    await told(provider)
    assert [event for event in await told(provider) if isinstance(event, (Alive, TextDelta))] == [
        TextDelta("x"),
        Alive(),
        Alive(),
    ]


async def test_thinking_is_kept_with_its_signature(server: AnthropicServer, provider: AnthropicProvider) -> None:
    server.replies = [Reply.of(Thought("Let me see.", "c2ln"), "Yes.")]
    events = await told(provider)
    assert OpaqueBlock("anthropic", {"type": "thinking", "thinking": "Let me see.", "signature": "c2ln"}) in events
    assert "".join(event.text for event in events if isinstance(event, Thinking)) == "Let me see."


async def test_the_key_is_sent_as_the_vendor_wants_it_and_nothing_else_is_sampled(
    server: AnthropicServer, provider: AnthropicProvider
) -> None:
    server.replies = ["ok"]
    await told(provider, user("a"), assistant("b"), user("c"))
    headers: dict[str, Any] = server.requests[0].headers
    assert headers["authorization"] == "Bearer sk-test"
    assert headers["anthropic-version"] == "2026-10-21"
    assert server.bodies[0]["stream"] is True
