"""Pages of the web: what is read of them, and where the way ends."""

from __future__ import annotations

import gzip
import ipaddress
import zlib
from collections.abc import Iterator

import pytest

from app.base.errors import ToolFailed, ToolMisuse
from app.services.web.addresses import Address
from app.services.web.fetching import MOST_BYTES
from app.services.web.pages import Pages, WebPage
from tests.support.site import Reply, Site, site

PAGE = b"""<html><head><title>The  title</title><script>bad()</script></head><body>
<h1>Hello</h1><p>See <a href="/next">the next</a> page.<span style="display: none">hidden words</span></p>
<ul><li>one<li>two</ul><pre>a
  b</pre><img alt="a cat" src=x><div hidden>more hidden words</div><table><tr><th>k<th>v<tr><td>1<td>2</table></body>"""


@pytest.fixture
def here() -> Iterator[Site]:
    with site() as server:
        yield server


async def _get(url: str) -> WebPage:
    return await Pages(loopback=True).get(url)


async def test_a_page_is_told_as_its_reader_sees_it(here: Site) -> None:
    here.replies["/"] = Reply(PAGE)
    page = await _get(f"{here.url}/")
    assert page == WebPage(
        f"{here.url}/",
        200,
        "text/html",
        f"# The title\n\n# Hello\n\nSee [the next]({here.url}/next) page.\n\n- one\n- two\n\n```\na\n  b\n```\n"
        "(picture: a cat)\n\n | k | v\n | 1 | 2",
    )


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        ("text/plain; charset=latin-1", b"caf\xe9", "café"),
        ("application/json", b'{"a": 1}', '{"a": 1}'),
        ("", b"just words", "just words"),
        ("text/html; charset=nonsense", b"<p>x</p>", "x"),
    ],
)
async def test_text_is_told_as_it_is(here: Site, kind: str, body: bytes, text: str) -> None:
    here.replies["/"] = Reply(body, headers={"Content-Type": kind} if kind else {})
    assert (await _get(f"{here.url}/")).text == text


async def test_what_is_no_text_is_refused_with_its_kind(here: Site) -> None:
    here.replies["/"] = Reply(b"\x89PNG", headers={"Content-Type": "image/png"})
    with pytest.raises(ToolFailed, match="image/png, 4 bytes"):
        await _get(f"{here.url}/")


async def test_a_redirect_within_the_site_is_followed(here: Site) -> None:
    here.replies |= {"/": Reply(status=302, headers={"Location": "/there"}), "/there": Reply(b"<p>arrived</p>")}
    page = await _get(f"{here.url}/")
    assert (page.url, page.text) == (f"{here.url}/there", "arrived")


async def test_a_redirect_to_another_site_is_told_and_not_followed(here: Site) -> None:
    here.replies["/"] = Reply(status=301, headers={"Location": "https://example.org/x"})
    page = await _get(f"{here.url}/")
    assert page == WebPage(f"{here.url}/", 301, elsewhere="https://example.org/x")


@pytest.mark.parametrize(
    "location", ["http://169.254.169.254/latest", "file:///etc/passwd", "gopher://x/", "http://[::1/", "//10.0.0.1/"]
)
async def test_a_redirect_into_a_network_is_not_followed(here: Site, location: str) -> None:
    here.replies["/"] = Reply(status=302, headers={"Location": location})
    try:
        page = await _get(f"{here.url}/")
    except (ToolFailed, ToolMisuse):
        return
    with pytest.raises((ToolFailed, ToolMisuse)):
        await Pages().get(page.elsewhere)


async def test_redirects_in_a_circle_end(here: Site) -> None:
    here.replies["/"] = Reply(status=302, headers={"Location": "/"})
    with pytest.raises(ToolFailed, match="redirects more than 5 times"):
        await _get(f"{here.url}/")
    assert len(here.asked) == 6


async def test_a_body_is_cut_where_it_becomes_too_long(here: Site) -> None:
    def endless() -> Iterator[bytes]:
        while True:
            yield b"x" * 65_536

    here.replies["/"] = Reply(endless, headers={"Content-Type": "text/plain"})
    page = await _get(f"{here.url}/")
    assert page.is_cut
    assert len(page.text) < MOST_BYTES


async def test_a_bomb_is_unpacked_no_further_than_the_limit(here: Site) -> None:
    packer = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    bomb = b"".join(packer.compress(bytes(1 << 20)) for _ in range(300)) + packer.flush()
    here.replies["/"] = Reply(bomb, headers={"Content-Type": "text/html", "Content-Encoding": "gzip"})
    assert (await _get(f"{here.url}/")).is_cut


async def test_packed_pages_are_unpacked(here: Site) -> None:
    headers = {"Content-Type": "text/plain", "Content-Encoding": "gzip"}
    here.replies["/"] = Reply(gzip.compress(b"small"), headers=headers)
    assert (await _get(f"{here.url}/")).text == "small"


async def test_a_name_is_asked_for_once_and_keeps_its_host_line(here: Site) -> None:
    asked: list[str] = []

    async def find(host: str, _port: int) -> list[Address]:
        asked.append(host)
        # The second answer would be another machine's.
        return [ipaddress.ip_address("127.0.0.1" if len(asked) == 1 else "10.0.0.1")]

    here.replies["/"] = Reply(b"<p>once</p>")
    page = await Pages(find=find, loopback=True).get(f"http://example.org:{here.port}/")
    assert (page.text, asked, here.asked) == ("once", ["example.org"], [(f"example.org:{here.port}", "/")])


async def test_one_address_that_is_not_public_refuses_the_name(here: Site) -> None:
    async def find(_host: str, _port: int) -> list[Address]:
        return [ipaddress.ip_address("93.184.215.14"), ipaddress.ip_address("10.0.0.1")]

    with pytest.raises(ToolFailed, match="leads to a private network"):
        await Pages(find=find).get("https://example.org/")
    assert here.asked == []


async def test_only_the_server_of_the_conversation_is_read_on_this_machine(here: Site) -> None:
    port = int(here.url.rpartition(":")[2])
    here.replies["/"] = Reply(b"mine", headers={"Content-Type": "text/plain"})
    here.replies["/away"] = Reply(b"", 302, headers={"Location": "http://127.0.0.1:1/"})
    pages = Pages(own_ports=lambda: {port})
    assert (await pages.get(f"http://127.0.0.1:{port}/")).text == "mine"
    with pytest.raises((ToolFailed, ToolMisuse)):
        await Pages().get(f"http://127.0.0.1:{port}/")
    with pytest.raises((ToolFailed, ToolMisuse)):
        await pages.get(f"http://127.0.0.1:{port}/away")
