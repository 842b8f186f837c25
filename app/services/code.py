"""The names that source files define: classes, functions, methods and types, found with tree-sitter."""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING

from app.base import resources
from app.base.values import dataclass


@dataclass(frozen=True, slots=True)
class Grammar:
    """A language. `module` and `function` give the tree-sitter grammar; `query` is a file in resources/code."""

    module: str
    query: str
    function: str = "language"


_PYTHON = Grammar("tree_sitter_python", "python")
_BASH = Grammar("tree_sitter_bash", "bash")
_JAVASCRIPT = Grammar("tree_sitter_javascript", "javascript")
_TYPESCRIPT = Grammar("tree_sitter_typescript", "typescript", "language_typescript")
_TSX = Grammar("tree_sitter_typescript", "typescript", "language_tsx")
_RUST = Grammar("tree_sitter_rust", "rust")
_GO = Grammar("tree_sitter_go", "go")
_JAVA = Grammar("tree_sitter_java", "java")
_C = Grammar("tree_sitter_c", "c")
_CPP = Grammar("tree_sitter_cpp", "cpp")
_C_SHARP = Grammar("tree_sitter_c_sharp", "c_sharp")
_RUBY = Grammar("tree_sitter_ruby", "ruby")
_PHP = Grammar("tree_sitter_php", "php", "language_php")

GRAMMARS: dict[str, Grammar] = {
    "py": _PYTHON,
    "pyi": _PYTHON,
    "pyw": _PYTHON,
    "sh": _BASH,
    "bash": _BASH,
    "js": _JAVASCRIPT,
    "mjs": _JAVASCRIPT,
    "cjs": _JAVASCRIPT,
    "jsx": _JAVASCRIPT,
    "ts": _TYPESCRIPT,
    "mts": _TYPESCRIPT,
    "cts": _TYPESCRIPT,
    "tsx": _TSX,
    "rs": _RUST,
    "go": _GO,
    "java": _JAVA,
    "c": _C,
    # because most headers parse as C++, and only C++ headers define classes
    "h": _CPP,
    "cc": _CPP,
    "cpp": _CPP,
    "cxx": _CPP,
    "hh": _CPP,
    "hpp": _CPP,
    "hxx": _CPP,
    "cs": _C_SHARP,
    "rb": _RUBY,
    "rake": _RUBY,
    "php": _PHP,
}

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Query

MOST_BYTES = 1_000_000
_LINE_CHARS = 160


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition in a file. `line` counts from 1, `depth` counts enclosing definitions, `text` is its first line."""

    name: str
    line: int
    depth: int
    text: str


def is_known(name: str) -> bool:
    """Return whether a file of that name is source code in a known language."""
    return _ending(name) in GRAMMARS


def definitions(source: bytes, name: str) -> list[Definition]:
    """Return what a file defines, in order. For broken code, return what can be recognised."""
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
    return language, Query(language, resources.text(f"code/{grammar.query}.scm"))
