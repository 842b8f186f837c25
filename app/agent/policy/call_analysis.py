"""Analyse a call: return its effects, facts, paths, hosts, keys, text and needs as one `Action`.

Paths are resolved as the tools resolve them, addresses as the network reads them. What the model says about its own
call can only make it stricter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from app.agent.policy import addresses, buttons, naming
from app.agent.policy.chords import Pressed, listed_chords, pressed, spelled
from app.agent.policy.programs import Programs, tier_of
from app.agent.policy.values import (
    OWN_FOLDER,
    Action,
    Consequence,
    Control,
    Kinds,
    Need,
    Subject,
    Tier,
    Trust,
)
from app.base import drives, resources
from app.base.errors import ToolFailed, WispError
from app.base.phrases import Phrase
from app.base.values import dataclass, field, replace
from app.desktop.backends import Owner
from app.desktop.elements import SECRET
from app.protocol.call import JsonValue, ToolCall
from app.protocol.spec import HARMLESS, PASSING, Effect, Gesture, ScreenAim, ToolSpec
from app.services.files import document_kinds, origins, places, survey
from app.services.files.document_kinds import DocumentKind
from app.services.files.places import DOC_PATH, Workspace, Zone
from app.services.sandbox.layout import CommandClass
from app.tools.acts import menu_entries_of


class CommandClassifier(Protocol):
    """Classifies the command of a call without running it."""

    def classify(self, call: ToolCall) -> CommandClass | None:
        """None for a call that starts no command and types into none. Never raises."""
        ...


class NobodyKnows:
    """The command classifier of a machine without one: it knows no command and no sandbox."""

    def classify(self, call: ToolCall) -> CommandClass | None:
        return CommandClass(False, False, False, False) if call.has(_COMMAND) else None


_COMMAND = "command"
_FREE_ZONES = (Zone.WORKSPACE, Zone.MADE)
_HARMLESS = (DocumentKind.FOLDER, DocumentKind.PLAIN)
_BETWEEN = re.compile(r"[\s'\"=;|&<>(){}$`,]+")
_SEARCHES = re.compile(r"\b(?:rg|ag|ack|[ef]?grep\b.*\s-\w*[rR]|grep\b.*--recursive)")
_LEAVING = (Consequence.UNSANDBOXED, Consequence.LEAVES, Consequence.REACHES_OUT)
_WEB = "the web"
"""Where a search goes."""
_DESKTOP = "the desktop"
"""Where no program is known to be: the background, or no window at all."""
_ATTACHED = Owner("attached browser", "your own browser")


@dataclass(frozen=True, slots=True)
class CallAnalyzer:
    """Analyses calls. `own_keys` are Wisp's keys, `own_ports` the ports that this conversation's commands serve.

    `programs` are the person's own names of programs by tier.
    """

    workspace: Workspace
    commands: CommandClassifier
    own_keys: tuple[str, ...] = ()
    own_ports: Callable[[], Collection[int]] = tuple
    programs: Programs = field(default_factory=dict)

    def act(self, call: ToolCall, spec: ToolSpec, seen: Sequence[Control], trust: Trust) -> Action:
        """`seen` are the controls that the call would act on; () for a call off the desktop."""
        arguments = _opened(call, spec)
        effects = addresses.really(spec.effects_of(call), arguments, self.own_ports)
        controls = _targets(call, spec, seen)
        paths, kinds = self._paths(effects, arguments) if spec.opens or effects != {Effect.DESKTOP} else ((), set())
        hosts, host_kinds = addresses.reached(effects, arguments)
        command = next(iter(addresses.texts(arguments, (_COMMAND,))), "")
        command_kinds, reasons = self._command(call)
        private, secrets = self._private(effects, paths, command, command_kinds, trust.words)
        agreed = spec.read_back(call) if spec.read_back else None
        text = call.text(spec.typed)
        keys = pressed(call.text(spec.pressed), dict(controls[-1].symbols) if controls else {})
        kinds |= {*host_kinds, *command_kinds, *private, *_of_tool(call, spec, effects, trust.words)}
        kinds |= {Consequence.UNAIMED} if spec.is_unaimed else set()
        kinds |= {Consequence.OUTWARD} if (hosts and paths and {Effect.READS, Effect.NETWORK} <= effects) else set()
        kinds |= self._on_screen(spec, controls, text, keys)
        kinds |= {Consequence.LAUNCHES} if spec.opens and not hosts and _may_run(paths) else set()
        act = Action(
            spec.name,
            effects,
            frozenset(kinds),
            controls=controls,
            paths=paths,
            hosts=hosts,
            keys=spelled(call.text(spec.pressed)),
            text=text,
            command=command,
            reasons=reasons,
            secrets=secrets,
            arguments={**call.arguments, **({"read_back": agreed.said()} if agreed else {})},
            is_added=spec.is_added,
            agreed=agreed,
        )
        return replace(act, needs=tuple(dict.fromkeys(self._needs(call, spec, act, trust.words, keys))))

    def tier(self, owner: Owner) -> Tier:
        return tier_of(owner, self.programs)

    def _needs(self, call: ToolCall, spec: ToolSpec, act: Action, said: str, keys: Sequence[Pressed]) -> Iterator[Need]:
        """Yield everything that the act needs a grant for."""
        if Effect.DESKTOP in act.effects:
            yield from self._of_programs(call, spec, act, said, keys)
        if Effect.NETWORK in act.effects and not act.is_added:
            yield from (_host(host, said) for host in act.hosts or (_server_of(call),))
        if act.is_added and (server := call.text("server_name")) and not act.effects <= HARMLESS:
            yield Need(Subject.SERVER, server, server, is_outward=True, is_named=naming.names_any(said, [server]))
        yield from _of_files(act, said)
        yield from _of_what_lasts(call, spec, act)

    def _of_programs(
        self, call: ToolCall, spec: ToolSpec, act: Action, said: str, keys: Sequence[Pressed]
    ) -> Iterator[Need]:
        puts_text = bool(act.text) or spec.aim is ScreenAim.ENDS or call.text("button") == "middle"
        puts_text = puts_text or any(one.types or one.holds(listed_chords("pastes")) for one in keys)
        for control in act.controls:
            window, owner = control.window, control.window.owner
            if window.host:
                yield _host(window.host, said)
            else:
                tier = self.tier(owner)
                is_named = naming.names_any(said, owner.names) or (
                    tier is Tier.ORDINARY and _names_document(said, window.title)
                )
                outward = tier is Tier.OTHERS and puts_text
                yield Need(Subject.PROGRAM, owner.ref, owner.name or _DESKTOP, tier, outward, is_named, owner.names)
                if tier is Tier.COMMANDS and control is act.control and _may_run_there(spec):
                    is_said = bool(act.text) and naming.names_any(said, [act.text])
                    yield Need(Subject.TYPING, owner.ref, owner.name, tier, is_named=is_said)
        if label := buttons.pressed_label(spec, act.control, keys):
            is_named = naming.names_any(said, [label]) or naming.begins_any(said, buttons.stems_in(label))
            yield Need(Subject.BUTTON, f"{act.control.window.owner.ref}\0{label}", label, is_named=is_named)

    def _on_screen(
        self, spec: ToolSpec, controls: Sequence[Control], text: str, keys: Sequence[Pressed]
    ) -> set[Consequence]:
        found: set[Consequence] = set()
        if any(one.holds(self._own_combinations() | listed_chords("session")) for one in keys):
            found.add(Consequence.SESSION)
        if spec.gesture is Gesture.HOVER or spec.aim is ScreenAim.UNSAVED or not controls:
            return found
        if any(control.window.is_own for control in controls):
            found.add(Consequence.OWN)
        if any(self.tier(control.window.owner) is Tier.NEVER for control in controls):
            found.add(Consequence.NEVER)
        if _puts_into_password(spec, controls, text, keys):
            found.add(Consequence.PASSWORD)
        if text:
            found |= self._typed(text, controls[-1])
        return found

    def _typed(self, text: str, control: Control) -> Kinds:
        """The walls that a typed address or path meets: it would be opened or saved where it is typed."""
        word = text.strip()
        if len(word.splitlines()) != 1:
            return frozenset()
        target = document_kinds.target_of(word)
        if target is not None and target.path and not target.address:
            return frozenset(self._path(target.path, is_changing=True)[1] & {Consequence.SECRET, Consequence.STARTS})
        return addresses.of_typed(word) if self.tier(control.window.owner) is Tier.OTHERS else frozenset()

    def _own_combinations(self) -> frozenset[frozenset[str]]:
        return frozenset(one.symbols for text in self.own_keys for one in pressed(text))

    def _paths(
        self, effects: frozenset[Effect], arguments: Mapping[str, JsonValue]
    ) -> tuple[tuple[str, ...], set[Consequence]]:
        is_changing = Effect.WRITES in effects
        if not is_changing and not effects & {Effect.READS, Effect.DESKTOP}:
            return (), set()
        shown: list[str] = []
        kinds: set[Consequence] = set()
        moved = addresses.texts(arguments, ("source",)) if is_changing else ()
        for path in addresses.texts(arguments, _PATHS):
            where, found = self._path(path, is_changing=is_changing)
            found |= {Consequence.CARRIES} if path in moved and survey.holds_starting(Path(where)) else set()
            shown.append(where)
            kinds |= found
        kinds -= set() if is_changing else {Consequence.STARTS, Consequence.OUTSIDE}
        return tuple(shown), kinds

    def _path(self, path: str, *, is_changing: bool) -> tuple[str, set[Consequence]]:
        """Return the resolved path and the facts about using it: UNCLEAR if it cannot be resolved."""
        try:
            place = self.workspace.locate(path)
        except WispError:
            return path, {Consequence.UNCLEAR}
        # A model wrote the description of a surface, perhaps after it read others' words.
        found = {Consequence.FOREIGN} if path.startswith(DOC_PATH) else set[Consequence]()
        try:
            self.workspace.check_readable(place)
        except ToolFailed:
            found.add(Consequence.SECRET)
        if places.starts_here(place.path) or OWN_FOLDER in place.path.parts:
            found.add(Consequence.STARTS)
        if place.zone not in _FREE_ZONES and is_changing:
            found.add(Consequence.OUTSIDE)
        return str(place.path), found

    def _private(
        self, effects: frozenset[Effect], paths: tuple[str, ...], command: str, told: set[Consequence], said: str
    ) -> tuple[set[Consequence], tuple[str, ...]]:
        """Return the facts about reading secrets of the workspace, and the names of the secret files."""
        root = self.workspace.folder
        kinds: set[Consequence] = set()
        if Effect.READS in effects:
            found = named = _secrets_among(paths)
            kinds |= {Consequence.FOREIGN} if origins.foreign_among(paths) else set()
        elif command and told:
            there = places.local_secrets_in(root)
            named = _named_in(command, there)
            found = tuple(there) if _may_read_any(command, only_looks=Consequence.LOOKS in told) else named
            kinds |= {Consequence.FOREIGN} if origins.foreign_folder(root) else set()
        else:
            return kinds, ()
        kinds |= {Consequence.UNASKED} if any(not naming.names_any(said, [path.name]) for path in named) else set()
        return kinds, tuple(path.name for path in found)

    def _command(self, call: ToolCall) -> tuple[set[Consequence], tuple[Phrase, ...]]:
        """Return the facts about the call's command, and sentences on why it is not harmless."""
        told = self.commands.classify(call)
        if told is None:
            return set(), ()
        kinds = {Consequence.SANDBOXED} if told.sandboxed else {Consequence.UNSANDBOXED}
        kinds |= {Consequence.REACHES_OUT} if told.wants_network else set()
        kinds |= {Consequence.LEAVES} if told.wants_outside else set()
        return {Consequence.LOOKS} if told.read_only and kinds == {Consequence.SANDBOXED} else kinds, told.reasons


def _of_files(act: Action, said: str) -> Iterator[Need]:
    """Yield what an act needs for the files that it touches, gives away or opens, and for its command."""
    kinds, names = act.kinds, [Path(path).name for path in act.paths]
    if Consequence.OUTSIDE in kinds:
        yield from (_folder(path, said) for path in act.paths)
    if kinds & {Consequence.UNCLEAR, Consequence.CARRIES}:
        yield from (Need(Subject.FOLDER, f"{path}\0{kinds}", path) for path in act.paths[:1])
    if act.command and kinds.intersection(_LEAVING):
        subject = Subject.LEAVING if Consequence.LEAVES in kinds else Subject.COMMAND
        is_named = naming.names_any(said, [act.command])
        yield Need(subject, act.command, act.command, is_outward=kinds != {Consequence.LEAVES}, is_named=is_named)
    if Consequence.LAUNCHES in kinds:
        yield Need(Subject.OPENING, "\0".join(act.paths), names[0], is_named=naming.names_any(said, names))
    if Consequence.OUTWARD in kinds:
        key = "\0".join((*act.paths, *act.hosts))
        yield Need(Subject.SENDING, key, names[0], is_outward=True, is_named=naming.names_any(said, names))
    if Consequence.UNASKED in kinds:
        yield Need(Subject.SECRET, " ".join(act.secrets), ", ".join(act.secrets))


def _of_what_lasts(call: ToolCall, spec: ToolSpec, act: Action) -> Iterator[Need]:
    """Yield what an act needs for what it keeps beyond the task, and for what the model itself warns of."""
    if Effect.ENDS in act.effects:
        yield Need(Subject.SESSION, spec.name, spec.name, is_nameable=False)
    if Effect.SETTINGS in act.effects or spec.is_always_asked:
        key = f"{spec.name}\0{sorted(map(str, call.arguments.items()))}"
        yield Need(Subject.SETTINGS, key, spec.name, is_nameable=spec.is_powerless)
    elif Consequence.PERSISTS in act.kinds:
        yield Need(Subject.KEEPING, spec.name, spec.name)
    if call.arguments.get("keep") is True:
        yield Need(Subject.KEEPING, act.command, act.command)
    if call.arguments.get("requires_approval") is True:
        yield Need(Subject.WARNING, act.command or spec.name, act.command or spec.name)
    if call.arguments.get("attach") is True:
        yield Need(Subject.PROGRAM, _ATTACHED.ref, _ATTACHED.name, Tier.OTHERS)


_PATHS = ("path", "source", "destination", "cwd", "file")
_CHILDREN = ("wallpaper",)
"""Children whose fields are judged like arguments of the call: what a theme's background is drawn or fetched from."""


def _of_tool(call: ToolCall, spec: ToolSpec, effects: frozenset[Effect], said: str) -> Kinds:
    """Return PERSISTS if the call keeps words for later tasks that are not the person's."""
    kept = call.text(spec.named_later) if spec.named_later else ""
    is_kept = (spec.is_lasting and effects != {Effect.READS}) or (kept and not naming.says_all(said, kept))
    return frozenset({Consequence.PERSISTS} if is_kept else ())


def _targets(call: ToolCall, spec: ToolSpec, seen: Sequence[Control]) -> tuple[Control, ...]:
    """An entry of a menu is a control of the window that it belongs to."""
    if spec.aim is not ScreenAim.MENU:
        return tuple(seen)
    names = menu_entries_of(call)
    return (replace(seen[-1] if seen else Control(), role="menu item", name=names[-1] if names else ""),)


def _puts_into_password(spec: ToolSpec, controls: Sequence[Control], text: str, keys: Sequence[Pressed]) -> bool:
    """Return whether a call puts text into a password field: typed, set, pasted or dropped.

    Where the control with the keyboard is unknown in a window with a password field, it may be that field.
    """
    control = controls[-1]
    is_password = control.role == SECRET or (control.has_password and not control.role)
    puts = bool(text) or spec.gesture in (Gesture.DRAG, Gesture.RELEASE, Gesture.SET)
    return is_password and (puts or any(one.types or one.holds(listed_chords("pastes")) for one in keys))


def _may_run_there(spec: ToolSpec) -> bool:
    """True for any act that is no mere look: in a program that runs commands, it may run or paste something."""
    return spec.gesture not in PASSING and spec.aim not in (ScreenAim.WINDOW, ScreenAim.PROGRAM, ScreenAim.AWAY)


def _server_of(call: ToolCall) -> str:
    """Return the host that the call sends to where the person's settings, not the call, choose it; else ""."""
    try:
        return urlsplit(call.text("server")).hostname or ""
    except ValueError:  # because the setting may be no address
        return ""


def _host(host: str, said: str) -> Need:
    """The person names the host, or a domain that it belongs to."""
    labels = host.split(":", maxsplit=1)[0].split(".")
    names = [".".join(labels[at:]) for at in range(max(len(labels) - 1, 1))]
    return Need(
        Subject.HOST, host, host or _WEB, is_outward=True, is_named=bool(host) and naming.names_any(said, names)
    )


def _folder(path: str, said: str) -> Need:
    """For a path outside the workspace. The person names the file, its folder or its drive."""
    folder, home = Path(path).parent, str(Path.home())
    ways = [path, str(folder), path.replace(home, "~", 1), str(folder).replace(home, "~", 1)]
    ways += [Path(path).name, Path(path).stem, folder.name] if folder.is_relative_to(home) else _drive_names(path)
    return Need(Subject.FOLDER, str(folder), str(folder), is_named=naming.names_any(said, ways))


def _drive_names(path: str) -> list[str]:
    """“The USB stick” names the only drive."""
    plugged_in = drives.drives()
    drive = next((one for one in plugged_in if Path(path).is_relative_to(one)), None)
    if drive is None:
        return []
    return [drive.name, *(drives.drive_words() if len(plugged_in) == 1 else ())]


def _names_document(said: str, title: str) -> bool:
    words = re.findall(r"[^\s\"'()\[\]*|]+\.\w{1,5}\b", title)
    return naming.names_any(said, (Path(word).name for word in words))


def _may_run(paths: Iterable[str]) -> bool:
    return any(document_kinds.kind_of(path) not in _HARMLESS for path in paths)


def _opened(call: ToolCall, spec: ToolSpec) -> Mapping[str, JsonValue]:
    """Return the call's arguments. What the call opens is added under `url` if it is an address, else under `path`."""
    children = (call.arguments.get(name) for name in _CHILDREN)
    inner = {name: value for child in children if isinstance(child, Mapping) for name, value in child.items()}
    target = document_kinds.target_of(call.text(spec.opens)) if spec.opens else None
    if target is None:
        return {**inner, **call.arguments}
    return {**call.arguments, **({"url": target.address} if target.address else {"path": target.path})}


def _secrets_among(paths: Iterable[str]) -> tuple[Path, ...]:
    found = (Path(path) for path in paths)
    return tuple(path for path in found if places.is_local_secret(path) or places.is_private_key(path))


def _named_in(command: str, secrets: Iterable[Path]) -> tuple[Path, ...]:
    """Return the secrets that the words of a command name, directly or by a pattern such as `*.pem`."""
    words = [Path(word).name for word in _BETWEEN.split(command) if word]
    return tuple(path for path in secrets if any(_fits(path.name, word) for word in words))


def _may_read_any(command: str, *, only_looks: bool) -> bool:
    """Return whether a command may read files that it does not name."""
    return not only_looks or _SEARCHES.search(command) is not None


def _fits(name: str, word: str) -> bool:
    return name == word or (any(sign in word for sign in "*?[") and fnmatchcase(name, word))


_SOURCES = {Effect.NETWORK: "web", Effect.DESKTOP: "screen", Effect.EXECUTES: "command"}


def source_of(act: Action, spec: ToolSpec) -> str:
    """Return whose words a call's result brings into the task, by name; "" if it brings only the person's or Wisp's.

    "screen" counts only where a program that reaches others shows there; the gate looks for that.
    """
    source = spec.taint or _SOURCES.get(act.effect, "")
    if source == "outside" and act.hosts:
        return "web"
    if source in ("outside", "workspace"):
        return "workspace" if Consequence.FOREIGN in act.kinds else ""
    if source == "skill":
        name = str(act.arguments.get("name", ""))
        return source if name and name not in resources.folders("skills") else ""
    if source == "memory":
        return "conversation" if act.arguments.get("in") == "conversations" else ""
    if source == "command" and not act.kinds.intersection(_LEAVING):
        return "workspace" if Consequence.FOREIGN in act.kinds else ""
    return source
