"""What servers refuse, read from their words, and the request without it."""

from __future__ import annotations

import re
from dataclasses import replace

from app.providers.api import Request
from app.providers.openai_compatible.requests import Wire, has_pictures
from app.providers.remembered import Facts

_CAN_BE_LEFT_OUT = ("stream_options", "max_tokens")
_NO_TOOLS = re.compile(
    r"(not|n't) support (the )?(tools?\b|function)|unsupported param: tools|tool.calling.? is not supported|--jinja"
    r"|enable-auto-tool-choice|support tool use|supports tool calling",
    re.IGNORECASE,
)
"""Ollama, llama.cpp (old and new), Groq, vLLM, OpenRouter and gateways in front of them, in their own words."""
_NO_PICTURES = re.compile(
    r"(not|n't) support.{0,40}(image|vision|multimodal)|(image|vision|multimodal).{0,40}(not|n't) (be )?support"
    r"|not (a|compiled for) multimodal|missing data required for image|support image input"
    r"|(unsupported|unknown).{0,40}image_url|content.{0,20} must be a string",
    re.IGNORECASE,
)
_WORDS_READ = 300
"""Servers may quote the whole conversation after their own words; what is said there is no refusal."""


def suited(body: Wire, facts: Facts) -> Wire:
    """The body without what the server refuses, with the figures of the answer asked for where it does not."""
    asked = dict(body)
    if "stream_options" not in facts.declined:
        asked["stream_options"] = {"include_usage": True}
    if "max_tokens" in facts.declined:
        asked["max_completion_tokens"] = asked.pop("max_tokens")
    return asked


def learnt(facts: Facts, message: str, request: Request) -> Facts:
    """What a refusal teaches about the model; the same facts where it teaches nothing new."""
    message = message[:_WORDS_READ]
    if request.tools and _NO_TOOLS.search(message):
        return replace(facts, tools=False)
    if facts.pictures is not False and has_pictures(request) and _NO_PICTURES.search(message):
        return replace(facts, pictures=False)
    named = next((name for name in _CAN_BE_LEFT_OUT if name in message and name not in facts.declined), "")
    return facts.without(named) if named else facts
