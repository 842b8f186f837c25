"""The check of `wisp doctor` for the browser."""

from __future__ import annotations

import importlib.util

from app.base.findings import Finding, note, ok
from app.features.browser.settings import BROWSER_PROGRAM
from app.features.browser.starting import program
from app.settings.store import load


def browser() -> Finding:
    """Report which browser Wisp drives."""
    wanted, package = load()[BROWSER_PROGRAM].strip(), importlib.util.find_spec("playwright")
    found = program(wanted)
    if not found and wanted:
        return note(
            "browser",
            f"there is no {wanted} that is driven",
            "change browser.program in the settings",
            BROWSER_PROGRAM.key,
        )
    if not found:
        return note("browser", "no Chromium, Chrome, Brave or Edge", "install one: sudo apt install chromium")
    if package is None:
        return note("browser", f"{found}, without the package that drives it", 'pip install ".[browser]"')
    return ok("browser", found)
