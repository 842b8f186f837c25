"""A day of the presence in fast motion, in a process of its own: each line on its input is a moment, answered by it.

    python -m tests.support.presence_day

All of it comes by itself, but for the wish. The agent is a fake one that tells what the moment needs.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

from app.agent import agent_events
from app.base.errors import Remedy
from app.base.geometry import Point, Rect
from app.settings import catalog, store
from app.ui import application
from app.ui.machine import NoMachine, Outside
from app.ui.presence import Presence
from app.ui.presenter.view import NoticeItem, Offer
from app.ui.system.system import crash_folder
from app.ui.windows.floating import PointRequest
from tests.support.gallery import samples
from tests.support.waiting import until
from tests.ui.fake_agent import FakeAgent


class Day:
    """The moments by their names. Each returns once what it brings is on the screen."""

    def __init__(self) -> None:
        self.agents: list[FakeAgent] = []
        self.presences: list[Presence] = []
        self.asked = 0

    @property
    def presence(self) -> Presence:
        return self.presences[-1]

    @property
    def agent(self) -> FakeAgent:
        return self.agents[-1]

    def connect(self, _curtain: object) -> FakeAgent:
        made = FakeAgent()
        made.script = [agent_events.SayDelta("s", "warm", "Done: the calculator shows 84.")]
        self.agents.append(made)
        return made

    async def live(self) -> None:
        """Answer each line of the input, until it ends or says `quit`."""
        moments: Mapping[str, Callable[[], Awaitable[None]]] = {
            "welcome": self._welcome,
            "first task": self._task,
            "offer": self._offer,
            "second task": self._task,
            "question": self._question,
            "answer": self._answer,
            "failure": self._failure,
            "theme": self._theme,
            "settings": self._settings,
            "mark": self._mark,
            "welcome again": self._welcome_again,
            "wish": self._wish,
            "answer to the wish": self._answer_to_the_wish,
            "closing": self._closing,
            "reminder": self._reminder,
            "question while closed": self._question,
        }
        while (line := (await asyncio.to_thread(sys.stdin.readline)).strip()) in moments:
            await moments[line]()
            print(line, flush=True)

    async def _welcome(self) -> None:
        await until(lambda: self.presences and self.presence.is_open)
        await until(lambda: self.presence.bubble.windowHandle().isExposed())

    async def _task(self) -> None:
        before = len(self.agent.sent)
        self.presence.send("open the calculator and type 12*7=")
        await until(lambda: len(self.agent.sent) > before and not self.presence.inbox.view.running)

    async def _offer(self) -> None:
        await until(lambda: any(isinstance(one, Offer) for one in self.presence.inbox.view.items))

    async def _question(self) -> None:
        *before, asked = samples.click_approval()
        assert isinstance(asked, agent_events.ApprovalWanted)
        self.asked += 1
        self.agent.tell(*before, replace(asked, approval_id=f"a{self.asked}"))
        await until(lambda: self.presence.inbox.view.open_approval is not None and self.presence.is_open)
        await until(lambda: self.presence.bubble.windowHandle().isExposed())

    async def _answer(self) -> None:
        self.agent.answer(f"a{self.asked}", allow=False)
        self.agent.tell(agent_events.TurnEnded("t", agent_events.Outcome.STOPPED, ""))
        await until(lambda: not self.presence.inbox.view.running)

    async def _failure(self) -> None:
        failed = agent_events.TurnEnded("t", agent_events.Outcome.FAILED, "The key is wrong.", Remedy.KEY)
        self.agent.tell(agent_events.TurnStarted("t", "go on"), failed)
        await until(lambda: any(isinstance(one, Offer) for one in self.presence.inbox.view.items))

    async def _theme(self) -> None:
        before = self.presence.theme
        store.save(catalog.SCHEME, "dark")
        await until(lambda: self.presence.theme is not before and self.presence.is_open)
        await until(lambda: self.presence.bubble.windowHandle().isExposed())

    async def _settings(self) -> None:
        before = self.presence.name
        store.save(catalog.NAME, "Mira")
        await until(lambda: self.presence.name not in ("", before))
        await until(lambda: self.presence.bubble.windowHandle().isExposed())

    async def _mark(self) -> None:
        request = PointRequest(Rect(300, 300, 40, 20), "OK", Point(200, 200))
        self.presence.stage.point_out(request)
        await asyncio.wait_for(asyncio.wrap_future(request.shown), 20)

    async def _welcome_again(self) -> None:
        before = len(self.presence.inbox.view.items)
        again = await asyncio.create_subprocess_exec(sys.executable, "-m", "tests.support.presence_day")
        assert await again.wait() == 0  # because it only wakes this one
        await until(lambda: len(self.presence.inbox.view.items) > before)

    async def _wish(self) -> None:
        """Wait for the wish that the person writes now; its turn lasts until the answer comes."""
        self.agent.holds = True

    async def _answer_to_the_wish(self) -> None:
        await until(lambda: self.presence.inbox.view.running)
        self.agent.stop()
        await until(lambda: not self.presence.inbox.view.running)

    async def _closing(self) -> None:
        self.presence.close()
        await until(lambda: not self.presence.bubble.isVisible())

    async def _reminder(self) -> None:
        self.presence.tell("info", "Reminder: tea", beside=True)
        await until(self.presence.stage.caption.isVisible)
        await until(lambda: any(isinstance(one, NoticeItem) for one in self.presence.inbox.view.items))


def main() -> int:
    crash_folder().mkdir(parents=True, exist_ok=True)
    (crash_folder() / "crash-1.txt").write_text("a failure of the run before", encoding="utf-8")
    day = Day()
    outside = Outside(store.load, NoMachine(), welcome=True)
    return application.run(day.connect, store.load(), outside, on_ready=day.presences.append, quit_when=day.live())


if __name__ == "__main__":
    sys.exit(main())
