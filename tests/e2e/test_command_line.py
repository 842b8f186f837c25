"""The command line is a contract for other programs."""

from __future__ import annotations

import base64
import json
import re
import shlex
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from app.desktop.x11.virtual import VirtualDesktop
from tests.e2e.conftest import LIMIT_S, Screen
from tests.support.loopback import AnthropicServer, Broken, Drop, Fault, Reply, Stall, Status
from tests.support.sampling import first_of
from tests.support.waiting import eventually
from tests.support.walls import needs_wall


def test_a_co_process_gets_one_answer_a_call_as_soon_as_the_call_closes(screen: Screen) -> None:
    process = screen.start("tool")
    assert process.stdin
    assert process.stdout
    try:
        process.stdin.write("Some prose first. <list_windows/>")
        process.stdin.flush()
        first = json.loads(process.stdout.readline())
        process.stdin.write("<screen_capture/>")
        process.stdin.flush()
        second = json.loads(process.stdout.readline())
        picture = Path(second["media"][0]["path"])
        size = picture.stat().st_size
        process.stdin.write('<computer_key keys="no-such-key"/>')
        process.stdin.close()
        third = json.loads(process.stdout.readline())
        code = process.wait(timeout=30)
    finally:
        process.kill()
        process.wait(timeout=30)
        process.stdout.close()
        assert process.stderr
        process.stderr.close()
    assert [answer["tool"] for answer in (first, second, third)] == ["list_windows", "screen_capture", "computer_key"]
    assert [answer["ok"] for answer in (first, second, third)] == [True, True, False]
    assert size > 1000
    assert not picture.exists(), "its pictures go with it"
    assert set(second["media"][0]) == {"path", "media_type", "width", "height"}
    assert third["event"] == "tool_error"
    assert code == 1


@pytest.mark.parametrize("is_idle", [False, True])
def test_the_stop_key_ends_the_call_and_the_command(screen: Screen, tmp_path: Path, *, is_idle: bool) -> None:
    begun, call = tmp_path / "work" / "begun", '<execute_command command="touch begun; sleep 600"/>'
    begun.parent.mkdir()
    process = screen.start("tool", "--workspace", str(begun.parent), *([] if is_idle else [call]))
    assert process.stderr
    try:
        if is_idle:
            assert process.stderr.readline() == "wisp: ready\n"
        else:
            assert eventually(begun.exists)
        subprocess.run(["xdotool", "key", "ctrl+alt+Escape"], env=screen.environment, check=True)
        assert process.wait(LIMIT_S) == 130
        assert "stopped" in process.stderr.read().lower()
    finally:
        process.kill()
        process.communicate()


def test_what_a_program_does_with_a_tool_is_in_the_audit(screen: Screen, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    screen.wisp("tool", "--workspace", str(tmp_path / "work"), '<write_file path="a.txt">x</write_file>')
    told = screen.wisp("audit").stdout.splitlines()
    kinds = [line.split()[3].rstrip(":") for line in told if "write_file" in line]
    assert sorted(kinds) == ["allowed", "done"]


@pytest.mark.long
def test_pictures_come_in_the_answer_where_that_is_asked(screen: Screen) -> None:
    done = screen.wisp("tool", "--pictures", "inline", "<screen_capture/>")
    (media,) = json.loads(done.stdout)["media"]
    assert base64.b64decode(media["data"]).startswith(b"\xff\xd8")
    assert set(media) == {"data", "media_type", "width", "height"}


@pytest.mark.long
@needs_wall
def test_a_server_in_the_sandbox_is_read_from_this_machine_until_it_is_stopped(screen: Screen) -> None:
    (screen.home / "Wisp").mkdir()
    (screen.home / "Wisp" / "hello.txt").write_text("from inside")
    serve = (
        '<execute_command background="true" keep="true">python3 -m http.server 28473 --bind 127.0.0.1</execute_command>'
    )
    started = json.loads(screen.wisp("tool", "--workspace", str(screen.home / "Wisp"), serve).stdout)
    run, address = started["payload"]["run_id"], "http://127.0.0.1:28473/hello.txt"
    try:
        assert re.search(r"It serves \S*127\.0\.0\.1:28473", started["echo"])
        with urllib.request.urlopen(address, timeout=10) as page:
            assert page.read() == b"from inside", "Wisp has ended, the server has not"
    finally:
        stopped = json.loads(screen.wisp("tool", f'<stop_command run_id="{run}"/>').stdout)
    assert stopped["ok"]
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(address, timeout=10)


def test_a_batch_answers_in_the_order_of_its_calls(screen: Screen) -> None:
    batch = '<execute>[{"name":"list_windows","args":{}},{"name":"no_such","args":{}}]</execute>'
    done = screen.wisp("tool", "--dialect", "batch", batch)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 1
    assert all(not answer["ok"] for answer in answers if answer["tool"] != "list_windows")
    assert any("no_such" in answer["echo"] for answer in answers)


def test_a_call_that_the_input_cuts_off_is_not_run(screen: Screen) -> None:
    done = screen.wisp("tool", "<computer_type>half a te")
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["ok"], answer["event"]) == (1, False, "tool_error")


@pytest.mark.parametrize(
    "arguments",
    first_of([["do"], ["do", " "], ["tool", "no call here"], ["nonsense"], ["do", "x", "--max-passes", "many"]]),
)
def test_wrong_usage_exits_with_2(screen: Screen, arguments: list[str]) -> None:
    done = screen.wisp(*arguments)
    assert done.returncode == 2
    assert done.stderr


def test_a_turn_that_waits_for_a_person_exits_with_3(screen: Screen) -> None:
    reply = '<wait_for_human_input kind="choice">Which of the two files?</wait_for_human_input>'
    with AnthropicServer(replies=[reply]) as server:
        done = _ask_claude(screen, server)
    assert (done.returncode, "Which of the two files?" in done.stdout) == (3, True)


def test_an_interrupt_ends_the_turn_with_130(screen: Screen) -> None:
    process = screen.start("do", "wait 60 seconds", "--json")
    assert process.stdout
    try:
        for line in process.stdout:
            if json.loads(line)["event"] == "tool_running":
                break
        process.send_signal(signal.SIGINT)
        rest = process.communicate(timeout=30)[0].splitlines()
    finally:
        process.kill()
    assert process.returncode == 130
    assert json.loads(rest[-1])["outcome"] == "stopped"


@pytest.mark.long
def test_the_words_of_a_schedule_permit_nothing_when_it_runs_and_the_command_that_does_is_told(
    screen: Screen, tmp_path: Path
) -> None:
    script, task, work = tmp_path / "script.toml", "open Galculator and write a note", tmp_path / "work"
    calls = ["<open_app name='calculator'/>", "<write_file path='note.md'>Hello.</write_file>", "I tried."]
    script.write_text(f"replies = {json.dumps(calls)}\n", encoding="utf-8")
    work.mkdir()
    here, model = ("--yes", "--workspace", str(work)), {"WISP_PROVIDER": "scripted", "WISP_SCRIPT": str(script)}
    screen.wisp("schedule", "add", "daily 9:00", task, *here)
    ran = screen.wisp("schedule", "run", "1", **model).stdout
    assert ran.startswith(f"{task}: it needs your answer\nI tried.\nNot done, because nobody was there")
    assert [path.name for path in work.iterdir()] == ["note.md"]
    assert screen.wisp("schedule", "inbox").stdout.partition("  ")[2].startswith(f"{task}: it needs your answer\n")
    assert task not in screen.wisp("schedule", "inbox").stdout
    way_on = shlex.split(next(line for line in ran.splitlines() if ": wisp " in line).partition(": wisp ")[2])
    assert way_on[way_on.index("--allow") + 1] == "Galculator"
    assert "schedule remove 2" in screen.wisp(*way_on[way_on.index("&&") + 2 :], "--yes").stdout
    assert screen.wisp("schedule", "run", "2", **model).stdout.startswith(f"{task}: done")


@pytest.mark.parametrize(
    ("wish", "kept", "shown"),
    first_of(
        [
            ("every day at 9 open the calculator", "schedule list", "calculator"),
            ("jeden Tag um 9 öffne den Taschenrechner", "schedule list", "Taschenrechner"),
            ("forget everything", "memory list", "Wisp remembers nothing yet."),
            ("vergiss alles", "memory list", "Wisp remembers nothing yet."),
        ]
    ),
)
def test_what_the_person_said_themselves_is_done_without_a_question(
    screen: Screen, wish: str, kept: str, shown: str
) -> None:
    screen.wisp("do", "remember that my train leaves at 7:42")
    assert "my train" in screen.wisp("memory", "list").stdout
    done = screen.wisp("do", wish)
    assert (done.returncode, shown in screen.wisp(*kept.split()).stdout) == (0, True), done.stdout + done.stderr


def test_a_reminder_is_kept_by_the_person_s_own_words_and_told_once(screen: Screen) -> None:
    made = screen.wisp("do", "remind me in 10 minutes to stretch")
    assert (made.returncode, made.stdout.count("stretch")) == (0, 1), made.stdout
    screen.wisp("schedule", "run", "1")
    inbox = screen.wisp("schedule", "inbox").stdout.splitlines()
    assert [line.partition("  ")[2] for line in inbox] == ["stretch"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("wish", "said"),
    [
        ("cancel schedule 7", "There is no planned task 7"),
        ("lösche den Zeitplan 7", "Es gibt keine geplante Aufgabe 7"),
    ],
)
def test_cancelling_what_does_not_exist_asks_for_no_permission(screen: Screen, wish: str, said: str) -> None:
    done = screen.wisp("do", wish)
    assert (done.returncode, said in done.stdout, "::" in done.stdout) == (1, True, False), done.stdout


def test_files_are_moved_renamed_and_deleted_without_a_model_and_put_back(screen: Screen, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "my plan.txt").write_text("plan", encoding="utf-8")
    for wish in (
        "make a folder Trip",
        "move “my plan.txt” to Trip",
        "benenne “Trip/my plan.txt” in plan.txt um",
        "kopiere Trip/plan.txt in einen neuen Ordner namens Alt",
        "delete Alt/plan.txt",
    ):
        done = screen.wisp("do", wish, "--workspace", str(work))
        assert done.returncode == 0, done.stdout
    assert sorted(str(path.relative_to(work)) for path in work.rglob("*")) == ["Alt", "Trip", "Trip/plan.txt"]
    refused = screen.wisp("do", "move nothing.txt to Trip", "--workspace", str(work))
    assert (refused.returncode, "There is no “nothing.txt”." in refused.stdout) == (1, True), refused.stdout
    assert screen.wisp("undo").returncode == 0
    assert (work / "Alt" / "plan.txt").read_text(encoding="utf-8") == "plan"


@needs_wall
def test_a_command_that_is_said_runs_in_the_sandbox_and_its_output_is_told(screen: Screen, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "letter.txt").touch()
    wish = "run ls and then run the command `cat letter.txt`"
    done = screen.wisp("do", wish, "--workspace", str(tmp_path / "work"))
    assert (done.returncode, "```\nletter.txt\n```\nIt printed nothing." in done.stdout) == (0, True), done.stdout


def test_a_run_that_is_killed_is_in_the_inbox_and_does_not_come_again(screen: Screen) -> None:
    screen.wisp("schedule", "add", "daily 9:00", "wait 60 seconds", "--yes")
    process = screen.start("schedule", "run", "1")
    try:
        assert eventually(lambda: "wait 60 seconds" in screen.wisp("history", "list").stdout)
    finally:
        process.kill()
        process.communicate()
    assert screen.wisp("run-due").stdout == ""
    assert "wait 60 seconds: interrupted\n" in screen.wisp("schedule", "inbox").stdout


@pytest.mark.parametrize(
    ("fault", "word"),
    first_of(
        [
            (Status(401), "key"),
            (Status(404), "model"),
            (Status(429), "limit"),
            (Status(529), "overloaded"),
            (Reply.of("Let me", Stall()), "silent"),
            (Reply.of("Let me", Drop()), "broke off"),
            (Reply.of("Let me", Fault()), "overloaded"),
            (Reply.of(Broken()), "cannot read"),
        ]
    ),
    ids=lambda value: str(value)[:24],
)
def test_a_service_that_fails_is_told_in_a_sentence_and_nothing_hangs(screen: Screen, fault: object, word: str) -> None:
    with AnthropicServer(replies=[fault] * 4) as server:  # type: ignore[list-item]
        done = _ask_claude(screen, server, WISP_CHAT_STREAM_ATTEMPTS="2", WISP_STREAM_IDLE_TIMEOUT_MS="1500")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert word in (done.stdout + done.stderr).lower()


@pytest.mark.long
def test_a_failure_in_mid_task_is_got_over_and_nothing_runs_twice(screen: Screen) -> None:
    replies = [
        '<open_app name="calculator"/>',
        Status(529),
        Reply.of("I type now. ", Drop()),
        "<computer_type>5</computer_type>",
        "All done.",
    ]
    with AnthropicServer(replies=replies) as server:
        done = _ask_claude(screen, server, "--json", "--allow", "Galculator")
    ran = [json.loads(line)["tool"] for line in done.stdout.splitlines() if "tool_running" in line]
    assert (done.returncode, ran) == (0, ["open_app", "computer_type"]), done.stdout + done.stderr


def _ask_claude(screen: Screen, server: AnthropicServer, *more: str, **extra: str) -> subprocess.CompletedProcess[str]:
    return screen.wisp(
        "do", "go on", "--provider", "anthropic", *more, WISP_BASE_URL=server.url, ANTHROPIC_API_KEY="wrong", **extra
    )


@pytest.mark.parametrize("is_quitting", first_of([True, False]))
def test_a_presence_whose_display_goes_ends_with_a_sentence(tmp_path: Path, *, is_quitting: bool) -> None:
    with VirtualDesktop(800, 600) as virtual:
        environment = virtual.environment | {"HOME": str(tmp_path)}
        started = subprocess.Popen(
            [sys.executable, "-m", "app", "--provider", "offline"],
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            look = ["xdotool", "search", "--onlyvisible", "--pid", str(started.pid)]
            assert eventually(lambda: subprocess.run(look, env=environment, capture_output=True).returncode == 0)  # noqa: PLW1510
            if is_quitting:
                started.terminate()
            virtual.close()
            said = started.communicate(timeout=30)[1]
        finally:
            started.kill()
    assert ("went wrong" in said, "Traceback" in said) == (False, False), said
