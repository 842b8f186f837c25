"""Every test of the presence runs on a real X server, never offscreen."""

from __future__ import annotations

import pytest

from app.desktop.x11.virtual import VirtualDesktop


@pytest.fixture(scope="session")
def qapp_args(desktop: VirtualDesktop) -> list[str]:
    """Asked for by pytest-qt before it makes the application: the private desktop is up by then."""
    return ["wisp-tests"]
