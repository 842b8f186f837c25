"""Which installed program a person means. A weak likeness starts nothing: it is offered as a suggestion."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from app.base import paths
from app.base.errors import ToolFailed
from app.desktop.api import App

_SURE = 88
_CLEAR_LEAD = 4
_SUGGESTIONS = 4
_LOWEST_LIKENESS = 45
_FILLERS = re.compile(r"^(?:the|my|a|an)\s+|\s+(?:app|application|program|programme|window|please)$")


Command = Callable[[str], App | None]


def _no_command(_name: str) -> App | None:
    return None


@dataclass(frozen=True, slots=True)
class _Alias:
    """What people call a sort of program, and how to tell programs of that sort."""

    words: frozenset[str]
    categories: frozenset[str]
    first: tuple[str, ...]


def choose(name: str, apps: Sequence[App], command: Command = _no_command) -> App:
    """The one program that is meant. ToolFailed with the nearest names when none, or none clearly, is.

    `command` knows programs that are in no menu.
    """
    wanted = _plain(name)
    if not wanted:
        raise ToolFailed(f"Which program? {_offer(apps)}")
    for candidates in (_called(wanted, apps), _sort_of(wanted, apps), _known_as(wanted, apps)):
        if candidates:
            return candidates[0]
    if bare := command(name.strip()):
        return bare
    likely = _like(wanted, apps)
    if likely and likely[0][1] >= _SURE and (len(likely) == 1 or likely[0][1] - likely[1][1] >= _CLEAR_LEAD):
        return likely[0][0]
    near = [app for app, _score in likely if app.is_offered][:_SUGGESTIONS]
    raise ToolFailed(f"No program called {name!r} is installed. {_offer(near or apps)}")


def is_terminal(app: str) -> bool:
    """Whether a window's program is a terminal, in which the usual paste chord means something else."""
    return app.lower() in _terminals()


def _plain(name: str) -> str:
    text = " ".join(re.sub(r"[\s_]+", " ", name.strip().lower()).split())
    while (shorter := _FILLERS.sub("", text)) != text and shorter:
        text = shorter
    return text


def _called(wanted: str, apps: Iterable[App]) -> list[App]:
    return sorted((app for app in apps if wanted in (app.name.lower(), stem(app))), key=lambda app: app.ref)


def stem(app: App) -> str:
    """The short name of a program: the last part of its entry's name."""
    last = app.ref.rsplit("/", 1)[-1].removesuffix(".desktop")
    return last.rsplit(".", 1)[-1].lower()


def _sort_of(wanted: str, apps: Sequence[App]) -> list[App]:
    alias = next((alias for alias in _aliases() if wanted in alias.words), None)
    if alias is None:
        return []
    fitting = [app for app in apps if alias.categories & set(app.categories) or stem(app) in alias.first]
    return sorted(fitting, key=lambda app: (_rank(app, alias.first), app.name.lower()))


def _rank(app: App, first: tuple[str, ...]) -> int:
    names = (stem(app), *app.words)
    return next((rank for rank, name in enumerate(first) if name in names), len(first))


def _known_as(wanted: str, apps: Iterable[App]) -> list[App]:
    found = [app for app in apps if wanted in app.words]
    return found if len(found) == 1 else []


def _like(wanted: str, apps: Iterable[App]) -> list[tuple[App, float]]:
    from rapidfuzz import fuzz

    scored = [(app, max(fuzz.ratio(wanted, n) for n in (app.name.lower(), stem(app), *app.words))) for app in apps]
    return sorted(((a, s) for a, s in scored if s >= _LOWEST_LIKENESS), key=lambda pair: (-pair[1], pair[0].name))


def _offer(apps: Sequence[App]) -> str:
    names = sorted({app.name for app in apps if app.is_offered})[: _SUGGESTIONS * 3]
    return f"Installed are: {', '.join(names)}." if names else "No programs with a desktop entry are installed."


@cache
def _aliases() -> tuple[_Alias, ...]:
    table: dict[str, Any] = tomllib.loads((paths.resources() / "desktop" / "programs.toml").read_text(encoding="utf-8"))
    return tuple(
        _Alias(frozenset(entry["words"]), frozenset(entry["categories"]), tuple(entry["first"]))
        for entry in table.values()
    )


@cache
def _terminals() -> frozenset[str]:
    text = (paths.resources() / "desktop" / "terminals.txt").read_text(encoding="utf-8")
    return frozenset(text.split())
