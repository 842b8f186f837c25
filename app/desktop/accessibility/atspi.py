"""The accessibility backend for AT-SPI. It reads the programs again for each outline and keeps only the refs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from app.base.clipping import clip_line
from app.base.errors import ToolFailed, ToolMisuse
from app.base.geometry import Point, Rect
from app.base.phrases import Phrase
from app.base.values import dataclass
from app.desktop.accessibility import acting, matching, objects, scenes, text_editing
from app.desktop.accessibility import constants as spi
from app.desktop.accessibility.bus import Bus, CallRefused
from app.desktop.accessibility.changes import ChangeFeed, LastRead
from app.desktop.accessibility.matching import Description, normal, readings, roles_called
from app.desktop.accessibility.nodes import Key, Node, Program
from app.desktop.accessibility.objects import Survey, Surveyor
from app.desktop.accessibility.outline import Outliner, RefBook, Stack, held_by
from app.desktop.accessibility.reading import OutlineReader, is_scrolled, unseen_in
from app.desktop.accessibility.scenes import marked_item, scene_of
from app.desktop.backends import Window
from app.desktop.elements import (
    GOOD,
    Editing,
    Element,
    FollowedChanges,
    Match,
    NoChanges,
    NoLongerInSight,
    Outline,
    OutlineRequest,
    OutlineView,
    OutOfSight,
    Scene,
    SceneRequest,
    SeveralOutOfSight,
)
from app.desktop.privacy import Private

_CLEAR = 0.97
"""A match in the active window with at least this score is what was meant; other programs are not asked."""
_ELSEWHERE = 0.98
"""The factor for a match outside the active window: of two equal names, the active window's is meant."""
_COVERED = 0.9
_NAME_CHARACTERS = 60
"""The factor for a match that another window hides."""
_MOST_MATCHES, _SCROLL_LIMIT_S, _LOOK_AGAIN_S, _FOLLOW_LIMIT_S = 50, 2.0, 0.03, 0.3
_HELD_LIMIT_S = 0.25
"""How long a window that opened may take to describe its content."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    score: float
    program: Program
    window: Node
    node: Node


class AtSpi:
    """Implements `Accessibility`. It connects at the first request; all methods run on one event loop.

    `windows` lists the top-level windows, topmost first, so that hidden elements are marked as `covered`. `private`
    windows are left out. `monitors` lists the monitors: some programs count positions from a monitor.
    """

    def __init__(
        self,
        environment: Mapping[str, str] | None = None,
        windows: Callable[[], Sequence[Window]] = tuple,
        private: Private | None = None,
        monitors: Callable[[], Sequence[Rect]] = tuple,
    ) -> None:
        self._bus = Bus(os.environ if environment is None else environment)
        self._private = private or Private()
        self._surveyor = Surveyor(self._bus, self._is_private, self._own)
        last_read = LastRead()
        self._dialogs: set[tuple[int, str]] = set()

        def keep(program: Program) -> None:
            last_read.keep(program)
            self._dialogs |= {(program.pid, one.name) for one in program.windows if one.role in spi.DIALOGS}

        self._reader = OutlineReader(self._bus, keep)
        self._refs = RefBook()
        self._feed = ChangeFeed(self._bus, self._refs.name_of, last_read)
        self._windows = windows
        self._monitors = monitors
        self._outliner = Outliner()

    async def find(self, query: str, *, role: str = "", limit: int = 8) -> tuple[Match, ...]:
        # Without a role, what has no place is left to OCR, which finds it by sight where windows have places.
        is_blind = not any(window.area.size.area for window in self._windows())
        return await self._found(query, role, limit, with_unplaced=bool(role) or is_blind)

    async def _found(self, query: str, role: str, limit: int, *, with_unplaced: bool) -> tuple[Match, ...]:
        ways, roles, stack = readings(query), roles_called(role), self._stack()
        cells = not roles or "table cell" in roles
        async with self._surveyor.look() as look:
            active = await look.active()
            if active:
                await self._reader.grow_patiently(active, cells=cells)
            found = _scored([active] if active else [], ways, roles)
            if not any(match.score >= _CLEAR for match in found):
                found = _scored(await look.programs(partial(self._reader.grow, cells=cells)), ways, roles)
        best = _without_echoes(found)[:limit]
        await self._reader.fill([(match.program, match.node) for match in best], stack)
        shown = [one for one in best if _has_area(one.node) or (with_unplaced and one.node.is_unplaced)]
        matches = [self._match(candidate, stack) for candidate in shown]
        return tuple(sorted(matches, key=lambda match: -match.score))

    async def reveal(self, query: str) -> Match | None:
        found = await self._named_beyond(query)
        if len(found) != 1:
            return None
        program, window, node = found[0]
        await self._reader.fill([(program, node)], self._stack())
        ref = self._refs.element(program, window, node).ref
        for scroll in (acting.scroll_to, acting.scroll_list_to):
            if await scroll(self._bus, node) and (match := await self._in_sight(ref, 1.0)):
                return match
        return None

    async def beyond(self, query: str) -> OutOfSight | None:
        found = await self._named_beyond(query)
        if len(found) > 1:
            raise SeveralOutOfSight(clip_line(query, _NAME_CHARACTERS), len(found))
        if not found:
            return None
        program, window, node = found[0]
        nodes = (node, next((above for above in node.ancestors() if is_scrolled(above)), window))
        await self._reader.fill([(program, node) for node in nodes], self._stack())
        element, holder = (self._refs.element(program, window, node) for node in nodes)
        return OutOfSight(element, holder, node.is_far_row)

    async def _named_beyond(self, query: str) -> list[tuple[Program, Node, Node]]:
        """The controls to scroll to that have this name, each with its program and window."""
        ways = readings(query)
        async with self._surveyor.look() as look:
            program = await look.active() or await self._in_front(look)
            if program is None:
                return []
            await self._reader.grow(program, cells=False)
            hidden = await self._reader.out_of_sight(program)
        return [(program, window, node) for window, node in hidden if matching.score(node, ways) >= _CLEAR]

    async def _in_front(self, look: Survey) -> Program | None:
        """Found by its pid, because Chromium does not mark its windows as active."""
        pid = next((window.pid for window in self._windows() if window.is_active), 0)

        async def seen(_: Program) -> None:
            return

        return next((program for program in await look.programs(seen) if pid and program.pid == pid), None)

    async def at(self, point: Point) -> Element | None:
        stack = self._stack()
        async with self._surveyor.look() as look:
            for program in await look.programs(partial(self._reader.read, stack=stack)):
                if under := _innermost(program, point, stack):
                    return self._refs.element(program, *under)
        return None

    async def focused(self) -> Element | None:
        return await self._last_focused() or await self._found_focus()

    async def _last_focused(self) -> Element | None:
        """The field that last reported the focus, if it still has it, else None. Reads only that field."""
        active = next((window for window in self._windows() if window.is_active), None)
        for name in self._surveyor.names_of(active.pid) if active else ():
            ref = self._refs.known(self._feed.focus.get(name))
            seen = self._refs.last_seen(ref) if ref else None
            now = await self._reader.again(seen, self._stack()) if seen else None
            if now and now[0].has("focused") and now[0].has("editable"):
                return self._refs.renewed(ref, *now)
        return None

    async def _found_focus(self) -> Element | None:
        async with self._surveyor.look() as look:
            program = await look.active()
        if program is None:
            return None
        await self._reader.grow(program)
        holders = [pair for pair in program.walk() if pair[0].has("active") and pair[1].has("focused")]
        if not holders:
            return None
        window, node = _closest(holders)
        await self._reader.fill([(program, node)], self._stack())
        # Remember it, because a program that had the focus before Wisp listened reports it no more.
        self._feed.focus[node.key[0]] = node.key
        return self._refs.element(program, window, node)

    async def has_keyboard(self, ref: str, judged: tuple[str, str] | None = None) -> bool:
        seen = self._refs.last_seen(ref)
        # Another look may have read the element since it was judged.
        if seen is None or (judged and seen.element.name != judged[1]):
            return False
        node, window = Node(seen.key), Node(seen.window)
        asked = ((objects.state, node), (objects.role, node), (objects.name, node), (objects.state, window))
        try:
            await asyncio.gather(*(ask(self._bus, one) for ask, one in asked))
        except CallRefused:  # because the object is gone
            return False
        is_same = not judged or not node.name.strip() or (seen.label or node.name) == judged[1]
        is_same = is_same and node.role == (judged[0] if judged else seen.element.role)
        return is_same and node.shows and node.has("focused") and window.has("active")

    async def scene(self, request: SceneRequest) -> Scene:
        stack = self._stack()
        read = partial(self._reader.read, stack=stack) if request.point else self._reader.grow
        async with self._surveyor.look(request.pid, request.patience_s) as look:
            programs = await look.programs(read)
        for program in programs:
            if (pair := _pair_of(program, request, stack)) is not None:
                window, node = pair
                element = None
                if node is not None:
                    await self._reader.fill([(program, node)], stack)
                    element = self._refs.element(program, window, node)
                return scene_of(program, window, element)
        is_open = [program for program in programs if request.pid and program.pid == request.pid]
        return Scene(has_answered=not any(program.is_silent or program.is_cut for program in is_open))

    async def outline(self, request: OutlineRequest) -> Outline:
        if request.view is OutlineView.FIND:
            matches = await self._found(request.query, "", _MOST_MATCHES, with_unplaced=True)
            far: OutOfSight | SeveralOutOfSight | None = None
            if not any(match.score >= GOOD for match in matches):
                try:
                    far = await self.beyond(request.query)
                except SeveralOutOfSight as several:
                    far = several
            return self._outliner.found(matches, far, request, await self.silent())
        stack = self._stack()

        async def read(program: Program) -> None:
            if _is_asked_for(program, request.window):
                await self._reader.grow_patiently(program)
                await self._reader.read(program, stack)

        async with self._surveyor.look() as look:
            programs = await look.programs(read)
        wanted = [program for program in programs if program.is_read]
        is_whole = request.view is OutlineView.PAGE
        beyond = [node for each in wanted for _, node in await self._reader.out_of_sight(each)] if is_whole else []
        unseen = 0 if is_whole else sum(unseen_in(program) for program in wanted)
        return self._outliner.told(wanted, self._refs, stack, request, beyond, unseen)

    async def element(self, ref: str) -> Element:
        return (await self._live(ref))[1]

    async def obstacle(self, ref: str, point: Point) -> str:
        seen = self._refs.last_seen(ref)
        if seen is None:
            return ""
        return await scenes.obstacle(self._bus, seen, point, self._stack().popups(seen.element.pid))

    async def press(self, ref: str) -> str:
        key, element = await self._live(ref)
        if not element.is_("sensitive"):
            raise ToolFailed(element.greyed())
        return await acting.press(self._bus, key, element)

    async def set_value(self, ref: str, text: str) -> None:
        key, element = await self._live(ref)
        await acting.set_value(self._bus, key, element, text)

    async def text_of(self, ref: str) -> str:
        key, element = await self._live(ref)
        return await acting.whole_text(self._bus, key, element)

    async def selection(self, ref: str, wanted: tuple[int, int] | None = None) -> tuple[int, str] | None:
        return await text_editing.selection(self._bus, *await self._live(ref), wanted)

    async def caret(self, ref: str) -> int | None:
        return await text_editing.caret(self._bus, (await self._live(ref))[0])

    async def editing(self, ref: str) -> Editing:
        return await text_editing.editing(self._bus, (await self._live(ref))[0])

    async def replace_text(self, ref: str, start: int, old: str, new: str) -> bool:
        key, element = await self._live(ref)
        is_open = element.is_("editable") and not element.is_("read-only") and element.role != spi.SECRET
        return is_open and await text_editing.replace_text(self._bus, key, start, old, new)

    async def follow(self, pid: int) -> FollowedChanges:
        try:
            async with asyncio.timeout(_FOLLOW_LIMIT_S):
                await self._feed.listen()
                known = frozenset(self._surveyor.names_of(pid))
                programs = known or await self._surveyor.of_process(pid)
        except (TimeoutError, ToolFailed, CallRefused):  # because the screen alone can also show the effect
            return NoChanges()
        return self._feed.follow(programs) if programs else NoChanges()

    def acted(self) -> None:
        self._feed.acted()

    async def held(self, window: Window, among: frozenset[Key] = frozenset()) -> tuple[Element, ...]:
        try:
            limit = asyncio.get_running_loop().time() + _HELD_LIMIT_S
            while await self._surveyor.of_process(window.pid):
                stack = self._stack()
                async with self._surveyor.look(window.pid) as look:
                    programs = await look.programs(partial(self._reader.read, stack=stack))
                others = [one.title for one in self._windows() if one.pid == window.pid and one.ref != window.ref]
                found = held_by(window, programs, self._refs, among, () if window.is_popup else others)
                if found or among or asyncio.get_running_loop().time() > limit:
                    return found
                await asyncio.sleep(_LOOK_AGAIN_S)
        except ToolFailed:  # because a picture can also show what is in it
            pass
        return ()

    async def answered(self, pid: int, limit_s: float) -> bool | None:
        """Wait until a program has handled its input so far, as far as its main loop tells.

        Returns False after the limit, None if the program is not on the bus.
        """
        try:
            async with asyncio.timeout(limit_s):
                names = self._surveyor.names_of(pid) or await self._surveyor.of_process(pid)
                answers = [await objects.all_of(self._bus, objects.root_state, names) for _ in range(2)]
        except TimeoutError:
            return False
        except ToolFailed:  # because without the bus nobody knows
            return None
        return True if any(answers[-1]) else None

    def is_dialog(self, pid: int, title: str) -> bool:
        """True if a window of this title was read as a dialog of this process."""
        return (pid, title) in self._dialogs

    async def silent(self) -> tuple[str, ...]:
        return tuple(self._surveyor.silent.values())

    async def close(self) -> None:
        await self._bus.close()

    def _stack(self) -> Stack:
        return Stack(self._windows(), self._monitors())

    def _own(self) -> set[int]:
        return {os.getpid(), *(window.pid for window in self._windows() if window.is_own)}

    def _is_private(self, program: Program, window: Node) -> bool:
        """Judged by the window's reported title or its system window."""
        if self._private.hides(title=window.name, app=program.name, pid=program.pid):
            return True
        own = [known for known in self._windows() if program.pid and known.pid == program.pid]
        return any(self._private.hides(title="", app=known.app) for known in own)

    async def _in_sight(self, ref: str, score: float) -> Match | None:
        """Wait until the element of a ref is visible, and return it; None if it takes too long. Scrolls nothing."""
        limit = asyncio.get_running_loop().time() + _SCROLL_LIMIT_S
        seen = self._refs.last_seen(ref)
        assert seen is not None
        while (now := await self._reader.again(seen, self._stack())) is None:
            if asyncio.get_running_loop().time() > limit:
                return None
            await asyncio.sleep(_LOOK_AGAIN_S)
        return Match(self._refs.renewed(ref, *now), score)

    async def _live(self, ref: str) -> tuple[Key, Element]:
        """Read an object again. Raises ToolMisuse for an unknown ref, NoLongerInSight if it is gone."""
        seen = self._refs.last_seen(ref)
        if seen is None:
            raise ToolMisuse(f"There is no element {ref!r}. Refs come from read_screen; read the screen again.")
        now = await self._reader.again(seen, self._stack())
        if now is None:
            raise await self._gone(seen.element)
        return now[0].key, self._refs.renewed(ref, *now)

    async def _gone(self, before: Element) -> NoLongerInSight:
        near = await self.find(before.name or before.role, limit=3)
        nearest = ", ".join(_named(match.element) for match in near)
        hint = f"Nearest now: {nearest}." if near else "Read the screen again."
        what = Phrase("{thing} is no longer on the screen.", {"thing": before.called(_NAME_CHARACTERS)})
        return NoLongerInSight(what, hint, before.name)

    def _match(self, candidate: _Candidate, stack: Stack) -> Match:
        program, window, node = candidate.program, candidate.window, candidate.node
        is_covered = stack.hides(program, window, node)
        element = self._refs.element(program, window, node, is_covered=is_covered)
        return Match(element, candidate.score * (_COVERED if is_covered else 1.0))


def _pair_of(program: Program, request: SceneRequest, stack: Stack) -> tuple[Node, Node | None] | None:
    """The requested window and node, found by point or keyboard focus; None if not found."""
    if request.point is not None:
        return _innermost(program, request.point, stack)
    active = next((window for window in program.windows if window.has("active")), None)
    is_menu, marked = marked_item(program)
    if is_menu:
        holder = active or next(iter(program.windows))
        return marked or (holder, None)
    if active is None:
        return None
    holders = [(active, node) for node in active.walk() if node.has("focused")]
    return _closest(holders) if holders else (active, None)


def _scored(programs: Sequence[Program], ways: Sequence[Description], roles: frozenset[str]) -> list[_Candidate]:
    """Return the nodes that match a reading of the description (`ways`) and have one of `roles` (empty: any role)."""
    found: list[_Candidate] = []
    for program in programs:
        share = 1.0 if program.is_active else _ELSEWHERE
        for window, node in program.walk():
            if (not roles or node.role in roles) and (fit := matching.score(node, ways)):
                found.append(_Candidate(fit * share, program, window, node))
    return found


def _is_asked_for(program: Program, wanted: str) -> bool:
    """Keep only the windows of that title (all, if the program has that name). Returns whether any is left."""
    name = normal(wanted)
    if name and name not in normal(program.name):
        program.windows = [window for window in program.windows if name in normal(window.name)]
    return bool(program.windows) or (program.is_silent and name in normal(program.name))


def _innermost(program: Program, point: Point, stack: Stack) -> tuple[Node, Node] | None:
    under = [
        (window, node, node.box.size.area)
        for window, node in program.walk()
        if node.box and node.box.contains(point) and not stack.hides_at(point, program, window, node)
    ]
    if not under:
        return None
    # Take the last of equals, because a later sibling is drawn over an earlier one.
    window, node, _ = min(reversed(under), key=lambda found: found[2])
    return window, node


def _closest(holders: Sequence[tuple[Node, Node]]) -> tuple[Node, Node]:
    """The node that receives keys, if several report the focus. Qt's current tab always reports it."""
    return max(enumerate(holders), key=lambda held: _closeness(*held))[1]


def _closeness(place: int, holder: tuple[Node, Node]) -> tuple[bool, bool, int, int]:
    """A sort key, greatest for the node that receives keys: a field ranks above the document around it."""
    node = holder[1]
    is_field = node.role in spi.TEXTS or node.role == spi.SECRET
    return node.has("editable"), is_field, sum(1 for _ in node.ancestors()), place


def _has_area(node: Node) -> bool:
    return node.box is not None and node.box.size.area > 0


def _named(element: Element) -> str:
    return f"{element.ref} {element.role} {clip_line(element.name, _NAME_CHARACTERS)!r}"


def _without_echoes(found: Sequence[_Candidate]) -> list[_Candidate]:
    """Return the matches, best first, without texts that only repeat a control (its label or a text in it).

    Of a list with a field in it that has the same name, the field comes first.
    """
    kept, nodes, names = list[_Candidate](), set[int](), set[tuple[int, str]]()
    for match in sorted(found, key=lambda match: (-match.score, not match.node.has("editable"))):
        node, name = match.node, (id(match.window), normal(match.node.called))
        is_inside = any(id(above) in nodes and above.is_operable for above in node.ancestors())
        if is_inside or (name in names and not node.is_operable):
            continue
        kept.append(match)
        nodes.add(id(node))
        if node.is_operable:
            names.add(name)
    return kept
