"""The report of many tasks in a real Chromium, opened as a person opens it: from the folder, as a file."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from PIL import Image

from app.base import resources
from app.base.translation import languages
from app.features.browser.starting import program
from app.features.fleet.report import write_report

if TYPE_CHECKING:
    from playwright.async_api import Page

playwright = pytest.importorskip("playwright.async_api", reason="the browser is an extra")
pytestmark = pytest.mark.skipif(not program(), reason="no Chromium on this machine")

_HOSTILE = "</script><script>globalThis.ran = 1</script><img src=x onerror='globalThis.ran = 1'>"
_HOSTILE += "<!-- <script> ${globalThis.ran = 1} ]]> &lt;"
_ODD = "\ud800 \0 \u2028 \u202e \x1b[31m"


@pytest.fixture
async def page() -> AsyncIterator[Page]:
    """An empty page of a new browser."""
    async with playwright.async_playwright() as started:
        browser = await started.chromium.launch(executable_path=program())
        yield await browser.new_page()
        await browser.close()


async def _open(page: Page, file: Path, link: str = "") -> None:
    await page.goto(f"{file.as_uri()}#{quote(link)}")
    await page.wait_for_selector("h1 bdi")


async def _ids(page: Page) -> list[str]:
    """The IDs of the rows on this page of the table."""
    ids: list[str] = await page.locator("td.id").all_inner_texts()
    return ids


def _task(number: int, **more: Any) -> dict[str, Any]:
    words = f"write to customer {number}"
    return {"id": f"row-{number}", "number": number, "words": words, "outcome": "done", "passed": True, **more}


async def test_words_of_others_are_shown_as_words_and_run_nothing(tmp_path: Path, page: Page) -> None:
    told = {"label": _HOSTILE, "text": _HOSTILE, "tool": _HOSTILE, "output": _HOSTILE, "path": _HOSTILE}
    names = ("id", "words", "outcome", "answer", "why", "node", "provider", "model")
    hostile: dict[str, Any] = {name: _HOSTILE + _ODD for name in names}
    hostile |= {"check": {"exit_code": _HOSTILE, **told}, "receipts": [{"ok": True, **told}], "pictures": [told]}
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    await page.add_init_script("addEventListener('securitypolicyviolation', () => { globalThis.ran = 'refused' })")
    file = write_report(tmp_path, _HOSTILE + _ODD, [hostile, _task(2), {"seconds": float("nan")}, {}], 4)
    await _open(page, file)
    await page.get_by_role("button", name=_HOSTILE).last.click()
    for place in ("h1", "td.id", ".opener", ".answer", ".why", ".code", ".receipts", ".film", "dd"):
        assert _HOSTILE in (await page.locator(place).filter(has_text=_HOSTILE).first.inner_text()), place
    assert await page.evaluate("globalThis.ran") is None
    assert [url for url in asked if not url.startswith(tmp_path.as_uri())] == []
    assert await page.locator("tr.row").count() == 4


async def test_pictures_come_from_the_folder_when_a_task_is_opened_and_the_keys_move_between_them(
    tmp_path: Path, page: Page
) -> None:
    folder = tmp_path / "a run" / "pictures #1"
    folder.mkdir(parents=True)
    for name in ("1.jpg", "2.jpg", "../../outside.jpg"):
        Image.new("RGB", (64, 40), "teal").save(folder / name)
    paths = ["pictures #1/1.jpg", "pictures #1/2.jpg", "../outside.jpg", (tmp_path / "outside.jpg").as_uri()]
    pictures = [{"at_s": 1.0, "path": path, "label": path} for path in [*paths, "http://127.0.0.1:9/tracker.jpg"]]
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    await _open(page, write_report(folder.parent, "tasks", [_task(1, pictures=pictures)], 1))
    assert not [url for url in asked if "jpg" in url]
    await page.locator(".opener").press("Enter")
    await page.wait_for_function(
        "[...document.querySelectorAll('.film img')].filter((one) => one.naturalWidth).length == 2"
    )
    assert [url for url in asked if not url.startswith(folder.parent.as_uri())] == []

    await page.locator(".film button").first.press("Enter")
    large = page.get_by_role("dialog")
    assert paths[0] in await large.inner_text()
    await page.keyboard.press("ArrowRight")
    assert paths[1] in await large.inner_text()
    await page.keyboard.press("Escape")
    assert await large.count() == 0


async def test_failed_tasks_come_first_and_a_search_and_chips_narrow_the_table(tmp_path: Path, page: Page) -> None:
    tasks = [
        _task(1, answer="The letter is sent.", seconds=2.0),
        _task(2, passed=None, outcome="timed out", seconds=9.0),
        _task(3, passed=False, why="There is no printer.", seconds=10.0),
        _task(4, passed=False, outcome="not done"),
    ]
    await _open(page, write_report(tmp_path, "tasks", tasks, 5))
    assert await _ids(page) == ["row-3", "row-4", "row-2", "row-1"]
    await page.locator(".chips button[data-value=failed]").click()
    assert await _ids(page) == ["row-3", "row-4"]
    await page.locator(".chips button[data-value='not done']").click()
    assert await _ids(page) == ["row-4"]
    for _ in range(2):  # the chips again, which takes them back
        await page.locator(".chips button[aria-pressed=true]").last.click()
    for words, ids in (("LETTER sent", ["row-1"]), ("printer", ["row-3"]), ("customer 2", ["row-2"]), ("lion", [])):
        await page.get_by_role("searchbox").fill(words)
        assert await _ids(page) == ids
    await page.get_by_role("searchbox").fill("")
    await page.locator("th button").nth(4).click()
    assert await _ids(page) == ["row-3", "row-2", "row-1", "row-4"]


@pytest.mark.parametrize("name", ["row-250", "Größe #1/2 %41"])
async def test_a_link_to_a_task_opens_it_wherever_it_stands(tmp_path: Path, page: Page, name: str) -> None:
    tasks = [_task(number) for number in range(1, 250)] + [_task(250, id=name, answer="It is here.")]
    file = write_report(tmp_path, "tasks", tasks, 250)
    await _open(page, file, name)
    assert await page.locator(".answer").inner_text() == "It is here."
    await page.locator(".row.opened .opener").click()
    assert await page.locator(".detail").count() == 0
    await page.get_by_role("searchbox").fill(name)
    await page.locator(".opener").click()
    link = page.url
    await page.goto("about:blank")
    await page.goto(link)
    assert await page.locator(".answer").inner_text() == "It is here."


@pytest.mark.long
async def test_each_of_ten_thousand_tasks_is_found_by_its_id_and_stands_on_a_page(tmp_path: Path, page: Page) -> None:
    await _open(page, write_report(tmp_path, "tasks", (_task(number) for number in range(1, 10_001)), 10_000))
    not_found = await page.evaluate(
        """() => {
          const field = document.querySelector("input"), wrong = [];
          for (let number = 1; number <= 10000; number++) {
            field.value = `row-${number}`;
            field.dispatchEvent(new Event("input"));
            const found = [...document.querySelectorAll("td.id")].map((one) => one.textContent);
            const here = String(number).length > 2 ? found.includes(field.value) : found.length === 100;
            if (!here) wrong.push(number);
          }
          return wrong;
        }"""
    )
    assert not_found == []
    await page.get_by_role("searchbox").fill("customer")
    seen = await _ids(page)
    while await (onward := page.locator(".pages button").last).is_enabled():
        await onward.click()
        seen += await _ids(page)
    assert sorted(seen) == sorted(f"row-{number}" for number in range(1, 10_001))


@pytest.mark.parametrize("language", [one for one in languages() if one != "en"])
def test_a_language_has_all_words_of_the_page(language: str) -> None:
    english, own = (resources.table(f"languages/{one}/report.toml", resources.Table) for one in ("en", language))
    assert {part: words.keys() for part, words in own.items()} == {
        part: words.keys() for part, words in english.items()
    }
