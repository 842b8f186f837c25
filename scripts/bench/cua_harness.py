"""The input checks of `cua-auto-harness` through `wisp mcp serve`: did each click, key, drag and text arrive as meant?

    pip download --no-deps cua-auto-harness
    .venv/bin/python scripts/bench/cua_harness.py cua_auto_harness-*.whl [--entries drag,type] [--reps 5]

The harness has a hundred interactions. Its window on a private desktop of 1920x1080 writes down what reaches it, a tap
at the X server what the window manager keeps for itself. Each of its actions is one call of a client of the server.
Exit code 1 where more than one did not arrive exactly: the harness wants `ab` to come as `AB` under Caps Lock, where
Wisp types what it is told.
"""

from __future__ import annotations

import argparse
import io
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client
from PIL import Image

from app.desktop.x11.virtual import VirtualDesktop
from tests.support.mcp_client import picture_of, served, text_of

_MISSES = 1
_MANAGER = Path("/etc/xdg/openbox/rc.xml")
_ALLOWED = "autoharness_probe.py"
"""The name of the harness's window: the script that its launcher runs."""


class Adapter:
    """What the harness asks of the system that it checks: `autoharness.backend.Adapter`."""

    probe_capabilities = frozenset({"pointer", "wheel", "keyboard", "text"})
    supports_raw_tap = True

    def __init__(self, environment: Mapping[str, str], portal: BlockingPortal, client: Client) -> None:
        # The window and the tap need tkinter and Xlib: they run on this Python.
        self._environment = {**environment, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        self.guest_display = environment["DISPLAY"]
        self._portal = portal
        self._client = client

    def boot(self) -> None:
        """Do nothing: the desktop is up."""

    def teardown(self) -> None:
        """Do nothing: window and tap end with the desktop."""

    def supports(self, _action: Any) -> None:
        return None

    def exec(self, command: str, timeout: int = 120) -> tuple[int, str]:
        if command.startswith("pkill"):  # by name: it would end those of another run
            return 0, ""
        done = subprocess.run(
            command, shell=True, env=self._environment, capture_output=True, text=True, timeout=timeout, check=False
        )
        return done.returncode, done.stdout

    def copy_in(self, here: str, there: str) -> None:
        Path(there).write_bytes(Path(here).read_bytes())

    def screenshot(self, path: str) -> None:
        done = self._portal.call(self._client.call_tool, "screen_capture")
        Image.open(io.BytesIO(picture_of(done))).save(path)

    def inject(self, action: Any) -> None:
        from autoharness.adapters import SutExecutionError

        done = self._portal.call(self._client.call_tool, *call_of(action))
        if done.is_error:
            raise SutExecutionError(text_of(done))


def call_of(action: Any) -> tuple[str, dict[str, Any]]:
    """The tool and the arguments for an action of the harness, whose points are pixels of the screen."""
    held = {"modifiers": "+".join(action.modifiers)} if getattr(action, "modifiers", ()) else {}
    at = {"x": action.x, "y": action.y, "space": "screen"} if hasattr(action, "x") else {"space": "screen"}
    match action.kind:
        case "click":
            return "computer_click", {**at, **held, "button": action.button, "count": action.count}
        case "button_press":
            return "mouse_down", {**at, "button": action.button}
        case "button_release":
            return "mouse_up", {**at, "button": action.button}
        case "move":
            return "computer_move", at
        case "drag":
            path = " ".join(f"{x},{y}" for x, y in action.path)
            lasts_ms = action.step_delay_ms * (len(action.path) - 1)
            return "computer_drag", {**at, **held, "path": path, "button": action.button, "duration_ms": lasts_ms}
        case "scroll":
            return "computer_scroll", {**at, **held, "dx": action.dx_ticks, "dy": action.dy_ticks}
        case "key_chord":
            return "computer_key", {"keys": "+".join(action.keys)}
        case _:
            return "computer_type", {"text": action.text}


def _main(wheel: Path, out: Path | None, entries: str, reps: int) -> int:
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        with zipfile.ZipFile(wheel) as packed:
            packed.extractall(home / "harness")
        sys.path.insert(0, str(home / "harness"))
        from autoharness.backend import GenericProbeAdapter
        from autoharness.contracts import load_catalog
        from autoharness.driver import run_catalog

        os.environ.update({"HOME": str(home), "WISP_DATA_DIR": str(home / "wisp")})
        # As on GNOME, the window manager takes presses with Super for itself, and leaves those with Alt to programs.
        settings = home / ".config" / "openbox"
        settings.mkdir(parents=True)
        (settings / "rc.xml").write_text(_MANAGER.read_text().replace('button="A-', 'button="W-'))
        desktop = stack.enter_context(VirtualDesktop(1920, 1080))
        portal = stack.enter_context(start_blocking_portal())
        serving = served(desktop.environment, "--all", "--allow", _ALLOWED)
        client = stack.enter_context(portal.wrap_async_context_manager(serving))
        catalog = load_catalog(home / "harness" / "autoharness" / "catalogs" / "runner")
        wanted = [entry for entry in catalog if any(part in entry.id for part in entries.split(","))]
        adapter = GenericProbeAdapter(Adapter(desktop.environment, portal, client), name="wisp mcp serve")
        report = run_catalog(adapter, wanted, out or home / "out", reps)
    totals = report["totals"]
    print(f"{totals['pass']} of {totals['entries']} arrived exactly; {totals}")
    return int(totals["entries"] - totals["pass"] + totals["not_measurable"] > _MISSES)


if __name__ == "__main__":
    told = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    told.add_argument("wheel", type=Path)
    told.add_argument("--out", type=Path, help="the folder for its records")
    told.add_argument("--entries", default="", help="only those whose names hold one of these")
    told.add_argument("--reps", type=int, default=1, help="how often each")
    sys.exit(_main(**vars(told.parse_args())))
