"""What a terminal shows of output at last: what a model reads, and a person sees in a card."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.base.signs import plain, terminal_text

_PIECES = st.one_of(
    st.sampled_from(["\x1b", "[", "]", "31m", "\x07", "\x9b", "\r", "\b", "\n", "a", "\u202e"]), st.text()
)


@given(st.lists(_PIECES).map("".join))
def test_nothing_that_steers_a_terminal_or_hides_text_is_left(text: str) -> None:
    left = {sign for sign in terminal_text(text) if unicodedata.category(sign) == "Cc" and sign not in "\n\t"}
    hidden = {sign for sign in terminal_text(text) if "\u202a" <= sign <= "\u202e" or "\u2066" <= sign <= "\u2069"}
    assert (left, hidden) == (set(), set())


@given(st.text(st.characters(categories=["L", "N", "P", "S"], exclude_characters="\x1b")))
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert terminal_text(text) == text


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]8;;http://x\x07link\x1b]8;;\x07", "link"),
        ("\x1b]0;title\x1b\\x", "x"),
        ("10%\r20%\r\n", "20%\n"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("pa\bassword", "password"),
        ("\x1bPq#0\x1b\\sixel", "sixel"),
        ("\x1b(Bx\x1b=y", "xy"),
        ("\x1b[2J\x1b[Hclean", "clean"),
        ("safe\U000e0041\u200btext", "safetext"),
    ],
)
def test_escapes_leave_the_words(raw: str, text: str) -> None:
    assert terminal_text(raw) == text


@pytest.mark.parametrize(
    ("output", "shown"),
    [
        ("\x1b[1;32mok\x1b[0m", "ok"),
        ("\x1b]0;title\x07text", "text"),
        ("10%\r50%\r100%\ndone\r\n", "100%\ndone\n"),
        ("a\x00b\x08\tc", "ab\tc"),
        ("\x1b]8;;http://evil\x1b\\link", "link"),
    ],
)
def test_a_terminals_output_becomes_plain_text(output: str, shown: str) -> None:
    assert terminal_text(output) == shown


@given(st.text())
def test_nothing_that_a_terminal_would_act_on_is_left(output: str) -> None:
    assert not any(ord(character) < 32 and character not in "\n\t" for character in terminal_text(output))


@pytest.mark.parametrize("sign", ["\x90", "\x9d", "\x9b", "\x1b]", "\x1b[", "\r", "a\b", "\u200d"])
def test_a_hundred_thousand_signs_of_a_kind_take_no_time_to_speak_of(sign: str) -> None:
    """Quadratic time would be minutes here, and the limit of the test ends it."""
    text = sign * 100_000
    assert (len(terminal_text(text)), len(plain(text)[0])) <= (len(text), len(text))
