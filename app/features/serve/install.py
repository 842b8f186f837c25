"""`wisp mcp install`: enter Wisp's MCP server into the configuration of another agent."""

from __future__ import annotations

import argparse

from app import options as shared
from app.agent.policy.unattended import check_names
from app.base.errors import NeedsPerson
from app.features.serve.clients import Client, clients, is_wisps, serve_command, shown
from app.services.extras import require

_MINE = "{name} can then see all windows and the clipboard. Wisp asks you before {name} does something in a program."
_PRIVATE = "{name} then works on a desktop of its own. It neither sees nor changes yours."
_FILES = "It can also read your files without asking, except those with keys and passwords."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("client", nargs="?", choices=[*clients()], help="the agent; otherwise all agents are listed")
    parser.add_argument(
        "--desktop",
        choices=("private",),
        help="give it a desktop of its own, where it may do everything without asking",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="offer all tools, not only those for the desktop; the agent has more to read then",
    )
    parser.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="NAME",
        help="let it always use a program, website, folder or button without asking",
    )
    shared.add_workspace_option(parser)
    shared.add_yes_option(parser)


def run(options: argparse.Namespace) -> int:
    if options.client is None:
        list_clients()
        return 0
    require("mcp", "mcp")
    client = clients()[options.client]
    check_names(options.allow)
    given = [
        *(["--desktop", options.desktop] if options.desktop else []),
        *(["--all"] if options.all else []),
        *(word for name in options.allow for word in ("--allow", name)),
        *(["--workspace", str(options.workspace)] if options.workspace else []),
    ]
    return _install(client, serve_command(given), options)


def _install(client: Client, command: list[str], options: argparse.Namespace) -> int:
    if not client.is_here:
        raise NeedsPerson(
            f"{client.name} is not installed: there is no command {client.program}. Install it, then try again."
        )
    if client.is_up_to_date(command):
        shared.say("{name} can use this desktop already: {command}", name=client.name, command=shown(command))
        return 0
    print(client.change(command))
    if before := client.entered():
        told = "This replaces an older entry of Wisp: {command}"
        if not is_wisps(before):
            told = "This replaces an entry of the same name that is not Wisp's: {command}"
        shared.say(told, command=shown(before))
    shared.say(_PRIVATE if options.desktop else _MINE, name=client.name)
    if options.all:
        shared.say(_FILES)
    if not shared.is_agreed("Do it?", options):
        return 1
    client.apply(command)
    shared.say(
        "From its next start, {name} can use this desktop. To undo that: wisp mcp uninstall {id}",
        name=client.name,
        id=options.client,
    )
    return 0


def list_clients() -> None:
    """Print the agents, whether each is here, and what its entry for Wisp starts."""
    words = shared.words_here()
    for name, client in clients().items():
        found = words("installed") if client.is_here else words("not installed")
        print(f"{name:<8} {client.name:<12} {found:<18} {_state(client)}")


def _state(client: Client) -> str:
    try:
        command = client.entered()
    except NeedsPerson as error:
        return error.for_people(shared.words_here())
    words = shared.words_here()
    if not command:
        return words("cannot use this desktop")
    told = words("can use this desktop") if is_wisps(command) else words("has another entry called wisp")
    return f"{told}: {shown(command)}"
