"""`wisp doctor`: tries everything the main job needs, for real; each failure comes with one fix.

Exit code 1 if the main job cannot work.
"""

from __future__ import annotations

import argparse
import json
import platform

from app.base.errors import NeedsPerson
from app.commands import checks
from app.commands.checks import CheckVerdict, Finding, fail, note
from app.commands.options import on_a_display

_IS_LINUX = platform.system() == "Linux"
_PERMISSIONS = "Allow Wisp to record the screen and to control the computer if captures are black or clicks do nothing."
_MARKS = {CheckVerdict.OK: "ok  ", CheckVerdict.NOTE: "note", CheckVerdict.FAIL: "FAIL"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="findings as one JSON array")


def run(options: argparse.Namespace) -> int:
    findings = examine()
    if options.json:
        print(json.dumps([finding.as_json() for finding in findings], indent=1))
    else:
        for finding in findings:
            print(_line(finding))
    return int(any(finding.verdict is CheckVerdict.FAIL for finding in findings))


def examine() -> list[Finding]:
    """All findings, in the order a person would mend them."""
    seen = _x11() if _IS_LINUX else [note("Screen and input", "not tried on this system", _PERMISSIONS)]
    libraries = [checks.qt_and_python(), checks.xlib_clash()]
    workers = [checks.ocr(), checks.documents(), checks.watchdog()]
    return [*libraries, *seen, checks.sandbox(), *workers, checks.keys(), checks.reachable()]


def _x11() -> list[Finding]:
    try:
        with on_a_display() as own:
            tried = (
                checks.capture,
                checks.pointer,
                checks.windows,
                checks.accessibility,
                checks.hotkeys,
                checks.fonts,
            )
            return [checks.display(own.private), *(check() for check in tried)]
    except NeedsPerson as error:
        return [fail("Display", "There is none, and a private desktop cannot start.", str(error))]


def _line(finding: Finding) -> str:
    line = f"{_MARKS[finding.verdict]}  {finding.name}: {finding.detail}"
    return f"{line}\n      → {finding.fix}" if finding.fix else line
