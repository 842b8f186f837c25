"""`wisp` alone: the presence on the current display. The orb is painted before anything heavy is imported.

Other presences live beside the first one, each with a name, a manner, looks and folders of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app import options as shared
from app.base import paths
from app.base.errors import KeyRefused, NeedsPerson, WispError
from app.base.phrases import Phrase
from app.options import dead_display, is_at_hand, say_that_a_display_is_missing
from app.settings import catalog, store
from app.settings.catalog import PROVIDER
from app.settings.store import Settings
from app.ui.machine import (
    Ask,
    Collection,
    CollectionEntry,
    ListPage,
    MachineFinding,
    ModelServer,
    PresenceEntry,
    Trial,
    hear_no_key,
)

if TYPE_CHECKING:
    from app.agent.agent_events import ApprovalWanted
    from app.agent.gate import ApprovalAnswer
    from app.assistant import Assistant
    from app.desktop.backends import App
    from app.ui.presence import Presence

_NAME_CHARS = 40
_RUNNING = "presence.lock"
_AVATARS = 12
"""So many words are tried for the colours of a new presence's orb."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    shared.add_model_options(parser)
    what = parser.add_subparsers(dest="what", metavar="WHAT")
    what.add_parser("list", help="list all Wisps that you have made, and which of them are open")
    begun = what.add_parser("start", help="open one of them; without a name the first one")
    begun.add_argument("name", nargs="?", default="")
    shared.add_model_options(begun)
    made = what.add_parser("create", help="make another Wisp with a name, looks and memory of its own")
    made.add_argument("name", help="its name, up to 40 characters")
    made.add_argument("--personality", metavar="WORDS", help="how it speaks, such as “short and dry”")
    made.add_argument("--theme", type=shared.look, default={}, metavar="NAME", help=shared.LOOK)
    made.add_argument("--voice", metavar="NAME", help="speak aloud in this voice; `wisp presence voices` lists them")
    made.add_argument("--avatar", metavar="WORD", help="make the colours of its orb from this word")
    what.add_parser("toggle", help="open Wisp's bubble, or close it; you can let a key of your desktop run this")
    what.add_parser("voices", help="list the voices that can speak here")
    gone = what.add_parser("delete", help="delete one for good, with its conversations, memory and files")
    gone.add_argument("name")
    shared.add_yes_option(gone)


def run(options: argparse.Namespace) -> int:
    match options.what:
        case "list":
            return _list()
        case "toggle":
            return _toggle()
        case "voices":
            return _list_voices()
        case "create":
            return _create(options)
        case "delete":
            return _delete(options)
        case "start":
            os.environ[paths.PRESENCE] = paths.known_presence(options.name) if options.name else ""
    return start(options)


def _list() -> int:
    for own, name in store.names().items():
        start = f"wisp presence start {own}" if own else "wisp"
        shown = "runs" if is_running(paths.runtime_dir(own)) else ""
        settings = store.load(of=own)
        look = f"{settings[catalog.THEME]} {settings[catalog.SCHEME]}"
        print(f"{name:<{_NAME_CHARS}} {look:<24} {shown:<4} {start}")
    return 0


def _toggle() -> int:
    """Do what the summon key does, in the presence that runs here. It loads no Qt, because a person waits for it."""
    import socket

    if not hasattr(socket, "AF_UNIX"):
        raise NeedsPerson("On this system Wisp hears its summon key itself, so this command is not needed.")
    try:
        with socket.socket(socket.AF_UNIX) as call:
            call.connect(str(paths.display_socket("presence")))
            call.sendall(b"toggle")
    except OSError:
        shared.warn("Wisp is not open on this display. To open it: wisp")
        return 1
    return 0


def _list_voices() -> int:
    print(*_voices(), sep="\n")
    return 0


def _voices() -> list[str]:
    from PySide6.QtCore import QCoreApplication

    from app.ui.system.speech import QtEngine

    application = QCoreApplication.instance() or QCoreApplication([])  # an engine needs one while it lives
    try:
        return QtEngine().voices()
    except ValueError as error:
        raise NeedsPerson(str(error)) from error
    finally:
        del application


class PresenceSwitch:
    """The presences in the menu of the orb."""

    def entries(self) -> Sequence[PresenceEntry]:
        return [PresenceEntry(one, name, one == paths.presence()) for one, name in store.names().items()]

    def show(self, presence: str, /) -> None:
        from app.base.startup import start_wisp

        # One that runs already is opened by this, and the new process ends.
        start_wisp("presence", "start", *([presence] if presence else []))


def _create(options: argparse.Namespace) -> int:
    own = paths.id_of(options.name)
    if own in paths.presences():
        raise NeedsPerson(
            f"There is a Wisp {own!r} already. Choose another name, or delete that one: wisp presence delete {own}"
        )
    try:
        store.check_name(options.name, own)
    except ValueError as error:
        raise NeedsPerson(str(error)) from error
    if options.voice and options.voice.strip().casefold() not in (voice.casefold() for voice in _voices()):
        raise NeedsPerson(f"There is no voice {options.voice!r} here. To list the voices: wisp presence voices")
    chosen = (
        (catalog.NAME, options.name),
        (catalog.PERSONALITY, options.personality),
        *options.theme.items(),
        (catalog.VOICE, options.voice),
        (catalog.SPEAK, True if options.voice else None),
        (catalog.AVATAR, options.avatar or _avatar(own, options.theme.get(catalog.THEME, catalog.THEME.default))),
        # The key can open one of them only; the stop key stops all.
        (catalog.SUMMON_KEY, ""),
    )
    os.environ[paths.PRESENCE] = own
    for setting, value in chosen:
        if value not in (None, setting.default):
            store.save(setting, value)
    shared.say("{name} is ready. To open it: wisp presence start {id}", name=options.name, id=own)
    return 0


def _avatar(own: str, theme: str) -> str:
    """Return the id, or the id with a number: the word that gives the orb the hue farthest from those of the others."""
    others = [store.load(of=one) for one in store.names()]
    taken = [_hue(one[catalog.THEME], one[catalog.AVATAR]) for one in others]

    def room(word: str) -> float:
        gaps = [abs(_hue(theme, word) - hue) for hue in taken]
        return min(min(gap, 1 - gap) for gap in gaps)

    return max((own, *(f"{own} {number}" for number in range(2, _AVATARS))), key=room)


def _hue(theme: str, avatar: str) -> float:
    """The hue of a resting orb's body, from 0 to 1."""
    import colorsys

    from app.settings import tokens
    from app.ui.theme.theme import load

    _, body, _ = load(tokens.shown_scheme(), kind=theme, avatar=avatar).orb("idle")
    return colorsys.rgb_to_hls(*(channel / 255 for channel in body[:3]))[0]


def _delete(options: argparse.Namespace) -> int:
    own = paths.known_presence(options.name)
    name = store.load(of=own)[catalog.NAME]
    if options.name.casefold() not in (own, name.casefold()):  # what only resembles a name deletes nothing
        raise NeedsPerson(f"There is no Wisp {options.name!r}. Did you mean: wisp presence delete {own}")
    runtime = paths.runtime_dir(own)
    if is_running(runtime):
        raise NeedsPerson(f"{options.name} is open. Quit it in the menu of its orb, then delete it.")
    if not shared.is_agreed(
        "Delete {name} with its conversations, memory and files for good?", options, name=options.name
    ):
        return 1
    # The runtime folder first, because Windows refuses to delete it while the presence runs: then nothing is lost.
    for folder in (runtime, *paths.presences()[own]):
        shutil.rmtree(folder)
    shared.say("{name} was deleted.", name=options.name)
    return 0


def _hold() -> int:
    """Mark this presence as running until the process ends. Several may hold the mark, on several displays."""
    held = os.open(paths.runtime_dir() / _RUNNING, os.O_RDWR | os.O_CREAT, 0o600)
    if sys.platform != "win32":
        import fcntl

        fcntl.flock(held, fcntl.LOCK_SH)
    return held


def is_running(folder: Path) -> bool:
    """True if a process holds this runtime folder. Always False on Windows, which deletes no file in use."""
    held = os.open(folder / _RUNNING, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if sys.platform != "win32":
            import fcntl

            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # because the presence that runs holds it
        return True
    finally:
        os.close(held)
    return False


def start(options: argparse.Namespace, *, welcome: bool = False) -> int:
    """Run the presence until it is quit. At a first start without a chosen provider, show the welcome first."""
    if not is_at_hand() or dead_display():
        return say_that_a_display_is_missing()
    from app.ui.system import autostart

    settings = shared.settings_of(options)
    _hold()
    is_new = autostart.is_due() and not settings[PROVIDER]
    return _show(settings, lambda: shared.settings_of(options), welcome=welcome or is_new)


_EXTENSION = Phrase(
    "On GNOME I can click, move windows and hear my keys only with a small extension. Run “wisp extension” once in a "
    "terminal, then log out and in."
)


def _lacks_extension() -> bool:
    """True if this is GNOME, and Wisp's extension of it is not there."""
    if not os.environ.get("WAYLAND_DISPLAY"):
        return False
    from app.desktop.wayland import gnome
    from app.desktop.wayland.bus import SessionBus

    try:
        with contextlib.closing(SessionBus(os.environ)) as bus:
            return gnome.is_shell_here(bus) and not gnome.is_here(bus)
    except WispError:
        return False


async def _tell_what_goes_on(settings: Settings, connected: list[Assistant], presence: Presence) -> None:
    from app.services.files.workspace import why_moved

    if moved := why_moved(settings):
        presence.tell("info", moved)
    for sentence in await connected[0].from_before() if connected else ():
        presence.tell("info", sentence)


class _Later:
    """A collection whose module is imported only when the collection is first used."""

    def __init__(self, make: Callable[[], Collection]) -> None:
        self._make = make
        self._made: Collection | None = None

    async def entries(self, search: str) -> Sequence[CollectionEntry]:
        return await (await self._opened()).entries(search)

    async def act(self, action: str, key: str, words: str = "", /) -> str:
        return await (await self._opened()).act(action, key, words)

    async def _opened(self) -> Collection:
        if self._made is None:
            import asyncio

            self._made = await asyncio.to_thread(self._make)
        return self._made


def _extras(_ask: Ask) -> Collection:
    from app.features.extras import ExtraParts

    return ExtraParts()


_EXTRAS = ListPage("extras", Phrase("Extras"), Phrase("Search extras"), _extras)


def _pages() -> list[ListPage]:
    """Those of all features, in the order of the menu, and that of the extras."""
    from app.features import loading

    declared = [page for _, pages in loading.each(lambda feature: tuple(feature.collections())) for page in pages]
    return [*sorted(declared, key=lambda page: page.rank), _EXTRAS]


def _collections(
    pages: Sequence[ListPage], settings: Callable[[], Settings], connected: Sequence[Assistant]
) -> dict[str, Collection]:
    """The lists of the pages by name, and the finder. Each is made when it is first used."""

    def workspace() -> Path:
        from app.services.files.workspace import workspace_of

        return workspace_of(settings())

    ask = Ask(workspace, lambda kind: connected[-1].offered(kind) if connected else None)
    makes: dict[str, Callable[[], Collection]] = {page.name: partial(page.make, ask) for page in pages}
    return {name: _Later(make) for name, make in {**makes, "finder": Finder}.items()}


_NO_ASSISTANT = Phrase("Wisp cannot ask for permission, because its assistant did not start. Open Wisp: it says why.")
_FOUND_PROGRAMS = 3
_FOUND_FILES = 4


class Finder:
    """Finds what fits the words that the person is typing: the result of a sum, programs, files."""

    def __init__(self) -> None:
        from app.base.named_files import FileIndex
        from app.desktop.choose import programs_here

        self._programs = programs_here()
        self._files = FileIndex(Path.home())
        self._known: dict[str, App] = {}

    async def entries(self, search: str) -> Sequence[CollectionEntry]:
        import asyncio

        return await asyncio.to_thread(self._find, search)

    async def act(self, action: str, key: str, _words: str = "", /) -> str:
        import asyncio

        kind, _, what = key.partition(":")
        if kind == "program":
            await asyncio.to_thread(self._programs.launch, self._known[what])
        else:
            await asyncio.to_thread(self._programs.open, what)
        return action

    def _find(self, search: str) -> list[CollectionEntry]:
        from app.desktop.programs import begun_with

        words, home = search.casefold().split(), str(Path.home())
        apps = begun_with(words, self._programs.installed(), _FOUND_PROGRAMS)
        self._known.update((app.ref, app) for app in apps)
        files = self._files.find(words, _FOUND_FILES)
        return [
            *_result(search),
            *(CollectionEntry(f"program:{app.ref}", app.name, (Phrase("Program"),)) for app in apps),
            *(
                CollectionEntry(
                    f"{'folder' if one.is_folder else 'file'}:{one.path}",
                    one.name,
                    (str(Path(one.path).parent).replace(home, "~", 1),),
                )
                for one in files
            ),
        ]


def _result(search: str) -> list[CollectionEntry]:
    from app.providers.offline.sums import worked_out

    result = worked_out(search)
    return [CollectionEntry(f"result:{result}", f"= {result}", (Phrase("Copy"),))] if result else []


def _show(settings: Settings, reload: Callable[[], Settings], *, welcome: bool = False) -> int:
    from app.features import loading
    from app.ui import application
    from app.ui.machine import Outside

    connected: list[Assistant] = []
    running: list[Any] = []

    async def connect(curtain: Any) -> Assistant:
        import asyncio
        import importlib

        from app.base import logs

        logs.to_file()
        entry = await asyncio.to_thread(importlib.import_module, "app.assistant")
        assistant: Assistant = entry.assemble(reload() if connected else settings, curtain=curtain)
        assistant.present()
        connected.append(assistant)
        return assistant

    async def ask(wanted: ApprovalWanted, /) -> ApprovalAnswer:
        from app.agent.gate import ApprovalAnswer

        if not connected:  # because the first one could not be built: the presence shows why
            return ApprovalAnswer.unasked(_NO_ASSISTANT)
        return await connected[-1].session.ask(wanted)

    def go_on(presence: Presence) -> None:
        import asyncio

        running.append(asyncio.ensure_future(_tell_what_goes_on(settings, connected, presence)))
        running.extend(
            asyncio.ensure_future(work)
            for _, work in loading.each(lambda feature: feature.accompany(presence.tell, ask))
        )

    pages = _pages()
    outside = Outside(
        reload,
        ThisMachine(),
        welcome,
        collections=_collections(pages, reload, connected),
        presences=PresenceSwitch(),
        kinds=loading.card_kinds(),
        pages=pages,
        hear_key=_hear_key,
    )
    return application.run(connect, settings, outside, on_ready=go_on)


def _hear_key(keys: str, pressed: Callable[[], None], lost: Callable[[str], None]) -> Callable[[], None]:
    """Hear the summon key through the desktop on Wayland, where that passes keys on."""
    if not os.environ.get("WAYLAND_DISPLAY"):
        return hear_no_key(keys, pressed, lost)
    from app.desktop.keys import chord
    from app.desktop.wayland.heard_key import HeardKey

    return HeardKey(os.environ, "summon", chord(keys), pressed, lost).close


class ThisMachine:
    """Runs the doctor's checks, finds local model servers, and tries keys."""

    async def findings(self) -> Sequence[MachineFinding]:
        import asyncio

        from app.commands import doctor

        found = await asyncio.to_thread(doctor.examine)
        spoken = [(each, each.spoken(shared.words_here())) for each in found]
        return [
            MachineFinding(name, each.verdict.value, detail, fix, each.opens) for each, (name, detail, fix) in spoken
        ]

    async def unshown(self, setting: str) -> str:
        import asyncio

        from app.services.themes import setting_problems

        return " ".join(told for key, told in await asyncio.to_thread(setting_problems) if key == setting)

    async def servers(self) -> Sequence[ModelServer]:
        from app.providers.openai_compatible.provider import local_endpoints

        return [ModelServer(found.name, found.base_url, found.models) for found in await local_endpoints()]

    async def advice(self) -> str:
        import asyncio

        if not await asyncio.to_thread(_lacks_extension):
            return ""
        return _EXTENSION.said(shared.words_here())

    async def models(self) -> Sequence[str]:
        from app.providers import profiles

        try:
            provider = profiles.choose(store.load()).provider
            try:
                return await provider.models()
            finally:
                await provider.close()
        except WispError:  # because the list only helps to choose; a task says what is wrong
            return ()

    async def tried(self, provider: str, key: str = "", base_url: str = "", model: str = "") -> Trial:
        from app.providers import profiles
        from app.providers.trial import first_words

        tried = store.load().with_values(model__provider=provider, model__base_url=base_url, model__id=model)
        try:
            return Trial(
                await first_words(
                    profiles.choose(tried, lambda name: key or store.key_of(name)), shared.words_here().language
                )
            )
        except WispError as error:
            return Trial(problem=error.for_people(shared.words_here()), is_refused=isinstance(error, KeyRefused))
