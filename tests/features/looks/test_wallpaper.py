"""The desktop's picture: seen behind the windows of a real X server, and set by each desktop's own means."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path

import pytest
from mss import MSS
from PIL import Image
from Xlib.display import Display

from app.base import paths
from app.base.errors import NeedsPerson, ToolFailed
from app.desktop.x11.virtual import VirtualDesktop
from app.features.looks.wallpaper import DesktopWallpaper

# A program of a desktop: it keeps the last argument of a write, and prints what it keeps.
PROGRAM = """#!/bin/sh
printf '%s\\n' "$*" >> {said}
case "$*" in
  *" -l") echo /backdrop/screen0/monitor0/workspace0/last-image; echo /backdrop/other ;;
  "set "*|*" -s "*|*writeConfig*) for last; do :; done; printf '%s' "$last" > {kept} ;;
  *) cat {kept} 2>/dev/null || printf %s "'file:///old.png'" ;;
esac
"""


def _picture(folder: Path, color: str) -> Path:
    path = folder / f"{color} one.png"
    Image.new("RGB", (40, 30), color).save(path)
    return path


def _desktop(folder: Path, name: str, *programs: str) -> tuple[Mapping[str, str], Path]:
    """An environment with these programs alone, and the file in which they write how they were called."""
    said, kept = folder / "said", folder / "kept"
    for program in programs:
        path = folder / program
        path.write_text(PROGRAM.format(said=said, kept=kept))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return {"XDG_CURRENT_DESKTOP": name, "PATH": f"{folder}:{os.environ['PATH']}"}, said


def _corner(environment: Mapping[str, str]) -> tuple[int, ...]:
    with MSS(display=environment["DISPLAY"]) as screen:
        return screen.grab({"left": 5, "top": 5, "width": 1, "height": 1}).pixel(0, 0)


def test_a_picture_is_seen_on_x11_after_the_connection_has_gone_and_is_taken_back(tmp_path: Path) -> None:
    with VirtualDesktop(320, 240) as desktop:
        environment = {**desktop.environment, "XDG_CURRENT_DESKTOP": ""}
        wallpaper = DesktopWallpaper(environment)
        wallpaper.set(_picture(tmp_path, "lime"))
        (paths.state_dir() / "wallpaper.json").unlink()  # so that this one counts as the person's, as by feh
        assert wallpaper.set(_picture(tmp_path, "red")) == "X11"
        assert _corner(environment) == (255, 0, 0)
        wallpaper.set(_picture(tmp_path, "blue"))
        assert _corner(environment) == (0, 0, 255)
        DesktopWallpaper(environment).restore()
        assert _corner(environment) == (0, 255, 0)
        with pytest.raises(ToolFailed, match="nothing to take back"):
            wallpaper.restore()
        wallpaper.undo_newest(None)
        assert _corner(environment) == (0, 0, 255)
        broken = tmp_path / "broken.png"
        broken.write_bytes(b"no picture")
        with pytest.raises(ToolFailed, match="X11 did not take"):
            wallpaper.set(broken)


def test_a_background_of_x11_that_no_name_tells_is_seen_again_also_below_windows(tmp_path: Path) -> None:
    with VirtualDesktop(320, 240) as desktop:
        environment = {**desktop.environment, "XDG_CURRENT_DESKTOP": ""}
        display = Display(environment["DISPLAY"])
        screen = display.screen()
        screen.root.change_attributes(background_pixel=0x00FF00)  # as by xsetroot -solid
        screen.root.clear_area()
        over = screen.root.create_window(0, 0, 320, 240, 0, screen.root_depth, background_pixel=0xFFFFFF)
        over.map()
        display.sync()
        wallpaper = DesktopWallpaper(environment)
        wallpaper.set(_picture(tmp_path, "red"))
        wallpaper.undo_newest(None)
        over.destroy()
        display.sync()
        assert _corner(environment) == (0, 255, 0)
        named = screen.root.get_full_property(display.intern_atom("_XROOTPMAP_ID"), 0)
        display.close()
    assert named is None


def test_each_picture_is_taken_back_by_its_turn_and_a_later_one_stays(tmp_path: Path) -> None:
    wallpaper, (light, dark) = _gnome(tmp_path)
    red, blue, lime = (_picture(tmp_path, color) for color in ("red", "blue", "lime"))
    for turn, picture in (("t1", red), ("t2/c1", blue), ("t3", lime)):
        wallpaper.set(picture, turn)
    assert len(wallpaper.take_back("t2")) == 1
    assert light.read_text() == f"'{lime.as_uri()}'"
    wallpaper.undo_newest({"t3"})
    assert light.read_text() == dark.read_text() == f"'{red.as_uri()}'"
    assert (wallpaper.take_back("t2"), wallpaper.newest_at({"t3"})) == ([], 0.0)
    assert wallpaper.reset()
    assert (light.read_text(), dark.read_text()) == ("'file:///light.jpg'", "'file:///dark.jpg'")
    assert wallpaper.reset() == ""


def test_a_picture_that_the_person_has_chosen_since_stays(tmp_path: Path) -> None:
    wallpaper, (light, _) = _gnome(tmp_path)
    for undo in (wallpaper.reset, lambda: wallpaper.undo_newest(None)):
        wallpaper.set(_picture(tmp_path, "red"))
        light.write_text("'file:///mine.jpg'")
        undo()
        assert light.read_text() == "'file:///mine.jpg'"


def test_of_many_pictures_the_persons_own_still_comes_back(tmp_path: Path) -> None:
    wallpaper, (light, dark) = _gnome(tmp_path)
    for _ in range(9):
        wallpaper.set(_picture(tmp_path, "red"))
    for _ in wallpaper.listed():
        wallpaper.undo_newest(None)
    assert (light.read_text(), dark.read_text()) == ("'file:///light.jpg'", "'file:///dark.jpg'")


@pytest.mark.parametrize(
    ("name", "program", "by", "written"),
    [
        ("ubuntu:GNOME", "gsettings", "GNOME", "set org.gnome.desktop.background picture-uri '{uri}'"),
        ("X-Cinnamon", "gsettings", "Cinnamon", "set org.cinnamon.desktop.background picture-uri '{uri}'"),
        ("MATE", "gsettings", "MATE", "set org.mate.background picture-filename '{path}'"),
        ("XFCE", "xfconf-query", "Xfce", "-p /backdrop/screen0/monitor0/workspace0/last-image -s {path}"),
        ("KDE", "qdbus", "KDE Plasma", "d.writeConfig('Image', {quoted})"),
    ],
)  # fmt: skip
def test_each_desktop_is_asked_in_its_own_way_and_gets_back_what_it_showed(
    tmp_path: Path, name: str, program: str, by: str, written: str
) -> None:
    environment, said = _desktop(tmp_path, name, program)
    picture = _picture(tmp_path, "red")
    wallpaper = DesktopWallpaper(environment)
    assert wallpaper.set(picture) == by
    uri = picture.as_uri()
    assert written.format(path=picture, uri=uri, quoted=json.dumps(uri)) in said.read_text()
    said.write_text("")
    assert by in wallpaper.restore()
    assert "file:///old.png" in said.read_text()


def test_a_desktop_that_refuses_is_told_and_nothing_is_kept(tmp_path: Path) -> None:
    environment, _ = _desktop(tmp_path, "GNOME", "gsettings")
    (tmp_path / "gsettings").write_text("#!/bin/sh\necho 'No such schema' >&2\nexit 1\n")
    with pytest.raises(ToolFailed, match="GNOME did not take the picture: No such schema"):
        DesktopWallpaper(environment).set(_picture(tmp_path, "red"))
    with pytest.raises(ToolFailed, match="nothing to take back"):
        DesktopWallpaper(environment).restore()


def test_where_there_is_no_way_the_person_is_told(tmp_path: Path) -> None:
    with pytest.raises(NeedsPerson, match="does not know how to change"):
        DesktopWallpaper({"XDG_CURRENT_DESKTOP": "sway", "PATH": str(tmp_path)}).set(_picture(tmp_path, "red"))


def test_a_picture_of_an_x_server_that_has_ended_is_not_said_to_be_back(tmp_path: Path) -> None:
    with VirtualDesktop(320, 240) as desktop:
        wallpaper = DesktopWallpaper({**desktop.environment, "XDG_CURRENT_DESKTOP": ""})
        gone = {"turn": "", "at": 1.0, "before": {"named": "6291457"}, "after": {"named": "1"}}
        kept = {f"X11 {desktop.environment['DISPLAY']}": [gone]}
        (paths.state_dir() / "wallpaper.json").write_text(json.dumps(kept))
        with pytest.raises(ToolFailed, match="is gone"):
            wallpaper.restore()
        with pytest.raises(ToolFailed, match="nothing to take back"):
            wallpaper.restore()


GNOME = """#!/bin/sh
if [ "$1" = get ]; then cat "{folder}/$3"; exit; fi
if [ -e "{folder}/full-$3" ]; then echo 'No space left' >&2; exit 1; fi
printf '%s' "$4" > "{folder}/$3"
"""


def _gnome(folder: Path) -> tuple[DesktopWallpaper, tuple[Path, Path]]:
    """A GNOME that keeps its picture and its dark picture in two files."""
    environment, _ = _desktop(folder, "GNOME", "gsettings")
    (folder / "gsettings").write_text(GNOME.format(folder=folder))
    keys = (folder / "picture-uri", folder / "picture-uri-dark")
    for key, value in zip(keys, ("'file:///light.jpg'", "'file:///dark.jpg'"), strict=True):
        key.write_text(value)
    return DesktopWallpaper(environment), keys


def test_the_persons_light_and_dark_pictures_come_back_after_several_of_wisps(tmp_path: Path) -> None:
    wallpaper, (light, dark) = _gnome(tmp_path)
    for color in ("red", "blue"):
        picture = _picture(tmp_path, color)
        wallpaper.set(picture)
        assert light.read_text() == dark.read_text() == f"'{picture.as_uri()}'"
    wallpaper.restore()
    assert (light.read_text(), dark.read_text()) == ("'file:///light.jpg'", "'file:///dark.jpg'")
    with pytest.raises(ToolFailed, match="nothing to take back"):
        wallpaper.restore()


def test_a_picture_that_was_put_back_is_itself_taken_back(tmp_path: Path) -> None:
    wallpaper, (light, dark) = _gnome(tmp_path)
    red = _picture(tmp_path, "red")
    wallpaper.set(red, "t1")
    wallpaper.restore("t2")
    wallpaper.undo_newest(None)
    assert light.read_text() == dark.read_text() == f"'{red.as_uri()}'"
    wallpaper.reset("t3")
    light.write_text("'file:///mine.jpg'")
    wallpaper.set(red, "t4")
    wallpaper.restore("t5")  # the picture that the person chose in between, and not the one of the beginning
    assert light.read_text() == "'file:///mine.jpg'"
    for _ in range(9):
        wallpaper.set(_picture(tmp_path, "blue"))
    wallpaper.restore()
    assert light.read_text() == "'file:///mine.jpg'"
    wallpaper.undo_newest(None)
    light.write_text("'file:///other.jpg'")
    wallpaper.undo_newest(None)
    assert light.read_text() == "'file:///other.jpg'"


def test_a_change_that_failed_halfway_is_taken_back(tmp_path: Path) -> None:
    wallpaper, (light, dark) = _gnome(tmp_path)
    full = tmp_path / "full-picture-uri-dark"
    full.touch()
    with pytest.raises(ToolFailed, match="No space left"):
        wallpaper.set(_picture(tmp_path, "red"))
    full.unlink()
    wallpaper.restore()
    assert (light.read_text(), dark.read_text()) == ("'file:///light.jpg'", "'file:///dark.jpg'")


@pytest.mark.parametrize(
    ("does", "says"), [("exit 0", "no place for a picture"), ("echo /a/last-image", "shows another one")]
)
def test_nothing_is_said_to_be_shown_that_the_desktop_did_not_take(tmp_path: Path, does: str, says: str) -> None:
    environment, _ = _desktop(tmp_path, "XFCE", "xfconf-query")
    (tmp_path / "xfconf-query").write_text(f"#!/bin/sh\n{does}\n")
    with pytest.raises(ToolFailed, match=says):
        DesktopWallpaper(environment).set(_picture(tmp_path, "red"))
