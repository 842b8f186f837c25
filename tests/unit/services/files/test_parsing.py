"""What others made is taken apart by a process that can do nothing else."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.base.errors import ToolFailed
from app.services.files import parsing
from tests.hostile.observers.processes import descendants, environment_of
from tests.support.waiting import eventually
from tests.support.walls import needs_wall

_PROBE = """
import sys
sys.path.insert(0, {root!r})
import os, socket, subprocess
from app.services.files import parsing_worker as cell
cell.lock([sys.prefix, sys.base_prefix, "/usr/lib", "/lib", "/lib64"])
def tried(act):
    try:
        act()
    except (OSError, MemoryError):
        return "no"
    return "yes"
def grow():
    bytearray(2 * cell.MEMORY_BYTES)
def dial():
    socket.create_connection(("127.0.0.1", {port}), 5)
print(tried(lambda: open({file!r}).read()), tried(lambda: open({file!r} + ".new", "w")), tried(grow), tried(dial))
"""
_ROOT = str(Path(__file__).resolve().parents[4])


@needs_wall
def test_it_can_open_no_file_take_no_memory_and_call_nobody(tmp_path: Path) -> None:
    import socket
    import subprocess

    secret = tmp_path / "secret"
    secret.write_text("x")
    with socket.create_server(("127.0.0.1", 0)) as server:
        probe = _PROBE.format(root=_ROOT, file=str(secret), port=server.getsockname()[1])
        done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["no", "no", "no", "no"]
    assert os.listdir(tmp_path) == ["secret"]


def test_its_environment_holds_nothing_of_the_persons(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-canary")
    before = set(descendants())
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as waits_for_ever:
        pieces = parsing.pieces("page", {"charset": "", "url": "u"}, waits_for_ever, "u")
        asked = threading.Thread(target=lambda: list(pieces))
        asked.start()
        assert eventually(lambda: len(set(descendants()) - before) == 1)
        (worker,) = set(descendants()) - before
        assert eventually(lambda: b"worker.py" in Path(f"/proc/{worker}/cmdline").read_bytes())
        environment = environment_of(worker)
        os.write(writing, b"<p>x</p>")
        os.close(writing)
        asked.join(20)
    assert b"OPENBLAS" in environment
    assert b"canary" not in environment


def test_what_it_refuses_is_told_in_its_words() -> None:
    with pytest.raises(ToolFailed, match=r"'a\.ipynb' is a damaged or protected document"):
        list(parsing.texts("document", {"name": "a.ipynb", "shown": "a.ipynb"}, b"{", "a.ipynb"))


def test_one_that_dies_is_told_as_damage_or_too_little_room() -> None:
    with pytest.raises(ToolFailed, match="it is damaged, or needs more memory or time than it may have"):
        list(parsing.texts("no such job", {}, b"", "a.pdf"))


def test_nobody_who_stops_listening_leaves_it_running() -> None:
    def pages() -> Iterator[bytes]:
        yield from parsing.pieces("page", {"charset": "", "url": "u"}, b"<p>" + b"word " * 500_000, "u")

    before = set(descendants())
    listening = pages()
    assert next(listening)
    listening.close()  # type: ignore[attr-defined]
    assert set(descendants()) - before == set()
