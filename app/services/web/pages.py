"""What a URL holds, as text: HTML as Markdown, documents as their text, plain text as it is."""

from __future__ import annotations

import asyncio
import importlib
from functools import partial
from typing import TYPE_CHECKING

from app.base.errors import ToolFailed
from app.base.values import dataclass
from app.services.files import parsing

if TYPE_CHECKING:
    from app.services.web.fetching import Fetched, Resolve

_MOST_CHARS = 2_000_000
_DOCUMENTS = {
    "application/pdf": "page.pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "page.docx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "page.xlsx",
}
_HTML = ("text/html", "application/xhtml+xml")
_TEXT = ("application/json", "application/xml", "application/javascript", "application/yaml", "application/toml")
_PLAIN, _SECURE = "http://", "https://"


@dataclass(frozen=True, slots=True)
class WebPage:
    """`elsewhere` is set, and nothing else, where the host sends the caller to another site."""

    url: str
    status: int
    media_type: str = ""
    text: str = ""
    is_cut: bool = False
    elsewhere: str = ""


class Pages:
    """Fetches through a guard of its own. `find` and `loopback` are for tests."""

    def __init__(self, *, find: Resolve | None = None, loopback: bool = False) -> None:
        self._find = find
        self._loopback = loopback

    async def get(self, url: str) -> WebPage:
        """The page. Raises ToolMisuse and ToolFailed with the reason."""
        fetched = await self._fetched(url)
        if fetched.elsewhere:
            return WebPage(fetched.url, fetched.status, elsewhere=fetched.elsewhere)
        text = await asyncio.to_thread(_text, fetched)  # on a thread, because a large page takes long to parse
        is_cut = fetched.is_cut or len(text) > _MOST_CHARS
        return WebPage(fetched.url, fetched.status, fetched.media_type, text[:_MOST_CHARS], is_cut)

    async def _fetched(self, url: str) -> Fetched:
        """By HTTPS where the host speaks it, also when it was not asked for; as it was asked for otherwise."""
        # On a thread, because the import takes long.
        await asyncio.to_thread(importlib.import_module, "app.services.web.fetching")
        from app.services.web.fetching import GuardedTransport, fetch, resolve

        guard = partial(GuardedTransport, find=self._find or resolve, loopback=self._loopback)
        target = guard().read(url)
        if target.scheme == "http" and target.port == 80:
            try:
                return await fetch(guard(), _SECURE + target.url.removeprefix(_PLAIN))
            except ToolFailed as error:  # because the site may serve only plain http
                if not error.transient:
                    raise
        return await fetch(guard(), target.url)


def _text(fetched: Fetched) -> str:
    kind = fetched.media_type
    if kind in _HTML or (not kind and fetched.data.lstrip()[:1] == b"<"):
        options = {"charset": fetched.charset, "url": fetched.url}
        return "".join(parsing.texts("page", options, fetched.data, fetched.url))
    if kind in _DOCUMENTS:
        options = {"name": _DOCUMENTS[kind], "shown": fetched.url}
        return "".join(parsing.texts("document", options, fetched.data, fetched.url))
    if not kind or kind.startswith("text/") or kind in _TEXT or kind.endswith(("+json", "+xml")):
        return _plain(fetched)
    raise ToolFailed(f"{fetched.url} is {kind}, {len(fetched.data)} bytes, and no text. Tell the person where it is.")


def _plain(fetched: Fetched) -> str:
    if b"\0" in fetched.data[:4_096]:
        raise ToolFailed(f"{fetched.url} is no text.")
    try:
        return fetched.data.decode(fetched.charset or "utf-8", errors="replace")
    except LookupError:  # because servers name character sets that do not exist
        return fetched.data.decode("utf-8", errors="replace")
