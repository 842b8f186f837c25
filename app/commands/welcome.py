"""`wisp welcome`: show the welcome, also to a person who has seen it. A running Wisp shows it itself."""

from __future__ import annotations

import argparse

from app import options as shared
from app.commands import presence


def add_arguments(parser: argparse.ArgumentParser) -> None:
    shared.add_model_options(parser)


def run(options: argparse.Namespace) -> int:
    return presence.start(options, welcome=True)
