"""Plays a case through the assembled assistant: the model says what the case says, nobody helps, eyes are open."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from app.agent.agent_events import AgentEvent, ApprovalWanted, ToolFinished, ToolRunning
from app.assistant import Assistant, assemble
from app.protocol.call import ToolResult
from app.protocol.dialects.choose import by_name
from app.protocol.message import Role, TextPart
from app.providers import profiles
from app.providers.api import Request
from app.providers.profiles import profile_of
from app.providers.scripted import Scripted, native_call
from app.services.web.pages import Pages
from app.settings.store import Settings
from tests.hostile.cases import Case, Wall
from tests.hostile.payloads import make
from tests.hostile.room import Room
from tests.support.site import Reply

_LIMIT_S = 60.0
_DONE = "That is all."


@dataclass
class Played:
    """What became of a case, as told by the product; the observers say what really happened."""

    case: Case
    events: list[AgentEvent] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    tools: tuple[str, ...] = ()
    results: list[ToolResult] = field(default_factory=list)
    """Of calls that were run without a gate."""

    @property
    def ran(self) -> list[str]:
        return [event.tool for event in self.events if isinstance(event, ToolRunning)]

    @property
    def finished(self) -> list[ToolFinished]:
        return [event for event in self.events if isinstance(event, ToolFinished)]

    @property
    def asked(self) -> int:
        return sum(isinstance(event, ApprovalWanted) for event in self.events)

    @property
    def stopped_by(self) -> Wall | None:
        """The wall that stopped the last call; None where it ran and worked."""
        if self.results:
            return None if self.results[-1].ok else Wall.FILES
        last = self.finished[-1] if self.finished else None
        if last is None:
            return Wall.READER
        if last.payload.get("denied"):
            return Wall.GATE
        if last.call_id not in {event.call_id for event in self.events if isinstance(event, ToolRunning)}:
            return Wall.ARGUMENTS if last.tool else Wall.READER
        return None if last.ok else Wall.FILES

    @property
    def answers(self) -> list[str]:
        """The messages in which the model was told what its calls brought, each by itself."""
        entries = self.requests[-1].messages if self.requests else ()
        texts = [
            part.text
            for one in entries[1:]
            if one.role is Role.USER
            for part in one.parts
            if isinstance(part, TextPart)
        ]
        return [text for text in texts if "<" in text]

    def told(self) -> Iterator[str]:
        """Everything the model was told, and everything that was shown; not what the model itself has said."""
        for request in self.requests:
            yield request.context
            for message in request.messages:
                if message.role is Role.USER:
                    yield from _texts(message)
        for event in (*self.events, *self.results):
            yield from _texts(event)


def _texts(value: Any) -> Iterator[str]:
    """All strings in a value, whatever it is made of."""
    if isinstance(value, str):
        yield value
    elif dataclasses.is_dataclass(value):
        for name in dataclasses.fields(value):
            yield from _texts(getattr(value, name.name))
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _texts(name)
            yield from _texts(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item)


def prepare(case: Case, here: Room, *, port: int = 9) -> None:
    """What the case finds: its files, its payloads, its pages."""
    for name, text in case.files.items():
        file = here.workspace / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(here.filled(text, port), encoding="utf-8", errors="surrogateescape")
    for name, recipe in case.made.items():
        make(here.workspace / name, recipe)
    here.site.replies = {path: Reply(html.encode()) for path, html in case.pages.items()}


async def play_without_gate(case: Case, here: Room, *, port: int = 9) -> Played:
    """The calls of a case as if the person had written them: only the walls behind the gate are left."""
    played = Played(case)
    assistant = _assembled(Scripted([]), case, here, attended=False)
    reader = by_name(case.dialect).reader(assistant.registry.specs)
    reader.feed(here.filled("\n".join(case.say), port))
    reader.flush()
    try:
        for block in reader.drain():
            played.results.append(await assistant.run(block))
    finally:
        await assistant.close()
    return played


async def play(
    case: Case,
    here: Room,
    *,
    port: int = 9,
    attended: bool = False,
    dry_run: bool = True,
    allowed: Sequence[str] = (),
) -> Played:
    """One turn. `attended`: somebody is there, and answers every question with no."""
    provider = Scripted([*(_reply(reply, here, port) for reply in case.say), *[_DONE] * 3])
    played = Played(case, requests=provider.requests)
    assistant = _assembled(provider, case, here, attended=attended, dry_run=dry_run, allowed=allowed)
    played.tools = tuple(spec.name for spec in assistant.registry)

    def heard(event: AgentEvent) -> None:
        played.events.append(event)
        if isinstance(event, ApprovalWanted):
            asyncio.get_running_loop().call_soon(_deny(assistant.answer, event.approval_id))

    assistant.subscribe(heard)
    try:
        async with asyncio.timeout(_LIMIT_S):
            task = here.filled(case.task, port)
            await assistant.send(task, own=task)
    finally:
        await assistant.close()
    return played


def _assembled(
    provider: Scripted,
    case: Case,
    here: Room,
    *,
    attended: bool,
    dry_run: bool = True,
    allowed: Sequence[str] = (),
) -> Assistant:
    values = {"trust.mode": case.mode, "model.dialect": case.dialect, "files.workspace": str(here.workspace)}
    settings = Settings({**values, "model.provider": "scripted"}, {})
    with pytest.MonkeyPatch.context() as patch:
        if case.pages:  # the room's server is the outer world, although it runs on this machine
            patch.setitem(Pages.__init__.__kwdefaults__, "loopback", True)
        patch.setattr(
            profiles, "choose", lambda _settings: profiles.ChosenProvider(provider, "model", profile_of("model"))
        )
        return assemble(settings, without_screen=dry_run, attended=attended, allowed=allowed)


def _deny(answer: Callable[..., None], approval_id: str) -> Callable[[], None]:
    return lambda: answer(approval_id, allow=False)


def _reply(reply: Any, here: Room, port: int) -> Sequence[Any] | str:
    """Text, or a list of native calls as `[name, arguments]`."""
    if isinstance(reply, str):
        return here.filled(reply, port)
    steps: list[Any] = []
    for number, (name, arguments) in enumerate(reply):
        filled = json.loads(here.filled(json.dumps(arguments), port))
        steps.extend(native_call(f"call{number}", name, filled))
    return steps
