"""The real program, killed in the middle of a command, and what another one finds afterwards."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

from app.agent.agent_events import Outcome, ToolFinished, TurnEnded
from app.agent.prompt import cut_off, told
from app.assistant import assembled
from app.base import paths
from app.base.clock import SystemClock
from app.base.withheld import shown
from app.protocol.message import TextPart
from app.services.processes.commands import Processes
from app.settings.store import Settings
from tests.support.waiting import eventually

_LIMIT_S = 60.0
_LOOK_S = 0.05


def _is_begun(journal: Path) -> bool:
    """Whether a call has been written down that has not ended."""
    if not journal.exists():
        return False
    with closing(sqlite3.connect(f"file:{journal}?mode=ro", uri=True)) as db, db:
        try:
            return bool(db.execute("select count(*) from calls where outcome = ''").fetchone()[0])
        except sqlite3.OperationalError:
            return False
        finally:
            db.rollback()


def _kill_in_the_middle(folder: Path, reply: str, mark: Path) -> None:
    """Run one task until its command has left its mark and still runs; then kill the program."""
    script = folder / "script.json"
    script.write_text(json.dumps({"replies": [reply]}))
    words = ["do", "--no-screen", "--provider", "scripted", "--script", str(script), "--mode", "yolo", "Mark it."]
    program = subprocess.Popen(
        [sys.executable, "-m", "app", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until = time.monotonic() + _LIMIT_S
    while not (_is_begun(paths.data_dir() / "journal.db") and mark.exists()) and time.monotonic() < until:
        assert program.poll() is None
        time.sleep(_LOOK_S)
    program.send_signal(signal.SIGKILL)
    program.wait()


async def test_a_task_killed_in_the_middle_is_gone_on_with(tmp_path: Path) -> None:
    mark = tmp_path / "marks.txt"
    _kill_in_the_middle(tmp_path, f'<execute_command command="echo once >> {mark.name}; sleep 600"/>', mark)
    runs = Processes(paths.state_dir() / "commands", SystemClock())
    assert eventually(lambda: not runs.left_over())
    settings = Settings({"model.provider": "offline", "files.workspace": str(tmp_path)}, {})
    async with assembled(settings, without_screen=True) as assistant:
        (past,) = await assistant.archive.conversations()
        (conversation,) = await assistant.from_before()
        assert conversation == (
            "Wisp was ended in the middle of “Mark it.”. It is among your conversations, to be gone on with."
        )
        shown = await assistant.reopen(past.id)
        history = [
            part.text
            for entry in assistant.session.history.entries
            for part in entry.message.parts
            if isinstance(part, TextPart)
        ]
    (card,) = [event for event in shown if isinstance(event, ToolFinished)]
    assert (card.tool, card.ok, card.echo) == ("execute_command", False, cut_off().said)
    assert [event.outcome for event in shown if isinstance(event, TurnEnded)] == [Outcome.STOPPED]
    assert (history[0], cut_off().said in history[2], history[3]) == ("Mark it.", True, told("ended_turn"))
    assert mark.read_text() == "once\n"


_PLANTED = {
    "key": "sk-ant-api03-" + "Ab1" * 12,
    "token": "ghp_" + "Zx9" * 12,
    "password": "password=correct-horse-9",
    "card": "4111 1111 1111 1111",
    "private key": f"-----BEGIN PRIVATE KEY-----\n{'MIIEvQIBADANBgkqhkiG9w0BAQEFAASC' * 12}\n-----END PRIVATE KEY-----",
}


def test_no_secret_that_was_said_run_or_printed_is_in_any_file_of_wisps(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    planted = "\n".join(f"{name}: {secret}" for name, secret in _PLANTED.items())
    (work / "say.txt").write_text(planted)
    command = f"cat say.txt; cat say.txt >&2; echo '{_PLANTED['token']}'"
    reply = f"I say:\n{planted}\n<execute_command><![CDATA[{command}]]></execute_command>"
    (work / "script.json").write_text(json.dumps({"replies": [reply, f"Done: {planted}"]}))
    words = ["do", "--no-screen", "--provider", "scripted", "--script", "script.json", "--mode", "yolo", planted]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    subprocess.run([sys.executable, "-m", "app", *words], check=True, cwd=work, env=environment, timeout=60)
    folders = (paths.data_dir(), paths.state_dir())
    stored = b"\n".join(path.read_bytes() for folder in folders for path in folder.rglob("*") if path.is_file())
    found = [name for name, secret in _PLANTED.items() if secret.rpartition("=")[2][-60:].encode() in stored]
    assert (found, b"MIIEvQ" in stored, stored.count(shown().encode()) > 20) == ([], False, True)
