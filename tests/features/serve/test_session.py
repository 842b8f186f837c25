"""The person's graphical session, where a client starts the server without its variables."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.features.serve.session import adopt_session

_KEPT = "DISPLAY=:7\nXAUTHORITY=/run/user/7/xauth\nXDG_CURRENT_DESKTOP=sway\nSECRET=x\nPATH=/other\n"


@pytest.mark.parametrize(("kept", "display"), [(_KEPT, ":7"), ("PATH=/other\n", None)])
def test_what_systemd_keeps_of_the_session_is_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: str, display: str | None
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    asked = tmp_path / "systemctl"
    asked.write_text(f"#!/bin/sh\ncat <<'END'\n{kept}END\n")
    asked.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    adopt_session(environment)
    assert environment.get("DISPLAY") == display
    assert ("XAUTHORITY" in environment) == (display is not None)
    assert "SECRET" not in environment
    assert environment["PATH"].startswith(str(tmp_path))
