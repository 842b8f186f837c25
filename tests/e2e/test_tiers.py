"""A program is known by its process, desktop entry and pseudo-terminal, never by its title: on real programs."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.agent.inspection import DesktopInspector
from app.agent.policy import Decision, Mode, Policy, Subject, Tier, Trust
from app.agent.policy.values import Consequence
from app.assembly import registry
from app.desktop.choose import open_desktop
from app.desktop.controller import DesktopController
from app.desktop.desktop import Desktop
from app.features.browser.starting import program
from app.protocol.call import ToolCall
from tests.e2e.conftest import Screen
from tests.support.sampling import first_of

pytestmark = pytest.mark.timeout(120)

_CHROMIUM = (program() or "chromium", "--no-sandbox", "--no-first-run", "--disable-gpu", "about:blank")
_PROGRAMS = {
    "xterm": (("xterm",), Tier.COMMANDS),
    "a terminal under another name": (("xterm", "-class", "Notes", "-name", "notes", "-title", "notes"), Tier.COMMANDS),
    "a run dialog": (("gmrun",), Tier.COMMANDS),
    "a menu that nobody lists": (("dmenu_run",), Tier.COMMANDS),
    "a launcher": (("rofi", "-show", "run"), Tier.COMMANDS),
    "an editor": (("mousepad", "--disable-server"), Tier.ORDINARY),
    "a calculator": (("galculator",), Tier.ORDINARY),
    "a password manager by its class": (("zenity", "--entry", "--class=KeePassXC"), Tier.NEVER),
    "a browser": (_CHROMIUM, Tier.OTHERS),
}
_SPECS = registry()
_TYPE = ToolCall("c1", "computer_type", {"text": "hello"})


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
def _running(screen: Screen, command: tuple[str, ...]) -> Iterator[None]:
    assert shutil.which(command[0]), "scripts/setup test installs it"
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, env=screen.environment, stdin=quiet, stdout=quiet, stderr=quiet)
    try:
        yield
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("name", first_of(_PROGRAMS))
async def test_what_is_typed_is_judged_by_what_its_program_can_do(screen: Screen, tmp_path: Path, name: str) -> None:
    command, tier = _PROGRAMS[name]
    spec = _SPECS.find(_TYPE.name)
    assert spec and spec.aim
    with _running(screen, command), _desktop(screen) as desktop:
        assert await desktop.run(_has_opened)
        seen = await DesktopInspector(desktop).seen(_TYPE, spec.aim)
    policy = Policy(tmp_path, Mode.AUTO, persons=tmp_path / "none.toml")
    assert policy.tier(seen[-1].window.owner) is tier, seen
    verdict = policy.decide(_TYPE, spec, seen, Trust())
    assert verdict.act
    assert (Consequence.NEVER in verdict.act.kinds) is (tier is Tier.NEVER)
    wanted = {Tier.ORDINARY: Decision.ALLOW, Tier.NEVER: Decision.DENY}.get(tier, Decision.ASK)
    assert verdict.decision is wanted, verdict
    if tier is not Tier.NEVER:
        granted = Trust(frozenset(need.grant for need in verdict.act.needs if need.subject is Subject.PROGRAM))
        assert policy.decide(_TYPE, spec, seen, granted).decision is Decision.ALLOW
        after = policy.decide(_TYPE, spec, seen, Trust(granted.grants, tainted_by=("web",)))
        assert after.decision is (Decision.ASK if tier is Tier.COMMANDS else Decision.ALLOW), after
