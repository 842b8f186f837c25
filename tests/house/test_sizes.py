"""Sizes that keep the code readable. A limit may be moved with a reason, here and in ARCHITECTURE.md."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
APP = ROOT / "app"
MODULE_LINES = 500
FUNCTION_LINES = 60
FORBIDDEN_STEMS = {"utils", "util", "helpers", "helper", "common", "misc", "core", "manager"}
FORBIDDEN_CLASS_WORDS = ("Manager", "Base", "Abstract", "Helper", "Utils")

MODULES = sorted(APP.rglob("*.py"))


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))


def _is_table(tree: ast.Module) -> bool:
    """A module that holds nothing but data is exempt from the line limit."""
    return not any(isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) for node in ast.walk(tree))


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_a_module_keeps_its_size_its_names_and_says_what_it_is_for(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    found = []
    lines = text.count("\n")
    if lines > MODULE_LINES and not _is_table(tree):
        found.append(f"{lines} lines, at most {MODULE_LINES}")
    if path.stem in FORBIDDEN_STEMS:
        found.append("the file's name says nothing")
    if not ast.get_docstring(tree):
        found.append("no docstring")
    for node in _functions(tree):
        length = (node.end_lineno or 0) - node.lineno + 1
        if length > FUNCTION_LINES:
            found.append(f"{node.name} has {length} lines, at most {FUNCTION_LINES}")
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            found.extend(_class_faults(node))
    assert found == []


def _class_faults(node: ast.ClassDef) -> list[str]:
    if any(node.name.startswith(word) or node.name.endswith(word) for word in FORBIDDEN_CLASS_WORDS):
        return [f"class {node.name} is not named for what it is"]
    return []


def test_broad_excepts_stand_only_at_the_three_borders() -> None:
    borders = {"app/tools/executor.py", "app/cli.py"}
    found = []
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ExceptHandler) and isinstance(node.type, ast.Name):
                broad = node.type.id in {"Exception", "BaseException"}
                rethrows = any(isinstance(inner, ast.Raise) and inner.exc is None for inner in ast.walk(node))
                if broad and not rethrows and _name(path) not in borders:
                    found.append(f"{_name(path)}:{node.lineno}")
    assert found == []


def test_nothing_waits_by_sleeping_in_the_product() -> None:
    found = [
        f"{_name(path)}:{number}"
        for path in MODULES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if "time.sleep(" in line
    ]
    assert found == []


def test_unit_tests_stand_where_their_subject_stands() -> None:
    unit = ROOT / "tests" / "unit"
    folders = {path.parent.relative_to(unit) for path in unit.rglob("test_*.py")}
    assert [str(folder) for folder in sorted(folders) if not (APP / folder).is_dir()] == []
