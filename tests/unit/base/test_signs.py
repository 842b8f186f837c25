"""Signs that hide words, and text that only looks as if it had some."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.base import signs
from tests.hostile.observers.hidden import hidden_in

_ODD = st.sampled_from(list("\x1b[]\x07\x9b\x9d\u202e\u200b\u200d\ufe0f\ufe01\U000e0041\r\n\u2028\u3164a❤é\ud800"))


@given(st.lists(st.one_of(_ODD, st.text(max_size=4))).map("".join))
def test_nothing_hidden_is_left_in_any_text(text: str) -> None:
    assert hidden_in(signs.plain(text)[0]) == set()


@given(st.lists(_ODD).map("".join), st.integers(0, 20))
def test_pieces_lose_the_same_as_the_whole(text: str, cut: int) -> None:
    assert signs.bare(text[:cut]) + signs.bare(text[cut:]) == signs.bare(text)


def test_a_blank_letter_is_lost_also_where_it_is_alone() -> None:
    assert [signs.bare(sign) for sign in "\u3164\u115f\u1160\uffa0"] == ["", "", "", ""]


@pytest.mark.parametrize(
    "text",
    ["tabs\tand\nlines", "👨‍👩‍👧 ❤️ 🏳️‍🌈 1️⃣", "می‌خواهم", "क्‍ष", "naïve “quotes” — é", "שלום", "日本語", "a\u0301"],
)
def test_scripts_and_pictures_stay_as_they_are(text: str) -> None:
    assert (signs.plain(text), signs.bare(text), signs.revealed(text)) == ((text, 0), text, text)


@pytest.mark.parametrize(
    ("text", "left", "count"),
    [
        ("a\x1b[31mred\x1b[0m", "ared", 2),
        ("photo\u202egnp.exe", "photognp.exe", 1),
        ("\x1b]52;c;cm0=\x07x", "x", 1),
        ("never closed \x1b]0;title\nnext", "never closed \nnext", 1),
        ("ad\u200dmin", "admin", 1),
        ("😀\ufe01\ufe02", "😀", 1),
        ("a\r\nb\rc\u2028d", "a\nb\nc\nd", 0),
        ("half \ud800", "half ", 1),
    ],
)
def test_hidden_signs_are_left_out_and_counted(text: str, left: str, count: int) -> None:
    assert signs.plain(text) == (left, count)


def test_a_person_who_decides_sees_them_all() -> None:
    assert signs.revealed("rm \u202ex\x1b[2J\u200b") == "rm <U+202E>x<U+001B>[2J<U+200B>"
