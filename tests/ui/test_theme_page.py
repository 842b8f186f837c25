"""The page on which themes are seen and chosen, and the open settings when the theme or a value changes elsewhere."""

from __future__ import annotations

from contextlib import closing
from itertools import pairwise

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QColor, QImage
from PySide6.QtWidgets import QApplication, QComboBox, QLabel, QLineEdit, QSpinBox
from pytestqt.qtbot import QtBot

from app.base import paths
from app.services.themes import Appearance
from app.settings import catalog, store
from app.settings.store import Settings
from app.ui.lifecycle import Dialogs
from app.ui.machine import NoMachine, Outside
from app.ui.preferences.editors import Radio
from app.ui.preferences.fields import pages
from app.ui.preferences.themes import ThemeTile
from app.ui.preferences.window import SettingsWindow
from app.ui.presence import Look, Presence
from app.ui.system.system import System
from app.ui.theme import roles, theme
from app.ui.theme.theme import Theme
from tests.support.waiting import until
from tests.ui.conftest import run_and_undress

_THEME = "presence.theme"


def _window(qtbot: QtBot, look: Theme, **values: str) -> SettingsWindow:
    made = SettingsWindow(look, Settings({}, {}).with_values(**values))
    qtbot.addWidget(made)
    made.show_editor(_THEME)
    made.show()
    qtbot.waitExposed(made)
    return made


def _tiles(window: SettingsWindow) -> list[ThemeTile]:
    return window.editor(_THEME).findChildren(ThemeTile)


def _tile(window: SettingsWindow, kind: str) -> ThemeTile:
    return next(tile for tile in _tiles(window) if tile.value == kind)


def _chosen(window: SettingsWindow, key: str) -> list[str]:
    return [button.value for button in window.editor(key).findChildren(Radio) if button.isChecked()]


def _share(image: QImage, color: QColor) -> float:
    every = [image.pixelColor(x, y) for x in range(0, image.width(), 3) for y in range(0, image.height(), 3)]
    return sum(one == color for one in every) / len(every)


@pytest.mark.parametrize("scheme", theme.SCHEMES)
def test_each_theme_is_a_tile_in_its_own_colours_in_the_scheme_in_use(qtbot: QtBot, scheme: str) -> None:
    window = _window(qtbot, theme.load(scheme, kind="memphis"), presence__theme="memphis")
    assert [tile.value for tile in _tiles(window)] == list(catalog.THEME.choices)
    for tile in _tiles(window):
        paper = QColor(*theme.load(scheme, kind=tile.value).color("paper"))
        assert _share(tile.grab().toImage(), paper) > 0.15, tile.value


@pytest.mark.parametrize("kind", [catalog.THEME.choices[0], catalog.THEME.choices[-1]])
def test_the_page_opens_where_the_theme_in_use_is(qtbot: QtBot, still: Look, kind: str) -> None:
    window = SettingsWindow(still.theme, Settings({}, {}).with_values(presence__theme=kind))
    qtbot.addWidget(window)
    window.show()
    window.index.setCurrentRow(next(row for row, page in enumerate(pages()) if catalog.THEME in page.settings))
    tile = _tile(window, kind)
    qtbot.waitUntil(lambda: tile.visibleRegion().boundingRect() == tile.rect())


def test_the_theme_in_use_is_marked_by_more_than_colour(qtbot: QtBot, still: Look) -> None:
    grey = QImage.Format.Format_Grayscale8
    pictures = [
        _tile(_window(qtbot, still.theme, presence__theme=kind), "risograph").grab().toImage().convertToFormat(grey)
        for kind in ("risograph", "memphis")
    ]
    one, other = pictures
    places = [(x, y) for x in range(one.width()) for y in range(one.height())]
    apart = [place for place in places if abs(one.pixelColor(*place).red() - other.pixelColor(*place).red()) > 60]
    assert len(apart) > 200


def test_arrows_the_space_bar_and_return_choose_a_theme(qtbot: QtBot, still: Look) -> None:
    window = _window(qtbot, still.theme)
    window.activateWindow()
    qtbot.waitUntil(_tile(window, "plain").hasFocus)
    qtbot.keyClick(_tile(window, "plain"), Qt.Key.Key_Right)
    assert store.load()[catalog.THEME] == "cartoon-brutalist"
    assert _tile(window, "cartoon-brutalist").hasFocus()
    for kind, key in (("liquid-glass", Qt.Key.Key_Space), ("solarpunk", Qt.Key.Key_Return)):
        _tile(window, kind).setFocus()
        qtbot.keyClick(_tile(window, kind), key)
        assert (store.load()[catalog.THEME], _chosen(window, _THEME)) == (kind, [kind])
        assert not _tile(window, kind).visibleRegion().isEmpty(), "the page scrolls to what has the keyboard"


def test_a_screen_reader_is_told_a_group_of_radio_buttons_with_names(qtbot: QtBot, still: Look) -> None:
    roles.install()
    window = _window(qtbot, still.theme, presence__theme="memphis")
    for key, name in ((_THEME, "Theme"), ("presence.scheme", "Light or dark")):
        group = QAccessible.queryAccessibleInterface(window.editor(key))
        assert (group.role(), group.text(QAccessible.Text.Name)) == (QAccessible.Role.Grouping, name)
    told = [QAccessible.queryAccessibleInterface(tile) for tile in _tiles(window)]
    assert {one.role() for one in told} == {QAccessible.Role.RadioButton}
    names = [one.text(QAccessible.Text.Name) for one in told]
    assert (names[0], names[1], len(set(names))) == ("Plain", "Cartoon Brutalist", len(names))
    assert [one.text(QAccessible.Text.Name) for one in told if one.state().checked] == ["Memphis"]


@pytest.mark.parametrize("scale", [1.0, 2.0])
@pytest.mark.parametrize("way", [Qt.LayoutDirection.LeftToRight, Qt.LayoutDirection.RightToLeft])
def test_tiles_stand_in_rows_that_fit_from_the_side_where_reading_begins(
    qtbot: QtBot, qapp: QApplication, way: Qt.LayoutDirection, scale: float
) -> None:
    qapp.setLayoutDirection(way)
    try:
        window = _window(qtbot, theme.load("light", scale=scale))
    finally:
        qapp.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
    first, second = _tiles(window)[:2]
    assert (first.x() < second.x(), first.y()) == (way is Qt.LayoutDirection.LeftToRight, second.y())
    room = window.editor(_THEME).rect()
    assert all(room.contains(tile.geometry()) for tile in _tiles(window))
    assert not any(one.geometry().intersects(other.geometry()) for one, other in pairwise(_tiles(window)))


def test_the_open_settings_follow_what_changes_elsewhere_and_keep_what_is_being_typed(
    qtbot: QtBot, qapp: QApplication, still: Look
) -> None:
    presence = Presence(still)
    presence.show()

    async def story() -> int:
        with (
            closing(System(qapp, presence, still, Settings({}, {}))) as system,
            closing(Dialogs(presence, system, Outside(lambda: store.load({}), NoMachine()))),
        ):
            presence.actions.settings()
            [window] = [
                each for each in QApplication.topLevelWidgets() if isinstance(each, SettingsWindow) and each.isVisible()
            ]
            _values(window)  # makes the pages
            window.show_editor("presence.name")
            window.activateWindow()
            name = window.editor("presence.name")
            await until(name.hasFocus)
            qtbot.keyClicks(name, "Rob")
            store.save(catalog.NAME, "Elsewhere")
            store.save(catalog.MODE, "plan")
            store.save(catalog.HISTORY_DAYS, 7)
            await until(lambda: _values(window) == ("plan", 7))
            file = paths.config_dir() / "settings.toml"
            file.write_text(file.read_text().replace("7", "9"))
            await until(lambda: _values(window) == ("plan", 9))
            Appearance().choose({catalog.THEME: "memphis", catalog.SCHEME: "dark"}, "turn-1")
            await until(lambda: window.index.font().family() in presence.theme.families("system"))
            await until(lambda: _chosen(window, "presence.scheme") == ["dark"])
            assert (window.isVisible(), _chosen(window, _THEME)) == (True, ["memphis"])
            now = window.editor("presence.name")
            assert isinstance(now, QLineEdit)
            assert (now.isVisible(), now.text(), now.hasFocus()) == (True, "WispRob", True)
            assert store.load({})[catalog.NAME] == "Elsewhere", "half a name is not saved"
            look = presence.theme
            fonts = {label.font().family() for label in window.findChildren(QLabel) if label.isVisible()}
            assert fonts <= {*look.families("system"), *look.families("display")}
            qtbot.keyClick(now, Qt.Key.Key_Return)
            assert store.load({})[catalog.NAME] == "WispRob"
            window.close()
            window.deleteLater()
            presence.close()
        return 0

    run_and_undress(qapp, still, presence, story())


def _values(window: SettingsWindow) -> tuple[str, int]:
    mode, days = window.editor("trust.mode"), window.editor("history.days")
    assert isinstance(mode, QComboBox)
    assert isinstance(days, QSpinBox)
    return mode.currentData(), days.value()


def test_arrows_go_on_through_the_themes_while_each_is_shown_at_once(
    qtbot: QtBot, qapp: QApplication, still: Look
) -> None:
    presence = Presence(still)
    presence.show()

    async def story() -> int:
        with (
            closing(System(qapp, presence, still, Settings({}, {}))) as system,
            closing(Dialogs(presence, system, Outside(lambda: store.load({}), NoMachine()))),
        ):
            presence.actions.settings()
            [window] = [
                each for each in QApplication.topLevelWidgets() if isinstance(each, SettingsWindow) and each.isVisible()
            ]
            window.show_editor(_THEME)
            window.activateWindow()
            for kind, after in pairwise(catalog.THEME.choices[:3]):
                await until(lambda kind=kind: _tile(window, kind).hasFocus())  # type: ignore[misc]
                qtbot.keyClick(_tile(window, kind), Qt.Key.Key_Right)
                await until(lambda after=after: presence.theme.name == after)  # type: ignore[misc]
            await until(lambda: _tile(window, after).hasFocus() and _chosen(window, _THEME) == [after])
            window.close()
            window.deleteLater()
            presence.close()
        return 0

    run_and_undress(qapp, still, presence, story())
