"""What `wisp doctor` finds, and its checks of what reaches beyond the screen."""

from __future__ import annotations

import asyncio

from app.base import paths
from app.base.findings import Finding, note, ok
from app.base.phrases import Phrase
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
        return note(name, " ".join(problems), Phrase("Correct this in {file}.", {"file": file}), file)
    return ok(name, "Wisp uses every setting as you wrote it.")


def looks() -> Finding:
    """Report what is not shown of the person's own theme file, colours, fonts and background."""
    name, problems, folder = "Theme", look_problems(), paths.config_dir()
    if problems:
        remedy = Phrase("Correct this in theme.toml or settings.toml in {folder}.", {"folder": str(folder)})
        return note(name, " ".join(problems), remedy, str(folder))
    return ok(name, "Wisp looks as you set it.")


def keys() -> Finding:
    """Report which vendors of models have a key."""
    name = "Keys for models"
    names = [row.maker for row in with_keys() if key_of(row.id)]
    if not names:
        first = with_keys()[0]
        return note(
            name,
            "None is saved. Without one, Wisp still understands everyday commands.",
            Phrase(
                "To use {maker}, open Wisp's settings, page Model, and save its key there. (Or set the "
                "variable {key}.)",
                {"maker": first.maker, "key": first.key},
            ),
            f"key.{first.id}",
        )
    return ok(name, Phrase("Wisp has a key for {names}.", {"names": ", ".join(names)}))


def abilities() -> Finding:
    """Report which features are switched off, do not work, or wait for a yes of the person."""
    name, loaded = "Abilities", [feature.name for feature in loading.features()]
    if problems := loading.problems():
        one, why = next(iter(problems.items()))
        told = Phrase("{name} does not work ({why}). The rest does.", {"name": ", ".join(problems), "why": why})
        return note(name, told, Phrase("To start Wisp without it: wisp features off {name}", {"name": one}))
    if unknown := [
        one for one in listed(load()[FEATURES_OFF]) if one not in {own.name for own in loading.everything()}
    ]:
        told = Phrase(
            "In the settings, {names} is listed under “Abilities left out”, but Wisp has no such ability.",
            {"names": ", ".join(unknown)},
        )
        return note(
            name, told, "Correct features.off in the settings. The names are listed by: wisp features", FEATURES_OFF.key
        )
    if waiting := [package.name for package in loading.waiting()]:
        told = Phrase("These packages wait for your yes: {names}.", {"names": ", ".join(waiting)})
        return note(name, told, f"wisp features allow {waiting[0]}")
    if not loaded:
        return ok(name, "All of them are switched off.")
    return ok(name, Phrase("These work: {names}.", {"names": ", ".join(loaded)}))


def notifications() -> Finding:
    """Report which program shows notifications, and to which topic of ntfy they are sent, without sending one."""
    name = "Notifications"
    server = asyncio.run(_notification_server())
    devices = DeviceNotifier(load, key_of)
    if problem := devices.why_unusable():
        remedy = "Correct the setting presence.ntfy, or leave it empty. It looks like https://ntfy.sh/some-topic"
        return note(name, problem, remedy, NTFY_TOPIC.key)
    told = Phrase("{server} shows them.", {"server": server})
    if not server:
        told = Phrase("No program on this computer shows notifications.")
    if devices.topic:
        away = "Wisp sends reminders to {topic}, and anything else if you say yes."
        told = Phrase("{here} {away}", {"here": told, "away": Phrase(away, {"topic": devices.topic})})
    return ok(name, told) if server else note(name, told, "sudo apt install dunst")


async def _notification_server() -> str:
    notifier = DesktopNotifier()
    try:
        return await notifier.server()
    finally:
        await notifier.close()
