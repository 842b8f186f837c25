"""Shared by all tests: a world of their own, and, where asked for, a private desktop."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from _pytest.terminal import TerminalReporter
from PySide6.QtCore import QThread

from app.base.startup import reset_for_children
from app.base.withheld import WITHHELD
from app.desktop.x11.virtual import VirtualDesktop
from app.features import loading
from app.settings import catalog
from tests.support.programs import chosen, private_defaults

pytest_plugins = ("tests.support.presence",)
DATA = Path(__file__).parent / "data"

# Everything else of the environment is dropped: nobody's keys, folders, display or language change a result.
# Which features are switched off, so that the suite can be run without one.
_KEPT = ("WISP_FEATURES_OFF", "CI", "COLUMNS", "LD_LIBRARY_PATH", "TERM", "TMPDIR")
_KEPT_FAMILIES = ("NVPL_BLAS_", "OPENBLAS_", "PYTEST_", "WISP_TEST_")
_OWN = {
    "LC_ALL": "C.UTF-8",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "PATH": "/usr/bin:/bin:/usr/sbin:/sbin",
    "FONTCONFIG_FILE": str(DATA / "fonts.conf"),
}

# No test asserts a time: on a busy machine Hypothesis' own limits, 200 ms an example and its health, fail at random.
_UNTIMED = {"deadline": None, "database": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
hypothesis.settings.register_profile("core", max_examples=25, derandomize=True, **_UNTIMED)
hypothesis.settings.register_profile("all", max_examples=1000, **_UNTIMED)
hypothesis.settings.load_profile("core")


def _isolate() -> None:
    kept = {name: value for name, value in os.environ.items() if name in _KEPT or name.startswith(_KEPT_FAMILIES)}
    os.environ.clear()
    os.environ.update(kept, **_OWN)
    time.tzset()
    os.umask(0o022)


_isolate()

# As `wisp` does at its start: the suite may run in the background of a shell.
reset_for_children()

# Qt takes the first thread that uses it for the one with the application, and a test may scale a picture on another.
QThread.currentThread()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests of features that are switched off: those in their folders, marked so, or with a tool's name."""
    if not (off := set(catalog.listed(os.environ.get("WISP_FEATURES_OFF", "")))):
        return
    families = [family for one in loading.everything() if one.name in off for family in one.families()]
    tools = {spec.name for family in families for spec in family.tools}
    for item in items:
        own = {name for mark in item.iter_markers("feature") for name in mark.args} | set(item.path.parts)
        if own & off or any(name in item.name for name in tools):
            item.add_marker(pytest.mark.skip(reason="of a feature that is switched off"))


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Print the command that repeats each failure, and what needed a second try; `scripts/test` gathers these lines."""
    stats = terminalreporter.stats
    failed = dict.fromkeys(report.nodeid for kind in ("failed", "error") for report in stats.get(kind, ()))
    tried_again = dict.fromkeys(report.nodeid for report in stats.get("rerun", ()))
    lines = [f"failed: ./scripts/test '{name}'" for name in failed]
    lines += [f"passed at the second try: ./scripts/test '{name}'" for name in tried_again if name not in failed]
    for line in lines:
        terminalreporter.write_line(line)
    if gathered := os.environ.get("WISP_TEST_OUTCOME"):
        with Path(gathered).open("a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)


@pytest.fixture(scope="session", autouse=True)
def own_programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What else is installed on this machine changes nothing: "the editor" is the one of the suite.

    Returns the folder of that world.
    """
    before = dict(os.environ)
    world = tmp_path_factory.mktemp("world")
    for name, variable in (("home", "HOME"), ("run", "XDG_RUNTIME_DIR")):
        (world / name).mkdir(mode=0o700)
        os.environ[variable] = str(world / name)
    os.environ.update(private_defaults(world / "programs", chosen()))
    loading.everything()  # as at each start of Wisp, so that the settings of features are known
    yield world
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(autouse=True)
def own_data_folder(own_programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test reads or writes the files of the person who runs it, nor those of another test."""
    home = own_programs / "homes" / tmp_path.name
    home.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    folder = tmp_path / "wisp"
    monkeypatch.setenv("WISP_DATA_DIR", str(folder))
    return folder


@pytest.fixture(autouse=True)
def nothing_withheld() -> Iterator[None]:
    """What one test withheld would be blanked out of what the next one writes."""
    yield
    WITHHELD.forget()


@pytest.fixture(scope="session")
def desktop(own_programs: Path) -> Iterator[VirtualDesktop]:
    """A real X server with a window manager, D-Bus and the accessibility bus; this process lives on it."""
    before = dict(os.environ)
    with VirtualDesktop(1280, 800) as virtual:
        os.environ.update(virtual.environment)
        yield virtual
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(scope="session")
def qapp_args(desktop: VirtualDesktop) -> list[str]:
    """Asked for by pytest-qt before it makes the application: the private desktop is up by then."""
    return ["wisp-tests"]
