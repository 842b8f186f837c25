"""Searching in files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.base.facts import Listed, first
from tests.support.workbench import Bench


def _fill(bench: Bench) -> None:
    (bench.root / "src").mkdir()
    (bench.root / "src" / "a.py").write_text("one\ntwo = 2\nthree\nfour\nfive\ntwo = 22\n")
    (bench.root / "src" / "b.txt").write_text("two\n")


async def test_matches_come_grouped_with_a_line_around(bench: Bench) -> None:
    _fill(bench)
    result = await bench.xml("<search_files><path>src</path><regex>two = \\d+</regex></search_files>")
    assert result.llm_echo == ("2 matches in 1 file.\na.py\n1- one\n2: two = 2\n3- three\n--\n5- five\n6: two = 22")


async def test_files_and_context_can_be_chosen(bench: Bench) -> None:
    _fill(bench)
    result = await bench.xml('<search_files path="." regex="two" file_pattern="*.txt" context="0"/>')
    assert result.llm_echo == "1 match in 1 file.\nsrc/b.txt\n1: two"


async def test_a_single_file_can_be_searched(bench: Bench) -> None:
    _fill(bench)
    result = await bench.call("search_files", path="src/b.txt", regex="w")
    assert result.llm_echo == "1 match in 1 file.\nb.txt\n1: two"


async def test_nothing_found_is_no_failure(bench: Bench) -> None:
    _fill(bench)
    result = await bench.call("search_files", path=".", regex="nothing like it")
    assert (result.ok, result.llm_echo) == (True, "No matches.")


async def test_ignored_and_hidden_files_are_left_out_and_can_be_asked_for(bench: Bench) -> None:
    (bench.root / ".gitignore").write_text("*.log\n")
    (bench.root / "a.log").write_text("word\n")
    (bench.root / ".b").write_text("word\n")
    plain = await bench.call("search_files", path=".", regex="word")
    hidden = await bench.call("search_files", path=".", regex="word", hidden=True)
    assert (plain.llm_echo, hidden.llm_echo) == ("No matches.", "1 match in 1 file.\n.b\n1: word")


async def test_the_limit_is_told(bench: Bench) -> None:
    (bench.root / "a.txt").write_text("x\n" * 1_000)
    result = await bench.call("search_files", path=".", regex="x")
    assert (result.payload["matches"], result.payload["notes"]) == (
        300,
        ["stopped after 300 matches; narrow the regex or the path for the rest"],
    )


async def test_what_cannot_be_read_is_a_note(bench: Bench) -> None:
    _fill(bench)
    (bench.root / "src" / "loop").symlink_to("loop")
    (bench.root / "src" / "dangling").symlink_to("nowhere")
    result = await bench.call("search_files", path="src/b.txt", regex="two")
    assert result.ok
    broken = await bench.call("search_files", path="src/dangling", regex="two")
    assert broken.llm_echo == "search_files: path: there is no 'src/nowhere'. list_files shows what there is."


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "(.*)*x", "^(([a-z])+.)+[A-Z]([a-z])+$"])
async def test_a_pattern_that_explodes_elsewhere_is_answered(bench: Bench, pattern: str) -> None:
    (bench.root / "a.txt").write_text("a" * 100_000 + "!\n")
    result = await bench.call("search_files", path=".", regex=pattern)
    assert result.llm_echo == "No matches."


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"regex": "("}, "regex: this is no pattern in Rust's syntax"),
        ({"regex": "(?=a)b"}, "regex: this is no pattern in Rust's syntax"),
        ({"regex": "(((a{1000}){1000}){1000})"}, "regex: this is no pattern in Rust's syntax"),
        ({"regex": ""}, "regex"),
        ({"regex": "a\0"}, "regex contains a NUL character"),
        ({"regex": "a", "file_pattern": "["}, "file_pattern: this is no glob"),
        ({"regex": "a", "context": 99}, "context"),
        ({"regex": "a", "path": "nowhere"}, "path: there is no 'nowhere'"),
        ({"regex": "--help"}, "No matches."),
    ],
)
async def test_a_bad_search_names_the_argument(bench: Bench, arguments: dict[str, str | int], words: str) -> None:
    result = await bench.call("search_files", **{"path": ".", **arguments})
    assert words in result.llm_echo


async def test_a_pattern_of_files_belongs_to_the_searched_folder(bench: Bench) -> None:
    _fill(bench)
    (bench.root / "src" / "deep").mkdir()
    (bench.root / "src" / "deep" / "c.txt").write_text("two\n")
    result = await bench.call("search_files", path="src", regex="two", file_pattern="deep/*.txt")
    assert result.llm_echo == "1 match in 1 file.\ndeep/c.txt\n1: two"


async def test_files_of_our_own_and_the_running_system_are_left_out(bench: Bench, own_data_folder: Path) -> None:
    (own_data_folder / "config" / "keys.json").write_text("canary-key")
    (own_data_folder / "data" / "files" / "made.txt").write_text("canary-made")
    above = await bench.call("search_files", path=str(own_data_folder.parent), regex="canary-key", hidden=True)
    system = await bench.call("search_files", path="/proc/self", regex="PATH=")
    assert (above.llm_echo, system.ok) == ("No matches.", False)
    assert Path("/proc") in bench.workspace.private_below(bench.workspace.locate("/"))


async def test_a_very_long_line_is_cut(bench: Bench) -> None:
    (bench.root / "a.txt").write_text("needle" + "x" * 3_000_000 + "\n")
    result = await bench.call("search_files", path=".", regex="needle")
    assert (result.payload["matches"], len(result.llm_echo) < 1_000) == (1, True)


async def test_lines_that_are_no_text_do_no_harm(bench: Bench) -> None:
    (bench.root / "a.txt").write_bytes(b"needle \xff\xfe caf\xe9\n")
    result = await bench.call("search_files", path=".", regex="needle")
    assert result.llm_echo.endswith("1: needle \ufffd\ufffd caf\ufffd")


async def test_stopping_the_turn_ends_the_search(bench: Bench) -> None:
    _fill(bench)
    bench.cancelled.set()
    result = await bench.call("search_files", path=".", regex="two")
    assert result.llm_echo == "search_files: The search was stopped."


async def test_the_files_with_matches_are_told(bench: Bench) -> None:
    _fill(bench)
    result = await bench.call("search_files", path=".", regex="two")
    assert first(Listed, result.facts) == Listed(("src/a.py", "src/b.txt"))


async def test_several_patterns_and_the_oldest_first_can_be_asked_for(bench: Bench) -> None:
    for number, name in enumerate(("a.png", "b.jpg", "c.txt")):
        (bench.root / name).touch()
        os.utime(bench.root / name, (100 - number, 100 - number))
    result = await bench.call("list_files", path=".", named="*.png|*.jpg", order="oldest")
    listed = first(Listed, result.facts)
    assert listed and [name.split()[0] for name in listed.names] == ["b.jpg", "a.png"]
