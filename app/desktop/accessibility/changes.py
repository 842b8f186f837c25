"""Collect the changes that programs report about themselves: a better and earlier proof of an action than pixels.

Every program on the bus sends an event when a name, a value, a text or a state changes, once a client has registered
for it (https://gnome.pages.gitlab.gnome.org/at-spi2-core/devel-docs/). Focus, hover and a button held down are left
out: they are no effect of an action.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from app.base.facts import Became, Came, Change, ControlChanged, Fact, MenuClosed, Named, StateNow, ValueNow, Went
from app.base.geometry import Rect
from app.base.values import dataclass, field, replace
from app.desktop.accessibility import constants as spi
from app.desktop.accessibility import objects
from app.desktop.accessibility.bus import Bus, BusLost, CallRefused
from app.desktop.accessibility.nodes import Key, Node, Program
from app.desktop.elements import Changed

if TYPE_CHECKING:
    from dbus_fast import Message

_KINDS = (
    "object:state-changed",
    "object:property-change:accessible-name",
    "object:property-change:accessible-value",
    "object:text-changed",
    "object:children-changed",
    "object:selection-changed",
)
_RULE = "type='signal',interface='org.a11y.atspi.Event.Object'"
_INTERFACE = "org.a11y.atspi.Event.Object"
_DAEMON = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
_REGISTRAR = (spi.REGISTRY, "/org/a11y/atspi/registry", "org.a11y.atspi.Registry")
_CHILDREN = "ChildrenChanged"
_UNDECIDED = "indeterminate"
_EFFECTS = frozenset({"checked", "selected", "expanded", _UNDECIDED, "sensitive", "showing", "visible"})
"""States that change as the effect of an action; `pressed` does so only for toggle buttons."""
_STATES = frozenset({"StateChanged", "SelectionChanged"})
_SIGHT = frozenset({"showing", "visible"})
_NO_EFFECT_ROLES = frozenset({"tool tip"})
_OF_MENUS = spi.MENUS | {"menu bar", "menu item", "check menu item", "radio menu item", "tearoff menu item"}
_MOVES_BY_ITSELF = "progress bar"
"""Its value changes long after the act that started it. It is told, and proves nothing."""
_ANSWER_LIMIT_S = 0.4
_DESCRIBE_LIMIT_S = 0.15  # because a receipt that comes late is worth less than one with fewer sentences
_MOST_ASKED = 24
_MOST_LINES = 12
_MOST_NAMES = 24
_MOST_GONE = 8
_DEEPEST = 4
_ROUNDS = 3
_REMEMBERED = 400
_SHORT_CHARS = 60  # because of a longer text only the beginning was read
_MOST_SHOWN = 4000
_RESTLESS_S = 2.5
_RESTLESS_TIMES = 2
_OURS_S = 1.5
"""A change this soon after an action of Wisp may be its late effect."""


@dataclass(frozen=True, slots=True)
class _Event:
    """A change that a program reported. `child` is the object added or removed, if the children of `key` changed."""

    key: Key
    kind: str
    detail: str
    is_on: bool
    child: Key | None = None

    @property
    def subject(self) -> Key:
        """The object that the event is about."""
        return self.child or self.key

    @property
    def fate(self) -> str:
        """Whether the subject appeared (came), disappeared (went), or changed."""
        if self.kind == _CHILDREN and self.child:
            return "came" if self.detail == "add" else "went"
        if self.kind == "StateChanged" and self.detail in _SIGHT:
            return "came" if self.is_on else "went"
        return "changed"

    @property
    def is_weak(self) -> bool:
        """Whether a dialog that is about to close may also report such an event, so that it proves little."""
        return self.fate == "went" or (self.fate == "changed" and self.kind in _STATES)


Shown = tuple[str, str]
"""Role and name of an object that was on the screen."""


class LastRead:
    """The trees as they were last read: the name of each object, and which objects have disappeared since."""

    def __init__(self) -> None:
        self._programs: dict[str, Program] = {}
        self._nodes: dict[str, dict[Key, Node]] = {}
        self._outdated: dict[str, set[Key]] = {}
        self._shown: dict[str, frozenset[Shown]] = {}

    def keep(self, program: Program) -> None:
        """Remember a tree that was read completely."""
        self._programs[program.bus_name] = program
        self._nodes.pop(program.bus_name, None)
        self._outdated.pop(program.bus_name, None)
        before = self._shown.get(program.bus_name, frozenset())
        now = frozenset(_shown(node) for _, node in program.walk())
        self._shown[program.bus_name] = now | (before if len(before) < _MOST_SHOWN else frozenset())

    def hidden(self, bus_names: frozenset[str]) -> frozenset[Shown]:
        """Return what these programs showed before, and did not when they were last read.

        By its words, because what comes back in a page is another object than before.
        """
        ever = frozenset().union(*(self._shown.get(name, frozenset()) for name in bus_names))
        programs = [self._programs[name] for name in bus_names if name in self._programs]
        return ever - {_shown(node) for program in programs for _, node in program.walk()}

    def shown(self, bus_names: frozenset[str]) -> frozenset[Shown]:
        """Return what these programs showed by name when they were last read, without what has changed since."""

        def still(node: Node) -> Iterator[Node]:
            if node.shows and node.key not in self._outdated.get(node.key[0], ()):
                yield node
                for child in node.children:
                    yield from still(child)

        windows = [one for name in bus_names if name in self._programs for one in self._programs[name].windows]
        return frozenset(_shown(node) for window in windows for node in still(window) if node.called.strip())

    def node(self, key: Key) -> Node | None:
        """None if the object was not visible when it was last read, or if it has reported a change since."""
        program = self._programs.get(key[0])
        if program is None or key in self._outdated.get(key[0], ()):
            return None
        if key[0] not in self._nodes:
            self._nodes[key[0]] = {node.key: node for _, node in program.walk()}
        return self._nodes[key[0]].get(key)

    def may_have_shown(self, key: Key) -> bool:
        """True if the object was on the screen at the last reading, or may have been."""
        is_unknown = key[0] not in self._programs or key in self._outdated.get(key[0], ())
        return is_unknown or self.node(key) is not None

    def is_window(self, key: Key) -> bool:
        """True for a window, whatever role its toolkit gives it."""
        program = self._programs.get(key[0])
        return program is not None and any(window.key == key for window in program.windows)

    def renew(self, key: Key, now: Node | None = None) -> None:
        """Note that what was known of the object is outdated. `now` is its new state, if known."""
        before = self.node(key)
        if before is not None and now is not None:
            before.name, before.states, before.value = now.name, now.states, now.value
        elif key[0] in self._programs:
            self._outdated.setdefault(key[0], set()).add(key)


def _shown(node: Node) -> Shown:
    return node.role, node.called


@dataclass(slots=True)
class _Subject:
    """An object that changed: its newest event, its state before, and its state now.

    `holder`: to it, the object was added, or from it removed; set if the object itself does not answer.
    `is_introduced`: the reported name is not new. `is_window`: it is a window, of whose title the windows tell.
    `may_have_shown`: it was on the screen before, or that is not known.
    """

    event: _Event
    before: Node | None
    is_window: bool
    may_have_shown: bool
    node: Node = field(init=False)
    holder: Node | None = None
    is_asked: bool = False
    is_lost: bool = False
    is_introduced: bool = False

    def __post_init__(self) -> None:
        self.node = Node(self.event.subject)

    @property
    def names(self) -> list[Node]:
        """The object and its descendants that have a name; of a removed object, as they were last read."""
        whole = self.before if self.event.fate == "went" and self.before is not None else self.node
        nodes = (node for node in whole.walk() if node.role not in spi.WINDOWS)
        return [node for node in nodes if (node.name if node.children else node.called).strip()]

    @property
    def is_in_sight(self) -> bool:
        """Whether a person would see the object, or would see that it is gone."""
        if self.event.fate == "went":
            return self.may_have_shown and (self.is_lost or not self.node.shows) and bool(self.names)
        if self.node.role in spi.FLAGS and self.event.detail == "checked":
            return not self.is_lost  # because an entry of a menu shows its tick only while the menu is open
        return not self.is_lost and self.node.shows and (self.event.fate == "changed" or bool(self.names))

    @property
    def is_unknown(self) -> bool:
        """Whether it was not there at the last reading, so that what it tells of itself is how it came."""
        return self.event.fate == "changed" and not self.may_have_shown

    @property
    def is_coming(self) -> bool:
        """Whether the object is made and did not show when it was read. GTK 3 does not tell of each part that shows."""
        return self.event.fate == "came" and not self.is_lost and not self.node.shows

    @property
    def is_menu_closing(self) -> bool:
        """Whether it is a part of a menu that closed."""
        is_off = self.event.kind == "StateChanged" and not self.event.is_on and self.event.detail != "checked"
        return self.node.role in _OF_MENUS and (self.event.fate == "went" or is_off)

    @property
    def is_effect(self) -> bool:
        """Whether the change may be an effect of an action that is not told otherwise."""
        is_window = self.is_window or self.node.role in spi.WINDOWS
        is_retitled = (is_window or self.is_title) and self.event.fate == "changed"
        is_marked = self.event.kind == "SelectionChanged" and self.node.role in _OF_MENUS
        return not (is_retitled or is_marked or self.is_introduced or self.node.role in _NO_EFFECT_ROLES)

    @property
    def is_title(self) -> bool:
        """Whether the object writes the title of its window into a frame that the program draws itself."""
        before = self.before
        above = before.ancestors() if before is not None else ()
        return before is not None and any(one.role in spi.WINDOWS and one.name == before.called for one in above)

    @property
    def was_so(self) -> bool:
        """Whether the object tells what was so before, as some do when a dialog over them closes."""
        before, event = self.before, self.event
        if before is None:
            return False
        if event.kind == "StateChanged":
            return event.fate == "changed" and before.has(event.detail) == event.is_on
        is_short = self.node.value is not None and 0 < len(self.node.value) < _SHORT_CHARS
        return event.kind in ("TextChanged", "PropertyChange") and is_short and before.value == self.node.value

    @property
    def moves_by_itself(self) -> bool:
        return self.node.role == _MOVES_BY_ITSELF and self.event.fate == "changed"

    @property
    def leaves_a_trace(self) -> bool:
        """Whether the object or its holder is visible, or was before."""
        if self.holder is not None:
            return self.holder.shows
        return self.node.shows or self.event.fate == "went"


class Following:
    """Collects the changes that the programs of one process report from its creation until `close`."""

    def __init__(self, feed: ChangeFeed, programs: frozenset[str]) -> None:
        self._feed = feed
        self._programs = programs
        self._hidden = feed.last_read.hidden(programs)
        self._known = feed.last_read.shown(programs)
        self._events: OrderedDict[tuple[Key, str, str], _Event] = OrderedDict()
        self._subjects: dict[Key, _Subject] = {}
        self._news = asyncio.Event()
        self._has_new_window = False

    def note(self, event: _Event) -> None:
        if event.key[0] not in self._programs or self._feed.is_restless(event) or self._feed.is_empty(event):
            return
        if event.key[1] == spi.ROOT:
            self._has_new_window |= event.fate == "came"
            return
        place = (event.subject, event.kind, event.detail)
        before = self._events.pop(place, None)
        self._subjects.pop(event.subject, None)
        if event.kind == "StateChanged" and before is not None and before.is_on != event.is_on:
            return  # it is again what it was
        self._events[place] = event
        self._news.set()

    async def told(self, near: Rect | None = None) -> Changed:
        """At most 12 facts, with the changes nearest to `near` first."""
        for _ in range(_ROUNDS):
            count = len(self._events)
            subjects = self._newest()
            await self._feed.ask(subjects, with_places=near is not None and len(subjects) > 1)
            if len(self._events) == count:
                break  # else the program told more while it was asked
        asked = [subject for subject in subjects if subject.is_asked]
        told = [one for one in asked if one.is_effect]
        seen = [one for one in told if one.is_in_sight]
        known = self._known | _names_of(seen, "went")
        if lines := _lines(seen, near, known):
            is_effect = any(not one.moves_by_itself for one in seen)
            is_weak = all(self._is_weak(one) for one in seen)
            is_menu = all(one.is_menu_closing or (one.event.fate == "changed" and not _change(one)) for one in seen)
            came = frozenset(one.node.key for one in told if one.event.fate == "came" and one.node.shows)
            told_of = tuple(dict.fromkeys(lines))[:_MOST_LINES]
            return Changed(told_of, is_effect, is_weak, self._has_new_window, is_menu, came, known)
        rest = ((_rest(one), one) for one in told if not one.is_in_sight)
        found = (Changed((line,), one.leaves_a_trace, one.event.is_weak) for line, one in rest if line)
        return next(found, Changed())

    def _is_weak(self, one: _Subject) -> bool:
        """True if something may only have closed: it went, or what lay behind it is there again."""
        is_back = {_shown(node) for node in one.names or [one.node]} <= self._hidden
        return one.event.is_weak or one.moves_by_itself or is_back or one.is_unknown or not _change(one)

    def _newest(self) -> list[_Subject]:
        """One subject for each changed object, made from the object's newest event."""
        latest: dict[Key, _Event] = {}
        for event in reversed(self._events.values()):
            known = latest.setdefault(event.subject, event)
            if known.fate == "changed" != event.fate:  # because coming and going matters more than a state
                latest[event.subject] = event
        for key, event in list(latest.items())[:_MOST_ASKED]:
            if key not in self._subjects:
                last_read = self._feed.last_read
                before, may_go = last_read.node(key), last_read.may_have_shown(key)
                self._subjects[key] = _Subject(event, before, last_read.is_window(key), may_go)
        return [self._subjects[key] for key in latest if key in self._subjects]

    async def news(self) -> None:
        """Wait until something changed since the last call."""
        await self._news.wait()
        self._news.clear()

    def close(self) -> None:
        self._feed.end(self)
        for event in self._events.values():
            subject = self._subjects.get(event.subject)
            self._feed.last_read.renew(event.subject, subject.node if subject and subject.is_asked else None)


class ChangeFeed:
    """Listens to the bus. Remembers which object has the focus, and what changes all the time by itself.

    `name_before` returns the name of an object when it last got a ref; `last_read` holds the trees as last read.
    `limit_s` is how long programs may take to describe their changes.
    """

    def __init__(
        self,
        bus: Bus,
        name_before: Callable[[Key], str | None],
        last_read: LastRead,
        now: Callable[[], float] = time.monotonic,
        limit_s: float = _DESCRIBE_LIMIT_S,
    ) -> None:
        self._bus = bus
        self._now = now
        self._limit_s = limit_s
        self._name_before = name_before
        self.last_read = last_read
        self._followings: list[Following] = []
        self._recent: OrderedDict[tuple[Key, str], deque[float]] = OrderedDict()
        self._acted_at = 0.0
        self.focus: dict[str, Key] = {}
        """For each program, the object that last reported the focus."""

    async def listen(self) -> None:
        """Register for events, once for each connection. Raises BusLost."""
        await self._bus.on_message(self._note, self._register)

    async def _register(self) -> None:
        await self._bus.call(*_DAEMON, "AddMatch", "s", _RULE)
        for kind in _KINDS:
            await self._bus.call(*_REGISTRAR, "RegisterEvent", "sass", kind, [], "")

    def follow(self, programs: frozenset[str]) -> Following:
        """Start to collect the changes of the programs with these bus names."""
        self.acted()
        following = Following(self, programs)
        self._followings.append(following)
        return following

    def end(self, following: Following) -> None:
        if following in self._followings:
            self._followings.remove(following)
            self.acted()

    def acted(self) -> None:
        """Note that Wisp acts now. What changes within `_OURS_S` seconds does not count as changing by itself."""
        self._acted_at = self._now()

    def is_restless(self, event: _Event) -> bool:
        """True if the object keeps changing without an action of Wisp: a clock or an animation."""
        since = self._now() - _RESTLESS_S
        times = self._recent.get((event.key, event.kind), ())
        return sum(at > since for at in times) >= _RESTLESS_TIMES

    def is_empty(self, event: _Event) -> bool:
        """True if the event says nothing new: GTK 4 reports "not `indeterminate`" at every tick, too."""
        if event.detail != _UNDECIDED or event.is_on:
            return False
        before = self.last_read.node(event.key)
        return before is None or not before.has(_UNDECIDED)

    def _note(self, message: Message) -> None:
        if message.interface != _INTERFACE or message.sender is None or message.path is None:
            return
        event = _event_of(message)
        if event is None:
            return
        if event.detail == "focused":
            if event.is_on:
                self.focus[event.key[0]] = event.key
            return
        if not _may_be_effect(event):
            return
        for following in self._followings:
            following.note(event)
        if not self._followings:
            self.last_read.renew(event.subject)
        is_not_ours = not self._followings and self._now() - self._acted_at > _OURS_S
        if is_not_ours or self.is_restless(event):  # so that a clock stays one during a run of acts
            self._remember(event)

    def _remember(self, event: _Event) -> None:
        place = (event.key, event.kind)
        times = self._recent.pop(place, None) or deque(maxlen=_RESTLESS_TIMES)
        times.append(self._now())
        self._recent[place] = times
        while len(self._recent) > _REMEMBERED:
            self._recent.popitem(last=False)

    async def ask(self, subjects: Sequence[_Subject], *, with_places: bool) -> None:
        """Read each subject from its program that was not read yet, or did not show yet, within the time limit.

        `with_places`: boxes too.
        """
        waiting = [subject for subject in subjects if not subject.is_asked or subject.is_coming]
        asking = [asyncio.create_task(self._ask(subject, with_place=with_places)) for subject in waiting]
        if not asking:
            return
        try:
            # Sentences found in time are worth more than all of them late, but one that is late more than none.
            answered, _ = await asyncio.wait(asking, timeout=self._limit_s)
            if not answered:
                await asyncio.wait(asking, timeout=_ANSWER_LIMIT_S, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in asking:
                task.cancel()
            told = await asyncio.gather(*asking, return_exceptions=True)
        for error in told:
            if isinstance(error, Exception) and not isinstance(error, BusLost):
                raise error

    async def _ask(self, subject: _Subject, *, with_place: bool) -> None:
        node, event, before = subject.node, subject.event, subject.before
        if before is not None:
            node.role, node.name = before.role, before.called
        try:
            asked = [objects.state(self._bus, node)]
            asked += [] if before is not None else [objects.role(self._bus, node)]
            asked += [] if before is not None and event.fate == "went" else [objects.name(self._bus, node)]
            await asyncio.gather(*asked)
            node.name = node.name or self._name_before(node.key) or ""
            if event.detail == "pressed" and node.role == "button" and node.key[0] in self._bus.vague:
                node.role = spi.TOGGLE_BUTTON  # GTK before 4.10 has no role for it, and presses no other button
            if event.kind in ("TextChanged", "PropertyChange"):
                node.value = await objects.value(self._bus, node)
            if event.fate == "came" and event.child and node.shows:
                await self._grow(node)
            if with_place and event.fate == "changed":
                node.box = await objects.box(self._bus, node)
        except CallRefused:  # because it is gone already
            subject.is_lost = True
        if event.child and (subject.is_lost or not subject.names):
            subject.holder = await self._holder(event.key)
        subject.is_introduced = event.detail == "accessible-name" and self._is_introduced(node)
        subject.is_asked = True

    async def _holder(self, key: Key) -> Node | None:
        """Read the object to which or from which another was added or removed. None if it no longer exists."""
        node = Node(key)
        try:
            await asyncio.gather(*(ask(self._bus, node) for ask in (objects.role, objects.name, objects.state)))
        except CallRefused:  # because the element may have gone meanwhile
            return None
        return node

    async def _grow(self, root: Node) -> None:
        """Read the children of an object that appeared, at most `_DEEPEST` levels deep and `_MOST_NAMES` names."""
        level, count = [root], 0
        for _ in range(_DEEPEST):
            families = await objects.all_of(self._bus, objects.read_children, [node.key for node in level])
            for node, keys in zip(level, families, strict=True):
                node.children = await objects.described(self._bus, (keys or [])[: _MOST_NAMES - count], node)
                count += len(node.children)
            level = [child for node in level for child in node.children]
            if not level or count >= _MOST_NAMES:
                return

    def _is_introduced(self, node: Node) -> bool:
        """True if the node had this name before. GTK 4 reports the name again when an object gets the focus."""
        before = self._name_before(node.key)
        if before is None:
            return node.key[0] in self._bus.vague and node.is_operable
        return before == node.name


def _names_of(seen: Sequence[_Subject], fate: str) -> frozenset[Shown]:
    return frozenset(_shown(node) for one in seen if one.event.fate == fate for node in one.names)


def _lines(seen: Sequence[_Subject], near: Rect | None, known: frozenset[Shown]) -> list[Fact]:
    """Return one fact for each visible change, one for all new objects, and one for all that are gone.

    What has the role and name of a thing that was `known` before is not new, and what came again is not gone: some
    programs make their objects anew.
    """
    others = [one for one in seen if not one.is_menu_closing]
    if any(one.event.fate == "came" for one in others):
        others = [one for one in others if not one.is_unknown]
    changed, came, went = ([one for one in others if one.event.fate == fate] for fate in ("changed", "came", "went"))
    changed.sort(key=lambda one: (one.event.kind == "SelectionChanged", _distance(one.node, near)))
    lines = [_change(one) for one in changed if one.event.kind != "SelectionChanged" or one is seen[0] is seen[-1]]
    lines += _renamed(came, went)
    new, gone = _named(came, known), _named(went, _names_of(seen, "came"))
    lines += [Came(new[:_MOST_NAMES], max(len(new) - _MOST_NAMES, 0))] if new else []
    lines += [Went(gone[:_MOST_GONE], max(len(gone) - _MOST_GONE, 0))] if gone else []
    lines += [MenuClosed()] if any(one.is_menu_closing for one in seen) else []
    is_another = any(isinstance(line, StateNow) and line.is_on and line.state == "selected" for line in lines)
    told = [line for line in lines if line and not (is_another and _is_unselected(line))]
    named = [line for line in told if not _is_nameless(line)]
    # Of one entry the caller knows which it is, because the act chose it.
    is_one = len(told) == len(named) + 1 and all(isinstance(line, MenuClosed) for line in named)
    return told if is_one else named


def _is_nameless(line: Fact) -> bool:
    """True if it tells the state of an entry of a menu, and not of which."""
    return isinstance(line, StateNow) and line.control.role in _OF_MENUS and not line.control.name.strip()


def _is_unselected(line: Fact) -> bool:
    return isinstance(line, StateNow) and line.state == "selected" and not line.is_on


def _rest(subject: _Subject) -> Fact | None:
    """Return a change that is not visible or has no name; None if the object is gone and no holder is known."""
    if subject.node.role in spi.WINDOWS:  # of which the list of windows tells
        return None
    if subject.holder is not None:
        return _told(replace(subject.event, child=None), subject.holder)
    return None if subject.is_lost or subject.event.child else _told(subject.event, subject.node)


def _renamed(came: list[_Subject], went: list[_Subject]) -> Iterator[Became]:
    """Yield a fact for each text that replaced another: Chromium removes the old text object and adds a new one."""
    for new in list(came):
        same = [old for old in went if old.event.key == new.event.key and old.node.role == new.node.role]
        if len(same) == 1 and new.event.child and len(new.names) == len(same[0].names) == 1:
            came.remove(new)
            went.remove(same[0])
            yield Became(Named(new.node.role, same[0].names[0].called), new.names[0].called)


def _named(subjects: Sequence[_Subject], but: frozenset[Shown]) -> tuple[Named, ...]:
    """Return all other names, in order of appearance."""
    nodes: dict[str, Node] = {}
    for node in (node for subject in reversed(subjects) for node in subject.names if _shown(node) not in but):
        if node.called not in nodes or (node.is_operable and not nodes[node.called].is_operable):
            nodes[node.called] = node
    return tuple(Named(node.role, node.called) for node in nodes.values())


def _distance(node: Node, near: Rect | None) -> float:
    """Measured from `near`, the place of the action; infinite if the object has no place."""
    if near is None or node.box is None or node.box.size.area == 0:
        return float("inf")
    one, other = node.box.center, near.center
    return abs(one.x - other.x) + abs(one.y - other.y)


def _change(subject: _Subject) -> Fact | None:
    """Return the change of an object that was visible before and is still visible."""
    before, node = subject.before, subject.node
    if before is not None and before.name.strip() and node.name.strip() and node.role not in (spi.SECRET, *spi.TEXTS):
        if before.name != node.name:
            return Became(Named(node.role, before.called), node.called)
        if subject.event.detail == "accessible-name":
            return None
    is_chosen_tab = node.role == "page tab" and subject.event.detail == "selected" and node.has("focused")
    if is_chosen_tab and not (before and before.has("selected")):
        # Qt 5 calls the tab in front focused, whatever has the keyboard, and reports it as not selected.
        return _told(replace(subject.event, is_on=True), node)
    return None if subject.was_so else _told(subject.event, node)


def _event_of(message: Message) -> _Event | None:
    body = message.body
    if len(body) < 2 or not isinstance(body[0], str) or not isinstance(body[1], int):
        return None
    kind = message.member or ""
    key = (str(message.sender), str(message.path))
    # The second field is an index for children and texts, and 1 or 0 for a state.
    return _Event(key, kind, body[0].split(":")[0], bool(body[1]), _child_of(message) if kind == _CHILDREN else None)


def _child_of(message: Message) -> Key | None:
    """The message's fourth field. None if the toolkit leaves it empty."""
    told = getattr(message.body[3], "value", None) if len(message.body) > 3 else None
    if not isinstance(told, (list, tuple)) or len(told) != 2 or told[1] == spi.NULL:
        return None
    return str(told[0]), str(told[1])


def _may_be_effect(event: _Event) -> bool:
    if event.kind == "StateChanged":
        return event.detail in _EFFECTS or event.detail == "pressed"
    if event.kind == "PropertyChange":
        return event.detail in ("accessible-name", "accessible-value")
    return event.kind in (_CHILDREN, "TextChanged", "SelectionChanged")


def _told(event: _Event, node: Node) -> Fact | None:
    """None if the event is no effect of an action, such as a held button."""
    called = Named(node.role, node.name)
    if node.role in _NO_EFFECT_ROLES or node.has("defunct"):
        return None
    if event.kind == "StateChanged":
        if event.detail == "pressed" and node.role != spi.TOGGLE_BUTTON:
            return None
        if event.detail == "sensitive" and not (node.is_operable and node.name):  # as with all that arranges others
            return None
        return StateNow(called, event.detail, event.is_on)
    if event.kind == "SelectionChanged":
        return ControlChanged(called, Change.SELECTION)
    if event.kind == _CHILDREN:
        return ControlChanged(called, Change.GOT if event.detail == "add" else Change.LOST)
    if node.role == spi.SECRET:
        return ControlChanged(called, Change.TEXT)
    if node.value:
        return ValueNow(called, node.value)
    return ControlChanged(called) if node.name or node.role in spi.TEXTS else None
