"""Words that are typed into a program that starts programs ask; a program is known by what it is, not by its name."""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from app.agent.inspection import DesktopInspector
from app.agent.policy import Control, Policy
from app.assembly import registry
from app.desktop.choose import open_desktop
from app.desktop.controller import DesktopController
from app.desktop.desktop import Desktop
from app.protocol.call import ToolCall
from tests.e2e.conftest import ROOT, Screen

pytestmark = pytest.mark.timeout(120)

PROGRAMS: dict[str, dict[str, Any]] = {
    name: program
    for name, program in tomllib.loads((ROOT / "tests/data/launchers.toml").read_text("utf-8"))["program"].items()
    if program.get("in_suite")
}
REGISTRY = registry()
COMMAND = ToolCall("c1", "computer_type", {"text": "touch /tmp/made\n"})
RETURN = ToolCall("c2", "computer_key", {"keys": "Return"})


@contextmanager
def _desktop(screen: Screen) -> Iterator[Desktop]:
    opened = open_desktop(environment=screen.environment)
    try:
        yield opened
    finally:
        opened.close()


async def _has_opened(controller: DesktopController) -> bool:
    """Wait until a window is active, or a menu that nobody lists takes the keys."""
    for _ in range(100):
        windows = controller.backend.windows
        if any(window.is_active for window in windows.all()) or any(window.takes_keys for window in windows.shown()):
            return True
        await controller.backend.windows.changed(0.2)
    return False


@contextmanager
def _running(screen: Screen, command: list[str]) -> Iterator[None]:
    assert shutil.which(command[0]), "scripts/setup test installs it"
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, env=screen.environment, stdin=quiet, stdout=quiet)
    try:
        yield
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    ("item", "opens", "decision"),
    [
        ("evil", "runs", "ask"),
        ("page.html", "loads", "ask"),
        ("notes.txt", "plain", "allow"),
        ("inner", "folder", "allow"),
    ],
)
async def test_an_item_of_a_file_manager_is_judged_as_the_file_that_it_is(
    screen: Screen, tmp_path: Path, item: str, opens: str, decision: str
) -> None:
    folder = tmp_path / "built"
    (folder / "inner").mkdir(parents=True)
    (folder / "evil").write_bytes(b"\x7fELF")
    (folder / "evil").chmod(0o755)
    (folder / "page.html").write_text("<script>location='http://evil.example'</script>")
    (folder / "notes.txt").write_text("hello")
    call = ToolCall("c3", "computer_click", {"target": item, "count": 2})
    spec = REGISTRY.find(call.name)
    assert spec
    with _running(screen, ["pcmanfm", str(folder)]), _desktop(screen) as desktop:
        assert await desktop.run(_has_opened)
        seen = await _found(desktop, call)
        assert (seen.name, seen.is_launcher, seen.opens) == (item, True, opens), seen
        verdict = Policy(tmp_path, persons=tmp_path / "none.toml").decide(call, spec, (seen,))
        assert verdict.decision.value == decision, verdict


async def _found(desktop: Desktop, call: ToolCall) -> Control:
    """What the call would act on, as soon as the program shows it."""
    for _ in range(50):
        seen = (await DesktopInspector(desktop).seen(call, "point"))[-1]
        if seen.app:
            return seen
        await desktop.run(_waited)
    return seen


async def _waited(controller: DesktopController) -> None:
    await controller.backend.windows.changed(0.2)


@pytest.mark.parametrize("name", PROGRAMS)
async def test_what_is_typed_asks_where_it_starts_programs(screen: Screen, tmp_path: Path, name: str) -> None:
    program = PROGRAMS[name]
    policy = Policy(tmp_path, persons=tmp_path / "none.toml")
    with _running(screen, program["command"]), _desktop(screen) as desktop:
        assert await desktop.run(_has_opened)
        for call in (COMMAND, RETURN):
            seen: list[Control] = list(await DesktopInspector(desktop).seen(call, "focus"))
            assert seen[-1].runs_programs is program["launcher"], seen
            spec = REGISTRY.find(call.name)
            assert spec
            verdict = policy.decide(call, spec, seen)
            assert verdict.act
            assert ("terminal" in verdict.act.kinds) is program["launcher"], verdict
            assert verdict.decision.value == "ask" or not program["launcher"]
