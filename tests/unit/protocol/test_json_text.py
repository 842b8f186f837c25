"""Half a surrogate pair ends where the reply is read: everything after it can be written and sent."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.agent.streaming import is_passing
from app.protocol.payload import load, well_formed
from app.providers.api import NativeCallEnded
from app.providers.pairing import call_ended
from app.providers.wire_errors import Service, unreadable
from tests.support.archived import Kept

_HALF = r"smile \ud83d end"
_MENDED = "smile \ufffd end"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (rf'{{"a": "{_HALF}", "\udc00": [1, "{_HALF}"]}}', {"a": _MENDED, "\ufffd": [1, _MENDED]}),
        (r'"\ud83d\ude00"', "\U0001f600"),
        (r'"\ude00\ud83d"', "\ufffd\ufffd"),
        ('"plain"', "plain"),
    ],
)
def test_halves_are_replaced_and_pairs_are_joined(text: str, value: object) -> None:
    assert load(text) == value


@given(st.text(alphabet=st.characters(codec=None, exclude_categories=())))
def test_whatever_a_model_wrote_can_be_encoded_afterwards(text: str) -> None:
    assert well_formed(text).encode().decode() == well_formed(text)


def test_the_arguments_of_a_native_call_are_well_formed() -> None:
    assert call_ended("c1", f'{{"content": "{_HALF}"}}') == NativeCallEnded("c1", {"content": _MENDED})


@pytest.mark.parametrize(
    ("dialect", "reply"),
    [
        ("batch", f'<execute>[{{"name": "write", "args": {{"path": "e.txt", "content": "{_HALF}"}}}}]</execute>'),
        ("xml", '<write path="e.txt"><content>smile \ud83d end</content></write>'),
    ],
)
async def test_the_call_runs_is_kept_and_the_conversation_goes_on(tmp_path: Path, dialect: str, reply: str) -> None:
    kept = Kept(tmp_path, reply, "All done.", dialect=dialect)
    assert (await kept.stage.send("Write it.")).text == "All done."
    assert kept.stage.bench.done == [f"write e.txt: {_MENDED}"]
    await kept.close()


def test_what_our_own_encoder_refuses_is_neither_the_servers_fault_nor_tried_again() -> None:
    with pytest.raises(UnicodeEncodeError) as refusal:
        "\ud83d".encode()
    error = unreadable(Service("Server", ""), refusal.value)
    assert not is_passing(error)
    assert "Server" not in str(error)
