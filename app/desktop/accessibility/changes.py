"""What programs say of themselves that changed, as they say it: better proof of an act than pixels, and sooner there.

Every program on the bus sends an event when a name, a value, a text or a state of its changes, once somebody has
registered for it (https://gnome.pages.gitlab.gnome.org/at-spi2-core/devel-docs/). Focus, hover and a button being down
are left out: they are no effect of an act.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.base.texts import clip_line
from app.desktop.accessibility import constants as spi
from app.desktop.accessibility import objects
from app.desktop.accessibility.bus import Bus, BusLost, CallRefused
from app.desktop.accessibility.nodes import Key, Node

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
_EFFECTS = frozenset({"checked", "selected", "expanded", "indeterminate", "sensitive", "showing", "visible"})
"""States that change as the effect of an act; `pressed` does for toggle buttons only."""
_NO_EFFECT_ROLES = frozenset({"tool tip"})
_DESCRIBE_LIMIT_S = 0.15
_MOST_TOLD = 3
_SHOWN_CHARS = 60
_REMEMBERED = 400
_RESTLESS_S = 2.5
_RESTLESS_TIMES = 2
_OURS_S = 1.5
"""So long after an act of ours a change may have been its late effect."""


@dataclass(frozen=True, slots=True)
class _Event:
    key: Key
    kind: str
    detail: str
    is_on: bool


class Following:
    """What the programs of one process change, from the moment it was begun. `close` ends it."""

    def __init__(self, feed: ChangeFeed, programs: frozenset[str]) -> None:
        self._feed = feed
        self._programs = programs
        self._events: OrderedDict[tuple[Key, str, str], _Event] = OrderedDict()
        self._news = asyncio.Event()

    def note(self, event: _Event) -> None:
        if event.key[0] not in self._programs or self._feed.is_restless(event):
            return
        place = (event.key, event.kind, event.detail)
        before = self._events.pop(place, None)
        if event.kind == "StateChanged" and before is not None and before.is_on != event.is_on:
            return  # it is again what it was
        self._events[place] = event
        self._news.set()

    async def told(self) -> tuple[str, ...]:
        """What changed, in sentences, the newest first; none where nothing did that counts."""
        return await self._feed.described(list(reversed(self._events.values())))

    async def news(self) -> None:
        """Return when something changed since the last time this was asked."""
        await self._news.wait()
        self._news.clear()

    def close(self) -> None:
        self._feed.end(self)


class ChangeFeed:
    """Listens to the bus; remembers what has the focus, and what changes all the time without us.

    `name_before` tells the name that an object had when it was last read, if it ever was.
    """

    def __init__(self, bus: Bus, name_before: Callable[[Key], str | None]) -> None:
        self._bus = bus
        self._name_before = name_before
        self._followings: list[Following] = []
        self._recent: OrderedDict[tuple[Key, str], deque[float]] = OrderedDict()
        self._acted_at = 0.0
        self.focus: dict[str, Key] = {}
        """For each program the object that it said last to have the focus."""

    async def listen(self) -> None:
        """Register for events, once for each connection. Raises BusLost."""
        await self._bus.on_message(self._note, self._register)

    async def _register(self) -> None:
        await self._bus.call(*_DAEMON, "AddMatch", "s", _RULE)
        for kind in _KINDS:
            await self._bus.call(*_REGISTRAR, "RegisterEvent", "sass", kind, [], "")

    def follow(self, programs: frozenset[str]) -> Following:
        """Collect what the programs of these bus names change from now on."""
        self._acted_at = time.monotonic()
        following = Following(self, programs)
        self._followings.append(following)
        return following

    def end(self, following: Following) -> None:
        if following in self._followings:
            self._followings.remove(following)
            self._acted_at = time.monotonic()

    def is_restless(self, event: _Event) -> bool:
        """Whether the object changed more than once lately while we did nothing: a clock, an animation."""
        since = time.monotonic() - _RESTLESS_S
        times = self._recent.get((event.key, event.kind), ())
        return sum(at > since for at in times) >= _RESTLESS_TIMES

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
        if not self._followings and time.monotonic() - self._acted_at > _OURS_S:
            self._remember(event)

    def _remember(self, event: _Event) -> None:
        place = (event.key, event.kind)
        times = self._recent.pop(place, None) or deque(maxlen=_RESTLESS_TIMES)
        times.append(time.monotonic())
        self._recent[place] = times
        while len(self._recent) > _REMEMBERED:
            self._recent.popitem(last=False)

    async def described(self, events: Sequence[_Event]) -> tuple[str, ...]:
        """In sentences, what the events tell; each object once."""
        told: dict[Key, str] = {}
        try:
            async with asyncio.timeout(_DESCRIBE_LIMIT_S):
                for event in events:
                    if event.key not in told and (sentence := await self._sentence(event)):
                        told[event.key] = sentence
                    if len(told) == _MOST_TOLD:
                        break
        except (TimeoutError, BusLost):  # because sentences found in time are worth more than all of them late
            pass
        return tuple(told.values())

    async def _sentence(self, event: _Event) -> str:
        node = Node(event.key)
        try:
            await asyncio.gather(
                objects.role(self._bus, node), objects.name(self._bus, node), objects.state(self._bus, node)
            )
            if event.kind in ("TextChanged", "PropertyChange"):
                node.value = await objects.value(self._bus, node)
        except CallRefused:
            return ""  # it is gone already
        if event.detail == "accessible-name" and self._is_introduced(node):
            return ""
        return _told(event, node)

    def _is_introduced(self, node: Node) -> bool:
        """Return whether a reported name is not new. GTK 4 reports the name again when an object gets the focus."""
        before = self._name_before(node.key)
        if before is None:
            return node.key[0] in self._bus.vague and node.is_operable
        return before == node.name


def _event_of(message: Message) -> _Event | None:
    body = message.body
    if len(body) < 2 or not isinstance(body[0], str) or not isinstance(body[1], int):
        return None
    kind = message.member or ""
    # The second field is an index for children and texts, and 1 or 0 for a state.
    return _Event((str(message.sender), str(message.path)), kind, body[0].split(":")[0], bool(body[1]))


def _may_be_effect(event: _Event) -> bool:
    if event.kind == "StateChanged":
        return event.detail in _EFFECTS or event.detail == "pressed"
    if event.kind == "PropertyChange":
        return event.detail in ("accessible-name", "accessible-value")
    if event.kind == "ChildrenChanged":
        return event.key[1] != spi.ROOT
    return event.kind in ("TextChanged", "SelectionChanged")


def _told(event: _Event, node: Node) -> str:
    """A sentence; "" for what is no effect after all."""
    name = clip_line(node.name, _SHOWN_CHARS)
    called = f'{node.role} "{name}"' if name else node.role
    if node.role in _NO_EFFECT_ROLES or node.has("defunct"):
        return ""
    if event.kind == "StateChanged":
        if event.detail == "pressed" and node.role != "toggle button":
            return ""
        return f"{called} is {'now' if event.is_on else 'no longer'} {event.detail}."
    if event.kind == "SelectionChanged":
        return f"Another entry of {called} is selected."
    if event.kind == "ChildrenChanged":
        return f"{called} {'got' if event.detail == 'add' else 'lost'} an entry."
    if node.role == spi.SECRET:
        return f"{called} holds another text."
    if node.value:
        return f"{called} holds {clip_line(node.value, _SHOWN_CHARS)!r} now."
    return f"{called} changed."
