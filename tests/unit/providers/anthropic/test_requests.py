"""A request as Anthropic's Messages API gets it: caching, thinking, results, the facts of the moment."""

from __future__ import annotations

from typing import Any

from app.protocol.call import Media
from app.protocol.message import CallPart, Message, OpaquePart, ResultPart, Role, TextPart, assistant, user
from app.providers.anthropic.wire import Memory, RequestOptions, body_of
from app.providers.api import Request
from app.providers.profiles import profile_of

PLAIN, BINDING = "claude-sonnet-4-6", "claude-sonnet-5-5"
MARKER = {"type": "ephemeral"}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}


def body(*messages: Message, model: str = PLAIN, memory: Memory | None = None, **more: Any) -> dict[str, Any]:
    request = Request(model, "You are Wisp.", messages or (user("hello"),), **more)
    return body_of(request, RequestOptions(profile_of(model)), memory or Memory())


def marked(sent: dict[str, Any]) -> list[str]:
    """The texts that carry a cache marker, in the order of the request."""
    blocks = [*sent["system"], *(block for message in sent["messages"] for block in message["content"])]
    return [block.get("text") or str(block.get("content")) for block in blocks if "cache_control" in block]


def test_the_whole_of_a_simple_request() -> None:
    assert body(user("hello"), context="It is noon.", max_tokens=1000) == {
        "model": PLAIN,
        "max_tokens": 1000,
        "system": [{"type": "text", "text": "You are Wisp.", "cache_control": MARKER}],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "hello", "cache_control": MARKER},
                    {"type": "text", "text": "It is noon."},
                ],
            }
        ],
        "thinking": {"type": "adaptive", "display": "summarized"},
        "output_config": {"effort": "medium"},
    }


def test_system_and_the_latest_three_user_messages_are_marked_and_the_moment_is_not() -> None:
    turns = [message for n in range(5) for message in (user(f"u{n}"), assistant(f"a{n}"))][:-1]
    assert marked(body(*turns, context="now")) == ["You are Wisp.", "u2", "u3", "u4"]


def test_a_model_that_binds_its_thinking_keeps_each_moment_where_it_was_sent() -> None:
    memory = Memory()
    first = body(user("a"), model=BINDING, memory=memory, context="noon")
    later = body(user("a"), assistant("b"), user("c"), model=BINDING, memory=memory, context="one")
    texts = [[block["text"] for block in message["content"]] for message in later["messages"]]
    assert texts == [["a", "noon"], ["b"], ["c", "one"]]
    assert later["messages"][0] == first["messages"][0]
    assert marked(later) == ["You are Wisp.", "noon", "one"]


def test_a_question_beside_a_conversation_leaves_its_prefix_as_it_was() -> None:
    memory = Memory()
    turns = (user("a"), assistant("b"), user("c"), assistant("d"), user("e"))
    before = body(*turns[:3], model=BINDING, memory=memory, context="noon")
    body(user("Where is it?"), model=BINDING, memory=memory)
    body(user("a goal"), model=BINDING, memory=memory, context="its own facts")
    body(user("a goal"), assistant("x"), user("y"), model=BINDING, memory=memory, context="its own facts")
    after = body(*turns, model=BINDING, memory=memory, context="one")
    assert after["messages"][:3] == before["messages"]


def test_only_news_of_the_moment_is_added_to_what_stays() -> None:
    memory = Memory()
    facts = "# Facts\n\n## Time\n{}\n\n## Screen\n1280x800\n"
    turns = (user("a"), assistant("b"), user("c"), assistant("d"), user("e"))
    for count, hour in ((1, "noon"), (3, "noon"), (5, "one")):
        sent = body(*turns[:count], model=BINDING, memory=memory, context=facts.format(hour))
    texts = [[block["text"] for block in message["content"]] for message in sent["messages"][::2]]
    assert texts == [["a", facts.format("noon")], ["c"], ["e", "# Facts\n\n## Time\none\n\n"]]


def test_asking_again_replaces_the_moment_that_was_sent_last() -> None:
    memory = Memory()
    body(user("a"), model=BINDING, memory=memory, context="noon")
    again = body(user("a"), model=BINDING, memory=memory, context="one")
    assert [block["text"] for block in again["messages"][0]["content"]] == ["a", "one"]


def test_a_changed_history_does_not_cost_the_request() -> None:
    assert body(model=BINDING)["thinking"] == {
        "type": "adaptive",
        "display": "summarized",
        "block_binding": {"prefix_mismatch_behavior": "drop_block"},
    }


def test_thinking_is_replayed_untouched_and_only_to_its_own_vendor() -> None:
    parts = (OpaquePart("anthropic", THOUGHT), OpaquePart("other", {"type": "x"}), TextPart("So."))
    sent = body(user("a"), Message(Role.ASSISTANT, parts), user("b"))
    assert sent["messages"][1]["content"] == [THOUGHT, {"type": "text", "text": "So."}]


def test_thinking_without_an_answer_after_it_is_not_replayed() -> None:
    sent = body(user("a"), Message(Role.ASSISTANT, (OpaquePart("anthropic", THOUGHT),)), user("b"))
    assert [message["role"] for message in sent["messages"]] == ["user"]
    assert [block["text"] for block in sent["messages"][0]["content"]] == ["a", "b"]


def test_calls_of_the_vendors_toolset_are_replayed_as_they_were_written() -> None:
    written = {
        "type": "tool_use",
        "id": "c1",
        "name": "left_click",
        "input": {"coordinate": [1, 2]},
        "toolset_name": "computer",
    }
    picture = Media(b"png", "image/png", 1, 1)
    sent = body(
        user("a"),
        Message(Role.ASSISTANT, (CallPart("c1", "computer_click", {"x": 1, "y": 2}), CallPart("c2", "x", {}))),
        Message(Role.USER, (TextPart("also"), ResultPart("c1", "", (picture,)), ResultPart("c2", ""))),
        memory=Memory(calls={"c1": written}),
    )
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "cG5n"}}
    assert sent["messages"][1]["content"] == [written, {"type": "tool_use", "id": "c2", "name": "x", "input": {}}]
    assert sent["messages"][2]["content"] == [
        {"type": "tool_result", "tool_use_id": "c1", "content": [image], "toolset_name": "computer"},
        {"type": "tool_result", "tool_use_id": "c2", "content": [{"type": "text", "text": "OK"}]},
        {"type": "text", "text": "also", "cache_control": MARKER},
    ]


def test_a_label_that_the_result_tells_is_not_said_twice() -> None:
    picture = Media(b"png", "image/png", 1, 1, label="Capture c1")
    sent = body(
        user("a"),
        Message(Role.ASSISTANT, (CallPart("c1", "screen_capture", {}),)),
        Message(Role.USER, (ResultPart("c1", "Capture c1, 1280x800.", (picture,)),)),
    )
    assert [block["type"] for block in sent["messages"][2]["content"][0]["content"]] == ["text", "image"]


def test_a_failed_result_holds_only_text_and_its_picture_follows() -> None:
    picture = Media(b"png", "image/png", 1, 1, label="after")
    sent = body(
        user("a"),
        Message(Role.ASSISTANT, (CallPart("c1", "wait", {}),)),
        Message(Role.USER, (ResultPart("c1", "It never came.", (picture,), is_error=True),)),
    )
    content = sent["messages"][2]["content"]
    assert content[0] == {
        "type": "tool_result",
        "tool_use_id": "c1",
        "content": [{"type": "text", "text": "It never came."}],
        "is_error": True,
    }
    assert [block["type"] for block in content[1:]] == ["text", "image"]


def test_no_more_is_asked_for_than_the_model_can_write() -> None:
    assert body(model="claude-3-5-haiku-20241022", max_tokens=100_000)["max_tokens"] == 8192


def test_a_model_without_these_features_is_not_asked_for_them() -> None:
    assert set(body(model="some-proxy-model")) == {"model", "max_tokens", "messages", "system"}


def test_a_server_that_refuses_a_field_is_sent_the_rest() -> None:
    request = Request(BINDING, "", (user("a"),))
    refused = frozenset({"computer_tool", "block_binding", "effort", "thinking"})
    manner = RequestOptions(profile_of(BINDING), refused)
    assert set(body_of(request, manner, Memory())) == {"model", "max_tokens", "messages"}
    assert manner.betas == ()
