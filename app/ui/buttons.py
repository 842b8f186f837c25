"""The buttons of the presence, and the bar of the buttons that are always visible."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from PySide6.QtCore import QCoreApplication, QPoint, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QAccessible, QColor, QFontMetricsF, QKeyEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QAbstractButton, QMenu, QPushButton, QWidget

from app.base.values import dataclass
from app.settings.catalog import MODE
from app.ui.orb.state import Orb
from app.ui.presenter.view import View
from app.ui.theme import drawing
from app.ui.theme.drawing import font, placed, put
from app.ui.theme.theme import Theme
from app.ui.windows.floating import Accepts


def is_return(event: QKeyEvent) -> bool:
    """Return whether a key presses the button that has the keyboard, as the space bar does: Qt does so in dialogs only.

    A button asks this of the keys that reach itself. A window must not ask it: the Return that a field has used comes
    to the window as well, and the field may have handed the keyboard on to a button by then.
    """
    has_others = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
    return event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not (has_others or event.isAutoRepeat())


class DrawnButton(QAbstractButton):
    """A button that paints itself. Return presses it."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if is_return(event):
            self.click()
        else:
            super().keyPressEvent(event)


class PushButton(QPushButton):
    """A button that Return presses."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if is_return(event):
            self.click()
        else:
            super().keyPressEvent(event)


class GlyphButton(DrawnButton):
    """A square button with a glyph. Screen readers and the tool tip use `name`. `filled` uses the accent colour."""

    def __init__(self, theme: Theme, glyph: str, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._glyph = glyph
        self._name = name
        self._count = 0
        self._chosen = False
        self.filled = False
        self.setAccessibleName(name)
        self.setToolTip(name)
        self.setFixedSize(self.sizeHint())
        self.setCursor(Qt.CursorShape.ArrowCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def sizeHint(self) -> QSize:
        side = self._theme.size("icon_button")
        return QSize(side, side)

    def choose(self, *, chosen: bool) -> None:
        """Show the button as pressed, or not. It stays pressed while the part that it opens is open."""
        self._chosen = chosen
        self.update()

    def set_count(self, count: int) -> None:
        """Set the count of news behind the button. The button shows a dot, and screen readers get the number."""
        if count != self._count:
            self._count = count
            self.setAccessibleName(f"{self._name} ({count})" if count else self._name)
            self.setToolTip(self.accessibleName())
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = self._theme, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        ground = _ground(self, theme, filled=self.filled, down=self.isDown() or self._chosen)
        if ground is not None:
            is_off = self.filled and not self.isEnabled()
            painter.setPen(QPen(QColor(*theme.color("hairline")), 1) if is_off else Qt.PenStyle.NoPen)
            painter.setBrush(ground)
            radius = box.height() / 2 if self.filled else theme.size("button_radius")
            painter.drawRoundedRect(box, radius, radius)
        side = theme.size("small_glyph")
        place = QRectF(box.center().x() - side / 2, box.center().y() - side / 2, side, side)
        color = theme.color("accent_ink" if self.filled and self.isEnabled() else "ink" if self._hot() else "muted")
        drawing.draw(painter, self._glyph, place, color)
        if self._count:
            _dot(painter, place, theme)
        if self.hasFocus():
            _ring(painter, box, theme, theme.size("button_radius"))

    def _hot(self) -> bool:
        return self.isEnabled() and (self.underMouse() or self.isDown() or self.hasFocus() or self._chosen)


class WordButton(DrawnButton):
    """An outlined button with words and an optional glyph. A thin line at its bottom can show a progress."""

    def __init__(self, theme: Theme, words: str, glyph: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._glyph = glyph
        self._is_tight = False
        self._armed_share = 1.0
        self.setText(words)
        self.setAccessibleName(words)
        self.setFont(font(theme, "text"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setFixedSize(self.sizeHint())

    def sizeHint(self) -> QSize:
        theme = self._theme
        glyph = theme.size("small_glyph") + theme.size("grid") if self._glyph else 0
        words = QFontMetricsF(font(theme, "text", strong=True)).horizontalAdvance(self.text())
        sides = 2 * theme.size("gap" if self._is_tight else "padding") + 2
        return QSize(round(words) + glyph + sides, theme.size("button_height"))

    def squeeze(self, *, is_tight: bool) -> None:
        """Leave out half of the space at the sides, so that more buttons fit into a line; or do not."""
        if is_tight is not self._is_tight:
            self._is_tight = is_tight
            self.setFixedSize(self.sizeHint())

    def set_armed(self, share: float) -> None:
        """Set how far the line at the bottom is filled, 0 to 1. At 1 it disappears."""
        self._armed_share = share
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = self._theme, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.rect()).adjusted(1.5, 1.5, -1.5, -1.5)
        radius = theme.size("button_radius")
        hot = self.isEnabled() and (self.underMouse() or self.isDown())
        painter.setPen(QPen(QColor(*theme.color("muted" if hot else "hairline")), 1))
        painter.setBrush(QColor(*theme.color("sunken" if self.isDown() else "raised" if hot else "paper")))
        painter.drawRoundedRect(box, radius, radius)
        if self.hasFocus():
            _ring(painter, box, theme, radius)
        self._paint_words(painter, box)
        if self._armed_share < 1.0:
            left = box.left() + radius
            width = (box.width() - 2 * radius) * self._armed_share
            painter.fillRect(QRectF(left, box.bottom() - 2, width, 2), QColor(*theme.color("muted")))

    def _paint_words(self, painter: QPainter, box: QRectF) -> None:
        theme = self._theme
        side, space = theme.size("small_glyph"), theme.size("grid")
        color = theme.color("ink" if self.isEnabled() else "muted")
        painter.setFont(font(theme, "text", strong=self.hasFocus()))
        words = painter.fontMetrics().horizontalAdvance(self.text())
        whole = words + (side + space if self._glyph else 0)
        x = box.center().x() - whole / 2
        if self._glyph:
            drawing.draw(painter, self._glyph, QRectF(x, box.center().y() - side / 2, side, side), color)
            x += side + space
        painter.setPen(QColor(*color))
        painter.drawText(QRectF(x, box.top(), words + 4, box.height()), Qt.AlignmentFlag.AlignVCenter, self.text())


class LinkButton(WordButton):
    """A button of words without a frame, for minor actions."""

    def sizeHint(self) -> QSize:
        words = QFontMetricsF(font(self._theme, "small")).horizontalAdvance(self.text())
        return QSize(
            round(words) + 2 * self._theme.size("grid"), self._theme.type("small").line + self._theme.size("grid")
        )

    def height_for(self, width: int) -> int:
        return self.sizeHint().height()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = self._theme, QPainter(self)
        painter.setFont(font(theme, "small"))
        hot = self.underMouse() or self.hasFocus()
        painter.setPen(QColor(*theme.color("ink" if hot else "muted")))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignVCenter, self.text())


def _ground(button: QAbstractButton, theme: Theme, *, filled: bool, down: bool) -> QColor | None:
    if filled:
        return QColor(*theme.color("accent_fill" if button.isEnabled() else "sunken"))
    hot = button.isEnabled() and (button.underMouse() or down)
    return QColor(*theme.color("sunken" if down else "raised")) if hot else None


def _dot(painter: QPainter, glyph: QRectF, theme: Theme) -> None:
    """Paint a dot at the glyph's upper right, with a thin edge that sets it off from the glyph."""
    radius = theme.size("gap") / 2
    painter.setPen(QPen(QColor(*theme.color("paper")), 1.5))
    painter.setBrush(QColor(*theme.color("accent_fill")))
    painter.drawEllipse(glyph.topRight() + QPointF(-1, 2), radius, radius)


def _ring(painter: QPainter, box: QRectF, theme: Theme, radius: float) -> None:
    """Paint a ring around the button that has the focus."""
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(QColor(*theme.color("accent")), 2))
    painter.drawRoundedRect(box, radius, radius)


@dataclass(frozen=True, slots=True)
class BarChoice:
    """A setting that the person can change in the bar. `options` are its values, each with its words."""

    key: str
    name: str
    value: str
    options: tuple[tuple[str, str], ...]

    @property
    def words(self) -> str:
        return next((words for value, words in self.options if value == self.value), self.value)


class ChoiceChip(DrawnButton):
    """Shows a setting's value. A press opens a menu of the values; `chosen` carries the setting's key and the new
    value."""

    chosen = Signal(str, str)

    def __init__(self, theme: Theme, choice: BarChoice, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._choice = choice
        if choice.key == MODE.key:  # because it loosens trust
            self.accepts = Accepts.PERSONS_DEVICE
        self.setText(choice.words)
        self.setAccessibleName(f"{choice.name}: {choice.words}")
        self.setToolTip(choice.name)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.clicked.connect(self._open_menu)
        words = QFontMetricsF(font(theme, "small")).horizontalAdvance(choice.words)
        self.setFixedSize(round(words) + theme.size("small_glyph") + theme.size("padding"), theme.size("icon_button"))

    def menu(self) -> QMenu:
        made = drawing.Menu(self._theme, self)
        for value, words in self._choice.options:
            action = made.addAction(words, partial(self.chosen.emit, self._choice.key, value))
            action.setCheckable(True)
            action.setChecked(value == self._choice.value)
        return made

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), self._theme
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box, gap, side = QRectF(self.rect()).adjusted(0.5, 2.5, -0.5, -2.5), theme.size("gap"), theme.size("gap")
        hot = self.underMouse() or self.isDown() or self.hasFocus()
        painter.setPen(QPen(QColor(*theme.color("accent" if self.hasFocus() else "hairline")), 1))
        painter.setBrush(QColor(*theme.color("raised" if hot else "paper")))
        painter.drawRoundedRect(box, box.height() / 2, box.height() / 2)
        painter.setFont(font(theme, "small"))
        painter.setPen(QColor(*theme.color("ink" if hot else "muted")))
        words = placed(box.adjusted(gap, 0, -side, 0), box, self.layoutDirection())
        painter.drawText(words, Qt.AlignmentFlag.AlignVCenter, self.text())
        arrow = QRectF(box.right() - gap - side, box.center().y() - side / 2, side, side)
        drawing.draw(painter, "unfold", placed(arrow, box, self.layoutDirection()), theme.color("muted"))

    def _open_menu(self) -> None:
        made = self.menu()
        made.exec(self.mapToGlobal(QPoint(0, -made.sizeHint().height())))


class Header(QWidget):
    """The bar of the composer: the state, Stop while a turn runs, the menu, and Close. The bar never moves."""

    ROLE = QAccessible.Role.ToolBar
    page_wanted = Signal(str)
    settings_wanted = Signal()
    closed = Signal()
    stop_wanted = Signal()
    setting_chosen = Signal(str, str)
    region_wanted = Signal()
    rewrite_wanted = Signal()

    def __init__(self, theme: Theme, parent: QWidget, name: str) -> None:
        super().__init__(parent)
        self._theme = theme
        self._name = name
        self.choices: list[ChoiceChip] = []
        self.pages: Mapping[str, str] = {}
        """The titles of the pages that list stored things, by name, in the order of the menu."""
        self._orb = Orb.IDLE
        self._running = False
        self._using: tuple[str, ...] = ()
        self._end = 0
        tr = QCoreApplication.translate
        self.more = GlyphButton(theme, "more", tr("Bubble", "More"), self)
        self.more.clicked.connect(self._open_menu)
        self.close_button = GlyphButton(theme, "close", tr("Bubble", "Close"), self)
        self.close_button.clicked.connect(self.closed)
        self.stop = WordButton(theme, tr("Bubble", "Stop"), "stop", self)
        self.stop.setToolTip(tr("Bubble", "Stop what Wisp is doing"))
        self.stop.clicked.connect(self.stop_wanted)
        self.stop.hide()
        self.setAccessibleName(name)

    @property
    def wanted_height(self) -> int:
        return self._theme.size("header_height")

    def show_view(self, view: View) -> None:
        self._orb, self._running, self._using = view.orb, view.running, view.using
        self.more.set_count(view.unseen)
        if self.stop.isHidden() is view.running:
            self.stop.setVisible(view.running)
        self._arrange()
        using = using_words(view.using)
        words = ", ".join(filter(None, (view.doing or state_words(view.orb), using)))
        self.setAccessibleName(f"{self._name}: {words}" if words else self._name)
        self.setToolTip(using)
        self.update()

    def show_choices(self, choices: Sequence[BarChoice]) -> None:
        """Show the settings that can be changed in the bar."""
        for chip in self.choices:
            chip.hide()
            chip.deleteLater()
        self.choices = [ChoiceChip(self._theme, choice, self) for choice in choices]
        for chip in self.choices:
            chip.chosen.connect(self.setting_chosen)
        self._arrange()

    def menu(self) -> QMenu:
        """The actions that people rarely need."""
        made, tr = drawing.Menu(self._theme, self), QCoreApplication.translate
        pages = {
            "history": tr("Bubble", "Conversations"),
            "news": self.more.accessibleName().replace(tr("Bubble", "More"), tr("Bubble", "What happened")),
            "usage": tr("Bubble", "Usage"),
            **self.pages,
        }
        for page, title in pages.items():
            made.addAction(title, partial(self.page_wanted.emit, page))
        made.addSeparator()
        made.addAction(tr("Bubble", "Mark a part of the screen (Ctrl+M)"), self.region_wanted.emit)
        made.addAction(tr("Bubble", "Rewrite the selection (Ctrl+R)"), self.rewrite_wanted.emit)
        made.addAction(tr("Bubble", "Settings"), self.settings_wanted.emit)
        return made

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._arrange()

    def paintEvent(self, event: QPaintEvent) -> None:
        words = state_words(self._orb)
        if not words:
            return
        painter, theme = QPainter(self), self._theme
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        _, color, _ = theme.orb(self._orb.value)
        dot, gap = theme.size("gap"), theme.size("gap")
        whole, way, middle = QRectF(self.rect()), self.layoutDirection(), self.height() / 2
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(*color))
        painter.drawEllipse(placed(QRectF(gap, middle - dot / 2, dot, dot), whole, way))
        small = font(theme, "small")
        metrics, room = QFontMetricsF(small), self._end - gap * 2 - dot
        painter.setFont(small)
        painter.setPen(QColor(*theme.color("muted")))
        using = using_words(self._using, lambda text: metrics.horizontalAdvance(text) <= room)
        lines = [line for line in (words, using) if line]
        high = theme.type("small").line
        for number, line in enumerate(lines):
            top = middle + (number - len(lines) / 2) * high
            place = placed(QRectF(gap * 2 + dot, top, room, high), whole, way)
            elided = metrics.elidedText(line, Qt.TextElideMode.ElideRight, place.width())
            painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, elided)

    def _arrange(self) -> None:
        x = self.width()
        for button in (self.close_button, self.more, self.stop):
            if not button.isHidden():
                x -= button.width()
                put(
                    button,
                    QRect(x, (self.height() - button.height()) // 2, button.width(), button.height()),
                    self.width(),
                )
        self._end = x - self._theme.size("gap")
        x = self._theme.size("grid")
        for chip in self.choices:  # where there is room, and no word about how things stand
            chip.setVisible(not state_words(self._orb) and x + chip.width() <= self._end)
            put(chip, QRect(x, (self.height() - chip.height()) // 2, chip.width(), chip.height()), self.width())
            x += chip.width() + self._theme.size("grid")

    def _open_menu(self) -> None:
        made = self.menu()
        made.exec(self.more.mapToGlobal(QPoint(0, -made.sizeHint().height())))


def using_words(names: Sequence[str], fits: Callable[[str], bool] = bool) -> str:
    """Return which programs the conversation uses; if that does not fit, only the newest and how many others."""
    tr = QCoreApplication.translate
    whole = tr("State", "using {names}").format(names=", ".join(names)) if names else ""
    if len(names) < 2 or fits(whole):
        return whole
    return tr("State", "using {name} +{count}").format(name=names[-1], count=len(names) - 1)


def state_words(orb: Orb) -> str:
    """Empty for a state without words, such as idle."""
    tr = QCoreApplication.translate
    words = {
        Orb.THINKING: tr("State", "Thinking…"),
        Orb.BUSY: tr("State", "Working…"),
        Orb.LISTENING: tr("State", "Listening…"),
        Orb.NEEDS_YOU: tr("State", "Waiting for you"),
        Orb.DRIVING: tr("State", "Paused while you work"),
        Orb.ERROR: tr("State", "Something went wrong"),
    }
    return words.get(orb, "")
