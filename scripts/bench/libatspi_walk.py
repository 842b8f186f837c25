"""The usual way to read a desktop, for comparison: libatspi, one object and one property after the other.

Run by the system's Python (which has `gi`), in a fresh process for each walk so that no cache is warm. Prints JSON:
for each program its milliseconds and nodes, walked whole and where it shows.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

try:
    import gi  # type: ignore[import-not-found]

    gi.require_version("Atspi", "2.0")
    from gi.repository import Atspi, GLib  # type: ignore[import-not-found]
except ImportError:
    gi = None


def walk(node: Any, *, showing_only: bool) -> int:
    """Ask for what an outline tells; returns the number of nodes."""
    try:
        states = node.get_state_set()
        if showing_only and not states.contains(Atspi.StateType.SHOWING) and node.get_role() != Atspi.Role.APPLICATION:
            return 0
        ask(node)
        children = [node.get_child_at_index(index) for index in range(node.get_child_count())]
    except GLib.Error:
        return 0
    return 1 + sum(walk(child, showing_only=showing_only) for child in children if child is not None)


def ask(node: Any) -> None:
    node.get_role_name()
    node.get_name()
    node.get_description()
    interfaces = node.get_interfaces()
    if "Component" in interfaces:
        Atspi.Component.get_extents(node, Atspi.CoordType.SCREEN)
    if "Text" in interfaces:
        Atspi.Text.get_text(node, 0, 200)


def timed(app: Any, *, showing_only: bool) -> tuple[float, int]:
    begun = time.perf_counter()
    nodes = walk(app, showing_only=showing_only)
    return (time.perf_counter() - begun) * 1000, nodes


def main() -> None:
    desktop = Atspi.get_desktop(0)
    found = {}
    for index in range(desktop.get_child_count()):
        app = desktop.get_child_at_index(index)
        showing = timed(app, showing_only=True)
        found[app.get_name()] = {"showing": showing, "whole": timed(app, showing_only=False)}
    print(json.dumps(found))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.parse_args()
    if gi is None:
        parser.error("This Python has no gi; use the system's: /usr/bin/python3 with python3-gi and gir1.2-atspi-2.0.")
    main()
