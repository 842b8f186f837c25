"""What surrounds a control in its window: what judging a press of it needs beside its own name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from app.desktop.accessibility import constants as spi
from app.desktop.accessibility import objects
from app.desktop.accessibility.bus import Bus
from app.desktop.accessibility.nodes import Node, Program
from app.desktop.elements import Binding, Element, Scene

_DIALOGS = frozenset({"dialog", "alert"})
_ASKING = _DIALOGS | {"file chooser"}
_LINES = frozenset({"entry", "text"})
_MOST_FIELDS = 20
_LONGEST_FIELD_CHARS = 200
"""So much of a text is read."""
_ITEMS = frozenset({"list", "list box", "table", "tree", "tree table", "layered pane", "icon"})
_SENTENCES = frozenset({"label", "static", "heading", "paragraph", "section"})
_BUTTONS = frozenset({"button", "toggle button"})
_MENU_ITEMS = frozenset({"menu item", "check menu item", "radio menu item", "menu", "tearoff menu item"})
_MENUS = frozenset({"menu", "popup menu", "window", "unknown", "list", "filler", "panel"})
_PAGES = frozenset({"document web", "document frame"})
_BARE = spi.WINDOWS | _PAGES | {"panel", "filler", "section", "layered pane", "scroll pane", "viewport"}
_SMALL = 12
"""A window with at most so many controls is taken for a question, whatever it calls itself."""
_MOST_SENTENCES = 60
_MOST_BOUND = 300
_SENTENCE_CHARACTERS = 400


def scene_of(program: Program, window: Node, node: Node | None, element: Element | None) -> Scene:
    """The scene around a node of a window that has been read; without a node, that of the window."""
    nodes = list(window.walk())
    dialog = next((above for above in _upwards(node or window) if above.role in _DIALOGS), None)
    operable = [one for one in nodes if one.is_operable]
    root = dialog or (window if len(operable) <= _SMALL else None)
    return Scene(
        element,
        has_answered=not (program.is_silent or program.is_cut),
        is_described=len(nodes) > 1 and not (node is not None and is_bare(node)),
        is_dialog=dialog is not None,
        is_menu_open=any(True for _ in _menu_items(program)),
        has_password=any(one.role == spi.SECRET for one in nodes),
        default=next((one.called for one in nodes if one.has("is-default")), ""),
        words=tuple(_sentences(root)) if root else (),
        is_in_items=node is not None and any(above.role in _ITEMS for above in node.ancestors()),
    )


def marked_item(program: Program) -> tuple[bool, tuple[Node, Node] | None]:
    """Whether a menu is open, and its window and entry that the keyboard would choose."""
    items = list(_menu_items(program))
    marked = [pair for pair in items if pair[1].has("selected") or pair[1].has("focused")]
    return bool(items), marked[-1] if marked else None


async def bindings_of(bus: Bus, program: Program, window: Node) -> tuple[Binding, ...] | None:
    """The controls of a window and of open menus with the chords that press them; None where there are too many."""
    roots = dict.fromkeys([window, *(holder for holder, _ in _menu_items(program))])
    nodes = [node for root in roots for node in root.walk() if node.is_operable and node.role not in spi.WRITTEN]
    if len(nodes) > _MOST_BOUND:
        return None
    asked = [node for node in nodes if node.may(spi.ACTION) and node.role not in spi.TEXTS]
    told = dict(zip(asked, await objects.all_of(bus, _chord_of, asked), strict=True))
    return tuple(Binding(told.get(node) or "", node.role, node.called) for node in nodes)


def is_bare(node: Node) -> bool:
    """Return whether the node is a surface without described content: a program draws there without a description."""
    return node.role in _BARE and not node.children and not node.name.strip()


async def fields_of(bus: Bus, window: Node) -> tuple[str, ...] | None:
    """What stands now in the fields of a dialog that take a line; None where it is none, or they cannot be read."""
    if window.role not in _ASKING:
        return None
    shown = [node for node in window.walk() if node.role in _LINES and node.shows and node.may(spi.TEXT)]
    fields = [node for node in shown if node.has("editable") and node.has("focusable")]
    told = await objects.all_of(bus, objects.text, fields[:_MOST_FIELDS])
    read = tuple(text for text in told if text is not None and len(text) < _LONGEST_FIELD_CHARS)
    return read if len(read) == len(fields) else None


async def _chord_of(bus: Bus, node: Node) -> str:
    return str((await bus.call(*node.key, spi.ACTION, "GetKeyBinding", "i", 0))[0])


def _upwards(node: Node) -> Iterator[Node]:
    yield node
    yield from node.ancestors()


def _menu_items(program: Program) -> Iterator[tuple[Node, Node]]:
    """The entries of menus that are open, each after its window: those of menu bars always show."""
    for window, node in program.walk():
        is_inside = node.parent is not None and node.parent.role in _MENUS
        if node.role in _MENU_ITEMS and is_inside and node.has("showing") and not node.is_in_page:
            yield window, node


def _sentences(root: Node) -> Iterable[str]:
    """What a dialog says; nothing of one that only tells something and has a single button."""
    told = [root.name, root.description]
    buttons = [node for node in root.walk() if node.role in _BUTTONS]
    for node in root.walk():
        if node.role in _SENTENCES and node.name.strip() and not any(above.is_operable for above in node.ancestors()):
            told.append(node.name)
    controls = [node for node in root.walk() if node.is_operable]
    is_news = root.role in _DIALOGS and len(controls) == len(buttons) <= 1
    if is_news and not any("?" in sentence or "？" in sentence or "؟" in sentence for sentence in told):
        return ()
    found = dict.fromkeys(sentence[:_SENTENCE_CHARACTERS] for sentence in told if sentence.strip())
    return list(found)[:_MOST_SENTENCES]
