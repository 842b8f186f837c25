"""`wisp uninstall` leaves nothing of Wisp's behind, and nothing of the person's away."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.base import paths
from app.cli import main
from app.settings import catalog, store
from app.ui.system import autostart


@pytest.fixture
def used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the home of somebody who used Wisp: settings, a key, entries at the log-in, in the menu, in a client."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    for variable, folder in (("CONFIG", ".config"), ("DATA", ".local/share"), ("STATE", ".local/state")):
        monkeypatch.setenv(f"XDG_{variable}_HOME", str(tmp_path / folder))
    (tmp_path / "run").mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.delenv("WISP_DATA_DIR", raising=False)
    store.save(catalog.NAME, "Robin")
    store.keep("anthropic", "sk-mine")
    (paths.data_dir() / "journal.db").write_bytes(b"x" * 1000)
    autostart.entry().write()
    menu = tmp_path / ".local/share/applications"
    menu.mkdir()
    (menu / "wisp-1.desktop").write_text("[Desktop Entry]\nName=Timer\nComment=An app that Wisp made\n")
    (menu / "wisp-like.desktop").write_text("[Desktop Entry]\nName=Another program\n")
    servers = {"wisp": {"command": "wisp", "args": ["mcp", "serve"]}, "mine": {"command": "other"}}
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor/mcp.json").write_text(json.dumps({"mcpServers": servers}))
    (tmp_path / "Wisp").mkdir()
    (tmp_path / "Wisp/letter.txt").write_text("Dear Ada")
    return tmp_path


def _files(home: Path) -> set[str]:
    return {str(file.relative_to(home)) for file in home.rglob("*") if file.is_file()}


def test_all_that_wisp_keeps_goes_and_what_is_the_persons_stays(used: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["uninstall", "--yes"]) == 0
    assert _files(used) == {"Wisp/letter.txt", ".cursor/mcp.json", ".local/share/applications/wisp-like.desktop"}
    assert [*json.loads((used / ".cursor/mcp.json").read_text())["mcpServers"]] == ["mine"]
    assert store.key_of("anthropic") == ""
    told = capsys.readouterr().out
    assert all(word in told for word in ("Timer", "Cursor", "Claude", str(used / ".local/share/wisp")))


def test_without_a_yes_nothing_goes(used: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = _files(used)
    monkeypatch.setattr("builtins.input", lambda _: "no")
    assert main(["uninstall"]) == 1
    assert before <= _files(used)


def test_in_a_folder_that_the_person_chose_only_what_is_wisps_goes(
    used: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = _files(used)
    monkeypatch.setenv("WISP_DATA_DIR", str(tmp_path / "project"))
    store.save(catalog.NAME, "Ada")
    (tmp_path / "project/data").mkdir()
    (tmp_path / "project/data/thesis.txt").write_text("mine")
    assert main(["uninstall", "--yes"]) == 0
    assert _files(used) == before | {"project/data/thesis.txt"}
