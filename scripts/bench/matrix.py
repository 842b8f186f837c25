"""Whether the stories hold with other programs: each file manager, terminal and editor of tests/data/programs.toml.

    .venv/bin/python scripts/bench/matrix.py                 all of them; what is not installed is named, exit code 2
    .venv/bin/python scripts/bench/matrix.py thunar geany    these alone

Several kinds are played at once, so there are as many runs as the longest list has programs. Exit code 1 where a story
fails with one of them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from itertools import zip_longest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.support.programs import KINDS, TABLE, missing

_ROOT = Path(__file__).resolve().parents[2]
_STORIES = "tests/e2e/test_stories_programs.py"


def _runs(wanted: list[str]) -> list[dict[str, str]]:
    """Combinations in which every wanted program comes up; where a list is used up, its first program fills in."""
    lists = [[name for name in TABLE[kind] if not wanted or name in wanted] for kind in KINDS]
    rows = zip_longest(*lists)
    firsts = {kind: next(iter(TABLE[kind])) for kind in KINDS}
    return [{kind: name or firsts[kind] for kind, name in zip(KINDS, row, strict=True)} for row in rows]


def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    wanted = parser.parse_args().programs
    if unknown := set(wanted).difference(*(TABLE[kind] for kind in KINDS)):
        parser.error(f"The table has no {', '.join(sorted(unknown))}.")
    runs = _runs(wanted)
    lacking = sorted({package for run in runs for package in missing(run)})
    if lacking:
        print(f"Not installed: {', '.join(lacking)}. Install them: sudo apt-get install {' '.join(lacking)}")
        return 2
    failed = 0
    for run in runs:
        chosen = {f"WISP_STORY_{kind.upper()}": name for kind, name in run.items()}
        print(f"== {', '.join(run.values())}", flush=True)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", "-rf", _STORIES]
        failed += subprocess.run(command, cwd=_ROOT, env=os.environ | chosen, check=False).returncode != 0
    print(f"{len(runs)} runs, {failed} with failures")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(_main())
