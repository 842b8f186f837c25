"""Output as a model may read it: no terminal escapes, no control characters, no invisible signs that hide text."""

from __future__ import annotations

import re

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # OSC, DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-~]"  # the short ones
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
_BACKSPACED = re.compile(r"[^\n\x08]\x08")
_CONTROLS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f"
    "\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # zero width and bidi
    "\ufe00-\ufe0e\U000e0000-\U000e01ef\U0001bca0-\U0001bca3\U0001d173-\U0001d17a]"  # tags, variants, notation
)


def plain(data: bytes | str) -> str:
    """Text without escapes; a line that was written over (progress bars) is what it was in the end."""
    text = data.decode("utf-8", errors="replace") if isinstance(data, bytes) else data
    text = _ESCAPES.sub("", text)
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    if "\x08" in text:
        text = _BACKSPACED.sub("", text)
    return _CONTROLS.sub("", text)
