"""The settings' window. It shows every setting that the catalog declares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import QCoreApplication, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QScrollArea,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.base.values import dataclass
from app.settings import store
from app.settings.catalog import BASE_URL, MODEL, PROVIDER, VOICE, Setting
from app.settings.providers import NTFY, OWN_IMAGES, image_makers, searchers, with_keys
from app.settings.store import Settings
from app.ui.buttons import PushButton
from app.ui.machine import Machine, MachineFinding, NoMachine
from app.ui.preferences.editors import LookUp, look_up_voices
from app.ui.preferences.fields import PreferencesPage, SettingField, label, line_of, pages
from app.ui.preferences.sections import FindingsList, Folders, GrantsList, KeyRow, Questions
from app.ui.preferences.themes import ThemeTile
from app.ui.theme import drawing
from app.ui.theme.drawing import font, words_label
from app.ui.theme.theme import Theme


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the person is in the window: the page and how far it is scrolled, the field with the keyboard, and what is
    typed into which field but not yet taken."""

    page: int
    scrolled: int
    focused: str
    typed: Mapping[str, tuple[str, int]]


class SettingsWindow(QWidget):
    """Saves each change at once. The bottom line says what is wrong, or when the change takes effect.

    A page is made when it is first shown, because only a few are in most openings.
    """

    changed = Signal(str)
    key_kept = Signal(str)
    welcome_wanted = Signal()
    answerer_wanted = Signal()

    def __init__(self, theme: Theme, settings: Settings, machine: Machine | None = None) -> None:
        super().__init__()
        self._settings = settings
        self._machine = machine or NoMachine()
        self._questions = Questions()
        self._offered: dict[str, LookUp] = {
            MODEL.key: lambda found: self._questions.ask(self._machine.models(), found),
            VOICE.key: look_up_voices,
        }
        self._pages = pages()
        self._findings: Sequence[MachineFinding] = ()
        self._opened: set[int] = set()
        self.setWindowTitle(QCoreApplication.translate("Settings", "Settings"))
        # Do not quit, because the presence lives on when this window closes.
        self.setAttribute(Qt.WidgetAttribute.WA_QuitOnClose, on=False)
        self._root = drawing.spaced(QVBoxLayout(self), 0)
        self._build(theme)
        self.index.setCurrentRow(0)
        drawing.place_window(self, theme, "settings")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close()
        else:
            super().keyPressEvent(event)

    def say(self, words: str) -> None:
        """Show a sentence at the bottom."""
        self.note.setText(words)

    def editor(self, key: str) -> QWidget:
        """Edits this setting, or the key of a service (`key.anthropic`). Makes its page."""
        if key not in self._editors:
            self._made_page(self._page_of(key))
        return self._editors[key]

    def show_editor(self, key: str) -> None:
        """Show the page with a setting, with the focus in its field."""
        field = self.editor(key)
        self.index.setCurrentRow(self._page_of(key))
        field.setFocus(Qt.FocusReason.OtherFocusReason)

    def show_settings(self, settings: Settings) -> None:
        """Show what was changed elsewhere. A field keeps what the person is just typing into it."""
        self._settings = settings
        for setting, field in self._fields:
            field.show_value(settings[setting])

    def restyle(self, theme: Theme, settings: Settings) -> None:
        """Make everything inside again, in another theme and with these settings. The window and the person's place in
        it stay."""
        place, said, old = self._place(), self.note.text(), self._body
        for _, field in self._fields:
            field.blockSignals(True)  # because a field that loses the keyboard takes what was typed
        waiting: list[FindingsList | KeyRow] = [*old.findChildren(FindingsList), *old.findChildren(KeyRow)]
        for each in (self._questions, *waiting):
            each.forget()
        if (holder := self.focusWidget()) is not None:
            holder.clearFocus()  # because it would go to the list of pages, which then shows the first one
        self._settings = settings
        self._build(theme)
        self.say(said)
        old.hide()
        self._body.show()  # because the layout would show it later, and the window would be empty until then
        self._go_back(place)
        old.deleteLater()

    def _build(self, theme: Theme) -> None:
        self._theme = theme
        self._editors: dict[str, QWidget] = {}
        self._fields: list[tuple[Setting[Any], SettingField]] = []
        self._body = QWidget()
        self.note = words_label(theme, "", quiet=True)
        self.index = QListWidget()
        self.index.setObjectName("index")
        self.index.setFont(font(theme, "text"))
        self.index.setIconSize(QSize(theme.size("small_glyph"), theme.size("small_glyph")))
        self.index.setFixedWidth(theme.size("index_width"))
        self.index.setAccessibleName(QCoreApplication.translate("Settings", "Pages"))
        self._stack = QStackedWidget()
        for page in self._pages:
            glyph = drawing.icon(page.glyph, theme.size("small_glyph"), theme.color("muted"))
            self.index.addItem(QListWidgetItem(glyph, QCoreApplication.translate("Settings", page.title)))
            self._stack.addWidget(_page_area())
        self.index.currentRowChanged.connect(self._show_page)
        welcome = PushButton(QCoreApplication.translate("Settings", "Show the welcome again"))
        welcome.clicked.connect(self.welcome_wanted)
        self._lay_out(welcome)
        self._root.addWidget(self._body)

    def _place(self) -> _Place:
        focused: QWidget | None = self.focusWidget()
        while focused is not None and focused.objectName() not in {*self._editors, self.index.objectName()}:
            focused = focused.parentWidget()
        edited = [setting.key for setting, field in self._fields if field.is_edited]
        of_services = [key for key in self._editors if key.startswith(_KEY)]
        lines = {key: line_of(self._editors[key]) for key in (*edited, *of_services)}
        return _Place(
            self.index.currentRow(),
            self._area(self.index.currentRow()).verticalScrollBar().value(),
            focused.objectName() if focused else "",
            {key: (line.text(), line.cursorPosition()) for key, line in lines.items() if line is not None},
        )

    def _go_back(self, place: _Place) -> None:
        for key, (text, caret) in place.typed.items():
            if (line := line_of(self.editor(key))) is not None:
                line.setText(text)
                line.setCursorPosition(caret)
        self.index.setCurrentRow(place.page)
        focused = self.editor(place.focused) if place.focused in self._editors else self.index
        focused.setFocus(Qt.FocusReason.OtherFocusReason)
        area = self._area(place.page)
        self._root.activate()
        area.verticalScrollBar().setValue(place.scrolled)

    def _lay_out(self, welcome: PushButton) -> None:
        inset, gap = self._theme.size("padding"), self._theme.size("gap")
        below = QHBoxLayout()
        below.addWidget(self.note, 1)
        below.addWidget(welcome)
        right = drawing.spaced(QVBoxLayout(), gap)
        right.addWidget(self._stack, 1)
        right.addLayout(below)
        row = QHBoxLayout(self._body)
        row.setContentsMargins(inset, inset, inset, inset)
        row.setSpacing(inset)
        row.addWidget(self.index)
        row.addLayout(right, 1)

    def _page_of(self, key: str) -> int:
        keys = [{*(setting.key for setting in page.settings), *_keys(page)} for page in self._pages]
        return next(number for number, there in enumerate(keys) if key in there)

    def _area(self, number: int) -> QScrollArea:
        area = self._stack.widget(number)
        assert isinstance(area, QScrollArea)
        return area

    def _made_page(self, number: int) -> QScrollArea:
        """A page with everything on it. Makes it the first time."""
        area = self._area(number)
        if area.widget() is None:
            area.setWidget(self._page(self._pages[number]))
        return area

    def _page(self, page: PreferencesPage) -> QWidget:
        inner, theme = QWidget(), self._theme
        box = QVBoxLayout(inner)
        room = theme.size("padding")  # at the side of the scroll bar
        left, right = (room, 0) if self.isRightToLeft() else (0, room)
        box.setContentsMargins(left, 0, right, room)
        box.setSpacing(theme.size("padding"))
        heading = words_label(theme, QCoreApplication.translate("Settings", page.title))
        heading.setFont(font(theme, "heading", strong=True))
        box.addWidget(heading)
        main, rest = ([self._field(setting) for setting in some] for some in (page.main, page.rest))
        for widget in (*main, *self._extra(page), *rest):
            box.addWidget(widget)
        box.addStretch()
        return inner

    def _extra(self, page: PreferencesPage) -> list[QWidget]:
        if page.extra == "grants":
            return [GrantsList(self._theme)]
        if page.extra == "findings":
            findings = FindingsList(self._theme, self._machine, known=self._findings)
            findings.wanted.connect(self.show_editor)
            findings.found.connect(self._note_findings)
            return [findings]
        if page.extra == "folders":
            return [Folders(self._theme)]
        keys: list[QWidget] = [self._key(name.removeprefix(_KEY)) for name in _keys(page)]
        return [self._answerer_button(), *keys] if page.extra == "keys" else keys

    def _answerer_button(self) -> QWidget:
        made = PushButton(QCoreApplication.translate("Settings", "Find models on this computer"))
        made.clicked.connect(self.answerer_wanted)
        row = QWidget()
        drawing.spaced(QHBoxLayout(row), 0).addWidget(made, 0, Qt.AlignmentFlag.AlignLeading)
        return row

    def _key(self, provider: str) -> KeyRow:
        row = KeyRow(self._theme, provider, self._machine, partial(self._where, provider))
        row.kept.connect(self.key_kept)
        self._editors[f"{_KEY}{provider}"] = row.field
        return row

    def _where(self, provider: str) -> tuple[str, str]:
        """The address and the model that are chosen, if they are this provider's."""
        chosen = store.load()
        return (chosen[BASE_URL], chosen[MODEL]) if chosen[PROVIDER] == provider else ("", "")

    def _field(self, setting: Setting[Any]) -> SettingField:
        field = SettingField(self._theme, setting, self._settings[setting], self._offered.get(setting.key))
        field.chosen.connect(lambda value: self._keep(setting, value))
        self._editors[setting.key] = field.editor
        self._fields.append((setting, field))
        return field

    def _note_findings(self, findings: Sequence[MachineFinding]) -> None:
        self._findings = findings

    def _show_page(self, number: int) -> None:
        self._stack.setCurrentWidget(self._made_page(number))
        if number not in self._opened:
            self._opened.add(number)
            QTimer.singleShot(0, self, lambda: self._show_chosen(number))  # because places are known after the layout
        for findings in self._area(number).findChildren(FindingsList):
            findings.ask_once()

    def _show_chosen(self, number: int) -> None:
        """Scroll a page to the theme that is chosen on it."""
        area = self._area(number)
        for tile in area.findChildren(ThemeTile):
            if tile.isChecked():
                area.ensureWidgetVisible(tile)

    def _keep(self, setting: Setting[Any], value: Any) -> None:
        try:
            store.save(setting, value)
        except (ValueError, OSError) as error:
            self.say(f"{label(setting)}: {error}")
            return
        self.say(QCoreApplication.translate("Settings", "Saved."))
        self.changed.emit(setting.key)


_KEY = "key."


def _keys(page: PreferencesPage) -> list[str]:
    """The keys of services that a page asks for, as editors are named."""
    ids = {
        "keys": [row.id for row in with_keys()],
        "engines": [row.id for row in searchers().values() if row.key],
        "painters": [*(name for name in image_makers() if name not in {row.id for row in with_keys()}), OWN_IMAGES],
        "devices": [NTFY],
    }
    return [f"{_KEY}{each}" for each in ids.get(page.extra, ())]


def _page_area() -> QScrollArea:
    area = QScrollArea()
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # because it has no name to tell, and follows what is focused in it
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    return area
