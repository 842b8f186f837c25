"""Questions of a server during a call: decide whether it may ask them, and convert the person's answer."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from app.base import resources
from app.base.texts import plain
from app.services.mcp.servers import ServerQuestion

_MOST_OPTIONS = 8


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
    """Return the fields filled with the person's words, or None if these are no answer."""
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
    """Convert the words to the field's type, or return None if they do not fit."""
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
    """Return answers to choose from, if the server wants one of a few."""
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
