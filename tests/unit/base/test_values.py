"""Wisp's `dataclass` makes what the standard library's makes."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import pytest

from app.base import values


def _made(dataclass: Any) -> Any:
    @dataclass(frozen=True, slots=True)
    class Place:
        x: int
        y: int = 2
        tags: list[str] = dataclasses.field(default_factory=list, compare=False, repr=False)

        def moved(self) -> Place:
            return dataclasses.replace(self, x=self.x + 1)

    return Place


@values.dataclass(frozen=True, slots=True)
class Sized:
    """A value that can be pickled."""

    width: int
    height: int = 5


@values.dataclass(frozen=True, slots=True)
class Deep(Sized):
    depth: int = 7

    def __repr__(self) -> str:
        return "deep"


_OURS, _THEIRS = _made(values.dataclass), _made(dataclasses.dataclass)


@pytest.mark.parametrize(
    "ask",
    [
        lambda made: repr(made(1)),
        lambda made: made(1) == made(1, 2, ["other"]),
        lambda made: hash(made(1)) == hash(made(1, tags=["b"])),
        lambda made: repr(made(1).moved()),
        lambda made: made.__slots__,
        lambda made: dataclasses.asdict(made(1, 4)),
        lambda made: made.__eq__.__qualname__.rpartition(".")[2],
    ],
)
def test_a_value_is_what_the_standard_library_makes(ask: Any) -> None:
    assert ask(_OURS) == ask(_THEIRS)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda made: made(),
        lambda made: made(1, 2, [], 4),
        lambda made: made(1, z=2),
        lambda made: setattr(made(1), "x", 2),
        lambda made: delattr(made(1), "x"),
    ],
)
def test_what_is_wrong_raises_what_the_standard_library_raises(wrong: Any) -> None:
    raised = []
    for made in (_OURS, _THEIRS):
        with pytest.raises((TypeError, AttributeError)) as error:
            wrong(made)
        raised.append(type(error.value))
    assert raised[0] is raised[1]


def test_a_value_can_be_pickled_and_inherited() -> None:
    assert pickle.loads(pickle.dumps(Sized(3))) == Sized(3, 5)
    assert (Deep(1).depth, Deep(1, depth=2) == Deep(1, 5, 2), repr(Deep(1)), Deep(1) == Sized(1)) == (
        7,
        True,
        "deep",
        False,
    )


def test_a_class_that_is_not_frozen_is_made_by_the_standard_library() -> None:
    @values.dataclass(slots=True)
    class Counted:
        count: int = 0

    counted = Counted()
    counted.count += 1
    assert repr(counted).endswith("Counted(count=1)")


@values.dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A value whose fields are always named."""

    name: str = ""
    size: int


def test_fields_that_must_be_named_are_given_in_any_order_and_never_by_place() -> None:
    assert Named(size=3) == Named(name="", size=3)
    with pytest.raises(TypeError):
        Named("a", 3)  # type: ignore[misc]
