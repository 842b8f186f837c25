"""Where the files and folders of a wish are, and what is offered where they are not clear."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.providers.offline.plans import Plan, understood
from app.providers.offline.reading import Refusal
from app.providers.offline.wording import phrasebook
from tests.unit.providers.offline.dialogue import WORLD


@pytest.fixture(autouse=True)
def home(own_data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("Documents/report.odt", "Papers/report.pdf", "Old/report.txt", "Old/report.md", "contract.pdf"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    for name in ("Travels", "node_modules/Trips", ".cache/Trips"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def plugged_in(home: Path, monkeypatch: pytest.MonkeyPatch, *names: str) -> list[str]:
    folders = [home / "media" / name for name in names]
    for folder in folders:
        folder.mkdir(parents=True)
    monkeypatch.setenv("WISP_DRIVES", ":".join(map(str, folders)))
    return [str(folder) for folder in folders]


def refused(wish: str) -> Refusal:
    reading = understood(wish, WORLD)
    assert isinstance(reading, Refusal), reading
    return reading


def went_to(wish: str) -> object:
    reading = understood(wish, WORLD)
    assert isinstance(reading, Plan), reading
    return reading.steps[-1].arguments["destination"]


@pytest.mark.parametrize(
    "wish",
    [
        "copy contract.pdf to my usb stick",
        "put contract.pdf on the usb drive",
        "back up contract.pdf to the external drive",
        "kopier contract.pdf auf den USB-Stick",
        "sicher contract.pdf auf die externe Festplatte",
    ],
)
def test_the_drive_is_the_only_one_that_is_plugged_in(wish: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert refused(wish).kind == "no_drive"
    [stick] = plugged_in(home, monkeypatch, "STICK")
    assert went_to(wish) == [f"{stick}/"]
    plugged_in(home, monkeypatch, "ONE", "TWO")
    several = refused(wish)
    assert several.kind == "several_drives"
    assert [went_to(offer) for offer in several.offers] == [[f"{home}/media/{name}/"] for name in ("ONE", "TWO")]


def test_a_drive_is_meant_by_its_name(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plugged_in(home, monkeypatch, "ONE", "TWO")
    assert went_to("copy contract.pdf to two") == [f"{home}/media/TWO/"]


def test_of_several_files_the_three_newest_are_offered_and_each_offer_is_read() -> None:
    several = refused("open the report")
    assert (several.kind, len(several.offers)) == ("several_files", 3)
    opened = [understood(offer, WORLD) for offer in several.offers]
    assert all(isinstance(one, Plan) and one.steps[0].tool == "open_app" for one in opened)
    assert phrasebook("en").near(several) == list(several.offers)


@pytest.mark.parametrize("wish", ["move contract.pdf to Travel", "verschieb contract.pdf nach Travel"])
def test_a_folder_that_is_not_there_is_never_made_and_one_alike_is_offered(wish: str) -> None:
    missing = refused(wish)
    assert (missing.kind, missing.part) == ("no_folder", "Travel")
    assert [went_to(offer) for offer in missing.offers] == [["~/Travels/"]]


def test_folders_that_programs_fill_are_no_places() -> None:
    assert refused("move contract.pdf to Trips").kind == "no_folder"
    assert went_to("make a folder Trips and move contract.pdf into Trips") == ["Trips/"]


def test_the_file_that_a_wish_itself_makes_is_meant_and_no_other_one() -> None:
    made = understood('make a file report.txt that says "hi" and move report.txt to Travels', WORLD)
    assert isinstance(made, Plan)
    assert made.steps[-1].arguments["source"] == ["report.txt"]


@pytest.mark.parametrize(
    ("wish", "opened"),
    [
        ("open list.txt", "list.txt"),
        ("open list.txt in the text editor", "list.txt"),
        ("öffne list.txt", "list.txt"),
        ("open plan.txt in Trip", "Trip/plan.txt"),
        ("make a folder called New and open it", "New"),
        ("open calculator", None),
        ("open example.com", None),
    ],
)
def test_a_file_of_the_workspace_is_opened_by_its_path_and_never_as_a_program(
    wish: str, opened: str | None, tmp_path: Path
) -> None:
    workspace = tmp_path / "work"
    (workspace / "Trip").mkdir(parents=True)
    for name in ("list.txt", "Trip/plan.txt", "calculator"):
        (workspace / name).touch()
    reading = understood(wish, replace(WORLD, workspace=str(workspace)))
    assert isinstance(reading, Plan), reading
    name = str(reading.steps[-1].arguments["name"])
    assert name == str(workspace / opened) if opened else not name.startswith(str(workspace))


def test_what_a_wish_makes_is_there_for_its_next_steps() -> None:
    reading = understood("make a folder Trips and move contract.pdf into Trips and zip the folder Trips", WORLD)
    assert isinstance(reading, Plan), reading
    assert reading.steps[-1].arguments["source"] == ["Trips"]


@pytest.mark.parametrize(
    "wish",
    [
        "replace every Berlin with Hamburg in trip.txt",
        "replace Berlin with Hamburg everywhere in trip.txt",
        "ersetze in trip.txt überall Berlin durch Hamburg",
        "ersetze jedes Berlin durch Hamburg in trip.txt",
    ],
)
def test_what_says_that_all_are_meant_is_no_part_of_what_is_replaced(wish: str, tmp_path: Path) -> None:
    (tmp_path / "trip.txt").write_text("Berlin, Berlin", encoding="utf-8")
    reading = understood(wish, replace(WORLD, workspace=str(tmp_path)))
    assert isinstance(reading, Plan), reading
    assert "\nBerlin, Berlin\n=======\nHamburg, Hamburg\n" in str(reading.steps[0].arguments["diff"])
