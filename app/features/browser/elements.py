"""Elements of web pages: find them, describe them with the desktop's roles, act on them, explain errors."""

from __future__ import annotations

import asyncio
import re
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from app.base import resources
from app.base.errors import ToolFailed, ToolMisuse
from app.base.facts import Missing
from app.base.phrases import Phrase
from app.base.values import dataclass

if TYPE_CHECKING:
    from playwright.async_api import ElementHandle, Frame, Locator, Page

ACT_MS = 4_000
FRAME_S = 2.0
FAILED = "chrome-error:"
"""The scheme of Chromium's page when an address could not be opened."""
_SHORT_SECRET = 4
_HIDDEN = "••••"
_VALUES = "(found) => found.map((field) => field.value || '').filter((value) => value)"
_LONGEST_LINE = 300
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
_ANSWER_S = 5.0
# Look into shadow roots, because a page's own elementFromPoint returns only their host.
_UNDER = "([x, y]) => { let found = document.elementFromPoint(x, y); while (found && found.shadowRoot && "
_UNDER += "found.shadowRoot.elementFromPoint(x, y) && found.shadowRoot.elementFromPoint(x, y) !== found) "
_UNDER += "found = found.shadowRoot.elementFromPoint(x, y); return found || document.documentElement; }"
# Look into shadow roots here, too: https://developer.mozilla.org/en-US/docs/Web/API/Document/activeElement
_ACTIVE = "() => { let found = document.activeElement; while (found && found.shadowRoot && "
_ACTIVE += "found.shadowRoot.activeElement) found = found.shadowRoot.activeElement; "
_ACTIVE += "return found || document.documentElement; }"

_IS_SELECT = "(one) => ((one.tagName === 'LABEL' && one.control) || one).tagName === 'SELECT'"
_TAKES_TEXT = "(one) => one.matches('input, textarea') && !one.readOnly"
# A page may show the choice in its field, in the element itself, or beside it; a list that is still open is left out.
_SHOWN = """(one) => {
  const found = (one.tagName === 'LABEL' && one.control) || one;
  if (found.tagName === 'SELECT') return [...found.selectedOptions].map((option) => option.label).join('\\n');
  let text = found.value || found.innerText || '';
  for (let node = found.parentElement, n = 0; !text.trim() && node && n < 2; node = node.parentElement, n++)
    if (!node.querySelector('[role=option]')) text = node.innerText || '';
  return text.trim().slice(0, 200);
}"""
_TURNS = "(found) => !!found.closest('input[type=number], input[type=range], select, [role=spinbutton], [role=slider]')"


@dataclass(frozen=True, slots=True)
class PageElement:
    """An element as the page reports it. `role` is a role name of the desktop; `value` is "" for a secret field."""

    role: str
    name: str
    value: str = ""
    href: str = ""
    is_secret: bool = False
    submits: bool = False


@dataclass(frozen=True, slots=True)
class FoundElement:
    """An element that was found. `offset` is the point in it to click, from its top left; None: its middle."""

    handle: ElementHandle
    element: PageElement
    offset: tuple[float, float] | None = None

    async def check(self) -> None:
        """Read the element again. Raise ToolFailed if it is no longer as the policy judged it."""
        if await described(self.handle) != self.element:
            raise ToolFailed("The page changed at this moment, so nothing was done. Read it again.")

    async def frame_url(self) -> str:
        """Return the web address of the nearest frame that contains the element; "" if no such frame has one."""
        frame = await self.handle.owner_frame()
        while frame and not frame.url.startswith(("http:", "https:")):
            frame = frame.parent_frame
        return frame.url if frame else ""

    async def click(self) -> None:
        """Click the element. Fails if another element covers it."""
        await self.check()
        if self.offset:
            await self.handle.click(position={"x": self.offset[0], "y": self.offset[1]}, timeout=ACT_MS)
        else:
            await self.handle.click(timeout=ACT_MS)

    async def hover(self) -> None:
        await self.handle.hover(timeout=ACT_MS)

    async def fill(self, text: str) -> None:
        """Replace the field's content with the text."""
        await self.check()
        await self.handle.fill(text, timeout=ACT_MS)

    async def turns_with_the_wheel(self) -> bool:
        """True if the mouse wheel changes its value: numbers and sliders, once they are focused."""
        return bool(await self.handle.evaluate(_TURNS))

    async def is_checked(self) -> bool:
        return bool(await self.handle.is_checked())

    async def is_native(self) -> bool:
        """The browser itself shows the choices of a `<select>`. Its label counts, too."""
        return bool(await self.handle.evaluate(_IS_SELECT))

    async def select(self, option: str) -> None:
        """Choose an option of a `<select>` by its text."""
        await self.check()
        chosen = await self.handle.select_option(label=option, timeout=ACT_MS)
        if not chosen:
            raise ToolFailed(Phrase("It has no choice {option!r}.", {"option": option}))

    async def choice(self, name: str) -> FoundElement:
        """Open a list that the page itself draws, and return its choice of that name, wherever the page has put it.

        A field is typed into where the list does not show the choice at once. Raises ToolFailed if there is none.
        """
        from playwright.async_api import TimeoutError as TooLate

        frame = await self.handle.owner_frame()
        if frame is None:
            raise ToolFailed("It is no longer on the page. Read the page again.")
        if await self.handle.get_attribute("aria-expanded") != "true":
            await self.click()
        shown = frame.get_by_role("option").filter(visible=True)
        wanted = frame.get_by_role("option", name=name, exact=True).filter(visible=True)
        try:
            if await self.handle.evaluate(_TAKES_TEXT):
                await shown.first.wait_for(timeout=ACT_MS)
                if not await wanted.count():
                    await self.handle.fill(name, timeout=ACT_MS)
            await wanted.first.wait_for(timeout=ACT_MS)
        except TooLate:
            what = Phrase("It shows no choice {name!r}.", {"name": name})
            raise ToolFailed(what, "Read the page; it lists those that are open.") from None
        if await wanted.count() > 1:
            raise ToolMisuse(f"text: several choices are called {name!r}. Read the page and click one by its ref.")
        handle = await wanted.element_handle(timeout=ACT_MS)
        return FoundElement(handle, await described(handle))

    async def shown(self) -> str:
        """Return the text that a list of choices shows as chosen; "" for an element that is gone."""
        with suppress(*errors()):  # because the page may have replaced it
            return str(await self.handle.evaluate(_SHOWN))
        return ""

    async def value(self) -> str:
        """Return the current content; "" for a secret field and for an element that is gone."""
        with suppress(*errors()):  # because the element may be gone by now
            return (await described(self.handle)).value
        return ""


def errors() -> tuple[type[Exception], ...]:
    """Return the error types that the browser library raises; () if it was not loaded."""
    loaded = sys.modules.get("playwright.async_api")
    return (loaded.Error,) if loaded else ()


async def element_at(page: Page, x: float, y: float) -> FoundElement:
    """Finds elements inside frames, too."""
    frame: Frame = page.main_frame
    left = top = 0.0
    while True:
        handle = await _element(frame, _UNDER, [x - left, y - top])
        inner = await handle.content_frame()
        box = await handle.bounding_box() or {"x": 0.0, "y": 0.0, "width": 0.0, "height": 0.0}
        if inner is None:
            return FoundElement(handle, await described(handle), (x - box["x"], y - box["y"]))
        border = await handle.evaluate("(frame) => [frame.clientLeft, frame.clientTop]")
        frame, left, top = inner, box["x"] + border[0], box["y"] + border[1]


async def element_named(page: Page, ref: str, target: str) -> FoundElement:
    """Return the element with a ref or a visible name. Raises ToolMisuse unless exactly one fits."""
    if ref:
        if not re.fullmatch(r"(?:f\d+)?e\d+", ref):
            raise ToolMisuse(f"ref: {ref!r} is none; read shows them, such as e12.")
        handle = await _first(page.locator(f"aria-ref={ref}"))
        if handle is None:
            raise ToolFailed(f"{ref} is no longer there. Read the page again.")
    else:
        handle = await _called(page, target)
    return FoundElement(handle, await described(handle))


async def focused_element(page: Page) -> FoundElement:
    """Finds elements inside frames, too."""
    frame: Frame = page.main_frame
    while True:
        handle = await _element(frame, _ACTIVE, [])
        inner = await handle.content_frame()
        if inner is None:
            return FoundElement(handle, await described(handle))
        frame = inner


async def _called(page: Page, target: str) -> ElementHandle:
    """Only a visible element. An exact match is preferred to a partial one."""
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
            return await seen[0].element_handle(timeout=ACT_MS)
    texts = page.get_by_text(target, exact=True)
    if await texts.count() == 1 and (handle := await _first(texts)):
        return handle
    what = Phrase("Nothing on the page is called {name!r}.", {"name": target})
    raise ToolFailed(what, "Read the page and give a ref.", facts=[Missing(target)])


async def _first(found: Locator) -> ElementHandle | None:
    handles = await found.element_handles()
    return handles[0] if handles else None


async def described(handle: ElementHandle) -> PageElement:
    source = resources.text("browser/describe.js").replace("SECRETS", repr(secret_fields()))
    told = await asyncio.wait_for(handle.evaluate(source[source.index("(start)") :]), _ANSWER_S)
    known = settings()["roles"]
    role = known.get(told["role"]) or (known.get(told["type"]) if told["tag"] in ("input", "button") else None)
    role = role or known.get(told["tag"]) or _plain_role(told)
    if told["secret"]:
        role = "password text"
    return PageElement(role, told["name"], told["value"], told["href"], told["secret"], told["submits"])


def _plain_role(told: dict[str, object]) -> str:
    """For an element without a role: a field, a button (if it can be pressed), or a text."""
    if told["tag"] == "input":
        return "entry"
    if told["editable"]:
        return "text"
    is_short = len(str(told["name"])) <= _LONGEST_LINE // 5
    return "button" if (told["pointer"] or is_short) and told["name"] and not told["whole"] else "paragraph text"


async def _element(frame: Frame, script: str, given: list[float]) -> ElementHandle:
    """It may be an `iframe`, which contains another frame."""
    found = await asyncio.wait_for(frame.evaluate_handle(script, given), _ANSWER_S)
    element = found.as_element()
    if element is None:
        raise ToolFailed("Nothing stands there.")
    return element


def sentence(error: str) -> str:
    """Shorten the browser's error to one line without its log, and add a hint for known errors."""
    first = error.partition("Call log:")[0].strip().splitlines()
    said = re.sub(r"^\w+\.\w+: ", "", first[0] if first else "It failed")[:_LONGEST_LINE]
    hints = {
        "Timeout": "It took too long; the element may be covered, hidden or gone. Read the page again.",
        "ERR_TUNNEL_CONNECTION_FAILED": "The address was refused: it is no public address, or it does not answer.",
        "Target page, context or browser has been closed": "The browser has closed. Launch it again.",
    }
    hint = next((hint for sign, hint in hints.items() if sign in said), "")
    return f"{said.rstrip('.')}. {hint}".strip()


def secret_fields() -> str:
    return ", ".join(settings()["secrets"])


def settings() -> resources.Table:
    return resources.table("browser/browser.toml", resources.Table)


class SecretValues:
    """The contents of a page's secret fields. They are hidden from the model wherever the page shows them later."""

    def __init__(self) -> None:
        self._values: set[str] = set()

    async def learn(self, page: Page) -> list[Frame]:
        """Remember the contents of the page's secret fields.

        Returns the frames that answered. Raises ToolFailed if a frame with a page did not: it may contain secrets.
        """
        frames = [frame for frame in page.frames if frame.url and not frame.url.startswith(FAILED)]
        answered = await asyncio.gather(*map(self._has_told, frames))
        silent = [frame for frame, has_told in zip(frames, answered, strict=True) if not has_told]
        if any(frame in page.frames and frame.url.startswith(("http", "about:srcdoc")) for frame in silent):
            raise ToolFailed("A frame of the page does not answer. Wait for the page, or open another one.")
        return [frame for frame in frames if frame not in silent]

    async def _has_told(self, frame: Frame) -> bool:
        with suppress(TimeoutError, *errors()):
            async with asyncio.timeout(FRAME_S):
                self._values.update(await frame.locator(secret_fields()).evaluate_all(_VALUES))
                return True
        return False

    def blanked(self, text: str) -> str:
        """Return the text with each known secret value replaced by a placeholder."""
        for value in sorted(self._values, key=len, reverse=True):
            plain = re.escape(" ".join(value.split()))
            # Blank a short secret only as a whole value, because it may be a part of many ordinary words.
            if len(value) < _SHORT_SECRET:
                text = re.sub(rf'(?m)(: "?){plain}("?)$', rf"\1{_HIDDEN}\2", text)
            elif plain:
                text = re.sub(plain, _HIDDEN, text).replace(value, _HIDDEN)
        return text
