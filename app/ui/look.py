"""What all windows of the presence share."""

from __future__ import annotations

from dataclasses import dataclass

from app.ui.floating import Surroundings
from app.ui.motion import Ticker
from app.ui.theme import Theme


@dataclass(frozen=True, slots=True)
class Look:
    """The theme, what the windows stand on, and the clock of their movements. `rings`: show where it acts."""

    theme: Theme
    around: Surroundings
    ticker: Ticker
    name: str = "Wisp"
    rings: bool = True
