"""Shared by all tests: a data folder of their own, and, where asked for, a private desktop."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from app.base.startup import reset_for_children
from app.base.texts import WITHHELD
from app.desktop.x11.virtual import VirtualDesktop
from tests.support.programs import chosen, private_defaults
from tests.support.quarantine import read_quarantine

DATA = Path(__file__).parent / "data"

# No test asserts a time: on a busy machine Hypothesis' own limits, 200 ms an example and its health, fail at random.
hypothesis.settings.register_profile("suite", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("suite")

# As `wisp` does at its start: the suite may run in the background of a shell.
reset_for_children()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The stories of the quarantine list get three tries, everything else one."""
    quarantined = read_quarantine()
    for item in items:
        if item.nodeid.partition("[")[0] in quarantined:
            item.add_marker(pytest.mark.flaky(reruns=2))


@pytest.fixture(autouse=True)
def own_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test reads or writes the files of the person who runs it."""
    folder = tmp_path / "wisp"
    monkeypatch.setenv("WISP_DATA_DIR", str(folder))
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "WISP_PROVIDER", "WISP_MODEL"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture(autouse=True)
def nothing_withheld() -> Iterator[None]:
    """What one test withheld would be blanked out of what the next one writes."""
    yield
    WITHHELD.forget()


@pytest.fixture(scope="session", autouse=True)
def own_programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What else is installed on this machine changes nothing: "the editor" is the one of the suite."""
    before = dict(os.environ)
    os.environ.update(private_defaults(tmp_path_factory.mktemp("programs"), chosen()))
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(scope="session")
def desktop(own_programs: None) -> Iterator[VirtualDesktop]:
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
