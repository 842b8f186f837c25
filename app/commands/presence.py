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
from app.ui.machine import MachineFinding, ModelServer

if TYPE_CHECKING:
    from app.assistant import Assistant
    from app.ui.presence import Presence


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


def _show(settings: Settings, reload: Callable[[], Settings], *, welcome: bool = False) -> int:
    from app.ui import application
    from app.ui.machine import Outside

    connected: list[Assistant] = []
    telling: list[Any] = []

    async def connect(curtain: Any) -> Assistant:
        import asyncio
        import importlib

        from app.base import logs

        logs.to_file()
        entry = await asyncio.to_thread(importlib.import_module, "app.assistant")
        assistant: Assistant = entry.assemble(reload() if connected else settings, curtain=curtain)
        connected.append(assistant)
        return assistant

    def tell_what_goes_on(presence: Presence) -> None:
        import asyncio

        telling.append(asyncio.ensure_future(_tell_what_goes_on(settings, connected, presence)))

    return application.run(connect, settings, Outside(reload, ThisMachine(), welcome), on_ready=tell_what_goes_on)


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
