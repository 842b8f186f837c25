"""Which lines of recognised text are, or hold, what somebody called a thing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.base.geometry import Rect
from app.desktop.accessibility.matching import name_fit
from app.desktop.accessibility.words import Reading, normal
from app.desktop.ocr.api import TextBox

_PART_OF_LINE = 0.93
_RUN_TOGETHER = 0.97


@dataclass(frozen=True, slots=True)
class Fit:
    """A line, or the part of one that was asked for, and how well it fits: 1.0 is the whole line, surely read."""

    text: str
    box: Rect
    score: float


def texts_that_fit(lines: Sequence[TextBox], ways: Sequence[Reading]) -> list[Fit]:
    """The best fit of each line that fits at all."""
    names = [way.name for way in ways if way.name]
    return [best for line in lines if (best := max(_fits(line, names), key=lambda fit: fit.score, default=None))]


def _fits(line: TextBox, names: Sequence[str]) -> Iterator[Fit]:
    """The ways in which a line of recognised text is, or holds, one of the names."""
    whole = normal(line.text)
    sureness = 0.9 + 0.1 * line.score
    for name in names:
        fit = max(name_fit(whole, name), _RUN_TOGETHER if _run_together(whole) == _run_together(name) else 0.0)
        part = _part(line, whole, name)
        if part is not None and fit < _PART_OF_LINE:
            yield Fit(name, part, _PART_OF_LINE * sureness)
        elif fit:
            yield Fit(line.text, line.box, fit * sureness)


def _part(line: TextBox, whole: str, name: str) -> Rect | None:
    """The box of a name inside a longer line, by its share of the characters."""
    start = f" {whole} ".find(f" {name} ")
    if start < 0 or whole == name:
        return None
    width_px = line.box.width / len(whole)
    return Rect(round(line.box.x + start * width_px), line.box.y, round(len(name) * width_px), line.box.height)


def _run_together(text: str) -> str:
    """Text without blanks: recognition often loses them."""
    return text.replace(" ", "")
