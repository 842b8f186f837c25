"""The parts of a card: its head, its checklist, and what is below it while it is open."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QPoint, QRect, QRectF, Qt, QUrl, Signal
from PySide6.QtGui import (
    QColor,
    QDesktopServices,
    QFontMetrics,
    QFontMetricsF,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
    QPixmap,
)
from PySide6.QtWidgets import QSlider, QWidget

from app.base.values import dataclass
from app.ui.bubble.rows import RowWidget
from app.ui.buttons import DrawnButton, WordButton
from app.ui.cards.kinds import CardContent
from app.ui.cards.picture import CodeView, PictureView
from app.ui.presenter.view import BrowserStep, Card, ChecklistLine, ShownChecklist, ShownPicture, Source, Status
from app.ui.presenter.wording import visible
from app.ui.theme import drawing
from app.ui.theme.drawing import font, lines_of, placed, put
from app.ui.theme.motion import Ticker
from app.ui.theme.theme import Color, Theme
from app.ui.translation import words


class CardPart(QWidget):
    """A part of a card. `opened` carries a picture to see in full size, `pressed` the name of a pressed button."""

    opened = Signal(object)
    pressed = Signal(str)
    height_changed = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.theme = theme

    def show_card(self, card: Card) -> None:
        raise NotImplementedError

    def height_for(self, width: int) -> int:
        """Lay out for a width and return the height in pixels."""
        raise NotImplementedError


class ContentView(CardPart):
    """What a feature's card shows: a picture, a line about it, and buttons."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self._content = CardContent()
        self._line = ""
        self.picture = PictureView(theme, self)
        self.picture.opened.connect(self._press)
        self.buttons: dict[str, WordButton] = {}

    def show_card(self, card: Card) -> None:
        content = card.content or CardContent()
        if card.picture is not None:
            self.picture.show_picture(card.picture)
        had_picture = not self.picture.isHidden()
        self.picture.setVisible(card.picture is not None)
        if (content, had_picture) != (self._content, card.picture is not None) or not self.buttons:
            self._fill(content)
            self._content = content
            self._line = content.line.said(words) if content.line else ""
            self.height_changed.emit()
        self.update()

    def height_for(self, width: int) -> int:
        theme, gap = self.theme, self.theme.size("gap")
        y = 0
        if not self.picture.isHidden():
            high = self.picture.height_for(width)
            self.picture.setGeometry(0, 0, min(self.picture.width_for(high), width), high)
            y = high + gap
        if self._line:
            y += theme.type("small").line + gap
        x = 0
        for button in self.buttons.values():
            if x and x + button.width() > width:
                x, y = 0, y + button.height() + gap
            put(button, QRect(QPoint(x, y), button.size()), width)
            x += button.width() + gap
        return y + max((button.height() for button in self.buttons.values()), default=0)

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self._line:
            return
        painter, theme = QPainter(self), self.theme
        painter.setFont(font(theme, "small"))
        painter.setPen(QColor(*theme.color("muted")))
        top = 0 if self.picture.isHidden() else self.picture.height() + theme.size("gap")
        elided = QFontMetricsF(painter.font()).elidedText(self._line, Qt.TextElideMode.ElideRight, self.width())
        place = QRect(0, top, self.width(), theme.type("small").line)
        painter.drawText(place, Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine, elided)

    def _press(self, picture: ShownPicture) -> None:
        """Show the picture in full size, or press the button that it stands for."""
        if self._content.on_picture:
            self.pressed.emit(self._content.on_picture)
        else:
            self.opened.emit(picture)

    def _fill(self, content: CardContent) -> None:
        if self.buttons and content.buttons == self._content.buttons:
            return
        for old in self.buttons.values():
            old.hide()
            old.deleteLater()
        self.buttons = {}
        for name, phrase in content.buttons.items():
            button = WordButton(self.theme, phrase.said(words), parent=self)
            button.clicked.connect(lambda _=False, name=name: self.pressed.emit(name))
            button.show()
            self.buttons[name] = button


class BrowserView(CardPart):
    """Shows the newest browser step, or the one that the person chose with the slider."""

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
        """The line for the browser step on show, such as "Step 2 of 5"."""
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


class SourceLink(DrawnButton):
    """A search result: its title, its address, and a line of its text. Only web addresses can be opened."""

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
        return sum(self._theme.type(style).line for text, style, _ in self._lines if text)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme, y = QPainter(self), self._theme, 0
        for text, style, color in self._lines:
            if not text:
                continue
            place = QRectF(0, y, self.width(), theme.type(style).line)
            painter.setFont(font(theme, style, strong=color == "link"))
            painter.setPen(QColor(*theme.color(color if self.isEnabled() else "muted")))
            elided = QFontMetricsF(painter.font()).elidedText(text, Qt.TextElideMode.ElideRight, place.width())
            painter.drawText(place, Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine, elided)
            y += theme.type(style).line
        if self.hasFocus():
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(QColor(*theme.color("accent")), 2))
            radius = theme.size("grid")
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), radius, radius)


class SourcesView(CardPart):
    """The results of a search, one below the other."""

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


_MARKS = {
    Status.WAITING: ("pause", "accent"),
    Status.OK: ("check", "ok"),
    Status.UNVERIFIED: ("circle", "muted"),
    Status.FAILED: ("notch", "warn"),
    Status.STOPPED: ("stop", "muted"),
}


@dataclass(frozen=True, slots=True)
class CardHead:
    """What the head of a card shows. `opens`: the card is open or closed; None if it has no content to open. `came` is
    what came of the call, quietly behind the rest."""

    glyph: str
    verb: str
    object: str
    status: Status
    elapsed: str = ""
    opens: bool | None = None
    glyph_color: str = "muted"
    thumbnail: QPixmap | None = None
    came: str = ""


def words_left(theme: Theme) -> int:
    """Return where the words of a line begin."""
    return theme.size("gap") * 2 + theme.size("small_glyph") + theme.size("grid") // 2


def fits_in_line(head: CardHead, width: int, theme: Theme) -> bool:
    side, gap, small = theme.size("small_glyph"), theme.size("gap"), QFontMetricsF(font(theme, "small"))
    right = theme.size("gap") + (2 if head.opens is not None else 1) * (side + gap / 2) + gap / 2
    right += head.thumbnail.deviceIndependentSize().width() + gap if head.thumbnail is not None else 0
    right += small.horizontalAdvance(head.elapsed) + 2 + gap / 2 if head.elapsed else 0
    plain, strong = QFontMetricsF(font(theme, "text")), QFontMetricsF(font(theme, "text", strong=True))
    words = plain.horizontalAdvance(f"{head.verb} ") + strong.horizontalAdvance(head.object) + 2
    return words_left(theme) + words + small.horizontalAdvance(_beside(head)) <= width - right


def _beside(head: CardHead) -> str:
    return f"  ·  {head.came}" if head.came else ""


def paint_head(painter: QPainter, box: QRectF, head: CardHead, theme: Theme) -> None:
    """Paint the head into `box`. Text that does not fit is cut with "…", and the verb keeps its room longest."""
    is_line = box.height() <= theme.size("step_height")
    inset = theme.size("gap" if is_line else "card_padding")
    side = theme.size("small_glyph" if is_line else "glyph")
    middle = box.center().y()
    left = box.left() + inset
    way = painter.layoutDirection()
    glyph = placed(QRectF(left, middle - side / 2, side, side), box, way)
    drawing.draw(painter, head.glyph, glyph, theme.color(head.glyph_color))
    left += side + theme.size("gap") + theme.size("grid") / 2
    right = _paint_right(painter, box, QRectF(left, box.top(), box.right() - inset - left, box.height()), head, theme)
    _paint_words(painter, placed(QRectF(left, box.top(), right - left, box.height()), box, way), head, theme)


def _paint_right(painter: QPainter, whole: QRectF, box: QRectF, head: CardHead, theme: Theme) -> float:
    """Paint chevron, mark, picture and time from the end of `box`. Return the `x` at which the words must end, as if
    the text ran from left to right."""
    way = painter.layoutDirection()
    side, gap = theme.size("small_glyph"), theme.size("gap")
    x, middle = box.right(), box.center().y()
    if head.opens is not None:
        place = placed(QRectF(x - side, middle - side / 2, side, side), whole, way)
        paint_chevron(painter, place, theme, is_open=head.opens)
        x -= side + gap / 2
    if head.status in _MARKS:
        glyph, color = _MARKS[head.status]
        mark = placed(QRectF(x - side, middle - side / 2, side, side), whole, way)
        drawing.draw(painter, glyph, mark, theme.color(color))
        x -= side + gap / 2
    if head.thumbnail is not None:
        size = head.thumbnail.deviceIndependentSize()
        place = QRectF(x - size.width(), middle - size.height() / 2, size.width(), size.height())
        _paint_thumbnail(painter, placed(place, whole, way), head.thumbnail, theme)
        x = place.left() - gap
    if head.elapsed:
        painter.setFont(font(theme, "small"))
        width = QFontMetricsF(painter.font()).horizontalAdvance(head.elapsed) + 2
        time = placed(QRectF(x - width, box.top(), width, box.height()), whole, way)
        _words(painter, time, head.elapsed, theme.color("muted"))
        x -= width + gap / 2
    return x - gap / 2


def paint_chevron(painter: QPainter, place: QRectF, theme: Theme, *, is_open: bool) -> None:
    """Paint a chevron that points down while `is_open`, otherwise in the reading direction."""
    side = place.width()
    closed = 180 if painter.layoutDirection() is Qt.LayoutDirection.RightToLeft else 0
    painter.save()
    painter.translate(place.center())
    painter.rotate(90 if is_open else closed)
    drawing.draw(painter, "chevron", QRectF(-side / 2, -side / 2, side, side), theme.color("muted"))
    painter.restore()


def _paint_thumbnail(painter: QPainter, place: QRectF, picture: QPixmap, theme: Theme) -> None:
    outline = QPainterPath()
    radius = theme.size("grid")
    outline.addRoundedRect(place, radius, radius)
    painter.save()
    painter.setClipPath(outline)
    painter.drawPixmap(place.topLeft(), picture)
    painter.restore()
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QColor(*theme.color("edge")))
    painter.drawPath(outline)


def _paint_words(painter: QPainter, box: QRectF, head: CardHead, theme: Theme) -> None:
    plain, strong = font(theme, "text"), font(theme, "text", strong=True)
    verb_width = min(QFontMetricsF(plain).horizontalAdvance(head.verb), box.width())
    painter.setFont(plain)
    elided = QFontMetricsF(plain).elidedText(head.verb, Qt.TextElideMode.ElideRight, box.width())
    _words(painter, box, elided, theme.color("ink"))
    space = QFontMetricsF(plain).horizontalAdvance(" ") + 1
    rest = QRectF(box.left() + verb_width + space, box.top(), box.width() - verb_width - space, box.height())
    rest = placed(rest, box, painter.layoutDirection())
    if head.object and rest.width() > theme.size("glyph"):
        painter.setFont(strong)
        elided = QFontMetricsF(strong).elidedText(head.object, Qt.TextElideMode.ElideRight, rest.width())
        _words(painter, rest, elided, theme.color("ink"))
    if head.came:
        left = QFontMetricsF(strong).horizontalAdvance(head.object) + 1 if head.object else 0
        came = QRectF(box.left() + verb_width + space + left, box.top(), rest.width() - left, box.height())
        painter.setFont(font(theme, "small"))
        _words(painter, placed(came, box, painter.layoutDirection()), _beside(head), theme.color("muted"))


def _words(painter: QPainter, box: QRectF, text: str, color: Color) -> None:
    painter.setPen(QColor(*color))
    painter.drawText(box, Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine, text)


def elapsed_words(seconds: float) -> str:
    """Return a duration such as `4 s` or `1:05`; "" below a second."""
    whole = int(seconds)
    if whole < 1:
        return ""
    return f"{whole} s" if whole < 60 else f"{whole // 60}:{whole % 60:02d}"


_Line = tuple[ChecklistLine, QRect, Qt.TextFlag]


class ChecklistRow(RowWidget):
    """Shows a checklist. Lines that are done have a muted colour, so that the remaining ones stand out."""

    def __init__(self, theme: Theme, ticker: Ticker) -> None:
        super().__init__(theme, ticker)
        self._steps: tuple[ChecklistLine, ...] = ()
        self._lines: tuple[_Line, ...] = ()

    def show_row(self, row: ShownChecklist) -> None:
        self._steps = row.steps
        self.setAccessibleName(self._words())
        self.setAccessibleDescription("\n".join(f"{'✓' if step.done else '○'} {step.text}" for step in row.steps))
        self.update()

    def height_for(self, width: int) -> int:
        theme, lines = self.theme, list[_Line]()
        metrics, inset = QFontMetrics(font(theme, "text")), theme.size("card_padding")
        left = inset + theme.size("glyph") + theme.size("gap") + theme.size("grid") // 2
        y = theme.size("card_height") - theme.size("grid")
        for step in self._steps:
            flags, box = lines_of(metrics, width - left - inset, step.text)
            lines.append((step, QRect(left, y, width - left - inset, box.height()), flags))
            y += box.height() + theme.size("grid")
        self._lines = tuple(lines)
        return y + inset - theme.size("grid")

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = self.theme, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QColor(*theme.color("hairline")))
        painter.setBrush(QColor(*theme.color("raised")))
        box = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.drawRoundedRect(box, theme.size("card_radius"), theme.size("card_radius"))
        status = Status.OK if all(step.done for step in self._steps) else Status.RUNNING
        head = QRectF(0, 0, self.width(), theme.size("card_height"))
        paint_head(painter, head, CardHead("list", self._words(), "", status), theme)
        painter.setFont(font(theme, "text"))
        first_line, side = QFontMetrics(painter.font()).height(), theme.size("small_glyph")
        left = theme.size("card_padding") + (theme.size("glyph") - side) / 2
        for step, place, flags in self._lines:
            mark, color = ("check", "ok") if step.done else ("circle", "muted")
            where = QRectF(left, place.top() + (first_line - side) / 2, side, side)
            drawing.draw(painter, mark, where, theme.color(color))
            painter.setPen(QColor(*theme.color("muted" if step.done else "ink")))
            painter.drawText(place, flags, step.text)

    def _words(self) -> str:
        done = sum(step.done for step in self._steps)
        words = QCoreApplication.translate("Cards", "{done} of {total} done")
        return words.format(done=done, total=len(self._steps))
