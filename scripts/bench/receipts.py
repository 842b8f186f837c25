"""Whether receipts tell the truth: the table of tests/data/receipts on every toolkit, judged by the windows themselves.

    .venv/bin/python scripts/bench/receipts.py --only gtk3 qt6 [--on sway]

Prints every receipt that was not right, and the figures of each toolkit: false no-op and unverifiable are shares of the
acts that had their effect. Exit code 1 where anything was confirmed that did not happen.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from app.desktop.x11.virtual import VirtualDesktop
from tests.support.compositors import COMMANDS, DESKTOPS, composited, with_extension
from tests.support.consent import answering
from tests.support.receipts import KITS, Judged, played


def _say(told: Judged, *, is_all: bool) -> None:
    fault = (
        "FALSE CONFIRMED" if told.is_false_confirmed
        else "FALSE NO-OP" if told.is_false_no_op
        else "unsure" if told.is_unsure
        else told.proof if told.proof in ("failed", "hung")
        else ""
    )  # fmt: skip
    if fault or is_all:
        happened = "had its effect" if told.happened else "had no such effect"
        print(f"  {fault or told.proof:15} {told.act.name} ({happened}): {told.echo[:200]!r}", flush=True)


def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="KIT", choices=KITS, help=f"of {' '.join(KITS)}")
    parser.add_argument("--on", choices=("x11", *COMMANDS, *DESKTOPS), default="x11", help="the desktop to play on")
    parser.add_argument("--act", nargs="+", metavar="NAME", default=[], help="these acts and what prepares them")
    parser.add_argument("--all", action="store_true", help="print every receipt, not only those with a fault")
    options = parser.parse_args()
    every: list[Judged] = []
    for kit in options.only or [kit for kit in KITS if (kit, options.on) != ("foot", "x11")]:
        every += _of_kit(kit, options.on, options.act, is_all=options.all)
    _figures("all", every)
    return int(any(one.is_false_confirmed for one in every))


# The acts count on windows that cover others.
_LIKE_X11 = 'for_window [title=".*"] floating enable\n'


@contextmanager
def _desktop(name: str, home: Path) -> Iterator[dict[str, str]]:
    """Run a desktop of that kind. Yields the environment of its programs."""
    if name == "x11":
        with VirtualDesktop() as virtual:
            yield virtual.environment
    elif name in COMMANDS:
        with composited(name, home, sway=_LIKE_X11) as environment:
            yield environment
    else:
        with composited(name, home, prepare=with_extension) as environment, answering(environment, allow=True):
            yield environment


def _of_kit(kit: str, desktop: str, only: Sequence[str], *, is_all: bool) -> list[Judged]:
    told: list[Judged] = []
    print(kit, flush=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        os.environ.update({"HOME": home, "WISP_DATA_DIR": home})
        with _desktop(desktop, Path(home)) as environment:
            try:
                for one in played(kit, environment, only):
                    told.append(one)
                    _say(one, is_all=is_all)
            except (AssertionError, OSError, subprocess.SubprocessError) as error:  # the other toolkits are played
                print(f"  {kit} was not played to its end: {str(error)[:300]}")
    _figures(kit, told)
    return told


def _figures(name: str, every: Sequence[Judged]) -> None:
    real = [one for one in every if one.happened]
    telling = [one for one in real if not one.act.is_silent]
    kinds = len({one.act.name for one in every})
    print(f"{name}: {len(every)} acts of {kinds} kinds, {len(real)} had their effect; ", end="")
    print(f"false confirmed {sum(one.is_false_confirmed for one in every)}, ", end="")
    print(f"false no-op {_share(sum(one.is_false_no_op for one in every), len(real))}, ", end="")
    print(f"unverifiable {_share(sum(one.is_unsure for one in real), len(real))}, ", end="")
    print(f"where the tree tells {_share(sum(one.is_unsure for one in telling), len(telling))}, ", end="")
    print(f"hung {sum(one.proof == 'hung' for one in every)}", flush=True)


def _share(part: int, whole: int) -> str:
    return f"{part} ({100 * part / max(whole, 1):.1f} %)"


if __name__ == "__main__":
    sys.exit(_main())
