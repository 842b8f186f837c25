"""Names that the file tools leave alone, wherever they are. Tables; compared without regard to case or invisible signs.

Sources: Anthropic's sandbox-runtime and Codex's protected sub-paths, and what starts by itself on the three systems.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

SECRET: tuple[tuple[str, ...], ...] = (
    (".ssh",),
    (".gnupg",),
    (".netrc",),
    (".pgpass",),
    (".git-credentials",),
    (".aws", "credentials"),
    (".kube", "config"),
    (".docker", "config.json"),
    (".config", "gcloud"),
    (".config", "gh", "hosts.yml"),
    (".password-store",),
    ("etc", "shadow"),
    ("etc", "gshadow"),
    (".local", "share", "keyrings"),
    (".local", "share", "kwalletd"),
    ("library", "keychains"),
    ("microsoft", "credentials"),
    ("microsoft", "protect"),
    ("login data",),
    ("key4.db",),
    ("logins.json",),
    ("cookies.sqlite",),
)
"""Keys and passwords: neither read nor written."""

STARTS_BY_ITSELF: tuple[tuple[str, ...], ...] = (
    (".bashrc",),
    (".bash_profile",),
    (".bash_login",),
    (".bash_logout",),
    (".bash_aliases",),
    (".profile",),
    (".zshrc",),
    (".zshenv",),
    (".zprofile",),
    (".zlogin",),
    (".zlogout",),
    (".kshrc",),
    (".cshrc",),
    (".tcshrc",),
    (".inputrc",),
    (".xinitrc",),
    (".xsession",),
    (".xsessionrc",),
    (".xprofile",),
    (".pam_environment",),
    (".gitconfig",),
    (".gitmodules",),
    (".git",),
    (".mcp.json",),
    (".wisp",),
    (".ripgreprc",),
    (".config", "autostart"),
    (".config", "autostart-scripts"),
    (".config", "systemd"),
    (".config", "environment.d"),
    (".config", "fish"),
    (".config", "git"),
    (".config", "plasma-workspace"),
    (".local", "share", "systemd"),
    (".local", "share", "dbus-1"),
    (".local", "share", "applications"),
    ("library", "launchagents"),
    ("library", "launchdaemons"),
    ("start menu", "programs", "startup"),
    ("windowspowershell",),
)
"""Read but never written: what a shell, git or the desktop runs without being asked."""


def is_secret(parts: Iterable[str]) -> bool:
    return _has(parts, SECRET)


def starts_by_itself(parts: Iterable[str]) -> bool:
    return _has(parts, STARTS_BY_ITSELF)


def _has(parts: Iterable[str], table: tuple[tuple[str, ...], ...]) -> bool:
    seen = tuple(_plain(part) for part in parts)
    return any(seen[at : at + len(rule)] == rule for rule in table for at in range(len(seen) - len(rule) + 1))


def _plain(part: str) -> str:
    visible = "".join(sign for sign in part if unicodedata.category(sign) != "Cf")
    return unicodedata.normalize("NFKC", visible).casefold().rstrip(". ") or visible
