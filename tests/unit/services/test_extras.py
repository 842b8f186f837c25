"""What is taken in on demand comes into an environment, here from a server on loopback into one of the test."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import sysconfig
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from app.base import resources

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[3]
BODY = 3_000_000
CODE = """
import asyncio, json, sys
from app.services.extras import Extra, ExtraInstaller, is_there
how, lock = sys.argv[1:]
extra = Extra("tiny", "Tiny", "A test.", "wisp_tiny", "tiny", 3, 3)
if how == "frozen":
    sys.frozen = True
async def get():
    made, seen, loaded = ExtraInstaller(lambda _: open(lock).read()), [], 0
    made.begin(extra)
    while (state := made.state(extra)).stage in ("loading", "installing"):
        seen, loaded = seen if state.stage in seen else [*seen, state.stage], max(loaded, state.loaded_mb)
        if how == "stop" and loaded:
            assert await made.stop(extra)
        if how == "quit" and state.stage == "installing":
            break
        await asyncio.sleep(0.01)
    said = state.said.said() if state.said else ""
    end = {"end": state.stage, "said": said, "there": is_there("wisp_tiny")}
    print(json.dumps({"seen": seen, "loaded": loaded > 0, **end}))
asyncio.run(get())
"""


class Place:
    """A server with one package, an environment that takes it, and what getting it came to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.may_end = threading.Event()
        self.may_end.set()
        wheel = folder / "wheels" / "wisp_tiny-1.0-py3-none-any.whl"
        wheel.parent.mkdir()
        _pack(wheel, "1.0", f"{'#' * BODY}\n")
        self.hash = hashlib.sha256(wheel.read_bytes()).hexdigest()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, self, directory=str(wheel.parent)))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        subprocess.run([sys.executable, "-m", "venv", folder / "own"], check=True)
        self.python = folder / "own" / ("Scripts" if sys.platform == "win32" else "bin") / "python"

    @property
    def lock(self) -> str:
        return f"wisp-tiny==1.0 \\\n    --hash=sha256:{self.hash}\n"

    def remove(self) -> None:
        subprocess.run([self.python, "-m", "pip", "-q", "uninstall", "-y", "wisp-tiny"], check=True)

    def get(self, how: str = "", *, lock: str = "", port: int = 0, **settings: str) -> dict[str, object]:
        """Get the package in the environment. Returns what was seen meanwhile and at the end."""
        (self.folder / "lock").write_text(lock or self.lock)
        links = f"http://127.0.0.1:{port or self.server.server_port}/"
        own = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": links, "WISP_DATA_DIR": str(self.folder / "data")}
        paths = os.pathsep.join([str(ROOT), sysconfig.get_path("purelib")])
        done = subprocess.run(
            [self.python, "-c", CODE, how, self.folder / "lock"],
            env={"PATH": "/usr/bin:/bin", "HOME": str(self.folder), "PYTHONPATH": paths, **own, **settings},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert not (self.folder / "data" / "data" / "extras").exists(), "nothing is left of it"
        found: dict[str, object] = json.loads(done.stdout)
        return found


def _pack(wheel: Path, version: str, code: str) -> None:
    told = f"wisp_tiny-{version}.dist-info"
    with zipfile.ZipFile(wheel, "w") as made:
        made.writestr("wisp_tiny/__init__.py", code)
        made.writestr(f"{told}/METADATA", f"Metadata-Version: 2.1\nName: wisp-tiny\nVersion: {version}\n")
        made.writestr(f"{told}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        made.writestr(f"{told}/RECORD", "")


class _Handler(SimpleHTTPRequestHandler):
    def __init__(self, place: Place, *given: object, **more: object) -> None:
        self._place = place
        super().__init__(*given, **more)  # type: ignore[arg-type]

    def copyfile(self, source, outputfile) -> None:  # type: ignore[no-untyped-def]
        outputfile.write(source.read(BODY // 2))
        outputfile.flush()
        self._place.may_end.wait(60)
        outputfile.write(source.read())

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    made = Place(tmp_path_factory.mktemp("extras"))
    yield made
    made.may_end.set()
    made.server.shutdown()
    made.server.server_close()


def test_an_extra_that_is_stopped_leaves_nothing_and_comes_in_the_next_time(place: Place) -> None:
    place.may_end.clear()
    stopped = place.get("stop")
    place.may_end.set()
    assert stopped == {"seen": ["loading"], "loaded": True, "end": "missing", "said": "", "there": False}
    done = place.get()
    assert (done["end"], done["said"], done["there"]) == ("there", "", True)
    place.remove()


def test_an_installation_that_has_begun_ends_also_when_wisp_is_closed(place: Place) -> None:
    assert place.get("quit")["end"] == "installing"
    assert place.get()["seen"] == []
    place.remove()


def test_the_persons_own_settings_of_pip_lead_it_nowhere_else(place: Place) -> None:
    elsewhere = place.folder / "elsewhere"
    assert place.get(PIP_TARGET=str(elsewhere))["there"] is True
    assert not elsewhere.exists()
    place.remove()


def test_half_an_installation_is_none_and_is_made_whole(place: Place) -> None:
    place.get()
    (code,) = place.folder.glob("own/**/wisp_tiny/__init__.py")
    (code.parents[1] / "wisp-unfinished-wisp_tiny").write_text(place.lock)
    code.write_text("")
    assert place.get()["seen"] == ["loading", "installing"]
    assert code.stat().st_size > BODY
    assert place.get()["seen"] == []
    place.remove()


def test_an_extra_that_does_not_load_says_why_and_is_not_there(place: Place) -> None:
    wheel = place.folder / "wheels" / "wisp_tiny-1.1-py3-none-any.whl"
    _pack(wheel, "1.1", "import a_library_that_the_system_lacks\n")
    found = place.get(lock=f"wisp-tiny==1.1 --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}")
    assert (found["seen"], found["end"], found["there"]) == (["loading", "installing"], "failed", False)
    assert "a_library_that_the_system_lacks" in str(found["said"])
    for mark in place.folder.glob("own/**/wisp-unfinished-wisp_tiny"):
        mark.unlink()
    place.remove()


@pytest.mark.parametrize(
    ("how", "lock", "port", "why"),
    [
        ("", f"wisp-tiny==1.0 --hash=sha256:{'0' * 64}", 0, "hashes"),
        ("", "", 9, "network"),
        ("", f"wisp-tiny==2.0 --hash=sha256:{'0' * 64}", 0, "no_wheel"),
        ("", f"pip==0.1 --hash=sha256:{'0' * 64}", 0, "other"),
        ("frozen", "", 0, "frozen"),
    ],
)
def test_what_cannot_come_says_why_and_installs_nothing(place: Place, how: str, lock: str, port: int, why: str) -> None:
    found = place.get(how, lock=lock, port=port)
    assert (found["end"], found["there"]) == ("failed", False)
    sentence = resources.table("extras.toml", resources.Table)["says"][why]
    assert re.fullmatch(re.sub(r"\\{\w+\\}", ".+", re.escape(sentence)), str(found["said"]))
