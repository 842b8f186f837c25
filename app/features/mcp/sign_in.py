"""What servers granted when the person signed in by OAuth: saved with the person's keys, and only for one address.

The worker carries out the sign-in (`authorization.py`). It begins only when the person asks for it, so no server can
open a page by itself.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from app.base.translation import words_in
from app.features.mcp.configuration import ServerEntry
from app.settings import store
from app.settings.catalog import LANGUAGE

OpenAddress = Callable[[str], None]
_PAGE = "You are signed in. You can close this page."


def forget_sign_in(pin: str) -> None:
    """Delete what a server granted; `pin` is the name under which agreements with it are saved. Blocks."""
    store.forget(_key(pin))


class SignIns:
    """The sign-ins of the servers of one conversation."""

    def __init__(self) -> None:
        self._records: dict[str, dict[str, Any]] = {}
        self._openers: dict[str, OpenAddress] = {}
        self._saving: set[asyncio.Task[None]] = set()

    def launch(self, entry: ServerEntry, url: str) -> Mapping[str, Any]:
        """Return what the process that talks to the server needs for signing in there: the saved grants, whether it may
        ask the person, and the page to show them afterwards. Reads the secrets and blocks.
        """
        record, is_asked = _kept(entry.pin, url), entry.pin in self._openers
        if is_asked:  # because the person may want another account
            record.pop("tokens", None)
        self._records[entry.pin] = {**record, "url": url}
        page = words_in(store.load()[LANGUAGE])(_PAGE)
        return {"record": record, "may_ask": is_asked, "page": page}

    @contextmanager
    def asking(self, pin: str, open_address: OpenAddress) -> Iterator[None]:
        """Inside this context, the server may open its sign-in page in the person's browser."""
        self._openers[pin] = open_address
        try:
            yield
        finally:
            del self._openers[pin]

    def hear(self, pin: str, message: Mapping[str, Any]) -> None:
        """Handle an event of the worker: a page to open, or what was granted."""
        if message["event"] == "sign_in" and pin in self._openers:
            self._begin(self._openers[pin], message["url"])
        elif message["event"] == "granted" and pin in self._records:
            self._records[pin] = {**message["record"], "url": self._records[pin]["url"]}
            self._begin(store.keep, _key(pin), json.dumps(self._records[pin]))

    def is_granted(self, pin: str) -> bool:
        """True if the person has signed in, in this conversation or earlier."""
        return bool(self._records.get(pin, {}).get("tokens"))

    async def settled(self) -> None:
        """Wait until everything that was granted is saved."""
        await asyncio.gather(*self._saving, return_exceptions=True)

    def _begin(self, act: Callable[..., object], *words: str) -> None:
        async def done() -> None:
            with suppress(OSError):  # because the server says so itself when nobody has signed in
                await asyncio.to_thread(act, *words)

        task = asyncio.ensure_future(done())
        self._saving.add(task)
        task.add_done_callback(self._saving.discard)


def _key(pin: str) -> str:
    return f"mcp/{pin}/sign-in"


def _kept(pin: str, url: str) -> dict[str, Any]:
    """What was granted at this address; empty if nothing was."""
    try:
        record = json.loads(store.key_of(_key(pin)) or "{}")
    except ValueError:  # because a damaged record only means another sign-in
        return {}
    return record if isinstance(record, dict) and record.get("url") == url else {}
