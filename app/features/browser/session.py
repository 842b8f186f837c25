"""One browser with its own profile and with barriers around it: open pages, read them, and act on judged elements.

Three barriers are in place before a page opens. The proxy checks every address (also of redirects and WebSockets). The
router lets only web schemes through, and no service worker can answer instead. WebRTC, which would bypass both, is off.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from app.base.errors import ToolFailed, ToolMisuse
from app.base.values import dataclass
from app.features.browser.elements import (
    ACT_MS,
    FAILED,
    FoundElement,
    PageElement,
    SecretValues,
    element_at,
    element_named,
    errors,
    focused_element,
    secret_fields,
    sentence,
)
from app.features.browser.elements import settings as known_settings
from app.features.browser.starting import (
    HEIGHT,
    WIDTH,
    BrowserWishes,
    checked,
    connect,
    downloads_of,
    driver,
    hide_banner,
    in_front,
    is_web,
    needed_program,
    start,
)
from app.features.browser.transfers import Downloads, PageDownload, choose_file
from app.services.web import addresses

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Dialog, Download, Frame, Page, Playwright, Response, Route

    from app.features.browser.proxy import Dial, FilteringProxy
    from app.services.web.addresses import Resolve

_START_S = 30.0
_OPEN_MS = 25_000
_SETTLE_MS = 3_000
_PICTURE_MS = 10_000
_PAINTED_S = 1.5
_ANSWER_S = 5.0
_JPEG_QUALITY = 70
_LONGEST_LINE = 300
_MOST_LINES = 40
REFUSED = "x-wisp-refused"
"""The header that marks the proxy's own answers."""
_PAINT = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 120))))"


@dataclass(frozen=True, slots=True)
class PageLook:
    """A page as it is now. `lines` are console messages since the last look, `refused` what the barriers refused."""

    url: str
    title: str
    picture: bytes
    lines: tuple[str, ...]
    refused: tuple[str, ...]
    tabs: int
    size: tuple[int, int] = (WIDTH, HEIGHT)
    is_persons: bool = False


@dataclass(frozen=True, slots=True)
class PageQuestion:
    """What a page asks in a dialog of the browser. `kind` is confirm, prompt or beforeunload. The texts are others'."""

    kind: str
    message: str
    default: str


_LEAVE = "Leave this page? What was entered may be lost."
"""Browsers ask this in their own words; the page's are empty."""
_MORE_TRIES, _INTERRUPTED = 2, "interrupted by another navigation"
_SCROLL = "(distance) => { const before = scrollY; scrollBy({top: distance, behavior: 'instant'}); "
_SCROLL += "return scrollY !== before; }"


class BrowserSession:
    """At most one browser, started by `launch`. Its users act one after the other (`acting`).

    `own_ports` are the loopback ports that this conversation's commands serve. `find` and `dial` are replaced in tests.
    `wishes` returns the present settings. A dry session never starts a browser. `judged` holds, by the id of the step,
    the element that the policy is judging, with its host.
    """

    def __init__(
        self,
        profile: Path,
        own_ports: Callable[[], Collection[int]],
        *,
        find: Resolve | None = None,
        dial: Dial | None = None,
        wishes: Callable[[], BrowserWishes] = BrowserWishes,
        is_dry: bool = False,
    ) -> None:
        self._profile = profile
        self.wishes = wishes
        self._own_ports = own_ports
        self._find = find
        self._dial = dial
        self._lock = asyncio.Lock()
        self._playwright: Playwright | None = None
        self._proxy: FilteringProxy | None = None
        self._context: BrowserContext | None = None
        self._page: Page | None = None
        self._pages: list[Page] = []
        self._lines: list[str] = []
        self._asked: set[str] = set()
        self._told: set[str] = set()
        self._secrets = SecretValues()
        self._dialog: Dialog | None = None
        self._asking = asyncio.Event()
        self._may_stay = False
        self._is_dry = is_dry
        self._downloads = Downloads(downloads_of(profile))
        self.is_attached = False
        self.judged: dict[str, tuple[PageElement, str]] = {}

    @property
    def is_open(self) -> bool:
        return self._page is not None

    @property
    def url(self) -> str:
        """The address of the current page."""
        return self._page.url if self._page else ""

    @contextmanager
    def judging(self, step_id: str, element: PageElement) -> Iterator[None]:
        """Inside this context, `judged` holds the element of a step."""
        self.judged[step_id] = (element, urlsplit(self.url).netloc)
        try:
            yield
        finally:
            del self.judged[step_id]

    @asynccontextmanager
    async def acting(self) -> AsyncIterator[None]:
        """This context allows one action at a time and turns browser errors into sentences."""
        async with self._lock:
            try:
                yield
            except errors() as error:
                raise ToolFailed(sentence(str(error))) from error

    async def launch(self, url: str, *, attach: bool = False) -> None:
        """Open the address; start a browser first if none is open. Raises ToolMisuse or NeedsPerson.

        With `attach`, the person's own running browser is used; without an address, the tab that they look at.
        """
        here, target = addresses.is_local(url), checked(url, self._own_ports) if url or not attach else ""
        if attach:
            await self._attach(target)
        elif self._page is None or self._page.is_closed() or self.is_attached or (here and not self._may_stay):
            # Start again, because a web page must not stay open beside one that may reach this machine.
            await self.close()
            await self._start()
        self._may_stay = here
        if target:
            answer = await self._opened(target)
            if answer and REFUSED in answer.headers and self._proxy:
                raise ToolFailed(self._proxy.refused.get(urlsplit(answer.url).hostname or "", "The page was refused."))
        await self.settle()

    async def _opened(self, target: str) -> Response | None:
        """Open the address in the tab, again where the page before leaves by itself meanwhile, which interrupts it."""
        for _ in range(_MORE_TRIES):
            try:
                return await self._shown().goto(target, wait_until="domcontentloaded", timeout=_OPEN_MS)
            except errors() as error:
                if _INTERRUPTED not in str(error):
                    raise
        return await self._shown().goto(target, wait_until="domcontentloaded", timeout=_OPEN_MS)

    async def _attach(self, target: str) -> None:
        """Use the person's browser: a new tab for an address, else the tab that they look at."""
        if target and not addresses.is_local(target):
            # Resolve here, because the person's browser does not go through the proxy.
            await addresses.public_addresses(addresses.read(target), self._find or addresses.resolve)
        if not self.is_attached or self._context is None:
            await self.close()
            self._playwright = await driver(is_dry=self._is_dry)
            try:
                self._context = await connect(self._playwright, self.wishes().attach)
            except BaseException:  # so that a failed or cancelled start leaves no process running
                await self.close()
                raise
            self._context.set_default_timeout(ACT_MS)
            self.is_attached = True
        await self._take(await self._context.new_page() if target else await in_front(self._context.pages))

    async def _take(self, page: Page) -> None:
        """Make a tab of the person's browser the current page. A banner on the page shows that Wisp acts there."""
        banner = known_settings()["banner"]["show"]
        if page not in self._pages:
            self._met(page)
            page.on("popup", self._met)
            await page.add_init_script(banner)
        self._page = page
        with suppress(*errors()):  # because a page can forbid scripts, and the browser shows a banner of its own
            await page.bring_to_front()  # because a tab behind another one is not drawn, so that a picture never comes
            await page.evaluate(banner)

    async def close(self) -> None:
        """End the browser and its proxy, if there is one."""
        context, self._context, self._page = self._context, None, None
        await self.answer(accept=False)
        pages, was_attached, self.is_attached = self._pages, self.is_attached, False
        playwright, self._playwright = self._playwright, None
        proxy, self._proxy = self._proxy, None
        self._pages, self._lines, self._secrets, self._asked, self._told = [], [], SecretValues(), set(), set()
        if was_attached:
            await hide_banner(pages)
        elif context:
            with suppress(*errors()):  # because it may have ended by itself
                await context.close()
        if playwright:
            await playwright.stop()
        if proxy:
            await proxy.close()

    async def _start(self) -> None:
        wishes = self.wishes()
        executable = "" if self._is_dry else await asyncio.to_thread(needed_program, wishes.program)
        try:
            self._playwright = await driver(is_dry=self._is_dry)
            from app.features.browser.proxy import FilteringProxy, dial

            self._proxy = FilteringProxy(self._reachable_ports, self._find or addresses.resolve, self._dial or dial)
            through = await self._proxy.start()
            await asyncio.to_thread(self._profile.mkdir, mode=0o700, parents=True, exist_ok=True)
            async with asyncio.timeout(_START_S):
                self._context = await start(
                    self._playwright, executable, self._profile, through, visible=wishes.is_visible
                )
            await self._wall(self._context)
        except BaseException:  # so that a failed or cancelled start leaves no browser running
            await self.close()
            raise

    async def _wall(self, context: BrowserContext) -> None:
        """Set up all barriers of a browser context, before its first page opens."""
        known = known_settings()
        schemes = tuple(f"{scheme}:" for scheme in known["schemes"])

        async def let_through(route: Route) -> None:
            is_web = route.request.url.casefold().startswith(schemes)
            await (route.continue_() if is_web else route.abort("blockedbyclient"))

        await context.add_init_script(known["guard"])
        await context.route("**/*", let_through)
        await context.clear_permissions()
        context.set_default_timeout(ACT_MS)
        context.on("page", self._met)
        context.on("request", lambda request: self._asked.add(urlsplit(request.url).hostname or ""))
        self._page = context.pages[0] if context.pages else await context.new_page()
        self._met(self._page)

    def _reachable_ports(self) -> Collection[int]:
        """Loopback ports. None once the browser has shown a page of the web."""
        return self._own_ports() if self._may_stay else ()

    def _met(self, page: Page) -> None:
        """Prepare a new page: record its messages, keep its question, close it at an address that is not allowed."""
        if page in self._pages:
            return
        self._pages.append(page)

        async def leave(frame: Frame) -> None:
            url = frame.url.casefold()
            if url.startswith(("http:", "https:")) and frame.parent_frame is None and not addresses.is_local(url):
                self._may_stay = False  # because from here on the page is one of the web
            if not url.startswith((FAILED, *(f"{one}:" for one in known_settings()["schemes"]))):
                self._line(f"[refused] {frame.url}")
                if self.is_attached:  # because the tab is the person's; `_shown` refuses to act in it
                    return
                with suppress(*errors()):  # because the page may have closed itself
                    await page.close()

        page.on("console", lambda message: self._say(message.type, message.text))
        page.on("pageerror", lambda error: self._line(f"[error] {error}"))
        page.on("download", self._offered)
        page.on("dialog", self._met_dialog)
        page.on("framenavigated", leave)
        page.on("websocket", lambda socket: self._asked.add(urlsplit(socket.url).hostname or ""))

    async def _met_dialog(self, dialog: Dialog) -> None:
        """Keep a page's question until it is answered. An alert asks nothing, and neither is a second one kept."""
        if dialog.type == "alert" or self._dialog:
            self._line(f"[{dialog.type}] {dialog.message} (closed)")
            await _end_dialog(dialog)
            return
        self._dialog = dialog
        self._asking.set()

    @property
    def question(self) -> PageQuestion | None:
        """What a page asks at present. It stands still until it is answered: nothing else can be done in it."""
        dialog = self._dialog
        if dialog is None:
            return None
        message = " ".join(dialog.message.split())[:_LONGEST_LINE] or _LEAVE
        return PageQuestion(dialog.type, self._secrets.blanked(message), dialog.default_value)

    async def asked(self) -> None:
        """Wait until a page asks something."""
        await self._asking.wait()

    async def answer(self, *, accept: bool, text: str | None = None) -> None:
        """Answer the page's question. `text` is for a question that has a field."""
        dialog, self._dialog = self._dialog, None
        self._asking.clear()
        if dialog is not None:
            await _end_dialog(dialog, accept=accept, text=text)

    async def _offered(self, download: Download) -> None:
        """Keep a download if an action waits for it; cancel it otherwise."""
        if self._downloads.take(download):
            return
        self._line(f"[download refused] {download.suggested_filename}: action download saves it")
        with suppress(*errors()):  # because it may have ended already
            await download.cancel()

    def _say(self, kind: str, text: str) -> None:
        """Keep a console message of the page. The browser's own hints to developers are dropped."""
        if kind != "verbose":
            self._line(f"[{kind}] {text}")

    def _line(self, text: str) -> None:
        self._lines = [*self._lines[1 - _MOST_LINES :], " ".join(text.split())[:_LONGEST_LINE]]

    def _shown(self) -> Page:
        """Raises ToolMisuse if no page is open, and ToolFailed if it may not be used."""
        if self._page is None or self._context is None:
            raise ToolMisuse("No browser is open: begin with action launch and its url.")
        if self._page.is_closed():
            others = self._context.pages
            if not others:
                raise ToolFailed("The page has closed itself. Open it again.")
            self._page = others[-1]
        if self.is_attached and not is_web(self._page):
            raise ToolFailed("That tab of the attached browser shows no page of the web; it is left alone.")
        return self._page

    async def settle(self) -> None:
        """Wait until the page is drawn, within limits."""
        page = self._shown()
        with suppress(TimeoutError, *errors()):  # because the page may be on its way to another
            async with asyncio.timeout(_PAINTED_S):
                await page.evaluate(_PAINT)
        with suppress(*errors()):  # because a page that never finishes loading can still be used
            await page.wait_for_load_state("load", timeout=_SETTLE_MS)

    async def look(self) -> PageLook:
        """Return the current page, with a picture in which secret fields are covered."""
        page = self._shown()
        covered = [frame.locator(secret_fields()) for frame in await self._secrets.learn(page)]
        picture = await page.screenshot(
            type="jpeg", quality=_JPEG_QUALITY, scale="css", mask=covered, mask_color="#808080", timeout=_PICTURE_MS
        )
        # Learn again, because a secret may have been filled in while the picture was taken.
        await self._secrets.learn(page)
        lines, self._lines = tuple(map(self._secrets.blanked, self._lines)), []
        refused = self._newly_refused()
        title = self._secrets.blanked(
            " ".join((await asyncio.wait_for(page.title(), _ANSWER_S)).split())[:_LONGEST_LINE]
        )
        tabs = len(self._context.pages) if self._context else 0
        url, title = map(self._secrets.blanked, (page.url, title))
        return PageLook(url, title, picture, lines, tuple(refused), tabs, await self._size(), self.is_attached)

    def _newly_refused(self) -> list[str]:
        """By the proxy, since the last look. What the browser itself asked for is left out."""
        found = self._proxy.refused if self._proxy else {}
        told = [sentence for host, sentence in found.items() if host in self._asked and sentence not in self._told]
        self._told.update(told)
        return told

    async def _size(self) -> tuple[int, int]:
        """The page's width and height in pixels; in the person's browser, those of its window."""
        if not self.is_attached:
            return WIDTH, HEIGHT
        width, height = await asyncio.wait_for(self._shown().evaluate("[innerWidth, innerHeight]"), _ANSWER_S)
        return int(width), int(height)

    async def outline(self) -> str:
        """Return the page's text with refs for its elements. Values of secret fields are blanked."""
        page = self._shown()
        await self._secrets.learn(page)
        told = await page.aria_snapshot(mode="ai", timeout=_PICTURE_MS)
        await self._secrets.learn(page)
        return self._secrets.blanked(told)

    async def at(self, x: float, y: float) -> FoundElement:
        """At a point of the picture, also inside frames. Raises ToolMisuse if it is outside."""
        width, height = await self._size()
        if not (0 <= x < width and 0 <= y < height):
            raise ToolMisuse(f"coordinate: {x:g},{y:g} is outside the picture, which is {width}x{height}.")
        return await element_at(self._shown(), x, y)

    async def named(self, ref: str, target: str) -> FoundElement:
        """Return the element with a ref or a visible name. Raises ToolMisuse unless exactly one fits."""
        return await element_named(self._shown(), ref, target)

    async def focused(self) -> FoundElement:
        """Finds elements inside frames, too."""
        return await focused_element(self._shown())

    async def type(self, text: str) -> None:
        """Type into the focused element."""
        await self._shown().keyboard.type(text)

    async def press(self, keys: str) -> None:
        await self._shown().keyboard.press(keys)

    async def scroll(self, distance: int) -> bool:
        """Scroll the document by a distance in pixels, without the pointer. Returns whether it moved."""
        return bool(await self._shown().evaluate(_SCROLL, distance))

    async def turn_wheel(self, distance: int, place: tuple[float, float]) -> None:
        """Move the pointer to a place of the picture, and turn the wheel there by a distance in pixels."""
        page = self._shown()
        await page.mouse.move(*place)
        await page.mouse.wheel(0, distance)

    async def go(self, *, back: bool) -> bool:
        """Go one page back or forward in the history. Returns False if there is no such page."""
        page = self._shown()
        way = page.go_back if back else page.go_forward
        return await way(wait_until="domcontentloaded", timeout=_OPEN_MS) is not None

    async def reload(self) -> None:
        """Open the page's address again. A form that led to the page is not sent again."""
        page = self._shown()
        await page.goto(checked(page.url, self._own_ports), wait_until="domcontentloaded", timeout=_OPEN_MS)
        await self.settle()

    async def wait_for(self, text: str, limit_s: float) -> bool:
        """Wait until the text is visible. Returns False if it did not appear in time."""
        from playwright.async_api import TimeoutError as TooLate

        try:
            await self._shown().get_by_text(text).first.wait_for(timeout=limit_s * 1000)
        except TooLate:
            return False
        return True

    async def tab(self, number: int) -> list[str]:
        """Bring the tab of that number (from 1) to the front, unless it is 0. Returns a line for each tab."""
        pages = self._context.pages if self._context and (self.is_attached or self._shown()) else []
        pages = [page for page in pages if is_web(page)] if self.is_attached else pages
        if number > len(pages):
            raise ToolMisuse(f"tab: there are {len(pages)}.")
        if number:
            self._page = pages[number - 1]
            if self.is_attached:
                await self._take(self._page)
            await self._page.bring_to_front()
        return [f"{at}. {await page.title()} ({page.url})" for at, page in enumerate(pages, 1)]

    async def download(self, begin: Callable[[], Awaitable[object]]) -> PageDownload:
        """Run `begin`, which starts a download, and wait until it is finished. Raises ToolFailed."""
        if self.is_attached:
            raise ToolFailed(
                "Wisp downloads nothing while it works in your own browser.", "Launch the page without attach."
            )
        return await self._downloads.fetch(begin)

    async def open_download(self, url: str) -> None:
        """Open an address that leads to a file, so that the browser downloads it."""
        await self._shown().goto(checked(url, self._own_ports), wait_until="commit", timeout=_OPEN_MS)

    async def give(self, found: FoundElement, name: str, data: bytes) -> None:
        """Put a file into a field for files: the element itself, or the file dialog that a click on it opens."""
        await choose_file(self._shown(), found, name, data)


async def _end_dialog(dialog: Dialog, *, accept: bool = False, text: str | None = None) -> None:
    with suppress(*errors()):  # because the page may have gone with it
        await (dialog.accept(text) if accept else dialog.dismiss())
