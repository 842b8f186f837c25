"""Surfaces on the disk: their parts, names, versions and state, and that every change is taken back."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from app.base.errors import ToolFailed, WispError
from app.features.apps.store import APP, SHORTCUT, Surface, SurfaceStore, Written, standard_folder, titled
from app.services.files.changes import ChangeOrigin, Changes
from app.services.files.checkpoints import Checkpoints
from app.services.files.places import Workspace

PAGE = "<!doctype html><html lang=en><title>A</title><body>{}</body></html>"
SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><circle r="3"/></svg>'


class Kept:
    """A store in the data folder of the test's own, and the undo of the file tools beside it."""

    def __init__(self, folder: Path) -> None:
        checkpoints = Checkpoints(folder / "checkpoints")
        (folder / "project").mkdir()
        self.store = SurfaceStore(standard_folder(), checkpoints)
        self.changes = Changes(Workspace(folder / "project"), checkpoints)

    def create(self, name: str = "Calorie tracker", kind: str = APP, text: str = "one") -> Surface:
        written = Written(PAGE.format(text), "It counts.", SVG)
        return self.store.create(kind, name, written, ChangeOrigin("t1", "create_app"))

    def snapshot(self) -> dict[str, str]:
        files = (path for path in self.store.folder.rglob("*") if path.is_file())
        return {str(path.relative_to(self.store.folder)): path.read_text() for path in files}


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kept:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("WISP_DATA_DIR", str(tmp_path / "wisp"))
    return Kept(tmp_path)


def test_a_surface_is_a_folder_with_its_parts(kept: Kept) -> None:
    made = kept.create()
    assert (made.id, made.name, made.is_app) == ("app-calorie-tracker", "Calorie tracker", True)
    assert kept.snapshot() == {
        "app-calorie-tracker/index.html": PAGE.format("one"),
        "app-calorie-tracker/surface.md": "# Calorie tracker\n\nIt counts.\n",
        "app-calorie-tracker/thumbnail.svg": SVG,
    }
    assert kept.store.state(made) == {}


def test_names_need_not_be_latin_and_may_be_taken_twice(kept: Kept) -> None:
    names = ["Zähler", "番茄钟", "Zähler", "a" * 60]
    ids = [kept.create(name, SHORTCUT).id for name in names]
    assert len(set(ids)) == 4
    assert ids[0] == "widget-zahler"
    assert [kept.store.find(one).name for one in ids] == names
    with pytest.raises(ToolFailed, match="several are called"):
        kept.store.find("zähler")


@pytest.mark.parametrize("name", ["", "  ", "…", "a\x00b", "x" * 61, "a\u202eb"])
def test_a_name_that_nobody_can_read_is_refused(kept: Kept, name: str) -> None:
    with pytest.raises(WispError, match="name:"):
        kept.create(name)


@pytest.mark.parametrize("name", ["../app-x", "app-../x", "/etc", "", "app-", "app-A", "nothing", "app-x/../../y"])
def test_an_id_names_nothing_outside_the_folder(kept: Kept, name: str) -> None:
    kept.create()
    with pytest.raises(WispError, match="app-calorie-tracker"):
        kept.store.find(name)


def test_a_surface_is_found_by_its_name_and_only_as_its_kind(kept: Kept) -> None:
    made = kept.create()
    assert kept.store.find("calorie TRACKER").id == made.id
    with pytest.raises(WispError, match="is an app"):
        kept.store.find(made.id, SHORTCUT)


def test_an_update_keeps_the_version_before_and_the_state(kept: Kept) -> None:
    made = kept.create()
    kept.store.keep_state(made, {"meals": [1]})
    for text in ("two", "three"):
        made = kept.store.update(made, Written(PAGE.format(text)), ChangeOrigin("t2", "update_app"))
    assert "three" in made.html
    assert [path.read_text() for path in made.versions] == [PAGE.format("one"), PAGE.format("two")]
    assert (made.name, kept.store.state(made)) == ("Calorie tracker", {"meals": [1]})


def test_only_so_many_versions_are_kept(kept: Kept) -> None:
    made = kept.create()
    for number in range(33):
        made = kept.store.update(made, Written(PAGE.format(number)), ChangeOrigin("t2", "update_app"))
    assert len(made.versions) == 30
    assert made.versions[-1].read_text() == PAGE.format(31)


def test_every_change_of_a_model_is_taken_back_as_one(kept: Kept) -> None:
    steps = [kept.snapshot()]
    made = kept.create()
    steps.append(kept.snapshot())
    kept.store.mutate(made, [{"op": "add", "path": "/meals", "value": []}], ChangeOrigin("t1", "mutate_surface_data"))
    steps.append(kept.snapshot())
    kept.store.update(made, Written(PAGE.format("two"), "# Other\n\nNew."), ChangeOrigin("t2", "update_app"))
    steps.append(kept.snapshot())
    kept.store.rename(made, "Meals", ChangeOrigin("t2", "rename_widget"))
    steps.append(kept.snapshot())
    kept.store.delete(made, ChangeOrigin("t3", "delete_app"))
    assert kept.store.all() == []
    assert not made.folder.exists()
    for step in reversed(steps):
        undone, problems = kept.changes.undo_newest()
        assert (bool(undone), problems) == (True, [])
        assert kept.snapshot() == step
    assert kept.store.all() == []


def test_the_file_tools_cannot_write_where_surfaces_are(kept: Kept, tmp_path: Path) -> None:
    made = kept.create()
    place = Workspace(tmp_path / "project").locate(str(made.folder / "state.json"))
    with pytest.raises(WispError, match="left alone"):
        kept.changes.write(place, (b"{}",), ChangeOrigin("t1", "write_file"))


def test_a_state_that_a_surface_changed_meanwhile_is_not_overwritten_by_an_undo(kept: Kept) -> None:
    made = kept.create()
    kept.store.mutate(made, [{"op": "add", "path": "/a", "value": 1}], ChangeOrigin("t1", "mutate_surface_data"))
    kept.store.keep_state(made, {"a": 2})
    assert kept.changes.undo_newest()[0] == []
    assert kept.store.state(made) == {"a": 2}


def test_a_damaged_state_is_said_and_can_be_replaced(kept: Kept) -> None:
    made = kept.create()
    (made.folder / "state.json").write_text("{half")
    with pytest.raises(ToolFailed, match="damaged"):
        kept.store.state(made)
    kept.store.mutate(made, [{"op": "replace", "path": "", "value": [1]}], ChangeOrigin("t1", "mutate_surface_data"))
    assert kept.store.state(made) == [1]


@pytest.mark.parametrize(
    "svg",
    ["", "a circle", "<svg><script/></svg>", '<svg onload="x()"></svg>', '<svg><image href="/etc/x"/></svg>', "<svg>"],
)
def test_a_picture_that_could_load_or_run_something_is_refused_and_nothing_is_made(kept: Kept, svg: str) -> None:
    with pytest.raises(WispError, match="thumbnail"):
        kept.store.create(APP, "Timer", Written(PAGE, "", svg), ChangeOrigin("t1", "create_app"))
    assert kept.snapshot() == {}


def test_a_surface_is_exported_as_one_file_without_what_its_links_point_to(kept: Kept, tmp_path: Path) -> None:
    made = kept.create()
    (tmp_path / "secret").write_text("secret")
    (made.folder / "linked").symlink_to(tmp_path / "secret")
    kept.store.keep_state(made, {"a": 1})
    with zipfile.ZipFile(kept.store.export(made, tmp_path / "out" / "tracker.zip")) as packed:
        names = {name for name in packed.namelist() if not name.endswith("/")}
    parts = ("index.html", "surface.md", "state.json", "thumbnail.svg")
    assert names == {f"app-calorie-tracker/{part}" for part in parts}


@pytest.mark.parametrize(
    ("doc", "rest"),
    [("# Tea", ""), ("\n\n#  Tea time ##  \n\nIt ends.", "It ends.\n"), ("No heading", "No heading\n")],
)
def test_the_heading_of_a_description_is_replaced_by_the_name(doc: str, rest: str) -> None:
    assert titled(doc, "New").split() == ["#", "New", *rest.split()]


def test_no_heading_keeps_the_process_busy() -> None:
    """Before, this stopped every thread for hours: the limit of the test is what fails."""
    assert titled(f"# a{' ' * 100_000}b\n", "New") == "# New\n"
