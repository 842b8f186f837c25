"""What `pyproject.toml` declares is what `app` imports: nothing is installed that nobody uses."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_SPELLED = {
    "pillow": "PIL",
    "pyside6-essentials": "PySide6",
    "python-docx": "docx",
    "python-xlib": "Xlib",
    "pyxdg": "xdg",
}
"""Distributions whose module has another name."""
_NOT_IMPORTED = {
    "ripgrep": "a program, which `services/files/searching.py` starts",
    "onnxruntime": "the engine of rapidocr, which does not depend on one",
}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NAMES = [re.match(r"[\w.-]+", entry)[0] for entry in PROJECT["dependencies"]]  # type: ignore[index]
SOURCES = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "app").rglob("*.py")))
TABLES = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "resources").rglob("*.toml")))


@pytest.mark.parametrize("name", sorted(set(NAMES) - set(_NOT_IMPORTED)))
def test_a_declared_dependency_is_imported(name: str) -> None:
    module = re.escape(_SPELLED.get(name, name.replace("-", "_")))
    imported = re.search(rf"(?:^\s*(?:from|import) |import_module\(\"|\"){module}\b", SOURCES, re.MULTILINE)
    assert imported or f'"{name.replace("-", "_")}' in TABLES


@pytest.mark.parametrize("name", sorted(_NOT_IMPORTED))
def test_an_exception_is_still_declared(name: str) -> None:
    assert name in NAMES
