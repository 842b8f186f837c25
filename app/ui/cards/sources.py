"""What a search in the web has found: a line for each, which opens in the person's own browser."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt, QUrl
from PySide6.QtGui import QColor, QDesktopServices, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QWidget

from app.ui.cards.part import CardPart
from app.ui.presenter.view import Card, Source
from app.ui.presenter.visible import visible
from app.ui.style import font
from app.ui.theme import Theme

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
