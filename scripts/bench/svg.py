"""How long it takes from a written SVG to its picture, beside resvg in the same run. Prints medians and p95.

    .venv/bin/python -m scripts.bench svg [--runs N]

The drawings are made from a seed: sky, hills, blurred clouds, and words. Wisp's time is to sanitise and to draw, with a
new process for each drawing (first) and with the one that is kept (next). So far: the first half of the same text, as
the card shows it while the model writes. resvg is the module `resvg_py`, which draws in this process, or else the
program `resvg` with a process for each drawing. Both load the system's fonts for each drawing.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable
from contextlib import closing

from app.services.svg import SvgRenderer, sanitise

_PX = 1024
_DRAWINGS = 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="rounds through the drawings; 5")
    runs: int = parser.parse_args().runs
    drawings = [_drawing(random.Random(seed)) for seed in range(_DRAWINGS)]
    resvg = _resvg()
    with closing(SvgRenderer()) as kept:
        ways: dict[str, Callable[[str], object]] = {
            "Wisp, first drawing": _first,
            "Wisp, next drawing": lambda text: kept.draw(sanitise(text), _PX),
            "Wisp, so far": lambda text: kept.draw(sanitise(text[: len(text) // 2], is_whole=False), _PX // 2),
            "sanitise alone": sanitise,
            **({"resvg": resvg} if resvg else {}),
        }
        took: dict[str, list[float]] = {name: [] for name in ways}
        for number in range(runs + 1):
            for drawing in drawings:
                for name, way in ways.items():  # one after the other, so that all have the same load beside them
                    began = time.perf_counter()
                    way(drawing)
                    if number:
                        took[name].append((time.perf_counter() - began) * 1000)
    print(f"{_DRAWINGS} drawings of {statistics.mean(map(len, drawings)) / 1000:.1f} kB, {_PX} px, {runs} rounds")
    print(f"{'':<24}{'median':>9}{'p95':>9}  ms")
    for name, times in took.items():
        print(f"{name:<24}{statistics.median(times):>9.1f}{sorted(times)[int(len(times) * 0.95)]:>9.1f}")
    if resvg is None:
        print("resvg is absent: neither the module resvg_py nor the program resvg is installed.")


def _first(text: str) -> None:
    with closing(SvgRenderer()) as renderer:
        renderer.draw(sanitise(text), _PX)


def _resvg() -> Callable[[str], object] | None:
    if importlib.util.find_spec("resvg_py"):
        import resvg_py

        return lambda text: resvg_py.svg_to_bytes(svg_string=text, width=_PX)
    if program := shutil.which("resvg"):
        command = [program, "--width", str(_PX), "-", "-c"]
        return lambda text: subprocess.run(command, input=text.encode(), capture_output=True, check=True)
    return None


def _drawing(chance: random.Random) -> str:
    """Return a landscape as a model draws one."""
    hills = "".join(
        f'<path d="M0 {at} '
        + " ".join(f"T{x} {at + chance.randint(-40, 40)}" for x in range(40, 801, 20))
        + ' V600 H0Z"'
        f' fill="#{chance.randint(0x204020, 0x60A060):06x}"/>'
        for at in range(300, 600, 50)
    )
    clouds = "".join(
        f'<ellipse cx="{chance.randint(0, 800)}" cy="{chance.randint(20, 200)}" rx="{chance.randint(30, 90)}" ry="20"/>'
        for _ in range(30)
    )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 600"><defs><linearGradient id="sky" x2="0" y2="1">'
        '<stop stop-color="#246"/><stop offset="1" stop-color="#fa8"/></linearGradient><filter id="soft">'
        '<feGaussianBlur stdDeviation="4"/></filter></defs><rect width="800" height="600" fill="url(#sky)"/>'
        f'<g filter="url(#soft)" fill="#fff" opacity="0.7">{clouds}</g>{hills}'
        '<text x="400" y="560" font-size="48" text-anchor="middle" fill="#fff">Evening in the hills</text></svg>'
    )


if __name__ == "__main__":
    main()
