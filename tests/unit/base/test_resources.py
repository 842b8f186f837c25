"""Every table of `resources` comes in the shape its user names, or with an error that names the file and the place."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from app.base import paths, resources

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True, slots=True)
class Fruit:
    name: str
    seeds: int | None = None
    colors: frozenset[str] = frozenset()


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "resources", lambda: tmp_path)
    return tmp_path / "table.toml"


@pytest.mark.parametrize(
    ("text", "shape", "expected"),
    [
        ("a = 1\nb = 2.5", dict[str, float], {"a": 1.0, "b": 2.5}),
        ("a = [['x'], []]", dict[str, tuple[frozenset[str], ...]], {"a": (frozenset("x"), frozenset())}),
        ("[a]\nname = 'apple'\nseeds = 3", dict[str, Fruit], {"a": Fruit("apple", 3)}),
        ("name = 'fig'\ncolors = ['green']", Fruit, Fruit("fig", None, frozenset({"green"}))),
        ("a = 1\nb = true", dict[str, int | bool], {"a": 1, "b": True}),
        ("a = 1\nb = ['x']", resources.Table, {"a": 1, "b": ["x"]}),
    ],
)
def test_a_table_comes_in_the_shape_that_its_user_names(written: Path, text: str, shape: Any, expected: object) -> None:
    written.write_text(text, encoding="utf-8")
    resources._table.cache_clear()
    assert resources.table("table.toml", shape) == expected


@pytest.mark.parametrize(
    ("text", "shape", "said"),
    [
        ("a = ", dict[str, int], "table.toml: Invalid value"),
        ("a = '1'", dict[str, int], "table.toml: a is '1', and not int"),
        ("a = true", dict[str, int], "table.toml: a is True, and not int"),
        ("[a]\nb = [1, 'x']", dict[str, dict[str, list[int]]], "table.toml: a.b[1] is 'x', and not int"),
        ("seeds = 3", Fruit, "table.toml: it has ['seeds']; unknown or missing: name"),
        (
            "[a]\nname = 'fig'\nsedes = 3",
            dict[str, Fruit],
            "table.toml: a has ['name', 'sedes']; unknown or missing: sedes",
        ),
        ("a = 3", dict[str, Fruit], "table.toml: a is 3, and not a table"),
    ],
)
def test_a_damaged_table_is_named_with_its_place(written: Path, text: str, shape: Any, said: str) -> None:
    written.write_text(text, encoding="utf-8")
    resources._table.cache_clear()
    with pytest.raises(resources.DamagedResource, match=re.escape(said)):
        resources.table("table.toml", shape)


def test_no_other_module_reads_the_folder_by_itself() -> None:
    found = [
        file.relative_to(ROOT).as_posix()
        for file in (ROOT / "app").rglob("*.py")
        if "paths.resources" in file.read_text(encoding="utf-8")
    ]
    assert found == ["app/base/resources.py"]
