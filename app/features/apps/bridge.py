"""What a surface may request: its own state, a notification, another surface, and questions that Wisp answers.

A surface is a stranger's program. It never presses, types, reads a file or answers an approval: there is no such
request. Each kind has a budget. What reaches a model or the network waits until an open Wisp has judged and answered
it.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from app.agent.served_pages import ServedPage
from app.base.clipping import clip_line
from app.base.errors import ToolFailed, ToolMisuse, WispError
from app.base.phrases import Phrase
from app.base.signs import plain
from app.base.values import dataclass
from app.features.apps import state
from app.features.apps.chromium import settings
from app.features.apps.served_apps import first_words, greeting, served, wish_of
from app.features.apps.store import Surface, SurfaceStore
from app.services.notifications import DesktopNotification, DesktopNotifier
from app.services.themes import active_theme

ASKED = ("askAI", "webSearch", "webFetch", "generateImage", "cron")
"""The wishes that an open Wisp answers."""
VERBS = (
    *("getState", "setState", "onState", "askAI", "webSearch", "webFetch", "generateImage", "launchApp", "cron"),
    *("notify", "id", "theme", "onTheme", "language"),
)
"""What `wisp.js` offers to a page."""
_HOUR_S = 3600.0
_ANSWER_S = 200.0
_POLL_S = 25.0
_GONE_S = 35.0
_COMING_S = 3.0
"""How long the first questions wait for Wisp, which looks only once a second whether a surface is shown."""
_TITLE_CHARS, _TEXT_CHARS, _PROMPT_CHARS = 80, 300, 20_000

Open = Callable[[str], Awaitable[object]]
Resize = Callable[[str, int, int], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class SurfaceWish:
    """A request of a surface that Wisp itself must answer. `kind` is one of `ASKED`."""

    number: int
    surface: str
    name: str
    kind: str
    arguments: Mapping[str, Any]


class Bridge:
    """Answers the calls of all surfaces. `open_surface` shows a surface; `changed` sends a new state to its window;
    `resize` fits the window to what its page needs.
    """

    def __init__(
        self, store: SurfaceStore, open_surface: Open, changed: Callable[[str, Any], None], resize: Resize
    ) -> None:
        self._store = store
        self._resize = resize
        self._open = open_surface
        self._changed = changed
        self._notifier = DesktopNotifier()
        self._used: dict[tuple[str, str], deque[float]] = {}
        self._numbers = itertools.count(1)
        self._wishes: list[SurfaceWish] = []
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._has_more = asyncio.Event()
        self._listens = asyncio.Event()
        self._awaited_until = time.monotonic() + _COMING_S
        self._heard_at = -math.inf

    async def call(self, surface: Surface, name: str, given: Mapping[str, Any]) -> Any:
        """Carry out a call of a surface's page. Returns the answer. Raises WispError with a sentence for the page."""
        verbs: Mapping[str, Callable[[Surface, Mapping[str, Any]], Awaitable[Any]]] = {
            "getState": self._get_state,
            "setState": self._set_state,
            "notify": self._notify,
            "launchApp": self._launch,
        }
        says = settings()["says"]
        self._spend(surface.id, "", 1.0, settings()["budget"]["a_second"], says["flood"])
        if app := await asyncio.to_thread(served, surface):
            return await self._of_served(surface, app, name, given)
        if name not in verbs and name not in ASKED:
            raise ToolMisuse(says["unknown_verb"].format(name=clip_line(name, 40)))
        if name in settings()["budget"]:
            self._spend(surface.id, name, _HOUR_S, settings()["budget"][name], says["spent"])
        return await (verbs[name](surface, given) if name in verbs else self._ask(surface, name, given))

    async def _of_served(self, surface: Surface, app: ServedPage, name: str, given: Mapping[str, Any]) -> Any:
        """Answer a page of a tool server, in the words of MCP Apps."""
        if name in settings()["budget"]:
            self._spend(surface.id, name, _HOUR_S, settings()["budget"][name], settings()["says"]["spent"])
        if (asked := wish_of(app, name, given)) is not None:
            return await self._ask(surface, name, asked)
        match name:
            case "ui/initialize":
                return await asyncio.to_thread(lambda: greeting(app, active_theme()))
            case "ui/notifications/initialized":
                return first_words(app)
            case "ui/notifications/size-changed":
                sides = [given.get(side) for side in ("width", "height")]
                width, height = (round(side) if isinstance(side, (int, float)) else 0 for side in sides)
                return await self._resize(surface.id, width, height)
            case "ui/update-model-context":
                # The model would read a page's words at times that no person chose.
                raise ToolMisuse(settings()["says"]["no_context"])
            case "ui/request-display-mode":
                return {"mode": "inline"}
            case "ping" | "notifications/message":
                return {}
        raise ToolMisuse(settings()["says"]["unknown_verb"].format(name=clip_line(name, 40)))

    @property
    def is_heard(self) -> bool:
        """True if a Wisp asked for requests a moment ago, so that it can answer them."""
        return time.monotonic() - self._heard_at < _GONE_S

    async def close(self) -> None:
        """Close the connection by which notifications are shown."""
        await self._notifier.close()

    async def wishes(self) -> list[SurfaceWish]:
        """Return the requests to answer, as soon as there is one; [] after a while. Only a Wisp calls this."""
        self._heard_at = time.monotonic()
        self._listens.set()
        self._has_more.clear()
        if not self._wishes:
            try:
                async with asyncio.timeout(_POLL_S):
                    await self._has_more.wait()
            except TimeoutError:
                return []
        taken, self._wishes = self._wishes, []
        self._heard_at = time.monotonic()
        return taken

    def answer(self, number: int, value: Any, error: str) -> None:
        """Pass an answer (or an error) to the page that waits for it."""
        waiting = self._answers.get(number)
        if waiting is not None and not waiting.done():
            if error:
                waiting.set_exception(ToolMisuse(error))
            else:
                waiting.set_result(value)

    async def _ask(self, surface: Surface, name: str, given: Mapping[str, Any]) -> Any:
        nobody = settings()["says"]["nobody"].format(name=name)
        if not self.is_heard:
            self._listens.clear()
            try:
                async with asyncio.timeout(max(0.0, self._awaited_until - time.monotonic())):
                    await self._listens.wait()
            except TimeoutError:
                raise ToolMisuse(nobody) from None
        cut = {name: value[:_PROMPT_CHARS] if isinstance(value, str) else value for name, value in given.items()}
        wish = SurfaceWish(next(self._numbers), surface.id, surface.name, name, cut)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._answers[wish.number] = answer
        self._wishes.append(wish)
        self._has_more.set()
        try:
            async with asyncio.timeout(_ANSWER_S):
                return await answer
        except TimeoutError:
            raise ToolMisuse(nobody) from None
        finally:
            self._answers.pop(wish.number, None)
            self._wishes = [one for one in self._wishes if one is not wish]

    async def _get_state(self, surface: Surface, _given: Mapping[str, Any]) -> Any:
        return await asyncio.to_thread(self._store.state, surface)

    async def _set_state(self, surface: Surface, given: Mapping[str, Any]) -> Any:
        value = given.get("value", {})
        await asyncio.to_thread(self._store.keep_state, surface, value)
        self._changed(surface.id, value)
        return True

    async def _notify(self, surface: Surface, given: Mapping[str, Any]) -> Any:
        title, text = (plain(str(given.get(name, "")))[0] for name in ("title", "text"))
        # The surface is named first, so that it cannot pass for another program.
        shown = f"{surface.name}: {clip_line(title, _TITLE_CHARS)}" if title.strip() else surface.name
        if why := await self._notifier.show(DesktopNotification(shown, clip_line(text, _TEXT_CHARS))):
            raise ToolMisuse(why)
        return True

    async def _launch(self, surface: Surface, given: Mapping[str, Any]) -> Any:
        wanted = str(given.get("id", ""))
        try:
            found = await asyncio.to_thread(self._store.find, wanted)
        except WispError:  # whose sentence names all surfaces, which is no business of a page
            raise ToolFailed(Phrase("There is no app {name!r}.", {"name": clip_line(wanted, 40)})) from None
        if found.id == surface.id:
            raise ToolFailed("It is open already.")
        await self._open(found.id)
        return found.id

    def _spend(self, surface: str, name: str, seconds: float, most: int, says: str) -> None:
        used, now = self._used.setdefault((surface, name), deque()), time.monotonic()
        while used and used[0] < now - seconds:
            used.popleft()
        if len(used) >= most:
            raise ToolMisuse(says.format(name=name, most=most))
        used.append(now)


def sentence(error: WispError) -> str:
    """Return an error as a page reads it."""
    return clip_line(str(error), _TEXT_CHARS)


def bounded(given: Any) -> Mapping[str, Any]:
    """Return the arguments of a call. Raises WispError unless they are plain JSON of limited size."""
    if not isinstance(given, Mapping):
        raise ToolMisuse("params: give an object.")
    state.encoded(dict(given))
    return given
