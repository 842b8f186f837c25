"""The content of a file for a reader: lines of text, the text of a document, or a picture."""

from __future__ import annotations

import base64
import binascii
import io
import json
import os
import re
import struct
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from app.base.errors import ToolFailed
from app.base.phrases import Phrase
from app.base.values import dataclass
from app.services.files import parsing
from app.services.files.places import Place, Workspace
from app.services.files.reading import Slice, lines_of, open_file, sliced

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_NAMES = ("png", "jpg", "jpeg", "gif", "webp", "bmp", "tif", "tiff", "ico")
_LONGEST_PX = 1_568
_MOST_PIXELS = 60_000_000
_MOST_BYTES = 4_000_000
_AS_THEY_ARE = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp"}
_HEAD = struct.Struct("<IIII16s")
_DATA_URL = re.compile(r"data:image/(?:png|jpeg|webp|gif);base64,")


@dataclass(frozen=True, slots=True)
class Picture:
    """An encoded picture as it may be sent, and the size of the original."""

    data: bytes
    media_type: str
    width: int
    height: int
    original_width: int
    original_height: int


def is_picture(name: str) -> bool:
    return name.rpartition(".")[2].lower() in _NAMES


def load(file: BinaryIO, shown: str) -> Picture:
    """Read a picture. If it is larger than a model can see, scale it down. Raises ToolFailed if it cannot be read."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(file) as image:
            width, height = image.size
            if width * height > _MOST_PIXELS:  # Check the size first, because a small file can decode to gigabytes.
                values = {"path": shown, "width": str(width), "height": str(height)}
                what = Phrase("{path!r} has {width} x {height} pixels; that is too much to look at.", values)
                raise ToolFailed(what, argument="path")
            kind = _AS_THEY_ARE.get(image.format or "")
            if kind and max(width, height) <= _LONGEST_PX:
                file.seek(0)
                data = file.read(_MOST_BYTES + 1)
                if len(data) <= _MOST_BYTES:
                    image.load()
                    return Picture(data, kind, width, height, width, height)
            image.thumbnail((_LONGEST_PX, _LONGEST_PX))
            out = io.BytesIO()
            image.convert("RGBA" if image.has_transparency_data else "RGB").save(out, "PNG")
            return Picture(out.getvalue(), "image/png", image.width, image.height, width, height)
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        what = Phrase("{path!r} is a damaged picture and cannot be shown.", {"path": shown})
        raise ToolFailed(what, argument="path") from error


def packed(picture: Picture) -> bytes:
    """Return the picture and its sizes as bytes, for `unpacked`."""
    sizes = (picture.width, picture.height, picture.original_width, picture.original_height)
    return _HEAD.pack(*sizes, picture.media_type.encode()) + picture.data


def unpacked(data: bytes) -> Picture:
    """Return the picture from bytes that `packed` made."""
    width, height, original_width, original_height, kind = _HEAD.unpack_from(data)
    return Picture(data[_HEAD.size :], kind.rstrip(b"\0").decode(), width, height, original_width, original_height)


_MOST_DOCUMENT_BYTES = 100_000_000
_MOST_UNPACKED_BYTES = 200_000_000
_MOST_ROWS = 50_000
"""Of one sheet."""


def reader_of(name: str) -> Callable[[BinaryIO], Iterator[str]] | None:
    """Return the function that reads a document of this name as lines; None if it is no document."""
    return _READERS.get(name.rpartition(".")[2].lower())


def texts(file: BinaryIO, name: str, shown: str) -> Iterator[str]:
    """Yield the document's text in pieces. Raises ToolFailed with the reason if it cannot be read."""
    reader = reader_of(name)
    assert reader is not None, name
    size = os.fstat(file.fileno()).st_size
    if size > _MOST_DOCUMENT_BYTES:
        values = {"path": shown, "size": str(size), "most": str(_MOST_DOCUMENT_BYTES)}
        raise ToolFailed(
            Phrase("{path!r} has {size} bytes; documents over {most} are not read.", values), argument="path"
        )
    try:
        yield from reader(file)
    except _broken() as error:
        reason = str(error).strip().rstrip(".") or type(error).__name__
        what = "{path!r} is a damaged or protected document and cannot be read ({reason})."
        raise ToolFailed(Phrase(what, {"path": shown, "reason": reason}), argument="path") from error


def _broken() -> tuple[type[Exception], ...]:
    """The error types that the libraries for documents raise if a file is damaged."""
    import zipfile
    import zlib
    from xml.etree.ElementTree import ParseError

    from pypdf.errors import PyPdfError

    plain = (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError, EOFError, NotImplementedError)
    return (PyPdfError, zipfile.BadZipFile, zlib.error, ParseError, *plain)


def _check_unpacked(file: BinaryIO) -> None:
    """Raise ValueError if an archive is too large when unpacked: a small file may fill the memory."""
    import zipfile

    with zipfile.ZipFile(file) as archive:
        # Zip bombs are described here: https://docs.python.org/3/library/zipfile.html#decompression-pitfalls
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


_OFFICE, _TEXT, _TABLE, _STYLE = (
    f"{{urn:oasis:names:tc:opendocument:xmlns:{name}:1.0}}" for name in ("office", "text", "table", "style")
)
_PARAGRAPHS = (f"{_TEXT}p", f"{_TEXT}h")
_CELLS = (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell")
_NOT_SHOWN = (f"{_OFFICE}annotation", f"{_TEXT}tracked-changes")
_MOST_COLUMNS = 1_024


def _odf(file: BinaryIO) -> Iterator[str]:
    """Yield paragraphs and tables of an OpenDocument text or sheet (OASIS OpenDocument 1.3, part 3)."""
    import zipfile
    from xml.etree import ElementTree

    _check_unpacked(file)
    with zipfile.ZipFile(file) as archive, archive.open("content.xml") as content:
        kind = archive.read("mimetype") if "mimetype" in archive.namelist() else b""
        inside: list[str] = []
        hidden: set[str] = set()
        rows = _OdfRows()
        for event, element in ElementTree.iterparse(content, ("start", "end")):
            if event == "start":
                if element.tag == f"{_TABLE}table" and kind.endswith(b"spreadsheet") and not inside:
                    rows = _OdfRows(is_hidden=element.get(f"{_TABLE}style-name", "") in hidden)
                    yield "" if rows.is_hidden else f"[sheet {element.get(f'{_TABLE}name')}]\n"
                if element.tag in (*_PARAGRAPHS, *_NOT_SHOWN, f"{_TABLE}table-row"):
                    inside.append(element.tag)
                continue
            if element.tag == f"{_STYLE}style" and _hides(element):
                hidden.add(element.get(f"{_STYLE}name", ""))
            if not inside or element.tag != inside[-1]:
                continue
            inside.pop()
            if not inside:
                if element.tag == f"{_TABLE}table-row":
                    yield from rows.lines(element)
                elif element.tag in _PARAGRAPHS:
                    yield _odf_text(element) + "\n"
                element.clear()  # so that a large document does not stay in memory as a tree


@dataclass(slots=True)
class _OdfRows:
    """Collects the rows of one table. Blank rows are added only once another row follows: sheets end with a million."""

    is_hidden: bool = False
    told: int = 0
    blank: int = 0

    def lines(self, row: Element) -> Iterator[str]:
        line = "\t".join(_odf_cells(row)).rstrip("\t")
        count = int(row.get(f"{_TABLE}number-rows-repeated", "1"))
        if self.is_hidden or self.told > _MOST_ROWS:
            return
        if not line:
            self.blank += count
            return
        wanted = [""] * min(self.blank, _MOST_ROWS) + [line] * min(count, _MOST_ROWS)
        self.blank = 0
        for text in wanted:
            self.told += 1
            if self.told > _MOST_ROWS:
                yield f"[… rows after {_MOST_ROWS} left out …]\n"
                return
            yield text + "\n"


def _odf_cells(row: Element) -> Iterator[str]:
    left = _MOST_COLUMNS
    for cell in (cell for cell in row.iter() if cell.tag in _CELLS):
        count = min(int(cell.get(f"{_TABLE}number-columns-repeated", "1")), left)
        text = " ".join(_odf_text(part) for part in cell if part.tag in _PARAGRAPHS)
        yield from [" ".join(text.split()) or cell.get(f"{_OFFICE}value", "")] * count
        left -= count


def _odf_text(part: Element) -> str:
    if part.tag in _NOT_SHOWN:
        return ""
    if part.tag == f"{_TEXT}s":
        return " " * min(int(part.get(f"{_TEXT}c", "1")), _MOST_COLUMNS)
    signs = {f"{_TEXT}tab": "\t", f"{_TEXT}line-break": "\n"}
    inside = "".join(_odf_text(child) + (child.tail or "") for child in part)
    return signs.get(part.tag, part.text or "") + inside


def _hides(style: Element) -> bool:
    told = style.find(f"{_STYLE}table-properties")
    return told is not None and told.get(f"{_TABLE}display") == "false"


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
    "odt": _odf,
    "ods": _odf,
    "ipynb": _ipynb,
}

MOST_LINES = 1_000


@dataclass(frozen=True, slots=True)
class WantedLines:
    """The lines to read: `first` to `last` (both included, from 1; None: the text's ends), at most `most`."""

    first: int | None = None
    last: int | None = None
    most: int = MOST_LINES


def look(workspace: Workspace, place: Place, wanted: WantedLines) -> Slice | Picture:
    """Return the file's content for the model. If it cannot be shown, raises a WispError that says what the file is."""
    with open_file(workspace, place) as file:
        name = place.path.name
        if is_picture(name):
            return seen(file, place.shown)
        if reader_of(name):
            texts = parsing.texts("document", {"name": name, "shown": place.shown}, file, place.shown)
            return sliced(texts, wanted.first, wanted.last, wanted.most)
        return lines_of(file, place, wanted.first, wanted.last, wanted.most)


def seen(file: BinaryIO | bytes, shown: str) -> Picture:
    """Decode and scale a picture in a worker process. Blocks. Raises ToolFailed if it is no picture."""
    return unpacked(b"".join(parsing.pieces("picture", {"shown": shown}, file, shown)))


def written_in(address: str) -> bytes:
    """The bytes of a picture that stands in a `data:` address, or b""."""
    begin = _DATA_URL.match(address)
    try:
        return base64.b64decode(address[begin.end() :], validate=True) if begin else b""
    except binascii.Error:
        return b""
