"""What Anthropic's API refuses in a request: the rules a client must not break, kept by the loopback server."""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from collections.abc import Iterator, Mapping
from typing import Any

_SAMPLING = ("temperature", "top_p", "top_k")
_TOOLSET, _BROWSER_TOOLSET = "computer_toolset_20260801", "browser_toolset_20260801"
_WITHOUT_OLD_TOOL = (
    "claude-opus-5-5",
    "claude-sonnet-5-5",
    "claude-haiku-5-5",
    "claude-fable-5-2",
    "claude-mythos-5-2",
)
_WITH_OLD_TOOL = ("claude-opus-4-", "claude-opus-5", "claude-sonnet-4-6", "claude-sonnet-5", "claude-fable-5")
_BINDS_THINKING = (*_WITHOUT_OLD_TOOL, "claude-fable-5-1", "claude-mythos-5-1")
_BETAS = {"computer_20251124": "computer-use-2025-11-24", "computer_20250124": "computer-use-2025-01-24"}
_MAX_MARKERS = 4
_MANY_IMAGES, _MANY_IMAGES_SIDE = 20, 2000
_PNG = b"\x89PNG"

Body = Mapping[str, Any]
Block = Mapping[str, Any]


class Rules:
    """Remembers what was before each signature, to tell whether a replayed thinking block still fits."""

    def __init__(self) -> None:
        self._signed: dict[str, str] = {}

    def sign(self, signature: str, body: Body) -> None:
        self._signed[signature] = _prefix(body, len(body["messages"]))

    def broken_by(self, body: Body, headers: Mapping[str, str]) -> str:
        """The API's words about the first rule that the request breaks, or nothing."""
        checks = (_check_fields(body), _check_blocks(body), _check_pairs(body), _check_tools(body, headers))
        return next((words for words in (*checks, _check_images(body), self._check_thinking(body)) if words), "")

    def _check_thinking(self, body: Body) -> str:
        if not body["model"].startswith(_BINDS_THINKING):
            return ""
        binding = (body.get("thinking") or {}).get("block_binding") or {}
        if binding.get("prefix_mismatch_behavior") == "drop_block":
            return ""
        for number, message in enumerate(body["messages"]):
            for block in _blocks(message):
                known = self._signed.get(block.get("signature", ""))
                if block["type"] == "thinking" and known != _prefix(body, number):
                    return (
                        f"messages.{number}.content.0: Invalid `signature` in `thinking` block. "
                        "The block is bound to a different conversation."
                    )
        return ""


def _prefix(body: Body, count: int) -> str:
    """A fingerprint of what comes before message `count`; cache markers do not count as content."""
    parts = [body.get("system"), body.get("tools"), body["messages"][:count]]
    return hashlib.sha256(json.dumps(_unmarked(parts), sort_keys=True).encode()).hexdigest()


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _unmarked(item) for key, item in value.items() if key != "cache_control"}
    return [_unmarked(item) for item in value] if isinstance(value, list) else value


def _check_fields(body: Body) -> str:
    for name in _SAMPLING:
        if name in body:
            return f"{name}: Extra inputs are not permitted"
    if not isinstance(body.get("max_tokens"), int):
        return "max_tokens: Field required"
    if not body.get("messages"):
        return "messages: at least one message is required"
    if body["messages"][0]["role"] != "user":
        return 'messages: first message must use the "user" role'
    if json.dumps(body).count('"cache_control"') > _MAX_MARKERS:
        return "A maximum of 4 blocks with cache_control may be provided."
    return ""


def _check_blocks(body: Body) -> str:
    for number, message in enumerate(body["messages"]):
        blocks = list(_blocks(message))
        if not blocks:
            return f"messages.{number}: all messages must have non-empty content"
        if any(block["type"] == "text" and not block["text"].strip() for block in blocks):
            return f"messages.{number}: text content blocks must contain non-whitespace text"
    last = body["messages"][-1]
    if last["role"] == "assistant" and list(_blocks(last))[-1].get("text", "").endswith((" ", "\n")):
        return "messages: final assistant content cannot end with trailing whitespace"
    return ""


def _check_pairs(body: Body) -> str:
    """Every tool_use is answered at the start of the next message, in the same toolset, and nothing else is."""
    wanted: dict[str, str | None] = {}
    for number, message in enumerate(body["messages"]):
        results = [block for block in _blocks(message) if block["type"] == "tool_result"]
        if {block["tool_use_id"] for block in results} != set(wanted):
            return f"messages.{number}: `tool_use` ids were found without `tool_result` blocks immediately after"
        for block in results:
            if block.get("toolset_name") != wanted[block["tool_use_id"]]:
                return f"messages.{number}: `toolset_name` of the result does not match its `tool_use`"
        if results and next(_blocks(message))["type"] != "tool_result":
            return f"messages.{number}: `tool_result` blocks must come first"
        wanted = {b["id"]: b.get("toolset_name") for b in _blocks(message) if b["type"] == "tool_use"}
    return "messages: the last `tool_use` has no `tool_result`" if wanted else ""


def _check_tools(body: Body, headers: Mapping[str, str]) -> str:
    model, tools = body["model"], body.get("tools") or ()
    for number, tool in enumerate(tools):
        kind = tool.get("type", "custom")
        if kind in (_TOOLSET, _BROWSER_TOOLSET) and set(tool) - {"type", "configs", "cache_control", "allowed_callers"}:
            return f"tools.{number}: Extra inputs are not permitted"
        if kind == _TOOLSET and any(other.get("name") == "computer" for other in tools):
            return f"tools.{number}: {_TOOLSET} cannot stand beside another tool named computer"
        if kind in _BETAS and _BETAS[kind] not in headers.get("anthropic-beta", ""):
            return f"tools.{number}: Input tag '{kind}' found using 'type' does not match any of the expected tags"
        if kind == "computer_20251124" and (
            model.startswith(_WITHOUT_OLD_TOOL) or not model.startswith(_WITH_OLD_TOOL)
        ):
            return f"'{model}' does not support tool types: computer_20251124."
    return ""


def _check_images(body: Body) -> str:
    images = [block for message in body["messages"] for block in _deep_blocks(message) if block["type"] == "image"]
    for block in images:
        data = base64.b64decode(block["source"]["data"], validate=True)
        if len(images) > _MANY_IMAGES and data.startswith(_PNG):
            width, height = struct.unpack(">II", data[16:24])
            if max(width, height) > _MANY_IMAGES_SIDE:
                return "image dimensions exceed max allowed size for many-image requests: 2000 pixels"
    return ""


def _blocks(message: Mapping[str, Any]) -> Iterator[Block]:
    content = message["content"]
    return iter([{"type": "text", "text": content}] if isinstance(content, str) else content)


def _deep_blocks(message: Mapping[str, Any]) -> Iterator[Block]:
    for block in _blocks(message):
        yield block
        if block["type"] == "tool_result" and isinstance(block.get("content"), list):
            yield from block["content"]
