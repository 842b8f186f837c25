"""Times what the file and command tools do; prints medians in milliseconds: `python -m scripts.bench.files`."""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import resource
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path


def _median(times: int, act: Callable[[], object]) -> float:
    taken = []
    for _ in range(times):
        begun = time.perf_counter()
        act()
        taken.append((time.perf_counter() - begun) * 1000)
    return statistics.median(taken)


async def _median_async(times: int, act: Callable[[], Awaitable[object]]) -> float:
    taken = []
    for _ in range(times):
        begun = time.perf_counter()
        await act()
        taken.append((time.perf_counter() - begun) * 1000)
    return statistics.median(taken)


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _row(what: str, median_ms: float, note: str = "") -> None:
    print(f"{what:<52} {median_ms:>10.2f} ms  {note}")


def edits(times: int) -> None:
    """A 10 MB file, twenty blocks, each way of matching."""
    from app.services.files.edits import EditRefused, apply_diff

    chance = random.Random(1)
    lines = [f"    line {number} {chance.random()}" for number in range(300_000)]
    text = "\n".join(lines)
    ways: dict[str, Callable[[str], str]] = {
        "exact": str,
        "trailing spaces": lambda line: line + "  ",
        "indentation": lambda line: line.strip(),
        "not found": lambda line: line.replace("line", "Zeile"),
    }
    for way, change in ways.items():
        diff = "\n".join(
            f"------- SEARCH\n{change(lines[at])}\n=======\nnew {at}\n+++++++ REPLACE"
            for at in range(0, 200_000, 10_000)
        )

        def apply(diff: str = diff) -> None:
            try:
                apply_diff(text, diff)
            except EditRefused:
                return

        _row(f"diff, 20 blocks, {len(text) / 1e6:.0f} MB, {way}", _median(times, apply))


def files(folder: Path, times: int, size_mb: int) -> None:
    """Writes, reads of a big file, lists."""
    from app.services.files import searching
    from app.services.files.changes import ChangeOrigin, Changes
    from app.services.files.checkpoints import Checkpoints
    from app.services.files.contents import WantedLines, look
    from app.services.files.places import Workspace
    from app.services.files.safe_open import hold

    (folder / "project").mkdir()
    workspace = Workspace(folder / "project")
    changes = Changes(workspace, Checkpoints(folder / "checkpoints"))
    deep = workspace.locate("a/b/c/d/e/f.txt")
    _row(
        "write 1 KB, atomic, synced, undoable",
        _median(times, lambda: changes.write(deep, (b"x" * 1024,), ChangeOrigin())),
    )
    _row("locate a path six deep", _median(1000, lambda: workspace.locate("a/b/c/d/e/f.txt")))
    _row("hold a folder five deep", _median(1000, lambda: hold(deep.root, deep.inner[:-1]).__exit__()))
    big = folder / "project" / "big.txt"
    line = b"a line of text that is not very long, as they are in logs\n"
    with big.open("wb") as file:
        for _ in range(size_mb):
            file.write(line * (1_000_000 // len(line)))
    before = _peak_mb()
    last = workspace.locate("big.txt")
    median = _median(3, lambda: look(workspace, last, WantedLines(size_mb * 10_000)))
    _row(f"read lines from the middle of {size_mb} MB", median, f"memory grew by {_peak_mb() - before:.0f} MB")
    for number in range(5_000):
        place = folder / "project" / "tree" / str(number % 50)
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number}.txt").touch()
    tree = workspace.locate("tree")
    _row("list 5,000 files recursively", _median(5, lambda: searching.entries(tree, recursive=True, most=10_000)))


async def commands(folder: Path, times: int) -> None:
    """A command's whole way, and a hundred megabytes."""
    from app.base.clock import SystemClock
    from app.protocol.call import ToolCall
    from app.services.files.places import Workspace
    from app.services.files.searching import Query, search
    from app.services.processes.commands import Processes
    from app.tools.exec import Commands
    from app.tools.registry import TurnContext, admitted

    workspace = Workspace(folder / "project")
    processes = Processes(folder / "runs", SystemClock())
    tool = Commands(workspace, processes, SystemClock())

    async def run(command: str) -> None:
        await tool.execute(ToolCall("c", "execute_command", {"command": command}), TurnContext(admitted))

    _row("execute_command true", await _median_async(times, lambda: run("true")))
    await _walled(folder, times)
    before = _peak_mb()
    median = await _median_async(3, lambda: run("head -c 100000000 /dev/zero | tr '\\0' a"))
    _row("execute_command with 100 MB of output", median, f"memory grew by {_peak_mb() - before:.0f} MB")

    async def fifty() -> None:
        await asyncio.gather(*(run("true") for _ in range(50)))

    _row("50 commands side by side", await _median_async(3, fifty))
    place, query = workspace.locate("tree"), Query("nothing")
    _row("search_files in 5,000 files", await _median_async(5, lambda: search(place, query, asyncio.Event())))


async def _walled(folder: Path, times: int) -> None:
    """What the wall adds to the start of a command: alone, and in a workspace with a thousand folders."""
    from app.base.clock import SystemClock
    from app.services.processes.commands import Processes
    from app.services.processes.starting import for_command
    from app.services.sandbox.bubblewrap import wall

    space = folder / "space"
    space.mkdir()
    around = wall(space, wanted=True)
    if around.missing():
        _row("the wall around commands", 0.0, around.missing())
        return
    open_, walled = (
        Processes(folder / f"runs-{name}", SystemClock(), wall=one)
        for name, one in (("open", None), ("walled", around))
    )

    async def run(processes: Processes) -> None:
        await (await processes.start("true", space)).ended.wait()

    _row("a command's start and end, without the wall", await _median_async(times, lambda: run(open_)))
    _row("a command's start and end, behind the wall", await _median_async(times, lambda: run(walled)))
    environment = for_command("r1", pty=False)
    made = _median(times, lambda: around.enclose(space, environment, folder, network=False))
    _row("of it, finding out what to mount", made)
    for number in range(1_000):
        (space / str(number % 30) / str(number)).mkdir(parents=True)
    _row("the same in a workspace of 1,000 folders", await _median_async(times, lambda: run(walled)))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--times", type=int, default=15)
    options.add_argument("--size-mb", type=int, default=1000, help="of the big file that is read")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        os.environ["WISP_DATA_DIR"] = str(Path(name) / "wisp")
        edits(max(chosen.times // 3, 1))
        files(Path(name), chosen.times, chosen.size_mb)
        asyncio.run(commands(Path(name), chosen.times))


if __name__ == "__main__":
    main()
