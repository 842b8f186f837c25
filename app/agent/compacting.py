"""Makes room in the conversation: the model itself sums up the middle; where it cannot, the end of it is kept."""

from __future__ import annotations

from app.agent.events import Notice
from app.agent.history import History
from app.agent.parts import Parts
from app.agent.stream import Stream
from app.agent.turn import Turn
from app.agent.window import Compaction, Window, plan, summary_tokens
from app.agent.words import ending, told
from app.base import paths
from app.base.clipping import clip_middle
from app.base.errors import ProviderError
from app.protocol.message import user
from app.providers.api import Request, Said, Usage
from app.settings.catalog import STREAM_IDLE_MS

_CHARS_A_TOKEN = 3
"""On the low side: the material for a summary must fit into half the window for certain."""
_FALLBACK = 4000
"""Characters kept of the material where no summary could be had."""


class Compactor:
    """Shortens a history when it is nearly as long as the model can read."""

    def __init__(self, parts: Parts, history: History, system: str) -> None:
        self._parts = parts
        self._history = history
        self._window = Window(parts.model, parts.window_tokens)
        self._fixed_tokens = len(system) // _CHARS_A_TOKEN

    async def keep_room(self, turn: Turn) -> None:
        """Before a pass: old pictures go in a step; a history that is nearly too long is shortened."""
        self._window.evict_pictures(self._history)
        if self._window.is_full(self._history, turn.budget.prompt_tokens, self._fixed_tokens):
            await self.make_room(turn)

    async def make_room(self, turn: Turn) -> bool:
        """Shorten now; False where there is nothing to shorten."""
        compaction = plan(self._history)
        if compaction is None:
            return False
        summary = await self._summary(compaction, turn)
        self._history.replace(compaction.entries(summary))
        turn.tell(Notice("info", ending("compacted")))
        return True

    async def _summary(self, compaction: Compaction, turn: Turn) -> str:
        limit = self._parts.window_tokens * _CHARS_A_TOKEN // 4
        request = Request(
            self._parts.model,
            (paths.resources() / "prompts" / "summary.md").read_text(encoding="utf-8"),
            (user(clip_middle(compaction.material, limit, limit)),),
            max_tokens=summary_tokens(),
        )
        try:
            text = await self._heard(request, turn)
        except ProviderError:
            text = ""
        return text or told("summary_failed", text=compaction.material[-_FALLBACK:])

    async def _heard(self, request: Request, turn: Turn) -> str:
        turn.budget.begin_stream()
        said = []
        async with Stream(self._parts.provider.stream(request), self._parts.settings[STREAM_IDLE_MS] / 1000) as stream:
            async for event in stream:
                if isinstance(event, Said):
                    said.append(event.text)
                elif isinstance(event, Usage):
                    turn.budget.add(event)
                    turn.tell(turn.budget.changed())
        return "".join(said).strip()
