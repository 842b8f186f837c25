"""Image files as a model takes them: of a known format and no bigger than it sees anyway.

They are taken apart in a parsing process (`services/parsing`), which hands them over packed.
"""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass
from typing import BinaryIO

from app.base.errors import ToolFailed

_NAMES = ("png", "jpg", "jpeg", "gif", "webp", "bmp", "tif", "tiff", "ico")
_LONGEST_PX = 1_568
_MOST_PIXELS = 60_000_000
_MOST_BYTES = 4_000_000
_AS_THEY_ARE = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp"}
_HEAD = struct.Struct("<IIII16s")


@dataclass(frozen=True, slots=True)
class Picture:
    """An encoded picture as it may be sent, and the size of the file's own picture."""

    data: bytes
    media_type: str
    width: int
    height: int
    original_width: int
    original_height: int


def is_picture(name: str) -> bool:
    return name.rpartition(".")[2].lower() in _NAMES


def load(file: BinaryIO, shown: str) -> Picture:
    """The picture, scaled down where it is bigger than a model sees. Raises ToolFailed where it cannot be read."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(file) as image:
            width, height = image.size
            if width * height > _MOST_PIXELS:
                raise ToolFailed(f"path: {shown!r} has {width} x {height} pixels; that is too much to look at.")
            kind = _AS_THEY_ARE.get(image.format or "")
            if kind and max(width, height) <= _LONGEST_PX:
                file.seek(0)
                data = file.read(_MOST_BYTES + 1)
                if len(data) <= _MOST_BYTES:
                    image.load()
                    return Picture(data, kind, width, height, width, height)
            image.thumbnail((_LONGEST_PX, _LONGEST_PX))
            out = io.BytesIO()
            image.convert("RGBA" if image.has_transparency_data else "RGB").save(out, "PNG")
            return Picture(out.getvalue(), "image/png", image.width, image.height, width, height)
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise ToolFailed(f"path: {shown!r} is a damaged picture and cannot be shown.") from error


def packed(picture: Picture) -> bytes:
    """The picture and its sizes in one piece."""
    sizes = (picture.width, picture.height, picture.original_width, picture.original_height)
    return _HEAD.pack(*sizes, picture.media_type.encode()) + picture.data


def unpacked(data: bytes) -> Picture:
    """What `packed` made."""
    width, height, original_width, original_height, kind = _HEAD.unpack_from(data)
    return Picture(data[_HEAD.size :], kind.rstrip(b"\0").decode(), width, height, original_width, original_height)
