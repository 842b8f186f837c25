"""What a change of theme costs while the bubble is open, and what the screen shows meanwhile.

    .venv/bin/python scripts/bench/themes.py [--rounds N]

On a private desktop, without a compositor and with one (if picom is there), the bubble goes through all themes in light
and dark. Work: the GUI thread's own time from the change to the painted window, which is one frame. Another process
takes pictures of the bubble's place all the time: `empty` counts those that show one colour only, `mixed` those whose
corner belongs to one theme and whose paper to another.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from app.desktop.x11.virtual import VirtualDesktop
from tests.support.compositor import composited

_PAUSE_MS = 250
_AIM_MS = 50.0
_ONLOOKER = """
import json, select, sys
import mss
x, y, width, height = map(int, sys.argv[1:])
place, seen, empty = {"left": x, "top": y, "width": width, "height": height}, [], 0
with mss.MSS() as screen:
    print(flush=True)
    while not select.select([sys.stdin], [], [], 0)[0]:
        shot = screen.grab(place)
        paper = 4 * (12 * width + width // 2)
        seen.append((*shot.raw[0:3], *shot.raw[paper:paper + 3]))
        empty += len(set(shot.raw[::4 * 97])) == 1
print(json.dumps({"seen": seen, "empty": empty}))
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--child", action="store_true")
    options = parser.parse_args()
    if options.child:
        child(options.rounds)
        return 0
    print(f"{'work in ms':20}{'median':>9}{'p95':>9}{'longest':>9}{'pictures':>10}{'empty':>7}{'mixed':>7}")
    bad = 0
    with tempfile.TemporaryDirectory() as data, VirtualDesktop() as desktop:
        os.environ.update(desktop.environment, WISP_DATA_DIR=data, WISP_PROVIDER="offline")
        for name, around in (("bare", nullcontext()), ("composited", composited(desktop.environment))):
            if name == "bare" or shutil.which("picom"):
                with around:
                    bad += told(name, options.rounds)
    return 1 if bad else 0


def told(name: str, rounds: int) -> bool:
    """Print one row. Returns whether an aim is missed."""
    command = [sys.executable, __file__, "--child", "--rounds", str(rounds)]
    found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.splitlines()[-1])
    work = sorted(found["work"])
    shares = [work[min(int(len(work) * share), len(work) - 1)] for share in (0.5, 0.95, 1.0)]
    print(f"{name:20}" + "".join(f"{value:9.1f}" for value in shares), end="")
    print(f"{found['pictures']:10}{found['empty']:7}{found['mixed']:7}")
    return shares[0] > _AIM_MS or bool(found["empty"] or found["mixed"])


def child(rounds: int) -> None:
    """Go through the themes, and print what that took and showed as JSON."""
    from PySide6.QtTest import QTest

    from app.base.geometry import Rect
    from app.settings import catalog, tokens
    from app.settings.store import Settings
    from app.ui import application
    from app.ui.presence import Presence
    from app.ui.theme.appearance import DesktopWishes, look_of
    from tests.support.gallery import samples

    process, calm = application.make_application(), {catalog.REDUCED_MOTION.key: True}
    look = look_of(process, Settings(calm, {}))
    presence = Presence(look)
    presence.show()
    for event in samples.cards():
        presence.inbox.receive(event)
    QTest.qWait(4 * _PAUSE_MS)
    presence.unfold()
    QTest.qWait(8 * _PAUSE_MS)
    place = presence.bubble.body_rect()
    sides = [str(number) for number in (place.x, place.y, place.width, place.height)]
    command = [sys.executable, "-c", _ONLOOKER, *sides]
    onlooker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert onlooker.stdout is not None
    onlooker.stdout.readline()
    server, work, settled = look.around.server, list[float](), set[tuple[int, ...]]()
    assert server is not None
    for kind, scheme in [(kind, scheme) for kind in ("", *tokens.THEMES) for scheme in tokens.SCHEMES] * rounds:
        began = time.thread_time()
        chosen = Settings(calm | ({catalog.THEME.key: kind} if kind else {}), {})
        look = look_of(process, chosen, look, DesktopWishes(dark=scheme == "dark"))
        presence.restyle(look)
        process.processEvents()
        work.append((time.thread_time() - began) * 1000)
        QTest.qWait(_PAUSE_MS)
        spots = (server.pixels(Rect(place.x + x, place.y + y, 1, 1)) for x, y in ((0, 0), (place.width // 2, 12)))
        settled.add(tuple(channel for spot in spots for channel in spot[:3]))
    shown = json.loads(onlooker.communicate("\n")[0])
    shot = [tuple(one) for one in shown["seen"]]
    first = shot[0]  # the theme of before
    mixed = sum(one not in settled and one != first for one in shot)
    print(json.dumps({"work": work, "pictures": len(shot), "empty": shown["empty"], "mixed": mixed}), flush=True)
    os._exit(0)  # nothing is left to be closed in order


if __name__ == "__main__":
    sys.exit(main())
