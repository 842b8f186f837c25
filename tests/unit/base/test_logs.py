"""The log can be sent along: nothing secret stands in it."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from app.base import logs


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    """Logging without any handler, as a program begins."""
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    root.handlers[:] = []
    yield root
    for handler in root.handlers:
        handler.close()
    root.handlers[:] = before
    root.setLevel(level)


def test_secrets_are_blanked_out_of_lines_and_tracebacks(root: logging.Logger) -> None:
    logs.to_file()
    try:
        raise ValueError("api_key=0123456789abcdef")
    except ValueError:
        logging.getLogger("test").exception("With %s", "password: hunter2hunter2")
    written = logs.path().read_text(encoding="utf-8")
    assert "With password: [secret left out]" in written
    assert "ValueError: api_key=[secret left out]" in written
