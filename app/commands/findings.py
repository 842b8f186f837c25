"""What `wisp doctor` finds, and its checks of what reaches beyond the screen."""

from __future__ import annotations

import asyncio

from app.base import paths
from app.base.findings import Finding, note, ok
from app.features import loading
from app.services.notifications import DesktopNotifier, DeviceNotifier
from app.services.themes import look_problems
from app.settings.catalog import FEATURES_OFF, NTFY_TOPIC, listed
from app.settings.providers import with_keys
from app.settings.store import key_of, load


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


def abilities() -> Finding:
    """Report which features are switched off, do not work, or wait for a yes of the person."""
    name, loaded = "Abilities", [feature.name for feature in loading.features()]
    if problems := loading.problems():
        told = "; ".join(f"{one} does not work ({why})" for one, why in problems.items())
        return note(name, told, "The rest works without it. wisp features off NAME leaves it out.")
    if unknown := [
        one for one in listed(load()[FEATURES_OFF]) if one not in {own.name for own in loading.everything()}
    ]:
        return note(name, f"features.off names none of them: {', '.join(unknown)}", "wisp features lists them.")
    if waiting := [package.name for package in loading.waiting()]:
        return note(name, f"not agreed to: {', '.join(waiting)}", f"wisp features allow {waiting[0]}")
    return ok(name, ", ".join(loaded) or "all are switched off")


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
