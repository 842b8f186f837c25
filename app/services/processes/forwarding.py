"""Let programs of this machine reach the servers of a sandboxed command on loopback, and nothing the other way.

The command keeps its own network. A worker outside checks which ports something listens on inside, opens the same ports
on this machine's loopback, and copies the data. Its second process makes the connections: it has entered the sandbox's
network and nothing else of the sandbox. The worker ends with the run, and continues when Wisp ends.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from app.base import own_files
from app.base.startup import worker_command

_PORTS = "ports.json"
_STEP_S, _LATER_STEP_S = 0.2, 1.0
"""The pause between checks: short at first, because most servers start then, and longer later."""
_FIRST_STEPS = 300
_START_STEPS = 50
_MOST_PORTS = 8
_MOST_CONNECTIONS = 64
_CHUNK = 65_536
_PORT_TRIES = 3
_MODEL_SERVERS = frozenset({1234, 11434})
"""Where programs look for LM Studio and Ollama: the server of a command must not answer in their place."""
_LOOPBACK = (("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6))
_REACHABLE = {"tcp": ("00000000", "0100007F"), "tcp6": ("0" * 32, "0" * 24 + "01000000")}
"""Addresses in /proc/PID/net that loopback reaches: the wildcard address, and loopback itself."""
_LISTENING = "0A"  # the kernel's TCP_LISTEN, in hexadecimal: https://man7.org/linux/man-pages/man5/proc_pid_net.5.html


def forward(info: Path, environment: Mapping[str, str]) -> None:
    """Start the worker for the run whose sandbox writes `info`. The environment marks the worker as part of the run.

    Without the worker, a server can only be reached from inside its sandbox, and `ports` shows that.
    """
    if sys.platform == "linux":
        with suppress(OSError):
            (info.parent / _PORTS).write_text("{}", encoding="utf-8")
            worker = subprocess.Popen(
                worker_command("forwarder", str(info)),
                cwd="/",
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            # because a worker that nobody waits for stays a zombie
            threading.Thread(target=worker.wait, name="forwarder", daemon=True).start()


def ports(folder: Path) -> Mapping[int, int] | None:
    """Map each port inside the sandbox to the one that reaches it from this machine.

    Returns None if the run is not forwarded.
    """
    try:
        found = json.loads((folder / _PORTS).read_text(encoding="utf-8"))
        return {int(inside): int(outside) for inside, outside in found.items()}
    except (OSError, ValueError):
        return None


def run(arguments: Sequence[str]) -> int:
    """Forward until the last process of the sandbox has ended."""
    info = Path(arguments[0])
    if info.parent.is_dir():
        asyncio.run(_serve(info))
    return 0


async def _serve(info: Path) -> None:
    pid = await _inside(info)
    if sys.platform == "linux":
        try:
            alive = os.pidfd_open(pid)
            network = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
        except OSError:  # because a short command has ended by now
            return
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if os.fork() == 0:
            ours.close()
            _dial(theirs, network)
            os._exit(0)
        theirs.close()
        ended = asyncio.Event()
        asyncio.get_running_loop().add_reader(alive, ended.set)
        await _Forwarder(pid, ours, info.parent / _PORTS).until(ended)


async def _inside(info: Path) -> int:
    """The pid of the sandbox's first process, as seen from outside; 0 if there is none."""
    for _ in range(_START_STEPS):
        with suppress(OSError, ValueError, KeyError):  # because bubblewrap writes it while it starts
            return _checked(info)
        await asyncio.sleep(_STEP_S)
    return 0


def _checked(info: Path) -> int:
    """The pid that bubblewrap wrote down; 0 if another process has this pid now."""
    found = json.loads(info.read_text(encoding="utf-8"))
    pid = int(found["child-pid"])
    return pid if Path(f"/proc/{pid}/ns/net").stat().st_ino == found["net-namespace"] else 0


def _dial(requests: socket.socket, network: int) -> None:
    """Enter the sandbox's network, give up all rights there, and answer each request with a connection to its port."""
    if sys.platform == "linux":
        import fcntl

        owner = fcntl.ioctl(network, 0xB701)  # NS_GET_USERNS of ioctl_ns(2): whose network it is
        system = ctypes.CDLL(None, use_errno=True)
        spaces = [(network, 0x40000000)]  # CLONE_NEWNET
        if os.fstat(owner).st_ino != Path("/proc/self/ns/user").stat().st_ino:  # a process cannot enter where it is
            spaces.insert(0, (owner, 0x10000000))  # CLONE_NEWUSER
        header, rights = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()  # capset(2), version 3
        if any(system.setns(*space) for space in spaces) or system.capset(header, rights):
            return
        while port := requests.recv(8):
            connection = _connect(int(port))
            if connection is None:
                requests.send(b"-")
            else:
                socket.send_fds(requests, [b"+"], [connection.fileno()])
                connection.close()


def _connect(port: int) -> socket.socket | None:
    for host, _ in _LOOPBACK:
        with suppress(OSError):  # because a server may listen on IPv4 or IPv6 only
            return socket.create_connection((host, port))
    return None


class _Forwarder:
    """Opens and closes ports outside as they are opened and closed in the sandbox."""

    def __init__(self, pid: int, dialer: socket.socket, record: Path) -> None:
        self._pid, self._dialer, self._record = pid, dialer, record
        self._open: dict[int, tuple[int, list[asyncio.Server]]] = {}
        self._dialing = asyncio.Lock()
        self._connections = 0

    async def until(self, ended: asyncio.Event) -> None:
        steps = 0
        while not ended.is_set():
            steps += 1
            await self._look()
            with suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), _STEP_S if steps < _FIRST_STEPS else _LATER_STEP_S)

    async def _look(self) -> None:
        listening = _listening(self._pid)
        gone = [port for port in self._open if port not in listening]
        new = [port for port in listening if port not in self._open][: _MOST_PORTS - len(self._open) + len(gone)]
        for port in gone:
            for server in self._open.pop(port)[1]:
                server.close()
        for port in new:
            if opened := await self._listen(port):
                self._open[port] = opened
        if gone or new:
            own_files.write(self._record, json.dumps({port: outside for port, (outside, _) in self._open.items()}))

    async def _listen(self, port: int) -> tuple[int, list[asyncio.Server]] | None:
        """Listen on the same port, or on another one if it is taken or a model server's. None if that fails.

        Listens on every loopback address of this machine, because another program's server may use one of them.
        """

        async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await self._through(port, reader, writer)

        for wanted in (0 if port in _MODEL_SERVERS else port, *[0] * _PORT_TRIES):
            servers: list[asyncio.Server] = []
            outside = wanted
            try:
                for host, family in _LOOPBACK:
                    if servers and not _has(host, family):
                        continue
                    servers.append(await asyncio.start_server(copy, host, outside, family=family))
                    outside = servers[0].sockets[0].getsockname()[1]
            except OSError:  # because the port may be taken on one of them
                for server in servers:
                    server.close()
                continue
            return outside, servers
        return None

    async def _through(self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        try:
            inside = await self._dialed(port) if self._connections <= _MOST_CONNECTIONS else None
            if inside is not None:
                back, forth = await asyncio.open_connection(sock=inside)
                await asyncio.gather(_copy(reader, forth), _copy(back, writer))
                forth.close()
        finally:
            self._connections -= 1
            writer.close()

    async def _dialed(self, port: int) -> socket.socket | None:
        async with self._dialing:
            with suppress(OSError):  # because the dialer may not have been let in
                return await asyncio.to_thread(self._ask, port)
        return None

    def _ask(self, port: int) -> socket.socket | None:
        if sys.platform == "linux":
            self._dialer.send(str(port).encode())
            _, fds, _, _ = socket.recv_fds(self._dialer, 1, 1)
            return socket.socket(fileno=fds[0]) if fds else None
        else:
            return None


def _has(host: str, family: socket.AddressFamily) -> bool:
    try:
        with socket.socket(family) as tried:
            tried.bind((host, 0))
    except OSError:  # because a computer may have IPv6 switched off
        return False
    return True


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy from one connection to the other until the sender ends, then close the receiver's side."""
    with suppress(OSError):  # because either side may go away at any moment
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
        writer.write_eof()


def _listening(pid: int) -> list[int]:
    """The ports on which programs in the sandbox listen and which loopback can reach."""
    found: dict[int, None] = {}
    for name, reachable in _REACHABLE.items():
        with suppress(OSError):  # because the sandbox may end meanwhile, or there is no IPv6
            for line in Path(f"/proc/{pid}/net/{name}").read_text(encoding="ascii").splitlines()[1:]:
                address, _, port = line.split()[1].partition(":")
                if line.split()[3] == _LISTENING and address in reachable:
                    found[int(port, 16)] = None
    return [*found]
