"""A sheet in LibreOffice Calc; what its cells hold is asked for from outside. Run by the system's Python."""

import ctypes
import os
import signal
import subprocess
import tempfile
import time

import uno
from com.sun.star.connection import NoConnectException

_PIPE = f"world{os.getpid()}"
_CELLS = [f"{column}{row}" for column in "ABC" for row in range(1, 8)]


def tell(*words: object) -> None:
    print(*words, flush=True)


def ends_with_us() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def started(profile: str) -> subprocess.Popen[bytes]:
    command = (
        "/usr/lib/libreoffice/program/soffice.bin", f"-env:UserInstallation=file://{profile}", "--norestore",
        "--nologo", "--nofirststartwizard", "--calc", f"--accept=pipe,name={_PIPE};urp;",
    )  # fmt: skip
    return subprocess.Popen(command, preexec_fn=ends_with_us)  # noqa: PLW1509 - one prctl call, no Python locks taken


def connected(profile: str, limit_s: float = 110.0) -> object:
    """The office, started again where it ended by itself: on a busy machine its first start does so."""
    here = uno.getComponentContext()
    resolver = here.ServiceManager.createInstanceWithContext("com.sun.star.bridge.UnoUrlResolver", here)
    limit, office = time.monotonic() + limit_s, started(profile)
    while True:
        try:
            return resolver.resolve(f"uno:pipe,name={_PIPE};urp;StarOffice.ComponentContext")
        except NoConnectException:
            if time.monotonic() > limit:
                raise
            if office.poll() is not None:
                office = started(profile)
            time.sleep(0.2)


def opened(desktop: object, limit_s: float = 60.0) -> object:
    """The sheet that the office opened by itself.

    One that is loaded from here is made in a thread of its own; its menus then ask for the clipboard there, miss the
    answer, and wait 3 s for each of their items.
    """
    limit = time.monotonic() + limit_s
    while (document := desktop.getCurrentComponent()) is None or document.getCurrentController() is None:
        if time.monotonic() > limit:
            raise SystemExit("Calc has opened no sheet.")
        time.sleep(0.1)
    return document


def watch(document: object) -> None:
    sheet, view = document.Sheets.getByIndex(0), document.getCurrentController()
    held, place = dict.fromkeys(_CELLS, ""), ""
    while True:
        for cell in _CELLS:
            now = sheet.getCellRangeByName(cell).getFormula()
            if now != held[cell]:
                held[cell] = now
                tell(cell, now)
        at = view.getSelection().AbsoluteName.rpartition(".")[2].replace("$", "")
        if at != place:
            place = at
            tell("at", place)
        time.sleep(0.1)


with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
    context = connected(folder)
    desktop = context.ServiceManager.createInstanceWithContext("com.sun.star.frame.Desktop", context)
    document = opened(desktop)
    tell("ready")
    watch(document)
