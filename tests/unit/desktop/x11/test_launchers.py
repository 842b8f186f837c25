"""Which scripts count as programs that start others: all of which nobody can tell that they do not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.base.geometry import Rect
from app.desktop.backends import TerminalFront, Window
from app.desktop.x11 import launchers
from app.desktop.x11.launchers import Launchers, fronts
from tests.support.waiting import eventually

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")

_WAIT = "\nimport sys\nprint(flush=True)\nsys.stdin.read()\n"
_PYTHON = "/usr/bin/python3"


def _is_launcher(*command: str) -> bool:
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        found = Launchers(lambda: ()).is_launcher(Window("w1", "Pad", "pad", Rect(0, 0, 9, 9), process.pid))
        process.kill()
    return found


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        ("import json, math\nfrom collections import deque", False),
        ("import sys; import os", True),
        ("from pathlib import Path", True),
        ("def later(tk):\n    tk.eval('exec xterm')", True),
        ("def later(x):\n    return x.__class__", True),
        ("def later(x):\n    'system'\n    return later.__doc__", True),
        ("#" * 300_000, True),
    ],
)
def test_a_script_is_judged_by_what_its_text_calls(tmp_path: Path, text: str, *, starts: bool) -> None:
    script = tmp_path / "pad.py"
    script.write_text(text + _WAIT)
    os.utime(script, (1, 1))
    assert _is_launcher(_PYTHON, str(script)) is starts


def test_an_interpreter_without_a_file_of_its_own_starts_programs(tmp_path: Path) -> None:
    (tmp_path / "pad.py").write_text(_WAIT)
    os.utime(tmp_path / "pad.py", (1, 1))
    assert _is_launcher(_PYTHON, "-c", _WAIT)
    assert _is_launcher(_PYTHON, "-i", str(tmp_path / "pad.py"))


def test_a_script_that_was_written_after_its_start_starts_programs(tmp_path: Path) -> None:
    script = tmp_path / "pad.py"
    script.write_text(_WAIT)
    os.utime(script, (time.time() + 9, time.time() + 9))
    assert _is_launcher(_PYTHON, str(script))


def _has_prompt(pid: int) -> bool:
    found = fronts(pid)
    return len(found) > 0 and all(front.is_prompt for front in found)


_TERMINAL = "import pty, sys; pty.spawn(sys.argv[1:])"
"""A terminal without a window: what it is given on its input is typed into the program that it runs."""


@contextmanager
def _terminal(*command: str, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [_PYTHON, "-c", _TERMINAL, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        bufsize=0,
        env=os.environ | {"TERM": "xterm", "PYTHONCOERCECLOCALE": "0"} | variables,
    ) as terminal:
        try:
            yield terminal
        finally:
            terminal.kill()


def _type(terminal: subprocess.Popen[bytes], text: str) -> None:
    assert terminal.stdin
    terminal.stdin.write(text.encode())


@pytest.mark.parametrize(
    ("shell", "first"),
    [
        (("/bin/bash", "--norc"), ""),
        (("/bin/bash", "--norc", "-i"), ""),
        (("/bin/dash",), ""),
        (("/bin/bash", "--norc"), "set +m\n"),
    ],
)
def test_a_shell_waits_for_a_line_until_it_runs_something(tmp_path: Path, shell: tuple[str, ...], first: str) -> None:
    with _terminal(*shell) as terminal:
        assert eventually(lambda: _has_prompt(terminal.pid))
        end = tmp_path / "end"
        _type(terminal, f"{first}sh -c 'until test -e {end}; do sleep 0.1; done'\n")
        assert eventually(lambda: not _has_prompt(terminal.pid))
        end.touch()
        assert eventually(lambda: _has_prompt(terminal.pid))


@pytest.mark.parametrize(
    "command",
    [
        ("less", "/etc/passwd"),
        ("nano", "-I"),
        ("/usr/bin/python3", "-q"),
        ("/bin/bash", "-c", "echo; read -n 3 answer; sleep 9"),
        ("/bin/bash", "-ec", "echo; read answer; sleep 9"),
        ("/bin/bash", "/dev/stdin"),
        ("/bin/bash", "--norc", "+m"),
    ],
)
def test_another_program_than_a_shell_at_its_prompt_takes_each_key(command: tuple[str, ...]) -> None:
    with _terminal(*command) as terminal:
        assert eventually(lambda: any(_is_running(child, command[0]) for child in _children_of(terminal.pid)))
        assert not _has_prompt(terminal.pid)


@pytest.mark.parametrize(
    ("name", "is_listed", "reads_lines"),
    [("bash", True, True), ("bash", False, False), ("tmux", True, False), ("screen", True, False)],
)
def test_only_a_shell_that_reads_lines_has_a_prompt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, *, is_listed: bool, reads_lines: bool
) -> None:
    program, shells = tmp_path / name, tmp_path / "shells"
    shutil.copy("/bin/bash", program)
    shells.write_text(f"# valid login shells\n{program}\n" if is_listed else "/bin/sh\n")
    monkeypatch.setattr(launchers, "_SHELLS", shells)
    with _terminal(str(program), "--norc") as terminal:
        assert eventually(lambda: any(_is_running(child, str(program)) for child in _children_of(terminal.pid)))
        assert _has_prompt(terminal.pid) is reads_lines


def _children_of(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def _is_running(pid: str, program: str) -> bool:
    return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode() == program


def test_what_no_terminal_holds_has_no_prompt() -> None:
    with subprocess.Popen(["sleep", "100"]) as process:
        assert not fronts(process.pid)
        process.kill()
    assert not fronts(0)


def _only(pid: int) -> TerminalFront:
    found = fronts(pid)
    return found[0] if len(found) == 1 else TerminalFront()


def test_an_editor_in_front_is_named_with_the_files_that_it_was_started_with(tmp_path: Path) -> None:
    edited = tmp_path / "notes.txt"
    with _terminal("/bin/sh", "-c", f"cd {tmp_path}; exec nano -l ./notes.txt") as terminal:
        assert eventually(lambda: [each.name for each in _only(terminal.pid).programs] == ["nano"])
        assert str(edited) in _only(terminal.pid).programs[0].files
        assert eventually(lambda: not _only(terminal.pid).reads_lines)


def test_a_program_that_anybody_may_have_made_has_no_name(tmp_path: Path) -> None:
    shutil.copy("/bin/sleep", tmp_path / "nano")
    with _terminal(str(tmp_path / "nano"), "100") as terminal:
        assert eventually(
            lambda: any(any(file.endswith("/100") for file in each.files) for each in _only(terminal.pid).programs)
        )
        assert _only(terminal.pid).programs[0].name == ""


def test_the_system_says_whether_a_program_takes_lines_and_has_read_its_keys() -> None:
    with _terminal("sleep", "100") as terminal:
        assert eventually(lambda: _only(terminal.pid).reads_lines)
    asleep = "import time, tty; tty.setraw(0); time.sleep(100)"
    with _terminal(_PYTHON, "-c", asleep) as terminal:
        assert eventually(lambda: bool(_only(terminal.pid).programs) and not _only(terminal.pid).reads_lines)
        assert not _only(terminal.pid).has_unread
        _type(terminal, "x")
        assert eventually(lambda: _only(terminal.pid).has_unread)


@pytest.mark.parametrize(
    ("given", "shell", "is_utf8"),
    [
        ({"LC_ALL": "C.UTF-8", "LC_CTYPE": "C", "LANG": "C"}, "", True),
        ({"LC_ALL": "", "LC_CTYPE": "C.utf8", "LANG": "C"}, "", True),
        ({"LC_ALL": "", "LC_CTYPE": "", "LANG": "C.UTF-8"}, "", True),
        ({"LC_ALL": "C", "LC_CTYPE": "C.UTF-8", "LANG": "C.UTF-8"}, "", False),
        ({"LC_ALL": "", "LC_CTYPE": "POSIX", "LANG": "C.UTF-8"}, "", False),
        ({"LC_ALL": "", "LC_CTYPE": "", "LANG": ""}, "", False),
        ({"LC_ALL": "xx_XX.UTF-8", "LC_CTYPE": "", "LANG": "C.UTF-8"}, "", False),
        ({"LC_ALL": "C", "LC_CTYPE": "", "LANG": ""}, "env LC_ALL=C.UTF-8 sleep 100\n", False),
    ],
)
def test_letters_are_read_as_utf8_only_with_such_a_locale_of_the_system(
    given: dict[str, str], shell: str, *, is_utf8: bool
) -> None:
    with _terminal("/bin/bash", "--norc", **given) as terminal:
        assert eventually(lambda: _has_prompt(terminal.pid))
        if shell:
            _type(terminal, shell)
            assert eventually(lambda: [each.name for each in _only(terminal.pid).programs] == ["sleep"])
        assert _only(terminal.pid).is_utf8 is is_utf8
