"""Surfaces: small apps and cards that the model writes in HTML. Make them, change them, show them, and read their data.

The model reads the design rules once in a turn before it writes a page, and a surface's description before it changes
the surface. Both are refused with the sentence that says what to do.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping

from app.base import resources
from app.base.clipping import clip_line
from app.base.errors import NeedsPerson, ToolFailed, ToolMisuse
from app.base.facts import Listed, Made, Removed
from app.base.phrases import Phrase
from app.base.values import replace
from app.features.apps import page, served_apps, state
from app.features.apps.client import SurfaceEngine
from app.features.apps.menu import HAS_MENU
from app.features.apps.store import APP, SHORTCUT, Surface, SurfaceStore, Written
from app.protocol.call import JsonValue, ToolCall, ToolResult, question_result
from app.protocol.spec import Close, Effect, Execute, Param, RareFamily, ToolSpec, ValueType
from app.services.files.changes import ChangeOrigin
from app.services.files.places import DOC_PATH
from app.tools.registry import Family, TurnContext

TEMPLATES = ("timer", "todo", "converter", "habits")
_ECHO_CHARS = 20_000
_CARD_CHARS = 6_000
_TAINT = "surface"
_LISTED = 40
_HINTED = 25
_OFFER_CHARS = 300
_YES, _NO = "Yes", "No"


class SurfaceDocs:
    """The descriptions of surfaces, and in which turn the model read each."""

    def __init__(self, store: SurfaceStore) -> None:
        self._store = store
        self._read: dict[str, set[str]] = {}

    async def read(self, surface_id: str, turn: TurnContext) -> str:
        """Return the description and the page of a surface. Raises WispError."""
        surface = await asyncio.to_thread(self._store.find, surface_id)
        self.note(surface, turn)
        doc, html = await asyncio.to_thread(lambda: (surface.doc, surface.html))
        return f"{doc.strip()}\n\n[Its page, index.html, is what update_app and update_shortcut replace:]\n{html}"

    def note(self, surface: Surface, turn: TurnContext) -> None:
        """Note that the model has now read this surface's description, in this turn."""
        self._read.setdefault(surface.id, set()).add(turn.turn_id)

    def was_read(self, surface: Surface, turn: TurnContext) -> bool:
        """Return whether the model has read this surface's description in this conversation."""
        return bool(self._read.get(surface.id, set()) & {turn.turn_id, *(turn.turns or ())})


class SurfaceTools:
    """The handlers of the tools for surfaces. `handbook` returns the design rules of the theme in use."""

    def __init__(
        self, store: SurfaceStore, engine: SurfaceEngine, docs: SurfaceDocs, handbook: Callable[[], str]
    ) -> None:
        self._store = store
        self._engine = engine
        self._docs = docs
        self._handbook = handbook
        self._informed = ""

    async def guidelines(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        self._informed = turn.turn_id
        text = await asyncio.to_thread(lambda: f"{_contract()}\n\n{self._handbook()}")
        return ToolResult(True, call.name, {"text": clip_line(text, 200)}, text.strip())

    async def rename(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        surface, name = await self._found(call), call.text("name")
        free, there = await asyncio.to_thread(self._store.free_name, "", name)
        if there and there.id != surface.id:
            what = "{name!r} is the name of {id} already. Choose another one, such as {free!r}."
            values = {"name": there.name, "id": there.id, "free": free}
            raise ToolFailed(Phrase(what, values), argument="name")
        renamed = await asyncio.to_thread(self._store.rename, surface, name, _origin(call, turn))
        await turn.audit("surface_renamed", {"id": surface.id, "from": surface.name, "to": renamed.name})
        await self._engine.tell(surface.id, "reload")
        text = f"{surface.name!r} is called {renamed.name!r} now."
        shown = {**_about(renamed), "before": surface.name, "path": renamed.name, "undoable": True, "text": text}
        return ToolResult(True, call.name, shown, f"{text} Its id stays {surface.id}.")

    async def suggest(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        offer = " ".join(call.text("offer").split())
        if not offer:
            raise ToolMisuse("offer is empty: say in a sentence what the shortcut would do.")
        text = clip_line(offer, _OFFER_CHARS)
        return question_result(
            text, (_YES, _NO), "The person was asked. Nothing was built: build it when they say yes."
        )

    async def list_all(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        found = await asyncio.to_thread(self._store.all)
        lines = [f"{_line(one)} ({len(one.versions)} earlier versions)" for one in found[:_LISTED]]
        lines += [f"and {len(found) - _LISTED} more"] if len(found) > _LISTED else []
        text = "\n".join(lines) or "There are no surfaces yet."
        ids: list[JsonValue] = [one.id for one in found]
        facts = (Listed(tuple(one.name for one in found[:_LISTED]), len(found) > _LISTED),)
        return ToolResult(True, call.name, {"ids": ids, "count": len(found), "text": text}, text, facts=facts)

    async def read_data(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        surface = await self._found(call)
        pointer = call.text("pointer")
        value = state.resolve(await asyncio.to_thread(self._store.state, surface), pointer)
        text = json.dumps(value, ensure_ascii=False)
        more = f"\n[{len(text)} characters; a longer pointer reads a part]" if len(text) > _ECHO_CHARS else ""
        payload = {**_about(surface), "pointer": pointer, "text": text[:_CARD_CHARS]}
        return ToolResult(True, call.name, payload, text[:_ECHO_CHARS] + more)

    async def mutate_data(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        surface = await self._found(call)
        patch = call.arguments["patch"]
        assert isinstance(patch, (list, tuple))
        new = await asyncio.to_thread(self._store.mutate, surface, list(patch), _origin(call, turn))
        await turn.audit("surface_changed", {"id": surface.id, "operations": len(patch)})
        await self._engine.tell(surface.id, "state", new)
        told = "1 operation" if len(patch) == 1 else f"{len(patch)} operations"
        text = f"{surface.name}: {told} carried out. Its window shows it at once; undo_last_change takes it back."
        return _result(call, surface, text, undoable=True)

    async def create(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        kind, name = _kind_of(call), call.text("name")
        if call.text("template"):
            free, there = await asyncio.to_thread(self._store.free_name, kind, name)
            if there and not call.arguments.get("another"):
                return await self._open_instead(call, there, turn)
            name = free
        written, remarks = await self._written(call, turn, is_new=True)
        surface = await asyncio.to_thread(self._store.create, kind, name, written, _origin(call, turn))
        self._docs.note(surface, turn)
        await turn.audit("surface_created", {"id": surface.id, "name": surface.name})
        try:
            opened = await self._engine.open(surface.id)
        except (ToolFailed, NeedsPerson) as error:  # because a model would otherwise make it again
            launch = call.name.replace("create", "launch")
            then = f"Its id is {surface.id}: use {launch} then, not {call.name} again."
            what = Phrase("{name!r} was made, but not opened. {why}", {"name": surface.name, "why": error.why.what})
            raise type(error)(what, f"{error.why.hint} {then}".lstrip(), advice=error.why.advice) from error
        if surface.is_app and HAS_MENU and not surface.is_in_menu:
            remarks += " Its entry in the menu of programs could not be written."
        text = f"Created {surface.name!r} as {surface.id}. {opened}{remarks}"
        made = Made(surface.id, surface.name)
        return replace(_result(call, surface, text, undoable=True), facts=(made,))

    async def _open_instead(self, call: ToolCall, there: Surface, turn: TurnContext) -> ToolResult:
        """Open the surface that a call would make a second time. Its card says that it was opened."""
        as_launch = replace(call, name=call.name.replace("create", "launch"), arguments={"id": there.id})
        opened = await self.launch(as_launch, turn)
        echo = f"{opened.llm_echo} It is there already, so none was made. another=true makes one more."
        return replace(opened, llm_echo=echo, facts=(Made(there.id, there.name, was_there=True),))

    async def update(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        surface = await self._found(call, _kind_of(call))
        if turn.said is not None and not self._docs.was_read(surface, turn):
            raise ToolMisuse(
                f'Read what it is first: read_file with path="{DOC_PATH}{surface.id}" gives its description and page. '
                "Then write the whole new page."
            )
        written, remarks = await self._written(call, turn, is_new=False)
        if (written.html, written.doc, written.picture) == (None, None, None):
            raise ToolMisuse("Nothing would change: give html, doc or thumbnail.")
        surface = await asyncio.to_thread(self._store.update, surface, written, _origin(call, turn))
        if written.html is not None:
            await asyncio.to_thread(served_apps.make_own, self._store, surface, _origin(call, turn))
        await turn.audit("surface_updated", {"id": surface.id, "versions": len(surface.versions)})
        await self._engine.tell(surface.id, "reload")
        text = f"Updated {surface.name!r} ({surface.id}). Its data and the version before have stayed.{remarks}"
        return _result(call, surface, text, undoable=True)

    async def launch(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        surface = await self._found(call, _kind_of(call))
        opened = await self._engine.open(surface.id, takes_keyboard=turn.said is None)
        await turn.audit("surface_opened", {"id": surface.id})
        return _result(call, surface, f"{surface.name!r} ({surface.id}): {opened}")

    async def delete(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        surface = await self._found(call, _kind_of(call))
        await self._engine.tell(surface.id, "close")
        await asyncio.to_thread(self._store.delete, surface, _origin(call, turn))
        await turn.audit("surface_deleted", {"id": surface.id, "name": surface.name})
        text = f"Deleted {surface.name!r} with what it kept. undo_last_change brings it back."
        return replace(_result(call, surface, text, undoable=True), facts=(Removed(),))

    async def _found(self, call: ToolCall, kind: str = "") -> Surface:
        return await asyncio.to_thread(self._store.find, call.text("id"), kind)

    async def _written(self, call: ToolCall, turn: TurnContext, *, is_new: bool) -> tuple[Written, str]:
        """With remarks on the parts. Raises ToolMisuse for an unusable page."""
        if wanted := call.text("template"):
            return await asyncio.to_thread(template, wanted), ""
        html = call.text("html") if call.has("html") or is_new else None
        if html is None:
            return Written(None, _given(call, "doc"), _given(call, "thumbnail")), ""
        if turn.said is not None and self._informed != turn.turn_id:
            raise ToolMisuse(
                "Call get_ux_ui_strict_guidelines first, once in this turn, and read it. Then write the page by it."
            )
        found = await asyncio.to_thread(page.check, html)
        if found.problems:
            raise ToolMisuse("html cannot be shown as it is. " + " ".join(found.problems))
        if is_new and not call.text("doc").strip():
            raise ToolMisuse("doc is missing: describe purpose, views, the shape of the state and the bridge calls.")
        remarks = f" Consider: {' '.join(found.remarks)}" if found.remarks else ""
        return Written(html, _given(call, "doc"), _given(call, "thumbnail")), remarks


class SurfaceHints:
    """Adds the list of surfaces to each model pass, if there are any."""

    def __init__(self, store: SurfaceStore) -> None:
        self._store = store

    async def __call__(self, _said: str = "") -> Mapping[str, str]:
        if self._store.is_empty:
            return {}
        found = await asyncio.to_thread(self._store.all)
        lines = [_line(one) for one in found[:_HINTED]]
        lines += [f"and {len(found) - _HINTED} more (list_surfaces)"] if len(found) > _HINTED else []
        return {"Surfaces (launch_app, launch_shortcut)": "\n".join(lines)} if lines else {}


def template(name: str) -> Written:
    """Return the page, description and icon of one of the apps that Wisp ships."""
    head, page_html, doc, thumbnail = (
        resources.text(f"surfaces/templates/{file}")
        for file in ("head.html", f"{name}.html", f"{name}.md", f"{name}.svg")
    )
    title, rest = page_html.split("\n", 1)  # what templates share stands once, in head.html
    return Written(head.replace("<title></title>", title) + rest, doc, thumbnail)


def _contract() -> str:
    """What every page keeps to, and what its window blocks."""
    blocked = "\n".join(f"- {one}" for one in page.blocked())
    return resources.text("surfaces/contract.md").strip().replace("{blocked}", blocked)


def _kind_of(call: ToolCall) -> str:
    return SHORTCUT if call.name.endswith("_shortcut") else APP


def _given(call: ToolCall, name: str) -> str | None:
    return call.text(name) if call.has(name) else None


def _origin(call: ToolCall, turn: TurnContext) -> ChangeOrigin:
    return ChangeOrigin(turn.turn_id, call.name)


def _line(surface: Surface) -> str:
    return f"{surface.id}: {surface.name}"


def _about(surface: Surface) -> dict[str, JsonValue]:
    return {"id": surface.id, "name": surface.name, "kind": "app" if surface.is_app else "shortcut"}


def _result(call: ToolCall, surface: Surface, text: str, *, undoable: bool = False) -> ToolResult:
    shown: dict[str, JsonValue] = {"path": surface.name, "undoable": True} if undoable else {}
    return ToolResult(True, call.name, {**_about(surface), **shown, "text": text}, text)


_RARE = RareFamily(
    "surfaces",
    "what the person uses again: a shortcut does one job, such as a timer or opening a site, an app has views; where "
    "unclear, suggest_shortcut",
)
_ID = Param(
    "id", description="its id, or its name", required=True, aliases=("surface", "surface_id", "app_id", "widget_id")
)
_NAME = Param("name", description="a few words", required=True, aliases=("title",))
_HTML = Param(
    "html", description="the whole page, to </html>", close=Close.LAST, short=False, aliases=("content", "code")
)
_DOC = Param(
    "doc",
    description="Markdown: purpose, views, shape of the state, bridge calls, changelog",
    close=Close.LAST,
    short=False,
    aliases=("documentation", "surface_md"),
)
_THUMBNAIL = Param("thumbnail", description="an <svg> of shapes", close=Close.LAST, short=False, aliases=("icon",))
_TEMPLATE = Param("template", description="one of Wisp's own instead of html", choices=TEMPLATES)
_ANOTHER = Param("another", ValueType.FLAG, "one more, though one from the template has this name")
_PARTS = (_HTML, _DOC, _THUMBNAIL)
_PAGE = "<html><![CDATA[<!doctype html>…</html>]]></html><doc># Meals\n…</doc>"
_MAKING = (
    "Make {what} in a window of its own, and open it. Read get_ux_ui_strict_guidelines first in the turn; for a real "
    "domain, research before. With template no page is written."
)
_CHANGING = (
    'Change parts of {what}. Read it first (read_file path="doc:ID"), and get_ux_ui_strict_guidelines before new html. '
    "Its data stays, and so does the version before."
)
_SHOWING = "Open {what}, or bring its window to the front."
_DELETING = "Delete {what} with all that it keeps; undo_last_change brings it back."


def _of_kind(verb: str, description: str, execute: Execute, *, is_shortcut: bool, alias: str = "") -> ToolSpec:
    """For apps or (`is_shortcut`) for shortcuts."""
    kind = "shortcut" if is_shortcut else "app"
    name, example = f"{verb}_{kind}", f"{'widget' if is_shortcut else 'app'}-meals"
    is_writing, is_new = verb in ("create", "update"), verb == "create"
    given = f'name="Meals">{_PAGE}</{name}>' if is_new else f'id="{example}"'
    return ToolSpec(
        name=name,
        description=description.format(what="a small card that does one thing" if is_shortcut else "an app"),
        effect=Effect.TALKS if verb == "launch" else Effect.WRITES,
        execute=execute,
        attrs=(_NAME, _TEMPLATE, _ANOTHER) if is_new else (_ID,),
        children=_PARTS if is_writing else (),
        examples=(f"<{name} {given}" + (f">{_PAGE}</{name}>" if verb == "update" else "" if is_new else "/>"),),
        aliases=(alias,) if alias else (),
        rare=_RARE,
        named_later="name" if is_new else "",
        leaves_traces=(lambda _: True) if verb == "launch" else None,  # a window
    )


SURFACES = Family(
    SurfaceTools,
    (
        _of_kind("create", _MAKING, SurfaceTools.create, is_shortcut=False),
        _of_kind("update", _CHANGING, SurfaceTools.update, is_shortcut=False),
        _of_kind("launch", _SHOWING, SurfaceTools.launch, is_shortcut=False),
        _of_kind("delete", _DELETING, SurfaceTools.delete, is_shortcut=False),
        _of_kind("create", _MAKING, SurfaceTools.create, is_shortcut=True, alias="create_widget"),
        _of_kind("update", _CHANGING, SurfaceTools.update, is_shortcut=True, alias="update_widget"),
        _of_kind("launch", _SHOWING, SurfaceTools.launch, is_shortcut=True, alias="launch_widget"),
        _of_kind("delete", _DELETING, SurfaceTools.delete, is_shortcut=True, alias="delete_widget"),
        ToolSpec(
            name="rename_widget",
            description="Give an app or a shortcut another name. Its id stays.",
            effect=Effect.WRITES,
            named_later="name",
            execute=SurfaceTools.rename,
            attrs=(_ID, _NAME),
            examples=('<rename_widget id="widget-meals" name="Lunch"/>',),
            aliases=("rename_shortcut", "rename_app"),
            rare=_RARE,
        ),
        ToolSpec(
            name="suggest_shortcut",
            description="Offer a shortcut with Yes and No; builds nothing. Ends the turn until the person answers.",
            effect=Effect.TALKS,
            execute=SurfaceTools.suggest,
            body=Param(
                "offer",
                description="one sentence: what it would do",
                required=True,
                close=Close.LAST,
                aliases=("text", "suggestion"),
            ),
            examples=("<suggest_shortcut>Shall I make a card that counts your glasses of water?</suggest_shortcut>",),
            rare=_RARE,
        ),
        ToolSpec(
            name="get_ux_ui_strict_guidelines",
            description="Read what every page must be, what the bridge offers, and the rules of the theme in use.",
            effect=Effect.TALKS,
            execute=SurfaceTools.guidelines,
            examples=("<get_ux_ui_strict_guidelines/>",),
            rare=_RARE,
        ),
        ToolSpec(
            name="list_surfaces",
            description="List all apps and shortcuts.",
            effect=Effect.READS,
            execute=SurfaceTools.list_all,
            examples=("<list_surfaces/>",),
            rare=_RARE,
            taint=_TAINT,
        ),
        ToolSpec(
            name="read_surface_data",
            description="Read what an app or shortcut keeps, whole or at a JSON Pointer.",
            effect=Effect.READS,
            execute=SurfaceTools.read_data,
            attrs=(_ID, Param("pointer", description="such as /meals/0", aliases=("path", "json_pointer"))),
            examples=('<read_surface_data id="app-meals" pointer="/meals/0"/>',),
            rare=_RARE,
            taint=_TAINT,
        ),
        ToolSpec(
            name="mutate_surface_data",
            description="Change what an app or shortcut keeps by a JSON Patch, all of it or nothing.",
            effect=Effect.WRITES,
            execute=SurfaceTools.mutate_data,
            attrs=(_ID,),
            body=Param(
                "patch",
                ValueType.LIST,
                "JSON Patch: add, remove, replace, move, copy, test",
                required=True,
                close=Close.LAST,
                short=False,
                aliases=("operations", "ops"),
            ),
            examples=(
                '<mutate_surface_data id="app-meals">[{"op": "add", "path": "/meals/-", "value": {"kcal": 400}}]'
                "</mutate_surface_data>",
            ),
            rare=_RARE,
        ),
    ),
)
