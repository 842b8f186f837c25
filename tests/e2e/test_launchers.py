"""Words that are typed into a program that starts programs ask; a program is known by what it is, not by its name."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from app.agent.inspection import DesktopInspector
from app.agent.policy import Control, Policy, Provenance
from app.assembly import registry
from app.desktop.choose import open_desktop
from app.desktop.controller import DesktopController
from app.desktop.desktop import Desktop
from app.protocol.call import ToolCall
from app.protocol.spec import ScreenAim
from tests.e2e.conftest import ROOT, Screen
from tests.support.sampling import first_of
from tests.support.waiting import eventually

pytestmark = pytest.mark.timeout(120)

PROGRAMS: dict[str, dict[str, Any]] = {
    name: program
    for name, program in tomllib.loads((ROOT / "tests/data/launchers.toml").read_text("utf-8"))["program"].items()
    if program.get("in_suite")
}
REGISTRY = registry()
COMMAND = ToolCall("c1", "computer_type", {"text": "touch /tmp/made\n"})
LETTERS = ToolCall("c4", "computer_type", {"text": "dd"})
CLICK = ToolCall("c5", "computer_click", {"x": 300, "y": 300, "space": "screen"})
EDITS, BEGINS, SCROLLS = (
    ToolCall("c6", "computer_key", {"keys": keys}) for keys in ("ctrl+e", "Escape", "shift+Page_Up")
)
IN_A_TERMINAL = (LETTERS, CLICK, EDITS, BEGINS, SCROLLS)
AT_A_PROMPT, IN_A_PROGRAM = "allow allow allow ask allow", "ask ask ask ask allow"
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


@pytest.mark.long
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
        assert (seen.name, seen.window.is_launcher, seen.opens) == (item, True, opens), seen
        verdict = Policy(tmp_path, persons=tmp_path / "none.toml").decide(call, spec, (seen,), Provenance())
        assert verdict.decision.value == decision, verdict


async def _found(desktop: Desktop, call: ToolCall) -> Control:
    """What the call would act on, as soon as the program shows it."""
    for _ in range(50):
        seen = (await DesktopInspector(desktop).seen(call, ScreenAim.POINT))[-1]
        if seen.window.app:
            return seen
        await desktop.run(_waited)
    return seen


async def _waited(controller: DesktopController) -> None:
    await controller.backend.windows.changed(0.2)


@pytest.mark.parametrize("name", first_of(PROGRAMS))
async def test_what_is_typed_asks_where_it_starts_programs(screen: Screen, tmp_path: Path, name: str) -> None:
    program = PROGRAMS[name]
    policy = Policy(tmp_path, persons=tmp_path / "none.toml")
    with _running(screen, program["command"]), _desktop(screen) as desktop:
        assert await desktop.run(_has_opened)
        for call in (COMMAND, RETURN):
            seen: list[Control] = list(await DesktopInspector(desktop).seen(call, ScreenAim.FOCUS))
            assert seen[-1].window.runs_programs is program["launcher"], seen
            spec = REGISTRY.find(call.name)
            assert spec
            verdict = policy.decide(call, spec, seen, Provenance())
            assert verdict.act
            assert ("terminal" in verdict.act.kinds) is program["launcher"], verdict
            assert verdict.decision.value == "ask" or not program["launcher"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("line", "prompts", "decisions"),
    [
        ("", 1, AT_A_PROMPT),
        ("vim -n -u NONE", 1, IN_A_PROGRAM),
        ("less /etc/passwd", 1, IN_A_PROGRAM),
        ("sleep 100", 1, IN_A_PROGRAM),
        ("ls /", 2, AT_A_PROMPT),
    ],
    ids=["prompt", "vim", "less", "sleep", "later"],
)
async def test_what_a_terminal_takes_asks_unless_a_shell_at_its_prompt_edits_its_line_by_it(
    screen: Screen, tmp_path: Path, line: str, prompts: int, decisions: str
) -> None:
    policy = Policy(tmp_path, persons=tmp_path / "none.toml")
    ready = tmp_path / "ready"
    bash = ["env", f"PROMPT_COMMAND=echo >> {ready}", "bash", "--norc"]
    with (
        _running(screen, ["xterm", "-title", "box", "-geometry", "80x24+100+100", "-e", *bash]),
        _desktop(screen) as desktop,
    ):
        assert await desktop.run(_has_opened)
        assert await asyncio.to_thread(eventually, ready.exists)
        if line:
            typing = ["xdotool", "type", f"{line}\n"]
            await asyncio.to_thread(subprocess.run, typing, env=screen.environment, check=True)
        assert await asyncio.to_thread(eventually, lambda: ready.read_text() == "\n" * prompts)
        for call, decision in zip(IN_A_TERMINAL, decisions.split(), strict=True):
            spec = REGISTRY.find(call.name)
            assert spec and spec.aim
            for _ in range(50):
                seen = await DesktopInspector(desktop).seen(call, spec.aim)
                verdict = policy.decide(call, spec, seen, Provenance())
                if verdict.decision.value == decision:
                    break
                await desktop.run(_waited)
            assert verdict.decision.value == decision, (call, verdict)
