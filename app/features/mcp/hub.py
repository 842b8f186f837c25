"""Wisp's side of the worker that holds the connections: sends requests, receives answers and events.

One thread reads, so that parsing a large answer does not block the event loop. Writing runs on a thread too.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import subprocess
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from app.base.clipping import clip_line
from app.base.errors import NeedsPerson, ToolFailed
from app.base.phrases import NO_PHRASE, Phrase
from app.base.signs import plain
from app.base.startup import worker_command
from app.features.mcp import reach
from app.features.mcp.configuration import ServerEntry
from app.services.extras import require

_KEPT = (
    *("PATH", "HOME", "LANG", "LC_ALL", "SYSTEMROOT", "LD_LIBRARY_PATH"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "XDG_RUNTIME_DIR"),
)
_CLOSE_S = 6.0
_SAID_CHARS = 300
_ANSWER_S = 900.0
"""The limit of every request. The worker has shorter ones; this one is for a worker that hangs."""

Message = Mapping[str, Any]
Hear = Callable[[Message], None]


class ServerFault(ToolFailed):
    """A request that failed. `fault` is the kind of error; `said` is the end of the server's log."""

    def __init__(self, message: str, fault: str = "", said: str = "") -> None:
        super().__init__(message)
        self.fault = fault
        self.said = said


class Hub:
    """The worker process, started with the first request. `hear` is called with events that belong to no request."""

    def __init__(self, hear: Hear) -> None:
        self._hear = hear
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._starting = asyncio.Lock()
        self._numbers = count(1)
        self._waiting: dict[int, tuple[asyncio.Future[Any], Hear]] = {}

    async def ask(self, operation: str, server: str, *, event: Hear | None = None, **fields: Any) -> Any:
        """Send a request and return the answer. Meanwhile, `event` is called with its events. Raises ServerFault.

        Cancelling this also cancels the request at the server.
        """
        process = await self._running()
        number = next(self._numbers)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[number] = (answer, event or _unheard)
        request = {"id": number, "op": operation, "server": server, **fields}
        try:
            await asyncio.to_thread(self._write, process, request)
            async with asyncio.timeout(_ANSWER_S):
                return await answer
        except asyncio.CancelledError:
            # Shield the message, because this task is being cancelled itself.
            await asyncio.shield(asyncio.to_thread(self._write, process, {"op": "cancel", "call": number}))
            raise
        finally:
            self._waiting.pop(number, None)

    async def close(self) -> None:
        """End the worker process and all servers."""
        process, self._process = self._process, None
        if process is not None:
            await asyncio.to_thread(_ended, process)

    async def _running(self) -> subprocess.Popen[bytes]:
        async with self._starting:
            if self._process is None or self._process.poll() is not None:
                self._process = process = await asyncio.to_thread(_started)
                loop = asyncio.get_running_loop()
                threading.Thread(target=self._read, args=(process, loop), name="mcp", daemon=True).start()
            return self._process

    def _write(self, process: subprocess.Popen[bytes], request: Message) -> None:
        assert process.stdin
        data = json.dumps(request).encode() + b"\n"
        with self._lock, suppress(OSError, ValueError):  # because the reader reports that the worker has gone
            process.stdin.write(data)
            process.stdin.flush()

    def _read(self, process: subprocess.Popen[bytes], loop: asyncio.AbstractEventLoop) -> None:
        """Read the worker's answers and pass them to the event loop, until the worker ends. Runs on a thread."""
        assert process.stdout
        with process.stdout as lines, suppress(RuntimeError):  # because the loop may be closed by now
            for line in lines:
                with suppress(ValueError):  # half a line, of a worker that was killed
                    loop.call_soon_threadsafe(self._take, json.loads(line))
            loop.call_soon_threadsafe(self._lost, process)
        _ended(process)

    def _take(self, message: Message) -> None:
        if "id" not in message:
            self._hear(message)
            return
        answer, event = self._waiting.get(message["id"], (None, _unheard))
        if "event" in message:
            event(message)
        elif answer is None or answer.done():
            return
        elif "error" in message:
            answer.set_exception(ServerFault(message["error"], message["fault"], message.get("said", "")))
        else:
            answer.set_result(message["ok"])

    def _lost(self, process: subprocess.Popen[bytes]) -> None:
        if self._process is not None and self._process is not process:
            return  # because the requests that wait now belong to its successor
        for answer, _ in self._waiting.values():
            if not answer.done():
                answer.set_exception(ServerFault("The process that holds the connections has ended.", "dead"))
        self._hear({"event": "lost"})


def _unheard(_message: Message) -> None:
    return None


def _started() -> subprocess.Popen[bytes]:
    require("mcp", "mcp")
    return subprocess.Popen(
        worker_command("mcp"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={name: os.environ[name] for name in _KEPT if name in os.environ},
        cwd=Path(os.sep),
        start_new_session=True,  # so that Ctrl+C in the terminal does not end the worker before Wisp closes it
    )


def _ended(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin
    with suppress(OSError):  # because what is still to be written is read by no one
        process.stdin.close()
    try:
        process.wait(_CLOSE_S)
    except subprocess.TimeoutExpired:  # because a hanging worker would outlive Wisp
        process.kill()
        process.wait()


_FAULTS = {
    "dead": "{name} ended before it answered. Nobody knows whether it did the work. Look before you ask again.",
    "silent": "{name} did not answer within {limit} s, so Wisp told it to stop. Look what it has done by then.",
    "refused": "{name} refused: {words}",
    "damaged": "{name} does not speak the protocol as it should ({words}).",
    "unstarted": "{name} cannot be started: {words}",
    "cancelled": "{name} was stopped.",
}
_TELLING = re.compile(r"\b\w*(?:error|exception)\b\W*\s\w|\bcannot |\bno such ", re.IGNORECASE)
_SHUT = (
    " It runs without the internet and reads only its workspace, the system and what its command names. If it needs "
    "more, `wisp mcp add` gives it that, with --network or --folder DIR."
)
_UNSEEN = " Its sandbox does not show {paths}. `wisp mcp add` shows it that, with {options}."
_LOADS = " {loader} loads the server from the internet, and it has none. `wisp mcp add` gives it that, with --network."
_AT_START = {
    "dead": "{name} ended as soon as it was started.",
    "silent": "{name} was asked but said nothing.",
}
_TOO_SLOW = "{name} had not started after {limit} s, so Wisp ended it."
_LONGER = "If it needs longer, {}allow that by the setting chat.server_start_s."


def explained(
    entry: ServerEntry, fault: ServerFault, workspace: Path | None = None, start_s: float = 0.0
) -> ToolFailed | NeedsPerson:
    """Return a fault as a sentence about the server of this entry.

    With a `workspace`, it was to be started there, within `start_s`.
    """
    is_start = workspace is not None
    is_slow = is_start and fault.fault == "silent" and entry.kind == "stdio"
    if fault.fault == "unsigned":
        return NeedsPerson(f"{entry.name} wants you to sign in. Do it once: wisp mcp sign-in {entry.name}")
    table = {**_FAULTS, **_AT_START} if is_start else _FAULTS
    told = _TOO_SLOW if is_slow else table.get(fault.fault, "{name}: {words}")
    values = {"name": entry.name, "words": str(fault), "limit": f"{start_s if is_slow else entry.limit_s:g}"}
    if is_slow:
        return ToolFailed(Phrase(told, values), _LONGER.format("the person can "), advice=Phrase(_LONGER.format("")))
    said = [clip_line(plain(line)[0], _SAID_CHARS) for line in fault.said.splitlines() if line.strip()]
    # Some programs end with a trace or their version, and say before it what is wrong.
    telling = next((line for line in reversed(said) if _TELLING.search(line)), said[-1] if said else "")
    last = Phrase(" It last printed: {telling!r}.", {"telling": telling}) if said else NO_PHRASE
    is_sandboxed = entry.kind == "stdio" and entry.sandbox
    lack = _lacking(entry, workspace) if workspace and fault.fault == "dead" and is_sandboxed else NO_PHRASE
    hint = "Look before trying again." if fault.fault == "dead" and not is_start else ""
    return ToolFailed(Phrase("{told}{last}{lack}", {"told": Phrase(told, values), "last": last, "lack": lack}), hint)


def _lacking(entry: ServerEntry, workspace: Path) -> Phrase:
    """What may have kept it from starting in its sandbox, and what helps."""
    if unseen := reach.unseen(entry, workspace):
        options = " ".join(f"--folder {shlex.quote(str(path))}" for path in unseen)
        return Phrase(_UNSEEN, {"paths": ", ".join(map(str, unseen)), "options": options})
    if entry.network:
        return NO_PHRASE
    loader = reach.loader((entry.command, *entry.args))
    return Phrase(_LOADS, {"loader": loader}) if loader else Phrase(_SHUT)
