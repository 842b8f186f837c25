"""From a call to what it comes to: paths are resolved as the tools resolve them, addresses read as the network reads
them, controls and keys looked up in the tables. Nothing a model says about its own call makes it look milder.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from app.agent.judging import Commands
from app.agent.policy import addresses, controls, launching, pointing, pressing, private_files
from app.agent.policy.chords import pressed, spelled
from app.agent.policy.tables import by_tool, table
from app.agent.policy.values import Act, Consequence, Control, Provenance
from app.base.errors import ToolFailed, WispError
from app.protocol.call import ToolCall
from app.protocol.result import JsonValue
from app.protocol.spec import Effect, ToolSpec
from app.services.sandbox.classes import CommandClass
from app.services.workspace import document_kinds, origins, protected
from app.services.workspace.places import Workspace, Zone

OWN_FOLDER = ".wisp"
"""In a workspace: its rules. Read by Wisp without asking, so never written by a tool."""

_FREE_ZONES = (Zone.WORKSPACE, Zone.MADE)
_WORD = re.compile(r"\w+")
_NAMING_CHARS = 4


class NobodyKnows:
    """Where nobody knows what a command does, and nothing stands around it."""

    def classify(self, call: ToolCall) -> CommandClass | None:
        is_command = any(call.has(name) for name in table("calls")["arguments"]["commands"])
        return CommandClass(False, False, False, False) if is_command else None


@dataclass(frozen=True, slots=True)
class Reader:
    """`own_keys` are Wisp's: no tool presses them."""

    workspace: Workspace
    commands: Commands
    own_keys: tuple[str, ...] = ()

    def act(self, call: ToolCall, spec: ToolSpec, seen: Sequence[Control], provenance: Provenance) -> Act:
        """What the call comes to. `seen` is what it would act on, where it acts on the desktop."""
        effects = spec.effects_of(call)
        arguments = _opened(call)
        paths, kinds = self._paths(effects, arguments)
        hosts, host_kinds = addresses.reached(effects, arguments, provenance)
        command = next(iter(addresses.texts(arguments, table("calls")["arguments"]["commands"])), "")
        command_kinds, reasons = self._command(call)
        private_kinds, secrets = self._private(effects, paths, command, command_kinds, provenance.said)
        kinds |= private_kinds
        if table("calls")["aims"].get(spec.name) == "menu":
            seen = (_menu_entry(arguments, seen),)
        on_desktop, keys, text = self._on_desktop(call, effects, seen)
        kinds |= host_kinds | command_kinds | _of_tool(spec, effects, hosts) | on_desktop
        kinds |= launching.of_opening(call, seen)
        if Consequence.UNKNOWN in kinds and is_answered(seen, provenance):
            kinds = kinds - {Consequence.UNKNOWN} | {Consequence.ANSWERED}
        return Act(
            spec.name,
            effects,
            frozenset(map(Consequence, kinds)),
            controls=tuple(seen),
            paths=paths,
            hosts=hosts,
            keys=keys,
            text=text,
            command=command,
            reasons=reasons,
            secrets=secrets,
            arguments=dict(call.arguments),
        )

    def _on_desktop(
        self, call: ToolCall, effects: frozenset[Effect], seen: Sequence[Control]
    ) -> tuple[set[str], tuple[str, ...], str]:
        """What it does to the desktop, the chords in one spelling, and what it types."""
        chords = _text(call.arguments, table("calls")["pressed"].get(call.name, ""))
        text = _text(call.arguments, table("calls")["typed"].get(call.name, ""))
        if Effect.DESKTOP not in effects:
            return set(), spelled(chords), text
        found = {"own"} if any(control.is_own for control in seen) else set()
        control = seen[-1] if seen else Control()
        aim = table("calls")["aims"].get(call.name, "")
        if aim == "focus":
            keys = pressed(chords, dict(control.symbols))
            found |= pressing.of_keys(keys, control, self.own_keys)
            found |= pressing.of_text(text, control) if text else set()
        elif aim == "menu":
            found |= pointing.of_way(call.text("path"))
        elif seen:
            found |= pointing.of_pointing(call, aim, seen, text)
        return found, spelled(chords), text

    def _paths(
        self, effects: frozenset[Effect], arguments: Mapping[str, JsonValue]
    ) -> tuple[tuple[str, ...], set[str]]:
        names = table("calls")["arguments"]
        is_changing = bool(effects & set(names["changing_effects"]))
        if not is_changing and not effects & set(names["path_effects"]):
            return (), set()
        shown: list[str] = []
        kinds: set[str] = set()
        for path in addresses.texts(arguments, names["paths"]):
            where, found = self._path(path, is_changing=is_changing)
            shown.append(where)
            kinds |= found
        return tuple(shown), kinds

    def _path(self, path: str, *, is_changing: bool) -> tuple[str, set[str]]:
        """Where a path leads, as it is called, and what follows from that. What cannot be understood is unclear."""
        try:
            place = self.workspace.locate(path)
        except WispError:
            return path, {"unclear"}
        found: set[str] = set()
        try:
            self.workspace.check_readable(place)
        except ToolFailed:
            found.add("secret")
        if protected.starts_by_itself(place.path.parts) or OWN_FOLDER in place.path.parts:
            found.add("starts")
        if place.zone not in _FREE_ZONES:
            found.add("outside" if is_changing else "far")
        return str(place.path), found

    def _private(
        self, effects: frozenset[Effect], paths: tuple[str, ...], command: str, told: set[str], said: str
    ) -> tuple[set[str], tuple[str, ...]]:
        """What follows from the secrets of the workspace that it reads, and their names; whether they are its own."""
        root = self.workspace.folder
        found: tuple[Path, ...] = ()
        kinds: set[str] = set()
        if Effect.READS in effects:
            found = named = private_files.among(paths)
            kinds |= {"foreign"} if origins.foreign_among(paths) else set()
        elif command and told:
            there = protected.local_secrets_in(root)
            named = private_files.named_in(command, there)
            found = tuple(there) if private_files.may_read_any(command, only_looks="looks" in told) else named
            kinds |= {"foreign"} if origins.foreign_folder(root) else set()
        else:
            return kinds, ()
        kinds |= {"private"} if found else set()
        kinds |= {"private unasked"} if any(path.name.casefold() not in said.casefold() for path in named) else set()
        return kinds, tuple(path.name for path in found)

    def _command(self, call: ToolCall) -> tuple[set[str], tuple[str, ...]]:
        """What is known of the command that the call starts or types into, and why it is no more harmless."""
        told = self.commands.classify(call)
        if told is None:
            return set(), ()
        kinds = {"walled"} if told.sandboxed else {"unwalled"}
        kinds |= {"reaches out"} if told.wants_network else set()
        kinds |= {"leaves"} if told.wants_outside else set()
        return {"looks"} if told.read_only and kinds == {"walled"} else kinds, told.reasons


def _menu_entry(arguments: Mapping[str, JsonValue], seen: Sequence[Control]) -> Control:
    """The entry that a way through menus ends at, in the window that is there."""
    window = seen[-1] if seen else Control()
    last = _text(arguments, "path").replace("›", ">").split(">")[-1].strip()
    return replace(window, role="menu item", name=last)


def is_answered(seen: Sequence[Control], provenance: Provenance) -> bool:
    """Whether the person allowed what is unknown there before, or named the program or the window themselves."""
    return bool(seen) and all(
        (bool(control.place) and control.place in provenance.answered) or _is_named(control, provenance.said)
        for control in seen
    )


def _is_named(control: Control, said: str) -> bool:
    """By its program or its title. What stands in the title of a browser was written by anybody and names nothing."""
    words = set(_WORD.findall(said.casefold()))
    names = [control.app] if controls.sends_on_return(control) else [control.app, control.window]
    told = (set(_WORD.findall(name.casefold())) for name in names)
    return any(name and name <= words and any(len(word) >= _NAMING_CHARS for word in name) for name in told)


def _opened(call: ToolCall) -> Mapping[str, JsonValue]:
    """The call's arguments; what it opens is named as the address or the path that it is."""
    name = table("calls")["opens"].get(call.name, "")
    target = document_kinds.target_of(_text(call.arguments, name)) if name else None
    if target is None:
        return call.arguments
    return {**call.arguments, **({"url": target.address} if target.address else {"path": target.path})}


def _of_tool(spec: ToolSpec, effects: frozenset[Effect], hosts: Sequence[str]) -> frozenset[str]:
    named = frozenset(by_tool(table("calls")["tools"], spec.name) or ())
    if spec.name in table("calls")["opens"] and not hosts and effects != {Effect.DESKTOP}:
        named |= {"launches"}
    return named | {"persists"} if Effect.SETTINGS in effects else named


def _text(arguments: Mapping[str, JsonValue], name: str) -> str:
    value = arguments.get(name)
    return value if isinstance(value, str) else ""
