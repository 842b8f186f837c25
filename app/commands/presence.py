"""`wisp` alone: the presence on the current display. The orb is painted before anything heavy is imported."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from app.base.errors import WispError
from app.commands import options as shared
from app.commands.options import dead_display, is_at_hand, say_that_a_display_is_missing
from app.settings.catalog import PROVIDER
from app.settings.store import Settings
from app.ui.machine import Collection, CollectionEntry, MachineFinding, ModelServer

if TYPE_CHECKING:
    import subprocess

    from app.assistant import Assistant
    from app.services.schedule import Agenda
    from app.ui.presence import Presence

_LOOK_AGAIN_S = 5.0
_TRY_AGAIN_S = 60.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    shared.add_model_options(parser)


def run(options: argparse.Namespace) -> int:
    return start(options)


def start(options: argparse.Namespace, *, welcome: bool = False) -> int:
    """Run the presence until it is quit. Show the welcome first at a first start without a chosen provider."""
    if not is_at_hand() or dead_display():
        return say_that_a_display_is_missing()
    from app.ui.system import autostart

    settings = shared.settings_of(options)
    is_new = autostart.is_due() and not settings[PROVIDER]
    return _show(settings, lambda: shared.settings_of(options), welcome=welcome or is_new)


async def _tell_what_goes_on(settings: Settings, connected: list[Assistant], presence: Presence) -> None:
    from app.assembly import why_moved

    if moved := why_moved(settings):
        presence.tell("info", moved)
    for sentence in await connected[0].from_before() if connected else ():
        presence.tell("info", sentence)


async def watch_schedules(presence: Presence) -> None:
    """Run what is due while the presence is there. Tell what came of each run, also of those that others started."""
    import asyncio
    import sqlite3

    from app.assembly import agenda as open_agenda
    from app.base.clock import SystemClock

    clock = SystemClock()
    agenda, starter, problem = open_agenda(clock), _Starter(), ""
    try:
        while True:
            try:
                await _look_after(presence, agenda, clock.wall(), starter)
                problem = ""
            except (WispError, OSError, sqlite3.Error) as error:  # because the file may be locked or full for a while
                if str(error) != problem:
                    presence.tell("warning", f"What is planned cannot run at the moment: {error}")
                problem = str(error)
            await asyncio.sleep(_TRY_AGAIN_S if problem else _LOOK_AGAIN_S)
    finally:
        agenda.close()


class _Starter:
    """Starts `wisp run-due`, one at a time and with a pause: it does nothing while another Wisp is at a run."""

    def __init__(self) -> None:
        self._run: subprocess.Popen[bytes] | None = None
        self._not_before = 0.0

    def start(self, due: float | None, now: float) -> None:
        """Start it if something is due. Blocks."""
        from app.services import timer

        is_running = self._run is not None and self._run.poll() is None
        if not is_running and due is not None and max(due, self._not_before) <= now:
            self._run = timer.start_run("run-due")
            self._not_before = now + _TRY_AGAIN_S


async def _look_after(presence: Presence, agenda: Agenda, now: float, starter: _Starter) -> None:
    import asyncio

    due = await asyncio.to_thread(agenda.next_due)
    await asyncio.to_thread(starter.start, due, now)
    unread = [item for item in await asyncio.to_thread(agenda.inbox, only_unread=True) if item.kind == "run"]
    for item in reversed(unread):
        presence.tell("info", f"{item.title}\n{item.body}".strip())
    if unread:
        await asyncio.to_thread(agenda.mark_read, unread)


class _Later:
    """A collection that is imported when it is first looked at."""

    def __init__(self, name: str, settings: Callable[[], Settings]) -> None:
        self._name = name
        self._settings = settings
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

    def _make(self) -> Collection:
        from app.assembly import workspace_of
        from app.commands.collection import collection

        return collection(self._name, workspace_of(self._settings()))


def _show(settings: Settings, reload: Callable[[], Settings], *, welcome: bool = False) -> int:
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
        connected.append(assistant)
        return assistant

    def go_on(presence: Presence) -> None:
        import asyncio

        running.append(asyncio.ensure_future(_tell_what_goes_on(settings, connected, presence)))
        running.append(asyncio.ensure_future(watch_schedules(presence)))

    collections = {name: _Later(name, reload) for name in ("planned", "memory", "servers")}
    return application.run(connect, settings, Outside(reload, ThisMachine(), welcome, collections), on_ready=go_on)


class ThisMachine:
    """The doctor's checks, the model servers that answer, and a try of a key."""

    async def findings(self) -> Sequence[MachineFinding]:
        import asyncio

        from app.commands import doctor

        found = await asyncio.to_thread(doctor.examine)
        return [MachineFinding(each.name, each.verdict.value, each.detail, each.fix) for each in found]

    async def servers(self) -> Sequence[ModelServer]:
        from app.providers.openai_compatible.provider import local_endpoints

        return [ModelServer(found.name, found.base_url, found.models) for found in await local_endpoints()]

    async def tried(self, provider: str, key: str, base_url: str = "") -> str:
        from app.providers import profiles
        from app.settings import store

        settings = store.load().with_values(model__base_url=base_url)
        try:
            made = profiles.make(provider, settings, lambda name: key or store.key_of(name))
            try:
                await made.models()
            finally:
                await made.close()
        except WispError as error:
            return str(error)
        return ""
