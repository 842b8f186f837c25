"""Every change of state in the audit: what was decided, what was done, in which conversation; secrets left out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import partial
from typing import Any, Protocol

from app.base.clock import Clock
from app.base.redaction import cleaned
from app.protocol.result import JsonValue
from app.services.journal.audit import AuditEntry, append
from app.services.journal.database import Database

_TYPED = ("text", "input", "content", "value", "goal")
"""What is typed or written somewhere is counted, not copied: it may be anything."""
_KEYS = "keys"
_LONGEST = 400
_DIGITS = 16


class Conversation(Protocol):
    """What is running now."""

    @property
    def conversation(self) -> str: ...

    @property
    def turn(self) -> str: ...


class Trail:
    """The coroutine that tools and the gate are given. It does not wait for the disk: the call's own record does."""

    def __init__(self, database: Database, clock: Clock, now: Conversation) -> None:
        self._db = database
        self._clock = clock
        self._now = now

    async def __call__(self, kind: str, details: Mapping[str, JsonValue]) -> None:
        self.note(kind, details)

    def note(self, kind: str, details: Mapping[str, JsonValue]) -> None:
        """Returns at once."""
        told = dict(details)
        turn = str(told.pop("turn", "") or self._now.turn)
        text = json.dumps(cleaned(_shortened(told)), ensure_ascii=False, default=str)
        entry = AuditEntry(self._clock.wall(), kind, self._now.conversation, turn, text)
        self._db.soon(partial(append, entry=entry))


def _shortened(value: Any, name: str = "") -> Any:
    if isinstance(value, Mapping):
        return {key: _shortened(inner, key) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_shortened(inner) for inner in value]
    if isinstance(value, str) and name in _TYPED:
        return f"[{len(value)} characters]"
    if isinstance(value, str) and name == _KEYS and any(len(key) == 1 for key in value.split()):
        return f"[{len(value.split())} keys]"
    if isinstance(value, str) and len(value) > _LONGEST:
        digest = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
        return f"{value[:_LONGEST]}… [{len(value)} characters, SHA-256 {digest}]"
    return value
