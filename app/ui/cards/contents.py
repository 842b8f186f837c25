"""A browser in a card: the address, the page with a dot where it clicked, the console, and a slider over its steps."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QRectF, Qt, QUrl, Signal
from PySide6.QtGui import QColor, QDesktopServices, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QSlider, QWidget

from app.ui.cards.picture import CodeView, PictureView
from app.ui.presenter.view import BrowserStep, Card, Source
from app.ui.presenter.wording import visible
from app.ui.theme import drawing
from app.ui.theme.drawing import font
from app.ui.theme.theme import Theme


class CardPart(QWidget):
    """`opened` carries a picture that the person wants to see in its full size."""

    opened = Signal(object)
    height_changed = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.theme = theme

    def show_card(self, card: Card) -> None:
        raise NotImplementedError

    def height_for(self, width: int) -> int:
        """Arrange for a width and say how high that is, in pixels."""
        raise NotImplementedError


class BrowserView(CardPart):
    """Shows the newest step; once the person has moved the slider back, the one they chose."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self._sights: tuple[BrowserStep, ...] = ()
        self._address = ""
        self._picture = PictureView(theme, self)
        self._picture.opened.connect(self.opened)
        self._console = CodeView(theme, self)
        self._console.setAccessibleName(QCoreApplication.translate("Browser", "Console"))
        self.slider = QSlider(Qt.Orientation.Horizontal, self)
        self.slider.setAccessibleName(QCoreApplication.translate("Browser", "Step"))
        self.slider.setPageStep(1)
        self.slider.valueChanged.connect(self._show_step)

    def show_card(self, card: Card) -> None:
        follows = not self._sights or self.slider.value() == self.slider.maximum()
        self._sights = card.sights
        self._address = card.url
        self.slider.blockSignals(True)
        self.slider.setRange(0, max(len(card.sights) - 1, 0))
        if follows:
            self.slider.setValue(self.slider.maximum())
        self.slider.blockSignals(False)
        self._show_step(self.slider.value())

    @property
    def words(self) -> str:
        """Which step is shown."""
        words = QCoreApplication.translate("Browser", "Step {number} of {count}")
        return words.format(number=self.slider.value() + 1, count=len(self._sights))

    def height_for(self, width: int) -> int:
        theme, gap = self.theme, self.theme.size("gap")
        y = self._bar_height() + gap
        if not self._picture.isHidden():
            high = self._picture.height_for(width)
            self._picture.setGeometry(0, y, width, high)
            y += high + gap
        if not self.slider.isHidden():
            wide = QFontMetricsF(font(theme, "small")).horizontalAdvance(self.words) + gap
            self.slider.setGeometry(0, y, round(width - wide), theme.size("glyph"))
            y += theme.size("glyph") + gap
        if not self._console.isHidden():
            high = self._console.height_for(width)
            self._console.setGeometry(0, y, width, high)
            y += high + gap
        return y - gap

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = self.theme, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        bar = QRectF(0, 0, self.width(), self._bar_height())
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(*theme.color("sunken")))
        painter.drawRoundedRect(bar, bar.height() / 2, bar.height() / 2)
        side = theme.size("small_glyph")
        inset = theme.size("gap")
        drawing.draw(painter, "globe", QRectF(inset, bar.center().y() - side / 2, side, side), theme.color("muted"))
        painter.setFont(font(theme, "small"))
        painter.setPen(QColor(*theme.color("ink")))
        place = bar.adjusted(inset + side + inset, 0, -inset, 0)
        elided = QFontMetricsF(painter.font()).elidedText(self._address, Qt.TextElideMode.ElideMiddle, place.width())
        painter.drawText(place, Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine, elided)
        if not self.slider.isHidden():
            painter.setPen(QColor(*theme.color("muted")))
            right = QRectF(self.slider.geometry().right() + 1, self.slider.y(), self.width(), self.slider.height())
            right.setRight(self.width())
            painter.drawText(right, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, self.words)

    def _bar_height(self) -> int:
        return self.theme.size("icon_button")

    def _show_step(self, index: int) -> None:
        sight = self._sights[index] if index < len(self._sights) else None
        if sight is not None and sight.url:
            self._address = visible(sight.url)
        self.setAccessibleName(self._address)
        if sight is not None and sight.picture is not None:
            self._picture.show_picture(sight.picture)
        self._picture.setVisible(sight is not None and sight.picture is not None)
        console = "\n".join(sight.console) if sight is not None else ""
        self._console.show_text(console)
        self._console.setVisible(bool(console))
        self.slider.setVisible(len(self._sights) > 1)
        self.slider.setAccessibleDescription(self.words)
        self.height_changed.emit()
        self.update()


_WEB = ("http", "https")


class SourceLink(QAbstractButton):
    """Title, where it is, and a line of it. Only addresses of the web can be opened."""

    def __init__(self, theme: Theme, source: Source, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._url = QUrl(source.url)
        host = self._url.host() or source.url
        self._lines = (
            (visible(source.title) or host, "text", "link"),
            (visible(host), "small", "muted"),
            (visible(source.snippet), "small", "ink"),
        )
        self.setText(self._lines[0][0])
        self.setAccessibleName(self._lines[0][0])
        self.setAccessibleDescription(f"{host}\n{source.snippet}".strip())
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setToolTip(visible(source.url))
        self.setEnabled(self._url.scheme() in _WEB)
        self.clicked.connect(lambda: QDesktopServices.openUrl(self._url))

    def wanted_height(self) -> int:
        return sum(self._theme.type(style).line for words, style, _ in self._lines if words)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme, y = QPainter(self), self._theme, 0
        for words, style, color in self._lines:
            if not words:
                continue
            place = QRectF(0, y, self.width(), theme.type(style).line)
            painter.setFont(font(theme, style, strong=color == "link"))
            painter.setPen(QColor(*theme.color(color if self.isEnabled() else "muted")))
            elided = QFontMetricsF(painter.font()).elidedText(words, Qt.TextElideMode.ElideRight, place.width())
            painter.drawText(place, Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine, elided)
            y += theme.type(style).line
        if self.hasFocus():
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(QColor(*theme.color("accent")), 2))
            radius = theme.size("grid")
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), radius, radius)


class SourcesView(CardPart):
    """All that was found, one below the other."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self._sources: tuple[Source, ...] = ()
        self.links: list[SourceLink] = []

    def show_card(self, card: Card) -> None:
        if card.sources == self._sources:
            return
        for old in self.links:
            old.hide()
            old.deleteLater()
        self._sources = card.sources
        self.links = [SourceLink(self.theme, source, self) for source in card.sources]
        for link in self.links:
            link.show()

    def height_for(self, width: int) -> int:
        y = 0
        for link in self.links:
            link.setGeometry(0, y, width, link.wanted_height())
            y += link.height() + self.theme.size("card_padding")
        return max(y - self.theme.size("card_padding"), 0)
