"""`wisp stop`: what the stop key does, for a key of the desktop's own: every Wisp on this display stops at once."""

from __future__ import annotations

import argparse

from app.desktop.stop_calls import stop_all
from app.options import say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Take no arguments."""


def run(options: argparse.Namespace) -> int:  # noqa: ARG001 - a command takes them
    count = stop_all()
    if not count:
        say("Nothing was stopped: no Wisp works on this display.")
        return 0
    say("All that Wisp did here has stopped. Wisp itself stays open.")
    return 0
