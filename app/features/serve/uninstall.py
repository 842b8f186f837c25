"""`wisp mcp uninstall`: take Wisp's MCP server out of the configuration of another agent."""

from __future__ import annotations

import argparse

from app import options as shared
from app.features.serve.clients import clients, is_wisps, shown
from app.features.serve.install import list_clients


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("client", nargs="?", choices=[*clients()], help="the agent; without one, all are listed")
    shared.add_yes_option(parser)


def run(options: argparse.Namespace) -> int:
    if options.client is None:
        list_clients()
        return 0
    client = clients()[options.client]
    command = client.entered()
    if not command:
        print(f"{client.name} does not have Wisp's server.")
        return 0
    if not is_wisps(command):
        print(f"{client.name} does not have Wisp's server. Its entry of that name starts {shown(command)}; it stays.")
        return 0
    print(client.change(None))
    if not shared.is_agreed("Do that?", options):
        print("Nothing was changed. With --yes it is done without this question.")
        return 1
    client.apply(None)
    print(f"{client.name} no longer has Wisp's server.")
    return 0
