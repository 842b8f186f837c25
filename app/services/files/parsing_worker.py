"""The child: `parsing_worker.py JOB OPTIONS` locks itself in, reads standard input, writes what it found and ends.

Exit code 0: all of it. REFUSED: the sentence on standard error says why. Anything else: it broke, or met a limit.
"""

from __future__ import annotations

import ctypes
import json
import mimetypes
import os
import signal
import struct
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

MEMORY_BYTES = 1 << 30
CPU_S = 10
_FILES = 64

_SET_DEATH_SIGNAL, _NO_NEW_PRIVILEGES = 1, 38
_NEW_USER, _NEW_NETWORK, _NEW_IPC = 0x10000000, 0x40000000, 0x08000000
_SYS_CREATE_RULESET, _SYS_ADD_RULE, _SYS_RESTRICT = 444, 445, 446
_ALL_FILE_RIGHTS = (1 << 13) - 1
_LOOK = 0b1101
"""EXECUTE, READ_FILE, READ_DIR of linux/landlock.h, first version."""
_BENEATH = 1


def lock(readable: Sequence[str]) -> None:
    """Leave this process only what parsing needs; `readable` are the folders that Python's own modules lie in."""
    if sys.platform != "win32":
        _limit()
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(_SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        if libc.unshare(_NEW_USER | _NEW_NETWORK | _NEW_IPC) != 0:
            libc.unshare(_NEW_NETWORK | _NEW_IPC)  # because root may do it even where user namespaces are disabled
        _close_files(libc, readable)


if sys.platform != "win32":

    def _limit() -> None:
        import resource

        wanted = (
            (resource.RLIMIT_AS, MEMORY_BYTES),
            (resource.RLIMIT_CPU, CPU_S),
            (resource.RLIMIT_FSIZE, 0),
            (resource.RLIMIT_NOFILE, _FILES),
            (resource.RLIMIT_CORE, 0),
            (getattr(resource, "RLIMIT_NPROC", resource.RLIMIT_CORE), 0),
        )
        for kind, most in wanted:
            with suppress(OSError, ValueError):  # because not every system knows each limit
                _, hard = resource.getrlimit(kind)
                allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
                resource.setrlimit(kind, (allowed, allowed))


if sys.platform == "linux":

    def _close_files(libc: ctypes.CDLL, readable: Sequence[str]) -> None:
        """Landlock: from now on only these folders can be opened, and only to be read."""
        rights = struct.pack("=Q", _ALL_FILE_RIGHTS)
        ruleset = libc.syscall(_SYS_CREATE_RULESET, rights, len(rights), 0)
        if ruleset < 0:
            return
        for folder in readable:
            with suppress(OSError):  # because not every system has each of these folders
                fd = os.open(folder, os.O_PATH | os.O_CLOEXEC)
                libc.syscall(_SYS_ADD_RULE, ruleset, _BENEATH, struct.pack("=Qi", _LOOK, fd), 0)
                os.close(fd)
        libc.syscall(_SYS_RESTRICT, ruleset, 0)
        os.close(ruleset)


REFUSED = 65
MOST_SAID_BYTES = 4_096
_PACKAGE = Path(__file__).resolve().parents[3]
_SYSTEM = ("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/usr/share/zoneinfo")


def run(arguments: Sequence[str]) -> int:
    """Lock the cell, then do the job: `arguments` are its name and its options as JSON. Raises nothing foreseen."""
    job, options = arguments[0], json.loads(arguments[1])
    sys.path.insert(0, str(_PACKAGE))
    mimetypes.knownfiles.clear()  # because the sandbox can no longer open the system's tables
    from app.base.errors import WispError

    answers, complaints = os.fdopen(os.dup(1), "wb"), os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for printed in (1, 2):  # so that output of the libraries neither mixes with the answers nor fills a pipe
        os.dup2(nowhere, printed)
    lock([sys.prefix, sys.base_prefix, sys.base_exec_prefix, str(_PACKAGE / "app"), *_frozen_program(), *_SYSTEM])
    try:
        with sys.stdin.buffer as file:
            for piece in JOBS[job](file, options):
                answers.write(piece)
        answers.close()
    except WispError as error:
        os.write(complaints, str(error).encode(errors="replace")[:MOST_SAID_BYTES])
        return REFUSED
    return 0


def _frozen_program() -> list[str]:
    """The folder of a frozen program, whose own file holds its modules."""
    return [str(Path(sys.executable).parent)] if getattr(sys, "frozen", False) else []


Job = Callable[[BinaryIO, Mapping[str, str]], Iterator[bytes]]


def _document(file: BinaryIO, options: Mapping[str, str]) -> Iterator[bytes]:
    from app.services.files.contents import texts

    for text in texts(file, options["name"], options["shown"]):
        yield text.encode("utf-8", errors="replace")


def _page(file: BinaryIO, options: Mapping[str, str]) -> Iterator[bytes]:
    from app.services.web.readable import markdown

    yield markdown(file.read(), options["charset"], options["url"]).encode("utf-8", errors="replace")


def _picture(file: BinaryIO, options: Mapping[str, str]) -> Iterator[bytes]:
    from app.services.files.contents import load, packed

    yield packed(load(file, options["shown"]))


JOBS: Mapping[str, Job] = {"document": _document, "page": _page, "picture": _picture}


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
