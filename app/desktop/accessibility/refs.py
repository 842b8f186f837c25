"""Short names for objects, the same for as long as an object lives: `e12`."""

from __future__ import annotations

from dataclasses import dataclass, replace

from app.base.ids import counter
from app.desktop.accessibility.nodes import Key, Node, Program, state_names
from app.desktop.accessibility.scaling import Scale
from app.desktop.accessibility.stacking import COVERED
from app.desktop.elements import Element

_KEPT = 20_000


@dataclass(frozen=True, slots=True)
class Seen:
    """An object that has a ref: its key, its window's, how it told coordinates, and how it looked.

    `is_apart`: it does not tell them as its window does, being in a page or a menu.
    """

    key: Key
    window: Key
    scale: Scale
    is_apart: bool
    element: Element


class RefBook:
    """Gives refs and finds objects by them; the oldest are forgotten after 20 000."""

    def __init__(self) -> None:
        self._next = counter("e")
        self._refs: dict[Key, str] = {}
        self._seen: dict[str, Seen] = {}

    def element(self, program: Program, window: Node, node: Node, *, is_covered: bool = False) -> Element:
        """The node as a value, under its ref."""
        assert node.box is not None, "fill() comes first"
        element = Element(
            ref=self.ref_of(node.key),
            role=node.role,
            name=node.called,
            value=node.value or "",
            box=node.box,
            states=state_names(node.states) | ({COVERED} if is_covered else set()),
            window=window.name,
            app=program.name,
            pid=program.pid,
            description=node.description,
        )
        scale = program.scale_for(node)
        is_apart = node.is_in_page or scale != program.scales.get(window.key, scale)
        self._seen[element.ref] = Seen(node.key, window.key, scale, is_apart, element)
        return element

    def renewed(self, ref: str, node: Node) -> Element:
        """The element under a ref, as it was just read again."""
        seen = self._seen[ref]
        before = seen.element
        assert node.box is not None
        element = replace(
            before,
            role=node.role,
            name=node.name or before.name,
            value=node.value or "",
            box=node.box,
            states=state_names(node.states),
            description=node.description,
        )
        self._seen[ref] = replace(seen, element=element)
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
        """The object under a ref; None for a ref that names none."""
        seen = self._seen.get(ref)
        return seen.key if seen else None

    def known(self, key: Key | None) -> str:
        """The ref that an object has already; "" where it has none."""
        return self._refs.get(key, "") if key else ""

    def name_of(self, key: Key) -> str | None:
        """What an object was called when it was last read; None where it never was."""
        seen = self._seen.get(self._refs.get(key, ""))
        return seen.element.name if seen else None

    def last_seen(self, ref: str) -> Seen | None:
        """The object and how it looked when it was last read."""
        return self._seen.get(ref)
