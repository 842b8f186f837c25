"""Which scripts count as programs that start others: all of which nobody can tell that they do not."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from app.base.geometry import Rect
from app.desktop.backends import Window
from app.desktop.x11.launchers import Launchers

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
        ("def run(app):\n    app.exec()", False),
        ("import subprocess", True),
        ("import os", True),
        ("import sys; import os", True),
        ("import sys\nos = sys.modules['os']", True),
        ("import json, shlex", True),
        ("import json as j, pathlib as p", True),
        ("from pathlib import Path", True),
        ("def later():\n    import pty", True),
        ("def later():\n    __import__('os')", True),
        ("def later():\n    exec('1')", True),
        ("def later(tk):\n    tk.eval('exec xterm')", True),
        ("def later(Gio):\n    Gio.AppInfo.launch_default_for_uri('x', None)", True),
        ("def later(GLib):\n    GLib.spawn_command_line_async('xterm')", True),
        ("def later(QtCore):\n    QtCore.QProcess.startDetached('xterm')", True),
        ("def later(x):\n    return x.__class__", True),
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
