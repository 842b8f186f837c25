"""Texts told to the real `wisp tool` arrive exactly, on every layout, caps lock on and off, and nothing stays changed.

`scripts/bench/hands.py` types 200 of them on each layout, three times over.
"""

from __future__ import annotations

import pytest

from tests.e2e.conftest import Screen
from tests.support.exactness import is_exact, page, random_text, toggle_caps

pytestmark = pytest.mark.long

_TEXTS = 12


@pytest.mark.parametrize("layout", ["us", "de", "fr", "ru"])
def test_random_texts_arrive_exactly(layout: str, screen: Screen) -> None:
    with page(screen.environment, layout) as (wisp, window):
        texts = [random_text(seed) for seed in range(_TEXTS)]
        wrong = [text for text in texts if not is_exact(wisp, window, text)]
        toggle_caps(screen.environment)
        wrong += [text for text in texts if not is_exact(wisp, window, text)]
    assert wrong == []
