"""Takes the README's pictures from the real thing, on a private desktop with a compositor.

    scripts/pictures/take [FOLDER]

`wisp.png` is the assistant doing a task with the offline provider; `states.png` the orb's states; `settings-*.png` and
`bubble-*.png` come from the same widgets with sample data.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

_TASK = "open the calculator and type 12*7="
_LIMIT_S = 120.0
_ANSWER_S = 10.0
_SCREEN = (1000, 640)


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "resources" / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    from app.desktop.x11.virtual import VirtualDesktop

    with tempfile.TemporaryDirectory() as data, VirtualDesktop(*_SCREEN) as desktop:
        os.environ.update(desktop.environment, WISP_DATA_DIR=data, WISP_PROVIDER="offline")
        os.environ["QT_SCALE_FACTOR"] = "1"
        compositor = subprocess.Popen(["picom", "--backend", "xrender"], stderr=subprocess.DEVNULL)
        try:
            at_work(folder / "wisp.png")
            pieces(folder)
        finally:
            compositor.terminate()
            compositor.wait()
    for path in sorted(folder.glob("*.png")):
        print(path)


def at_work(target: Path) -> None:
    """A person's click, words and Enter; the picture when the answer stands there."""
    wisp = subprocess.Popen([sys.executable, "-m", "app"], cwd=ROOT)
    try:
        until(lambda: "Wisp" in _windows())
        x, y = _SCREEN[0] - 44, _SCREEN[1] - 44
        until(lambda: _clicked(x, y))
        subprocess.run(["xdotool", "type", "--delay", "20", _TASK], check=True)
        subprocess.run(["xdotool", "key", "Return"], check=True)
        until(lambda: "galculator" in _windows())
        subprocess.run(["wmctrl", "-r", "galculator", "-e", "0,120,120,-1,-1"], check=False)
        time.sleep(7)  # speech is spoken at its own pace
        subprocess.run(["import", "-window", "root", str(target)], check=True)
    finally:
        wisp.terminate()
        wisp.wait()


def pieces(folder: Path) -> None:
    """The orb's states in one line, the bubble in both schemes, the settings."""
    from PySide6.QtGui import QPixmap
    from PySide6.QtTest import QTest

    from app.settings.store import Settings
    from app.ui import application
    from app.ui.gallery import board
    from app.ui.preferences.window import SettingsWindow
    from app.ui.theme import drawing

    process = application.make_application()
    made = board.boards()
    with tempfile.TemporaryDirectory() as shots:
        board.shoot(made, Path(shots))
        for scheme in made:
            for name in ("bubble-at-work", "bubble-approval"):
                (folder / f"{name}-{scheme}.png").write_bytes((Path(shots) / f"{name}-{scheme}.png").read_bytes())
            whole = QPixmap(str(Path(shots) / f"all-{scheme}.png"))
            whole.copy(0, 0, 960, 120).save(str(folder / f"states-{scheme}.png"))
    look = application.look_of(process, Settings({"presence.theme": "light"}, {}))
    window = SettingsWindow(look.theme, Settings({}, {}))
    window.setStyleSheet(drawing.sheet(look.theme))
    window.show()
    QTest.qWait(500)
    window.grab().save(str(folder / "settings-light.png"))
    look.around.close()


def until(seen: Callable[[], bool]) -> None:
    limit = time.monotonic() + _LIMIT_S
    while not seen():
        if time.monotonic() > limit:
            sys.exit("What the picture should show did not appear.")
        time.sleep(0.3)


def _windows() -> str:
    found = subprocess.run(
        ["xdotool", "search", "--onlyvisible", "--name", "."], check=False, capture_output=True, text=True
    )
    names = [
        subprocess.run(["xdotool", "getwindowname", window], check=False, capture_output=True, text=True).stdout.strip()
        for window in found.stdout.split()
    ]
    return " ".join(names)


def _clicked(x: int, y: int) -> bool:
    """Click the orb; whether its composer has the keyboard soon after. A second click would close it again."""
    subprocess.run(["xdotool", "mousemove", str(x), str(y), "click", "1"], check=True)
    limit = time.monotonic() + _ANSWER_S
    while time.monotonic() < limit:
        time.sleep(0.3)
        active = subprocess.run(
            ["xdotool", "getactivewindow", "getwindowname"], check=False, capture_output=True, text=True
        )
        if "Wisp" in active.stdout:
            return True
    return False


if __name__ == "__main__":
    main()
