"""`wisp` alone: the presence on the current display, or on a private one where there is none."""

from __future__ import annotations

import argparse

from app import wiring
from app.base import logs
from app.commands import options as shared
from app.commands.display import on_a_display


def add_arguments(parser: argparse.ArgumentParser) -> None:
    shared.add_model_options(parser)


def run(options: argparse.Namespace) -> int:
    logs.to_file()
    settings = shared.settings_of(options)
    with on_a_display() as own:
        own.announce()
        from app.ui import application

        return application.run(lambda curtain: wiring.assemble(settings, curtain=curtain), settings)
