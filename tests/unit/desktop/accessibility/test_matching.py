"""How well elements fit descriptions: order and thresholds, not exact figures."""

from __future__ import annotations

import pytest

from app.desktop.accessibility.matching import readings, score
from tests.unit.desktop.accessibility.trees import node


def fit(query: str, role: str, name: str, description: str = "") -> float:
    return score(node(role, name, description=description), readings(query))


@pytest.mark.parametrize(
    ("query", "role", "name"),
    [
        ("Save", "button", "Save"),
        ("save", "button", "_Save"),
        ("Save as", "menu item", "Save As..."),
        ("the Save button", "button", "Save"),
        ("File menu", "menu", "File"),
        ("Menu", "button", "Menu"),
        ("7", "toggle button", "7"),
    ],
)
def test_the_name_itself_is_a_full_score(query: str, role: str, name: str) -> None:
    assert fit(query, role, name) == 1.0


@pytest.mark.parametrize(
    ("query", "role", "name", "description"),
    [
        ("seven", "toggle button", "7", ""),
        ("equals key", "toggle button", "=", ""),
        ("Square root", "toggle button", "√x", "Square root    R"),
        ("the text field", "entry", "Address", ""),
    ],
)
def test_other_words_for_it_are_nearly_as_good(query: str, role: str, name: str, description: str) -> None:
    assert 0.85 < fit(query, role, name, description) < 1.0


@pytest.mark.parametrize(
    ("query", "name"),
    [("Save", "Save As"), ("Prefernces", "Preferences"), ("settings", "Advanced settings"), ("Edit", "Editing")],
)
def test_parts_and_misspellings_are_candidates(query: str, name: str) -> None:
    assert 0.6 <= fit(query, "menu item", name) < 0.92


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("Save", "Quit"),
        ("7", "77"),
        ("1", "10"),
        ("row 3", "row 13"),
        ("Item 1", "Item 12"),
        ("C", "AC"),
        ("OK", "Book"),
        ("Delete", "Select"),
        ("x", ""),
    ],
)
def test_somebody_else_is_no_candidate(query: str, name: str) -> None:
    assert fit(query, "button", name) == 0.0


def test_a_cell_of_a_sheet_goes_by_its_place_and_by_what_it_holds() -> None:
    cell = node("table cell", "D6", value="lamp")
    assert score(cell, readings("lamp")) == 0
    cell.place = (":1.1", "/sheet 5 3")
    assert [score(cell, readings(query)) for query in ("lamp", "D6")] == [1.0, 1.0]


def test_a_combo_box_goes_by_its_label_and_by_what_is_chosen() -> None:
    combo = node("combo box", "Small")
    combo.label, combo.value = "Size:", "Small"
    assert [score(combo, readings(query)) for query in ("Size", "Small", "Size combo box")] == [1.0, 1.0, 1.0]


def test_the_wrong_kind_of_element_falls_behind_the_right_one() -> None:
    assert fit("File menu", "button", "File") < 0.8 <= fit("File menu", "menu", "File")


def test_a_control_comes_before_a_text_of_the_same_name() -> None:
    assert fit("Name", "label", "Name") < fit("Name", "entry", "Name")


def test_the_better_name_comes_first() -> None:
    names = ["Save All", "Save", "Autosave", "Save As..."]
    ranked = sorted(names, key=lambda name: -fit("save", "menu item", name))
    assert ranked[0] == "Save"
    assert ranked[-1] == "Autosave"


def test_a_control_without_a_name_goes_by_what_is_inside_it() -> None:
    key = node("button", "", (0, 0, 9, 9), node("image"), node("label", "Eject"))
    assert score(key, readings("Eject")) == 1.0


def test_a_last_word_that_may_belong_to_the_name_counts_for_the_whole_name_first() -> None:
    whole, shorter = fit("order now", "button", "Order now"), fit("order now", "button", "Order")
    assert (whole, whole > shorter > 0.9) == (1.0, True)
    assert fit("the Save button now", "button", "Save") > 0.9
