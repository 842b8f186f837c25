"""Print the figures that tell how readable `app` is, each with its limit.

`tests/house/test_figures.py` holds the limits; they only become stricter. An aim is where the figure should arrive.
"""

from __future__ import annotations

import ast
import io
import re
import statistics
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Words of a dialect of our own, which readers stumble over.
_DIALECT = re.compile(
    r"\b(told|whoever|whatever it is|anew|nobody|stands for|what came of|as it stands|of its own accord"
    r"|what is asked of|told apart|is told)\b",
    re.IGNORECASE,
)
_REASON = re.compile(r"\b(because|so that|since|otherwise|or else|https?://)|: ", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured value with what it may be at most (`is_floor`: at least) and where it should arrive."""

    name: str
    value: float
    limit: float
    aim: float
    is_floor: bool = False

    @property
    def holds(self) -> bool:
        return self.value >= self.limit if self.is_floor else self.value <= self.limit

    def __str__(self) -> str:
        bound = "at least" if self.is_floor else "at most"
        return f"{self.name:<56} {self.value:>9.6g}   {bound} {self.limit:g}, aim {self.aim:g}"


@dataclass(frozen=True, slots=True)
class _Module:
    name: str
    path: Path
    text: str
    tree: ast.Module

    @property
    def lines(self) -> int:
        return self.text.count("\n")


def figures() -> list[Figure]:
    """All figures of `app` as it is in this checkout."""
    modules = list(_modules())
    lines = [module.lines for module in modules if module.path.name != "__init__.py"]
    functions = [node.end_lineno - node.lineno + 1 for m in modules for node in _functions(m.tree) if node.end_lineno]
    docstrings = [text for module in modules for text in _docstrings(module.tree)]
    in_dialect = sum(bool(_DIALECT.search(text)) for text in docstrings)
    reasons = sum(_reasons(module.text) for module in modules)
    return [
        Figure("modules", len(modules), 372, 280),
        Figure("lines", sum(module.lines for module in modules), 86_600, 44_700),
        Figure("lines of a module, median", statistics.median(lines), 250, 250),
        Figure("lines of a module, 90th percentile", _p90(lines), 450, 400),
        Figure("lines of a function, median", statistics.median(functions), 20, 20),
        Figure("lines of a function, 90th percentile", _p90(functions), 40, 40),
        Figure("modules with one importer", len(_single_importers(modules)), 78, 70),
        Figure("public class names that mean two things", len(_homonyms(modules)), 0, 0),
        Figure("docstrings in house dialect, %", 100 * in_dialect / len(docstrings), 2, 2),
        Figure(
            "comments that give a reason or a link, per 1,000 lines",
            1000 * reasons / sum(lines),
            9.5,
            10,
            is_floor=True,
        ),
        Figure("files of the fullest folder", max(_folders(modules).values()), 21, 20),
    ]


def _modules() -> Iterator[_Module]:
    for path in sorted((ROOT / "app").rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        text = path.read_text(encoding="utf-8")
        yield _Module(name, path, text, ast.parse(text))


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))


def _docstrings(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            text = ast.get_docstring(node)
            if text:
                yield text


def _reasons(text: str) -> int:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    comments = (token.string for token in tokens if token.type == tokenize.COMMENT and "noqa" not in token.string)
    return sum(bool(_REASON.search(comment)) for comment in comments)


def _single_importers(modules: list[_Module]) -> list[str]:
    importers: Mapping[str, set[str]] = defaultdict(set)
    known = {module.name for module in modules}
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    importers[inner if inner in known else node.module].add(module.name)
    return [name for name in known if len(importers.get(name, ())) == 1]


def _homonyms(modules: list[_Module]) -> list[str]:
    places = defaultdict(set)
    for module in modules:
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].add(module.name)
    return sorted(name for name, where in places.items() if len(where) > 1)


def _folders(modules: list[_Module]) -> Mapping[Path, int]:
    found: dict[Path, int] = defaultdict(int)
    for module in modules:
        found[module.path.parent] += module.path.name != "__init__.py"
    return found


def _p90(values: list[int]) -> float:
    return statistics.quantiles(values, n=10)[8]


if __name__ == "__main__":
    shown = figures()
    print("\n".join(map(str, shown)))
    print("two meanings:", ", ".join(_homonyms(list(_modules()))) or "none")
    sys.exit(not all(figure.holds for figure in shown))
