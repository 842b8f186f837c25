"""Each step of CONTRIBUTING is taken here: a tool, a provider, a tone, a desktop backend, a policy rule."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.agent.policy import Provenance
from app.agent.policy.policy import Policy, PolicyDeps
from app.agent.policy.values import Decision, Mode
from app.assembly import registry
from app.base import paths, resources
from app.base.clock import SystemClock
from app.base.errors import ToolFailed
from app.desktop import choose
from app.desktop.backends import Backend
from app.desktop.headless import HeadlessDesktop
from app.desktop.takeover import StopFlag
from app.protocol.call import Block, ToolCall, ToolResult
from app.protocol.dialects.choose import NAMES, by_name
from app.protocol.spec import Effect, Param, ToolSpec, unbound
from app.providers import profiles
from app.settings import providers, store
from app.tools.executor import Executor, WrittenByThePerson
from app.tools.registry import Family, Registry, TurnContext, admitted
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
    caches = (resources._table, providers.providers, theme._built_in)
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


async def test_the_tool_of_the_guide_is_taught_in_every_dialect_and_runs() -> None:
    names: dict[str, Any] = {
        "Clock": object, "ToolCall": ToolCall, "TurnContext": TurnContext, "ToolFailed": ToolFailed,
        "ToolResult": ToolResult, "Family": Family, "ToolSpec": ToolSpec, "Effect": Effect, "Param": Param,
    }  # fmt: skip
    exec(re.search(r"```python\n(.*?)```", GUIDE, re.DOTALL)[1], names)  # type: ignore[index]
    known = Registry(names["GREET"])
    executor = Executor(known, [names["Greet"](SystemClock())], SystemClock(), seed=1)

    async def audit(_kind: str, _details: object) -> None:
        return None

    async def run(name: str) -> ToolResult:
        turn = TurnContext(admitted, "c1", lambda *_: None, audit, asyncio.Event(), "t1", 0.0)
        done = await executor.run(Block("c1", "greet", args={"name": name}), WrittenByThePerson(), turn)
        return done.result

    for dialect in NAMES:
        made = by_name(dialect)
        assert "greet" in made.teach(known.specs) + str(made.schemas(known.specs))
    assert (await run("Ada")).llm_echo == "Greeted Ada."
    assert "Name somebody" in (await run("nobody")).llm_echo


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


def test_a_desktop_backend_is_a_module_and_the_place_that_chooses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def native(*_: object, **__: object) -> Backend:
        return replace(HeadlessDesktop().backend(StopFlag()), name="example:0")

    monkeypatch.setattr(choose, "_native", native)
    desktop = choose.open_desktop(environment={})
    try:
        assert desktop.name == "example:0"
    finally:
        desktop.close()


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
