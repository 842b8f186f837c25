"""`wisp theme`, and what `wisp undo` takes back of the looks, the name and the desktop's picture."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app import cli
from app.base import paths
from app.features.looks.wallpaper import DesktopWallpaper
from app.services.themes import Appearance
from app.settings import store
from app.settings.catalog import NAME, PALETTE, SCHEME, THEME


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WISP_DATA_DIR", str(tmp_path / "wisp"))
    monkeypatch.setenv("XDG_CURRENT_DESKTOP", "MATE")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    (tmp_path / "shown").write_text("'/home/me/sea.jpg'")
    program = tmp_path / "gsettings"
    program.write_text(f"""#!/bin/sh
[ "$1" = get ] && exec cat "{tmp_path}/shown"
printf %s "$4" > "{tmp_path}/shown"
""")
    program.chmod(0o755)


def _says(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert cli.main([*words]) == 0
    return capsys.readouterr().out


def test_the_list_marks_the_theme_and_the_scheme_in_use_and_says_what_each_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _says(capsys, "theme", "set", "warm")
    assert "Warm Earthy (dark)" in _says(capsys, "theme", "set", "dark")
    lines = _says(capsys, "theme").splitlines()
    assert [line.split()[1] for line in lines if line.startswith("* ")] == ["warm-earthy", "dark"]
    assert len({line.split(maxsplit=2)[-1] for line in lines}) == len(THEME.choices) + len(SCHEME.choices)


@pytest.mark.parametrize("words", [["theme"], ["theme", "list"], ["theme", "set", "memphis"]])
def test_errors_of_the_persons_own_theme_file_are_named(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    (paths.config_dir() / "theme.toml").write_text('[colors]\naccent = "red"\n')
    assert cli.main(words) == 0
    assert capsys.readouterr().err == "wisp: theme.toml: colors.accent: 'red' is not a colour like #1A2B3C.\n"


def test_a_theme_is_chosen_and_reset_and_each_is_undone(capsys: pytest.CaptureFixture[str]) -> None:
    store.save(PALETTE, "accent: #B3541E")
    assert "Cyberpunk" in _says(capsys, "theme", "set", "dark", "cyberpunk")
    assert (store.load()[THEME], store.load()[SCHEME], store.load()[PALETTE]) == ("cyberpunk", "dark", "")
    _says(capsys, "theme", "reset")
    assert (store.load()[THEME], store.load()[SCHEME]) == ("plain", "system")
    assert "Cyberpunk" in _says(capsys, "undo")
    _says(capsys, "undo")
    assert (store.load()[THEME], store.load()[PALETTE]) == ("plain", "accent: #B3541E")


def test_a_theme_that_is_none_is_bad_usage_and_all_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["theme", "set", "vaporwave"])
    assert (ended.value.code, "- solarpunk:" in capsys.readouterr().err) == (2, True)


def test_the_picture_of_the_desktop_is_taken_back_by_undo_and_by_reset(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown, picture = tmp_path / "shown", tmp_path / "hill.png"
    for words in (["undo"], ["theme", "reset"], ["undo", "--turn", "t1"]):
        DesktopWallpaper().set(picture, "t1/c1")
        assert str(picture) in shown.read_text()
        assert "picture behind all windows" in _says(capsys, "undo", "--list")
        assert "MATE shows again" in _says(capsys, *words)
        assert shown.read_text() == "'/home/me/sea.jpg'"


def test_the_newest_of_theme_name_and_picture_is_undone_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _says(capsys, "theme", "set", "memphis")
    DesktopWallpaper().set(tmp_path / "hill.png")
    Appearance().choose({NAME: "Robin"}, "t1")
    assert "Robin" in _says(capsys, "undo", "--list")
    told = [_says(capsys, "undo") for _ in range(3)]
    assert ["name" in told[0], "MATE" in told[1], "theme" in told[2]] == [True, True, True]
    assert (store.load()[NAME], store.load()[THEME]) == (NAME.default, THEME.default)


def test_undo_takes_back_a_reset_whole_before_what_was_there_before_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown, picture = tmp_path / "shown", tmp_path / "hill.png"
    Appearance().choose({NAME: "Robin"}, "t1")
    DesktopWallpaper().set(picture)
    _says(capsys, "theme", "reset")
    assert shown.read_text() == "'/home/me/sea.jpg'"
    _says(capsys, "undo")
    assert (str(picture) in shown.read_text(), store.load()[NAME]) == (True, "Robin")
    _says(capsys, "theme", "set", "memphis")
    _says(capsys, "theme", "reset")
    _says(capsys, "undo")
    assert (str(picture) in shown.read_text(), store.load()[THEME]) == (True, "memphis")
    for _ in range(3):
        _says(capsys, "undo")
    assert (shown.read_text(), store.load()[NAME]) == ("'/home/me/sea.jpg'", NAME.default)


def test_taking_back_the_name_leaves_a_later_theme() -> None:
    Appearance().choose({NAME: "Robin"}, "t1")
    Appearance().choose({THEME: "memphis"}, "t2")
    assert len(Appearance().take_back("t1")) == 1
    assert (store.load()[NAME], store.load()[THEME]) == (NAME.default, "memphis")
    Appearance().choose({NAME: "Ada"}, "t3")
    Appearance().reset("t4")
    assert store.load()[NAME] == "Ada"
