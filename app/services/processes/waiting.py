"""What a call may wait for: time, the end of a run, its output, a server in it, an open port, a file."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from enum import StrEnum
from urllib.parse import urlsplit

from app.base.clock import Clock
from app.base.errors import ToolMisuse
from app.base.values import dataclass
from app.base.withheld import without_secrets
from app.services.files.places import Place
from app.services.files.searching import environment, program
from app.services.processes import forwarding
from app.services.processes.commands import Run
from app.services.processes.output import local_url, plain

_STEP_S = 0.25
_TICK_S = 1.0
_PAGE_BYTES = 1 << 20
_OVERLAP_BYTES = 4_096
_LINE_CHARS = 400
_HOSTS = ("127.0.0.1", "::1")

Condition = Callable[[], Awaitable[str]]
"""Checks once. Returns a sentence without a full stop if the condition is met, else ""."""


async def until(
    condition: Condition, limit_s: float, clock: Clock, ends: Sequence[asyncio.Event], tick: Callable[[float], None]
) -> str:
    """Wait for the condition and return its sentence; "" after `limit_s`, or when one of `ends` is set.

    `tick(seconds_left)` is called about once a second.
    """
    end = clock.now() + limit_s
    ticked = clock.now() - _TICK_S
    while True:
        if met := await condition():
            return met
        left = end - clock.now()
        if left <= 0 or any(one.is_set() for one in ends):
            return ""
        if clock.now() - ticked >= _TICK_S:
            ticked = clock.now()
            tick(left)
        with suppress(TimeoutError):
            await asyncio.wait_for(ends[0].wait(), min(_STEP_S, left))


async def never() -> str:
    """Always "": a condition that is never true, used to wait for a time alone."""
    return ""


def ended(run: Run) -> Condition:
    async def ask() -> str:
        if run.is_running:
            return ""
        return f"run {run.id} has ended" + (f" with {run.record.exit_code}" if run.record.exit_code is not None else "")

    return ask


def file_there(place: Place) -> Condition:
    async def ask() -> str:
        return f"{place.shown!r} is there" if await asyncio.to_thread(place.exists) else ""

    return ask


def port_open(port: int) -> Condition:
    """True when a TCP port of this machine is open."""

    async def ask() -> str:
        for host in _HOSTS:
            with suppress(OSError, TimeoutError):  # because a server may listen on IPv4 or IPv6 only
                _, writer = await asyncio.wait_for(asyncio.open_connection(host, port), _TICK_S)
                writer.close()
                with suppress(OSError):  # because the server may reset the connection that only tested its port
                    await writer.wait_closed()
                return f"port {port} is open"
        return ""

    return ask


class Printed:
    """A condition that is true when a line of the run's output matches a pattern in Rust's syntax.

    ripgrep matches it, in its own process and in linear time: Python's engine could take for ever on a model's pattern.
    """

    def __init__(self, run: Run, pattern: str) -> None:
        self._run = run
        self._pattern = pattern
        self._seen = {"stdout": 0, "stderr": 0}

    async def check(self) -> None:
        """Raise ToolMisuse for an invalid pattern."""
        await self._matches("")

    async def __call__(self) -> str:
        was_running = self._run.is_running
        for name, output in (("stdout", self._run.stdout), ("stderr", self._run.stderr)):
            self._seen[name] = max(self._seen[name], output.first())
            while (size := output.size()) > self._seen[name]:
                start = max(self._seen[name] - _OVERLAP_BYTES, 0)
                data = output.page(start, _PAGE_BYTES)
                self._seen[name] = min(start + _PAGE_BYTES, size)
                if line := await self._matches(plain(data)):
                    return f"run {self._run.id} printed {without_secrets(line)[:_LINE_CHARS]!r}"
        return "" if was_running else f"run {self._run.id} has ended without printing that"

    async def _matches(self, text: str) -> str:
        process = await asyncio.create_subprocess_exec(
            program(),
            *("--no-config", "--max-count", "1", "--regexp", self._pattern, "-"),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE if not text else DEVNULL,
            env=environment(),
        )
        out, complaint = await process.communicate(text.encode())
        if complaint:
            reason = complaint.decode(errors="replace").strip().removeprefix("rg: ").strip()
            raise ToolMisuse(f"pattern: this is no pattern in Rust's syntax. {reason}")
        return out.decode(errors="replace").strip()


_LOOK_S = 0.1
_TOLD_BYTES = 16_384
_SEARCHED_BYTES = 65_536
_HTTP = 80
_OPENING_S = 4.0
"""Programs may print their address before they listen there."""

Tell = Callable[[str, str], None]
"""Called with the stream's name and a piece of plain text."""


class Why(StrEnum):
    """The reason for which a call returns."""

    ENDED = "ended"
    TIME = "time"
    QUIET = "quiet"
    SERVER = "server"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Server:
    """What a run serves: its `url` if it printed one, else the `shown` ports. All empty if it serves nothing.

    `is_opening`: the port in the printed URL is not open yet.
    """

    url: str = ""
    shown: str = ""
    is_reachable: bool = False
    is_opening: bool = False


class Follower:
    """Report the output of one run as it grows. `began` are the byte offsets to start at, one for each stream."""

    def __init__(self, run: Run, clock: Clock, tell: Tell, *, began: tuple[int, int] = (0, 0)) -> None:
        self._run, self._clock, self._tell = run, clock, tell
        self._told = {"stdout": began[0], "stderr": began[1]}
        self._changed_at = clock.now()
        self._has_printed = False

    async def until(self, limit_s: float, quiet_s: float | None, cancelled: asyncio.Event) -> Why:
        """Wait for the command's end, for `limit_s`, or (with `quiet_s`) for output and then `quiet_s` without any."""
        end = self._clock.now() + limit_s
        events = [asyncio.ensure_future(event.wait()) for event in (self._run.ended, cancelled)]
        try:
            while True:
                await asyncio.wait(events, timeout=_LOOK_S, return_when=asyncio.FIRST_COMPLETED)
                self._tell_news()
                why = self._why(end, quiet_s, cancelled)
                if why is not None:
                    return why
        finally:
            for event in events:
                event.cancel()

    def _why(self, end: float, quiet_s: float | None, cancelled: asyncio.Event) -> Why | None:
        now = self._clock.now()
        if cancelled.is_set():
            return Why.CANCELLED
        if not self._run.is_running:
            return Why.ENDED
        if quiet_s is not None:
            server = self.server()
            if server.is_reachable:
                return Why.SERVER
            if self._has_printed and now - self._changed_at >= max(quiet_s, _OPENING_S * server.is_opening):
                return Why.QUIET
        return Why.TIME if now >= end else None

    def server(self) -> Server:
        """Found by the run's output or by an open port, with the address on this machine."""
        both = (self._run.stdout, self._run.stderr)
        url = next((url for output in both if (url := local_url(plain(output.page(0, _SEARCHED_BYTES))))), "")
        if not self._run.record.sandboxed or self._run.record.network:
            return Server(url, url, bool(url))
        ports = forwarding.ports(self._run.folder)
        if not url or ports is None:
            listening = ", ".join(f"127.0.0.1:{port}" for port in (ports or {}).values())
            return Server(url, url or listening, bool(listening))
        number = urlsplit(url).netloc.rpartition(":")[2]
        inside = int(number) if number.isdigit() else _HTTP
        if ports.get(inside, inside) != inside:
            url = urlsplit(url)._replace(netloc=f"127.0.0.1:{ports[inside]}").geturl()
        return Server(url, url, inside in ports, inside not in ports)

    def _tell_news(self) -> None:
        for name, output in (("stdout", self._run.stdout), ("stderr", self._run.stderr)):
            size, told = output.size(), self._told[name]
            if size <= told:
                continue
            self._told[name] = size
            self._changed_at = self._clock.now()
            self._has_printed = True
            start = max(told, size - _TOLD_BYTES)
            self._tell(name, without_secrets(plain(output.page(start, size - start))))
