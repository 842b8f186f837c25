"""A reply whose calls are written in another format: they run, and the person never hears their markup."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.agent.agent_events import Outcome, SayDelta
from tests.support.stage import Stage

_JSON = '{"name": "read", "arguments": {"path": "a"}}'
_INLINE = '<read path="a"/>'
_BATCH = '<execute>[{"name": "read", "args": {"path": "a"}}]</execute>'


@pytest.mark.parametrize(
    ("dialect", "call"),
    [
        ("xml", _JSON),
        ("xml", f"```json\n{_JSON}\n```"),
        ("xml", "<function=read><parameter=path>a</parameter></function>"),
        ("xml", _BATCH),
        ("batch", _JSON),
        ("batch", _INLINE),
        ("native", _JSON),
        ("native", _INLINE),
        ("native", _BATCH),
    ],
)
async def test_a_call_in_another_format_runs_and_is_not_spoken(tmp_path: Path, dialect: str, call: str) -> None:
    stage = Stage(tmp_path, f"I look.\n{call}", "Three lines.", dialect=dialect)
    ended = await stage.send("How long is a?")
    assert (ended.outcome, ended.text) == (Outcome.FINISHED, "Three lines.")
    assert stage.bench.done == ["read a"]
    said = "".join(event.text for event in stage.events if isinstance(event, SayDelta))
    assert said.split() == ["I", "look.Three", "lines."]


@pytest.mark.parametrize("dialect", ["xml", "batch", "native"])
async def test_an_answer_that_only_looks_like_a_call_is_spoken_whole(tmp_path: Path, dialect: str) -> None:
    answer = 'This is the file:\n{"name": "value", "arguments": 3}\nThat is all.'
    stage = Stage(tmp_path, answer, dialect=dialect)
    ended = await stage.send("Show it.")
    assert (ended.outcome, ended.text) == (Outcome.FINISHED, answer)
    assert "".join(event.text for event in stage.events if isinstance(event, SayDelta)) == answer
