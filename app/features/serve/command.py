"""`wisp mcp serve`: another agent uses this desktop, by the Model Context Protocol on standard input and output.

The client starts it and ends it by closing standard input. What a person should read goes to standard error.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING

from app import options as shared
from app.agent.agent_events import AgentEvent, Notice
from app.agent.policy.unattended import check_names
from app.base import logs
from app.base.errors import NeedsPerson
from app.base.startup import STOPPED, stop_on_signals
from app.base.version import version
from app.features.serve.pipes import is_piped, standard_pipes
from app.features.serve.session import adopt_session
from app.features.serve.settings import ASK_IN_CLIENT
from app.options import OwnDisplay, on_a_display
from app.providers import profiles
from app.services.extras import require
from app.settings.catalog import MODE

if TYPE_CHECKING:
    from app.features.feature import Unattended
    from app.settings.store import Settings

_NO_PIPE = "Only another agent can start this command. To set up your agent: wisp mcp install"
_PRIVATE = "private"
_WITHOUT_QUESTIONS = "yolo"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="offer all tools, not only those for the desktop")
    parser.add_argument(
        "--desktop",
        choices=("mine", _PRIVATE),
        default="mine",
        help="mine: the agent uses your desktop, and Wisp asks you for each program; private: it uses one of its own",
    )
    parser.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="NAME",
        help="let the agent use a program, website, folder or button without asking, such as --allow 'Text Editor'",
    )
    shared.add_workspace_option(parser)


def run(options: argparse.Namespace) -> int:
    if not is_piped():
        raise NeedsPerson(_NO_PIPE)
    require("mcp", "mcp")
    check_names(options.allow)
    logs.to_file()
    given = argparse.Namespace(workspace=options.workspace, provider=profiles.OFFLINE)
    settings = shared.settings_of(given)  # no model is asked, so that no key is looked up either
    if settings[MODE] == _WITHOUT_QUESTIONS:  # which the person chose for their own words
        settings = settings.with_values(trust__mode="ask")
    if not _wants_own(options):
        adopt_session()
    with on_a_display(apart=_wants_own(options)) as own:
        if own.private:
            own.announce()
        return asyncio.run(_until_closed(options, settings, own))


def _wants_own(options: argparse.Namespace) -> bool:
    return bool(options.desktop == _PRIVATE)


async def _until_closed(options: argparse.Namespace, settings: Settings, own: OwnDisplay) -> int:
    serving = asyncio.ensure_future(_serve(options, settings, own))
    stop_on_signals(serving.cancel)
    with suppress(asyncio.CancelledError):
        await serving
        return 0
    return STOPPED


async def _serve(options: argparse.Namespace, settings: Settings, own: OwnDisplay) -> None:
    stdin, stdout = await standard_pipes()
    from mcp.server.stdio import stdio_server  # late, because it takes a second

    from app.features.serve.server import ClientDesk

    is_own_desktop = bool(own.private)
    notes = ["own_desktop", *([] if _wants_own(options) else ["no_display"])] if is_own_desktop else []
    async with AsyncExitStack() as opened:

        async def open_assistant() -> Unattended:
            making = options.assemble(settings, allowed=options.allow, is_own_desktop=is_own_desktop)
            assistant: Unattended = await opened.enter_async_context(making)
            assistant.subscribe(_tell)
            return assistant

        may_elicit = settings[ASK_IN_CLIENT]
        desk = ClientDesk(open_assistant, everything=options.all, may_elicit=may_elicit, is_own_desktop=is_own_desktop)
        desk.begin()
        server = desk.server(version(), notes)
        async with stdio_server(stdin, stdout) as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())


def _tell(event: AgentEvent) -> None:
    """Print what the person must know, such as a question of the desktop's own."""
    if isinstance(event, Notice):
        print(f"wisp: {event.sentence}", file=sys.stderr)
