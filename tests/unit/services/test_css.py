"""CSS colours and backgrounds: what a page shows is taken, what it would ignore is refused with a sentence."""

from __future__ import annotations

import pytest

from app.services.css import rgba, why_no_background


@pytest.mark.parametrize(
    "css",
    [
        "#102030",
        "teal",
        "RebeccaPurple",
        "transparent",
        "oklch(70% 0.1 200)",
        "radial-gradient(circle at 20% 30%, rgba(1,2,3,.5), hsl(120 40% 50%) 60%), #fff",
        "linear-gradient(to right, red 10%, 30%, blue 50% 70%) center / cover no-repeat",
        "repeating-conic-gradient(from 45deg at calc(50% - 3px) 0, red, blue 20%)",
        "linear-gradient(in oklch, red, blue)",
    ],
)
def test_colours_and_gradients_are_backgrounds(css: str) -> None:
    assert why_no_background(css) == ""


@pytest.mark.parametrize(
    ("css", "named"),
    [
        ("bananas", "bananas is no CSS colour"),
        ("var(--x)", "var(--x) is no CSS colour"),
        ("rgb(999)", "rgb(999) is no CSS colour"),
        ("#12", "#12 is no CSS colour"),
        ("url(https://example.com/a.png)", ""),
        ("linear-gradient(red, url(a.png))", "url(a.png)"),
        ("image-set('a.png' 1x)", ""),
        ("#fff\\3b", ""),
        ("@import 'x'", ""),
        ("red; } body { display: none", ""),
        ("linear-gradient(red, blue", ""),
        ("linear-gradient(bananas, red)", "bananas"),
        ("linear-gradient(var(--a), red)", "var(--a)"),
        ("linear-gradient(red)", "two colours"),
        ("linear-gradient(red blue, green)", "by commas"),
        ("linear-gradient(90apples, red, blue)", "#102030"),
        ("red, blue", "by commas"),
        ("red blue", "by commas"),
        ("12", "#102030"),
        ("a(" * 660 + ")" * 660, "#102030"),
        ("x" * 3_000, "at most 2000"),
        ("", "#102030"),
    ],
)
def test_what_a_page_would_ignore_is_refused_with_a_sentence(css: str, named: str) -> None:
    why = why_no_background(css)
    assert (named in why, why.endswith(".")) == (True, True), why


@pytest.mark.parametrize(
    ("text", "color"),
    [
        ("red", ("#ff0000", 1.0)),
        (" #B3541E ", ("#b3541e", 1.0)),
        ("#fff8", ("#ffffff", 136 / 255)),
        ("hsl(120 100% 25% / 50%)", ("#008000", 0.5)),
        ("rgb(300, 0, 0)", ("#ff0000", 1.0)),
        ("currentcolor", None),
        ("bananas", None),
        ("lab(50% 1 2)", None),
        ("", None),
    ],
)
def test_a_colour_is_read_as_numbers_and_its_opacity(text: str, color: tuple[str, float] | None) -> None:
    assert rgba(text) == color
