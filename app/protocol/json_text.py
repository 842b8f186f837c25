r"""Reads JSON that a model wrote.

JSON may spell half of a surrogate pair (`\ud83d`), which Python reads as a text that no encoder takes: not that of a
file, of the journal or of the next request. Such a half becomes U+FFFD here, for all dialects.
"""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

_HALF = re.compile("[\ud800-\udfff]")
_T = TypeVar("_T")


def load(text: str, **hooks: Any) -> Any:
    """The value, with every text in it well-formed. `hooks` are those of `json.loads`, and so is what it raises."""
    return well_formed(json.loads(text, **hooks))


def well_formed(value: _T) -> _T:
    """The same tree of JSON values; two halves that belong together are joined, any other half is U+FFFD."""
    mended: Any = value
    if isinstance(value, str):
        mended = _mended(value)
    elif isinstance(value, dict):
        mended = {_mended(key): well_formed(inner) for key, inner in value.items()}
    elif isinstance(value, list):
        mended = [well_formed(inner) for inner in value]
    result: _T = mended
    return result


def _mended(text: str) -> str:
    if text.isascii() or not _HALF.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
