"""Steps and speech written as a model would write them: inline XML that reads back as exactly the same calls."""

from __future__ import annotations

import re

from app.protocol.entities import encode
from app.providers.offline.steps import Step, Value

_ANGLES = str.maketrans("<>", "‹›")
_TOKEN = re.compile(r"\s*\w{1,6}|\s*[^\w\s]|\s+")


def speech(text: str, tone: str) -> str:
    return f'<say tone="{tone}">{_shown(text)}</say>'


def completion(text: str) -> str:
    return f"<attempt_completion><result>{_shown(text)}</result></attempt_completion>"


def call(step: Step) -> str:
    """A self-closing tag; plain text to type stands between tags, any other in an attribute, where entities hold."""
    arguments = dict(step.arguments)
    body = str(arguments.pop("text")) if step.tool == "computer_type" and _is_plain(step.arguments["text"]) else ""
    tag = step.tool + "".join(f' {name}="{encode(str(value))}"' for name, value in arguments.items())
    return f"<{tag}>{body}</{step.tool}>" if body else f"<{tag}/>"


def pieces(text: str) -> list[str]:
    """The text a token at a time."""
    return _TOKEN.findall(text)


def _is_plain(text: Value) -> bool:
    """Whether text reads back from between tags as it is and can be taken for nothing else."""
    return re.fullmatch(r"\w|\w[^<>&]*[^<>&\s]", str(text)) is not None


def _shown(text: str) -> str:
    """Words for the person. They may quote a tool's result, and nothing in them may become a tag."""
    return text.translate(_ANGLES).strip()
