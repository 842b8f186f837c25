"""`wisp` alone: the presence on the current display, or on a private one where there is none.

The orb is painted before anything heavy is imported. On a private display the first and last picture and the
transcript are kept.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from app.commands import options as shared
from app.commands.display import on_a_display
from app.settings.store import Settings

if TYPE_CHECKING:
    from app.commands.record import Record
    from app.ui.presence import Presence
    from app.wiring import Assistant


def add_arguments(parser: argparse.ArgumentParser) -> None:
    shared.add_model_options(parser)


def run(options: argparse.Namespace) -> int:
    settings = shared.settings_of(options)
    with on_a_display() as own:
        own.announce()
        return _recorded(settings) if own.private else _show(settings, None)


def _recorded(settings: Settings) -> int:
    import asyncio

    from app import wiring
    from app.commands.record import Record

    record = Record()
    print(f"wisp: pictures and transcript go to {record.folder}", file=sys.stderr)
    try:
        record.keep("first", asyncio.run(wiring.photograph()))
        code = _show(settings, record)
        record.keep("last", asyncio.run(wiring.photograph()))
    finally:
        record.close()
    return code


def _show(settings: Settings, record: Record | None) -> int:
    from app.ui import application

    connected: list[Assistant] = []

    async def connect(curtain: Any) -> Assistant:
        import asyncio
        import importlib

        from app.base import logs

        logs.to_file()
        wiring = await asyncio.to_thread(importlib.import_module, "app.wiring")
        assistant: Assistant = wiring.assemble(settings, curtain=curtain)
        if record:
            assistant.subscribe(record.note)
        connected.append(assistant)
        return assistant

    def tell_what_goes_on(presence: Presence) -> None:
        for sentence in connected[0].left_over():
            presence.tell("info", sentence)

    return application.run(connect, settings, on_ready=tell_what_goes_on)
