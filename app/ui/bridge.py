"""Connect presence and agent: the calls that the presence makes, and the inbox that turns events into views."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from PySide6.QtCore import QObject, QTimer, Signal

from app.agent import agent_events as agent
from app.agent.recording import Archive
from app.base.errors import WispError
from app.ui.presenter.presenter import Presenter
from app.ui.presenter.view import View
from app.ui.translation import words

T = TypeVar("T")
Listener = Callable[[agent.AgentEvent], None]


class Rewriter(Protocol):
    """Rewrites the text that is selected in a program. Every coroutine raises WispError with a sentence."""

    @property
    def has_model(self) -> bool:
        """Whether a model answers, so that the person may also wish in their own words."""
        ...

    def ways(self) -> Mapping[str, agent.Way]:
        """Return the ways that are possible now, by their keys."""
        ...

    async def selected(self) -> agent.Selected:
        """Return the text that is selected in the window that has the keyboard."""
        ...

    async def rewritten(self, text: str, way: str, own: str = "", /) -> str:
        """Return the text in other words. `own` is the person's own wish, for which `way` is ""."""
        ...

    async def replace(self, seen: agent.Selected, text: str, /) -> None:
        """Type the text over the selection, if it is still the same."""
        ...

    async def put_back(self, seen: agent.Selected, text: str, /) -> None:
        """Put the selected text back in the place of `text`, which replaced it."""
        ...


class Agent(Protocol):
    """The agent's session, as far as the presence needs it. Call every method on the event loop's thread."""

    def subscribe(self, listener: Listener, /) -> Callable[[], None]:
        """Call the listener with every event from now on. The returned function ends that."""
        ...

    async def send(
        self,
        text: str,
        media: Sequence[agent.Media] = (),
        own: str = "",
        /,
        *,
        using: tuple[str, ...] = (),
        attached: tuple[agent.Attachment, ...] = (),
    ) -> agent.TurnEnded:
        """Run one turn from the person's words to its end. If a turn already runs, the words are added to that turn.

        `own` is the part of the words that the person certainly typed; "" if that is unknown. `using` are the refs of
        the programs that the person lets this conversation use by these words.
        """
        ...

    async def front_program(self) -> tuple[str, str] | None:
        """Return the ref and the name of the program whose window is in front; None if Wisp may not use it, or if it
        is not known. Raises WispError if the desktop is out of reach."""
        ...

    def stop(self) -> None:
        """End the running turn, if there is one."""
        ...

    async def close(self) -> None:
        """Stop the agent and release all resources. This is the last call."""
        ...

    def answer(self, approval_id: str, *, allow: bool, words: str = "", scope: str = "once") -> None:
        """Tell the agent the person's decision about a waiting call. `words` explain a no; `scope` says how far a
        yes reaches."""
        ...

    async def take_back(self, turn_id: str) -> list[str]:
        """Undo what a turn changed in files. Returns a sentence for each file that was restored, or could not be."""
        ...

    async def perform(self, tool: str, arguments: Mapping[str, Any], show: Listener, /) -> bool:
        """Run one call that the person chose with a button; `show` gets its events. Return whether it worked."""
        ...

    def offered(self, kind: type[T], /) -> T | None:
        """Return what a feature of the conversation offers under this type; None if none does."""
        ...

    async def picture(self, *, at_full_size: bool = False) -> agent.Media:
        """Capture the whole screen without Wisp's windows: in a size for the model, or with all pixels if
        `at_full_size`."""
        ...

    @property
    def rewriter(self) -> Rewriter:
        """What rewrites a text that is selected in a program."""
        ...

    @property
    def archive(self) -> Archive:
        """The past conversations."""
        ...

    async def commands(self) -> Sequence[str]:
        """Return how the commands begin that the person may write instead of a task, such as `/server:prompt`."""
        ...

    @property
    def conversation(self) -> str:
        """The archive's id of this conversation; "" if nothing of it is saved."""
        ...

    async def reopen(self, conversation_id: str, /) -> list[agent.AgentEvent]:
        """Continue a past conversation, and return its events. Raises WispError if that is impossible now."""
        ...

    def begin_anew(self) -> None:
        """Begin another conversation. Raises WispError while a turn runs."""
        ...


class Inbox(QObject):
    """Takes events from any thread, and makes a new view of them at most once a frame.

    Its timer only runs while there are events that the view does not show yet.
    """

    view_changed = Signal(object)
    events_shown = Signal(object)
    """The events of this frame, for what reacts to moments rather than to states."""
    _arrived = Signal(object)

    def __init__(self, presenter: Presenter, frame_ms: int) -> None:
        super().__init__()
        self.view = View()
        self.presenter = presenter
        self._waiting: list[agent.AgentEvent] = []
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(frame_ms)
        self._timer.timeout.connect(self._show)
        self._arrived.connect(self._take)

    def receive(self, event: agent.AgentEvent) -> None:
        """Take an event, on any thread."""
        self._arrived.emit(event)

    def change(self, step: Callable[[View], View]) -> None:
        """Change the view with `step`, after all events that have already arrived."""
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
        view, now = self.view, time.monotonic()
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
    """Runs coroutines in the background. `tell` gets WispErrors, for the person; `tell_bug` is called after any
    other error."""

    def __init__(self, tell: Tell, tell_bug: Callable[[], None]) -> None:
        self._tell = tell
        self._tell_bug = tell_bug
        self._running: set[asyncio.Task[None]] = set()

    def begin(self, work: Coroutine[Any, Any, None], tell: Tell | None = None) -> None:
        """Run the coroutine in the background. A WispError goes to this `tell`; None uses that of the constructor."""
        task = asyncio.ensure_future(_told(work, tell or self._tell))
        self._running.add(task)
        task.add_done_callback(self._ended)
        task.add_done_callback(lambda _: work.close())  # because a task that is cancelled before it runs leaves it open

    def abandon(self) -> None:
        """Cancel all running tasks."""
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
        tell("error", error.for_people(words))
