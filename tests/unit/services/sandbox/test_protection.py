"""What runs by itself: what is there is mounted read-only, what appears gets another name."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.services.sandbox import protection


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


def _names(space: Path, paths: tuple[Path, ...]) -> set[str]:
    return {str(path.relative_to(space)) for path in paths}


def test_what_is_there_is_fixed_and_repositories_stay_where_they_are(space: Path) -> None:
    found = protection.of(space)
    assert _names(space, found.fixed) == {".git/config", ".git/hooks", ".envrc", ".vscode", "sub/.git/config"}
    assert _names(space, found.pinned) == {".git", "sub/.git"}
    assert {".mcp.json", ".bashrc", ".git/commondir", "sub/.git/hooks"} <= _names(space, found.absent)


def test_what_has_appeared_gets_another_name(space: Path) -> None:
    watched = protection.of(space).watched()
    (space / ".mcp.json").write_text("{}")
    (space / ".idea").mkdir()
    (space / ".git/commondir").write_text("../evil")
    (space / "sub/.git/hooks").symlink_to("/tmp")
    moved = protection.set_aside(space, watched)
    assert set(moved) == {".mcp.json", ".idea", ".git/commondir", "sub/.git/hooks"}
    assert (space / ".mcp.json.set-aside").read_text() == "{}"
    assert protection.set_aside(space, watched) == []


def test_a_second_one_does_not_replace_the_first(space: Path) -> None:
    watched = protection.of(space).watched()
    for text in ("one", "two"):
        (space / ".mcp.json").write_text(text)
        protection.set_aside(space, watched)
    assert [(space / name).read_text() for name in (".mcp.json.set-aside", ".mcp.json.set-aside-1")] == ["one", "two"]


def test_a_new_repository_may_hold_what_git_makes_and_nothing_that_runs(space: Path) -> None:
    watched = protection.of(space).watched()
    for name, config in (("plain", "[core]\n\tbare = false\n"), ("evil", "[core]\n\tfsmonitor = x\n")):
        (space / name / ".git/hooks").mkdir(parents=True)
        (space / name / ".git/config").write_text(config)
        (space / name / ".git/hooks/pre-commit.sample").write_text("x")
    (space / "evil/.git/hooks/pre-commit").write_text("x")
    (space / "odd").mkdir()
    (space / "odd/.git").write_text("gitdir: ../evil/.git")
    assert set(protection.set_aside(space, watched)) == {"evil/.git/config", "evil/.git/hooks/pre-commit", "odd/.git"}


def test_no_link_that_a_command_left_is_followed(space: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    home = tmp_path_factory.mktemp("home")
    (home / "autostart").mkdir()
    watched = protection.of(space).watched()
    (space / ".config").symlink_to(home)
    (space / "link").symlink_to(home)
    assert protection.set_aside(space, watched) == []
    assert [path.name for path in home.iterdir()] == ["autostart"]


def test_a_link_that_the_person_made_is_neither_mounted_nor_moved(space: Path) -> None:
    (space / ".envrc").rename(space / "envrc")
    (space / ".envrc").symlink_to("envrc")
    found = protection.of(space)
    assert space / ".envrc" not in found.fixed
    assert protection.set_aside(space, found.watched()) == []
