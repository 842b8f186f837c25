"""Search the web: several engines are asked, one after the other, until one answers.

An engine is a row of `search.toml`. Requests and results pass Wisp's own address checks; only the library `ddgs` makes
its own connections, to the engines that it knows.
"""

from __future__ import annotations

import asyncio
import datetime
import html
import importlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from app.base.clipping import clip_line
from app.base.errors import NeedsPerson, ToolFailed, ToolMisuse, WispError
from app.base.findings import Finding, note, ok
from app.base.phrases import Phrase
from app.base.values import dataclass, replace
from app.features.web.settings import SEARCHERS, SEARXNG, VENDOR_SEARCH
from app.services.extras import is_there, way_to_add
from app.services.web.addresses import read, why_refused
from app.settings.catalog import BASE_URL
from app.settings.providers import SearchRow, providers, searchers
from app.settings.store import Settings, key_of, load

if TYPE_CHECKING:
    from app.services.web.fetching import Fetched

MOST_HITS = 10
AGES = {"day": 1, "week": 7, "month": 31, "year": 366}
"""The ages that a search can be limited to, in days."""
_MOST_BYTES = 1_000_000
_LIMIT_S = 10.0
_VENDOR_BYTES, _VENDOR_S = 8_000_000, 60.0
"""Longer, because a model answers, and it sends what it read along."""
_TITLE_CHARS, _SNIPPET_CHARS, _MARK_CHARS = 200, 400, 40
_LIBRARY = "ddgs"
_LIBRARY_ENGINES = "duckduckgo,mojeek,brave,wikipedia"
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")
_WHY = {
    401: "it refused the key",
    402: "its account is used up",
    403: "it refused the question",
    422: "it refused the question",
    429: "its limit is reached",
    432: "its limit is reached",
}
_SET_UP = (
    "ut the address of a SearXNG into the setting web.searxng, or a key into the settings ({keys}), or add the one "
    "that needs neither: {way}"
)


@dataclass(frozen=True, slots=True)
class SearchWish:
    """What to search for. `language` is a code such as `de`, `age` one of AGES, `site` a host; "" means any."""

    query: str
    count: int = 8
    language: str = ""
    age: str = ""
    site: str = ""


@dataclass(frozen=True, slots=True)
class Hit:
    """A page that was found. `source` is the engine that found it for this one, if known; `date` is unchanged text."""

    title: str
    url: str
    snippet: str = ""
    source: str = ""
    date: str = ""


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """The hits of `engine`. `failures` are sentences on the engines that were asked before it and failed."""

    engine: str
    hits: tuple[Hit, ...]
    failures: tuple[str, ...] = ()


class WebSearch:
    """Asks the engines of the settings. `rows` and `loopback` are for tests; `key_of` may block."""

    def __init__(
        self,
        now: Callable[[], Settings],
        key_of: Callable[[str], str],
        *,
        rows: Mapping[str, SearchRow] | None = None,
        loopback: bool = False,
    ) -> None:
        self._now = now
        self._key_of = key_of
        self._rows = rows
        self._loopback = loopback

    async def search(self, wish: SearchWish) -> SearchAnswer:
        """Return the hits of the first engine that answers.

        Raises NeedsPerson if none is set up, and ToolFailed if all fail, with the reason of each.
        """
        engines, failures = await asyncio.to_thread(self.engines)
        if not engines and not failures:
            keyed, way = ", ".join(row.label for row in searchers().values() if row.key), way_to_add("search")
            raise NeedsPerson(
                "No search engine is set up.",
                f"Tell the person: p{_SET_UP.format(keys=keyed, way=way)}",
                advice=Phrase(f"P{_SET_UP}", {"keys": keyed, "way": way}),
            )
        for row, key in engines:
            try:
                hits = await self._asked(row, key, wish)
            except WispError as error:  # because another engine may still answer
                failures.append(f"{row.label}: {error}")
                continue
            if hits or row == engines[-1][0]:
                return SearchAnswer(row.label, hits[: wish.count], tuple(failures))
            failures.append(f"{row.label}: it found nothing.")
        raise ToolFailed(f"No search engine answered. {' '.join(failures)}")

    def engines(self) -> tuple[list[tuple[SearchRow, str]], list[str]]:
        """Return the usable engines with their keys, in the order of the settings. May block.

        Also returns sentences on the engines that the settings name but that are not usable.
        """
        settings, rows = self._now(), self._rows or searchers()
        wanted = [name for name in re.split(r"[,\s]+", settings[SEARCHERS].lower()) if name]
        problems = [f"web.search: there is no engine {name!r}." for name in wanted if name not in rows]
        engines = []
        for name in filter(rows.__contains__, wanted or rows):
            row = rows[name] if rows[name].url else replace(rows[name], url=_searxng(settings[SEARXNG]))
            key = self._key_of(row.vendor or name) if row.header else ""
            missing = "it has no key." if row.header and not key else "" if row.url else "web.searxng is empty."
            missing = missing or (f"it is not installed: {way_to_add('search')}" if _is_missing(row) else "")
            if missing := missing or _why_not(row, settings):
                problems += [f"{row.label}: {missing}"] if wanted else []
            else:
                engines.append((row, key))
        return engines, problems

    async def _asked(self, row: SearchRow, key: str, wish: SearchWish) -> tuple[Hit, ...]:
        if row.url == _LIBRARY:
            return _hits(await asyncio.to_thread(_scraped, row, wish), row)
        # On a thread, because importing the HTTP library takes long.
        await asyncio.to_thread(importlib.import_module, "app.services.web.fetching")
        from app.services.web.fetching import GuardedTransport, WebQuestion, send

        try:
            guard = GuardedTransport(
                loopback=self._loopback, read_s=_VENDOR_S if row.vendor else _LIMIT_S, own="" if row.header else row.url
            )
        except ToolMisuse as error:
            raise ToolFailed(f"web.searxng is no address: {error}") from None
        asked = _asked_of(row, wish)
        header, _, value = row.header.partition(": ")
        headers = {"Accept": "application/json", **row.headers} | ({header: value.format(key=key)} if key else {})
        question = WebQuestion(row.url, {name: str(value) for name, value in asked.items()}, headers=headers)
        if row.posts:
            question = WebQuestion(row.url, posted=asked, headers=headers)
        most, limit = (_VENDOR_BYTES, _VENDOR_S) if row.vendor else (_MOST_BYTES, _LIMIT_S)
        return _hits(_listed(await send(guard, question, most_bytes=most, limit_s=limit), row), row)


def _searxng(address: str) -> str:
    return f"{address.strip().rstrip('/').removesuffix('/search')}/search" if address.strip() else ""


def _is_missing(row: SearchRow) -> bool:
    return row.url == _LIBRARY and not is_there(_LIBRARY)


def _why_not(row: SearchRow, settings: Settings) -> str:
    """Why the search of a maker of models may not be asked; "" if it may, or for any other row."""
    if row.vendor and not settings[VENDOR_SEARCH]:
        return "web.vendor_search is off."
    return "model.base_url is set, so the key may be for that server." if row.vendor and settings[BASE_URL] else ""


def _asked_of(row: SearchRow, wish: SearchWish) -> dict[str, Any]:
    model = providers()[row.vendor].model if row.vendor in providers() else ""
    asked: dict[str, Any] = _put_in(row.fixed, {"{words}": _words(wish), "{model}": model})
    if row.query:
        asked[row.query] = wish.query if row.site else _words(wish)
    if row.site and wish.site:
        asked[row.site] = [wish.site]
    if row.since and wish.age:
        since = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=AGES[wish.age])
        asked[row.since] = since.strftime("%Y-%m-%dT%H:%M:%S.000Z")
    named = {row.count: wish.count, row.language: wish.language, row.age: row.ages.get(wish.age, "")}
    asked |= {name: value for name, value in named.items() if name and value}
    return asked


def _put_in(fixed: Any, values: Mapping[str, str]) -> Any:
    if isinstance(fixed, Mapping):
        return {name: _put_in(one, values) for name, one in fixed.items()}
    if isinstance(fixed, list):
        return [_put_in(one, values) for one in fixed]
    return re.sub(r"\{(words|model)\}", lambda found: values[found[0]], fixed) if isinstance(fixed, str) else fixed


def _words(wish: SearchWish) -> str:
    return f"{wish.query} site:{wish.site}" if wish.site else wish.query


def _listed(answer: Fetched, row: SearchRow) -> list[Mapping[str, Any]]:
    """As the engine sent them. Raises ToolFailed if its answer has another format."""
    if answer.status != 200:
        why = _WHY.get(answer.status, "it failed")
        if not row.header and answer.status == 403:
            why = "its settings do not allow the format json"
        raise ToolFailed(f"{why} ({answer.status}).")
    if answer.is_cut:
        raise ToolFailed("its answer is too long.")
    try:
        found = json.loads(answer.data)
        if row.results == "**":
            return sorted(_records(found, row.link), key=lambda one: not one.get(row.text))
        for name in row.results.split("."):
            found = found.get(name) or {}
    except (ValueError, AttributeError, RecursionError):
        raise ToolFailed("it did not answer in JSON.") from None
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _records(found: Any, link: str) -> Iterator[Mapping[str, Any]]:
    """Yield every record with a link, however deep it is in an answer."""
    if isinstance(found, dict):
        if isinstance(found.get(link), str):
            yield found
        found = list(found.values())
    for one in found if isinstance(found, list) else ():
        yield from _records(one, link)


def _scraped(row: SearchRow, wish: SearchWish) -> list[Mapping[str, Any]]:
    import ddgs  # late: it is an extra, and loads a native library
    import ddgs.exceptions

    age = row.ages.get(wish.age)
    try:
        asked = ddgs.DDGS(timeout=int(_LIMIT_S))
        found = asked.text(_words(wish), max_results=wish.count, timelimit=age, backend=_LIBRARY_ENGINES)
    except ddgs.exceptions.DDGSException as error:
        raise ToolFailed(f"it answered nothing ({clip_line(str(error), 100)}).") from None
    return list(found)


def _hits(raw: Sequence[Mapping[str, Any]], row: SearchRow) -> tuple[Hit, ...]:
    """Those that lead to the public web, each address once."""
    hits: dict[str, Hit] = {}
    for one in raw:
        try:
            target = read(str(one.get(row.link) or ""), any_port=True)
        except ToolMisuse:
            continue
        if target.address and why_refused(target.address):
            continue
        title, snippet = _plain(one.get(row.title), _TITLE_CHARS), _plain(one.get(row.text), _SNIPPET_CHARS)
        source, date = _plain(one.get(row.source), _MARK_CHARS), _plain(one.get(row.date), _MARK_CHARS)
        hits.setdefault(target.url, Hit(title or target.url, target.url, snippet, source, date))
    return tuple(hits.values())[:MOST_HITS]


def _plain(value: object, most: int) -> str:
    """Without markup, on one line."""
    return clip_line(html.unescape(_TAG.sub("", value)), most) if isinstance(value, str) else ""


def check_search() -> Finding:
    """Report which search engines are set up, without asking any of them."""
    name = "Web search"
    engines, problems = WebSearch(load, key_of).engines()
    if problems:
        return note(name, " ".join(problems), "Correct the setting web.search, or leave it empty.", SEARCHERS.key)
    if not engines:
        return note(
            name,
            "No search engine is set up, so Wisp cannot search the web.",
            "Open Wisp's settings, page Web search. Save the key of a search engine there, or type the "
            "address of your own SearXNG server.",
            SEARXNG.key,
        )
    names = ", ".join(row.label for row, _ in engines)
    return ok(name, Phrase("Wisp asks {names}.", {"names": names}))
