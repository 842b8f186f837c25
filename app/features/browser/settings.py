"""The settings of Wisp's browser."""

from __future__ import annotations

from app.settings.catalog import Setting

BROWSER_PROGRAM = Setting(
    "browser.program",
    "",
    "Where Wisp opens web pages: chromium, chrome, brave, edge, or the path of such a browser. Empty: the first "
    "that it finds.",
)
BROWSER_VISIBLE = Setting(
    "browser.visible", False, "Shows the window in which Wisp opens web pages. Off: it works unseen."
)
BROWSER_DOWNLOADS = Setting(
    "browser.downloads",
    "downloads",
    "A folder inside the working folder. What Wisp downloads from web pages goes there.",
)
BROWSER_ATTACH = Setting(
    "browser.attach",
    "",
    "Lets Wisp work in the browser that you use. Start that browser with --remote-debugging-port=9222 "
    "--user-data-dir=FOLDER. Then type http://127.0.0.1:9222 here, or that folder. Wisp asks you first, for "
    "each task.",
)

ALL = (BROWSER_PROGRAM, BROWSER_VISIBLE, BROWSER_DOWNLOADS, BROWSER_ATTACH)
