"""What the operating system says about a file, as a sentence that names the argument and what to do."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from app.base.errors import NeedsPerson, ToolFailed, ToolMisuse, WispError

_FULL = (NeedsPerson, "there is no room left to write {shown!r}; nothing was changed. Make room first.")
_DENIED = (NeedsPerson, "there is no permission for {shown!r}. The person can change its permissions.")
_SENTENCES: dict[int, tuple[type[WispError], str]] = {
    errno.ENOENT: (ToolFailed, "there is no {shown!r}. list_files shows what there is."),
    errno.EISDIR: (ToolMisuse, "{shown!r} is a folder; give a file."),
    errno.ENOTDIR: (ToolMisuse, "a part of {shown!r} is a file and not a folder."),
    errno.ENAMETOOLONG: (ToolMisuse, "a name in '{short}…' is longer than the file system allows (255 bytes)."),
    errno.ELOOP: (ToolFailed, "{shown!r} is reached through a symbolic link that may not be followed."),
    errno.EROFS: (ToolFailed, "{shown!r} is on a disk that is read-only."),
    errno.EACCES: _DENIED,
    errno.EPERM: _DENIED,
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: _FULL,
}


@contextmanager
def told(argument: str, shown: str) -> Iterator[None]:
    """Turns an OSError from inside into a WispError about the file `shown`, given by `argument`."""
    try:
        yield
    except OSError as error:
        raise complaint(error, argument, shown) from error


def complaint(error: OSError, argument: str, shown: str) -> WispError:
    """The error in words; whatever was to be written has not been."""
    kind, sentence = _SENTENCES.get(error.errno or 0, (ToolFailed, "{shown!r} cannot be used ({reason})."))
    reason = error.strerror or str(error)
    return kind(f"{argument}: " + sentence.format(shown=shown, short=shown[:40], reason=reason))
