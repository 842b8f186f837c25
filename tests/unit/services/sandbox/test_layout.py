"""What a command sees of the machine, as bubblewrap is told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.services.files import survey
from app.services.sandbox import layout
from app.services.sandbox.layout import Rooms


def _rooms(folder: Path, workspace: Path) -> Rooms:
    own = folder / "home/.local/share/wisp"
    for made in (workspace, folder / "private", folder / "temp", own / "files", folder / "home/.ssh"):
        made.mkdir(parents=True, exist_ok=True)
    (folder / "home/.netrc").write_text("x")
    return Rooms(workspace, folder / "home", folder / "private", folder / "temp", own / "files", (own,))


def _mounts(rooms: Rooms, path: str = "") -> dict[str, str]:
    """What is mounted where, by the last that counts: the kind and the source."""
    hidden = layout.hidden_in(rooms, survey.survey(rooms.workspace))
    words = [*layout.arguments(rooms, path, network=False), *layout.masks(rooms, hidden)]
    found: dict[str, str] = {}
    while words:
        kind = words.pop(0)
        first = words.pop(0)
        found[words.pop(0) if kind in {"--bind", "--ro-bind", "--symlink"} else first] = f"{kind} {first}"
    return found


def test_the_home_folder_is_not_there_and_the_workspace_is(tmp_path: Path) -> None:
    rooms = _rooms(tmp_path, tmp_path / "home/project")
    mounts = _mounts(rooms)
    assert mounts[str(tmp_path / "home")] == f"--bind {tmp_path / 'private'}"
    assert mounts[str(tmp_path / "home/project")] == f"--bind {tmp_path / 'home/project'}"
    assert mounts["/tmp"] == f"--bind {tmp_path / 'temp'}"
    assert mounts["/usr"] == "--ro-bind /usr"
    assert {"/", "/home", "/root", "/run/user", "/etc", "/sys", "/var/log"} & set(mounts) == set()
    assert [name for name in mounts if "shadow" in name or "ssh_host" in name or "sudoers" in name] == []


def test_a_workspace_that_is_the_home_folder_hides_keys_and_our_own(tmp_path: Path) -> None:
    mounts = _mounts(_rooms(tmp_path, tmp_path / "home"))
    own = tmp_path / "home/.local/share/wisp"
    assert mounts[str(tmp_path / "home/.ssh")] == f"--tmpfs {tmp_path / 'home/.ssh'}"
    assert mounts[str(tmp_path / "home/.netrc")] == "--ro-bind /dev/null"
    assert mounts[str(own)] == f"--tmpfs {own}"
    assert mounts[str(own / "files")] == f"--bind {own / 'files'}"


@pytest.mark.parametrize(
    "workspace", ["/", "/home", "/etc", "/etc/x", "/usr/share", "/tmp", "/proc/1", "{home}/.ssh/x", "{up}"]
)
def test_a_workspace_that_holds_everything_or_the_system_has_no_wall(tmp_path: Path, workspace: str) -> None:
    folder = Path(workspace.format(home=tmp_path / "home", up=tmp_path))
    assert layout.too_broad(folder, tmp_path / "home").startswith(f"The working folder is {folder}, ")


def test_an_ordinary_workspace_and_the_home_folder_have_one(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert [layout.too_broad(folder, home) for folder in (home, home / "x", tmp_path / "y", Path("/srv/x"))] == [""] * 4


def test_programs_of_path_outside_the_home_folder_are_seen_and_the_rest_of_path_goes(tmp_path: Path) -> None:
    tools = tmp_path / "opt/tool/bin"
    hidden = tmp_path / "home/secret/bin"
    for folder in (tools, hidden):
        folder.mkdir(parents=True)
    rooms = _rooms(tmp_path, tmp_path / "home/project")
    path = f"{tools}:{hidden}:/usr/bin::.:relative:{tmp_path}/none"
    assert _mounts(rooms, path)[str(tools.parent)] == f"--ro-bind {tools.parent}"
    assert layout.path_inside(path, rooms) == f"{tools}:/usr/bin"


@pytest.mark.parametrize(
    "entry", ["{folder}/link", "/opt/../bin", "/mnt/../{folder}/../..", "/etc", "/run/x", "/proc/1/root"]
)
def test_a_folder_of_path_is_judged_by_where_it_leads(entry: str, tmp_path: Path) -> None:
    (tmp_path / "home/project").mkdir(parents=True)
    (tmp_path / "link").symlink_to("/")
    rooms = _rooms(tmp_path, tmp_path / "home/project")
    assert layout.program_folders(entry.format(folder=tmp_path), rooms) == []


def test_a_link_in_path_to_programs_is_seen_as_the_folder_that_it_leads_to(tmp_path: Path) -> None:
    tools = tmp_path / "tools/bin"
    tools.mkdir(parents=True)
    (tmp_path / "link").symlink_to(tools)
    rooms = _rooms(tmp_path, tmp_path / "home/project")
    assert layout.program_folders(f"{tmp_path}/link", rooms) == [tmp_path / "tools"]
    assert layout.path_inside(f"{tmp_path}/link:/usr/../bin", rooms) == f"{tools}:{os.path.realpath('/bin')}"
