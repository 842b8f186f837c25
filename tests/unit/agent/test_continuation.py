"""Joining a continuation to what it continues."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.agent.continuation import Continuation

_OPEN = '<write_file path="a.html"><![CDATA[\n<html>\n<body>\n  <p>one</p>\n'


def _joined(written: str, continuation: str, size: int) -> tuple[str, bool]:
    seam = Continuation(written)
    new = "".join(seam.feed(continuation[at : at + size]) for at in range(0, len(continuation), size))
    return new + seam.finish(), seam.restarted


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_the_exact_next_character_is_handed_on_unchanged(size: int) -> None:
    assert _joined(_OPEN, "  <p>two</p>\n</body>", size) == ("  <p>two</p>\n</body>", False)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_words_that_are_repeated_are_dropped(size: int) -> None:
    assert _joined(_OPEN, "  <p>one</p>\n  <p>two</p>", size) == ("  <p>two</p>", False)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_call_written_again_to_the_letter_is_continued(size: int) -> None:
    assert _joined(_OPEN, "\n" + _OPEN + "  <p>two</p>", size) == ("  <p>two</p>", False)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_call_written_anew_with_other_words_replaces_the_old_one(size: int) -> None:
    anew = '<write_file path="a.html"><![CDATA[\n<html lang="en">\n'
    assert _joined(_OPEN, anew, size) == (anew, True)


def test_a_long_call_is_known_by_its_opening() -> None:
    seam = Continuation("the end of what was written", '<write_file path="a">')
    assert seam.feed('<write_file path="a">once more') == '<write_file path="a">once more'
    assert seam.restarted


def test_the_end_of_a_long_call_may_be_repeated_too() -> None:
    seam = Continuation("the end of what was written", '<write_file path="a">')
    assert seam.feed("of what was written and on") + seam.finish() == " and on"
    assert not seam.restarted


def test_a_bracket_that_comes_twice_is_no_repetition() -> None:
    assert _joined("<x>[[1, 2]", "]", 1) == ("]", False)


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize(
    ("continuation", "is_left"),
    [
        ("\n<say>Hello</say>", True),
        ("<write_file path='b'>", True),
        ("<write_file", False),
        ("<sayings>", False),
        ("<p>two</p>", False),
        ("a <say>", False),
        (_OPEN + "two", False),
    ],
)
def test_a_tag_of_another_call_at_the_border_leaves_the_open_one(
    continuation: str, size: int, *, is_left: bool
) -> None:
    seam = Continuation(_OPEN, tags=frozenset({"say", "write_file"}))
    new = "".join(seam.feed(continuation[at : at + size]) for at in range(0, len(continuation), size)) + seam.finish()
    assert seam.is_left is is_left
    if is_left:
        assert new == continuation.lstrip()


def test_a_stream_that_only_repeats_brings_nothing_new() -> None:
    assert _joined(_OPEN, _OPEN[:30], 5) == ("", False)


@given(st.text(min_size=1), st.text(), st.integers(1, 9))
def test_how_the_stream_was_cut_does_not_matter(written: str, continuation: str, size: int) -> None:
    assert _joined(written, continuation, size) == _joined(written, continuation, 10_000)


@given(st.text(alphabet="abc>\n ", min_size=1), st.text(alphabet="xyz</>\n", min_size=1), st.integers(1, 9))
def test_text_that_repeats_nothing_is_kept_whole(written: str, continuation: str, size: int) -> None:
    if not any(written.endswith(continuation[:n]) for n in range(8, len(continuation) + 1)):
        assert _joined(written, continuation, size) == (continuation, False)
