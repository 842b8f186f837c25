"""Paths that must not work: a sentence that names the argument, and nothing changed anywhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.workbench import Bench

_LONG = "x" * 300
_WRITES = [
    ("", "path is empty"),
    (f"new/deep/{_LONG}", "is longer than the file system allows"),
    ("../far.txt", "is outside the folders that may be changed"),
    ("device:/../far.txt", "is outside the folders that may be changed"),
    ("http://example.com/a", "http:/ is not a form of path here"),
    ("device:/.bashrc", "is protected"),
    ("rc-link", "is protected"),
]


def _everything(folder: Path) -> dict[str, str]:
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if not name.startswith(("checkpoints", "wisp")):
            found[name] = str(path.readlink()) if path.is_symlink() else path.read_text() if path.is_file() else "/"
    return found


@pytest.fixture
def prepared(bench: Bench, tmp_path: Path) -> Bench:
    (bench.root / "sub").mkdir()
    (bench.root / "file.txt").write_text("kept")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_text("kept")
    (bench.home / ".bashrc").write_text("kept")
    (bench.root / "out").symlink_to(tmp_path / "outside")
    (bench.root / "out-file").symlink_to(tmp_path / "outside" / "file")
    (bench.root / "rc-link").symlink_to(bench.home / ".bashrc")
    os.mkfifo(bench.root / "pipe")
    return bench


@pytest.mark.parametrize(("path", "words"), _WRITES, ids=[repr(path)[:40] for path, _ in _WRITES])
@pytest.mark.parametrize("tool", ["write_file", "replace_in_file", "delete_file"])
async def test_a_bad_path_is_named_and_nothing_changes(
    prepared: Bench, tmp_path: Path, tool: str, path: str, words: str
) -> None:
    before = _everything(tmp_path)
    rest = {
        "write_file": {"content": "new"},
        "replace_in_file": {"diff": "------- SEARCH\nkept\n=======\n+++++++ REPLACE"},
    }
    result = await prepared.call(tool, path=path, **rest.get(tool, {}))
    assert (result.ok, result.event) == (False, "tool_error")
    assert "path" in result.llm_echo
    if tool == "write_file":
        assert words in result.llm_echo or (path.strip() == "" and "path is empty" in result.llm_echo)
    assert _everything(tmp_path) == before


@pytest.mark.parametrize("tool", ["read_file", "read_file_in_chunks", "list_files", "list_code_definition_names"])
@pytest.mark.parametrize("path", ["", "a\0b", "a\ud800b", _LONG, "missing", "file.txt/a", "C:\\a"])
async def test_looking_at_a_bad_path_names_the_argument(prepared: Bench, tool: str, path: str) -> None:
    result = await prepared.call(tool, path=path)
    assert (result.ok, result.event, "path" in result.llm_echo) == (False, "tool_error", True)


@pytest.mark.parametrize("path", ["/proc/self/environ", "/proc/1/environ", "/dev/zero", "/sys/kernel/version", "env"])
async def test_the_running_system_is_not_read_as_files(prepared: Bench, path: str) -> None:
    (prepared.root / "env").symlink_to("/proc/self/environ")
    result = await prepared.call("read_file", path=path)
    assert (result.ok, "is no file but a part of the running system" in result.llm_echo) == (False, True)


@pytest.mark.parametrize("path", ["device:/.ssh/id_rsa", "device:/.netrc", "key-link"])
async def test_keys_are_not_read(prepared: Bench, path: str) -> None:
    (prepared.home / ".ssh").mkdir()
    for name in (".ssh/id_rsa", ".netrc"):
        (prepared.home / name).write_text("SECRET")
    (prepared.root / "key-link").symlink_to(prepared.home / ".ssh" / "id_rsa")
    result = await prepared.call("read_file", path=path)
    assert (result.ok, "SECRET" in result.llm_echo) == (False, False)


async def test_keys_are_not_found_by_searching(prepared: Bench) -> None:
    (prepared.home / ".ssh").mkdir()
    (prepared.home / ".ssh" / "id_rsa").write_text("SECRET")
    (prepared.home / ".aws").mkdir()
    (prepared.home / ".aws" / "credentials").write_text("SECRET")
    result = await prepared.call("search_files", path="device:/", regex="SECR", hidden=True)
    assert result.llm_echo == "No matches."


async def test_our_own_settings_are_left_alone(prepared: Bench, own_data_folder: Path) -> None:
    settings = own_data_folder / "config" / "settings.toml"
    settings.write_text("kept")
    read = await prepared.call("read_file", path=str(settings))
    written = await prepared.call("write_file", path=str(settings), content="[hands]")
    assert (read.ok, written.ok, settings.read_text()) == (False, False, "kept")
