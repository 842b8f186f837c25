"""A machine in small for commands: a home, a neighbour's folder, doors, a process to harm, and a workspace each.

Everything a command could reach is watched with eyes outside the product. What a command prints counts too: a planted
secret, or the word that probes print once they got through.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from app.services.sandbox.bubblewrap import Bubblewrap
from app.services.sandbox.layout import Rooms
from tests.hostile.observers.canaries import Canaries
from tests.hostile.observers.files import fingerprint
from tests.hostile.observers.network import CallWatch

GOT_THROUGH = "GOT" + "-THROUGH"
"""Probes print it in two pieces, so that their own text does not hold it."""
MARK = "wisp-escaped"
"""Part of the name of whatever a command tries to make outside."""
_PLACES = tuple(Path(name) for name in ("/", "/tmp", "/var/tmp", "/dev/shm", "/etc", "/root", "/run", "/opt", "/srv"))
_PLACES += tuple(Path(name) for name in ("/usr/local/bin", "/etc/cron.d", "/etc/profile.d", "/var/spool", "/home"))

_SECRETS = {
    "ssh": "ssh-canary-8d02b41fa9",
    "cloud": "cloud-canary-c57e9913d0",
    "keyring": "keyring-canary-1fd0a72b64",
    "letter": "letter-canary-90b3e6d7f2",
    "plan": "plan-canary-44a1c8e05b",
    "variable": "variable-canary-6b7f13d9ae",
    "victim": "victim-canary-e20c95b871",
    "settings": "settings-canary-7a4d6e01c3",
}
_OUTSIDE = {
    "home/.ssh/id_ed25519": "ssh",
    "home/.aws/credentials": "cloud",
    "home/.local/share/keyrings/login.keyring": "keyring",
    "home/.bashrc": "",
    "home/.profile": "",
    "home/.gitconfig": "",
    "home/.config/autostart/mail.desktop": "",
    "home/Documents/letter.txt": "letter",
    "neighbour/plan.txt": "plan",
    "neighbour/repo/.git/config": "",
    "neighbour/repo/.git/hooks/pre-commit": "",
    "own/config/settings.toml": "settings",
    "own/data/journal": "settings",
}
_WORKSPACE = {
    "README.md": "# Numbers\nA small project.\n",
    "notes.txt": "buy milk\ncall Ada\nbuy bread\n",
    "src/numbers.py": "def double(x):\n    return 2 * x\n",
    "src/test_numbers.py": "from numbers_ import *\n",
    "tests/test_double.py": "import sys\nsys.path.insert(0, 'src')\n\ndef test_double():\n    assert 2 * 2 == 4\n",
    "data/table.csv": "name,age\nAda,36\nAlan,41\n",
    "data/people.json": '[{"name": "Ada", "age": 36}]\n',
    "main.c": '#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n',
    "Makefile": "all: hello\nhello: main.c\n\t$(CC) -o hello main.c\nclean:\n\trm -f hello\n",
    ".envrc": "export A=1\n",
    ".vscode/tasks.json": "{}\n",
}
_STARTERS = (
    ".envrc",
    ".vscode",
    ".git/config",
    ".git/hooks",
    ".idea",
    ".mcp.json",
    ".bashrc",
    ".profile",
    ".gitconfig",
    ".git/commondir",
    ".git/config.worktree",
)
_VICTIM = """
import os, signal, sys, time
log = open(sys.argv[1], "w")
for number in (1, 2, 3, 10, 12, 13, 14, 15, 18, 20, 21, 22, 28, 29):
    signal.signal(number, lambda got, _: (log.write(f"signal {got}\\n"), log.flush()))
print("ready", flush=True)
while True:
    time.sleep(0.2)
"""


class Doors:
    """Unix sockets that nobody has any business with; `knocks` names those that were connected to."""

    def __init__(self, folder: Path) -> None:
        self.knocks: list[str] = []
        self.bus, self.docker, self.agent = (folder / name for name in ("bus", "docker.sock", "agent.sock"))
        self.abstract = f"wisp-door-{folder}"[-90:]
        names = [str(self.bus), str(self.docker), str(self.agent), "\0" + self.abstract]
        self._sockets = [self._open(name) for name in names]

    def _open(self, name: str) -> socket.socket:
        door = socket.socket(socket.AF_UNIX)
        door.bind(name)
        door.listen(16)
        threading.Thread(target=self._watch, args=(door, name), daemon=True).start()
        return door

    def _watch(self, door: socket.socket, name: str) -> None:
        while True:
            try:
                door.accept()[0].close()
            except OSError:
                return
            self.knocks.append(name.replace("\0", "@"))

    def close(self) -> None:
        for door in self._sockets:
            door.shutdown(socket.SHUT_RDWR)
            door.close()


@dataclass
class Room:
    """`names` are what corpora may call by `@NAME@`."""

    root: Path
    doors: Doors
    calls: CallWatch
    victim: subprocess.Popen[str]
    canaries: Canaries
    names: Mapping[str, str]
    before: dict[Path, str] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        return self.root / "home"

    def workspace(self, name: str) -> Path:
        """A fresh one for each command."""
        folder = self.root / "work" / name
        shutil.copytree(self.root / "template", folder, symlinks=True)
        return folder

    def wall(self, workspace: Path) -> Bubblewrap:
        """As it stands on a person's machine whose home is ours."""
        kept = [self.root / "own" / name for name in ("home", "tmp", "made", "calls")]
        for folder in kept:
            folder.mkdir(exist_ok=True)
        rooms = Rooms(
            workspace=workspace,
            person_home=self.home,
            home=kept[0],
            temp=kept[1],
            made=kept[2],
            own=(self.root / "own",),
            readable=(Path(sys.prefix), Path(sys.base_prefix)),
        )
        return Bubblewrap(rooms, kept[3])

    def effects(self) -> list[str]:
        """Whatever has happened outside since the room was opened."""
        after = self._fingerprint()
        found = [f"changed {path}" for path in self.before | after if self.before.get(path) != after.get(path)]
        found += [f"made {path}" for place in _PLACES for path in _marked(place)]
        found += [f"knocked at {name}" for name in self.doors.knocks]
        found += [f"called from {peer}" for peer in self.calls.calls]
        return found + self._harm()

    def _fingerprint(self) -> dict[Path, str]:
        return fingerprint(
            [self.home, self.root / "neighbour", self.root / "own" / "config", self.root / "own" / "data"]
        )

    def _harm(self) -> list[str]:
        if self.victim.poll() is not None:
            return [f"the victim ended with {self.victim.returncode}"]
        state = psutil.Process(self.victim.pid)
        log = (self.root / "victim.log").read_text()
        found = [f"the victim got {line}" for line in log.splitlines()]
        found += ["the victim was stopped"] if state.status() == psutil.STATUS_STOPPED else []
        return found + ([f"the victim is nice {state.nice()}"] if state.nice() != os.nice(0) else [])


def spoiled(workspace: Path, template: Path) -> list[str]:
    """What runs by itself and is not as it was: in the workspace of a command that has ended."""
    return [name for name in _STARTERS if _described(workspace / name) != _described(template / name)]


def _described(path: Path) -> object:
    if path.is_symlink():
        return os.readlink(path)
    if path.is_dir():
        return {name.relative_to(path): state for name, state in fingerprint([path]).items()}
    return path.read_bytes() if path.is_file() else None


def _marked(place: Path) -> Iterator[Path]:
    return (path for path in place.iterdir() if MARK in path.name) if place.is_dir() else iter(())


@contextmanager
def room(root: Path) -> Iterator[Room]:
    """Open one; everything it started is ended with it."""
    root.mkdir()
    for name, secret in _OUTSIDE.items():
        _write(root / name, f"{_SECRETS.get(secret, '# mine')}\n")
    for name, text in _WORKSPACE.items():
        _write(root / "template" / name, text)
    _repository(root / "template")
    (root / "template/to-home").symlink_to(root / "home")
    (root / "template/to-plan").symlink_to(root / "neighbour/plan.txt")
    (root / "work").mkdir()
    (root / "doors").mkdir()
    with (
        closing(Doors(root / "doors")) as doors,
        pytest.MonkeyPatch.context() as patch,
        CallWatch() as calls,
        _harmed(root) as victim,
    ):
        for name, value in _variables(root, doors).items():
            patch.setenv(name, value)
        names = _names(root, doors, calls, victim.pid)
        here = Room(root, doors, calls, victim, Canaries(_SECRETS), names)
        here.before = here._fingerprint()
        yield here


def _names(root: Path, doors: Doors, calls: CallWatch, victim: int) -> dict[str, str]:
    places = {"HOME": str(root / "home"), "OUT": str(root / "neighbour"), "OWN": str(root / "own")}
    sockets = {"BUS": str(doors.bus), "DOCKER": str(doors.docker), "AGENT": str(doors.agent), "DOOR": doors.abstract}
    display = os.environ.get("DISPLAY", ":0")
    rest = {"PORT": str(calls.port), "VICTIM": str(victim), "DISPLAY": display, "SCREEN": display.strip(":")}
    return {**places, **sockets, **rest, "WISP": str(os.getpid()), "PYTHON": sys.executable, "MARK": MARK}


def _variables(root: Path, doors: Doors) -> dict[str, str]:
    return {
        "HOME": str(root / "home"),
        "DBUS_SESSION_BUS_ADDRESS": f"unix:path={doors.bus}",
        "SSH_AUTH_SOCK": str(doors.agent),
        "XDG_RUNTIME_DIR": str(doors.bus.parent),
        "ANTHROPIC_API_KEY": _SECRETS["variable"],
        "DATABASE_URL": f"postgres://ada:{_SECRETS['variable']}@db.example/x",
        "MY_SETTING": _SECRETS["variable"],
    }


@contextmanager
def _harmed(root: Path) -> Iterator[subprocess.Popen[str]]:
    arguments = [sys.executable, "-c", _VICTIM, str(root / "victim.log")]
    variables = {"VICTIM_NOTE": _SECRETS["victim"]}
    victim = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env=variables)
    assert victim.stdout is not None
    with victim.stdout:
        assert victim.stdout.readline() == "ready\n"
        try:
            yield victim
        finally:
            victim.kill()
            victim.wait()


def _repository(folder: Path) -> None:
    variables = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    for words in (
        ("init", "-q", "-b", "main"),
        ("config", "user.name", "Ada"),
        ("config", "user.email", "ada@example.org"),
        ("add", "."),
        ("commit", "-q", "-m", "first"),
    ):
        subprocess.run(("git", *words), cwd=folder, env=variables, check=True, capture_output=True)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
