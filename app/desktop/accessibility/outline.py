"""Write the visible objects as lines: `e12 button "Save" (40,60,80,24) focused`, indented below their parents.

`e12` is the ref of an object: a short name that stays the same for as long as the object exists. Names and values come
from other programs. They are clipped and kept on one line, so that none of them can imitate a line of the outline.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from app.base.clipping import clip_line
from app.base.facts import Came, DialogAsks, Named, Shows
from app.base.geometry import ModelSpace, Point, Rect
from app.base.ids import counter
from app.base.values import dataclass, replace
from app.desktop.accessibility import constants as spi
from app.desktop.accessibility.matching import normal
from app.desktop.accessibility.nodes import Key, Node, Program, Scale, lies_in, state_names
from app.desktop.backends import Window
from app.desktop.elements import (
    GOOD,
    POPPED_UP,
    UNPLACED,
    Element,
    Match,
    Outline,
    OutlineRequest,
    OutlineView,
    OutOfSight,
    SeveralOutOfSight,
)

COVERED = "covered"
"""The state of an element whose middle is behind another window. AT-SPI has no such state."""
_POPUPS = frozenset({"window", "popup menu", "menu", "tool tip"})


class Stack:
    """The windows at one moment, topmost first. If none is known, nothing is covered. `corners`: those of monitors."""

    def __init__(self, windows: Sequence[Window] = (), monitors: Sequence[Rect] = ()) -> None:
        self.corners = tuple(Point(monitor.x, monitor.y) for monitor in monitors)
        own = (window for window in windows if not window.is_minimised and (window.pid or not window.is_popup))
        self._windows = list(own)  # because a menu without a process may be an overlay that clicks pass through
        self._away = {(window.pid, window.title) for window in windows if window.is_minimised}

    def areas(self, pid: int, title: str) -> list[Rect]:
        """The areas that a program's window of that title may have, frames included.

        GTK's dialogs have no title.
        """
        own = [known for known in self._windows if known.pid == pid and not known.is_popup]
        return [known.area for known in own if known.title == title] or [known.area for known in own]

    def contents(self, pid: int, title: str, *, is_active: bool | None = None) -> list[Rect]:
        """Return where the surface of a program's window of that title may lie. [] if the system does not tell.

        `is_active`: only windows that are, or are not, active, where there are such.
        """
        if not self.is_wayland:
            return []
        named = [known for known in self._windows if known.title == title and not known.is_popup]
        own = [known for known in self._windows if known.pid == pid and not known.is_popup]
        # A compositor may not tell the process of a window.
        ways = [known for known in named if known.pid == pid], [known for known in named if not known.pid], own
        fitting = next(filter(None, ways), [])
        alike = [known for known in fitting if is_active is None or known.is_active == is_active] or fitting
        surfaces = (known.content or known.area for known in alike)
        return [surface for surface in surfaces if surface.size.area]

    @property
    def is_wayland(self) -> bool:
        """Whether the system tells where surfaces lie, as Wayland compositors do, or not even where windows lie."""
        listed = (known for known in self._windows if not known.is_popup)
        return any(known.content is not None or not known.area.size.area for known in listed)

    def is_active(self, pid: int, title: str) -> bool:
        return any(known.is_active for known in self._windows if (known.pid, known.title) == (pid, title))

    def popups(self, pid: int) -> list[Rect]:
        """Return the areas of a program's menus and tool tips, with the shadows that they draw themselves."""
        return [known.content or known.area for known in self._windows if known.pid == pid and known.is_popup]

    def hides(self, program: Program, window: Node, node: Node) -> bool:
        """True if a click on the middle of the node would go to a window in front of it."""
        return node.box is not None and self.hides_at(node.box.center, program, window, node)

    def hides_at(self, point: Point, program: Program, window: Node, node: Node) -> bool:
        """True if a click at a point of the node would go to a window in front of it."""
        own = [known for known in self._windows if known.pid == program.pid]
        top = self._top(point)
        if (program.pid, window.name) in self._away and not any(known.title == window.name for known in own):
            return True
        if top is None or not own or is_in_popup(window, node):
            return False
        if top.pid != program.pid:
            return True
        return top.title != window.name and any(known.title == window.name for known in own)

    def place(self, program: Program, window: Node) -> int:
        """Return how many windows lie in front of a program's window; one that is not shown comes behind all."""
        shown = ((known.pid, known.title) for known in self._windows)
        return next((at for at, known in enumerate(shown) if known == (program.pid, window.name)), len(self._windows))

    def _top(self, point: Point) -> Window | None:
        return next((window for window in self._windows if window.area.contains(point)), None)


def is_in_popup(window: Node, node: Node) -> bool:
    """True for what is in a menu or drop-down list, which is on top and in no window list."""
    return window.role in _POPUPS or any(above.role in _POPUPS for above in node.ancestors())


_KEPT = 20_000


@dataclass(frozen=True, slots=True)
class Seen:
    """An object that has a ref: its key, its window's key, the scale of its coordinates, and its last state.

    `place` is set for a cell of a sheet. `is_apart`: its coordinates do not follow its window's scale, because it is in
    a page or a menu. `pane` is the root pane that it is in, and what is around that pane; () if it is in none.
    `anchor` is what fills its window's surface, if its program tells places within the window: the scale follows it; ()
    for a popup, which keeps its scale. None for a program that tells places on the screen. `label` is what a combo box
    is called by; its own name may be what is chosen in it.
    """

    key: Key
    window: Key
    scale: Scale
    is_apart: bool
    element: Element
    place: Key | None = None
    pane: tuple[Key, ...] = ()
    anchor: tuple[Key, ...] | None = None
    label: str = ""


class RefBook:
    """Gives refs to objects and finds objects by them. Forgets the oldest after 20 000."""

    def __init__(self) -> None:
        self._next = counter("e")
        self._refs: dict[Key, str] = {}
        self._seen: dict[str, Seen] = {}

    def element(self, program: Program, window: Node, node: Node, *, is_covered: bool = False) -> Element:
        """The element's ref stays the same for as long as the object exists."""
        assert node.box is not None, "fill() comes first"
        told_besides = {COVERED} if is_covered else set()
        told_besides |= {POPPED_UP} if program.is_within and is_in_popup(window, node) else set()
        element = Element(
            ref=self.ref_of(node.place or node.key),
            role=node.role,
            name=node.called,
            value=node.value or "",
            box=node.box,
            states=_states(node) | told_besides,
            window=window.name,
            app=program.name,
            pid=program.pid,
            description=node.description,
            is_in_dialog=any(above.role in spi.DIALOGS for above in node.ancestors()),
            length=node.length,
        )
        scale = program.scale_for(node)
        pane = (node.pane.key, node.pane.parent.key) if node.pane and node.pane.parent else ()
        is_apart = node.is_in_page or (not pane and scale != program.scales.get(window.key, scale))
        anchor = None
        if (filling := program.anchors.get(window.key)) is not None:
            anchor = () if is_apart and not node.is_in_page else tuple(part.key for part in filling)
        label = node.label if node.role == spi.COMBO_BOX else ""
        self._seen[element.ref] = Seen(node.key, window.key, scale, is_apart, element, node.place, pane, anchor, label)
        return element

    def renewed(self, ref: str, node: Node, scale: Scale) -> Element:
        """Store the newly read node under a ref that exists, and return it as an `Element`."""
        seen = self._seen[ref]
        before = seen.element
        assert node.box is not None
        element = replace(
            before,
            role=node.role,
            name=seen.label or node.name or before.name,
            value=node.value or (node.name if seen.label not in ("", node.name) else ""),
            box=node.box,
            states=_states(node) | (before.states & {POPPED_UP}),
            description=node.description,
            length=node.length,
        )
        self._seen[ref] = replace(seen, element=element, key=node.key, scale=scale)
        return element

    def ref_of(self, key: Key) -> str:
        ref = self._refs.get(key)
        if ref is None:
            ref = self._refs[key] = self._next()
            if len(self._refs) > _KEPT:
                oldest = next(iter(self._refs))
                self._seen.pop(self._refs.pop(oldest), None)
        return ref

    def key_of(self, ref: str) -> Key | None:
        """The object's key (of a cell: its place); None for an unknown ref."""
        seen = self._seen.get(ref)
        return seen.place or seen.key if seen else None

    def known(self, key: Key | None) -> str:
        """Return the ref that an object already has, or ""."""
        return self._refs.get(key, "") if key else ""

    def name_of(self, key: Key) -> str | None:
        """As it was when the object was last read, or None if it was never read."""
        seen = self._seen.get(self._refs.get(key, ""))
        return seen.element.name if seen else None

    def last_seen(self, ref: str) -> Seen | None:
        """None for an unknown ref."""
        return self._seen.get(ref)


def _states(node: Node) -> frozenset[str]:
    return state_names(node.states) | ({UNPLACED} if node.is_unplaced else set())


_NAME_CHARACTERS = 80
_VALUE_CHARACTERS = 120
LINE_BREAK = "⏎"
"""How a line break in a field is shown in one line."""
_TITLE_CHARACTERS = 60
_QUESTION_CHARACTERS = 400
_LISTED, _LISTED_CHARACTERS = 24, 900
_ROWS_PX = 100
"""How far above the lowest button of a dialog its other answers may stand."""
_CHARACTERS_A_TOKEN = 4
_BLANKS = 16
_TOLD_STATES = ("focused", "checked", "selected", "expanded", "pressed", "editable", "read-only", "busy", COVERED)
_INDENT = "  "
_MANY = 3
_ANSWERS = frozenset({"button", "push button"})
_ASKING = _ANSWERS | {"check box", "icon", "link"}
"""The roles of the controls that a dialog has which only asks something."""
_UNSEEN = "[at least {} more out of sight: view=page names them; click one by its name, and Wisp scrolls to it]"
_OUT_OF_SIGHT = "is out of sight: click it by its ref or name, and Wisp scrolls to it"
_NO_PLACE = "[no place is known: press it by its ref]"
_SIMILAR = "Similar:"
_BEYOND = "Out of sight; click one by its name, and Wisp scrolls to it:"


@dataclass(frozen=True, slots=True)
class _Line:
    depth: int
    element: Element
    is_control: bool

    def text(self, space: ModelSpace) -> str:
        return f"{_INDENT * self.depth}{line_of(self.element, space)}"


class Outliner:
    """Writes outlines. It remembers what it wrote, so that the view `diff` can show what changed since."""

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
        unseen: int = 0,
    ) -> Outline:
        """Return the view `interactive`, `full`, `page` or `diff`. The caller has read and filled the trees.

        `beyond` are the controls that are visible only after the page is scrolled; where they are not named, `unseen`
        says how many there are at least.
        """
        windows = [(program, window) for program in programs for window in program.windows]
        windows.sort(key=lambda pair: stack.place(*pair))  # so that what a budget leaves out lies behind
        seen = {window.key: list(_lines(program, window, refs, stack)) for program, window in windows}
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
        if unseen and request.view is not OutlineView.DIFF:
            notes.append(_UNSEEN.format(unseen))
        text, left_out = _within(told, request.budget)
        empty = tuple(lines[0].element.window for lines in seen.values() if len(lines) == 1)
        elements = tuple(line.element for line in shown)
        return Outline("\n".join(filter(None, [text, *notes])), elements, left_out, silent, empty, described)

    def found(
        self,
        matches: Sequence[Match],
        far: OutOfSight | SeveralOutOfSight | None,
        request: OutlineRequest,
        silent: tuple[str, ...],
    ) -> Outline:
        """The view `find`: the good matches, best first.

        Without one: `far`, which is out of sight, and what is similar, which is no element of the outline.
        `silent` names programs that did not answer.
        """
        matches = [match for match in matches if _is_of(match.element, request.window)]
        good = [match for match in matches if match.score >= GOOD]
        one = far.element if isinstance(far, OutOfSight) else None
        beyond = [one] if one and not good and _is_of(one, request.window) else []
        told = [f"{brief_of(element)} {_OUT_OF_SIGHT}" for element in beyond]
        told += [str(far)] if isinstance(far, SeveralOutOfSight) else []
        told += [] if good or not matches else [_SIMILAR]
        told += [
            f"{line_of(match.element, request.space)} in {_quoted(match.element.window)} {match.score:.2f}"
            for match in good or matches
        ]
        text, left_out = _within(told, request.budget)
        return Outline(text, (*(match.element for match in good), *beyond), left_out, silent)

    def _changes(self, seen: Mapping[Key, Sequence[_Line]], space: ModelSpace, *, is_whole: bool) -> list[str]:
        before = _merged(lines for window, lines in self._before.items() if is_whole or window in seen)
        now = _merged(_by_ref(lines) for lines in seen.values())
        moved = _moved_together([(before[ref], one) for ref, one in now.items() if ref in before])
        moves = [
            f"~ {len(refs)} in {_quoted(window)} moved by ({x},{y}) on the screen"
            for (window, x, y), refs in moved.items()
        ]
        apart = frozenset().union(*moved.values())
        changed = moves + [
            f"~ {line_of(one, space)}"
            for ref, one in now.items()
            if ref in before and ref not in apart and line_of(before[ref]) != line_of(one)
        ]
        came = [f"+ {line_of(one, space)}" for ref, one in now.items() if ref not in before]
        went = [f"- {line_of(one, space)}" for ref, one in before.items() if ref not in now]
        return [*changed, *came, *went] or ["nothing changed"]

    def _remember(self, seen: Mapping[Key, Sequence[_Line]], *, is_whole: bool) -> None:
        if is_whole:
            self._before = {}
        self._before |= {window: _by_ref(lines) for window, lines in seen.items()}


def _moved_together(pairs: Sequence[tuple[Element, Element]]) -> dict[tuple[str, int, int], set[str]]:
    """Return the refs of the many elements of a window that only moved by the same offset (screen pixels), by that."""
    moved: dict[tuple[str, int, int], set[str]] = {}
    for before, now in pairs:
        by = (now.box.x - before.box.x, now.box.y - before.box.y)
        if by != (0, 0) and replace(before, box=now.box) == now and before.box.size == now.box.size:
            moved.setdefault((now.window, *by), set()).add(now.ref)
    return {place: refs for place, refs in moved.items() if len(refs) >= _MANY}


def _beyond(nodes: Sequence[Node]) -> list[str]:
    """A line for each control that must be scrolled to. Wisp scrolls there when the model uses the name."""
    told = (node for node in nodes if node.called.strip() and not _is_link_around(node))
    named = (f"{_INDENT}{node.role} {_quoted(node.called)}" for node in told)
    lines = [line for line, _ in groupby(named)]
    return [_BEYOND, *lines] if lines else []


_SCREEN_PIXELS = ModelSpace()


def line_of(element: Element, space: ModelSpace = _SCREEN_PIXELS) -> str:
    """Without indentation."""
    place = _NO_PLACE if element.is_(UNPLACED) else space.box(element.box)
    told = [place, *(state for state in _TOLD_STATES if element.is_(state))]
    return " ".join([*_named(element), *told, *_greyed(element)])


def brief_of(element: Element) -> str:
    """As part of a sentence: without its position; with "greyed" if it cannot be used."""
    return " ".join([*_named(element), *_greyed(element)])


def _is_of(element: Element, window: str) -> bool:
    return normal(window) in normal(f"{element.app} {element.window}")


def _named(element: Element) -> list[str]:
    name, value = element.name.strip(), element.value or ""
    is_told = bool(value) and value.strip() != name
    named = [_quoted(element.name)] if name else []
    return [element.ref, element.role, *named, *([f"= {_shown_value(element)}"] if is_told else [])]


def is_greyed(element: Element) -> bool:
    """True if an element that could be used otherwise cannot be used now."""
    return element.role in spi.OPERABLE and not element.is_("sensitive")


_SET = spi.LABELLED | spi.TEXTS | spi.FLAGS


def takes_value(element: Element) -> bool:
    """True for a field, a slider, a box or a list, into which a value can be put."""
    return element.role in _SET or element.is_("editable")


def _greyed(element: Element) -> list[str]:
    return ["greyed"] if is_greyed(element) else []


def contents_of(window: Window, held: Sequence[Element]) -> DialogAsks | Shows | None:
    """Return what a window or pop-up contains; None if nothing. Of a question, it is what it asks and its buttons."""
    if _question_in(window, held):
        return dialog_in_front(window, held)
    name = "What opened" if window.is_popup else f'"{clip_line(window.title, _TITLE_CHARACTERS)}"'
    if not held:
        return None
    told, things = _in_brief(held)
    return Shows("" if window.is_popup else window.title, things, f"{name} shows {told}.")


def came(new: Sequence[Element]) -> Came:
    """Return what is new in a window, with refs and values as in `contents_of`."""
    told, things = _in_brief(new)
    return Came(things, max(len(new) - len(things), 0), f"New: {told}.")


def _in_brief(elements: Sequence[Element]) -> tuple[str, tuple[Named, ...]]:
    """As many elements as a receipt has room for, controls first, and how many more there are."""
    ordered = sorted({one.ref: one for one in elements}.values(), key=lambda one: one.role not in spi.OPERABLE)
    told, left = list[str](), _LISTED_CHARACTERS
    for element in ordered[:_LISTED]:
        brief = brief_of(element)
        left -= len(brief) + 2
        if left < 0:
            break
        told.append(brief)
    more = f" and {len(ordered) - len(told)} more" if len(ordered) > len(told) else ""
    return ", ".join(told) + more, tuple(Named(element.role, element.name) for element in ordered[: len(told)])


def dialog_in_front(window: Window, held: Sequence[Element]) -> DialogAsks:
    """Return what a dialog asks, and its lowest buttons."""
    title = clip_line(window.title, _TITLE_CHARACTERS)
    return DialogAsks(title, clip_line(_question_in(window, held), _QUESTION_CHARACTERS), _buttons_in(held))


def _question_in(window: Window, held: Sequence[Element]) -> str:
    """What a dialog of nothing but texts and buttons asks; "" for any other window."""
    roles = {element.role for element in held if element.role in spi.OPERABLE}
    texts = [element.name.strip() for element in held if element.role not in spi.OPERABLE and element.name.strip()]
    if not (window.is_dialog and not window.is_popup and texts and roles & _ANSWERS and roles <= _ASKING):
        return ""
    return " ".join(texts)


def _buttons_in(held: Sequence[Element]) -> tuple[str, ...]:
    """A dialog's answers: the buttons in its lowest row."""
    buttons = [element for element in held if element.role in _ANSWERS and element.name.strip()]
    lowest = max((button.box.center.y for button in buttons), default=0)
    named = [clip_line(button.name, _NAME_CHARACTERS) for button in buttons if lowest - button.box.center.y <= _ROWS_PX]
    return tuple(named[:_LISTED])


def held_by(
    shown: Window,
    programs: Sequence[Program],
    refs: RefBook,
    among: frozenset[Key] = frozenset(),
    others: Collection[str] = (),
) -> tuple[Element, ...]:
    """Return the elements in a window or popup: found by its title, or by its position if no title fits.

    `others` are the titles of the program's other windows, which the window lies over. With `among`, only those with
    these keys, and what is in them.

    GTK 3 reports a question without a visible title as `Question`, and with the position of its window.
    """
    windows = [window for program in programs for window in program.windows]
    titled = [window for window in windows if not shown.is_popup and window.name == shown.title]
    if len(titled) > 1:  # because a question may have the title of the dialog that it lies over
        titled = [window for window in titled if window.box and lies_in(window.box, shown.area)] or titled
    by_title = bool(titled)
    by_box = [window for window in windows if not shown.is_popup and window.box == shown.area]
    return tuple(
        refs.element(program, window, node)
        for program in programs
        for window in program.windows
        if (window in titled if by_title else window in by_box or not (by_box or window.name in others))
        for _, node in _inside(window, by_place=program.is_unordered)
        if is_in_popup(window, node) == shown.is_popup and (by_title or _is_at(node, shown.area))
        if not among or _is_among(node, among)
    )


def _is_among(node: Node, among: frozenset[Key]) -> bool:
    """Return whether a node is one of these, lies in one, or is told by the words of one (a row by its label)."""
    if node.key in among or any(above.key in among for above in node.ancestors()):
        return True
    return node.role in spi.WRITTEN and any(part.key in among and _is_echo(part) for part in node.walk())


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
    """Yield the lines of controls. Texts and groups are left out, so what is in a group gets less indentation."""
    holders: list[int] = []
    for line in lines:
        while holders and holders[-1] >= line.depth:
            holders.pop()
        if line.is_control:
            yield replace(line, depth=len(holders))
            holders.append(line.depth)


def _inside(window: Node, *, by_place: bool) -> Iterator[tuple[int, Node]]:
    """Yield the nodes in a window that an outline shows, with their depth. `by_place` sorts children by position."""
    growing = [(0, window)]
    while growing:
        depth, node = growing.pop()
        is_told = node is window or _is_told(node)
        if is_told and node is not window:
            yield depth, node
        children = sorted(node.children, key=_place) if by_place else node.children
        growing.extend((depth + is_told, child) for child in reversed(children))


def _place(node: Node) -> tuple[int, int]:
    """(y, x) of the node's top left corner; if its box was not read, that of the topmost node inside it."""
    if node.box:
        return node.box.y, node.box.x
    return min((_place(child) for child in node.children), default=(0, 0))


def _is_told(node: Node) -> bool:
    if node.box is None or (node.box.size.area == 0 and not (node.is_unplaced and node.is_operable)):
        return False
    if node.place:
        return bool(node.value) or node.has("focused") or node.has("selected")
    if node.is_operable:
        is_echo = _is_cell_echo(node) or _is_link_around(node)
        return not is_echo and bool(node.called.strip() or node.value or node.role not in spi.WRITTEN)
    return bool(node.name.strip() or node.value) and not _is_echo(node)


def _is_echo(node: Node) -> bool:
    """True if a text only repeats the name of the control that contains it."""
    return any(above.is_operable and node.name.strip() in above.called for above in node.ancestors())


def _is_cell_echo(node: Node) -> bool:
    """True if a part of a cell only repeats the cell's text (GTK 3 has one part for each renderer)."""
    above = node.parent
    return node.role in spi.WRITTEN and above is not None and above.role in spi.WRITTEN and node.called in above.called


def _is_link_around(node: Node) -> bool:
    """True if a cell only repeats the link in it (Chromium puts a cell around each link of a table)."""
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
    """As many lines as `budget` (in tokens) allows, as one text, and the number of lines left out."""
    left, kept = budget * _CHARACTERS_A_TOKEN, 0
    for line in lines:
        left -= len(line) + 1
        if left < 0:
            break
        kept += 1
    return "\n".join(lines[:kept]), len(lines) - kept


def _shown_value(element: Element) -> str:
    """Return the value in quotation marks, with the blanks at its ends, which are part of the field's content.

    A cut is told, and how to read all: a model that writes back what it sees would destroy the rest.
    """
    shown = json.dumps(_on_one_line(element.value), ensure_ascii=False)
    if not is_cut(element):
        return shown
    return f"{shown} [cut: {_VALUE_CHARACTERS} of {element.length} characters; all: view=find query={element.ref}]"


def _on_one_line(value: str) -> str:
    """The text's beginning with `⏎` for each line break, and a few of the blanks at its ends."""
    line = LINE_BREAK.join(value.splitlines()) + (LINE_BREAK if value.endswith("\n") else "")
    shown = line[:_VALUE_CHARACTERS].replace("\t", " ")
    inside = shown.strip(" ")
    before, after = len(shown) - len(shown.lstrip(" ")), len(shown) - len(shown.rstrip(" "))
    return f"{' ' * min(before, _BLANKS)}{inside}{' ' * min(after, _BLANKS)}" if inside else ""


def is_cut(element: Element) -> bool:
    """True if an outline shows only the beginning of the element's text."""
    return max(element.length, len(element.value)) > _VALUE_CHARACTERS


def is_preview(text: str, element: Element) -> bool:
    """True if the text is what an outline shows of a field whose content is longer."""
    words = text.replace(LINE_BREAK, " ").rstrip("…").split()
    return is_cut(element) and words == _on_one_line(element.value).replace(LINE_BREAK, " ").split()


def _quoted(text: str, limit: int = _NAME_CHARACTERS) -> str:
    return json.dumps(clip_line(text, limit), ensure_ascii=False)
