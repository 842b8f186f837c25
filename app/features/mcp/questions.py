"""What a server answers to a call, and the questions that it asks during one.

Decides whether it may ask them, and converts the person's answer.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from app.base import resources
from app.base.signs import plain
from app.base.values import dataclass, field

_MOST_OPTIONS = 8


@dataclass(frozen=True, slots=True)
class ServedPicture:
    data: bytes
    media_type: str


@dataclass(frozen=True, slots=True)
class ServerQuestion:
    """What a server asks the person during a call; `fields` are the values it wants."""

    text: str
    url: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ServerAnswer:
    """The result of a call or resource. If it has a `question`, the call still waits for `McpServers.reply`.

    `whole` is the result as the server sent it, where that was wanted.
    """

    text: str = ""
    pictures: tuple[ServedPicture, ...] = ()
    is_error: bool = False
    question: ServerQuestion | None = None
    whole: Mapping[str, Any] = field(default_factory=dict)


def answer_of(told: Mapping[str, Any]) -> ServerAnswer:
    """Return the result of a call or resource as the worker tells it."""
    texts, pictures = [], []
    for part in told["parts"]:
        if part["kind"] == "text":
            texts.append(part["text"])
            continue
        try:
            pictures.append(ServedPicture(base64.b64decode(part["data"], validate=True), part["type"]))
        except (binascii.Error, ValueError):  # Drop only the picture, because the server's text is still useful.
            texts.append("[a picture that is damaged]")
    return ServerAnswer("\n".join(texts), tuple(pictures), told["is_error"], whole=told.get("whole") or {})


def wants_secret(question: ServerQuestion) -> bool:
    """Return whether the message or a field asks for a password, key, code or card, in any known language."""
    known = resources.table("mcp/secrets.toml", resources.Table)
    fields = _folded(json.dumps(question.fields, ensure_ascii=False))
    text = f"{_folded(question.text)} {fields}"
    words = set(re.findall(r"\w+", text))
    is_asked = any(part in text for part in known["parts"]) or bool(words & set(known["words"]))
    return is_asked or any(part in fields for part in known["fields"])


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", plain(text)[0]).casefold().replace("_", " ").split())


def content_of(question: ServerQuestion, said: str) -> dict[str, Any] | None:
    """Return the values for the server's fields, read from the person's words; None if the words do not fit."""
    fields, told = question.fields, said.strip()
    if not fields:
        return {} if told.casefold() == "yes" else None
    lines = dict(
        (name.strip(), value.strip()) for name, _, value in (line.partition(":") for line in told.splitlines())
    )
    words = {next(iter(fields)): told} if len(fields) == 1 else lines
    values = {name: _value(wanted, words[name]) for name, wanted in fields.items() if words.get(name)}
    return None if len(values) != len(fields) or None in values.values() else values


def _value(wanted: object, told: str) -> Any:
    """`wanted` is the field's schema. None if the words do not fit its type."""
    wish = wanted if isinstance(wanted, Mapping) else {}
    if wish.get("type") == "boolean":
        return {"yes": True, "no": False}.get(told.casefold())
    if wish.get("type") in ("integer", "number"):
        kind = int if wish["type"] == "integer" else float
        try:
            return kind(told)
        except ValueError:
            return None
    choices = wish.get("enum")
    return told if not isinstance(choices, list) or told in choices else None


def options_of(question: ServerQuestion) -> list[Any]:
    """Return the possible answers if the question is yes or no, or a choice from a list; else []."""
    if not question.fields:
        return ["Yes", "No"]
    if len(question.fields) > 1:
        return []
    (told,) = question.fields.values()
    if not isinstance(told, Mapping):
        return []
    if told.get("type") == "boolean":
        return ["Yes", "No"]
    choices = told.get("enum")
    return [str(one) for one in choices[:_MOST_OPTIONS]] if isinstance(choices, list) else []
