"""What `pyproject.toml` declares is what `app` imports: nothing is installed that nobody uses."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_SPELLED = {
    "pyyaml": "yaml",
    "fpdf2": "fpdf",
    "markdown-it-py": "markdown_it",
    "pillow": "PIL",
    "pyside6-essentials": "PySide6",
    "python-docx": "docx",
    "python-xlib": "Xlib",
    "pyxdg": "xdg",
}
"""Distributions whose module has another name."""
_NOT_IMPORTED = {
    "ripgrep": "a program, which `services/files/searching.py` starts",
    "tzdata": "the time zones, which `zoneinfo` reads",
    "onnxruntime": "the engine of rapidocr, which does not depend on one",
}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DECLARED = PROJECT["dependencies"] + PROJECT["optional-dependencies"]["ocr"]
NAMES = [re.match(r"[\w.-]+", entry)[0] for entry in DECLARED]  # type: ignore[index]
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


def test_what_a_small_set_up_leaves_out_is_in_the_lock_and_needed_by_nothing_else() -> None:
    setup = (ROOT / "scripts" / "setup").read_text(encoding="utf-8")
    left_out = set(re.search(r"^recognition=\((.*?)\)", setup, re.MULTILINE | re.DOTALL)[1].split())  # type: ignore[index]
    locked = set(re.findall(r"^([a-z0-9-]+)==", (ROOT / "requirements.lock").read_text(encoding="utf-8"), re.MULTILINE))
    extra = {re.match(r"[\w.-]+", entry)[0] for entry in PROJECT["optional-dependencies"]["ocr"]}  # type: ignore[index]
    needed = {re.match(r"[\w.-]+", entry)[0] for entry in PROJECT["dependencies"]}  # type: ignore[index]
    assert (extra - left_out, left_out - locked, left_out & needed) == (set(), set(), set())
