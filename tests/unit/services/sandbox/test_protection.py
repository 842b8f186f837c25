"""What runs by itself: what is there is mounted read-only, what appears gets another name."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from app.services.files import survey
from app.services.sandbox import protection
from app.services.sandbox.layout import Before, Period, SettledRun

_NOBODY = 65534


@pytest.fixture
def space(tmp_path: Path) -> Path:
    for name in (
        ".git/config",
        ".git/hooks/pre-commit",
        ".envrc",
        ".vscode/tasks.json",
        "sub/.git/config",
        "a/b/c.txt",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("[core]\n")
    return tmp_path


def _protected(space: Path) -> protection.Protection:
    return protection.of(space, survey.survey(space))


def _set_aside(before: Before, *, watched_s: float = 60.0) -> SettledRun:
    """All that appeared in the last minute is the run's, or what appeared in its first `watched_s` seconds."""
    began = time.time() - 60
    return protection.settle(before, Period(began, began + watched_s, time.time()))


def _names(space: Path, paths: tuple[Path, ...]) -> set[str]:
    return {str(path.relative_to(space)) for path in paths}


def test_what_is_there_is_fixed_and_repositories_stay_where_they_are(space: Path) -> None:
    found = _protected(space)
    assert _names(space, found.fixed) == {".git/config", ".git/hooks", ".envrc", ".vscode", "sub/.git/config"}
    assert _names(space, found.pinned) == {".git", "sub/.git"}
    assert {".mcp.json", ".bashrc", ".git/commondir", "sub/.git/hooks"} <= _names(
        space, tuple(map(Path, found.before.absent))
    )


@pytest.mark.parametrize(("folders", "is_whole"), [(10, True), (60, False)])
def test_a_search_that_ends_before_the_last_folder_says_so(
    space: Path, folders: int, *, is_whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(survey, "MOST_ENTRIES", 50)
    for number in range(folders):
        (space / f"folder{number:03}").mkdir()
    assert _protected(space).before.is_whole == is_whole
    assert bool(survey.unsearched(space)) != is_whole


@pytest.mark.parametrize(
    "name",
    [
        "sub/.envrc",
        "a/b/.vscode/tasks.json",
        "AGENTS.md",
        "a/CLAUDE.md",
        ".agents/skills/x/SKILL.md",
        "a/b/.claude/settings.json",
    ],
)
def test_what_starts_by_itself_is_set_aside_at_any_depth(space: Path, name: str) -> None:
    before = _protected(space).before
    (space / name).parent.mkdir(parents=True, exist_ok=True)
    (space / name).write_text("x")
    assert len(_set_aside(before).set_aside) == 1
    assert not (space / name).exists()
    assert not _set_aside(before).set_aside


def test_a_file_in_the_place_of_a_protected_one_is_set_aside(space: Path) -> None:
    (space / "a/b/.envrc").write_text("old")
    before = _protected(space).before
    (space / "a/b").rename(space / "moved")
    (space / "a/b").mkdir()
    (space / "a/b/.envrc").write_text("new")
    assert "a/b/.envrc" in _set_aside(before).set_aside
    assert (space / "moved").is_dir()


def test_a_bare_repository_that_a_command_made_runs_nothing(space: Path) -> None:
    before = _protected(space).before
    for name, config in (("plain.git", "[core]\n\tbare = true\n"), ("odd", "[core]\n\tfsmonitor = x\n")):
        (space / name / "hooks").mkdir(parents=True)
        (space / name / "HEAD").write_text("ref: refs/heads/a\n")
        (space / name / "config").write_text(config)
    (space / "plain.git/hooks/post-update").write_text("x")
    assert set(_set_aside(before).set_aside) == {"odd/config", "plain.git/hooks/post-update"}


def test_what_has_appeared_gets_another_name(space: Path) -> None:
    before = _protected(space).before
    (space / ".mcp.json").write_text("{}")
    (space / ".idea").mkdir()
    (space / ".git/commondir").write_text("../evil")
    (space / "sub/.git/hooks").symlink_to("/tmp")
    moved = _set_aside(before)
    assert set(moved.set_aside) == {".mcp.json", ".idea", ".git/commondir", "sub/.git/hooks"}
    assert (space / ".mcp.json.set-aside").read_text() == "{}"
    assert _set_aside(before) == SettledRun()


def test_a_second_one_does_not_replace_the_first(space: Path) -> None:
    before = _protected(space).before
    for text in ("one", "two"):
        (space / ".mcp.json").write_text(text)
        _set_aside(before)
    assert [(space / name).read_text() for name in (".mcp.json.set-aside", ".mcp.json.set-aside-1")] == ["one", "two"]


def test_a_new_repository_may_hold_what_git_makes_and_nothing_that_runs(space: Path) -> None:
    before = _protected(space).before
    for name, config in (("plain", "[core]\n\tbare = false\n"), ("evil", "[core]\n\tfsmonitor = x\n")):
        (space / name / ".git/hooks").mkdir(parents=True)
        (space / name / ".git/config").write_text(config)
        (space / name / ".git/hooks/pre-commit.sample").write_text("x")
    (space / "evil/.git/hooks/pre-commit").write_text("x")
    (space / "odd").mkdir()
    (space / "odd/.git").write_text("gitdir: ../evil/.git")
    assert set(_set_aside(before).set_aside) == {"evil/.git/config", "evil/.git/hooks/pre-commit", "odd/.git"}


def test_no_link_that_a_command_left_is_followed(space: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    home = tmp_path_factory.mktemp("home")
    (home / "autostart").mkdir()
    before = _protected(space).before
    (space / ".config").symlink_to(home)
    (space / "link").symlink_to(home)
    assert _set_aside(before) == SettledRun({".config": ".config.set-aside"})
    assert [path.name for path in home.iterdir()] == ["autostart"]


@contextmanager
def _as_nobody() -> Iterator[None]:
    """Give up root's rights for a moment: they open every folder."""
    own = os.geteuid()
    os.seteuid(_NOBODY if own == 0 else own)
    try:
        yield
    finally:
        os.seteuid(own)


@pytest.mark.parametrize(("closed", "mode"), [(".idea", 0o000), (".idea", 0o555)], ids=["no look", "no new name"])
def test_what_cannot_be_looked_at_or_renamed_is_named(space: Path, closed: str, mode: int) -> None:
    made = space / ".idea/tasks.xml"
    before = replace(_protected(space).before, absent=(str(made),))
    made.parent.mkdir()
    made.write_text("x")
    for folder in (space, made.parent):
        folder.chmod(0o755)
    opened = [folder for folder in space.parents if folder.stat().st_mode & 0o777 == 0o700]
    for folder in opened:
        folder.chmod(0o755)
    (space / closed).chmod(mode)
    try:
        with _as_nobody():
            assert _set_aside(before) == SettledRun({}, (".idea/tasks.xml",))
    finally:
        (space / closed).chmod(0o755)
        for folder in opened:
            folder.chmod(0o700)


def test_a_link_that_the_person_made_is_neither_mounted_nor_moved(space: Path) -> None:
    (space / ".envrc").rename(space / "envrc")
    (space / ".envrc").symlink_to("envrc")
    found = _protected(space)
    assert space / ".envrc" not in found.fixed
    assert _set_aside(found.before) == SettledRun()


def _repository(folder: Path) -> Path:
    """One with an alias and a hook, as people have them."""
    (folder / ".git/hooks").mkdir(parents=True)
    (folder / ".git/config").write_text("[alias]\n\tlg = log\n")
    (folder / ".git/hooks/pre-commit").write_text("x")
    return folder


def _state(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_a_repository_that_appears_when_nobody_waits_any_more_is_named_and_never_touched(space: Path) -> None:
    before = _protected(space).before
    theirs = _repository(space / "theirs")
    was = _state(theirs)
    settled = _set_aside(before, watched_s=0)
    assert settled == SettledRun({}, ("theirs/.git/hooks/pre-commit", "theirs/.git/config"))
    assert _state(theirs) == was


def test_a_repository_from_before_or_after_the_run_is_not_even_named(space: Path) -> None:
    before = _protected(space).before
    _repository(space / "theirs")
    now = time.time()
    for period in (Period(now + 10, now + 20, now + 30), Period(now - 30, now - 20, now - 10)):
        assert protection.settle(before, period) == SettledRun()


def test_a_run_is_settled_in_its_own_workspace_alone(space: Path) -> None:
    other = space / "a"
    before = _protected(other).before
    _repository(space / "theirs")
    (other / ".envrc").write_text("x")
    assert _set_aside(before).set_aside == {".envrc": ".envrc.set-aside"}
    assert protection.settle(Before(), Period(0, time.time(), time.time())) == SettledRun()


def test_what_was_set_aside_has_a_way_back_that_replaces_nothing(space: Path) -> None:
    before = _protected(space).before
    for name in (".mcp.json", ".idea"):
        (space / name).write_text(name)
    settled = _set_aside(before)
    (space / ".idea").write_text("the person's")
    assert protection.put_back(space, settled.set_aside) == (
        [".mcp.json"],
        [f"There is a {space}/.idea again; {space}/.idea.set-aside is left as it is."],
    )
    assert [(space / name).read_text() for name in (".mcp.json", ".idea")] == [".mcp.json", "the person's"]
    (space / ".idea.set-aside").unlink()
    assert len(protection.put_back(space, settled.set_aside)[1]) == 2
