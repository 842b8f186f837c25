"""A person who answers the portal's question whether a program may see the screen and use pointer and keyboard.

`answering(environment, allow=True)` waits for the question of GNOME or KDE meanwhile. Run as a script (by
/usr/bin/python3, which has `gi`), it is the process that waits.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_PYTHON = "/usr/bin/python3"
_LIMIT_S = 60.0
_SETTLE_S = 0.3
_PORTALS: dict[str, dict[bool, tuple[str, ...]]] = {
    "xdg-desktop-portal-gnome": {True: ("Allow Remote Interaction", "Share"), False: ("Cancel",)},
    "xdg-desktop-portal-kde": {True: ("Approve",), False: ("Deny",)},
}
"""What is pressed in the question of each program. GNOME chooses the only screen, and to remember, by itself."""


@contextmanager
def answering(environment: Mapping[str, str], *, allow: bool) -> Iterator[None]:
    """Answer one question that comes up meanwhile. Fails if none came up."""
    process = subprocess.Popen(
        [_PYTHON, "-W", "ignore", str(Path(__file__).resolve()), "allow" if allow else "refuse"], env=dict(environment)
    )
    try:
        yield
        assert process.wait(_SETTLE_S + 5) == 0, "The portal asked nothing."
    finally:
        process.kill()
        process.wait()


def _answer(*, allow: bool) -> bool:
    import gi  # type: ignore[import-not-found] # the system's Python has it

    gi.require_version("Atspi", "2.0")
    from gi.repository import Atspi  # type: ignore[import-not-found]

    limit = time.monotonic() + _LIMIT_S
    while time.monotonic() < limit:
        desktop = Atspi.get_desktop(0)
        for index in range(desktop.get_child_count()):
            program = desktop.get_child_at_index(index)
            wanted = _PORTALS.get(program.get_name() if program else "", {}).get(allow)
            if wanted and all(found := [_pressable(program, name) for name in wanted]):
                time.sleep(_SETTLE_S)  # a window that has just come up takes no press
                for control in found:
                    control.do_action(0)
                    time.sleep(_SETTLE_S)
                return True
        time.sleep(0.1)
    return False


def _pressable(node: Any, name: str) -> Any:
    if node is None:
        return None
    if node.get_name() == name and node.get_n_actions() and node.get_role_name() in ("switch", "push button"):
        return node
    children = (node.get_child_at_index(index) for index in range(node.get_child_count()))
    return next((found for child in children if (found := _pressable(child, name))), None)


if __name__ == "__main__":
    sys.exit(0 if _answer(allow=sys.argv[1] == "allow") else 1)
