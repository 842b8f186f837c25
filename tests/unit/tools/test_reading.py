"""Reading files of all kinds, and lists of them."""

from __future__ import annotations

import io
import json
import os
import tracemalloc
import zipfile
from pathlib import Path

import openpyxl
import pytest
from docx import Document
from PIL import Image

from tests.support.workbench import Bench

_TEN = "".join(f"line{number}\n" for number in range(1, 11))
_PAGE = b"BT /F1 12 Tf 20 100 Td (Hello page) Tj ET"


def _pdf() -> bytes:
    """The smallest file with one page of text."""
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(_PAGE), _PAGE),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    start = len(out)
    out += b"xref\n0 6\n0000000000 65535 f \n" + table
    return out + b"trailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % start


async def test_a_text_comes_with_line_numbers(bench: Bench) -> None:
    (bench.root / "a.txt").write_text("one\ntwo\n")
    result = await bench.xml('<read_file path="a.txt"/>')
    assert result.llm_echo == "1 | one\n2 | two"
    assert result.payload == {
        "path": "a.txt",
        "zone": "workspace",
        "outside": False,
        "first": 1,
        "last": 2,
        "lines": 2,
        "charset": "utf-8",
        "text": "one\ntwo",
    }


async def test_child_tags_and_attributes_are_two_spellings(bench: Bench) -> None:
    (bench.root / "a.txt").write_text(_TEN)
    by_child = await bench.xml("<read_file><path>a.txt</path><start_line>3</start_line></read_file>")
    assert by_child == await bench.xml('<read_file path="a.txt" start_line="3"/>')


async def test_a_range_says_how_to_go_on(bench: Bench) -> None:
    (bench.root / "a.txt").write_text(_TEN)
    result = await bench.call("read_file", path="a.txt", start_line=3, end_line=4)
    assert result.llm_echo == "3 | line3\n4 | line4\n[lines 3-4 of 10; go on with start_line=5]"


async def test_swapped_bounds_are_put_right(bench: Bench) -> None:
    (bench.root / "a.txt").write_text(_TEN)
    result = await bench.call("read_file", path="a.txt", start_line=9, end_line=8)
    assert result.llm_echo == "8 | line8\n9 | line9\n[lines 8-9 of 10; go on with start_line=10]"


async def test_a_start_after_the_end_names_the_argument(bench: Bench) -> None:
    (bench.root / "a.txt").write_text(_TEN)
    result = await bench.call("read_file", path="a.txt", start_line=11)
    assert (result.ok, result.llm_echo) == (False, "read_file: start_line is 11, but the text has 10 lines.")


@pytest.mark.parametrize(
    ("data", "charset"),
    [
        (b"caf\xc3\xa9\n", "utf-8"),
        (b"\xef\xbb\xbfcaf\xc3\xa9\n", "utf-8-sig"),
        ("café\n".encode("utf-16"), "utf-16"),
        ("café\n".encode("utf-32"), "utf-32"),
    ],
)
async def test_charsets_with_a_mark_or_of_unicode_are_known(bench: Bench, data: bytes, charset: str) -> None:
    (bench.root / "a.txt").write_bytes(data)
    result = await bench.call("read_file", path="a.txt")
    assert (result.llm_echo, result.payload["charset"]) == ("1 | café", charset)


async def test_an_old_charset_is_guessed(bench: Bench) -> None:
    text = "Die Straße führt über den Fluß. Äpfel und Öl gehören zum Frühstück.\n" * 20
    (bench.root / "a.txt").write_bytes(text.encode("cp1252"))
    result = await bench.call("read_file", path="a.txt", end_line=1)
    assert "Die Straße führt über den Fluß." in result.llm_echo


@pytest.mark.parametrize(
    ("codec", "text"),
    [
        ("cp1252", "café\n"),
        ("cp1252", "x = 1  # über\nprint(x)\n"),
        ("cp1252", "x = 1\n" * 20_000 + "# größer\n"),
        ("cp1251", "Привет, мир. Сегодня хорошая погода, и мы идём гулять в парк.\n"),
        ("cp932", "こんにちは世界。今日は天気がいいので、公園へ散歩に行きます。\n"),
        ("utf-16-le", "Grüße aus Köln\nПривет, мир\n"),
        ("utf-16-be", "Grüße aus Köln\nПривет, мир\n"),
    ],
)
async def test_the_charset_of_few_letters_is_the_usual_one_and_of_enough_text_its_own(
    bench: Bench, codec: str, text: str
) -> None:
    (bench.root / "a.txt").write_bytes(text.encode(codec))
    last = text.splitlines()[-1]
    result = await bench.call("read_file", path="a.txt", start_line=text.count("\n"))
    assert result.llm_echo.endswith(f" | {last}")


_JAPANESE = "これは日本語のテキストです。請求書は添付のファイルをご覧ください。よろしくお願いいたします。\n"
_CHINESE = "这是一个中文文本文件。请查看附件中的发票，谢谢。\n今天天气很好。\n"


@pytest.mark.parametrize(
    ("codec", "text"),
    [
        ("euc_jp", _JAPANESE),
        ("gb18030", _CHINESE),
        ("cp932", "請求書\n"),
        ("euc_jp", "請求書\n"),
        ("gb18030", "发票\n"),
    ],
)
async def test_an_asian_charset_is_found_or_it_is_told_that_it_is_not_sure(bench: Bench, codec: str, text: str) -> None:
    (bench.root / "a.txt").write_bytes(text.encode(codec))
    result = await bench.call("read_file", path="a.txt")
    is_read = all(line in result.llm_echo for line in text.splitlines())
    assert is_read or codec in result.llm_echo.rpartition("[")[2]
    assert is_read or text not in (_JAPANESE, _CHINESE)


async def test_a_character_across_the_border_of_two_parts_stays_whole(bench: Bench) -> None:
    (bench.root / "a.txt").write_text("x" * ((1 << 20) - 1) + "é\nlast\n", encoding="utf-8")
    result = await bench.call("read_file", path="a.txt", start_line=2)
    assert result.llm_echo == "2 | last"


async def test_long_lines_are_cut_and_that_is_told(bench: Bench) -> None:
    (bench.root / "a.txt").write_text("x" * 5_000_000 + "\nshort\n")
    result = await bench.call("read_file", path="a.txt")
    first, second, note = result.llm_echo.split("\n")
    assert (len(first) < 2_100, second, note) == (True, "2 | short", "[1 of these lines were too long and were cut]")


async def test_a_thousand_lines_at_most_come_at_once(bench: Bench) -> None:
    (bench.root / "a.txt").write_text("a\n" * 2_500)
    result = await bench.call("read_file", path="a.txt")
    assert result.llm_echo.endswith("1000 | a\n[lines 1-1000 of 2500; go on with start_line=1001]")


async def test_an_empty_file_is_called_empty(bench: Bench) -> None:
    (bench.root / "a.txt").touch()
    assert (await bench.call("read_file", path="a.txt")).llm_echo == "The file is empty."


async def test_a_picture_goes_to_the_model_scaled_to_what_it_sees(bench: Bench) -> None:
    Image.new("RGB", (3136, 100), "red").save(bench.root / "a.png")
    result = await bench.call("read_file", path="a.png")
    [media] = result.llm_media
    assert (media.media_type, media.width, media.height, media.label) == ("image/png", 1568, 50, "a.png (3136x100)")
    assert Image.open(io.BytesIO(media.data)).size == (1568, 50)


async def test_a_small_picture_goes_as_it_is(bench: Bench) -> None:
    Image.new("RGB", (30, 20), "red").save(bench.root / "a.jpg")
    result = await bench.call("read_file", path="a.jpg")
    assert result.llm_media[0].data == (bench.root / "a.jpg").read_bytes()


async def test_documents_become_text(bench: Bench) -> None:
    (bench.root / "a.pdf").write_bytes(_pdf())
    document = Document()
    document.add_paragraph("A paragraph")
    table = document.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "left", "right"
    document.save(str(bench.root / "a.docx"))
    book = openpyxl.Workbook()
    book.active.append(["name", 3, None])
    book.create_sheet("hidden").sheet_state = "hidden"
    book.save(bench.root / "a.xlsx")
    cells = [{"cell_type": "code", "source": ["x = 1\n", "x"]}, {"cell_type": "markdown", "source": "# Title"}]
    (bench.root / "a.ipynb").write_text(json.dumps({"cells": cells}))
    read = {
        kind: (await bench.call("read_file", path=f"a.{kind}")).llm_echo for kind in ("pdf", "docx", "xlsx", "ipynb")
    }
    assert read == {
        "pdf": "1 | [page 1]\n2 | Hello page",
        "docx": "1 | A paragraph\n2 | left\tright",
        "xlsx": "1 | [sheet Sheet]\n2 | name\t3",
        "ipynb": "1 | [cell 1, code]\n2 | x = 1\n3 | x\n4 | [cell 2, markdown]\n5 | # Title",
    }


_NAMESPACES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "text", "table", "style")
)


def _odf(path: Path, kind: str, body: str, styles: str = "") -> None:
    """An OpenDocument as programs write it, as far as reading needs it."""
    content = (
        f"<office:document-content {_NAMESPACES}>{styles}<office:body>{body}</office:body></office:document-content>"
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", f"application/vnd.oasis.opendocument.{kind}")
        archive.writestr("content.xml", content)


async def test_the_text_of_an_open_document_is_read(bench: Bench) -> None:
    body = (
        "<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes>"
        '<text:h>Title</text:h><text:p>one<text:s text:c="2"/>two<text:tab/><text:span>three</text:span>'
        "<office:annotation><text:p>a remark</text:p></office:annotation>, end</text:p><text:p/>"
        "<table:table><table:table-row><table:table-cell><text:p>left</text:p></table:table-cell>"
        "<table:table-cell><text:p>right</text:p><text:p>below</text:p></table:table-cell></table:table-row></table:table>"
    )
    _odf(bench.root / "a.odt", "text", body)
    read = await bench.call("read_file", path="a.odt")
    assert read.llm_echo == "1 | Title\n2 | one  two\tthree, end\n3 | \n4 | left\tright below"


async def test_the_cells_of_an_open_sheet_are_read_without_hidden_sheets_and_endless_blanks(bench: Bench) -> None:
    styles = '<style:style style:name="h"><style:table-properties table:display="false"/></style:style>'
    cell = "<table:table-cell><text:p>{}</text:p></table:table-cell>"
    rows = (
        f'<table:table-row>{cell.format("name")}<table:table-cell table:number-columns-repeated="2"/>'
        f'{cell.format("3")}<table:table-cell table:number-columns-repeated="16380"/></table:table-row>'
        '<table:table-row table:number-rows-repeated="2"><table:table-cell/></table:table-row>'
        '<table:table-row table:number-rows-repeated="2"><table:table-cell office:value="7"/></table:table-row>'
        '<table:table-row table:number-rows-repeated="1048570"><table:table-cell/></table:table-row>'
    )
    secret = f"<table:table-row>{cell.format('x')}</table:table-row>"
    sheets = (
        f'<table:table table:name="Costs">{rows}</table:table>'
        f'<table:table table:name="Secret" table:style-name="h">{secret}</table:table>'
    )
    _odf(bench.root / "a.ods", "spreadsheet", sheets, styles)
    read = await bench.call("read_file", path="a.ods")
    assert read.llm_echo == "1 | [sheet Costs]\n2 | name\t\t\t3\n3 | \n4 | \n5 | 7\n6 | 7"


@pytest.mark.parametrize("name", ["a.pdf", "a.docx", "a.xlsx", "a.odt", "a.ods", "a.ipynb", "a.png"])
@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 no"])
async def test_a_damaged_document_is_told_and_not_raised(bench: Bench, name: str, data: bytes) -> None:
    (bench.root / name).write_bytes(data)
    result = await bench.call("read_file", path=name)
    assert (result.ok, result.event) == (False, "tool_error")
    assert result.llm_echo.startswith(f"read_file: path: '{name}' is a damaged")


@pytest.mark.parametrize("name", ["a.docx", "a.xlsx", "a.odt"])
async def test_an_archive_that_unpacks_to_too_much_is_not_unpacked(bench: Bench, name: str) -> None:
    with (
        zipfile.ZipFile(bench.root / name, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("word/document.xml", "w", force_zip64=True) as entry,
    ):
        for _ in range(201):
            entry.write(bytes(1_000_000))
    result = await bench.call("read_file", path=name)
    assert "cannot be read (it unpacks to 201000000 bytes)" in result.llm_echo


async def test_a_binary_file_is_refused_with_what_it_is(bench: Bench) -> None:
    (bench.root / "a").write_bytes(b"\x7fELF" + b"\0" * 96)
    result = await bench.call("read_file", path="a")
    assert result.llm_echo == "read_file: path: 'a' is a program (ELF), 100 bytes, and no text."


async def test_a_pipe_is_not_waited_for(bench: Bench) -> None:
    os.mkfifo(bench.root / "pipe")
    result = await bench.call("read_file", path="pipe")
    assert result.llm_echo == "read_file: path: 'pipe' is no regular file (a pipe or a device); it is not read."


async def test_chunks_are_counted(bench: Bench) -> None:
    (bench.root / "a.txt").write_text(_TEN)
    result = await bench.call("read_file_in_chunks", path="a.txt", chunk=3, chunk_lines=4)
    assert result.llm_echo == "[chunk 3 of 3]\n9 | line9\n10 | line10"


async def test_a_batch_shows_what_it_can_and_says_what_it_cannot(bench: Bench) -> None:
    (bench.root / "a.txt").write_text("one\n")
    result = await bench.xml("<read_batch><path>a.txt</path><path>b.txt</path></read_batch>")
    assert result.llm_echo == "a.txt:\n1 | one\n\nb.txt:\npath: there is no 'b.txt'. list_files shows what there is."


async def test_a_batch_with_nothing_to_show_fails(bench: Bench) -> None:
    result = await bench.call("read_batch", path=["b.txt"])
    assert result.llm_echo == "read_batch: path: there is no 'b.txt'. list_files shows what there is."


async def test_what_lies_outside_is_read_and_marked(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "far.txt").write_text("far\n")
    result = await bench.call("read_file", path=str(tmp_path / "far.txt"))
    assert (result.llm_echo, result.payload["outside"]) == ("1 | far", True)


async def test_a_folder_is_listed_folders_first(bench: Bench) -> None:
    (bench.root / "sub").mkdir()
    (bench.root / "b.txt").touch()
    (bench.root / ".hidden").touch()
    (bench.root / "link").symlink_to("b.txt")
    result = await bench.call("list_files", path=".")
    assert result.llm_echo == ".:\nsub/\n.hidden\nb.txt\nlink@"


async def test_names_that_are_no_text_or_break_lines_are_made_visible(bench: Bench) -> None:
    for name in (b"a\xff.txt", b"b\n[fake].txt", "c\u202etxt.exe".encode()):
        (bench.root / os.fsdecode(name)).write_text("word")
    listed = await bench.call("list_files", path=".", recursive=True)
    found = await bench.call("search_files", path=".", regex="word")
    assert listed.llm_echo == ".:\na\ufffd.txt\nb\ufffd[fake].txt\nc\ufffdtxt.exe"
    assert found.payload["files"] == 3
    assert [line for line in found.llm_echo.split("\n") if not line.isprintable()] == []


async def test_a_recursive_list_honours_gitignore_at_every_level(bench: Bench) -> None:
    for name in ("keep.txt", "drop.log", "sub/keep.log", "sub/local.txt", "build/out.txt", "node_modules/x/y.js"):
        (bench.root / name).parent.mkdir(parents=True, exist_ok=True)
        (bench.root / name).touch()
    (bench.root / ".gitignore").write_text("*.log\n/build/\n")
    (bench.root / "sub" / ".gitignore").write_text("!keep.log\nlocal.txt\n")
    result = await bench.call("list_files", path=".", recursive=True)
    assert result.llm_echo == ".:\nnode_modules/\nsub/\nkeep.txt\nsub/keep.log"


async def test_only_names_that_fit_a_glob_are_listed_and_none_of_the_others_counts(bench: Bench) -> None:
    for name in (*(f"{number}.txt" for number in range(500)), "z/deep/Report.TXT", "reports/plan.md", "a[1].txt"):
        (bench.root / name).parent.mkdir(parents=True, exist_ok=True)
        (bench.root / name).touch()
    found = await bench.call("list_files", path=".", recursive=True, named="*report*")
    assert found.llm_echo == ".:\nreports/\nz/deep/Report.TXT"
    assert (await bench.call("list_files", path=".", named="a[[]1].txt")).llm_echo == ".:\na[1].txt"
    assert (await bench.call("list_files", path=".", named="*.pdf")).llm_echo == ".:\n(nothing named *.pdf)"
    paths = await bench.call("list_files", path=".", named="sub/*.txt")
    assert (paths.ok, "put the folder into path" in paths.llm_echo) == (False, True)


async def test_a_limit_cuts_the_depths_first_and_is_told(bench: Bench) -> None:
    (bench.root / "a").mkdir()
    for number in range(500):
        (bench.root / "a" / f"{number}.txt").touch()
    (bench.root / "z.txt").touch()
    result = await bench.call("list_files", path=".", recursive=True)
    lines = result.llm_echo.split("\n")
    assert (lines[1:3], lines[-1]) == (
        ["a/", "z.txt"],
        "[there is more; these are the first 400. List a folder in it for the rest]",
    )


async def test_a_big_file_is_never_in_memory_as_a_whole(bench: Bench) -> None:
    with (bench.root / "big.txt").open("w") as file:
        for block in range(40):
            file.write(f"{block:09d}\n" * 100_000)
    tracemalloc.start()
    result = await bench.call("read_file", path="big.txt", start_line=2_000_001, end_line=2_000_001)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert result.llm_echo.startswith("2000001 | 000000020\n[lines 2000001-2000001 of 4000000;")
    assert peak_bytes < 12_000_000
