"""A machine of the tests' own: two private buses, mocks of its services on them, and a sound server without a card."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

_PYTHON = "/usr/bin/python3"
_LIMIT_S = 30.0


def _has_dbusmock() -> bool:
    asked = [_PYTHON, "-c", "import dbusmock"]
    return Path(_PYTHON).exists() and subprocess.run(asked, check=False, capture_output=True).returncode == 0


class MockedMachine:
    """The services of a machine. `calls` are the methods that were called on a mock, as its own log has them."""

    def __init__(self, folder: Path, addresses: dict[str, str], open_: ExitStack) -> None:
        self._folder = folder
        self._open = open_
        self._environment = {**os.environ, **addresses}
        self.addresses = addresses

    def mock(self, template: str, parameters: dict[str, Any] | None = None) -> None:
        """Start a template of python-dbusmock."""
        self._start(template, ["--template", template, "--parameters", json.dumps(parameters or {})])

    def plain(self, name: str, path: str, interface: str, bus: str = "--session") -> None:
        """Start an object that has nothing yet."""
        self._start(name, [bus, name, path, interface])

    def _start(self, log: str, words: list[str]) -> None:
        written = self._folder / f"{log}.log"
        command = [_PYTHON, "-m", "dbusmock", "--logfile", str(written), *words]
        process = subprocess.Popen(command, env=self._environment, stdout=subprocess.DEVNULL)
        self._open.callback(_end, process)
        names = {
            "networkmanager": "org.freedesktop.NetworkManager",
            "bluez5": "org.bluez",
            "upower": "org.freedesktop.UPower",
        }
        names |= {"logind": "org.freedesktop.login1", "gnome_screensaver": "org.gnome.ScreenSaver"}
        name = names.get(log, log)
        bus = "--session" if "--session" in words or log == "gnome_screensaver" else "--system"
        limit = time.monotonic() + _LIMIT_S
        listed = ["org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.NameHasOwner"]
        while "true" not in self._gdbus(bus, *listed, f"'{name}'"):
            assert time.monotonic() < limit, f"{name} did not start."
            time.sleep(0.05)

    def tell(self, bus: str, service: str, path: str, method: str, *arguments: str) -> str:
        """Call a method of a mock, with arguments as GVariant writes them."""
        return self._gdbus(bus, service, path, method, *arguments)

    def _gdbus(self, bus: str, service: str, path: str, method: str, *arguments: str) -> str:
        command = ["gdbus", "call", bus, "--dest", service, "--object-path", path, "--method", method, *arguments]
        done = subprocess.run(command, env=self._environment, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def calls(self, log: str) -> list[str]:
        """The methods that were called on a mock, in order."""
        lines = (self._folder / f"{log}.log").read_text().splitlines()
        return [line.split()[1] for line in lines if line.split()[1:2] not in ([], ["emit"])]


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait(_LIMIT_S)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MockedMachine]:
    if not (_has_dbusmock() and shutil.which("gdbus") and shutil.which("dbus-daemon")):
        pytest.skip("python3-dbusmock, gdbus or dbus-daemon is missing")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "XDG_SESSION_ID"):
        monkeypatch.delenv(name, raising=False)
    with ExitStack() as open_:
        addresses = {}
        for name in ("DBUS_SYSTEM_BUS_ADDRESS", "DBUS_SESSION_BUS_ADDRESS"):
            command = ["dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address=1"]
            environment = {**os.environ, "XDG_DATA_DIRS": "/nonexistent", "XDG_DATA_HOME": "/nonexistent"}
            daemon = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
            open_.callback(_end, daemon)
            assert daemon.stdout
            open_.enter_context(daemon.stdout)
            addresses[name] = daemon.stdout.readline().strip()
            monkeypatch.setenv(name, addresses[name])
        folder = tmp_path / "mocks"
        folder.mkdir()
        yield MockedMachine(folder, addresses, open_)


@pytest.fixture(scope="module")
def sound_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a PulseAudio that has one sink without a card, at 50 %."""
    if not shutil.which("pulseaudio"):
        pytest.skip("pulseaudio is missing")
    folder = tmp_path_factory.mktemp("pulse")
    folder.chmod(0o700)
    socket = folder / "native"
    modules = [f"module-native-protocol-unix auth-anonymous=1 socket={socket}", "module-null-sink sink_name=box"]
    options = ["-n", "--daemonize=no", "--exit-idle-time=-1", "--use-pid-file=no", "--disable-shm=yes"]
    command = ["pulseaudio", *options, *(f"--load={one}" for one in modules)]
    environment = {**os.environ, "HOME": str(folder), "XDG_RUNTIME_DIR": str(folder)}
    environment.pop("DBUS_SESSION_BUS_ADDRESS", None)
    process = subprocess.Popen(command, env=environment, stdout=sys.stderr, stderr=subprocess.STDOUT)
    try:
        limit = time.monotonic() + _LIMIT_S
        while not socket.exists():
            assert process.poll() is None, "PulseAudio ended."
            assert time.monotonic() < limit, "PulseAudio did not start."
            time.sleep(0.05)
        yield f"unix:{socket}"
    finally:
        with suppress(ProcessLookupError):
            _end(process)
