"""Write what came of many tasks as one HTML page. Pictures lie beside it and load when a task is opened."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from app.base import own_files, resources
from app.base.clipping import clip_line, clip_middle
from app.base.signs import plain
from app.options import words_here
from app.protocol.call import JsonValue

_NAME = "report.html"
_TITLE_CHARS = 200
_HEAD_CHARS, _TAIL_CHARS = 3000, 1000
_EXACT = ("id", "path")  # a link and a file are found by these
_GZIP = zlib.MAX_WBITS | 16


def write_report(folder: Path, title: str, results: Iterable[Mapping[str, JsonValue]], total: int) -> Path:
    """Write `report.html` into the folder, from one result at a time, and return its path. Raises OSError.

    `total` is the number of tasks, with those that have not run. A result without some of its keys is shown without
    them. Paths of pictures are relative to the folder.
    """
    words = words_here()
    page = resources.text("fleet/report.html")
    texts = resources.in_language("report.toml", words.language)
    head: Mapping[str, JsonValue] = {"title": clip_line(plain(title)[0], _TITLE_CHARS), "total": total, "words": texts}
    filled = {
        "{language}": words.language,
        "{script}": _hash_of("script", page),
        "{style}": _hash_of("style", page),
        # Compressed and in base64, because then no word of a result can be read as a part of the page.
        "{data}": base64.b64encode(_compressed(_json(head, results))).decode(),
    }
    for mark, value in filled.items():
        page = page.replace(mark, value, 1)
    file = folder / _NAME
    own_files.write(file, page)
    return file


def _hash_of(tag: str, page: str) -> str:
    """Return the hash by which the page's policy knows its own script or style."""
    inside = page.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0]
    return f"sha256-{base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()}"


def _json(head: Mapping[str, JsonValue], results: Iterable[Mapping[str, JsonValue]]) -> Iterator[str]:
    yield f'{json.dumps(head)[:-1]}, "results": ['
    between = ""
    for result in results:
        yield between + json.dumps(_shown(result))
        between = ",\n"
    yield "]}"


def _compressed(texts: Iterable[str]) -> bytes:
    packer = zlib.compressobj(wbits=_GZIP)
    packed = [packer.compress(text.encode()) for text in texts]
    return b"".join([*packed, packer.flush()])


def _shown(value: JsonValue, name: str = "") -> JsonValue:
    """Return the value as the page takes it: long texts cut, without hidden characters, and with finite numbers."""
    match value:
        case str():
            return value if name in _EXACT else clip_middle(plain(value)[0], _HEAD_CHARS, _TAIL_CHARS)
        case float():
            return value if math.isfinite(value) else None
        case Mapping():
            return {key: _shown(one, key) for key, one in value.items()}
        case list() | tuple():
            return [_shown(one) for one in value]
    return value
