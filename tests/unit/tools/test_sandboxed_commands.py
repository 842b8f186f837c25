"""What is different behind the wall, and what a call may ask for."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path

import psutil
import pytest

from app.base.clock import SystemClock
from app.base.errors import ToolFailed
from app.services.files import places, survey
from app.services.processes import starting
from app.services.processes.commands import Processes, RunRecord
from app.services.processes.deletions import Deletions
from app.services.sandbox import bubblewrap
from app.services.sandbox.layout import NoWall, SandboxedCommand
from tests.support.waiting import eventually
from tests.support.walls import needs_wall
from tests.support.workbench import Bench

pytestmark = needs_wall


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    made = Bench(tmp_path, sandboxed=True)
    yield made
    await made.stop_all()


@pytest.fixture
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


async def _output(bench: Bench, command: str, **more: str | bool) -> str:
    """All that it prints, however late."""
    run = str((await bench.call("execute_command", command=command, **more)).payload["run_id"])
    await bench.call("wait_until", run_id=run)
    return bench.processes.find(run).stdout.text(0, 10_000)


async def test_the_network_is_there_only_where_it_was_asked_for(bench: Bench, port: int) -> None:
    dial = f"(echo x > /dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo reached || echo alone"
    assert await _output(bench, dial) == "alone\n"
    assert await _output(bench, dial, network=True) == "reached\n"


async def test_a_command_in_a_workspace_too_large_to_search_says_what_was_not_protected(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(survey, "MOST_ENTRIES", 500)
    sentence = "more entries than are searched"
    few = await bench.call("execute_command", command="mkdir f{1..600}")
    many = await bench.call("execute_command", command="true")
    assert (sentence in few.llm_echo, sentence in many.llm_echo) == (False, True), many.llm_echo


async def test_the_network_brings_no_socket_of_the_session(bench: Bench) -> None:
    name = "\0wisp-test-door"
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(name)
        door.listen()
        knock = "import socket; socket.socket(socket.AF_UNIX).connect('\\0wisp-test-door')"
        command = f'python3 -c "{knock}" 2>/dev/null && echo reached || echo alone'
        assert await _output(bench, command, network=True) == "alone\n"
        assert await _output(bench, command, outside=True) == "reached\n"


async def test_outside_there_is_no_wall(bench: Bench) -> None:
    (bench.home / "letter.txt").write_text("Dear Ada")
    inside = await bench.call("execute_command", command=f"cat {bench.home}/letter.txt")
    outside = await bench.call("execute_command", command=f"cat {bench.home}/letter.txt", outside=True)
    assert [(found.payload["sandboxed"], found.payload["stdout"]) for found in (inside, outside)] == [
        (True, ""),
        (False, "Dear Ada"),
    ]


async def test_a_folder_outside_says_what_to_do(bench: Bench) -> None:
    result = await bench.call("execute_command", command="pwd", cwd="device:/")
    assert result.llm_echo == (
        f"execute_command: cwd: {str(bench.home)!r} is outside the workspace. Say outside=true to work there; "
        "the person is asked then."
    )
    assert await _output(bench, "pwd", cwd="device:/", outside=True) == f"{bench.home}\n"


async def test_what_runs_by_itself_is_set_aside_and_told(bench: Bench) -> None:
    result = await bench.call("execute_command", command="echo x > .envrc; echo y > other")
    assert result.payload["set_aside"] == [".envrc"]
    assert "It left what runs by itself; renamed to end in .set-aside: .envrc. Tell the person;" in result.llm_echo
    assert sorted(path.name for path in bench.root.iterdir()) == [".envrc.set-aside", "other"]


async def test_what_a_command_deleted_is_told_and_put_back_with_the_turn(bench: Bench) -> None:
    (bench.root / "letters").mkdir()
    for number in range(30):
        (bench.root / "letters" / f"{number}.txt").write_text(str(number))
    result = await bench.call("execute_command", command="rm -rf letters")
    assert (len(result.payload["deleted"]), result.payload["undoable"]) == (30, True)  # type: ignore[arg-type]
    assert "It deleted 30 files" in result.llm_echo
    name = result.payload["put_back"]
    assert name == f"t1/{result.payload['run_id']}"
    assert f"`wisp undo --turn {name}`, puts them back" in result.llm_echo
    undone, problems = bench.changes.restore("t1")
    assert (len(undone), problems) == (30, [])
    assert (bench.root / "letters" / "7.txt").read_text() == "7"


@pytest.mark.parametrize(("count", "age_s", "asks"), [(3, -60, False), (21, -60, True), (1, 60, True)])
async def test_many_or_older_files_that_were_deleted_are_asked_about_and_put_back_alone(
    bench: Bench, count: int, age_s: int, asks: bool
) -> None:
    bench.began_at = time.time()
    for number in range(count):
        (bench.root / f"{number}.txt").write_text("old")
        os.utime(bench.root / f"{number}.txt", (bench.began_at - age_s,) * 2)
    (bench.root / "note").write_text("x")
    first = await bench.call("execute_command", command="rm *.txt")
    await bench.call("execute_command", command="rm note")
    name = f"t1/{first.payload['run_id']}"
    assert first.payload["put_back"] == (name if asks else "")
    assert ("ask the person whether to keep it so or to put them back" in first.llm_echo) == asks
    undone, problems = bench.changes.restore(name)
    assert (len(undone), problems, (bench.root / "0.txt").read_text()) == (count, [], "old")
    assert not (bench.root / "note").exists()


async def test_a_hard_link_to_a_secret_and_a_secret_in_the_workspace_are_empty_for_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "person"
    home.mkdir()
    (home / ".pgpass").write_text("planted")
    monkeypatch.setenv("HOME", str(home))
    bench = Bench(tmp_path, sandboxed=True)
    os.link(home / ".pgpass", bench.root / "notes.txt")
    (bench.root / ".bash_history").write_text("planted")
    (bench.root / ".npmrc").write_text("save-exact=true")
    command = "cat notes.txt .bash_history 2>/dev/null; cat .npmrc"
    assert await _output(bench, command) == "save-exact=true"
    await bench.stop_all()


_SERVER = "python3 {unbuffered} -m http.server {port} --bind {host}"


def _get(address: str) -> str:
    with urllib.request.urlopen(address, timeout=10) as page:
        return str(page.read().decode())


@pytest.mark.parametrize(("unbuffered", "host"), [("-u", "127.0.0.1"), ("-u", "0.0.0.0"), ("-u", "::1"), ("", "::")])
async def test_a_background_server_is_reached_from_this_machine_and_reaches_nothing_itself(
    bench: Bench, port: int, unbuffered: str, host: str
) -> None:
    (bench.root / "hello.txt").write_text("from inside")
    dial = f"(echo x > /dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo reached > dialled || echo alone > dialled"
    command = f"{dial}; {_SERVER.format(unbuffered=unbuffered, port=0, host=host)}"
    served = await bench.call("execute_command", command=command, background=True)
    assert "inside its sandbox" not in served.llm_echo
    [number] = re.findall(r"It serves \S+:(\d+)", served.llm_echo)
    address = f"http://localhost:{number}/hello.txt"
    assert await asyncio.to_thread(_get, address) == "from inside"
    assert (await bench.call("wait_until", port=int(number))).payload["met"] is True
    assert (bench.root / "dialled").read_text() == "alone\n"
    await bench.call("stop_command", run_id=str(served.payload["run_id"]))
    with pytest.raises(OSError, match="refused"):
        await asyncio.to_thread(_get, address)
    assert eventually(lambda: not _has_mark(str(served.payload["run_id"])))


def _has_mark(run_id: str) -> bool:
    return any(starting.members(run_id, 0, 0.0))


async def test_a_port_that_is_taken_here_gets_another_one(bench: Bench, port: int) -> None:
    (bench.root / "hello.txt").write_text("from inside")
    command = _SERVER.format(unbuffered="-u", port=port, host="127.0.0.1")
    served = await bench.call("execute_command", command=command, background=True)
    url = str(served.payload["url"])
    assert f":{port}/" not in url, served.llm_echo
    assert await asyncio.to_thread(_get, f"{url}hello.txt") == "from inside"


@pytest.mark.long
async def test_a_server_that_starts_late_is_reached_as_well(bench: Bench) -> None:
    command = "echo building; sleep 1; " + _SERVER.format(unbuffered="-u", port=28_471, host="127.0.0.1")
    started = await bench.call("execute_command", command=command, background=True)
    assert started.payload["url"] == ""
    assert (await bench.call("wait_until", port=28_471, timeout_seconds=20)).payload["met"] is True
    assert "dialled" not in await asyncio.to_thread(_get, "http://127.0.0.1:28471/")


@pytest.mark.long
async def test_a_server_that_was_not_started_as_one_says_who_reaches_it(bench: Bench) -> None:
    command = "python3 -u -m http.server 0 --bind 127.0.0.1"
    alone = await bench.call("execute_command", command=command, pty=True)
    served = await bench.call("execute_command", command=command, background=True, network=True)
    assert "inside its sandbox only; background=true, or else network=true," in alone.llm_echo
    assert "inside its sandbox" not in served.llm_echo
    number = int(str(served.payload["url"]).rstrip("/").rpartition(":")[2])
    assert (await bench.call("wait_until", port=number)).payload["met"] is True


async def test_its_environment_holds_what_programs_need_and_nothing_else(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MY_TOKEN", "DATABASE_URL", "ANYTHING", "DISPLAY", "SSH_AUTH_SOCK", "LD_PRELOAD", "BASH_ENV"):
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("LC_TIME", "C")
    names = (await _output(bench, "env | cut -d= -f1 | sort")).split()
    assert {"HOME", "LC_TIME", "PATH", "TMPDIR", "WISP_RUN_ID"} <= set(names)
    assert (
        set(names) & {"MY_TOKEN", "DATABASE_URL", "ANYTHING", "DISPLAY", "SSH_AUTH_SOCK", "LD_PRELOAD", "BASH_ENV"}
        == set()
    )


@pytest.mark.parametrize(
    "value",
    [
        "postgres://ada:pass@db/x",
        "sk-ant-api03-abcdefghijklmnop",
        "ghp_abcdefghijklmnopqrst",
        "AKIAABCDEFGHIJKLMNOP",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx",
        "-----BEGIN OPENSSH PRIVATE KEY-----",
    ],
)
async def test_no_command_finds_a_value_that_looks_like_a_key(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("LC_ALIAS", value)
    monkeypatch.setenv("LC_PLAIN", "https://example.org:80/a@b")
    for outside in (False, True):
        assert await _output(bench, "echo $LC_ALIAS $LC_PLAIN", outside=outside) == "https://example.org:80/a@b\n"


async def test_what_a_command_started_ends_with_it(bench: Bench) -> None:
    before = set(psutil.pids())
    await bench.call("execute_command", command="setsid sleep 4711 & (trap '' TERM HUP; sleep 4711) & sleep 0.1")
    assert eventually(lambda: [pid for pid in set(psutil.pids()) - before if _is_sleeping(pid)] == [])


def _is_sleeping(pid: int) -> bool:
    try:
        return "4711" in psutil.Process(pid).cmdline()
    except psutil.Error:
        return False


@pytest.mark.parametrize(
    ("command", "network", "said"),
    [
        ("exit 3", False, " It ran in the sandbox: no network, and a home of its own.\n"),
        ("exit 3", True, " It ran in the sandbox: a home of its own.\n"),
        ("mkdir -p ~/Projects/new", False, " It ran in the sandbox: no network, and a home of its own.\n"),
        ("ls $HOME", True, " It ran in the sandbox: a home of its own.\n"),
        ("touch /tmp/note", True, " It ran in the sandbox: a home of its own.\n"),
        ("true", False, "s.\n"),
    ],
)
async def test_a_command_that_failed_or_names_the_home_says_what_the_sandbox_keeps_from_it(
    bench: Bench, command: str, network: bool, said: str
) -> None:
    result = await bench.call("execute_command", command=command, network=network)
    assert said in result.llm_echo
    assert ("sandbox" in result.llm_echo) is (command != "true")


async def test_temporary_files_stay_for_the_next_command_and_are_not_the_systems(bench: Bench) -> None:
    await _output(bench, "echo x > /tmp/wisp-kept; echo y > ~/kept")
    assert await _output(bench, "cat /tmp/wisp-kept ~/kept") == "x\ny\n"
    assert not Path("/tmp/wisp-kept").exists()


async def test_a_command_asked_to_end_may_do_so_in_peace(bench: Bench) -> None:
    command = "trap 'echo goodbye; exit 3' TERM; echo ready; while :; do sleep 0.05; done"
    started = await bench.call("execute_command", command=command, background=True)
    run = bench.processes.find(str(started.payload["run_id"]))
    await bench.call("stop_command", run_id=run.id)
    assert (run.stdout.text(0, 100), run.record.exit_code) == ("ready\ngoodbye\n", 3)


@pytest.mark.parametrize("name", ["sandboxed", "walled"], ids=["now", "earlier versions"])
async def test_what_it_left_is_set_aside_also_when_wisp_was_started_again(
    bench: Bench, tmp_path: Path, name: str
) -> None:
    command = "echo on; echo x > .mcp.json; sleep 300"
    started = await bench.call("execute_command", command=command, background=True)
    for record in tmp_path.glob("runs/*/run.json"):
        record.write_text(record.read_text().replace('"sandboxed"', f'"{name}"'))
    later = Processes(tmp_path / "runs", SystemClock(), wall=bench.wall)
    [left] = later.left_over()
    assert (left.id, left.record.sandboxed) == (started.payload["run_id"], True)
    await later.stop(left)
    assert [path.name for path in bench.root.iterdir()] == [".mcp.json.set-aside"]
    listed = await bench.call("list_recent_commands")
    assert f"`wisp undo --command {left.id}` puts it back" in listed.llm_echo
    [left] = later.recent(1)
    assert later.put_back(left) == ([".mcp.json"], [])
    assert [path.name for path in bench.root.iterdir()] == [".mcp.json"]


def test_a_sandbox_ends_with_the_program_that_was_killed(tmp_path: Path) -> None:
    begin = _BEGIN.replace(", keep=True", "") + "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n"
    subprocess.run((sys.executable, "-c", begin, str(tmp_path), "echo on; sleep 600"), check=False, timeout=60)
    record = RunRecord.load(next((tmp_path / "runs").iterdir()))
    assert record
    assert eventually(lambda: not starting.members(record.id, record.pid, record.born))


_BEGIN = """
import asyncio, sys
from pathlib import Path
from tests.support.workbench import Bench
bench = Bench(Path(sys.argv[1]), sandboxed=True)
asyncio.run(bench.call("execute_command", command=sys.argv[2], background=True, keep=True))
"""


def _repository(folder: Path) -> Path:
    """Make a repository with an alias and a hook, as people have them."""
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    subprocess.run(["git", "-C", str(folder), "config", "alias.lg", "log --oneline"], check=True)
    (folder / ".git/hooks/pre-commit").write_text("#!/bin/sh\n")
    return folder


def _is_untouched(repository: Path) -> bool:
    alias = subprocess.run(["git", "-C", str(repository), "config", "alias.lg"], capture_output=True, check=True)
    return alias.stdout == b"log --oneline\n" and (repository / ".git/hooks/pre-commit").exists()


_UNTIL_GO = "echo x > .mcp.json; echo on; while [ ! -e go ]; do sleep 0.05; done"
_THEIRS = ["theirs/.git/hooks/pre-commit", "theirs/.git/config"]


@pytest.mark.parametrize("set_back_s", [0, 60])
def test_a_leftover_run_is_settled_with_its_own_workspace_and_leaves_the_persons_repositories_alone(
    tmp_path: Path, set_back_s: int
) -> None:
    subprocess.run((sys.executable, "-c", _BEGIN, str(tmp_path), _UNTIL_GO), check=True, timeout=60)
    project = tmp_path / "project"
    theirs = [_repository(folder) for folder in (tmp_path / "other", project / "theirs")]
    for record in tmp_path.glob("runs/*/run.json"):  # as if the clock had been set back since
        kept = json.loads(record.read_text())
        record.write_text(json.dumps(kept | {"booted": kept.get("booted", 0.0) + set_back_s}))
    (project / "go").touch()
    elsewhere = bubblewrap.wall(tmp_path, wanted=True)
    later = Processes(tmp_path / "runs", SystemClock(), wall=elsewhere)
    assert eventually(lambda: not later.left_over())
    [ended] = later.settled_late()
    assert ended.record.set_aside == ({} if set_back_s else {".mcp.json": ".mcp.json.set-aside"})
    assert ended.record.unclear == ([".mcp.json"] if set_back_s else []) + _THEIRS
    assert all(map(_is_untouched, theirs))


async def test_a_repository_that_the_person_makes_as_soon_as_the_turn_goes_on_is_left_alone(bench: Bench) -> None:
    run = await bench.processes.start(_UNTIL_GO, bench.root)
    assert await asyncio.to_thread(eventually, lambda: run.stdout.size() > 0)
    made = (bench.root / ".mcp.json").stat().st_ctime
    assert await asyncio.to_thread(eventually, lambda: _file_time(bench.home / "tick") > made)
    bench.processes.leave(run)
    _by_hand(bench.root / "theirs")
    (bench.root / "go").touch()
    await asyncio.wait_for(run.ended.wait(), 30)
    assert run.record.set_aside == {".mcp.json": ".mcp.json.set-aside"}
    assert run.record.unclear == ["theirs/.git/config"]


def _file_time(mark: Path) -> float:
    mark.write_text("x")
    return mark.stat().st_ctime


def _by_hand(folder: Path) -> None:
    """Make a repository with an alias as fast as that goes."""
    (folder / ".git").mkdir(parents=True)
    (folder / ".git/config").write_text("[alias]\n\tlg = log\n")


class _Meanwhile(Deletions):
    """The person makes a repository after Wisp looked at the workspace and before the command starts."""

    def keep(self, folder: Path) -> None:
        _by_hand(self._workspace / "theirs")
        super().keep(folder)


async def test_a_repository_that_the_person_makes_before_the_command_starts_is_left_alone(bench: Bench) -> None:
    deletions = _Meanwhile(bench.root, bench.checkpoints)
    processes = Processes(bench.home / "runs", SystemClock(), wall=bench.wall, deletions=deletions)
    run = await processes.start("echo x > .mcp.json", bench.root)
    await asyncio.wait_for(run.ended.wait(), 30)
    assert run.record.set_aside == {".mcp.json": ".mcp.json.set-aside"}
    assert (bench.root / "theirs/.git/config").exists()


async def test_commits_carry_the_persons_name_and_nothing_else_of_their_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "person"
    home.mkdir()
    (home / ".gitconfig").write_text(
        '[user]\n\tname = Ada "L" Lovelace\n\temail = ada@example.org\n[alias]\n\tx = !id\n'
    )
    monkeypatch.setenv("HOME", str(home))
    bench = Bench(tmp_path, sandboxed=True)
    command = "git init -q . && git commit -q --allow-empty -m x && git log --format='%an %ae'; git x"
    result = await bench.call("execute_command", command=command)
    assert result.payload["stdout"] == "Ada L Lovelace ada@example.org\n"
    assert "'x' is not a git command" in str(result.payload["stderr"])
    await bench.stop_all()


async def test_a_workspace_that_is_the_home_folder_keeps_its_keys_and_start_up_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "project"
    for name in (".ssh/id", ".netrc", ".bashrc", ".config/gh/hosts.yml", "letter.txt"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(f"{name}\n")
    monkeypatch.setenv("HOME", str(home))
    bench = Bench(tmp_path, sandboxed=True)
    read = "cat .ssh/id ~/.netrc .config/gh/hosts.yml letter.txt .bashrc; echo x >> .bashrc; echo y >> letter.txt"
    result = await bench.call("execute_command", command=read)
    assert result.payload["stdout"] == "letter.txt\n.bashrc\n"
    assert [(home / name).read_text() for name in (".bashrc", "letter.txt", ".ssh/id")] == [
        ".bashrc\n",
        "letter.txt\ny\n",
        ".ssh/id\n",
    ]
    await bench.stop_all()


class _Broken(NoWall):
    """A wall that stands and fails."""

    def missing(self) -> str:
        return ""

    def enclose(self, _cwd: Path, _environment: Mapping[str, str], _folder: Path, *, network: bool) -> SandboxedCommand:
        raise ToolFailed("The wall fell.")


async def test_where_the_wall_fails_nothing_runs(tmp_path: Path) -> None:
    processes = Processes(tmp_path / "runs", SystemClock(), wall=_Broken(""))
    with pytest.raises(ToolFailed, match="The wall fell"):
        await processes.start(f"touch {tmp_path}/ran", tmp_path)
    assert (list((tmp_path / "runs").iterdir()), (tmp_path / "ran").exists()) == ([], False)


async def test_folders_on_the_way_to_what_is_hidden_cannot_be_moved_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "project"
    for name in (".config/gh/hosts.yml", ".config/autostart/x.desktop", ".config/other"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(f"{name}\n")
    monkeypatch.setenv("HOME", str(home))
    bench = Bench(tmp_path, sandboxed=True)
    await bench.call("execute_command", command="mv .config moved; mkdir .config; echo x > .config/other")
    seen = await bench.call(
        "execute_command", command="cat */gh/hosts.yml .*/gh/hosts.yml; cat .config/autostart/x.desktop"
    )
    assert seen.payload["stdout"] == ".config/autostart/x.desktop\n"
    await bench.stop_all()


def test_a_mount_that_is_not_what_was_meant_ends_it_before_the_command(tmp_path: Path) -> None:
    bench = Bench(tmp_path, sandboxed=True)
    (tmp_path / "elsewhere").mkdir()
    inner = bench.root / ".git"
    inner.mkdir()
    enclosure = bench.wall.enclose(bench.root, {"PATH": "/usr/bin:/bin"}, tmp_path, network=False)
    meant = [*enclosure.prefix, "/bin/sh", "-c", "echo ran"]
    swapped = [*meant]
    swapped[swapped.index(str(inner))] = str(tmp_path / "elsewhere")
    seen = [
        subprocess.run(argv, env=dict(enclosure.environment), capture_output=True, text=True, check=False)
        for argv in (meant, swapped)
    ]
    assert [(done.returncode, done.stdout) for done in seen] == [(0, "ran\n"), (125, "")]
    assert "the workspace changed while the sandbox was built; nothing was run" in seen[1].stderr


@pytest.mark.parametrize(
    "command",
    [
        "echo touch hit >> prof.txt",
        "echo touch hit >> box/prof.txt",
        "mv box b2; echo touch hit >> b2/prof.txt",
        "cat box/alias.txt .agents/skills/a/alias.txt stuff/.aws/credentials",
        "echo hit >> sub/deep/.envrc",
        "echo hit >> a/b/c/d/e/f/g/h/i/.git/hooks/pre-commit",
    ],
)
async def test_no_command_reaches_what_is_protected_by_another_name_or_deep(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str
) -> None:
    home, space = tmp_path / "person", bench.root
    names = (".profile", ".aws/credentials")
    places_of_files = [*(home / name for name in names), *(space / name for name in _DEEP)]
    for path in places_of_files:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("planted")
    monkeypatch.setenv("HOME", str(home))
    places._inodes.cache_clear()
    for name, link in (
        (0, "prof.txt"),
        (0, "box/prof.txt"),
        (1, "box/alias.txt"),
        (1, ".agents/skills/proj/alias.txt"),
    ):
        (space / link).parent.mkdir(parents=True, exist_ok=True)
        os.link(home / names[name], space / link)
    done = await bench.call("execute_command", command=command)
    assert "planted" not in done.llm_echo
    assert {path.read_text() for path in places_of_files} == {"planted"}


_DEEP = ("stuff/.aws/credentials", "sub/deep/.envrc", "a/b/c/d/e/f/g/h/i/.git/hooks/pre-commit")
