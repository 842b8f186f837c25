"""Takes the README's pictures from the real thing, on a private desktop with a compositor.

    scripts/pictures/take [FOLDER]

`wisp.png` is the assistant doing a task with the offline provider; `states-*.png` the orb's states; `settings-*.png`,
`bubble-*.png` come from the same widgets with sample data; `calories.png` is a small app in its window, in three
themes, light and dark; `themes.webp` and `themes/` are what `themes.py` takes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from Xlib import XK

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from app.desktop.x11.virtual import VirtualDesktop  # noqa: E402
from scripts.device import PersonsDevices  # noqa: E402

_TASK = "open the calculator and type 12*7=\n"
_SUMMON = (XK.XK_Control_L, XK.XK_Alt_L, XK.XK_space)
_LIMIT_S = 120.0
_ANSWER_S = 10.0
_STILL_S = 3.0
_APP_THEMES = ("solarpunk", "warm-earthy", "neo-brutalist")
_APP_TILE = (360, 272)
_WEEK = (1720, 2050, 1480, 1900, 1630, 1210)
_MEALS = (("Porridge", 310, 1764000000000), ("Soup and bread", 520, 1764014400000), ("An apple", 80, 1764021600000))
_DRAWN_S = 1.5
_SCREEN = (1000, 640)
_SKY = (0x4A, 0x5B, 0x7C), (0xC9, 0xB8, 0xB4)
"""Red, green and blue at the top and at the bottom."""


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "resources" / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home, VirtualDesktop(*_SCREEN) as desktop:
        os.environ.update(desktop.environment, HOME=home, WISP_DATA_DIR=f"{home}/wisp", WISP_PROVIDER="offline")
        os.environ.update(QT_SCALE_FACTOR="1", LANG="C.UTF-8")
        hang_a_backdrop()
        compositor = subprocess.Popen(
            ["picom", "--backend", "xrender", "--config", "/dev/null"], stderr=subprocess.DEVNULL
        )
        try:
            settle_in(Path(home))
            at_work(Path(home), folder / "wisp.png")
            calories(Path(home), folder / "calories.png")
            pieces(folder)
        finally:
            compositor.terminate()
            compositor.wait()
    for path in sorted([*folder.rglob("*.png"), *folder.rglob("*.webp")]):
        print(path)


def hang_a_backdrop() -> None:
    """A calm picture behind the windows, where compositors look for it."""
    from Xlib import X, Xatom
    from Xlib.display import Display

    display = Display()
    root, (width, height) = display.screen().root, _SCREEN
    backdrop = root.create_pixmap(width, height, display.screen().root_depth)
    pen = backdrop.create_gc()
    for y in range(height):
        color = [round(top + (bottom - top) * y / height) for top, bottom in zip(*_SKY, strict=True)]
        pen.change(foreground=int.from_bytes(color))
        backdrop.fill_rectangle(pen, 0, y, width, 1)
    root.change_property(display.intern_atom("_XROOTPMAP_ID"), Xatom.PIXMAP, 32, [backdrop.id])
    display.set_close_down_mode(X.RetainPermanent)
    display.sync()
    display.close()


def settle_in(home: Path) -> None:
    """The person has met Wisp before, and wants no notifications, which would cover the picture."""
    from app.settings import catalog, store
    from app.ui.system import autostart

    (home / "Wisp").mkdir()
    autostart.note_done()
    store.save(catalog.NOTIFICATIONS, value=False)


def at_work(home: Path, target: Path) -> None:
    """A person's key, words and Enter; the picture when the answer stands there."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    wisp = subprocess.Popen([sys.executable, "-m", "app"], cwd=home / "Wisp", env=environment)
    person = PersonsDevices(os.environ)
    try:
        until(lambda: _opened(person))
        person.type(_TASK)
        until(lambda: "galculator" in _windows())
        subprocess.run(["wmctrl", "-r", "galculator", "-e", "0,120,120,-1,-1"], check=False)
        target.write_bytes(_still())
    finally:
        person.close()
        wisp.terminate()
        wisp.wait()


def calories(home: Path, target: Path) -> None:
    """A small app as its window shows it: a row for light, one for dark, a column for each theme."""
    import asyncio
    import io

    from PIL import Image

    from app.features.apps.client import SurfaceEngine
    from app.features.apps.store import APP, SurfaceStore, Written, standard_folder
    from app.services.files.changes import ChangeOrigin
    from app.services.files.checkpoints import Checkpoints
    from app.settings import catalog, store, tokens

    kept = SurfaceStore(standard_folder(), Checkpoints(home / "checkpoints"))
    page = (ROOT / "tests" / "data" / "surfaces" / "calories.html").read_text(encoding="utf-8")
    made = kept.create(APP, "Calories", Written(page, "# Calories", None), ChangeOrigin("pictures", "create_app"))
    meals = [dict(zip(("name", "kcal", "at"), meal, strict=True)) for meal in _MEALS]
    kept.keep_state(made, {"goal": 2000, "week": list(_WEEK), "meals": meals})
    engine, shots = SurfaceEngine(kept.folder), []
    asyncio.run(engine.open(made.id))
    for scheme in tokens.SCHEMES:
        for theme in _APP_THEMES:
            store.save(catalog.THEME, theme)
            store.save(catalog.SCHEME, scheme)
            asyncio.run(engine.tell(made.id, "reload"))
            time.sleep(_DRAWN_S)
            seen = asyncio.run(engine.look(made.id))
            assert seen
            shots.append(Image.open(io.BytesIO(seen[0])).convert("RGB").resize(_APP_TILE))
    asyncio.run(engine.stop())
    store.save(catalog.THEME, catalog.THEME.default)
    store.save(catalog.SCHEME, catalog.SCHEME.default)
    width, height = _APP_TILE
    whole = Image.new("RGB", (width * len(_APP_THEMES), height * len(tokens.SCHEMES)))
    for number, shot in enumerate(shots):
        whole.paste(shot, (number % len(_APP_THEMES) * width, number // len(_APP_THEMES) * height))
    whole.save(target, optimize=True)


def pieces(folder: Path) -> None:
    """The orb's states in one line, the bubble in both schemes, the settings."""
    from PySide6.QtGui import QPixmap
    from PySide6.QtTest import QTest

    from app.settings import tokens
    from app.settings.store import Settings
    from app.ui import application
    from app.ui.preferences.window import SettingsWindow
    from app.ui.theme import drawing
    from scripts.pictures import themes
    from tests.support.gallery import board

    process = application.make_application()
    made = board.boards()
    with tempfile.TemporaryDirectory() as shots:
        board.shoot(made, Path(shots))
        for scheme in made:
            for name in ("bubble-at-work", "bubble-approval"):
                (folder / f"{name}-{scheme}.png").write_bytes((Path(shots) / f"{name}-{scheme}.png").read_bytes())
            whole = QPixmap(str(Path(shots) / f"all-{scheme}.png"))
            whole.copy(0, 0, 960, 120).save(str(folder / f"states-{scheme}.png"))
    themes.take(folder, Path(os.environ["HOME"]), tokens.THEMES)
    look = application.look_of(process, Settings({"presence.scheme": "light"}, {}))
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


def _still() -> bytes:
    """The screen once it has stopped changing: speech is spoken at its own pace."""
    limit, last, since = time.monotonic() + _LIMIT_S, b"", time.monotonic()
    while time.monotonic() < limit and time.monotonic() - since < _STILL_S:
        time.sleep(0.3)
        shot = subprocess.run(
            ["import", "-window", "root", "-strip", "-define", "png:exclude-chunks=date,time", "png:-"],
            check=True, capture_output=True,
        ).stdout  # fmt: skip
        if shot != last:
            last, since = shot, time.monotonic()
    return last


def _windows() -> str:
    found = subprocess.run(
        ["xdotool", "search", "--onlyvisible", "--name", "."], check=False, capture_output=True, text=True
    )
    names = [
        subprocess.run(["xdotool", "getwindowname", window], check=False, capture_output=True, text=True).stdout.strip()
        for window in found.stdout.split()
    ]
    return " ".join(names)


def _opened(person: PersonsDevices) -> bool:
    """Press the key that opens Wisp; whether its composer has the keyboard soon after. Another press would close it."""
    if "Wisp" not in _windows():
        return False
    person.press_together(*_SUMMON)
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
