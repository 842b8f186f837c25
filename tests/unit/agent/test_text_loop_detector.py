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
THINGS = ("apples", "bees", "clouds", "doors", "eggs", "forks", "gates", "hats", "ink", "jam")
STORY = " ".join(f"I think about {thing}." for thing in THINGS)
LATE = [
    (STORY * 2 + "\n\n", 0),
    ("Attempt {n}: I will try to click on the Save button in the window again.\n", 1),
    ("I see it at ({n}, 80).\nLet me click on the button once more.\nIt has not changed at all.\n", 1),
]
FINE = [
    "\n".join(f"2026-01-{n % 28 + 1:02},{n},{n * 3.7:.2f},EUR" for n in range(600)),
    "\n".join(f"| {n} | name {n} | {n * n} | yes |" for n in range(400)),
    "\n".join(" " * (n % 40) + "/" + "*" * (80 - 2 * (n % 40)) + "\\" for n in range(200)),
    STORY * 3,
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


@pytest.mark.parametrize(("passage", "counts"), LATE, ids=range(len(LATE)))
def test_a_long_passage_or_one_that_counts_is_noticed_before_the_longest_answer(passage: str, counts: int) -> None:
    text = "Of course. " + "".join(passage.replace("{n}", str(n)) for n in range(60_000 // len(passage)))
    noticed = noticed_after(text, 11)
    assert noticed is not None
    assert noticed <= (4_500 if counts else 4 * len(passage) + 500)


def test_a_file_may_hold_one_line_many_times_but_not_without_end() -> None:
    detector = TextLoopDetector()
    fed = [detector.take("0,0,0,0\n" * 10, 12_000) for _ in range(200)]
    assert not any(fed[:145])
    assert any(fed[145:155])


@pytest.mark.parametrize("text", FINE, ids=range(len(FINE)))
def test_lists_tables_and_lines_are_left_alone(text: str) -> None:
    assert noticed_after(text, 11) is None
