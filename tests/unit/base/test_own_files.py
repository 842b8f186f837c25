"""Wisp's own files, which several processes change at once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from app.agent.policy.grants import SavedGrants
from app.base import own_files
from app.settings import store

_ADDING = """
import sys
from pathlib import Path
from app.agent.policy.grants import SavedGrants
from app.agent.policy.values import Need, Subject
from app.features.mcp.pins import Pins
from app.settings import store
folder, own = Path(sys.argv[1]), sys.argv[2]
sys.stdin.readline()
for number in range(8):
    SavedGrants(folder / "grants.toml").add([Need(Subject.HOST, f"{own}{number}.example", f"{own}{number}.example")])
    Pins(folder / "agreed.json").agree(f"{own}{number}", "entry", "sandboxed")
    store.keep(f"{own}{number}", "key")
"""


def test_what_two_processes_add_at_the_same_time_is_all_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WISP_DATA_DIR", str(tmp_path / "wisp"))
    command = (sys.executable, "-c", _ADDING, str(tmp_path))
    both = [subprocess.Popen([*command, own], stdin=subprocess.PIPE) for own in "ab"]
    for one in both:
        assert one.stdin
        one.stdin.write(b"\n")
        one.stdin.flush()
    assert [one.wait(60) for one in both] == [0, 0]
    names = {f"{own}{number}" for own in "ab" for number in range(8)}
    grants = {one.key.partition(".")[0] for one in SavedGrants(tmp_path / "grants.toml").all()}
    assert (grants, set(json.loads((tmp_path / "agreed.json").read_text()))) == (names, names)
    assert all(store.key_of(name) == "key" for name in names)


def test_a_file_that_cannot_be_written_keeps_its_content_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    (tmp_path / "b").mkdir()
    with pytest.raises(OSError):
        own_files.write(tmp_path / "b", "new")
    own_files.write(tmp_path / "a", "new")
    assert (sorted(path.name for path in tmp_path.iterdir()), (tmp_path / "a").read_text()) == (["a", "b"], "new")
