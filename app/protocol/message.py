"""The conversation as providers carry it: roles and parts, independent of vendor and dialect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from app.protocol.result import JsonValue, Media


class Role(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class TextPart:
    text: str


@dataclass(frozen=True, slots=True)
class ImagePart:
    """A picture; its label, if any, is sent as text before it."""

    media: Media


@dataclass(frozen=True, slots=True)
class OpaquePart:
    """A vendor's own block (a thinking block with its signature) that must be replayed untouched to that vendor."""

    vendor: str
    value: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class CallPart:
    """A native tool-use block. `toolset` is set where the vendor's own toolset was called."""

    id: str
    name: str
    args: Mapping[str, JsonValue]
    toolset: str = ""


@dataclass(frozen=True, slots=True)
class ResultPart:
    """The answer to a `CallPart`, by its id."""

    call_id: str
    text: str
    media: tuple[Media, ...] = ()
    is_error: bool = False
    toolset: str = ""


Part = TextPart | ImagePart | OpaquePart | CallPart | ResultPart


@dataclass(frozen=True, slots=True)
class Message:
    role: Role
    parts: tuple[Part, ...]


def user(text: str) -> Message:
    return Message(Role.USER, (TextPart(text),))


def assistant(text: str) -> Message:
    return Message(Role.ASSISTANT, (TextPart(text),))
