"""The settings of small apps."""

from __future__ import annotations

from app.settings.catalog import Setting

SURFACE_ENGINE = Setting(
    "surfaces.engine",
    "",
    "What shows the apps that Wisp made: webengine (the small window engine) or chromium. Empty: the small window "
    "engine if it is installed, else Chromium.",
    choices=("", "webengine", "chromium"),
)
SURFACE_CALLS = Setting(
    "surfaces.calls_an_hour", 60, "How often an app that Wisp made may ask Wisp for something.", minimum=0, maximum=1000
)
SURFACE_TOKENS = Setting(
    "surfaces.tokens_an_hour",
    50_000,
    "Most tokens that the questions of such an app to the model may take, in and out; 0 answers none.",
    minimum=0,
    maximum=10_000_000,
)

ALL = (SURFACE_ENGINE, SURFACE_CALLS, SURFACE_TOKENS)
