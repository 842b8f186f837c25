"""A provider that plays a script."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from app.base.errors import NeedsPerson, OverLimit, ProviderError, Refused
from app.protocol.message import user
from app.providers.api import (
    NativeCallDelta,
    NativeCallEnded,
    NativeCallStarted,
    Request,
    Stopped,
    StreamEvent,
    TextDelta,
    Thinking,
    Usage,
)
from app.providers.scripted import Scripted, load
from tests.support.stage import FakeClock

_REQUEST = Request("m", "system", (user("hi"),))

_SCRIPT = """
[[replies]]
text = "Hello, you."

[[replies]]
steps = [
  { think = "hm" }, "Half", { pause_s = 2 },
  { fail = "OverLimit", sentence = "Too much.", retry_after_s = 7 },
]

[[replies]]
steps = [
  { call = "look", id = "c1", args = { deep = true } },
  { usage = { input_tokens = 9, output_tokens = 2 } },
  { stop = "tool_use" },
]
"""


async def _played(provider: Scripted) -> tuple[list[StreamEvent], ProviderError | None]:
    events: list[StreamEvent] = []
    try:
        async for event in provider.stream(_REQUEST):
            events.append(event)
    except ProviderError as error:
        return events, error
    return events, None


def _file(folder: Path, text: str, name: str = "script.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


async def test_a_script_file_is_played_step_by_step(tmp_path: Path) -> None:
    clock = FakeClock()
    provider = load(_file(tmp_path, _SCRIPT), clock)
    first, none = await _played(provider)
    assert (first, none) == ([TextDelta("Hello,"), TextDelta(" you."), Stopped("end_turn")], None)
    second, error = await _played(provider)
    assert second == [Thinking("hm"), TextDelta("Half")]
    assert isinstance(error, OverLimit)
    assert (str(error), error.retry_after_s, clock.slept) == ("Too much.", 7.0, [2.0])
    third, none = await _played(provider)
    assert third == [
        NativeCallStarted("c1", "look"),
        NativeCallDelta("c1", '{"deep":'),
        NativeCallDelta("c1", " true}"),
        NativeCallEnded("c1", {"deep": True}),
        Usage(9, 2),
        Stopped("tool_use"),
    ]


async def test_a_script_that_is_over_refuses() -> None:
    events, error = await _played(Scripted([]))
    assert events == []
    assert isinstance(error, Refused)


async def test_a_json_script_is_the_same(tmp_path: Path) -> None:
    provider = load(_file(tmp_path, '{"replies": ["Hi.", {"steps": [{"stop": "refusal"}]}]}', "s.json"))
    assert await _played(provider) == ([TextDelta("Hi."), Stopped("end_turn")], None)
    assert await _played(provider) == ([Stopped("refusal")], None)


async def test_every_character_of_the_text_is_said() -> None:
    text = "  one\n\ntwo   three, a-very-long-word \n"
    events, _ = await _played(Scripted([text]))
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == text


async def test_a_stream_that_is_closed_early_is_counted() -> None:
    provider = Scripted(["a long reply indeed"])
    async with contextlib.aclosing(provider.stream(_REQUEST)) as stream:  # type: ignore[type-var]
        await anext(stream)
    assert (provider.cut, provider.requests) == (1, [_REQUEST])


@pytest.mark.parametrize(
    "text", ["replies = 3", "no script", '[[replies]]\nsteps = [{ fail = "Nonsense" }]', "[[replies]]\nsteps = [{}]"]
)
def test_a_script_that_cannot_be_played_says_why(tmp_path: Path, text: str) -> None:
    path = _file(tmp_path, text)
    with pytest.raises(NeedsPerson, match="cannot be played"):
        load(path)
