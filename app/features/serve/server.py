"""The MCP server: tools of the registry for another agent, each call judged by the gate.

Revisions of MCP up to 2026-07-28, by the official SDK (https://modelcontextprotocol.io/specification).
"""

from __future__ import annotations

import base64
import difflib
from collections.abc import Mapping, Sequence
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server

from app.agent.agent_events import AgentEvent, ApprovalWanted, ToolProgress
from app.agent.gate import ApprovalAnswer
from app.agent.guest import Guest
from app.base import facts, ids, resources
from app.base.clipping import clip_line
from app.base.signs import bare
from app.features.feature import Unattended
from app.features.serve.approvals import ClientApprovals, denied
from app.protocol import docs
from app.protocol.call import Block, ToolResult
from app.protocol.spec import HARMLESS, LOOKING, Effect, ToolSpec

_NAME_CHARS = 40
_UNNAMED = "an agent without a name"
_FIELD = "answer"
_YES, _NO = "yes", "no"


def served(specs: Sequence[ToolSpec], *, everything: bool = False) -> tuple[ToolSpec, ...]:
    """Return the tools that a client gets: the core ones in their order, or all that have a use outside Wisp."""
    table = resources.table("serve.toml", resources.Table)
    known = {spec.name: spec for spec in specs}
    core = tuple(known[name] for name in table["core"] if name in known)
    left_out = {*table["core"], *table["not_served"]}
    return (*core, *(spec for spec in specs if spec.name not in left_out)) if everything else core


def declared(spec: ToolSpec) -> types.Tool:
    """Return the tool as MCP declares it."""
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

    `may_elicit`: the person lets the client ask them itself. `is_own_desktop`: the desktop is a virtual one.
    """

    def __init__(
        self, assistant: Unattended, tools: Sequence[ToolSpec], *, may_elicit: bool, is_own_desktop: bool
    ) -> None:
        self._assistant = assistant
        self._tools = {spec.name: spec for spec in tools}
        self._may_elicit = may_elicit
        self._is_own_desktop = is_own_desktop
        self._guest: Guest | None = None
        self._session: Any = None

    def server(self, version: str) -> Server[Any]:
        return Server(
            "wisp",
            version=version,
            title="Wisp",
            instructions=resources.table("serve.toml", resources.Table)["instructions"].strip(),
            on_list_tools=self._list,
            on_call_tool=self._call,
        )

    async def _list(self, _context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[declared(spec) for spec in self._tools.values()])

    async def _call(self, context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name not in self._tools:
            near = difflib.get_close_matches(params.name, self._tools, n=2)
            named = f"Did you mean {' or '.join(near)}?" if near else f"The tools: {', '.join(self._tools)}."
            return _failed(f"There is no tool {clip_line(params.name, _NAME_CHARS)!r}. {named}")
        self._session = context.session
        block = Block(ids.unique("call_"), params.name, args=params.arguments or {})
        result = await self._guest_of(context).run(block, _Progress(context))
        return answered(result, is_look=self._tools[params.name].effect in HARMLESS)

    def _guest_of(self, context: Any) -> Guest:
        if self._guest is None:
            approvals = ClientApprovals(self._elicit, is_own_desktop=self._is_own_desktop)
            self._guest = self._assistant.guest(_name_of(context), approvals)
        return self._guest

    async def _elicit(self, wanted: ApprovalWanted) -> ApprovalAnswer | None:
        """Ask in the client's own window, if the person allowed that and the client can."""
        able = self._session.client_capabilities
        if not (self._may_elicit and able and able.elicitation and self._session.can_send_request):
            return None
        schema = {
            "type": "object",
            "properties": {_FIELD: {"type": "string", "enum": [_YES, _NO], "title": "Allow it?"}},
            "required": [_FIELD],
        }
        answer = await self._session.elicit_form("\n".join(filter(None, (wanted.sentence, wanted.why))), schema)
        is_yes = answer.action == "accept" and (answer.content or {}).get(_FIELD) == _YES
        return ApprovalAnswer(scope=wanted.scopes[0]) if is_yes else denied()


def answered(result: ToolResult, *, is_look: bool) -> types.CallToolResult:
    """Return a result as MCP has it: what models read, pictures, and beside them the facts that an act proved.

    Claude Code and VS Code give a model either the structured part or the rest. So the structured part holds the text
    too, and there is none of a look, whose text is all that it found, nor where there are pictures
    (https://github.com/anthropics/claude-code/issues/54737).
    """
    content: list[Any] = [types.TextContent(text=result.llm_echo)] if result.llm_echo else []
    content += [
        types.ImageContent(data=base64.b64encode(one.data).decode(), mime_type=one.media_type)
        for one in result.llm_media
    ]
    has_facts = result.facts and not (is_look or result.llm_media)
    structured = {"text": result.llm_echo, "facts": _short(facts.as_json(result.facts))} if has_facts else None
    return types.CallToolResult(content=content, structured_content=structured, is_error=not result.ok)


def _short(tree: Any) -> Any:
    """Return the tree without empty values."""
    if isinstance(tree, Mapping):
        return {name: _short(value) for name, value in tree.items() if value not in ("", None, False, (), [], {})}
    return [_short(one) for one in tree] if isinstance(tree, (list, tuple)) else tree


def _failed(sentence: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=sentence)], is_error=True)


def _name_of(context: Any) -> str:
    """Return what the client calls itself."""
    told = context.session.client_params
    info = told.client_info if told else None
    return clip_line(bare((info.title or info.name) if info else ""), _NAME_CHARS).strip() or _UNNAMED


class _Progress:
    """Passes a call's progress on to the client, if it asked for that."""

    def __init__(self, context: Any) -> None:
        self._session = context.session
        self._count = 0
        self._sent: set[Any] = set()

    def __call__(self, event: AgentEvent) -> None:
        import asyncio

        if isinstance(event, ToolProgress):
            self._count += 1
            sending = asyncio.ensure_future(self._session.report_progress(self._count, message=_said(event.payload)))
            self._sent.add(sending)
            sending.add_done_callback(self._sent.discard)


def _said(payload: Mapping[str, Any]) -> str:
    return clip_line(", ".join(f"{name}: {value}" for name, value in payload.items()), 200)
