"""Apps of tool servers (MCP Apps, SEP-1865): a page that a server ships with a tool, shown as a surface.

The page is shown unchanged, behind the walls of every surface: what it declares about the network is not granted. It
speaks JSON-RPC with Wisp's frame around it. It may call the tools of its own server, each as its own wish, and ask to
open a link or to send a message. https://github.com/modelcontextprotocol/ext-apps (specification/2026-01-26/apps.mdx).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from app.agent.served_pages import CALL_TOOL, OPEN_LINK, SEND_MESSAGE, ServedPage
from app.base import resources
from app.base.clipping import clip_line
from app.base.errors import ToolFailed, ToolMisuse
from app.base.signs import plain
from app.features.apps.store import APP, Surface, SurfaceStore, Written
from app.services.files.changes import ChangeOrigin
from app.services.themes import ActiveTheme

_RECORD = "server.json"
_PROTOCOL, _HOST = "2026-01-26", "1"
_MOST_PAGE_CHARS = 3_000_000
_MOST_RESULT_CHARS = 1_000_000
_NAME_CHARS = 50


def keep(store: SurfaceStore, app: ServedPage, page: str, origin: ChangeOrigin) -> tuple[Surface, bool]:
    """Save the page as a surface, in place of an older one for the same tool. Returns also whether there was one.

    Blocks. Raises ToolFailed for an unusable page.
    """
    if not page.strip() or len(page) > _MOST_PAGE_CHARS:
        raise ToolFailed("it is too large." if page.strip() else "it is empty.")
    place = {"server": app.server, "tool": app.tool, "pin": app.pin, "mark": app.mark}
    record = json.dumps({**place, "arguments": dict(app.arguments), "result": _bounded(app.result)})
    for known in store.all():
        if (found := served(known)) and (found.pin, found.server, found.tool) == (app.pin, app.server, app.tool):
            (known.folder / _RECORD).write_text(record, encoding="utf-8")
            return (known if known.html == page else store.update(known, Written(page), origin)), True
    name = clip_line(" ".join(plain(f"{app.tool} of {app.server}")[0].split()), _NAME_CHARS)
    doc = resources.text("surfaces/served.md").format(tool=app.tool, server=app.server)
    surface = store.create(APP, name, Written(page, doc), origin, in_menu=False)
    (surface.folder / _RECORD).write_text(record, encoding="utf-8")
    return surface, False


def served(surface: Surface) -> ServedPage | None:
    """Return what is known of a server's page; None for every other surface. Reads a file."""
    try:
        told = json.loads((surface.folder / _RECORD).read_text(encoding="utf-8"))
        place = [str(told.get(name, "")) for name in ("pin", "mark")]
        return ServedPage(str(told["server"]), str(told["tool"]), dict(told["arguments"]), dict(told["result"]), *place)
    except (OSError, ValueError, TypeError, KeyError):  # because most surfaces are no pages of a server
        return None


def make_own(store: SurfaceStore, surface: Surface, origin: ChangeOrigin) -> None:
    """Make a server's page an ordinary app, because its page was written by a model. An undo restores it. Blocks."""
    if served(surface):
        store.drop(surface, _RECORD, origin)


def greeting(app: ServedPage, theme: ActiveTheme) -> Mapping[str, Any]:
    """Return the answer to `ui/initialize`."""
    return {
        "protocolVersion": _PROTOCOL,
        "hostInfo": {"name": "Wisp", "version": _HOST},
        "hostCapabilities": {"openLinks": {}, "serverTools": {}, "logging": {}, "message": {"text": {}}},
        "hostContext": {**context(theme), "toolInfo": {"tool": {"name": app.tool, "inputSchema": {"type": "object"}}}},
    }


def context(theme: ActiveTheme) -> Mapping[str, Any]:
    """Return what a page may know of its surroundings: the theme by the names of the specification, and the place."""
    names: Mapping[str, str] = resources.table("surfaces/engine.toml", resources.Table)["served"]
    fonts = {f"font-{role}": families for role, families in theme.fonts.items()}
    values = {**theme.palette, **fonts, **theme.shape}
    styles = {variable: values[name] for variable, name in names.items() if name in values}
    return {
        "theme": theme.scheme,
        "styles": {"variables": styles},
        "displayMode": "inline",
        "availableDisplayModes": ["inline"],
        "platform": "desktop",
    }


def wish_of(app: ServedPage, name: str, given: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the arguments of a request that an open Wisp answers; None for every other request.

    Raises ToolMisuse for a message that is not text alone.
    """
    if name == CALL_TOOL:  # of the page's own server, whatever the page says
        place = {"server": app.server, "pin": app.pin, "mark": app.mark}
        return {**place, "tool": given.get("name"), "arguments": given.get("arguments") or {}}
    if name == SEND_MESSAGE:
        content = given.get("content")
        blocks = content if isinstance(content, list) else [content]
        texts = [one.get("text") if isinstance(one, Mapping) else None for one in blocks]
        if not all(isinstance(text, str) for text in texts):
            raise ToolMisuse("content: give blocks of the type text.")
        return {"text": "\n".join(map(str, texts))}
    return {"url": given.get("url")} if name == OPEN_LINK else None


def first_words(app: ServedPage) -> list[Mapping[str, Any]]:
    """Return the notifications that a page gets once it is ready: the call's arguments and its result."""
    return [
        {"method": "ui/notifications/tool-input", "params": {"arguments": dict(app.arguments)}},
        {"method": "ui/notifications/tool-result", "params": dict(app.result)},
    ]


def _bounded(result: Mapping[str, Any]) -> Mapping[str, Any]:
    if len(json.dumps(result)) <= _MOST_RESULT_CHARS:
        return result
    return {"content": [{"type": "text", "text": "The result is too large to be shown here."}], "isError": True}
