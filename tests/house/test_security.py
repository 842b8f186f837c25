"""SECURITY.md names tests; a promise whose test is gone is none."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`((?:tests|scripts)/[\w/.]+|test_\w+)`", PAGE)))


@cache
def _defined() -> Counter[str]:
    """How often a function of each name stands in the tests."""
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "tests").rglob("test_*.py"))
    nodes = (node for tree in trees for node in ast.walk(tree))
    return Counter(node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))


@pytest.mark.parametrize("named", NAMED)
def test_what_is_named_as_a_proof_exists_once(named: str) -> None:
    if "/" in named:
        assert (ROOT / named).exists()
    else:
        assert _defined()[named] == 1


def test_every_proof_is_named_so_that_it_is_looked_for() -> None:
    assert len(NAMED) > 150
    assert re.findall(r"`[^`]*::[^`]*`", PAGE) == []


def test_every_threat_has_a_row_with_a_proof() -> None:
    rows = {match[1]: match[0] for match in re.finditer(r"^\| (T\d+) \|.*$", PAGE, re.MULTILINE)}
    assert list(rows) == [f"T{number}" for number in range(1, 21)]
    assert [name for name, row in rows.items() if not re.search(r"`(?:tests/|test_)", row)] == []


def test_every_promise_names_a_test_that_holds_it() -> None:
    promises = PAGE.split("## What is promised\n")[1].split("\n## ")[0]
    rows = [line for line in promises.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 50
    assert [row[:60] for row in rows if not re.search(r"`(?:tests/[\w/]+\.py|test_\w+)`[^|]* \|$", row)] == []


def test_the_figures_are_those_of_the_corpora() -> None:
    corpora = ROOT / "tests" / "hostile" / "corpus"
    told = {int(number) for number in re.findall(r"with (\d+) (?:injections|paths|addresses|payloads|texts)", PAGE)}
    assert told == {
        len((corpora / f"{name}.jsonl").read_text(encoding="utf-8").splitlines())
        for name in ("injections", "paths", "addresses", "payloads", "unicode")
    }
