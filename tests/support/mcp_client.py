"""Clients of the real `wisp mcp serve`: the Python SDK's, and one of bare lines that may send anything."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from mcp import Client, StdioServerParameters

_ROOT = Path(__file__).resolve().parents[2]
_LIMIT_S = 45.0
_REVISION = "2025-11-25"
_INITIALIZE = {"protocolVersion": _REVISION, "capabilities": {}, "clientInfo": {"name": "lines", "version": "1"}}


def _command(options: tuple[str, ...]) -> list[str]:
    return ["-m", "app", "mcp", "serve", *options]


@asynccontextmanager
async def served(environment: Mapping[str, str], *options: str, **client: Any) -> AsyncIterator[Client]:
    """The SDK's client of a server of its own. `client`: more arguments of `Client`."""
    server = StdioServerParameters(command=sys.executable, args=_command(options), env=dict(environment), cwd=_ROOT)
    async with Client(server, **client) as connected:
        yield connected


def text_of(result: Any) -> str:
    """What a model reads of a result."""
    return "\n".join(part.text for part in result.content if part.type == "text")


def picture_of(result: Any) -> bytes:
    """The first picture of a result."""
    return base64.b64decode(next(part.data for part in result.content if part.type == "image"))


class LineClient:
    """A client that writes whatever bytes it is given, and keeps each message that comes back.

    `strays` are lines of the server that are no JSON-RPC. The server gets the end of its input with the context, and
    must end by itself.
    """

    def __init__(self, environment: Mapping[str, str], *options: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *_command(options)],
            cwd=_ROOT,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.messages: list[dict[str, Any]] = []
        self.strays: list[bytes] = []
        self._arrived = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._last_id = 1_000_000

    def __enter__(self) -> LineClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self.process.stdin
        try:
            with suppress(BrokenPipeError):  # because the server has ended already
                self.process.stdin.close()
            self.process.wait(_LIMIT_S)
        finally:
            self.process.kill()
            self.process.wait()
            self._reader.join(_LIMIT_S)

    def _read(self) -> None:
        assert self.process.stdout
        with self.process.stdout as lines:
            for line in lines:
                try:
                    message = json.loads(line)
                    is_right = message["jsonrpc"] == "2.0"
                except (ValueError, TypeError, KeyError):
                    is_right = False
                with self._arrived:
                    if is_right:
                        self.messages.append(message)
                    else:
                        self.strays.append(line)
                    self._arrived.notify_all()

    def write(self, line: bytes) -> None:
        """Write bytes as they are, and flush."""
        assert self.process.stdin
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def initialize(self) -> None:
        """Shake hands as a client of the revisions up to 2025-11-25 does."""
        assert "result" in self.answer(self.request("initialize", _INITIALIZE))
        self.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')

    def request(self, method: str, params: Mapping[str, Any] | None = None) -> int:
        """Write a request, and return its id."""
        self._last_id += 1
        told = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": dict(params or {})}
        self.write(json.dumps(told).encode() + b"\n")
        return self._last_id

    def start(self, tool: str, **arguments: Any) -> int:
        """Write a call of a tool, and return its id."""
        return self.request("tools/call", {"name": tool, "arguments": arguments})

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The result of a call of a tool."""
        answer = self.answer(self.start(tool, **arguments))
        assert "result" in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def answers(self, number: object) -> list[dict[str, Any]]:
        """All answers to a request that have arrived."""
        with self._arrived:
            return [message for message in self.messages if message.get("id") == number and "method" not in message]

    def answer(self, number: object, limit_s: float = _LIMIT_S) -> dict[str, Any]:
        """The answer to a request, which must arrive."""
        with self._arrived:
            assert self._arrived.wait_for(lambda: self.answers(number), limit_s), f"Nothing answered {number!r}."
        return self.answers(number)[0]

    def newest(self, number: object, before: int) -> dict[str, Any]:
        """The first answer to `number` after so many messages, which must arrive."""

        def found() -> list[dict[str, Any]]:
            return [one for one in self.messages[before:] if "id" in one and one["id"] == number]

        with self._arrived:
            assert self._arrived.wait_for(found, _LIMIT_S), f"Nothing answered {number!r}."
        return found()[0]
