"""Takes a picture of each theme, light and dark side by side, and one of all themes.

    .venv/bin/python scripts/pictures/themes.py [FOLDER] [THEME …]

On each theme's wallpaper: the orb's states, an answer, a question, an approval and cards in the bubble, the settings,
and one of the apps that Wisp ships, drawn by Chromium. Needs a display.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from PIL import Image
from PySide6.QtCore import QPoint, QRect, QRectF, QSize
from PySide6.QtGui import QColor, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.features.apps.tools import template
from app.settings import tokens
from app.settings.catalog import SCHEME, THEME
from app.settings.store import Settings
from app.ui import application
from app.ui.orb.state import Orb
from app.ui.preferences.window import SettingsWindow
from app.ui.theme import appearance, theme
from scripts.pictures import surfaces
from tests.support.gallery import board

_FOLDER = Path(__file__).resolve().parents[2] / "resources" / "pictures"
_FACE = (1704, 1256)
_SHOWN = (1024, 755)
_PART = (960, 700)
"""What the picture of all themes shows of one, at half its size."""
_SHORT = (("bubble-short-answer", "bubble-question"), ("bubble-cards",))
_COLUMNS = ((*_SHORT[0], "bubble-approval"), (*_SHORT[1], "bubble-at-work"))
"""The pieces of the gallery, from top to bottom."""
_COLUMN = 504
_OVERLAP = 28
"""Two pieces share their margins."""
_SETTINGS, _APP = QPoint(968, 16), QPoint(1018, 600)
_FACES_IN_A_ROW = 4
_SPOKEN_MS = 1500
"""After this time all text of a board has appeared."""
_QUALITY = 82


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else _FOLDER
    with tempfile.TemporaryDirectory() as data:
        os.environ["WISP_DATA_DIR"] = data
        process = application.make_application()
        take(folder, Path(data), sys.argv[2:] or tokens.THEMES)
        process.quit()


def take(folder: Path, data: Path, kinds: Sequence[str]) -> None:
    """Save the pictures of these themes, and with all themes the one of all. `data` is a folder for Chromium."""
    (folder / "themes").mkdir(parents=True, exist_ok=True)
    width, height = (side // 2 for side in _PART)
    faces = [(kind, scheme) for kind in kinds for scheme in tokens.SCHEMES]
    whole = Image.new("RGB", (width * _FACES_IN_A_ROW, height * -(-len(faces) // _FACES_IN_A_ROW)))
    pair = Image.new("RGB", (_SHOWN[0] * len(tokens.SCHEMES), _SHOWN[1]))
    for number, (kind, scheme) in enumerate(faces):
        face, part = _face(kind, scheme, data)
        side = number % len(tokens.SCHEMES)
        pair.paste(face.resize(_SHOWN, Image.Resampling.LANCZOS), (side * _SHOWN[0], 0))
        if side == len(tokens.SCHEMES) - 1:
            pair.save(folder / "themes" / f"{kind}.webp", quality=_QUALITY, method=6)
        row, column = divmod(number, _FACES_IN_A_ROW)
        whole.paste(part.resize((width, height), Image.Resampling.LANCZOS), (column * width, row * height))
    if len(kinds) == len(tokens.THEMES):
        whole.save(folder / "themes.webp", quality=_QUALITY, method=6)


def _face(kind: str, scheme: str, data: Path) -> tuple[Image.Image, Image.Image]:
    """Return the picture of one theme in one scheme, and its part for the picture of all themes."""
    look = theme.load(scheme, kind=kind)
    application = QApplication.instance()
    assert isinstance(application, QApplication)
    appearance.dress(application, look)
    shown = board.boards(shown={kind: (kind, scheme)})[kind]
    window = SettingsWindow(look, Settings({THEME.key: kind, SCHEME.key: scheme}, {}))
    window.show_editor(THEME.key)
    for one in (shown, window):
        one.show()
    QTest.qWait(_SPOKEN_MS)
    whole, part = _painted(shown, look, QSize(*_FACE), _COLUMNS), _painted(shown, look, QSize(*_PART), _SHORT)
    app = surfaces.drawn("timer", template("timer").html or "", kind, scheme, data)
    painter = QPainter(whole)
    painter.setPen(QColor(*look.color("edge")))
    for corner, picture in ((_SETTINGS, window.grab()), (_APP, app.toqpixmap())):
        painter.drawPixmap(corner, picture)
        painter.drawRect(QRect(corner, picture.size()))
    painter.end()
    for one in (shown, window):
        one.close()
        one.deleteLater()
    return Image.fromqpixmap(whole).convert("RGB"), Image.fromqpixmap(part).convert("RGB")


def _painted(shown: board.Board, look: theme.Theme, size: QSize, columns: Sequence[Sequence[str]]) -> QPixmap:
    """Return the orb's states and these pieces of the gallery before the theme's wallpaper."""
    picture = QPixmap(size)
    painter = QPainter(picture)
    QSvgRenderer(str(look.wallpaper)).render(painter, QRectF(picture.rect()))
    orbs = [shown.pieces[f"orb-{state.value}"].grab() for state in Orb]
    for place, orb in enumerate(orbs):
        painter.drawPixmap(QPoint(place * (_PART[0] - orb.width()) // (len(orbs) - 1), 0), orb)
    for column, names in enumerate(columns):
        corner = QPoint(column * _COLUMN, orbs[0].height() - _OVERLAP)
        for name in names:
            painter.drawPixmap(corner, bubble := shown.pieces[name].grab())
            corner += QPoint(0, bubble.height() - _OVERLAP)
    painter.end()
    return picture


if __name__ == "__main__":
    main()
