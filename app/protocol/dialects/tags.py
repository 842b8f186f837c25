"""Read opening tags piece by piece, so that an attribute may be long and a `>` in quotes ends nothing.

Text that cannot be a tag of the protocol is returned as text: attributes that are not `name="value"` pairs (`<read_file
is a tool`), a second `<` outside quotes, a misplaced quote. If a quote is not closed before a line that begins with the
tag of another tool, the broken tag ends there.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Protocol

from app.base.values import dataclass, field
from app.protocol.dialects.stream import ReaderState, UnreadText
from app.protocol.message import Misread
from app.protocol.spec import ToolSpec

NAME = re.compile(r"<([A-Za-z_][\w.:-]*)")
AFTER_NAME = frozenset(" \t\r\n/>")

_SPACE = re.compile(r"\s+")
_ATTRIBUTE = re.compile(r"[A-Za-z_][\w.:-]{0,63}")
_UNQUOTED = re.compile(r"(?:[^\s\"'<>`/]|/(?!>))+")
_UNQUOTED_LIMIT = 4096
_QUOTES = {'"': '"', "'": "'", "“": "”"}
_SLASH = re.compile(r"/\s{0,16}(>)?")
_UNFINISHED_FENCE = re.compile(r"\n[ \t]{0,64}(?:<[\w.:-]{0,96})?\Z")
_LONGEST_FENCE = 192


@lru_cache(maxsize=16)
def _fence(any_open: re.Pattern[str]) -> re.Pattern[str]:
    return re.compile(rf"\n[ \t]{{0,64}}{any_open.pattern}")


@dataclass(slots=True)
class Tag:
    """An opening tag. `start` and `stop` are offsets in the message; `raw` is the text as written."""

    name: str
    start: int
    attrs: dict[str, str] = field(default_factory=dict)
    repeated: list[str] = field(default_factory=list)
    closes_itself: bool = False
    too_long: bool = False
    stop: int = 0
    raw: str = ""


class TagOwner(Protocol):
    """The reader state that found the `<` and that continues after the tag."""

    @property
    def any_open(self) -> re.Pattern[str]: ...

    def tag_read(self, tag: Tag, stream: UnreadText, /) -> ReaderState: ...

    def tag_refused(self, name: str, stream: UnreadText, /) -> ReaderState:
        """Continue after `<name`, which was no tag but text. The text after it is still unread."""
        ...

    def tag_cut(self, tag: Tag, stream: UnreadText, /) -> ReaderState | None:
        """Handle the end of the stream inside the tag."""
        ...

    def tag_fenced(self, tag: Tag, stream: UnreadText, /) -> ReaderState:
        """Handle another tool's tag that begins a line inside this tag's quotes."""
        ...


@dataclass(frozen=True, slots=True)
class TagForm:
    """What a tag may contain: `takes` accepts attributes by name; `bare` names attributes that need no value."""

    takes: Callable[[str], bool]
    bare: frozenset[str] = frozenset()
    is_call: bool = True


class _Refused(Exception):
    """Raised inside this module when the text read so far cannot be a tag."""


class OpenTag:
    """Reads an opening tag from `<name` (not yet taken) to `>`."""

    def __init__(self, name: str, form: TagForm, owner: TagOwner, stream: UnreadText) -> None:
        self._tag = Tag(name, stream.position())
        self._form = form
        self._owner = owner
        self._raw: list[str] = []
        self._size = 0
        self._attribute = ""
        self._quote = ""
        self._value: list[str] = []
        self._step: Callable[[UnreadText], bool] = self._between
        self._done = False
        self._is_fenced = False
        self._pass(stream, len(name) + 1)

    def take(self, stream: UnreadText) -> ReaderState:
        try:
            while stream.at < len(stream.data) and self._step(stream):
                if self._done:
                    return self._finish(stream)
                if self._is_fenced:
                    return self._leave(stream)
        except _Refused:
            return self._refuse(stream)
        return self

    def end(self, stream: UnreadText) -> ReaderState | None:
        self._pass(stream, len(stream.data) - stream.at)
        if not self._form.is_call:
            return self._refuse(stream)
        self._tag.raw = "".join(self._raw)
        self._tag.stop = stream.position()
        following = self._owner.tag_cut(self._tag, stream)
        if self._step == self._quoted and (self._tag.too_long or any(">" in piece for piece in self._value)):
            self._complain(stream)
        return following

    @property
    def opened_at(self) -> int | None:
        return self._tag.start if self._form.is_call else None

    def _refuse(self, stream: UnreadText) -> ReaderState:
        stream.replay("".join(self._raw)[len(self._tag.name) + 1 :])
        return self._owner.tag_refused(self._tag.name, stream)

    def _pass(self, stream: UnreadText, length: int) -> str:
        """Take `length` characters and return them."""
        piece = stream.data[stream.at : stream.at + length]
        stream.at += length
        self._size += length
        if self._size > stream.limits.attributes:
            self._tag.too_long = True
            self._raw.clear()
            self._value.clear()
        else:
            self._raw.append(piece)
        return piece

    def _skip_space(self, stream: UnreadText) -> bool:
        """Skip space. Return whether another character follows."""
        space = _SPACE.match(stream.data, stream.at)
        if space:
            self._pass(stream, space.end() - stream.at)
        return stream.at < len(stream.data)

    def _between(self, stream: UnreadText) -> bool:
        """Read what follows the space after the tag's name or an attribute: the next attribute, or the end of the tag.

        Returns False if more text is needed.
        """
        if not self._skip_space(stream):
            return False
        data, at = stream.data, stream.at
        if data[at] == ">":
            self._pass(stream, 1)
            self._done = True
            return True
        if data[at] == "/":
            return self._slash(stream)
        name = _ATTRIBUTE.match(data, at)
        if not name:
            raise _Refused
        if name.end() == len(data) and not stream.ended:
            return False
        if not self._form.takes(name[0]):
            raise _Refused
        self._attribute = self._pass(stream, len(name[0]))
        self._step = self._after_name
        return True

    def _slash(self, stream: UnreadText) -> bool:
        slash = _SLASH.match(stream.data, stream.at)
        assert slash is not None
        if slash.end() == len(stream.data) and not slash[1]:
            return False
        if not slash[1]:
            raise _Refused
        self._pass(stream, slash.end() - stream.at)
        self._tag.closes_itself = True
        self._done = True
        return True

    def _after_name(self, stream: UnreadText) -> bool:
        if not self._skip_space(stream):
            return False
        if stream.data[stream.at] == "=":
            self._pass(stream, 1)
            self._step = self._before_value
            return True
        if self._attribute not in self._form.bare:
            raise _Refused
        self._keep("true")
        return True

    def _before_value(self, stream: UnreadText) -> bool:
        if not self._skip_space(stream):
            return False
        if closing := _QUOTES.get(stream.data[stream.at]):
            self._pass(stream, 1)
            self._quote = closing
            self._step = self._quoted
            return True
        value = _UNQUOTED.match(stream.data, stream.at)
        stop = value.end() if value else stream.at
        if stop == len(stream.data) and not stream.ended and stop - stream.at < _UNQUOTED_LIMIT:
            return False
        if not value or stop - stream.at >= _UNQUOTED_LIMIT:
            raise _Refused
        self._keep(self._pass(stream, stop - stream.at))
        return True

    def _quoted(self, stream: UnreadText) -> bool:
        stop = stream.data.find(self._quote, stream.at)
        if stream.data.find("\n", stream.at, stop if stop >= 0 else len(stream.data)) >= 0:
            fence = _fence(self._owner.any_open).search(stream.data, stream.at, stop if stop >= 0 else len(stream.data))
            if fence:
                self._pass(stream, fence.start() - stream.at)
                self._is_fenced = True
                return True
        if stop < 0:
            unfinished = _UNFINISHED_FENCE.search(stream.data, max(stream.at, len(stream.data) - _LONGEST_FENCE))
            kept = unfinished.start() if unfinished and not stream.ended else len(stream.data)
            self._add_value(self._pass(stream, kept - stream.at))
            return False
        self._add_value(self._pass(stream, stop - stream.at))
        self._pass(stream, 1)
        self._keep("".join(self._value))
        return True

    def _add_value(self, piece: str) -> None:
        if not self._tag.too_long:
            self._value.append(piece)

    def _keep(self, value: str) -> None:
        if self._attribute in self._tag.attrs:
            self._tag.repeated.append(self._attribute)
        self._tag.attrs[self._attribute] = value
        self._value = []
        self._step = self._between

    def _leave(self, stream: UnreadText) -> ReaderState:
        if not self._form.is_call:
            return self._refuse(stream)
        self._tag.raw = "".join(self._raw)
        self._tag.stop = stream.position()
        following = self._owner.tag_fenced(self._tag, stream)
        self._complain(stream)
        return following

    def _complain(self, stream: UnreadText) -> None:
        name, attribute = self._tag.name, self._attribute
        detail = f"The quote of {attribute} in <{name}> was not closed; write {attribute}={self._quote}…{self._quote}."
        stream.emit(Misread("unclosed_quote", detail, self._tag.start))

    def _finish(self, stream: UnreadText) -> ReaderState:
        self._tag.raw = "".join(self._raw)
        self._tag.stop = stream.position()
        return self._owner.tag_read(self._tag, stream)


_ALIKE = 0.6
"""How similar two names must be, as a `difflib` ratio, if they share no word."""
_STRUCTURE = ("tool_results", "results", "result", "think", "thinking", "execute", "end", "system", "function_calls")
_FOREIGN = ("invoke", "parameter", "function", "tool", "assistant", "user", "human")
"""Tag names from other agents' formats and from chat templates."""


def pattern(names: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern for the `<` of every tag that may mean something to a model or a server.

    These are structure tags, the named tools, any name with an underscore, and the marks of chat templates
    (`<|im_start|>`, `<<SYS>>`), which some servers interpret in any text.
    """
    known = "|".join(re.escape(name) for name in sorted({*_STRUCTURE, *_FOREIGN, *names}))
    return re.compile(
        rf"<(?=\s*/?\s*(?:(?:{known})\b|[a-z][a-z0-9]*_[a-z0-9_]+)|[|\uff5c]|</?SYS>|/?(?:\w+:)(?:{known})\b)",
        re.IGNORECASE,
    )


def escape(text: str, names: Iterable[str] = ()) -> str:
    """`&lt;` takes the place of each `<` that would begin a tag."""
    return pattern(names).sub("&lt;", text)


def names_of(specs: Sequence[ToolSpec]) -> frozenset[str]:
    """Aliases are among the names."""
    return frozenset(name for spec in specs for name in (spec.name, *spec.aliases))


_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the tool that a wrong name probably means, by the words or else the letters they share; "" if none."""
    words = set(map(str.lower, _WORD.findall(name)))
    likeness = difflib.SequenceMatcher(b=name.lower())

    def closeness(one: str) -> tuple[int, float]:
        likeness.set_seq1(one)
        return len(words & set(one.split("_"))), likeness.ratio()

    best = max(known, key=closeness, default="")
    shared, ratio = closeness(best)
    return best if shared or ratio >= _ALIKE else ""


TOOLS: Mapping[str, tuple[str, ...]] = {
    "ls": ("list_files",),
    "list_dir": ("list_files",),
    "grep": ("search_files",),
    "write": ("write_to_file", "write_file"),
    "write_to_file": ("write_file",),
    "write_file": ("write_to_file",),
    "create_file": ("write_to_file", "write_file"),
    "read": ("read_file",),
    "view_file": ("read_file",),
    "edit": ("replace_in_file",),
    "bash": ("execute_command",),
    "shell": ("execute_command",),
    "run_command": ("execute_command",),
    "run_terminal_cmd": ("execute_command",),
    "webfetch": ("web_fetch",),
    "websearch": ("web_search",),
}
"""Other agents' tool names in lower case, each with Wisp's tools; the first that exists is meant."""

ELSEWHERE = frozenset(
    [
        "access_mcp_resource",
        "apply_patch",
        "ask_followup_question",
        "attempt_completion",
        "bash",
        "browser_action",
        "computer_click",
        "computer_key",
        "computer_type",
        "computer_use",
        "condense",
        "create_app",
        "create_shortcut",
        "create_svg",
        "cron",
        "delete_app",
        "delete_shortcut",
        "edit_file",
        "execute_command",
        "focus_chain",
        "forget",
        "generate_image",
        "get_ux_ui_strict_guidelines",
        "launch_app",
        "list_code_definition_names",
        "list_files",
        "list_mcp_resources",
        "list_mcp_tools",
        "list_recent_commands",
        "list_surfaces",
        "load_mcp_documentation",
        "locate_screen_element",
        "mutate_surface_data",
        "new_rule",
        "new_task",
        "open_app",
        "plan_mode_respond",
        "push_notification",
        "read_command_tail",
        "read_file",
        "read_surface_data",
        "recall",
        "remember",
        "rename_widget",
        "replace_in_file",
        "report_bug",
        "reset_chat",
        "reset_theme",
        "screen_capture",
        "search_files",
        "set_ai_name",
        "set_theme",
        "summarize_task",
        "update_app",
        "update_shortcut",
        "use_mcp_tool",
        "use_skill",
        "view_image",
        "wait_for_human_input",
        "wait_until",
        "web_fetch",
        "web_search",
        "write_file",
        "write_to_file",
    ]
)

ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "file_path": ("path",),
    "filepath": ("path",),
    "filename": ("path",),
    "file": ("path",),
    "directory": ("path",),
    "pattern": ("regex",),
    "query": ("regex",),
    "include": ("file_pattern",),
    "glob": ("file_pattern",),
    "cmd": ("command",),
    "contents": ("content",),
    "file_text": ("content",),
    "coordinates": ("coordinate",),
}

DEFAULTS: Mapping[str, Mapping[str, str]] = {"ls": {"recursive": "false"}, "list_dir": {"recursive": "false"}}
"""Arguments that Wisp's tool needs to behave as the foreign tool does by default."""


def ours(known: Collection[str]) -> Mapping[str, str]:
    """Return the tool names of other agents that Wisp does not use, each with the Wisp tool that it means."""
    meant = {name: next((one for one in tools if one in known), "") for name, tools in TOOLS.items()}
    return {name: tool for name, tool in meant.items() if tool and name not in known}
