"""Searching in files."""

from __future__ import annotations

from app.base.errors import Cancelled, ToolMisuse
from app.protocol.call import ToolCall
from app.protocol.result import JsonValue, ToolResult
from app.protocol.spec import Effect, Kind, Param, ToolSpec
from app.services.workspace.places import Workspace
from app.services.workspace.searching import MOST_MATCHES, Query, search
from app.tools.context import TurnContext
from app.tools.registry import Family

_CARD_CHARS = 8_000


class Searches:
    """The handler of search_files."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    async def search(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        place = self._workspace.locate(call.text("path"))
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
        return ToolResult(True, "search_files", payload, f"{head}\n{hits.text}".rstrip() + notes)


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
                "Search the contents of all files in a folder with a regular expression in Rust's syntax (no "
                f"look-around, no back-references). At most {MOST_MATCHES} matches; `12:` marks a match, `13-` a line "
                "beside one. What .gitignore excludes, hidden and binary files are left out."
            ),
            effect=Effect.READS,
            execute=Searches.search,
            attrs=(
                Param("path", description="folder or file to search", required=True, aliases=("file", "directory")),
                Param("regex", description="what to search for", required=True, aliases=("pattern", "query")),
                Param("file_pattern", description="glob such as *.py", aliases=("glob", "include")),
                Param(
                    "context", Kind.INTEGER, "lines before and after each match, 1 if left out", minimum=0, maximum=10
                ),
                Param("hidden", Kind.FLAG, "true to search hidden files too"),
            ),
            examples=('<search_files path="src" regex="def \\w+_file" file_pattern="*.py"/>',),
        ),
    ),
)
