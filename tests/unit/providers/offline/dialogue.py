"""A conversation with the offline provider, as the loop holds it: its replies go back in, with results."""

from __future__ import annotations

from dataclasses import dataclass, field

from app.agent.prompt import told
from app.agent.recording import note
from app.agent.turn import Words
from app.base.facts import Fact, Failed
from app.base.phrases import Phrase
from app.features.apps.tools import SURFACES
from app.features.looks.tools import LOOKS
from app.features.machine.screenshot import SCREENSHOTS
from app.features.machine.tools import MACHINE
from app.features.mcp.tools import MCP
from app.features.memory.tools import MEMORY
from app.features.schedule.tools import SCHEDULES
from app.features.skills.tools import SKILLS
from app.features.web.tools import WEB
from app.protocol.arguments import to_call
from app.protocol.call import JsonValue, ToolCall, ToolResult, failed
from app.protocol.dialects.api import Answer
from app.protocol.dialects.xml import XmlDialect
from app.protocol.message import CallClosed, CallDelta, CallOpened, Message, Role, assistant
from app.providers.api import Request, Stopped, StreamEvent, TextDelta
from app.providers.offline import OfflineProvider
from app.providers.offline.world import World
from app.tools.archives import ARCHIVES
from app.tools.computer import COMPUTER
from app.tools.conversation import SAY, TASKS
from app.tools.edit import EDITS
from app.tools.exec import COMMANDS
from app.tools.file import ARRANGEMENTS, FILES
from app.tools.screen import SCREEN
from app.tools.search import SEARCH
from app.tools.watching import WATCHING
from app.tools.windows import WINDOWS
from tests.support.stage import FakeClock

SPECS = (
    *SAY.tools,
    *FILES.tools,
    *EDITS.tools,
    *ARRANGEMENTS.tools,
    *ARCHIVES.tools,
    *SEARCH.tools,
    *COMPUTER.tools,
    *WINDOWS.tools,
    *WATCHING.tools,
    *SCREEN.tools,
    *MEMORY.tools,
    *WEB.tools,
    *COMMANDS.tools,
    *SCHEDULES.tools,
    *SURFACES.tools,
    *LOOKS.tools,
    *SKILLS.tools,
    *MCP.tools,
    *MACHINE.tools,
    *SCREENSHOTS.tools,
    *TASKS.tools,
)
BY_NAME = {spec.name: spec for spec in SPECS}
_UNREAD = (
    "not run. The person said no. Open the terminal. The window 'Save As' closed. text holds '7' now. (unverifiable)"
)
VOICES = ("say", "attempt_completion")
WORLD = World(
    programs=(
        *("Calculator", "galculator", "Mousepad", "Terminal", "xterm", "File Manager", "pcmanfm", "Chromium", "evince"),
        *("Document Viewer", "eog", "Image Viewer", "LibreOffice Writer", "LibreOffice Calc", "Settings"),
    ),
    windows=(("report.txt - Mousepad", "mousepad"), ("galculator", "Calculator")),
    apps=(("app-egg", "Egg"), ("widget-water", "Water"), ("app-calculator", "Calculator")),
)
"""What is there for the tables of sentences."""


@dataclass
class Reply:
    """One pass as a reader takes it: `said` is speech or the result, `calls` everything else. `offers`: to say next."""

    said: str
    offers: list[str]
    calls: list[tuple[str, dict[str, JsonValue]]]
    reason: str
    raw: str
    ends: bool


@dataclass
class Dialogue:
    dialect: XmlDialect = field(default_factory=XmlDialect)
    messages: list[Message] = field(default_factory=list)
    clock: FakeClock = field(default_factory=FakeClock)
    provider: OfflineProvider = field(init=False)

    def __post_init__(self) -> None:
        self.provider = OfflineProvider(self.clock)

    async def say(self, wish: str | Words) -> Reply:
        """A wish, and the reply to it."""
        self._add(Message(Role.USER, (Words(wish) if isinstance(wish, str) else wish).parts))
        return await self.reply()

    async def say_meanwhile(self, wish: str) -> Reply:
        """What the person says while a turn runs, and the reply to it."""
        self._add(Message(Role.USER, Words(wish).meanwhile(told("said_meanwhile", text=wish))))
        return await self.reply()

    async def succeed(self, tool: str, *facts: Fact) -> Reply:
        """What the call of the last pass found out, and the reply to it."""
        self.bring(tool, *facts)
        return await self.reply()

    async def fail(self, tool: str, why: Phrase | str, hint: str = "", *facts: Fact) -> Reply:
        reason = Failed(why if isinstance(why, Phrase) else Phrase(why), hint)
        return await self.result(tool, failed(tool, reason, *facts))

    async def result(self, tool: str, result: ToolResult) -> Reply:
        self._bring(tool, result)
        return await self.reply()

    def bring(self, tool: str, *facts: Fact) -> None:
        """What a call found out. Its words for models say otherwise, because nothing may read them."""
        self._bring(tool, ToolResult(True, tool, {}, _UNREAD, facts=facts))

    def note(self, name: str, **values: str) -> None:
        """Words of the loop, as it adds them."""
        self._add(note(name, **values))

    def _bring(self, tool: str, result: ToolResult) -> None:
        self._add(self.dialect.answer([Answer("c1", tool, result)]))

    async def reply(self) -> Reply:
        request = Request("offline", "", tuple(self.messages))
        events = [event async for event in self.provider.stream(request)]
        reply = self._read(events)
        self._add(assistant(reply.raw))
        return reply

    def _add(self, message: Message) -> None:
        """Neighbours of one role are joined, as the history does."""
        if self.messages and self.messages[-1].role is message.role is Role.USER:
            message = Message(Role.USER, self.messages.pop().parts + message.parts)
        self.messages.append(message)

    def _read(self, events: list[StreamEvent]) -> Reply:
        raw = "".join(event.text for event in events if isinstance(event, TextDelta))
        (stopped,) = [event for event in events if isinstance(event, Stopped)]
        calls = calls_in(raw)
        said = [call.text("text" if call.name == "say" else "result") for call in calls if call.name in VOICES]
        offers = [str(one) for call in calls if call.name in VOICES for one in call.arguments.get("offers", ())]  # type: ignore[union-attr]
        deeds = [(call.name, dict(call.arguments)) for call in calls if call.name not in VOICES]
        ends = "attempt_completion" in [call.name for call in calls]
        return Reply("".join(said), offers, deeds, stopped.reason, raw, ends)


def calls_in(text: str) -> list[ToolCall]:
    """Every call in a reply, as it would run; anything else in it fails."""
    reader = XmlDialect().reader(SPECS)
    events = [*reader.feed(text), *reader.flush()]
    strange = [event for event in events if not isinstance(event, (CallOpened, CallDelta, CallClosed))]
    assert strange == []
    return [to_call(BY_NAME[event.block.name], event.block) for event in events if isinstance(event, CallClosed)]
