"""Two processes race: one swaps a file and folders for links that lead out, one reads, writes and deletes by name.

`renameat2` with EXCHANGE swaps two names at once, so that there is no moment without the name: the worst case.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

from app.base.errors import WispError
from app.services.files.changes import ChangeOrigin, Changes
from app.services.files.checkpoints import Checkpoints
from app.services.files.moving import Moves
from app.services.files.places import Workspace
from app.services.files.reading import open_file

_SECRET = b"secret-of-somebody-else"
_SWAPPER = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
pairs = [(b"file", b"file.link"), (b"folder", b"folder.link"), (b"deep/inner", b"deep/inner.link")]
print("ready", flush=True)
while os.getppid() != 1:
    for one, other in pairs:
        libc.renameat2(-100, one, -100, other, 2)
"""


@dataclass
class Race:
    """`escapes` are the rounds in which something of the outside was read or changed."""

    rounds: int = 0
    refused: int = 0
    escapes: list[str] = field(default_factory=list)


def race(root: Path, rounds: int) -> Race:
    """Read, write, edit and delete by turns while the swapper swaps."""
    outside, inside = root / "outside", root / "workspace"
    _built(outside, inside)
    workspace = Workspace(inside, home=root / "nobody", temp=root / "no-temp")
    changes = Changes(workspace, Checkpoints(root / "kept"))
    result = Race()
    names = cycle(("file", "folder/a", "deep/inner/a", "folder/new", "deep/inner/new/newer"))
    acts = cycle(("read", "write", "copy", "read", "edit", "move", "delete", "write", "read"))
    with _swapping(inside):
        for _ in range(rounds):
            name, act = next(names), next(acts)
            result.rounds += 1
            try:
                if _SECRET in _act(act, workspace, changes, name):
                    result.escapes.append(f"{act} {name} read the secret")
            except (WispError, OSError):
                result.refused += 1
            if _spoiled(outside):
                result.escapes.append(f"{act} {name} changed the outside")
                _outer(outside)
    return result


def _act(act: str, workspace: Workspace, changes: Changes, name: str) -> bytes:
    place = workspace.locate(name)
    if place.is_outside:
        return b""  # the gate asks, and nobody allows it
    origin = ChangeOrigin("turn", "call")
    if act == "read":
        with open_file(workspace, place) as file:
            return file.read()
    if act == "write":
        changes.write(place, [b"mine"], origin)
    elif act == "edit":
        changes.edit(place, lambda before: before + b"!", origin)
    elif act in ("copy", "move"):
        return _arranged(workspace, changes, name, copies=act == "copy")
    else:
        changes.delete(place, origin)
    return b""


def _arranged(workspace: Workspace, changes: Changes, name: str, *, copies: bool) -> bytes:
    """Copy or move what was judged to lie inside, and return what the new file holds. Afterwards all is as before."""
    judged = [str(workspace.locate(one).path) for one in (name, "taken")]
    if not all(Path(one).is_relative_to(workspace.folder) for one in judged):
        return b""
    moves = Moves(workspace, Checkpoints(workspace.folder.parent / "kept"))
    steps = moves.plan([name], ["taken"], copies=copies, judged=judged)
    moves.carry_out(steps, "arranged", "copy_file" if copies else "move_file", copies=copies)
    taken = workspace.folder / "taken"
    data = b"" if taken.is_symlink() else taken.read_bytes()
    changes.restore("arranged")
    taken.unlink(missing_ok=True)
    return data


def _outer(outside: Path) -> None:
    shutil.rmtree(outside, ignore_errors=True)
    outside.mkdir(parents=True)
    (outside / "a").write_bytes(_SECRET)


def _built(outside: Path, inside: Path) -> None:
    _outer(outside)
    for folder in (inside / "folder", inside / "deep" / "inner"):
        folder.mkdir(parents=True)
        (folder / "a").write_bytes(b"mine")
    (inside / "file").write_bytes(b"mine")
    for name, target in (("file.link", outside / "a"), ("folder.link", outside), ("deep/inner.link", outside)):
        (inside / name).symlink_to(target)


def _spoiled(outside: Path) -> bool:
    return [path.name for path in outside.iterdir()] != ["a"] or (outside / "a").read_bytes() != _SECRET


@contextmanager
def _swapping(folder: Path) -> Iterator[None]:
    swapper = subprocess.Popen([sys.executable, "-c", _SWAPPER], cwd=folder, stdout=subprocess.PIPE)
    assert swapper.stdout
    try:
        swapper.stdout.readline()
        yield
    finally:
        swapper.kill()
        swapper.wait()
        swapper.stdout.close()
