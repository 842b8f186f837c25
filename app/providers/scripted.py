"""A provider that plays a script, so that the agent runs with known answers.

It is for rehearsing a task (`--provider scripted --script FILE`) and for tests. A script is a list of replies, one per
request; a reply is a list of steps. In a file (TOML or JSON):

    [[replies]]
    text = "<say>Looking.</say><screen_capture/>"

    [[replies]]
    steps = [{ think = "hm" }, "Half a sen", { pause_s = 2 }, { fail = "Unreachable", sentence = "It hung up." }]

    [[replies]]
    steps = [{ call = "list_windows", id = "c1", args = {} }, { usage = { input_tokens = 9 } }, { stop = "tool_use" }]
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from app.base import errors
from app.base.clipping import counted
from app.base.clock import Clock, SystemClock
from app.base.errors import NeedsPerson, ProviderError, Refused
from app.base.values import dataclass
from app.providers.api import (
    NativeCallDelta,
    NativeCallEnded,
    NativeCallStarted,
    Provider,
    Request,
    Stopped,
    StreamEvent,
    TextDelta,
    Thinking,
    Usage,
)
from app.settings.catalog import SCRIPT
from app.settings.store import Settings

_TOKEN = re.compile(r"\s*\S{1,6}|\s+\Z")
_FAILURES = ("Unreachable", "Refused", "OverLimit", "ContextOverflow", "BadAnswer")


@dataclass(frozen=True, slots=True)
class Pause:
    """A pause in the stream."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Fail:
    """A point at which the stream breaks with this error."""

    error: ProviderError


Step = StreamEvent | Pause | Fail
Reply = Sequence[Step | str] | str


class Scripted:
    """Plays `replies` in order, one for each request, token by token. `requests` holds the requests received; `cut`
    counts the replies that were stopped.
    """

    name = "scripted"

    def __init__(self, replies: Sequence[Reply], clock: Clock | None = None) -> None:
        self._replies = [[reply] if isinstance(reply, str) else list(reply) for reply in replies]
        self._clock = clock or SystemClock()
        self.requests: list[Request] = []
        self.cut = 0

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        """Play the next reply. Raise Refused after the last one, and the error of each `Fail` step."""
        self.requests.append(request)
        if len(self.requests) > len(self._replies):
            raise Refused(
                f"The script is over: it has {counted(len(self._replies), 'reply')}, and one more was asked for."
            )
        played = False
        try:
            for step in _complete(self._replies[len(self.requests) - 1]):
                if isinstance(step, Pause):
                    await self._clock.sleep(step.seconds)
                elif isinstance(step, Fail):
                    played = True
                    raise step.error
                else:
                    yield step
            played = True
        finally:
            self.cut += not played

    async def models(self) -> tuple[str, ...]:
        return (self.name,)

    async def close(self) -> None:
        return None


def _complete(reply: Sequence[Step | str]) -> list[Step]:
    steps: list[Step] = []
    for step in reply:
        if isinstance(step, str):
            steps.extend(TextDelta(token) for token in _TOKEN.findall(step))
        else:
            steps.append(step)
    if not steps or not isinstance(steps[-1], (Stopped, Fail)):
        steps.append(Stopped("end_turn"))
    return steps


def native_call(call_id: str, name: str, args: Mapping[str, Any]) -> tuple[Step, ...]:
    """Return a native tool call as a provider streams it, with its arguments in pieces."""
    text = json.dumps(args, ensure_ascii=False)
    pieces = [NativeCallDelta(call_id, text[at : at + 8]) for at in range(0, len(text), 8)]
    return (NativeCallStarted(call_id, name), *pieces, NativeCallEnded(call_id, args))


def make(settings: Settings, _key: str) -> Provider:
    """Raises NeedsPerson if the settings name no script."""
    if not settings[SCRIPT]:
        raise NeedsPerson("The scripted provider needs a script: --script FILE, or model.script in the settings.")
    return load(Path(settings[SCRIPT]))


def load(path: Path, clock: Clock | None = None) -> Scripted:
    """Reads a `.toml` or `.json` file. Raises NeedsPerson with the reason if it cannot be read."""
    try:
        text = path.read_text(encoding="utf-8")
        tree = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
        replies = replies_of(tree["replies"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NeedsPerson(f"The script {path} cannot be played: {type(error).__name__}: {error}") from None
    return Scripted(replies, clock)


def replies_of(entries: Sequence[Mapping[str, Any] | str]) -> list[Reply]:
    """Read the replies of a script. Raises KeyError, TypeError and ValueError."""
    return [_reply(entry) for entry in entries]


def _reply(entry: Mapping[str, Any] | str) -> Reply:
    if isinstance(entry, str):
        return entry
    if "text" in entry:
        return str(entry["text"])
    steps: list[Step | str] = []
    for step in entry["steps"]:
        steps.extend((step,) if isinstance(step, str) else _steps(step))
    return steps


def _steps(step: Mapping[str, Any]) -> tuple[Step, ...]:
    if "call" in step:
        return native_call(str(step.get("id", "call")), str(step["call"]), step.get("args", {}))
    if "fail" in step:
        return (Fail(_failure(str(step["fail"]), step)),)
    if "pause_s" in step:
        return (Pause(float(step["pause_s"])),)
    if "think" in step:
        return (Thinking(str(step["think"])),)
    if "usage" in step:
        return (Usage(**step["usage"]),)
    return (Stopped(str(step["stop"])),)


def _failure(name: str, step: Mapping[str, Any]) -> ProviderError:
    sentence = str(step.get("sentence", "The script breaks off here."))
    if name not in _FAILURES:
        raise ValueError(f"{name!r} is none of {', '.join(_FAILURES)}")
    if name == "OverLimit" and "retry_after_s" in step:
        return errors.OverLimit(sentence, retry_after_s=float(step["retry_after_s"]))
    error: ProviderError = getattr(errors, name)(sentence)
    return error
