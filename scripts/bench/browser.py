"""What browser_action costs on honest pages, against Playwright alone doing the same in the same run.

    .venv/bin/python scripts/bench browser [--rounds 5]

Each task reads the page, acts through refs and reads again. It is done by Wisp's tool with its walls, its proof and its
picture; by Playwright alone with what a model needs to go on (an outline before and after each act, the same moment
for the page to react, a picture); and by Playwright alone that neither waits nor looks (`blind`). Prints medians in
milliseconds and the ratio of the first two, for which the aim is 1.3. Then the size of one reading of each page, in
tokens of four characters.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from app.base.clock import SystemClock
from app.features.browser.session import _PAINT
from app.features.browser.starting import needed_program
from app.features.browser.tools import BROWSER, Browsing
from app.features.browser.transfers import PageFiles
from app.protocol.call import Block, ToolResult
from app.services.files.changes import Changes
from app.services.files.checkpoints import Checkpoints
from app.services.files.places import Workspace
from app.tools.executor import Executor, WrittenByThePerson
from app.tools.registry import Registry, TurnContext, admitted
from tests.support.web_world import World, world

if TYPE_CHECKING:
    from playwright.async_api import Page

_AIM = 1.3
_CHARS_A_TOKEN = 4
_ECHO = (
    "<script>document.forms[0].onsubmit = (event) => { document.body.insertAdjacentHTML('beforeend', '<p>Got it')"
    "; return false }</script>"
)
_ROWS = "".join(f"<tr><td>Item {n}<td>{n * 7 % 50}<td><a href=/item>Open {n}</a>" for n in range(100))


@dataclass(frozen=True)
class Task:
    """A page and the acts on it: (action, name, text). `holds` is in the page's outline at the end."""

    name: str
    page: str
    acts: tuple[tuple[str, str, str], ...]
    holds: str


TASKS = (
    Task(
        "form",
        f"<form><label>Name <input></label><label>City <input></label><button>Send</button></form>{_ECHO}",
        (("type", "Name", "Ada"), ("type", "City", "Oslo"), ("click", "Send", "")),
        "Got it",
    ),
    Task("table of 100 rows", f"<table>{_ROWS}</table>", (("click", "Open 12", ""),), "Item page"),
    Task(
        "list that grows",
        "<button onclick=\"for(let i=0;i<30;i++) l.insertAdjacentHTML('beforeend','<li>Row '+i)\">More</button>"
        "<ul id=l></ul>",
        (("click", "More", ""), ("click", "More", "")),
        "Row 29",
    ),
    Task(
        "shadow DOM",
        "<div id=h></div><script>h.attachShadow({mode:'open'}).innerHTML="
        "'<button onclick=\"this.textContent=`Well`\">Deep</button>'</script>",
        (("click", "Deep", ""),),
        "Well",
    ),
)


class Wisp:
    """The tool behind its walls, called as a model calls it."""

    def __init__(self, here: World, folder: Path) -> None:
        workspace = Workspace(folder)
        files = PageFiles(workspace, Changes(workspace, Checkpoints(folder.parent / "kept")))
        self._executor = Executor(Registry(BROWSER), [Browsing(here.browser, files)], SystemClock(), attempts=1)

    async def do(self, **arguments: Any) -> ToolResult:
        block = Block("c1", "browser_action", args=arguments)
        ran = await self._executor.run(block, WrittenByThePerson(), TurnContext(admitted))
        assert ran.result.ok, ran.result.llm_echo
        return ran.result

    async def task(self, task: Task, url: str) -> str:
        await self.do(action="launch", url=url)
        outline = (await self.do(action="read")).llm_echo
        for action, name, text in task.acts:
            await self.do(action=action, ref=_ref(outline, name), **({"text": text} if text else {}))
        return (await self.do(action="read")).llm_echo


def _ref(outline: str, name: str) -> str:
    [ref] = re.findall(rf'"{name}"[^\n]*?\[ref=(\w+)\]', outline)
    return str(ref)


async def _alone(page: Page, task: Task, url: str, *, looks: bool) -> str:
    """The same by Playwright: with looks, everything that the tool tells a model is asked of the page, too."""

    async def look() -> None:
        if looks:
            await page.evaluate(_PAINT)
            await page.wait_for_load_state("load")
            await page.screenshot(type="jpeg", quality=70, scale="css")

    async def outline() -> str:
        return await page.aria_snapshot(mode="ai") if looks else ""

    await page.goto(url, wait_until="domcontentloaded")
    await look()
    first = await page.aria_snapshot(mode="ai")
    await look()
    for action, name, text in task.acts:
        await outline()
        found = page.locator(f"aria-ref={_ref(first, name)}")
        await (found.fill(text) if action == "type" else found.click())
        await outline()
        await look()
    told = await page.aria_snapshot(mode="ai")
    await look()
    return told


async def _timed(name: str, work: Callable[[], Awaitable[str]], holds: str) -> float:
    begun = time.perf_counter()
    told = await work()
    took = 1000 * (time.perf_counter() - begun)
    assert holds in told, (name, told)
    return took


async def _measured(rounds: int) -> None:
    from playwright.async_api import async_playwright

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        space = Path(folder) / "space"
        space.mkdir()
        pages = {f"/{number}": f"<title>T</title>{task.page}" for number, task in enumerate(TASKS)}
        async with world(Path(folder), {**pages, "/item": "<h1>Item page</h1>"}) as here, async_playwright() as driver:
            browser = await driver.chromium.launch(executable_path=needed_program(), args=["--no-sandbox"])
            page = await browser.new_page(viewport={"width": 1024, "height": 720})
            wisp = Wisp(here, space)
            print(f"{'':<20}{'Wisp':>9}{'alone':>9}{'blind':>9}   ratio, aim {_AIM:g}")
            for number, task in enumerate(TASKS):
                await _row(rounds, task, number, here, page, wisp)
            for number, task in enumerate(TASKS):
                await wisp.do(action="launch", url=f"http://shop.example/{number}")
                read = len((await wisp.do(action="read")).llm_echo)
                print(f"{'reading: ' + task.name:<28}{read // _CHARS_A_TOKEN:>6} tokens   {len(task.page):>6} of HTML")
            await browser.close()


async def _row(rounds: int, task: Task, number: int, here: World, page: Page, wisp: Wisp) -> None:
    direct, walled = f"http://127.0.0.1:{here.port}/{number}", f"http://shop.example/{number}"
    ways: Mapping[str, Callable[[], Awaitable[str]]] = {
        "Wisp": lambda: wisp.task(task, walled),
        "alone": lambda: _alone(page, task, direct, looks=True),
        "blind": lambda: _alone(page, task, direct, looks=False),
    }
    took: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(rounds + 1):
        for name, work in ways.items():
            one = await _timed(f"{task.name} by {name}", work, task.holds)
            if turn:  # because the first time starts a browser
                took[name].append(one)
    mine, alone, blind = (statistics.median(took[name]) for name in ways)
    print(f"{task.name:<20}{mine:>9.0f}{alone:>9.0f}{blind:>9.0f}   {mine / alone:.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="how often each task is measured; 5")
    asyncio.run(_measured(parser.parse_args().rounds))


if __name__ == "__main__":
    main()
