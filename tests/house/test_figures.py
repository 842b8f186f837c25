"""The figures of `scripts/figures.py` keep to their limits, which only become stricter."""

from __future__ import annotations

import pytest

from scripts.figures import Figure, figures


@pytest.mark.parametrize("figure", figures(), ids=lambda figure: figure.name)
def test_a_figure_keeps_to_its_limit(figure: Figure) -> None:
    assert figure.holds, str(figure)
