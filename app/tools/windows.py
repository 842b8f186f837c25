"""Programs and their windows."""

from __future__ import annotations

from app.base.clipping import clip_line
from app.base.errors import ToolFailed
from app.desktop.api import Window
from app.desktop.desk import Desktop
from app.desktop.seat import Seat
from app.desktop.settle import Patience
from app.protocol.call import ToolCall
from app.protocol.result import JsonValue, ToolResult
from app.protocol.spec import Effect, Param, ToolSpec
from app.tools.context import TurnContext
from app.tools.registry import Family

_TITLE_CHARS = 80
_OPENING = Patience(first_s=0.2, quiet_s=0.06, limit_s=2.0)


class Windows:
    """Handlers; each hops to the desktop thread."""

    def __init__(self, desktop: Desktop) -> None:
        self._desktop = desktop

    async def open_app(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        result = await self._desktop.run(_open_app, call)
        await turn.audit("open_app", {"name": result.payload["name"]})
        return result

    async def list_windows(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        return await self._desktop.run(_list_windows, call)

    async def focus_window(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        return await self._desktop.run(_focus_window, call)

    async def close_window(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        return await self._desktop.run(_close_window, call)


async def _open_app(seat: Seat, call: ToolCall) -> ToolResult:
    opened = await seat.opener.open(call.text("name"))
    await seat.eyes.settle(_OPENING)
    window = next((w for w in seat.backend.windows.all() if w.ref == opened.window.ref), opened.window)
    verb = "Opened" if opened.is_new else "It was running: brought forward"
    payload: dict[str, JsonValue] = {"name": opened.name, "title": window.title, "window": window.ref}
    echo = f"{verb} {opened.name}; its window {window.title!r} ({window.ref}) is in front and has the keyboard."
    return ToolResult(True, call.name, payload, echo)


async def _list_windows(seat: Seat, call: ToolCall) -> ToolResult:
    windows = seat.backend.windows.all()
    payload: dict[str, JsonValue] = {"windows": [_as_json(window) for window in windows]}
    lines = "\n".join(_line(window) for window in windows)
    return ToolResult(True, call.name, payload, f"Topmost first:\n{lines}" if windows else "No window is open.")


async def _focus_window(seat: Seat, call: ToolCall) -> ToolResult:
    window = await seat.backend.windows.focus(seat.find_window(call.text("title")).ref)
    await seat.eyes.settle(Patience())
    payload: dict[str, JsonValue] = {"title": window.title, "window": window.ref}
    return ToolResult(True, call.name, payload, f"{window.title!r} ({window.ref}) is in front and has the keyboard.")


async def _close_window(seat: Seat, call: ToolCall) -> ToolResult:
    window = seat.find_window(call.text("title"))
    is_closed = await seat.backend.windows.close(window.ref)
    await seat.eyes.settle(Patience())
    if not is_closed:
        active = seat.active_window()
        asking = f" {active.title!r} is in front; it may be asking something." if active else ""
        raise ToolFailed(f"{window.title!r} was asked to close and is still open.{asking} Look with screen_capture.")
    payload: dict[str, JsonValue] = {"title": window.title, "window": window.ref}
    return ToolResult(True, call.name, payload, f"{window.title!r} is closed.")


def _line(window: Window) -> str:
    area = window.area
    marks = [word for word, on in (("active", window.is_active), ("minimised", window.is_minimised)) if on]
    told = f" [{', '.join(marks)}]" if marks else ""
    title = clip_line(window.title, _TITLE_CHARS)
    return f'{window.ref} "{title}" {window.app} {area.width}x{area.height} at ({area.x}, {area.y}){told}'


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


_TITLE = Param("title", description="its title or part of it, its program, or its ref", required=True)

WINDOWS = Family(
    Windows,
    (
        ToolSpec(
            "open_app",
            "Start an installed program by name and wait until its window has the keyboard. "
            "General names work too: calculator, text editor, terminal, file manager, browser.",
            Effect.DESKTOP,
            Windows.open_app,
            attrs=(Param("name", description="the program", required=True),),
            examples=('<open_app name="calculator"/>',),
        ),
        ToolSpec(
            "list_windows",
            "The open windows, topmost first, with place and size in screen pixels.",
            Effect.READS,
            Windows.list_windows,
            examples=("<list_windows/>",),
        ),
        ToolSpec(
            "focus_window",
            "Bring a window forward and give it the keyboard.",
            Effect.DESKTOP,
            Windows.focus_window,
            attrs=(_TITLE,),
            examples=('<focus_window title="Untitled 1"/>',),
        ),
        ToolSpec(
            "close_window",
            "Ask a window to close, as its close button would.",
            Effect.DESKTOP,
            Windows.close_window,
            attrs=(_TITLE,),
            examples=('<close_window title="calculator"/>',),
        ),
    ),
)
