"""Signing in to a server by OAuth: a real authorization server on loopback, and a browser that follows its pages."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from app.base.clock import SystemClock
from app.base.errors import NeedsPerson, ToolFailed
from app.features.mcp.configuration import ServerEntry
from app.features.mcp.servers import McpServers
from app.features.mcp.sign_in import forget_sign_in
from app.settings import store
from tests.support.mcp_world import World, a_world
from tests.support.signed_server import Accounts, serve_signed

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with a_world(tmp_path_factory) as made:
        yield made


@pytest.fixture(autouse=True)
def _kept_here(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys and agreements are kept in the settings folder, of which each test has one of its own otherwise."""
    monkeypatch.setenv("WISP_DATA_DIR", str(world.data))


@pytest.fixture(params=["http", pytest.param("sse", marks=pytest.mark.long)])
def behind(
    request: pytest.FixtureRequest, world: World, _kept_here: None, tmp_path: Path
) -> Iterator[tuple[ServerEntry, Accounts]]:
    """A server of the person's own that wants a sign-in, and its accounts."""
    with serve_signed(tmp_path, request.param) as (url, accounts):
        name = f"web{url.rpartition(':')[2].replace('/', '-')}"
        world.servers.configuration.add(name, {"type": request.param, "url": url, "local": True})
        entry = world.servers.configuration.named(name)
        assert world.servers.is_agreed(entry)
        yield entry, accounts
        world.servers.configuration.remove(name)
        forget_sign_in(entry.pin)


def _browse(url: str) -> str:
    """Follow a page as a browser does. Return the last page's text."""
    with urllib.request.urlopen(url, timeout=20) as page:
        return str(page.read().decode())


async def _acted(servers: McpServers, entry: ServerEntry) -> str:
    await servers.tools(entry)
    return (await servers.use(entry, "act", {}, lambda *_: None)).text


async def test_the_person_signs_in_once_and_the_next_process_is_let_in(
    world: World, behind: tuple[ServerEntry, Accounts]
) -> None:
    entry, accounts = behind
    pages: list[str] = []
    with pytest.raises(NeedsPerson, match=f"{entry.name} wants you to sign in. Do it once: wisp mcp sign-in"):
        await world.servers.tools(entry)
    assert accounts.log == []
    assert await world.servers.sign_in(entry, lambda url: pages.append(_browse(url)))
    assert "You are signed in" in pages[0]
    assert await _acted(world.servers, entry) == "signed in and done"
    assert accounts.log == ["registered Wisp", "asked", "granted"]
    later = McpServers(world.workspace, SystemClock())
    try:
        assert await _acted(later, later.configuration.named(entry.name)) == "signed in and done"
    finally:
        await later.close()
    assert accounts.log == ["registered Wisp", "asked", "granted"]


async def test_what_has_run_out_is_refreshed_without_the_person(
    world: World, behind: tuple[ServerEntry, Accounts]
) -> None:
    entry, accounts = behind
    await world.servers.sign_in(entry, _browse)
    key = f"mcp/{entry.pin}/sign-in"
    store.keep(key, json.dumps({**json.loads(store.key_of(key)), "expires_at": 1}))
    accounts.revoke()
    later = McpServers(world.workspace, SystemClock())
    try:
        assert await _acted(later, later.configuration.named(entry.name)) == "signed in and done"
    finally:
        await later.close()
    assert accounts.log == ["registered Wisp", "asked", "granted", "refreshed"]


async def test_a_refused_sign_in_says_so_and_keeps_nothing(world: World, behind: tuple[ServerEntry, Accounts]) -> None:
    entry, accounts = behind
    accounts.refuse()
    with pytest.raises(ToolFailed, match=r"The sign-in was refused: .*access_denied"):
        await world.servers.sign_in(entry, _browse)
    assert store.key_of(f"mcp/{entry.pin}/sign-in") == ""
    with pytest.raises(NeedsPerson, match="wants you to sign in"):
        await world.servers.tools(entry)


async def test_only_the_page_that_was_opened_can_answer(world: World, behind: tuple[ServerEntry, Accounts]) -> None:
    entry, _accounts = behind

    def attacked(url: str) -> None:
        (back,) = urllib.parse.parse_qs(urllib.parse.urlsplit(url).query)["redirect_uri"]
        for forged in (f"{back}?code=stolen&state=guessed", f"{back}?error=no", back.replace("callback", "")):
            with pytest.raises(urllib.error.HTTPError):
                _browse(forged)
        _browse(url)

    assert await world.servers.sign_in(entry, attacked)


async def test_another_address_gets_nothing_of_what_was_granted(
    world: World, behind: tuple[ServerEntry, Accounts]
) -> None:
    entry, accounts = behind
    await world.servers.sign_in(entry, _browse)
    before = accounts.log
    told = {"type": entry.kind, "url": entry.url.replace("127.0.0.1", "localhost"), "local": True}
    world.servers.configuration.add(entry.name, told)
    moved = world.servers.configuration.named(entry.name)
    assert world.servers.is_agreed(moved)
    with pytest.raises((NeedsPerson, ToolFailed)):
        await world.servers.tools(moved)
    assert accounts.log == before


async def test_a_server_that_wants_no_sign_in_and_a_program_say_so(world: World) -> None:
    with pytest.raises(NeedsPerson, match="is a program on this machine"):
        await world.servers.sign_in(world.entry({"tools": []}), _browse)
