"""The rules of the house that protect people, and that no linter holds."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from app.assembly import registry
from app.features import loading

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted((ROOT / "app").rglob("*.py"))
_BORDERS = (
    *("app/tools/executor.py", "app/cli.py", "app/features/fleet/desk.py"),
    *("app/features/loading.py", "app/features/opened.py"),
)
"""Where errors of every kind are translated for the model, the person and other programs, and where other people's
code comes in."""

_NAMES_TOOLS = (
    *("app/tools/", "app/features/", "app/protocol/dialects/"),
    *("app/providers/anthropic/", "app/providers/offline/"),  # a vendor's tools and a sentence become calls by name
)


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_broad_excepts_stand_only_at_the_borders() -> None:
    found = []
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ExceptHandler) and isinstance(node.type, ast.Name):
                is_broad = node.type.id in {"Exception", "BaseException"}
                rethrows = any(isinstance(inner, ast.Raise) and inner.exc is None for inner in ast.walk(node))
                if is_broad and not rethrows and _name(path) not in _BORDERS:
                    found.append(f"{_name(path)}:{node.lineno}")
    assert found == []


def test_nothing_waits_by_sleeping_in_the_product() -> None:
    assert [_name(path) for path in MODULES if "time.sleep(" in path.read_text(encoding="utf-8")] == []


def test_no_module_outside_the_tools_names_one() -> None:
    """What is to be known of a tool is in its spec or its result. A name of one word is any word, so it is not seen."""
    names = {name for spec in registry() for name in (spec.name, *spec.aliases) if "_" in name}
    found = []
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and node.value in names and not _name(path).startswith(_NAMES_TOOLS):
                found.append(f"{_name(path)}:{node.lineno}: {node.value}")
    assert found == []


def test_every_setting_is_used_somewhere() -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in MODULES if path.name != "catalog.py")
    catalog = ast.parse((ROOT / "app" / "settings" / "catalog.py").read_text(encoding="utf-8"))
    names = {
        target.id
        for node in catalog.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    assert {name for name in names - {"T"} if not re.search(rf"\b{name}\b", source)} == set()


def test_no_address_of_a_package_registry_is_named() -> None:
    # Written in pieces so that this file does not name them itself.
    forbidden = re.compile("files.python" + r"hosted|py" + r"pi\.org|registry\." + "npmjs|deb\\.deb" + "ian")
    places = [ROOT / "requirements.lock", ROOT / "tests" / "requirements.lock", ROOT / "README.md", *MODULES]
    assert [_name(path) for path in places if forbidden.search(path.read_text(encoding="utf-8"))] == []


def test_void_calls_of_qt_do_not_eat_none() -> None:
    """PySide6 6.12 does, before Python 3.12."""
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


def test_help_loads_neither_qt_nor_the_desktop() -> None:
    script = (
        "import contextlib, io, sys\n"
        "from app.cli import main\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        "    main(['--help'])\n"
        "heavy = ('PySide6', 'Xlib', 'mss', 'anthropic', 'openai', 'PIL', 'dbus_fast', 'numpy', 'httpx2')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_every_feature_is_known_and_held_apart_from_the_others() -> None:
    folders = {path.parent.name for path in (ROOT / "app" / "features").glob("*/__init__.py")}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    lists = [one.get("modules") or one["forbidden_modules"] for one in contracts if one["id"] in ("features", "names")]
    assert [folders, folders] == [{name.rpartition(".")[2] for name in names} for names in lists]
    assert folders == set(loading.OWN)
