"""Whether Wisp is set up and works on each Python that the README names.

    .venv/bin/python scripts/bench pythons                          python3.11, python3.12 and python3.13
    .venv/bin/python scripts/bench pythons /opt/python/bin/python3

Each gets a clone of the last commit in a folder of its own, `scripts/setup test`, and the smoke of the suite: every
command's help and errors, all three dialects, the providers against recorded streams, files and commands, and a real
calculator. Needs the network and about 2 GB for each; prints what `.venv` takes. Exit code 1 where something fails on
one of them, 2 where one is not installed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_NAMED = ("python3.11", "python3.12", "python3.13")
_SMOKE = (
    "tests/unit/commands/test_cli.py", "tests/unit/base", "tests/contract/test_dialects.py",
    "tests/contract/test_loop.py", "tests/contract/test_providers.py", "tests/unit/tools/test_writing.py",
    "tests/unit/tools/test_reading.py", "tests/unit/tools/test_commands.py", "tests/e2e/test_main_job.py",
)  # fmt: skip


def _played(python: str) -> bool:
    """Set up and play the smoke in a clone, which goes afterwards. Returns whether all of it passed."""
    with tempfile.TemporaryDirectory(prefix="wisp-python-", dir=_ROOT.parent, ignore_cleanup_errors=True) as folder:
        clone = Path(folder, "wisp")
        subprocess.run(["git", "clone", "-q", str(_ROOT), str(clone)], check=True)
        began = time.monotonic()
        environment = os.environ | {"PYTHON": python}
        words = ["./scripts/setup", "test"]
        made = subprocess.run(words, cwd=clone, env=environment, stderr=subprocess.PIPE, text=True, check=False)
        if made.returncode:
            print(f"{python}: scripts/setup failed: {made.stderr[-500:]}")
            return False
        took_s, place = time.monotonic() - began, clone / ".venv"
        size = subprocess.run(["du", "-sm", str(place)], capture_output=True, text=True, check=True).stdout.split()[0]
        version = subprocess.run([place / "bin" / "python", "-V"], capture_output=True, text=True, check=True).stdout
        modules, compiled = (len(list((clone / "app").rglob(f"*.{ending}"))) for ending in ("py", "pyc"))
        print(f"{version.strip()}: set up in {took_s:.0f} s, .venv with the tests takes {size} MB, ", end="")
        print(f"{compiled} of {modules} modules are compiled", flush=True)
        smoke = [place / "bin" / "python", "-m", "pytest", "-q", "--tb=short", "-rf", "-p", "no:cacheprovider", *_SMOKE]
        return subprocess.run(smoke, cwd=clone, check=False).returncode == 0 and compiled == modules


def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pythons", nargs="*", metavar="PYTHON", default=_NAMED, help=f"of {', '.join(_NAMED)}")
    pythons = parser.parse_args().pythons
    lacking = [python for python in pythons if not shutil.which(python)]
    if lacking:
        print(f"Not installed: {', '.join(lacking)}. Give the path of one: scripts/bench pythons /path/to/python3")
        return 2
    failed = [python for python in pythons if not _played(python)]
    print(f"{len(pythons)} Pythons, {len(failed)} with failures: {', '.join(failed) or 'none'}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(_main())
