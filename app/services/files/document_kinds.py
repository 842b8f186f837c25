"""Judge what happens when a document is opened: its program shows it, loads what it refers to, or runs it.

The name and the content decide together, because programs choose by either. A document is plain only if
`resources/desktop/documents.toml` lists it as such.
"""

from __future__ import annotations

import re
import stat
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from urllib.parse import unquote, urlsplit

from app.base import resources
from app.base.values import dataclass

_HEAD_BYTES = 8192
"""Enough, because file(1) and shared-mime-info look for markup in the first 4096 bytes."""
_URL = re.compile(r"(https?|file|mailto):/?/?\S+$", re.IGNORECASE)
_LOCAL_HOSTS = ("", "localhost")
_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_MOST_PARTS = 2000
_LARGEST_TABLE_BYTES = 1 << 20
_MOST_MARKUP_BYTES = 4 << 20
_HYPERLINK = "/relationships/hyperlink"
_MARKUP_PARTS = (".rels", ".xml", ".rdf")
_CLICKED = frozenset({"a", "hyperlink"})
"""Elements whose address is only followed when a person clicks."""
_LOADED_ATTRIBUTES = ("href", "src")
_LONGEST_CALL = 200
"""How much text is kept between elements, because a function's name may be split over several."""
_FORMULAS = frozenset({"f", "instrtext"})
_CALLS_OUT = re.compile(
    r"WEBSERVICE|\bDDE|INCLUDE|\bIMPORT|\bIMAGE\s*\(|\bRTD\s*\(|'(?:https?|ftp|file|smb):[^']*'#", re.IGNORECASE
)
_FAR = re.compile(r"\s*(?:[a-z][a-z0-9+.-]*:|//|\\\\)", re.IGNORECASE)
# Spreadsheets run formulas in plain tables: https://owasp.org/www-community/attacks/CSV_Injection
_CSV_FORMULA = re.compile(rb"(?:^|[,;\t\r\n\"'])\s*\"?(?:[=@][^,;]*[(!|]|[+-][^,;]*[!|])", re.MULTILINE)
_TABLES = (".csv", ".tsv")


class DocumentKind(StrEnum):
    """What opening a document does. `LOADS`: its program also fetches other files. `RUNS`: it is a program."""

    FOLDER = "folder"
    PLAIN = "plain"
    LOADS = "loads"
    RUNS = "runs"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class NamedTarget:
    """What a text names if it is no program's name: a network address or a path."""

    address: str = ""
    path: str = ""


def target_of(name: str) -> NamedTarget | None:
    """Return the address or path that a text is; None if it is the name of a program."""
    name = name.strip()
    if name.startswith(("/", "~/")):
        return NamedTarget(path=str(Path(name).expanduser()))
    if not (match := _URL.match(name)):
        return None
    if match[1].lower() != "file":
        return NamedTarget(address=name) if match[1].lower() != "mailto" else NamedTarget(path=name)
    parts = urlsplit(name)
    return NamedTarget(path=unquote(parts.path) if parts.netloc.lower() in _LOCAL_HOSTS else name)


def kind_of(path: str) -> DocumentKind:
    """Return what opening the file or folder does. The kind of an unreadable file is unknown."""
    try:
        given, real = Path(path), Path(path).resolve(strict=True)
        mode = real.stat().st_mode
        if stat.S_ISDIR(mode):
            return DocumentKind.RUNS if real.suffix.lower() in _table()["folders"]["run"] else DocumentKind.FOLDER
        if not stat.S_ISREG(mode):
            return DocumentKind.UNKNOWN
        with real.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except (OSError, RuntimeError, ValueError):
        # An unreadable document counts as unknown, because it may hold anything.
        return DocumentKind.UNKNOWN
    by_content = _by_content(head)
    if by_content is not DocumentKind.PLAIN:
        return by_content
    # Check the names of the link and of its target, because programs choose the application by either.
    kinds = {_by_name(one.suffix.lower(), real, head) for one in (given, real)}
    return kinds.pop() if len(kinds) == 1 else DocumentKind.UNKNOWN


def _by_content(head: bytes) -> DocumentKind:
    """Judged by the first bytes; plain if they suggest no other kind."""
    signs = _table()["signs"]
    if head.startswith(tuple(bytes.fromhex(sign) for sign in signs["run"])):
        return DocumentKind.RUNS
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if start.startswith(tuple(sign.encode() for sign in signs["run_text"])):
        return DocumentKind.RUNS
    if b"\0" in head:
        return DocumentKind.PLAIN
    is_markup = start.startswith(b"<") or any(tag.encode() in start for tag in signs["markup"])
    loads = is_markup or start.startswith(tuple(sign.encode() for sign in signs["load_text"]))
    return DocumentKind.LOADS if loads else DocumentKind.PLAIN


def _by_name(suffix: str, path: Path, head: bytes) -> DocumentKind:
    known = _table()
    if suffix in known["names"]["run"]:
        return DocumentKind.RUNS
    if suffix in known["names"]["load"]:
        return DocumentKind.LOADS
    if suffix in known["names"]["text"]:
        if suffix in _TABLES:
            return _of_table(path)
        return DocumentKind.UNKNOWN if _CONTROLS.search(head) else DocumentKind.PLAIN
    if suffix in known["names"]["office"]:
        return _of_office(path)
    begins = known["begins"].get(suffix.removeprefix("."), ())
    is_so = any(head[int(at) :].startswith(bytes.fromhex(sign)) for at, sign in (one.split(":") for one in begins))
    return DocumentKind.PLAIN if is_so else DocumentKind.UNKNOWN


def _of_table(path: Path) -> DocumentKind:
    """Judge a table in plain text: programs calculate its formulas, and some formulas fetch data."""
    with suppress(OSError), path.open("rb") as file:
        data = file.read(_LARGEST_TABLE_BYTES + 1)
        if _CSV_FORMULA.search(data):
            return DocumentKind.LOADS
        if len(data) <= _LARGEST_TABLE_BYTES and not _CONTROLS.search(data):
            return DocumentKind.PLAIN
    return DocumentKind.UNKNOWN


def _of_office(path: Path) -> DocumentKind:
    """Judge an office document, which is an archive. It is plain without macros, objects and external parts."""
    import zipfile  # here, because few starts of Wisp meet such a document
    import zlib

    try:
        with zipfile.ZipFile(path) as archive:
            parts = archive.infolist()
            if len(parts) > _MOST_PARTS:
                return DocumentKind.UNKNOWN
            if any(word in part.filename.lower() for part in parts for word in _table()["office"]["run"]):
                return DocumentKind.RUNS
            markup = [part for part in parts if part.filename.lower().endswith(_MARKUP_PARTS)]
            if sum(part.file_size for part in markup) > _MOST_MARKUP_BYTES:
                return DocumentKind.UNKNOWN
            kinds = {_of_part(part.filename, archive.read(part)) for part in markup}
    # Its kind is unknown, because a damaged archive may open differently in another program.
    except (OSError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError):
        return DocumentKind.UNKNOWN
    return next((kind for kind in (DocumentKind.LOADS, DocumentKind.UNKNOWN) if kind in kinds), DocumentKind.PLAIN)


def _of_part(name: str, data: bytes) -> DocumentKind:
    """Judge one part of an archive by parsing it: an address has many spellings. With entities it is unknown."""
    from xml.parsers import expat  # here, because few starts of Wisp meet such a document

    parser = expat.ParserCreate()
    parser.buffer_text = True
    reader = _PartReader(is_relations=name.lower().endswith(".rels"))
    parser.StartElementHandler, parser.EntityDeclHandler = reader.start, reader.refuse
    # Refuse declarations, because an entity can hide an address: https://docs.python.org/3/library/xml.html
    parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = reader.text, reader.refuse
    parser.ProcessingInstructionHandler = reader.refuse
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, LookupError):  # because an unknown encoding raises LookupError
        return DocumentKind.UNKNOWN
    return reader.kind


class _PartReader:
    """Notes whether a part refers to something that is loaded without a click. Links to click do not count."""

    def __init__(self, *, is_relations: bool) -> None:
        self.kind = DocumentKind.PLAIN
        self._is_relations = is_relations
        self._in_formula = False
        self._formulas = ""

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(":")[2].lower()
        self._in_formula = name in _FORMULAS
        found = {key.rpartition(":")[2].lower(): value for key, value in attributes.items()}
        if self._is_relations:
            is_link = found.get("type", "").lower().endswith(_HYPERLINK)
            is_outer = found.get("targetmode", "").lower() == "external"
            loads = not is_link and (is_outer or _FAR.match(found.get("target", "")) is not None)
        else:
            is_link = name in _CLICKED
            loads = not is_link and any(_FAR.match(found.get(key, "")) for key in _LOADED_ATTRIBUTES)
            loads = loads or any(_CALLS_OUT.search(value) for key, value in found.items() if key == "formula")
        if loads:
            self.kind = DocumentKind.LOADS

    def text(self, data: str) -> None:
        if self._in_formula:
            self._formulas += data
            if _CALLS_OUT.search(self._formulas[-len(data) - _LONGEST_CALL :]):
                self.kind = DocumentKind.LOADS

    def refuse(self, *_: object) -> None:
        if self.kind is DocumentKind.PLAIN:
            self.kind = DocumentKind.UNKNOWN


def _table() -> resources.Table:
    return resources.table("desktop/documents.toml", resources.Table)
