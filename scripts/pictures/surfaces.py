"""Draw the four small apps that Wisp ships, and other pages, in every theme, on one contact sheet a page. For the eye.

    .venv/bin/python scripts/pictures/surfaces.py FOLDER [PAGE.html …]

Pages use the theme by its custom properties, as the design rules say. A headless Chromium draws them without the frame
around a surface, whose walls are not the subject here; `wisp` keeps nothing.
"""

from __future__ import annotations

import argparse
import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from PIL import Image, ImageDraw

from app.features.apps.chromium import is_sandboxed, program, settings
from app.features.apps.tools import TEMPLATES, template
from app.services.themes import active_theme
from app.settings import catalog, tokens
from app.settings.store import Settings

_SIZE, _SHOWN = (620, 640), (310, 320)
_COLUMNS = 4
_BRIDGE = """<script>globalThis.wisp = { id: 'x', theme: 'x', language: 'en', getState: async () => (%s),
setState: async () => true, onState: () => {}, onTheme: () => {}, notify: async () => true, askAI: async () => '' };
</script>"""
_STATES = {
    "todo": "{items: [{id: 'a', text: 'Call the garden centre', done: false}, {id: 'b', text: 'Bread', done: true}]}",
    "habits": "{habits: [{id: 'a', name: 'Read 10 pages', days: []}, {id: 'b', name: 'Walk', days: []}]}",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("pages", type=Path, nargs="*")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    pages = {name: template(name).html or "" for name in TEMPLATES}
    pages |= {page.stem: page.read_text(encoding="utf-8") for page in options.pages}
    with tempfile.TemporaryDirectory() as data:
        os.environ["WISP_DATA_DIR"] = data
        for name, html in pages.items():
            _sheet(name, html, Path(data)).save(options.folder / f"{name}.png")


def _sheet(name: str, html: str, data: Path) -> Image.Image:
    faces = [(theme, scheme) for theme in catalog.THEME.choices for scheme in tokens.SCHEMES]
    rows = -(-len(faces) // _COLUMNS)
    width, height = _SHOWN
    sheet = Image.new("RGB", (_COLUMNS * width, rows * (height + 16)), "white")
    for number, (theme, scheme) in enumerate(faces):
        place = (number % _COLUMNS * width, number // _COLUMNS * (height + 16))
        sheet.paste(drawn(name, html, theme, scheme, data).resize(_SHOWN), (place[0], place[1] + 16))
        ImageDraw.Draw(sheet).text((place[0] + 4, place[1] + 2), f"{theme} {scheme}", fill="black")
    return sheet


def drawn(name: str, html: str, theme: str, scheme: str, data: Path) -> Image.Image:
    """Return the page of an app as Chromium draws it in this theme. `data` is a folder that only this call uses."""
    found = active_theme(Settings({catalog.THEME.key: theme, catalog.SCHEME.key: scheme}, {}))
    wallpaper = f":root{{--wallpaper:{found.wallpaper}}}" if found.wallpaper else ""
    page, picture = data / "page.html", data / "page.png"
    head = f"<style>{found.css}{wallpaper}</style>{_BRIDGE % _STATES.get(name, '{}')}"
    page.write_text(html.replace("<head>", f"<head>{head}", 1), encoding="utf-8")
    switches = ["--headless=new", "--hide-scrollbars", "--disable-gpu", "--virtual-time-budget=1500"]
    switches += [] if is_sandboxed() else settings()["root_switches"]
    subprocess.run(
        [program(), *switches, f"--user-data-dir={data / 'profile'}", f"--screenshot={picture}",
         f"--window-size={_SIZE[0]},{_SIZE[1]}", page.as_uri()],
        check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    return Image.open(io.BytesIO(picture.read_bytes())).convert("RGB")


if __name__ == "__main__":
    main()
