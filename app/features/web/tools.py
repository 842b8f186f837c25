"""Search the web and read pages. The results mark their content as other people's words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.base.clipping import fenced
from app.base.errors import ToolMisuse
from app.base.facts import Brought, Failed
from app.base.phrases import Phrase
from app.features.web.search import AGES, MOST_HITS, Hit, SearchAnswer, SearchWish, WebSearch
from app.protocol.call import JsonValue, ToolCall, ToolResult
from app.protocol.spec import Effect, Param, ToolSpec, ValueType
from app.tools.registry import Family, TurnContext

if TYPE_CHECKING:
    from app.services.web.pages import Pages, WebPage

_MOST_CHARS = 20_000
_CARD_CHARS = 4_000
_LANGUAGE = re.compile(r"[a-z]{2}(-([a-z]{2}|Hans|Hant|Latn|Cyrl))?", re.IGNORECASE)
_SITE = re.compile(r"(?=.{1,253}$)[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})+", re.IGNORECASE)
_QUERY_CHARS = 400
_HITS = 8


class Web:
    """The handlers of web_fetch and web_search. `pages` fetches through the network guard."""

    def __init__(self, pages: Pages, engines: WebSearch) -> None:
        self._pages = pages
        self._engines = engines

    async def search(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        query = " ".join(call.text("query").split())
        if not query or len(query) > _QUERY_CHARS:
            raise ToolMisuse(f"query: give what to search for, in at most {_QUERY_CHARS} characters.")
        site = call.text("site").removeprefix("https://").removeprefix("http://").strip("/")
        language = call.text("language").strip()
        if language and not _LANGUAGE.fullmatch(language):
            raise ToolMisuse("language: give a code such as de or pt-BR.")
        if site and not _SITE.fullmatch(site):
            raise ToolMisuse("site: give the name of a host, such as example.com.")
        wish = SearchWish(query, call.integer("count", _HITS), language, call.text("freshness"), site)
        found = await self._engines.search(wish)
        await turn.audit("web_searched", {"engine": found.engine, "count": len(found.hits)})
        hits: list[JsonValue] = [{"title": hit.title, "url": hit.url, "snippet": hit.snippet} for hit in found.hits]
        failures: list[JsonValue] = list(found.failures)
        payload: dict[str, JsonValue] = {"query": query, "engine": found.engine, "results": hits, "failures": failures}
        brought = Brought("\n".join(_lines(found.hits)))
        return ToolResult(True, "web_search", payload, _listed(found), facts=(brought,))

    async def fetch(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        url, start = call.text("url"), call.integer("start", 0)
        page = await self._pages.get(url)
        if page.elsewhere:
            payload: dict[str, JsonValue] = {"url": page.url, "elsewhere": page.elsewhere}
            return ToolResult(
                True,
                "web_fetch",
                payload,
                f"{page.url} sends its visitors to another site: {page.elsewhere} . Nothing was read. Fetch that "
                "address if it is what the person wants.",
            )
        if page.status < 400:
            await turn.audit("page_fetched", {"url": url})
        if start and start >= len(page.text):
            raise ToolMisuse(f"start is {start}, but the page has {len(page.text)} characters.")
        return _shown(page, start)


def _listed(found: SearchAnswer) -> str:
    head = " ".join([*found.failures, f"{found.engine}: {len(found.hits) or 'no'} hits."])
    return fenced(head, "\n".join(_lines(found.hits))) if found.hits else head


def _lines(hits: Sequence[Hit]) -> list[str]:
    lines = []
    for number, hit in enumerate(hits, 1):
        marks = ", ".join(filter(None, (hit.date, hit.source)))
        lines.append(f"{number}. {hit.title}{f' ({marks})' if marks else ''}\n   {hit.url}")
        lines += [f"   {hit.snippet}"] if hit.snippet else []
    return lines


def _shown(page: WebPage, start: int) -> ToolResult:
    end = min(start + _MOST_CHARS, len(page.text))
    part = page.text[start:end]
    more = f"; go on with start={end}" if end < len(page.text) else ""
    cut = " The page is longer than what is fetched." if page.is_cut else ""
    head = f"{page.url} answered {page.status} with {len(page.text)} characters.{cut}"
    echo = f"{fenced(head, part or '(nothing to read)')}\n[characters {start}-{end} of {len(page.text)}{more}]"
    payload: dict[str, JsonValue] = {
        "url": page.url,
        "status": page.status,
        "kind": page.media_type,
        "characters": len(page.text),
        "text": part[:_CARD_CHARS],
    }
    is_there = page.status < 400
    failed = Failed(Phrase("The server answered with status {status}.", {"status": str(page.status)}))
    return ToolResult(is_there, "web_fetch", payload, echo, facts=(Brought(echo),) if is_there else (failed,))


WEB = Family(
    Web,
    (
        ToolSpec(
            name="web_search",
            asked_as="webSearch",
            description=(
                "Search the public web. It returns titles, addresses, a few lines of each; web_fetch reads on."
            ),
            effect=Effect.NETWORK,
            execute=Web.search,
            attrs=(
                Param("query", description="what to search for", required=True, aliases=("q",)),
                Param("count", ValueType.INTEGER, "how many", minimum=1, maximum=MOST_HITS),
                Param("language", description="such as de"),
                Param("freshness", choices=tuple(AGES)),
                Param("site", description="only this host"),
            ),
            examples=('<web_search query="clock museum hours"/>',),
            taint="web",
        ),
        ToolSpec(
            name="web_fetch",
            asked_as="webFetch",
            description=(
                "Read a public web page as Markdown, or a PDF or plain text from the web. It signs in nowhere and sees "
                "no page that needs a browser."
            ),
            effect=Effect.NETWORK,
            taint="web",
            execute=Web.fetch,
            attrs=(
                Param("url", description="http:// or https://", required=True, aliases=("address", "link")),
                Param("start", ValueType.INTEGER, "first character, to read on in a long page", minimum=0),
            ),
            examples=('<web_fetch url="https://example.com/docs"/>',),
        ),
    ),
)
