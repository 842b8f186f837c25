"""Read what a call comes to: its effects, consequences, paths, hosts, keys and text, as one `Action`.

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

from app.agent.policy import addresses, consequences, keystrokes, saving, terminals
from app.agent.policy.chords import ALT, CTRL, pressed, spelled
from app.agent.policy.keystrokes import DesktopAct
from app.agent.policy.sentences import by_tool, table
from app.agent.policy.values import OWN_FOLDER, Action, Consequence, Control, Kinds, Provenance
from app.base.errors import ToolFailed, WispError
from app.base.values import dataclass, replace
from app.protocol.call import JsonValue, ToolCall
from app.protocol.spec import Effect, Gesture, ScreenAim, ToolSpec
from app.services.files import document_kinds, origins, places, survey
from app.services.files.document_kinds import DocumentKind
from app.services.files.places import Workspace, Zone
from app.services.sandbox.layout import CommandClass
from app.services.skills import shipped_names
from app.tools.acts import menu_entries_of


class CommandClassifier(Protocol):
    """Knows what a call's command would be, without running it."""

    def classify(self, call: ToolCall) -> CommandClass | None:
        """None for a call that starts no command and types into none. Never raises."""
        ...


_HARMLESS = frozenset({DocumentKind.FOLDER.value, DocumentKind.PLAIN.value})
_ACTIVE = frozenset({DocumentKind.RUNS.value, DocumentKind.LOADS.value})


_CHOICES = frozenset({Gesture.CLICK, Gesture.PRESS, Gesture.CHOOSE})
"""What starts an entry or a button of a program that starts others."""


def of_opening(call: ToolCall, spec: ToolSpec, seen: Sequence[Control]) -> Kinds:
    """Nothing where the item is known to be a folder or a plain document; in a terminal a double click only selects."""
    control = seen[-1] if seen else Control()
    if control.opens in _HARMLESS:
        return frozenset()
    starts = control.window.opens_items
    started = consequences.started_by(control.name, control) if spec.gesture in _CHOICES else frozenset[Consequence]()
    return started | frozenset({Consequence.LAUNCHES} if starts and _opens(call, spec, seen) else ())


def _opens(call: ToolCall, spec: ToolSpec, seen: Sequence[Control]) -> bool:
    """Return whether an item is opened. One click may do that, so it counts where the item can run."""
    control, count = seen[-1], call.arguments.get("count", 1)
    if spec.gesture is Gesture.CLICK:
        return isinstance(count, int) and (count > 1 or control.opens in _ACTIVE)
    # Letting a button go is a click, and twice a double click; so is a drag from an item to itself.
    is_in_place = spec.gesture is Gesture.DRAG and len(seen) > 1 and all(each == control for each in seen)
    is_click = control.name != "" and (is_in_place or spec.gesture is Gesture.RELEASE)
    return (is_click or spec.gesture is Gesture.PRESS) and control.role in table("launchers")["items"]


_BETWEEN = re.compile(r"[\s'\"=;|&<>(){}$`,]+")
_SEARCHES = re.compile(r"\b(?:rg|ag|ack|[ef]?grep\b.*\s-\w*[rR]|grep\b.*--recursive)")


def among(paths: Iterable[str]) -> tuple[Path, ...]:
    """The secrets among absolute paths."""
    found = (Path(path) for path in paths)
    return tuple(path for path in found if places.is_local_secret(path) or places.is_private_key(path))


def named_in(command: str, secrets: Iterable[Path]) -> tuple[Path, ...]:
    """The secrets that a command's words name, also by a pattern."""
    words = [Path(word).name for word in _BETWEEN.split(command) if word]
    return tuple(path for path in secrets if any(_fits(path.name, word) for word in words))


def may_read_any(command: str, *, only_looks: bool) -> bool:
    """Return whether a command may read files that it does not name."""
    return not only_looks or _SEARCHES.search(command) is not None


def _fits(name: str, word: str) -> bool:
    return name == word or (any(sign in word for sign in "*?[") and fnmatchcase(name, word))


_MENU_ITEM = "menu item"
_FREE_ZONES = (Zone.WORKSPACE, Zone.MADE)
_MADE_ZONES = (*_FREE_ZONES, Zone.TEMP)
_WORD = re.compile(r"\w+")
_DOCUMENT = re.compile(r"[^\s\"'()\[\]*|]+\.\w{1,5}\b")
_NAMING_CHARS = 4
_BY_NAME = frozenset({Consequence.OUTWARD, Consequence.IRREVERSIBLE, Consequence.PRIVILEGED})


class NobodyKnows:
    """The command classifier of a machine that has none: it knows no command, and there is no sandbox."""

    def classify(self, call: ToolCall) -> CommandClass | None:
        is_command = any(call.has(name) for name in table("calls")["arguments"]["commands"])
        return CommandClass(False, False, False, False) if is_command else None


@dataclass(frozen=True, slots=True)
class CallAnalyzer:
    """`own_keys` are Wisp's: no tool presses them. `own_ports` are those that the conversation's commands serve."""

    workspace: Workspace
    commands: CommandClassifier
    own_keys: tuple[str, ...] = ()
    own_ports: Callable[[], Collection[int]] = tuple

    def act(self, call: ToolCall, spec: ToolSpec, seen: Sequence[Control], provenance: Provenance) -> Action:
        """Return what the call comes to. `seen` is what it would act on, where it acts on the desktop."""
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
        may_save = bool(seen) and spec.gesture is not Gesture.SCROLL
        saved, saved_kinds = self._saved(done, provenance) if may_save else ((), set())
        paths, kinds = (*paths, *saved), kinds | saved_kinds
        kinds |= host_kinds | command_kinds | _of_tool(spec, effects, hosts) | on_desktop
        kinds |= keystrokes.of_running(done, spec, provenance)
        if spec.aim is ScreenAim.FOCUS:
            line = provenance.lines.get(done.control.window.key, "")
            kinds |= terminals.of_begun_key(done.control, done.keys, line)
        kinds |= of_opening(call, spec, seen) | ({Consequence.LAUNCHES} if entered and not hosts else set())
        if Consequence.UNKNOWN in kinds and is_answered(seen, provenance):
            kinds = kinds - {Consequence.UNKNOWN} | {Consequence.ANSWERED}
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
            arguments={**call.arguments, **({"read_back": spec.read_back(call)} if spec.read_back else {})},
            is_added=spec.is_added,
        )
        texts = [text for text in saving.texts_of(act) if text != saving.EDITED]
        typed = act.text if spec.aim is ScreenAim.FOCUS else ""
        is_shared = addresses.shares(act, texts, typed, provenance)
        return replace(act, kinds=act.kinds | {Consequence.SHARED}) if is_shared else act

    def _on_desktop(
        self, call: ToolCall, spec: ToolSpec, seen: Sequence[Control], done: DesktopAct
    ) -> set[Consequence]:
        """Return what it does to the desktop."""
        found = {Consequence.OWN} if any(control.window.is_own for control in seen) else set()
        if done.aim is ScreenAim.FOCUS:
            # The first press may end the program in front, so that the repeated ones are judged like further keys.
            is_repeated = call.integer("repeat", 1) > 1 or call.integer("hold_ms") > 0
            found |= keystrokes.of_keys(done.keys * (2 if is_repeated else 1), done.control, self.own_keys)
            found |= keystrokes.of_text(done.text, done.control) if done.text else set()
        elif done.aim is ScreenAim.MENU:
            found |= _of_menu_entries(call)
        elif done.aim is ScreenAim.PROGRAM:
            found |= {Consequence.LAUNCHES} if any(map(self._is_made, done.control.files)) else set()
        elif seen and done.aim is not ScreenAim.AWAY:
            found |= of_pointing(call, spec, seen, done.text)
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
        """Return where a path leads, as it is called, and what follows. What cannot be understood is unclear."""
        try:
            place = self.workspace.locate(path)
        except WispError:
            return path, {Consequence.UNCLEAR}
        found: set[Consequence] = set()
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
        """Return whether tools or commands may have written what stands there, or the way to it."""
        folder = self.workspace.folder
        return Path(os.path.normpath(path)).is_relative_to(folder) or self.workspace.locate(path).zone in _MADE_ZONES

    def _saved(self, done: DesktopAct, provenance: Provenance) -> tuple[tuple[str, ...], set[Consequence]]:
        """Return where the call may save a file: by the paths that the turn typed in the program of the dialog it
        affirms, and by what stands there.
        """
        window = done.control.window
        if written := self._written_in_terminal(done):
            return written
        if saving.saves(done):
            if starting := saving.starting_in(window.title):
                return (starting,), {Consequence.STARTS}
            linked = saving.linked_in(window.title, self.workspace.folder)
            where, found = self._path(linked, is_changing=True) if linked else ("", set())
            if found := found & {Consequence.SECRET, Consequence.STARTS, Consequence.OUTSIDE, Consequence.UNCLEAR}:
                return (where,), found
        named = saving.names_given(done, provenance)
        if named or consequences.names_item(done.control):
            return tuple(named), set().union(*named.values())
        if _is_naming(done):
            return (), {Consequence.TERMINAL}
        if not keystrokes.affirms(done):
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

    def _written_in_terminal(self, done: DesktopAct) -> tuple[tuple[str, ...], set[Consequence]] | None:
        """The protected file that the call may make a program in a terminal save."""
        for path in saving.written_in_terminal(done):
            where, found = self._path(path, is_changing=True)
            if found := found & {Consequence.SECRET, Consequence.STARTS}:
                return (where,), found
        return None

    def _private(
        self, effects: frozenset[Effect], paths: tuple[str, ...], command: str, told: set[Consequence], said: str
    ) -> tuple[set[Consequence], tuple[str, ...]]:
        """Return what follows from the secrets of the workspace that it reads, and their names."""
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
        """Return what is known of the command that the call starts or types into, and why it is no more harmless."""
        told = self.commands.classify(call)
        if told is None:
            return set(), ()
        kinds = {Consequence.SANDBOXED} if told.sandboxed else {Consequence.UNSANDBOXED}
        kinds |= {Consequence.REACHES_OUT} if told.wants_network else set()
        kinds |= {Consequence.LEAVES} if told.wants_outside else set()
        return {Consequence.LOOKS} if told.read_only and kinds == {Consequence.SANDBOXED} else kinds, told.reasons


def of_pointing(call: ToolCall, spec: ToolSpec, seen: Sequence[Control], text: str) -> Kinds:
    """Return what the call comes to, by its gesture and what it acts on. `text` is a value that it sets."""
    control, is_middle = seen[-1], call.text("button") == "middle"
    if call.text("modifiers") and any(map(terminals.is_inside, seen)):  # because ctrl opens an address, or a menu
        return consequences.press_of(control) | {Consequence.TERMINAL}
    if spec.gesture is Gesture.SCROLL:
        return consequences.choice_of(control) if consequences.is_choice(control) else frozenset()
    if text:
        return _of_value(text, control)
    if spec.gesture is Gesture.DRAG:
        return _of_drag(seen) | (frozenset().union(*map(_of_middle_click, seen)) if is_middle else frozenset())
    if spec.gesture is Gesture.RELEASE:
        return _of_release(control) | (_of_middle_click(control) if is_middle else frozenset())
    return _of_middle_click(control) if is_middle else consequences.press_of(control)


def _of_menu_entries(call: ToolCall) -> Kinds:
    """The entries of a way through menus: each is pressed. What is really found is judged again at each step."""
    return frozenset().union(*(consequences.meaning_of(_MENU_ITEM, name) for name in menu_entries_of(call)))


def _menu_entry(call: ToolCall, seen: Sequence[Control]) -> Control:
    """The entry that a way through menus ends at, in the window that is there."""
    names = menu_entries_of(call)
    return replace(seen[-1] if seen else Control(), role=_MENU_ITEM, name=names[-1] if names else "")


def _of_value(text: str, control: Control) -> Kinds:
    """A value that a field, a box or a choice is set to."""
    if consequences.is_password(control):
        return frozenset({Consequence.PASSWORD})
    return keystrokes.of_text(text, control) if consequences.is_field(control) else consequences.press_of(control)


def _of_middle_click(control: Control) -> Kinds:
    """It pastes the selection into fields and terminals; elsewhere it is a press."""
    if consequences.is_password(control) or consequences.is_field(control) or keystrokes.runs_typed(control):
        return keystrokes.of_paste(control)
    return consequences.press_of(control)


def _of_drag(seen: Sequence[Control]) -> Kinds:
    """A press at the start and a drop at the end; within one control it only selects. A frame moves its window."""
    start, end = seen[0], seen[-1]
    if start.window.is_frame:
        return frozenset()
    found: set[Consequence] = set().union(*map(consequences.press_of, seen))
    is_selection = (start.window.place, start.role, start.name) == (end.window.place, end.role, end.name)
    if len(seen) > 1 and not is_selection:
        found |= keystrokes.of_drop(end)
    return frozenset(found)


def _of_release(control: Control) -> Kinds:
    """Judge the release of a button. What is dragged is unknown, so in a terminal it may drop a command."""
    dropped = keystrokes.of_drop(control)
    if Consequence.PASSWORD in dropped:
        return dropped
    return consequences.press_of(control) | (frozenset({Consequence.UNKNOWN}) if dropped else frozenset())


def _is_naming(done: DesktopAct) -> bool:
    """Return whether keys leave a field of a program that starts others: a file may then get the name in it."""
    is_there = done.aim is ScreenAim.FOCUS and done.control.window.opens_items and consequences.is_field(done.control)
    return is_there and any(
        stroke.key == "Tab" and not stroke.held & {ALT, CTRL} for one in done.keys for stroke in one.strokes
    )


def _is_opening(done: DesktopAct) -> bool:
    """Return whether the dialog opens the file that it names, by the words of the button that is pressed."""
    words = _WORD.findall(done.label.replace("_", "").casefold())
    return done.control.is_known and bool(set(words) & consequences.starting_words("words"))


def _is_said(path: str, said: str) -> bool:
    """Return whether the person named the file, or its whole path."""
    name = Path(path).name.casefold()
    return len(name) >= _NAMING_CHARS and name in said.casefold()


def _mild(spec: ToolSpec, seen: Sequence[Control], provenance: Provenance) -> Kinds:
    """The consequences that a name alone does not prove, where there is no second sign of them."""
    is_at_a_control = spec.aim in (ScreenAim.POINT, ScreenAim.ELEMENT)
    if not is_at_a_control or len(seen) != 1 or provenance.tainted_by or seen[0].window.key in provenance.lines:
        return frozenset()
    return _BY_NAME if consequences.is_mild(seen[0]) else frozenset()


def is_answered(seen: Sequence[Control], provenance: Provenance) -> bool:
    """Return whether the person allowed what is unknown there, or named it. Input under way is not that."""
    return bool(seen) and all(
        not control.is_late
        and (control.window.place in provenance.answered - {""} or _is_named(control, provenance.said))
        for control in seen
    )


def _is_named(control: Control, said: str) -> bool:
    """By its program, title or document. Anybody may write the title of a browser or terminal, which names nothing."""
    words = set(_WORD.findall(said.casefold()))
    names = [control.window.app]
    if not (consequences.sends_on_return(control) or control.window.is_terminal):
        names += [control.window.title, *(Path(file).stem for file in _DOCUMENT.findall(control.window.title))]
    told = (set(_WORD.findall(name.casefold())) for name in names)
    is_told = any(name and name <= words and any(len(word) >= _NAMING_CHARS for word in name) for name in told)
    return is_told or terminals.is_named(control, said.casefold())


def _opened(call: ToolCall, spec: ToolSpec) -> Mapping[str, JsonValue]:
    """The call's arguments; what it opens is named as the address or the path that it is."""
    target = document_kinds.target_of(_text(call.arguments, spec.opens)) if spec.opens else None
    if target is None:
        return call.arguments
    return {**call.arguments, **({"url": target.address} if target.address else {"path": target.path})}


def _done(call: ToolCall, spec: ToolSpec, seen: Sequence[Control]) -> DesktopAct:
    """Return what the call does to the last of what it would act on."""
    control = seen[-1] if seen else Control()
    keys = pressed(_text(call.arguments, spec.pressed), dict(control.keyboard.symbols))
    return DesktopAct(spec.aim or ScreenAim.NONE, keys, _text(call.arguments, spec.typed), control)


def _of_tool(spec: ToolSpec, effects: frozenset[Effect], hosts: Sequence[str]) -> Kinds:
    names = () if spec.is_added and Effect.READS in effects else by_tool(table("calls")["tools"], spec.name) or ()
    named = frozenset(map(Consequence, names)) | ({Consequence.PERSISTS} if Effect.SETTINGS in effects else set())
    return named | {Consequence.LAUNCHES} if spec.opens and not hosts and effects != {Effect.DESKTOP} else named


def _text(arguments: Mapping[str, JsonValue], name: str) -> str:
    value = arguments.get(name)
    return value if isinstance(value, str) else ""


def source_of(act: Action, spec: ToolSpec) -> str:
    """The source by its name in the tables; empty where nothing foreign is read."""
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
    """Tools that are known only while Wisp runs are known by the family of their names."""
    tables = table("calls")
    known = "web" if spec.taint == "outside" and act.hosts else spec.taint or by_tool(tables["reads"], spec.name)
    return str(known or tables["reads_by_effect"].get(act.effect.value, ""))


def _workspace(act: Action) -> str:
    """Return "workspace" for files from elsewhere. What else stands there is the person's own."""
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
