"""An agent that does what the test says, and small ways to wait for what is seen."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any, TypeVar

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from app.agent import agent_events as agent
from app.agent.agent_events import Media
from app.agent.recording import ExportFormat, PastConversation, Spent
from app.base.errors import WispError
from app.desktop.x11.connection import Connection
from app.desktop.x11.windows import X11Windows
from app.ui.bridge import Listener
from tests.support.waiting import until

_ARRANGED_S = 10.0
T = TypeVar("T")


class MemoryArchive:
    """Keeps conversations while it lives."""

    def __init__(self, kept: Mapping[PastConversation, list[agent.AgentEvent]] | None = None) -> None:
        known = {} if kept is None else kept
        self._kept = {one.id: (one, events) for one, events in known.items()}

    async def conversations(self, search: str = "", limit: int = 200) -> list[PastConversation]:
        words = search.casefold().split()
        found = [one for one, _ in self._kept.values() if all(word in one.title.casefold() for word in words)]
        return sorted(found, key=lambda one: one.changed_at, reverse=True)[:limit]

    async def events(self, conversation_id: str) -> list[agent.AgentEvent]:
        return list(self._found(conversation_id)[1])

    async def rename(self, conversation_id: str, title: str) -> None:
        one, events = self._found(conversation_id)
        self._kept[conversation_id] = (replace(one, title=title), events)

    async def delete(self, conversation_id: str) -> None:
        self._found(conversation_id)
        del self._kept[conversation_id]

    async def export(self, conversation_id: str, form: ExportFormat) -> str:
        one, events = self._found(conversation_id)
        if form is ExportFormat.JSON:
            return json.dumps({"title": one.title, "events": [agent.to_json(event) for event in events]}, indent=2)
        return f"# {one.title}\n"

    async def spent(self, since: float) -> Spent:
        costs = [one.cost_usd for one, _ in self._kept.values() if one.changed_at >= since]
        known = [cost for cost in costs if cost is not None]
        return Spent(cost_usd=sum(known) if len(known) == len(costs) else None, turns=len(costs))

    def _found(self, conversation_id: str) -> tuple[PastConversation, list[agent.AgentEvent]]:
        if conversation_id not in self._kept:
            raise WispError("This conversation is not kept any more.")
        return self._kept[conversation_id]


class FakeAgent:
    """Keeps what it was asked; `script` is what it tells for each wish; the turn ends at once, or with `stop`; taking
    back fails with `problem` where there is one."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.own: list[str] = []
        self.using: list[tuple[str, ...]] = []
        self.front: tuple[str, str] | None = None
        self.media: list[Any] = []
        self.attached: list[agent.Attachment] = []
        self.stopped = 0
        self.answers: list[tuple[str, bool]] = []
        self.decided: list[tuple[str, str]] = []
        self.script: list[agent.AgentEvent] = []
        self.taken_back: list[str] = []
        self.problem = ""
        self.holds = False
        self.closed = False
        self.archive = MemoryArchive()
        self.known: list[str] = []
        self.conversation = ""
        self.screen = b""
        self.reopened: list[str] = []
        self.performed: list[tuple[str, dict[str, Any]]] = []
        self.offers: dict[type[Any], object] = {}
        self._listeners: list[Listener] = []
        self._released = asyncio.Event()

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def tell(self, *events: agent.AgentEvent) -> None:
        for event in events:
            for listener in self._listeners:
                listener(event)

    async def send(
        self,
        text: str,
        media: Any = (),
        own: str = "",
        *,
        using: tuple[str, ...] = (),
        attached: tuple[agent.Attachment, ...] = (),
    ) -> agent.TurnEnded:
        self.sent.append(text)
        self.own.append(own)
        self.using.append(using)
        self.media.extend(media)
        self.attached.extend(attached)
        self.tell(agent.TurnStarted("t", text, tuple(one.name for one in attached)), *self.script)
        if self.holds:
            await self._released.wait()
        ended = agent.TurnEnded("t", agent.Outcome.FINISHED, "")
        self.tell(ended)
        return ended

    async def front_program(self) -> tuple[str, str] | None:
        return self.front

    def stop(self) -> None:
        self.stopped += 1
        self._released.set()

    async def commands(self) -> list[str]:
        return self.known

    async def perform(self, tool: str, arguments: Mapping[str, Any], show: Listener) -> bool:
        self.performed.append((tool, dict(arguments)))
        show(agent.TagStart("by-hand", tool, arguments))
        show(agent.ToolFinished("by-hand", tool, True, tool, {"title": "done"}))
        return True

    def offered(self, kind: type[T]) -> T | None:
        found: Any = self.offers.get(kind)
        return found  # type: ignore[no-any-return]

    async def picture(self, *, at_full_size: bool = False) -> Media:
        return Media(self.screen if at_full_size else b"", "image/png", 1280, 800, "the screen")

    async def reopen(self, conversation_id: str) -> list[agent.AgentEvent]:
        self.reopened.append(conversation_id)
        return await self.archive.events(conversation_id)

    def begin_anew(self) -> None:
        self.reopened.append("")

    async def close(self) -> None:
        self.closed = True

    def answer(self, approval_id: str, *, allow: bool, words: str = "", scope: str = "once") -> None:
        self.answers.append((approval_id, allow))
        self.decided.append((words, scope))
        self.tell(agent.ApprovalAnswered(approval_id, allow, words, agent.Scope(scope)))

    async def take_back(self, turn_id: str) -> list[str]:
        self.taken_back.append(turn_id)
        if self.problem:
            raise WispError(self.problem)
        return [f"Took back: {turn_id}", "One was not."]


async def hand(*words: object) -> None:
    """A person's hand: xdotool's arguments. Keys wait for the window manager, which may still move the keyboard."""
    if words[0] in ("type", "key"):
        with closing(Connection(os.environ)) as connection:
            await X11Windows(connection).arranged(_ARRANGED_S)
    process = await asyncio.create_subprocess_exec("xdotool", *(str(word) for word in words))
    assert await process.wait() == 0


async def point(widget: QWidget, *then: object) -> None:
    """A person's pointer on the widget's middle, and what it does there. A person points at what they see: the window
    manager may still be about to show the window."""
    await until(widget.window().windowHandle().isExposed)
    await hand("mousemove", *center_of(widget), *then)


def hand_now(*words: object) -> str:
    """The same, at once; the answer is what xdotool prints."""
    return subprocess.run(
        ["xdotool", *(str(word) for word in words)], check=True, capture_output=True, text=True
    ).stdout


def center_of(widget: QWidget) -> tuple[int, int]:
    """A widget's middle, on the screen."""
    middle = widget.mapToGlobal(widget.rect().center())
    return middle.x(), middle.y()


def focused() -> QWidget | None:
    window = QGuiApplication.focusWindow()
    return QWidget.find(int(window.winId())) if window is not None else None


def has_keys(widget: QWidget) -> bool:
    """Whether keys reach the widget's window. Ask the server, because Qt may count a window as active for too long."""
    found = subprocess.run(["xdotool", "getwindowfocus", "-f"], check=False, capture_output=True, text=True)
    return widget.isActiveWindow() and found.stdout.strip() == str(int(widget.window().winId()))
