"""`wisp mcp`: the tool servers that Wisp may use, and those that other programs already have."""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from app.base.clock import SystemClock
from app.base.errors import NeedsPerson
from app.base.texts import clip_line, for_people
from app.commands import options as shared
from app.services.files.workspace import workspace_of
from app.services.mcp import imports
from app.services.mcp.configuration import entry_of
from app.services.mcp.servers import McpServers, standard_pins
from app.services.mcp.sign_in import forget_sign_in
from app.settings import store

_LINE_CHARS = 120


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_subparsers(dest="what", metavar="WHAT")
    what.add_parser("list", help="all servers, and what is wrong with any (what `wisp mcp` alone does)")
    add = what.add_parser("add", help="add a server: `wisp mcp add [options] NAME -- COMMAND ARGS`, or --url")
    add.add_argument("name", help="letters, digits, dots and dashes")
    add.add_argument("--url", help="the address of a server that is not started here")
    add.add_argument("--header", action="append", default=[], metavar="NAME=VALUE", help="for a server with an address")
    add.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="a variable for its process")
    add.add_argument("--network", action="store_true", help="let its process reach the internet")
    add.add_argument("--folder", action="append", default=[], metavar="DIR", help="a folder that it may read")
    add.add_argument("--no-sandbox", action="store_true", help="start it with everything that you may do")
    add.add_argument("--local", action="store_true", help="the address is of this machine or its network")
    add.add_argument("argv", nargs="*", metavar="COMMAND", help="the command and its arguments, behind `--`")
    remove = what.add_parser("remove", help="forget a server, and what you agreed to about it")
    remove.add_argument("name")
    listed = what.add_parser("catalogue", help="servers that people often add, and what each needs")
    listed.add_argument("word", nargs="?", default="", help="show only those with this word")
    install = what.add_parser("install", help="add a server of the catalogue, after a question; nothing is fetched")
    install.add_argument("name", help="as the catalogue names it")
    install.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="a key that it needs")
    install.add_argument("--folder", metavar="DIR", type=shared.folder, help="the folder that it works in")
    shared.add_yes_option(install)
    trust = what.add_parser("trust", help="let its tools that only read run without a question, after its first use")
    trust.add_argument("name")
    trust.add_argument("--off", action="store_true", help="ask again")
    signed = what.add_parser("sign-in", help="sign in to a server with an address, in your browser")
    signed.add_argument("name")
    taken = what.add_parser("import", help="show what other programs have; with names, take those over")
    taken.add_argument("program", nargs="?", default="", choices=["", *imports.programs()], help="one of them")
    taken.add_argument("names", nargs="*", help="the servers to take over, or `all`")


def run(options: argparse.Namespace) -> int:
    servers = McpServers(workspace_of(shared.settings_of(options)), SystemClock())
    match options.what:
        case "add":
            _add(servers, options)
        case "catalogue":
            _catalogue(options.word)
        case "install":
            return _install(servers, options)
        case "remove":
            print(remove_server(servers, options.name))
        case "trust":
            standard_pins().trust(options.name, is_trusted=not options.off)
            print(f"Tools of {options.name} that only read {'ask again' if options.off else 'run without a question'}.")
        case "sign-in":
            print(asyncio.run(sign_in(servers, options.name)))
        case "import":
            return _import(servers, options)
        case _:
            _list(servers)
    return 0


def _catalogue(word: str) -> None:
    found = imports.catalogue(word)
    for one in found:
        print(f"{one.name:<20} {one.line}\n{'':<20} needs {one.needs}")
    print("`wisp mcp install NAME` adds one." if found else f"The catalogue has nothing for {word!r}.")


def _install(servers: McpServers, options: argparse.Namespace) -> int:
    one = next((one for one in imports.catalogue() if one.name == options.name), None)
    if one is None:
        near = [one.name for one in imports.catalogue() if one.name[:3] == options.name[:3]]
        raise NeedsPerson(
            f"The catalogue has no server {options.name!r}: {', '.join(near) or '`wisp mcp catalogue` lists them'}."
        )
    told = one.filled(str(options.folder or ""), _pairs(options.env))
    entry = entry_of(one.name, told, is_own=True, home="")
    print(f"{one.name}: {one.line}\n{'':<6}{entry.line}\n{'':<6}{entry.reach}; needs {one.needs}")
    if one.name in servers.configuration.read().servers:
        print("It replaces the server of that name.")
    if not shared.is_agreed("Add it?", options):
        print("Nothing was added. With --yes it is added without this question.")
        return 1
    _take(servers, one.name, told)
    return 0


def remove_server(servers: McpServers, name: str) -> str:
    """Delete a server, its keys and the person's agreements to it. Returns a sentence on what was deleted. Blocks."""
    kept = _kept(servers.configuration.own_file, name)
    servers.configuration.remove(name)
    for key in kept:
        store.forget(key)
    forget_sign_in(name)
    standard_pins().forget(name)
    return f"Removed {name}."


async def sign_in(servers: McpServers, name: str) -> str:
    """Sign in to a server in the person's browser. Return what came of it, in a sentence. Raises WispError."""
    entry = await asyncio.to_thread(servers.configuration.named, name)
    if not await asyncio.to_thread(servers.may_start, entry):
        raise NeedsPerson(f"{name} is in the workspace's file. Add it to your own servers first: wisp mcp add")
    try:
        is_granted = await servers.sign_in(entry, _show_page)
    finally:
        await servers.close()
    return f"Signed in to {name}." if is_granted else f"{name} wants no sign-in."


def _show_page(url: str) -> None:
    """Open the page in the person's browser, and print it for the case that none appears."""
    print(f"If no page opens in your browser, open this one: {url}", file=sys.stderr, flush=True)
    from app.services.processes.starting import is_secret

    opener = shutil.which("xdg-open") or shutil.which("open")
    if opener:
        process = subprocess.Popen(
            [opener, url],
            env={name: value for name, value in os.environ.items() if not is_secret(name, value)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # so that the browser outlives Wisp
        )
        threading.Thread(target=process.wait, daemon=True).start()  # because it may last as long as the browser


def _kept(file: Path, name: str) -> set[str]:
    """Return the names under which the keys of this server are stored, as the person's file refers to them."""
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    return set(re.findall(rf"\$\{{kept:(mcp/{re.escape(name)}/[^}}\"]+)\}}", text))


def _list(servers: McpServers) -> None:
    states = servers.states()
    if not states:
        print("No tool server is added yet: `wisp mcp add` adds one.")
    for state in states:
        entry = state.entry
        words = [state.state, *(["trusted"] if state.is_trusted else []), *([] if entry.is_own else ["workspace"])]
        print(f"{entry.name:<20} {', '.join(words):<20} {clip_line(entry.line, _LINE_CHARS)}\n{'':<20} {entry.reach}")
        if state.state == "failed":
            print(f"{'':<20} {for_people(state.failure)}")
    for problem in servers.configuration.read().problems:
        print(f"wisp: {problem}", file=sys.stderr)


def _add(servers: McpServers, options: argparse.Namespace) -> None:
    if bool(options.url) == bool(options.argv):
        raise NeedsPerson("Name either a command behind `--`, or an address with --url.")
    told: dict[str, Any] = {"type": "http", "url": options.url} if options.url else {"command": options.argv[0]}
    told |= {"args": options.argv[1:]} if options.argv[1:] else {}
    told |= {"headers": _pairs(options.header)} if options.header else {}
    told |= {"env": _pairs(options.env)} if options.env else {}
    told |= {"folders": options.folder} if options.folder else {}
    told |= {name: True for name in ("network", "local") if getattr(options, name)}
    told |= {"sandbox": False} if options.no_sandbox else {}
    _take(servers, options.name, told)


def _take(servers: McpServers, name: str, told: dict[str, Any]) -> None:
    made, kept = imports.without_secrets(name, told)
    is_known = name in servers.configuration.read().servers
    entry = servers.configuration.add(name, made)
    standard_pins().forget(name)  # what was agreed to was another program
    where = f" Kept with your keys: {', '.join(kept)}." if kept else ""
    print(f"{'Replaced' if is_known else 'Added'} {name}: {entry.line}\n{'':<6}{entry.reach}.{where}")


def _pairs(words: list[str]) -> dict[str, str]:
    pairs = dict(word.split("=", 1) for word in words if "=" in word)
    if len(pairs) != len(words):
        raise NeedsPerson("Write variables and headers as NAME=VALUE, each once.")
    return pairs


def _import(servers: McpServers, options: argparse.Namespace) -> int:
    found = imports.found(Path(workspace_of(shared.settings_of(options))), Path.home(), options.program)
    own = servers.configuration.read().servers
    for one in found:
        is_wanted = not one.why and ("all" in options.names or one.name in options.names)
        if is_wanted and one.name not in own:
            _take(servers, one.name, dict(one.told))
            continue
        state = one.why or ("Wisp has one of that name" if one.name in own else one.entry.line)
        print(f"{one.program:<15} {one.name:<20} {clip_line(state, _LINE_CHARS)}")
    if not found:
        print("No other program here has tool servers.")
    missing = sorted(set(options.names) - {"all"} - {one.name for one in found})
    for name in missing:
        print(f"wisp: {options.program} has no server {name!r}.", file=sys.stderr)
    return int(bool(missing))
