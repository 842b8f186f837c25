"""Write the visible objects as lines: `e12 button "Save" (40,60,80,24) focused`, indented below their parents.

Names and values come from other programs. They are clipped and kept on one line, so that none of them can imitate a
line of the outline.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from app.base.geometry import ModelSpace, Rect
from app.base.texts import clip_line
from app.base.values import dataclass, replace
from app.desktop.accessibility import constants as spi
from app.desktop.accessibility.matching import normal
from app.desktop.accessibility.nodes import Key, Node, Program
from app.desktop.accessibility.refs import COVERED, RefBook, Stack, is_in_popup
from app.desktop.backends import Window
from app.desktop.elements import Element, Match, Outline, OutlineRequest, OutlineView

_NAME_CHARACTERS = 80
_VALUE_CHARACTERS = 120
_CHARACTERS_A_TOKEN = 4
_BLANKS = 16
_TOLD_STATES = ("focused", "checked", "selected", "expanded", "pressed", "editable", "read-only", "busy", COVERED)
_INDENT = "  "
_BEYOND = "Out of sight; click one by its name, and Wisp scrolls to it:"


@dataclass(frozen=True, slots=True)
class _Line:
    depth: int
    element: Element
    is_control: bool

    def text(self, space: ModelSpace) -> str:
        return f"{_INDENT * self.depth}{line_of(self.element, space)}"


class Outliner:
    """Writes outlines and remembers what it saw, so that a later one can tell what changed since."""

    def __init__(self) -> None:
        self._before: dict[Key, dict[str, Element]] = {}
        """For each window, its elements by ref."""

    def told(
        self,
        programs: Sequence[Program],
        refs: RefBook,
        stack: Stack,
        request: OutlineRequest,
        beyond: Sequence[Node] = (),
    ) -> Outline:
        """Return the view `interactive`, `full`, `page` or `diff`. The trees must be read and filled before.

        `beyond` are the controls that the page must be scrolled to show.
        """
        seen = {
            window.key: list(_lines(program, window, refs, stack)) for program in programs for window in program.windows
        }
        shown = [line for lines in seen.values() for line in lines]
        described = tuple(line.element for line in shown)
        if request.view in (OutlineView.INTERACTIVE, OutlineView.PAGE):
            shown = list(_controls(shown))
        if request.view is OutlineView.DIFF:
            told = self._changes(seen, request.space, is_whole=not request.window)
        else:
            told = [line.text(request.space) for line in shown] + _beyond(beyond)
        self._remember(seen, is_whole=not request.window)
        silent = tuple(program.name for program in programs if program.is_silent)
        notes = [_note(program) for program in programs if program.is_silent or program.is_cut]
        text, left_out = _within(told, request.budget)
        empty = tuple(lines[0].element.window for lines in seen.values() if len(lines) == 1)
        elements = tuple(line.element for line in shown)
        return Outline("\n".join(filter(None, [text, *notes])), elements, left_out, silent, empty, described)

    def found(self, matches: Sequence[Match], request: OutlineRequest, silent: tuple[str, ...]) -> Outline:
        """Return the view `find`: the matches, best first."""
        wanted = normal(request.window)
        matches = [match for match in matches if wanted in normal(f"{match.element.app} {match.element.window}")]
        elements = tuple(match.element for match in matches)
        told = [
            f"{line_of(match.element, request.space)} in {_quoted(match.element.window)} {match.score:.2f}"
            for match in matches
        ]
        text, left_out = _within(told, request.budget)
        return Outline(text, elements, left_out, silent)

    def _changes(self, seen: Mapping[Key, Sequence[_Line]], space: ModelSpace, *, is_whole: bool) -> list[str]:
        before = _merged(lines for window, lines in self._before.items() if is_whole or window in seen)
        now = _merged(_by_ref(lines) for lines in seen.values())
        changed = [
            f"~ {line_of(one, space)}"
            for ref, one in now.items()
            if ref in before and line_of(before[ref]) != line_of(one)
        ]
        came = [f"+ {line_of(one, space)}" for ref, one in now.items() if ref not in before]
        went = [f"- {line_of(one, space)}" for ref, one in before.items() if ref not in now]
        return [*changed, *came, *went] or ["nothing changed"]

    def _remember(self, seen: Mapping[Key, Sequence[_Line]], *, is_whole: bool) -> None:
        if is_whole:
            self._before = {}
        self._before |= {window: _by_ref(lines) for window, lines in seen.items()}


def _beyond(nodes: Sequence[Node]) -> list[str]:
    """Return a line for each control out of sight. Wisp scrolls to such a control when the model names it."""
    told = (node for node in nodes if node.called.strip() and not _is_link_around(node))
    named = (f"{_INDENT}{node.role} {_quoted(node.called)}" for node in told)
    lines = [line for line, _ in groupby(named)]
    return [_BEYOND, *lines] if lines else []


_SCREEN_PIXELS = ModelSpace()


def line_of(element: Element, space: ModelSpace = _SCREEN_PIXELS) -> str:
    """Return one element as a line, without its indent."""
    parts = [element.ref, element.role]
    if element.name.strip():
        parts.append(_quoted(element.name))
    if element.value and element.value.strip() != element.name.strip():
        parts.append(f"= {_with_blanks(element.value)}")
    parts.append(space.box(element.box))
    parts += [state for state in _TOLD_STATES if element.is_(state)]
    if element.role in spi.OPERABLE and not element.is_("sensitive"):
        parts.append("greyed")
    return " ".join(parts)


def brief_of(element: Element) -> str:
    """Return one element as part of a sentence: without its place, and with only the states that forbid its use."""
    parts = [element.ref, element.role]
    if element.name.strip():
        parts.append(_quoted(element.name))
    if element.value and element.value.strip() != element.name.strip():
        parts.append(f"= {_with_blanks(element.value)}")
    if element.role in spi.OPERABLE and not element.is_("sensitive"):
        parts.append("greyed")
    return " ".join(parts)


def held_by(shown: Window, programs: Sequence[Program], refs: RefBook) -> tuple[Element, ...]:
    """Return the elements in a window or popup. The title finds the window; without a match, its place does."""
    by_title = not shown.is_popup and any(
        window.name == shown.title for program in programs for window in program.windows
    )
    return tuple(
        refs.element(program, window, node)
        for program in programs
        for window in program.windows
        if window.name == shown.title or not by_title
        for _, node in _inside(window, by_place=program.is_unordered)
        if is_in_popup(window, node) == shown.is_popup and (by_title or _is_at(node, shown.area))
    )


def _is_at(node: Node, area: Rect) -> bool:
    return node.box is not None and area.contains(node.box.center)


def _lines(program: Program, window: Node, refs: RefBook, stack: Stack) -> Iterator[_Line]:
    inside = list(_inside(window, by_place=program.is_unordered))
    if not inside and not window.name.strip():
        return
    has_field = any(_is_focused_field(node) for _, node in inside)
    for depth, node in [(0, window), *inside]:
        if has_field and not _is_focused_field(node):
            # Clear the focus, because tabs, documents and sheets also report the focus of a field in them.
            node.states &= ~spi.BITS["focused"]
        hidden = stack.hides(program, window, node)
        element = refs.element(program, window, node, is_covered=hidden)
        yield _Line(depth, element, is_control=node.is_operable or node.role in spi.WINDOWS)


def _is_focused_field(node: Node) -> bool:
    return node.has("focused") and node.has("editable") and node.role in spi.TEXTS


def _controls(lines: Sequence[_Line]) -> Iterator[_Line]:
    """Return the tree without texts and groups. The contents of a group move up to the group's parent."""
    holders: list[int] = []
    for line in lines:
        while holders and holders[-1] >= line.depth:
            holders.pop()
        if line.is_control:
            yield replace(line, depth=len(holders))
            holders.append(line.depth)


def _inside(window: Node, *, by_place: bool) -> Iterator[tuple[int, Node]]:
    """Yield the nodes below a window that the outline shows, each with its depth among those."""
    growing = [(0, window)]
    while growing:
        depth, node = growing.pop()
        is_told = node is window or _is_told(node)
        if is_told and node is not window:
            yield depth, node
        children = sorted(node.children, key=_place) if by_place else node.children
        growing.extend((depth + is_told, child) for child in reversed(children))


def _place(node: Node) -> tuple[int, int]:
    """Return the top left corner of the node. If its place was not read, return that of the first node inside it."""
    if node.box:
        return node.box.y, node.box.x
    return min((_place(child) for child in node.children), default=(0, 0))


def _is_told(node: Node) -> bool:
    if node.box is None or node.box.size.area == 0:
        return False
    if node.place:
        return bool(node.value) or node.has("focused") or node.has("selected")
    if node.is_operable:
        is_echo = _is_cell_echo(node) or _is_link_around(node)
        return not is_echo and bool(node.called.strip() or node.value or node.role not in spi.WRITTEN)
    return bool(node.name.strip() or node.value) and not _is_echo(node)


def _is_echo(node: Node) -> bool:
    """Return whether a text only repeats the name of the control that contains it."""
    return any(above.is_operable and node.name.strip() in above.called for above in node.ancestors())


def _is_cell_echo(node: Node) -> bool:
    """Return whether this part of a cell only repeats the cell's text (GTK 3 has one part per renderer)."""
    above = node.parent
    return node.role in spi.WRITTEN and above is not None and above.role in spi.WRITTEN and node.called in above.called


def _is_link_around(node: Node) -> bool:
    """Return whether this cell only repeats the link in it (Chromium puts a cell around each link of a table)."""
    inside = (each for child in node.children for each in child.walk())
    return node.role in spi.WRITTEN and any(each.role == "link" and each.called == node.called for each in inside)


def _by_ref(lines: Iterable[_Line]) -> dict[str, Element]:
    return {line.element.ref: line.element for line in lines}


def _merged(parts: Iterable[Mapping[str, Element]]) -> dict[str, Element]:
    return {ref: element for part in parts for ref, element in part.items()}


def _note(program: Program) -> str:
    name = _quoted(program.name)
    return f"{name} does not answer" if program.is_silent else f"{name} was too slow: only a part of it is told"


def _within(lines: Sequence[str], budget: int) -> tuple[str, int]:
    """Return as many lines as the budget of tokens allows, and the number of lines left out."""
    left, kept = budget * _CHARACTERS_A_TOKEN, 0
    for line in lines:
        left -= len(line) + 1
        if left < 0:
            break
        kept += 1
    return "\n".join(lines[:kept]), len(lines) - kept


def _with_blanks(value: str) -> str:
    """Return the value in quotation marks, with the blanks at its ends, because they belong to the field's content."""
    inside = clip_line(value, _VALUE_CHARACTERS)
    if not inside or inside.endswith("…"):
        return json.dumps(inside, ensure_ascii=False)
    before, after = len(value) - len(value.lstrip(" ")), len(value) - len(value.rstrip(" "))
    return json.dumps(f"{' ' * min(before, _BLANKS)}{inside}{' ' * min(after, _BLANKS)}", ensure_ascii=False)


def _quoted(text: str, limit: int = _NAME_CHARACTERS) -> str:
    return json.dumps(clip_line(text, limit), ensure_ascii=False)
