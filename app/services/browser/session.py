"""One browser with a profile of its own, behind walls: what is open, what pages say, and acts on what was judged.

The walls are three, and all of them stand before a page opens: the proxy judges every address (also of redirects and
WebSockets), the router lets only schemes of the web through and no service worker answers in its place, and WebRTC,
which would pass both, is off.
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
    FoundElement,
    PageElement,
    active,
    described,
    errors,
    first,
    secret_fields,
    sentence,
    under,
)
from app.services.browser.elements import settings as known_settings
from app.services.web import addresses

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Dialog, ElementHandle, Frame, Locator, Page, Playwright, Route

    from app.services.browser.proxy import Dial, FilteringProxy
    from app.services.web.pages import Resolve

WIDTH, HEIGHT = 1024, 720
_START_S = 30.0
_OPEN_MS = 25_000
_ACT_MS = 4_000
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
"""A header of the proxy's own answers."""
_FAILED = "chrome-error:"
"""Where Chromium is when an address could not be opened."""
_MISSING = "The browser tool needs the package playwright: pip install 'wisp[browser]'."
_NAMED = (
    "button",
    "link",
    "textbox",
    "checkbox",
    "radio",
    "combobox",
    "menuitem",
    "option",
    "tab",
    "switch",
    "searchbox",
)
_PAINT = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 120))))"
_VALUES = "(found) => found.map((field) => field.value || '').filter((value) => value)"


@dataclass(frozen=True, slots=True)
class PageLook:
    """A page as it is now. `lines` are what its console said since the last look, `refused` what the walls stopped."""

    url: str
    title: str
    picture: bytes
    lines: tuple[str, ...]
    refused: tuple[str, ...]
    tabs: int


def program() -> str:
    """The browser on this machine that Wisp would start; empty where there is none."""
    return next((found for name in known_settings()["programs"] if (found := shutil.which(name))), "")


def is_local(url: str) -> bool:
    """Whether the address is a plain http one of this very machine."""
    try:
        parts = urlsplit(url.strip())
        host = parts.hostname or ""
        return parts.scheme in ("http", "https") and not parts.username and host in ("localhost", "127.0.0.1", "::1")
    except ValueError:
        return False


class BrowserSession:
    """At most one browser at a time, started by `launch`. Callers come one after another (`acting`).

    `own_ports` are the ports of loopback that this conversation's commands serve. `find` and `dial` are for tests.
    A dry one never starts. `judged` is what the gate is being asked about, with its host, by the id of the step.
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
        """Where the page in front is."""
        return self._page.url if self._page else ""

    @contextmanager
    def judging(self, step_id: str, element: PageElement) -> Iterator[None]:
        """While the gate judges a step, its element is in `judged` by the step's id."""
        self.judged[step_id] = (element, urlsplit(self.url).netloc)
        try:
            yield
        finally:
            del self.judged[step_id]

    @asynccontextmanager
    async def acting(self) -> AsyncIterator[None]:
        """One act at a time. Errors of the browser become sentences."""
        async with self._lock:
            try:
                yield
            except errors() as error:
                raise ToolFailed(sentence(str(error))) from error

    async def launch(self, url: str) -> None:
        """Open the address, in a browser that is started for it where none is open. Raises ToolMisuse, NeedsPerson."""
        here = is_local(url)
        if here:
            port = urlsplit(url.strip()).port or 80
            if port not in self._own_ports():
                raise ToolFailed(
                    f"Nothing that this conversation started listens on port {port} of this machine. Start the server "
                    'with execute_command and background="true", and open the address that it answers.'
                )
            target = url.strip()
        else:
            target = addresses.read(url).url
        if self._page is None or self._page.is_closed() or (here and not self._may_stay):
            # Pages of the web do not stay open beside one that may reach this machine.
            await self.close()
            await self._start()
        self._may_stay = here
        answer = await self._shown().goto(target, wait_until="domcontentloaded", timeout=_OPEN_MS)
        if answer and REFUSED in answer.headers and self._proxy:
            raise ToolFailed(self._proxy.refused[-1])
        await self.settle()

    async def close(self) -> None:
        """End the browser and everything behind it; nothing where none is open."""
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
        from app.services.web.pages import resolve

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
                    proxy={"server": through, "bypass": "<-loopback>"},
                    service_workers="block",
                    accept_downloads=False,
                    viewport={"width": WIDTH, "height": HEIGHT},
                )
            await self._wall(self._context)
        except BaseException:
            await self.close()
            raise

    async def _wall(self, context: BrowserContext) -> None:
        """Everything that must stand before the first page opens."""
        known = known_settings()
        schemes = tuple(f"{scheme}:" for scheme in known["schemes"])

        async def let_through(route: Route) -> None:
            is_web = route.request.url.casefold().startswith(schemes)
            await (route.continue_() if is_web else route.abort("blockedbyclient"))

        await context.add_init_script(known["guard"])
        await context.route("**/*", let_through)
        await context.clear_permissions()
        context.set_default_timeout(_ACT_MS)
        context.on("page", self._met)
        self._page = context.pages[0] if context.pages else await context.new_page()
        self._met(self._page)

    def _reachable_ports(self) -> Collection[int]:
        """Loopback is reached only where the model opened it itself: pages of the web never lead there."""
        return self._own_ports() if self._may_stay else ()

    def _met(self, page: Page) -> None:
        """A page came: it is listened to, its dialogs are declined, and it leaves where it is no page of the web."""
        if page in self._pages:
            return
        self._pages.append(page)

        async def decline(dialog: Dialog) -> None:
            self._line(f"[dialog] {dialog.message} (declined)")
            with suppress(*errors()):  # because the page may have gone with it
                await (dialog.accept() if dialog.type == "beforeunload" else dialog.dismiss())

        async def leave(frame: Frame) -> None:
            url = frame.url.casefold()
            if url.startswith(("http:", "https:")) and frame.parent_frame is None and not is_local(url):
                self._may_stay = False  # because from here on the page is one of the web
            if not url.startswith((_FAILED, *(f"{one}:" for one in known_settings()["schemes"]))):
                self._line(f"[refused] {frame.url}")
                with suppress(*errors()):
                    await page.close()

        page.on("console", lambda message: self._say(message.type, message.text))
        page.on("pageerror", lambda error: self._line(f"[error] {error}"))
        page.on("download", lambda download: self._line(f"[download refused] {download.suggested_filename}"))
        page.on("dialog", decline)
        page.on("framenavigated", leave)

    def _say(self, kind: str, text: str) -> None:
        """A line of the page's own; hints of the browser to those who make pages are none."""
        if kind != "verbose":
            self._line(f"[{kind}] {text}")

    def _line(self, text: str) -> None:
        self._lines = [*self._lines[1 - _MOST_LINES :], " ".join(text.split())[:_LONGEST_LINE]]

    def _shown(self) -> Page:
        """The page in front. Raises ToolMisuse where none is open."""
        if self._page is None or self._context is None:
            raise ToolMisuse("No browser is open: begin with action launch and its url.")
        if self._page.is_closed():
            others = self._context.pages
            if not others:
                raise ToolFailed("The page has closed itself. Launch again.")
            self._page = others[-1]
        return self._page

    async def settle(self) -> None:
        """Wait until what was started has been drawn, within limits."""
        page = self._shown()
        with suppress(TimeoutError, *errors()):  # because the page may be on its way to another
            async with asyncio.timeout(_PAINTED_S):
                await page.evaluate(_PAINT)
        with suppress(*errors()):
            await page.wait_for_load_state("load", timeout=_SETTLE_MS)

    async def look(self) -> PageLook:
        """The page with its picture, in which secret fields are covered."""
        page = self._shown()
        covered = [frame.locator(secret_fields()) for frame in await self._learn_secrets(page)]
        picture = await page.screenshot(
            type="jpeg", quality=_JPEG_QUALITY, scale="css", mask=covered, mask_color="#808080", timeout=_PICTURE_MS
        )
        await self._learn_secrets(page)
        lines, self._lines = tuple(map(self._blanked, self._lines)), []
        refused = self._proxy.refused[self._told_refused :] if self._proxy else []
        self._told_refused += len(refused)
        title = self._blanked(" ".join((await asyncio.wait_for(page.title(), _ANSWER_S)).split())[:_LONGEST_LINE])
        tabs = len(self._context.pages) if self._context else 0
        return PageLook(self._blanked(page.url), title, picture, lines, tuple(refused), tabs)

    async def outline(self) -> str:
        """What the page says, as an outline whose refs name elements. Values of secret fields are blanked."""
        page = self._shown()
        await self._learn_secrets(page)
        told = await page.aria_snapshot(mode="ai", timeout=_PICTURE_MS)
        await self._learn_secrets(page)
        return self._blanked(told)

    async def _learn_secrets(self, page: Page) -> list[Frame]:
        """Learn what stands in secret fields now: it stays secret, wherever the page shows it later.

        The frames that answered. Raises ToolFailed where one with a page in it did not: it may hold secrets.
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
            if len(value) < _SHORT_SECRET:
                text = re.sub(rf'(?m)(: "?){plain}("?)$', rf"\1{_HIDDEN}\2", text)
            elif plain:
                text = re.sub(plain, _HIDDEN, text).replace(value, _HIDDEN)
        return text

    async def at(self, x: float, y: float) -> FoundElement:
        """What stands at a point of the picture, also within frames. Raises ToolMisuse."""
        if not (0 <= x < WIDTH and 0 <= y < HEIGHT):
            raise ToolMisuse(f"coordinate: {x:g},{y:g} is outside the picture, which is {WIDTH}x{HEIGHT}.")
        frame: Frame = self._shown().main_frame
        left = top = 0.0
        while True:
            handle = await under(frame, x - left, y - top)
            inner = await handle.content_frame()
            box = await handle.bounding_box() or {"x": 0.0, "y": 0.0, "width": 0.0, "height": 0.0}
            if inner is None:
                return FoundElement(handle, await described(handle), (x - box["x"], y - box["y"]))
            border = await handle.evaluate("(frame) => [frame.clientLeft, frame.clientTop]")
            frame, left, top = inner, box["x"] + border[0], box["y"] + border[1]

    async def named(self, ref: str, target: str) -> FoundElement:
        """The element of a ref or of a visible name. Raises ToolMisuse where it is not one."""
        page = self._shown()
        if ref:
            if not re.fullmatch(r"(?:f\d+)?e\d+", ref):
                raise ToolMisuse(f"ref: {ref!r} is none; read shows them, such as e12.")
            handle = await first(page.locator(f"aria-ref={ref}"))
            if handle is None:
                raise ToolFailed(f"{ref} is no longer there. Read the page again.")
            return FoundElement(handle, await described(handle))
        handle = await self._called(page, target)
        return FoundElement(handle, await described(handle))

    async def _called(self, page: Page, target: str) -> ElementHandle:
        """The one visible element of that name: exactly so called before in part."""
        for exact in (True, False):
            seen: list[Locator] = []
            for frame in page.frames:
                ways = [frame.get_by_role(role, name=target, exact=exact) for role in _NAMED]
                ways += [frame.get_by_label(target, exact=exact), frame.get_by_placeholder(target, exact=exact)]
                one = ways[0]
                for other in ways[1:]:
                    one = one.or_(other)
                seen += [match for match in await one.all() if await match.is_visible()]
            if len(seen) > 1:
                raise ToolMisuse(f"target: {len(seen)} elements are called {target!r}. Read the page and give a ref.")
            if seen:
                return await seen[0].element_handle(timeout=_ACT_MS)
        texts = page.get_by_text(target, exact=True)
        if await texts.count() == 1 and (handle := await first(texts)):
            return handle
        raise ToolFailed(f"Nothing on the page is called {target!r}. Read the page and give a ref.")

    async def focused(self) -> FoundElement:
        """What has the keyboard, also within frames."""
        frame: Frame = self._shown().main_frame
        while True:
            handle = await active(frame)
            inner = await handle.content_frame()
            if inner is None:
                return FoundElement(handle, await described(handle))
            frame = inner

    async def still(self, found: FoundElement) -> None:
        """Raises ToolFailed where the element is no longer what it was when it was judged."""
        if await described(found.handle) != found.element:
            raise ToolFailed("The page changed what stands there before the act. Nothing was done; read it again.")

    async def click(self, found: FoundElement) -> None:
        """Press it: nothing else may lie over it."""
        await self.still(found)
        if found.offset:
            await found.handle.click(position={"x": found.offset[0], "y": found.offset[1]}, timeout=_ACT_MS)
        else:
            await found.handle.click(timeout=_ACT_MS)

    async def hover(self, found: FoundElement) -> None:
        await found.handle.hover(timeout=_ACT_MS)

    async def fill(self, found: FoundElement, text: str) -> None:
        """Put the text in place of what stands in the field."""
        await self.still(found)
        await found.handle.fill(text, timeout=_ACT_MS)

    async def select(self, found: FoundElement, option: str) -> None:
        await self.still(found)
        chosen = await found.handle.select_option(label=option, timeout=_ACT_MS)
        if not chosen:
            raise ToolFailed(f"It has no choice {option!r}.")

    async def type(self, text: str) -> None:
        """Type where the keyboard is."""
        await self._shown().keyboard.type(text)

    async def press(self, keys: str) -> None:
        await self._shown().keyboard.press(keys)

    async def scroll(self, distance: int) -> None:
        page = self._shown()
        await page.mouse.move(WIDTH / 2, HEIGHT / 2)
        await page.mouse.wheel(0, distance)

    async def go(self, *, back: bool) -> bool:
        """One page back or forward; False where there is none."""
        page = self._shown()
        way = page.go_back if back else page.go_forward
        return await way(wait_until="domcontentloaded", timeout=_OPEN_MS) is not None

    async def wait_for(self, text: str, limit_s: float) -> bool:
        """Wait until the text is to be seen; whether it was in time."""
        from playwright.async_api import TimeoutError as TooLate

        try:
            await self._shown().get_by_text(text).first.wait_for(timeout=limit_s * 1000)
        except TooLate:
            return False
        return True

    async def tab(self, number: int) -> list[str]:
        """Bring the tab of that number (from 1) to the front; 0 only lists them."""
        pages = self._context.pages if self._context and self._shown() else []
        if number > len(pages):
            raise ToolMisuse(f"tab: there are {len(pages)}.")
        if number:
            self._page = pages[number - 1]
            await self._page.bring_to_front()
        return [f"{at}. {await page.title()} ({page.url})" for at, page in enumerate(pages, 1)]

    async def value_of(self, found: FoundElement) -> str:
        """What stands in it now; empty for secret fields and for what is gone."""
        with suppress(*errors()):
            return (await described(found.handle)).value
        return ""
