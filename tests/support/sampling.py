"""A few rows of a large table for the core of the tests; the others are `long`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import pytest

T = TypeVar("T")


def spread(rows: Sequence[T], count: int) -> list[T]:
    """At most `count` rows, evenly over the whole table."""
    step = max(1, -(-len(rows) // count))
    return list(rows[::step])


def sampled(rows: Sequence[T], count: int, name: Callable[[T], str] = str) -> list[Any]:
    """Parameters of a test: `count` of the rows, evenly spread, belong to the core."""
    core = {id(row) for row in spread(rows, count)}
    return [pytest.param(row, id=name(row), marks=() if id(row) in core else pytest.mark.long) for row in rows]


def first_of(rows: Iterable[Any], *, is_one: bool = False) -> list[Any]:
    """Parameters of a story: the first row belongs to the core, the others are `long`.

    A tuple is the values of several arguments, unless `is_one` says that it is the value of one.
    """
    first, *others = rows
    split = (row if isinstance(row, tuple) and not is_one else (row,) for row in others)
    return [first, *(pytest.param(*row, marks=pytest.mark.long) for row in split)]
