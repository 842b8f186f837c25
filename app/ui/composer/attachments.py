"""The person's attachments as values. The model gets files as text, and pictures as text and picture."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication, QPoint, QRect, QRectF, Qt, Signal
from PySide6.QtGui import QAccessible, QColor, QFontMetrics, QPainter, QPainterPath, QPaintEvent, QPixmap
from PySide6.QtWidgets import QWidget

from app.agent.agent_events import Attachment, Media
from app.base import resources
from app.base.values import dataclass
from app.ui.buttons import GlyphButton
from app.ui.theme import drawing
from app.ui.theme.drawing import font, placed, put
from app.ui.theme.theme import Theme

MOST = 20
"""Attachments of one message."""

MOST_PICTURES = 8

_KB, _MB = 1_000, 1_000_000


@dataclass(frozen=True, slots=True)
class Attached:
    """One attachment. `kind` is file, folder, picture, unseen (a picture that cannot be shown), screenshot, pasted, or
    region (a part of the screen). A chip also shows a program, which is no attachment, as this.

    `path` is "" for an attachment that is no file; `note` is a hint for the person. `place` is where a `region` is on
    the screen: left,top,right,bottom in screen pixels.
    """

    kind: str
    name: str
    path: str = ""
    size_bytes: int = 0
    media: Media | None = None
    note: str = ""
    place: str = ""


def sent(attached: Sequence[Attached]) -> tuple[Attachment, ...]:
    """Return the attachments as they go along with a message."""
    lines = resources.table("prompts/attached.toml", dict[str, str])
    return tuple(
        Attachment(
            one.kind, one.name, lines[one.kind].format(path=one.path, size=size(one.size_bytes), place=one.place)
        )
        for one in attached
    )


def pictures(attached: Sequence[Attached]) -> tuple[Media, ...]:
    return tuple(one.media for one in attached if one.media is not None)


def size(count: int) -> str:
    """Return a size in bytes as text, such as `12 kB` or `3.4 MB`, or as whole bytes below a thousand."""
    if count < _KB:
        return f"{count} B"
    return f"{count / _KB:.0f} kB" if count < _MB else f"{count / _MB:.1f} MB"


_GLYPHS = {"file": "file", "folder": "folder", "screenshot": "screen", "region": "screen", "program": "windows"}


class Chip(QWidget):
    """One attachment in the composer: a glyph or its picture, its name, and a small cross that removes it."""

    ROLE = QAccessible.Role.Grouping
    removed = Signal()

    def __init__(self, theme: Theme, attached: Attached, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self.attached = attached
        self._small = _thumbnail(attached, theme.size("chip_height") - theme.size("gap"), self.devicePixelRatioF())
        self.setAccessibleName(attached.name)
        self.setToolTip(attached.path or attached.note or attached.name)
        words = QCoreApplication.translate("Composer", "Remove {name}").format(name=attached.name)
        self.cross = GlyphButton(theme, "close", words, self)
        self.cross.clicked.connect(self.removed)
        most = theme.size("chip_width") - self._left() - self.cross.width()
        metrics = QFontMetrics(font(theme, "small"))
        self._name = metrics.elidedText(attached.name, Qt.TextElideMode.ElideMiddle, most)
        width = self._left() + metrics.horizontalAdvance(self._name) + self.cross.width() + theme.size("grid")
        self.setFixedSize(width, theme.size("chip_height"))
        corner = QPoint(self.width() - self.cross.width() - 1, (self.height() - self.cross.height()) // 2)
        put(self.cross, QRect(corner, self.cross.size()), self.width())

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = self._theme, QPainter(self)
        whole, way = QRectF(self.rect()), self.layoutDirection()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.setPen(QColor(*theme.color("hairline")))
        painter.setBrush(QColor(*theme.color("raised")))
        painter.drawRoundedRect(box, theme.size("button_radius"), theme.size("button_radius"))
        if self._small.isNull():
            side = theme.size("small_glyph")
            place = QRectF(theme.size("gap"), (self.height() - side) / 2, side, side)
            place = placed(place, whole, way)
            drawing.draw(painter, _GLYPHS.get(self.attached.kind, "image"), place, theme.color("muted"))
        else:
            side = self.height() - theme.size("gap")
            place = placed(QRectF(theme.size("grid"), theme.size("grid"), side, side), whole, way)
            outline = QPainterPath()
            outline.addRoundedRect(place, theme.size("grid"), theme.size("grid"))
            painter.save()
            painter.setClipPath(outline)
            painter.drawPixmap(place.topLeft(), self._small)
            painter.restore()
        painter.setFont(font(theme, "small"))
        painter.setPen(QColor(*theme.color("ink")))
        words = placed(box.adjusted(self._left(), 0, -self.cross.width(), 0), whole, way)
        painter.drawText(words, Qt.AlignmentFlag.AlignVCenter, self._name)

    def _left(self) -> int:
        theme = self._theme
        if self._small.isNull():
            return theme.size("gap") * 2 + theme.size("small_glyph")
        return theme.size("chip_height") + theme.size("grid")


class Chips(QWidget):
    """The program that the next message lets Wisp use, and all attachments, in as many lines as they need."""

    changed = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._chips: list[Chip] = []
        self._program: Chip | None = None
        self._ref = ""

    @property
    def attached(self) -> tuple[Attached, ...]:
        return tuple(chip.attached for chip in self._chips)

    def add(self, attached: Attached) -> None:
        chip = Chip(self._theme, attached, self)
        chip.removed.connect(lambda: self._remove(chip))
        self._chips.append(chip)
        chip.show()
        self.changed.emit()

    def take(self) -> tuple[Attached, ...]:
        """Remove all attachments and return them."""
        taken = self.attached
        for chip in list(self._chips):
            self._remove(chip)
        return taken

    @property
    def program(self) -> str:
        """The name that the program's chip shows; "" if there is none."""
        return self._program.attached.name if self._program is not None else ""

    def show_program(self, ref: str, name: str) -> None:
        """Show the program that the next message lets Wisp use."""
        self.take_program()
        tr = QCoreApplication.translate
        words, note = tr("Composer", "In: {name}"), tr("Composer", "Wisp may use it without asking.")
        chip = Chip(self._theme, Attached("program", words.format(name=name), note=note), self)
        chip.removed.connect(self.take_program)
        self._program, self._ref = chip, ref
        chip.show()
        self.changed.emit()

    def take_program(self) -> tuple[str, ...]:
        """Remove the program. Return its ref, or nothing if there is none."""
        chip, self._program = self._program, None
        if chip is None:
            return ()
        chip.hide()
        chip.deleteLater()
        self.changed.emit()
        return (self._ref,)

    def height_for(self, width: int) -> int:
        """Lay out in a width and return the height in pixels; 0 if there is no chip."""
        gap, high = self._theme.size("grid"), self._theme.size("chip_height")
        x, y = 0, 0
        chips = [chip for chip in (self._program, *self._chips) if chip is not None]
        for chip in chips:
            if x > 0 and x + chip.width() > width:
                x, y = 0, y + high + gap
            put(chip, QRect(QPoint(x, y), chip.size()), width)
            x += chip.width() + gap
        return y + high if chips else 0

    def _remove(self, chip: Chip) -> None:
        self._chips.remove(chip)
        chip.hide()
        chip.deleteLater()
        self.changed.emit()


def _thumbnail(attached: Attached, side: int, ratio: float) -> QPixmap:
    """The middle as a square of `side` pixels; a null pixmap if there is no picture."""
    found = QPixmap()
    if attached.media is None or not found.loadFromData(attached.media.data):
        return QPixmap()
    pixels = round(side * ratio)
    grown = found.scaled(
        pixels, pixels, Qt.AspectRatioMode.KeepAspectRatioByExpanding, Qt.TransformationMode.SmoothTransformation
    )
    small = grown.copy((grown.width() - pixels) // 2, (grown.height() - pixels) // 2, pixels, pixels)
    small.setDevicePixelRatio(ratio)
    return small
