"""Past conversations, as far as the presence shows them and a session continues them. The journal keeps them."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from app.agent.agent_events import AgentEvent
from app.base.values import dataclass


class ExportFormat(StrEnum):
    MARKDOWN = "markdown"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class PastConversation:
    """`began_at` and `changed_at` are seconds since the epoch; `cost_usd` is None where a price is not known."""

    id: str
    title: str
    began_at: float
    changed_at: float
    turns: int
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens and money over some time; `cost_usd` is None where the price of a used model is not known."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float | None = 0.0
    turns: int = 0


class Archive(Protocol):
    """Raises WispError with a sentence for the person where the journal cannot be read or written."""

    async def conversations(self, search: str = "", limit: int = 200) -> list[PastConversation]:
        """The newest first; `search` finds words in titles and in what was said."""
        ...

    async def events(self, conversation_id: str) -> list[AgentEvent]:
        """What the presence showed, in order, to be shown again; pictures left out."""
        ...

    async def rename(self, conversation_id: str, title: str) -> None: ...

    async def delete(self, conversation_id: str) -> None:
        """Forget it for good."""
        ...

    async def export(self, conversation_id: str, form: ExportFormat) -> str:
        """The whole conversation as text, to save or to send."""
        ...

    async def spent(self, since: float) -> Spent:
        """Everything used since that moment (seconds since the epoch), in all conversations."""
        ...
