"""A batch on a Ray cluster of two nodes, one of which dies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.desktop.x11.virtual import VirtualDesktop
from tests.support.waiting import eventually

cluster_utils = pytest.importorskip("ray.cluster_utils", reason="Ray is not installed; scripts/setup test brings it")

ROOT = Path(__file__).resolve().parents[3]
pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(400),
    pytest.mark.feature("fleet"),
    pytest.mark.skipif(bool(VirtualDesktop.missing_packages()), reason="a private desktop needs Xvfb, openbox, dbus"),
]
_LIMIT_S = 300.0
_COUNT = 12
_NODE: dict[str, Any] = {"num_cpus": 1, "resources": {"desktop": 2}}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    with tempfile.TemporaryDirectory(prefix="ray-") as folder:  # near the root, since the paths of sockets are short
        monkeypatch.setenv("RAY_TMPDIR", folder)  # so that a cluster of the person stays what programs find by itself
        made = cluster_utils.Cluster(initialize_head=True, head_node_args={**_NODE, "include_dashboard": False})
        yield made
        made.shutdown()


def _lines(folder: Path) -> list[dict[str, Any]]:
    path = folder / "tasks-results" / "results.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def test_a_node_dies_and_each_task_acts_once_and_none_is_lost(cluster: Any, tmp_path: Path) -> None:
    node = cluster.add_node(**_NODE)
    cluster.wait_for_nodes()
    acted = tmp_path / "acted.txt"
    tasks = [
        {"id": f"row-{n}", "setup": f"echo row-{n} >> {acted}", "words": "create a file a.txt with the text b"}
        for n in range(_COUNT)
    ]
    (tmp_path / "tasks.jsonl").write_text("".join(f"{json.dumps(task)}\n" for task in tasks), encoding="utf-8")
    running = subprocess.Popen(
        [sys.executable, "-m", "app", "run-all", "tasks.jsonl", "--provider", "offline", "--engine", "ray"],
        cwd=tmp_path,
        env={**os.environ, "RAY_ADDRESS": cluster.address},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert eventually(lambda: len(_lines(tmp_path)) >= _COUNT // 3, limit_s=_LIMIT_S)
    cluster.remove_node(node, allow_graceful=False)
    said = running.communicate(timeout=_LIMIT_S)[0]
    told = {line["id"]: line["outcome"] for line in _lines(tmp_path)}
    assert len(told) == len(_lines(tmp_path)) == _COUNT, said
    assert set(told.values()) <= {"done", "interrupted"}
    assert list(told.values()).count("interrupted") <= _NODE["resources"]["desktop"]
    done = acted.read_text().split()
    assert len(set(done)) == len(done)
