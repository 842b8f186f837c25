"""A page of HTML as Markdown: what a reader sees, links kept, without scripts, styles and what is hidden.

Runs in a parsing process: hostile HTML can cost more than it is worth.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

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
_DEEPEST = 400
_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset=[\"']?([\w-]{2,40})", re.IGNORECASE)


def markdown(data: bytes, charset: str, url: str) -> str:
    """The page's title and text. Never raises for bad HTML."""
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
    """Writes `out` while it reads. `unseen` counts the open elements that a reader does not see."""

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
    """The whole address of a link; empty for what leads nowhere on the web."""
    try:
        link = urljoin(base, href.strip())
        is_page = urlsplit(link).scheme in ("http", "https")
    except ValueError:  # because pages hold links that are not URLs
        return ""
    return link if href.strip() and not href.startswith("#") and is_page and len(link) < 2_000 else ""
