"""Several presences side by side: each with a name, a manner, looks and folders of its own."""

from __future__ import annotations

import colorsys
import itertools
import subprocess
import sys
from pathlib import Path

import pytest

from app import cli
from app.base import paths
from app.services.files.places import Workspace
from app.settings import catalog, store
from app.ui.theme import theme


@pytest.fixture(autouse=True)
def moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WISP_DATA_DIR", str(tmp_path / "wisp"))
    monkeypatch.setenv(paths.PRESENCE, "")
    return tmp_path / "wisp"


def presence(*words: str) -> int:
    return cli.main(["presence", *words])


def test_a_presence_has_a_name_a_manner_and_folders_of_its_own(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = store.load()[catalog.NAME]
    assert presence("create", "Ada L.", "--personality", "dry", "--theme", "cyber dark") == 0
    monkeypatch.setenv(paths.PRESENCE, "ada-l")
    own = store.load()
    assert (own[catalog.NAME], own[catalog.PERSONALITY]) == ("Ada L.", "dry")
    assert (own[catalog.THEME], own[catalog.SCHEME]) == ("cyberpunk", "dark")
    data = paths.data_dir()
    monkeypatch.setenv(paths.PRESENCE, "")
    assert store.load()[catalog.NAME] == shared
    assert data != paths.data_dir()
    assert "wisp presence start ada-l" in capsys.readouterr().out


def test_the_menu_knows_all_by_their_names_and_marks_the_one_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    from app.commands.presence import PresenceSwitch

    presence("create", "Bob")
    presence("create", "Ada L.")
    monkeypatch.setenv(paths.PRESENCE, "ada-l")
    assert [(one.id, one.name, one.is_this) for one in PresenceSwitch().entries()] == [
        ("", catalog.NAME.default, False),
        ("ada-l", "Ada L.", True),
        ("bob", "Bob", False),
    ]


def test_all_are_listed_and_one_is_deleted_with_all_that_it_keeps(
    moved: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    presence("create", "Ada")
    presence("create", "Bob")
    monkeypatch.setenv(paths.PRESENCE, "ada")
    (paths.data_dir() / "memory.db").write_text("a fact")
    monkeypatch.setenv(paths.PRESENCE, "")
    capsys.readouterr()
    assert presence("list") == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["Wisp", "Ada", "Bob"]
    assert presence("delete", "Ada") == 1  # nobody could be asked
    assert "ada" in paths.presences()
    assert presence("delete", "Ada", "--yes") == 0
    assert not list(moved.rglob("ada"))
    assert list(paths.presences()) == ["bob"]


@pytest.mark.parametrize("name", ["Ad", "../../x", "/tmp/x", "-"])
def test_a_command_for_a_presence_that_is_not_there_makes_none(
    moved: Path, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    presence("create", "Ada")
    before = sorted(moved.parent.rglob("*"))
    monkeypatch.setenv(paths.PRESENCE, name)
    assert cli.main(["theme", "set", "dark"]) == 1
    assert sorted(moved.parent.rglob("*")) == before
    assert "presence" in capsys.readouterr().err


@pytest.mark.feature("looks")
def test_a_command_finds_a_presence_by_the_name_that_it_was_given(moved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    presence("create", "Ada L.")
    monkeypatch.setenv(paths.PRESENCE, "Ada L.")
    assert cli.main(["theme", "set", "dark"]) == 0
    assert (paths.presence(), store.load()[catalog.SCHEME], list(paths.presences())) == ("ada-l", "dark", ["ada-l"])


def test_what_only_resembles_a_name_deletes_nothing(moved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    presence("create", "x")
    monkeypatch.setenv(paths.PRESENCE, "")
    assert presence("delete", "../../x", "--yes") == 1
    assert list(paths.presences()) == ["x"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows itself deletes no file that is in use")
def test_one_that_runs_is_not_deleted(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    presence("create", "Ada")
    monkeypatch.setenv(paths.PRESENCE, "ada")
    run = "import time; from app.commands import presence; presence._hold(); print(1, flush=True); time.sleep(60)"
    running = subprocess.Popen([sys.executable, "-c", run], stdout=subprocess.PIPE)
    assert running.stdout
    running.stdout.readline()
    monkeypatch.setenv(paths.PRESENCE, "")
    try:
        assert presence("list") == 0
        first, ada = capsys.readouterr().out.splitlines()[-2:]
        assert (" runs " in first, " runs " in ada) == (False, True)
        assert presence("delete", "Ada", "--yes") == 1
        assert "Ada is open. Quit it in the menu of its orb, then delete it." in capsys.readouterr().err
        assert "ada" in paths.presences()
    finally:
        running.kill()
        running.communicate()
    assert presence("delete", "Ada", "--yes") == 0


@pytest.mark.parametrize("name", ["..", "///", "", "x" * 41])
def test_a_name_that_names_no_folder_is_refused(name: str, moved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert presence("create", name) == 1
    assert presence("delete", name, "--yes") == 1
    assert "needs a name of letters or digits" in capsys.readouterr().err
    assert not paths.presences()


@pytest.mark.parametrize("name", ["\x1b[31mRed", "two\nlines"])
def test_a_name_that_would_change_a_terminal_is_refused(name: str) -> None:
    assert presence("create", name) == 1
    assert not paths.presences()


def test_a_name_that_is_taken_and_one_that_is_unknown_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    presence("create", "Ada")
    assert presence("create", "ada") == 1
    assert presence("delete", "Eve", "--yes") == 1
    told = capsys.readouterr().err
    assert "There is a Wisp 'ada' already" in told
    assert "There is no presence 'Eve'. There are: ada" in told


def test_two_presences_never_show_the_same_name(
    moved: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert presence("create", "wisp") == 1
    assert not list(moved.rglob("presences"))
    presence("create", "Ada")
    monkeypatch.setenv(paths.PRESENCE, "")
    store.save(catalog.NAME, "Robin")
    assert presence("create", "Robin") == 1
    told = capsys.readouterr().err
    assert "Another presence is called wisp already" in told
    assert "Another presence is called Robin already" in told
    with pytest.raises(ValueError, match="Another presence is called ADA"):
        store.save(catalog.NAME, " ADA ")
    assert store.names() == {"": "Robin", "ada": "Ada"}


class _Engine:
    """Stands for Qt's, whose package is optional."""

    def voices(self) -> list[str]:
        return ["English (America)"]


@pytest.mark.usefixtures("qapp")  # a process has one application, and that of later tests has windows
def test_one_with_a_voice_speaks_aloud(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.ui.system.speech.QtEngine", _Engine)
    assert presence("create", "Ada", "--voice", "english (america)") == 0
    assert presence("create", "Eve", "--voice", "Nobody") == 1
    assert "eve" not in paths.presences()
    presence("create", "Bob")
    for name, speaks in (("ada", (True, "english (america)")), ("bob", (False, ""))):
        own = store.load(of=name)
        assert (own[catalog.SPEAK], own[catalog.VOICE]) == speaks


def test_what_another_presence_keeps_is_as_protected_as_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    presence("create", "Ada")
    monkeypatch.setenv(paths.PRESENCE, "bob")
    workspace = Workspace(tmp_path)
    for folder in paths.presences()["ada"]:
        assert workspace.private_below(workspace.locate(str(folder.parents[2])))


def test_presences_get_hues_that_are_far_apart() -> None:
    for name in ("Ada", "Bob", "Eve"):
        presence("create", name)
    hues = []
    for own in store.names():
        _, (red, green, blue, _), _ = theme.load("light", avatar=store.load(of=own)[catalog.AVATAR]).orb("idle")
        hues.append(colorsys.rgb_to_hls(red / 255, green / 255, blue / 255)[0])
    gaps = [abs(one - other) for one, other in itertools.combinations(hues, 2)]
    assert min(min(gap, 1 - gap) for gap in gaps) > 1 / 12


def test_an_avatar_turns_the_resting_orb_and_no_other_state() -> None:
    plain, ada = theme.load("light"), theme.load("light", avatar="ada")
    assert ada == theme.load("light", avatar="ada")
    assert ada.orb("idle") != plain.orb("idle") != theme.load("light", avatar="bob").orb("idle")
    assert ada.orb("needs_you") == plain.orb("needs_you")
