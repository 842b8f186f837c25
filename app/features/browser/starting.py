"""Which browser is used, and how it is started: a separate one for Wisp, or the person's, which already runs."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import os
import shutil
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from app.base.errors import NeedsPerson, ToolFailed
from app.base.findings import Finding, note, ok
from app.base.phrases import Phrase
from app.base.values import dataclass
from app.features.browser.elements import settings as known_settings
from app.features.browser.settings import BROWSER_ATTACH, BROWSER_DOWNLOADS, BROWSER_PROGRAM, BROWSER_VISIBLE
from app.services.extras import way_to_add
from app.services.web import addresses
from app.settings.store import load

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Page, Playwright

    from app.settings.store import Settings

WIDTH, HEIGHT = 1024, 720
_PORT_FILE = "DevToolsActivePort"
_MOST_PORT_CHARS = 500
_CONNECT_MS = 10_000
_ANSWER_S = 2.0


@dataclass(frozen=True, slots=True)
class BrowserWishes:
    """The browser's settings. `program` is a name or a path, `attach` the address of the person's own browser."""

    program: str = ""
    is_visible: bool = False
    downloads: str = BROWSER_DOWNLOADS.default
    attach: str = ""

    @classmethod
    def of(cls, settings: Settings) -> BrowserWishes:
        """Read the settings."""
        return cls(
            settings[BROWSER_PROGRAM].strip(),
            settings[BROWSER_VISIBLE],
            settings[BROWSER_DOWNLOADS].strip(),
            settings[BROWSER_ATTACH].strip(),
        )


def program(wanted: str = "") -> str:
    """Return the path of the browser that Wisp would start, or "" if there is none."""
    channels: Mapping[str, Sequence[str]] = known_settings()["channels"]
    every = [name for names in channels.values() for name in names]
    paths = map(
        shutil.which, channels.get(wanted.casefold()) or ([str(Path(wanted).expanduser())] if wanted else every)
    )
    return next((found for found in paths if found and not is_firefox(found)), "")


def is_firefox(name: str) -> bool:
    """True for any kind of Firefox, which Wisp cannot drive."""
    return any(sign in Path(name).name.casefold() for sign in known_settings()["undriven"])


def needed_program(wanted: str = "") -> str:
    """Return the path of the browser to start. Raises NeedsPerson with the reason."""
    said: Mapping[str, str] = known_settings()["sentences"]
    if wanted and is_firefox(wanted):
        raise NeedsPerson(said["firefox"])
    found = program(wanted)
    if not found and wanted:
        raise NeedsPerson(said["unknown"].format(wanted=wanted, names=", ".join(known_settings()["channels"])))
    if not found:
        raise NeedsPerson(said["firefox" if shutil.which("firefox") else "none"])
    return found


def endpoint(attach: str) -> str:
    """Return the address on which the person's browser listens, from their setting. Raises NeedsPerson if unusable.

    The setting is an address of this machine, or the profile's folder: Chrome notes the port there once the person
    switches remote debugging on in chrome://inspect
    (https://developer.chrome.com/blog/chrome-devtools-mcp-debug-your-browser-session).
    """
    said: Mapping[str, str] = known_settings()["sentences"]
    if not attach:
        raise NeedsPerson(said["unattached"])
    if "://" not in attach:
        try:
            noted = Path(attach).expanduser().joinpath(_PORT_FILE).read_text(encoding="ascii")[:_MOST_PORT_CHARS]
        except (OSError, ValueError) as error:
            raise NeedsPerson(said["unlistening"].format(attach=attach)) from error
        port, _, path = noted.partition("\n")
        attach = f"ws://127.0.0.1:{port.strip()}{path.strip()}"
    as_web = attach.replace("ws://", "http://", 1)
    if not addresses.is_local(as_web) or not urlsplit(as_web).port:
        raise NeedsPerson(said["elsewhere"].format(attach=attach))
    return attach


async def driver(*, is_dry: bool) -> Playwright:
    """Load and start the library that controls browsers. Raises NeedsPerson if it is not installed."""
    if is_dry:
        raise ToolFailed("This is a dry run: no browser is started.")
    try:
        # On a thread, because the imports take long.
        await asyncio.to_thread(importlib.import_module, "playwright.async_api")
        await asyncio.to_thread(importlib.import_module, "app.features.browser.proxy")
    except ImportError as error:
        raise NeedsPerson(known_settings()["sentences"]["missing"].format(way=way_to_add("browser"))) from error
    from playwright.async_api import async_playwright

    return await async_playwright().start()


async def start(
    playwright: Playwright, executable: str, profile: Path, through: str, *, visible: bool
) -> BrowserContext:
    """Start a browser with a separate profile. All its traffic goes `through` the proxy."""
    if visible and sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        raise NeedsPerson(known_settings()["sentences"]["no_display"])
    return await playwright.chromium.launch_persistent_context(
        profile,
        executable_path=executable,
        headless=not visible,
        chromium_sandbox=sys.platform == "win32" or os.geteuid() != 0,
        args=list(known_settings()["switches"]),
        # because its crash reports would otherwise be put into the settings of the person's own browser
        env={**os.environ, "CHROME_CONFIG_HOME": str(profile)},
        # Without this rule, Chromium sends loopback past the proxy:
        # https://chromium.googlesource.com/chromium/src/+/HEAD/net/docs/proxy.md
        proxy={"server": through, "bypass": "<-loopback>"},
        # because a service worker answers requests without asking the router
        service_workers="block",
        accept_downloads=True,
        downloads_path=downloads_of(profile),
        viewport={"width": WIDTH, "height": HEIGHT},
    )


def downloads_of(profile: Path) -> Path:
    """Return where the browser puts downloads until they are moved to the workspace or dropped."""
    return profile.with_name(f"{profile.name}-downloads")


async def connect(playwright: Playwright, attach: str) -> BrowserContext:
    """Connect to the person's browser. Returns the browser context with their tabs. Raises NeedsPerson."""
    from playwright.async_api import Error

    said: Mapping[str, str] = known_settings()["sentences"]
    try:
        browser = await playwright.chromium.connect_over_cdp(endpoint(attach), timeout=_CONNECT_MS)
    except Error as error:
        raise NeedsPerson(said["unlistening"].format(attach=attach)) from error
    if not browser.contexts:
        raise NeedsPerson(said["unlistening"].format(attach=attach))
    return browser.contexts[0]


def is_web(page: Page) -> bool:
    """False for the browser's own pages."""
    url: str = page.url
    return url.startswith(("http:", "https:", "about:blank"))


async def in_front(pages: Sequence[Page]) -> Page:
    """Return the tab that the person looks at, or else the last web page. Raises ToolFailed if no tab shows one."""
    from playwright.async_api import Error

    # An empty tab comes last: a browser without a window calls each of its tabs visible, and nobody means that one.
    shown = sorted((page for page in pages if is_web(page)), key=lambda page: page.url.startswith("http"))
    for page in reversed(shown):
        with suppress(TimeoutError, Error):  # because a tab can be asleep
            if await asyncio.wait_for(page.evaluate("document.visibilityState === 'visible'"), _ANSWER_S):
                return page
    if not shown:
        raise ToolFailed("The attached browser shows no page of the web.", "Launch with a url.")
    return shown[-1]


def checked(url: str, own_ports: Callable[[], Collection[int]]) -> str:
    """Return the address if the browser may open it: a public one, or a server of this conversation's commands.

    Raises ToolMisuse or ToolFailed for any other.
    """
    if not addresses.is_local(url):
        return addresses.read(url).url
    if not addresses.is_own_server(url, own_ports):
        port = urlsplit(url.strip()).port or 80
        what = "Nothing that this conversation started listens on port {port} of this machine."
        raise ToolFailed(
            Phrase(what, {"port": str(port)}),
            'Start the server with execute_command and background="true", and open the address that it answers.',
        )
    return url.strip()


async def hide_banner(pages: Sequence[Page]) -> None:
    """Remove the banner that says that Wisp acts there from these tabs of the person's browser."""
    from playwright.async_api import Error

    for page in pages:
        with suppress(TimeoutError, Error):  # because the tab may be closed, or busy
            await asyncio.wait_for(page.evaluate(known_settings()["banner"]["hide"]), _ANSWER_S)


def check_browser() -> Finding:
    """Report which browser Wisp drives."""
    name = "Browser"
    wanted, package = load()[BROWSER_PROGRAM].strip(), importlib.util.find_spec("playwright")
    found = program(wanted)
    if not found and wanted:
        return note(
            name,
            Phrase(
                "The setting browser.program names {program}, which Wisp cannot find or drive.", {"program": wanted}
            ),
            "Name another program there, or leave it empty.",
            BROWSER_PROGRAM.key,
        )
    if not found:
        return note(
            name, "There is no Chromium, Chrome, Brave or Edge that Wisp could use.", "sudo apt install chromium"
        )
    if package is None:
        told = Phrase("{program} is here, but the package that drives it is missing.", {"program": found})
        return note(name, told, way_to_add("browser"))
    return ok(name, Phrase("Wisp uses {program}.", {"program": found}))
