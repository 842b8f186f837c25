"""OpenAI-compatible servers and the liberties they take."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from app.base.errors import Refused, ToolsDeclined
from app.protocol.call import Media
from app.protocol.message import CallPart, ImagePart, Message, ResultPart, Role, TextPart, user
from app.providers.api import NativeCallEnded, NativeCallStarted, Request, Stopped, TextDelta, Usage
from app.providers.openai_compatible import provider
from app.providers.openai_compatible.provider import Endpoint, OpenAICompatibleProvider, local_endpoints, takes_pictures
from app.providers.openai_compatible.wire import ChunkReading, body_of
from app.providers.profiles import ModelFacts, choose, facts_of, profile_of
from app.settings.store import Settings
from tests.contract.providers import streamed
from tests.support.loopback import Fault, OpenAIServer, Reply, Seen, Status

PICTURE = Media(b"\x89PNG", "image/png", 8, 6, label="the screen")
TOOL = {"name": "wait", "description": "Wait.", "input_schema": {"type": "object", "properties": {"seconds": {}}}}
MODEL = "llama3.2"


def asked(*messages: Message, model: str = MODEL, **more: Any) -> Request:
    return Request(model, "You are Wisp.", messages or (user("hello"),), **more)


def with_picture() -> Request:
    return asked(Message(Role.USER, (TextPart("look"), ImagePart(PICTURE))))


async def told(server: OpenAIServer, request: Request) -> list[Any]:
    provider = OpenAICompatibleProvider(base_url=server.url, idle_s=5)
    try:
        return await streamed(provider, request)
    finally:
        await provider.close()


def read(*deltas: dict[str, Any], stop: str = "stop") -> list[Any]:
    reading = ChunkReading()
    events = [event for delta in deltas for event in reading.read({"choices": [{"delta": delta}]})]
    events += reading.read({"choices": [{"delta": {}, "finish_reason": stop}]})
    return [*events, *reading.finish()]


def test_the_whole_of_a_request() -> None:
    messages = (
        user("wait"),
        Message(Role.ASSISTANT, (TextPart("Yes."), CallPart("c1", "wait", {"seconds": 1}))),
        Message(Role.USER, (ResultPart("c1", "Waited.", (PICTURE,)), TextPart("and?"))),
    )
    call = {"id": "c1", "type": "function", "function": {"name": "wait", "arguments": '{"seconds": 1}'}}
    assert body_of(asked(*messages, context="It is noon.", tools=(TOOL,), max_tokens=99), profile_of(MODEL)) == {
        "model": MODEL,
        "max_tokens": 99,
        "messages": [
            {"role": "system", "content": "You are Wisp."},
            {"role": "user", "content": "wait"},
            {"role": "assistant", "content": "Yes.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "Waited."},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "the screen"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}},
                    {"type": "text", "text": "and?"},
                    {"type": "text", "text": "It is noon."},
                ],
            },
        ],
        "tools": [
            {
                "type": "function",
                "function": {"name": "wait", "description": "Wait.", "parameters": TOOL["input_schema"]},
            }
        ],
    }


def test_several_calls_under_one_index_are_told_apart_by_their_ids() -> None:
    """As Ollama sends them: whole, all with index 0."""
    calls = [
        {"index": 0, "id": f"call_{name}", "function": {"name": name, "arguments": '{"a": 1}'}} for name in ("x", "y")
    ]
    events = read({"tool_calls": calls})
    assert [event for event in events if isinstance(event, NativeCallEnded)] == [
        NativeCallEnded("call_x", {"a": 1}),
        NativeCallEnded("call_y", {"a": 1}),
    ]
    assert events[-1] == Stopped("tool_use")


def test_calls_of_one_chunk_without_index_and_id_are_told_apart() -> None:
    events = read({"tool_calls": [{"function": {"name": name, "arguments": '{"a": 1}'}} for name in ("x", "y")]})
    assert [event.name for event in events if isinstance(event, NativeCallStarted)] == ["x", "y"]
    assert [event.args for event in events if isinstance(event, NativeCallEnded)] == [{"a": 1}, {"a": 1}]


def test_arguments_that_are_encoded_twice_are_read() -> None:
    call = {"index": 0, "id": "c1", "function": {"name": "x", "arguments": json.dumps(json.dumps({"a": 1}))}}
    assert NativeCallEnded("c1", {"a": 1}) in read({"tool_calls": [call]})


def test_a_call_without_an_id_gets_one() -> None:
    events = read({"tool_calls": [{"index": 0, "function": {"name": "x", "arguments": "{}"}}]}, stop="tool_calls")
    assert isinstance(events[0], NativeCallStarted)
    assert events[0].call_id.startswith("call_")
    assert NativeCallEnded(events[0].call_id, {}) in events


def test_a_refusal_is_said_and_told() -> None:
    assert read({"refusal": "I will not."}) == [TextDelta("I will not."), Stopped("refusal")]
    assert read({"refusal": "No."}, stop="content_filter")[-1] == Stopped("refusal")


def test_figures_may_come_with_any_chunk() -> None:
    usage = {"prompt_tokens": 30, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 10}}
    assert list(ChunkReading().read({"choices": [], "usage": usage})) == [Usage(20, 4, 10)]


async def test_a_server_without_a_field_is_asked_without_it_from_then_on() -> None:
    refusals = [
        Status(400, message="Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
        Status(422, message="stream_options: extra fields not permitted"),
    ]
    async with OpenAIServer([*refusals, "one", "two"]) as server:
        assert TextDelta("one") in await told(server, asked())
        assert TextDelta("two") in await told(server, asked())
    optional = {"max_tokens", "max_completion_tokens", "stream_options"}
    assert [sorted(optional & set(body)) for body in server.bodies] == [
        ["max_tokens", "stream_options"],
        ["max_completion_tokens", "stream_options"],
        ["max_completion_tokens"],
        ["max_completion_tokens"],
    ]


async def test_a_model_that_declines_tools_is_said_so_and_remembered() -> None:
    async with OpenAIServer(["well"], takes_tools=False) as server:
        for _ in range(2):
            with pytest.raises(ToolsDeclined, match=MODEL):
                await told(server, asked(tools=(TOOL,)))
        assert TextDelta("well") in await told(server, asked())
        assert [bool(body.get("tools")) for body in server.bodies] == [True, False]
        assert facts_of(server.url, MODEL).tools is False
        settings = Settings({"model.provider": "openai", "model.id": MODEL, "model.base_url": server.url}, {})
        assert choose(settings, lambda _: "").profile.dialect == "xml"


async def test_a_model_that_declines_pictures_reads_a_note_instead_and_it_is_remembered() -> None:
    async with OpenAIServer(["one", "two"], takes_pictures=False) as server:
        assert TextDelta("one") in await told(server, with_picture())
        assert TextDelta("two") in await told(server, with_picture())
    assert len(server.bodies) == 3
    assert server.bodies[-1]["messages"][-1]["content"] == (
        "look\n\n[A picture of the screen is left out: this model reads no pictures. Read the screen as text instead.]"
    )


NO_TOOLS = [
    (400, "registry.ollama.ai/library/gemma:latest does not support tools"),
    (500, "Unsupported param: tools"),
    (500, "tools param requires --jinja flag"),
    (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
    (404, "No endpoints found that support tool use. To learn more about provider routing, visit the documentation."),
    (400, "`tool calling` is not supported with this model"),
]
NO_PICTURES = [
    (400, "this model does not support image input"),
    (500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"),
    (500, 'Failed to parse messages: Unsupported content part type: "image_url"; messages = [...]'),
    (400, "unknown variant `image_url`, expected `text`"),
    (400, "At most 0 image(s) may be provided: llama is not a multimodal model"),
    (400, "Model does not support images. Please use a model that does."),
    (404, "No endpoints found that support image input"),
    (400, "messages[1].content must be a string"),
]
OTHER = [
    (400, "Invalid 'tools[0].function.name': string does not match pattern"),
    (400, "image exceeds the maximum size of 20 MB"),
    (400, "messages with role 'tool' must follow tool_calls"),
    (400, f"Failed to parse: {' ' * 300} the person wrote: this model does not support tools"),
]


@pytest.mark.parametrize(("status", "words"), NO_TOOLS)
async def test_every_servers_way_to_decline_tools_is_known(status: int, words: str) -> None:
    async with OpenAIServer([Status(status, message=words)]) as server:
        with pytest.raises(ToolsDeclined):
            await told(server, asked(tools=(TOOL,)))


@pytest.mark.parametrize(("status", "words"), NO_PICTURES)
async def test_every_servers_way_to_decline_pictures_is_known(status: int, words: str) -> None:
    async with OpenAIServer([Status(status, message=words), "one"]) as server:
        assert TextDelta("one") in await told(server, with_picture())


@pytest.mark.parametrize(("status", "words"), OTHER)
async def test_a_refusal_for_another_reason_teaches_nothing(status: int, words: str) -> None:
    async with OpenAIServer([Status(status, message=words)]) as server:
        message = Message(Role.USER, (TextPart("look"), ImagePart(PICTURE)))
        with pytest.raises(Refused) as caught:
            await told(server, asked(message, tools=(TOOL,)))
        assert not isinstance(caught.value, ToolsDeclined)
        assert facts_of(server.url, MODEL) == ModelFacts()


async def test_a_refusal_inside_the_stream_counts_too() -> None:
    """As LM Studio does: 200, then an error as the first event."""

    class Late(OpenAIServer):
        def events(self, reply: Reply, seen: Seen) -> Iterator[Any]:
            return list(super().events(reply, seen))[1:]

    refusal = Reply.of(Fault("", "Model does not support images. Please use a model that does."))
    async with Late([refusal, Reply.of("", "one")]) as server:
        assert TextDelta("one") in await told(server, with_picture())


def _says(path: str, answer: dict[str, Any]) -> Callable[[Seen], Status]:
    return lambda seen: Status(200, body=json.dumps(answer)) if seen.path == path else Status(404)


@pytest.mark.parametrize(
    ("path", "answer", "takes"),
    [
        ("/api/show", {"capabilities": ["completion", "vision"]}, True),
        ("/api/show", {"capabilities": ["completion", "tools"]}, False),
        ("/props", {"modalities": {"vision": True, "audio": False}}, True),
        ("/props", {"modalities": {"vision": False}}, False),
        (f"/api/v0/models/{MODEL}", {"type": "vlm"}, True),
        (f"/api/v0/models/{MODEL}", {"type": "llm"}, False),
        ("/elsewhere", {}, None),
    ],
)
async def test_a_server_says_whether_its_model_takes_pictures(path: str, answer: Any, takes: bool | None) -> None:
    async with OpenAIServer(extra=_says(path, answer)) as server:
        assert await takes_pictures(server.url, MODEL) is takes


async def test_the_server_is_asked_once_and_before_a_picture_is_sent() -> None:
    extra = _says("/api/show", {"capabilities": ["completion"]})
    async with OpenAIServer(["one", "two", "three"], extra=extra) as server:
        await told(server, asked())
        assert server.others == []
        await told(server, with_picture())
        await told(server, with_picture())
        assert [seen.path for seen in server.others] == ["/api/show"]
        assert facts_of(server.url, MODEL) == ModelFacts(pictures=False)
    assert "image_url" not in json.dumps(server.bodies)


async def test_model_servers_on_this_machine_are_found_with_their_models() -> None:
    async with OpenAIServer(models=["a", "b"]) as one, OpenAIServer(models=["c"]) as two, OpenAIServer() as closed:
        known = (("Ollama", one.port), ("gone", 1), ("LM Studio", two.port))
        assert await local_endpoints(known) == (
            Endpoint("Ollama", one.url, ("a", "b")),
            Endpoint("LM Studio", two.url, ("c",)),
        )
        assert closed.requests == []


async def test_something_else_at_the_port_is_no_model_server() -> None:
    async with OpenAIServer() as server:
        server.model_list = lambda: {"hello": "world"}  # type: ignore[method-assign]
        assert await local_endpoints((("Ollama", server.port),)) == ()


async def test_without_address_and_key_the_first_server_here_answers_with_its_first_model() -> None:
    async with OpenAIServer(["hello"], models=["first", "second"]) as server:

        async def found() -> tuple[Endpoint, ...]:
            return (Endpoint("Ollama", server.url, ("first", "second")),)

        provider = OpenAICompatibleProvider(find=found)
        assert TextDelta("hello") in await streamed(provider, asked(model=""))
        await provider.close()
        assert server.bodies[0]["model"] == "first"


async def test_nothing_to_ask_is_told_with_all_three_ways_out() -> None:
    async def found() -> tuple[Endpoint, ...]:
        return ()

    with pytest.raises(Refused, match=r"OPENAI_API_KEY.*WISP_BASE_URL.*Ollama \(port 11434\)"):
        await streamed(OpenAICompatibleProvider(find=found), asked())


async def test_a_server_without_a_model_says_what_to_do() -> None:
    async with OpenAIServer(models=[]) as server:
        with pytest.raises(Refused, match=r"has no model\. Load one there"):
            await told(server, asked(model=""))


async def test_the_path_of_an_address_may_be_left_out() -> None:
    async with OpenAIServer(["hello"]) as server:
        provider = OpenAICompatibleProvider(base_url=server.url.removesuffix("/v1"))
        assert TextDelta("hello") in await streamed(provider, asked())
        await provider.close()


def test_the_usual_ports_are_looked_at() -> None:
    assert provider.KNOWN == (("Ollama", 11434), ("LM Studio", 1234), ("llama.cpp", 8080))
