"""An eye that is not ours: the system's own Python and libatspi say what a program really holds.

`observe("galculator")` starts a short-lived process for one look; it never uses a line of the product. Run as a
script (by /usr/bin/python3, which has `gi`), it prints the look as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_PYTHON = "/usr/bin/python3"
_LOOK_LIMIT_S = 45.0


@dataclass(frozen=True)
class Seen:
    """One node of the other program. `text` is the whole content of a text; `value` a slider's number; `labels` are the
    names of what labels it."""

    role: str
    name: str
    description: str
    text: str | None
    value: float | None
    states: frozenset[str]
    box: tuple[int, int, int, int]
    depth: int
    actions: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()

    @property
    def showing(self) -> bool:
        return "showing" in self.states


def observe(
    app: str, environment: Mapping[str, str] | None = None, *, deepest: int = 99, window: str = ""
) -> list[Seen]:
    """All nodes of all programs whose name contains `app`, depth first; an empty list when there is none.

    `deepest` 1 looks at programs and their windows only. With `window`, only what shows of windows of this name counts:
    the process of the tests of the presence holds hundreds of windows of earlier tests.
    """
    done = subprocess.run(
        [_PYTHON, "-W", "ignore", str(Path(__file__).resolve()), app, str(deepest), window],
        env=dict(environment if environment is not None else os.environ),
        capture_output=True,
        text=True,
        timeout=_LOOK_LIMIT_S,
        check=True,
    )
    tuples = ("box", "actions", "labels")
    return [
        Seen(**{**node, "states": frozenset(node["states"]), **{name: tuple(node[name]) for name in tuples}})
        for node in _nodes(done)
    ]


def _nodes(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    nodes: list[dict[str, Any]] = json.loads(done.stdout)
    return nodes


def text_of(app: str, *, role: str = "text", environment: Mapping[str, str] | None = None) -> str:
    """The content of the first showing node of `role` that holds text ("" when there is none)."""
    return next((n.text for n in observe(app, environment) if n.role == role and n.showing and n.text is not None), "")


def named(app: str, name: str, *, environment: Mapping[str, str] | None = None) -> Seen:
    """The first node of exactly that name; AssertionError when there is none."""
    nodes = observe(app, environment)
    found = next((node for node in nodes if node.name == name), None)
    assert found is not None, f"{app} shows nothing called {name!r}: {[node.name for node in nodes if node.name]}"
    return found


@contextmanager
def started(
    *command: str, app: str = "", title: str = "", environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A program in an empty home for as long as the test needs it, ended after.

    Inside once `app` shows a window to assistive technology and the window manager has placed it, or (for programs that
    tell nothing) one of that `title`.
    """
    around = dict(environment if environment is not None else os.environ)
    before = set(_windows(around))

    def is_up() -> bool:
        new = set(_windows(around)) - before
        return _has_window(app, environment) and bool(new) if app else any(line.endswith(title) for line in new)

    with tempfile.TemporaryDirectory(prefix="wisp-home-", ignore_cleanup_errors=True) as home:
        program = subprocess.Popen(
            command,
            env={name: value for name, value in around.items() if not name.startswith("XDG_")}
            | {"HOME": home, "XDG_RUNTIME_DIR": around.get("XDG_RUNTIME_DIR", home)},
            cwd=home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        from tests.support.waiting import eventually  # late, because the script beneath runs without the tests

        try:
            assert eventually(is_up, limit_s=60), f"{app or title} showed no window"
            yield program
        finally:
            os.killpg(program.pid, signal.SIGKILL)  # a group of its own: see start_new_session
            program.wait()


def _has_window(app: str, environment: Mapping[str, str] | None) -> bool:
    return any(node.showing and node.depth == 1 for node in observe(app, environment, deepest=1))


def _windows(environment: Mapping[str, str]) -> list[str]:
    """The windows that the window manager lists, one line each: openbox is seconds late on a busy machine."""
    listed = subprocess.run(
        ["wmctrl", "-l"], env=dict(environment), capture_output=True, text=True, timeout=_LOOK_LIMIT_S, check=False
    )  # it fails as long as the window manager has no list
    return listed.stdout.splitlines()


def _is_asked_for(node: Any, depth: int, window: str) -> bool:
    if not window or depth == 0:
        return True
    is_shown = "showing" in [state.value_nick for state in node.get_state_set().get_states()]
    return is_shown and (depth > 1 or node.get_name() == window)


def _main(wanted: str, deepest: int, window: str) -> None:
    import gi  # type: ignore[import-not-found]  # Debian's, seen by the system's Python only

    gi.require_version("Atspi", "2.0")
    from gi.repository import Atspi, GLib  # type: ignore[import-not-found]

    def describe(node: Any, depth: int) -> dict[str, Any]:
        interfaces = node.get_interfaces()
        text = Atspi.Text.get_text(node, 0, -1) if "Text" in interfaces else None
        box = Atspi.Component.get_extents(node, Atspi.CoordType.SCREEN) if "Component" in interfaces else None
        deeds = range(Atspi.Action.get_n_actions(node)) if "Action" in interfaces else ()
        return {
            "labels": [
                relation.get_target(0).get_name()
                for relation in node.get_relation_set()
                if relation.get_relation_type() is Atspi.RelationType.LABELLED_BY
            ],
            "actions": [Atspi.Action.get_action_name(node, index) for index in deeds],
            "role": node.get_role_name(),
            "name": node.get_name() or "",
            "description": node.get_description() or "",
            "text": text,
            "value": Atspi.Value.get_current_value(node) if "Value" in interfaces else None,
            "states": [state.value_nick for state in node.get_state_set().get_states()],
            "box": [box.x, box.y, box.width, box.height] if box else [0, 0, 0, 0],
            "depth": depth,
        }

    def walk(node: Any, depth: int, into: list[dict[str, Any]]) -> None:
        try:
            if not _is_asked_for(node, depth, window):
                return
            into.append(describe(node, depth))
            count = node.get_child_count() if depth < deepest else 0
            children = [node.get_child_at_index(index) for index in range(count)]
        except GLib.Error:
            return
        for child in children:
            if child is not None:
                walk(child, depth + 1, into)

    Atspi.init()
    root, nodes = Atspi.get_desktop(0), list[dict[str, Any]]()
    for index in range(root.get_child_count()):
        app = root.get_child_at_index(index)
        if app is not None and wanted in (app.get_name() or ""):
            walk(app, 0, nodes)
    print(json.dumps(nodes))


if __name__ == "__main__":
    import sys

    _main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
