"""The clipboard and the primary selection: read and own them, in every format and of any length.

Long content is transferred in pieces in both directions, as the ICCCM describes under INCR:
https://x.org/releases/X11R7.7/doc/xorg-docs/icccm/icccm.html
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import groupby
from typing import Any

from Xlib import X
from Xlib.error import XError
from Xlib.protocol.event import SelectionNotify
from Xlib.protocol.request import SetSelectionOwner

from app.base.errors import ToolFailed
from app.base.phrases import Phrase
from app.desktop.backends import Formats, KeyboardMoved
from app.desktop.keys import UNCHECKED, Check, KeyChecks, slices
from app.desktop.keys import chord as read_chord
from app.desktop.takeover import StopFlag
from app.desktop.x11.connection import Connection
from app.desktop.x11.keyboard import X11Keyboard, symbols_of
from app.desktop.x11.window_facts import has_pages_apart, is_asleep
from app.desktop.x11.windows import X11Windows

_PIECE_BYTES = 200_000  # because a server without big requests takes at most 262,140 bytes in one
_ANSWER_S = 0.7  # because the owner is another program, which may hang
_TEXT_FORMATS = ("UTF8_STRING", "text/plain;charset=utf-8", "text/plain", "STRING", "TEXT")
_NOT_CONTENT = {"TARGETS", "MULTIPLE", "TIMESTAMP", "SAVE_TARGETS", "DELETE"}
_META = ("TARGETS", "TIMESTAMP")
_SECRET = "x-kde-passwordManagerHint"
"""The format by which password managers mark what nobody may keep: https://phabricator.kde.org/D12539"""
_TWICE = 2

Keep = Callable[[str, int, Formats], None]
"""Gets what a selection, offered by a window of Wisp's, shall hold after Wisp."""


def keep_nothing(_selection: str, _window: int, _formats: Formats) -> None: ...


class Selection:
    """One selection (`CLIPBOARD` or `PRIMARY`). An invisible window reads it and offers Wisp's own content."""

    def __init__(self, connection: Connection, name: str, keep: Keep = keep_nothing) -> None:
        self._connection = connection
        self._name = name
        self._keep = keep
        self._window = connection.root.create_window(0, 0, 1, 1, 0, X.CopyFromParent, X.InputOnly)
        self._window.change_attributes(event_mask=X.PropertyChangeMask)
        self._owned: Formats | None = None
        self._check: Check | None = None
        self._refusal: ToolFailed | None = None
        self._checking: set[asyncio.Task[None]] = set()
        self._served = asyncio.Event()
        self._asked = asyncio.Event()
        self._times_served = 0
        self._arrived: asyncio.Queue[Any] = asyncio.Queue()
        self._sending: dict[tuple[int, int], Iterator[bytes]] = {}
        self._kinds: dict[tuple[int, int], int] = {}
        connection.listen(self._note)

    # --- owning

    def own(self, formats: Formats, check: Check | None = None, after: Formats | None = None) -> None:
        """Offer this content as the selection, until another program takes it over.

        `check` is called before a program gets the content, and raises ToolFailed if it may not get it. `after` is what
        the selection shall hold if Wisp ends meanwhile; without it, the same content.
        """
        self._catch_up()
        self._keep(self._name, int(self._window.id), formats if after is None else after)
        self._owned, self._check, self._refusal = formats, check, None
        self._served.clear()
        self._times_served = 0
        self._window.set_selection_owner(self._atom(self._name), X.CurrentTime)
        self._connection.display.sync()
        self._connection.drain()

    def put_back(self, formats: Formats) -> None:
        """Offer what was there before, or nothing, if Wisp still owns the selection."""
        self._catch_up()
        if self._owned is None:
            return
        if formats:
            self.own(formats)
            return
        display = self._connection.display
        SetSelectionOwner(display=display.display, window=X.NONE, selection=self._atom(self._name), time=X.CurrentTime)
        display.sync()
        self._owned = None

    async def refusal(self) -> ToolFailed | None:
        """Wait for the checks that run, and return why the content was refused to all that asked for it."""
        if self._checking:
            await asyncio.wait(self._checking)
        return None if self._times_served else self._refusal

    @property
    def is_ours(self) -> bool:
        return self._owned is not None

    def is_of(self, ref: str) -> bool:
        """True if the program of this window owns the selection: the server gives each program its own ids."""
        display = self._connection.display
        owner, part = display.get_selection_owner(self._atom(self._name)), display.display.info.resource_id_mask
        return bool(owner) and int(owner.id) | part == int(ref[1:], 16) | part

    async def served(self, limit_s: float) -> bool:
        """Return whether a program fetched the content (not only the list of formats) within the limit."""
        self._connection.drain()
        try:
            async with asyncio.timeout(limit_s):
                await self._served.wait()
        except TimeoutError:
            return False
        return True

    async def read_to_the_end(self, quiet_s: float, limit_s: float) -> None:
        """Wait until the content was fetched twice and then not requested for `quiet_s`, at most `limit_s`."""
        limit, asked = time.monotonic() + limit_s, True
        while asked and (left := limit - time.monotonic()) > 0:
            self._asked.clear()
            self._connection.drain()
            is_read = self._times_served >= _TWICE
            try:
                async with asyncio.timeout(min(quiet_s, left) if is_read else left):
                    await self._asked.wait()
            except TimeoutError:
                asked = False

    # --- reading

    async def text(self) -> str:
        """Empty if the selection has no text."""
        self._catch_up()
        if self._owned is not None:
            return _text_of(self._owned)
        names = await self._names()
        chosen = next((name for name in _TEXT_FORMATS if name in names), None)
        return _text_of({chosen: await self._fetch(chosen) or b""}) if chosen else ""

    async def formats(self) -> Formats:
        self._catch_up()
        if self._owned is not None:
            return self._owned
        found = {name: await self._fetch(name) for name in await self._names()}
        return {name: content for name, content in found.items() if content is not None}

    async def is_secret(self) -> bool:
        """True if a password manager offers the content, which it takes back itself as long as it offers it."""
        self._catch_up()
        return self._owned is None and _SECRET in await self._names()

    async def _names(self) -> list[str]:
        told = await self._property("TARGETS")
        if told is None or not hasattr(told.value, "tolist"):
            return []
        names = [self._connection.atom_name(atom) for atom in told.value.tolist() if atom]
        return [name for name in names if name not in _NOT_CONTENT]

    async def _fetch(self, name: str) -> bytes | None:
        told = await self._property(name)
        if told is None:
            return None
        if told.property_type == self._atom("INCR"):
            return await self._pieces()
        return _as_bytes(told.value)

    async def _property(self, target: str) -> Any:
        """Ask the selection's owner for one format. Returns None if there is no owner or no answer."""
        self._arrived = asyncio.Queue()
        place = self._atom("WISP_SELECTION")
        self._window.convert_selection(self._atom(self._name), self._atom(target), place, X.CurrentTime)
        self._connection.display.flush()
        event = await self._next(X.SelectionNotify)
        if event is None or not event.property:
            return None
        return self._take(place)

    async def _pieces(self) -> bytes:
        found = bytearray()
        while await self._next(X.PropertyNotify) is not None:
            told = self._take(self._atom("WISP_SELECTION"))
            piece = _as_bytes(told.value) if told else b""
            if not piece:
                break
            found += piece
        return bytes(found)

    def _take(self, place: int) -> Any:
        told = self._window.get_full_property(place, X.AnyPropertyType)
        self._window.delete_property(place)
        self._connection.display.flush()
        self._connection.drain()
        return told

    async def _next(self, kind: int) -> Any:
        self._connection.drain()
        while True:
            try:
                async with asyncio.timeout(_ANSWER_S):
                    event = await self._arrived.get()
            except TimeoutError:  # because the owner of a selection may never answer
                return None
            if event.type == kind:
                return event

    # --- what the server tells

    def _note(self, event: Any) -> None:
        if event.type == X.SelectionRequest and event.owner == self._window:
            self._ask_for(event)
        elif event.type == X.SelectionClear and event.window == self._window:
            self._owned = None
            self._keep(self._name, int(self._window.id), {})
        elif event.type == X.SelectionNotify and event.requestor == self._window:
            self._arrived.put_nowait(event)
        elif event.type == X.PropertyNotify:
            self._note_property(event)

    def _note_property(self, event: Any) -> None:
        if event.window == self._window and event.state == X.PropertyNewValue:
            self._arrived.put_nowait(event)
        elif event.state == X.PropertyDelete and (int(event.window.id), event.atom) in self._sending:
            self._send_piece(event.window, event.atom)

    def _ask_for(self, event: Any) -> None:
        """Answer a program that asks for the content, or for a list of formats, after the check."""
        if self._check is None or self._connection.atom_name(event.target) in _META:
            self._answer(event)
            return
        task = asyncio.get_running_loop().create_task(self._answer_checked(event, self._check))
        self._checking.add(task)
        task.add_done_callback(self._checking.discard)

    async def _answer_checked(self, event: Any, check: Check) -> None:
        try:
            await check()
        except ToolFailed as error:
            self._refusal = error
            self._answer(event, is_refused=True)
            self._served.set()  # so that nobody waits for a program that gets nothing
            return
        self._answer(event)

    def _answer(self, event: Any, *, is_refused: bool = False) -> None:
        # Obsolete clients name no property; the ICCCM then takes the target's name.
        place = event.property or event.target
        told = not is_refused and self._put(event, place)
        answer = SelectionNotify(
            time=event.time,
            requestor=event.requestor,
            selection=event.selection,
            target=event.target,
            property=place if told else X.NONE,
        )
        event.requestor.send_event(answer)
        self._connection.display.sync()
        self._asked.set()
        # Lists do not count, because clipboard managers ask for them without pasting.
        is_content = self._connection.atom_name(event.target) not in _META
        if told and is_content and not self._is_keeper(int(event.requestor.id)):
            self._times_served += 1
            self._served.set()

    def _is_keeper(self, requestor: int) -> bool:
        """Return whether a window is one of those that fetch whatever is copied, without pasting it.

        Clipboard managers say so: https://freedesktop.org/wiki/ClipboardManager. The window managers of GNOME and
        Cinnamon do it too, and do not say so.
        """
        display = self._connection.display
        part = int(display.display.info.resource_id_mask)
        keeper = display.get_selection_owner(self._atom("CLIPBOARD_MANAGER"))
        check = self._connection.root.get_property(self._atom("_NET_SUPPORTING_WM_CHECK"), X.AnyPropertyType, 0, 1)
        keepers = [int(keeper.id)] if keeper else []
        keepers += [int(number) for number in check.value] if check is not None else []
        return any(number | part == requestor | part for number in keepers)

    def _put(self, event: Any, place: int) -> bool:
        name = self._connection.atom_name(event.target)
        owned = self._owned or {}
        if name == "TARGETS":
            atoms = [self._atom(n) for n in (*_META, *owned)]
            event.requestor.change_property(place, self._atom("ATOM"), 32, atoms)
            return True
        if name == "TIMESTAMP":
            event.requestor.change_property(place, self._atom("INTEGER"), 32, [event.time])
            return True
        if name not in owned:
            return False
        content = owned[name]
        kind = self._atom("UTF8_STRING" if name == "TEXT" else name)
        if len(content) <= _PIECE_BYTES:
            event.requestor.change_property(place, kind, 8, content)
        else:
            self._begin_pieces(event.requestor, place, kind, content)
        return True

    def _begin_pieces(self, requestor: Any, place: int, kind: int, content: bytes) -> None:
        key = (int(requestor.id), place)
        self._sending[key] = (content[at : at + _PIECE_BYTES] for at in range(0, len(content), _PIECE_BYTES))
        self._kinds[key] = kind
        requestor.change_attributes(event_mask=X.PropertyChangeMask)
        requestor.change_property(place, self._atom("INCR"), 32, [len(content)])

    def _send_piece(self, requestor: Any, place: int) -> None:
        key = (int(requestor.id), place)
        piece = next(self._sending[key], b"")
        requestor.change_property(place, self._kinds[key], 8, piece)
        self._connection.display.flush()
        if not piece:
            del self._sending[key], self._kinds[key]

    def _atom(self, name: str) -> int:
        return self._connection.atom(name)

    def _catch_up(self) -> None:
        """Hear what the server has told so far: somebody may have taken the selection."""
        self._connection.display.sync()
        self._connection.drain()

    def close(self) -> None:
        self._connection.unlisten(self._note)
        try:
            self._window.destroy()
        except XError:  # because the server destroys it with the connection
            return


def as_formats(text: str) -> Formats:
    """Return a text in all text formats that programs request, old ones too: format name to bytes."""
    latin = text.encode("latin-1", "replace")  # because the ICCCM defines STRING as Latin-1
    return {name: latin if name == "STRING" else text.encode("utf-8") for name in _TEXT_FORMATS}


def _text_of(formats: Formats) -> str:
    for name in _TEXT_FORMATS:
        if name in formats:
            charset = "latin-1" if name == "STRING" else "utf-8"
            return formats[name].decode(charset, "replace").rstrip("\0")
    return ""


def _as_bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode("utf-8")
    return bytes(value.tobytes()) if hasattr(value, "tobytes") else bytes(value)


class X11Clipboard:
    """The clipboard as text. `formats` returns its whole content, so that it can be restored."""

    def __init__(self, clipboard: Selection, primary: Selection) -> None:
        self._clipboard = clipboard
        self._primary = primary

    async def read(self) -> str:
        return await self._clipboard.text()

    async def write(self, text: str) -> None:
        self._clipboard.own(as_formats(text))

    async def selected(self, window: str) -> str:
        return await self._primary.text() if self._primary.is_of(window) else ""

    async def formats(self) -> Formats:
        return await self._clipboard.formats()


_TAKEN_LIMIT_S = 1.0
_BUSY_LIMIT_S = 5.0
_WORKED_OFF_S = 1.0
_KEPT_S = 3.0
_LOOK_AGAIN_S = 0.02
_SLEEPS = 4
_PASTE = "ctrl+v"
_HELPERS_QUIET_S = 0.06
_HELPERS_LIMIT_S = 0.4
"""A browser fetches the text once for itself and once for the page, within 20 ms on an idle machine."""


class X11ExactTyping:
    """Types any text. The clipboard or keyboard is restored only after the program has handled its input."""

    def __init__(
        self, keyboard: X11Keyboard, windows: X11Windows, selections: tuple[Selection, Selection], stop: StopFlag
    ) -> None:
        self._keyboard = keyboard
        self._windows = windows
        self._clipboard, self._primary = selections
        self._stop = stop

    def can_paste(self) -> bool:
        return self._windows.is_answering(self._windows.active())

    async def paste(self, text: str, chord: str, into: str = "", checks: KeyChecks = UNCHECKED) -> bool:
        if chord == _PASTE and not self._windows.is_answering(self._windows.active()):
            return False  # because to canvases of Tk and to plain X programs, ctrl+v is a key like any other
        uses_primary = chord == "shift+Insert"
        used = (self._clipboard, self._primary) if uses_primary else (self._clipboard,)
        for selection in used:
            if await selection.is_secret():
                return False
        before = [await selection.formats() for selection in used]
        formats = as_formats(text)
        for selection, held in zip(used, before, strict=True):
            selection.own(formats, checks.taking, held)
        try:
            await checks.still()
            with self._only_into(into):
                self._press(chord)
            is_taken = await self._taken(used) and await self._read(used)
            for selection in used:
                if refusal := await selection.refusal():
                    raise refusal
            return is_taken
        finally:
            await self._worked_off()
            for selection in used:  # because the next content is not meant for who asked for this one
                await selection.refusal()
            for selection, held in zip(used, before, strict=True):
                selection.put_back(held)
            self._keyboard.give_back()

    def _press(self, chord: str) -> None:
        names = read_chord(chord).keys
        pressed: list[str] = []
        try:
            for name in names:
                self._stop.check()
                self._keyboard.key(name, down=True)
                pressed.append(name)
        finally:
            for name in reversed(pressed):
                self._keyboard.key(name, down=False)

    async def _taken(self, used: tuple[Selection, ...]) -> bool:
        """A busy program gets more time; pasted late, the text would be typed twice."""
        if await _fetched(used, _TAKEN_LIMIT_S):
            return True
        await self._worked_off(_BUSY_LIMIT_S)
        return await _fetched(used, _TAKEN_LIMIT_S)

    async def _read(self, used: tuple[Selection, ...]) -> bool:
        """Wait until a browser's page process has the text: it asks once more after the browser. Returns True."""
        if has_pages_apart(self._windows.pid(self._windows.active())):
            await used[0].read_to_the_end(_HELPERS_QUIET_S, _HELPERS_LIMIT_S)
        return True

    async def remap(self, text: str, into: str = "") -> None:
        sent_chars = 0
        try:
            while sent_chars < len(text):
                self._stop.check()
                sent_chars += await self._remap_some(text[sent_chars:], into)
        except KeyboardMoved as error:
            raise KeyboardMoved(sent_chars + error.sent_chars) from None
        finally:
            await self._read_off()
            self._keyboard.give_back_later(_KEPT_S)

    def _only_into(self, place: str) -> AbstractContextManager[None]:
        return self._keyboard.only_into(place) if place else nullcontext()

    async def _remap_some(self, text: str, into: str) -> int:
        """Type the part of the text for which there are spare keys. Returns how many characters that are.

        Characters of the layout are typed with their own keys. Raises KeyboardMoved.
        """
        foreign = list(dict.fromkeys(c for c in text if not self._keyboard.can_type(c)))
        if self._keyboard.room() < len(foreign):
            self._keyboard.give_all_back()
        symbols = {character: symbols_of(character)[-1] for character in foreign[: self._keyboard.room()]}
        lent = await self._lend(list(symbols.values()))
        count = next((n for n, c in enumerate(text) if c in foreign and c not in symbols), len(text))
        if not count:
            what = Phrase("The keyboard cannot type {sign!r}.", {"sign": text[0]})
            raise ToolFailed(what, "Write the text to a file instead.")
        sent_chars = 0
        for is_foreign, run in groupby(text[:count], symbols.__contains__):
            for part in slices("".join(run)):
                try:
                    with self._only_into(into):
                        if is_foreign:
                            self._keyboard.tap([lent[symbols[character]] for character in part])
                        else:
                            self._keyboard.type_text(part)
                except KeyboardMoved:
                    raise KeyboardMoved(sent_chars) from None
                sent_chars += len(part)
        if count < len(text):
            await self._read_off()
            self._keyboard.give_back()
        return count

    async def _lend(self, symbols: list[int]) -> dict[int, int]:
        """Map the symbols to spare keys; for programs that read keys by Xlib alone, one symbol at a time.

        While Xlib fetches one change of the map, it drops those that are announced meanwhile (`XRefreshKeyboardMapping`
        clears them, https://gitlab.freedesktop.org/xorg/lib/libx11/-/blob/master/src/xkb/XKBBind.c), and such keys type
        nothing. Toolkits that answer a ping keep a map of their own.
        """
        if not self.can_paste():
            for symbol in symbols:
                await self._asleep(1)
                self._keyboard.lend([symbol])
            await self._asleep(1)
        return self._keyboard.lend(symbols)

    async def _read_off(self) -> None:
        """Wait until the program has read the keys: it reports that, or all of its threads sleep."""
        active = self._windows.active()
        if await self._windows.answers(f"w{active:x}", _WORKED_OFF_S):
            return
        await self._asleep(_SLEEPS)

    async def _asleep(self, times: int) -> None:
        """Wait until all threads of the active program slept at `times` checks in a row."""
        pid, asleep = self._windows.pid(self._windows.active()), 0
        until = time.monotonic() + _BUSY_LIMIT_S
        while asleep < times and time.monotonic() < until:
            await asyncio.sleep(_LOOK_AGAIN_S)
            # A program also sleeps while it waits for the X server, which answers it before it answers us.
            self._keyboard.sync()
            asleep = asleep + 1 if is_asleep(pid) else 0

    async def _worked_off(self, limit_s: float = _WORKED_OFF_S) -> None:
        active = self._windows.active()
        if active:
            await self._windows.answers(f"w{active:x}", limit_s)


async def _fetched(used: tuple[Selection, ...], limit_s: float) -> bool:
    tasks = [asyncio.create_task(selection.served(limit_s)) for selection in used]
    done, left = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in left:
        task.cancel()
    return any(task.result() for task in done)
