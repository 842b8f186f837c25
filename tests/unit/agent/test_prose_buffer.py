"""What is spoken at once, and what waits because it may be a call in another format."""

from __future__ import annotations

import pytest

from app.agent.continuation import ProseBuffer

_TOOLS = frozenset({"say", "read_file"})


def _spoken(text: str, chunk: int) -> tuple[str, str]:
    withheld = ProseBuffer(_TOOLS, is_on=True)
    spoken = "".join(withheld.take(text[at : at + chunk]) for at in range(0, len(text), chunk))
    return spoken, withheld.rest()


@pytest.mark.parametrize("chunk", [1, 3, 1000])
@pytest.mark.parametrize(
    ("spoken", "kept"),
    [
        ("", '{"name": "read_file", "arguments": {}}'),
        ("Here:\n", '  {\n "name": "read_file"}'),
        ("Reading. \n", "<function=read_file>\n<parameter=path>a</parameter></function>\nok"),
        ("", "<tool_call>x"),
        ("<sayings> and <reader>\n <b>", ""),
        ("Look at `this` and {that}.", ""),
        ("a\n[1, 2]\n{}\nb", ""),
    ],
)
def test_only_what_may_be_a_call_waits(spoken: str, kept: str, chunk: int) -> None:
    assert _spoken(spoken + kept, chunk) == (spoken, kept)


def test_switched_off_it_keeps_nothing() -> None:
    assert ProseBuffer(_TOOLS, is_on=False).take('{"name": 1}') == '{"name": 1}'


def test_after_the_rest_was_taken_it_begins_anew() -> None:
    withheld = ProseBuffer(_TOOLS, is_on=True)
    assert withheld.take('x\n{"a": 1}') == "x\n"
    assert withheld.rest() == '{"a": 1}'
    assert withheld.take(" and more") == " and more"
