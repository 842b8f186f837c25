"""The words of each tool: on its card, and in the question about it. They are in `resources/languages/*/tools.toml`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from functools import cache
from string import Formatter

from app.base import resources
from app.base.clipping import clip_line
from app.base.values import dataclass

_FILE = "tools.toml"
_GENERIC = "generic"
_OBJECT_CHARS = 80
_FIELD_CHARS = 60

PLAIN_KINDS = ("row", "text", "terminal", "wait", "browser", "web")
"""The kinds of cards that no feature brings."""


@dataclass(frozen=True, slots=True)
class Verbs:
    """What a tool does: while it runs, when it is done, when it failed, and in a dry run."""

    present: str = ""
    past: str = ""
    failed: str = ""
    would: str = ""


@dataclass(frozen=True, slots=True)
class ToolWords:
    """The words of a tool, and how its card looks. The file says what each of them is for."""

    glyph: str = "spark"
    kind: str = "row"
    body: str = ""
    hidden: bool = False
    verbs: Verbs = Verbs()
    objects: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    undo: str = ""

    def object_of(self, known: Mapping[str, object], words: Callable[[str], str], before: str = "") -> str:
        """What the tool acts on, by the first template whose values are all in `known`; "" if there is none.

        One line, filled in. `words` translates Wisp's own names. If the template needs no values and `before` is
        not "", that is returned.
        """
        for template in self.objects:
            fields = {name: _short(known.get(name)) for name in _names(template)}
            fields |= {name: words(fields[name]) for name in self.named if fields.get(name)}
            if not fields and before:
                return before
            if all(fields.values()):
                return clip_line(template.format_map(fields), _OBJECT_CHARS) if template else ""
        return ""


@cache
def tool_words(entry: str, language: str = "") -> ToolWords:
    """Return an entry of the file in a language: one of its own, one whose pattern fits, or the generic one."""
    table = resources.in_language(_FILE, language)
    name = entry if entry in table else next((one for one in table if fnmatchcase(entry, one)), _GENERIC)
    return resources.shaped(table[name], ToolWords, f"{_FILE}, {name}")


def entry_of(tool: str, arguments: Mapping[str, object]) -> str:
    """`tool action` if there is such an entry, else the tool."""
    named = f"{tool} {arguments.get('action', '')}"
    return named if named in resources.in_language(_FILE, "") else tool


def _names(template: str) -> list[str]:
    return [name for _, name, _, _ in Formatter().parse(template) if name]


def _short(value: object) -> str:
    """A text or number, or the only one of a list, as short text for a template; "" for any other value."""
    if isinstance(value, (list, tuple)) and len(value) == 1:
        value = value[0]
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return ""
    return clip_line(f"{value:g}" if isinstance(value, float) else str(value), _FIELD_CHARS)
