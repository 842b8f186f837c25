"""What the documents for developers name is there, so that a moved module does not leave a wrong map behind."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
WRITTEN = [ROOT / name for name in ("ARCHITECTURE.md", "docs/walls.md")]
_PATH = re.compile(r"`([\w.*/-]+(?:/|\.(?:py|toml|yaml|md|lock|txt)))`")
_LINK = re.compile(r"\]\(([^)#:]+)")


@pytest.mark.parametrize("document", [*WRITTEN, *DECISIONS], ids=lambda path: path.name)
def test_every_path_in_a_document_exists(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    places = (ROOT, ROOT / "app", ROOT / "tests")
    bare = {path.name for place in ("app", "resources") for path in (ROOT / place).rglob("*.*")}
    named = [path for path in _PATH.findall(text) if path not in bare]
    assert [path for path in named if not any(any(place.glob(path)) for place in places)] == []


def test_every_decision_is_in_the_index() -> None:
    linked = set(_LINK.findall((ROOT / "docs" / "decisions" / "README.md").read_text(encoding="utf-8")))
    assert {path.name for path in DECISIONS} - linked == {"README.md"}
