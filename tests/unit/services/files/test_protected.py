"""The one table of secrets and of what starts by itself."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.base.errors import NeedsPerson, ToolFailed
from app.services.files import places, survey
from app.services.files.checkpoints import Checkpoints
from app.services.files.moving import Moves
from app.services.files.places import Workspace
from app.services.files.searching import Query, search

_SECRET = """
.npmrc .bash_history .config/rclone/rclone.conf .pgpass .config/chromium/Default/Cookies pass.kdbx .pypirc
.Xauthority .ICEauthority .cargo/credentials.toml .ssh/id_rsa .netrc .config/gh/hosts.yml .docker/config.json
.kube/config .aws/credentials .azure/x .config/gcloud/x .python_history .node_repl_history .lesshst
.local/share/keyrings/login.keyring .mozilla/firefox/a.default/key4.db
.config/google-chrome-beta/Default/Cookies .git-credentials .gnupg/private-keys-v1.d/x .SSH/id .ssh\u200b/id
.local/share/fish/fish_history
"""
_STARTS = """
.local/lib/python3.11/site-packages/usercustomize.py .vimrc .config/openbox/autostart .local/bin/ls .tmux.conf
.config/i3/config .config/nvim/init.vim .xbindkeysrc .config/pip/pip.conf .gdbinit .config/mimeapps.list
.emacs .exrc .config/autostart/x.desktop .config/systemd/user/x.service .local/share/applications/x.desktop
bin/ls .vscode/tasks.json .idea/x .envrc .cursor/mcp.json .devcontainer/devcontainer.json
.claude/settings.json .git/hooks/pre-commit .git/config .gitconfig .bashrc .zshenv .profile .Xresources
.config/hypr/hyprland.conf proj/sitecustomize.py proj/.venv/lib/python3.11/site-packages/x.pth proj/.mcp.json
.ipython/profile_default/startup/a.py .iex.exs proj/.mvn/jvm.config proj/.nvim.lua .lvimrc _vimrc proj/.bazelrc
proj/.theia/tasks.json proj/.vs/tasks.vs.json proj/a.code-workspace proj/.jj/repo/config.toml
proj/.bzr/branch/branch.conf proj/.autoenv.zsh proj/CLAUDE.md proj/AGENTS.md proj/.cursorrules
proj/.agents/skills/mailing/SKILL.md .agents/skills/mailing/SKILL.md proj/.kiro/steering/a.md proj/GEMINI.md
"""
_NEITHER = """
proj/main.py proj/model.pth proj/bin/run proj/README.md proj/history.txt proj/.github/workflows/ci.yml
proj/.env.example proj/Dockerfile proj/.dockerignore proj/cookies.py proj/keys.md proj/etc/systemd/x.service
proj/id_rsa.pub
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "ada"
    (folder / "proj").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(folder))
    places._inodes.cache_clear()
    return folder


@pytest.fixture
def workspace(home: Path, tmp_path: Path) -> Workspace:
    return Workspace(home / "proj", home=home, temp=tmp_path / "tmp")


@pytest.mark.parametrize("name", _SECRET.split())
def test_a_secret_is_neither_read_nor_written(workspace: Workspace, name: str) -> None:
    for prefix in ("device:/", ""):
        place = workspace.locate(prefix + name)
        for check in (workspace.check_readable, workspace.check_writable):
            with pytest.raises(ToolFailed, match="it is left alone"):
                check(place)


@pytest.mark.parametrize("name", _STARTS.split())
def test_what_starts_by_itself_is_read_and_never_written(workspace: Workspace, name: str) -> None:
    place = workspace.locate(f"device:/{name}")
    workspace.check_readable(place)
    with pytest.raises(NeedsPerson, match="is protected"):
        workspace.check_writable(place)


@pytest.mark.parametrize("name", _NEITHER.split())
def test_what_projects_hold_is_free(workspace: Workspace, name: str) -> None:
    workspace.check_writable(workspace.locate(f"device:/{name}"))
    assert not places.is_local_secret(Path(name))


def test_a_hard_link_to_a_secret_is_a_secret(workspace: Workspace, home: Path) -> None:
    links = {".pgpass": "one", ".config/chromium/Default/Cookies": "two", "proj/a.txt": "free"}
    for name, link in links.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("planted")
        os.link(home / name, home / "proj" / link)
    for link in ("one", "two"):
        with pytest.raises(ToolFailed, match="it is left alone"):
            workspace.check_readable(workspace.locate(link))
    workspace.check_readable(workspace.locate("free"))


_MOUNTED = """
import sys
from pathlib import Path
from app.base.errors import ToolFailed
from app.services.files.places import Workspace

home = Path(sys.argv[1])
work = Workspace(home / "proj", home=home, temp=home)
for name in sys.argv[2:]:
    try:
        work.check_readable(work.locate(name))
        print(name, "is read")
    except ToolFailed:
        print(name, "is left alone")
"""


_MAY_MOUNT = not subprocess.run(["unshare", "--mount", "true"], check=False, stderr=subprocess.DEVNULL).returncode


@pytest.mark.skipif(not _MAY_MOUNT, reason="only root may mount, and not everywhere")
def test_a_secret_that_is_mounted_elsewhere_is_a_secret(home: Path) -> None:
    for name in (".pgpass", ".ssh/deep/work", "plain/notes"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("planted")
    (home / "proj/one").touch()
    (home / "proj/a box").mkdir()
    (home / "proj/free").mkdir()
    mounts = (".pgpass", "proj/one"), (".ssh/deep", "proj/a box"), ("plain", "proj/free")
    shell = " && ".join(f"mount --bind '{home / source}' '{home / to}'" for source, to in mounts)
    names = ("one", "a box/work", "free/notes")
    command = ["unshare", "--mount", "sh", "-c", f'{shell} && exec "$@"', "sh", sys.executable, "-c", _MOUNTED]
    done = subprocess.run([*command, str(home), *names], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines() == ["one is left alone", "a box/work is left alone", "free/notes is read"]


@pytest.mark.parametrize(
    ("name", "text", "is_secret"),
    [
        ("key.pem", "planted", True),
        ("key.pem", "-----BEGIN CERTIFICATE-----\nMII", False),
        ("both.pem", "-----BEGIN CERTIFICATE-----\nMII\n-----BEGIN RSA PRIVATE KEY-----\n", True),
        ("talk.key", "PK\x03\x04", False),
        ("deploy.txt", "x\n-----BEGIN OPENSSH PRIVATE KEY-----\n", True),
        (".env", "A=1", True),
        ("terraform.tfstate", "{}", True),
        ("plain.txt", "BEGIN", False),
    ],
)
def test_keys_outside_the_workspace_are_told_by_name_and_content(
    workspace: Workspace, home: Path, name: str, text: str, is_secret: bool
) -> None:
    (home / name).write_text(text)
    place = workspace.locate(f"device:/{name}")
    if is_secret:
        with pytest.raises(ToolFailed, match="it is left alone"):
            workspace.check_readable(place)
    else:
        workspace.check_readable(place)


async def test_a_search_shows_no_line_of_a_secret_under_another_name(workspace: Workspace, home: Path) -> None:
    (home / ".pgpass").write_text("planted")
    os.link(home / ".pgpass", home / "proj/notes.txt")
    (home / "proj/deploy.txt").write_text("planted\n-----BEGIN RSA PRIVATE KEY-----\nplanted")
    (home / "proj/deep").mkdir()
    os.link(home / ".pgpass", home / "proj/deep/more.txt")
    (home / "proj/plain.txt").write_text("planted")
    hits = await search(workspace.locate("."), Query("planted"), asyncio.Event())
    assert (hits.text, hits.files, hits.matches) == ("plain.txt\n1: planted", 1, 1)


def test_a_secret_that_comes_into_a_folder_that_was_looked_at_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "_SETTLED_NS", 0)
    (tmp_path / "sub").mkdir()
    for secret in (tmp_path / "sub/.env", tmp_path / "sub/server.pem"):
        before = (places.local_secrets_in(tmp_path), secret.parent.stat().st_ctime_ns)
        while secret.parent.stat().st_ctime_ns == before[1]:  # until the kernel's clock has gone on
            secret.write_text("-----BEGIN PRIVATE KEY-----")
            secret.parent.chmod(0o700)
        assert places.local_secrets_in(tmp_path) == [*before[0], secret]


@pytest.mark.parametrize("folder", ["", "deep/in/it/nine/levels/or/so/and/more/"])
@pytest.mark.parametrize("name", [".profile", ".bashrc", ".config/autostart/a.desktop"])
def test_a_hard_link_to_a_start_up_file_is_not_written(
    workspace: Workspace, home: Path, name: str, folder: str
) -> None:
    (home / name).parent.mkdir(parents=True, exist_ok=True)
    (home / name).write_text("old")
    link = home / "proj" / folder / "notes.txt"
    link.parent.mkdir(parents=True, exist_ok=True)
    os.link(home / name, link)
    with pytest.raises(NeedsPerson, match="is protected"):
        workspace.check_writable(workspace.locate(str(link)))
    assert survey.survey(workspace.folder).linked == {link: "starts"}


def test_secrets_are_known_at_any_depth(workspace: Workspace, home: Path) -> None:
    secret, link = home / ".config/gh/a/b/c/d/e/f/g/deep.txt", home / "proj/box/one.txt"
    secret.parent.mkdir(parents=True)
    secret.write_text("planted")
    link.parent.mkdir()
    os.link(secret, link)
    with pytest.raises(ToolFailed, match="it is left alone"):
        workspace.check_readable(workspace.locate("box/one.txt"))
    assert survey.survey(workspace.folder).linked == {link: "secret"}


def test_a_folder_that_cannot_be_read_is_kept_from_commands(
    workspace: Workspace, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed, scandir = home / "proj" / "api", os.scandir
    closed.mkdir()

    def refusing(folder: str) -> object:  # because root, as whom tests may run, can read everything
        if folder == str(closed):
            raise PermissionError(folder)
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", refusing)
    assert closed in survey.survey(workspace.folder).secrets


@pytest.mark.parametrize(
    "name", ["HEAD", "b/HEAD", "mine.git/config", "mine.git/hooks/post-update", "mine.git/commondir"]
)
def test_no_tool_makes_or_changes_a_bare_repository(workspace: Workspace, home: Path, name: str) -> None:
    (home / "proj/mine.git").mkdir()
    (home / "proj/mine.git/HEAD").write_text("ref: refs/heads/a")
    with pytest.raises(NeedsPerson, match="is protected"):
        workspace.check_writable(workspace.locate(name))
    workspace.check_writable(workspace.locate("other/config"))


def test_a_folder_is_not_moved_where_a_link_in_it_starts_by_itself(workspace: Workspace, home: Path) -> None:
    (home / "proj/v/a").mkdir(parents=True)
    (home / "proj/v/a/.envrc").symlink_to("../../t")
    with pytest.raises(NeedsPerson, match="a link that starts by itself"):
        Moves(workspace, Checkpoints(home / "kept")).plan(["v"], ["w"], copies=False)
