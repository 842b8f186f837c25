"""The keys of Wisp in the configuration of a compositor: what is written, once, and what is left alone."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from app.cli import main
from app.commands import keys
from app.settings import catalog, store

_SWAY = "bindsym Ctrl+Alt+space exec wisp presence toggle\nbindsym Ctrl+Alt+Escape exec wisp stop\n"


@pytest.fixture(autouse=True)
def reloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """Make a world in which `wisp` is installed. Returns the commands that made a compositor reload."""
    called: list[tuple[str, ...]] = []

    def run(command: tuple[str, ...], **_how: object) -> subprocess.CompletedProcess[bytes]:
        if "get_version" in command:
            raise FileNotFoundError("swaymsg")
        called.append(tuple(command))
        return subprocess.CompletedProcess(command, 0)

    for name in ("SWAYSOCK", "HYPRLAND_INSTANCE_SIGNATURE", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(keys, "_own", lambda: "wisp")
    monkeypatch.setattr(keys.subprocess, "run", run)
    return called


@pytest.fixture
def sway(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SWAYSOCK", "/run/sway")
    return tmp_path / "config" / "sway" / "config"


def test_the_lines_are_written_once_and_what_stood_there_stays(sway: Path, reloaded: list[tuple[str, ...]]) -> None:
    sway.parent.mkdir(parents=True)
    sway.write_text("set $mod Mod4\nbindsym $mod+x exec foot", encoding="utf-8")
    assert [main(["keys", "--yes"]), main(["keys", "--yes"])] == [0, 0]
    head = "set $mod Mod4\nbindsym $mod+x exec foot\n# Wisp: the summon key and the stop key\n"
    assert (sway.read_text(encoding="utf-8"), reloaded) == (head + _SWAY, [("swaymsg", "reload")])


def test_another_key_in_the_settings_takes_the_place_of_the_old_one(sway: Path) -> None:
    main(["keys", "--yes"])
    store.save(catalog.SUMMON_KEY, "super+?")
    main(["keys", "--yes"])
    assert sway.read_text(encoding="utf-8").splitlines()[1:] == [
        "bindsym Mod4+U003F exec wisp presence toggle",
        "bindsym Ctrl+Alt+Escape exec wisp stop",
    ]


def test_without_a_yes_nothing_is_written(sway: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (main(["keys"]), sway.exists()) == (1, False)
    assert capsys.readouterr().out == f"{_SWAY}Nothing was changed. Add --yes to do it without a question.\n"


def test_a_link_to_the_file_stays_a_link(sway: Path, tmp_path: Path) -> None:
    sway.parent.mkdir(parents=True)
    (tmp_path / "dotfile").touch()
    sway.symlink_to(tmp_path / "dotfile")
    main(["keys", "--yes"])
    assert (sway.is_symlink(), _SWAY in (tmp_path / "dotfile").read_text(encoding="utf-8")) == (True, True)


def test_a_file_of_ones_own_goes_on_with_the_systems(
    sway: Path, monkeypatch: pytest.MonkeyPatch, reloaded: list[tuple[str, ...]]
) -> None:
    told = b'{"loaded_config_file_name": "/etc/sway/config"}'
    monkeypatch.setattr(
        keys.subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 0, stdout=told)
    )
    main(["keys", "--yes"])
    assert (sway.read_text(encoding="utf-8").splitlines()[0], reloaded) == ("include /etc/sway/config", [])


def test_hyprland_writes_them_in_its_own_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HYPRLAND_INSTANCE_SIGNATURE", "one")
    store.save(catalog.STOP_KEY, "f9")
    assert main(["keys", "--yes"]) == 0
    assert (tmp_path / "config" / "hypr" / "hyprland.conf").read_text(encoding="utf-8").splitlines()[1:] == [
        "bind = CTRL ALT, space, exec, wisp presence toggle",
        "bind = , F9, exec, wisp stop",
    ]


def test_elsewhere_it_says_what_to_bind_by_hand(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["keys"]) == 1
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-1")
    assert main(["keys"]) == 1
    no_session, by_hand = capsys.readouterr().err.splitlines()
    assert "no Wayland session" in no_session
    assert "ctrl+alt+space to “wisp presence toggle” and ctrl+alt+escape to “wisp stop”" in by_hand
