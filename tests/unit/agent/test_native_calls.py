"""Arguments of a native call, shown while they stream."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from app.agent.native_calls import ArgumentPreview


def _shown(text: str) -> dict[str, str]:
    preview, members = ArgumentPreview(), dict[str, str]()
    for character in text:
        piece = preview.feed(character)
        if piece:
            members[preview.key] = members.get(preview.key, "") + piece
    return members


_TEXT = st.text(alphabet=st.characters(exclude_categories=("Cs",)))
_VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | _TEXT, lambda inner: st.lists(inner) | st.dictionaries(_TEXT, inner)
)


@given(st.dictionaries(_TEXT.filter(bool), _VALUE), st.booleans())
def test_string_members_are_shown_whole_and_nothing_else(args: dict[str, object], ascii_only: bool) -> None:
    expected = {key: value for key, value in args.items() if isinstance(value, str) and value}
    assert _shown(json.dumps(args, ensure_ascii=ascii_only)) == expected


def test_nothing_of_a_broken_text_raises() -> None:
    for text in ('{"a": "\\u12', '}}}"', '{"a" "b"', '["x"]', '{"a": "\\ud800x"}', '{"a": "\\q"}'):
        _shown(text)
