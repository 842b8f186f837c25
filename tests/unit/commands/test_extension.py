"""The extension of GNOME Shell: it is installed once after a yes, and its removal leaves GNOME as it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.base import resources
from app.cli import main
from app.desktop.wayland.gnome import EXTENSION

_WM = "org.gnome.desktop.wm.keybindings"
_SETTINGS = {
    "org.gnome.shell enabled-extensions": "@as []",
    "org.gnome.shell disabled-extensions": f"['other@here', '{EXTENSION}']",
    "org.gnome.shell disable-user-extensions": "true",
    f"{_WM} cycle-panels": "['<Primary><Alt>Escape']",
    f"{_WM} close": "['<Alt>F4']",
}
_FAKE = """#!/usr/bin/env python3
import json, pathlib, sys
file = pathlib.Path(__file__).with_name("settings.json")
held = json.loads(file.read_text())
what, schema, *rest = sys.argv[1:]
if what == "set":
    held[f"{schema} {rest[0]}"] = rest[1]
    file.write_text(json.dumps(held))
elif what == "get":
    print(held[f"{schema} {rest[0]}"])
else:
    found = [f"{name} {value}" for name, value in held.items() if name.startswith(f"{schema} ")]
    print(*found, sep="\\n")
    sys.exit(not found)
"""


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a GNOME session with a fake `gsettings`. Returns the file with its settings."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "gsettings").write_text(_FAKE, encoding="utf-8")
    (programs / "gsettings").chmod(0o755)
    (programs / "settings.json").write_text(json.dumps(_SETTINGS), encoding="utf-8")
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CURRENT_DESKTOP", "ubuntu:GNOME")
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    return programs / "settings.json"


def _held(settings: Path) -> dict[str, str]:
    held: dict[str, str] = json.loads(settings.read_text(encoding="utf-8"))
    return held


def test_it_is_copied_and_enabled_and_has_its_keys(
    settings: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["extension", "--yes"]) == 0
    copied = tmp_path / "data" / "gnome-shell" / "extensions" / EXTENSION
    for file in resources.path(f"gnome-shell/{EXTENSION}").iterdir():
        assert (copied / file.name).read_bytes() == file.read_bytes()
    assert _held(settings) == _SETTINGS | {
        "org.gnome.shell enabled-extensions": f"['{EXTENSION}']",
        "org.gnome.shell disabled-extensions": "['other@here']",
        "org.gnome.shell disable-user-extensions": "false",
        f"{_WM} cycle-panels": "[]",
    }
    said = capsys.readouterr().out
    assert "<Primary><Alt>Escape will no longer do “cycle-panels”" in said
    assert "Log out and in once" in said
    assert main(["extension", "--yes"]) == 0
    assert capsys.readouterr().out.startswith("The extension is installed.")


def test_removing_it_gives_gnome_its_keys_back(settings: Path, tmp_path: Path) -> None:
    main(["extension", "--yes"])
    assert [main(["extension", "--remove"]), main(["extension", "--remove"])] == [0, 0]
    held = _held(settings)
    assert held[f"{_WM} cycle-panels"] == "['<Primary><Alt>Escape']"
    assert held["org.gnome.shell enabled-extensions"] == "[]"
    assert not (tmp_path / "data" / "gnome-shell" / "extensions" / EXTENSION).exists()


def test_without_a_yes_nothing_changes(settings: Path, tmp_path: Path) -> None:
    assert main(["extension"]) == 1
    assert (_held(settings), (tmp_path / "data" / "gnome-shell").exists()) == (_SETTINGS, False)


def test_it_is_for_gnome_alone(
    settings: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CURRENT_DESKTOP", "KDE")
    assert (main(["extension", "--yes"]), _held(settings)) == (1, _SETTINGS)
    assert "no GNOME session" in capsys.readouterr().err
