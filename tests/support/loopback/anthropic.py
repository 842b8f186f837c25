"""Anthropic's Messages API as it looks on the wire (version 2026-10-21)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.support.loopback.anthropic_rules import Rules
from tests.support.loopback.replies import Broken, Call, Drop, Fault, Part, Ping, Reply, Stall, Status, Text, Thought
from tests.support.loopback.server import LoopbackServer, Seen, broken, pieces

_KINDS = {
    400: ("invalid_request_error", "messages: at least one message is required"),
    401: ("authentication_error", "invalid x-api-key"),
    402: ("billing_error", "Your credit balance is too low to access the Anthropic API."),
    403: ("permission_error", "Your API key does not have permission to use the specified resource."),
    404: ("not_found_error", "model: claude-does-not-exist"),
    408: ("timeout_error", "Request timed out"),
    409: ("conflict_error", "Conflict"),
    413: ("request_too_large", "Request exceeds the maximum size"),
    429: ("rate_limit_error", "This request would exceed your organization's rate limit"),
    500: ("api_error", "Internal server error"),
    504: ("timeout_error", "The request timed out"),
    529: ("overloaded_error", "Overloaded"),
}


class AnthropicServer(LoopbackServer):
    """Speaks to `AsyncAnthropic(base_url=server.url)`; refuses what the real one refuses (`anthropic_rules`).

    A stall, drop or fault comes inside the block before it: that block is not closed.
    """

    path = "/v1/messages"

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.models = self.models or ["claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-4-5"]
        self.rules = Rules()

    def refusal(self, seen: Seen) -> Status | None:
        message = self.rules.broken_by(seen.body, seen.headers)
        return Status(400, message=message) if message else None

    def error(self, status: Status) -> str:
        kind, message = _KINDS.get(status.code, ("api_error", "Unexpected"))
        error = {"type": status.kind or kind, "message": status.message or message}
        return json.dumps({"type": "error", "error": error, "request_id": "req_011CLoopback"})

    def model_list(self) -> dict[str, Any]:
        data = [
            {
                "type": "model",
                "id": name,
                "display_name": name,
                "created_at": "2026-09-01T00:00:00Z",
                "lifecycle": "active",
            }
            for name in self.models
        ]
        return {"data": data, "has_more": False, "first_id": self.models[0], "last_id": self.models[-1]}

    def events(self, reply: Reply, seen: Seen) -> Iterator[str | Stall | Drop]:
        yield _event("message_start", message=_message(reply, seen))
        index = 0
        for part, after in zip(reply.parts, (*reply.parts[1:], None), strict=True):
            if isinstance(part, (Stall, Drop)):
                yield part
                return
            events = list(self._part(part, index, seen))
            yield from events[:-1] if isinstance(after, (Stall, Drop, Fault)) and len(events) > 1 else events
            index += isinstance(part, (Text, Thought, Call))
            if isinstance(part, Fault):
                return
        if reply.stop:
            usage = {"output_tokens": reply.output_tokens}
            yield _event("message_delta", delta={"stop_reason": reply.stop, "stop_sequence": None}, usage=usage)
            yield _event("message_stop")

    def _part(self, part: Part, index: int, seen: Seen) -> Iterator[str]:
        match part:
            case Text():
                yield from _block(index, {"type": "text", "text": ""}, _text_deltas(part))
            case Thought():
                self.rules.sign(part.signature, seen.body)
                start = {"type": "thinking", "thinking": "", "signature": ""}
                yield from _block(index, start, _thought_deltas(part))
            case Call():
                start = {"type": "tool_use", "id": part.id, "name": part.name, "input": {}}
                if part.toolset:
                    start["toolset_name"] = part.toolset
                yield from _block(index, start, _call_deltas(part))
            case Ping():
                yield _event("ping")
            case Fault():
                yield _event("error", error={"type": part.kind, "message": part.message})
            case Broken():
                yield broken(part)


def _event(kind: str, **fields: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields}, ensure_ascii=False)}\n\n"


def _message(reply: Reply, seen: Seen) -> dict[str, Any]:
    usage = {
        "input_tokens": reply.input_tokens,
        "cache_creation_input_tokens": reply.cache_write_tokens,
        "cache_read_input_tokens": reply.cache_read_tokens,
        "output_tokens": 1,
        "service_tier": "standard",
    }
    return {
        "id": "msg_01Loopback",
        "type": "message",
        "role": "assistant",
        "model": seen.body.get("model", ""),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }


def _block(index: int, start: dict[str, Any], deltas: Iterator[dict[str, Any]]) -> Iterator[str]:
    yield _event("content_block_start", index=index, content_block=start)
    for delta in deltas:
        yield _event("content_block_delta", index=index, delta=delta)
    yield _event("content_block_stop", index=index)


def _text_deltas(part: Text) -> Iterator[dict[str, Any]]:
    return ({"type": "text_delta", "text": piece} for piece in pieces(part.text, part.cut))


def _thought_deltas(part: Thought) -> Iterator[dict[str, Any]]:
    for piece in pieces(part.text, 9):
        yield {"type": "thinking_delta", "thinking": piece}
    yield {"type": "signature_delta", "signature": part.signature}


def _call_deltas(part: Call) -> Iterator[dict[str, Any]]:
    """The first delta is empty, as the vendor's is; a call without arguments has no other."""
    yield {"type": "input_json_delta", "partial_json": ""}
    if part.args:
        text = json.dumps(part.args, ensure_ascii=False)
        yield from ({"type": "input_json_delta", "partial_json": piece} for piece in pieces(text, part.cut))
