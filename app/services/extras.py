"""What Wisp takes in only if somebody wishes it: which of it is there, and how it comes into Wisp's own environment.

An extra comes in two steps. The first loads its packages into a folder and may be stopped. The second installs them
from there, without a network, and loads the extra in another process: a library of the system may be missing. A file
marks that it has begun: an extra whose installation did not end well, as when the machine loses its power, is missing,
and is installed again as a whole. Both steps accept only the exact packages that the extra's lock lists by their
hashes. Nothing that Wisp uses already is replaced.
"""

from __future__ import annotations

import asyncio
import functools
import importlib
import importlib.metadata
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from app.base import own_files, paths, resources
from app.base.errors import NeedsPerson, ToolFailed
from app.base.phrases import Phrase
from app.base.values import dataclass

_PIP = ("-I", "-m", "pip", "--disable-pip-version-check", "--no-input")
_SAFE = ("--no-deps", "--require-hashes", "--only-binary=:all:")
_LOOK_S = 0.4
_MB = 1_000_000
_PINNED = re.compile(r"([A-Za-z0-9_.-]+)==([^\s;\\]+)")
_NO_NETWORK = ("Retrying (", "NewConnectionError", "ConnectionError", "ReadTimeoutError", "Could not fetch URL")
_NO_WHEEL = "No matching distribution"
_OTHER_HASH = "DO NOT MATCH THE HASHES"
_SAID_CHARS = 200
_LOADING, _INSTALLING = "loading", "installing"


@dataclass(frozen=True, slots=True)
class Extra:
    """A part of Wisp that nobody gets without asking, as `extras.toml` describes it."""

    id: str
    title: str
    about: str
    module: str
    lock: str
    load_mb: int
    disk_mb: int


@dataclass(frozen=True, slots=True)
class _Table:
    extra: tuple[Extra, ...]
    says: dict[str, str]


@dataclass(frozen=True, slots=True)
class ExtraState:
    """How far an extra is: `there`, `missing`, `loading`, `installing` or `failed`.

    `loaded_mb` counts what has arrived; `said` is the sentence on why it failed.
    """

    stage: str
    loaded_mb: int = 0
    said: Phrase | None = None


def extras() -> tuple[Extra, ...]:
    """Return all extras, in the order in which people see them."""
    return _table().extra


def is_there(module: str) -> bool:
    """Return whether a module (`package` or `package.module`) is installed. Loads nothing of it.

    What Wisp has begun to install, and has not ended, is not.
    """
    package, _, name = module.partition(".")
    found = None if _begun(module).exists() else importlib.util.find_spec(package)
    if found is None or not name:
        return found is not None
    folders = map(Path, found.submodule_search_locations or ())
    return any(one.suffix != ".pyi" for folder in folders for one in folder.glob(f"{name}.*"))


def named(name: str) -> Extra:
    """Raises ToolFailed."""
    found = next((extra for extra in extras() if extra.id == name), None)
    if found is None:
        raise ToolFailed(_says("unknown", id=name).said())
    return found


def lock_of(extra: Extra) -> str:
    """The extra's packages, in their exact versions and with their hashes, as pip reads them."""
    return resources.text(f"extras/{extra.lock}.lock")


def way_to_add(name: str, *, again: bool = False) -> str:
    """Return what a person does to add an extra of pyproject.toml to this Wisp, or to install it again: a command, or
    a sentence."""
    if getattr(sys, "frozen", False):
        return _table().says["frozen"]
    pip = f"{shlex.quote(str(Path(sys.executable).parent / 'pip'))} install{' --force-reinstall' * again}"
    if _is_checkout():
        by_setup = {"ocr": "./scripts/setup whole", "surfaces": "./scripts/setup surfaces"}
        return by_setup.get(name, f"{pip} {shlex.quote(f'{_FOLDER}[{name}]')}")
    if _is_pipx():
        return f'pipx inject {"--force " * again}wisp-desktop "wisp-desktop[{name}]"'
    return f'{pip} "wisp-desktop[{name}]"'


def way_to_remove() -> str:
    """Return the command that removes the program itself."""
    if getattr(sys, "frozen", False):
        return "sudo apt remove wisp"
    if _is_checkout():
        return f"rm -rf {shlex.quote(str(_FOLDER))}"
    return f"{'pipx' if _is_pipx() else 'pip'} uninstall wisp-desktop"


_FOLDER = Path(__file__).resolve().parents[2]


def _is_checkout() -> bool:
    return (_FOLDER / "pyproject.toml").is_file()


def _is_pipx() -> bool:
    return (Path(sys.prefix) / "pipx_metadata.json").is_file()  # https://pipx.pypa.io/stable/how-pipx-works/


def require(module: str, name: str) -> None:
    """Raise NeedsPerson, with the way to add the extra of this name, if its module is missing."""
    if not is_there(module):
        raise NeedsPerson(Phrase("This needs one more part of Wisp: {way}", {"way": way_to_add(name)}))


def obstacle(extra: Extra, lock: str) -> Phrase | None:
    """Why an extra with this lock cannot be installed here; None if it can be tried."""
    folder = Path(sysconfig.get_path("purelib"))
    if getattr(sys, "frozen", False):
        return _says("frozen")
    if sys.prefix == sys.base_prefix and Path(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED").is_file():
        return _says("system")
    if not os.access(folder, os.W_OK):
        return _says("read_only", folder=str(folder))
    if importlib.util.find_spec("pip") is None:
        return _says("no_installer")
    needed, free = extra.disk_mb + 2 * extra.load_mb, shutil.disk_usage(folder).free // _MB
    if free < needed:
        return _says("disk", needed=str(needed), free=str(free))
    for name, wanted in _pinned(lock).items():
        found = _version(name)
        if found and found not in wanted:
            return _says("other", name=name, found=found, wanted=wanted[-1])
    return None


class ExtraInstaller:
    """Gets extras, one at a time, in the background of the running event loop. `lock_of` lists an extra's packages."""

    def __init__(self, lock_of: Callable[[Extra], str] = lock_of) -> None:
        self._lock_of = lock_of
        self._states: dict[str, ExtraState] = {}
        self._work: asyncio.Task[None] | None = None

    def state(self, extra: Extra) -> ExtraState:
        """What was installed by other means is there, too."""
        known = self._states.get(extra.id)
        if known is not None and known.stage in (_LOADING, _INSTALLING):
            return known
        return ExtraState("there") if is_there(extra.module) else known or ExtraState("missing")

    def begin(self, extra: Extra) -> None:
        """Begin to get the extra. Raises ToolFailed while another one is on its way."""
        if self._work is not None and not self._work.done():
            raise ToolFailed(_says("busy").text)
        if is_there(extra.module):
            return
        self._states[extra.id] = ExtraState(_LOADING)
        self._work = asyncio.get_running_loop().create_task(self._get(extra))

    async def stop(self, extra: Extra) -> bool:
        """Stop loading the extra. Returns False where there is nothing to stop, as once it is installed."""
        if self._work is not None and self.state(extra).stage == _LOADING:
            self._work.cancel()
            with suppress(asyncio.CancelledError):
                await self._work
            return True
        return False

    async def _get(self, extra: Extra) -> None:
        folder = paths.data_dir() / "extras"
        try:
            if said := await asyncio.to_thread(obstacle, extra, self._lock_of(extra)):
                self._states[extra.id] = ExtraState("failed", said=said)
                return
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
            (folder / "parts").mkdir(parents=True, mode=0o700)
            await self._load_and_install(extra, folder)
            self._states.pop(extra.id, None)
        except (ToolFailed, OSError) as error:
            self._states[extra.id] = ExtraState("failed", said=Phrase("{said}", {"said": (str(error),)}))
        except asyncio.CancelledError:
            self._states.pop(extra.id, None)
            raise
        finally:
            await asyncio.shield(asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True))

    async def _load_and_install(self, extra: Extra, folder: Path) -> None:
        begun, wanted = _begun(extra.module), folder / "wanted.txt"
        packages = (
            begun.read_text("utf-8") if begun.exists() else await asyncio.to_thread(_missing, self._lock_of(extra))
        )
        wanted.write_text(packages, encoding="utf-8")
        load = ("download", "--no-cache-dir", "--retries=2", "--timeout=20", *_SAFE)
        loading = asyncio.ensure_future(_pip(folder, *load, "-d", str(folder / "wheels"), "-r", str(wanted)))
        try:
            while not loading.done():
                await asyncio.wait([loading], timeout=_LOOK_S)
                arrived = await asyncio.to_thread(_size_mb, folder)
                self._states[extra.id] = ExtraState(_LOADING, min(arrived, extra.load_mb))
            loading.result()
        finally:
            loading.cancel()
            await asyncio.wait([loading])
        again = ("--force-reinstall",) if begun.exists() else ()
        await asyncio.to_thread(_mark, begun, packages)
        self._states[extra.id] = ExtraState(_INSTALLING, extra.load_mb)
        # Isolated, because the person's own settings of pip may name another place to install to.
        from_there = ("install", "--isolated", *again, "--no-index", "--find-links", str(folder / "wheels"), *_SAFE)
        done = await _run_to_its_end(folder, *_PIP, *from_there, "-r", str(wanted))
        _check(done.returncode, done.stdout)
        loaded = await _run_to_its_end(folder, "-I", "-c", f"import {extra.module}")
        if loaded.returncode:
            raise ToolFailed(_says("unusable", said=_last_line(loaded.stdout.decode("utf-8", "replace"))).said())
        begun.unlink()
        importlib.invalidate_caches()


@functools.cache
def installer() -> ExtraInstaller:
    """Return the one installer of this process, so that every page shows the same progress."""
    return ExtraInstaller()


async def _pip(folder: Path, *words: str) -> None:
    """Run pip with its temporary files below `folder`. Raises ToolFailed with a sentence. Cancelling ends pip."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, *_PIP, *words,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=_environment(folder),
    )  # fmt: skip
    try:
        said, _ = await process.communicate()
    except asyncio.CancelledError:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        raise
    _check(process.returncode, said)


async def _run_to_its_end(folder: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    """Run Python with these words, and with its temporary files below `folder`. Cancelling waits for its end."""

    def run() -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=_environment(folder),
            start_new_session=True,  # so that Ctrl+C in the terminal does not reach it
            check=False,
        )

    # On a thread, because the end of the event loop cancels every task, also one that is still starting a process.
    running = asyncio.get_running_loop().run_in_executor(None, run)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        return running.result()


def _environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(folder / "parts"), "TEMP": str(folder / "parts")}


def _check(code: int | None, said: bytes) -> None:
    if code:
        raise ToolFailed(_reason(said.decode("utf-8", "replace")))


def _reason(said: str) -> str:
    if _OTHER_HASH in said:
        return _says("hashes").text
    if any(sign in said for sign in _NO_NETWORK):
        return _says("network").text
    if _NO_WHEEL in said:
        return _says("no_wheel").text
    return _says("failed", said=_last_line(said).removeprefix("ERROR: ")).said()


def _last_line(said: str) -> str:
    return next((line for line in reversed(said.splitlines()) if line.strip()), "")[:_SAID_CHARS]


def _begun(module: str) -> Path:
    """Return the place of the mark of an unfinished installation. It holds the packages that were to be installed.

    It is beside them, because every Wisp of this environment must see it. Modules of one package share it.
    """
    return Path(sysconfig.get_path("purelib"), f"wisp-unfinished-{module.partition('.')[0]}")


def _mark(place: Path, packages: str) -> None:
    """Write the mark so that it is on the disk, and whole, before anything is installed."""
    own_files.write(place, packages, 0o644)


def _missing(lock: str) -> str:
    blocks = re.split(r"\n(?=\S)", lock.strip())
    return "\n".join(block for block in blocks if not any(_version(name) for name in _pinned(block)))


def _pinned(lock: str) -> dict[str, list[str]]:
    """The versions that a lock allows, by the names of the packages."""
    found: dict[str, list[str]] = {}
    for line in lock.splitlines():
        if pinned := _PINNED.match(line):
            found.setdefault(pinned[1], []).append(pinned[2])
    return found


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _size_mb(folder: Path) -> int:
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # because pip moves a file when it is complete
                total += Path(place, name).stat().st_size
    return total // _MB


def _says(key: str, **values: str) -> Phrase:
    return Phrase(_table().says[key], dict(values))


def _table() -> _Table:
    return resources.table("extras.toml", _Table)
