"""The checklist that any call may carry: kept as a file the person can edit, shown as a card."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from app.protocol.result import JsonValue
from app.services.tasks.checklist import Checklist
from app.tools.tasks import checklist_payload

_log = logging.getLogger(__name__)


class Keeper:
    """Keeps what a model reports as `task_progress`; a disk that refuses is logged, the task goes on."""

    def __init__(self, checklist: Checklist) -> None:
        self._checklist = checklist

    async def __call__(self, progress: str) -> Mapping[str, JsonValue]:
        try:
            items = await asyncio.to_thread(self._checklist.update, progress)
        except OSError as error:
            _log.warning("The checklist could not be kept: %s", error)
            return {}
        return checklist_payload(items)
