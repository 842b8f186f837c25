"""The MCP server: tools of the registry for another agent, each call judged by the gate.

Revisions of MCP up to 2026-07-28, by the official SDK (https://modelcontextprotocol.io/specification).
"""

from __future__ import annotations

import asyncio
import base64
import difflib
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from app.agent.agent_events import AgentEvent, ToolProgress
from app.agent.guest import Guest
from app.base import facts, ids, resources
from app.base.clipping import clip_line
from app.base.errors import WispError
from app.base.signs import bare
from app.features.feature import Unattended
from app.features.serve.approvals import ClientApprovals
from app.features.serve.elicitation import Answer, Elicitation
from app.protocol import docs
from app.protocol.call import Block, JsonValue, ToolResult
from app.protocol.spec import HARMLESS, LOOKING, Effect, ToolSpec

_NAME_CHARS = 40
_UNNAMED = "an agent without a name"
_OWN = "wisp"
_ODD = re.compile(r"[^\w .+@-]+")


def served(specs: Sequence[ToolSpec], *, everything: bool) -> tuple[ToolSpec, ...]:
    """Return the tools that a client gets: the core ones in their order, or all that have a use outside Wisp."""
    table = resources.table("serve.toml", resources.Table)
    known = {spec.name: spec for spec in specs}
    core = tuple(known[name] for name in table["core"] if name in known)
    left_out = {*table["core"], *table["not_served"]}
    return (*core, *(spec for spec in specs if spec.name not in left_out)) if everything else core


def declared(spec: ToolSpec) -> types.Tool:
    effects = HARMLESS if spec.effect in HARMLESS else frozenset({spec.effect})
    hints = types.ToolAnnotations(
        read_only_hint=effects <= LOOKING and spec.leaves_traces is None,
        open_world_hint=Effect.NETWORK in effects,
    )
    return types.Tool(
        name=spec.name, description=spec.description, input_schema=docs.compact(spec, set()), annotations=hints
    )


class ClientDesk:
    """One client: its tools, its calls and the questions about them.

    `open_assistant` returns the assistant; it raises WispError as long as the desktop cannot be used. `everything`:
    the client gets all tools, not the core ones. `may_elicit`: the person lets the client ask them itself.
    `is_own_desktop`: the desktop is a virtual one.
    """

    def __init__(
        self,
        open_assistant: Callable[[], Awaitable[Unattended]],
        *,
        everything: bool,
        may_elicit: bool,
        is_own_desktop: bool,
    ) -> None:
        self._open = open_assistant
        self._everything = everything
        self._elicitation = Elicitation(is_allowed=may_elicit)
        self._is_own_desktop = is_own_desktop
        self._assistant: asyncio.Task[Unattended] | None = None
        self._guest: Guest | None = None
        self._known: dict[str, ToolSpec] = {}

    def begin(self) -> None:
        """Make the assistant, so that the first call need not wait for it."""
        self._assistant = asyncio.ensure_future(self._open())

    def server(self, version: str, notes: Sequence[str] = ()) -> Server[Any]:
        """`notes` names what the server's instructions tell besides."""
        told = resources.table("serve.toml", resources.Table)
        return Server(
            "wisp",
            version=version,
            title="Wisp",
            instructions="\n".join(told[name].strip() for name in ("instructions", *notes)),
            on_list_tools=self._list,
            on_call_tool=self._call,
        )

    async def _opened(self) -> Unattended:
        """If the assistant could not be made, try again. Raises WispError."""
        if self._assistant is None or (self._assistant.done() and self._assistant.exception()):
            self.begin()
        assert self._assistant
        return await asyncio.shield(self._assistant)

    async def _tools(self) -> dict[str, ToolSpec]:
        assistant = await self._opened()
        if not self._known:
            self._known = {spec.name: spec for spec in served(assistant.registry.specs, everything=self._everything)}
        return self._known

    async def _list(self, _context: Any, _params: Any) -> types.ListToolsResult:
        try:
            return types.ListToolsResult(tools=[declared(spec) for spec in (await self._tools()).values()])
        except WispError as error:
            raise MCPError(types.INTERNAL_ERROR, str(error)) from None

    async def _call(self, context: Any, params: types.CallToolRequestParams) -> Answer:
        try:
            tools = await self._tools()
        except WispError as error:
            return _failed(str(error))
        if (spec := tools.get(params.name)) is None:
            near = difflib.get_close_matches(params.name, tools, n=2)
            named = f"Did you mean {' or '.join(near)}?" if near else f"The tools: {', '.join(tools)}."
            return _failed(f"There is no tool {clip_line(params.name, _NAME_CHARS)!r}. {named}")
        if params.request_state:
            went_on = await self._elicitation.go_on(params.request_state, params.input_responses)
            return went_on or _failed("Nothing waits for this answer any more. Call the tool anew.")
        return await self._elicitation.run(context.session, self._run(context, spec, params.arguments or {}))

    async def _run(self, context: Any, spec: ToolSpec, arguments: Mapping[str, JsonValue]) -> types.CallToolResult:
        if self._guest is None:
            approvals = ClientApprovals(self._elicitation.ask, is_own_desktop=self._is_own_desktop)
            self._guest = (await self._opened()).guest(_name_of(context), approvals)
        block = Block(ids.unique("call_"), spec.name, args=arguments)
        result = await self._guest.run(block, _Progress(context.session))
        return answered(result, is_look=spec.effect in HARMLESS)


def answered(result: ToolResult, *, is_look: bool) -> types.CallToolResult:
    """Return a result as MCP has it: what models read, pictures, and beside them the facts that an act proved.

    Claude Code and VS Code give a model either the structured part or the rest. So the structured part holds the text
    too, and there is none of a failure, nor of a look, whose text is all that it found, nor where there are pictures
    (https://github.com/anthropics/claude-code/issues/54737).
    """
    content: list[Any] = [types.TextContent(text=result.llm_echo)] if result.llm_echo else []
    content += [
        types.ImageContent(data=base64.b64encode(one.data).decode(), mime_type=one.media_type)
        for one in result.llm_media
    ]
    has_facts = result.ok and result.facts and not (is_look or result.llm_media)
    structured = {"text": result.llm_echo, "facts": _short(facts.as_json(result.facts))} if has_facts else None
    return types.CallToolResult(content=content, structured_content=structured, is_error=not result.ok)


def _short(tree: Any) -> Any:
    """Without what is not known, and without empty lists."""
    if isinstance(tree, Mapping):
        return {name: _short(value) for name, value in tree.items() if value not in (None, [], {})}
    return [_short(one) for one in tree] if isinstance(tree, (list, tuple)) else tree


def _failed(sentence: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=sentence)], is_error=True)


def _name_of(context: Any) -> str:
    """As the client calls itself, without signs that could pass for a part of the question."""
    told = context.session.client_params
    info = told.client_info if told else None
    plain = " ".join(_ODD.sub(" ", bare((info.title or info.name) if info else "")).split())
    name = clip_line(plain, _NAME_CHARS)
    if _OWN in name.casefold():
        return f"an agent that calls itself {name}"
    return name or _UNNAMED


class _Progress:
    """Passes a call's progress on to the client, if it asked for that."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._count = 0
        self._sent: set[Any] = set()

    def __call__(self, event: AgentEvent) -> None:
        if isinstance(event, ToolProgress):
            self._count += 1
            sending = asyncio.ensure_future(self._session.report_progress(self._count, message=_said(event.payload)))
            self._sent.add(sending)
            sending.add_done_callback(self._sent.discard)


def _said(payload: Mapping[str, Any]) -> str:
    return clip_line(", ".join(f"{name}: {value}" for name, value in payload.items()), 200)
