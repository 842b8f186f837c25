"""Only the stories of the quarantine list are tried again."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.quarantine import read_quarantine

ROOT = Path(__file__).resolve().parents[2]
AT_MOST = 10


def test_the_list_is_short_and_every_story_on_it_exists_and_has_its_reason() -> None:
    faults = []
    for test, reason in read_quarantine().items():
        path, _, name = test.partition("::")
        text = (ROOT / path).read_text(encoding="utf-8") if (ROOT / path).is_file() else ""
        if not re.search(rf"^\s*(async )?def {re.escape(name.rpartition('::')[2])}\(", text, re.MULTILINE):
            faults.append(f"{test}: there is no such test")
        if len(reason.split()) < 8:
            faults.append(f"{test}: says too little about why it may be tried again")
    assert (faults, len(read_quarantine()) <= AT_MOST) == ([], True)


def test_no_test_is_tried_again_by_itself() -> None:
    tried_again = re.compile(r"mark\.flaky|--reruns")
    places = [*(ROOT / "tests").rglob("*.py"), ROOT / "scripts" / "test", ROOT / "pyproject.toml"]
    asked = {path.relative_to(ROOT).as_posix() for path in places if tried_again.search(path.read_text("utf-8"))}
    assert asked - {"tests/house/test_quarantine.py"} == {"tests/conftest.py"}
