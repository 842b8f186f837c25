"""The wall as bubblewrap builds it: a root of its own, no network, no other processes, no rights, few system calls."""

from __future__ import annotations

import functools
import json
import os
import select
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from app.base.errors import ToolFailed, ToolMisuse
from app.base.ids import unique
from app.services.sandbox import identity, layout, protection, seccomp, verifying
from app.services.sandbox.enclosure import Before, Enclosure, Period, Settled
from app.services.sandbox.layout import Rooms, table

_LAUNCH = (
    'trap : TERM; info=$1; shift; if [ -s "$0" ]; then "$@" 8>"$info" 9<"$0"; else "$@" 8>"$info"; fi; code=$?; '
    ': >"$info.ended"; exit $code'
)
"""A parent of its own for bubblewrap, which ends with its parent: so it ends with the run, but not with Wisp. It leaves
a mark when the run has ended, because Wisp may not be there to see it.
"""
PLACES = "/usr/bin:/usr/local/bin:/bin:/run/current-system/sw/bin"
"""Not PATH: a workspace may be in that."""
_INFO = "inside.json"
_PROBE_LIMIT_S = 10.0
_SETTLE_LIMIT_MS = 5_000
_WALLS = ("--unshare-all", "--cap-drop", "ALL", "--new-session", "--die-with-parent", "--info-fd", "8")
_INSTALL = "Install bubblewrap (sudo apt-get install bubblewrap) to have them kept inside the workspace."
_ALLOW = (
    "Allow bubblewrap to make user namespaces: on Ubuntu install apparmor-profiles and load "
    "/usr/share/apparmor/extra-profiles/bwrap-userns-restrict; elsewhere: "
    "sudo sysctl kernel.unprivileged_userns_clone=1."
)


class Bubblewrap:
    """`rooms` are the folders; `folder` is for the filter's file. Where bubblewrap is missing or refused it says so."""

    def __init__(self, rooms: Rooms, folder: Path) -> None:
        self._rooms = rooms
        self._folder = folder

    @functools.cached_property
    def _missing(self) -> str:
        if broad := layout.too_broad(self._rooms.workspace, self._rooms.person_home):
            return broad
        if self._program is None:
            return f"There is no sandbox for commands here. {_INSTALL}"
        return _refusal(self._program)

    @functools.cached_property
    def _identity(self) -> tuple[str, ...]:
        """The person's name for git in place of their whole configuration, which is not there."""
        file, place = self._folder / "gitconfig", self._rooms.person_home / ".gitconfig"
        if self._rooms.workspace == self._rooms.person_home or not identity.write(file):
            return ()
        return ("--ro-bind", str(file), str(place))

    @functools.cached_property
    def _program(self) -> str | None:
        return shutil.which("bwrap", path=PLACES)

    def missing(self) -> str:
        return self._missing

    def enclose(self, cwd: Path, environment: Mapping[str, str], folder: Path, *, network: bool) -> Enclosure:
        """Raises ToolFailed where there is no wall, ToolMisuse for a folder outside it."""
        if self.missing() or self._program is None:
            raise ToolFailed(self.missing())
        if not any(cwd.is_relative_to(room) for room in (self._rooms.workspace, self._rooms.made)):
            raise ToolMisuse(
                f"cwd: {str(cwd)!r} is outside the workspace. Say outside=true to work there; the person is asked then."
            )
        inside = self._environment(environment)
        guarded = protection.of(self._rooms.workspace)
        filter_file = self._filter(network=network)
        arguments = [
            *layout.arguments(self._rooms, environment.get("PATH", ""), network=network),
            *self._identity,
            *guarded.arguments(),
            *_WALLS,
            *(("--share-net",) if network else ()),
            *(("--seccomp", "9") if filter_file.stat().st_size else ()),
            *("--chdir", str(cwd), "--"),
        ]
        start = ("/bin/sh", "-c", _LAUNCH, str(filter_file), str(folder / _INFO))
        look = verifying.prefix(self._rooms.workspace, layout.hidden_in(self._rooms))
        return Enclosure((*start, self._program, *arguments, *look, *_limits()), inside, guarded.before)

    def settle(self, folder: Path, before: Before, period: Period) -> Settled:
        """Waits for the last process inside to be gone, because it could still write.

        The run's own workspace is settled, which need not be the one of this wall.
        """
        with suppress(OSError, ValueError, KeyError):
            _wait_for(int(json.loads((folder / _INFO).read_text(encoding="utf-8"))["child-pid"]))
        return protection.settle(before, replace(period, ended=_ended_at(folder, period)))

    def _environment(self, found: Mapping[str, str]) -> dict[str, str]:
        names, prefixes = table()["environment"]["names"], tuple(table()["environment"]["prefixes"])
        kept = {name: value for name, value in found.items() if name in names or name.startswith(prefixes)}
        home = str(self._rooms.person_home)
        return kept | {"PATH": layout.path_inside(found.get("PATH", ""), self._rooms), "HOME": home, "TMPDIR": "/tmp"}

    def _filter(self, *, network: bool) -> Path:
        """The filter as a file, empty where none is known for this kind of machine."""
        path = self._folder / ("calls-network" if network else "calls")
        program = _filters(network=network)
        if not path.is_file() or path.read_bytes() != program:
            beside = path.with_suffix(f".{unique()}")
            beside.write_bytes(program)
            os.replace(beside, path)
        return path


@functools.cache
def _filters(*, network: bool) -> bytes:
    return seccomp.program(network=network)


def _limits() -> tuple[str, ...]:
    """Set inside, where processes are counted by the sandbox's own user namespace.

    Where the system allows less than the table, that counts: only root may raise a limit, and prlimit runs nothing
    after a limit that it could not set.
    """
    program = shutil.which("prlimit", path="/usr/bin:/bin")
    limits = table()["limits"]
    if program is None:
        return ()
    flags = {"cpu": "cpu_s", "data": "data_bytes", "fsize": "file_bytes", "nofile": "open_files", "nproc": "processes"}
    return (program, *(f"--{flag}={_allowed(flag, limits[name])}" for flag, name in flags.items()), "--core=0", "--")


def _allowed(flag: str, wanted: int) -> int:
    if sys.platform != "linux":
        return wanted
    import resource

    _, hard = resource.getrlimit(getattr(resource, f"RLIMIT_{flag.upper()}"))
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)


def _refusal(program: str) -> str:
    """Try it for real: what the system says where it refuses."""
    attempt = (program, "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--", "/bin/true")
    try:
        done = subprocess.run(attempt, capture_output=True, text=True, check=False, timeout=_PROBE_LIMIT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"The sandbox for commands does not start ({error}). {_ALLOW}"
    if done.returncode == 0:
        return ""
    return f"The sandbox for commands is refused by the system ({done.stderr.strip() or done.returncode}). {_ALLOW}"


def _ended_at(folder: Path, period: Period) -> float:
    """When the last process inside was gone. Where that is not known, nothing later is held against the run."""
    try:
        return (folder / f"{_INFO}.ended").stat().st_mtime
    except OSError:
        return period.watched_until


def _wait_for(pid: int) -> None:
    if sys.platform == "linux":
        fd = os.pidfd_open(pid)
        try:
            ready = select.poll()
            ready.register(fd, select.POLLIN)
            ready.poll(_SETTLE_LIMIT_MS)
        finally:
            os.close(fd)
