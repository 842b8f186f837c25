"""The rules as data: `resources/offline/*.toml`, read once."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from typing import Any

from app.base import paths
from app.providers.offline.words import Phrases


class Lexicon:
    """Everything the grammar knows about English. Tables and phrases are addressed as `file.table`."""

    def __init__(self, tables: Mapping[str, Mapping[str, Any]]) -> None:
        self._tables = tables
        self._phrases: dict[str, Phrases] = {}

    def table(self, path: str) -> Mapping[str, Any]:
        """The TOML table at `file.table`; a path that does not exist is a bug and raises KeyError."""
        node: Any = self._tables
        for name in path.split("."):
            node = node[name]
        result: Mapping[str, Any] = node
        return result

    def phrases(self, path: str) -> Phrases:
        """The list at `path`, each phrase standing for itself; of a table of lists, each standing for its key."""
        if path not in self._phrases:
            node: Any = self.table(path)
            self._phrases[path] = Phrases(_values(node))
        return self._phrases[path]

    def number(self, path: str) -> float:
        node: Any = self.table(path)
        return float(node)


def _values(node: Any) -> dict[str, str]:
    if isinstance(node, list):
        return {phrase: phrase for phrase in node}
    return {phrase: key for key, value in node.items() for phrase in (value if isinstance(value, list) else [key])}


@functools.cache
def lexicon() -> Lexicon:
    """The shipped rules."""
    folder = paths.resources() / "offline"
    return Lexicon({file.stem: tomllib.loads(file.read_text(encoding="utf-8")) for file in folder.glob("*.toml")})
