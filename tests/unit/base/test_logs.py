"""The log can be sent along: nothing secret stands in it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from app.base import logs

_ROOT = Path(__file__).resolve().parents[3]
_PROGRAM = """
import logging
from app.base import logs
logs.to_file()
try:
    raise ValueError("api_key=0123456789abcdef")
except ValueError:
    logging.getLogger("test").exception("With %s", "password: hunter2hunter2")
"""


def test_secrets_are_blanked_out_of_lines_and_tracebacks() -> None:
    subprocess.run([sys.executable, "-c", _PROGRAM], cwd=_ROOT, check=True)
    written = logs.path().read_text(encoding="utf-8")
    assert "With password: [secret left out]" in written
    assert "ValueError: api_key=[secret left out]" in written
    assert "hunter2" not in written
