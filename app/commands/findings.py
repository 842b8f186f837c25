"""What `wisp doctor` finds, and its checks of what reaches beyond the screen."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from enum import StrEnum

from app.base import paths
from app.base.values import dataclass
from app.services import timer
from app.services.notifications import DesktopNotifier
from app.services.web.search import WebSearch
from app.settings.catalog import SEARXNG
from app.settings.store import key_of, load


class CheckVerdict(StrEnum):
    OK = "ok"
    NOTE = "note"
    """Works without it; the fix says what it would add."""
    FAIL = "fail"
    """The main job cannot work."""


@dataclass(frozen=True, slots=True)
class Finding:
    """`fix` is the one thing to do about it, empty where nothing is to be done."""

    name: str
    verdict: CheckVerdict
    detail: str
    fix: str = ""

    def as_json(self) -> dict[str, str]:
        return {key: str(value) for key, value in asdict(self).items()}


def ok(name: str, detail: str) -> Finding:
    return Finding(name, CheckVerdict.OK, detail)


def note(name: str, detail: str, fix: str) -> Finding:
    return Finding(name, CheckVerdict.NOTE, detail, fix)


def fail(name: str, detail: str, fix: str) -> Finding:
    return Finding(name, CheckVerdict.FAIL, detail, fix)


def settings() -> Finding:
    """Names and values in settings.toml that do not count."""
    name = "Settings"
    problems = load().problems
    if problems:
        return note(name, " ".join(problems), f"Mend {paths.config_dir() / 'settings.toml'}.")
    return ok(name, "all that is set counts")


def search() -> Finding:
    """Which search engines are set up; none of them is asked."""
    name = "Web search"
    engines, problems = WebSearch(load, key_of).engines()
    if problems:
        return note(name, " ".join(problems), "Mend web.search in the settings, or leave it empty.")
    if not engines:
        return note(name, "no search engine is set up", f"Put the address of a SearXNG into {SEARXNG.key}, or a key.")
    return ok(name, ", ".join(row.label for row, _ in engines))


def schedules() -> Finding:
    """Whether what is scheduled runs while Wisp is closed."""
    name = "Schedules"
    if why := timer.why_missing():
        return note(name, why.partition(":")[0], "Let a cron of the system call “wisp run-due” every few minutes.")
    return ok(name, "a timer of the session starts what is due")


def notifications() -> Finding:
    name = "Notifications"
    server = asyncio.run(_notification_server())
    if not server:
        return note(name, "no program here shows notifications", "Install one, for instance: sudo apt install dunst")
    return ok(name, server)


async def _notification_server() -> str:
    notifier = DesktopNotifier()
    try:
        return await notifier.server()
    finally:
        await notifier.close()
