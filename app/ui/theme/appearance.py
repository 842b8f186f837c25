"""How the presence looks on this desktop: as the person has set it, otherwise as the system wants it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from app.base.values import dataclass
from app.settings import catalog, tokens
from app.settings.store import Settings
from app.ui.theme import drawing, theme
from app.ui.theme.motion import Ticker
from app.ui.theme.theme import Theme
from app.ui.windows.floating import WindowDeps, surroundings


@dataclass(frozen=True, slots=True)
class Look:
    """The theme, what all windows share, and the clock of their animations. `rings`: the person wants a ring where
    Wisp acts."""

    theme: Theme
    around: WindowDeps
    ticker: Ticker
    name: str = "Wisp"
    rings: bool = True


@dataclass(frozen=True, slots=True)
class DesktopWishes:
    """Wishes of the desktop that Qt does not report: `reduced` motion, and `dark` colours, None without a wish."""

    reduced: bool = False
    dark: bool | None = None


_NOTHING = DesktopWishes()


def look_of(
    application: QApplication, settings: Settings, before: Look | None = None, wanted: DesktopWishes = _NOTHING
) -> Look:
    """Return the look that the person and the system want, and give it to Qt's own widgets too.

    With `before`, the new look shares the window connections and the clock of that look.
    """
    chosen = theme_of(application, settings, wanted)
    dress(application, chosen)
    _name(application, settings[catalog.NAME])
    return Look(
        chosen,
        before.around if before else surroundings(),
        before.ticker if before else Ticker(chosen.ms("frame"), application),
        settings[catalog.NAME],
        settings[catalog.POINTER_RING],
    )


def theme_of(application: QApplication, settings: Settings, wanted: DesktopWishes) -> Theme:
    return theme.load(
        scheme_of(application, settings[catalog.SCHEME], dark=wanted.dark),
        kind=settings[catalog.THEME],
        scale=drawing.system_scale(),
        reduced=wanted.reduced or settings[catalog.REDUCED_MOTION],
        own=tokens.own_file(),
        fonts=tokens.fonts_of(settings[catalog.FONTS]),
        palette=settings[catalog.PALETTE],
        avatar=settings[catalog.AVATAR],
    )


def dress(application: QApplication, chosen: Theme) -> None:
    """Give Qt's own widgets the colours and shapes of the theme."""
    application.setPalette(drawing.palette(chosen))
    application.setStyleSheet(drawing.sheet(chosen))


def _name(application: QApplication, name: str) -> None:
    """Let the titles of all windows hold this name, also of those that are open: Qt alone names new ones only."""
    if name != application.applicationDisplayName():
        application.setApplicationDisplayName(name)
        for window in application.topLevelWindows():
            window.setTitle(window.title())


def scheme_of(application: QApplication, choice: str = tokens.SYSTEM, *, dark: bool | None = None) -> str:
    """Return `light` or `dark`: the person's choice, or else the system's."""
    if choice in theme.SCHEMES:
        return choice
    if dark is None:
        dark = application.styleHints().colorScheme() is Qt.ColorScheme.Dark
    return "dark" if dark else "light"
