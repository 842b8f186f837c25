"""What a command finds in its environment: the person's variables without anything that looks like a secret."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

RUN_MARK = "WISP_RUN_ID"
"""Set in every command's environment, so that children that left its process group are still known as its own."""

_SECRET_WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "COOKIE")
_SECRET_VALUE = re.compile(
    r"://[^/\s:@]{0,200}:[^/\s@]{1,200}@"  # an address with a password in it
    r"|\b(?:sk|pk|rk)[-_][\w-]{16}|\bgh[pousr]_\w{16}|\bgithub_pat_\w{16}|\bglpat-[\w-]{16}|\bxox[abeoprs]-[\w-]{10}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[\w-]{30}|\beyJ[\w-]{10,2000}\.eyJ|-----BEGIN [A-Z ]{0,30}PRIVATE KEY"
)
"""How the keys of well-known services look, whatever the variable is called."""
_OURS = "WISP_"
_SHELLS = ("bash", "zsh", "dash", "ksh", "mksh", "sh")


def for_command(run_id: str, *, pty: bool, environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables of a command. Pagers are off, because nobody sits at them."""
    found = os.environ if environment is None else environment
    kept = {name: value for name, value in found.items() if not (_is_secret(name) or _SECRET_VALUE.search(value))}
    terminal = "xterm-256color" if pty else "dumb"
    return {**kept, RUN_MARK: run_id, "TERM": terminal, "PAGER": "cat", "GIT_PAGER": "cat"}


def shell(environment: Mapping[str, str] | None = None) -> Sequence[str]:
    """The person's shell, ready for a command to follow; where theirs speaks another language, one that models know."""
    if os.name == "nt":
        return ("powershell.exe", "-NoProfile", "-NonInteractive", "-Command")
    own = Path((os.environ if environment is None else environment).get("SHELL", ""))
    places = (own, Path("/bin/bash"), Path("/usr/bin/bash"), Path("/bin/sh"))
    found = next((path for path in places if path.name in _SHELLS and os.access(path, os.X_OK)), Path("/bin/sh"))
    return (str(found), "-c")


def _is_secret(name: str) -> bool:
    upper = name.upper()
    return upper.startswith(_OURS) or any(word in upper.split("_") or upper.endswith(word) for word in _SECRET_WORDS)
