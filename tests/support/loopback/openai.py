"""OpenAI's Chat Completions as OpenAI, Ollama, llama.cpp and LM Studio stream them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tests.support.loopback.openai_rules import broken_by
from tests.support.loopback.replies import Broken, Call, Drop, Fault, Part, Ping, Reply, Stall, Status, Text, Thought
from tests.support.loopback.server import LoopbackServer, Script, Seen, pieces

_KINDS = {
    400: ("invalid_request_error", "Invalid request"),
    401: ("invalid_request_error", "Incorrect API key provided: key. You can find your API key at your dashboard."),
    403: ("invalid_request_error", "You are not allowed to use this model"),
    404: ("invalid_request_error", "The model `does-not-exist` does not exist or you do not have access to it."),
    408: ("timeout", "Request timed out"),
    409: ("conflict", "Conflict"),
    429: ("rate_limit_exceeded", "Rate limit reached for requests"),
    500: ("server_error", "The server had an error while processing your request"),
    503: ("server_error", "The engine is currently overloaded, please try again later"),
    529: ("overloaded_error", "Overloaded"),
}
_STOPS = {"end_turn": "stop", "max_tokens": "length", "tool_use": "tool_calls", "refusal": "content_filter"}
_OVERLOADED = "overloaded_error"


class OpenAIServer(LoopbackServer):
    """Speaks to `AsyncOpenAI(base_url=server.url)`.

    `takes_tools=False` answers as Ollama does for a model without tools, `takes_pictures=False` as llama.cpp does
    without a projector; `extra` answers paths of the server's own (`/api/tags`).
    """

    path = "/v1/chat/completions"
    suffix = "/v1"

    def __init__(
        self,
        replies: Iterable[Script] = (),
        models: Iterable[str] = ("llama3.2",),
        *,
        takes_tools: bool = True,
        takes_pictures: bool = True,
        extra: Callable[[Seen], Status] | None = None,
    ) -> None:
        super().__init__(replies, models)
        self._takes_tools = takes_tools
        self._takes_pictures = takes_pictures
        self._extra = extra

    def refusal(self, seen: Seen) -> Status | None:
        message = broken_by(seen.body)
        if not self._takes_tools and seen.body.get("tools"):
            message = f"registry.ollama.ai/library/{seen.body['model']}:latest does not support tools"
        if not self._takes_pictures and "image_url" in json.dumps(seen.body.get("messages")):
            message = "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"
        return Status(400, message=message) if message else None

    def error(self, status: Status) -> str:
        kind, message = _KINDS.get(status.code, ("server_error", "Unexpected"))
        error = {"message": status.message or message, "type": status.kind or kind, "param": None, "code": None}
        return json.dumps({"error": error})

    def model_list(self) -> dict[str, Any]:
        data = [{"id": name, "object": "model", "created": 1760000000, "owned_by": "library"} for name in self.models]
        return {"object": "list", "data": data}

    def other(self, seen: Seen) -> Status:
        return self._extra(seen) if self._extra else Status(404)

    def events(self, reply: Reply, seen: Seen) -> Iterator[str | Stall | Drop]:
        yield _chunk(seen, {"role": "assistant", "content": ""})
        index = 0
        for part in reply.parts:
            if isinstance(part, (Stall, Drop)):
                yield part
                return
            yield from _part(part, index, seen)
            index += isinstance(part, Call)
            if isinstance(part, Fault):
                return
        if reply.stop:
            yield _chunk(seen, {}, stop=_STOPS[reply.stop])
            if (seen.body.get("stream_options") or {}).get("include_usage"):
                yield _usage(seen, reply)
            yield "data: [DONE]\n\n"


def _part(part: Part, index: int, seen: Seen) -> Iterator[str]:
    match part:
        case Text():
            yield from (_chunk(seen, {"content": piece}) for piece in pieces(part.text, part.cut))
        case Thought():
            yield from (_chunk(seen, {"reasoning_content": piece}) for piece in pieces(part.text, 9))
        case Call():
            yield from (_chunk(seen, {"tool_calls": [delta]}) for delta in _call_deltas(part, index))
        case Ping():
            yield ": keep-alive\n\n"
        case Fault():
            code = 529 if part.kind == _OVERLOADED else 500
            error = {"message": part.message, "type": part.kind, "param": None, "code": code}
            yield f"data: {json.dumps({'error': error})}\n\n"
        case Broken():
            yield f"data: {part.data}\n\n"


def _chunk(seen: Seen, delta: dict[str, Any], stop: str | None = None) -> str:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": stop}
    return f"data: {json.dumps({**_frame(seen), 'choices': [choice]}, ensure_ascii=False)}\n\n"


def _usage(seen: Seen, reply: Reply) -> str:
    prompt = reply.input_tokens + reply.cache_read_tokens
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": reply.output_tokens,
        "total_tokens": prompt + reply.output_tokens,
        "prompt_tokens_details": {"cached_tokens": reply.cache_read_tokens},
    }
    return f"data: {json.dumps({**_frame(seen), 'choices': [], 'usage': usage})}\n\n"


def _frame(seen: Seen) -> dict[str, Any]:
    return {
        "id": "chatcmpl-loopback",
        "object": "chat.completion.chunk",
        "created": 1760000000,
        "model": seen.body.get("model", ""),
        "system_fingerprint": "fp_loopback",
    }


def _call_deltas(part: Call, index: int) -> Iterator[dict[str, Any]]:
    """The first delta names the call; the rest carry only the index and a piece of the arguments."""
    yield {"index": index, "id": part.id, "type": "function", "function": {"name": part.name, "arguments": ""}}
    text = json.dumps(part.args, ensure_ascii=False)
    yield from ({"index": index, "function": {"arguments": piece}} for piece in pieces(text, part.cut))
