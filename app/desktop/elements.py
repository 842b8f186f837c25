"""The elements on the screen, as programs describe them to assistive technology, and the protocol to read them.

Programs on the screen wrote every text in here: treat it as untrusted and of any length.
"""

from __future__ import annotations

import asyncio
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from app.base.clipping import clip_line
from app.base.errors import ToolFailed
from app.base.facts import Fact
from app.base.geometry import ModelSpace, Point, Rect
from app.base.phrases import Phrase
from app.base.values import dataclass, field

if TYPE_CHECKING:
    from app.desktop.backends import Window

SECRET = "password text"
POPPED_UP = "popped up"
"""The state of an element in a menu that no window list has, and that lies in front of all windows: on Wayland."""
UNPLACED = "unplaced"
"""The state of an element that shows and whose place is not known. It has an empty box."""
"""The role of a field whose content is never read."""
_GREYED = "The {role!s}{name!r} is greyed out: nothing was pressed. Something else must come first."


@dataclass(frozen=True, slots=True)
class Element:
    """A control or piece of text that is visible.

    `ref` names the object for as long as it exists (`e12`). `role` is AT-SPI's role name (`button`, `menu item`).
    `value` is a field's content or a slider's position, clipped. `box` is in screen pixels. `states` are AT-SPI's
    (`focused`, `checked`, `enabled`, `editable`). `window` is the title of its window, `app` and `pid` its program.
    `is_in_dialog`: it is part of a dialog, a window of its own or a part of a page. `length` is how many characters
    a field's whole content has; 0 if unknown.
    """

    ref: str
    role: str
    name: str
    value: str
    box: Rect
    states: frozenset[str]
    window: str
    app: str
    pid: int
    description: str = ""
    is_in_dialog: bool = False
    length: int = 0

    def is_(self, state: str) -> bool:
        return state in self.states

    def called(self, name_chars: int = 0) -> Phrase:
        """Return what a person calls it. For models, its ref and role stand around the name."""
        name = clip_line(self.name, name_chars) if name_chars else self.name
        if not name:
            return Phrase("{ref!s}{role}{end!s}", {"ref": f"{self.ref} (", "role": self.role, "end": " '')"})
        return Phrase("{ref!s}{name!r}{end!s}", {"ref": f"{self.ref} ({self.role} ", "name": name, "end": ")"})

    def greyed(self, name_chars: int = 0) -> Phrase:
        """Says that it cannot be pressed now."""
        name = clip_line(self.name, name_chars) if name_chars else self.name
        return Phrase(_GREYED, {"role": f"{self.role} ", "name": name})


GOOD = 0.8
"""What matches a query this well was meant by it; what matches less is only similar."""


@dataclass(frozen=True, slots=True)
class Match:
    """An element and how well it matches the query: 1.0 is the exact name; below 0.6 nothing is returned."""

    element: Element
    score: float


class Editing(StrEnum):
    """How a part of a field's text can be changed."""

    DIRECT = "direct"
    """Its program takes other text through accessibility, without keys."""
    KEYS = "keys"
    """Only by typing."""
    FORMATTED = "formatted"
    """It is made of several parts, such as bold words. Plain text in their place would lose that."""


class TakesNoValue(ToolFailed):
    """Raised if a program does not let accessibility set a field or list. Keyboard input may still work."""


class NoAction(ToolFailed):
    """Raised if an element offers no action to press it by. A click may still do."""


class OutlineView(StrEnum):
    """How much of the screen an outline contains."""

    INTERACTIVE = "interactive"
    """Elements that a person can press, type into or choose, and their labels."""
    FULL = "full"
    """Every element with a name or a value, and the containers that group them."""
    FIND = "find"
    """Only elements that match the query, best first; if none does, one out of sight that does, and similar ones."""
    PAGE = "page"
    """Visible elements, and controls in pages and lists that must be scrolled to."""
    DIFF = "diff"
    """Elements that were added, removed or changed since the last outline."""


@dataclass(frozen=True, slots=True)
class OutlineRequest:
    """What an outline should contain.

    `window` limits it to windows (or programs) of that name; `budget` is in tokens of about four characters. `space` is
    the coordinate space of the boxes in the text; the boxes of the elements are screen pixels.
    """

    view: OutlineView = OutlineView.INTERACTIVE
    query: str = ""
    window: str = ""
    budget: int = 2000
    space: ModelSpace = field(default_factory=ModelSpace)


@dataclass(frozen=True, slots=True)
class Outline:
    """The visible elements as text and as values.

    `text` has one line for each element, indented by depth; `left_out` counts lines dropped for the budget. `silent`
    names programs that have windows but did not answer in time. `empty` lists the titles of windows that describe only
    their frame (their toolkit has no accessibility, or it is off). `described` holds every element, whatever the view
    leaves out.
    """

    text: str
    elements: tuple[Element, ...] = ()
    left_out: int = 0
    silent: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()
    described: tuple[Element, ...] = ()


@dataclass(frozen=True, slots=True)
class SceneRequest:
    """What to describe: the element at a point, or (by default) the one with the keyboard focus.

    `pid` is the window's program; 0 if unknown. `patience_s` is how long the program may take to answer.
    """

    pid: int = 0
    point: Point | None = None
    patience_s: float = 0.5


@dataclass(frozen=True, slots=True)
class Scene:
    """A control and what its window says about it. `element` is None if the program describes none there.

    `has_answered` is False if a program did not answer (in full) in time. `has_password`: its window holds a password
    field. `default` is the button that Return presses.
    """

    element: Element | None = None
    has_answered: bool = True
    has_password: bool = False
    default: str = ""


@dataclass(frozen=True, slots=True)
class Changed:
    """What changed. `is_in_sight`: a person would see an effect. If not, it proves none.

    `is_weak`: parts only went away, came back, or changed their states, as also happens when a dialog closes.
    `is_menu`: no more than a menu closed.
    `has_new_window`: the program has made a window, which may not be on the screen yet.
    `came` are the keys of what is new; `known` are role and name of what was there before.
    """

    lines: tuple[Fact, ...] = ()
    is_in_sight: bool = False
    is_weak: bool = False
    has_new_window: bool = False
    is_menu: bool = False
    came: frozenset[tuple[str, str]] = frozenset()
    known: frozenset[tuple[str, str]] = frozenset()


class FollowedChanges(Protocol):
    """The changes that a program reports since this object was created. Changes of focus and hover do not count."""

    async def told(self, near: Rect | None = None) -> Changed:
        """At most 12 changes, the nearest to `near` first."""
        ...

    async def news(self) -> None:
        """Wait until something changed since the last call."""
        ...

    def close(self) -> None:
        """Stop collecting."""
        ...


class NoChanges:
    """A feed of changes for programs that report none."""

    async def told(self, near: Rect | None = None) -> Changed:  # noqa: ARG002
        return Changed()

    async def news(self) -> None:
        await asyncio.Event().wait()

    def close(self) -> None:
        return None


@dataclass(frozen=True, slots=True)
class OutOfSight:
    """A control to scroll to, and the page, list or window around it.

    `is_row`: it is a row of a list, so the mouse wheel is tried if its program cannot scroll to it.
    """

    element: Element
    holder: Element
    is_row: bool


class SeveralOutOfSight(ToolFailed):
    """Raised if several controls that are out of sight have the name that is searched for."""

    def __init__(self, name: str, count: int) -> None:
        what = Phrase("{count} things called {name!r} are out of sight.", {"count": count, "name": name})
        super().__init__(what, "Scroll to the one that is meant.")


class NoLongerInSight(ToolFailed):
    """Raised if the element of a ref is gone or scrolled out of sight; `name` is its last known name."""

    def __init__(self, what: Phrase, hint: str, name: str) -> None:
        super().__init__(what, hint)
        self.name = name


class Accessibility(Protocol):
    """Reads and operates controls by their meaning, without the mouse.

    Only visible elements are found. Each method takes about a second at most (`reveal` and `beyond`: five), however
    slow programs are. It raises ToolFailed if the accessibility bus itself cannot be reached.
    """

    async def find(self, query: str, *, role: str = "", limit: int = 8) -> tuple[Match, ...]:
        """Find elements called `query`, best first. Role words in it ("the Save button") narrow the search."""
        ...

    async def reveal(self, query: str) -> Match | None:
        """Scroll to the control called `query` in the active window's page. None unless exactly one is called so."""
        ...

    async def beyond(self, query: str) -> OutOfSight | None:
        """Find the control called `query` that is out of sight, without scrolling. None if none fits.

        Raises SeveralOutOfSight.
        """
        ...

    async def at(self, point: Point) -> Element | None:
        """Return the innermost element under a screen point."""
        ...

    async def focused(self) -> Element | None: ...

    async def has_keyboard(self, ref: str, judged: tuple[str, str] | None = None) -> bool:
        """Return whether an element still has the keyboard focus and is what it was. Asks its program once.

        `judged` is the role and name that it must still have; the role that was read last if left out.
        """
        ...

    async def scene(self, request: SceneRequest) -> Scene:
        """Return an element with what the policy needs to judge an action on it."""
        ...

    async def outline(self, request: OutlineRequest) -> Outline:
        """Only visible elements."""
        ...

    async def element(self, ref: str) -> Element:
        """Read the element again and return it.

        Raises ToolFailed, which names the nearest elements, if it is gone. Raises ToolMisuse if the ref never existed.
        """
        ...

    async def obstacle(self, ref: str, point: Point) -> str:
        """Describe in a sentence what a press at the point would hit instead; "" if nothing is in the way."""
        ...

    async def press(self, ref: str) -> str:
        """Run the element's default action and return its name. Raises as `element` does, and NoAction."""
        ...

    async def set_value(self, ref: str, text: str) -> None:
        """Put `text` (or a number) into a field or slider. Afterwards, `text_of` returns what the field contains.

        Raises as `element` does, TakesNoValue if the program does not allow it, and NoAction for a box without action.
        """
        ...

    async def text_of(self, ref: str) -> str:
        """Return the whole text or value, unclipped. Raises as `element` does."""
        ...

    async def selection(self, ref: str, wanted: tuple[int, int] | None = None) -> tuple[int, str] | None:
        """Return the index of the first selected character and the selected text; None without one, or in a password.

        Before that, select the characters from the first index of `wanted` up to the second, if it is given. Raises as
        `element` does.
        """
        ...

    async def caret(self, ref: str) -> int | None:
        """The character before which the caret stands, from 0; None if that is not told."""
        ...

    async def editing(self, ref: str) -> Editing:
        """Return how a part of the element's text can be changed. Raises as `element` does."""
        ...

    async def replace_text(self, ref: str, start: int, old: str, new: str) -> bool:
        """Put `new` in the place of `old`, which begins at index `start`, without keys. Raises as `element` does.

        Return whether the text holds `new` there afterwards. Nothing is changed if `old` does not stand there, or if
        the element is read-only or a password field.
        """
        ...

    async def follow(self, pid: int) -> FollowedChanges:
        """Start to collect the changes that the programs of a process report."""
        ...

    def acted(self) -> None:
        """Note that Wisp acts now. What changes now is then not taken for a clock or an animation."""
        ...

    async def held(self, window: Window, among: frozenset[tuple[str, str]] = frozenset()) -> tuple[Element, ...]:
        """Return the elements of a window or menu that just opened; none if its program does not report them.

        With `among`, those objects of an open window and what is in them.
        """
        ...

    async def silent(self) -> tuple[str, ...]:
        """Return the names of the programs that did not answer the last request."""
        ...

    async def close(self) -> None:
        """Disconnect from the bus."""
        ...


class NoAccessibility:
    """The accessibility of systems without a bus. It finds nothing; every act raises an error with the reason."""

    def __init__(self, reason: str = "This system offers no accessibility tree.") -> None:
        self._reason = reason

    async def find(self, query: str, *, role: str = "", limit: int = 8) -> tuple[Match, ...]:  # noqa: ARG002
        return ()

    async def reveal(self, query: str) -> Match | None:  # noqa: ARG002
        return None

    async def beyond(self, query: str) -> OutOfSight | None:  # noqa: ARG002
        return None

    async def at(self, point: Point) -> Element | None:  # noqa: ARG002
        return None

    async def focused(self) -> Element | None:
        return None

    async def has_keyboard(self, ref: str, judged: tuple[str, str] | None = None) -> bool:  # noqa: ARG002
        return False

    async def scene(self, request: SceneRequest) -> Scene:
        """Build the scene from `at` or `focused`, which subclasses may override."""
        return Scene(await (self.at(request.point) if request.point else self.focused()))

    async def outline(self, request: OutlineRequest) -> Outline:  # noqa: ARG002
        return Outline("", silent=())

    async def element(self, ref: str) -> Element:
        hint = f"There is no element {ref!r}; use coordinates of a capture."
        raise ToolFailed(self._reason, hint)

    async def obstacle(self, ref: str, point: Point) -> str:  # noqa: ARG002
        return ""

    async def press(self, ref: str) -> str:
        return (await self.element(ref)).ref

    async def set_value(self, ref: str, text: str) -> None:  # noqa: ARG002
        await self.element(ref)

    async def selection(self, ref: str, wanted: tuple[int, int] | None = None) -> tuple[int, str] | None:  # noqa: ARG002
        return None

    async def caret(self, ref: str) -> int | None:  # noqa: ARG002
        return None

    async def editing(self, ref: str) -> Editing:  # noqa: ARG002
        return Editing.FORMATTED

    async def replace_text(self, ref: str, start: int, old: str, new: str) -> bool:  # noqa: ARG002
        return False

    async def text_of(self, ref: str) -> str:
        return (await self.element(ref)).ref

    async def follow(self, pid: int) -> FollowedChanges:  # noqa: ARG002
        return NoChanges()

    def acted(self) -> None:
        return

    async def held(self, window: Window, among: frozenset[tuple[str, str]] = frozenset()) -> tuple[Element, ...]:  # noqa: ARG002
        return ()

    async def silent(self) -> tuple[str, ...]:
        return ()

    async def close(self) -> None:
        return None
