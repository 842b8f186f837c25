"""The names that source files define: classes, functions, methods and types, found by tree-sitter."""

from __future__ import annotations

import functools
import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.base import paths
from app.services.code.languages import GRAMMARS, Grammar

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Query

MOST_BYTES = 1_000_000
_LINE_CHARS = 160


@dataclass(frozen=True, slots=True)
class Definition:
    """`line` from 1; `depth` counts the definitions around it; `text` is the line that begins it."""

    name: str
    line: int
    depth: int
    text: str


def is_known(name: str) -> bool:
    """Whether a file of that name is source in a language that can be read."""
    return _ending(name) in GRAMMARS


def definitions(source: bytes, name: str) -> list[Definition]:
    """What a file defines, in its order; broken code gives what can be made out."""
    from tree_sitter import Parser, QueryCursor

    language, query = _loaded(GRAMMARS[_ending(name)])
    tree = Parser(language).parse(source)
    found: dict[tuple[int, int], tuple[Node, str]] = {}
    for _, captures in QueryCursor(query).matches(tree.root_node):
        node, named = captures["definition"][0], captures["name"][0]
        label = (named.text or b"").decode(errors="replace")
        found.setdefault((node.start_byte, node.end_byte), (node, label))
    return _nested(found, source.split(b"\n"))


def _nested(found: dict[tuple[int, int], tuple[Node, str]], lines: list[bytes]) -> list[Definition]:
    around: list[int] = []
    result = []
    for (start, end), (node, label) in sorted(found.items(), key=lambda item: (item[0][0], -item[0][1])):
        while around and around[-1] <= start:
            around.pop()
        row = node.start_point[0]
        text = lines[row].decode(errors="replace").strip()[:_LINE_CHARS]
        result.append(Definition(label, row + 1, len(around), text))
        around.append(end)
    return result


def _ending(name: str) -> str:
    return name.rpartition(".")[2].lower()


@functools.cache
def _loaded(grammar: Grammar) -> tuple[Language, Query]:
    from tree_sitter import Language, Query

    language = Language(getattr(importlib.import_module(grammar.module), grammar.function)())
    words = (paths.resources() / "code" / f"{grammar.query}.scm").read_text(encoding="utf-8")
    return language, Query(language, words)
