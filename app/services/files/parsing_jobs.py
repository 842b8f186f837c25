"""What a parsing process can be asked for: a document as text, a page as text, a picture as a model takes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import BinaryIO

Job = Callable[[BinaryIO, Mapping[str, str]], Iterator[bytes]]


def _document(file: BinaryIO, options: Mapping[str, str]) -> Iterator[bytes]:
    from app.services.files.contents import texts

    for text in texts(file, options["name"], options["shown"]):
        yield text.encode("utf-8", errors="replace")


def _page(file: BinaryIO, options: Mapping[str, str]) -> Iterator[bytes]:
    from app.services.web.readable import markdown

    yield markdown(file.read(), options["charset"], options["url"]).encode("utf-8", errors="replace")


def _picture(file: BinaryIO, options: Mapping[str, str]) -> Iterator[bytes]:
    from app.services.files.contents import load, packed

    yield packed(load(file, options["shown"]))


JOBS: Mapping[str, Job] = {"document": _document, "page": _page, "picture": _picture}
