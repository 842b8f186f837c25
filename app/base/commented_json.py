"""Read JSON in which people write comments and trailing commas, as VS Code and others allow."""

from __future__ import annotations

import re

_TEXT = r'("(?:[^"\\]|\\.)*")'
_COMMENT = re.compile(_TEXT + r"|//[^\n]*|/\*.*?\*/", re.DOTALL)
_LAST_COMMA = re.compile(_TEXT + r"|,(?=\s*[}\]])")
_VISIBLE = re.compile(r"\S")


def without_comments(text: str) -> str:
    """Spaces take the place of comments, so that every place in the text stays."""
    return _COMMENT.sub(_blank, text)


def as_json(text: str) -> str:
    """Spaces take the place of comments and trailing commas, so that every place in the text stays."""
    return _LAST_COMMA.sub(_blank, without_comments(text))


def _blank(match: re.Match[str]) -> str:
    return match[1] or _VISIBLE.sub(" ", match[0])
