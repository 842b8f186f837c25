"""One setting in the window: its name, its meaning, and a field for its type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QCoreApplication, QLocale, Qt, Signal
from PySide6.QtWidgets import QAbstractSpinBox, QDoubleSpinBox, QGridLayout, QLineEdit, QSpinBox, QWidget

from app.base import resources
from app.base.translation import languages
from app.base.values import dataclass
from app.settings.catalog import Setting, every
from app.settings.providers import providers
from app.ui.preferences.editors import (
    Broken,
    Choice,
    KeyField,
    LookUp,
    OfferingField,
    Radio,
    RadioGroup,
    Switch,
    Unit,
    Whole,
)
from app.ui.preferences.themes import ThemeTile
from app.ui.theme import drawing
from app.ui.theme.theme import Theme


@dataclass(frozen=True, slots=True)
class PreferencesPage:
    """A page of settings. `extra` names what the page shows besides: keys, search engines, findings,
    grants or folders."""

    title: str
    glyph: str
    main: tuple[Setting[Any], ...]
    rest: tuple[Setting[Any], ...] = ()
    extra: str = ""

    @property
    def settings(self) -> tuple[Setting[Any], ...]:
        return (*self.main, *self.rest)


def _table() -> resources.Table:
    return resources.table("preferences.toml", resources.Table)


def pages() -> list[PreferencesPage]:
    tables: list[dict[str, Any]] = _table()["page"]
    known = {setting.key: setting for setting in every()}
    named = {key for table in tables for key in table.get("settings", ())}
    made = []
    for table in tables:
        main = tuple(known[key] for key in table.get("settings", ()))
        rest = tuple(s for s in every() if s.group in table.get("groups", ()) and s.key not in named)
        made.append(PreferencesPage(table["title"], table["glyph"], main, rest, table.get("extra", "")))
    placed = {setting.key for page in made for setting in page.settings}
    left = [setting for setting in every() if setting.key not in placed]
    for group in dict.fromkeys(setting.group for setting in left):
        made.append(PreferencesPage(group.capitalize(), "gear", tuple(s for s in left if s.group == group)))
    return made


def label(setting: Setting[Any]) -> str:
    return QCoreApplication.translate("Settings", english_label(setting))


def english_label(setting: Setting[Any]) -> str:
    """From the table; if it has none there, the setting's key in plain words."""
    name = setting.key.partition(".")[2].replace("_", " ")
    found: str = _table()["labels"].get(setting.key, name[:1].upper() + name[1:])
    return found


def choice_label(name: str) -> str:
    return QCoreApplication.translate("Settings", english_choice(name))


def english_choice(name: str) -> str:
    if name in providers():
        return providers()[name].label
    found: str = _table()["choices"].get(name, "") if name else "Automatic"
    return found or (_own_name(name) if name in languages() else name)


def _own_name(language: str) -> str:
    """What a language calls itself, as a heading: `Deutsch`, `Français`."""
    name = QLocale(language).nativeLanguageName()
    return name[:1].upper() + name[1:]


def about(setting: Setting[Any]) -> str:
    return QCoreApplication.translate("Settings", setting.description)


_MOST = 2_000_000_000


@dataclass(frozen=True, slots=True)
class Editor:
    """The widget that edits a setting, and functions that read and show its value. `is_wide`: it has a line of its
    own."""

    widget: QWidget
    value: Callable[[], Any]
    show: Callable[[Any], None]
    is_wide: bool = False


class SettingField(QWidget):
    """The field of one setting. `chosen` carries the new value once the person has finished the change.

    `look_up` finds what a text may be, for the person to choose from.
    """

    chosen = Signal(object)

    def __init__(self, theme: Theme, setting: Setting[Any], current: Any, look_up: LookUp | None = None) -> None:
        super().__init__()
        self._theme = theme
        self._shown = current
        self._look_up = look_up
        self._made = self._made_for(setting, current)
        self.editor = self._made.widget
        self.editor.setObjectName(setting.key)
        self.editor.setAccessibleName(label(setting))
        self.editor.setAccessibleDescription(about(setting))
        name, meaning = (
            drawing.words_label(theme, label(setting), strong=True),
            drawing.words_label(theme, about(setting), quiet=True),
        )
        name.setBuddy(self.editor)  # because Qt tells screen readers the choice as a combo box's own name
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(theme.size("padding"))
        grid.setVerticalSpacing(theme.count("grid") // 2)
        grid.setColumnStretch(0, 1)
        grid.addWidget(name, 0, 0)
        grid.addWidget(meaning, 1, 0)
        if self._made.is_wide:
            grid.setRowMinimumHeight(2, theme.count("grid"))
            grid.addWidget(self.editor, 3, 0, 1, 2)
        else:
            grid.addWidget(self.editor, 0, 1, 2, 1, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignTrailing)

    @property
    def is_edited(self) -> bool:
        """True if the person has begun a change and not finished it."""
        return bool(self._made.value() != self._shown)

    def show_value(self, value: Any) -> None:
        """Show a value that was changed elsewhere, unless the person is just typing another one."""
        if value != self._shown and not self.is_edited:
            self._shown = value
            self._made.show(value)

    def _made_for(self, setting: Setting[Any], current: Any) -> Editor:
        theme, forms = self._theme, _table()
        if isinstance(setting.default, bool):
            check = Switch(theme, on=bool(current))
            check.toggled.connect(self._tell)
            return Editor(check, check.isChecked, check.setChecked)
        if setting.key in (*forms["rows"], *forms["tiles"]):
            button = ThemeTile if setting.key in forms["tiles"] else Radio
            group = RadioGroup(theme, [button(theme, choice_label(name), name) for name in setting.choices], current)
            group.chosen.connect(self._tell)
            return Editor(group, group.value, group.show_value, is_wide=True)
        if setting.choices:
            choice = Choice(theme)
            for name in setting.choices:
                choice.addItem(choice_label(name), name)
            choice.setCurrentIndex(setting.choices.index(current))
            choice.setMinimumWidth(theme.size("field_width"))
            choice.activated.connect(self._tell)
            return Editor(choice, choice.currentData, lambda value: choice.setCurrentIndex(choice.findData(value)))
        if isinstance(setting.default, (int, float)):
            spin = _number(theme, setting, current)
            spin.setMinimumWidth(theme.size("field_width"))
            spin.editingFinished.connect(self._tell)
            return Editor(spin, spin.value, spin.setValue)
        if self._look_up is not None:
            line: QLineEdit = OfferingField(str(current), self._look_up)
        elif setting.key in forms["keys"]:
            line = KeyField(str(current))
        else:
            line = QLineEdit(str(current))
            line.setPlaceholderText(str(setting.default))
        line.editingFinished.connect(self._tell)
        return Editor(line, line.text, line.setText, is_wide=True)

    def _tell(self) -> None:
        value = self._made.value()
        if value != self._shown:
            self._shown = value
            self.chosen.emit(value)


def line_of(editor: QWidget) -> QLineEdit | None:
    """Return the line that is typed into in this editor; None if there is none."""
    if isinstance(editor, QAbstractSpinBox):
        return editor.lineEdit()
    return editor if isinstance(editor, QLineEdit) else None


def _number(theme: Theme, setting: Setting[Any], current: Any) -> QSpinBox | QDoubleSpinBox:
    unit = Unit(**_table()["units"].get(setting.key, {}))
    spin: QSpinBox | QDoubleSpinBox = Whole(theme, unit) if isinstance(setting.default, int) else Broken(theme, unit)
    kind = int if isinstance(setting.default, int) else float
    least = setting.minimum if setting.minimum is not None else -_MOST
    most = setting.maximum if setting.maximum is not None else _MOST
    spin.setRange(kind(least), kind(most))  # type: ignore[arg-type]
    spin.setValue(current)
    return spin
