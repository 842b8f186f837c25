"""A conversation with the offline provider, as the loop holds it: its replies go back in, with results."""

from __future__ import annotations

from dataclasses import dataclass, field

from app.agent.words import told
from app.protocol.dialects.api import Answer
from app.protocol.dialects.xml import XmlDialect
from app.protocol.events import CallClosed, Text
from app.protocol.message import Message, Role, TextPart, assistant, user
from app.protocol.result import ToolResult, tool_error
from app.protocol.spec import Effect, Kind, Param, ToolSpec, unbound
from app.providers.api import Request, Said, Stopped, StreamEvent
from app.providers.offline.provider import OfflineProvider
from app.tools.say import SAY

NUMBERS = {"x", "y", "count", "repeat", "dx", "dy", "seconds", "limit_s"}
TOOLS = {
    "open_app": "name",
    "close_window": "title",
    "focus_window": "title",
    "list_windows": "",
    "computer_key": "keys repeat",
    "computer_click": "target x y space button count modifiers",
    "computer_scroll": "dx dy",
    "computer_drag": "from to space",
    "wait": "seconds",
    "wait_for": "text limit_s",
    "screen_capture": "",
    "read_screen": "view",
}


def _spec(name: str, attrs: str, body: Param | None = None) -> ToolSpec:
    params = tuple(Param(attr, Kind.NUMBER if attr in NUMBERS else Kind.TEXT) for attr in attrs.split())
    return ToolSpec(name, name, Effect.DESKTOP, unbound, attrs=params, body=body)


SPECS = (
    *SAY.tools,
    *(_spec(name, attrs) for name, attrs in TOOLS.items()),
    _spec("computer_type", "", Param("text", short=False)),
)


@dataclass
class Reply:
    """One pass as a reader takes it: `said` is speech or the result, `calls` everything else."""

    said: str
    calls: list[tuple[str, dict[str, str]]]
    reason: str
    raw: str
    ends: bool


@dataclass
class Dialogue:
    dialect: XmlDialect = field(default_factory=XmlDialect)
    messages: list[Message] = field(default_factory=list)

    async def say(self, wish: str) -> Reply:
        """A wish, and the reply to it."""
        self._add(user(wish))
        return await self.reply()

    async def succeed(self, tool: str, echo: str = "Done.") -> Reply:
        return await self.result(tool, ToolResult(True, tool, {}, echo))

    async def fail(self, tool: str, reason: str) -> Reply:
        return await self.result(tool, tool_error(tool, reason))

    async def result(self, tool: str, result: ToolResult) -> Reply:
        """What the call of the last pass brought, and the reply to it."""
        self.bring(tool, result)
        return await self.reply()

    def bring(self, tool: str, result: ToolResult) -> None:
        self._add(self.dialect.answer([Answer("c1", tool, result)]))

    def note(self, name: str, **values: str) -> None:
        """Words of the loop, as it adds them."""
        self._add(user(told(name, **values)))

    async def reply(self) -> Reply:
        events = [event async for event in OfflineProvider().stream(Request("offline", "", tuple(self.messages)))]
        reply = self._read(events)
        self._add(assistant(reply.raw))
        return reply

    def _add(self, message: Message) -> None:
        """Neighbours of one role are joined, as the history does."""
        if self.messages and self.messages[-1].role is message.role is Role.USER:
            message = Message(Role.USER, self.messages.pop().parts + message.parts)
        self.messages.append(message)

    def _read(self, events: list[StreamEvent]) -> Reply:
        raw = "".join(event.text for event in events if isinstance(event, Said))
        said, calls, ends = [], [], False
        for event in read(raw):
            assert isinstance(event, CallClosed), event
            block = event.block
            if block.name == "say":
                said.append(block.body)
            elif block.name == "attempt_completion":
                said.append(block.children[0].text)
                ends = True
            else:
                calls.append((block.name, {**block.attrs, **({"text": block.body} if block.body else {})}))
        (stopped,) = [event for event in events if isinstance(event, Stopped)]
        return Reply("".join(said), calls, stopped.reason, raw, ends or stopped.reason == "refusal")


def read(text: str) -> list[object]:
    """What the reader reports of whole calls and of prose; empty prose is nothing."""
    reader = XmlDialect().reader(SPECS)
    events = [*reader.feed(text), *reader.flush()]
    return [
        event
        for event in events
        if not isinstance(event, Text) or event.text.strip()
        if type(event).__name__ not in ("CallOpened", "CallDelta")
    ]


def text_of(message: Message) -> str:
    return "".join(part.text for part in message.parts if isinstance(part, TextPart))
