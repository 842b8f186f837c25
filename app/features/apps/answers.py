"""Answer what surfaces ask of Wisp: a question to the model, a search, a page, a schedule.

A surface is a stranger's program. The policy judges each wish as one that somebody else's words had: the person's words
permit nothing, and what would ask is asked with the surface's name. Each surface has a budget of its own. No wish
presses, types, reads a file or answers an approval, because there is no such wish.
"""

from __future__ import annotations

import asyncio
import base64
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any

from app.agent import asking
from app.agent.agent_events import ApprovalWanted, Scope
from app.agent.gate import ApprovalAnswer
from app.agent.policy import Decision, Policy, Trust, Verdict
from app.agent.served_pages import CALL_TOOL, OPEN_LINK, SEND_MESSAGE, PageCall, PageServers
from app.agent.streaming import SideAnswer
from app.base import ids, resources
from app.base.clipping import clip_line
from app.base.clock import Clock
from app.base.errors import NeedsPerson, ToolMisuse, WispError
from app.base.signs import plain
from app.base.translation import words_in
from app.base.values import dataclass
from app.features.apps.bridge import SurfaceWish
from app.features.apps.client import SurfaceEngine
from app.features.apps.settings import SURFACE_CALLS, SURFACE_TOKENS
from app.protocol.arguments import to_call
from app.protocol.call import Block, JsonValue, Media, ToolCall, ToolResult
from app.protocol.message import ImagePart, Message, Part, Role, TextPart
from app.protocol.spec import Effect, Param, ToolSpec, unbound
from app.providers.api import Provider, Request
from app.providers.images import PictureMaker, shape_of
from app.services.files import contents
from app.services.web.pages import Pages
from app.settings.store import Settings
from app.tools.executor import Executor
from app.tools.registry import Audit, Registry, TurnContext, admitted

_TAINT = "surface"
_HOUR_S = 3600.0
_LOOK_S = 1.0
_ASKED_S = 100.0
"""Less than a page waits for an answer, so that it learns that the person did not answer."""
_ANSWER_S = 90.0
_AT_ONCE = 4
_SYSTEM_CHARS, _PROMPT_CHARS = 4_000, 20_000
_MOST_IMAGES = 3
_ANSWER_TOKENS = 2_048
_LETTERS_A_TOKEN = 4
_PICTURE_TOKENS = 1_500
_PAGE_CHARS = 20_000
_QUERY_CHARS = 400
_NAME_CHARS = 60

ASK_AI = ToolSpec(
    name="ask_ai",
    description="Ask the model one question, without tools.",
    effect=Effect.TALKS,
    execute=unbound,
    attrs=(Param("prompt", required=True), Param("system")),
)
"""The shape of `askAI`, for the policy. A model never sees it."""
LINK = ToolSpec(
    name="open_link",
    description="Open an address in the person's browser.",
    effect=Effect.NETWORK,
    execute=unbound,
    attrs=(Param("url", required=True),),
)
"""The shape of a link that a server's page asks to open, for the policy. A model never sees it."""
PASS_ON = ToolSpec(
    name="pass_on",
    description="Take a page's message into the conversation.",
    effect=Effect.TALKS,
    execute=unbound,
    attrs=(Param("text", required=True),),
)
"""The shape of a message that a server's page asks to send, for the policy. A model never sees it."""
Ask = Callable[[ApprovalWanted], Awaitable[ApprovalAnswer]]
PassOn = Callable[[str, str], Coroutine[Any, Any, object]]


@dataclass(frozen=True, slots=True)
class AnsweringParts:
    """The parts that answer a surface. `ask` asks the person. If `model` is "", the server's first model answers.

    `servers` returns what calls the tools of tool servers; None if that is switched off. `pass_on` takes the name and
    the words of a surface into the conversation, and waits for the end of that turn. `can_answer` is False if the
    provider only carries out commands.
    """

    engine: SurfaceEngine
    servers: Callable[[], PageServers | None]
    provider: Provider
    model: str
    can_answer: bool
    policy: Policy
    registry: Registry
    executor: Executor
    pages: Pages
    maker: PictureMaker
    now: Callable[[], Settings]
    ask: Ask
    pass_on: PassOn
    audit: Audit
    clock: Clock


class _Spent:
    """What one surface has used in the last hour: calls, or tokens."""

    def __init__(self) -> None:
        self._used: deque[tuple[float, int]] = deque()

    def total(self, now: float) -> int:
        while self._used and self._used[0][0] < now - _HOUR_S:
            self._used.popleft()
        return sum(count for _, count in self._used)

    def note(self, now: float, count: int = 1) -> None:
        self._used.append((now, count))


def _tokens_of(answer: SideAnswer, asked_tokens: int) -> int:
    """Return the tokens as the provider counts them, or a guess where it did not; 0 if nothing came at all.

    `asked_tokens` is a guess of what the question takes.
    """
    usage = answer.usage
    counted = usage.input_tokens + usage.output_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    if answer.is_whole and counted:
        return counted
    guessed = asked_tokens + len(answer.text) // _LETTERS_A_TOKEN
    return max(counted, guessed) if answer.is_whole or counted or answer.text else 0


class SurfaceAnswers:
    """Listens to the worker that shows surfaces, and answers. Use it on one event loop."""

    def __init__(self, parts: AnsweringParts) -> None:
        self._parts = parts
        self._calls: dict[str, _Spent] = defaultdict(_Spent)
        self._tokens: dict[str, _Spent] = defaultdict(_Spent)
        self._asking: set[str] = set()
        self._denied: set[tuple[str, str]] = set()
        self._allowed: set[tuple[str, str, str, tuple[str, ...], int]] = set()
        self._places: dict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(_AT_ONCE))
        self._model = asyncio.Lock()
        self._running: set[asyncio.Task[object]] = set()
        self._listening: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Listen from now on, until `close`."""
        self._listening = self._listening or asyncio.ensure_future(self._listen())

    async def close(self) -> None:
        """Stop listening and answering."""
        tasks = [*self._running, *((self._listening,) if self._listening else ())]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _listen(self) -> None:
        engine = self._parts.engine
        while True:
            wishes = await engine.wishes() if engine.is_running else None
            if wishes is None:  # because no surface is open, or its worker has just ended
                await asyncio.sleep(_LOOK_S)
                continue
            for wish in wishes:
                self._in_background(self._settle(wish))

    def _in_background(self, work: Coroutine[Any, Any, object]) -> None:
        task = asyncio.ensure_future(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _settle(self, wish: SurfaceWish) -> None:
        """Answer one wish, with a value or with the sentence that the page reads."""
        async with self._places[wish.surface]:
            value, error = await self.answered(wish)
        await self._parts.engine.answer(wish.number, value, error)

    async def answered(self, wish: SurfaceWish) -> tuple[Any, str]:
        """Return the value for the page and ""; or None and the sentence that says why there is no value."""
        answers: Mapping[str, Callable[[SurfaceWish], Awaitable[Any]]] = {
            "askAI": self._ask_model,
            "webSearch": self._search,
            "webFetch": self._fetch,
            "cron": self._schedule,
            "generateImage": self._draw,
            CALL_TOOL: self._use_tool,
            OPEN_LINK: self._open_link,
            SEND_MESSAGE: self._pass_on,
        }
        try:
            if wish.kind not in answers:
                raise ToolMisuse(_says("nothing", kind=wish.kind))
            self._charge(wish)
            async with asyncio.timeout(_ASKED_S + _ANSWER_S):
                return await answers[wish.kind](wish), ""
        except TimeoutError:
            return None, _says("late")
        except WispError as error:
            return None, plain(str(error))[0]

    def _charge(self, wish: SurfaceWish) -> None:
        """Count a call of the surface. Raises ToolMisuse if its calls of this hour are spent."""
        spent, most = self._calls[wish.surface], self._parts.now()[SURFACE_CALLS]
        now = self._parts.clock.now()
        if spent.total(now) >= most:
            raise ToolMisuse(_says("calls", most=str(most)))
        spent.note(now)

    async def _ask_model(self, wish: SurfaceWish) -> str:
        prompt, system = (str(wish.arguments.get(name) or "").strip() for name in ("prompt", "system"))
        if not prompt:
            raise ToolMisuse(_says("no_prompt"))
        if not self._parts.can_answer:
            raise NeedsPerson(_says("no_model"))
        self._check_tokens(wish)
        await self._admit(wish, ASK_AI, prompt=prompt[:_PROMPT_CHARS])
        pictures = await asyncio.to_thread(_pictures, wish.arguments.get("images"))
        asked: list[Part] = [ImagePart(picture) for picture in pictures]
        words = f"{system[:_SYSTEM_CHARS]}\n\n{prompt[:_PROMPT_CHARS]}".strip()
        message = Message(Role.USER, (*asked, TextPart(words)))
        # One at a time, so that no surface multiplies the requests to the person's account.
        async with self._model, asyncio.timeout(_ANSWER_S):
            self._check_tokens(wish)  # again, because what waited before this one may have spent them
            answer, told = SideAnswer(), resources.text("prompts/surface.md").strip()
            request = Request(self._parts.model, told, (message,), max_tokens=_ANSWER_TOKENS)
            try:
                await answer.hear(self._parts.provider, request, self._parts.now())
            finally:
                # What broke off is paid for as well.
                tokens = _tokens_of(answer, len(words) // _LETTERS_A_TOKEN + _PICTURE_TOKENS * len(pictures))
                self._tokens[wish.surface].note(self._parts.clock.now(), tokens)
                details: dict[str, JsonValue] = {"surface": wish.surface, "tool": ASK_AI.name, "tokens": tokens}
                await self._parts.audit("surface_asked", details)
        if not answer.text.strip():
            raise ToolMisuse(_says("silent"))
        return answer.text.strip()

    def _check_tokens(self, wish: SurfaceWish) -> None:
        """Raise ToolMisuse if the surface's tokens of this hour are spent."""
        spent, most = self._tokens[wish.surface], self._parts.now()[SURFACE_TOKENS]
        if spent.total(self._parts.clock.now()) >= most:
            raise ToolMisuse(_says("tokens", most=f"{most:,}"))

    async def _search(self, wish: SurfaceWish) -> JsonValue:
        query = " ".join(str(wish.arguments.get("query", "")).split())
        call = await self._admit(wish, self._spec(wish), query=query)
        done = await self._run(wish, {"query": call.text("query")[:_QUERY_CHARS]})
        return done.payload["results"]

    async def _fetch(self, wish: SurfaceWish) -> dict[str, Any]:
        call = await self._admit(wish, self._spec(wish), url=str(wish.arguments.get("url", "")))
        page = await self._parts.pages.get(call.text("url"))
        if page.elsewhere:
            raise ToolMisuse(_says("elsewhere", url=page.url, elsewhere=page.elsewhere))
        await self._parts.audit("page_fetched", {"url": page.url, "surface": wish.surface})
        return {"url": page.url, "status": page.status, "text": page.text[:_PAGE_CHARS]}

    async def _draw(self, wish: SurfaceWish) -> str:
        """A `data:` address. The picture is not larger than a model sees."""
        given = {name: str(wish.arguments.get(name) or "") for name in ("prompt", "size")}
        call = await self._admit(wish, self._spec(wish), prompt=given["prompt"], size=shape_of(given["size"]))
        made = await self._parts.maker.draw(call.text("prompt"), call.text("size"))
        if made.url:
            _, seen = await self._parts.pages.picture(made.url)
        else:
            seen = await asyncio.to_thread(contents.seen, made.data, made.maker)
        await self._parts.audit("picture_made", {"surface": wish.surface, "maker": made.maker, "model": made.model})
        return f"data:{seen.media_type};base64,{base64.b64encode(seen.data).decode()}"

    async def _schedule(self, wish: SurfaceWish) -> dict[str, JsonValue]:
        given = {name: str(wish.arguments.get(name, "")) for name in ("schedule", "task")}
        await self._admit(wish, self._spec(wish), **given, title=wish.name)
        done = await self._run(wish, {**given, "title": wish.name})
        return {name: done.payload[name] for name in ("id", "title", "when")}

    async def _use_tool(self, wish: SurfaceWish) -> Any:
        """Call a tool of the server that the page belongs to. Returns the result as the server sent it."""
        spec, servers = self._spec(wish), self._parts.servers()
        if servers is None:
            raise ToolMisuse(_says("off", kind=wish.kind))
        named = {name: str(wish.arguments.get(name, "")) for name in ("server", "pin", "mark", "tool")}
        given = wish.arguments.get("arguments")
        asked = PageCall(**named, arguments=dict(given) if isinstance(given, Mapping) else {}, caller=wish.surface)

        async def approve(call: Mapping[str, JsonValue], covered: str) -> None:
            await self._admit(wish, spec, covered, **call)

        result = await servers.call(asked, approve)
        details: dict[str, JsonValue] = {"surface": wish.surface, "server": asked.server, "tool": asked.tool}
        await self._parts.audit("server_used", details)
        return result

    async def _open_link(self, wish: SurfaceWish) -> dict[str, JsonValue]:
        """Open an address in the person's browser, after a question in every mode, once for a host that they allow."""
        call = await self._admit(wish, LINK, url=str(wish.arguments.get("url", "")))
        await self._run(wish, {"name": call.text("url")})
        return {}

    async def _pass_on(self, wish: SurfaceWish) -> dict[str, JsonValue]:
        """Take the page's words into the conversation, after a question in every mode. Does not wait for an answer."""
        text = plain(str(wish.arguments.get("text", "")))[0].strip()
        if not text:
            raise ToolMisuse(_says("no_message"))
        call = await self._admit(wish, PASS_ON, text=text[:_PROMPT_CHARS])
        self._in_background(self._parts.pass_on(clip_line(wish.name, _NAME_CHARS), call.text("text")))
        return {}

    async def _run(self, wish: SurfaceWish, arguments: Mapping[str, JsonValue]) -> ToolResult:
        """Run the tool that a judged wish asks for. Raises ToolMisuse with the reason of a failure."""

        async def audit(kind: str, details: Mapping[str, JsonValue]) -> None:
            await self._parts.audit(kind, {**details, "surface": wish.surface})

        context = TurnContext(
            admitted, audit=audit, turn_id=ids.unique("surface-"), said="", turns=(), tainted_by=(_TAINT,)
        )
        block = Block(ids.unique("call_"), self._spec(wish).name, args=dict(arguments))
        done = await self._parts.executor.run(block, _Admitted(), context)
        if not done.result.ok:
            raise ToolMisuse(str(done.result.payload.get("reason", "")) or done.result.llm_echo)
        return done.result

    async def _admit(self, wish: SurfaceWish, spec: ToolSpec, covered: str = "", /, **arguments: JsonValue) -> ToolCall:
        """Return the call if the policy allows it, or the person after a question. Raises ToolMisuse if not.

        A yes for as long as Wisp is open counts for calls with the same `covered` only.
        """
        call = to_call(spec, Block(ids.unique("call_"), spec.name, args=arguments))
        verdict = self._parts.policy.decide(call, spec, (), Trust(tainted_by=(_TAINT,)))
        refusal = ""
        if verdict.decision is Decision.DENY:
            refusal = verdict.sentence or _says("denied")
        elif verdict.decision is Decision.ASK or spec in (LINK, PASS_ON):
            refusal = await self._asked(wish, call, verdict, covered)
        if spec is not ASK_AI or refusal:
            details: dict[str, JsonValue] = {"tool": spec.name, "surface": wish.surface, "rule": verdict.rule}
            details |= {"arguments": dict(call.arguments), **({"why": refusal} if refusal else {})}
            await self._parts.audit("refused" if refusal else "allowed", details)
        if refusal:
            raise ToolMisuse(refusal)
        return call

    async def _asked(self, wish: SurfaceWish, call: ToolCall, verdict: Verdict, covered: str) -> str:
        """Ask the person, one question of a surface at a time. Returns the refusal, or ""."""
        act, kind = verdict.act, (wish.surface, f"{call.name} {call.text('tool_name')}")
        hosts = act.hosts if act else ()
        # An answer was given to the page as it was then.
        allowed = (*kind, covered, hosts, self._parts.engine.page_stamp(wish.surface))
        if allowed in self._allowed:
            return ""
        if kind in self._denied:
            return _says("denied_before")
        if wish.surface in self._asking:
            return _says("asking")
        self._asking.add(wish.surface)
        try:
            async with asyncio.timeout(_ASKED_S):
                answer = await self._parts.ask(_wanted(wish, call, verdict, self._parts.policy))
        except TimeoutError:
            return _says("unanswered")
        finally:
            self._asking.discard(wish.surface)
        if answer.refusal:
            # A page that asks again and again must not wear the person down.
            self._denied.add(kind)
            return _says("denied")
        if answer.scope is Scope.TASK and (hosts or call.has("tool_name")):
            self._allowed.add(allowed)
        return ""

    def _spec(self, wish: SurfaceWish) -> ToolSpec:
        """Raises ToolMisuse if the tool's feature is switched off."""
        spec = next((spec for spec in self._parts.registry if spec.asked_as == wish.kind), None)
        if spec is None:
            raise ToolMisuse(_says("off", kind=wish.kind))
        return spec


class _Admitted:
    """A gate that admits every call, because the policy has already judged it."""

    async def admit(self, _call: ToolCall, _spec: ToolSpec) -> str:
        return ""


def _wanted(wish: SurfaceWish, call: ToolCall, verdict: Verdict, policy: Policy) -> ApprovalWanted:
    """The surface is named first, and its arguments are shown word for word."""
    act, language = verdict.act, policy.language
    asked = asking.question(verdict.needs, act, language) if act else asking.AskedSentence(verdict.sentence)
    frame = words_in(language)(_says("question", name="{name}", asked="{asked}"))
    asked = asked.within(frame.format(name=clip_line(wish.name, _NAME_CHARS), asked=asked.text))
    detail = "\n".join(f"{name}: {value}" for name, value in call.arguments.items())
    return ApprovalWanted(
        "",
        call.id,
        call.name,
        asked.text,
        detail,
        who=wish.name,
        undo=asking.undo(act, language) if act else "",
        rule=f"{verdict.rule} ({verdict.where})" if verdict.where else verdict.rule,
        why=verdict.sentence,
        sources=asking.sources((_TAINT,), language),
        deed=asked.deed,
        strong=asked.strong,
        # A surface has no task: its words and times are asked each time. Only a host may stay allowed, or a tool of
        # the server that the page belongs to.
        scopes=(Scope.ONCE, Scope.TASK) if call.has("tool_name") or (act and act.hosts) else (Scope.ONCE,),
    )


def _pictures(given: Any) -> list[Media]:
    """Raises ToolMisuse for anything but `data:` addresses. Blocks."""
    addresses = [one for one in given if isinstance(one, str)] if isinstance(given, (list, tuple)) else []
    if len(addresses) > _MOST_IMAGES:
        raise ToolMisuse(_says("many_images", most=str(_MOST_IMAGES)))
    written = [contents.written_in(address) for address in addresses]
    if not all(written):
        raise ToolMisuse(_says("no_image"))
    found = [contents.seen(data, "picture") for data in written]
    return [Media(one.data, one.media_type, one.width, one.height, "A picture of the app") for one in found]


def _says(key: str, /, **values: str) -> str:
    said: str = resources.table("surfaces/engine.toml", resources.Table)["answers"][key]
    return said.format(**values)
