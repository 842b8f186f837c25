"""How programs are asked to describe themselves to assistive technology from their start.

GTK 3 and 4 always do; Qt, Chromium (and with it Electron) and GTK 2 only when they are told to.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from app.base import paths

_WORDS = {"QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1", "QT_ACCESSIBILITY": "1", "ACCESSIBILITY_ENABLED": "1"}
_SILENCING = frozenset({"NO_AT_BRIDGE"})
_FLAG = "--force-renderer-accessibility"
_GTK_2_BRIDGE = "gail:atk-bridge"


def describing(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment in which programs tell what they show."""
    told = {name: value for name, value in environment.items() if name not in _SILENCING}
    modules = told.get("GTK_MODULES", "")
    if "atk-bridge" not in modules and any(Path("/usr/lib").glob("*/gtk-2.0/modules/libatk-bridge.so")):
        told["GTK_MODULES"] = f"{modules}:{_GTK_2_BRIDGE}" if modules else _GTK_2_BRIDGE
    return told | _WORDS


def with_flags(command: list[str]) -> list[str]:
    """A command line with what programs of Chromium's kind must be started with."""
    return [command[0], _FLAG, *command[1:]] if needs_flags(command) and _FLAG not in command else command


def needs_flags(command: list[str]) -> bool:
    """Whether it starts a program of Chromium's kind."""
    return bool(command) and Path(command[0]).name in _of_chromiums_kind()


@cache
def _of_chromiums_kind() -> frozenset[str]:
    text = (paths.resources() / "desktop" / "chromium.txt").read_text(encoding="utf-8")
    return frozenset(text.split())
