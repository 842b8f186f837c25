"""Each step of CONTRIBUTING is taken here: a tool, a provider, a tone, a desktop backend, a policy rule."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.agent.policy import Provenance
from app.agent.policy.policy import Policy, PolicyDeps
from app.agent.policy.values import Decision, Mode
from app.assembly import registry
from app.base import paths, resources
from app.protocol.call import ToolCall
from app.protocol.dialects.choose import NAMES
from app.protocol.spec import Effect, Param, ToolSpec, unbound
from app.providers import profiles
from app.settings import providers, store, tokens
from app.ui.system.speech import manner_of
from app.ui.theme import theme

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of `resources`, which everything reads while the test runs."""
    copy = tmp_path / "resources"
    shutil.copytree(paths.resources(), copy)
    monkeypatch.setattr(paths, "resources", lambda: copy)
    caches = (resources._table, providers.providers, tokens._built_in, tokens._face)
    for cached in caches:
        cached.cache_clear()
    yield copy
    for cached in caches:
        cached.cache_clear()


def _insert(file: Path, before: str, text: str) -> None:
    written = file.read_text(encoding="utf-8")
    assert before in written
    file.write_text(written.replace(before, f"{before}\n{text}", 1), encoding="utf-8")


@pytest.mark.parametrize("subject", ["tool", "provider", "tone", "desktop backend", "policy rule"])
def test_each_kind_of_change_names_at_most_three_files_in_order(subject: str) -> None:
    part = GUIDE.partition(f"## Adding a {subject}\n")[2].partition("\n## ")[0]
    steps = re.findall(r"^(\d)\. `([^`]+)`", part, re.MULTILINE)
    assert [int(number) for number, _ in steps] == list(range(1, len(steps) + 1))
    assert 1 <= len(steps) <= 3
    for _, place in steps:
        assert (ROOT / place).exists() or "<name>" in place, place


def _example(place: str) -> str:
    """The module that the guide shows for this place."""
    found = re.search(rf"```python\n# {re.escape(place)}\n(.*?)```", GUIDE, re.DOTALL)
    assert found, place
    return found[1]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of Wisp to change, with the suite's support and the desktop's contract."""
    copy = tmp_path / "checkout"
    skipped = shutil.ignore_patterns("__pycache__")
    for place in ("app", "resources", "tests/support", "tests/data"):
        shutil.copytree(ROOT / place, copy / place, ignore=skipped)
    contract = copy / "tests" / "contract"
    contract.mkdir()
    for place in ("pyproject.toml", "tests/__init__.py", "tests/conftest.py", "tests/contract/test_desktop.py"):
        shutil.copy(ROOT / place, copy / place)
    (contract / "__init__.py").touch()
    return copy


def _replace(file: Path, old: str, new: str) -> None:
    written = file.read_text(encoding="utf-8")
    assert written.count(old) == 1, old
    file.write_text(written.replace(old, new), encoding="utf-8")


def _python(checkout: Path, *words: str, code: int = 0) -> str:
    """Run Python in the copy, and return what it printed. Another exit code fails the test with its words."""
    environment = {**os.environ, "PYTHONPATH": str(checkout), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, *words], cwd=checkout, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


_NATIVE = """
import asyncio
from app.base.clock import SystemClock
from app.protocol.call import Block
from app.tools.executor import Executor, WrittenByThePerson
from app.tools.greet import GREET, Greet
from app.tools.registry import Registry, TurnContext, admitted

async def run():
    async def audit(kind, details): pass
    turn = TurnContext(admitted, "c1", lambda *_: None, audit, asyncio.Event(), "t1", 0.0)
    executor = Executor(Registry(GREET), [Greet(SystemClock())], SystemClock(), seed=1)
    done = await executor.run(Block("c1", "greet", args={"name": "Ada"}), WrittenByThePerson(), turn)
    print(done.result.llm_echo)

asyncio.run(run())
"""


def test_the_tool_of_the_guide_is_taught_in_every_dialect_and_called_in_every_dialect(checkout: Path) -> None:
    (checkout / "app" / "tools" / "greet.py").write_text(_example("app/tools/greet.py"), encoding="utf-8")
    assembly = checkout / "app" / "assembly.py"
    _replace(
        assembly, "from app.tools.mcp import", "from app.tools.greet import GREET, Greet\nfrom app.tools.mcp import"
    )
    _replace(assembly, "*(SAY, ", "*(SAY, GREET, ")
    _replace(assembly, "        Speech(),\n", "        Speech(),\n        Greet(clock),\n")
    card = '[greet]\nglyph = "spark"\npresent = "Greeting"\npast = "Greeted"\nfailed = "Could not greet"\n'
    _insert(checkout / "resources" / "cards.toml", "", f'{card}objects = ["{{name}}"]\n')
    for dialect in NAMES:
        taught = _python(checkout, "-m", "app", "tools", "--dialect", dialect)
        assert "Greets somebody by name." in taught
        # A native declaration is short: it names the argument and leaves its description out.
        assert ('"name": {' if dialect == "native" else "who to greet") in taught
    calls = {
        "xml": '<greet name="Ada"/>',
        "batch": '<execute>[{"name": "greet", "args": {"name": "Ada"}}]</execute>',
    }
    for dialect, call in calls.items():
        assert "Greeted Ada." in _python(checkout, "-m", "app", "tool", "--no-screen", "--dialect", dialect, call)
    assert "Greeted Ada." in _python(checkout, "-c", _NATIVE)
    assert "Name somebody" in _python(checkout, "-m", "app", "tool", "--no-screen", '<greet name="nobody"/>', code=1)


def test_a_provider_is_a_function_and_a_row(shipped: Path) -> None:
    row = 'label = "Example"\nmake = "app.providers.offline:make"\nmaker = "Example"\nkey = "EXAMPLE_API_KEY"\n'
    file = shipped / "providers.toml"
    file.write_text(f"{file.read_text(encoding='utf-8')}\n[example]\n{row}", encoding="utf-8")
    assert "EXAMPLE_API_KEY" in providers.key_variables()
    assert "example" in [known.id for known in providers.with_keys()]
    assert profiles.make("example", store.load(), lambda _: "").name == "offline"


def test_a_tone_is_a_row_and_two_colours(shipped: Path) -> None:
    _insert(shipped / "speech.toml", "[tones]", "sly = { rate = 0.0, pitch = -0.2, volume = 0.6, pace = 0.7 }")
    for scheme in ("light", "dark"):
        _insert(shipped / "themes" / f"{scheme}.toml", "[tones]", 'sly = "#335577"')
        made = theme.load(scheme)
        assert "sly" in made.tones
        assert made.tempo("sly") == 0.7
    assert manner_of("sly").pitch == -0.2


def test_the_backend_of_the_guide_keeps_a_part_of_the_desktops_contract(checkout: Path) -> None:
    (checkout / "app" / "desktop" / "example.py").write_text(_example("app/desktop/example.py"), encoding="utf-8")
    chosen = (
        "from app.desktop.x11.backend import make_backend\n\n        return make_backend(environment, stop, private, "
    )
    chosen += "is_portable=is_portable)"
    example = "from app.desktop.example import make_backend\n\n        return make_backend(stop)"
    _replace(checkout / "app" / "desktop" / "choose.py", chosen, example)
    contract = checkout / "tests" / "contract" / "test_desktop.py"
    _replace(contract, '["headless", "x11", "portable"]', '["headless", "example"]')
    _replace(contract, 'virtual: VirtualDesktop = request.getfixturevalue("desktop")', "")
    _replace(contract, "virtual.environment", "{}")
    kept = "monitors or grab or pointer_is or button or clipboard or stop_holds"
    passed = _python(checkout, "-m", "pytest", str(contract), "-k", f"example and ({kept})")
    assert int(re.search(r"(\d+) passed", passed)[1]) == 10  # type: ignore[index]


def test_a_rule_is_written_where_the_others_are(shipped: Path, tmp_path: Path) -> None:
    spec = ToolSpec("probe", "A probe.", Effect.READS, unbound, attrs=(Param("path"),))
    call = ToolCall("c1", "probe", {"path": "plans.txt"})

    def decision() -> Decision:
        around = PolicyDeps(tools=(*registry().specs, spec))
        return (
            Policy(tmp_path, Mode.ASK, surroundings=around, persons=tmp_path / "none.toml")
            .decide(call, spec, (), Provenance())
            .decision
        )

    assert decision() is Decision.ALLOW
    file = shipped / "policy" / "default.toml"
    rule = '[[rule]]\nname = "plans"\nthen = "deny"\npath = "plans.*"\nsays = "$path stays closed."\n'
    file.write_text(f"{file.read_text(encoding='utf-8')}\n{rule}", encoding="utf-8")
    assert decision() is Decision.DENY


@pytest.mark.parametrize("script", sorted((ROOT / "scripts" / "bench").glob("*.py")), ids=lambda script: script.stem)
def test_a_script_that_measures_says_what_it_takes(script: Path) -> None:
    source = script.read_text(encoding="utf-8")
    assert "__main__" not in source or "argparse.ArgumentParser(" in source
