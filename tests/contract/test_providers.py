"""What every provider promises, held against the vendors' own wire formats and their own SDKs."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import threading
from contextlib import aclosing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from app.base.errors import BadAnswer, ContextOverflow, OverLimit, PictureRefused, ProviderError, Refused, Unreachable
from app.protocol.call import Media
from app.protocol.message import CallPart, ImagePart, Message, ResultPart, Role, TextPart, assistant, user
from app.providers.api import (
    Alive,
    NativeCallDelta,
    NativeCallEnded,
    NativeCallStarted,
    Request,
    Stopped,
    StreamEvent,
    TextDelta,
    Thinking,
    Usage,
)
from tests.contract.providers import VENDORS, Vendor, streamed
from tests.support.loopback import Broken, Call, Drop, Ping, Reply, Stall, Status, Text, Thought

PICTURE = Media(b"\x89PNG\r\n\x1a\n0000", "image/png", 8, 6, label="the screen")
WORDS = 'Grüße <computer_click x="12"/> 日本 🙂 end'
IDLE_S = 5.0
SHORT_S = 0.15


@pytest.fixture(params=VENDORS, ids=lambda vendor: vendor.name)
def vendor(request: pytest.FixtureRequest) -> Vendor:
    return request.param


def asked(vendor: Vendor, *messages: Message, **more: Any) -> Request:
    return Request(vendor.model, "You are Wisp.", messages or (user("hello"),), **more)


async def told(vendor: Vendor, *replies: Any, request: Request | None = None, idle_s: float = IDLE_S) -> list[Any]:
    """The events of one stream."""
    async with vendor.server(replies) as server:
        provider = vendor.provider(server.url, idle_s)
        try:
            return await streamed(provider, request or asked(vendor))
        finally:
            await provider.close()


async def sent(vendor: Vendor, request: Request) -> dict[str, Any]:
    """The body that a request becomes on the wire."""
    async with vendor.server(["ok"]) as server:
        provider = vendor.provider(server.url, IDLE_S)
        await streamed(provider, request)
        await provider.close()
        return server.bodies[0]


def essence(events: list[StreamEvent]) -> list[StreamEvent]:
    """What was said and called, without figures and signs of life."""
    return [event for event in events if not isinstance(event, (Usage, Alive))]


@pytest.mark.parametrize("bytes_at_once", [0, 1, 3, 64])
async def test_text_arrives_whole_however_the_stream_is_cut(vendor: Vendor, bytes_at_once: int) -> None:
    for cut in (1, 4, 1000):
        events = await told(vendor, Reply.of(Text(WORDS, cut), bytes_at_once=bytes_at_once))
        assert "".join(event.text for event in events if isinstance(event, TextDelta)) == WORDS
        assert events[-1] == Stopped("end_turn")


async def test_text_arrives_piece_by_piece(vendor: Vendor) -> None:
    events = essence(await told(vendor, Reply.of(Text("one two", 4))))
    assert events == [TextDelta("one "), TextDelta("two"), Stopped("end_turn")]


async def test_a_native_call_streams_its_arguments_and_ends_with_the_whole(vendor: Vendor) -> None:
    args = {"path": 'a "b"\n日本', "size": {"deep": [1, 2.5, None, True]}}
    events = essence(await told(vendor, Reply.of("So:", Call("write_file", args, "c1"), stop="tool_use")))
    pieces = [event for event in events if isinstance(event, NativeCallDelta)]
    assert events[0] == TextDelta("So:")
    assert events[1] == NativeCallStarted("c1", "write_file")
    assert len(pieces) > 3
    assert {piece.call_id for piece in pieces} == {"c1"}
    assert events[-2:] == [NativeCallEnded("c1", args), Stopped("tool_use")]


async def test_parallel_calls_end_in_the_order_they_began(vendor: Vendor) -> None:
    reply = Reply.of(Call("wait", {"seconds": 1}, "c1"), Call("list_windows", {}, "c2"), stop="tool_use")
    events = await told(vendor, reply)
    assert [event for event in events if isinstance(event, (NativeCallStarted, NativeCallEnded))] == [
        NativeCallStarted("c1", "wait"),
        NativeCallEnded("c1", {"seconds": 1}),
        NativeCallStarted("c2", "list_windows"),
        NativeCallEnded("c2", {}),
    ]


async def test_thinking_is_shown_and_is_no_answer(vendor: Vendor) -> None:
    events = await told(vendor, Reply.of(Thought("I wonder about this."), "Yes."))
    assert "".join(event.text for event in events if isinstance(event, Thinking)) == "I wonder about this."
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "Yes."


async def test_the_providers_own_figures_are_told(vendor: Vendor) -> None:
    events = await told(vendor, Reply.of("x", input_tokens=120, output_tokens=7, cache_read_tokens=900))
    assert [event for event in events if isinstance(event, Usage)][-1] == Usage(120, 7, 900, 0)


@pytest.mark.parametrize("reason", ["end_turn", "max_tokens", "tool_use", "refusal"])
async def test_the_reason_for_stopping_is_told_in_one_vocabulary(vendor: Vendor, reason: str) -> None:
    assert (await told(vendor, Reply.of("x", stop=reason)))[-1] == Stopped(reason)


_WHOLE = {
    "anthropic": {
        "type": "message",
        "content": [
            {"type": "text", "text": "So:"},
            {"type": "tool_use", "id": "c1", "name": "wait", "input": {"seconds": 1}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 3, "output_tokens": 4},
    },
    "openai": {
        "choices": [
            {
                "message": {
                    "role": "assistant",
                    "content": "So:",
                    "tool_calls": [{"id": "c1", "function": {"name": "wait", "arguments": '{"seconds": 1}'}}],
                },
                "finish_reason": "tool_calls",
            }
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4},
    },
}


async def test_an_answer_that_is_not_streamed_is_read_all_the_same(vendor: Vendor) -> None:
    events = essence(await told(vendor, Status(200, body=json.dumps(_WHOLE[vendor.name]))))
    ended = [event for event in events if isinstance(event, (TextDelta, NativeCallStarted, NativeCallEnded, Stopped))]
    call = NativeCallStarted("c1", "wait"), NativeCallEnded("c1", {"seconds": 1})
    assert ended == [TextDelta("So:"), *call, Stopped("tool_use")]


async def test_json_that_is_no_answer_gets_a_sentence(vendor: Vendor) -> None:
    with pytest.raises(ProviderError):
        await told(vendor, Status(200, body='{"status": "ok"}'))


async def test_signs_of_life_say_nothing(vendor: Vendor) -> None:
    assert essence(await told(vendor, Reply.of("x", Ping(), Ping()))) == [TextDelta("x"), Stopped("end_turn")]


async def test_a_screenshot_is_sent_as_a_picture_with_its_label_before_it(vendor: Vendor) -> None:
    message = Message(Role.USER, (TextPart("Here it is."), ImagePart(PICTURE)))
    body = await sent(vendor, asked(vendor, message))
    kinds = [block["type"] for block in body["messages"][-1]["content"]]
    assert vendor.pictures(body) == [PICTURE.data]
    assert [block["text"] for block in body["messages"][-1]["content"][:2]] == ["Here it is.", "the screen"]
    assert kinds[:2] == ["text", "text"]


async def test_a_calls_result_with_a_picture_answers_the_call(vendor: Vendor) -> None:
    messages = (
        user("look"),
        Message(Role.ASSISTANT, (TextPart("Looking."), CallPart("c1", "screen_capture", {}))),
        Message(Role.USER, (ResultPart("c1", "1280x800", (PICTURE,)), TextPart("go on"))),
    )
    assert vendor.pictures(await sent(vendor, asked(vendor, *messages))) == [PICTURE.data]


async def test_a_failed_call_may_have_a_picture_too(vendor: Vendor) -> None:
    messages = (
        user("look"),
        Message(Role.ASSISTANT, (CallPart("c1", "wait", {"until": "x"}),)),
        Message(Role.USER, (ResultPart("c1", "It never came.", (PICTURE,), is_error=True),)),
    )
    assert vendor.pictures(await sent(vendor, asked(vendor, *messages))) == [PICTURE.data]


async def test_neighbours_of_one_role_become_one_message(vendor: Vendor) -> None:
    body = await sent(vendor, asked(vendor, user("a"), user("b"), assistant("c"), user("d"), context="It is noon."))
    roles = [message["role"] for message in body["messages"] if message["role"] != "system"]
    assert roles == ["user", "assistant", "user"]
    assert "It is noon." in str(body["messages"][-1])


async def test_what_no_vendor_takes_is_left_out(vendor: Vendor) -> None:
    """Empty text, half a surrogate pair, sampling parameters."""
    body = await sent(vendor, asked(vendor, user("a"), assistant(" "), user("b\udcff"), context=" "))
    assert "b?" in str(body["messages"][-1])
    assert not {"temperature", "top_p", "top_k"} & set(body)


async def test_the_prefix_is_the_same_bytes_from_pass_to_pass(vendor: Vendor) -> None:
    first = asked(vendor, user("a"), context="It is noon.")
    later = asked(vendor, user("a"), assistant("b"), user("c"), context="It is one o'clock.")
    bodies = [await sent(vendor, first), await sent(vendor, later)]
    assert bodies[0].get("system") == bodies[1].get("system")
    assert bodies[0]["messages"][0]["role"] == bodies[1]["messages"][0]["role"]
    assert "noon" not in str(bodies[1])


async def test_closing_the_stream_hangs_up_at_once(vendor: Vendor) -> None:
    async with vendor.server([Reply.of("first", Stall())]) as server:
        provider = vendor.provider(server.url, IDLE_S)
        async with aclosing(provider.stream(asked(vendor))) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    break
        assert await asyncio.to_thread(server.requests[0].hung_up.wait, 5)
        await provider.close()


async def test_a_closed_stream_leaves_nothing_for_the_loop_to_tidy(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Qt's loop does not finish generators that were left half read, as asyncio's own does."""
    left: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", left.append)
    async with vendor.server([Reply.of(Text(WORDS * 20), Stall())]) as server:
        provider = vendor.provider(server.url, IDLE_S)
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(None, None)
        try:
            async with aclosing(provider.stream(asked(vendor))) as events:
                async for event in events:
                    if isinstance(event, TextDelta):
                        break
            gc.collect()
        finally:
            sys.set_asyncgen_hooks(*hooks)
        await provider.close()
    assert left == []


async def test_cancelling_the_wait_hangs_up_at_once(vendor: Vendor) -> None:
    async with vendor.server([Reply.of(Stall())]) as server:
        provider = vendor.provider(server.url, IDLE_S)
        task = asyncio.create_task(streamed(provider, asked(vendor)))
        assert await asyncio.to_thread(server.arrived.wait, 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(server.requests[0].hung_up.wait, 5)
        await provider.close()


async def test_after_a_failure_the_same_provider_serves_the_next_request(vendor: Vendor) -> None:
    async with vendor.server([Status(500), Reply.of("a", Drop()), "well"]) as server:
        provider = vendor.provider(server.url, IDLE_S)
        for _ in range(2):
            with pytest.raises(Unreachable):
                await streamed(provider, asked(vendor))
        assert TextDelta("well") in await streamed(provider, asked(vendor))
        await provider.close()


FAILURES = [
    (Status(400, message="something odd"), Refused, "refused the request (error 400). It said: something odd"),
    (Status(403), Refused, "does not let this key"),
    (Status(400, message="Could not process image"), PictureRefused, "cannot read a picture"),
    (Status(413), ContextOverflow, "longer than the model can read"),
    (Status(429, kind="insufficient_quota", message="You exceeded your current quota"), Refused, "no credit left"),
    (Status(503), OverLimit, "is overloaded"),
    (Reply.of("begun", Broken()), BadAnswer, "cannot read"),
    (Reply.of(Call("wait", {"seconds": 1}), Drop()), Unreachable, "broke off in the middle"),
]


@pytest.mark.parametrize(("reply", "kind", "words"), FAILURES, ids=lambda value: str(value)[:60])
async def test_a_failure_says_who_must_act(vendor: Vendor, reply: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind) as caught:
        await told(vendor, reply)
    assert type(caught.value) is kind
    assert words in str(caught.value)
    assert "<html" not in str(caught.value)


async def test_what_came_before_a_failure_is_not_lost(vendor: Vendor) -> None:
    heard = []
    async with vendor.server([Reply.of(Text("begun", 2), Drop())]) as server:
        provider = vendor.provider(server.url, IDLE_S)
        with pytest.raises(Unreachable):
            async for event in provider.stream(asked(vendor)):
                heard.append(event)
        await provider.close()
    assert "".join(event.text for event in heard if isinstance(event, TextDelta)).startswith("be")


async def test_a_call_that_is_cut_off_never_ends(vendor: Vendor) -> None:
    heard: list[StreamEvent] = []
    async with vendor.server([Reply.of(Call("wait", {"seconds": 1}), Drop())]) as server:
        provider = vendor.provider(server.url, IDLE_S)
        with pytest.raises(Unreachable):
            async for event in provider.stream(asked(vendor)):
                heard.append(event)
        await provider.close()
    assert NativeCallStarted("toolu_01", "wait") in heard
    assert not [event for event in heard if isinstance(event, NativeCallEnded)]


async def test_a_stalled_stream_is_given_up(vendor: Vendor) -> None:
    with pytest.raises(Unreachable, match=r"was silent for 0\.15 seconds"):
        await told(vendor, Reply.of("begun", Stall()), idle_s=SHORT_S)


async def test_a_server_that_never_begins_is_given_up(vendor: Vendor) -> None:
    with pytest.raises(Unreachable, match="was silent"):
        await told(vendor, Reply.of(Stall()), idle_s=SHORT_S)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [({"retry-after": "7"}, 7.0), ({"retry-after-ms": "250"}, 0.25), ({"retry-after": "soon"}, None), ({}, None)],
)
async def test_the_wait_that_the_service_asks_for_is_handed_on(
    vendor: Vendor, headers: dict[str, str], seconds: float | None
) -> None:
    with pytest.raises(OverLimit) as caught:
        await told(vendor, Status(429, headers=headers))
    assert caught.value.retry_after_s == seconds


async def test_an_unknown_model_is_answered_with_the_ids_on_offer(vendor: Vendor) -> None:
    async with vendor.server([Status(404)], models=["alpha-1", "beta-2"]) as server:
        provider = vendor.provider(server.url, IDLE_S)
        with pytest.raises(Refused) as caught:
            await streamed(provider, asked(vendor))
        await provider.close()
    assert f"has no model “{vendor.model}”. It has: alpha-1, beta-2." in str(caught.value)


async def test_nobody_at_the_address_is_told_with_the_address(vendor: Vendor) -> None:
    async with vendor.server() as server:
        url = server.url
    provider = vendor.provider(url, IDLE_S)
    with pytest.raises(Unreachable, match=url.split("//")[1]):
        await streamed(provider, asked(vendor))
    await provider.close()


async def test_unreadable_arguments_are_kept_as_they_were_sent(vendor: Vendor) -> None:
    events = await told(vendor, Reply.of(Call("wait", [1, 2], "c1"), stop="tool_use"))  # type: ignore[arg-type]
    assert NativeCallEnded("c1", {}, "[1, 2]") in events


async def test_the_offered_models_are_listed(vendor: Vendor) -> None:
    async with vendor.server(models=["alpha-1", "beta-2"]) as server:
        provider = vendor.provider(server.url, IDLE_S)
        assert await provider.models() == ("alpha-1", "beta-2")
        await provider.close()


async def test_a_web_page_instead_of_the_models_is_told_in_a_sentence(vendor: Vendor) -> None:
    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<html>A page.</html>")

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        provider = vendor.provider(f"http://127.0.0.1:{server.server_port}/v1", IDLE_S)
        with pytest.raises(BadAnswer, match="Check the address"):
            await provider.models()
        await provider.close()
        server.shutdown()


async def test_a_key_with_stray_characters_is_refused_before_anything_is_sent(vendor: Vendor) -> None:
    async with vendor.server(["x"]) as server:
        provider = type(vendor.provider(server.url, IDLE_S))("sk-tést\n", base_url=server.url)
        with pytest.raises(Refused, match="characters that no key has"):
            await streamed(provider, asked(vendor))
        assert server.requests == []
