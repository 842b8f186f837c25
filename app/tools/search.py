"""Tools that search files, and list the classes, functions, methods and types that source files define.

tree-sitter reads the source files; a grammar is loaded for the first file of its language.
"""

from __future__ import annotations

import asyncio
import functools
import importlib
from typing import TYPE_CHECKING

from app.base import resources
from app.base.errors import Cancelled, ToolMisuse, WispError
from app.base.facts import Listed
from app.base.values import dataclass
from app.protocol.call import JsonValue, ToolCall, ToolResult
from app.protocol.spec import Effect, Param, ToolSpec, ValueType
from app.services.files import searching
from app.services.files.places import Place, Workspace
from app.services.files.reading import open_file
from app.services.files.searching import MOST_MATCHES, Query, search
from app.tools.registry import READING, Family, TurnContext

_CARD_CHARS = 8_000


class Searches:
    """The handler of search_files."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    async def search(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        place = self._workspace.locate(call.text("path"), judged=turn.judged())
        self._workspace.check_readable(place)
        if not place.exists():
            raise ToolMisuse(f"path: there is no {place.shown!r}. list_files shows what there is.")
        query = Query(call.text("regex"), call.text("file_pattern"), call.integer("context", 1), call.flag("hidden"))
        _check(query)
        hits = await search(place, query, turn.cancelled, self._workspace.private_below(place))
        if turn.cancelled.is_set():
            raise Cancelled("The search was stopped.")
        notes = "".join(f"\n[{note}]" for note in hits.notes)
        head = f"{_count(hits.matches, 'match')} in {_count(hits.files, 'file')}." if hits.matches else "No matches."
        payload: dict[str, JsonValue] = {
            "path": place.shown,
            "outside": place.is_outside,
            "matches": hits.matches,
            "files": hits.files,
            "text": hits.text[:_CARD_CHARS],
            "notes": list(hits.notes),
        }
        listed = Listed(tuple(hits.names), is_cut=bool(hits.notes))
        return ToolResult(True, "search_files", payload, f"{head}\n{hits.text}".rstrip() + notes, facts=(listed,))


def _count(number: int, what: str) -> str:
    if number == 1:
        return f"1 {what}"
    return f"{number} {what}{'es' if what.endswith('ch') else 's'}"


def _check(query: Query) -> None:
    for name, value in (("regex", query.pattern), ("file_pattern", query.files)):
        if "\0" in value:
            raise ToolMisuse(f"{name} contains a NUL character.")
    if not query.pattern:
        raise ToolMisuse("regex is empty: give what to search for.")


SEARCH = Family(
    Searches,
    (
        ToolSpec(
            name="search_files",
            description=(
                "Search the contents of files by a regular expression (Rust's: no look-around, no back-references). At "
                f"most {MOST_MATCHES} matches; `12:` marks a match, `13-` a line beside one. What .gitignore excludes, "
                "hidden and binary files are left out."
            ),
            effect=Effect.READS,
            execute=Searches.search,
            attrs=(
                Param("path", description="folder or file to search", required=True, aliases=("file", "directory")),
                Param("regex", description="what to search for", required=True, aliases=("pattern", "query")),
                Param("file_pattern", description="glob such as *.py", aliases=("glob", "include")),
                Param(
                    "context",
                    ValueType.INTEGER,
                    "lines before and after each match, 1 if left out",
                    minimum=0,
                    maximum=10,
                ),
                Param("hidden", ValueType.FLAG, "true to search hidden files too"),
            ),
            examples=('<search_files path="src" regex="def \\w+_file" file_pattern="*.py"/>',),
            taint="outside",
        ),
    ),
)

_MOST_FILES = 200
_MOST_ENTRIES = 5_000
_MOST_CHARS = 60_000


class Code:
    """The handler of list_code_definition_names."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    async def list_definitions(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        place = self._workspace.locate(call.text("path"), judged=turn.judged())
        self._workspace.check_readable(place)
        sections, notes = await asyncio.to_thread(self._outline, place)
        text = "\n\n".join(sections) or "No definitions in a language that can be read."
        payload: dict[str, JsonValue] = {"path": place.shown, "files": len(sections), "text": text[:8_000]}
        return ToolResult(True, "list_code_definition_names", payload, text + "".join(f"\n[{note}]" for note in notes))

    def _outline(self, place: Place) -> tuple[list[str], list[str]]:
        names, notes = _sources(place)
        sections: list[str] = []
        left = _MOST_CHARS
        for name in names:
            try:
                section = self._section(place, name)
            except WispError as error:  # because one unreadable file must not hide the others
                notes.append(str(error))
                continue
            left -= len(section)
            if left < 0:
                notes.append("there is more; name a folder in it, or one file")
                break
            sections += [section] if section else []
        return sections, notes

    def _section(self, place: Place, name: str) -> str:
        file_place = self._workspace.locate(str(place.path / name)) if name else place
        with open_file(self._workspace, file_place) as file:
            source = file.read(MOST_BYTES + 1)
        if len(source) > MOST_BYTES:
            raise ToolMisuse(f"{file_place.shown!r} is over {MOST_BYTES} bytes and was left out")
        found = definitions(source, file_place.path.name)
        lines = [f"{one.line} | {'  ' * one.depth}{one.text}" for one in found]
        return "\n".join([f"{file_place.shown}:", *lines]) if lines else ""


def _sources(place: Place) -> tuple[list[str], list[str]]:
    """The source files, and notes on files left out. A single file has the name ""."""
    if place.is_file():
        if not is_known(place.path.name):
            raise ToolMisuse(f"path: {place.shown!r} is in no language whose definitions can be read.")
        return [""], []
    found = searching.entries(place, recursive=True, most=_MOST_ENTRIES)
    names = [entry for entry in found.entries if not entry.endswith(("/", "@")) and is_known(entry)]
    if len(names) > _MOST_FILES or found.is_cut:
        return names[:_MOST_FILES], [f"only the first {min(len(names), _MOST_FILES)} source files were looked at"]
    return names, []


CODE = Family(
    Code,
    (
        ToolSpec(
            name="list_code_definition_names",
            description=(
                "List the classes, functions, methods and types that the source files of a folder (or a file) define, "
                "with line numbers. Python, JavaScript, TypeScript, Rust, Go, Java, C, C++, C#, Ruby, PHP, shell."
            ),
            effect=Effect.READS,
            execute=Code.list_definitions,
            attrs=(Param("path", description="folder or file", required=True, aliases=("file", "directory")),),
            examples=('<list_code_definition_names path="src"/>',),
            taint="outside",
            rare=READING,
        ),
    ),
)


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
    from tree_sitter import Language, Node
    from tree_sitter import Query as TreeQuery

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
    return _ending(name) in GRAMMARS


def definitions(source: bytes, name: str) -> list[Definition]:
    """In order. In code with errors, what can be recognised."""
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
def _loaded(grammar: Grammar) -> tuple[Language, TreeQuery]:
    from tree_sitter import Language
    from tree_sitter import Query as TreeQuery

    language = Language(getattr(importlib.import_module(grammar.module), grammar.function)())
    return language, TreeQuery(language, resources.text(f"code/{grammar.query}.scm"))
