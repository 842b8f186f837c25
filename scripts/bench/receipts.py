"""Whether receipts tell the truth: the table of tests/data/receipts on every toolkit, judged by the windows themselves.

    .venv/bin/python scripts/bench/receipts.py [KIT…]     (gtk3 gtk4 qt5 qt6 chromium tk)

Prints every receipt that was not right, and the shares. Exit code 1 where anything was confirmed that did not happen.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from app.desktop.x11.virtual import VirtualDesktop
from tests.support.receipts import KITS, Judged, played


def _say(told: Judged) -> None:
    fault = (
        "FALSE CONFIRMED" if told.is_false_confirmed
        else "false no-op" if told.is_false_no_op
        else "unsure" if told.is_unsure
        else "failed" if told.proof == "failed"
        else ""
    )  # fmt: skip
    if fault:
        print(f"  {told.kit:8} {fault:15} {told.act.name}: {told.echo[:200]}")


def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kits", nargs="*", metavar="KIT", default=[*KITS, "tk"])
    every: list[Judged] = []
    for kit in parser.parse_args().kits:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
            os.environ.update({"HOME": home, "WISP_DATA_DIR": home})
            with VirtualDesktop() as virtual:
                told = list(played(kit, virtual.environment))
        print(f"{kit}: {len(told)} acts, {sum(one.proof == 'confirmed' for one in told)} confirmed")
        for one in told:
            _say(one)
        every += told
    telling = [one for one in every if not one.act.is_silent]
    wrong = sum(one.is_false_confirmed for one in every)
    print(f"{len(every)} acts: false confirmed {wrong}, ", end="")
    print(f"false no-op {_share(sum(one.is_false_no_op for one in every), len(every))}, ", end="")
    print(f"unverifiable {_share(sum(one.is_unsure for one in every), len(every))}, ", end="")
    print(f"where the tree tells {_share(sum(one.is_unsure for one in telling), len(telling))}")
    return int(wrong > 0)


def _share(part: int, whole: int) -> str:
    return f"{part} ({100 * part / max(whole, 1):.1f} %)"


if __name__ == "__main__":
    sys.exit(_main())
