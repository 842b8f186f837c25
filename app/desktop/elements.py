"""The elements on the screen, as programs describe them to assistive technology, and the protocol to read them.

Every text in here was written by the program on the screen: it is untrusted and may be of any length.
"""

from __future__ import annotations

import asyncio
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from app.base.errors import ToolFailed
from app.base.geometry import ModelSpace, Point, Rect
from app.base.values import dataclass, field

if TYPE_CHECKING:
    from app.desktop.backends import Window

SECRET = "password text"
"""The role of a field whose content is never read."""


@dataclass(frozen=True, slots=True)
class Element:
    """One control or piece of text that is showing.

    `ref` names the object for as long as it lives (`e12`). `role` is AT-SPI's role name (`button`, `menu item`).
    `value` is what a field holds or a slider stands at, clipped. `box` is in screen pixels. `states` are AT-SPI's
    (`focused`, `checked`, `enabled`, `editable`). `window` is the title of its window, `app` and `pid` its program.
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

    def is_(self, state: str) -> bool:
        return state in self.states


@dataclass(frozen=True, slots=True)
class Match:
    """An element and how well it fits what was asked: 1.0 is the exact name, below 0.6 nothing is returned."""

    element: Element
    score: float


class TakesNoValue(ToolFailed):
    """A field or list does not let its value be set by accessibility. It may still take it from the keyboard."""


class OutlineView(StrEnum):
    """How much of the screen an outline tells."""

    INTERACTIVE = "interactive"
    """Elements that can be pressed, typed into or chosen, and their labels."""
    FULL = "full"
    """All that carries a name or a value, with the containers that group it."""
    FIND = "find"
    """Only what fits the query, best first."""
    PAGE = "page"
    """What shows, and the controls of its pages and lists that one would have to scroll to."""
    DIFF = "diff"
    """What came, went or changed since the last outline."""


@dataclass(frozen=True, slots=True)
class OutlineRequest:
    """`window` keeps to windows (or programs) of that name; `budget` is in tokens of about four characters.

    `space` is what the boxes in the text are written in; those of the elements are screen pixels.
    """

    view: OutlineView = OutlineView.INTERACTIVE
    query: str = ""
    window: str = ""
    budget: int = 2000
    space: ModelSpace = field(default_factory=ModelSpace)


@dataclass(frozen=True, slots=True)
class Outline:
    """`text` is one line an element, indented by depth; `left_out` counts lines that the budget did not allow.

    `silent` names programs that have windows but did not answer in time. `empty` are the titles of windows that
    describe only their frame (the toolkit has no accessibility, or it is switched off). `described` is all that
    programs tell, whatever the view leaves out.
    """

    text: str
    elements: tuple[Element, ...] = ()
    left_out: int = 0
    silent: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()
    described: tuple[Element, ...] = ()


@dataclass(frozen=True, slots=True)
class Binding:
    """A control, and the chord that presses it as its program writes it (`<Alt>d`, `Alt+D`); empty where none does."""

    chord: str
    role: str
    name: str


@dataclass(frozen=True, slots=True)
class SceneRequest:
    """What is looked at: what is under a point, what has a ref, else what has the keyboard. `pid` is the program of the
    window; 0 where it is not known. `patience_s` is what it may take to answer.
    """

    pid: int = 0
    point: Point | None = None
    ref: str = ""
    with_bindings: bool = False
    patience_s: float = 0.5


@dataclass(frozen=True, slots=True)
class Scene:
    """A control and what is around it. `element` is None where the program describes none there.

    `has_answered` is False for a program that did not answer (in full) in time. `is_described` is False where only the
    window is known, or a bare surface. `words` are the sentences of its dialog or small window; `default` is the button
    that Return presses. `bindings` are None where they were not read. `is_rehearsed`: this is a dry run,
    where nothing that is pressed or typed has an effect.
    `fields` is what stands in the text fields of its dialog; None where that was not read. `is_in_items`: the control
    is inside a list, a table or a tree, such as the field in which an item gets its name.
    """

    element: Element | None = None
    has_answered: bool = True
    is_described: bool = False
    is_dialog: bool = False
    is_menu_open: bool = False
    has_password: bool = False
    default: str = ""
    words: tuple[str, ...] = ()
    bindings: tuple[Binding, ...] | None = None
    is_rehearsed: bool = False
    fields: tuple[str, ...] | None = None
    is_in_items: bool = False


@dataclass(frozen=True, slots=True)
class Changed:
    """What changed, in sentences. `is_in_sight` is False for what no window shows: that proves no effect."""

    lines: tuple[str, ...] = ()
    is_in_sight: bool = False


class FollowedChanges(Protocol):
    """What a program says of itself that changed since this was begun; focus, hover and the like do not count."""

    async def told(self, near: Rect | None = None) -> Changed:
        """In at most 12 sentences, the nearest to a place first; none where nothing changed that counts."""
        ...

    async def news(self) -> None:
        """Return when something changed since this was last asked."""
        ...

    def close(self) -> None:
        """Collect no more."""
        ...


class NoChanges:
    """For programs that tell nothing."""

    async def told(self, near: Rect | None = None) -> Changed:  # noqa: ARG002
        return Changed()

    async def news(self) -> None:
        await asyncio.Event().wait()

    def close(self) -> None:
        return None


class Accessibility(Protocol):
    """Reads and operates controls by what they are, without the mouse.

    Only what is SHOWING is ever found. However programs behave, each method takes about a second at most (`reveal`:
    five), and raises ToolFailed when the accessibility bus itself cannot be reached.
    """

    async def find(self, query: str, *, role: str = "", limit: int = 8) -> tuple[Match, ...]:
        """What is called `query`, best first. Words for roles in it ("the Save button") narrow the search."""
        ...

    async def reveal(self, query: str) -> Match | None:
        """Scroll to the one control called `query` of the page in the active window; None when none or several are."""
        ...

    async def beyond(self, query: str) -> tuple[Element, Element] | None:
        """A list of the active window and the one row called `query` in it that is out of sight."""
        ...

    async def at(self, point: Point) -> Element | None:
        """The innermost element under a screen point."""
        ...

    async def focused(self) -> Element | None:
        """The element that takes the keyboard."""
        ...

    async def has_keyboard(self, ref: str) -> bool:
        """Whether an element that had the keyboard still says so and has its role, by one question to its program."""
        ...

    async def scene(self, request: SceneRequest) -> Scene:
        """What is there with its surroundings, as judging an act needs it. Errors as `element` for a ref."""
        ...

    async def outline(self, request: OutlineRequest) -> Outline:
        """What is showing, pruned to the request."""
        ...

    async def element(self, ref: str) -> Element:
        """The element as it is now. ToolFailed names the nearest live ones when it is gone; ToolMisuse: no such ref."""
        ...

    async def obstacle(self, ref: str, point: Point) -> str:
        """What a press at the point would meet instead of the element, as a sentence; "" if nothing."""
        ...

    async def press(self, ref: str) -> str:
        """Do the element's own default action; returns its name. Errors as `element`."""
        ...

    async def set_value(self, ref: str, text: str) -> str:
        """Put `text` (or a number) into a field or slider; returns what it holds afterwards. Errors as `element`.

        TakesNoValue where the program lets nothing be set.
        """
        ...

    async def text_of(self, ref: str) -> str:
        """The whole text or value, unclipped. Errors as `element`."""
        ...

    async def follow(self, pid: int) -> FollowedChanges:
        """Collect what the programs of a process change from now on."""
        ...

    async def held(self, window: Window) -> tuple[Element, ...]:
        """What is in a window, a menu or the like that has just opened; nothing where its program does not tell."""
        ...

    async def silent(self) -> tuple[str, ...]:
        """Names of the programs that did not answer at the last look."""
        ...

    async def close(self) -> None:
        """Leave the bus."""
        ...


class NoAccessibility:
    """For systems without an accessibility bus: finds nothing, and says so when asked to act."""

    def __init__(self, reason: str = "This system offers no accessibility tree.") -> None:
        self._reason = reason

    async def find(self, query: str, *, role: str = "", limit: int = 8) -> tuple[Match, ...]:  # noqa: ARG002
        return ()

    async def reveal(self, query: str) -> Match | None:  # noqa: ARG002
        return None

    async def beyond(self, query: str) -> tuple[Element, Element] | None:  # noqa: ARG002
        return None

    async def at(self, point: Point) -> Element | None:  # noqa: ARG002
        return None

    async def focused(self) -> Element | None:
        return None

    async def has_keyboard(self, ref: str) -> bool:  # noqa: ARG002
        return False

    async def scene(self, request: SceneRequest) -> Scene:
        """Where a program describes what is under a point or has the keyboard, subclasses say so by `at`, `focused`."""
        if request.ref:
            element: Element | None = await self.element(request.ref)
        else:
            element = await (self.at(request.point) if request.point else self.focused())
        return Scene(element, is_described=element is not None)

    async def outline(self, request: OutlineRequest) -> Outline:  # noqa: ARG002
        return Outline("", silent=())

    async def element(self, ref: str) -> Element:
        raise ToolFailed(f"{self._reason} There is no element {ref!r}; use coordinates of a capture.")

    async def obstacle(self, ref: str, point: Point) -> str:  # noqa: ARG002
        return ""

    async def press(self, ref: str) -> str:
        return (await self.element(ref)).ref

    async def set_value(self, ref: str, text: str) -> str:  # noqa: ARG002
        return (await self.element(ref)).ref

    async def text_of(self, ref: str) -> str:
        return (await self.element(ref)).ref

    async def follow(self, pid: int) -> FollowedChanges:  # noqa: ARG002
        return NoChanges()

    async def held(self, window: Window) -> tuple[Element, ...]:  # noqa: ARG002
        return ()

    async def silent(self) -> tuple[str, ...]:
        return ()

    async def close(self) -> None:
        return None
