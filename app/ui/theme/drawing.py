"""Fonts, style sheet, palette, glyphs and mirrored places for the widgets, made from the theme's tokens."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import ClassVar, Protocol, TypeVar, cast

from PySide6.QtCore import QByteArray, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontDatabase,
    QFontInfo,
    QFontMetrics,
    QGuiApplication,
    QIcon,
    QImage,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPalette,
    QPixmap,
    QRegion,
    QResizeEvent,
)
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication, QBoxLayout, QLabel, QMenu, QWidget

from app.base import resources
from app.settings import tokens
from app.ui.theme.theme import Color, Theme

_TOKEN = re.compile(r"@(\w+)(:px)?")
_FAMILIES = "families"
_USUAL_POINTS = 10.0
_LEAST, _MOST = 1.0, 2.0
_DISPLAYED = {"answer", "heading", "title"}
"""Text styles that a theme's display font is for. What is read at length is in its text font."""
_TALLEST = 100_000
_PNG = b"\x89PNG\r\n"
Box = TypeVar("Box", bound=QBoxLayout)


def system_scale() -> float:
    """Return how much larger than usual the person's system font is, from 1 to 2."""
    points = QGuiApplication.font().pointSizeF()
    return max(_LEAST, min(points / _USUAL_POINTS, _MOST)) if points > 0 else _LEAST


def font(theme: Theme, name: str, *, strong: bool = False) -> QFont:
    """Return the font of a text style: in the theme's family if installed, else the system's. `code` is monospace.

    `strong` letters have a weight that was drawn for them. Qt smears a lighter one where it is asked for more.
    """
    is_code = name == "code"
    base = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont) if is_code else QApplication.font()
    role = "mono" if is_code else "display" if name in _DISPLAYED else "system"
    made = QFont(_font(base, theme.families(role), strong=strong, may_be_plain=role == "display"))
    made.setPixelSize(theme.type(name).size)
    return made


@lru_cache(maxsize=256)
def _font(base: QFont, wanted: tuple[str, ...], *, strong: bool, may_be_plain: bool) -> QFont:
    """Return `base` with the wanted families first.

    A font for large letters often has one weight only, and `may_be_plain`: it is used for strong letters as well.
    """
    made = QFont(base)
    families, weight = (*_installed(wanted), *base.families()), QFont.Weight.Normal.value
    if strong:
        families, weight = _strong(families, may_be_plain=may_be_plain)
    made.setFamilies(families)
    made.setWeight(QFont.Weight(weight))
    return made


@lru_cache(maxsize=64)
def _installed(wanted: tuple[str, ...]) -> tuple[str, ...]:
    """Qt would replace a missing family with some similar font."""
    return tokens.installed(wanted, QFontDatabase.families())


def _strong(families: tuple[str, ...], *, may_be_plain: bool) -> tuple[tuple[str, ...], int]:
    """The families from the first one that has strong letters on, and the weight of these letters."""
    for index, family in enumerate(families):
        known = QFontInfo(QFont(family)).family()  # the font behind a name such as "Sans Serif"
        upright = [style for style in QFontDatabase.styles(known) if not QFontDatabase.italic(known, style)]
        heavy = [weight for style in upright if (weight := QFontDatabase.weight(known, style)) >= QFont.Weight.DemiBold]
        if heavy:
            return families[index:], min(heavy)
        if may_be_plain:
            break
    return families, QFont.Weight.Normal.value


def lines_of(metrics: QFontMetrics, width: int, text: str) -> tuple[Qt.TextFlag, QRect]:
    """Return the flag that breaks the text at this width (between words if they fit), and the size of the broken
    text."""
    room, flags = QRect(0, 0, width, _TALLEST), Qt.TextFlag.TextWordWrap
    box = metrics.boundingRect(room, flags, text)
    if box.width() > width:
        flags = Qt.TextFlag.TextWrapAnywhere
        box = metrics.boundingRect(room, flags, text)
    return flags, box


def sheet(theme: Theme) -> str:
    """For Qt's own widgets, with the theme's tokens filled in."""
    families = ", ".join(f'"{family}"' for family in font(theme, "text").families())

    def value(found: re.Match[str]) -> str:
        name, is_size = found.group(1), found.group(2)
        if name == _FAMILIES:
            return families
        return f"{theme.size(name)}px" if is_size else theme.color(name).hex

    template = resources.text("themes/style.qss")
    return _TOKEN.sub(value, template.partition("*/")[2])


def palette(theme: Theme) -> QPalette:
    """For what Qt paints without the style sheet: menus, dialogs, selections."""
    made = QPalette()
    roles = {
        QPalette.ColorRole.Window: "paper",
        QPalette.ColorRole.WindowText: "ink",
        QPalette.ColorRole.Base: "raised",
        QPalette.ColorRole.AlternateBase: "sunken",
        QPalette.ColorRole.Text: "ink",
        QPalette.ColorRole.Button: "raised",
        QPalette.ColorRole.ButtonText: "ink",
        QPalette.ColorRole.ToolTipBase: "paper",
        QPalette.ColorRole.ToolTipText: "ink",
        QPalette.ColorRole.PlaceholderText: "muted",
        QPalette.ColorRole.Highlight: "selection",
        QPalette.ColorRole.HighlightedText: "selection_ink",
        QPalette.ColorRole.Link: "link",
    }
    for role, name in roles.items():
        made.setColor(role, QColor(*theme.color(name)))
    made.setColor(QPalette.ColorGroup.Disabled, QPalette.ColorRole.Text, QColor(*theme.color("muted")))
    made.setColor(QPalette.ColorGroup.Disabled, QPalette.ColorRole.ButtonText, QColor(*theme.color("muted")))
    return made


def words_label(theme: Theme, words: str, style: str = "", *, strong: bool = False, quiet: bool = False) -> QLabel:
    """Plain text that wraps. `quiet` makes it muted and, without a `style`, small."""
    made = QLabel(words)
    made.setFont(font(theme, style or ("small" if quiet else "text"), strong=strong))
    made.setTextFormat(Qt.TextFormat.PlainText)
    made.setWordWrap(True)
    if quiet:
        made.setObjectName("about")
    return made


def spaced(box: Box, spacing: int) -> Box:
    """That many pixels between the parts, and none around them."""
    box.setContentsMargins(0, 0, 0, 0)
    box.setSpacing(spacing)
    return box


def place_window(window: QWidget, theme: Theme, name: str) -> None:
    """Set a window's size (from the theme, at most the screen's), its place in the middle of the screen, and its
    icon. It is a dialog to the window manager, because tiling ones would fill a part of the screen with it.
    """
    window.setWindowFlag(Qt.WindowType.Dialog)
    free = window.screen().availableGeometry()
    wanted = QSize(theme.size(f"{name}_width"), theme.size(f"{name}_height"))
    window.resize(wanted.boundedTo(free.size() - QSize(0, theme.size("header_height"))))
    window.move(free.center() - window.rect().center())
    window.setWindowIcon(QIcon(str(resources.path("wisp.svg"))))


class MenuGround(Protocol):
    """What lies below a menu where the window system does not tell it of presses elsewhere."""

    def open(self) -> None: ...

    def close(self) -> None: ...


class Menu(QMenu):
    """A menu with round corners, even without a compositor. It is deleted once it is closed."""

    ground: ClassVar[MenuGround | None] = None

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        if self.ground is not None and not isinstance(parent, Menu):
            self.aboutToShow.connect(self.ground.open)
            self.aboutToHide.connect(self.ground.close)
        self._theme = theme
        self._radius = theme.size("button_radius")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        # XWayland draws what a mask cuts away, but every compositor there draws through what is transparent.
        self.setAttribute(Qt.WidgetAttribute.WA_TranslucentBackground, self.ground is not None)

    def submenu(self, title: str) -> Menu:
        """Add a menu that looks like this one. Returns it."""
        made = Menu(self._theme, self)
        made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, on=False)  # because it may be opened several times
        made.setTitle(title)
        self.addMenu(made)
        return made

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self.ground is not None:
            return
        outline = QPainterPath()
        outline.addRoundedRect(QRectF(self.rect()), self._radius, self._radius)
        self.setMask(QRegion(outline.toFillPolygon().toPolygon()))

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter, theme = QPainter(self), self._theme
        fill_rim(painter, self.mask(), theme.size("hairline"), theme.color("hairline"))


def fill_rim(painter: QPainter, shape: QRegion, width: int, color: Color) -> None:
    """Fill each pixel that is less than `width` pixels from the edge of a window's shape.

    A smooth line along the edge has gaps where the shape, which is made of whole pixels, cuts through it.
    """
    inner = QRegion(shape)
    for x, y in ((width, 0), (-width, 0), (0, width), (0, -width)):
        inner &= shape.translated(x, y)
    for rect in cast(Iterable[QRect], shape - inner):
        painter.fillRect(rect, QColor(*color))


@cache
def _source(name: str) -> str:
    return resources.text(f"icons/{name}.svg")


@lru_cache(maxsize=128)
def _renderer(name: str, color: Color) -> QSvgRenderer:
    svg = _source(name).replace("currentColor", f"#{color.red:02x}{color.green:02x}{color.blue:02x}")
    return QSvgRenderer(QByteArray(svg.encode()))


def draw(painter: QPainter, name: str, rect: QRectF, color: Color) -> None:
    """Paint the glyph `name` into a square."""
    painter.save()
    painter.setOpacity(painter.opacity() * color.alpha / 255)
    _renderer(name, color._replace(alpha=255)).render(painter, rect)
    painter.restore()


@lru_cache(maxsize=64)
def _decoded(png: bytes) -> QImage:
    return QImage.fromData(png) if png.startswith(_PNG) else QImage()  # an SVG would be drawn here otherwise


def draw_picture(painter: QPainter, png: bytes, rect: QRectF) -> None:
    """Paint a PNG into the middle of a rectangle, as large as fits, in its own proportions."""
    image = _decoded(png)
    place = QRectF(QPointF(0, 0), image.size().toSizeF().scaled(rect.size(), Qt.AspectRatioMode.KeepAspectRatio))
    place.moveCenter(rect.center())
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
    painter.drawImage(place, image)
    painter.restore()


@lru_cache(maxsize=256)
def pixmap(name: str, size: int, color: Color, ratio: float) -> QPixmap:
    """A glyph of `size` device-independent pixels; `ratio` is the screen's scale."""
    picture = QPixmap(QSize(round(size * ratio), round(size * ratio)))
    picture.setDevicePixelRatio(ratio)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    draw(painter, name, QRectF(0, 0, size, size), color)
    painter.end()
    return picture


def icon(name: str, size: int, color: Color) -> QIcon:
    return QIcon(pixmap(name, size, color, 2.0))


_MIRRORED = Qt.LayoutDirection.RightToLeft


def placed(rect: QRectF, box: QRectF, direction: Qt.LayoutDirection) -> QRectF:
    """Mirrored inside `box` if the direction is right to left."""
    if direction is not _MIRRORED:
        return rect
    return QRectF(box.left() + box.right() - rect.right(), rect.top(), rect.width(), rect.height())


def put(child: QWidget, rect: QRect, width: int) -> None:
    """Place a child in a parent of that `width`, mirrored if the layout runs from right to left."""
    left = rect.x() if child.layoutDirection() is not _MIRRORED else width - rect.x() - rect.width()
    child.setGeometry(left, rect.y(), rect.width(), rect.height())
