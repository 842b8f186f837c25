"""Logging to one rotating file that a person can send. Nothing goes to the terminal."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from app.base import paths

_SIZE_BYTES = 2_000_000
_KEPT = 3


def path() -> Path:
    return paths.state_dir() / "wisp.log"


def to_file() -> None:
    """Log to `wisp.log` in the state folder. `WISP_LOG=debug` logs more."""
    level = logging.DEBUG if os.environ.get("WISP_LOG", "").lower() == "debug" else logging.INFO
    # Imported late, because it loads sockets and pickle, which the first paint does not need.
    from logging.handlers import RotatingFileHandler

    handler = RotatingFileHandler(path(), maxBytes=_SIZE_BYTES, backupCount=_KEPT, encoding="utf-8", delay=True)
    handler.setFormatter(_Discreet("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=level, handlers=[handler])


class _Discreet(logging.Formatter):
    """A formatter that removes keys, tokens and passwords from every line, also in tracebacks."""

    def format(self, record: logging.LogRecord) -> str:
        from app.base.withheld import without_secrets  # late, so that the first paint does not wait for it

        return without_secrets(super().format(record))
