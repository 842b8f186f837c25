"""The child process: `parsing_worker.py JOB OPTIONS` gives up its rights, reads standard input, and writes the result.

Exit code 0: the result is complete. REFUSED, MISUSED: a sentence on standard error says why. Any other code: it
crashed, or exceeded a limit. HTML becomes Markdown here: what a reader sees, with links, without scripts, styles and
hidden parts. Documents are also made here, from what a model writes.
"""

from __future__ import annotations

import ctypes
import io
import json
import mimetypes
import os
import re
import signal
import struct
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from html.parser import HTMLParser
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urljoin, urlsplit

MEMORY_BYTES = 1 << 30
CPU_S = 10
_MAKING_CPU_S = 30
"""A PDF of 400,000 characters takes 20."""
_FILES = 64

_SET_DEATH_SIGNAL, _NO_NEW_PRIVILEGES = 1, 38  # https://docs.kernel.org/userspace-api/no_new_privs.html
# https://man7.org/linux/man-pages/man7/namespaces.7.html
_NEW_USER, _NEW_NETWORK, _NEW_IPC = 0x10000000, 0x40000000, 0x08000000
# These numbers are the same on every architecture: https://man7.org/linux/man-pages/man7/landlock.7.html
_SYS_CREATE_RULESET, _SYS_ADD_RULE, _SYS_RESTRICT = 444, 445, 446
_ALL_FILE_RIGHTS = (1 << 13) - 1
_LOOK = 0b1101
"""EXECUTE, READ_FILE and READ_DIR of linux/landlock.h, first version."""
_BENEATH = 1


def lock(readable: Sequence[str], cpu_s: int = CPU_S) -> None:
    """Give up all rights that parsing does not need. `readable` are the folders of Python's own modules."""
    if sys.platform != "win32":
        _limit(cpu_s)
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(_SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        # because Landlock refuses a process that could still gain privileges
        libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        if libc.unshare(_NEW_USER | _NEW_NETWORK | _NEW_IPC) != 0:
            libc.unshare(_NEW_NETWORK | _NEW_IPC)  # because root may do it even where user namespaces are disabled
        _close_files(libc, readable)


if sys.platform != "win32":

    def _limit(cpu_s: int) -> None:
        import resource

        wanted = (
            (resource.RLIMIT_AS, MEMORY_BYTES),
            (resource.RLIMIT_CPU, cpu_s),
            (resource.RLIMIT_FSIZE, 0),
            (resource.RLIMIT_NOFILE, _FILES),
            (resource.RLIMIT_CORE, 0),
            (getattr(resource, "RLIMIT_NPROC", resource.RLIMIT_CORE), 0),
        )
        for kind, most in wanted:
            with suppress(OSError, ValueError):  # because not every system knows each limit
                _, hard = resource.getrlimit(kind)
                allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
                resource.setrlimit(kind, (allowed, allowed))


if sys.platform == "linux":

    def _close_files(libc: ctypes.CDLL, readable: Sequence[str]) -> None:
        """Use Landlock, so that from now on only these folders can be opened, and only for reading."""
        rights = struct.pack("=Q", _ALL_FILE_RIGHTS)
        ruleset = libc.syscall(_SYS_CREATE_RULESET, rights, len(rights), 0)
        if ruleset < 0:  # because older kernels have no Landlock
            return
        for folder in readable:
            with suppress(OSError):  # because not every system has each of these folders
                fd = os.open(folder, os.O_PATH | os.O_CLOEXEC)
                libc.syscall(_SYS_ADD_RULE, ruleset, _BENEATH, struct.pack("=Qi", _LOOK, fd), 0)
                os.close(fd)
        libc.syscall(_SYS_RESTRICT, ruleset, 0)
        os.close(ruleset)


REFUSED, MISUSED = 65, 66
MOST_SAID_BYTES = 4_096
_PACKAGE = Path(__file__).resolve().parents[3]
_SYSTEM = ("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/usr/share/zoneinfo")


def run(arguments: Sequence[str]) -> int:
    """Lock the process in, then do the job. `arguments` are its name and its options as JSON."""
    job, options = arguments[0], json.loads(arguments[1])
    sys.path.insert(0, str(_PACKAGE))
    mimetypes.knownfiles.clear()  # because the sandbox can no longer open the system's tables
    from app.base.errors import ToolMisuse, WispError

    answers, complaints = os.fdopen(os.dup(1), "wb"), os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for printed in (1, 2):  # so that output of the libraries neither mixes with the answers nor fills a pipe
        os.dup2(nowhere, printed)
    own = [sys.prefix, sys.base_prefix, sys.base_exec_prefix, str(_PACKAGE / "app"), *_frozen_program()]
    do, cpu_s, folders = JOBS[job]
    lock([*own, *_SYSTEM, *folders()], cpu_s)
    try:
        with sys.stdin.buffer as file:
            for piece in do(file, options):
                answers.write(piece)
        answers.close()
    except WispError as error:
        os.write(complaints, str(error).encode(errors="replace")[:MOST_SAID_BYTES])
        return MISUSED if isinstance(error, ToolMisuse) else REFUSED
    return 0


def _font_folders() -> Sequence[str]:
    from app.services.files.documents import font_folders

    return font_folders()


def _frozen_program() -> list[str]:
    """The folder of Wisp if it is a packed program, whose file contains its modules; else []."""
    return [str(Path(sys.executable).parent)] if getattr(sys, "frozen", False) else []


Job = Callable[[BinaryIO, Mapping[str, str]], Iterator[bytes]]


def _document(file: BinaryIO, options: Mapping[str, str]) -> Iterator[bytes]:
    from app.services.files.contents import texts

    for text in texts(file, options["name"], options["shown"]):
        yield text.encode("utf-8", errors="replace")


def _page(file: BinaryIO, options: Mapping[str, str]) -> Iterator[bytes]:
    yield markdown(file.read(), options["charset"], options["url"]).encode("utf-8", errors="replace")


def _picture(file: BinaryIO, options: Mapping[str, str]) -> Iterator[bytes]:
    from app.services.files.contents import load, packed

    # Copy it into memory, because a pipe cannot be read twice, which decoding needs.
    yield packed(load(file if file.seekable() else io.BytesIO(file.read()), options["shown"]))


def _made(file: BinaryIO, options: Mapping[str, str]) -> Iterator[bytes]:
    from app.services.files.documents import made_of

    yield made_of(file.read().decode(errors="replace"), options["name"])


JOBS: Mapping[str, tuple[Job, int, Callable[[], Sequence[str]]]] = {
    "document": (_document, CPU_S, tuple),
    "page": (_page, CPU_S, tuple),
    "picture": (_picture, CPU_S, tuple),
    "make": (_made, _MAKING_CPU_S, _font_folders),
}
"""Each job, the seconds of processor time that it may take, and the folders that it reads besides Python's."""


_NOT_SEEN = "script style template noscript svg math iframe object canvas head select dialog textarea audio video"
_CLOSED = "area base br col embed hr img input link meta param source track wbr"
_PARAGRAPHS = (
    "p div section article main header footer nav aside ul ol dl dt dd table tr form fieldset blockquote details "
    "summary address figure figcaption pre hr"
)
_UNSEEN, _VOID, _BLOCKS = (frozenset(names.split()) for names in (_NOT_SEEN, _CLOSED, _PARAGRAPHS))
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_HIDING = re.compile(
    r"display:none|visibility:hidden|opacity:0(?:\.0+)?(?:;|\Z)|font-size:0(?:\D|\Z)|(?:text-indent|left|top):-\d{3,}"
)
_DEEPEST = 400  # because each closing tag searches the open ones: deeper nesting would take quadratic time
_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset=[\"']?([\w-]{2,40})", re.IGNORECASE)


def markdown(data: bytes, charset: str, url: str) -> str:
    """Return the title and text of an HTML page as Markdown. Never raises for bad HTML."""
    page = _Page(url)
    page.feed(_decoded(data, charset))
    page.close()
    body = re.sub(r"[ \t]+\n", "\n", "".join(page.out))
    body = re.sub(r"\n{3,}", "\n\n", body).strip()
    title = " ".join("".join(page.title).split())
    return f"# {title}\n\n{body}".strip() if title and not body.startswith(f"# {title}") else body


def _decoded(data: bytes, charset: str) -> str:
    declared = _CHARSET.search(data[:4_096])
    for name in (charset, declared[1].decode("ascii") if declared else "", "utf-8"):
        try:
            return data.decode(name or "utf-8", errors="replace")
        except LookupError:  # because pages name character sets that do not exist
            continue
    return data.decode("latin-1")


class _Page(HTMLParser):
    """Parses a page and writes its text to `out`. `_unseen` counts open elements that a reader does not see."""

    def __init__(self, url: str) -> None:
        super().__init__(convert_charrefs=True)
        self._base = url
        self._open: list[tuple[str, bool]] = []
        self._unseen = 0
        self._links: list[str] = []
        self._pre = 0
        self._in_title = False
        self.title: list[str] = []
        self.out: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self._in_title = tag == "title" and not self.title
        hides = tag in _UNSEEN or _is_hidden(values)
        if tag not in _VOID and len(self._open) < _DEEPEST:
            self._open.append((tag, hides))
            self._unseen += hides
        if not self._unseen and not hides:
            self._begin(tag, values)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        self._in_title = self._in_title and tag != "title"
        if all(name != tag for name, _ in self._open):
            return
        while self._open:
            name, hides = self._open.pop()
            if not self._unseen:
                self._finish(name)
            self._unseen -= hides
            if name == tag:
                return

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title.append(data)
        elif not self._unseen:
            self.out.append(data if self._pre else _folded(data, after=self.out[-1] if self.out else "\n"))

    def _begin(self, tag: str, values: dict[str, str]) -> None:
        if tag in _HEADINGS:
            self.out.append(f"\n\n{_HEADINGS[tag]}")
        elif tag == "li":
            self.out.append("\n- ")
        elif tag == "br":
            self.out.append("\n")
        elif tag in ("td", "th"):
            self.out.append(" | ")
        elif tag == "a":
            self._links.append(_link(self._base, values.get("href", "")))
            self.out.append("[" if self._links[-1] else "")
        elif tag == "img" and values.get("alt", "").strip():
            self.out.append(f"(picture: {' '.join(values['alt'].split())})")
        elif tag in _BLOCKS:
            self.out.append("\n\n```\n" if tag == "pre" else "\n" if tag == "tr" else "\n\n")
            self._pre += tag == "pre"

    def _finish(self, tag: str) -> None:
        if tag == "a" and self._links:
            link = self._links.pop()
            self.out.append(f"]({link})" if link else "")
        elif tag == "pre":
            self._pre = max(self._pre - 1, 0)
            self.out.append("\n```\n")
        elif tag in _HEADINGS or tag in _BLOCKS:
            self.out.append("\n\n" if tag != "tr" else "")


def _is_hidden(values: dict[str, str]) -> bool:
    style = re.sub(r"\s", "", values.get("style", "").lower())
    return "hidden" in values or values.get("aria-hidden", "").lower() == "true" or bool(_HIDING.search(style))


def _folded(data: str, *, after: str) -> str:
    text = re.sub(r"\s+", " ", data)
    return text.lstrip(" ") if after.endswith(("\n", " ", "[", "- ")) else text


def _link(base: str, href: str) -> str:
    """The absolute address of a link; "" if it is no address of the web."""
    try:
        link = urljoin(base, href.strip())
        is_page = urlsplit(link).scheme in ("http", "https")
    except ValueError:  # because pages hold links that are not URLs
        return ""
    return link if href.strip() and not href.startswith("#") and is_page and len(link) < 2_000 else ""


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
