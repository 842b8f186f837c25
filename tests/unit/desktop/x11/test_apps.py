"""A bare name starts only what opens windows."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.base.errors import ToolFailed
from app.desktop.backends import App
from app.desktop.programs import choose
from app.desktop.x11.apps import DesktopEntries, windowed_program

_PROGRAM = b"\x7fELF...libc.so.6.libgtk-3.so.0..."


def _put(folder: Path, name: str, content: bytes, mode: int = 0o755) -> Path:
    path = folder / name
    path.write_bytes(content)
    path.chmod(mode)
    return path


def test_a_program_with_a_toolkit_is_found_by_its_bare_name(tmp_path: Path) -> None:
    path = _put(tmp_path, "drawer", _PROGRAM)
    assert windowed_program("drawer", str(tmp_path)) == path


@pytest.mark.parametrize(
    ("content", "mode"),
    [
        (b"\x7fELF...libc.so.6...", 0o755),
        (b"\x7fELF...libX11.so.6...", 0o755),
        (b"#!/bin/sh\n# libgtk-3.so.0\nrm -rf ~\n", 0o755),
        (_PROGRAM, 0o4755),
        (_PROGRAM, 0o777),
        (_PROGRAM, 0o644),
    ],
    ids=["no windows", "no toolkit", "a script", "another's rights", "anybody's to change", "not to be run"],
)
def test_anything_else_is_not(tmp_path: Path, content: bytes, mode: int) -> None:
    _put(tmp_path, "drawer", content, mode)
    assert windowed_program("drawer", str(tmp_path)) is None


@pytest.mark.parametrize("name", ["", "drawer --erase", "../drawer", "/tmp/drawer", "drawer;ls", "-drawer", "missing"])
def test_no_words_paths_or_options(tmp_path: Path, name: str) -> None:
    _put(tmp_path, "drawer", _PROGRAM)
    assert windowed_program(name, str(tmp_path)) is None


def test_a_folder_that_depends_on_where_one_stands_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _put(tmp_path, "drawer", _PROGRAM)
    monkeypatch.chdir(tmp_path)
    assert windowed_program("drawer", ".") is None


def test_what_is_in_the_menu_comes_before_a_bare_command() -> None:
    paint = App("/usr/share/applications/paint.desktop", "Paint")
    bare = App("command:/usr/bin/drawer", "drawer", is_offered=False)
    assert choose("Paint", (paint,), lambda _name: bare) == paint
    assert choose("drawer", (paint,), lambda name: bare if name == "drawer" else None) == bare


def test_terminal_programs_and_those_nobody_opens_are_not_offered_but_found() -> None:
    apps = (App("paint.desktop", "Paint"), App("vim.desktop", "Vim", is_offered=False))
    with pytest.raises(ToolFailed, match=r"Installed are: Paint\.$"):
        choose("photoshop", apps)
    assert choose("vim", apps).name == "Vim"


def test_what_a_program_is_started_from_is_told_by_its_path(tmp_path: Path) -> None:
    path = _put(tmp_path, "drawer", _PROGRAM)
    entries = tmp_path / "share" / "applications"
    entries.mkdir(parents=True)
    (entries / "draw.desktop").write_text("[Desktop Entry]\nType=Application\nName=Draw\nExec=drawer /w/a.py %U\n")
    apps = DesktopEntries({"PATH": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "share"), "XDG_DATA_DIRS": "/none"})
    bare = apps.command("drawer")
    assert bare
    assert apps.command_line(bare) == (str(path),)
    assert [apps.command_line(app) for app in apps.installed()] == [(str(path), "/w/a.py")]


@pytest.mark.parametrize(
    ("lists", "told"),
    [
        ({}, ()),
        ({"config/mimeapps.list": "inode/directory=mine.desktop;other.desktop;"}, ("mine.desktop", "other.desktop")),
        (
            {"data/applications/mimeapps.list": "inode/directory=theirs.desktop", "config/mimeapps.list": ""},
            ("theirs.desktop",),
        ),
        (
            {
                "config/mimeapps.list": "inode/directory=mine.desktop",
                "config/xfce-mimeapps.list": "inode/directory=xfce.desktop",
                "etc/mimeapps.list": "inode/directory=theirs.desktop",
            },
            ("xfce.desktop", "mine.desktop", "theirs.desktop"),
        ),
        ({"config/mimeapps.list": "text/plain=mine.desktop"}, ()),
        ({"config/mimeapps.list": "no list at all"}, ()),
    ],
)
def test_the_persons_own_programs_are_read_from_their_lists(
    tmp_path: Path, lists: dict[str, str], told: tuple[str, ...]
) -> None:
    for name, lines in lists.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"[Default Applications]\n{lines}\n", encoding="utf-8")
    environment = {
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "XDG_CONFIG_DIRS": str(tmp_path / "etc"),
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "XDG_DATA_DIRS": str(tmp_path / "shared"),
        "XDG_CURRENT_DESKTOP": "XFCE",
    }
    assert DesktopEntries(environment).preferred("inode/directory") == told


def test_the_terminal_of_the_system_is_the_one_that_its_command_leads_to(tmp_path: Path) -> None:
    for name in ("real-terminal.wrapper", "other"):
        (tmp_path / name).write_text("#!/bin/sh\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "x-terminal-emulator").symlink_to(tmp_path / "real-terminal.wrapper")
    entries = DesktopEntries({"PATH": str(tmp_path), "XDG_DATA_DIRS": str(tmp_path)})
    assert entries.preferred("x-terminal-emulator") == ("real-terminal",)
    assert entries.preferred("x-no-such-command") == ()


def test_an_entry_that_menus_do_not_show_says_what_a_viewer_is_and_is_not_offered(tmp_path: Path) -> None:
    folder = tmp_path / "applications"
    folder.mkdir()
    for name, more in (
        ("shown", ""),
        ("viewer", "Categories=Graphics;Viewer;\nNoDisplay=true"),
        ("hidden", "NoDisplay=true"),
    ):
        text = f"[Desktop Entry]\nType=Application\nName={name}\nExec={name}\n{more}\n"
        (folder / f"{name}.desktop").write_text(text, encoding="utf-8")
    entries = DesktopEntries({"XDG_DATA_HOME": str(tmp_path), "XDG_DATA_DIRS": "/none"})
    assert [app.name for app in entries.installed()] == ["shown"]
    assert [app.name for app in entries.described()] == ["shown", "viewer"]


def test_an_app_that_wisp_made_is_not_taken_for_the_program_of_the_same_name(tmp_path: Path) -> None:
    folder = tmp_path / "applications"
    folder.mkdir()
    for name, command in (("real", "real"), ("wisp-app-vault", "wisp apps open app-vault")):
        made = "StartupWMClass=wisp-surface\n" if command != "real" else ""
        text = f"[Desktop Entry]\nType=Application\nName=Vault\nExec={command}\n{made}"
        (folder / f"{name}.desktop").write_text(text, encoding="utf-8")
    entries = DesktopEntries({"XDG_DATA_HOME": str(tmp_path), "XDG_DATA_DIRS": "/none"})
    assert [Path(app.ref).stem for app in entries.described()] == ["real"]
