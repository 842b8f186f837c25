"""How a text is cut into what is typed, pressed and pasted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.base.errors import ToolMisuse
from app.desktop.keys import LIMIT_CHARS, PACE_CHARS, Piece, Route, Taker, plan, slices, with_short_lead


def test_lines_and_tabs_are_keys_and_what_the_layout_lacks_goes_another_way() -> None:
    assert plan("a\tb\r\n日本\nc", str.isascii) == [
        Piece(Route.TYPED, "a"),
        Piece(Route.KEY, "Tab"),
        Piece(Route.TYPED, "b"),
        Piece(Route.KEY, "Return"),
        Piece(Route.EXACT, "日本"),
        Piece(Route.KEY, "Return"),
        Piece(Route.TYPED, "c"),
    ]


def test_a_line_goes_one_way_as_a_whole() -> None:
    assert plan("abc é abc", str.isascii) == [Piece(Route.EXACT, "abc é abc")]


@pytest.mark.parametrize(("text", "code"), [("a\x07b", "U+0007"), ("\x7f", "U+007F"), ("\ud800", "U+D800")])
def test_what_nobody_can_type_is_refused_by_its_code(text: str, code: str) -> None:
    with pytest.raises(ToolMisuse, match=code.replace("+", r"\+")):
        plan(text, str.isascii)


def test_a_megabyte_is_refused_with_the_way_to_do_it() -> None:
    with pytest.raises(ToolMisuse, match="Write it to a file instead"):
        plan("x" * (LIMIT_CHARS + 1), str.isascii)


@given(
    st.text(st.characters(min_codepoint=0x20, exclude_categories=["Cs", "Cc"]) | st.sampled_from("\n\t"), max_size=80)
)
def test_the_pieces_are_the_text(text: str) -> None:
    keys = {"Return": "\n", "Tab": "\t"}
    back = "".join(keys[p.text] if p.route is Route.KEY else p.text for p in plan(text, str.isascii))
    assert back == text


def test_slices_are_short_and_complete() -> None:
    parts = list(slices("x" * 50))
    assert [len(part) for part in parts] == [16, 16, 16, 2]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("A bc", ["A", " bc"]),
        (" a b", [" a", " b"]),
        ("word", ["word"]),
        ("a\nb", ["a", "Return", "b"]),
        ("日 b", ["日 b"]),
    ],
)
def test_an_entry_is_typed_word_by_word(text: str, parts: list[str]) -> None:
    assert [piece.text for piece in with_short_lead(plan(text, str.isascii), Taker.ENTRY)] == parts


@pytest.mark.parametrize(
    ("taker", "size"), [(Taker.ENTRY, 16), (Taker.LINES, 256), (Taker.OTHER, PACE_CHARS), (None, PACE_CHARS)]
)
def test_a_long_text_is_cut_to_look_again_at_what_takes_it(taker: Taker | None, size: int) -> None:
    pieces = with_short_lead(plan("x" * 300 + "\nb", str.isascii), taker)
    assert [piece.text for piece in pieces] == ["x" * size, "x" * (300 - size), "Return", "b"]


@pytest.mark.parametrize(("text", "lead"), [("44*5=", "4"), ("12*7=", "12*7="), ("1+1=", "1+"), ("7", "7")])
def test_buttons_get_no_sign_twice_at_once(text: str, lead: str) -> None:
    pieces = with_short_lead(plan(text, str.isascii), Taker.BUTTONS)
    assert (pieces[0].text, "".join(piece.text for piece in pieces)) == (lead, text)
