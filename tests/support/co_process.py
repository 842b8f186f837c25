"""The real `wisp tool` as a co-process: one call written, one JSON line read, as any program would use it."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from app.assembly import registry
from app.protocol.call import JsonValue, ToolCall
from app.protocol.dialects.xml import write_xml

_ROOT = Path(__file__).resolve().parents[2]
_ANSWER_LIMIT_S = 60.0
_SPECS = registry().specs


class CoProcess:
    """`wisp("computer_click", target="Save")` gives the answer's fields; it must have worked unless `attempt` is used.

    `environment` is the desktop's, `root` the checkout that is run, `options` go to the command; the process ends with
    the context. An answer that takes longer than `limit_s` raises queue.Empty.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        root: Path = _ROOT,
        limit_s: float = _ANSWER_LIMIT_S,
        options: Sequence[str] = (),
    ) -> None:
        self._limit_s = limit_s
        self._process = subprocess.Popen(
            [sys.executable, "-m", "app", "tool", *options],
            cwd=root,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            bufsize=1,
        )
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def __enter__(self) -> CoProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        try:
            self._process.wait(timeout=20)
        finally:
            self._process.kill()
            self._process.wait()
            self._reader.join(timeout=5)
            self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            self._lines.put(line)

    def __call__(
        self, tool: str, arguments: Mapping[str, JsonValue] | None = None, /, **more: JsonValue
    ) -> dict[str, Any]:
        """One call that must work."""
        answer = self.attempt(tool, arguments, **more)
        assert answer["ok"], f"{tool} {more}: {answer['echo']}"
        return answer

    def attempt(
        self, tool: str, arguments: Mapping[str, JsonValue] | None = None, /, **more: JsonValue
    ) -> dict[str, Any]:
        """One call, whatever becomes of it."""
        self.start(tool, arguments, **more)
        return self.answer()

    def start(self, tool: str, arguments: Mapping[str, JsonValue] | None = None, /, **more: JsonValue) -> None:
        """Write a call down without waiting for its answer."""
        assert self._process.stdin
        self._process.stdin.write(write_xml([ToolCall("1", tool, {**(arguments or {}), **more})], _SPECS) + "\n")
        self._process.stdin.flush()

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    def answer(self) -> dict[str, Any]:
        """The next line it writes."""
        told: dict[str, Any] = json.loads(self._lines.get(timeout=self._limit_s))
        return told
