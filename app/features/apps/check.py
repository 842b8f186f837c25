"""The check of `wisp doctor` for small apps."""

from __future__ import annotations

from app.base.findings import Finding, note, ok
from app.features.apps.chromium import program
from app.features.apps.webengine import installed_engines, why_unusable


def small_apps() -> Finding:
    """Report what shows the apps that Wisp makes."""
    name = "Small apps"
    engines = installed_engines()
    if engines[:1] == ("webengine",):
        if not (why := why_unusable()):
            return ok(name, "shown by the small window engine")
        instead = f"; {program()} shows them" if len(engines) > 1 else ""
        return note(name, f"the small window engine does not load ({why}){instead}", "./scripts/setup surfaces")
    if engines:
        return ok(name, f"shown by {program()}")
    return note(name, "nothing here shows them", "Wisp's page Apps has a line that gets the small window engine.")
