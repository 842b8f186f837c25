"""Find the installed program that a person means. A weak match starts nothing, but is offered as a suggestion."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from app.base import resources
from app.base.clock import Clock
from app.base.errors import ToolFailed
from app.base.phrases import Phrase
from app.base.values import dataclass
from app.desktop.backends import App, Backend, Launched, Owner, Window
from app.desktop.takeover import StopFlag

_SURE = 88
_PROBABLE = 70
_CLEAR_LEAD = 4
_SUGGESTIONS = 4
_LOWEST_LIKENESS = 45
_OWN_NAME = "wisp"
_SETTINGS = frozenset({"Settings", "DesktopSettings"})
_FILLERS = re.compile(r"^(?:the|my|a|an)\s+|\s+(?:app|application|program|programme|window|please)$")


Command = Callable[[str], App | None]
Preferred = Callable[[str], Sequence[str]]


def _no_command(_name: str) -> App | None:
    return None


def _no_preference(_asked: str) -> Sequence[str]:
    return ()


@dataclass(frozen=True, slots=True)
class _Alias:
    """The names that people use for a kind of program, and the categories that identify such a program.

    `default` is what the person's default program is asked for: a file type, a URL scheme, or a command.
    """

    words: frozenset[str]
    categories: frozenset[str]
    first: tuple[str, ...]
    default: str = ""


def choose(
    name: str, apps: Sequence[App], command: Command = _no_command, preferred: Preferred = _no_preference
) -> App:
    """Return the one program that is meant. Raises ToolFailed with the nearest names if it is not clear.

    `command` finds programs that are in no menu, `preferred` finds the person's default programs. Wisp never chooses
    itself: it already runs, and starting it again would open its window, which only the person does.
    """
    found = _chosen(name, apps, command, preferred)
    if _OWN_NAME in (found.name.lower(), stem(found), *found.words):
        raise ToolFailed("That is Wisp itself, which runs already.", "Only the person opens its window.")
    return found


class NoProgram(ToolFailed):
    """Raised where no installed program is called so."""


def _chosen(name: str, apps: Sequence[App], command: Command, preferred: Preferred) -> App:
    wanted = _plain(name)
    if not wanted:
        raise ToolFailed(Phrase("Which program? {near}", {"near": _offer(apps)}))
    called, of_sort = _called(wanted, apps), _sort_of(wanted, apps)
    own = _own_choice(wanted, of_sort, preferred) if not called or called[0] in of_sort else []
    for candidates in (own, called, of_sort, _known_as(wanted, apps)):
        if candidates:
            return candidates[0]
    if bare := command(name.strip()):
        return bare
    likely = _like(wanted, apps)
    if likely and likely[0][1] >= _SURE and (len(likely) == 1 or likely[0][1] - likely[1][1] >= _CLEAR_LEAD):
        return likely[0][0]
    near = _suggested(likely) or _offer(apps)
    raise NoProgram(Phrase("No program called {name!r} is installed. {near}", {"name": name, "near": near}))


def owner_of(app: App, called: str = "") -> Owner:
    """`called` is what a person called the program."""
    ref = app.ref.rsplit("/", 1)[-1].removesuffix(".desktop")
    names = tuple(dict.fromkeys(name for name in (*app.names, app.name.lower(), called.lower()) if name))
    labels = tuple(dict.fromkeys((ref.lower(), *app.labels)))
    return Owner(ref, app.name, names, app.categories, labels, icon=app.icon)


def is_terminal(app: str) -> bool:
    """True for a terminal, where ctrl+v does not paste."""
    return app.lower() in _terminals()


def _plain(name: str) -> str:
    text = " ".join(re.sub(r"[\s_]+", " ", name.strip().lower()).split())
    while (shorter := _FILLERS.sub("", text)) != text and shorter:
        text = shorter
    return text


def _called(wanted: str, apps: Iterable[App]) -> list[App]:
    return sorted((app for app in apps if wanted in (app.name.lower(), stem(app))), key=lambda app: app.ref)


def stem(app: App) -> str:
    """The last part of the desktop entry's name, such as `calculator`."""
    last = app.ref.rsplit("/", 1)[-1].removesuffix(".desktop")
    return last.rsplit(".", 1)[-1].lower()


def _alias_of(wanted: str) -> _Alias | None:
    return next((alias for alias in _aliases() if wanted in alias.words), None)


def _own_choice(wanted: str, of_sort: Sequence[App], preferred: Preferred) -> list[App]:
    """Empty if the person chose none. `of_sort` are all programs of that kind."""
    alias = _alias_of(wanted)
    names = preferred(alias.default) if alias and alias.default and of_sort else ()
    for name in (name.lower() for name in names):
        entries = [app for app in of_sort if app.ref.rsplit("/", 1)[-1].lower() == name or stem(app) == name]
        if found := entries or [app for app in of_sort if name in app.words]:
            return found
    return []


def _sort_of(wanted: str, apps: Sequence[App]) -> list[App]:
    """Return the programs of a kind ("browser"), the likeliest first; empty if `wanted` is no such word.

    Programs come before entries for single tools of them. Their settings windows are left out.
    """
    alias = _alias_of(wanted)
    if alias is None:
        return []
    found: list[tuple[tuple[bool, int, int, str], App]] = []
    for app in apps:
        # Check the program's name too, because some entries, such as Caja's, lack the category of their kind.
        rank, is_told = _rank(app, alias.first), not alias.categories.isdisjoint(app.categories)
        if is_told or (rank < len(alias.first) and _SETTINGS.isdisjoint(app.categories)):
            is_tool = bool(app.options) and not is_told
            found.append(((is_tool, rank, len(app.options), app.name.lower()), app))
    return [app for _order, app in sorted(found, key=lambda pair: pair[0])]


def _rank(app: App, first: tuple[str, ...]) -> int:
    names = (stem(app), *app.words)
    return next((rank for rank, name in enumerate(first) if name in names), len(first))


def _known_as(wanted: str, apps: Iterable[App]) -> list[App]:
    found = [app for app in apps if wanted in app.words]
    return found if len(found) == 1 else []


def names_of(apps: Iterable[App]) -> tuple[str, ...]:
    """In lower case. Words for what programs do are no names."""
    return tuple(dict.fromkeys(name for app in apps for name in (app.name.lower(), stem(app), *app.names)))


def begun_with(words: Sequence[str], apps: Sequence[App], most: int) -> list[App]:
    """Programs in menus with names or other names that begin with all words, the likeliest first.

    The words are in lower case. These are what a person may mean who is still typing.
    """
    found: list[tuple[int, str, App]] = []
    whole = " ".join(words)
    kinds = [word for alias in _aliases() for word in alias.words if word.startswith(whole)]
    of_kind = {app.ref for word in kinds for app in _sort_of(word, apps)[:1]}
    for app in apps:
        name = app.name.lower()
        if not app.is_offered or not app.is_listed or _OWN_NAME in (name, stem(app)):
            continue
        parts = [*name.replace("-", " ").split(), stem(app)]
        others = [part for word in app.words for part in word.split()]
        if name.startswith(whole):
            found.append((0, name, app))
        elif app.ref in of_kind or all(any(part.startswith(word) for part in parts) for word in words):
            found.append((1, name, app))
        elif all(any(part.startswith(word) for part in (*parts, *others)) for word in words):
            found.append((2, name, app))
    return [app for _rank, _name, app in sorted(found, key=lambda row: row[:2])[:most]]


def _like(wanted: str, apps: Iterable[App]) -> list[tuple[App, float]]:
    from rapidfuzz import fuzz

    scored = [(app, max(fuzz.ratio(wanted, n) for n in (app.name.lower(), stem(app), *app.words))) for app in apps]
    return sorted(((a, s) for a, s in scored if s >= _LOWEST_LIKENESS), key=lambda pair: (-pair[1], pair[0].name))


def _suggested(likely: Iterable[tuple[App, float]]) -> Phrase | None:
    """Suggests the probable program, or the nearest ones; None if none is near."""
    offered = [(app, score) for app, score in likely if app.is_offered]
    if not offered:
        return None
    best, likeness = offered[0]
    second = next((score for app, score in offered if app.name != best.name), 0)
    if likeness >= _PROBABLE and likeness - second >= _CLEAR_LEAD:
        return Phrase("Did you mean {name}?", {"name": best.name})
    names = dict.fromkeys(app.name for app, _score in offered)
    return Phrase("The nearest are: {names}.", {"names": ", ".join(list(names)[:_SUGGESTIONS])})


def _offer(apps: Sequence[App]) -> Phrase:
    names = sorted({app.name for app in apps if app.is_offered})[: _SUGGESTIONS * 3]
    if not names:
        return Phrase("No programs with a desktop entry are installed.")
    return Phrase("Installed are: {names}.", {"names": ", ".join(names)})


def _aliases() -> tuple[_Alias, ...]:
    return tuple(resources.table("desktop/programs.toml", dict[str, _Alias]).values())


def _terminals() -> frozenset[str]:
    return resources.words("desktop/terminals.txt")


_WINDOW_LIMIT_S = 10.0
_HANDED_OVER_S = 3.0
"""A program that already runs shows a new file within this time, or where Wisp cannot notice it."""
_OWN_FOCUS_S = 1.0
_READY_LIMIT_S = 3.0
_LOOK_AGAIN_S = 0.1


@dataclass(frozen=True, slots=True)
class Opened:
    """A program or file that was opened. `is_new` is False if a program that already ran shows it.

    `window` is None if an address was handed over and no window shows that it arrived. `dialog` is a dialog of the
    program that stands in front of `window` and keeps the keyboard from it.
    """

    name: str
    window: Window | None
    is_new: bool
    dialog: Window | None = None


class Opener:
    """Starts programs and waits for their windows, never for a guessed time."""

    def __init__(self, backend: Backend, stop: StopFlag, clock: Clock) -> None:
        self._backend = backend
        self._stop = stop
        self._clock = clock
        self._promised: Window | None = None
        self._made: set[tuple[str, int]] = set()
        """The windows that came up for what was opened here: ref and process."""

    def made_among(self, windows: Iterable[Window]) -> set[str]:
        """Return the refs of those of the open windows that came up for what was opened here.

        The server gives a closed window's number to another program's, so the process must be the same.
        """
        return {window.ref for window in windows if (window.ref, window.pid) in self._made}

    def acted(self) -> None:
        """Note that something was done since a window was opened. `strayed` then reports nothing."""
        self._promised = None

    def strayed(self) -> tuple[Window, Window] | None:
        """Return the window just opened and the other window that has the keyboard instead; None if there is none.

        Input for the first would go to the second: a dialog that came up late, or another program's window. It is
        reported once; a further action is then meant for the second window.
        """
        opened, windows, self._promised = self._promised, self._backend.windows.all(), None
        front = next((window for window in windows if window.is_active), None)
        if opened is None or front is None or front.ref == opened.ref:
            return None
        is_replaced = all(window.ref != opened.ref for window in windows)  # as a program's splash screen is
        return None if is_replaced or (_is_of_one_program(front, opened) and not front.is_dialog) else (opened, front)

    async def open(self, name: str) -> Opened:
        """Start a program and return its window, which has the keyboard.

        Raises ToolFailed if there is no such program, or if it shows no window.
        """
        apps = self._backend.apps
        app = choose(name, apps.installed(), apps.command, apps.preferred)
        self._stop.check()
        before = self._backend.windows.all()
        launched = self._backend.apps.launch(app)
        names = frozenset({app.name.casefold(), stem(app), *map(_file_name, apps.command_line(app)[:1])})
        found = await self._window_of(launched, before, names=names)
        if found is None:
            raise ToolFailed(
                f"{launched.name} was started, but no window of it appeared within {_WINDOW_LIMIT_S:g} seconds."
            )
        return await self._ready(launched, *found)

    async def open_address(self, address: str) -> Opened:
        """Open a file or URL in its program: in a new window, or in one that is already open."""
        self._stop.check()
        before = self._backend.windows.all()
        launched = self._backend.apps.open(address)
        found = await self._window_of(launched, before, is_address=True)
        return await self._ready(launched, *found) if found else Opened(launched.name, None, is_new=False)

    async def _ready(self, launched: Launched, window: Window, is_new: bool) -> Opened:  # noqa: FBT001 - a found pair
        ready, dialog = await self._with_keyboard(window, is_new)
        await self._backend.windows.answers((dialog or ready).ref, _READY_LIMIT_S)
        self._promised = None if dialog else ready
        self._made |= {(ready.ref, ready.pid)} if is_new else set()
        return Opened(launched.name, ready, is_new, dialog)

    async def _window_of(
        self,
        launched: Launched,
        before: tuple[Window, ...],
        *,
        is_address: bool = False,
        names: frozenset[str] = frozenset(),
    ) -> tuple[Window, bool] | None:
        """Return the window and whether it is new; None if none appeared. `names` are those of the program's windows.

        Raises ToolFailed if the program ended with an error.
        """
        titles = {window.ref: window.title for window in before}
        was_active = next((window.ref for window in before if window.is_active), "")
        limit = self._clock.now() + _WINDOW_LIMIT_S
        while True:
            self._stop.check()
            windows = self._backend.windows.all()
            if new := [window for window in windows if window.ref not in titles]:
                return _most_likely(new, launched), True
            ended = self._backend.apps.how_it_ended(launched)
            raised = next((w for w in windows if w.is_active and w.ref != was_active), None)
            if ended == "" and raised is not None:
                return raised, False
            own = [window for window in windows if window.app.casefold() in names]
            renamed = next((w for w in (windows if is_address else own) if w.title != titles[w.ref]), None)
            if ended == "" and renamed is not None:
                return renamed, False
            if ended == "" and (is_address or any(window.is_dialog for window in own)):
                limit = min(limit, self._clock.now() + _HANDED_OVER_S)
            if ended:
                raise ToolFailed(f"{launched.name} ended at once ({ended}).")
            if self._clock.now() >= limit:
                return (own[0], False) if own and ended == "" else None
            await self._backend.windows.changed(_LOOK_AGAIN_S)

    async def _with_keyboard(self, window: Window, is_new: bool) -> tuple[Window, Window | None]:  # noqa: FBT001
        """Wait until the window manager gives the window the keyboard. If it does not, focus the window.

        Returns the window, and the dialog of its program that has the keyboard instead (None if there is none).
        """
        limit = self._clock.now() + _OWN_FOCUS_S
        while self._clock.now() < limit:
            self._stop.check()
            windows = self._backend.windows.all()
            now = next((w for w in windows if w.ref == window.ref), None)
            dialog = None if is_new else dialog_before(window, windows)
            if dialog or (now is not None and now.is_active):
                return now or window, dialog
            await self._backend.windows.changed(_LOOK_AGAIN_S)
        try:
            return await self._backend.windows.focus(window.ref), None
        except ToolFailed:
            if dialog := dialog_before(window, self._backend.windows.all()):
                return window, dialog
            raise


def dialog_before(window: Window, windows: Sequence[Window]) -> Window | None:
    """Return the dialog that has the keyboard in front of another window of the same program; None if there is none.

    If the program has only dialogs, the dialog counts as the program's window.
    """
    front = next((one for one in windows if one.is_active and one.is_dialog and _is_of_one_program(one, window)), None)
    others = (one for one in windows if not one.is_dialog and _is_of_one_program(one, window))
    return front if front and next(others, None) else None


def _is_of_one_program(one: Window, other: Window) -> bool:
    return one.pid == other.pid if one.pid and other.pid else one.app == other.app


def _file_name(path: str) -> str:
    return path.rpartition("/")[2].casefold()


def _most_likely(new: list[Window], launched: Launched) -> Window:
    """The new window of the started program, or else the topmost new one."""
    own = [window for window in new if launched.pid and window.pid == launched.pid]
    return (own or new)[0]


class HandedOverApps:
    """Programs that the system starts for Wisp: their processes belong to it, so Wisp knows little of them."""

    def command(self, name: str) -> App | None:  # noqa: ARG002
        return None

    def preferred(self, asked: str) -> tuple[str, ...]:  # noqa: ARG002
        return ()

    def owner(self, pid: int, window_class: str) -> Owner:  # noqa: ARG002
        name = window_class.lower()
        return Owner(name, window_class, (name,), (), (name,), is_terminal(window_class)) if name else Owner()

    def command_line(self, app: App) -> tuple[str, ...]:
        return (app.ref,)

    def how_it_ended(self, launched: Launched) -> str | None:  # noqa: ARG002
        return None
