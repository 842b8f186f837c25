"""One browser with its own profile, behind barriers: open pages, read them, and act on what the policy judged.

Three barriers are in place before a page opens. The proxy judges every address (also of redirects and WebSockets). The
router lets only web schemes through, and no service worker can answer instead. WebRTC, which would bypass both, is off.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import re
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from app.base.errors import NeedsPerson, ToolFailed, ToolMisuse
from app.base.values import dataclass
from app.services.browser.elements import (
    ACT_MS,
    FoundElement,
    PageElement,
    element_at,
    element_named,
    errors,
    focused_element,
    secret_fields,
    sentence,
)
from app.services.browser.elements import settings as known_settings
from app.services.web import addresses

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Dialog, Frame, Page, Playwright, Route

    from app.services.browser.proxy import Dial, FilteringProxy
    from app.services.web.addresses import Resolve

WIDTH, HEIGHT = 1024, 720
_START_S = 30.0
_OPEN_MS = 25_000
_SETTLE_MS = 3_000
_PICTURE_MS = 10_000
_PAINTED_S = 1.5
_FRAME_S = 2.0
_ANSWER_S = 5.0
_JPEG_QUALITY = 70
_LONGEST_LINE = 300
_MOST_LINES = 40
_SHORT_SECRET = 4
_HIDDEN = "••••"
REFUSED = "x-wisp-refused"
"""The header that marks the proxy's own answers."""
_FAILED = "chrome-error:"
"""The scheme of Chromium's page when an address could not be opened."""
_MISSING = "The browser tool needs the package playwright: pip install 'wisp[browser]'."
_PAINT = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 120))))"
_VALUES = "(found) => found.map((field) => field.value || '').filter((value) => value)"


@dataclass(frozen=True, slots=True)
class PageLook:
    """A page as it is now. `lines` are console messages since the last look, `refused` what the barriers stopped."""

    url: str
    title: str
    picture: bytes
    lines: tuple[str, ...]
    refused: tuple[str, ...]
    tabs: int


def program() -> str:
    """Return the browser on this machine that Wisp would start, or ""."""
    return next((found for name in known_settings()["programs"] if (found := shutil.which(name))), "")


class BrowserSession:
    """At most one browser, started by `launch`. Callers take turns (`acting`).

    `own_ports` are the loopback ports that this conversation's commands serve. `find` and `dial` are replaced in tests.
    A dry session never starts a browser. `judged` holds, by the id of the step, the element that the policy is judging,
    with its host.
    """

    def __init__(
        self,
        profile: Path,
        own_ports: Callable[[], Collection[int]],
        *,
        find: Resolve | None = None,
        dial: Dial | None = None,
        is_dry: bool = False,
    ) -> None:
        self._profile = profile
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
        self._told_refused = 0
        self._secrets: set[str] = set()
        self._may_stay = False
        self._is_dry = is_dry
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
        """Return a context manager inside which `judged` holds the element of a step."""
        self.judged[step_id] = (element, urlsplit(self.url).netloc)
        try:
            yield
        finally:
            del self.judged[step_id]

    @asynccontextmanager
    async def acting(self) -> AsyncIterator[None]:
        """Return a context manager that allows one action at a time and turns browser errors into sentences."""
        async with self._lock:
            try:
                yield
            except errors() as error:
                raise ToolFailed(sentence(str(error))) from error

    async def launch(self, url: str) -> None:
        """Open the address, and start a browser if none is open. Raises ToolMisuse or NeedsPerson."""
        here = addresses.is_local(url)
        if here:
            if not addresses.is_own_server(url, self._own_ports):
                port = urlsplit(url.strip()).port or 80
                raise ToolFailed(
                    f"Nothing that this conversation started listens on port {port} of this machine. Start the server "
                    'with execute_command and background="true", and open the address that it answers.'
                )
            target = url.strip()
        else:
            target = addresses.read(url).url
        if self._page is None or self._page.is_closed() or (here and not self._may_stay):
            # Start again, because a web page must not stay open beside one that may reach this machine.
            await self.close()
            await self._start()
        self._may_stay = here
        answer = await self._shown().goto(target, wait_until="domcontentloaded", timeout=_OPEN_MS)
        if answer and REFUSED in answer.headers and self._proxy:
            raise ToolFailed(self._proxy.refused[-1])
        await self.settle()

    async def close(self) -> None:
        """End the browser and its proxy, if there is one."""
        context, self._context, self._page = self._context, None, None
        playwright, self._playwright = self._playwright, None
        proxy, self._proxy = self._proxy, None
        self._pages, self._lines, self._secrets, self._told_refused = [], [], set(), 0
        if context:
            with suppress(*errors()):  # because it may have ended by itself
                await context.close()
        if playwright:
            await playwright.stop()
        if proxy:
            await proxy.close()

    async def _start(self) -> None:
        if self._is_dry:
            raise ToolFailed("This is a dry run: no browser is started.")
        executable = await asyncio.to_thread(program)
        if not executable:
            raise NeedsPerson("There is no Chromium, Chrome, Brave or Edge on this machine. Install one of them.")
        try:
            # On a thread, because the imports take long.
            await asyncio.to_thread(importlib.import_module, "playwright.async_api")
            await asyncio.to_thread(importlib.import_module, "app.services.browser.proxy")
        except ImportError as error:
            raise NeedsPerson(_MISSING) from error
        from playwright.async_api import async_playwright

        from app.services.browser.proxy import FilteringProxy, dial
        from app.services.web.addresses import resolve

        known = known_settings()
        self._proxy = FilteringProxy(self._reachable_ports, self._find or resolve, self._dial or dial)
        try:
            through = await self._proxy.start()
            await asyncio.to_thread(self._profile.mkdir, mode=0o700, parents=True, exist_ok=True)
            self._playwright = await async_playwright().start()
            async with asyncio.timeout(_START_S):
                self._context = await self._playwright.chromium.launch_persistent_context(
                    self._profile,
                    executable_path=executable,
                    headless=True,
                    chromium_sandbox=sys.platform == "win32" or os.geteuid() != 0,
                    args=list(known["switches"]),
                    # Without this rule, Chromium sends loopback past the proxy:
                    # https://chromium.googlesource.com/chromium/src/+/HEAD/net/docs/proxy.md
                    proxy={"server": through, "bypass": "<-loopback>"},
                    # because a service worker answers requests without asking the router
                    service_workers="block",
                    accept_downloads=False,
                    viewport={"width": WIDTH, "height": HEIGHT},
                )
            await self._wall(self._context)
        except BaseException:  # so that a failed or cancelled start leaves no browser running
            await self.close()
            raise

    async def _wall(self, context: BrowserContext) -> None:
        """Set up everything that must be in place before the first page opens."""
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
        self._page = context.pages[0] if context.pages else await context.new_page()
        self._met(self._page)

    def _reachable_ports(self) -> Collection[int]:
        """Return the loopback ports that may be reached: none once the browser shows a page of the web."""
        return self._own_ports() if self._may_stay else ()

    def _met(self, page: Page) -> None:
        """Prepare a new page: listen to it, decline its dialogs, and close it if it leaves the web."""
        if page in self._pages:
            return
        self._pages.append(page)

        async def decline(dialog: Dialog) -> None:
            self._line(f"[dialog] {dialog.message} (declined)")
            with suppress(*errors()):  # because the page may have gone with it
                await (dialog.accept() if dialog.type == "beforeunload" else dialog.dismiss())

        async def leave(frame: Frame) -> None:
            url = frame.url.casefold()
            if url.startswith(("http:", "https:")) and frame.parent_frame is None and not addresses.is_local(url):
                self._may_stay = False  # because from here on the page is one of the web
            if not url.startswith((_FAILED, *(f"{one}:" for one in known_settings()["schemes"]))):
                self._line(f"[refused] {frame.url}")
                with suppress(*errors()):  # because the page may have closed itself
                    await page.close()

        page.on("console", lambda message: self._say(message.type, message.text))
        page.on("pageerror", lambda error: self._line(f"[error] {error}"))
        page.on("download", lambda download: self._line(f"[download refused] {download.suggested_filename}"))
        page.on("dialog", decline)
        page.on("framenavigated", leave)

    def _say(self, kind: str, text: str) -> None:
        """Keep a console message of the page, except the browser's own hints to developers."""
        if kind != "verbose":
            self._line(f"[{kind}] {text}")

    def _line(self, text: str) -> None:
        self._lines = [*self._lines[1 - _MOST_LINES :], " ".join(text.split())[:_LONGEST_LINE]]

    def _shown(self) -> Page:
        """Return the current page. Raises ToolMisuse if none is open."""
        if self._page is None or self._context is None:
            raise ToolMisuse("No browser is open: begin with action launch and its url.")
        if self._page.is_closed():
            others = self._context.pages
            if not others:
                raise ToolFailed("The page has closed itself. Launch again.")
            self._page = others[-1]
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
        """Return the page with a picture in which secret fields are covered."""
        page = self._shown()
        covered = [frame.locator(secret_fields()) for frame in await self._learn_secrets(page)]
        picture = await page.screenshot(
            type="jpeg", quality=_JPEG_QUALITY, scale="css", mask=covered, mask_color="#808080", timeout=_PICTURE_MS
        )
        # Learn again, because a secret may have been filled in while the picture was taken.
        await self._learn_secrets(page)
        lines, self._lines = tuple(map(self._blanked, self._lines)), []
        refused = self._proxy.refused[self._told_refused :] if self._proxy else []
        self._told_refused += len(refused)
        title = self._blanked(" ".join((await asyncio.wait_for(page.title(), _ANSWER_S)).split())[:_LONGEST_LINE])
        tabs = len(self._context.pages) if self._context else 0
        return PageLook(self._blanked(page.url), title, picture, lines, tuple(refused), tabs)

    async def outline(self) -> str:
        """Return the page's text with refs for its elements. Values of secret fields are blanked."""
        page = self._shown()
        await self._learn_secrets(page)
        told = await page.aria_snapshot(mode="ai", timeout=_PICTURE_MS)
        await self._learn_secrets(page)
        return self._blanked(told)

    async def _learn_secrets(self, page: Page) -> list[Frame]:
        """Remember the content of secret fields: it stays secret wherever the page shows it later.

        Returns the frames that answered. Raises ToolFailed if a frame with a page did not: it may contain secrets.
        """
        frames = [frame for frame in page.frames if frame.url and not frame.url.startswith(_FAILED)]
        answered = await asyncio.gather(*map(self._has_told, frames))
        silent = [frame for frame, has_told in zip(frames, answered, strict=True) if not has_told]
        if any(frame in page.frames and frame.url.startswith(("http", "about:srcdoc")) for frame in silent):
            raise ToolFailed("A frame of the page does not answer. Wait for the page, or open another one.")
        return [frame for frame in frames if frame not in silent]

    async def _has_told(self, frame: Frame) -> bool:
        with suppress(TimeoutError, *errors()):
            async with asyncio.timeout(_FRAME_S):
                self._secrets.update(await frame.locator(secret_fields()).evaluate_all(_VALUES))
                return True
        return False

    def _blanked(self, text: str) -> str:
        for value in sorted(self._secrets, key=len, reverse=True):
            plain = re.escape(" ".join(value.split()))
            # Blank a short secret only as a whole value, because it may be a part of many ordinary words.
            if len(value) < _SHORT_SECRET:
                text = re.sub(rf'(?m)(: "?){plain}("?)$', rf"\1{_HIDDEN}\2", text)
            elif plain:
                text = re.sub(plain, _HIDDEN, text).replace(value, _HIDDEN)
        return text

    async def at(self, x: float, y: float) -> FoundElement:
        """Return the element at a point of the picture, also inside frames. Raises ToolMisuse."""
        if not (0 <= x < WIDTH and 0 <= y < HEIGHT):
            raise ToolMisuse(f"coordinate: {x:g},{y:g} is outside the picture, which is {WIDTH}x{HEIGHT}.")
        return await element_at(self._shown(), x, y)

    async def named(self, ref: str, target: str) -> FoundElement:
        """Return the element with a ref or a visible name. Raises ToolMisuse if it is not exactly one."""
        return await element_named(self._shown(), ref, target)

    async def focused(self) -> FoundElement:
        """Return the element that has the keyboard, also inside frames."""
        return await focused_element(self._shown())

    async def type(self, text: str) -> None:
        """Type into the focused element."""
        await self._shown().keyboard.type(text)

    async def press(self, keys: str) -> None:
        await self._shown().keyboard.press(keys)

    async def scroll(self, distance: int) -> None:
        page = self._shown()
        await page.mouse.move(WIDTH / 2, HEIGHT / 2)
        await page.mouse.wheel(0, distance)

    async def go(self, *, back: bool) -> bool:
        """Go one page back or forward. Returns False if there is none."""
        page = self._shown()
        way = page.go_back if back else page.go_forward
        return await way(wait_until="domcontentloaded", timeout=_OPEN_MS) is not None

    async def wait_for(self, text: str, limit_s: float) -> bool:
        """Wait until the text is visible. Returns False if it did not appear in time."""
        from playwright.async_api import TimeoutError as TooLate

        try:
            await self._shown().get_by_text(text).first.wait_for(timeout=limit_s * 1000)
        except TooLate:
            return False
        return True

    async def tab(self, number: int) -> list[str]:
        """List the tabs, after bringing the tab of that number (from 1) to the front; 0 only lists."""
        pages = self._context.pages if self._context and self._shown() else []
        if number > len(pages):
            raise ToolMisuse(f"tab: there are {len(pages)}.")
        if number:
            self._page = pages[number - 1]
            await self._page.bring_to_front()
        return [f"{at}. {await page.title()} ({page.url})" for at, page in enumerate(pages, 1)]
