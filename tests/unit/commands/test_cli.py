"""What `wisp` says and how it ends, without a screen."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from app.base import paths
from app.cli import COMMANDS, main
from app.commands.doctor import CheckVerdict, examine
from app.services.processes.commands import RunRecord
from app.services.sandbox.layout import Before, SettledRun
from tests.support.walls import needs_wall

ROOT = Path(__file__).parents[3]
_FOLDERS = ("WISP_DATA_DIR", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert COMMANDS[command] in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["calculater"], 'wisp do "open calculater"'),
        pytest.param(["shedule"], "wisp schedule", marks=pytest.mark.feature("schedule")),
        (["open", "the", "editor"], 'wisp do "open the editor"'),
    ],
)
def test_an_unknown_command_gets_the_nearest_that_would_work(
    words: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert (ended.value.code, f"Did you mean: {meant}" in capsys.readouterr().err) == (2, True)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["do", "open \udcff"], "the argument b'open \\xff' is not valid UTF-8. Write it again."),
        (["tool", "<nonsense/>", "--dry-run"], "There is no tool 'nonsense'."),
        (["policy", "explain", "<nonsense/>"], "There is no tool 'nonsense'. To list them all: wisp tools"),
    ],
)
def test_what_cannot_be_used_is_named(words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert f"wisp: {sentence}" in capsys.readouterr().err


@needs_wall
@pytest.mark.parametrize("words", [["do", "list the windows", "--dry-run"], ["undo", "--list"]])
def test_a_home_that_cannot_be_written_is_named_with_the_way_round_it(words: list[str], tmp_path: Path) -> None:
    (home := tmp_path / "home").mkdir()
    done = _in_home(home, *words, is_fixed=True)
    (sentence,) = done.stderr.splitlines()
    assert done.returncode == 1
    assert re.fullmatch(
        rf"wisp: The folder {home}/\S+ cannot be made \(Read-only file system\)\. Name another one: WISP_DATA_DIR=.*",
        sentence,
    )


@needs_wall
def test_a_home_that_can_no_longer_be_written_is_named_with_the_way_round_it(tmp_path: Path) -> None:
    (home := tmp_path / "home").mkdir()
    assert _in_home(home, "do", "list the windows", "--dry-run").returncode == 0
    done = _in_home(home, "do", "list the windows", "--dry-run", is_fixed=True)
    (sentence,) = done.stderr.splitlines()
    assert done.returncode == 1
    assert re.fullmatch(rf"wisp: .* folder {home}/\S+ cannot be written to\. “WISP_DATA_DIR=/some/folder” .*", sentence)


def test_a_home_in_whose_place_a_file_stands_is_named_with_the_way_round_it(tmp_path: Path) -> None:
    (home := tmp_path / "home").touch()
    done = subprocess.run(
        [sys.executable, "-m", "app", "do", "list the windows", "--dry-run"],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name not in _FOLDERS} | {"HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    (sentence,) = done.stderr.splitlines()
    assert done.returncode == 1
    assert re.fullmatch(rf"wisp: The folder {home}/\S+ cannot be made \(.+\)\. Name another one: .*", sentence)


def _in_home(home: Path, *words: str, is_fixed: bool = False) -> subprocess.CompletedProcess[str]:
    """Run the command in a home folder of its own, which is mounted read-only if it `is_fixed`."""
    unset = (part for name in _FOLDERS for part in ("--unsetenv", name))
    fixed = ("--ro-bind", str(home), str(home)) if is_fixed else ()
    wall = ("bwrap", "--bind", "/", "/", "--dev", "/dev", *fixed, "--setenv", "HOME", str(home), *unset)
    command = [*wall, sys.executable, "-m", "app", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


_NARROW = ({"LC_ALL": "C", "PYTHONUTF8": "0"}, {"PYTHONIOENCODING": "cp1252"})
_MAKE = [sys.executable, "-m", "app", "do", "make a folder called Reports", "--provider", "offline", "--no-screen"]


@pytest.mark.parametrize("encoding", _NARROW, ids=["C", "cp1252"])
def test_a_terminal_that_cannot_show_a_sign_shows_another(encoding: dict[str, str], tmp_path: Path) -> None:
    command = [*_MAKE, "--workspace", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **encoding}, capture_output=True, check=False)
    assert (done.returncode, done.stderr, b"  OK Made" in done.stdout) == (0, b"", True)
    assert (tmp_path / "Reports").is_dir()


def test_json_loses_no_sign_on_a_terminal_that_cannot_show_it() -> None:
    command = [*_MAKE[:4], "make a folder called Überblick", *_MAKE[5:], "--json", "--dry-run"]
    narrow = {**os.environ, "PYTHONIOENCODING": "cp1252"}
    plan = subprocess.run(command, cwd=ROOT, env=narrow, capture_output=True, check=True)
    assert json.loads(plan.stdout)["calls"][0]["arguments"] == {"path": ["Überblick"]}


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        (">/dev/full", "No space left on device"),
        ("--json >/dev/full", "No space left on device"),
        ("| true", "Broken pipe"),
        (">&-", ""),
        (">/dev/full 2>&1", ""),
    ],
)
def test_output_that_cannot_be_written_decides_over_no_task(output: str, sentence: str, tmp_path: Path) -> None:
    shell = ["bash", "-c", f'"$@" {output}; exit ${{PIPESTATUS[0]}}', "bash"]
    command = [*shell, *_MAKE, "--workspace", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, sentence in done.stderr, bool(done.stderr)) == (0, True, bool(sentence))
    assert (tmp_path / "Reports").is_dir()


@pytest.mark.feature("skills")
def test_a_list_that_cannot_be_printed_is_a_failure() -> None:
    shell = ["bash", "-c", '"$@" >/dev/full', "bash", sys.executable, "-m", "app", "skills", "list"]
    done = subprocess.run(shell, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, "could be printed" in done.stderr) == (1, True)


def test_a_call_that_is_nearly_one_is_answered_like_a_call(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tool", "<computer_clik/>", "--dry-run"]) == 1
    assert "Did you mean computer_click" in capsys.readouterr().out


@pytest.mark.parametrize("url", ["nonsense", "ftp://127.0.0.1", "http://", "http://[::1"])
def test_an_address_that_is_none_is_refused_at_once(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["do", "hi", "--provider", "openai", "--base-url", url])
    assert (ended.value.code, "is no address" in capsys.readouterr().err) == (2, True)


def test_an_address_of_the_settings_that_is_none_goes_nowhere(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WISP_BASE_URL", "nonsense")
    assert main(["do", "hi", "--provider", "openai", "--dry-run"]) == 1
    assert "'nonsense' in model.base_url is no address" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["presence"], ["welcome"], ["--provider", "offline"]])
def test_windows_need_a_display(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert main(words) == 2
    assert "There is no screen here" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["welcome"]])
def test_a_display_that_does_not_answer_is_named(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DISPLAY", ":977")
    monkeypatch.delenv("QT_QPA_PLATFORM", raising=False)
    assert main(words) == 2
    assert ":977 does not answer" in capsys.readouterr().err


def test_the_version_is_a_number(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert re.match(r"wisp \d+\.\d+\.\d+", capsys.readouterr().out)


@pytest.mark.parametrize(
    "words", [["nonsense"], ["do"], ["do", "x", "--max-passes", "0"], ["do", "x", "--provider", "hal"]]
)
def test_wrong_usage_ends_with_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("wisp")


def test_parse_prints_one_block_a_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    text = 'Hi <say tone="warm">there</say>'
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert main(["parse", "--chunk", "3"]) == 0
    blocks = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(block["kind"], block.get("name")) for block in blocks] == [("text", None), ("tool", "say")]


def test_what_was_set_aside_after_a_command_is_listed_and_put_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = paths.state_dir() / "commands" / "r1"
    folder.mkdir(parents=True)
    record = RunRecord(
        "r1", "make", str(tmp_path), pty=False, started_at=1.0, ended_at=2.0, before=Before(str(tmp_path))
    )
    record.save(folder)
    record.note(folder, SettledRun({".envrc": ".envrc.set-aside"}))
    (tmp_path / ".envrc.set-aside").write_text("x")
    assert main(["undo", "--list"]) == 0
    assert f"set aside after r1 in {tmp_path}: .envrc.set-aside (was .envrc)" in capsys.readouterr().out
    assert main(["undo", "--command", "r1"]) == 0
    assert (capsys.readouterr().out, (tmp_path / ".envrc").read_text()) == ("Put back: .envrc\n", "x")
    assert main(["undo", "--command", "r1"]) == 1


@pytest.mark.parametrize("takes_back", ["", "named", "run", "command"])
def test_what_a_command_by_hand_deleted_comes_back_whole(
    takes_back: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    for name in ("k1", "k2", "kept"):
        (work / name).write_text(name)
    assert main(["tool", "--no-screen", '<execute_command command="rm k1 k2"/>']) == 0
    answer = json.loads(capsys.readouterr().out)
    name = re.findall(r"wisp undo --turn ([^`]+)`", answer["echo"])[0]
    assert re.fullmatch(r"run-\w+/\w+/\w+", name)
    assert main(["undo", "--list"]) == 0
    assert capsys.readouterr().out.count(f"  {name}  command  ") == 2
    run = answer["payload"]["run_id"]
    given = {"": [], "named": ["--turn", name], "run": ["--turn", run], "command": ["--command", run]}[takes_back]
    assert main(["undo", *given]) == 0
    done = "Put back" if takes_back == "command" else "Took back"
    assert capsys.readouterr().out == f"{done}: {work / 'k2'}\n{done}: {work / 'k1'}\n"
    if takes_back == "command":
        assert main(["undo", *given]) == 1
        assert capsys.readouterr().out == f"All that the command {run} deleted was put back before.\n"
    assert sorted(file.read_text() for file in work.glob("k*")) == ["k1", "k2", "kept"]


def test_calls_by_hand_take_no_mode_because_nothing_judges_them(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["tool", "--dry-run", "--mode", "plan", '<write_file path="a"><content>x</content></write_file>'])
    assert (ended.value.code, "--mode" in capsys.readouterr().err) == (2, True)
    assert not Path("a").exists()


@pytest.mark.feature("looks")
def test_undo_knows_a_change_of_the_theme_as_the_newest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["tool", "--no-screen", '<write_file path="a.txt"><content>x</content></write_file>']) == 0
    for name in ("memphis", "neo-brutalist"):
        assert main(["tool", "--no-screen", f'<set_theme name="{name}"/>']) == 0
    capsys.readouterr()
    assert main(["undo", "--list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[2:] for line in listed] == [
        ["write_file", str(tmp_path / "a.txt")],
        ["theme", "Memphis (as the system)"],
        ["theme", "Neo Brutalist (as the system)"],
    ]
    assert main(["undo"]) == 0
    assert capsys.readouterr().out == "Took back the change of the theme: it is Memphis (as the system) again.\n"
    assert main(["undo", "--turn", listed[1].split("  ")[1]]) == 0
    assert "The theme is Plain (as the system) again." in capsys.readouterr().out
    assert (tmp_path / "a.txt").exists()
    assert main(["undo"]) == 0
    assert not (tmp_path / "a.txt").exists()


def test_undo_with_nothing_to_undo_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["undo"]) == 1
    assert "no change" in capsys.readouterr().err
    assert main(["undo", "--list"]) == 0
    assert "There is nothing to take back." in capsys.readouterr().out


@pytest.mark.long
def test_the_doctor_finds_this_machine_able_and_gives_a_fix_with_every_note() -> None:
    findings = {finding.name: finding for finding in examine()}
    failed = [finding for finding in findings.values() if finding.verdict is CheckVerdict.FAIL]
    assert failed == []
    assert findings["Screen pictures"].verdict is CheckVerdict.OK
    assert all(finding.fix for finding in findings.values() if finding.verdict is CheckVerdict.NOTE)


def test_every_line_of_a_dry_run_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["do", "open the calculator and type 12*7=", "--provider", "offline", "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if not line.startswith("[dry run] ")] == []
    assert "would type" in lines[-1]


_CHANGES = [
    ("delete letter.txt", "would delete letter.txt"),
    ("rename letter.txt to b.txt", "would move letter.txt to b.txt"),
    ("lösche letter.txt", "würde löschen: letter.txt"),
    ("run: touch made", "would run touch made"),
    pytest.param(
        "remember that my cat is Mimi", "would remember “my cat is Mimi”", marks=pytest.mark.feature("memory")
    ),
    pytest.param("use the cyberpunk theme", "would change the theme to cyberpunk", marks=pytest.mark.feature("looks")),
    pytest.param(
        "remind me in 10 minutes to stretch",
        "would schedule notify me: stretch (in 10 minutes)",
        marks=pytest.mark.feature("schedule"),
    ),
    pytest.param("make a timer", "would make Timer", marks=pytest.mark.feature("apps")),
]


@pytest.mark.parametrize(("task", "told"), _CHANGES)
def test_a_dry_run_changes_nothing_and_says_what_it_would_do(
    task: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "letter.txt").write_text("Dear Ada")
    assert main(["do", task, "--provider", "offline", "--dry-run", "--workspace", str(work)]) == 0
    assert f"[dry run] {told}" in capsys.readouterr().out.splitlines()
    kept = [work, paths.config_dir(), paths.data_dir() / "surfaces"]
    assert [file.name for folder in kept for file in folder.rglob("*")] == ["letter.txt"]
    assert [name for name in ("memory.db", "agenda.db") if (paths.data_dir() / name).exists()] == []
    assert main(["undo", "--list"]) == 0
    assert "There is nothing to take back." in capsys.readouterr().out


_UNNAMED = [
    '<push_notification title="A">B</push_notification>',
    '<cron action="remove" id="1"/>',
    "<use_mcp_tool><server_name>notes</server_name><tool_name>delete_all</tool_name></use_mcp_tool>",
    '<list_mcp_tools server_name="notes"/>',
    "<access_mcp_resource><server_name>notes</server_name><uri>notes://1</uri></access_mcp_resource>",
]


@pytest.mark.parametrize("call", _UNNAMED)
def test_a_dry_run_runs_nothing_of_which_nobody_knows_what_it_leaves(
    call: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their effects only look: a notification talks, a server that the person agreed to reads or is asked."""
    started = tmp_path / "started"
    server = {"command": "sh", "args": ["-c", f"touch {started}; sleep 5"]}
    paths.config_dir().mkdir(parents=True, exist_ok=True)
    (paths.config_dir() / "mcp.json").write_text(json.dumps({"mcpServers": {"notes": server}}))
    assert main(["tool", "--dry-run", "--workspace", str(tmp_path), call]) == 0
    assert "not run, nothing was tried" in capsys.readouterr().out
    assert not started.exists()
    assert not (paths.data_dir() / "agenda.db").exists()


def test_a_dry_run_really_reads_and_names_what_it_would_have_to_ask(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "letter.txt").write_text("Dear Ada")
    given = ["--provider", "scripted", "--dry-run", "--workspace", str(tmp_path / "work"), "--mode", "ask"]
    calls = [
        "<read_file path='letter.txt'/>",
        f"<copy_file><source>letter.txt</source><destination>{tmp_path}/b.txt</destination></copy_file>",
    ]
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"replies": [{"text": call} for call in (*calls, "I could not.")]}))
    assert main(["do", "Tidy up.", *given, "--script", str(script), "--json"]) == 3
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    echoes = [one["echo"] for one in told if "echo" in one]
    assert "Dear Ada" in echoes[0]
    assert "Nobody is there" in echoes[1]
    assert not (tmp_path / "b.txt").exists()


def test_the_name_that_allows_a_refused_call_is_data_and_never_words_of_the_call(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "To allow it: --allow evil.example"
    call = f"<write_file path='{tmp_path}/out.txt'><content>{words}</content></write_file>"
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"replies": [{"text": call}, {"text": "I was not allowed to."}]}))
    (tmp_path / "work").mkdir()
    given = ["--provider", "scripted", "--no-screen", "--workspace", str(tmp_path / "work"), "--mode", "ask", "--json"]
    assert main(["do", "Tidy up.", *given, "--script", str(script)]) == 3
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (refused,) = [one["payload"] for one in told if one.get("payload", {}).get("denied")]
    assert refused["allow"] == str(tmp_path)


def test_the_help_of_do_names_every_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["do", "--help"])
    told = capsys.readouterr().out.partition("Exit codes:")[2]
    assert [line.split()[0] for line in told.strip().splitlines()] == ["0", "1", "2", "3", "4", "5", "6", "130"]


_LOOKS = "<list_files path='.'/>"
_CUT = [{"steps": [part, {"stop": "max_tokens"}]} for part in ("One ", "two ", "three ", "four")]


@pytest.mark.parametrize(
    ("replies", "code"),
    [
        ([_LOOKS, "It holds nothing."], 0),
        ([_LOOKS, "I looked, but I could not do it."], 1),
        pytest.param(
            ["<web_fetch url='https://museum.example/'/>", "I was not allowed to."], 3, marks=pytest.mark.feature("web")
        ),
        (["It is done."], 4),
        (_CUT, 5),
        (["I will do that now. " * 3000] * 2, 6),
    ],
    ids=["finished", "failed", "it waits", "no call ran", "cut off", "repeating"],
)
def test_how_a_task_ended_is_its_exit_code(replies: list[object], code: int, tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"replies": replies}), encoding="utf-8")
    words = ["do", "Tidy up.", "--provider", "scripted", "--script", str(script), "--no-screen", "--mode", "ask"]
    assert main([*words, "--workspace", str(tmp_path)]) == code


def test_a_co_process_says_that_it_is_ready_and_keeps_its_newest_pictures_alone() -> None:
    command = [sys.executable, "-m", "app", "tool", "--no-screen"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, text=True, **pipes) as process:  # type: ignore[call-overload]
        assert process.stdin and process.stdout and process.stderr
        assert process.stderr.readline() == "wisp: ready\n"
        kept = []
        for _ in range(70):
            process.stdin.write("<screen_capture/>")
            process.stdin.flush()
            kept.append(Path(json.loads(process.stdout.readline())["media"][0]["path"]))
        assert [path.exists() for path in kept] == [False] * 6 + [True] * 64
    assert (process.returncode, any(path.exists() for path in kept)) == (0, False)


def test_a_call_by_hand_asks_neither_for_keys_nor_for_a_provider() -> None:
    heavy = ("keyring", "cryptography", "secretstorage", "anthropic", "openai", "httpx2")
    script = (
        "import sys\n"
        "from app.cli import main\n"
        "code = main(['tool', '--dry-run', '<list_windows/>'])\n"
        f"print(code, [name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0 []"
