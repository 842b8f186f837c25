"""The content of a URL as text: HTML as Markdown, documents as their text, plain text unchanged."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING

from app.base.errors import ToolFailed
from app.base.phrases import Phrase
from app.base.values import dataclass
from app.services.files import contents, parsing
from app.services.files.contents import Picture
from app.services.web.addresses import Resolve, is_own_server, resolve

if TYPE_CHECKING:
    from app.services.web.fetching import Fetched

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
    """A page. If the URL redirects to another site, only `elsewhere` (the new URL) is set."""

    url: str
    status: int
    media_type: str = ""
    text: str = ""
    is_cut: bool = False
    elsewhere: str = ""


class Pages:
    """Fetches pages. `own_ports` are ports of this machine that the conversation's commands serve.

    `find` and `loopback` are for tests.
    """

    def __init__(
        self,
        *,
        find: Resolve | None = None,
        loopback: bool = False,
        own_ports: Callable[[], Collection[int]] = tuple,
    ) -> None:
        self._own_ports = own_ports
        self._find = find
        self._loopback = loopback

    async def get(self, url: str) -> WebPage:
        """Raises ToolMisuse and ToolFailed with the reason."""
        fetched = await self._fetched(url)
        if fetched.elsewhere:
            return WebPage(fetched.url, fetched.status, elsewhere=fetched.elsewhere)
        text = await asyncio.to_thread(_text, fetched)  # on a thread, because a large page takes long to parse
        is_cut = fetched.is_cut or len(text) > _MOST_CHARS
        return WebPage(fetched.url, fetched.status, fetched.media_type, text[:_MOST_CHARS], is_cut)

    async def picture(self, url: str) -> tuple[str, Picture]:
        """Return the picture at a URL, and its address. Raises ToolMisuse and ToolFailed with the reason."""
        fetched = await self._fetched(url)
        if fetched.elsewhere:
            raise ToolFailed(f"{fetched.url} sends its visitors to another site: {fetched.elsewhere} . Look there.")
        if fetched.status >= 400 or fetched.is_cut or not fetched.media_type.startswith("image/"):
            why = f"answered {fetched.status}" if fetched.status >= 400 else f"is {fetched.media_type or 'of no kind'}"
            raise ToolFailed(f"{fetched.url} {'is too large' if fetched.is_cut else why}: there is no picture to see.")
        return fetched.url, await asyncio.to_thread(contents.seen, fetched.data, fetched.url)

    async def _fetched(self, url: str) -> Fetched:
        """Fetch the URL. For an http URL, HTTPS is tried first, and http only if that fails."""
        # On a thread, because importing the HTTP library takes long.
        await asyncio.to_thread(importlib.import_module, "app.services.web.fetching")
        from app.services.web.fetching import GuardedTransport, fetch

        own = url.strip() if is_own_server(url, self._own_ports) else ""
        guard = partial(GuardedTransport, find=self._find or resolve, loopback=self._loopback, own=own)
        target = guard().read(url)
        if target.scheme == "http" and target.port == 80 and not own:
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
    what = Phrase(
        "{url} is {kind}, {count} byte, and no text.",
        {"url": fetched.url, "kind": kind, "count": len(fetched.data)},
        many="{url} is {kind}, {count} bytes, and no text.",
    )
    raise ToolFailed(what, "Tell the person where it is.")


def _plain(fetched: Fetched) -> str:
    if b"\0" in fetched.data[:4_096]:
        raise ToolFailed(f"{fetched.url} is no text.")
    try:
        return fetched.data.decode(fetched.charset or "utf-8", errors="replace")
    except LookupError:  # because servers name character sets that do not exist
        return fetched.data.decode("utf-8", errors="replace")
