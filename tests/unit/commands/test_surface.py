"""Apps are listed, opened, renamed, put into the menu, saved as one file and deleted: in the list and by command."""

from __future__ import annotations

import asyncio
import io
import shlex
import zipfile
from pathlib import Path

import pytest
from PIL import Image, ImageColor

from app.base import paths
from app.base.errors import ToolFailed, WispError
from app.cli import main
from app.commands.surface.library import AppLibrary, MenuEntry
from app.services.files.changes import ChangeOrigin
from app.services.surfaces.store import APP, Written

THUMBNAIL = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><circle r="9"/></svg>'


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AppLibrary:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    (tmp_path / "home" / "Downloads").mkdir(parents=True)
    made = AppLibrary()
    page = Written("<html></html>", "# Meals\n\nCounts what was eaten.", THUMBNAIL)
    made.store.create(APP, "Meals", page, ChangeOrigin("t", "create_app"))
    return made


def _entry(tmp_path: Path) -> Path:
    return tmp_path / "home" / ".local" / "share" / "applications" / "wisp-app-meals.desktop"


async def test_each_app_stands_there_with_its_picture_and_what_can_be_done(library: AppLibrary) -> None:
    [entry] = await library.entries("mea")
    assert (entry.key, entry.title, entry.below) == ("app-meals", "Meals", ("Counts what was eaten.",))
    assert entry.actions == ("open", "export", "menu")
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


async def test_an_app_in_the_menu_follows_its_name_and_goes_with_it(library: AppLibrary, tmp_path: Path) -> None:
    assert await library.act("menu", "app-meals") == "menu"
    lines = dict(line.partition("=")[::2] for line in _entry(tmp_path).read_text().splitlines()[1:])
    assert (lines["Name"], lines["Type"]) == ("Meals", "Application")
    assert shlex.split(lines["Exec"])[-3:] == ["surface", "open", "app-meals"]
    assert Path(lines["Icon"]).read_text() == THUMBNAIL
    assert (await library.entries(""))[0].actions == ("open", "export", "unmenu")
    await library.act("change", "app-meals", "Lunch\nExec=evil")
    assert "\nExec=evil" not in _entry(tmp_path).read_text()
    assert "Name=Lunch Exec=evil\n" in _entry(tmp_path).read_text()
    await library.act("delete", "app-meals")
    assert not _entry(tmp_path).exists()
    assert library.store.all() == []


async def test_undoing_that_an_app_was_deleted_or_renamed_restores_its_entry_in_the_menu(
    library: AppLibrary, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await library.act("menu", "app-meals")
    before = _entry(tmp_path).read_bytes()
    await library.act("change", "app-meals", "Lunch")
    assert await asyncio.to_thread(main, ["undo"]) == 0
    assert (_entry(tmp_path).read_bytes(), library.store.find("Meals").id) == (before, "app-meals")
    await library.act("delete", "app-meals")
    assert await asyncio.to_thread(main, ["undo"]) == 0
    assert (_entry(tmp_path).read_bytes(), library.store.find("Meals").id) == (before, "app-meals")
    assert "Not taken back" not in capsys.readouterr().out


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
    assert main(["surface"]) == 0
    assert capsys.readouterr().out.split() == ["app-meals", "Meals"]
    assert main(["surface", "export", "Meals", str(tmp_path / "meals")]) == 0
    assert (tmp_path / "meals.zip").is_file()
    assert main(["surface", "export", "Meals", str(tmp_path / "meals")]) == 1
    assert "is there already" in capsys.readouterr().err
    assert main(["surface", "menu", "Meals"]) == 0
    assert MenuEntry(library.store.find("Meals")).is_there
    assert main(["surface", "unmenu", "Meals"]) == 0
    assert main(["surface", "delete", "Meals"]) == 0
    assert main(["surface", "open", "Meals"]) == 1
    assert "Nothing is called “Meals”" in capsys.readouterr().err
    assert asyncio.run(library.entries("")) == []


async def test_each_presence_has_menu_entries_of_its_own(
    library: AppLibrary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await library.act("menu", "app-meals")
    surface = library.store.find("app-meals")
    monkeypatch.setenv("WISP_PRESENCE", "mia")
    mias = MenuEntry(surface)
    assert not mias.is_there
    assert '"env" "WISP_PRESENCE=mia" ' in mias.write().read_text(encoding="utf-8")
    mias.remove()
    assert _entry(tmp_path).exists()
