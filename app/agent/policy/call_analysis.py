"""From a call to what it comes to: paths are resolved as the tools resolve them, addresses read as the network reads
them, controls and keys looked up in the tables. Nothing a model says about its own call makes it look milder.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Protocol

from app.agent.policy import addresses, consequences, keystrokes, saving
from app.agent.policy.chords import ALT, CTRL, Pressed, pressed, spelled
from app.agent.policy.sentences import by_tool, table
from app.agent.policy.values import Action, Consequence, Control, Provenance
from app.base.errors import ToolFailed, WispError
from app.base.values import dataclass, replace
from app.protocol.call import JsonValue, ToolCall
from app.protocol.spec import Effect, ScreenAim, ToolSpec
from app.services.files import document_kinds, origins, places
from app.services.files.document_kinds import DocumentKind
from app.services.files.places import Workspace, Zone
from app.services.sandbox.layout import CommandClass
from app.services.skills import shipped_names


class CommandClassifier(Protocol):
    """Knows what a call's command would be, without running it."""

    def classify(self, call: ToolCall) -> CommandClass | None:
        """None for a call that starts no command and types into none. Never raises."""
        ...


_HARMLESS = frozenset({DocumentKind.FOLDER.value, DocumentKind.PLAIN.value})

_ACTIVE = frozenset({DocumentKind.RUNS.value, DocumentKind.LOADS.value})


def of_opening(call: ToolCall, seen: Sequence[Control]) -> frozenset[str]:
    """Nothing where the item is known to be a folder or a plain document; in a terminal a double click only selects."""
    control = seen[-1] if seen else Control()
    if control.opens in _HARMLESS:
        return frozenset()
    known = table("launchers")
    is_choice = call.name in (*known["clicks"], *known["presses"], *known["choices"])
    starts = control.is_launcher and not control.is_terminal
    started = consequences.started_by(control.name, control) if is_choice else frozenset[str]()
    return started | frozenset({"launches"} if starts and _opens(call, control) else ())


def _opens(call: ToolCall, control: Control) -> bool:
    """Whether an item is opened. One click opens it in some file managers, so it counts where the item can run."""
    known = table("launchers")
    count = call.arguments.get("count", 1)
    if call.name in known["clicks"] and isinstance(count, int) and (count > 1 or control.opens in _ACTIVE):
        return True
    return call.name in known["presses"] and control.role in known["items"]


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
    """Whether a command may read files that it does not name."""
    return not only_looks or _SEARCHES.search(command) is not None


def _fits(name: str, word: str) -> bool:
    return name == word or (any(sign in word for sign in "*?[") and fnmatchcase(name, word))


OWN_FOLDER = ".wisp"
"""In a workspace: its rules. Read by Wisp without asking, so never written by a tool."""

_MENU_ITEM = "menu item"
_FREE_ZONES = (Zone.WORKSPACE, Zone.MADE)
_MADE_ZONES = (*_FREE_ZONES, Zone.TEMP)
_WORD = re.compile(r"\w+")
_SIGNS = {"slash": "/", "period": ".", "asciitilde": "~", "underscore": "_", "minus": "-", "space": " ", "comma": ","}
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
    """`own_keys` are Wisp's: no tool presses them."""

    workspace: Workspace
    commands: CommandClassifier
    own_keys: tuple[str, ...] = ()

    def act(self, call: ToolCall, spec: ToolSpec, seen: Sequence[Control], provenance: Provenance) -> Action:
        """What the call comes to. `seen` is what it would act on, where it acts on the desktop."""
        effects = spec.effects_of(call)
        arguments = _opened(call, spec)
        if address := _entered(call, spec, seen):
            effects, arguments = effects | {Effect.NETWORK}, {**arguments, "url": address}
        paths, kinds = self._paths(effects, arguments)
        hosts, host_kinds = addresses.reached(effects, arguments, provenance)
        command = next(iter(addresses.texts(arguments, table("calls")["arguments"]["commands"])), "")
        command_kinds, reasons = self._command(call)
        private_kinds, secrets = self._private(effects, paths, command, command_kinds, provenance.said)
        kinds |= private_kinds
        if spec.aim is ScreenAim.MENU:
            seen = (_menu_entry(arguments, seen),)
        on_desktop, keys, text = self._on_desktop(call, spec, effects, seen)
        saved, saved_kinds = self._saved(call, spec, seen, provenance)
        paths, kinds = (*paths, *saved), kinds | saved_kinds
        on_desktop -= _mild(spec, seen, provenance)
        kinds |= host_kinds | command_kinds | _of_tool(spec, effects, hosts) | on_desktop
        kinds |= of_opening(call, seen)
        if Consequence.UNKNOWN in kinds and is_answered(seen, provenance):
            kinds = kinds - {Consequence.UNKNOWN} | {Consequence.ANSWERED}
        act = Action(
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
        return (
            replace(act, kinds=act.kinds | {Consequence.SHARED})
            if addresses.shares(act, [text for text in texts_of(act) if text != saving.EDITED], provenance)
            else act
        )

    def _on_desktop(
        self, call: ToolCall, spec: ToolSpec, effects: frozenset[Effect], seen: Sequence[Control]
    ) -> tuple[set[str], tuple[str, ...], str]:
        """What it does to the desktop, the chords in one spelling, and what it types."""
        chords = _text(call.arguments, spec.pressed)
        text = _text(call.arguments, spec.typed)
        if Effect.DESKTOP not in effects:
            return set(), spelled(chords), text
        found = {"own"} if any(control.is_own for control in seen) else set()
        control = seen[-1] if seen else Control()
        aim = spec.aim or ScreenAim.NONE
        if aim == "focus":
            keys = pressed(chords, dict(control.symbols))
            found |= keystrokes.of_keys(keys, control, self.own_keys)
            found |= keystrokes.of_text(text, control) if text else set()
        elif aim == "menu":
            found |= _of_way(call.text("path"))
        elif aim == "program":
            found |= {"launches"} if any(map(self._is_made, control.files)) else set()
        elif seen and aim != "away":
            found |= of_pointing(call, aim, seen, text)
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
        if places.starts_here(place.path) or OWN_FOLDER in place.path.parts:
            found.add("starts")
        if place.zone not in _FREE_ZONES:
            found.add("outside" if is_changing else "far")
        return str(place.path), found

    def _is_made(self, path: str) -> bool:
        """Whether tools or commands may have written what stands there, or the way to it."""
        folder = self.workspace.folder
        return Path(os.path.normpath(path)).is_relative_to(folder) or self.workspace.locate(path).zone in _MADE_ZONES

    def _saved(
        self, call: ToolCall, spec: ToolSpec, seen: Sequence[Control], provenance: Provenance
    ) -> tuple[tuple[str, ...], set[str]]:
        """Where the call may save a file: by the paths that the turn typed in the program of the dialog it affirms, and
        by what stands there.
        """
        control = seen[-1] if seen else Control()
        text = _text(call.arguments, spec.typed)
        chords = _text(call.arguments, spec.pressed)
        aim = spec.aim or ScreenAim.NONE
        keys = pressed(chords, dict(control.symbols))
        if seen and saving.saves(aim, keys, control):
            if starting := saving.starting_in(control.window):
                return (starting,), {"starts"}
            linked = saving.linked_in(control.window, self.workspace.folder)
            where, found = self._path(linked, is_changing=True) if linked else ("", set())
            if found := found & {"secret", "starts", "outside", "unclear"}:
                return (where,), found
        named = saving.names_given(aim, keys, text, control, provenance) if seen else {}
        if named or consequences.names_item(control):
            return tuple(named), set().union(*named.values())
        if seen and _is_naming(aim, keys, control):
            return (), {"terminal"}
        if not seen or not keystrokes.affirms(aim, keys, text, control):
            return (), set()
        known = provenance.typed.get(control.app, ())
        stands = () if _is_opening(aim, control) else saving.names_in(keys, text, control, known)
        lines = [*filter(None, [*known, text.strip("\r\n"), control.pasted or ""])]
        copied = provenance.typed.get("", ())
        latest = {*lines[-1:], *copied[-1:], *(stands or ())}
        judged = {"secret"} if _is_opening(aim, control) else {"secret", "starts"}
        kinds: set[str] = set()
        shown: list[str] = []
        for path in saving.paths_in(lines, (*copied, *(stands or ()))):
            where, found = self._path(path, is_changing=True)
            is_asked = "starts" in judged and path in latest and not _is_said(path, provenance.said)
            found &= judged | ({"outside", "unclear"} if is_asked else set())
            shown += [where] if found else []
            kinds |= found
        unclear = [] if stands is None else [name for name in stands if saving.is_unclear(name)]
        if (stands is None or unclear) and saving.names_file(aim, control):
            return (*shown, *unclear), kinds | {"unclear"}
        return tuple(shown), kinds

    def _private(
        self, effects: frozenset[Effect], paths: tuple[str, ...], command: str, told: set[str], said: str
    ) -> tuple[set[str], tuple[str, ...]]:
        """What follows from the secrets of the workspace that it reads, and their names; whether they are its own."""
        root = self.workspace.folder
        found: tuple[Path, ...] = ()
        kinds: set[str] = set()
        if Effect.READS in effects:
            found = named = among(paths)
            kinds |= {"foreign"} if origins.foreign_among(paths) else set()
        elif command and told:
            there = places.local_secrets_in(root)
            named = named_in(command, there)
            found = tuple(there) if may_read_any(command, only_looks="looks" in told) else named
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


def of_pointing(call: ToolCall, aim: str, seen: Sequence[Control], text: str) -> frozenset[str]:
    """What the call comes to, by how it acts (`aim`) and on what. `text` is a value that it sets."""
    control = seen[-1]
    if call.name == "computer_scroll":
        return consequences.choice_of(control) if consequences.is_choice(control) else frozenset()
    if text:
        return _of_value(text, control)
    if aim == "ends":
        is_middle = call.text("button") == "middle"
        return _of_drag(seen) | (frozenset().union(*map(_of_middle_click, seen)) if is_middle else frozenset())
    if call.name == "mouse_up":
        pasted = _of_middle_click(control) if call.text("button") == "middle" else frozenset()
        return _of_release(control) | pasted
    if call.text("button") == "middle":
        return _of_middle_click(control)
    return consequences.press_of(control)


def _of_way(path: str) -> frozenset[str]:
    """A way through menus: every part of it is pressed. What is really found is judged again at each step."""
    parts = [part.strip() for part in path.replace("›", ">").split(">")]
    return frozenset().union(*(consequences.meaning_of(_MENU_ITEM, part) for part in parts))


def _of_value(text: str, control: Control) -> frozenset[str]:
    """A value that a field, a box or a choice is set to."""
    if consequences.is_password(control):
        return frozenset({"password"})
    pressed = frozenset() if consequences.is_field(control) else consequences.press_of(control)
    return pressed | (keystrokes.of_text(text, control) if consequences.is_field(control) else frozenset())


def _of_middle_click(control: Control) -> frozenset[str]:
    """It pastes the selection into fields and terminals; elsewhere it is a press."""
    if consequences.is_password(control) or consequences.is_field(control) or keystrokes.runs_typed(control):
        return keystrokes.of_paste(control)
    return consequences.press_of(control)


def _of_drag(seen: Sequence[Control]) -> frozenset[str]:
    """A press at the start and a drop at the end; within one control it only selects. A frame moves its window."""
    start, end = seen[0], seen[-1]
    if start.is_frame:
        return frozenset()
    found: set[str] = set()
    for control in seen:
        found |= consequences.press_of(control)
    is_selection = (start.place, start.role, start.name) == (end.place, end.role, end.name)
    if len(seen) > 1 and not is_selection:
        found |= keystrokes.of_drop(end)
    return frozenset(found)


def _of_release(control: Control) -> frozenset[str]:
    """Judge the release of a button. What is dragged is unknown, so in a terminal it may drop a command."""
    dropped = keystrokes.of_drop(control)
    if "password" in dropped:
        return dropped
    return consequences.press_of(control) | (frozenset({Consequence.UNKNOWN}) if dropped else frozenset())


def _is_naming(aim: str, keys: Sequence[Pressed], control: Control) -> bool:
    """Whether keys leave a field of a program that starts others: a file manager then gives a file the name in it."""
    is_there = aim == "focus" and control.is_launcher and not control.is_terminal and consequences.is_field(control)
    return is_there and any(
        stroke.key == "Tab" and not stroke.held & {ALT, CTRL} for one in keys for stroke in one.strokes
    )


def _is_opening(aim: str, control: Control) -> bool:
    """Whether the dialog opens the file that it names, by the words of the button that is pressed."""
    is_default = aim == "focus" and not consequences.is_pressed_role(control.role)
    words = _WORD.findall((control.default if is_default else control.name).replace("_", "").casefold())
    return control.is_known and bool(set(words) & consequences.starting_words("words"))


def _is_said(path: str, said: str) -> bool:
    """Whether the person named the file, or its whole path."""
    name = Path(path).name.casefold()
    return len(name) >= _NAMING_CHARS and name in said.casefold()


@cache
def _silent_keys() -> frozenset[str]:
    """The keys that write nothing."""
    known = table("keys")
    return frozenset(known["activates"]["submits"]).union(*(known["harmless"].values())) | {"KP_Enter"}


def texts_of(act: Action) -> tuple[str, ...]:
    """What a desktop act types, pastes or sets, as far as it is known."""
    signs = "".join(
        _SIGNS.get(key, key) for key in act.keys if key not in _silent_keys() and not re.search(r".\+|^F\d+$", key)
    )
    edited = saving.EDITED if saving.edits(act.keys) else ""
    return tuple(filter(None, (act.text, act.control.pasted, signs, edited)))


def _mild(spec: ToolSpec, seen: Sequence[Control], provenance: Provenance) -> frozenset[str]:
    """The consequences that a name alone does not prove, where there is no second sign of them."""
    is_press = spec.aim in (ScreenAim.POINT, ScreenAim.ELEMENT)
    if not is_press or len(seen) != 1 or provenance.tainted_by or seen[0].window_key in provenance.lines:
        return frozenset()
    return _BY_NAME if consequences.is_mild(seen[0]) else frozenset()


def _menu_entry(arguments: Mapping[str, JsonValue], seen: Sequence[Control]) -> Control:
    """The entry that a way through menus ends at, in the window that is there."""
    window = seen[-1] if seen else Control()
    last = _text(arguments, "path").replace("›", ">").split(">")[-1].strip()
    return replace(window, role="menu item", name=last)


def is_answered(seen: Sequence[Control], provenance: Provenance) -> bool:
    """Whether the person allowed what is unknown there, or named the program or window. Input under way is not that."""
    return bool(seen) and all(
        not control.is_late
        and ((bool(control.place) and control.place in provenance.answered) or _is_named(control, provenance.said))
        for control in seen
    )


def _is_named(control: Control, said: str) -> bool:
    """By its program, title or document. Anybody may have written the title of a browser, which names nothing."""
    words = set(_WORD.findall(said.casefold()))
    names = [control.app]
    if not consequences.sends_on_return(control):
        names += [control.window, *(Path(file).stem for file in _DOCUMENT.findall(control.window))]
    told = (set(_WORD.findall(name.casefold())) for name in names)
    return any(name and name <= words and any(len(word) >= _NAMING_CHARS for word in name) for name in told)


def _opened(call: ToolCall, spec: ToolSpec) -> Mapping[str, JsonValue]:
    """The call's arguments; what it opens is named as the address or the path that it is."""
    target = document_kinds.target_of(_text(call.arguments, spec.opens)) if spec.opens else None
    if target is None:
        return call.arguments
    return {**call.arguments, **({"url": target.address} if target.address else {"path": target.path})}


def _entered(call: ToolCall, spec: ToolSpec, seen: Sequence[Control]) -> str:
    """The address that the call opens from a browser's address bar, where it is known."""
    if spec.aim is not ScreenAim.FOCUS or not seen:
        return ""
    text = _text(call.arguments, spec.typed)
    chords = _text(call.arguments, spec.pressed)
    keys = pressed(chords, dict(seen[-1].symbols))
    return addresses.typed(keystrokes.entered(keys, text, seen[-1]))


def _of_tool(spec: ToolSpec, effects: frozenset[Effect], hosts: Sequence[str]) -> frozenset[str]:
    named = frozenset(by_tool(table("calls")["tools"], spec.name) or ())
    if spec.opens and not hosts and effects != {Effect.DESKTOP}:
        named |= {"launches"}
    return named | {"persists"} if Effect.SETTINGS in effects else named


def _text(arguments: Mapping[str, JsonValue], name: str) -> str:
    value = arguments.get(name)
    return value if isinstance(value, str) else ""


def source_of(act: Action, spec: ToolSpec) -> str:
    """The source by its name in the tables; empty where nothing foreign is read."""
    source = _taint_of(act, spec)
    if source == "outside":
        return source if act.kinds & {"far", "outside"} else _workspace(act)
    if source == "skill":
        name = str(act.arguments.get("name", ""))
        return source if name and name not in shipped_names() else ""
    if source == "memory":
        return "conversation" if act.arguments.get("in") == "conversations" else ""
    if source == "command":
        return _workspace(act) if _is_walled_in(act) else source
    return source


def _taint_of(act: Action, spec: ToolSpec) -> str:
    """Tools that are known only while Wisp runs are known by the family of their names."""
    tables = table("calls")
    source: str = (
        spec.taint or by_tool(tables["reads"], spec.name) or tables["reads_by_effect"].get(act.effect.value, "")
    )
    return source


def _workspace(act: Action) -> str:
    """What stands in the workspace is the person's own, unless it came from elsewhere."""
    return "workspace" if "foreign" in act.kinds else ""


def personal_in(act: Action, spec: ToolSpec) -> str:
    """What of the person's own the result brings into the turn, by its name in the tables; empty where nothing is.

    Personal is everything on this machine or behind a sign-in, by any author: names and contents of files (also in the
    workspace), the screen, the clipboard, the output of a command (it can read the workspace), the answer of an MCP
    server. Public web pages are not personal, nor is what the person says in the turn.
    """
    source = _taint_of(act, spec)
    return {"outside": "files", "web": "", "skill": ""}.get(source, source)


def _is_walled_in(act: Action) -> bool:
    """Whether a command can only have read the workspace."""
    return bool(act.kinds & {"looks", "walled"}) and "reaches out" not in act.kinds
