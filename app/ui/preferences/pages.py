"""Which settings stand on which page: the table in `resources/preferences.toml`; nothing of the catalog is left out."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from typing import Any

from PySide6.QtCore import QCoreApplication

from app.base import paths
from app.settings.catalog import ALL, Setting


@dataclass(frozen=True, slots=True)
class Page:
    """`extra` names what stands between the main settings and the rest: keys, findings or folders; mostly nothing."""

    title: str
    glyph: str
    main: tuple[Setting[Any], ...]
    rest: tuple[Setting[Any], ...] = ()
    extra: str = ""

    @property
    def settings(self) -> tuple[Setting[Any], ...]:
        return (*self.main, *self.rest)


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads((paths.resources() / "preferences.toml").read_text(encoding="utf-8"))


def pages() -> list[Page]:
    """All pages, in their order."""
    tables: list[dict[str, Any]] = _table()["page"]
    known = {setting.key: setting for setting in ALL}
    named = {key for table in tables for key in table.get("settings", ())}
    made = []
    for table in tables:
        main = tuple(known[key] for key in table.get("settings", ()))
        rest = tuple(s for s in ALL if s.group in table.get("groups", ()) and s.key not in named)
        made.append(Page(table["title"], table["glyph"], main, rest, table.get("extra", "")))
    placed = {setting.key for page in made for setting in page.settings}
    left = [setting for setting in ALL if setting.key not in placed]
    for group in dict.fromkeys(setting.group for setting in left):
        made.append(Page(group.capitalize(), "gear", tuple(s for s in left if s.group == group)))
    return made


def label(setting: Setting[Any]) -> str:
    """A setting's name for people, translated."""
    return QCoreApplication.translate("Settings", english_label(setting))


def english_label(setting: Setting[Any]) -> str:
    """As the table has it, or else made of the key."""
    name = setting.key.partition(".")[2].replace("_", " ")
    found: str = _table()["labels"].get(setting.key, name[:1].upper() + name[1:])
    return found


def choice(name: str) -> str:
    """One of a setting's choices for people, translated."""
    return QCoreApplication.translate("Settings", english_choice(name))


def english_choice(name: str) -> str:
    found: str = _table()["choices"].get(name, name) if name else "automatic"
    return found


def about(setting: Setting[Any]) -> str:
    """What a setting does, translated."""
    return QCoreApplication.translate("Settings", setting.description)
