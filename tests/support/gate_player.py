"""Plays the permission gate's cases on real programs, each in a process, home and desktop of its own, and judges them
from outside. Run by itself it is that process (`--play`), or the person of a harmless task (`--person`).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from app.agent.agent_events import AgentEvent, ApprovalWanted, ToolFinished, TurnEnded  # noqa: E402
from app.assistant import assemble  # noqa: E402
from app.settings import store  # noqa: E402
from tests.support.gate_cases import PROGRAMS, GateCase, Start, restored_case  # noqa: E402

WISP = ROOT / ".venv" / "bin" / "wisp"
_WINDOW_LIMIT_S = 25.0
_REST_S = 0.5
_TASK_LIMIT_S = 90.0
_EFFECT_LIMIT_S = 1.5
_DONE_LIMIT_S = 4.0
_CASE_LIMIT_S = 180.0
_OK = "<attempt_completion><result>ok</result></attempt_completion>"
_KEPT = 600
_ASKED = "asked: "
_WORDS = f". {PROGRAMS}/words.sh\n"


@dataclass(frozen=True, slots=True)
class Played:
    """`came` is whether the condition was seen; `trouble` why the case could not be played at all."""

    case: GateCase
    came: bool
    words: str
    trouble: str = ""

    @property
    def questions(self) -> int:
        """How often the person was asked."""
        return sum(line.startswith(_ASKED) for line in self.words.splitlines())


def play(case: GateCase, *, control: bool) -> dict[str, object]:
    """Play one case in this process' own home and folder (see `_place`)."""
    from app.desktop.x11.virtual import VirtualDesktop

    place = Path(os.environ["OUT"])
    (place / "out").touch()
    with _server(place / "requests") as port:
        os.environ["PORT"] = str(port)
        _make_files(case, port)
        with VirtualDesktop() as desk:
            environment = {**os.environ, **desk.environment}
            subprocess.run(["setxkbmap", "-layout", case.layout], env=environment, check=True)
            children: list[subprocess.Popen[bytes]] = []
            try:
                for number, start in enumerate(case.start, 1):
                    children.append(_begin(number, start, environment))
                    _await_window(start, environment)
                words = _act(case, environment, control=control)
                limit_s = _DONE_LIMIT_S if case.benign or control else _EFFECT_LIMIT_S
                return {"came": _holds(case.seen, environment, limit_s), "words": words}
            finally:
                for child in children:
                    _end(child)


@contextmanager
def _server(log: Path) -> Iterator[int]:
    """A loopback server that writes down every request (host and path), for as long as the case needs it."""
    log.touch()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            with log.open("a", encoding="utf-8") as to:
                to.write(f"{self.headers.get('Host', '')}{self.path}\n")
            page = Path("page.html")
            body = page.read_bytes() if page.exists() else b"<title>Somewhere</title><p>A page."
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815 - the name that the server calls

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()


def _make_files(case: GateCase, port: int) -> None:
    """The case's files, and a browser that finds every name at the loopback server and starts as root too."""
    home = Path.home()
    for name, content in case.files.items():
        path = Path(name).expanduser()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_filled(content), encoding="utf-8")
        if content.startswith("#!"):
            path.chmod(0o755)
    browser = home / "bin" / "chromium"
    browser.parent.mkdir(exist_ok=True)
    flags = "--no-sandbox --disable-gpu --no-first-run --force-renderer-accessibility --password-store=basic"
    browser.write_text(
        f'#!/bin/sh\nexec /usr/bin/chromium {flags} --host-resolver-rules="MAP * 127.0.0.1:{port}" "$@"\n'
    )
    browser.chmod(0o755)
    entries = home / ".local" / "share" / "applications"
    entries.mkdir(parents=True, exist_ok=True)
    types = "text/html;x-scheme-handler/http;x-scheme-handler/https;"
    entry = f"[Desktop Entry]\nType=Application\nName=Chromium\nExec={browser} %U\nMimeType={types}\n"
    (entries / "chromium.desktop").write_text(entry + "Categories=Network;WebBrowser;\n")
    defaults = "".join(f"{one}=chromium.desktop\n" for one in types.split(";") if one)
    (home / ".config").mkdir(exist_ok=True)
    (home / ".config" / "mimeapps.list").write_text(f"[Default Applications]\n{defaults}")


def _filled(text: str) -> str:
    for mark, name in (("@HOME@", "HOME"), ("@WS@", "WS"), ("@PORT@", "PORT"), ("@PROGRAMS@", "PROGRAMS")):
        text = text.replace(mark, os.environ[name])
    return text


def _begin(number: int, start: Start, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start a program; what it says goes to `out`, its exit code to `exit.N`."""
    line = f'{_WORDS}\n({_filled(start.run)}) >> "$OUT/out" 2>/dev/null; echo $? > "$OUT/exit.{number}"'
    return subprocess.Popen(["bash", "-c", line], env=environment, start_new_session=True)


def _await_window(start: Start, environment: dict[str, str]) -> None:
    if start.window and not _holds(f'shows "{start.window}"', environment, _WINDOW_LIMIT_S):
        raise TimeoutError(f"No window '{start.window}' of: {start.run}")
    time.sleep(_REST_S)


def _act(case: GateCase, environment: dict[str, str], *, control: bool) -> str:
    """Do the task with the real command, or what stands for it in the control; returns what was said."""
    if control and case.control:
        script = _WORDS + "\n".join(_filled(line) for line in case.control)
        command = ["bash", "-c", script]
    else:
        told = Path(os.environ["OUT"]) / "script.json"
        replies = [{"text": _filled(reply)} for reply in (*case.replies, _OK)]
        told.write_text(json.dumps({"replies": replies}), encoding="utf-8")
        environment = {**environment, "WISP_SCRIPT": str(told)}
        mode = "yolo" if control else case.mode
        if case.benign:
            command = [sys.executable, __file__, "--person", case.task, "--mode", mode]
        else:
            command = [str(WISP), "do", case.task, "--provider", "scripted", "--mode", mode]
    try:
        ran = subprocess.run(
            command, env=environment, capture_output=True, timeout=_TASK_LIMIT_S, stdin=subprocess.DEVNULL, check=False
        )
    except subprocess.TimeoutExpired as late:
        return f"(no end within {_TASK_LIMIT_S:.0f} s) {(late.stdout or b'').decode(errors='replace')[-_KEPT:]}"
    said = (ran.stdout + ran.stderr).decode(errors="replace")
    return "\n".join(line[:200] for line in said.splitlines())[-_KEPT * 3 :]


async def carry_out(task: str, mode: str) -> None:
    """Carry out a task of a scripted model before a person who has typed it and says yes to each question, once; tell
    what happens.
    """
    assistant = assemble(store.load().with_values(model__provider="scripted", trust__mode=mode))
    loop = asyncio.get_running_loop()

    def hear(event: AgentEvent) -> None:
        if isinstance(event, ApprovalWanted):
            print(f"{_ASKED}{event.tool}: {event.sentence}", flush=True)
            loop.call_soon(lambda: assistant.answer(event.approval_id, allow=True))
        elif isinstance(event, ToolFinished):
            print(f"  {'✓' if event.ok else '✗'} {event.echo}", flush=True)
        elif isinstance(event, TurnEnded):
            print(event.text, flush=True)

    try:
        assistant.subscribe(hear)
        await assistant.send(task, own=task)
    finally:
        await assistant.close()


def _holds(condition: str, environment: dict[str, str], limit_s: float) -> bool:
    """Whether a shell condition comes true within the limit."""
    end = time.monotonic() + limit_s
    while True:
        line = _WORDS + _filled(condition)
        if subprocess.run(["bash", "-c", line], env=environment, capture_output=True, check=False).returncode == 0:
            return True
        if time.monotonic() > end:
            return False
        time.sleep(0.1)


def _end(child: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def play_apart(case: GateCase, *, control: bool) -> Played:
    """Play a case in a process, home, workspace and data folder of its own."""
    place = Path(tempfile.mkdtemp(prefix="wisp-gate-"))
    try:
        command = [sys.executable, __file__, "--play", json.dumps(asdict(case)), *(["--control"] if control else [])]
        with subprocess.Popen(
            command, env=_place(place), cwd=place / "ws", stdout=-1, stderr=-1, start_new_session=True
        ) as child:
            try:
                out, errors = child.communicate(timeout=_CASE_LIMIT_S)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                return Played(case, False, "", "no end")
        if child.returncode:
            return Played(case, False, "", errors.decode(errors="replace").strip()[-300:])
        answer = json.loads(out)
        return Played(case, answer["came"], answer["words"])
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _place(place: Path) -> dict[str, str]:
    for name in ("home", "ws", "out"):
        (place / name).mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "WISP_"))}
    return {
        **kept,
        "HOME": str(place / "home"),
        "WS": str(place / "ws"),
        "OUT": str(place / "out"),
        "WISP_DATA_DIR": str(place / "data"),
        "WISP_ROOT": str(ROOT),
        "PYTHONPATH": str(ROOT),  # because an environment that two checkouts share runs the other one's code
        "WISP_PYTHON": sys.executable,
        "PROGRAMS": str(PROGRAMS),
        "PATH": f"{place / 'home' / 'bin'}:{WISP.parent}:{os.environ['PATH']}",
    }


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("--play")
    asked.add_argument("--person")
    asked.add_argument("--mode", default="")
    asked.add_argument("--control", action="store_true")
    told = asked.parse_args()
    if told.person:
        asyncio.run(carry_out(told.person, told.mode))
    else:
        print(json.dumps(play(restored_case(json.loads(told.play)), control=told.control)))


if __name__ == "__main__":
    main()
