"""Make documents from a model's text: Markdown becomes DOCX or PDF, rows become XLSX. `parsing` runs this.

Nothing is fetched meanwhile: a picture in Markdown becomes its words, because a PDF would load the picture.
"""

from __future__ import annotations

import csv
import datetime
import functools
import io
import itertools
import os
import re
import unicodedata
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, BinaryIO

from app.base.errors import ToolMisuse

if TYPE_CHECKING:
    from docx.document import Document
    from docx.text.paragraph import Paragraph
    from fpdf import FPDF
    from markdown_it import MarkdownIt
    from markdown_it.token import Token
    from openpyxl import Workbook
    from openpyxl.cell.cell import Cell

_FONT_FOLDERS = (
    "/usr/share/fonts",
    "/usr/local/share/fonts",
    "~/.local/share/fonts",
    "/Library/Fonts",
    "/System/Library/Fonts/Supplemental",
    "C:/Windows/Fonts",
)
_FONTS = (
    (
        *("dejavusans.ttf", "dejavusans-bold.ttf", "dejavusans-oblique.ttf", "dejavusans-boldoblique.ttf"),
        "dejavusansmono.ttf",
    ),
    ("arial.ttf", "arialbd.ttf", "ariali.ttf", "arialbi.ttf", "cour.ttf"),
    ("arial.ttf", "arial bold.ttf", "arial italic.ttf", "arial bold italic.ttf", "courier new.ttf"),
)
"""For Linux, Windows and macOS: the plain, bold, italic and bold italic font and that of code, in lower case."""
_STYLES = ("", "B", "I", "BI")
_FAMILY, _MONO = "Wisp", "Wisp mono"
_CODE_FONT = "DejaVu Sans Mono"
_MARGIN_MM = 20
_SIZE_PT = 11
_HEADINGS_PT = ((1, 20), (2, 16), (3, 13), (4, 12), (5, 11), (6, 11))
_INK = "#202020"
_WIDEST_CHARS = 60
_NUMBER = re.compile(r"-?(0|[1-9]\d{0,14})(\.\d+)?")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_FUNCTION = re.compile(r"([A-Za-z][A-Za-z0-9_.]*)\s*\(")
_FUNCTIONS = frozenset(
    {
        "ABS", "AND", "AVERAGE", "AVERAGEIF", "CEILING", "CONCATENATE", "COUNT", "COUNTA", "COUNTIF", "DATE", "DAY",
        "FLOOR", "IF", "IFERROR", "INDEX", "INT", "LEFT", "LEN", "LOOKUP", "LOWER", "MATCH", "MAX", "MEDIAN", "MID",
        "MIN", "MOD", "MONTH", "NOT", "NOW", "OR", "POWER", "PRODUCT", "RANK", "RIGHT", "ROUND", "ROUNDDOWN",
        "ROUNDUP", "SQRT", "STDEV", "SUM", "SUMIF", "SUMIFS", "SUMPRODUCT", "TEXT", "TODAY", "TRIM", "UPPER",
        "VLOOKUP", "WEEKDAY", "YEAR",
    }
)  # fmt: skip
"""What a formula may call: others reach other files, programs or the network (WEBSERVICE, DDE, HYPERLINK)."""
_BAD_TITLE = re.compile(r"[\\/*?:\[\]]")
_TITLE_CHARS = 31
_CELL_CHARS = 32_767
"""What Excel takes; openpyxl would cut the rest off."""
_LITERAL = re.compile(r"""("(?:[^"]|"")*")|'(?:[^']|'')*'""")
_FORMULA = re.compile(r"""=(?!.*\w\s+\w)\s*[-+("'$[{\w].*""", re.DOTALL)
"""A formula has no two words side by side, as sentences do."""
_UNWRITABLE = re.compile(r"[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Control characters and others that XML forbids."""
_MOST_CHARS = 500_000
_DEEPEST = 20
_MOST_NUMBERED = 300


def is_document(name: str) -> bool:
    """Return whether `made_of` can make a file of that name, judged by its ending."""
    return PurePath(name).suffix.lower() in _MAKERS


def made_of(text: str, name: str) -> bytes:
    """As bytes. Raises ToolMisuse if the text cannot become a document of that name."""
    if len(text) > _MOST_CHARS:
        raise ToolMisuse(
            f"content has {len(text)} characters; a document takes {_MOST_CHARS} at most. Write several files."
        )
    try:
        return _MAKERS[PurePath(name).suffix.lower()](_UNWRITABLE.sub("", text))
    except (ValueError, NotImplementedError, csv.Error) as error:
        raise ToolMisuse(
            f"No document can be made of this content: {error}. Use fewer columns, shorter cells or simpler Markdown."
        ) from error


def _parser() -> MarkdownIt:
    """HTML and pictures stay words."""
    from markdown_it import MarkdownIt

    options = {"html": False, "maxNesting": 2 * _DEEPEST}
    return MarkdownIt("commonmark", options).enable("table").disable("image")


def _tokens(text: str) -> list[Token]:
    """A link to a place in the same text loses its address: places have no names."""
    tokens = _parser().parse(text)
    if any(token.level > _DEEPEST for token in tokens):
        raise ToolMisuse(f"content has lists or quotes more than {_DEEPEST // 2} deep. Use fewer levels.")
    for link in itertools.chain.from_iterable(token.children or () for token in tokens):
        if str(link.attrGet("href") or "").startswith("#"):
            link.attrSet("href", "")
    return tokens


# --- DOCX


def _docx(text: str) -> bytes:
    import docx

    document = docx.Document()
    _Writer(document).write(_tokens(text))
    return _saved(document.save)


class _Writer:
    """Writes Markdown's blocks into a document, one after the other."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._lists: list[int | None] = []
        """For each open list the number of its numbering, None for bullets."""
        self._quotes = self._numbered = 0

    def write(self, tokens: Sequence[Token]) -> None:
        rest = iter(tokens)
        for token in rest:
            match token.type:
                case "heading_open":
                    _write_words(self._document.add_heading(level=int(token.tag[1])), next(rest))
                case "paragraph_open":
                    _write_words(self._paragraph(), next(rest))
                case "fence" | "code_block":
                    self._write_code(token.content)
                case "table_open":
                    _write_table(self._document, list(_rows(rest)))
                case _:
                    self._open_or_close(token)

    def _open_or_close(self, token: Token) -> None:
        match token.type:
            case "bullet_list_open":
                self._lists.append(None)
            case "ordered_list_open":
                self._check_numbered()
                style = _list_style("List Number", len(self._lists) + 1)
                self._lists.append(_new_numbering(self._document, style, int(token.attrGet("start") or 1)))
            case "bullet_list_close" | "ordered_list_close":
                self._lists.pop()
            case "blockquote_open" | "blockquote_close":
                self._quotes += token.nesting

    def _check_numbered(self) -> None:
        """Raise ToolMisuse if there are too many lists: a new numbering costs as much as all before it together."""
        self._numbered += 1
        if self._numbered > _MOST_NUMBERED:
            raise ToolMisuse(f"A document takes at most {_MOST_NUMBERED} numbered lists. Write several files.")

    def _paragraph(self) -> Paragraph:
        if not self._lists:
            return self._document.add_paragraph(style="Quote" if self._quotes else None)
        number = self._lists[-1]
        kind = "List Bullet" if number is None else "List Number"
        made = self._document.add_paragraph(style=_list_style(kind, len(self._lists)))
        if number is not None:
            made._p.get_or_add_pPr().get_or_add_numPr().get_or_add_numId().val = number
        return made

    def _write_code(self, code: str) -> None:
        run = self._document.add_paragraph().add_run(code.rstrip("\n"))
        run.font.name = _CODE_FONT


def _list_style(kind: str, depth: int) -> str:
    """The name of Word's style for a list at this depth, at most 3. The outermost list has depth 1."""
    return kind if depth == 1 else f"{kind} {min(depth, 3)}"


def _new_numbering(document: Document, style: str, start: int) -> int:
    """Add a numbering that begins at `start`. Without it, a list would continue the numbers of the list before.

    https://github.com/python-openxml/python-docx/issues/25
    """
    numbering = document.part.numbering_part.element
    usual = document.styles[style].element.pPr.numPr.numId.val
    number = numbering.num_having_numId(usual)
    made = numbering.add_num(number.abstractNumId.val)
    made.add_lvlOverride(ilvl=0).add_startOverride(start)
    return int(made.numId)


def _write_words(paragraph: Paragraph, inline: Token) -> None:
    strong = emphasis = 0
    address = ""
    for token in inline.children or ():
        match token.type:
            case "strong_open" | "strong_close":
                strong += token.nesting
            case "em_open" | "em_close":
                emphasis += token.nesting
            case "link_open":
                address = str(token.attrGet("href") or "")
            case "link_close":
                if not paragraph.text.endswith(address):
                    paragraph.add_run(f" ({address})")
            case "hardbreak":
                paragraph.add_run().add_break()
            case _:
                run = paragraph.add_run(" " if token.type == "softbreak" else token.content)
                run.bold, run.italic = bool(strong) or None, bool(emphasis) or None
                if token.type == "code_inline":
                    run.font.name = _CODE_FONT


def _rows(tokens: Iterable[Token]) -> Iterator[list[Token]]:
    """Yield a table's rows up to its end, each as its cells' tokens."""
    row: list[Token] = []
    for token in tokens:
        if token.type == "table_close":
            return
        if token.type == "inline":
            row.append(token)
        elif token.type == "tr_close":
            yield row
            row = []


def _write_table(document: Document, rows: list[list[Token]]) -> None:
    table = document.add_table(rows=0, cols=max(map(len, rows)), style="Table Grid")
    for number, row in enumerate(rows):
        for cell, words in zip(table.add_row().cells, row, strict=False):
            _write_words(cell.paragraphs[0], words)
            for run in cell.paragraphs[0].runs if number == 0 else ():
                run.bold = True


# --- PDF


def _pdf(text: str) -> bytes:
    from fpdf import FPDF
    from fpdf.errors import FPDFException
    from fpdf.fonts import TTFFont

    fonts = _fonts_for(text)
    made = FPDF(format="A4")
    try:
        _write_pdf(made, text, fonts)
        return bytes(made.output())
    except FPDFException as error:
        raise ValueError(str(error)) from error
    finally:
        for font in made.fonts.values():
            if isinstance(font, TTFFont):
                font.ttfont.close()  # because fpdf2 leaves the files of its fonts open


def _write_pdf(made: FPDF, text: str, fonts: Mapping[tuple[str, str], str]) -> None:
    from fpdf import FontFace, TextStyle

    for (family, style), file in fonts.items():
        made.add_font(family, style, file)
    family, mono = (_FAMILY, _MONO) if fonts else ("Helvetica", "Courier")
    made.set_margin(_MARGIN_MM)
    made.add_page()
    made.set_font(family, size=_SIZE_PT)
    styles: dict[str, FontFace] = {
        f"h{level}": TextStyle(family, "B", size, color=_INK, t_margin=5, b_margin=2) for level, size in _HEADINGS_PT
    }
    styles["code"] = FontFace(mono)
    styles["blockquote"] = TextStyle(family, "I", color=_INK, l_margin=6, t_margin=2, b_margin=2)
    made.write_html(
        _html(text).replace("<table>", '<table border="1" cellpadding="2">'),
        font_family=family,
        li_prefix_color=_INK,
        tag_styles=styles,
    )


def _html(text: str) -> str:
    """Return the Markdown as HTML. The cells of tables have no markup, because fpdf2 takes none there.

    https://py-pdf.github.io/fpdf2/HTML.html
    """
    from markdown_it.token import Token

    tokens = _tokens(text)
    for before, token in itertools.pairwise(tokens):
        if before.type in ("th_open", "td_open"):
            token.children = [Token("text", "", 0, content=_plain(token))]
    parser = _parser()
    return str(parser.renderer.render(tokens, parser.options, {}))


def _plain(inline: Token) -> str:
    words = address = ""
    for token in inline.children or ():
        if token.type == "link_open":
            address = str(token.attrGet("href") or "")
        elif token.type == "link_close" and not words.endswith(address):
            words += f" ({address})"
        words += token.content
    return words


def _fonts_for(text: str) -> Mapping[tuple[str, str], str]:
    """Return the files of the fonts by family and style; empty if only PDF's built-in fonts can be used.

    Raises ToolMisuse if the fonts lack a character of the text.
    """
    from fontTools.ttLib import TTFont

    files = _font_files()
    plain, *others = max(_FONTS, key=lambda names: (names[0] in files, sum(name in files for name in names)))
    if plain not in files:
        _check_characters(text, set(map(chr, range(256))))
        return {}
    with TTFont(files[plain]) as font:
        _check_characters(text, set(map(chr, font.getBestCmap())))
    *styled, mono = (files.get(name, files[plain]) for name in (plain, *others))
    words = {(_FAMILY, style): file for style, file in zip(_STYLES, styled, strict=True)}
    return words | {(_MONO, style): mono for style in _STYLES}


def _check_characters(text: str, known: set[str]) -> None:
    missing = next((sign for sign in text if sign not in known and not sign.isspace()), "")
    if missing:
        raise ToolMisuse(f"No font here has {missing!r} for a PDF. Leave such signs out, or write a .docx file.")


@functools.cache
def font_folders() -> Sequence[str]:
    """Call it before the process is locked: it then cannot look up the home folder."""
    return [str(Path(folder).expanduser()) for folder in _FONT_FOLDERS]


@functools.cache
def _font_files() -> Mapping[str, str]:
    """The paths of those fonts of `_FONTS` that are installed, by name in lower case."""
    wanted = set(itertools.chain.from_iterable(_FONTS))
    walks = itertools.chain.from_iterable(map(os.walk, font_folders()))
    names = ((folder, name) for folder, _, found in walks for name in found)
    return {name.lower(): str(Path(folder, name)) for folder, name in names if name.lower() in wanted}


# --- XLSX


def _xlsx(text: str) -> bytes:
    import openpyxl
    from openpyxl.styles import Font
    from openpyxl.utils import get_column_letter

    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    for title, rows in _sheets(text):
        sheet = book.create_sheet(title)
        for number, row in enumerate(rows, 1):
            for column, words in enumerate(row, 1):
                _fill(sheet.cell(number, column), words.strip())
        for cell in sheet[1]:
            cell.font = Font(bold=True)
        sheet.freeze_panes = "A2"
        for number, cells in enumerate(sheet.columns, 1):
            widest = max(len(str(cell.value if cell.value is not None else "")) for cell in cells)
            sheet.column_dimensions[get_column_letter(number)].width = min(widest + 2, _WIDEST_CHARS)
    return _saved(functools.partial(_save_book, book))


def _save_book(book: Workbook, file: BinaryIO) -> None:
    """Save the workbook without temporary files: openpyxl writes one for each sheet, which this process may not."""
    from openpyxl.drawing.spreadsheet_drawing import SpreadsheetDrawing
    from openpyxl.worksheet._writer import WorksheetWriter
    from openpyxl.writer.excel import ExcelWriter

    class InMemory(ExcelWriter):
        _archive: zipfile.ZipFile

        def write_worksheet(self, ws: Any) -> None:
            ws._drawing = SpreadsheetDrawing()
            written = io.BytesIO()
            writer: Any = WorksheetWriter(ws, written)
            writer.write()
            ws._rels = writer._rels
            self._archive.writestr(ws.path[1:], written.getvalue())
            self.manifest.append(ws)

    InMemory(book, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED)).save()


def _sheets(text: str) -> list[tuple[str, list[list[str]]]]:
    """The title and rows of each sheet: each Markdown table with the heading above it, else the CSV's rows."""
    title = ""
    found: list[tuple[str, list[list[str]]]] = []
    tokens = iter(_tokens(text))
    for token in tokens:
        if token.type == "heading_open":
            title = next(tokens).content
        elif token.type == "table_open":
            name = _sheet_title(title, [taken for taken, _ in found])
            found.append((name, [[cell.content for cell in row] for row in _rows(tokens)]))
            title = ""
    if found:
        return found
    rows = list(csv.reader(io.StringIO(text.strip("\n"), newline=""), delimiter=_delimiter(text)))
    if not any(rows):
        raise ToolMisuse("content has no rows. Give CSV (one line a row) or Markdown tables, each below its heading.")
    return [(_sheet_title("", []), rows)]


def _sheet_title(words: str, taken: Sequence[str]) -> str:
    title = _BAD_TITLE.sub(" ", words).strip(" '")[:_TITLE_CHARS] or f"Sheet{len(taken) + 1}"
    used = {other.lower() for other in taken}
    numbered = (f"{title[: _TITLE_CHARS - 1 - len(str(number))]} {number}" for number in itertools.count(2))
    return next(name for name in itertools.chain((title,), numbered) if name.lower() not in used)


def _delimiter(text: str) -> str:
    first = text.strip("\n").partition("\n")[0]
    return max("\t;,", key=first.count)


def _fill(cell: Cell, words: str) -> None:
    """Write the words into a cell: as a number, a date, a formula of known functions, or text."""
    if len(words) > _CELL_CHARS:
        raise ToolMisuse(f"A cell has {len(words)} characters; a sheet takes {_CELL_CHARS} at most.")
    if _NUMBER.fullmatch(words):
        cell.value = float(words) if "." in words else int(words)
    elif (day := _day(words)) is not None:
        cell.value = day
    else:
        cell.value = words
        if words.startswith("=") and not _is_formula(words):
            cell.data_type = "s"


def _day(words: str) -> datetime.date | None:
    try:
        return datetime.date.fromisoformat(words) if _DATE.fullmatch(words) else None
    except ValueError:  # because 2026-13-40 is no day, but words
        return None


def _is_formula(words: str) -> bool:
    """For words that begin with "=". Raises ToolMisuse if a formula refers to other files."""
    if not _FORMULA.fullmatch(_LITERAL.sub("''", _plainly_written(words))):
        return False
    code = _LITERAL.sub(lambda found: '""' if found[1] else found[0], _plainly_written(words))
    unknown = next((name for name in _FUNCTION.findall(code) if name.upper() not in _FUNCTIONS), "")
    if unknown or any(sign in code for sign in ("[", "|", "#", "\\", "://")):
        what = f"calls {unknown}" if unknown else "refers to another file"
        raise ToolMisuse(
            f"The formula {words!r} {what}, which is not written: formulas may use cells of this file and common"
            " functions such as SUM, IF or ROUND."
        )
    return True


def _plainly_written(words: str) -> str:
    """Replace compatible letters by the usual ones and drop invisible characters, as a program may read them."""
    return "".join(sign for sign in unicodedata.normalize("NFKC", words) if unicodedata.category(sign) != "Cf")


def _saved(save: Callable[[Any], object]) -> bytes:
    file = io.BytesIO()
    save(file)
    return file.getvalue()


_MAKERS: dict[str, Callable[[str], bytes]] = {".docx": _docx, ".pdf": _pdf, ".xlsx": _xlsx}
