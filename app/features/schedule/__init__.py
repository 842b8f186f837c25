"""What is to be done later. Tasks and reminders come in through the tools, `wisp schedule` and small apps, and are kept
in `agenda.db`; a timer of the session or the presence runs them by `wisp run-due`, and the inbox tells what came of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from app.base.phrases import Phrase
from app.features.feature import AskPerson, Feature, OpenFeature, Room, Tell

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.base.findings import Finding
    from app.base.remains import Remains
    from app.tools.registry import Family
    from app.ui.machine import Ask, Collection, ListPage


class Schedule(Feature):
    name = "schedule"
    about = Phrase("Doing tasks later, and reminders")
    words = Path(__file__).parent / "words"
    commands = {  # noqa: RUF012
        "schedule": "list, add or remove tasks that Wisp does later, and read what came of them",
        "run-due": "do the planned tasks that are due now; the computer runs this by itself, so you rarely need it",
    }

    def families(self) -> Sequence[Family]:
        from app.features.schedule.tools import SCHEDULES

        return (SCHEDULES,)

    def open(self, room: Room, /) -> OpenFeature:
        from app.agent.policy.unattended import check_names
        from app.features.schedule.agenda import standard_agenda
        from app.features.schedule.tools import ScheduleTools
        from app.services.notifications import DeviceNotifier

        kept = standard_agenda(room.clock)

        async def close() -> None:
            kept.close()

        devices = DeviceNotifier(room.now, room.key_of)
        return OpenFeature(
            handlers=(ScheduleTools(kept, room.workspace.folder, check_names, devices=devices),), close=close
        )

    def collections(self) -> Sequence[ListPage]:
        from app.ui.machine import ListPage

        def tasks(_ask: Ask) -> Collection:
            from app.features.schedule.page import PlannedTasks

            return PlannedTasks()

        nothing = Phrase("Nothing is planned. Say “every day at 9 …” and Wisp asks whether to keep it.")
        search = Phrase("Search what is planned")
        return (ListPage("planned", Phrase("Planned"), search, tasks, nothing=nothing, rank=20),)

    def checks(self) -> Sequence[Callable[[], Finding]]:
        from app.features.schedule.timer import check_timer

        return (check_timer,)

    def remains(self) -> Sequence[Remains]:
        from app.features.schedule.timer import remains

        return remains()

    async def accompany(self, tell: Tell, ask: AskPerson, /) -> None:
        from app.features.schedule.watching import watch_schedules

        await watch_schedules(tell)


FEATURE = Schedule()
