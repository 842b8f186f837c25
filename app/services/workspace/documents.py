"""PDF, Word, Excel and Jupyter files as text. The libraries that read them are loaded when the first one comes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from app.base.errors import ToolFailed

_MOST_BYTES = 100_000_000
_MOST_UNPACKED_BYTES = 200_000_000
_MOST_ROWS = 50_000
"""Of one sheet."""


def reader_of(name: str) -> Callable[[BinaryIO], Iterator[str]] | None:
    """What turns the file of that name into lines with line ends; None for what is no document."""
    return _READERS.get(name.rpartition(".")[2].lower())


def texts(file: BinaryIO, name: str, shown: str) -> Iterator[str]:
    """The document's text in pieces. Raises ToolFailed with the reason where it cannot be read."""
    reader = reader_of(name)
    assert reader is not None, name
    size = os.fstat(file.fileno()).st_size
    if size > _MOST_BYTES:
        raise ToolFailed(f"path: {shown!r} has {size} bytes; documents over {_MOST_BYTES} are not read.")
    try:
        yield from reader(file)
    except _broken() as error:
        reason = str(error).strip().rstrip(".") or type(error).__name__
        raise ToolFailed(
            f"path: {shown!r} is a damaged or protected document and cannot be read ({reason})."
        ) from error


def _broken() -> tuple[type[Exception], ...]:
    """What the libraries raise for files that are not what their names say."""
    import zipfile
    import zlib
    from xml.etree.ElementTree import ParseError

    from pypdf.errors import PyPdfError

    plain = (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError, EOFError, NotImplementedError)
    return (PyPdfError, zipfile.BadZipFile, zlib.error, ParseError, *plain)


def _check_unpacked(file: BinaryIO) -> None:
    """A small archive may unpack to more than fits into memory."""
    import zipfile

    with zipfile.ZipFile(file) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
    if size > _MOST_UNPACKED_BYTES:
        raise ValueError(f"it unpacks to {size} bytes")
    file.seek(0)


def _pdf(file: BinaryIO) -> Iterator[str]:
    from pypdf import PdfReader

    reader = PdfReader(file)
    if reader.is_encrypted and not reader.decrypt(""):
        raise ValueError("it needs a password")
    for number, page in enumerate(reader.pages, 1):
        yield f"[page {number}]\n{page.extract_text().strip()}\n"


def _docx(file: BinaryIO) -> Iterator[str]:
    import docx
    from docx.table import Table

    _check_unpacked(file)
    for part in docx.Document(file).iter_inner_content():
        if isinstance(part, Table):
            for row in part.rows:
                yield "\t".join(" ".join(cell.text.split()) for cell in row.cells) + "\n"
        else:
            yield part.text + "\n"


def _xlsx(file: BinaryIO) -> Iterator[str]:
    import openpyxl

    _check_unpacked(file)
    book = openpyxl.load_workbook(file, read_only=True, data_only=True)
    for sheet in book.worksheets:
        if sheet.sheet_state != "visible":
            continue
        yield f"[sheet {sheet.title}]\n"
        for number, row in enumerate(sheet.iter_rows(values_only=True)):
            if number >= _MOST_ROWS:
                yield f"[… rows after {_MOST_ROWS} left out …]\n"
                break
            yield "\t".join("" if cell is None else str(cell) for cell in row).rstrip("\t") + "\n"
    book.close()


def _ipynb(file: BinaryIO) -> Iterator[str]:
    cells: list[dict[str, Any]] = json.load(file)["cells"]
    for number, cell in enumerate(cells, 1):
        source = cell["source"]
        text = source if isinstance(source, str) else "".join(source)
        yield f"[cell {number}, {cell['cell_type']}]\n{text.rstrip()}\n"


_READERS: dict[str, Callable[[BinaryIO], Iterator[str]]] = {
    "pdf": _pdf,
    "docx": _docx,
    "xlsx": _xlsx,
    "xlsm": _xlsx,
    "ipynb": _ipynb,
}
