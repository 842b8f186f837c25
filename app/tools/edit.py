"""Change files. Every change is made completely or not at all, and can be undone."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from app.base.clipping import clip_middle, named_in_short
from app.base.errors import ToolFailed, ToolMisuse
from app.base.facts import Removed, TakenBack
from app.base.phrases import Phrase
from app.protocol.call import JsonValue, ToolCall, ToolResult
from app.protocol.spec import Close, Effect, Param, ToolSpec, ValueType
from app.services.files import documents, parsing, reading
from app.services.files.changes import ChangeOrigin, Changes, WrittenFile
from app.services.files.edits import Applied, Edited, apply_diff
from app.services.files.places import Place, Workspace
from app.tools.registry import Family, TurnContext

_CARD_HEAD, _CARD_TAIL = 6_000, 2_000


class UndoableChange(Protocol):
    """A change of something else than a file. `at` is in seconds since 1970; `what` names it for the person."""

    @property
    def turn(self) -> str: ...

    @property
    def at(self) -> float: ...

    @property
    def what(self) -> str: ...


class Undoable(Protocol):
    """Changes of something else than files, such as the theme. `turns` are those whose changes count, None for all."""

    def listed(self) -> Sequence[UndoableChange]:
        """Return the changes that can be undone, the oldest first."""
        ...

    def take_back(self, turn: str) -> list[str]:
        """Undo what a turn (or one call of it, `turn/call`) changed. Returns a sentence about it; [] if nothing."""
        ...

    def newest_at(self, turns: Collection[str] | None) -> float:
        """Return when the newest change was made, in seconds since 1970; 0 for never."""
        ...

    def undo_newest(self, turns: Collection[str] | None) -> str:
        """Undo the newest change. Returns a sentence on what was done. Raises WispError."""
        ...


class Edits:
    """The handlers that write, edit and delete files, and undo changes."""

    def __init__(self, workspace: Workspace, changes: Changes, others: Sequence[Undoable] = ()) -> None:
        """`others` are changes of other things. They are undone as files are, if they are the newest change."""
        self._workspace = workspace
        self._changes = changes
        self._others = others

    async def write(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        place = self._workspace.locate(call.text("path"), judged=turn.judged())
        content = call.text("content")
        if call.flag("append"):
            return await self._append(call, turn, place, content)
        kept = ""
        if content and documents.is_document(place.path.name):
            await asyncio.to_thread(self._workspace.check_writable, place)
            data = await parsing.document_of(content, place.path.name)
        else:
            form = await asyncio.to_thread(self._form, place)
            data, kept = _in_form(content, form)
        if not data:
            await asyncio.to_thread(_refuse_emptying, place)
        done = await asyncio.to_thread(self._changes.write, place, (data,), _origin(call, turn))
        await turn.audit("file_written", {"path": str(place.path), "size_bytes": done.size_bytes})
        lines = content.count("\n") + (not content.endswith("\n") and content != "")
        long = "1 line" if lines == 1 else f"{lines} lines"
        payload = {**_about(place, done), "lines": lines, "text": clip_middle(content, _CARD_HEAD, _CARD_TAIL)}
        verb = "Created" if done.created else "Replaced"
        return ToolResult(
            True,
            "write_file",
            payload,
            f"{verb} {place.shown!r}: {long}, {done.size_bytes} bytes.{kept}{_limits(done)}",
        )

    async def _append(self, call: ToolCall, turn: TurnContext, place: Place, content: str) -> ToolResult:
        """Add lines at the end of a text file that is there."""

        def change(before: bytes) -> bytes:
            text, codec = _text_of(before, place)
            end = "\r\n" if "\r\n" in text else "\n"
            lines = content.removesuffix("\n").replace("\n", end)
            gap = end if text and not text.endswith("\n") else ""
            with _charset_told("content", codec):
                return reading.encoded(f"{text}{gap}{lines}{end}", codec, before)

        done = await asyncio.to_thread(self._changes.edit, place, change, _origin(call, turn))
        await turn.audit("file_edited", {"path": str(place.path), "size_bytes": done.size_bytes})
        payload = {**_about(place, done), "text": clip_middle(content, _CARD_HEAD, _CARD_TAIL)}
        return ToolResult(True, "write_file", payload, f"Added to the end of {place.shown!r}.{_limits(done)}")

    def _form(self, place: Place) -> reading.TextForm:
        """How the file is written that is there now; the usual form if there is none. Blocks."""
        if not place.is_file():
            return reading.TextForm()
        with reading.open_file(self._workspace, place) as file:
            return reading.form_of(file)

    async def replace(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        place = self._workspace.locate(call.text("path"), judged=turn.judged())
        diff = call.text("diff")
        results: list[Edited] = []

        def change(before: bytes) -> bytes:
            text, codec = _text_of(before, place)
            results.append(apply_diff(text, diff))
            with _charset_told("diff", codec):
                return reading.encoded(results[0].text, codec, before)

        done = await asyncio.to_thread(self._changes.edit, place, change, _origin(call, turn))
        blocks = results[0].blocks
        await turn.audit("file_edited", {"path": str(place.path), "blocks": len(blocks)})
        listed: list[JsonValue] = [
            {"first": block.first, "last": block.last, "added": block.added, "way": block.way} for block in blocks
        ]
        payload = {**_about(place, done), "blocks": listed, "diff": clip_middle(diff, _CARD_HEAD, _CARD_TAIL)}
        return ToolResult(True, "replace_in_file", payload, _told(place, blocks) + _limits(done))

    async def delete(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        place = self._workspace.locate(call.text("path"), judged=turn.judged())
        done = await asyncio.to_thread(self._changes.delete, place, _origin(call, turn))
        await turn.audit("file_deleted", {"path": str(place.path), "trashed": done.trashed})
        where = "moved to the trash" if done.trashed else "deleted; undo_last_change brings it back"
        payload = {**_about(place, done), "trashed": done.trashed}
        return ToolResult(True, "delete_file", payload, f"{place.shown!r} was {where}.", facts=(Removed(),))

    async def undo(self, _call: ToolCall, turn: TurnContext) -> ToolResult:
        others = await asyncio.to_thread(newest_of, self._others, self._changes.newest_at(turn.turns), turn.turns)
        if others:
            done = " ".join([await asyncio.to_thread(other.undo_newest, turn.turns) for other in others])
            await turn.audit("change_undone", {"told": done})
            back = TakenBack(len(others))
            return ToolResult(True, "undo_last_change", {"path": "", "text": done}, done, facts=(back,))
        undone, problems = await asyncio.to_thread(self._changes.undo_newest, turn.turns)
        if not undone:
            raise ToolFailed(" ".join(problems) or "There is no change of a file to undo.")
        change = undone[0]
        place = self._workspace.locate(change.path)
        await turn.audit("change_undone", {"path": change.path, "tool": change.tool})
        payload: dict[str, JsonValue] = {"tool": change.tool}
        facts = (TakenBack(len(undone), change.turn),)
        if len(undone) > 1 or problems:
            names = ", ".join(named_in_short([self._workspace.locate(one.path).shown for one in undone]))
            told = " ".join([f"Took back {change.tool}: {names}.", *problems])
            return ToolResult(True, "undo_last_change", {**payload, "path": names}, told, facts=facts)
        now = "is gone again" if change.before is None else "is as it was before"
        told = f"Took back {change.tool}: {place.shown!r} {now}."
        return ToolResult(True, "undo_last_change", {**payload, "path": place.shown}, told, facts=facts)


def newest_of(others: Sequence[Undoable], files_at: float, turns: Collection[str] | None) -> list[Undoable]:
    """Return those with the newest change, if that is newer than the newest change of a file.

    There are several if one call changed several at the same time, as a reset of the looks does.
    """
    times = [one.newest_at(turns) for one in others]
    newest = max(times, default=0.0)
    return [one for one, at in zip(others, times, strict=True) if at == newest > files_at]


def _origin(call: ToolCall, turn: TurnContext) -> ChangeOrigin:
    return ChangeOrigin(turn.turn_id, call.name)


def _in_form(content: str, form: reading.TextForm) -> tuple[bytes, str]:
    """The content in this form, and a sentence on what of that is unusual, or had to change."""
    try:
        return form.encode(content), f" As before: {form}." if str(form) else ""
    except UnicodeEncodeError:  # because it holds signs that the old charset lacks
        with _charset_told("content", reading.UTF_8.codec):
            return content.encode(), f" It is UTF-8 now: {form.codec} lacks some of its characters."


@contextmanager
def _charset_told(argument: str, codec: str) -> Iterator[None]:
    try:
        yield
    except UnicodeEncodeError as error:
        sign = f"U+{ord(error.object[error.start]):04X}"
        raise ToolFailed(
            f"{argument}: the character {sign} cannot be written in the file's charset, {codec}."
        ) from None


def _text_of(data: bytes, place: Place) -> tuple[str, str]:
    found = reading.decoded(data)
    if found is None:
        values = {"path": place.shown, "kind": reading.kind_of(data)}
        what = Phrase("{path!r} is {kind} and no text, so Wisp cannot edit parts of it.", values)
        raise ToolFailed(what, argument="path")
    return found


def _refuse_emptying(place: Place) -> None:
    """Raise ToolMisuse for an empty content if the file has one: a model may have forgotten to give it."""
    if place.is_file() and place.path.stat().st_size:
        raise ToolMisuse(
            f"content is empty, and {place.shown!r} is not. Give the whole content; to remove the file use delete_file."
        )


def _about(place: Place, done: WrittenFile) -> dict[str, JsonValue]:
    return {
        "path": place.shown,
        "zone": place.zone.value,
        "created": done.created,
        "size_bytes": done.size_bytes,
        "undoable": done.undoable,
    }


def _limits(done: WrittenFile) -> str:
    parted = " The file has other names (hard links) elsewhere, which keep the old content." if done.parted else ""
    return parted if done.undoable else f"{parted} The old content was too big to be kept, so this cannot be undone."


def _told(place: Place, blocks: tuple[Applied, ...]) -> str:
    if not any(block.changes for block in blocks):
        return f"{place.shown!r} is as it was: SEARCH and REPLACE are the same."
    parts = []
    for block in sorted(blocks, key=lambda block: block.number):
        how = "" if block.way == "exact" else f" (found although {block.way})"
        parts.append(f"block {block.number}: {_deed(block)}{how}")
    return f"Edited {place.shown!r}. " + "; ".join(parts) + "."


def _deed(block: Applied) -> str:
    """Such as `replaced lines 2-4 with 1 line`."""
    where = f"line {block.first}" if block.first >= block.last else f"lines {block.first}-{block.last}"
    added = "1 line" if block.added == 1 else f"{block.added} lines"
    if not block.changes:
        return f"left {where} as {'it was' if block.first >= block.last else 'they were'}"
    if not block.added:
        return f"deleted {where}"
    old = block.last - block.first + 1
    if not old:
        return f"wrote {added}"
    return f"replaced {where}" if block.added == old else f"replaced {where} with {added}"


_PATH = Param(
    "path",
    description="relative to the workspace, absolute, device:/… (home) or wisp:/…",
    required=True,
    aliases=("file", "file_path", "filename", "filepath", "directory"),
)

EDITS = Family(
    Edits,
    (
        ToolSpec(
            name="write_file",
            description=(
                "Create a file or replace all of it; missing folders are made. It is written exactly as given, with "
                "its final line break, but without one right at its beginning. A .docx or .pdf is made of Markdown, "
                "an .xlsx of CSV or tables."
            ),
            effect=Effect.WRITES,
            execute=Edits.write,
            attrs=(_PATH, Param("append", ValueType.FLAG, "adds it to the end")),
            body=Param(
                "content",
                description="the whole content",
                required=True,
                close=Close.LAST,
                short=False,
                keeps_final_newline=True,
                aliases=("contents", "file_text", "text"),
                takes_json=True,
            ),
            examples=('<write_file path="wisp:/hello.py"><![CDATA[\nprint("hello")\n]]></write_file>',),
            aliases=("write_to_file",),
        ),
        ToolSpec(
            name="replace_in_file",
            description=(
                "Change a text file by SEARCH/REPLACE blocks, all or none. SEARCH holds whole lines exactly as in the "
                "file, enough to fit one place only; an empty REPLACE deletes them. A line that looks like a marker "
                "gets a backslash before it."
            ),
            effect=Effect.WRITES,
            execute=Edits.replace,
            attrs=(_PATH,),
            body=Param("diff", description="the blocks", required=True, close=Close.LAST, short=False),
            examples=(
                '<replace_in_file path="app.py"><![CDATA[\n------- SEARCH\nport = 80\n=======\nport = 8080\n'
                "+++++++ REPLACE\n]]></replace_in_file>",
            ),
        ),
        ToolSpec(
            name="delete_file",
            description="Move a file to the trash (where there is none, delete it). Not for folders.",
            effect=Effect.WRITES,
            execute=Edits.delete,
            attrs=(_PATH,),
            examples=('<delete_file path="old.txt"/>',),
        ),
        ToolSpec(
            name="undo_last_change",
            description="Take back this conversation's newest change of a file or the theme.",
            effect=Effect.WRITES,
            execute=Edits.undo,
            examples=("<undo_last_change/>",),
        ),
    ),
)
