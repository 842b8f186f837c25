"""Commands as people have them: long, loud, silent, deaf, asking, many at once."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from app import cli
from app.base.clock import SystemClock
from app.base.errors import ToolMisuse
from app.base.redaction import Redaction
from app.base.withheld import shown
from app.protocol.call import ToolResult
from app.services.processes import output_recorder, starting
from app.services.processes.commands import CommandLimits, Processes, RunRecord
from tests.support.waiting import eventually
from tests.support.workbench import Bench

_PYTHON = sys.executable


@pytest.fixture(params=[pytest.param(False, marks=pytest.mark.long), True], ids=["open", "sandboxed"])
async def bench(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Bench]:
    """Commands do the same behind the wall as without it."""
    made = Bench(tmp_path, sandboxed=request.param)
    yield made
    await made.stop_all()


@pytest.fixture
async def open_bench(tmp_path: Path) -> AsyncIterator[Bench]:
    """Where it matters that there is no wall."""
    made = Bench(tmp_path)
    yield made
    await made.stop_all()


def _text(result: ToolResult, name: str) -> str:
    value = result.payload[name]
    assert isinstance(value, str)
    return value


def _without_numbers(result: ToolResult) -> str:
    return result.llm_echo.replace(_text(result, "run_id"), "RUN").replace(f"{result.payload['seconds']:.1f}", "T")


async def test_output_and_exit_code_come_back(bench: Bench) -> None:
    result = await bench.xml("<execute_command><command>echo out; echo err >&2; exit 3</command></execute_command>")
    kept = " It ran in the sandbox: no network, and a home of its own." if result.payload["sandboxed"] else ""
    assert _without_numbers(result) == f"Run RUN ended with exit code 3 after T s.{kept}\nout\n[stderr]\nerr"
    assert {name: result.payload[name] for name in ("running", "exit_code", "stdout", "stderr", "cwd")} == {
        "running": False,
        "exit_code": 3,
        "stdout": "out\n",
        "stderr": "err\n",
        "cwd": str(bench.root),
    }
    assert bench.audited == ["command_started"]


async def test_bash_is_another_name_and_shell_syntax_works(bench: Bench) -> None:
    (bench.root / "sub").mkdir()
    result = await bench.xml("<bash><![CDATA[cd sub && pwd | tr a-z A-Z > ../up && cat < ../up]]></bash>")
    assert result.payload["stdout"] == f"{bench.root}/sub\n".upper()


async def test_the_folder_can_be_chosen(open_bench: Bench) -> None:
    result = await open_bench.call("execute_command", command="pwd", cwd="device:/")
    assert result.payload["stdout"] == f"{open_bench.home}\n"


async def test_output_is_shown_on_the_card_while_it_comes(bench: Bench) -> None:
    await bench.call("execute_command", command="echo one; sleep 0.3; echo two")
    pieces = [payload["text"] for event, payload in bench.told if event == "command_output"]
    assert pieces == ["one\n", "two\n"]


async def test_secrets_of_ours_are_not_in_the_environment(open_bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "WISP_BASE_URL", "GITHUB_TOKEN", "DB_PASSWORD", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "canary-value")
    monkeypatch.setenv("KEYBOARD_LAYOUT", "de")
    result = await open_bench.call("execute_command", command="env | grep -c canary-value; echo $KEYBOARD_LAYOUT")
    assert result.payload["stdout"] == "0\nde\n"


async def test_a_long_command_returns_early_and_goes_on(bench: Bench) -> None:
    first = await bench.call("execute_command", command="echo begun; sleep 1.5; echo done")
    assert (first.payload["running"], first.payload["stdout"]) == (True, "begun\n")
    assert "read_command_tail shows more" in first.llm_echo
    run = _text(first, "run_id")
    await bench.call("wait_until", run_id=run)
    tail = await bench.call("read_command_tail", run_id=run)
    assert (tail.payload["running"], tail.payload["text"]) == (False, "begun\ndone\n")


async def test_a_server_in_the_background_returns_with_its_address(open_bench: Bench) -> None:
    command = f"{_PYTHON} -u -m http.server 0 --bind 127.0.0.1"
    result = await open_bench.xml(f'<execute_command background="true">{command}</execute_command>')
    assert (result.payload["running"], _text(result, "url").startswith("http://127.0.0.1:")) == (True, True)
    port = int(_text(result, "url").rstrip("/").rpartition(":")[2])
    assert (await open_bench.call("wait_until", port=port)).payload["met"] is True


async def test_a_quiet_background_command_returns_at_its_first_rest(bench: Bench) -> None:
    result = await bench.call("execute_command", command="echo ready; sleep 30", background=True)
    assert (result.payload["running"], result.payload["stdout"], result.payload["url"]) == (True, "ready\n", "")


async def test_the_timeout_of_the_call_ends_it_with_all_it_started(bench: Bench) -> None:
    result = await bench.call("execute_command", command="sleep 60 & sleep 60", timeout_seconds=0.3)
    assert (result.payload["exit_code"], result.payload["stopped"]) == (-15, "it was ended after its 0.3 seconds")
    assert eventually(lambda: starting.members(_text(result, "run_id"), 0, 0.0) == [])


@pytest.mark.parametrize(("yolo", "running"), [(False, True), (True, False)])
async def test_the_timeout_of_the_guide_counts_in_yolo_mode_only(bench: Bench, yolo: bool, running: bool) -> None:
    bench.talk.yolo = yolo
    result = await bench.call("execute_command", command="sleep 30", timeout=0.2)
    assert result.payload["running"] is running


@pytest.mark.long
async def test_a_hundred_megabytes_of_output_stay_on_disk(bench: Bench) -> None:
    before = psutil.Process().memory_info().rss
    command = (
        f"{_PYTHON} -c \"import sys; [sys.stdout.write('x' * 999_999 + chr(10)) for _ in range(100)]; print('end')\""
    )
    started = await bench.call("execute_command", command=command)
    run = _text(started, "run_id")
    await bench.call("wait_until", run_id=run)
    tail = await bench.call("read_command_tail", run_id=run)
    grown = psutil.Process().memory_info().rss - before
    assert (bench.processes.find(run).stdout.size(), tail.llm_echo.endswith("x\nend\n")) == (100_000_004, True)
    assert grown < 20_000_000
    assert len(started.llm_echo) < 20_000


async def test_head_and_tail_are_kept_and_the_gap_is_told(bench: Bench) -> None:
    result = await bench.call("execute_command", command="seq 1 100000; seq 1 100000 >&2")
    out, err = _text(result, "stdout"), _text(result, "stderr")
    assert (out.startswith("1\n2\n"), out.endswith("99999\n100000\n"), len(out) < 65_600) == (True, True, True)
    assert "[… 523359 bytes left out …]" in out
    assert (err.startswith("1\n2\n"), err.endswith("99999\n100000\n"), len(err) < 32_900) == (True, True, True)


async def test_pages_of_output_follow_each_other(bench: Bench) -> None:
    started = await bench.call("execute_command", command="seq 1 5000")
    run = _text(started, "run_id")
    text, offset = "", 0
    while True:
        page = await bench.call("read_command_tail", run_id=run, offset=offset)
        if page.payload["next"] == offset:
            break
        text, offset = text + _text(page, "text"), int(str(page.payload["next"]))
    assert text == "".join(f"{number}\n" for number in range(1, 5001))


async def test_escapes_and_hidden_signs_never_reach_the_model(bench: Bench) -> None:
    command = r"printf '\033[31mred\033[0m \033]0;title\007x\r\n10%%\r50%%\r100%%\nab\bc\342\200\256d\n'"
    result = await bench.call("execute_command", command=command)
    assert result.payload["stdout"] == "red x\n100%\nacd\n"


async def test_binary_output_is_named(bench: Bench) -> None:
    result = await bench.call("execute_command", command="head -c 5000 /dev/urandom")
    assert result.payload["stdout"] == "[5000 bytes that are no text]"


async def test_a_command_that_reads_finds_an_empty_input(bench: Bench) -> None:
    result = await bench.call("execute_command", command="cat; echo done")
    assert (result.payload["running"], result.payload["stdout"]) == (False, "done\n")


async def test_prompts_are_answered_at_a_terminal(bench: Bench) -> None:
    command = "read -p 'name? ' name; echo hello $name; test -t 0 && echo terminal"
    started = await bench.call("execute_command", command=command, pty=True)
    run = _text(started, "run_id")
    assert (started.payload["running"], started.payload["stdout"]) == (True, "name? ")
    answered = await bench.xml(f'<send_command_input run_id="{run}">Ada</send_command_input>')
    assert answered.payload["text"] == "Ada\nhello Ada\nterminal\n"
    late = await bench.call("send_command_input", run_id=run, text="more")
    assert late.llm_echo == f"send_command_input: run_id: {run} has ended; it takes no input any more."


async def test_a_key_interrupts_at_a_terminal(bench: Bench) -> None:
    started = await bench.call("execute_command", command="echo on; sleep 30", pty=True)
    pressed = await bench.call("send_command_input", run_id=_text(started, "run_id"), key="ctrl+c")
    assert pressed.payload["running"] is False


async def test_input_without_a_terminal_says_how_to_get_one(bench: Bench) -> None:
    started = await bench.call("execute_command", command="echo on; sleep 30", background=True)
    run = _text(started, "run_id")
    result = await bench.call("send_command_input", run_id=run, text="x")
    assert result.llm_echo == (
        f"send_command_input: run_id: {run} was started without a terminal. Start it again with pty=true."
    )


@pytest.mark.long
async def test_two_hundred_children_that_ignore_sigterm_are_all_ended(bench: Bench) -> None:
    command = "trap '' TERM; for i in $(seq 200); do (trap '' TERM; exec sleep 300) & done; echo ready; wait"
    started = await bench.call("execute_command", command=command, background=True)
    run = bench.processes.find(_text(started, "run_id"))
    assert len(starting.members(run.id, run.record.pid, run.record.born)) >= 200
    result = await bench.call("stop_command", run_id=run.id)
    assert (result.ok, starting.members(run.id, run.record.pid, run.record.born)) == (True, [])
    assert result.payload["stopped"] == "it was stopped"


async def test_children_that_fork_again_and_again_are_all_ended(bench: Bench) -> None:
    script = bench.root / "bomb.py"
    script.write_text(
        "import os, time\n"
        "end = time.time() + 20\n"
        "while time.time() < end:\n"
        "    pid = os.fork()\n"
        "    if pid:\n"
        "        time.sleep(0.02)\n"
        "        os._exit(0)\n"
        "    os.setsid()\n"
    )
    started = await bench.call("execute_command", command=f"{_PYTHON} bomb.py & echo on; sleep 0.5", background=True)
    run = bench.processes.find(_text(started, "run_id"))
    await bench.call("stop_command", run_id=run.id)
    assert starting.members(run.id, 0, 0.0) == []


async def test_a_daemon_that_left_its_parents_is_ended_too(open_bench: Bench) -> None:
    command = "setsid sh -c 'setsid sleep 300 & echo $! > pid' & sleep 0.5; echo on; sleep 30"
    started = await open_bench.call("execute_command", command=command, background=True)
    pid = int((open_bench.root / "pid").read_text())
    assert psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    await open_bench.call("stop_command", run_id=_text(started, "run_id"))
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


async def test_stopping_the_turn_ends_the_command(bench: Bench) -> None:
    asyncio.get_running_loop().call_later(0.2, bench.cancelled.set)
    result = await bench.call("execute_command", command="sleep 60")
    assert (result.ok, "The command was stopped with all it had started" in result.llm_echo) == (False, True)
    [run] = bench.processes.recent(1)
    assert (run.is_running, run.record.stopped) == (False, "it was stopped with the turn")


@pytest.mark.long
async def test_fifty_commands_run_side_by_side(bench: Bench) -> None:
    calls = [bench.call("execute_command", command=f"sleep 0.2; echo {number}") for number in range(50)]
    runs = [_text(result, "run_id") for result in await asyncio.gather(*calls)]
    await asyncio.gather(*(bench.call("wait_until", run_id=run) for run in runs))
    assert [bench.processes.find(run).stdout.text(0, 100) for run in runs] == [f"{number}\n" for number in range(50)]


async def test_a_folder_that_is_gone_names_the_argument(bench: Bench) -> None:
    missing = await bench.call("execute_command", command="ls", cwd="nowhere")
    shutil.rmtree(bench.root)
    gone = await bench.call("execute_command", command="ls")
    assert missing.llm_echo == "execute_command: cwd: there is no folder 'nowhere'."
    assert gone.llm_echo == "execute_command: cwd: there is no folder '.'."


async def test_a_folder_that_goes_while_it_starts_names_the_argument(bench: Bench) -> None:
    result = await bench.call("execute_command", command='rmdir "$PWD"; ls . ; echo still here')
    assert (result.payload["exit_code"], "still here" in _text(result, "stdout")) == (0, True)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("", "execute_command needs command"),
        ("   ", "command is empty"),
        ("echo a\0b", "command contains a NUL character"),
        ("echo a\rrm b", "command contains a carriage return"),
        ("echo a\u2028rm b", "command contains U+2028"),
        ("echo \ud800", "command contains half of a surrogate pair"),
        ("#" * 200_000, "command is too long for the system"),
    ],
)
async def test_a_command_that_is_none_is_refused(bench: Bench, command: str, words: str) -> None:
    result = await bench.xml(f"<execute_command>{command}</execute_command>")
    assert (result.ok, words in result.llm_echo, bench.processes.recent(1)) == (False, True, [])


async def test_windows_line_ends_in_a_command_do_no_harm(bench: Bench) -> None:
    result = await bench.call("execute_command", command="echo a\r\necho b\r\n")
    assert result.payload["stdout"] == "a\nb\n"


@pytest.mark.parametrize("tool", ["read_command_tail", "stop_command", "send_command_input"])
async def test_an_unknown_run_is_named(bench: Bench, tool: str) -> None:
    rest = {"text": "x"} if tool == "send_command_input" else {}
    result = await bench.call(tool, run_id="r0", **rest)
    assert result.llm_echo == f"{tool}: run_id: there is no run 'r0'. list_recent_commands shows them."


def _on_disk(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("pty", [False, True])
async def test_of_a_long_output_the_newest_is_kept_and_what_is_gone_is_told(tmp_path: Path, pty: bool) -> None:
    bench = Bench(tmp_path, CommandLimits(return_s=20.0, background_s=20.0, quiet_s=20.0, kept_bytes=1_600_000))
    result = await bench.call("execute_command", command="seq 1 400000; seq 1 9 >&2", pty=pty)
    run = bench.processes.find(_text(result, "run_id"))
    tail = await bench.call("read_command_tail", run_id=run.id, offset=5)
    first = run.stdout.first()
    told = f"[the first {first} bytes are gone: the newest 64 MB of a command's output are kept"
    assert (
        result.payload["exit_code"],
        1_000_000 < first < run.stdout.size(),
        len(_on_disk(run.folder)) < 1_700_000,
    ) == (
        0,
        True,
        True,
    )
    assert (told in result.llm_echo, told in tail.llm_echo, run.stdout.tail(99).split()[-1 - 9 * pty]) == (
        True,
        True,
        b"400000",
    )


async def test_the_output_of_what_ended_longest_ago_makes_room(tmp_path: Path) -> None:
    limits = CommandLimits(return_s=20.0, kept_bytes=200_000, kept_bytes_in_all=500_000)
    bench = Bench(tmp_path, limits)
    runs = [_text(await bench.call("execute_command", command="seq 1 20000"), "run_id") for _ in range(5)]
    kept = [bench.processes.find(run).stdout for run in runs]
    assert [output.size() - output.first() > 0 for output in kept] == [False, False, True, True, True]
    assert {output.size() for output in kept} == {108_894}
    assert len(_on_disk(tmp_path / "runs")) < 500_000
    said = await bench.call("read_command_tail", run_id=runs[0])
    assert "[the first 108894 bytes are gone" in said.llm_echo


_SECRETS = {
    "key": "sk-ant-api03-" + "Ab1" * 12,
    "token": "ghp_" + "Zx9" * 12,
    "password": "password=correct-horse-9",
    "card": "4111 1111 1111 1111",
    "private key": f"-----BEGIN PRIVATE KEY-----\n{'MIIEvQIBADANBgkqhkiG9w0BAQEFAASC' * 40}\n-----END PRIVATE KEY-----",
}
_SLOWLY = """import os, time
data = {text!r}.encode()
for start in range(0, len(data), {step}):
    os.write({fd}, data[start:start + {step}])
    time.sleep({pause})
"""


@pytest.mark.parametrize(
    ("step", "pause", "fd", "pty"), [(65_536, 0, 1, False), (7, 0.004, 2, False), (11, 0.004, 1, True)]
)
async def test_no_secret_is_on_disk_wherever_the_output_is_cut(
    bench: Bench, tmp_path: Path, step: int, pause: float, fd: int, pty: bool
) -> None:
    text = "".join(f"{name}: {secret}\n" for name, secret in _SECRETS.items()) + _SECRETS["token"]
    script = bench.root / "say.py"
    script.write_text(_SLOWLY.format(text=text, step=step, pause=pause, fd=fd))
    result = await bench.call("execute_command", command=f"{_PYTHON} say.py", pty=pty)
    await bench.call("wait_until", run_id=_text(result, "run_id"))
    stored = _on_disk(tmp_path / "runs")
    found = [name for name, secret in _SECRETS.items() if secret.rpartition("=")[2][:60].encode() in stored]
    assert (found, stored.count(shown().encode()), b"MIIEvQ" in stored) == ([], 6, False)


async def test_what_a_command_writes_after_wisp_was_killed_is_redacted_and_bounded(tmp_path: Path) -> None:
    pipe = tmp_path / "go"
    os.mkfifo(pipe)
    command = f"cat {pipe}; seq 1 400000; echo {_SECRETS['token'][:9]}{_SECRETS['token'][9:]}"
    end = "os.kill(os.getpid(), signal.SIGKILL)"
    script = _KILLED.format(folder=str(tmp_path / "runs"), cwd=str(tmp_path), command=command, end=end, keep=True)
    await asyncio.to_thread(subprocess.run, [_PYTHON, "-c", script], check=False, timeout=30)
    run = Processes(tmp_path / "runs", SystemClock()).left_over()[0]
    await asyncio.to_thread(pipe.write_text, "go\n")
    await asyncio.to_thread(eventually, lambda: shown().encode() in run.stdout.tail(99))
    stored = _on_disk(run.folder)
    assert (run.stdout.tail(50).endswith(f"400000\n{shown()}\n".encode()), len(stored) < 1_700_000) == (True, True)


@pytest.mark.parametrize("command", ["sleep 600", "sleep 600 >/dev/null 2>&1", "(setsid sleep 600 &) ; sleep 600"])
@pytest.mark.parametrize("end", ["os.kill(os.getpid(), signal.SIGKILL)", "pass"], ids=["killed", "ended"])
async def test_a_command_ends_with_the_program_that_started_it(tmp_path: Path, command: str, end: str) -> None:
    script = _KILLED.format(folder=str(tmp_path / "runs"), cwd=str(tmp_path), command=command, end=end, keep=False)
    await asyncio.to_thread(subprocess.run, [_PYTHON, "-c", script], check=False, timeout=30)
    record = RunRecord.load(next((tmp_path / "runs").iterdir()))
    assert record
    assert await asyncio.to_thread(eventually, lambda: not starting.members(record.id, record.pid, record.born))
    [run] = Processes(tmp_path / "runs", SystemClock()).recent(1)
    assert (run.is_running, run.record.stopped) == (False, "Wisp ended")


async def test_only_a_command_that_was_to_be_kept_goes_on_when_wisp_ends(bench: Bench, tmp_path: Path) -> None:
    kept = await bench.call("execute_command", command="echo on; sleep 600", background=True, keep=True)
    other = await bench.call("execute_command", command="echo on; sleep 600", background=True)
    await bench.processes.close()
    later = Processes(tmp_path / "runs", SystemClock())
    assert [run.id for run in later.left_over()] == [_text(kept, "run_id")]
    assert later.find(_text(other, "run_id")).record.stopped == "Wisp ended"


def test_the_person_sees_what_runs_and_ends_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WISP_DATA_DIR", str(tmp_path))
    folder = tmp_path / "state/commands"
    folder.parent.mkdir()
    script = _KILLED.format(folder=str(folder), cwd=str(tmp_path), command="sleep 600", end="pass", keep=True)
    subprocess.run([_PYTHON, "-c", script], check=True, timeout=30)
    [run] = Processes(folder, SystemClock()).left_over()
    assert cli.main(["running"]) == 0
    assert f"{run.id}  sleep 600\n    in {tmp_path}" in capsys.readouterr().out
    assert cli.main(["running", "stop", run.id]) == 0
    assert cli.main(["running", "list"]) == 0
    assert capsys.readouterr().out.endswith("No command that Wisp started is running.\n")
    assert starting.members(run.id, run.record.pid, run.record.born) == []


_KILLED = """
import asyncio, os, signal
from pathlib import Path
from app.base.clock import SystemClock
from app.services.processes.commands import CommandLimits, Processes
async def main():
    processes = Processes(Path({folder!r}), SystemClock(), CommandLimits(kept_bytes=1_600_000))
    await processes.start({command!r}, Path({cwd!r}), keep={keep})
    {end}
asyncio.run(main())
"""


async def test_a_command_that_outlives_wisp_is_listed_and_can_be_stopped(bench: Bench, tmp_path: Path) -> None:
    started = await bench.call("execute_command", command="echo on; sleep 300", background=True)
    run = _text(started, "run_id")
    later = Processes(tmp_path / "runs", SystemClock())
    [left] = later.left_over()
    assert (left.id, left.record.command, left.stdout.tail(10)) == (run, "echo on; sleep 300", b"on\n")
    await later.stop(left)
    assert (later.left_over(), starting.members(run, left.record.pid, left.record.born)) == ([], [])


async def test_a_run_that_ended_unseen_has_no_exit_code(bench: Bench, tmp_path: Path) -> None:
    started = await bench.call("execute_command", command="exit 4")
    run = bench.processes.find(_text(started, "run_id"))
    run.record.ended_at = run.record.exit_code = None
    run.record.save(run.folder)
    later = Processes(tmp_path / "runs", SystemClock())
    found = await asyncio.gather(*(asyncio.to_thread(later.find, run.id) for _ in range(4)))
    assert [(each.is_running, each.record.exit_code) for each in found] == [(False, None)] * 4
    assert later.left_over() == []
    with pytest.raises(ToolMisuse):
        later.find(f"../runs/{run.id}")


async def test_recent_commands_are_listed_newest_first(bench: Bench) -> None:
    first = await bench.call("execute_command", command="echo 1")
    second = await bench.call("execute_command", command="exit 2")
    listed = await bench.call("list_recent_commands", count=5)
    runs = listed.payload["runs"]
    assert isinstance(runs, list)
    assert [run["run_id"] for run in runs] == [second.payload["run_id"], first.payload["run_id"]]
    assert "'exit 2' in" in listed.llm_echo


async def test_old_runs_are_forgotten(tmp_path: Path) -> None:
    bench = Bench(tmp_path, CommandLimits(kept_runs=3))
    for number in range(6):
        await bench.call("execute_command", command=f"echo {number}")
    assert len(list((tmp_path / "runs").iterdir())) <= 4


async def test_old_runs_of_earlier_starts_are_forgotten_too(tmp_path: Path) -> None:
    for number in range(6):
        await Bench(tmp_path, CommandLimits(kept_runs=3)).call("execute_command", command=f"echo {number}")
    assert len(list((tmp_path / "runs").iterdir())) <= 4


async def test_a_folder_whose_run_was_killed_before_it_had_a_record_goes(bench: Bench, tmp_path: Path) -> None:
    for name, age_s in (("killed", 3600), ("starting", 0)):
        (tmp_path / "runs" / name).mkdir()
        os.utime(tmp_path / "runs" / name, (time.time() - age_s,) * 2)
    await bench.call("execute_command", command="true")
    assert [(tmp_path / "runs" / name).exists() for name in ("killed", "starting")] == [False, True]


async def test_a_run_whose_deletions_cannot_be_kept_ends_and_says_so(open_bench: Bench, tmp_path: Path) -> None:
    (open_bench.root / "one.txt").write_text("one")
    shutil.rmtree(tmp_path / "checkpoints/objects")
    result = await open_bench.call("execute_command", command="rm one.txt")
    assert (result.payload["running"], result.payload["exit_code"]) == (False, 0)
    assert "What it deleted or left is not known (" in result.llm_echo


def test_a_recorder_ends_where_wisp_does_not_wait_for_its_answer(tmp_path: Path) -> None:
    (source, writer), (control, asking), (unread, answers) = os.pipe(), os.pipe(), os.pipe()
    for fd, data in ((writer, b"kept"), (asking, b".")):
        os.write(fd, data)
        os.close(fd)
    os.close(unread)
    recorder, gone = output_recorder.OutputRecorder(str(tmp_path), Redaction("*", [])), []
    output_recorder.record(recorder, [source], control, answers, lambda: gone.append(True))
    assert ((tmp_path / "stdout.0").read_bytes(), gone) == (b"kept", [True])


def test_a_recorder_that_gets_only_a_part_of_its_table_ends() -> None:
    code = "from app.services.processes.output_recorder import run; run(['/nowhere', '1'])"
    half = (8).to_bytes(8, "big") + b"half"
    assert subprocess.run([_PYTHON, "-c", code], input=half, capture_output=True, timeout=20, check=False).returncode


async def test_secrets_that_a_command_prints_are_read_by_nobody(bench: Bench) -> None:
    command = f"printf 'ghp_%s\\n' {'Ab1' * 12}; echo card 4111 1111 1111 1111 >&2; echo end"
    result = await bench.call("execute_command", command=command)
    assert result.payload["stdout"] == f"{shown()}\nend\n"
    assert result.payload["stderr"] == f"card {shown()}\n"
