"""What facts say to people: a few words each, translated where somebody reads them.

The row of a call, `wisp do` and the answers without a model all tell what came of an act in these words. What models
read is written beside each fact (`Fact.said`).
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath

from app.base.clipping import clip_line
from app.base.facts import (
    Archived,
    Became,
    Came,
    Change,
    ControlChanged,
    DialogAsks,
    DialogClosed,
    Emptied,
    Fact,
    Failed,
    FieldHolds,
    FileSaved,
    Holding,
    KeyboardIn,
    MachineState,
    Made,
    MenuClosed,
    Named,
    Ran,
    Seen,
    StateNow,
    ValueNow,
    WindowChanged,
    WindowEvent,
    first,
)
from app.base.phrases import ENGLISH, Phrase, Translations

_CHARS = 60
_MOST = 2
_OF_WINDOWS = {
    WindowEvent.OPENED: "{title!r} opened",
    WindowEvent.CLOSED: "{title!r} closed",
    WindowEvent.RENAMED: "the window is now called {title!r}",
    WindowEvent.MINIMISED: "{title!r} is put away",
    WindowEvent.MOVED: "{title!r} has another place or size",
    WindowEvent.ACTIVE: "{title!r} came to the front",
}
_OF_NAMELESS = {WindowEvent.OPENED: "a window opened", WindowEvent.CLOSED: "a window closed"}
_OF_STATES = {
    ("checked", True): "ticked",
    ("checked", False): "unticked",
    ("selected", True): "selected",
    ("pressed", True): "switched on",
    ("pressed", False): "switched off",
    ("expanded", True): "unfolded",
    ("expanded", False): "folded",
}
_OF_FIELDS = {
    Holding.TYPED: "the text is in the field",
    Holding.EXACT: "the text is in the field",
    Holding.ENDS: "the field ends in {held!r}",
    Holding.OTHER: "the field holds {held!r}",
    Holding.EMPTY: "the field is empty",
    Holding.UNREAD: "the field could not be read back",
}
_OF_PROOFS = {"unverifiable": "not confirmed", "suspected no-op": "nothing shows that it worked"}
_PROOFS = ("suspected no-op", "unverifiable", "confirmed")
"""The proofs of receipts, the weakest first."""


def proof_of(facts: Iterable[Fact]) -> str:
    """Return the proof that the receipts among the facts claim; "" without one. Of several, the weakest counts."""
    proofs = {fact.proof for fact in facts if isinstance(fact, Seen)}
    return next((proof for proof in _PROOFS if proof in proofs), "")


def row_of(facts: Sequence[Fact], typed: str = "") -> tuple[Phrase, ...]:
    """Return what the row of a call that worked tells behind what was done: what came of it, and how sure that is."""
    proof = "" if first(DialogClosed, facts) else _OF_PROOFS.get(proof_of(facts), "")
    return (*came_of(facts, typed), *([Phrase(proof)] if proof else []))


def failure_of(facts: Sequence[Fact], words: Translations = ENGLISH) -> str:
    """For people: why a call failed, and what its window asks now; "" if that means nothing to them."""
    failed = first(Failed, facts)
    if failed is None or failed.is_for_model:
        return ""
    asks = [in_a_sentence((asked(dialog),), words) for dialog in facts if isinstance(dialog, DialogAsks)]
    return " ".join((failed.for_people(words), *asks[-1:]))


def came_of(facts: Sequence[Fact], typed: str = "") -> tuple[Phrase, ...]:
    """The most telling first. That a text that was `typed` shows is no result."""
    kinds: tuple[Callable[[Sequence[Fact]], Iterable[Phrase]], ...]
    kinds = (_states, _runs, _archives, _saves, _dialogs, _windows, _controls)
    told = list(dict.fromkeys(phrase for kind in kinds for phrase in kind(facts)))
    value = value_of(facts, typed)
    told += [Phrase("it shows {value!r} now", {"value": clip_line(value, _CHARS)})] if value else []
    return tuple((told or list(_fields(facts)))[:_MOST])


def value_of(facts: Iterable[Fact], typed: str = "") -> str:
    """Return what the screen shows now, such as a sum's result; "" if that is not known or is what was `typed`."""
    return next((value for value in map(str.strip, _values(facts)) if value and value not in typed), "")


def asked(dialog: DialogAsks) -> Phrase:
    if dialog.text:
        text = {"text": dialog.text}
        return Phrase("a question is open: {text!r}" if "?" in dialog.text else "a message is open: {text!r}", text)
    return Phrase("the dialog {title!r} is open", {"title": dialog.title}) if dialog.title else _NAMELESS_DIALOG


_NAMELESS_DIALOG = Phrase("a dialog is open")


def in_a_row(phrases: Iterable[Phrase], words: Translations = ENGLISH) -> str:
    """Beside each other, as a row shows them."""
    return " · ".join(phrase.said(words) for phrase in phrases)


def in_a_sentence(phrases: Iterable[Phrase], words: Translations = ENGLISH) -> str:
    told = [phrase.said(words) for phrase in phrases]
    return " ".join(f"{one[:1].upper()}{one[1:]}{'' if _has_end(one) else '.'}" for one in told)


def _has_end(text: str) -> bool:
    return text.rstrip("”“\"'").endswith((".", "?", "!", "…"))


def _states(facts: Sequence[Fact]) -> Iterator[Phrase]:
    yield from (fact.what for fact in facts if isinstance(fact, MachineState))


def _runs(facts: Sequence[Fact]) -> Iterator[Phrase]:
    """Say how a command ended, unless it ended well, and what was made for it or was there before."""
    ran, made = first(Ran, facts), first(Made, facts)
    if ran and ran.is_running:
        yield Phrase("it is still running")
    elif ran and ran.code:
        if ran.code > 0:
            yield Phrase("exit code {code}", {"code": str(ran.code)})
        else:
            yield Phrase("ended by signal {signal}", {"signal": _signal(-ran.code)})
    if made and made.was_there:
        yield Phrase("it was there already")
    elif made and not made.id:
        yield Phrase("the folder {name!r} was missing and was made", {"name": made.name})


def _archives(facts: Sequence[Fact]) -> Iterator[Phrase]:
    """Say how many files an archive or its folder holds, and how much the trash held."""
    archived, emptied = first(Archived, facts), first(Emptied, facts)
    if archived:
        values: dict[str, str | int] = {"path": archived.path, "count": archived.files}
        yield Phrase("{path!r} holds {count} file", values, many="{path!r} holds {count} files")
        if archived.left_out:
            yield Phrase(_LEFT_OUT[0], {"count": archived.left_out}, many=_LEFT_OUT[1])
    if emptied and emptied.count:
        yield Phrase("{count} thing is gone", {"count": emptied.count}, many="{count} things are gone")
    elif emptied:
        yield Phrase("the trash was empty already")


_LEFT_OUT = (
    "{count} entry was left out, because it is a link or starts by itself",
    "{count} entries were left out, because they are links or start by themselves",
)


def _saves(facts: Sequence[Fact]) -> Iterator[Phrase]:
    yield from (
        Phrase("{name!r} is saved", {"name": PurePath(one.path).name}) for one in facts if isinstance(one, FileSaved)
    )


def _signal(number: int) -> str:
    """The number with its name, as far as this system has one: `9 (KILL)`."""
    try:
        return f"{number} ({signal.Signals(number).name.removeprefix('SIG')})"
    except ValueError:
        return str(number)


def _dialogs(facts: Sequence[Fact]) -> Iterator[Phrase]:
    dialogs = [fact for fact in facts if isinstance(fact, DialogAsks)]
    yield from map(asked, dialogs[-1:])
    closed = first(DialogClosed, facts)
    if closed and not dialogs:
        yield Phrase("the dialog is closed" if closed.is_answer else "its window closed")


def _windows(facts: Sequence[Fact]) -> Iterator[Phrase]:
    """Say what happened to windows.

    A call without a receipt, such as one that opens a program, is itself about the window, so that is not said again.
    """
    asking = {fact.title for fact in facts if isinstance(fact, DialogAsks)}
    is_received = first(Seen, facts) is not None
    is_answered = first(DialogClosed, facts) is not None
    is_closed = is_answered or any(one.event is WindowEvent.CLOSED for one in facts if isinstance(one, WindowChanged))
    for fact in facts:
        if not isinstance(fact, WindowChanged) or (fact.event is WindowEvent.OPENED and fact.title in asking):
            continue
        is_next = is_closed and fact.event is WindowEvent.ACTIVE  # which any window is behind one that closed
        is_again = is_answered and fact.event is WindowEvent.CLOSED
        if not is_next and not is_again and (is_received or fact.event is WindowEvent.ACTIVE):
            yield from _window(fact)


def _window(fact: WindowChanged) -> Iterator[Phrase]:
    title = clip_line(fact.title.lstrip("*"), _CHARS)
    if title:
        yield Phrase(_OF_WINDOWS[fact.event], {"title": title})
    elif fact.event in _OF_NAMELESS:
        yield Phrase(_OF_NAMELESS[fact.event])
    if fact.event is WindowEvent.RENAMED and fact.title.startswith("*"):
        yield Phrase("it is not saved yet")


def _controls(facts: Sequence[Fact]) -> Iterator[Phrase]:
    for fact in facts:
        match fact:
            case StateNow(control=Named(role="menu")):
                if fact.is_on and fact.state == "selected":
                    yield Phrase("the menu {name!r} is open", {"name": clip_line(fact.control.name, _CHARS)})
            case StateNow() if (fact.state, fact.is_on) in _OF_STATES:
                yield Phrase(_OF_STATES[fact.state, fact.is_on])
            case ControlChanged(how=Change.SELECTION):
                yield Phrase("another entry is selected")
            case Came() if _is_menu(fact) and not any(isinstance(one, StateNow) for one in facts):
                yield Phrase("a menu is open")
            case MenuClosed() if not any(isinstance(one, WindowChanged) for one in facts):
                yield Phrase("the menu is closed")


def _is_menu(fact: Came) -> bool:
    return all("menu" in thing.role for thing in fact.things)


def _values(facts: Iterable[Fact]) -> Iterator[str]:
    """Yield the values that a receipt tells. Of several new things, as in an opened menu, none is the outcome."""
    for fact in facts:
        match fact:
            case ValueNow():
                yield fact.value
            case Became():
                yield fact.now
            case Came() if len(fact.things) == 1 and not fact.more and not _is_menu(fact):
                yield fact.things[0].name


def _fields(facts: Sequence[Fact]) -> Iterator[Phrase]:
    """Say what a field holds, and where the keyboard is: worth telling where nothing else came of an act."""
    for fact in facts:
        match fact:
            case FieldHolds():
                if fact.is_taken_back:
                    yield Phrase("the program took it back")
                yield Phrase(_OF_FIELDS[fact.how], _held(fact))
            case KeyboardIn():
                yield Phrase("you can type into it now")


def _held(fact: FieldHolds) -> Mapping[str, str]:
    return {"held": clip_line(fact.held, _CHARS)} if "held" in _OF_FIELDS[fact.how] else {}
