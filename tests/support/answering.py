"""What answers surfaces, on a model that plays a script and a web on loopback, with a person who answers as told."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from app.agent.agent_events import ApprovalWanted, Scope
from app.agent.gate import ApprovalAnswer
from app.agent.policy import Mode, Policy
from app.agent.policy.policy import PolicyDeps
from app.assembly import registry
from app.base.clock import SystemClock
from app.base.values import replace
from app.features.apps.answers import AnsweringParts, SurfaceAnswers
from app.features.apps.bridge import SurfaceWish
from app.features.apps.client import SurfaceEngine
from app.features.apps.store import standard_folder
from app.features.mcp.page_calls import PageCalls
from app.features.mcp.servers import McpServers
from app.features.schedule.agenda import Agenda
from app.features.schedule.tools import SCHEDULES, ScheduleTools
from app.features.web.search import WebSearch
from app.features.web.tools import WEB, Web
from app.protocol.call import JsonValue
from app.providers.images import PictureMaker
from app.providers.scripted import Reply as ModelReply
from app.providers.scripted import Scripted
from app.services.web.addresses import Address
from app.services.web.pages import Pages
from app.settings.providers import searchers
from app.settings.store import Settings
from app.tools.executor import Executor
from app.tools.registry import Registry
from tests.features.web.test_search import ANSWERS
from tests.support.site import Reply, Site, site

_ADDRESS, _PORT = "127.0.0.77", 8080
PAGE = f"http://museum.example:{_PORT}/hours"


@dataclass
class AnsweringRoom:
    """`person` is what the person answers, `asked` what they were asked; `passed_on` what came into the conversation,
    `audited` what was written down.
    """

    model: Scripted
    web: Site
    agenda: Agenda
    asked: list[ApprovalWanted] = field(default_factory=list)
    passed_on: list[tuple[str, str]] = field(default_factory=list)
    audited: list[str] = field(default_factory=list)
    person: ApprovalAnswer = field(default_factory=ApprovalAnswer)
    settings: Settings = field(default_factory=Settings)
    parts: AnsweringParts | None = None

    async def ask(self, wanted: ApprovalWanted) -> ApprovalAnswer:
        self.asked.append(wanted)
        return self.person

    async def pass_on(self, name: str, text: str) -> None:
        self.passed_on.append((name, text))

    def allows(self, scope: Scope = Scope.ONCE) -> None:
        self.person = ApprovalAnswer(scope=scope)

    def denies(self) -> None:
        self.person = ApprovalAnswer("No.")

    @property
    def answers(self) -> SurfaceAnswers:
        assert self.parts
        return SurfaceAnswers(self.parts)

    async def audit(self, kind: str, _details: object) -> None:
        self.audited.append(kind)


def wish(kind: str, *, of: str = "app-meals", **arguments: JsonValue) -> SurfaceWish:
    return SurfaceWish(1, of, "Meals", kind, arguments)


@contextmanager
def answering_room(
    folder: Path,
    *replies: ModelReply,
    mode: Mode = Mode.AUTO,
    engine: SurfaceEngine | None = None,
    servers: McpServers | None = None,
) -> Iterator[AnsweringRoom]:
    """A room whose model plays the replies. The web knows one search engine, and a page at `PAGE`."""
    hours = Reply(b"<p>Open from ten to five.</p>")
    found = Reply(ANSWERS["exa"]["answer"].encode(), headers={"Content-Type": "application/json"})
    with site({"/exa": found, "/hours": hours}, address=_ADDRESS, port=_PORT) as web:
        agenda = Agenda(folder / "agenda.db", SystemClock())
        room = AnsweringRoom(Scripted(replies), web, agenda)
        rows = {"exa": replace(searchers()["exa"], url=f"{web.url}/exa")}
        pages = Pages(find=_found, loopback=True)
        search = WebSearch(lambda: room.settings, lambda _name: "key", rows=rows, loopback=True)
        handlers = [
            ScheduleTools(agenda, str(folder), lambda _rules: None),
            Web(pages, search),
        ]
        room.parts = AnsweringParts(
            engine=engine or SurfaceEngine(standard_folder()),
            servers=lambda: PageCalls(servers or McpServers(folder, SystemClock())),
            provider=room.model,
            model="m",
            can_answer=True,
            policy=Policy(folder, mode, surroundings=PolicyDeps(tools=registry().specs)),
            registry=registry(),
            executor=Executor(Registry(SCHEDULES, WEB), handlers, SystemClock()),
            pages=pages,
            maker=PictureMaker(lambda: room.settings, lambda _name: ""),
            now=lambda: room.settings,
            ask=room.ask,
            pass_on=room.pass_on,
            audit=room.audit,
            clock=SystemClock(),
        )
        yield room
        agenda.close()


async def _found(_host: str, _port: int) -> list[Address]:
    return [ipaddress.ip_address(_ADDRESS)]
