"""Pictures of the gallery, small and blurred, and how far two of them are apart.

What is compared is where things are and what colour they have, by tiles of eight by eight pixels: how a font is
smoothed does not count, a line that is missing does. `python -m tests.support.gallery.pictures` takes the reference
pictures.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QImage

REFERENCE = Path(__file__).resolve().parents[2] / "data" / "gallery"
_ROOT = Path(__file__).resolve().parents[3]
_TILE = 8
_FONTS = Path(__file__).resolve().parents[2] / "data" / "fonts.conf"
_TAKE = """
import sys
from pathlib import Path
from app.ui import application
from tests.support.gallery import board
application.make_application()
board.shoot(board.boards(Path(sys.argv[2]) if sys.argv[2] else None, reduced=True), Path(sys.argv[1]))
"""


@dataclass(frozen=True)
class Difference:
    """`size` is how much larger or smaller one is; `mean` and `share` are of colour, 0 to 1: on average, and of the
    tiles that are clearly of another colour."""

    size: float
    mean: float
    share: float

    @property
    def matters(self) -> bool:
        return self.size > 0.015 or self.mean > 0.03 or self.share > 0.012


def taken(folder: Path, theme: Path | None = None) -> dict[str, QImage]:
    """Every piece of the gallery by its name, drawn by a process without a display, with the fonts of the tests."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("QT_", "LC_"))},
        "QT_QPA_PLATFORM": "offscreen",
        "FONTCONFIG_FILE": str(_FONTS),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
    }
    command = [sys.executable, "-c", _TAKE, str(folder), str(theme or "")]
    subprocess.run(command, check=True, cwd=_ROOT, env=environment, timeout=120, capture_output=True)
    shots = sorted(path for path in folder.glob("*.png") if not path.stem.startswith("all-"))
    return {path.stem: blurred(QImage(str(path))) for path in shots}


def blurred(image: QImage) -> QImage:
    """An eighth of the size: each pixel is the mean of a tile."""
    size = image.size() / _TILE
    return image.scaled(size, Qt.AspectRatioMode.IgnoreAspectRatio, Qt.TransformationMode.SmoothTransformation)


def difference(one: QImage, other: QImage) -> Difference:
    """How far apart two small pictures are."""
    ratio = max(one.height() / other.height(), other.height() / one.height(), one.width() / other.width()) - 1
    width, height = min(one.width(), other.width()), min(one.height(), other.height())
    apart = [_apart(one, other, x, y) for x in range(width) for y in range(height)]
    return Difference(ratio, sum(apart) / len(apart), sum(value > 0.07 for value in apart) / len(apart))


def _apart(one: QImage, other: QImage, x: int, y: int) -> float:
    first, second = one.pixelColor(x, y), other.pixelColor(x, y)
    channels = zip(first.getRgbF()[:3], second.getRgbF()[:3], strict=True)  # type: ignore[index]
    return max(abs(a - b) for a, b in channels)


def main() -> None:
    import tempfile

    REFERENCE.mkdir(parents=True, exist_ok=True)
    for old in REFERENCE.glob("*.png"):
        old.unlink()
    with tempfile.TemporaryDirectory() as folder:
        for name, image in taken(Path(folder)).items():
            image.convertToFormat(QImage.Format.Format_RGB888).save(str(REFERENCE / f"{name}.png"))


if __name__ == "__main__":
    main()
