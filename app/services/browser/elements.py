"""Elements of pages: what they say of themselves, in the desktop's words, and what the browser's errors mean."""

from __future__ import annotations

import asyncio
import re
import sys
from typing import TYPE_CHECKING

from app.base import resources
from app.base.errors import ToolFailed
from app.base.values import dataclass

if TYPE_CHECKING:
    from playwright.async_api import ElementHandle, Frame, Locator

_LONGEST_LINE = 300
_ANSWER_S = 5.0
_UNDER = "([x, y]) => { let found = document.elementFromPoint(x, y); while (found && found.shadowRoot && "
_UNDER += "found.shadowRoot.elementFromPoint(x, y) && found.shadowRoot.elementFromPoint(x, y) !== found) "
_UNDER += "found = found.shadowRoot.elementFromPoint(x, y); return found || document.documentElement; }"
_ACTIVE = "() => { let found = document.activeElement; while (found && found.shadowRoot && "
_ACTIVE += "found.shadowRoot.activeElement) found = found.shadowRoot.activeElement; "
_ACTIVE += "return found || document.documentElement; }"


@dataclass(frozen=True, slots=True)
class PageElement:
    """What an element says of itself; `role` is the desktop's word for it. `value` is empty for secret fields."""

    role: str
    name: str
    value: str = ""
    href: str = ""
    is_secret: bool = False
    submits: bool = False


@dataclass(frozen=True, slots=True)
class FoundElement:
    """An element that was looked at. `offset` is the point within it that was meant, None for its middle."""

    handle: ElementHandle
    element: PageElement
    offset: tuple[float, float] | None = None


def errors() -> tuple[type[Exception], ...]:
    """The errors that the browser raises; none while it was never loaded."""
    loaded = sys.modules.get("playwright.async_api")
    return (loaded.Error,) if loaded else ()


async def first(found: Locator) -> ElementHandle | None:
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
    """What has no role of its own: a field, something that looks pressable, or a part of the page."""
    if told["tag"] == "input":
        return "entry"
    if told["editable"]:
        return "text"
    is_short = len(str(told["name"])) <= _LONGEST_LINE // 5
    return "button" if (told["pointer"] or is_short) and told["name"] and not told["whole"] else "paragraph text"


async def under(frame: Frame, x: float, y: float) -> ElementHandle:
    """What stands at a point of a frame; another frame is an element, too."""
    return await _element(frame, _UNDER, [x, y])


async def active(frame: Frame) -> ElementHandle:
    """What has the keyboard within a frame."""
    return await _element(frame, _ACTIVE, [])


async def _element(frame: Frame, script: str, given: list[float]) -> ElementHandle:
    found = await asyncio.wait_for(frame.evaluate_handle(script, given), _ANSWER_S)
    element = found.as_element()
    if element is None:
        raise ToolFailed("Nothing stands there.")
    return element


def sentence(error: str) -> str:
    """The browser's own words in one line, without its log."""
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
