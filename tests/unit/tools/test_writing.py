"""Writing, editing, deleting and taking back."""

from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path

import pytest

from app.protocol.call import Block
from app.services.files.changes import MOST_EDITED_BYTES, ChangeOrigin, Changes
from app.services.files.checkpoints import Checkpoints
from tests.support.workbench import Bench

_DIFF = "------- SEARCH\ntwo\n=======\nTWO\n+++++++ REPLACE"


def _state(folder: Path) -> dict[str, bytes | None]:
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


async def test_a_new_file_has_exactly_the_given_bytes(bench: Bench) -> None:
    text = "  one\r\n\ttwo é 🙂\n\nlast without end"
    result = await bench.call("write_file", path="a/b/c.txt", content=text)
    assert (bench.root / "a/b/c.txt").read_bytes() == text.encode()
    assert result.llm_echo == f"Created 'a/b/c.txt': 4 lines, {len(text.encode())} bytes."
    assert bench.audited == ["file_written"]


async def test_both_names_and_both_spellings_write(bench: Bench) -> None:
    await bench.xml('<write_file path="a.txt"><![CDATA[\nif a < b && c:\n]]></write_file>')
    await bench.xml("<write_to_file><path>b.txt</path><content>\nif a < b && c:\n</content></write_to_file>")
    assert _state(bench.root) == {"a.txt": b"if a < b && c:\n", "b.txt": b"if a < b && c:\n"}


async def test_the_mode_stays_and_nothing_is_left_beside(bench: Bench) -> None:
    file = bench.root / "run.sh"
    file.write_text("old")
    file.chmod(0o751)
    await bench.call("write_file", path="run.sh", content="new")
    assert (stat.S_IMODE(file.stat().st_mode), list(bench.root.iterdir())) == (0o751, [file])


async def test_a_new_file_gets_the_usual_mode(bench: Bench) -> None:
    before = os.umask(0o027)
    try:
        await bench.call("write_file", path="a.txt", content="new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((bench.root / "a.txt").stat().st_mode) == 0o640


async def test_a_link_within_the_workspace_is_written_through(bench: Bench) -> None:
    (bench.root / "real.txt").write_text("old")
    (bench.root / "link.txt").symlink_to(bench.root / "real.txt")
    await bench.call("write_file", path="link.txt", content="new")
    assert ((bench.root / "link.txt").is_symlink(), (bench.root / "real.txt").read_text()) == (True, "new")


@pytest.mark.parametrize("other", ["far.txt", "project/.git/hooks/post-commit"])
async def test_a_hard_link_that_may_not_be_written_keeps_its_content_and_that_is_told(
    bench: Bench, tmp_path: Path, other: str
) -> None:
    far = tmp_path / other
    far.parent.mkdir(parents=True, exist_ok=True)
    (bench.root / "near.txt").write_text("old")
    os.link(bench.root / "near.txt", far)
    result = await bench.call("write_file", path="near.txt", content="new")
    assert (far.read_text(), (bench.root / "near.txt").read_text()) == ("old", "new")
    assert "hard links" in result.llm_echo


async def test_hard_links_within_the_workspace_stay_one_file_also_after_an_undo(bench: Bench) -> None:
    names = [bench.root / "one.txt", bench.root / "deep" / "two.txt"]
    names[1].parent.mkdir()
    names[0].write_text("one\ntwo\n" * 2_000)
    os.link(*names)
    before = names[0].read_text()
    await bench.call("write_file", path="deep/two.txt", content="one\ntwo\n")
    assert [name.read_text() for name in names] == ["one\ntwo\n"] * 2
    await bench.call("replace_in_file", path="one.txt", diff=_DIFF)
    assert [name.read_text() for name in names] == ["one\nTWO\n"] * 2
    for _ in range(2):
        assert (await bench.call("undo_last_change")).ok
    assert ([name.read_text() for name in names], names[0].samefile(names[1])) == ([before] * 2, True)
    assert sorted(bench.root.rglob("*")) == sorted([names[0], *names[1].parents[:1], names[1]])


@pytest.mark.parametrize(
    ("path", "where"),
    [
        ("wisp:/a.txt", "project/a.txt"),
        ("bor:/b/a.txt", "project/b/a.txt"),
        ("device:/a.txt", "home/a.txt"),
        ("~/b.txt", "home/b.txt"),
    ],
)
async def test_the_forms_of_paths_lead_where_they_say(bench: Bench, tmp_path: Path, path: str, where: str) -> None:
    result = await bench.call("write_file", path=path, content="x")
    assert (result.ok, (tmp_path / where).read_text()) == (True, "x")


async def test_what_was_made_before_the_workspace_was_its_place_is_still_found(bench: Bench, tmp_path: Path) -> None:
    old = tmp_path / "wisp/data/files"
    (old / "poem.txt").write_text("roses")
    (old / "other.txt").write_text("old")
    (bench.root / "other.txt").write_text("new")
    seen = [(await bench.call("read_file", path=f"{name}")).llm_echo for name in ("wisp:/poem.txt", "bor:/other.txt")]
    assert seen == ["1 | roses", "1 | new"]


async def test_an_edit_changes_the_block_and_nothing_else(bench: Bench) -> None:
    (bench.root / "a.txt").write_bytes(b"one\r\ntwo\r\nthree")
    result = await bench.xml(f'<replace_in_file path="a.txt"><![CDATA[\n{_DIFF}\n]]></replace_in_file>')
    assert (bench.root / "a.txt").read_bytes() == b"one\r\nTWO\r\nthree"
    assert result.llm_echo == "Edited 'a.txt'. block 1: replaced line 2."


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "utf-16-be", "cp1252"])
async def test_an_edit_keeps_the_charset(bench: Bench, codec: str) -> None:
    head = "\ufeff" if codec == "utf-16-be" else ""
    text = head + "Straße und Frühstück und Öl und Äpfel für alle.\n" * 10
    (bench.root / "a.txt").write_bytes((text + "two\n").encode(codec))
    await bench.call("replace_in_file", path="a.txt", diff=_DIFF)
    assert (bench.root / "a.txt").read_bytes() == (text + "TWO\n").encode(codec)


async def test_a_byte_order_mark_stays_and_hides_the_first_line_from_no_edit(bench: Bench) -> None:
    (bench.root / "a.txt").write_bytes(b"\xef\xbb\xbftwo\r\nthree\r\n")
    result = await bench.call("replace_in_file", path="a.txt", diff=_DIFF)
    assert (result.ok, (bench.root / "a.txt").read_bytes()) == (True, b"\xef\xbb\xbfTWO\r\nthree\r\n")


@pytest.mark.parametrize(
    "line",
    [
        b"caf\xe9 \x81\n",  # Windows-1252 has no character for 0x81
        "公園へ散歩に行きます。今日は天気がいいので。".encode("cp932")
        + b"\xed\x40\n",  # cp932 writes \xed\x40 as \xfa\x5c
        "Grüße, Öl, Äpfel, Übung, größer, schöner\n".encode() + b"\xff\n",  # UTF-8 with one broken byte
    ],
)
async def test_an_edit_keeps_the_bytes_of_all_other_lines(bench: Bench, line: bytes) -> None:
    (bench.root / "a.txt").write_bytes(line + b"two\n" + line)
    await bench.call("replace_in_file", path="a.txt", diff=_DIFF)
    assert (bench.root / "a.txt").read_bytes() == line + b"TWO\n" + line


@pytest.mark.parametrize(
    ("new", "deed"),
    [
        ("", "deleted lines 2-3"),
        ("TWO", "replaced lines 2-3 with 1 line"),
        ("TWO\nTHREE", "replaced lines 2-3"),
        ("two\nthree\nfour", "replaced lines 2-3 with 3 lines"),
    ],
)
async def test_an_edit_says_what_was_done_to_which_lines(bench: Bench, new: str, deed: str) -> None:
    (bench.root / "a.txt").write_text("one\ntwo\nthree\nlast\n")
    diff = (
        f"------- SEARCH\ntwo\nthree\n=======\n{new}\n+++++++ REPLACE"
        if new
        else ("------- SEARCH\ntwo\nthree\n=======\n+++++++ REPLACE")
    )
    result = await bench.call("replace_in_file", path="a.txt", diff=diff)
    assert result.llm_echo == f"Edited 'a.txt'. block 1: {deed}."


_HIDING = ["a\u202efdp.txt", "a\u200bb.txt", "pay\u200dpal.txt", "a\nb.txt", "deep\u2066/b.txt"]


@pytest.mark.parametrize("name", _HIDING)
async def test_a_new_name_that_hides_something_is_refused_by_every_tool(bench: Bench, name: str) -> None:
    (bench.root / "old").write_text("old")
    results = [
        await bench.call("write_file", path=name, content="x"),
        await bench.call("move_file", source=["old"], destination=[name]),
        await bench.call("copy_file", source=["old"], destination=[name]),
        await bench.call("make_folder", path=[name]),
    ]
    assert [result.ok for result in results] == [False] * 4
    assert all("<U+" in result.llm_echo and "Give it without them" in result.llm_echo for result in results)
    assert _state(bench.root) == {"old": b"old"}


async def test_a_name_that_needs_a_joiner_is_made_and_found(bench: Bench) -> None:
    names = ["نامه\u200cها.txt", "👩\u200d💻.txt"]
    made = [(await bench.call("write_file", path=name, content="x")).ok for name in names]
    listed = await bench.call("list_files", path=".")
    assert (made, all(name in listed.llm_echo for name in names)) == ([True, True], True)


async def test_what_has_a_hiding_name_already_can_be_moved_edited_and_brought_back(bench: Bench) -> None:
    name = "a\u202eb.txt"
    (bench.root / name).write_text("two\n")
    (bench.root / "folder").mkdir()
    done = [
        await bench.call("replace_in_file", path=name, diff=_DIFF),
        await bench.call("move_file", source=[name], destination=["folder/"]),
        await bench.call("delete_file", path=f"folder/{name}"),
        await bench.call("undo_last_change"),
    ]
    assert ([result.ok for result in done], _state(bench.root)) == (
        [True] * 4,
        {"folder": None, f"folder/{name}": b"TWO\n"},
    )


async def test_a_name_is_taken_as_it_is_shown_unless_others_are_shown_alike(bench: Bench) -> None:
    names = ["a\u202eb.txt", "line\nbreak.txt"]
    (bench.root / "deep\x07").mkdir()
    for name in names:
        (bench.root / "deep\x07" / name).write_text("two\n")
    listed = (await bench.call("list_files", path=".", recursive=True)).payload["entries"]
    shown = [entry for entry in listed if str(entry).endswith(".txt")]
    assert len(shown) == len(names)
    for path in shown:
        assert (await bench.call("read_file", path=path)).llm_echo == "1 | two"
        assert (await bench.call("replace_in_file", path=path, diff=_DIFF)).ok
    assert {file.read_text() for file in (bench.root / "deep\x07").iterdir()} == {"TWO\n"}
    (bench.root / "deep\x07" / "a\u200eb.txt").write_text("other")
    result = await bench.call("read_file", path="deep\ufffd/a\ufffdb.txt")
    assert (result.ok, "2 entries are shown as" in result.llm_echo) == (False, True)
    (bench.root / "half\udce4.txt").write_text("two\n")
    result = await bench.call("read_file", path="half\ufffd.txt")
    assert (result.ok, "no UTF-8 text" in result.llm_echo) == (False, True)


@pytest.mark.parametrize(
    ("before", "kept", "told"),
    [
        ("größer\r\nGröße\r\n".encode("cp1252"), "größe\r\n".encode("cp1252"), ["cp1252", "CRLF"]),
        ("\ufeffold\n".encode(), "\ufeffgröße\n".encode(), ["byte order mark"]),
        ("old\r\n".encode("utf-16"), "größe\r\n".encode("utf-16"), ["utf-16", "CRLF"]),
        ("größer\nмир\n".encode(), "größe\n".encode(), []),
        ("größer mixed\r\nend\n".encode("cp1252"), "größe\n".encode("cp1252"), ["cp1252"]),
        (b"\x7fELF\0\xff", "größe\n".encode(), []),
    ],
)
async def test_a_file_that_is_replaced_keeps_its_charset_mark_and_line_ends_and_that_is_told(
    bench: Bench, before: bytes, kept: bytes, told: list[str]
) -> None:
    (bench.root / "a.txt").write_bytes(before)
    result = await bench.call("write_file", path="a.txt", content="größe\n")
    assert (bench.root / "a.txt").read_bytes() == kept
    assert [word for word in told if word not in result.llm_echo] == []
    assert ("As before" in result.llm_echo) == bool(told)


async def test_a_replaced_file_becomes_utf8_where_its_charset_lacks_a_sign_and_that_is_told(bench: Bench) -> None:
    (bench.root / "a.txt").write_bytes("größer\n".encode("cp1252"))
    result = await bench.call("write_file", path="a.txt", content="мир\n")
    assert ((bench.root / "a.txt").read_text(encoding="utf-8"), "UTF-8 now" in result.llm_echo) == ("мир\n", True)


async def test_a_character_that_the_charset_lacks_is_named_and_nothing_changes(bench: Bench) -> None:
    data = "Straße, Öl, Äpfel, Frühstück.\ntwo\n".encode("latin-1")
    (bench.root / "a.txt").write_bytes(data)
    result = await bench.call("replace_in_file", path="a.txt", diff=_DIFF.replace("TWO", "🙂"))
    assert (result.ok, "diff: the character U+1F642 cannot be written" in result.llm_echo) == (False, True)
    assert (bench.root / "a.txt").read_bytes() == data


async def test_a_diff_that_fits_twice_is_refused_with_line_numbers(bench: Bench) -> None:
    (bench.root / "a.txt").write_text("two\none\ntwo\n")
    result = await bench.call("replace_in_file", path="a.txt", diff=_DIFF)
    assert result.llm_echo == (
        "replace_in_file: diff: SEARCH of block 1 is in the file 2 times, at lines 1, 3. Add lines before or after it "
        "until it fits one place only. Nothing was changed."
    )
    assert (bench.root / "a.txt").read_text() == "two\none\ntwo\n"


async def test_one_bad_block_leaves_the_whole_file(bench: Bench) -> None:
    (bench.root / "a.txt").write_text("one\ntwo\n    return total\n")
    bad = _DIFF.replace("two", "    return totals * 2")
    result = await bench.call("replace_in_file", path="a.txt", diff=f"{_DIFF}\n{bad}")
    assert result.llm_echo == (
        "replace_in_file: diff: SEARCH of block 2 is not in the file. The nearest lines are:\n2 | two\n"
        "3 |     return total\nRead the file again and copy the lines exactly. Nothing was changed."
    )
    assert (bench.root / "a.txt").read_text() == "one\ntwo\n    return total\n"


async def test_what_was_found_by_indentation_is_told(bench: Bench) -> None:
    (bench.root / "a.txt").write_text("if x:\n    two\n")
    result = await bench.call("replace_in_file", path="a.txt", diff=_DIFF)
    assert result.llm_echo == "Edited 'a.txt'. block 1: replaced line 2 (found although indentation differs)."
    assert (bench.root / "a.txt").read_text() == "if x:\n    TWO\n"


async def test_equal_search_and_replace_say_so(bench: Bench) -> None:
    (bench.root / "a.txt").write_text("two\n")
    result = await bench.call("replace_in_file", path="a.txt", diff=_DIFF.replace("TWO", "two"))
    assert result.llm_echo == "'a.txt' is as it was: SEARCH and REPLACE are the same."


async def test_a_deleted_file_is_in_the_trash_and_comes_back(bench: Bench) -> None:
    (bench.root / "a.txt").write_text("old")
    result = await bench.xml("<delete_file><path>a.txt</path></delete_file>")
    assert (result.llm_echo, (bench.trash / "a.txt").read_text()) == ("'a.txt' was moved to the trash.", "old")
    undone = await bench.xml("<undo_last_change/>")
    assert undone.llm_echo == "Took back delete_file: 'a.txt' is as it was before."
    assert (bench.root / "a.txt").read_text() == "old"


async def test_without_a_trash_a_file_is_deleted_and_still_comes_back(bench: Bench) -> None:
    changes = Changes(bench.workspace, bench.checkpoints, lambda _folder, _name: False)
    (bench.root / "a.txt").write_text("old")
    done = changes.delete(bench.workspace.locate("a.txt"), ChangeOrigin("t1", "delete_file"))
    assert (done.trashed, (bench.root / "a.txt").exists()) == (False, False)
    await bench.call("undo_last_change")
    assert (bench.root / "a.txt").read_text() == "old"


async def test_changes_are_taken_back_one_by_one(bench: Bench) -> None:
    await bench.call("write_file", path="a.txt", content="1")
    (bench.root / "a.txt").chmod(0o600)
    await bench.call("write_file", path="a.txt", content="2")
    await bench.call("replace_in_file", path="a.txt", diff=_DIFF.replace("two", "2").replace("TWO", "3"))
    seen = []
    for _ in range(3):
        await bench.call("undo_last_change")
        seen.append((bench.root / "a.txt").read_text() if (bench.root / "a.txt").exists() else None)
    assert seen == ["2", "1", None]
    assert (await bench.call("undo_last_change")).llm_echo == "undo_last_change: There is no change of a file to undo."


async def test_what_somebody_else_changed_since_is_not_taken_back(bench: Bench) -> None:
    await bench.call("write_file", path="a.txt", content="ours")
    (bench.root / "a.txt").write_text("theirs")
    result = await bench.call("undo_last_change")
    assert (result.ok, (bench.root / "a.txt").read_text()) == (False, "theirs")
    assert "'a.txt' was changed by somebody else since" in result.llm_echo


async def test_a_whole_turn_is_taken_back_and_others_stay(bench: Bench) -> None:
    (bench.root / "old.txt").write_text("old")
    await bench.xml('<write_file path="first.txt">1</write_file>', turn="t1")
    await bench.xml('<write_file path="old.txt">new</write_file>', turn="t2")
    await bench.xml('<write_file path="second.txt">2</write_file>', turn="t2")
    await bench.xml('<delete_file path="old.txt"/>', turn="t2")
    assert bench.checkpoints.turns() == ["t1", "t2"]
    undone, problems = bench.changes.restore("t2")
    assert ([change.tool for change in undone], problems) == (["delete_file", "write_file", "write_file"], [])
    assert _state(bench.root) == {"first.txt": b"1", "old.txt": b"old"}


async def test_a_conversation_takes_back_only_its_own_changes(bench: Bench) -> None:
    undo = Block("c1", "undo_last_change", args={})
    await bench.xml('<write_file path="own.txt">1</write_file>', turn="t1")
    await bench.xml("<move_file><source>own.txt</source><destination>moved.txt</destination></move_file>", turn="t1")
    await bench.xml('<write_file path="others.txt">2</write_file>', turn="t2")
    undone = [(await bench.run(undo, "t3", ("t1", "t3"))).llm_echo for _ in range(3)]
    assert undone == [
        "Took back move_file: 'moved.txt' is as it was before.",
        "Took back write_file: 'own.txt' is gone again.",
        "undo_last_change: This conversation has changed no file that can be taken back. The newest change is of "
        "'others.txt' and was made elsewhere; it is left as it is. The person takes it back with `wisp undo`.",
    ]
    assert _state(bench.root) == {"others.txt": b"2"}


async def test_a_turn_is_taken_back_after_a_restart(bench: Bench, tmp_path: Path) -> None:
    await bench.xml('<write_file path="a.txt">1</write_file>', turn="t7")
    again = Changes(bench.workspace, Checkpoints(tmp_path / "checkpoints"))
    again.restore("t7")
    assert _state(bench.root) == {}


async def test_content_too_big_to_be_kept_is_told(bench: Bench, tmp_path: Path) -> None:
    small = Changes(bench.workspace, Checkpoints(tmp_path / "small", most_bytes=10))
    (bench.root / "a.txt").write_text("x" * 11)
    done = small.write(bench.workspace.locate("a.txt"), (b"new",), ChangeOrigin("t", "write_file"))
    assert (done.undoable, (bench.root / "a.txt").read_text()) == (False, "new")


async def test_missing_and_empty_content_name_the_argument(bench: Bench) -> None:
    (bench.root / "a.txt").write_text("old")
    missing = await bench.xml('<write_file path="a.txt"/>')
    empty = await bench.call("write_file", path="a.txt", content="")
    assert missing.llm_echo == "write_file: write_file needs content: the whole content."
    assert empty.llm_echo.startswith("write_file: content is empty, and 'a.txt' is not.")
    assert (bench.root / "a.txt").read_text() == "old"


async def test_an_empty_file_can_be_made(bench: Bench) -> None:
    result = await bench.call("write_file", path="__init__.py", content="")
    assert (result.ok, (bench.root / "__init__.py").read_bytes()) == (True, b"")


async def test_a_file_too_big_for_blocks_is_left_alone(bench: Bench) -> None:
    with (bench.root / "big.txt").open("wb") as file:
        file.truncate(MOST_EDITED_BYTES + 1)
    result = await bench.call("replace_in_file", path="big.txt", diff=_DIFF)
    assert "path: 'big.txt' has 64000001 bytes" in result.llm_echo


async def test_edits_side_by_side_lose_nothing(bench: Bench) -> None:
    (bench.root / "a.txt").write_text("".join(f"line {number}\n" for number in range(20)))
    diffs = [_DIFF.replace("two", f"line {number}").replace("TWO", f"LINE {number}") for number in range(20)]
    await asyncio.gather(*(bench.call("replace_in_file", path="a.txt", diff=diff) for diff in diffs))
    assert (bench.root / "a.txt").read_text() == "".join(f"LINE {number}\n" for number in range(20))


async def test_lines_are_added_at_the_end_in_the_form_of_the_file_and_taken_back(bench: Bench) -> None:
    file = bench.root / "notes.txt"
    file.write_bytes("Käse\r\nBrot".encode("cp1252"))
    assert (await bench.call("write_file", path="notes.txt", content="Öl", append=True)).ok
    assert file.read_bytes() == "Käse\r\nBrot\r\nÖl\r\n".encode("cp1252")
    assert (await bench.call("undo_last_change")).ok
    assert file.read_bytes() == "Käse\r\nBrot".encode("cp1252")
    missing = await bench.call("write_file", path="other.txt", content="x", append=True)
    assert not missing.ok and not (bench.root / "other.txt").exists()
