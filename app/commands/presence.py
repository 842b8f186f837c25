"""`wisp` alone: the presence on the current display, or on a private one where there is none.

The orb is painted before anything heavy is imported. On a private display the first and last picture and the
transcript are kept.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from app.commands import options as shared
from app.commands.display import on_a_display
from app.settings.catalog import PROVIDER
from app.settings.store import Settings

if TYPE_CHECKING:
    from app.commands.record import Record
    from app.ui.presence import Presence
    from app.wiring import Assistant


def add_arguments(parser: argparse.ArgumentParser) -> None:
    shared.add_model_options(parser)


def run(options: argparse.Namespace) -> int:
    return start(options)


def start(options: argparse.Namespace, *, welcome: bool = False) -> int:
    """The presence until it is quit. Who has not been welcomed here and has chosen nobody to answer is, first."""
    settings = shared.settings_of(options)
    with on_a_display() as own:
        own.announce()
        if own.private:
            return _recorded(settings)
        from app.ui.welcome import once

        is_new = once.is_due() and not settings[PROVIDER]
        return _show(settings, None, lambda: shared.settings_of(options), welcome=welcome or is_new)


def _recorded(settings: Settings) -> int:
    import asyncio

    from app import wiring
    from app.commands.record import Record

    record = Record()
    print(f"wisp: pictures and transcript go to {record.folder}", file=sys.stderr)
    try:
        record.keep("first", asyncio.run(wiring.photograph()))
        code = _show(settings, record, lambda: settings)
        record.keep("last", asyncio.run(wiring.photograph()))
    finally:
        record.close()
    return code


async def _tell_what_goes_on(connected: list[Assistant], presence: Presence) -> None:
    for sentence in await connected[0].from_before() if connected else ():
        presence.tell("info", sentence)


def _show(settings: Settings, record: Record | None, reload: Callable[[], Settings], *, welcome: bool = False) -> int:
    from app.commands.machine import ThisMachine
    from app.ui import application
    from app.ui.machine import Outside

    connected: list[Assistant] = []
    telling: list[Any] = []

    async def connect(curtain: Any) -> Assistant:
        import asyncio
        import importlib

        from app.base import logs

        logs.to_file()
        wiring = await asyncio.to_thread(importlib.import_module, "app.wiring")
        assistant: Assistant = wiring.assemble(reload() if connected else settings, curtain=curtain)
        if record:
            assistant.subscribe(record.note)
        connected.append(assistant)
        return assistant

    def tell_what_goes_on(presence: Presence) -> None:
        import asyncio

        telling.append(asyncio.ensure_future(_tell_what_goes_on(connected, presence)))

    return application.run(connect, settings, Outside(reload, ThisMachine(), welcome), on_ready=tell_what_goes_on)
