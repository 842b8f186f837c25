"""What many desktops cost: `.venv/bin/python -m scripts.bench.fleet`.

`simulate`: tasks that only sleep and report, on a real Ray cluster of two nodes in this computer, with real result
files: how many results a second are kept, and how long the report takes to be read in Chromium. `scale`: the same real
tasks one at a time and two at a time, tasks that mostly wait and tasks that mostly work, and what a further desktop
needs of memory.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from app.desktop.ocr.rapid import shared_reader
from app.features.fleet.attempts import Conditions, Result
from app.features.fleet.client import Desk
from app.features.fleet.cluster import DESKTOP, RayCluster, RemoteLedger
from app.features.fleet.report import write_report
from app.features.fleet.results import Results
from app.features.fleet.tasks import Task

_SLEEP_S = 0.005
_OPENED = 5
_WAITING = "; ".join(["open the calculator and type 12*7=", "wait 9 seconds"])
_WORKING = "open the calculator and type 12*7="


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    what = parser.add_subparsers(dest="what", required=True)
    simulated = what.add_parser("simulate")
    simulated.add_argument("--tasks", type=int, default=10_000)
    scaled = what.add_parser("scale")
    scaled.add_argument("--tasks", type=int, default=8)
    options = parser.parse_args()
    return _simulate(options.tasks) if options.what == "simulate" else _scale(options.tasks)


def _pretended(task: Task, _files: Any, _conditions: Conditions, ledger: RemoteLedger, _needed: str) -> None:
    """Stand for a desktop: begin, sleep, report."""
    if ledger.begin(task.id, "node"):
        time.sleep(_SLEEP_S)
        receipt = {"at_s": 0.1, "tool": "computer_click", "ok": True, "text": f"Clicked {task.id}", "seconds": 0.1}
        told = {
            "outcome": "done",
            "passed": True,
            "answer": task.words,
            "why": "",
            "receipts": [receipt] * 3,
            "acted": True,
        }
        ledger.finish(Result(task.id, {**told, "seconds": _SLEEP_S}))


def _simulate(count: int) -> int:
    with tempfile.TemporaryDirectory() as name, _two_nodes(), Results(Path(name)) as results:
        tasks = [Task(id=f"task-{number}", words=f"pretend to do number {number}") for number in range(count)]
        left, cluster = results.plan(tasks), RayCluster(results)
        for some in cluster.run(left[:200], Path(), Conditions(), _pretended):  # so that all processes run
            results.settle(some)
        began, kept = time.monotonic(), 0
        for some in cluster.run(left[200:], Path(), Conditions(), _pretended):
            kept += len(results.settle(some))
        took = time.monotonic() - began
        print(f"{kept} results kept in {took:.1f} s: {kept / took:.0f} a second")
        cluster.close()
        began = time.monotonic()
        report = write_report(Path(name), "simulated.jsonl", results.newest(), count)
        print(f"report of {report.stat().st_size / 1e6:.1f} MB written in {time.monotonic() - began:.2f} s")
        opened = [_opened_s(report) for _ in range(_OPENED)]
        print(f"report read in Chromium in {statistics.median(opened):.2f} s (at most {max(opened):.2f})")
        lines = (Path(name) / "results.jsonl").read_text(encoding="utf-8").splitlines()
        ids = {json.loads(line)["id"] for line in lines}
        print(f"{len(lines)} lines for {len(ids)} tasks")
        return int(not len(lines) == len(ids) == count)


@contextmanager
def _two_nodes() -> Iterator[None]:
    from ray.cluster_utils import Cluster

    folder = tempfile.TemporaryDirectory(prefix="ray-")
    os.environ["RAY_TMPDIR"] = folder.name  # so that a cluster that runs here already stays what programs find
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["PYTHONPATH"] = str(Path(__file__).resolve().parents[2])
    node = {"num_cpus": 1, "resources": {DESKTOP: 4}}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    os.environ["RAY_ADDRESS"] = cluster.address
    try:
        cluster.add_node(**node)
        cluster.wait_for_nodes()
        yield
    finally:
        cluster.shutdown()
        folder.cleanup()


def _opened_s(report: Path) -> float:
    """From the start of reading until rows are shown."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page()
        began = time.monotonic()
        page.goto(report.as_uri())
        page.wait_for_selector("tbody tr")
        took = time.monotonic() - began
        browser.close()
    return took


def _scale(count: int) -> int:
    for name, words in (("mostly waiting", _WAITING), ("mostly working", _WORKING)):
        rates = {jobs: _rate(words, count, jobs) for jobs in (1, 2)}
        told = ", ".join(f"{jobs}: {rate * 60:.1f} a minute" for jobs, rate in rates.items())
        print(f"{name}: {told}; two against one: {rates[2] / rates[1]:.2f}")
    print(f"a further desktop: {_further_mb():.0f} MB")
    return 0


def _rate(words: str, count: int, jobs: int) -> float:
    with tempfile.TemporaryDirectory() as name:
        tasks = Path(name) / "tasks.jsonl"
        tasks.write_text("".join(json.dumps({"id": f"t{n}", "words": words}) + "\n" for n in range(count)))
        command = [sys.executable, "-m", "app", "run-all", str(tasks), "--provider", "offline", "--jobs", str(jobs)]
        began = time.monotonic()
        subprocess.run([*command, "--results", f"{name}/results"], check=True, stdout=subprocess.DEVNULL)
        return count / (time.monotonic() - began)


def _further_mb(others: int = 3) -> float:
    """The mean of three further desktops, each with a program open."""
    with shared_reader(), ExitStack() as open_ones:
        desks = [open_ones.enter_context(Desk(["--provider", "offline"])) for _ in range(others + 1)]
        used = []
        for number, desk in enumerate(desks, 1):
            desk.ask("play", 60, words=_WORKING)
            used.append(sum(one.memory_mb() for one in desks[:number]))
        return (used[-1] - used[0]) / others


if __name__ == "__main__":
    sys.exit(main())
