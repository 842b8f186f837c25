"""Where rows begin, reckoned only from what has changed, is where they would begin if all were reckoned anew."""

from __future__ import annotations

from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from app.ui.bubble.thread import Column
from app.ui.presenter.view import NoticeItem, SpokenItem
from app.ui.presenter.wording import Row

GAP = 8


def guess(row: Row) -> int:
    return 20 + len(getattr(row, "sentence", ""))


def rows(numbers: list[tuple[int, str]]) -> list[Row]:
    return [NoticeItem(f"i{number}", "info", text) for number, text in dict(numbers).items()]


CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("show"), st.lists(st.tuples(st.integers(0, 9), st.text(max_size=3)), max_size=8)),
        st.tuples(st.just("measure"), st.tuples(st.integers(0, 9), st.integers(1, 99))),
        st.tuples(st.just("forget"), st.integers(0, 9)),
        st.tuples(st.just("forget_all"), st.none()),
        st.tuples(st.just("keep"), st.integers(0, 8)),
    ),
    max_size=20,
)


@given(CHANGES)
def test_whatever_changes_the_tops_are_those_of_a_fresh_reckoning(changes: list[tuple[str, object]]) -> None:
    column = Column(guess, GAP)
    for step, (kind, what) in enumerate(changes):
        if kind == "show":
            column.show(rows(what))  # type: ignore[arg-type]
        elif kind == "keep":
            column.show([*column.rows[: int(str(what))], NoticeItem(f"new{step}", "info", "x")])
        elif kind == "measure":
            number, height = what  # type: ignore[misc]
            for row in column.rows:
                if row.key == f"i{number}":
                    column.measure(row, height)
        elif kind == "forget":
            column.forget(f"i{what}")
        else:
            column.forget_all()
        column.reckon()
        heights = [column.height_of(row) + GAP for row in column.rows]
        assert column.tops == list(accumulate(heights, initial=0))
        assert [column.index_of(row.key) for row in column.rows] == list(range(len(column.rows)))


def test_a_row_is_found_by_its_height_and_by_its_key() -> None:
    column = Column(lambda _: 10, GAP)
    column.show([NoticeItem("a", "info", ""), NoticeItem("b", "info", ""), NoticeItem("c", "info", "")])
    column.reckon()
    assert [column.at(y) for y in (0, 17, 18, 53)] == [0, 0, 1, 2]
    assert (column.index_of("c"), column.index_of("gone"), column.height) == (2, None, 54)


def test_speech_that_goes_on_in_the_next_row_keeps_no_gap() -> None:
    column = Column(lambda _: 10, GAP)
    column.show([SpokenItem("a", "s", "warm", "x" * 1600, done=True), SpokenItem("b", "s", "warm", "y")])
    column.reckon()
    assert column.tops == [0, 10, 28]
