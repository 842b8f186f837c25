"""Long text made short, always saying what was left out."""

from __future__ import annotations


def clip_line(text: str, limit: int) -> str:
    """One line of at most `limit` characters; line breaks become spaces and a cut ends in `…`."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: max(limit - 1, 0)] + "…"


def clip_middle(text: str, head: int, tail: int) -> str:
    """The first `head` and last `tail` characters, with a line between them that counts what is gone."""
    gone = len(text) - head - tail
    if gone <= 0:
        return text
    return f"{text[:head]}\n[… {gone} characters left out …]\n{text[len(text) - tail :]}"
