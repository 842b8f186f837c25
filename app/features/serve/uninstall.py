"""`wisp mcp uninstall`: take Wisp's MCP server out of the configuration of another agent."""

from __future__ import annotations

import argparse

from app import options as shared
from app.features.serve.clients import clients, is_wisps, shown
from app.features.serve.install import list_clients


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("client", nargs="?", choices=[*clients()], help="the agent; otherwise all agents are listed")
    shared.add_yes_option(parser)


def run(options: argparse.Namespace) -> int:
    if options.client is None:
        list_clients()
        return 0
    client = clients()[options.client]
    command = client.entered()
    if not command:
        shared.say("{name} was not set up to use this desktop.", name=client.name)
        return 0
    if not is_wisps(command):
        told = "{name} has an entry called wisp that is not Wisp's. It stays: {command}"
        shared.say(told, name=client.name, command=shown(command))
        return 0
    print(client.change(None))
    if not shared.is_agreed("Do it?", options):
        return 1
    client.apply(None)
    shared.say("{name} can no longer use this desktop.", name=client.name)
    return 0
