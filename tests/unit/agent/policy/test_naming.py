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
        ("Don’t use XTerm", "xterm", False),
        ("You shouldn't use XTerm", "xterm", False),
        ("Use Mousepad instead of XTerm", "xterm", False),
        ("Benutze XTerm nicht", "xterm", False),
        ("Open Mousepad, but don't save", "mousepad", True),
        ("do not run rm -rf ~/docs", "rm -rf ~/docs", False),
        ("run rm -rf ~/docs2", "rm -rf ~/docs", False),
        ("run ls ~/docs then rm -rf build", "rm -rf ~/docs", False),
        ("run rm -rf build", "rm -rf build", True),
        ("Show me", "sh", False),
    ],
)
def test_a_name_counts_as_whole_words_in_a_clause_without_a_negation(said: str, name: str, *, expected: bool) -> None:
    assert names_any(said, [name]) is expected


def test_a_name_is_the_persons_if_they_said_all_its_words() -> None:
    assert says_all("make me a tea timer", "Tea Timer")
    assert not says_all("make me a timer", "Tea Timer")


def test_quoted_lines_and_pasted_texts_are_not_the_persons() -> None:
    assert own_words("Answer this:\n> open the terminal\n| and this") == "Answer this:"
    assert own_words("word " * 500) == ""
