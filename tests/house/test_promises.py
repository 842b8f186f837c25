"""Promises the repository makes about itself."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from app.agent.policy import sentences
from app.agent.policy.sentences import table
from app.agent.policy.values import Consequence
from app.assembly import registry
from app.base import paths
from app.services import skills
from app.services.files import places
from app.settings.catalog import ALL
from app.tools.computer import ACTIONS

ROOT = Path(__file__).resolve().parents[2]
TRACKED = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
INSTRUCTIONS = """
.wisp/skills/a/SKILL.md .agents/skills/a/SKILL.md .claude/skills/a/SKILL.md .claude/settings.json AGENTS.md CLAUDE.md
CLAUDE.local.md GEMINI.md .cursor/rules/a.mdc .cursorrules .windsurfrules .clinerules/a.md .vscode/tasks.json
.idea/a.xml
.envrc .github/copilot-instructions.md .github/instructions/a.md .kiro/steering/a.md .roo/rules/a.md
.junie/guidelines.md
.continue/rules/a.md .codex/config.toml .gemini/settings.json .mcp.json .goosehints .amazonq/rules/a.md
"""


def _text_of(name: str) -> str:
    try:
        return (ROOT / name).read_text(encoding="utf-8")
    except (UnicodeDecodeError, OSError):
        return ""


@pytest.mark.parametrize("setting", ALL, ids=lambda setting: setting.key)
def test_every_setting_is_documented_in_the_readme(setting: object) -> None:
    readme = _text_of("README.md")
    assert f"`{setting.key}`" in readme  # type: ignore[attr-defined]
    if setting.env:  # type: ignore[attr-defined]
        assert f"`{setting.env}`" in readme  # type: ignore[attr-defined]


def test_every_setting_is_used_somewhere() -> None:
    source = "\n".join(_text_of(n) for n in TRACKED if n.startswith("app/") and not n.endswith("settings/catalog.py"))
    names = {
        target.id
        for node in ast.parse(_text_of("app/settings/catalog.py")).body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and isinstance(node.value, ast.Call)
    }
    assert {name for name in names - {"T"} if not re.search(rf"\b{name}\b", source)} == set()


def test_the_tables_of_the_policy_name_only_known_consequences() -> None:
    calls, controls, keys = table("calls"), table("controls"), table("keys")
    modes = table("default")["modes"].values()
    named = {
        *(kind for kinds in calls["tools"].values() for kind in kinds),
        *(kind for words in controls["words"].values() for kind in words["kinds"]),
        *keys["kinds"],
        *(kind for mode in modes for kind in mode.get("kinds", {})),
        *(kind for rule in table("default")["rule"] for kind in _listed(rule.get("kind", []))),
        *sentences.KINDS_IN_ORDER,
    }
    assert named - set(Consequence) == set()


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def test_every_argument_that_a_tool_names_is_its_own() -> None:
    named = {spec: {spec.typed, spec.pressed, spec.copied, spec.opens} - {""} for spec in registry().specs}
    assert [spec.name for spec, names in named.items() if names - {param.name for param in spec.params}] == []


def test_every_step_of_a_batch_stands_for_a_tool_that_the_gate_can_judge() -> None:
    tools = registry()
    assert [name for name in ACTIONS if tools.find_step(name) is None] == []


def test_no_private_path_and_no_registry_host_is_named() -> None:
    # Written in pieces so that this file does not name them itself.
    forbidden = re.compile(
        "/wo" + "rk/|files.python" + r"hosted|py" + r"pi\.org|registry\." + "npmjs|deb\\.deb" + "ian"
    )
    found = [name for name in TRACKED if name and forbidden.search(_text_of(name))]
    assert found == []


def test_mocks_and_silent_skips_are_not_used() -> None:
    pattern = re.compile(r"unittest[.]mock|pytest[.]mark[.]skip\b|assert True\b")
    found = [n for n in TRACKED if n.startswith("tests/") and n.endswith(".py") and pattern.search(_text_of(n))]
    assert set(found) <= {"tests/house/test_promises.py"}


def test_void_calls_of_qt_do_not_eat_none() -> None:
    script = (
        "import sys\n"
        "from PySide6.QtCore import QPoint\n"
        "point = QPoint()\n"
        "before = sys.getrefcount(None)\n"
        "for _ in range(1000): point.setX(1)\n"
        "print(before - sys.getrefcount(None))"
    )
    lost = int(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout)
    assert abs(lost) < 100


@pytest.mark.parametrize("command", [["--help"], ["parse", "--help"], ["tools", "--help"]], ids=" ".join)
def test_help_and_parse_load_neither_qt_nor_the_desktop(command: list[str]) -> None:
    script = (
        "import contextlib, io, sys\n"
        "from app.cli import main\n"
        "with contextlib.redirect_stdout(io.StringIO()):\n"
        "    try:\n"
        f"        main({command!r})\n"
        "    except SystemExit:\n"
        "        pass\n"
        "heavy = ('PySide6', 'Xlib', 'mss', 'anthropic', 'openai', 'PIL', 'dbus_fast', 'numpy', 'httpx2')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


@pytest.mark.parametrize("base", ["", "deep/in/a/project/"])
@pytest.mark.parametrize(
    "name",
    [
        ".wisp/skills/a/SKILL.md",
        ".agents/skills/a/SKILL.md",
        ".claude/skills/a/SKILL.md",
        ".claude/settings.json",
        "AGENTS.md",
        "CLAUDE.md",
        "CLAUDE.local.md",
        "GEMINI.md",
        ".cursor/rules/a.mdc",
        ".cursorrules",
        ".windsurfrules",
        ".clinerules/a.md",
        ".vscode/tasks.json",
        ".idea/a.xml",
        ".envrc",
        ".github/copilot-instructions.md",
        ".github/instructions/a.md",
        ".kiro/steering/a.md",
        ".roo/rules/a.md",
        ".junie/guidelines.md",
        ".continue/rules/a.md",
        ".codex/config.toml",
        ".gemini/settings.json",
        ".mcp.json",
        ".goosehints",
        ".amazonq/rules/a.md",
    ],
)
def test_where_instructions_are_read_from_no_tool_writes(base: str, name: str) -> None:
    assert places.starts_by_itself(Path("/x", base, name).parts)


def test_skills_are_read_from_protected_folders_only() -> None:
    read_from = places.table()["skills"]
    assert all(places.starts_by_itself(Path(name, "a").parts) for names in read_from.values() for name in names)
    source = _text_of("app/services/skills.py")
    assert not re.search(r"[\"']\.?\w*/skills[\"']", source), "a folder of skills that the table does not list"
    assert str(skills.own_folder()).startswith(str(paths.config_dir()))
