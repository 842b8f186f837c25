"""What the person attaches, as values, and how it is told to the model: files as words, pictures as pictures too."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from app.base import paths
from app.ui.bridge import Attachment

MOST = 20
"""Attachments of one message."""

MOST_PICTURES = 8

_KB, _MB = 1_000, 1_000_000


@dataclass(frozen=True, slots=True)
class Attached:
    """One thing. `kind` is file, folder, picture, unseen (a picture that cannot be shown), screenshot or pasted; `path`
    is empty where it is no file; `note` tells the person what they should know."""

    kind: str
    name: str
    path: str = ""
    size_bytes: int = 0
    media: Attachment | None = None
    note: str = ""


def in_words(text: str, attached: Sequence[Attached]) -> str:
    """The person's words, and below them what goes with them."""
    if not attached:
        return text
    words = _words()
    lines = [words[one.kind].format(path=one.path, size=size(one.size_bytes)) for one in attached]
    return "\n".join([text, "", words["heading"], *lines]).strip()


def pictures(attached: Sequence[Attached]) -> tuple[Attachment, ...]:
    return tuple(one.media for one in attached if one.media is not None)


def size(count: int) -> str:
    """`12 kB`, `3.4 MB`; whole bytes below a thousand."""
    if count < _KB:
        return f"{count} B"
    return f"{count / _KB:.0f} kB" if count < _MB else f"{count / _MB:.1f} MB"


@cache
def _words() -> dict[str, str]:
    found: dict[str, str] = tomllib.loads((paths.resources() / "prompts" / "attached.toml").read_text(encoding="utf-8"))
    return found
