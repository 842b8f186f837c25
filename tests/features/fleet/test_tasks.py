"""The file of tasks of a batch."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.base.errors import NeedsPerson
from app.features.fleet.tasks import read_tasks

_GOOD = '{"id": "one", "words": "open the calculator"}'


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([_GOOD, "{broken"], "line 2"),
        (["", _GOOD, _GOOD], "line 3"),
        (['{"id": "../../etc", "words": "x"}'], "id"),
        (['{"id": "one", "words": "x", "tme_limit": 3}'], "tme_limit"),
        (['{"id": "one"}'], "words"),
        (['{"id": "one", "words": "x", "time_limit_s": -1}'], "time_limit_s"),
        (['{"id": "one", "words": "x", "files": ["missing.csv"]}'], "missing.csv"),
        (['{"id": "one", "words": "x", "files": {"../out.txt": "tasks.jsonl"}}'], "../out.txt"),
        (['{"id": "one", "words": "x", "allow": ["tool=everything"]}'], "allow"),
        (['{"id": "one", "words": "x", "provider": "claud"}'], "claud"),
        (['{"id": "one", "words": "half of \\ud83d"}'], "half of a character"),
        (['{"id": "one", "script": [{"foo": 1}]}'], "script"),
        ([""], "no task"),
    ],
)
def test_a_wrong_line_is_named_with_what_is_wrong(tmp_path: Path, lines: list[str], told: str) -> None:
    file = tmp_path / "tasks.jsonl"
    file.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(NeedsPerson) as raised:
        read_tasks(file)
    assert told in str(raised.value)


def test_files_are_known_by_their_names_or_by_other_ones(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("a,b")
    file = tmp_path / "tasks.jsonl"
    file.write_text(
        '\ufeff{"id": "a", "words": "x\u2028y", "files": ["list.csv"]}\n\n'
        '{"id": "b", "script": ["<say>hi</say>"], "files": {"in/names.csv": "list.csv"}}\n',
        encoding="utf-8",
    )
    first, second = read_tasks(file)
    assert (first.words, first.files) == ("x\u2028y", {"list.csv": "list.csv"})
    assert second.files == {"in/names.csv": "list.csv"}
