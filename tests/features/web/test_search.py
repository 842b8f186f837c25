"""Engines are asked in their own words on loopback, one after the other, and each failure is named."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from anthropic.types import Message
from openai.types.responses import Response

from app.base.errors import NeedsPerson, ToolFailed, ToolMisuse
from app.base.values import replace
from app.features.web.search import AGES, Hit, SearchAnswer, SearchWish, WebSearch
from app.services.web.fetching import GuardedTransport
from app.settings.providers import SearchRow, key_variables, searchers
from app.settings.store import Settings
from tests.support.site import Reply, Site, site

ANSWERS = tomllib.loads((Path(__file__).parents[2] / "data" / "search" / "answers.toml").read_text(encoding="utf-8"))
WISH = SearchWish("clock museum", 5, "de", "week", "museum.example")
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def here() -> Iterator[Site]:
    with site() as server:
        yield server


def _rows(here: Site, *names: str) -> dict[str, SearchRow]:
    """The engines, each at a path of the test's server."""
    return {name: replace(searchers()[name], url=f"{here.url}/{name}") for name in names}


async def _search(rows: dict[str, SearchRow], wish: SearchWish = WISH, **values: Any) -> SearchAnswer:
    settings = Settings({}, {}).with_values(**values)
    return await WebSearch(lambda: settings, lambda _name: "key", rows=rows, loopback=True).search(wish)


@pytest.mark.parametrize("name", ANSWERS)
async def test_an_engine_is_asked_and_read_as_its_maker_documents(here: Site, name: str) -> None:
    known = ANSWERS[name]
    here.replies[f"/{name}"] = Reply(known["answer"].encode(), headers=JSON)
    found = await _search(_rows(here, name), web__vendor_search=True)
    headers, body = here.sent[0]
    asked = json.loads(body) if body else dict(parse_qsl(urlsplit(here.asked[0][1]).query))
    if dated := known.get("dated"):
        age = datetime.now(UTC) - datetime.fromisoformat(asked.pop(dated))
        assert age.days in (AGES["week"], AGES["week"] - 1)
    assert (asked, found) == (known["asked"], SearchAnswer(searchers()[name].label, (Hit(*known["hit"]),)))
    header, value = known.get("header", ("accept", "application/json"))
    assert headers[header] == value


def test_the_answers_of_the_makers_of_models_are_such_as_their_libraries_read() -> None:
    message = Message.model_validate_json(ANSWERS["anthropic"]["answer"], strict=False)
    assert [type(block).__name__ for block in message.content] == [
        "ServerToolUseBlock",
        "WebSearchToolResultBlock",
        "TextBlock",
    ]
    response = Response.model_validate_json(ANSWERS["openai"]["answer"], strict=False)
    assert [type(item).__name__ for item in response.output] == ["ResponseFunctionWebSearch", "ResponseOutputMessage"]


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({}, "web.vendor_search is off."),
        (
            {"web__vendor_search": True, "model__base_url": "http://127.0.0.1:1/v1"},
            "model.base_url is set, so the key may be for that server.",
        ),
    ],
)
async def test_the_makers_of_models_are_asked_only_where_the_person_wants_it(
    here: Site, values: dict[str, Any], why: str
) -> None:
    rows = _rows(here, "anthropic", "exa")
    here.replies |= {f"/{name}": Reply(ANSWERS[name]["answer"].encode()) for name in rows}
    assert (await _search(rows, **values)).engine == "Exa"
    named = await _search(rows, web__search="anthropic, exa", **values)
    assert (named.engine, named.failures) == ("Exa", (f"Claude's own search: {why}",))
    assert [path for _, path in here.asked] == ["/exa", "/exa"]


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (Reply(b"{}", 401), "it refused the key (401)."),
        (Reply(b"", 429), "its limit is reached (429)."),
        (Reply(b"", 500), "it failed (500)."),
        (Reply(b"", 302, {"Location": "https://elsewhere.example/"}), "it failed (302)."),
        (Reply(b"<html>no</html>"), "it did not answer in JSON."),
        (Reply(b"[1]"), "it did not answer in JSON."),
        (Reply(b'{"results": "no"}'), "it found nothing."),
        (Reply(b'{"results": [7, {"url": 7}, {}]}'), "it found nothing."),
        (Reply(b" " * 1_000_001), "its answer is too long."),
    ],
)
async def test_the_next_engine_is_asked_and_the_failure_named(here: Site, reply: Reply, why: str) -> None:
    here.replies |= {"/tavily": reply, "/exa": Reply(ANSWERS["exa"]["answer"].encode())}
    found = await _search(_rows(here, "tavily", "exa"))
    assert (found.engine, found.failures, len(found.hits)) == ("Exa", (f"Tavily: {why}",), 1)


async def test_where_all_fail_each_reason_is_given(here: Site) -> None:
    here.replies["/brave"] = Reply(b"", 429)
    rows = _rows(here, "brave") | {"exa": replace(searchers()["exa"], url="http://127.0.0.1:9/")}
    with pytest.raises(ToolFailed) as failed:
        await _search(rows)
    told = str(failed.value)
    assert told.startswith("No search engine answered. Brave Search: its limit is reached (429). Exa: 127.0.0.1 cannot")
    assert "key" not in told


async def test_the_settings_say_who_is_asked_and_in_which_order(here: Site) -> None:
    rows = _rows(here, "brave", "tavily", "exa")
    here.replies["/exa"] = Reply(ANSWERS["exa"]["answer"].encode())
    found = await _search(rows, web__search="exa brave")
    assert (found.engine, len(here.asked)) == ("Exa", 1)
    named = await _search(rows, web__search="altavista, exa")
    assert named.failures == ("web.search: there is no engine 'altavista'.",)


async def test_without_an_engine_the_person_reads_what_to_set_up() -> None:
    rows = {name: row for name, row in searchers().items() if name != "ddgs"}
    with pytest.raises(NeedsPerson, match=r"web.searxng, or a key into the settings .*Brave Search, Tavily, Exa"):
        await WebSearch(lambda: Settings({}, {}), lambda _name: "", rows=rows).search(WISH)


async def test_the_persons_own_server_may_be_on_loopback_and_nothing_else_there(here: Site) -> None:
    here.replies["/search"] = Reply(ANSWERS["searxng"]["answer"].encode(), headers=JSON)
    settings = Settings({}, {}).with_values(web__searxng=here.url)
    search = WebSearch(lambda: settings, lambda _name: "", rows={"searxng": searchers()["searxng"]})
    assert (await search.search(WISH)).engine == "SearXNG"
    guard = GuardedTransport(own=f"{here.url}/search")
    for other in (f"http://127.0.0.1:{here.port + 1}/", f"https://127.0.0.1:{here.port}/", "http://localhost/"):
        with pytest.raises((ToolMisuse, ToolFailed)):
            await guard.addresses(guard.read(other))


@pytest.mark.parametrize(
    "address", ["http://169.254.169.254/", "file:///etc/passwd", "127.0.0.1:8888", "http://u:p@h/"]
)
async def test_no_setting_leads_to_a_clouds_service_or_another_scheme(address: str) -> None:
    settings = Settings({}, {}).with_values(web__searxng=address)
    search = WebSearch(lambda: settings, lambda _name: "", rows={"searxng": searchers()["searxng"]})
    with pytest.raises(ToolFailed, match="No search engine answered"):
        await search.search(WISH)


async def test_a_key_goes_to_a_public_host_only() -> None:
    rows = {"brave": replace(searchers()["brave"], url="https://127.0.0.1/")}
    with pytest.raises(ToolFailed, match=r"Brave Search: .*this machine"):
        await WebSearch(lambda: Settings({}, {}), lambda _name: "key", rows=rows).search(WISH)


def test_keys_of_engines_are_kept_from_programs_too() -> None:
    assert {"BRAVE_API_KEY", "TAVILY_API_KEY", "EXA_API_KEY"} <= key_variables()
