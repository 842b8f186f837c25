"""Tools for programs, their windows and menus, and the clipboard."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from app.base.clipping import clip_line, clip_middle
from app.base.errors import ToolFailed, ToolMisuse
from app.base.facts import Brought, ListedWindow, ListedWindows, WindowChanged, WindowEvent, said
from app.base.geometry import Rect
from app.base.phrases import Phrase
from app.desktop.backends import Desktops, NotOffered, Press, Window, WindowState
from app.desktop.controller import DesktopController
from app.desktop.desktop import Desktop
from app.desktop.elements import UNPLACED, Element
from app.desktop.keys import chords
from app.desktop.programs import NoProgram, Opened, dialog_before, is_terminal
from app.desktop.targets import Aim, Ambiguous, NotFound, Unplaced
from app.desktop.verification import Patience, Proving, Receipt
from app.protocol.call import JsonValue, ToolCall, ToolResult, barred
from app.protocol.spec import Effect, Gesture, Param, RareFamily, ScreenAim, ToolSpec, ValueType
from app.services.files import document_kinds
from app.tools.acts import menu_entries_of, told_with
from app.tools.pictures import ModelSight, with_changed_part
from app.tools.registry import Admit, Family, TurnContext, from_elsewhere

_TITLE_CHARS = 80
_MENU_CHARS = 1000
_ALL, _MINIMISED, _NORMAL, _NOT_ABOVE = "all", "minimised", "normal", "not_above"
_KEEPS = "{title!r} keeps its place and size."
_SCALES = {"bigger": 1.25, "smaller": 0.8}
_REST_PX = 60
_BESIDE = {"next": 1, "previous": -1}
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_CLIPBOARD_CHARS = 4000
_OF_DOCUMENTS = {
    document_kinds.DocumentKind.FOLDER: frozenset[Effect](),
    document_kinds.DocumentKind.PLAIN: frozenset[Effect](),
    document_kinds.DocumentKind.LOADS: frozenset({Effect.NETWORK}),
    document_kinds.DocumentKind.RUNS: frozenset({Effect.EXECUTES}),
    document_kinds.DocumentKind.UNKNOWN: frozenset({Effect.NETWORK, Effect.EXECUTES}),
}
_OPENING = Patience(first_s=0.2, quiet_s=0.06, limit_s=2.0)
_BEHIND = "is open, but a dialog of it has the keyboard and must be answered first."
_DROP_DOWN = frozenset({"guake", "tilda", "yakuake"})
"""Terminals that keep their window and its command line while they are hidden."""


class NoSuchApp(ToolFailed):
    """Raised where no app of Wisp's own is called so. Its text lists the names that are near, or is empty."""

    def __init__(self, near: Sequence[str]) -> None:
        phrases = tuple(Phrase("{name!r}", {"name": name}) for name in near)
        named = (
            Phrase("{one} and {other}", dict(zip(("one", "other"), phrases, strict=True))) if len(near) > 1 else phrases
        )
        super().__init__(Phrase("Of Wisp's own apps: {names}.", {"names": named}) if near else "")


class OwnApps(Protocol):
    """The small apps that Wisp keeps, which are no programs."""

    async def open_called(self, name: str, /) -> tuple[str, str]:
        """Open the one with this name. Returns its name and sentences on its window.

        Raises NoSuchApp if none is called so, and another WispError if its window does not open.
        """
        ...


class WindowTools:
    """The handlers of the tools for programs and windows. Each runs on the desktop thread.

    `sight` says what the present model can see. `own` returns the small apps that Wisp keeps, or None.
    """

    def __init__(
        self, desktop: Desktop, sight: ModelSight | None = None, own: Callable[[], OwnApps | None] = lambda: None
    ) -> None:
        self._desktop = desktop
        self._sight = sight or ModelSight()
        self._own = own

    async def open_app(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        try:
            result = await self._desktop.run(open_app, call)
        except NoProgram as error:
            result = await self._opened_own(call, error)
        await turn.audit("open_app", {"name": result.payload["name"]})
        return result

    async def _opened_own(self, call: ToolCall, error: NoProgram) -> ToolResult:
        """Open the app of Wisp's own that is called so. Without one, raise the error, with the names that are near."""
        own = self._own()
        if own is None:
            raise error
        try:
            name, told = await own.open_called(call.text("name"))
        except NoSuchApp as near:
            values = {"program": error.why.what, "apps": near.why.what}
            raise ToolFailed(Phrase("{program} {apps}", values) if str(near) else error.why.what) from None
        payload: dict[str, JsonValue] = {"name": name, "title": name, "window": ""}
        return ToolResult(True, call.name, payload, f"Opened {name!r}, an app that Wisp made. {told}")

    async def list_windows(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        return await self._desktop.run(_list_windows, call)

    async def focus_window(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        return await self._desktop.run(_focus_window, call)

    async def close_window(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        return await self._desktop.run(_close_window, call)

    async def move_window(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        return await self._desktop.run(_move_window, call)

    async def minimise_window(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        return await self._desktop.run(_minimise_window, call)

    async def set_window_state(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        return await self._desktop.run(_set_window_state, call)

    async def switch_desktop(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        return await self._desktop.run(_switch_desktop, call)

    async def choose_menu(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        return await self._desktop.run(_choose_in_sight, call, from_elsewhere(turn.admit), self._sight)

    async def read_clipboard(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        return await self._desktop.run(_read_clipboard, call)

    async def write_clipboard(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        return await self._desktop.run(_write_clipboard, call)


async def open_app(controller: DesktopController, call: ToolCall) -> ToolResult:
    """Open a program, an address or a document. Raises ToolFailed if none fits, or if a dialog of it is in front."""
    name = call.text("name").strip()
    target = document_kinds.target_of(name)
    # The path that the policy judged, because programs do not know what ~ is.
    opened = await (
        controller.opener.open_address(target.path or target.address) if target else controller.opener.open(name)
    )
    await controller.screen_capture.settle(_OPENING)
    if opened.window is None:
        handed = f"Handed {opened.name} over to its program, which runs already; no window tells what it shows."
        return ToolResult(True, call.name, {"name": opened.name, "title": "", "window": ""}, f"{handed} Look first.")
    if opened.dialog:
        told = Phrase(f"{{name}} {_BEHIND}", {"name": opened.name})
        raise ToolFailed(told, facts=[await controller.asked_in(opened.dialog)])
    shown = opened.window
    window = next((w for w in controller.backend.windows.all() if w.ref == shown.ref), shown)
    verb = "Opened" if opened.is_new else "It was running: brought forward"
    payload: dict[str, JsonValue] = {"name": opened.name, "title": window.title, "window": window.ref}
    if _is_new_terminal(opened):
        payload["new_terminal"] = True
    echo = f"{verb} {opened.name}; its window {window.title!r} ({window.ref}) {_in_front(window)}."
    shows = await controller.shows(window)
    facts = (WindowChanged(WindowEvent.OPENED if opened.is_new else WindowEvent.ACTIVE, window.title), *shows)
    return ToolResult(True, call.name, payload, f"{echo} {said(shows)}".rstrip(), facts=facts, llm_brief=echo)


def _is_new_terminal(opened: Opened) -> bool:
    """Return whether the opened window is a new terminal whose shell waits for a command.

    A program in a terminal, or a window that was only hidden, does not count.
    """
    app = opened.window.app if opened.window else ""
    return opened.is_new and is_terminal(opened.name) and is_terminal(app) and app.lower() not in _DROP_DOWN


async def _list_windows(controller: DesktopController, call: ToolCall) -> ToolResult:
    windows = [window for window in controller.backend.windows.all() if not window.is_own]
    payload: dict[str, JsonValue] = {"windows": [_as_json(window) for window in windows]}
    lines = "\n".join(_line(window) for window in windows)
    listed = tuple(ListedWindow(one.title, one.app, one.is_active, one.is_minimised) for one in windows)
    echo = f"Topmost first:\n{lines}" if windows else "No window is open."
    return ToolResult(True, call.name, payload, echo, facts=(ListedWindows(listed),))


async def _focus_window(controller: DesktopController, call: ToolCall) -> ToolResult:
    found = controller.find_window(call.text("title"))
    controller.opener.acted()
    try:
        window = await controller.backend.windows.focus(found.ref)
    except ToolFailed:
        dialog = dialog_before(found, controller.backend.windows.all())
        if dialog is None or dialog.ref == found.ref:
            raise
        told = Phrase(f"{{title!r}} {_BEHIND}", {"title": found.title})
        raise ToolFailed(told, facts=[await controller.asked_in(dialog)]) from None
    await controller.screen_capture.settle(Patience())
    payload: dict[str, JsonValue] = {"title": window.title, "window": window.ref}
    return ToolResult(True, call.name, payload, f"{window.title!r} ({window.ref}) {_in_front(window)}.")


def _in_front(window: Window) -> str:
    return "is in front and has the keyboard" if window.is_active else "is in front; keys do not go to it"


async def _close_window(controller: DesktopController, call: ToolCall) -> ToolResult:
    window = controller.find_window(call.text("title"))
    controller.opener.acted()
    is_closed = await controller.backend.windows.close(window.ref)
    await controller.screen_capture.settle(Patience())
    if not is_closed:
        active = controller.active_window()
        shows = await controller.shows(active) if active and active.ref != window.ref else ()
        told = "{title!r} was asked to close and is still open."
        if active:
            told = "{title!r} was asked to close and is still open. {active!r} is in front; it may be asking something."
        titles = {"title": window.title, "active": active.title if active else ""}
        raise ToolFailed(Phrase(told, titles), "" if shows else "Look with screen_capture.", facts=shows)
    payload: dict[str, JsonValue] = {"title": window.title, "window": window.ref}
    facts = (WindowChanged(WindowEvent.CLOSED, window.title),)
    return ToolResult(True, call.name, payload, f"{window.title!r} is closed.", facts=facts)


async def _move_window(controller: DesktopController, call: ToolCall) -> ToolResult:
    window = controller.find_window(call.text("title"))
    if (fill := call.text("fill")) == "screen" and (maximised := await _maximised(controller, window)):
        return ToolResult(True, call.name, _as_json(maximised), f"Now {_line(maximised)}.")
    if fill:
        area = _filled(controller.monitor_of(window), fill)
    else:
        now = window.area
        area = Rect(
            call.integer("x", now.x), call.integer("y", now.y),
            call.integer("width", now.width), call.integer("height", now.height),
        )  # fmt: skip
    placed = await controller.backend.windows.place(window.ref, area)
    await controller.screen_capture.settle(Patience())
    if placed.area == window.area and not _is_near(placed.area, area):
        raise ToolFailed(Phrase(_KEEPS, {"title": window.title}))
    return ToolResult(True, call.name, _as_json(placed), f"Now {_line(placed)}.")


async def _maximised(controller: DesktopController, window: Window) -> Window | None:
    """Maximise a window. Returns None if this desktop or the window does not allow it."""
    try:
        maximised = await controller.backend.windows.set_state(window.ref, WindowState.MAXIMISED, on=True)
    except ToolFailed:
        return None
    await controller.screen_capture.settle(Patience())
    return maximised


def _is_near(one: Rect, other: Rect) -> bool:
    """True if two places are the same but for a rest: a terminal keeps to whole lines."""
    edges = ((at.x, at.y, at.x + at.width, at.y + at.height) for at in (one, other))
    return all(abs(there - wanted) < _REST_PX for there, wanted in zip(*edges, strict=True))


def _scaled(area: Rect, scale: float, screen: Rect) -> Rect:
    """The place with another size around the same middle, on its monitor."""
    width, height = min(round(area.width * scale), screen.width), min(round(area.height * scale), screen.height)
    x = min(max(area.center.x - width // 2, screen.x), screen.x + screen.width - width)
    y = min(max(area.center.y - height // 2, screen.y), screen.y + screen.height - height)
    return Rect(x, y, width, height)


def _filled(screen: Rect, fill: str) -> Rect:
    x, y, width, height = screen.x, screen.y, screen.width, screen.height
    match fill:
        case "left":
            return Rect(x, y, width // 2, height)
        case "right":
            return Rect(x + width // 2, y, width - width // 2, height)
        case "top":
            return Rect(x, y, width, height // 2)
        case "bottom":
            return Rect(x, y + height // 2, width, height - height // 2)
    return screen


async def _minimise_window(controller: DesktopController, call: ToolCall) -> ToolResult:
    window = controller.find_window(call.text("title"))
    if await _shown_after_minimising(controller, [window]):
        raise ToolFailed(Phrase("{title!r} was to be minimised and is still shown.", {"title": window.title}))
    payload: dict[str, JsonValue] = {"title": window.title, "window": window.ref}
    return ToolResult(True, call.name, payload, f"{window.title!r} is minimised; focus_window brings it back.")


async def _minimise_all(controller: DesktopController, call: ToolCall) -> ToolResult:
    """Minimise all windows that are shown, perhaps without one."""
    kept = controller.find_window(call.text("besides")) if call.text("besides") else None
    shown = [one for one in _here(controller) if not one.is_minimised and (kept is None or one.ref != kept.ref)]
    left = await _shown_after_minimising(controller, shown)
    if left:
        titles = tuple(Phrase("{title!r}", {"title": one.title}) for one in left)
        raise ToolFailed(Phrase("Still shown: {titles}.", {"titles": titles}))
    payload: dict[str, JsonValue] = {"title": _ALL, "count": len(shown)}
    return ToolResult(True, call.name, payload, f"{len(shown)} windows are minimised.")


def _here(controller: DesktopController) -> list[Window]:
    """The windows on the virtual desktop that is shown, topmost first."""
    windows = [one for one in controller.backend.windows.all() if not one.is_own]
    try:
        here = (0, controller.backend.windows.desktops().current)
    except NotOffered:
        return windows
    return [one for one in windows if one.desktop in here]


async def _shown_after_minimising(controller: DesktopController, windows: Sequence[Window]) -> list[Window]:
    """Minimise windows. Returns those that are still shown."""
    for window in windows:
        await controller.backend.windows.minimise(window.ref)
    await controller.screen_capture.settle(Patience())
    refs = {window.ref for window in windows}
    return [one for one in controller.backend.windows.all() if one.ref in refs and not one.is_minimised]


async def _set_window_state(controller: DesktopController, call: ToolCall) -> ToolResult:
    wanted = call.text("state")
    if call.text("title").strip().lower() == _ALL:
        if wanted not in (_MINIMISED, _NORMAL):
            raise ToolMisuse(f"All windows can be {_MINIMISED} or {_NORMAL}.")
        return await (_minimise_all if wanted == _MINIMISED else _restore_all)(controller, call)
    if wanted == _MINIMISED:
        return await _minimise_window(controller, call)
    window = controller.find_window(call.text("title"))
    changed = await _changed(controller, window, wanted)
    await controller.screen_capture.settle(Patience())
    return ToolResult(True, call.name, _as_json(changed), f"Now {_line(changed)}.")


async def _changed(controller: DesktopController, window: Window, wanted: str) -> Window:
    """Give a window another state or size. Returns it as it is afterwards."""
    windows = controller.backend.windows
    if scale := _SCALES.get(wanted):
        scaled = await windows.place(window.ref, _scaled(window.area, scale, controller.monitor_of(window)))
        if scaled.area.size == window.area.size:
            raise ToolFailed(Phrase(_KEEPS, {"title": window.title}))
        return scaled
    if wanted == _NORMAL:
        for state in window.states & {WindowState.MAXIMISED, WindowState.FULL_SCREEN}:
            window = await windows.set_state(window.ref, state, on=False)
        return await windows.focus(window.ref) if window.is_minimised else window
    if wanted == _NOT_ABOVE:
        return await windows.set_state(window.ref, WindowState.ABOVE, on=False)
    return await windows.set_state(window.ref, WindowState(wanted), on=True)


async def _restore_all(controller: DesktopController, call: ToolCall) -> ToolResult:
    away = [one for one in _here(controller) if one.is_minimised]
    for window in reversed(away):
        await controller.backend.windows.focus(window.ref)
    await controller.screen_capture.settle(Patience())
    payload: dict[str, JsonValue] = {"title": _ALL, "count": len(away)}
    return ToolResult(True, call.name, payload, f"{len(away)} windows are back on the screen.")


async def _switch_desktop(controller: DesktopController, call: ToolCall) -> ToolResult:
    """Show another virtual desktop, or move a window there while the one that is shown stays."""
    windows, title = controller.backend.windows, call.text("title")
    window = controller.find_window(title) if title else None
    number = _desktop_meant(call.text("to"), windows.desktops())
    payload: dict[str, JsonValue] = {"desktop": number}
    if window is None:
        await windows.go_to_desktop(number)
    else:
        await windows.send_to_desktop(window.ref, number)
        payload |= {"title": window.title, "window": window.ref}
    await controller.screen_capture.settle(Patience())
    echo = f"{window.title!r} is on desktop {number}." if window else f"Desktop {number} is shown."
    return ToolResult(True, call.name, payload, echo)


def _desktop_meant(to: str, desktops: Desktops) -> int:
    """Raises ToolFailed if there is no such desktop."""
    said = to.strip().lower()
    if said not in _BESIDE and not said.isdecimal():
        raise ToolMisuse("Which desktop? Write its number, next or previous.")
    number = desktops.current + _BESIDE[said] if said in _BESIDE else int(said)
    if number < 1 or (desktops.count and number > desktops.count):
        values = {"current": desktops.current, "count": max(desktops.count, desktops.current)}
        raise ToolFailed(Phrase("This is desktop {current} of {count}, and there is no other one there.", values))
    return number


async def _choose_in_sight(
    controller: DesktopController, call: ToolCall, admit: Admit, sight: ModelSight
) -> ToolResult:
    return await with_changed_part(controller, await choose_menu(controller, call, admit), sight)


async def choose_menu(controller: DesktopController, call: ToolCall, admit: Admit) -> ToolResult:
    """Open one menu after the other and choose the last entry. If an entry is missing or forbidden, close all."""
    parts = menu_entries_of(call)
    if not parts:
        raise ToolMisuse('Which entry? Write the way to it, as in path="File > Save As".')
    for depth, part in enumerate(parts):
        try:
            aim = await _entry(controller, part, role="menu item" if depth else "menu")
            await _check_entry(call, aim, admit, is_first=depth == 0, is_last=depth == len(parts) - 1)
            seen = await _press_entry(controller, aim, lists=depth == len(parts) - 1)
        except (NotFound, Ambiguous) as missing:
            # The entries in the error get no refs, because their menu closes now.
            held = await _close_menus(controller, depth)
            if not depth:
                raise
            what = Phrase(
                "{menu!r} has no entry called {name!r}, or several.", {"name": part, "menu": parts[depth - 1]}
            )
            raise ToolFailed(what, held) from missing
        except ToolFailed:  # Close the open menus, or else they keep the keyboard.
            await _close_menus(controller, depth)
            raise
    if _leads_on(aim.element):
        held = await _close_menus(controller, len(parts))
        what = Phrase("{name!r} is a menu, so nothing was chosen.", {"name": parts[-1]})
        raise ToolFailed(what, f"{held} Go on with one of them.")
    return told_with(ToolResult(True, call.name, {"path": parts}, f"Chose {' > '.join(parts)}."), seen)


async def _entry(controller: DesktopController, name: str, role: str) -> Aim:
    try:
        return await controller.resolver.at_name(name, role=role)
    except Unplaced as unplaced:
        return Aim(unplaced.element.box.center, "name", unplaced.element)


async def _press_entry(controller: DesktopController, aim: Aim, *, lists: bool) -> Receipt:
    """Click a menu entry, and list what appears only if `lists`.

    Its action is run if nobody tells where it is, as that of GTK 4's menus on Wayland.
    """
    proof = Proving(is_press=True, may_save=True, lists=lists)
    if aim.element is None or not aim.element.is_(UNPLACED):
        return await controller.act(partial(controller.press, aim, Press()), aim.place, proof=proof)
    return await controller.act(partial(controller.backend.accessibility.press, aim.element.ref), proof=proof)


async def _close_menus(controller: DesktopController, count: int) -> str:
    """Close so many open menus, and return a sentence on what the last of them held; "" if none is open."""
    popups = [shown for shown in controller.backend.windows.shown() if shown.is_popup and not shown.is_own]
    front = controller.active_window()
    if count and not popups and front and front.is_dialog:  # because Escape would close the dialog
        return f"The menu did not open, because the dialog {clip_line(front.title, _TITLE_CHARS)!r} is in front."
    held = await controller.backend.accessibility.held(popups[0]) if count and popups else ()
    if count:
        await controller.act(partial(controller.input.press, chords("Escape"), count, 0.0))
    names = [f"{clip_line(entry.name, _TITLE_CHARS)}{' >' if _leads_on(entry) else ''}" for entry in held if entry.name]
    told = clip_line(", ".join(names), _MENU_CHARS) or "nothing that its program tells"
    return f"It is closed again; it holds: {told}." if count else ""


def _leads_on(entry: Element | None) -> bool:
    return entry is not None and (entry.role == "menu" or entry.is_("has-popup"))


async def _check_entry(call: ToolCall, aim: Aim, admit: Admit, *, is_first: bool, is_last: bool) -> None:
    """Check a menu entry before it is pressed: it opens a menu, or the policy allows it. Raise ToolFailed otherwise."""
    entry = aim.element
    leads_on = _leads_on(entry)
    if entry is None or (leads_on and not is_last):
        return
    # GTK 4.8 does not say that the entries of a menu bar open menus, so the gate judges the first one as a press.
    if not is_last and not is_first:
        what = "{name!r} is an entry and not a menu, so the way ends there. Nothing was chosen."
        raise ToolFailed(Phrase(what, {"name": entry.name}))
    if not leads_on and (refusal := await admit(ToolCall(call.id, "choose", {"ref": entry.ref}))):
        raise barred(refusal, Phrase("The entry that was found is {name!r}. It was not chosen:", {"name": entry.name}))


async def _read_clipboard(controller: DesktopController, call: ToolCall) -> ToolResult:
    text = await controller.backend.clipboard.read()
    payload: dict[str, JsonValue] = {"length": len(text), "text": clip_line(text, _TITLE_CHARS)}
    shown = clip_middle(text, _CLIPBOARD_CHARS, _CLIPBOARD_CHARS)
    echo = f"The clipboard holds:\n{shown}" if text else "It holds no text."
    return ToolResult(True, call.name, payload, echo, facts=(Brought(shown),))


async def _write_clipboard(controller: DesktopController, call: ToolCall) -> ToolResult:
    text = call.text("text")
    if _CONTROLS.search(text):  # because one of them ends what a terminal takes for pasted text, and is not seen
        raise ToolMisuse("text holds control characters, which nobody sees in the clipboard. Leave them out.")
    await controller.backend.clipboard.write(text)
    payload: dict[str, JsonValue] = {"length": len(text), "text": clip_line(text, _TITLE_CHARS)}
    return ToolResult(True, call.name, payload, f"The clipboard holds these {len(text)} characters now.")


def _effects_of_opening(call: ToolCall) -> frozenset[Effect]:
    target = document_kinds.target_of(call.text("name").strip())
    if target is None:
        return frozenset({Effect.DESKTOP})
    if target.address:
        return frozenset({Effect.DESKTOP, Effect.NETWORK})
    return frozenset({Effect.DESKTOP}) | _OF_DOCUMENTS[document_kinds.kind_of(target.path)]


def _line(window: Window) -> str:
    area = window.area
    marks = [word for word, on in (("active", window.is_active), ("minimised", window.is_minimised)) if on]
    marks += sorted(state.replace("_", " ") for state in window.states)
    told = f" [{', '.join(marks)}]" if marks else ""
    title = clip_line(window.title, _TITLE_CHARS)
    place = f"{area.width}x{area.height} at ({area.x}, {area.y}) on the screen"
    if not area.size.area:
        place = "(no place is known)"
    return f'{window.ref} "{title}" {window.app} {place}{told}'


def _as_json(window: Window) -> dict[str, JsonValue]:
    area = window.area
    return {
        "ref": window.ref,
        "title": window.title,
        "app": window.app,
        "x": area.x,
        "y": area.y,
        "width": area.width,
        "height": area.height,
        "active": window.is_active,
        "minimised": window.is_minimised,
    }


_TITLE = Param(
    "title",
    description="title or part of it, program, ref, active",
    required=True,
    aliases=("window", "name", "app"),
)

_ARRANGING = RareFamily("arranging", "place, size and state of windows, virtual desktops")

WINDOWS = Family(
    WindowTools,
    (
        ToolSpec(
            "open_app",
            "Start a program, or open a URL or a file, and wait until the window has the keyboard. General names work "
            "too: calculator, text editor, terminal, browser.",
            Effect.DESKTOP,
            WindowTools.open_app,
            attrs=(Param("name", required=True, aliases=("app", "id", "application", "app_name")),),
            examples=('<open_app name="calculator"/>',),
            asked_as="ui/open-link",
            effects_by_call=_effects_of_opening,
            aim=ScreenAim.PROGRAM,
            opens="name",
            steps=("open",),
        ),
        ToolSpec(
            "list_windows",
            "List the open windows, topmost first, with place and size.",
            Effect.READS,
            WindowTools.list_windows,
            examples=("<list_windows/>",),
            taint="screen",
        ),
        ToolSpec(
            "focus_window",
            "Bring a window forward and give it the keyboard; title may be a part of it, its program, or a ref.",
            Effect.DESKTOP,
            WindowTools.focus_window,
            attrs=(_TITLE,),
            examples=('<focus_window title="Untitled 1"/>',),
            aim=ScreenAim.AWAY,
        ),
        ToolSpec(
            "close_window",
            "Ask a window to close, as its close button would.",
            Effect.DESKTOP,
            WindowTools.close_window,
            attrs=(_TITLE,),
            examples=('<close_window title="calculator"/>',),
            aim=ScreenAim.WINDOW,
        ),
        ToolSpec(
            "move_window",
            "Move a window or change its size, in screen pixels; what is left out stays.",
            Effect.DESKTOP,
            WindowTools.move_window,
            attrs=(
                _TITLE,
                Param("x", ValueType.INTEGER),
                Param("y", ValueType.INTEGER),
                Param("width", ValueType.INTEGER, minimum=1),
                Param("height", ValueType.INTEGER, minimum=1),
                Param("fill", choices=("screen", "left", "right", "top", "bottom")),
            ),
            examples=('<move_window title="calculator" fill="left"/>',),
            aim=ScreenAim.NONE,
            rare=_ARRANGING,
        ),
        ToolSpec(
            "minimise_window",
            "Minimise a window.",
            Effect.DESKTOP,
            WindowTools.minimise_window,
            attrs=(_TITLE,),
            aliases=("minimize_window",),
            aim=ScreenAim.AWAY,
            rare=_ARRANGING,
        ),
        ToolSpec(
            "set_window_state",
            "Change how a window is shown. normal takes back full screen, maximised and minimised. title all: all "
            "windows are minimised, which shows the desktop, or normal again.",
            Effect.DESKTOP,
            WindowTools.set_window_state,
            attrs=(
                _TITLE,
                Param("state", required=True, choices=(*WindowState, _NOT_ABOVE, _MINIMISED, _NORMAL, *_SCALES)),
                Param("besides", description="with title all: the window that stays"),
            ),
            examples=('<set_window_state title="calculator" state="above"/>',),
            aim=ScreenAim.AWAY,
            rare=_ARRANGING,
        ),
        ToolSpec(
            "switch_desktop",
            "Show another virtual desktop (workspace), or with a title move that window there.",
            Effect.DESKTOP,
            WindowTools.switch_desktop,
            attrs=(
                Param("to", description="a number, next or previous", required=True, aliases=("desktop",)),
                Param("title", description="the window to move", aliases=("window", "name", "app")),
            ),
            examples=('<switch_desktop to="2"/>',),
            aim=ScreenAim.AWAY,
            rare=_ARRANGING,
        ),
        ToolSpec(
            "choose_menu",
            "Choose an entry of the active window's menu bar by its way, such as File > Save As.",
            Effect.DESKTOP,
            WindowTools.choose_menu,
            attrs=(Param("path", description="such as File > Save As", required=True),),
            examples=('<choose_menu path="File > Save As"/>',),
            aim=ScreenAim.MENU,
            gesture=Gesture.CHOOSE,
            steps=("menu",),
        ),
        ToolSpec(
            "read_clipboard",
            "Read the text that was cut or copied last.",
            Effect.READS,
            WindowTools.read_clipboard,
            taint="clipboard",
        ),
        ToolSpec(
            "write_clipboard",
            "Put a text into the clipboard.",
            Effect.DESKTOP,
            WindowTools.write_clipboard,
            body=Param("text", description="the text", required=True, short=False),
            aim=ScreenAim.NONE,
            copied="text",
        ),
    ),
)
