"""The gallery looks as it did when somebody last looked at it. After a change that is meant:
`python -m tests.support.gallery.pictures`, and look at the pictures that have changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtGui import QColor, QImage, QPainter

from tests.support.gallery.pictures import REFERENCE, difference, taken

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def now(tmp_path_factory: pytest.TempPathFactory) -> dict[str, QImage]:
    return taken(tmp_path_factory.mktemp("gallery"))


@pytest.fixture(scope="module")
def before() -> dict[str, QImage]:
    return {path.stem: QImage(str(path)) for path in REFERENCE.glob("*.png")}


def test_every_piece_looks_as_it_did(now: dict[str, QImage], before: dict[str, QImage]) -> None:
    assert set(now) == set(before)
    apart = {name: found for name in now if (found := difference(now[name], before[name])).matters}
    assert apart == {}


def test_letters_in_the_colour_of_their_ground_are_noticed(before: dict[str, QImage], tmp_path: Path) -> None:
    theme = tmp_path / "theme.toml"
    theme.write_text('[colors]\nink = "#FBFAF8"\nmuted = "#FBFAF8"\n', encoding="utf-8")
    broken = taken(tmp_path, theme)
    for name in ("bubble-cards-light", "bubble-approval-light", "page-history-light", "composer-attached-light"):
        assert difference(broken[name], before[name]).matters, name


@pytest.mark.parametrize("name", ["bubble-at-work-light", "bubble-cards-dark", "page-usage-dark", "orb-busy-light"])
def test_a_part_that_is_missing_moved_or_cut_off_is_noticed(before: dict[str, QImage], name: str) -> None:
    whole = before[name]
    gone, moved = QImage(whole), QImage(whole.size(), whole.format())
    ground = whole.pixelColor(whole.width() // 2, whole.height() - 6)
    painter = QPainter(gone)
    painter.fillRect(whole.width() // 5, whole.height() // 4, whole.width() // 2, whole.height() // 3, ground)
    painter.end()
    moved.fill(QColor("black"))
    painter = QPainter(moved)
    painter.drawImage(2, 2, whole)
    painter.end()
    for broken in (gone, moved, whole.copy(0, 0, whole.width(), whole.height() - 2)):
        assert difference(broken, whole).matters


def test_a_picture_is_no_different_from_itself(before: dict[str, QImage]) -> None:
    assert not any(difference(image, image).matters for image in before.values())
