"""The settings of Wisp's browser."""

from __future__ import annotations

from app.settings.catalog import Setting

BROWSER_PROGRAM = Setting(
    "browser.program",
    "",
    "The browser that pages are opened in: chromium, chrome, brave, edge, or the path of one. Empty: the first found.",
)
BROWSER_VISIBLE = Setting("browser.visible", False, "Show the window of the browser that pages are opened in.")
BROWSER_DOWNLOADS = Setting(
    "browser.downloads", "downloads", "The folder of the workspace that pages' downloads go to."
)
BROWSER_ATTACH = Setting(
    "browser.attach",
    "",
    "The address of your own running browser, such as http://127.0.0.1:9222, or its profile folder. It is used only "
    "after a question, until the task ends.",
)

ALL = (BROWSER_PROGRAM, BROWSER_VISIBLE, BROWSER_DOWNLOADS, BROWSER_ATTACH)
