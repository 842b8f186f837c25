"""Analyse a call: return its effects, consequences, paths, hosts, keys and text as one `Action`.

Paths are resolved as the tools resolve them, addresses as the network reads them, controls and keys by the tables in
`resources/policy`. What the model says about its own call can only make it stricter (SECURITY.md: "The class of an act
comes from what it resolves to").
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Protocol

from app.agent.policy import addresses, consequences, keystrokes, pointing, saving, terminals
from app.agent.policy.chords import ALT, CTRL, pressed, spelled
from app.agent.policy.instructions import listed
from app.agent.policy.keystrokes import DesktopAct
from app.agent.policy.sentences import by_tool, table
from app.agent.policy.values import OWN_FOLDER, Action, Consequence, Control, Kinds, Provenance
from app.base.errors import ToolFailed, WispError
from app.base.values import dataclass, replace
from app.protocol.call import JsonValue, ToolCall
from app.protocol.spec import PASSING, Effect, Gesture, ScreenAim, ToolSpec
from app.services.files import document_kinds, origins, places, survey
from app.services.files.places import Workspace, Zone
from app.services.sandbox.layout import CommandClass
from app.services.skills import shipped_names
from app.services.surfaces.store import DOC_PATH
from app.tools.acts import menu_entries_of


class CommandClassifier(Protocol):
    """Classifies the command of a call without running it."""

    def classify(self, call: ToolCall) -> CommandClass | None:
        """Return the class, or None for a call that starts no command and types into none. Never raises."""
        ...


_BETWEEN = re.compile(r"[\s'\"=;|&<>(){}$`,]+")
_SEARCHES = re.compile(r"\b(?:rg|ag|ack|[ef]?grep\b.*\s-\w*[rR]|grep\b.*--recursive)")


def among(paths: Iterable[str]) -> tuple[Path, ...]:
    """Return those of these absolute paths that are files with keys or passwords."""
    found = (Path(path) for path in paths)
    return tuple(path for path in found if places.is_local_secret(path) or places.is_private_key(path))


def named_in(command: str, secrets: Iterable[Path]) -> tuple[Path, ...]:
    """Return the secrets that the words of a command name, directly or by a pattern such as `*.pem`."""
    words = [Path(word).name for word in _BETWEEN.split(command) if word]
    return tuple(path for path in secrets if any(_fits(path.name, word) for word in words))


def may_read_any(command: str, *, only_looks: bool) -> bool:
    """Return whether a command may read files that it does not name."""
    return not only_looks or _SEARCHES.search(command) is not None


def _fits(name: str, word: str) -> bool:
    return name == word or (any(sign in word for sign in "*?[") and fnmatchcase(name, word))


_MENU_ITEM = "menu item"
_BUTTON = "button"
_FREE_ZONES = (Zone.WORKSPACE, Zone.MADE)
_MADE_ZONES = (*_FREE_ZONES, Zone.TEMP)
_WORD = re.compile(r"\w+")
_DOCUMENT = re.compile(r"[^\s\"'()\[\]*|]+\.\w{1,5}\b")
_NAMING_CHARS = 4
_BY_NAME = frozenset({Consequence.OUTWARD, Consequence.IRREVERSIBLE, Consequence.PRIVILEGED})


class NobodyKnows:
    """The command classifier of a machine without one: it knows no command and no sandbox."""

    def classify(self, call: ToolCall) -> CommandClass | None:
        is_command = any(call.has(name) for name in table("calls")["arguments"]["commands"])
        return CommandClass(False, False, False, False) if is_command else None


@dataclass(frozen=True, slots=True)
class CallAnalyzer:
    """Analyses calls. `own_keys` are Wisp's keys, `own_ports` the ports that this conversation's commands serve."""

    workspace: Workspace
    commands: CommandClassifier
    own_keys: tuple[str, ...] = ()
    own_ports: Callable[[], Collection[int]] = tuple

    def act(self, call: ToolCall, spec: ToolSpec, seen: Sequence[Control], provenance: Provenance) -> Action:
        """Return the action of a call. `seen` are the controls that it would act on; () for a call off the desktop."""
        effects = spec.effects_of(call)
        if spec.aim is ScreenAim.MENU:
            seen = (_menu_entry(call, seen),)
        chords, done = _text(call.arguments, spec.pressed), _done(call, spec, seen)
        # What is opened from a browser's address bar is judged as `open_app` of it would be.
        is_typing = spec.aim is ScreenAim.FOCUS and bool(seen)
        more, entered = addresses.navigation(keystrokes.entered(done)) if is_typing else (frozenset(), {})
        arguments = {**_opened(call, spec), **entered}
        effects = addresses.really(effects | more, arguments, self.own_ports)
        # The path of a drag or through a menu is no file.
        names_files = bool(spec.opens or entered) or effects != {Effect.DESKTOP}
        paths, kinds = self._paths(effects, arguments) if names_files else ((), set())
        hosts, host_kinds = addresses.reached(effects, arguments, provenance)
        command = next(iter(addresses.texts(arguments, table("calls")["arguments"]["commands"])), "")
        command_kinds, reasons = self._command(call)
        private_kinds, secrets = self._private(effects, paths, command, command_kinds, provenance.said)
        kinds |= private_kinds
        on_desktop = self._on_desktop(call, spec, seen, done) if Effect.DESKTOP in effects else set()
        on_desktop -= _mild(spec, seen, provenance)
        may_save = bool(seen) and spec.gesture not in PASSING
        saved, saved_kinds = self._saved(done, provenance) if may_save else ((), set())
        paths, kinds = (*paths, *saved), kinds | saved_kinds
        kinds |= host_kinds | command_kinds | _of_tool(spec, effects, hosts, paths) | on_desktop
        kinds |= _of_kept(call, spec, provenance.said)
        kinds |= keystrokes.of_running(done, spec, provenance)
        if spec.aim is ScreenAim.FOCUS:
            line = provenance.lines.get(done.control.window.key, "")
            kinds |= terminals.of_begun_key(done.control, done.keys, line)
        kinds |= pointing.of_opening(call, spec, seen) | ({Consequence.LAUNCHES} if entered and not hosts else set())
        if Consequence.UNKNOWN in kinds and is_answered(seen, provenance):
            kinds = kinds - {Consequence.UNKNOWN} | {Consequence.ANSWERED}
        agreed = spec.read_back(call) if spec.read_back else None
        act = Action(
            spec.name,
            effects,
            frozenset(kinds),
            controls=tuple(seen),
            paths=paths,
            hosts=hosts,
            keys=spelled(chords),
            text=done.text,
            command=command,
            reasons=reasons,
            secrets=secrets,
            arguments={
                **_inner(call),
                **call.arguments,
                **({"read_back": agreed.said()} if agreed else {}),
            },
            is_added=spec.is_added,
            agreed=agreed,
        )
        if _is_kept_elsewhere(act, spec, provenance):
            return replace(act, kinds=act.kinds | {Consequence.SHARED})
        texts = [text for text in saving.texts_of(act) if text != saving.EDITED]
        typed = act.text if spec.aim is ScreenAim.FOCUS else ""
        is_shared = addresses.shares(act, texts, typed, provenance)
        return replace(act, kinds=act.kinds | {Consequence.SHARED}) if is_shared else act

    def _on_desktop(
        self, call: ToolCall, spec: ToolSpec, seen: Sequence[Control], done: DesktopAct
    ) -> set[Consequence]:
        """Return the consequences of the call on the desktop. `done` is what it does there."""
        is_own = spec.gesture is not Gesture.HOVER and any(control.window.is_own for control in seen)
        found = {Consequence.OWN} if is_own else set()
        if done.aim is ScreenAim.FOCUS:
            # The first press may end the program in front, so that the repeated ones are judged like further keys.
            is_repeated = call.integer("repeat", 1) > 1 or call.integer("hold_ms") > 0
            found |= keystrokes.of_keys(done.keys * (2 if is_repeated else 1), done.control, self.own_keys)
            found |= keystrokes.of_text(done.text, done.control) if done.text else set()
        elif done.aim is ScreenAim.MENU:
            found |= _of_menu_entries(call)
        elif done.aim is ScreenAim.PROGRAM:
            found |= {Consequence.LAUNCHES} if any(map(self._is_made, done.control.files)) else set()
        elif done.aim is ScreenAim.WINDOW:
            found |= consequences.of_closing(done.control)
        elif seen and done.aim is not ScreenAim.AWAY:
            found |= pointing.of_pointing(call, spec, seen, done.text)
        return found

    def _paths(
        self, effects: frozenset[Effect], arguments: Mapping[str, JsonValue]
    ) -> tuple[tuple[str, ...], set[Consequence]]:
        names = table("calls")["arguments"]
        is_changing = bool(effects & set(names["changing_effects"]))
        if not is_changing and not effects & set(names["path_effects"]):
            return (), set()
        shown: list[str] = []
        kinds: set[Consequence] = set()
        moved = addresses.texts(arguments, names["moved"]) if is_changing else ()
        for path in addresses.texts(arguments, names["paths"]):
            where, found = self._path(path, is_changing=is_changing)
            found |= {Consequence.CARRIES} if path in moved and survey.holds_starting(Path(where)) else set()
            shown.append(where)
            kinds |= found
        return tuple(shown), kinds

    def _path(self, path: str, *, is_changing: bool) -> tuple[str, set[Consequence]]:
        """Return the resolved path and the consequences of using it: UNCLEAR if it cannot be resolved."""
        try:
            place = self.workspace.locate(path)
        except WispError:
            return path, {Consequence.UNCLEAR}
        # A model wrote the description of a surface, perhaps after it read others' words.
        found = {Consequence.FAR} if path.startswith(DOC_PATH) else set[Consequence]()
        try:
            self.workspace.check_readable(place)
        except ToolFailed:
            found.add(Consequence.SECRET)
        if places.starts_here(place.path) or OWN_FOLDER in place.path.parts:
            found.add(Consequence.STARTS)
        if place.zone not in _FREE_ZONES:
            found.add(Consequence.OUTSIDE if is_changing else Consequence.FAR)
        return str(place.path), found

    def _is_made(self, path: str) -> bool:
        """Return whether tools or commands may have written the file at this path, or a folder on the way to it."""
        folder = self.workspace.folder
        return Path(os.path.normpath(path)).is_relative_to(folder) or self.workspace.locate(path).zone in _MADE_ZONES

    def _saved(self, done: DesktopAct, provenance: Provenance) -> tuple[tuple[str, ...], set[Consequence]]:
        """Return the paths that a call may save or open by a dialog, editor or file manager, as far as they have
        consequences, and these consequences.
        """
        window = done.control.window
        if written := self._written_in_terminal(done):
            return written
        if kept := self._saved_document(done, provenance):
            return kept
        named = saving.names_given(done, provenance)
        if named or consequences.names_item(done.control):
            return tuple(named), set().union(*named.values())
        if _is_naming(done):
            return (), {Consequence.TERMINAL}
        # Of a way through menus, the entry that is found is judged again, with what is known of its window by then.
        if done.aim is ScreenAim.MENU or not keystrokes.affirms(done):
            return (), set()
        known, is_opening = provenance.typed.get(window.app, ()), _is_opening(done)
        stands = () if is_opening else saving.names_in(done, known)
        lines = [*filter(None, [*known, done.line, done.control.keyboard.pasted or ""])]
        copied = provenance.typed.get("", ())
        latest = {*lines[-1:], *copied[-1:], *(stands or ())}
        judged = {Consequence.SECRET} if is_opening else {Consequence.SECRET, Consequence.STARTS}
        kinds: set[Consequence] = set()
        shown: list[str] = []
        for path in saving.paths_in(lines, (*copied, *(stands or ()))):
            where, found = self._path(path, is_changing=True)
            is_asked = Consequence.STARTS in judged and path in latest and not _is_said(path, provenance.said)
            found &= judged | ({Consequence.OUTSIDE, Consequence.UNCLEAR} if is_asked else set())
            shown += [where] if found else []
            kinds |= found
        unclear = [] if stands is None else [name for name in stands if saving.is_unclear(name)]
        if (stands is None or unclear) and saving.names_file(done):
            return (*shown, *unclear), kinds | {Consequence.UNCLEAR}
        return tuple(shown), kinds

    def _saved_document(
        self, done: DesktopAct, provenance: Provenance
    ) -> tuple[tuple[str, ...], set[Consequence]] | None:
        """Return the path and consequences of saving the document in the window's title; None if harmless."""
        title = done.control.window.title
        if not saving.saves(done):
            return None
        if starting := saving.starting_in(title):
            return (starting,), {Consequence.STARTS}
        linked = saving.linked_in(title, self.workspace.folder)
        where, found = self._path(linked, is_changing=True) if linked else ("", set())
        if found := found & {Consequence.SECRET, Consequence.STARTS, Consequence.OUTSIDE, Consequence.UNCLEAR}:
            return (where,), found
        has_typed = bool(provenance.typed.get(done.control.window.app))
        is_unasked = has_typed and saving.names_document(title) and not _may_alter(title, provenance.said)
        return ((), {Consequence.UNKNOWN}) if is_unasked else None

    def _written_in_terminal(self, done: DesktopAct) -> tuple[tuple[str, ...], set[Consequence]] | None:
        """Return the protected file that an editor in a terminal may save by this call, and why; None if none."""
        for path in saving.written_in_terminal(done):
            where, found = self._path(path, is_changing=True)
            if found := found & {Consequence.SECRET, Consequence.STARTS}:
                return (where,), found
        return None

    def _private(
        self, effects: frozenset[Effect], paths: tuple[str, ...], command: str, told: set[Consequence], said: str
    ) -> tuple[set[Consequence], tuple[str, ...]]:
        """Return the consequences of reading secrets of the workspace, and the names of the secret files."""
        root = self.workspace.folder
        found: tuple[Path, ...] = ()
        kinds: set[Consequence] = set()
        if Effect.READS in effects:
            found = named = among(paths)
            kinds |= {Consequence.FOREIGN} if origins.foreign_among(paths) else set()
        elif command and told:
            there = places.local_secrets_in(root)
            named = named_in(command, there)
            found = tuple(there) if may_read_any(command, only_looks=Consequence.LOOKS in told) else named
            kinds |= {Consequence.FOREIGN} if origins.foreign_folder(root) else set()
        else:
            return kinds, ()
        kinds |= {Consequence.PRIVATE} if found else set()
        kinds |= {Consequence.UNASKED} if any(path.name.casefold() not in said.casefold() for path in named) else set()
        return kinds, tuple(path.name for path in found)

    def _command(self, call: ToolCall) -> tuple[set[Consequence], tuple[str, ...]]:
        """Return the consequences of the call's command, and sentences on why it is not harmless."""
        told = self.commands.classify(call)
        if told is None:
            return set(), ()
        kinds = {Consequence.SANDBOXED} if told.sandboxed else {Consequence.UNSANDBOXED}
        kinds |= {Consequence.REACHES_OUT} if told.wants_network else set()
        kinds |= {Consequence.LEAVES} if told.wants_outside else set()
        return {Consequence.LOOKS} if told.read_only and kinds == {Consequence.SANDBOXED} else kinds, told.reasons


def _of_menu_entries(call: ToolCall) -> Kinds:
    """Return the consequences of pressing each menu entry that the call names. Each is judged again when it is met."""
    return frozenset().union(*(consequences.meaning_of(_MENU_ITEM, name) for name in menu_entries_of(call)))


def _menu_entry(call: ToolCall, seen: Sequence[Control]) -> Control:
    """Return the last menu entry that the call names, as a control of the window that it acts on."""
    names = menu_entries_of(call)
    return replace(seen[-1] if seen else Control(), role=_MENU_ITEM, name=names[-1] if names else "")


def _may_alter(title: str, said: str) -> bool:
    """Return whether what the turn typed may replace the document in the title: the person asked for a change, and
    named no other document.
    """
    words = (Path(one.rstrip(".")).name.casefold() for one in _DOCUMENT.findall(said))
    named = {word for word in words if document_kinds.is_plain_name(word)}
    shown = {Path(word).name.casefold() for word in saving.titled(title)}
    is_asked = not listed("deeds", "alter").isdisjoint(_WORD.findall(said.casefold()))
    return is_asked and (not named or not named.isdisjoint(shown))


def _is_naming(done: DesktopAct) -> bool:
    """Return whether keys leave a field in which a program that starts others may be naming a file."""
    is_there = done.aim is ScreenAim.FOCUS and done.control.window.opens_items and consequences.is_field(done.control)
    return is_there and any(
        stroke.key == "Tab" and not stroke.held & {ALT, CTRL} for one in done.keys for stroke in one.strokes
    )


def _is_opening(done: DesktopAct) -> bool:
    """Return whether the act opens the file that a dialog names, judged by the words of the pressed button."""
    words = _WORD.findall(done.label.replace("_", "").casefold())
    return done.control.is_known and bool(set(words) & consequences.starting_words("words"))


def _is_said(path: str, said: str) -> bool:
    """Return whether the person named the file, or its whole path."""
    name = Path(path).name.casefold()
    return len(name) >= _NAMING_CHARS and name in said.casefold()


def _mild(spec: ToolSpec, seen: Sequence[Control], provenance: Provenance) -> Kinds:
    """Return the consequences that the policy drops, because only a mild name (`is_mild`) suggests them."""
    is_at_a_control = spec.aim in (ScreenAim.POINT, ScreenAim.ELEMENT)
    if not is_at_a_control or len(seen) != 1 or provenance.tainted_by or seen[0].window.key in provenance.lines:
        return frozenset()
    return _BY_NAME if consequences.is_mild(seen[0]) else frozenset()


def is_answered(seen: Sequence[Control], provenance: Provenance) -> bool:
    """Return whether the person allowed or named each of these controls. A late one (`is_late`) never counts."""
    return bool(seen) and all(
        not control.is_late
        and (control.window.place in provenance.answered - {""} or _is_control_named(control, provenance))
        for control in seen
    )


def is_named(name: str, said: str) -> bool:
    """Return whether the person said every word of a name, of which one has at least `_NAMING_CHARS` characters."""
    words = set(_WORD.findall(name.casefold()))
    return words <= set(_WORD.findall(said.casefold())) and any(len(word) >= _NAMING_CHARS for word in words)


def _is_control_named(control: Control, provenance: Provenance) -> bool:
    """Return whether the person named the program, title or document. Titles of browsers and terminals do not count."""
    window, names = control.window, [control.window.app]
    if window.ref in provenance.opened - {""} and not window.runs_programs:
        return True
    if not (consequences.sends_on_return(control) or window.is_terminal):
        names += [window.title, *(Path(file).stem for file in _DOCUMENT.findall(window.title))]
    said = provenance.said
    return any(is_named(name, said) for name in names) or terminals.is_named(control, said.casefold())


def _opened(call: ToolCall, spec: ToolSpec) -> Mapping[str, JsonValue]:
    """Return the call's arguments. What the call opens is added under `url` if it is an address, else under `path`.

    The fields of a child that names what it takes from elsewhere count as arguments of the call.
    """
    target = document_kinds.target_of(_text(call.arguments, spec.opens)) if spec.opens else None
    if target is None:
        return {**_inner(call), **call.arguments}
    return {**call.arguments, **({"url": target.address} if target.address else {"path": target.path})}


def _inner(call: ToolCall) -> Mapping[str, JsonValue]:
    """Return the fields of the call's children that the tables list."""
    children = (call.arguments.get(name) for name in table("calls")["arguments"]["with_fields"])
    return {name: value for child in children if isinstance(child, Mapping) for name, value in child.items()}


def _done(call: ToolCall, spec: ToolSpec, seen: Sequence[Control]) -> DesktopAct:
    """Return what the call does to the last control that it acts on."""
    control = seen[-1] if seen else Control()
    keys = pressed(_text(call.arguments, spec.pressed), dict(control.keyboard.symbols))
    return DesktopAct(spec.aim or ScreenAim.NONE, keys, _text(call.arguments, spec.typed), control)


def _of_tool(spec: ToolSpec, effects: frozenset[Effect], hosts: Sequence[str], paths: Sequence[str]) -> Kinds:
    """Return the consequences of the tool and its effects. A call that reads a file and reaches a host sends it."""
    names = () if spec.is_added and Effect.READS in effects else by_tool(table("calls")["tools"], spec.name) or ()
    if Effect.NETWORK in effects:
        names = (*names, *(by_tool(table("calls")["tools_on_network"], spec.name) or ()))
    named = frozenset(map(Consequence, names)) | ({Consequence.PERSISTS} if Effect.SETTINGS in effects else set())
    named |= {Consequence.OUTWARD} if hosts and paths and {Effect.READS, Effect.NETWORK} <= effects else set()
    return named | {Consequence.LAUNCHES} if spec.opens and not hosts and effects != {Effect.DESKTOP} else named


def _of_kept(call: ToolCall, spec: ToolSpec, said: str) -> Kinds:
    """Return PERSISTS if the call stores a name that the person did not say: later prompts will contain it."""
    kept = addresses.texts(call.arguments, table("calls")["kept"].get(spec.name, ()))
    return frozenset() if all(addresses.was_said(one, said) for one in kept) else frozenset({Consequence.PERSISTS})


def _is_kept_elsewhere(act: Action, spec: ToolSpec, provenance: Provenance) -> bool:
    """Return whether the act copies words that are not the person's to the clipboard, which every program can read,
    after the turn has read a secret.
    """
    text = _text(act.arguments, spec.copied) if spec.copied and provenance.secrets else ""
    return bool(text.strip()) and not addresses.was_said(text, provenance.said)


def _text(arguments: Mapping[str, JsonValue], name: str) -> str:
    value = arguments.get(name)
    return value if isinstance(value, str) else ""


def source_of(act: Action, spec: ToolSpec) -> str:
    """Return the tables' name of the source that a call reads; "" if it reads nothing written by others."""
    source = _taint_of(act, spec)
    if source == "outside":
        return source if act.kinds & {Consequence.FAR, Consequence.OUTSIDE} else _workspace(act)
    if source == "skill":
        name = str(act.arguments.get("name", ""))
        return source if name and name not in shipped_names() else ""
    if source == "memory":
        return "conversation" if act.arguments.get("in") == "conversations" else ""
    if source == "command":
        return _workspace(act) if _is_held_in_sandbox(act) else source
    return source


def _taint_of(act: Action, spec: ToolSpec) -> str:
    """Return the source that a call reads, or "". Tools of added servers are found by the start of their names."""
    tables = table("calls")
    known = "web" if spec.taint == "outside" and act.hosts else spec.taint or by_tool(tables["reads"], spec.name)
    return str(known or tables["reads_by_effect"].get(act.effect.value, ""))


def _workspace(act: Action) -> str:
    """Return "workspace" if the call reads files of the workspace that came from elsewhere, else ""."""
    return "workspace" if Consequence.FOREIGN in act.kinds else ""


def personal_in(act: Action, spec: ToolSpec) -> str:
    """Return what of the person's own the result brings into the turn, by its name in the tables, or "".

    Personal is everything on this machine or behind a sign-in, by any author: names and contents of files (also in the
    workspace), the screen, the clipboard, the output of a command (it can read the workspace), the answer of an MCP
    server. Public web pages are not personal, nor is what the person says in the turn.
    """
    source = _taint_of(act, spec)
    return {"outside": "files", "web": "", "skill": ""}.get(source, source)


def _is_held_in_sandbox(act: Action) -> bool:
    """Return whether a command can only have read the workspace."""
    return bool(act.kinds & {Consequence.LOOKS, Consequence.SANDBOXED}) and Consequence.REACHES_OUT not in act.kinds
