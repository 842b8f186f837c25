"""The settings of small apps."""

from __future__ import annotations

from app.settings.catalog import Setting

SURFACE_ENGINE = Setting(
    "surfaces.engine",
    "",
    "What opens the apps that Wisp makes. Automatic: the small window engine if it is installed, otherwise "
    "Chromium. A change counts from the next window on.",
    choices=("", "webengine", "chromium"),
)
SURFACE_CALLS = Setting(
    "surfaces.calls_an_hour",
    60,
    "How often each app that Wisp made may ask Wisp for something, such as a web search.",
    minimum=0,
    maximum=1000,
)
SURFACE_TOKENS = Setting(
    "surfaces.tokens_an_hour",
    50_000,
    "How much the model may read and write for each app that Wisp made. 0: apps may not ask the model. A token is "
    "about four characters of text.",
    minimum=0,
    maximum=10_000_000,
)

ALL = (SURFACE_ENGINE, SURFACE_CALLS, SURFACE_TOKENS)
