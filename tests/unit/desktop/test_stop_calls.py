"""`wisp stop` reaches every Wisp on the display, and leaves what was killed behind."""

from __future__ import annotations

import socket
import threading

import pytest

from app.base import paths
from app.cli import main
from app.desktop.stop_calls import StopCalls, stop_all


@pytest.fixture(autouse=True)
def short_paths(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WISP_DATA_DIR", str(tmp_path_factory.mktemp("w")))  # because a socket's path is short
    monkeypatch.setenv("DISPLAY", ":77")


def test_a_call_stops_at_once_and_each_time_until_it_is_closed(capsys: pytest.CaptureFixture[str]) -> None:
    stopped = threading.Semaphore(0)
    calls = StopCalls(stopped.release)
    assert (main(["stop"]), stop_all()) == (0, 1)
    assert all(stopped.acquire(timeout=1) for _ in range(2))
    calls.close()
    calls.close()
    assert (main(["stop"]), stopped.acquire(blocking=False)) == (0, False)
    first, second = capsys.readouterr().out.splitlines()
    assert "has stopped" in first
    assert "Nothing was stopped" in second


def test_another_display_and_a_killed_process_are_no_hindrance(monkeypatch: pytest.MonkeyPatch) -> None:
    left = paths.display_socket("stop-1", of="")
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(left))
    calls = StopCalls(lambda: None)
    assert (stop_all(), left.exists()) == (1, False)
    monkeypatch.setenv("DISPLAY", ":78")
    assert stop_all() == 0
    calls.close()


def test_two_desktops_of_one_process_are_both_stopped() -> None:
    both = [StopCalls(lambda: None) for _ in range(2)]
    assert stop_all() == 2
    both[0].close()
    assert stop_all() == 1
    both[1].close()
