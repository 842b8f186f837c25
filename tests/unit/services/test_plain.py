"""What of a command's output a model may read."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.services.processes.output import local_url, plain

_PIECES = st.one_of(
    st.sampled_from(["\x1b", "[", "]", "31m", "\x07", "\x9b", "\r", "\b", "\n", "a", "\u202e"]), st.text()
)


@given(st.lists(_PIECES).map("".join))
def test_nothing_that_steers_a_terminal_or_hides_text_is_left(text: str) -> None:
    left = {sign for sign in plain(text) if unicodedata.category(sign) == "Cc" and sign not in "\n\t"}
    hidden = {sign for sign in plain(text) if "\u202a" <= sign <= "\u202e" or "\u2066" <= sign <= "\u2069"}
    assert (left, hidden) == (set(), set())


@given(st.binary())
def test_any_bytes_become_text(data: bytes) -> None:
    assert isinstance(plain(data), str)


@given(st.text(st.characters(categories=["L", "N", "P", "S"], exclude_characters="\x1b")))
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert plain(text) == text


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
    assert plain(raw) == text


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("Local:   http://localhost:5173/", "http://localhost:5173/"),
        ("listening on http://127.0.0.1:8000.", "http://127.0.0.1:8000"),
        ("(http://0.0.0.0:80/x?y=1)", "http://0.0.0.0:80/x?y=1"),
        ("http://[::1]:3000/a", "http://[::1]:3000/a"),
        ("see https://example.com/docs", ""),
        ("http://localhost.example.com/ or http://localhosts", ""),
    ],
)
def test_the_address_of_a_local_server_is_found(text: str, url: str) -> None:
    assert local_url(text) == url
