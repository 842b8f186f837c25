"""Which backend serves this machine: the one place that asks what system this is."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from app.desktop.api import Curtain
from app.desktop.backend import Backend
from app.desktop.desk import STOP_KEY, Desktop
from app.desktop.stop import StopFlag


def open_desktop(
    *,
    curtain: Curtain | None = None,
    dry_run: bool = False,
    environment: Mapping[str, str] | None = None,
    stop_key: str = STOP_KEY,
) -> Desktop:
    """The desktop of this session; `dry_run` gives one on which nothing really happens.

    `environment` (default: this process's) says which display, and is what started programs get. `stop_key` is the
    chord that stops everything at once. Raises NeedsPerson where there is no display.
    """
    if dry_run:
        from app.desktop.headless import HeadlessDesktop

        return Desktop(HeadlessDesktop().backend, curtain)
    environment = dict(os.environ if environment is None else environment)

    def make(stop: StopFlag) -> Backend:
        return _native(environment, stop)

    return Desktop(make, curtain, stop_key=stop_key)


if sys.platform == "win32":

    def _native(environment: Mapping[str, str], stop: StopFlag) -> Backend:  # noqa: ARG001
        from app.desktop.windows.backend import make_backend

        return make_backend()

elif sys.platform == "darwin":

    def _native(environment: Mapping[str, str], stop: StopFlag) -> Backend:  # noqa: ARG001
        from app.desktop.macos.backend import make_backend

        return make_backend()

else:

    def _native(environment: Mapping[str, str], stop: StopFlag) -> Backend:
        from app.desktop.x11.backend import make_backend

        return make_backend(environment, stop)
