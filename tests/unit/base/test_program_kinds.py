"""What people call a kind of program means each program of it."""

from __future__ import annotations

import pytest

from app.base.program_kinds import is_of_kind


@pytest.mark.parametrize(
    ("said", "program", "is_meant"),
    [
        ("terminal", "xterm", True),
        ("Rechner", "Galculator", True),
        ("taschenrechner", "org.gnome.Calculator", True),
        ("rechner", "xterm", False),
        ("xyz", "xterm", False),
    ],
)
def test_a_program_is_meant_by_a_word_for_its_kind(said: str, program: str, *, is_meant: bool) -> None:
    assert is_of_kind(program, said) == is_meant
