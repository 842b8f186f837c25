"""What servers refuse, read from their words, and the request without it."""

from __future__ import annotations

import re
from dataclasses import replace

from app.providers.api import Request
from app.providers.openai_compatible.requests import Wire, has_pictures
from app.providers.remembered import Facts

_CAN_BE_LEFT_OUT = ("stream_options", "max_tokens")
_NO_TOOLS = re.compile(
    r"(not|n't) support (the )?(tools?|function)|tools? (use |calling |choice )?(is |are )?(not|unsupported)|--jinja",
    re.IGNORECASE,
)
_NO_PICTURES = re.compile(
    r"(image|vision|multimodal|mmproj).{0,60}(not|n't|unsupported|missing)"
    r"|(not|n't) support.{0,40}(image|vision|multimodal)|missing data required for image|content.{0,40}string",
    re.IGNORECASE,
)


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
    if request.tools and _NO_TOOLS.search(message):
        return replace(facts, tools=False)
    if facts.pictures is not False and has_pictures(request) and _NO_PICTURES.search(message):
        return replace(facts, pictures=False)
    named = next((name for name in _CAN_BE_LEFT_OUT if name in message and name not in facts.declined), "")
    return facts.without(named) if named else facts
