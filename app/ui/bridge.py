"""What the presence asks of the agent, and how the agent's events become views without blocking a frame."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol

from PySide6.QtCore import QObject, QTimer, Signal

from app.agent import agent_events as agent
from app.agent.recording import Archive
from app.base.errors import WispError
from app.ui.presenter.presenter import Presenter
from app.ui.presenter.view import View

Listener = Callable[[agent.AgentEvent], None]


class Agent(Protocol):
    """The session, as far as the presence needs it. All of it is called on the event loop's thread."""

    def subscribe(self, listener: Listener, /) -> Callable[[], None]:
        """From now on the listener gets every event; the answer ends that."""
        ...

    async def send(self, text: str, media: Sequence[agent.Media] = (), own: str = "", /) -> agent.TurnEnded:
        """One turn, from the person's words to its end. While a turn runs, the words go to that one.

        `own` is what they surely typed themselves, "" where that is not known.
        """
        ...

    def stop(self) -> None:
        """End the running turn, if there is one."""
        ...

    async def close(self) -> None:
        """Stop the agent and release all resources. This is the last call."""
        ...

    def answer(self, approval_id: str, *, allow: bool, words: str = "", scope: str = "once") -> None:
        """The person's decision about a call that waits: `words` go with a no, `scope` says how far a yes reaches."""
        ...

    async def take_back(self, turn_id: str) -> list[str]:
        """Undo what a turn changed in files; what was done and what could not be, a sentence each."""
        ...

    async def picture(self) -> agent.Media:
        """The whole screen as it is now, small enough for the model."""
        ...

    @property
    def archive(self) -> Archive:
        """Past conversations."""
        ...

    @property
    def conversation(self) -> str:
        """The id of this conversation among the past ones; empty where nothing of it is kept."""
        ...

    async def reopen(self, conversation_id: str, /) -> list[agent.AgentEvent]:
        """Go on with a past conversation; what was shown of it. Raises WispError where that cannot be now."""
        ...

    def begin_anew(self) -> None:
        """From here on it is another conversation. Raises WispError while a turn runs."""
        ...


class Inbox(QObject):
    """Collects events, from whatever thread, and folds them into a view at most once a frame.

    The timer runs only while something has arrived that was not shown yet.
    """

    view_changed = Signal(object)
    events_shown = Signal(object)
    """The events of this frame, for what reacts to moments rather than to states."""
    _arrived = Signal(object)

    def __init__(self, presenter: Presenter, frame_ms: int, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self.view = View()
        self.presenter = presenter
        self._now = now
        self._waiting: list[agent.AgentEvent] = []
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(frame_ms)
        self._timer.timeout.connect(self._show)
        self._arrived.connect(self._take)

    def receive(self, event: agent.AgentEvent) -> None:
        """Give it an event; any thread."""
        self._arrived.emit(event)

    def change(self, step: Callable[[View], View]) -> None:
        """A change of the presence's own, after everything that has arrived."""
        self._show()
        self._become(step(self.view))

    def _take(self, event: agent.AgentEvent) -> None:
        self._waiting.append(event)
        if not self._timer.isActive():
            self._timer.start()

    def _show(self) -> None:
        events, self._waiting = self._waiting, []
        self._timer.stop()
        if not events:
            return
        view, now = self.view, self._now()
        for event in events:
            view = self.presenter.after(view, event, now)
        self._become(view)
        self.events_shown.emit(events)

    def _become(self, view: View) -> None:
        if view is not self.view:
            self.view = view
            self.view_changed.emit(view)


_log = logging.getLogger(__name__)

Tell = Callable[[str, str], None]
"""Shows a sentence of a level to the person."""


class BackgroundTasks:
    """`tell` hears what went wrong; `tell_bug` hears that something broke that should not."""

    def __init__(self, tell: Tell, tell_bug: Callable[[], None]) -> None:
        self._tell = tell
        self._tell_bug = tell_bug
        self._running: set[asyncio.Task[None]] = set()

    def begin(self, work: Coroutine[Any, Any, None], tell: Tell | None = None) -> None:
        """Run the coroutine as a task. Pass a WispError in it to `tell`, or to the default `tell`."""
        task = asyncio.ensure_future(_told(work, tell or self._tell))
        self._running.add(task)
        task.add_done_callback(self._ended)
        task.add_done_callback(lambda _: work.close())  # because a task that is cancelled before it runs leaves it open

    def abandon(self) -> None:
        """Cancel what is still under way."""
        for task in self._running:
            task.cancel()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if task.cancelled() or (error := task.exception()) is None:
            return
        _log.error("Something that ran beside the presence failed.", exc_info=error)
        self._tell_bug()


async def _told(work: Coroutine[Any, Any, None], tell: Tell) -> None:
    try:
        await work
    except WispError as error:
        tell("error", str(error))
