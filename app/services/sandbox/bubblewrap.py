"""The sandbox, built by bubblewrap: its own root folder, no network, no other processes, few system calls."""

from __future__ import annotations

import errno
import functools
import json
import os
import platform
import select
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.base import own_files, paths, resources
from app.base.errors import ToolFailed, ToolMisuse
from app.services.files import survey
from app.services.sandbox import layout, protection
from app.services.sandbox.layout import Before, NoWall, Period, Rooms, Sandbox, SandboxedCommand, SettledRun, table

_LIMIT_S = 5.0
_MOST_CHARS = 200
_KEYS = ("name", "email")


def write(target: Path) -> bool:
    """Write the person's git name and address to `target`. Returns False if git knows neither."""
    told = {key: _clean(value) for key in _KEYS if (value := _asked(f"user.{key}"))}
    lines = [f'\t{key} = "{value}"' for key, value in told.items() if value]
    if not lines:
        return False
    own_files.write(target, "[user]\n" + "\n".join(lines) + "\n")
    return True


def _asked(key: str) -> str:
    """A value of git's global configuration. The workspace's is ignored: it must not decide the name."""
    try:
        done = subprocess.run(
            ("git", "config", "--global", "--get", key),
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_LIMIT_S,
        )
    except (OSError, subprocess.TimeoutExpired):  # because the sandbox works without the person's git name
        return ""
    return done.stdout.strip()


def _clean(value: str) -> str:
    return "".join(sign for sign in value if sign.isprintable() and sign not in '"\\')[:_MOST_CHARS]


_ESCAPED = {" ": "\\040", "\t": "\\011", "\n": "\\012", "\\": "\\134"}
"""How the kernel writes these characters in mountinfo."""

_SCRIPT = r"""  # It reads the mounts from here: https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html
space=$0 hidden=$1 base=
shift
fail() { echo "wisp: the workspace changed while the sandbox was built; nothing was run. Try again." >&2; exit 125; }
while read -r _ _ _ root point _; do [ "$point" != "$space" ] || base=$root; done </proc/self/mountinfo
[ -n "$base" ] || fail
while read -r _ _ _ root point _; do
    case $point in "$space"/*) ;; *) continue ;; esac
    case $hidden in *"|$point|"*) continue ;; esac
    [ "$root" = "${base%/}${point#"$space"}" ] || fail
done </proc/self/mountinfo
IFS='|'
for point in $hidden; do
    [ -z "$point" ] && continue
    found=
    while IFS=' ' read -r _ _ _ _ there _; do [ "$there" != "$point" ] || found=1; done </proc/self/mountinfo
    [ -n "$found" ] || fail
done
unset IFS
exec "$@"
"""


def prefix(workspace: Path, hidden: Sequence[Path]) -> tuple[str, ...]:
    """Return the script that runs before the command. It checks that each path of `hidden` is really covered."""
    names = "".join(f"|{_written(path)}|" for path in hidden)
    return ("/bin/sh", "-c", _SCRIPT, _written(workspace), names)


def _written(path: Path) -> str:
    return "".join(_ESCAPED.get(sign, sign) for sign in str(path))


_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""The column of the table, and the kernel's AUDIT_ARCH number."""

# https://docs.kernel.org/networking/filter.html
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW_CALL, _FAIL = 0x7FFF0000, 0x00050000  # https://man7.org/linux/man-pages/man2/seccomp.2.html
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND = 0, 4, 16, 24
"""Offsets in struct seccomp_data; for arguments, of their lower halves."""
# the bit of x32 calls, which have numbers of their own: https://man7.org/linux/man-pages/man2/seccomp.2.html
_X32 = 0x40000000

Instruction = tuple[int, int, int, int]


def filter_program(*, network: bool, machine: str = "") -> bytes:
    """Return the seccomp filter for this kind of machine; b"" if its system call numbers are unknown."""
    found = _ARCHITECTURES.get(machine or platform.machine())
    if found is None:
        return b""
    column, audit = found
    data = resources.table("sandbox/seccomp.toml", resources.Table)
    looked_at = {name: numbers[column] for name, numbers in data["looked_at"].items()}
    code: list[Instruction] = [
        *((_LOAD, 0, 0, _ARCHITECTURE), (_EQUAL, 1, 0, audit), _failing(errno.ENOSYS)),
        (_LOAD, 0, 0, _NUMBER),
        *((_AT_LEAST, 0, 1, _X32), _failing(errno.ENOSYS)),
        *(one for number in _numbers(data["denied"], column) for one in _denying(number)),
        # Programs then use clone instead, because a filter cannot read clone3's flags behind its pointer.
        *((_EQUAL, 0, 1, looked_at["clone3"]), _failing(errno.ENOSYS)),
        *_looking(looked_at, data["arguments"], network=network),
        (_RETURN, 0, 0, _ALLOW_CALL),
    ]
    return b"".join(struct.pack("=HBBI", *one) for one in code)


def _numbers(table: dict[str, Sequence[int]], column: int) -> Iterable[int]:
    return (numbers[column] for numbers in table.values() if numbers[column] >= 0)


def _failing(number: int) -> Instruction:
    return (_RETURN, 0, 0, _FAIL | number)


def _denying(number: int) -> tuple[Instruction, Instruction]:
    return (_EQUAL, 0, 1, number), _failing(errno.EPERM)


def _looking(numbers: dict[str, int], arguments: dict[str, Any], *, network: bool) -> list[Instruction]:
    families = arguments["families_with_network" if network else "families"]
    return [
        *_if(numbers["clone"], _FIRST, [(_ANY_BIT, arguments["namespaces"])]),
        *_if(numbers["unshare"], _FIRST, [(_ANY_BIT, arguments["namespaces"] | arguments["new_time"])]),
        *_if(numbers["ioctl"], _SECOND, [(_EQUAL, value) for value in arguments["ioctls"]]),
        *_unless(numbers["socket"], _FIRST, families),
    ]


def _if(number: int, offset: int, tests: Sequence[tuple[int, int]]) -> list[Instruction]:
    """Instructions that deny a system call if the argument at `offset` meets one of the tests."""
    inner: list[Instruction] = [(_LOAD, 0, 0, offset)]
    for test, value in tests:
        inner += [(test, 0, 1, value), _failing(errno.EPERM)]
    inner.append((_RETURN, 0, 0, _ALLOW_CALL))
    return [(_EQUAL, 0, len(inner), number), *inner]


def _unless(number: int, offset: int, allowed: Sequence[int]) -> list[Instruction]:
    """Instructions that deny a system call unless its argument at `offset` is an allowed value."""
    inner: list[Instruction] = [(_LOAD, 0, 0, offset)]
    for value in allowed:
        inner += [(_EQUAL, 0, 1, value), (_RETURN, 0, 0, _ALLOW_CALL)]
    inner.append(_failing(errno.EAFNOSUPPORT))
    return [(_EQUAL, 0, len(inner), number), *inner]


_LAUNCH = (
    'trap : TERM; info=$1; shift; if [ -s "$0" ]; then "$@" 8>"$info" 9<"$0"; else "$@" 8>"$info"; fi; code=$?; '
    'while read -r name pid; do [ "$name" = \'"child-pid":\' ] && break; done <"$info"; pid=${pid%,}; '
    'while { read -r state <"/proc/${pid:-none}/stat"; } 2>/dev/null; do case $state in *") "[ZX]" "*) break;; esac; '
    'done; : >"$info.ended"; exit $code'
)
"""A separate parent for bubblewrap, which dies with its parent: so it ends with the run, but not with Wisp. It creates
a file when the run has ended, because Wisp may not be running then: when the first process inside is gone, and with it
all others. Bubblewrap itself ends a moment before them, and meanwhile they may still write.
"""
PLACES = "/usr/bin:/usr/local/bin:/bin:/run/current-system/sw/bin"
"""Used instead of PATH, because PATH may contain the workspace."""
_INFO = "inside.json"
_PROBE_LIMIT_S = 10.0
_SETTLE_LIMIT_MS = 5_000
_WALLS = ("--unshare-all", "--cap-drop", "ALL", "--new-session", "--die-with-parent", "--info-fd", "8")
_INSTALL = "To have one: sudo apt-get install bubblewrap"
_ALLOW = (
    "Allow bubblewrap to make user namespaces: on Ubuntu install apparmor-profiles and load "
    "/usr/share/apparmor/extra-profiles/bwrap-userns-restrict; elsewhere: "
    "sudo sysctl kernel.unprivileged_userns_clone=1."
)


class Bubblewrap:
    """The sandbox of bubblewrap. `rooms` are the folders that it makes visible; `folder` is for the filter's file.

    `missing` says why there is no sandbox, if bubblewrap is missing or the system refuses it.
    """

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
        """Arguments that show the person's git name and address: their git configuration itself is hidden."""
        file, place = self._folder / "gitconfig", self._rooms.person_home / ".gitconfig"
        if self._rooms.workspace == self._rooms.person_home or not write(file):
            return ()
        return ("--ro-bind", str(file), str(place))

    @functools.cached_property
    def _program(self) -> str | None:
        return shutil.which("bwrap", path=PLACES)

    def missing(self) -> str:
        return self._missing

    def enclose(self, cwd: Path, environment: Mapping[str, str], folder: Path, *, network: bool) -> SandboxedCommand:
        """Return what to put before a command's argv, and its environment. `folder` is the run's own folder.

        Raises ToolFailed if there is no sandbox, and ToolMisuse if `cwd` is in none of its folders.
        """
        if self.missing() or self._program is None:
            raise ToolFailed(self.missing())
        rooms = self._rooms
        if not any(cwd.is_relative_to(one) for one in (rooms.workspace, rooms.made, rooms.private) if one):
            raise ToolMisuse(
                f"cwd: {str(cwd)!r} is outside the workspace. Say outside=true to work there; the person is asked then."
            )
        inside = self._environment(environment)
        found = survey.survey(self._rooms.workspace)
        guarded, hidden = protection.of(self._rooms.workspace, found), layout.hidden_in(self._rooms, found)
        filter_file = self._filter(network=network)
        arguments = [
            *layout.arguments(self._rooms, environment.get("PATH", ""), network=network),
            *self._identity,
            *layout.parents(self._rooms, hidden),
            *guarded.arguments(),
            *layout.masks(self._rooms, hidden),
            *_WALLS,
            *(("--share-net",) if network else ()),
            *(("--seccomp", "9") if filter_file.stat().st_size else ()),
            *("--chdir", str(cwd), "--"),
        ]
        info = folder / _INFO
        start = ("/bin/sh", "-c", _LAUNCH, str(filter_file), str(info))
        look = prefix(self._rooms.workspace, hidden)
        return SandboxedCommand((*start, self._program, *arguments, *look, *_limits()), inside, guarded.before, info)

    def settle(self, folder: Path, before: Before, period: Period) -> SettledRun:
        """Wait until the last process in the sandbox has ended, because it could still write. Then check what it left.

        The run's own workspace is checked, which may differ from this sandbox's.
        """
        with suppress(OSError, ValueError, KeyError):  # because a command that failed to start writes no pid
            _wait_for(int(json.loads((folder / _INFO).read_text(encoding="utf-8"))["child-pid"]))
        began, ended = _began_at(folder, period), _ended_at(folder, period)
        return protection.settle(before, replace(period, began=began, ended=ended))

    def _environment(self, found: Mapping[str, str]) -> dict[str, str]:
        names, prefixes = table()["environment"]["names"], tuple(table()["environment"]["prefixes"])
        kept = {name: value for name, value in found.items() if name in names or name.startswith(prefixes)}
        home = str(self._rooms.person_home)
        return kept | {"PATH": layout.path_inside(found.get("PATH", ""), self._rooms), "HOME": home, "TMPDIR": "/tmp"}

    def _filter(self, *, network: bool) -> Path:
        """The path of the file with the filter; the file is empty for an unknown kind of machine."""
        path = self._folder / ("calls-network" if network else "calls")
        program = _filters(network=network)
        if not path.is_file() or path.read_bytes() != program:
            own_files.write(path, program)
        return path


@functools.cache
def _filters(*, network: bool) -> bytes:
    return filter_program(network=network)


def _limits() -> tuple[str, ...]:
    """Return the command that sets resource limits inside the sandbox, where its own processes are counted.

    If the system's limit is lower, it stays: only root may raise one, and prlimit runs nothing after a failure.
    """
    program = shutil.which("prlimit", path="/usr/bin:/bin")
    limits = table()["limits"]
    if program is None:
        return ()
    flags = {"cpu": "cpu_s", "data": "data_bytes", "fsize": "file_bytes", "nofile": "open_files", "nproc": "processes"}
    return (program, *(f"--{flag}={_allowed(flag, limits[name])}" for flag, name in flags.items()), "--core=0", "--")


def _allowed(flag: str, wanted: int) -> int:
    if sys.platform == "linux":
        import resource

        _, hard = resource.getrlimit(getattr(resource, f"RLIMIT_{flag.upper()}"))
        return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    else:
        return wanted


def _refusal(program: str) -> str:
    """Try to start the sandbox. Returns a sentence with the system's error; "" if it works."""
    attempt = (program, "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--", "/bin/true")
    try:
        done = subprocess.run(attempt, capture_output=True, text=True, check=False, timeout=_PROBE_LIMIT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"The sandbox for commands does not start ({error}). {_ALLOW}"
    if done.returncode == 0:
        return ""
    return (
        "The system does not let Wisp start the sandbox for commands "
        f"({done.stderr.strip() or done.returncode}). {_ALLOW}"
    )


def _began_at(folder: Path, period: Period) -> float:
    """When bubblewrap noted its first process: nothing ran inside before."""
    try:
        return (folder / _INFO).stat().st_mtime
    except OSError:  # because the sandbox may be killed before it writes the file
        return period.began


def _ended_at(folder: Path, period: Period) -> float:
    """When the last process inside ended; if unknown, when the turn stopped waiting for the run."""
    try:
        return (folder / f"{_INFO}.ended").stat().st_mtime
    except OSError:  # because the sandbox may be killed before it writes the file
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


_ELSEWHERE = "This system has no sandbox for commands: each command can do all that you can."
_SWITCHED_OFF = "You have switched off the sandbox for commands in the settings (trust.commands)."


def wall(
    workspace: Path,
    *,
    wanted: bool,
    readable: tuple[Path, ...] = (),
    links: tuple[Path, ...] = (),
    private: Path | None = None,
) -> Sandbox:
    """Return the sandbox of this workspace. `readable` are further folders that commands may read, and `links` links.

    With `private`, the process gets a work folder, home and temporary folder for itself; otherwise all commands share a
    home and a temporary folder.
    """
    if not wanted:
        return NoWall(_SWITCHED_OFF)
    if platform.system() != "Linux":
        return NoWall(_ELSEWHERE)
    return Bubblewrap(_rooms(workspace, readable, links, private), _private("calls"))


def _rooms(workspace: Path, readable: tuple[Path, ...], links: tuple[Path, ...], private: Path | None) -> Rooms:
    moved = os.environ.get("WISP_DATA_DIR")
    own = (*paths.own_dirs(), *((Path(moved),) if moved else ()))
    return Rooms(
        workspace=_real(workspace),
        person_home=_real(Path.home()),
        home=_private("home") if private is None else _real(private / "home"),
        temp=_private("tmp") if private is None else _real(private / "tmp"),
        made=_real(paths.made_dir()),
        own=tuple(map(_real, own)),
        readable=tuple(map(_real, readable)),
        links=links,
        private=_real(private / "work") if private else None,
    )


def _private(name: str) -> Path:
    folder = _real(paths.state_dir()) / "sandbox" / name
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
