"""Apps are listed, opened, renamed, in the menu, saved as one file and deleted: in the list and by command."""

from __future__ import annotations

import asyncio
import io
import shlex
import shutil
import zipfile
from pathlib import Path

import pytest
from PIL import Image, ImageColor

from app.base import paths
from app.base.errors import ToolFailed, WispError
from app.cli import main
from app.features.apps.library import AppLibrary
from app.features.apps.store import APP, SHORTCUT, Written
from app.services.files.changes import ChangeOrigin

THUMBNAIL = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><circle r="9"/></svg>'

MADE = ChangeOrigin("t", "create_app")


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AppLibrary:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    (tmp_path / "home" / "Downloads").mkdir(parents=True)
    made = AppLibrary()
    page = Written("<html></html>", "# Meals\n\nCounts what was eaten.", THUMBNAIL)
    made.store.create(APP, "Meals", page, MADE)
    return made


def _entry(tmp_path: Path) -> Path:
    return tmp_path / "home" / ".local" / "share" / "applications" / "wisp-app-meals.desktop"


async def test_each_app_stands_there_with_its_picture_and_what_can_be_done(library: AppLibrary) -> None:
    [entry] = await library.entries("mea")
    assert (entry.key, entry.title, entry.below) == ("app-meals", "Meals", ("Counts what was eaten.",))
    assert entry.actions == ("open", "pin", "unmenu", "export")
    assert await library.entries("nothing") == []


async def _drawn(library: AppLibrary, drawing: str) -> bytes:
    """The picture of the only app with this drawing, once it is there."""
    [surface] = library.store.all()
    (surface.folder / "thumbnail.svg").write_text(drawing)
    await library.entries("")
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        await task
    [entry] = await library.entries("")
    assert entry.key == "app-meals"
    return entry.picture


async def test_a_picture_is_drawn_elsewhere_once_and_anew_when_it_has_changed(library: AppLibrary) -> None:
    for color in ("#ff0000", "#00ff00"):
        drawing = THUMBNAIL.replace('r="9"', f'r="90" fill="{color}"')
        for one in (library, AppLibrary()):
            with Image.open(io.BytesIO(await _drawn(one, drawing))) as picture:
                assert (picture.format, picture.size) == ("PNG", (128, 128))
                assert picture.convert("RGB").getpixel((64, 64)) == ImageColor.getrgb(color)
    assert len(list((paths.state_dir() / "thumbnails").iterdir())) == 1


@pytest.mark.parametrize("kind", ["broken", "endless", "none"])
async def test_a_strangers_drawing_that_cannot_be_drawn_leaves_the_app_without_a_picture(
    library: AppLibrary, kind: str
) -> None:
    levels = "".join(
        f'<g id="l{n}">' + f'<use href="#l{n - 1}"/>' * 100 + "</g>" if n else '<rect id="l0"/>' for n in range(5)
    )
    drawings = {"broken": "<svg", "endless": f'<svg viewBox="0 0 9 9">{levels}<use href="#l4"/></svg>', "none": ""}
    assert await _drawn(library, drawings[kind]) == b""


async def test_a_picture_that_could_run_something_is_shown_without_that(library: AppLibrary) -> None:
    assert (await _drawn(library, THUMBNAIL.replace("<circle", "<script>1</script><circle"))).startswith(b"\x89PNG")


async def test_a_new_app_stands_in_the_menu_follows_its_name_and_goes_with_it(
    library: AppLibrary, tmp_path: Path
) -> None:
    lines = dict(line.partition("=")[::2] for line in _entry(tmp_path).read_text().splitlines()[1:])
    assert (lines["Name"], lines["Type"]) == ("Meals", "Application")
    assert shlex.split(lines["Exec"])[-3:] == ["apps", "open", "app-meals"]
    assert Path(lines["Icon"]).read_text() == THUMBNAIL
    await library.act("change", "app-meals", "Lunch\nExec=evil")
    assert "\nExec=evil" not in _entry(tmp_path).read_text()
    assert "Name=Lunch Exec=evil\n" in _entry(tmp_path).read_text()
    await library.act("delete", "app-meals")
    assert not _entry(tmp_path).exists()
    assert library.store.all() == []


async def test_a_shortcut_and_an_app_that_the_person_took_out_are_not_in_the_menu(
    library: AppLibrary, tmp_path: Path
) -> None:
    widget = library.store.create(SHORTCUT, "Water", Written("<html></html>", "It counts."), MADE)
    assert [path.name for path in _entry(tmp_path).parent.iterdir()] == ["wisp-app-meals.desktop"]
    await library.act("menu", widget.id)
    assert library.store.find(widget.id).is_in_menu
    await library.act("unmenu", "app-meals")
    await library.act("change", "app-meals", "Lunch")
    assert not _entry(tmp_path).exists()
    offered = {entry.key: entry.actions[2] for entry in await library.entries("")}
    assert offered == {"app-meals": "menu", widget.id: "unmenu"}


async def test_undoing_a_change_of_an_app_undoes_it_in_the_menu(
    library: AppLibrary, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = _entry(tmp_path).read_bytes()
    await library.act("change", "app-meals", "Lunch")
    assert await asyncio.to_thread(main, ["undo"]) == 0
    assert (_entry(tmp_path).read_bytes(), library.store.find("Meals").id) == (before, "app-meals")
    await library.act("delete", "app-meals")
    assert await asyncio.to_thread(main, ["undo"]) == 0
    assert (_entry(tmp_path).read_bytes(), library.store.find("Meals").id) == (before, "app-meals")
    assert await asyncio.to_thread(main, ["undo"]) == 0
    assert (_entry(tmp_path).exists(), library.store.all()) == (False, [])
    assert "Not taken back" not in capsys.readouterr().out


async def test_where_the_menu_cannot_be_written_the_app_is_made_all_the_same(
    library: AppLibrary, tmp_path: Path
) -> None:
    folder = _entry(tmp_path).parent
    shutil.rmtree(folder)
    folder.touch()
    made = library.store.create(APP, "Tea", Written("<html></html>", "It brews."), MADE)
    assert (library.store.find("Tea"), made.is_in_menu) == (made, False)


async def test_a_pinned_app_says_so_and_is_unpinned_while_its_window_is_closed(library: AppLibrary) -> None:
    surface = library.store.find("Meals")
    library.store.note_pinned(surface, is_pinned=True)
    assert (await library.entries(""))[0].actions == ("open", "unpin", "unmenu", "export")
    assert await library.act("unpin", "app-meals") == "unpin"
    assert not surface.is_pinned


async def test_an_app_is_saved_as_one_file_and_replaces_none(library: AppLibrary, tmp_path: Path) -> None:
    saved = [await library.act("export", "app-meals") for _ in range(2)]
    folder = tmp_path / "home" / "Downloads"
    assert saved == [f"saved:{folder / 'app-meals.zip'}", f"saved:{folder / 'app-meals-2.zip'}"]
    with zipfile.ZipFile(folder / "app-meals.zip") as packed:
        assert "app-meals/index.html" in packed.namelist()


async def test_what_is_not_there_is_said(library: AppLibrary) -> None:
    with pytest.raises(ToolFailed, match="nothing is called"):
        await library.act("open", "app-none")
    with pytest.raises(WispError, match="no action"):
        await library.act("press", "app-meals")


def test_the_command_lists_exports_and_deletes(
    library: AppLibrary, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["apps"]) == 0
    assert capsys.readouterr().out.split() == ["app-meals", "Meals"]
    assert main(["apps", "export", "Meals", str(tmp_path / "meals")]) == 0
    assert (tmp_path / "meals.zip").is_file()
    assert main(["apps", "export", "Meals", str(tmp_path / "meals")]) == 1
    assert "is there already" in capsys.readouterr().err
    assert main(["apps", "unmenu", "Meals"]) == 0
    assert not library.store.find("Meals").is_in_menu
    assert main(["apps", "menu", "Meals"]) == 0
    assert library.store.find("Meals").is_in_menu
    assert main(["apps", "rename", "Meals", "Lunch"]) == 0
    assert library.store.find("Lunch").id == "app-meals"
    assert main(["apps", "delete", "Lunch"]) == 0
    assert main(["apps", "open", "Lunch"]) == 1
    assert "Nothing is called “Lunch”" in capsys.readouterr().err
    assert asyncio.run(library.entries("")) == []


def test_entries_that_an_earlier_wisp_wrote_go_on_working(
    library: AppLibrary, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [main(["surface", "open", "app-none"]), main(["apps", "open", "app-none"])] == [1, 1]
    first, second, *rest = capsys.readouterr().err.splitlines()
    assert (first == second, rest) == (True, [])


async def test_each_presence_has_menu_entries_of_its_own(
    library: AppLibrary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = _entry(tmp_path).read_bytes()
    monkeypatch.setenv("WISP_PRESENCE", "mia")
    mias = AppLibrary()
    made = mias.store.create(APP, "Meals", Written("<html></html>", "It counts."), MADE)
    entry = _entry(tmp_path).with_name("wisp-mia-app-meals.desktop")
    assert "WISP_PRESENCE=mia" in shlex.split(entry.read_text().partition("Exec=")[2].partition("\n")[0])
    await mias.act("delete", made.id)
    assert (entry.exists(), _entry(tmp_path).read_bytes()) == (False, first)
