"""How descriptions are understood before anything is looked for."""

from __future__ import annotations

import pytest

from app.desktop.accessibility.matching import Description, normal, readings, roles_called, synonyms


@pytest.mark.parametrize(
    ("name", "compared"),
    [
        ("Save As...", "save as"),
        ("&Open", "open"),
        ("Name:", "name"),
        ("snake_case", "snake_case"),
        (":", ":"),
        ("+/-", "+/-"),
        ("   ", ""),
    ],
)
def test_names_are_compared_without_marks_that_nobody_says(name: str, compared: str) -> None:
    assert normal(name) == compared


@pytest.mark.parametrize(
    ("description", "name", "role"),
    [
        ("the Save button", "save", "button"),
        ("button Save", "save", "button"),
        ("File menu", "file", "menu"),
        ("a checkbox called Remember me", "remember me", "check box"),
        ("the text field", "", "entry"),
        ("the equals key", "equals", "toggle button"),
        ("radio button Large", "large", "radio button"),
    ],
)
def test_a_kind_of_element_in_a_description_narrows_the_roles(description: str, name: str, role: str) -> None:
    assert any(way.name == name and role in way.roles for way in readings(description))


@pytest.mark.parametrize("description", ["Radio button", "Menu", "Text", "the Save button", "7", "+"])
def test_the_literal_name_is_always_the_first_reading(description: str) -> None:
    assert readings(description)[0] == Description(normal(description))


SIGNS = """
    seven 7 | equals = | plus + | times * | times × | divided by ÷ | point . | square root sqrt | backspace <- |
    open bracket ( | percent %
"""


@pytest.mark.parametrize(("word", "sign"), [tuple(pair.strip().rsplit(" ", 1)) for pair in SIGNS.split("|")])
def test_a_sign_goes_by_its_word_and_the_word_by_its_sign(word: str, sign: str) -> None:
    assert sign in synonyms(word)
    assert word in synonyms(sign)


def test_a_word_that_is_no_sign_stands_for_itself_only() -> None:
    assert synonyms("save") == frozenset()


@pytest.mark.parametrize(
    ("word", "roles"),
    [
        ("check box", {"check box", "check menu item", "switch"}),
        ("check-box", {"check box", "check menu item", "switch"}),
        ("links", {"link"}),
        ("frame", {"frame"}),
        ("", set()),
    ],
)
def test_words_for_roles(word: str, roles: set[str]) -> None:
    assert roles_called(word) == roles
