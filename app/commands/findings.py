"""What `wisp doctor` finds, and its checks of what reaches beyond the screen."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from enum import StrEnum

from app.base import paths
from app.base.values import dataclass
from app.features.apps.chromium import program
from app.features.apps.webengine import installed_engines, why_unusable
from app.features.schedule import timer
from app.features.web.search import WebSearch
from app.services import fact_search
from app.services.notifications import DesktopNotifier, DeviceNotifier
from app.services.themes import look_problems
from app.settings.catalog import NTFY_TOPIC, SEARCHERS, SEARXNG
from app.settings.providers import with_keys
from app.settings.store import key_of, load


class CheckVerdict(StrEnum):
    OK = "ok"
    NOTE = "note"
    """Works without it; the fix says what it would add."""
    FAIL = "fail"
    """The main job cannot work."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A result of a check. `fix` is the one thing to do about it; "" if nothing needs to be done. `opens` is where
    that is done: the key of a setting, `key.` and a provider, or the path of a file.
    """

    name: str
    verdict: CheckVerdict
    detail: str
    fix: str = ""
    opens: str = ""

    def as_json(self) -> dict[str, str]:
        return {key: str(value) for key, value in asdict(self).items()}


def ok(name: str, detail: str) -> Finding:
    return Finding(name, CheckVerdict.OK, detail)


def note(name: str, detail: str, fix: str, opens: str = "") -> Finding:
    return Finding(name, CheckVerdict.NOTE, detail, fix, opens)


def fail(name: str, detail: str, fix: str) -> Finding:
    return Finding(name, CheckVerdict.FAIL, detail, fix)


def settings() -> Finding:
    """Report what Wisp ignores of settings.toml: unknown names, bad values, or all of it if unreadable.

    Bad values of environment variables are reported, too.
    """
    name = "Settings"
    problems = load().problems
    if problems:
        file = str(paths.config_dir() / "settings.toml")
        return note(name, " ".join(problems), f"Mend {file}.", file)
    return ok(name, "all that is set counts")


def looks() -> Finding:
    """Report what is not shown of the person's own theme file, colours, fonts and background."""
    name, problems, folder = "Looks", look_problems(), paths.config_dir()
    if problems:
        return note(name, " ".join(problems), f"Mend theme.toml or settings.toml in {folder}.", str(folder))
    return ok(name, "shown as they are set")


def keys() -> Finding:
    """Report which vendors of models have a key."""
    names = [row.maker for row in with_keys() if key_of(row.id)]
    if not names:
        first = with_keys()[0]
        return note(
            "Keys", "none: the offline provider answers", f"Set {first.key} to use {first.maker}.", f"key.{first.id}"
        )
    return ok("Keys", ", ".join(names))


def search() -> Finding:
    """Report which search engines are set up, without asking any of them."""
    name = "Web search"
    engines, problems = WebSearch(load, key_of).engines()
    if problems:
        return note(name, " ".join(problems), "Mend web.search in the settings, or leave it empty.", SEARCHERS.key)
    if not engines:
        return note(
            name,
            "no search engine is set up",
            f"Put the address of a SearXNG into {SEARXNG.key}, or a key.",
            SEARXNG.key,
        )
    return ok(name, ", ".join(row.label for row, _ in engines))


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


def memory() -> Finding:
    """Report whether facts are found by their meaning, too."""
    name = "Memory"
    if fact_search.is_installed() and (why := fact_search.why_unusable()):
        told = f"facts are found by their words alone, because the extra for their meaning does not load ({why})"
        return note(name, told, 'Set it up again: pip install --force-reinstall ".[memory]"')
    if fact_search.is_installed():
        return ok(name, "facts are found by their words and by their meaning")
    return note(name, "facts are found by their words", f'For more ({fact_search.SIZE_MB} MB): pip install ".[memory]"')


def schedules() -> Finding:
    """Report whether scheduled tasks run while Wisp is closed."""
    name = "Schedules"
    if why := timer.why_missing():
        return note(name, why.partition(":")[0], "Let a cron of the system call “wisp run-due” every few minutes.")
    return ok(name, "a timer of the session starts what is due")


def notifications() -> Finding:
    """Report which program shows notifications, and to which topic of ntfy they are sent, without sending one."""
    name = "Notifications"
    server = asyncio.run(_notification_server())
    devices = DeviceNotifier(load, key_of)
    if problem := devices.why_unusable():
        return note(name, problem, f"Mend {NTFY_TOPIC.key} in the settings, or leave it empty.", NTFY_TOPIC.key)
    away = f"to {devices.topic} after a question, reminders without one" if devices.topic else ""
    if not server:
        told = ", ".join(filter(None, ("no program here shows notifications", away)))
        return note(name, told, "Install one, for instance: sudo apt install dunst")
    return ok(name, ", ".join(filter(None, (server, away))))


async def _notification_server() -> str:
    notifier = DesktopNotifier()
    try:
        return await notifier.server()
    finally:
        await notifier.close()
