"""Endless repetition is seen while it streams, and nothing else is taken for it."""

from __future__ import annotations

import pytest

from app.agent.model_pass import TextLoopDetector

ENDLESS = [
    "I will do that now. ",
    "no",
    "-",
    "Step one.\nStep two.\nStep three.\n",
    "A sentence of a good length, which a small model that has lost its way writes again. " * 3,
]
FINE = [
    "\n".join(f"{number}. item number {number} of the list" for number in range(400)),
    "-" * 900 + " a line of the same sign, " + "=" * 900,
    "\n".join("| a | b |" for _ in range(120)),
    " ".join(str(number) for number in range(3000)),
]


def noticed_after(text: str, chunk: int) -> int | None:
    detector = TextLoopDetector()
    for start in range(0, len(text), chunk):
        if detector.take(text[start : start + chunk]):
            return start + chunk
    return None


@pytest.mark.parametrize("passage", ENDLESS, ids=range(len(ENDLESS)))
@pytest.mark.parametrize("chunk", [1, 7, 300, 5000])
def test_a_passage_without_end_is_noticed_early(passage: str, chunk: int) -> None:
    text = "Of course, here it is. " + passage * (20_000 // len(passage))
    noticed = noticed_after(text, chunk)
    assert noticed is not None
    assert noticed <= max(chunk, 2000)


@pytest.mark.parametrize("text", FINE, ids=range(len(FINE)))
def test_lists_tables_and_lines_are_left_alone(text: str) -> None:
    assert noticed_after(text, 11) is None
