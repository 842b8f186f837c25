"""What differs between two looks."""

from __future__ import annotations

from app.base.geometry import Rect
from app.desktop.backends import Frame
from app.desktop.capture import bounds_of, changed_tiles, is_black, merged, part_of

_AREA = Rect(10, 20, 200, 100)


def _frame(*dots: tuple[int, int], area: Rect = _AREA, level: int = 255) -> Frame:
    pixels = bytearray(b"\x40\x40\x40\x00" * area.size.area)
    for x, y in dots:
        at = ((y - area.y) * area.width + x - area.x) * 4
        pixels[at : at + 3] = bytes((level,) * 3)
    return Frame(area, bytes(pixels))


def test_equal_looks_do_not_differ() -> None:
    assert changed_tiles(_frame(), _frame()) == []


def test_a_single_pixel_is_found_where_it_is() -> None:
    assert changed_tiles(_frame(), _frame((57, 93))) == [Rect(57, 93, 1, 1)]


def test_pixels_far_apart_are_told_apart() -> None:
    assert changed_tiles(_frame(), _frame((10, 20), (209, 119))) == [Rect(10, 20, 1, 1), Rect(209, 119, 1, 1)]


def test_small_steps_of_a_fading_colour_may_be_passed_over() -> None:
    assert changed_tiles(_frame(), _frame((57, 93), level=0x45), at_least=14) == []
    assert changed_tiles(_frame(), _frame((57, 93), level=0x45)) == [Rect(57, 93, 1, 1)]


def test_near_regions_become_one_and_far_ones_stay_apart() -> None:
    assert merged([Rect(0, 0, 10, 10), Rect(20, 0, 10, 10), Rect(300, 0, 5, 5)]) == [
        Rect(0, 0, 30, 10),
        Rect(300, 0, 5, 5),
    ]


def test_a_part_of_a_frame_has_its_own_pixels() -> None:
    frame = _frame((60, 70))
    part = part_of(frame, Rect(55, 65, 10, 10))
    assert part == _frame((60, 70), area=Rect(55, 65, 10, 10))


def test_the_bounds_hold_everything() -> None:
    assert bounds_of([Rect(5, 5, 5, 5), Rect(20, 0, 10, 4)]) == Rect(5, 0, 25, 10)
    assert bounds_of([]) is None


def test_black_is_black_only_when_all_of_it_is() -> None:
    assert is_black(Frame(Rect(0, 0, 8, 8), bytes(256)))
    assert not is_black(Frame(Rect(0, 0, 8, 8), bytes(253) + b"\x01\x00\x00"))
