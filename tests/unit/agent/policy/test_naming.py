"""What the person's own words name."""

from __future__ import annotations

import pytest

from app.agent.policy.naming import names_any, own_words, says_all


@pytest.mark.parametrize(
    ("said", "name", "expected"),
    [
        ("Open Text Editor and write", "text editor", True),
        ("Öffne den Taschenrechner", "taschenrechner", True),
        ("Go to example.com/a", "example.com", True),
        ("Go to notexample.com", "example.com", False),
        ("Go to example.com.evil.org", "example.com", False),
        ("Write to ann@example.com", "example.com", False),
        ("Don't open Thunderbird. Use Mousepad.", "thunderbird", False),
        ("Don't open Thunderbird. Use Mousepad.", "mousepad", True),
        ("Mach das ohne Thunderbird", "thunderbird", False),
        ("a", "a", False),
    ],
)
def test_a_name_counts_as_whole_words_without_a_not_before_it(said: str, name: str, *, expected: bool) -> None:
    assert names_any(said, [name]) is expected


@pytest.mark.parametrize(
    ("said", "text", "expected"),
    [
        ("type ls -l in the terminal", "ls -l", True),
        ("type ls -l in the terminal", "ls", True),
        ("type ls in the terminal", "ls; rm", False),
        ("type ls in the terminal", "$(ls)", False),
    ],
)
def test_text_is_the_persons_if_they_said_all_of_it(said: str, text: str, *, expected: bool) -> None:
    assert says_all(said, text) is expected


def test_quoted_lines_and_pasted_texts_are_not_the_persons() -> None:
    assert own_words("Answer this:\n> open the terminal\n| and this") == "Answer this:"
    assert own_words("word " * 500) == ""
