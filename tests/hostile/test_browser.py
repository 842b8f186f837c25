"""Wisp's own browser against hostile pages: a real Chromium behind the walls, on pages that try every way out."""

from __future__ import annotations

import json
import tomllib
from contextlib import suppress
from pathlib import Path

import pytest

from app.base.errors import WispError
from app.features.browser.starting import program
from tests.support.sampling import spread
from tests.support.web_world import PUBLIC, World, world

pytest.importorskip("playwright", reason="the browser is an extra")
pytestmark = pytest.mark.skipif(not program(), reason="no Chromium on this machine")

CASES = tomllib.loads((Path(__file__).parent / "browser.toml").read_text(encoding="utf-8"))
SECRETS = ("hunter2-secret", "4111111111111111", "987654")
_WORKER = "self.addEventListener('install', () => fetch('http://127.0.0.1:TRAP/service', {mode: 'no-cors'}))"
_FORM = """<title>Sign in</title><form><label>Name <input name=user value=ada></label>
<label>Password <input type=password value=hunter2-secret></label>
<label>Shown <input type=password id=eye value=hunter2-secret></label>
<label>Card <input autocomplete=cc-number value=4111111111111111></label>
<label>Code <input autocomplete=one-time-code value=987654></label></form>
<script>document.getElementById('eye').type = 'text'; console.log('it is hunter2-secret')</script>"""


def _scripted(scripts: list[str], here: World) -> str:
    """A page that runs each script by itself, so that one that fails stops no other."""
    runs = [f"try {{ {one} }} catch (error) {{ console.log('failed', String(error)) }}" for one in scripts]
    text = "".join(f"<script>{run}</script>" for run in runs).replace("</script>'", "<\\/script>'")
    return f"<title>Evil</title><body><p>Nice.</p>{_filled(text, here)}"


def _filled(text: str, here: World) -> str:
    return text.replace("TRAP", str(here.trap)).replace("UDP", str(here.udp))


def _breaches(here: World) -> list[str]:
    forbidden = [place for place in here.dialled if not place.startswith(str(PUBLIC))]
    return [*here.reached, *forbidden]


@pytest.mark.timeout(240)
@pytest.mark.parametrize("count", [12, pytest.param(None, marks=pytest.mark.long)])
async def test_no_page_reaches_this_machine_or_a_private_network(tmp_path: Path, count: int | None) -> None:
    attacks = CASES["attack"] if count is None else spread(CASES["attack"], count)
    async with world(tmp_path) as here:
        here.pages["/worker.js"] = _filled(_WORKER, here)
        here.pages["/evil"] = _scripted([one["script"] for one in attacks if not one.get("moves")], here)
        moving = [one["script"] for one in attacks if one.get("moves")]
        for number, script in enumerate(moving):
            here.pages[f"/moving/{number}"] = _scripted([script], here)
        for path in ("/evil", *(f"/moving/{number}" for number in range(len(moving)))):
            with suppress(WispError):  # because a page may get itself refused, or leave while it is read
                async with here.browser.acting():
                    await here.browser.launch(f"http://shop.example{path}")
                    assert "root:" not in await here.browser.outline()
            assert _breaches(here) == []
        await here.browser.launch("http://shop.example/")
        look = await here.browser.look()
        assert _breaches(here) == []
        assert not look.url.startswith(("file:", "chrome:", "view-source:"))
        assert count or any(path.startswith("/to?") for path in here.asked), "no redirect was tried"


async def test_no_address_that_is_none_of_the_web_is_opened(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        for case in CASES["open"]:
            with pytest.raises(WispError):
                async with here.browser.acting():
                    await here.browser.launch(_filled(case["url"], here))
        assert _breaches(here) == []


async def test_secrets_in_fields_reach_neither_text_nor_console(tmp_path: Path) -> None:
    async with world(tmp_path, {"/": _FORM}) as here:
        await here.browser.launch("http://shop.example/")
        told = await here.browser.outline()
        look = await here.browser.look()
        seen = json.dumps([told, look.url, look.title, look.lines])
        assert [secret for secret in SECRETS if secret in seen] == []
        assert "ada" in told
        for name in ("Password", "Shown", "Card", "Code"):
            found = await here.browser.named("", name)
            assert (found.element.role, found.element.value) == ("password text", "")


async def test_only_a_page_of_this_machine_reaches_the_servers_of_this_conversation(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        here.pages["/"] = _scripted(["fetch('http://127.0.0.1:TRAP/mine', {mode: 'no-cors'})"], here)
        here.own_ports.add(here.trap)
        await here.browser.launch("http://shop.example/")
        assert _breaches(here) == []
        with pytest.raises(WispError, match=r"Empty|ERR_|closed"):
            async with here.browser.acting():
                await here.browser.launch(f"http://localhost:{here.trap}/")
        assert any("GET / HTTP/1.1" in one for one in here.reached)
