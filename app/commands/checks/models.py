"""Who could answer: keys and reachable services. Wisp works without any, so nothing here can fail."""

from __future__ import annotations

import socket

from app.commands.checks.report import Finding, note, ok
from app.settings import secrets

_LOCAL = {"Ollama": 11434, "LM Studio": 1234, "llama.cpp": 8080}
_CLAUDE = "api.anthropic.com"
_LIMIT_S = 0.3


def keys() -> Finding:
    names = [name for name in ("anthropic", "openai") if secrets.key_of(name)]
    if not names:
        return note("Keys", "none: the offline provider answers", "Set ANTHROPIC_API_KEY to use Claude.")
    return ok("Keys", ", ".join(names))


def reachable() -> Finding:
    """Which local model servers answer on this machine, and, where there is a key, Claude."""
    found = [name for name, port in _LOCAL.items() if _answers("127.0.0.1", port)]
    if secrets.key_of("anthropic") and _answers(_CLAUDE, 443):
        found.append("Claude")
    if not found:
        return note("Models", "no model server answers", "Start Ollama or LM Studio, or connect to the network.")
    return ok("Models", ", ".join(found))


def _answers(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=_LIMIT_S):
            return True
    except OSError:
        return False
