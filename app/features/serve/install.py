"""`wisp mcp install`: enter Wisp's MCP server into the configuration of another agent."""

from __future__ import annotations

import argparse

from app import options as shared
from app.agent.policy.unattended import check_names
from app.base.errors import NeedsPerson
from app.features.serve.clients import Client, clients, is_wisps, serve_command, shown
from app.services.extras import require

_MINE = "{name} may then look at all windows and the clipboard without asking. You are asked before it acts in one."
_PRIVATE = "{name} then works on a desktop of its own, and neither sees nor touches yours."
_FILES = "It may also read your files without asking, but those with keys and passwords."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("client", nargs="?", choices=[*clients()], help="the agent; without one, all are listed")
    parser.add_argument(
        "--desktop", choices=("private",), help="give it a desktop of its own, apart from yours, without questions"
    )
    parser.add_argument("--all", action="store_true", help="serve all tools, which take more of its context")
    parser.add_argument(
        "--allow", action="append", default=[], metavar="NAME", help="what it may use without asking, for good"
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
            f"{client.name} was not found here: there is no command {client.program}. Install it, and say this again."
        )
    if client.is_up_to_date(command):
        print(f"{client.name} has it already: {shown(command)}")
        return 0
    print(client.change(command))
    if before := client.entered():
        whose = "an earlier entry of Wisp" if is_wisps(before) else "an entry of that name, which is not Wisp's"
        print(f"It replaces {whose}: {shown(before)}")
    print((_PRIVATE if options.desktop else _MINE).format(name=client.name))
    if options.all:
        print(_FILES)
    if not shared.is_agreed("Do that?", options):
        print("Nothing was changed. With --yes it is done without this question.")
        return 1
    client.apply(command)
    print(f"{client.name} has Wisp's server when it starts next. To take it back: wisp mcp uninstall {options.client}")
    return 0


def list_clients() -> None:
    """Print the agents, whether each is here, and what its entry for Wisp starts."""
    for name, client in clients().items():
        print(f"{name:<8} {client.name:<12} {'found' if client.is_here else 'not found':<10} {_state(client)}")


def _state(client: Client) -> str:
    try:
        command = client.entered()
    except NeedsPerson as error:
        return error.for_people()
    if not command:
        return "without Wisp"
    return f"{'with Wisp' if is_wisps(command) else 'with another entry of that name'}: {shown(command)}"
