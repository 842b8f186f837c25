"""What the program of a document does with it when it is opened: shows it, loads what it names, or runs it.

Judged by the name and the content together, because programs choose by either. Only what is known to be plain is
plain: `resources/policy/documents.toml` lists it.
"""

from __future__ import annotations

import re
import stat
from enum import StrEnum
from pathlib import Path
from urllib.parse import unquote, urlsplit

from app.base import resources
from app.base.values import dataclass

_HEAD_BYTES = 8192
"""file(1) and shared-mime-info look for the signs of markup in the first 4096 bytes."""
_URL = re.compile(r"(https?|file|mailto):/?/?\S+$", re.IGNORECASE)
_LOCAL_HOSTS = ("", "localhost")
_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_MOST_PARTS = 2000
_LARGEST_PART_BYTES = 1 << 20
_LOADED_PART = re.compile(rb"<[^<>]*TargetMode\s*=\s*[\"']External[\"'][^<>]*>", re.IGNORECASE)
_HYPERLINK = b"relationships/hyperlink"


class DocumentKind(StrEnum):
    """`LOADS`: it names other things, which its program fetches. `RUNS`: it is a program, or holds one."""

    FOLDER = "folder"
    PLAIN = "plain"
    LOADS = "loads"
    RUNS = "runs"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class NamedTarget:
    """The target of a name that is not a program: a network address or a path."""

    address: str = ""
    path: str = ""


def target_of(name: str) -> NamedTarget | None:
    """The address or the path that a name is; None for the name of a program."""
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
    """What opening the file or folder comes to. What cannot be read is unknown."""
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
        return DocumentKind.UNKNOWN
    by_content = _by_content(head)
    if by_content is not DocumentKind.PLAIN:
        return by_content
    # Check the names of the link and of its target, because programs choose the application by either.
    kinds = {_by_name(one.suffix.lower(), real, head) for one in (given, real)}
    return kinds.pop() if len(kinds) == 1 else DocumentKind.UNKNOWN


def is_plain_name(name: str) -> bool:
    """Whether a file of that name is a document in any folder: no program, and nothing that programs are set up by."""
    stem, _, suffix = name.casefold().rpartition(".")
    known = _table()
    is_text = f".{suffix}" in known["names"]["text"] and f".{suffix}" not in known["names"]["set_up"]
    return bool(stem) and (is_text or f".{suffix}" in known["names"]["office"] or suffix in known["begins"])


def _by_content(head: bytes) -> DocumentKind:
    """Plain where nothing in it says otherwise."""
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
        return DocumentKind.UNKNOWN if _CONTROLS.search(head) else DocumentKind.PLAIN
    if suffix in known["names"]["office"]:
        return _of_office(path)
    begins = known["begins"].get(suffix.removeprefix("."), ())
    is_so = any(head[int(at) :].startswith(bytes.fromhex(sign)) for at, sign in (one.split(":") for one in begins))
    return DocumentKind.PLAIN if is_so else DocumentKind.UNKNOWN


def _of_office(path: Path) -> DocumentKind:
    """Documents of office programs are archives: plain without macros, objects and parts that lie elsewhere."""
    import zipfile  # here, because few starts of Wisp meet such a document

    try:
        with zipfile.ZipFile(path) as archive:
            parts = archive.infolist()
            if len(parts) > _MOST_PARTS:
                return DocumentKind.UNKNOWN
            if any(word in part.filename.lower() for part in parts for word in _table()["office"]["run"]):
                return DocumentKind.RUNS
            for part in parts:
                if part.filename.endswith(".rels"):
                    if part.file_size > _LARGEST_PART_BYTES:
                        return DocumentKind.UNKNOWN
                    outer = _LOADED_PART.findall(archive.read(part))
                    if any(_HYPERLINK not in one for one in outer):
                        return DocumentKind.LOADS
    # Its kind is unknown, because a damaged archive may open differently in another program.
    except (OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError):
        return DocumentKind.UNKNOWN
    return DocumentKind.PLAIN


def _table() -> resources.Table:
    return resources.table("policy/documents.toml", resources.Table)
