"""How exact the hands are, told to the real `wisp tool`: random clicks on many screens, random texts on many layouts.

    .venv/bin/python scripts/bench/hands.py [CLICKS [TEXTS [ROUNDS]]]     (500 200 3)

Clicks are spread over sizes, two monitors and scale factors, and judged by the window that got them; each text is typed
into an empty field, in the odd rounds with caps lock on. Exit code 1 where anything is not exact.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from Xlib.display import Display

from app.desktop.x11.virtual import VirtualDesktop
from tests.support.exactness import FIELDS, is_exact, page, random_text, shots, toggle_caps

_LAYOUTS = ("us", "de", "fr", "ru")
_HIT_PX = 1.0


def _clicks(count: int) -> int:
    missed = 0
    for number, field in enumerate(FIELDS):
        share = count // len(FIELDS) + (number < count % len(FIELDS))
        began = time.perf_counter()
        misses = [shot.miss_px for shot in shots(field, share)]
        far = sum(miss > _HIT_PX for miss in misses)
        each_ms = (time.perf_counter() - began) / share * 1000
        print(f"{field!s:<44} {share:4} clicks, {far} off, furthest {max(misses):.2f} px, {each_ms:.0f} ms each")
        missed += far
    print(f"{'all':<44} {count:4} clicks, {missed} off by more than a pixel")
    return missed


def _keymap(environment: dict[str, str]) -> list[list[int]]:
    display = Display(environment["DISPLAY"])
    try:
        return [list(row) for row in display.get_keyboard_mapping(8, 248)]
    finally:
        display.close()


def _texts(layout: str, count: int, rounds: int) -> int:
    with VirtualDesktop() as virtual, page(virtual.environment, layout) as (wisp, window):
        before, wrong, began = _keymap(virtual.environment), 0, time.perf_counter()
        for number in range(rounds):
            wrong += sum(not is_exact(wisp, window, random_text(seed)) for seed in range(count))
            if number + 1 < rounds:
                toggle_caps(virtual.environment)
        each_ms = (time.perf_counter() - began) / (count * rounds) * 1000
        changed = _keymap(virtual.environment) != before
    state = "CHANGED" if changed else "unchanged"
    print(f"layout {layout}: {count} texts {rounds} times, {wrong} not exact, keymap {state}, {each_ms:.0f} ms each")
    return wrong + changed


def _main(clicks: int, texts: int, rounds: int) -> int:
    with tempfile.TemporaryDirectory() as home:
        os.environ.update({"HOME": home, "WISP_DATA_DIR": home})
        wrong = _clicks(clicks) if clicks else 0
        wrong += sum(_texts(layout, texts, rounds) for layout in _LAYOUTS) if texts else 0
    return int(wrong > 0)


if __name__ == "__main__":
    told = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    told.add_argument("clicks", nargs="?", type=int, default=500)
    told.add_argument("texts", nargs="?", type=int, default=200)
    told.add_argument("rounds", nargs="?", type=int, default=3)
    sys.exit(_main(**vars(told.parse_args())))
