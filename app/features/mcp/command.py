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

from app import options as shared
from app.base.clipping import clip_line
from app.base.clock import SystemClock
from app.base.errors import NeedsPerson, ToolMisuse
from app.base.phrases import Phrase
from app.features.mcp import imports, reach
from app.features.mcp.configuration import entry_of
from app.features.mcp.servers import McpServers, standard_pins
from app.features.mcp.settings import SERVER_START_S
from app.features.mcp.sign_in import forget_sign_in
from app.services.files.workspace import workspace_of
from app.settings import store

_LINE_CHARS = 120
_ADDRESS = ("http://", "https://")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_subparsers(dest="what", metavar="WHAT")
    what.add_parser("list", help="list your tool servers, and what is wrong with them (`wisp mcp` alone does it, too)")
    add = what.add_parser(
        "add",
        help="add a tool server",
        usage="wisp mcp add NAME [options] [--] COMMAND [ARGS …]\n       wisp mcp add NAME URL [options]\n"
        "       wisp mcp add NAME [--env NAME=VALUE] [--folder DIR] [--yes]",
    )
    _add_server_options(add)
    remove = what.add_parser("remove", help="remove a tool server, and all that you allowed it")
    remove.add_argument("name")
    listed = what.add_parser("catalogue", help="list tool servers that people often add, and what each needs")
    listed.add_argument("word", nargs="?", default="", help="list only those with this word")
    trust = what.add_parser("trust", help="let a tool server read without asking you, after you have used it once")
    trust.add_argument("name")
    trust.add_argument("--off", action="store_true", help="ask me again")
    signed = what.add_parser("sign-in", help="sign in to a tool server, in your browser")
    signed.add_argument("name")
    taken = what.add_parser("import", help="list the tool servers of other programs, or take them over")
    taken.add_argument(
        "program",
        nargs="?",
        default="",
        choices=["", *imports.programs()],
        metavar="PROGRAM",
        help="list or take over only those of this program",
    )
    taken.add_argument("names", nargs="*", help="the names of the tool servers to take over, or all")
    shared.add_yes_option(taken)


def _add_server_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--url", help="the address of a server that runs elsewhere")
    parser.add_argument(
        "-t", "--transport", choices=("stdio", "http", "sse"), help="how Wisp talks to it, if not as usual"
    )
    parser.add_argument(
        "--header",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="send this header to a server that runs elsewhere",
    )
    parser.add_argument(
        "-e", "--env", action="append", default=[], metavar="NAME=VALUE", help="start it with this environment variable"
    )
    parser.add_argument("--network", action="store_true", help="let it use the internet")
    parser.add_argument(
        "--folder", action="append", default=[], metavar="DIR", type=shared.folder, help="let it read this folder"
    )
    parser.add_argument(
        "--no-sandbox", action="store_true", help="start it without a sandbox: it can then do all that you can"
    )
    parser.add_argument("--local", action="store_true", help="the address belongs to this computer or its network")
    shared.add_yes_option(parser)
    parser.add_argument(
        "words",
        nargs=argparse.REMAINDER,
        metavar="NAME",
        help="the name of the server, then the command that starts it; a name of `wisp mcp catalogue` needs no command",
    )


def run(options: argparse.Namespace) -> int:
    settings = shared.settings_of(options)
    servers = McpServers(workspace_of(settings), SystemClock(), start_s=settings[SERVER_START_S])
    match options.what:
        case "add":
            return _add(servers, options)
        case "catalogue":
            _catalogue(options.word)
        case "remove":
            print(remove_server(servers, options.name))
        case "trust":
            standard_pins().trust(options.name, is_trusted=not options.off)
            asks = "Wisp asks you again before {name} reads something."
            trusts = "{name} reads without asking you. Wisp still asks before it changes something."
            shared.say(asks if options.off else trusts, name=options.name)
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
    told = "To add one: wisp mcp add NAME" if found else "The catalogue has nothing for {word!r}."
    shared.say(told, word=word)


def _add_from_catalogue(servers: McpServers, name: str, options: argparse.Namespace) -> int:
    one = next((one for one in imports.catalogue() if one.name == name), None)
    if one is None:
        near = ", ".join(one.name for one in imports.catalogue() if one.name[:3] == name[:3])
        meant = f"Did you mean {near}? " if near else ""
        raise NeedsPerson(
            f"The catalogue has no tool server {name!r}. {meant}To list them: wisp mcp catalogue. "
            "To add one that is not in it: wisp mcp add NAME -- COMMAND"
        )
    folders = [*map(str, options.folder)]
    told = one.filled(next(iter(folders), ""), _pairs(options.env))
    told |= {"folders": [*dict.fromkeys([*told.get("folders", ()), *folders])]} if folders else {}
    entry = entry_of(one.name, told, is_own=True, home="")
    print(f"{one.name}: {one.line}\n{'':<6}{entry.line}\n{'':<6}{entry.reach}; needs {one.needs}")
    if one.name in servers.configuration.read().servers:
        shared.say("It replaces the server that has this name now.")
    if not shared.is_agreed("Add it?", options):
        return 1
    return _take(servers, one.name, told, options)


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
    try:
        entry = await asyncio.to_thread(servers.configuration.named, name)
    except ToolMisuse:
        raise NeedsPerson(Phrase("There is no tool server {name!r}. To list yours: wisp mcp", {"name": name})) from None
    if not await asyncio.to_thread(servers.may_start, entry):
        raise NeedsPerson(
            f"{name} comes from a file in the working folder. Add it to your own tool servers first: wisp mcp add"
        )
    try:
        is_granted = await servers.sign_in(entry, _show_page)
    finally:
        await servers.close()
    return f"You are signed in to {name}." if is_granted else f"{name} needs no sign-in."


def _show_page(url: str) -> None:
    """Open the page in the person's browser, and print it for the case that none appears."""
    shared.warn("If no page opens in your browser, open this one: {url}", url=url)
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
    """Names of stored keys, as the person's file refers to them."""
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    return set(re.findall(rf"\$\{{kept:(mcp/{re.escape(name)}/[^}}\"]+)\}}", text))


def _list(servers: McpServers) -> None:
    states = servers.states()
    if not states:
        shared.say("You have added no tool server yet. To see which there are: wisp mcp catalogue")
    for state in states:
        entry = state.entry
        words = [state.state, *(["trusted"] if state.is_trusted else []), *([] if entry.is_own else ["workspace"])]
        print(f"{entry.name:<20} {', '.join(words):<20} {clip_line(entry.line, _LINE_CHARS)}\n{'':<20} {entry.reach}")
        if state.state == "failed":
            print(f"{'':<20} {state.failure}")
    for problem in servers.configuration.read().problems:
        print(f"wisp: {problem}", file=sys.stderr)


def _add(servers: McpServers, options: argparse.Namespace) -> int:
    name, argv = _read(options)
    if not name or (options.url and argv):
        raise NeedsPerson(
            "Write the name of the tool server, and then the command that starts it: wisp mcp add NAME -- COMMAND"
        )
    if word := next((word for word in (name, *argv[:1]) if word.startswith("-")), ""):
        where = f"Write options in front of --, as in: wisp mcp add NAME {word} … -- COMMAND"
        raise NeedsPerson(f"{word} is neither a name nor a command. {where}")
    if not argv and not options.url:
        return _add_from_catalogue(servers, name, options)
    argv = reach.with_whole_paths(argv, Path.cwd())
    told: dict[str, Any] = {"command": argv[0]} if argv else {"type": options.transport or "http", "url": options.url}
    told |= {"args": argv[1:]} if argv[1:] else {}
    told |= {"headers": _pairs(options.header)} if options.header else {}
    told |= {"env": _pairs(options.env)} if options.env else {}
    told |= {"folders": [*map(str, options.folder)]} if options.folder else {}
    told |= {name: True for name in ("network", "local") if getattr(options, name)}
    told |= {"sandbox": False} if options.no_sandbox else {}
    return _take(servers, name, told, options)


def _read(options: argparse.Namespace) -> tuple[str, list[str]]:
    """Return the name and the command. Options may stand before and behind the name, in front of the command.

    The command begins behind `--`, or with the first word behind the name that is neither an option nor an address.
    """
    parser = argparse.ArgumentParser(prog="wisp mcp add", add_help=False)
    _add_server_options(parser)
    name, *rest = options.words or [""]
    while rest and rest[0] != "--":
        if rest[0].startswith("-"):
            parser.parse_args(rest, options)
            rest = options.words
        elif rest[0].startswith(_ADDRESS) and not options.url:
            options.url = rest.pop(0)
        else:
            break
    return name, rest[1:] if rest[:1] == ["--"] else rest


def _take(servers: McpServers, name: str, told: dict[str, Any], options: argparse.Namespace) -> int:
    """Add a server, which may read what its command names. Ask first if it needs more. Returns the exit code."""
    named = reach.of(told) if told.get("command") else reach.NamedFiles()
    if folders := [*told.get("folders", ()), *named.folders]:
        told = {**told, "folders": list(dict.fromkeys(folders))}
    lacks, why = reach.missing(told)
    if lacks:
        told = {**told, **lacks}
        entry = entry_of(name, told, is_own=True, home="")
        print(f"{name}: {entry.line}\n{'':<6}{entry.reach}\n{'':<6}{why}")
        if not shared.is_agreed("Add it?", options):
            option = "--no-sandbox" if "sandbox" in lacks else "--network"
            shared.say("To allow only this: {option}", option=option)
            return 1
    made, kept = imports.without_secrets(name, told)
    is_known = name in servers.configuration.read().servers
    entry = servers.configuration.add(name, made)
    standard_pins().forget(name)  # what was agreed to was another program
    where = f" Kept with your keys: {', '.join(kept)}." if kept else ""
    print(f"{'Replaced' if is_known else 'Added'} {name}: {entry.line}\n{'':<6}{entry.reach}.{where}")
    if (program := told.get("command")) and not shutil.which(program):
        shared.warn("It cannot start yet: there is no program {program} on this computer. Install it.", program=program)
    for one in named.kept_back:
        shared.say("It may not read {path}. If it should, add it again with --folder FOLDER.", path=str(one))
    return 0


def _pairs(words: list[str]) -> dict[str, str]:
    pairs = dict(parts for word in words if len(parts := re.split(r"=|: ?", word, maxsplit=1)) == 2)
    if len(pairs) != len(words):
        raise NeedsPerson("Write each variable and each header once, as NAME=VALUE.")
    return pairs


def _import(servers: McpServers, options: argparse.Namespace) -> int:
    found = imports.found(Path(workspace_of(shared.settings_of(options))), Path.home(), options.program)
    own = servers.configuration.read().servers
    refused = 0
    for one in found:
        is_wanted = not one.why and ("all" in options.names or one.name in options.names)
        if is_wanted and one.name not in own:
            refused += _take(servers, one.name, dict(one.told), options)
            continue
        state = one.why or ("Wisp has one of that name" if one.name in own else one.entry.line)
        print(f"{one.program:<15} {one.name:<20} {clip_line(state, _LINE_CHARS)}")
    if not found:
        shared.say("No other program on this computer has tool servers.")
    missing = sorted(set(options.names) - {"all"} - {one.name for one in found})
    for name in missing:
        shared.warn("{program} has no tool server {name!r}.", program=options.program, name=name)
    return int(bool(missing or refused))
