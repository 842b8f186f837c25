"""What Wisp found out, as data. Its parts tell each other facts and never read each other's sentences.

Each kind knows its one English sentence for models, `said`. What people read is written from the same fields where they
read it, in their language. Other programs wrote every name, title and value in here: treat them as untrusted.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cache
from typing import Any, TypeVar, get_type_hints

from app.base.clipping import clip_line
from app.base.phrases import ENGLISH, NO_PHRASE, Phrase, Translations
from app.base.values import dataclass, fields, replace

_VALUE_CHARS = 60
_LINE_CHARS = 600


class Fact:
    """Something that was found out. `said` is the sentence for models; "" if the tool's own answer says it."""

    __slots__ = ()

    @property
    def said(self) -> str:
        return ""


class WindowEvent(StrEnum):
    """What happened to a window."""

    OPENED = "opened"
    CLOSED = "closed"
    RENAMED = "renamed"
    MINIMISED = "minimised"
    MOVED = "moved"
    ACTIVE = "active"


_OF_WINDOWS = {
    WindowEvent.OPENED: "The window {title!r} opened.",
    WindowEvent.CLOSED: "The window {title!r} closed.",
    WindowEvent.RENAMED: "The window {was!r} is now called {title!r}.",
    WindowEvent.MINIMISED: "The window {title!r} is minimised.",
    WindowEvent.MOVED: "The window {title!r} has another place or size now.",
    WindowEvent.ACTIVE: "{title!r} became active.",
}


@dataclass(frozen=True, slots=True)
class WindowChanged(Fact):
    """A window opened, closed or changed. `was` is its title before, if that changed."""

    event: WindowEvent
    title: str
    was: str = ""

    @property
    def said(self) -> str:
        return _OF_WINDOWS[self.event].format(title=self.title, was=self.was)


@dataclass(frozen=True, slots=True)
class DialogClosed(Fact):
    """The dialog that was answered closed; or, with `is_answer` False, the window that was typed into.

    `is_all`: nothing else was to come of it, as the button does no more than close.
    """

    is_answer: bool = True
    is_all: bool = False

    @property
    def said(self) -> str:
        what = "The dialog closed." if self.is_answer else "Its window closed meanwhile."
        return what if self.is_all else f"{what} Whether anything else came of it is not known."


@dataclass(frozen=True, slots=True)
class MenuClosed(Fact):
    """An open menu closed. It does so at every press on it, whatever comes of that."""

    @property
    def said(self) -> str:
        return "The menu closed."


@dataclass(frozen=True, slots=True)
class FileSaved(Fact):
    """A file was written. `at`: when, in seconds since the epoch."""

    path: str
    size_bytes: int
    at: float

    @property
    def said(self) -> str:
        when = time.strftime("%H:%M:%S", time.localtime(self.at))
        return f"{in_quotes(self.path)} was written at {when}: {self.size_bytes} bytes."


@dataclass(frozen=True, slots=True)
class CaretMoved(Fact):
    """The caret of a field is at another character, or another text is selected there. Nothing else is meant by it."""

    was: int
    now: int
    selected: str = ""

    @property
    def said(self) -> str:
        if self.selected:
            return f"{in_quotes(clip_line(self.selected, _VALUE_CHARS))} is selected."
        return f"The caret moved from {self.was} to {self.now}." if self.was != self.now else "Nothing is selected now."


@dataclass(frozen=True, slots=True)
class DialogAsks(Fact):
    """A dialog stands in front. `text` is what it asks, if it does nothing but ask; `buttons` are its answers."""

    title: str
    text: str = ""
    buttons: tuple[str, ...] = ()

    @property
    def said(self) -> str:
        named = f"The dialog {in_quotes(self.title)}" if self.title.strip() else "A dialog"
        asks = f"{named} asks: {in_quotes(self.text)}" if self.text else f"{named} stands in front."
        buttons = f" Its buttons: {', '.join(map(in_quotes, self.buttons))}." if self.buttons else ""
        return asks + buttons


@dataclass(frozen=True, slots=True)
class Named:
    """A control or text by its role and name; the role is "" for a text that was read off the screen."""

    role: str
    name: str

    @property
    def said(self) -> str:
        name = f'"{clip_line(self.name, _VALUE_CHARS)}"' if self.name or not self.role else ""
        return f"{self.role} {name}".strip()


@dataclass(frozen=True, slots=True)
class Shows(Fact):
    """What a window that opened shows; a pop-up, such as a menu, has no title. `told` is the same for models."""

    title: str
    things: tuple[Named, ...]
    told: str

    @property
    def said(self) -> str:
        return self.told


@dataclass(frozen=True, slots=True)
class StateNow(Fact):
    """A control has a state now, or no longer: AT-SPI's `checked`, `selected`, `expanded` and others."""

    control: Named
    state: str
    is_on: bool

    @property
    def said(self) -> str:
        if self.state in ("sensitive", "enabled"):
            return f"{self.control.said} {'can be used' if self.is_on else 'is greyed'} now."
        return f"{self.control.said} is {'now' if self.is_on else 'no longer'} {self.state}."


@dataclass(frozen=True, slots=True)
class ValueNow(Fact):
    """A control or display holds a value now."""

    control: Named
    value: str

    @property
    def said(self) -> str:
        return f"{self.control.said} holds {clip_line(self.value, _VALUE_CHARS)!r} now."


@dataclass(frozen=True, slots=True)
class KeyboardIn(Fact):
    """A control has the keyboard now."""

    control: Named

    @property
    def said(self) -> str:
        return f"{self.control.said} has the keyboard."


@dataclass(frozen=True, slots=True)
class Became(Fact):
    """A text gave way to another in the same place."""

    control: Named
    now: str

    @property
    def said(self) -> str:
        return f"{self.control.said} became {Named('', self.now).said}."


@dataclass(frozen=True, slots=True)
class Arrived(Fact):
    """A thing that was dragged is at another place now."""

    thing: Named
    place: str

    @property
    def said(self) -> str:
        return f"{self.thing.said} is at {self.place} now."


class Change(StrEnum):
    """How a control changed, if its program tells no more."""

    SELECTION = "selection"
    GOT = "got"
    LOST = "lost"
    TEXT = "text"
    ANY = "any"


_OF_CONTROLS = {
    Change.SELECTION: "Another entry of {} is selected.",
    Change.GOT: "{} got an entry.",
    Change.LOST: "{} lost an entry.",
    Change.TEXT: "{} holds another text.",
    Change.ANY: "{} changed.",
}


@dataclass(frozen=True, slots=True)
class ControlChanged(Fact):
    """A control changed, and its program does not tell what it is now."""

    control: Named
    how: Change = Change.ANY

    @property
    def said(self) -> str:
        return _OF_CONTROLS[self.how].format(self.control.said)


@dataclass(frozen=True, slots=True)
class Came(Fact):
    """Things that are new on the screen. `more`: so many others are not named. `told` is the same for models."""

    things: tuple[Named, ...]
    more: int = 0
    told: str = ""

    @property
    def said(self) -> str:
        return self.told or _listed("New", self)


@dataclass(frozen=True, slots=True)
class Went(Fact):
    """Things that are gone from the screen. `more`: so many others are not named."""

    things: tuple[Named, ...]
    more: int = 0

    @property
    def said(self) -> str:
        return _listed("Gone", self)


def _listed(word: str, those: Came | Went) -> str:
    """`New: button "OK", "Cancel", label "Sure?".`"""
    before = ("", *(thing.role for thing in those.things))
    pairs = zip(before, those.things, strict=False)
    parts = [replace(one, role="").said if one.role == role else one.said for role, one in pairs]
    more = f" and {those.more} more" if those.more else ""
    return f"{word}: {clip_line(', '.join(parts), _LINE_CHARS)}{more}."


class Holding(StrEnum):
    """How a field's content compares with the text that was typed or set."""

    TYPED = "typed"
    EXACT = "exact"
    ENDS = "ends"
    OTHER = "other"
    EMPTY = "empty"
    UNREAD = "unread"


_OF_FIELDS = {
    Holding.TYPED: "The field holds the text.",
    Holding.EXACT: "It holds exactly that.",
    Holding.ENDS: "The field does not hold it as typed; it ends in {!r}.",
    Holding.OTHER: "It holds {!r} now.",
    Holding.EMPTY: "The field is empty.",
    Holding.UNREAD: "It could not be read back.",
}


@dataclass(frozen=True, slots=True)
class FieldHolds(Fact):
    """Whether a field holds the text that was typed or set. `held` is what it holds otherwise, or the end of that."""

    how: Holding
    held: str = ""
    is_taken_back: bool = False

    @property
    def said(self) -> str:
        told = _OF_FIELDS[self.how].format(clip_line(self.held, _VALUE_CHARS))
        return f"The program took it back. {told}" if self.is_taken_back else told


@dataclass(frozen=True, slots=True)
class Remark(Fact):
    """A sentence for models on something that only they decide by."""

    text: str

    @property
    def said(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Seen(Fact):
    """How sure an effect is: `proof` is a receipt's (confirmed, unverifiable, suspected no-op)."""

    proof: str


@dataclass(frozen=True, slots=True)
class Rehearsed(Fact):
    """In a dry run, nothing was really done."""

    @property
    def said(self) -> str:
        return "(Dry run: nothing was really done.)"


@dataclass(frozen=True, slots=True)
class Undoable(Fact):
    """Wisp keeps what was there before, and can take the change back."""


@dataclass(frozen=True, slots=True)
class Removed(Fact):
    """Something of the person's was deleted, which is all that the call did."""


@dataclass(frozen=True, slots=True)
class Archived(Fact):
    """So many files were packed into an archive, or unpacked into a folder, at `path`. Some may be `left_out`."""

    path: str
    files: int
    left_out: int = 0
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Emptied(Fact):
    """The trash was emptied of so many things."""

    count: int
    size_bytes: int = 0

    @property
    def said(self) -> str:
        return f"The trash is empty; it held {self.count}." if self.count else "The trash was empty already."


@dataclass(frozen=True, slots=True)
class TakenBack(Fact):
    """So many changes were taken back. `turn` is whose changes they were; "" if they were none of files."""

    count: int
    turn: str = ""


@dataclass(frozen=True, slots=True)
class Proposed(Fact):
    """A command that the person may run. Wisp only shows it."""

    command: str


@dataclass(frozen=True, slots=True)
class Missing(Fact):
    """Nothing is called so."""

    name: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """One of several things that fit a name. `place` is a point as text, or where a window is ("left")."""

    ref: str
    thing: Named
    place: str = ""
    window: str = ""


@dataclass(frozen=True, slots=True)
class Several(Fact):
    """Several things fit a name, and none was chosen."""

    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class NotAllowed(Fact):
    """A call was not let in: the person `said_no`, or nobody was there to be asked. `rule` would allow it."""

    said_no: bool = False
    is_unattended: bool = False
    rule: str = ""


@dataclass(frozen=True, slots=True)
class Failed(Fact):
    """Why a call failed: `what` for everybody. `hint` is what only a model can do about it, `advice` what a person can.

    `argument` is the argument of the call that is at fault, if there is one: models read it in front. With
    `is_for_model`, the call itself was wrong, which means nothing to a person.
    """

    what: Phrase
    hint: str = ""
    is_for_model: bool = False
    advice: Phrase = NO_PHRASE
    argument: str = ""

    @property
    def said(self) -> str:
        return self.with_facts(())

    def with_facts(self, facts: Iterable[Fact]) -> str:
        """For models: its own sentences, with those of other facts before the hint."""
        at = f"{self.argument}: " if self.argument else ""
        return " ".join(filter(None, (at + self.what.for_models, said(facts), self.hint)))

    def for_people(self, words: Translations = ENGLISH) -> str:
        told = f"{self.what.said(words)} {self.advice.said(words)}".strip()
        return told[:1].upper() + told[1:] if self.argument else told


@dataclass(frozen=True, slots=True)
class ListedWindow:
    """A window of a list, as it is shown to a person."""

    title: str
    app: str
    is_active: bool = False
    is_minimised: bool = False


@dataclass(frozen=True, slots=True)
class ListedWindows(Fact):
    """The open windows, topmost first."""

    windows: tuple[ListedWindow, ...]


@dataclass(frozen=True, slots=True)
class ShownThing:
    """A control or text on the screen. `is_written`: it was read off the screen."""

    thing: Named
    value: str = ""
    is_written: bool = False
    is_covered: bool = False


@dataclass(frozen=True, slots=True)
class ShownThings(Fact):
    """What the screen or a window shows, in the order of the outline: each window's things follow it."""

    things: tuple[ShownThing, ...]


@dataclass(frozen=True, slots=True)
class Listed(Fact):
    """Things by name, such as apps or the entries of a folder, whose folders end in "/". `is_cut`: there are more."""

    names: tuple[str, ...]
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Brought(Fact):
    """Text that a call brought: what a file, a page, a memory or the clipboard holds; "" if there is nothing."""

    text: str


@dataclass(frozen=True, slots=True)
class Ran(Fact):
    """A command was run. `code` is its exit code: None if it is not known, negative if a signal ended it.

    `is_offline`: it had no network. `deleted` are the files of the person that it deleted, and `set_aside` those that
    would run by themselves and were renamed; `wisp undo` puts them back by `restore`.
    """

    code: int | None = None
    is_running: bool = False
    is_offline: bool = False
    deleted: tuple[str, ...] = ()
    set_aside: tuple[str, ...] = ()
    restore: str = ""

    @property
    def has_failed(self) -> bool:
        return not self.is_running and self.code != 0


@dataclass(frozen=True, slots=True)
class Planned(Fact):
    """A schedule: its number and title, when it runs (`next_at` in seconds since the epoch, None: never again).

    It begins `until` that time of day at the latest; `waits_for` says what it waits for now; `may` are its permissions.
    """

    id: int
    title: str
    when: Phrase
    zone: str
    next_at: float | None = None
    until: str = ""
    waits_for: str = ""
    may: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Made(Fact):
    """A small app of Wisp's was made, or was there already under that name; so was a folder, which has no `id`."""

    id: str
    name: str
    was_there: bool = False


@dataclass(frozen=True, slots=True)
class MachineState(Fact):
    """What the machine itself was read to be: its volume, network, battery and others, as a sentence for everybody."""

    what: Phrase

    @property
    def said(self) -> str:
        return self.what.for_models


def said(facts: Iterable[Fact]) -> str:
    """Return the sentences for models, one after the other."""
    return " ".join(sentence for fact in facts if (sentence := fact.said))


def in_quotes(text: str) -> str:
    """Quotation marks in the text are escaped."""
    return json.dumps(text, ensure_ascii=False)


F = TypeVar("F", bound=Fact)


def first(kind: type[F], facts: Iterable[Fact]) -> F | None:
    return next((fact for fact in facts if isinstance(fact, kind)), None)


_KINDS: Mapping[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        WindowChanged, Arrived, DialogClosed, DialogAsks, MenuClosed, FileSaved, CaretMoved, Shows, StateNow, ValueNow,
        KeyboardIn, Became, ControlChanged, Came, Went, FieldHolds, Remark, Seen, Rehearsed, Undoable, Removed,
        Archived, Emptied, TakenBack, Proposed, Missing, Several, NotAllowed, Failed, ListedWindows, ShownThings,
        Listed, Brought, Ran, Planned, Made, Named, Candidate, ListedWindow, ShownThing, MachineState, Phrase,
    )
}  # fmt: skip


def as_json(value: Any) -> Any:
    """A tree of JSON values, with the fact's kind under `is`."""
    if type(value).__name__ in _KINDS:
        return {"is": type(value).__name__} | {one.name: as_json(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {name: as_json(item) for name, item in value.items()}
    return [as_json(item) for item in value] if isinstance(value, (list, tuple)) else value


def of_json(tree: Any) -> Any:
    """Return the fact that `as_json` wrote. Raises ValueError for a kind that this program does not know."""
    if isinstance(tree, list):
        return tuple(map(of_json, tree))
    if not isinstance(tree, Mapping):
        return tree
    if "is" not in tree:
        return {name: of_json(item) for name, item in tree.items()}
    if (kind := _KINDS.get(tree["is"])) is None:
        raise ValueError(f"unknown kind of fact: {tree['is']!r}")
    types = _enums(kind.__name__)
    given = {name: of_json(item) for name, item in tree.items() if name != "is"}
    return kind(**{name: types[name](item) if name in types else item for name, item in given.items()})


@cache
def _enums(name: str) -> Mapping[str, type[StrEnum]]:
    hints = get_type_hints(_KINDS[name])
    return {name: hint for name, hint in hints.items() if isinstance(hint, type) and issubclass(hint, StrEnum)}
