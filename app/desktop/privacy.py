"""Private windows: black in every picture, and left out of the accessibility outline.

Only the visible part of a private window is blackened: another program's window in front of it stays in the picture.
Wisp's own windows never count as in front, because they are hidden during a capture.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase, translate
from functools import cache, lru_cache
from pathlib import Path

from app.base import resources
from app.base.geometry import Rect
from app.base.values import dataclass, replace
from app.desktop.backends import Frame, Screen, Window, Windows
from app.desktop.capture import blackened

_BETWEEN = re.compile(r"\s+[-–—]\s+")
_WITH_FOLDER = re.compile(r"(.+?)\s+\((.+)\)")
_MARKS = "*•●◦ \t"
_REMEMBERED = 512


def _no_secret(_path: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Private:
    """Decides which windows are private.

    `programs` are patterns for a window's class, its program's name or its process; `titles` are patterns for the title
    too. `is_secret` says of a path whether the model may not read that file: an editor that shows it is private as
    well, unless the person names the file among `allowed`.
    """

    programs: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    allowed: frozenset[str] = frozenset()
    is_secret: Callable[[str], bool] = _no_secret

    def hides(self, *, title: str, app: str, pid: int = 0) -> bool:
        """`app` is a window's class or a program's name."""
        is_named = _any_of((*self.programs, *self.titles))
        if any(is_named(name.casefold()) for name in (app, _process(pid)) if name):
            return True
        if _any_of(tuple(f"*{part}*" for part in self.titles))(title.casefold()):
            return True
        return _shows_secret(title, self.allowed, self.is_secret)

    def hides_window(self, window: Window) -> bool:
        """Another Wisp's conversation with the person is private too."""
        return window.is_of_other_wisp or self.hides(title=window.title, app=window.app, pid=window.pid)


def private_by(names: str, is_secret: Callable[[str], bool] = _no_secret) -> Private:
    """Make the rules from the person's list of names, separated by commas.

    Password managers and windows of secret files are private by default. A name with a minus before it is not private.
    """
    given = [name.strip().casefold() for name in names.split(",") if name.strip(" -")]
    allowed = {name.removeprefix("-").strip() for name in given if name.startswith("-")}
    known = (pattern for pattern in _password_managers() if not any(fnmatchcase(name, pattern) for name in allowed))
    return Private(
        tuple(known), tuple(name for name in given if not name.startswith("-")), frozenset(allowed), is_secret
    )


@lru_cache(maxsize=_REMEMBERED)
def _shows_secret(title: str, allowed: frozenset[str], is_secret: Callable[[str], bool]) -> bool:
    """True if a part of the title names a secret file: `.netrc - Mousepad`, `config (~/.ssh) - gedit`."""
    for part in _BETWEEN.split(title):
        path = part.strip(_MARKS)
        if found := _WITH_FOLDER.fullmatch(path):
            path = f"{found[2]}/{found[1].strip(_MARKS)}"
        if path and Path(path).name.casefold() not in allowed and is_secret(path):
            return True
    return False


def _password_managers() -> tuple[str, ...]:
    return resources.lines("desktop/private_windows.txt")


@cache
def _any_of(patterns: tuple[str, ...]) -> Callable[[str], object]:
    # Without patterns use one that never matches, because an empty one would match every name.
    return re.compile("|".join(map(translate, patterns)) or "(?!)").match


def _process(pid: int) -> str:
    """The process's name in the system's list; "" if it reports none."""
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip() if pid else ""
    except OSError:  # because the process has ended or the system has no /proc
        return ""


class Veiled:
    """A screen whose captures show private windows in black."""

    def __init__(self, screen: Screen, windows: Windows, private: Private) -> None:
        self._screen = screen
        self._windows = windows
        self._private = private

    def monitors(self) -> tuple[Rect, ...]:
        return self._screen.monitors()

    def extent(self) -> Rect:
        return self._screen.extent()

    def grab(self, area: Rect) -> Frame:
        """Capture an area. What was private before or after is black, because a window may be moving."""
        before = self._windows.shown()
        frame = self._screen.grab(area)
        after = self._windows.shown()
        stacks = (before,) if after == before else (before, after)
        hidden = [(window, part) for stack in stacks for window, part in self._hidden(stack, area)]
        return _blackened(frame, hidden) if hidden else frame

    def _hidden(self, stack: Sequence[Window], area: Rect) -> Iterator[tuple[Window, Rect]]:
        """Yield each private window with each part of the area in which it is visible."""
        for place, window in enumerate(stack):
            # A window whose place nobody tells may be anywhere.
            place_of = window.area if window.area.size.area else area
            shown = place_of.overlap(area) if self._private.hides_window(window) else None
            if shown:
                above = [other.area for other in stack[:place] if other.is_solid and other.pid != os.getpid()]
                yield from ((window, part) for part in _without([shown], above))


def _without(parts: list[Rect], covers: Iterable[Rect]) -> list[Rect]:
    for cover in covers:
        parts = [piece for part in parts for piece in _cut(part, cover)]
    return parts


def _cut(part: Rect, cover: Rect) -> Iterator[Rect]:
    hole = part.overlap(cover)
    if hole is None:
        yield part
        return
    for left, top, right, bottom in (
        (part.x, part.y, part.right, hole.y),
        (part.x, hole.bottom, part.right, part.bottom),
        (part.x, hole.y, hole.x, hole.bottom),
        (hole.right, hole.y, part.right, hole.bottom),
    ):
        if right > left and bottom > top:
            yield Rect(left, top, right - left, bottom - top)


def _blackened(frame: Frame, hidden: Sequence[tuple[Window, Rect]]) -> Frame:
    names = tuple(dict.fromkeys(window.title or window.app for window, _ in hidden))
    return replace(blackened(frame, [part for _, part in hidden]), hidden=names)
