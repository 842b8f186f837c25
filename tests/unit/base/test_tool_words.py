"""The words of a tool: which template is used, and what of a call is said."""

from __future__ import annotations

import pytest

from app.base import resources
from app.base.tool_words import tool_words


def test_the_first_template_whose_words_are_known_is_used() -> None:
    words = tool_words("computer_click")
    assert words.object_of({"target": "Save", "x": 1, "y": 2}, str) == "Save"
    assert words.object_of({"x": 412, "y": 80.0}, str) == "a place on the screen"
    assert words.object_of({"x": 412}, str, "7") == "7"


def test_a_theme_is_called_in_the_persons_language_and_other_names_stay() -> None:
    def german(text: str) -> str:
        return "Dunkel" if text == "Dark" else text

    assert tool_words("set_theme").object_of({"theme": "Dark"}, german) == "Dunkel"
    assert tool_words("open_app").object_of({"name": "Dark"}, german) == "Dark"


def test_values_that_are_not_words_are_not_said() -> None:
    assert tool_words("open_app").object_of({"name": ["a", "c"], "app": {"b": 1}}, str) == ""


def test_long_objects_are_one_short_line() -> None:
    said = tool_words("open_app").object_of({"name": "very long\n" * 100}, str)
    assert len(said) <= 80
    assert "\n" not in said


@pytest.mark.parametrize("entry", resources.in_language("tools.toml", ""))
def test_every_card_has_its_glyph_and_its_words(entry: str) -> None:
    words = tool_words(entry)
    assert resources.path(f"icons/{words.glyph}.svg").is_file()
    assert words.hidden or words.asked or (words.verbs.present and words.verbs.past and words.verbs.failed)
