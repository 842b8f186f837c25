"""How the presence looks on this desktop: the person's choices, and the system's where they made none."""

from __future__ import annotations

import logging
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from app.base import paths
from app.base.values import dataclass
from app.settings import catalog
from app.settings.store import Settings
from app.ui.theme import drawing, theme
from app.ui.theme.motion import Ticker
from app.ui.theme.theme import Theme
from app.ui.windows.floating import WindowDeps, surroundings


@dataclass(frozen=True, slots=True)
class Look:
    """The theme, what the windows stand on, and the clock of their movements. `rings`: show where it acts."""

    theme: Theme
    around: WindowDeps
    ticker: Ticker
    name: str = "Wisp"
    rings: bool = True


_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DesktopWishes:
    """What the desktop asks of its programs beyond what Qt knows. `dark` is None where it has no wish."""

    reduced: bool = False
    dark: bool | None = None


_NOTHING = DesktopWishes()


def look_of(
    application: QApplication, settings: Settings, before: Look | None = None, wanted: DesktopWishes = _NOTHING
) -> Look:
    """Theme and surroundings as the person and the system want them; the application is dressed in them. What the
    windows stand on and their clock go on from the look `before`."""
    chosen = theme_of(application, settings, wanted)
    dress(application, chosen)
    return Look(
        chosen,
        before.around if before else surroundings(),
        before.ticker if before else Ticker(chosen.ms("frame"), application),
        settings[catalog.NAME],
        settings[catalog.POINTER_RING],
    )


def theme_of(application: QApplication, settings: Settings, wanted: DesktopWishes) -> Theme:
    """The tokens that hold now. What is wrong with the person's own theme file is logged."""
    chosen = theme.load(
        scheme_of(application, settings[catalog.THEME], dark=wanted.dark),
        scale=drawing.system_scale(),
        reduced=wanted.reduced or settings[catalog.REDUCED_MOTION],
        own=_own_theme(),
    )
    for problem in chosen.problems:
        _log.warning("%s", problem)
    return chosen


def dress(application: QApplication, chosen: Theme) -> None:
    """Give Qt's own widgets the theme's colours and shapes."""
    application.setPalette(drawing.palette(chosen))
    application.setStyleSheet(drawing.sheet(chosen))


def scheme_of(application: QApplication, choice: str, *, dark: bool | None = None) -> str:
    """`light` or `dark`: as chosen, or as the system has it."""
    if choice in theme.SCHEMES:
        return choice
    if dark is None:
        dark = application.styleHints().colorScheme() is Qt.ColorScheme.Dark
    return "dark" if dark else "light"


def _own_theme() -> Path | None:
    own = paths.config_dir() / "theme.toml"
    return own if own.is_file() else None
