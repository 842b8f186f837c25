"""Tools for pages in Wisp's own browser: act on a page by place, by name or by ref.

An action in a page is judged like one on the desktop: the policy is asked about a press, typing, keys or a value, and
the element that it judges (`BrowserSession.judged`) is the element that the action uses.
"""

from __future__ import annotations

import asyncio
import difflib
import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from app.agent.agent_events import AgentEvent, TurnEnded
from app.agent.policy import Control, ControlWindow
from app.base import ids, resources
from app.base.clipping import clip_line, fenced
from app.base.errors import ToolMisuse
from app.base.facts import Seen
from app.base.values import dataclass
from app.desktop.accessibility.constants import TEXTS
from app.desktop.keys import chords
from app.features.browser.elements import PageElement
from app.features.browser.session import BrowserSession
from app.features.browser.starting import HEIGHT, WIDTH
from app.features.browser.transfers import PageFiles
from app.protocol.call import PAGE_PICTURE, JsonValue, Media, ToolCall, ToolResult, not_run
from app.protocol.spec import HARMLESS, Effect, Param, RareFamily, ScreenAim, ToolSpec, ValueType
from app.services.files.changes import ChangeOrigin
from app.services.web import addresses
from app.tools.registry import Family, TurnContext

if TYPE_CHECKING:
    from app.features.browser.elements import FoundElement
    from app.features.browser.session import PageLook, PageQuestion

_PART_CHARS = 12_000
_LEFT_AT_THE_EDGE = 80
_MOST_CHANGES = 8
_CHANGE_CHARS = 160
_LONGEST_WAIT_S = 30.0
_MARKS = re.compile(r" \[(?:active|ref=\w+|cursor=\w+)\]")
_ACTIONS = (
    *("launch", "click", "type", "scroll_down", "scroll_up", "close"),
    *("read", "press", "select", "hover", "back", "forward", "reload", "wait", "tab", "download", "upload"),
    *("accept", "dismiss"),
)
_ANSWERS = ("accept", "dismiss")
_EFFECTS = {
    "launch": Effect.NETWORK,
    **dict.fromkeys(("click", "type", "press", "select", "hover", "accept"), Effect.DESKTOP),
    "close": Effect.TALKS,
}
_SCROLLS = ("scroll_down", "scroll_up")
_CHECKED, _CHOSEN = ("check box", "radio button"), "combo box"
CONFIRMED, NOTHING, UNPROVEN = "confirmed", "suspected no-op", "unverifiable"


def effects(call: ToolCall) -> frozenset[Effect]:
    """Return the effects of a call. A local address is judged by its port in the session, not as network access.

    An upload reads a file. Its later step, in which the page gets the file, also reaches the network.
    """
    action, is_addressed = call.text("action"), call.has("url") and not addresses.is_local(call.text("url"))
    if action == "upload":
        return frozenset({Effect.READS, Effect.NETWORK} if is_addressed else {Effect.READS})
    if action == "download":
        return frozenset({Effect.WRITES, Effect.NETWORK} if is_addressed else {Effect.WRITES})
    if action == "launch" and (addresses.is_local(call.text("url")) or not call.has("url")):
        return frozenset({Effect.DESKTOP})
    if action in _SCROLLS and call.has("coordinate"):
        return frozenset({Effect.DESKTOP})  # because the pointer comes to rest there
    return frozenset({_EFFECTS.get(action, Effect.READS)})


class _NotAllowed(Exception):
    """Raised if the policy refused one step. The message is the policy's sentence."""


@dataclass(frozen=True, slots=True)
class _Done:
    """The result of an action. `proof` is a receipt's word such as "confirmed"; "" if no effect was checked."""

    text: str
    proof: str = ""
    others: str = ""
    """The page's own words, which are put between fence lines."""


class Browsing:
    """The handler of browser_action."""

    def __init__(self, session: BrowserSession, files: PageFiles) -> None:
        self._session = session
        self._files = files
        self._outline = ""
        """The outline before the act that a page's question interrupted."""
        self._told: PageQuestion | None = None

    async def before(self, spec: ToolSpec, call: ToolCall) -> None:
        """Close the browser before a tool of another family acts. Tools that only speak or read leave it open."""
        if spec.name != "browser_action" and self._session.is_open and not spec.effects_of(call) <= HARMLESS:
            async with self._session.acting():
                await self._session.close()

    async def act(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        action = call.text("action")
        async with self._session.acting():
            try:
                return await self._unless_asked(action, call, turn)
            except _NotAllowed as refusal:
                return not_run(call.name, refusal.args[0])

    async def _unless_asked(self, action: str, call: ToolCall, turn: TurnContext) -> ToolResult:
        """Carry out the action. Where a page asks something meanwhile, stop waiting for it, and tell the question.

        A question that was told counts as dismissed by any action that does not answer it.
        """
        session = self._session
        if action in _ANSWERS:
            await self._answer(call, turn)
        elif action != "close" and session.question not in (None, self._told):
            return self._question(action, "Nothing was done yet.")
        else:
            await session.answer(accept=False)
        acting, asked = asyncio.ensure_future(self._looked(action, call, turn)), asyncio.ensure_future(session.asked())
        try:
            await asyncio.wait((acting, asked), return_when=asyncio.FIRST_COMPLETED)
            if acting.done():
                return acting.result()
        finally:
            for task in (acting, asked):
                task.cancel()
            await asyncio.wait((acting, asked))
        return self._question(action, f"{action} has begun.")

    async def _looked(self, action: str, call: ToolCall, turn: TurnContext) -> ToolResult:
        self._outline = self._outline if action in _ANSWERS else ""
        if call.has("number") and action != "tab":
            await self._session.tab(call.integer("number"))
        done = await self._done(action, call, turn)
        if action == "close":
            return ToolResult(True, call.name, {"action": action}, done.text)
        look = await self._session.look()
        if action == "launch":
            await turn.audit("page_opened", {"url": look.url})
        return _shown(action, done, look)

    def _question(self, action: str, done: str) -> ToolResult:
        """There is no picture: the page stands still until the answer."""
        self._told = question = self._session.question
        assert question
        field = " It has a field: accept takes its text." if question.kind == "prompt" else ""
        said = (
            f"{done} The page asks something ({question.kind}) and waits. Answer with action accept or dismiss.{field} "
            "Any other action dismisses it."
        )
        others = [question.message, *([f"In the field: {question.default}"] if question.default else [])]
        payload: dict[str, JsonValue] = {"action": action, "url": self._session.url}
        return ToolResult(True, "browser_action", payload, fenced(said, "\n".join(others)))

    async def _answer(self, call: ToolCall, turn: TurnContext) -> None:
        """Answer the page's question. To accept it is judged as the press of a button with its words."""
        session, question = self._session, self._session.question
        if question is None:
            raise ToolMisuse("No page asks anything.")
        is_yes, text = call.text("action") == "accept", call.text("text") if question.kind == "prompt" else None
        if is_yes:
            if text:
                await self._judge(turn, "page_value", PageElement("entry", question.message), value=text)
            await self._judge(turn, "page_press", PageElement("alert", question.message))
        await session.answer(accept=is_yes, text=text)

    async def _answered(self, action: str) -> _Done:
        await self._session.settle()
        said = "Accepted." if action == "accept" else "Dismissed."
        changes = _changes(self._outline, await self._session.outline())
        if self._outline and changes:
            return _Done(f"{said} What changed on the page:", CONFIRMED, "\n".join(changes))
        return _Done(said, UNPROVEN)

    async def _done(self, action: str, call: ToolCall, turn: TurnContext) -> _Done:
        session = self._session
        match action:
            case "launch":
                is_persons = call.flag("attach")
                await session.launch(call.text("url") if is_persons else _needed(call, "url"), attach=is_persons)
                return _Done("This is the person's own browser, until the task ends." if is_persons else "Opened.")
            case "close":
                was_attached = session.is_attached
                await session.close()
                return _Done("The person's browser is theirs again." if was_attached else "The browser is closed.")
            case "read":
                return _part(await session.outline(), call.integer("start"))
            case "scroll_down" | "scroll_up":
                return await self._scrolled(call, turn, down=action == "scroll_down")
            case "back" | "forward":
                moved = await session.go(back=action == "back")
                await session.settle()
                return _Done("Done." if moved else f"There is no page to go {action} to.")
            case "reload":
                # A query may order or delete something again, so it is judged as its first opening was.
                if "?" in session.url:
                    given: dict[str, JsonValue] = {"action": "launch", "url": session.url}
                    await self._admit(turn, ToolCall(ids.unique("page_"), "page_open", given))
                await session.reload()
                return _Done("Opened again.")
            case "accept" | "dismiss":
                return await self._answered(action)
            case "tab":
                return _Done("The tabs.", others="\n".join(await session.tab(call.integer("number"))))
        others = {"wait": self._waited, "download": self._downloaded, "upload": self._uploaded}
        return await others.get(action, self._acted)(call, turn)

    async def _scrolled(self, call: ToolCall, turn: TurnContext, *, down: bool) -> _Done:
        """Scroll the document by a page; with a coordinate, or where it does not move, what the pointer finds there.

        Raises ToolMisuse over a control whose value the wheel would change.
        """
        session, distance = self._session, (HEIGHT - _LEFT_AT_THE_EDGE) * (1 if down else -1)
        place = _place(call.text("coordinate")) if call.has("coordinate") else None
        if place is not None or not await session.scroll(distance):
            place = place or (WIDTH / 2, HEIGHT / 2)
            found = await session.at(*place)
            if await found.turns_with_the_wheel():
                raise ToolMisuse("There the wheel would change a value. Scroll at another coordinate.")
            await self._judge(turn, "page_hover", found.element)
            await session.turn_wheel(distance, place)
        await session.settle()
        return _Done("Scrolled.")

    async def _waited(self, call: ToolCall, turn: TurnContext) -> _Done:
        text, limit_s = call.text("text"), call.number("seconds", 5.0)
        if text:
            came = await self._session.wait_for(text, limit_s)
            return _Done(f"{text!r} {'is there' if came else f'did not come within {limit_s:g} s'}.")
        if call.has("seconds"):
            with suppress(TimeoutError):
                await asyncio.wait_for(turn.heard.wait(), limit_s)
        await self._session.settle()
        return _Done("The page has settled.")

    async def _acted(self, call: ToolCall, turn: TurnContext) -> _Done:
        """Carry out an action in the page. Return its result, with the proof that it worked."""
        session, action = self._session, call.text("action")
        before, url = await session.outline(), session.url
        self._outline = before
        if action == "press":
            found = await session.focused()
            keys = _needed(call, "keys")
            await self._judge(turn, "page_key", found.element, keys=keys)
            await found.check()
            await session.press(_as_page_keys(keys))
            said = f"Pressed {keys}."
        elif action == "type":
            found, said = await self._typed(call, turn)
        else:
            found = await self._aimed(call)
            said = await self._pointed(action, call, found, turn)
        await session.settle()
        value = await found.value()
        changes = _changes(before, await session.outline())
        if session.url != url:
            return _Done(f"{said} The page is another one now.", CONFIRMED)
        text = call.text("text")
        if action == "select":
            shown = await found.shown()
            is_chosen = text.strip() in map(str.strip, shown.splitlines())
            proof = CONFIRMED if is_chosen else UNPROVEN if changes else NOTHING
            return _Done(said, proof, "\n".join([f"It shows: {clip_line(shown, _CHANGE_CHARS)}", *changes]))
        if action == "type" and text and text.strip() in (value, found.element.value + value):
            return _Done(said, CONFIRMED)
        if changes:
            proof = UNPROVEN if action == "hover" else CONFIRMED
            return _Done(f"{said} What changed on the page:", proof, "\n".join(changes))
        if action == "press" and found.element.role in TEXTS and chords(_needed(call, "keys"))[0].moves_caret:
            return _Done(f"{said} This moves only the caret.", UNPROVEN)
        return _Done(f"{said} Nothing on the page changed.", UNPROVEN if found.element.is_secret else NOTHING)

    async def _typed(self, call: ToolCall, turn: TurnContext) -> tuple[FoundElement, str]:
        """Replace the text of the named field, or type where the focus is. Return the element and a sentence."""
        session, text = self._session, _needed(call, "text")
        if call.text("ref") or call.text("target"):
            found = await self._aimed(call)
            if found.element.role in _CHECKED:
                return found, await self._checked(found, text, turn)
            await self._judge(turn, "page_value", found.element, value=text)
            await (found.select(text) if found.element.role == _CHOSEN else found.fill(text))
        else:
            found = await session.focused()
            await self._judge(turn, "page_type", found.element, text=text)
            await found.check()
            await session.type(text)
        return found, f"Typed {len(text)} characters."

    async def _checked(self, found: FoundElement, text: str, turn: TurnContext) -> str:
        """Turn a check box or radio button on or off. It is judged as the press that it is."""
        wanted = text.strip().lower()
        if wanted not in ("true", "false"):
            raise ToolMisuse("A check box or radio button takes true or false.")
        if await found.is_checked() != (wanted == "true"):
            await self._judge(turn, "page_press", found.element)
            await found.click()
        is_on = await found.is_checked()  # looked at again, because a page may take it back
        state = f"It is {'on' if is_on else 'off'}"
        return f"{state}." if is_on == (wanted == "true") else f"{state} still, after a click."

    async def _pointed(self, action: str, call: ToolCall, found: FoundElement, turn: TurnContext) -> str:
        name = clip_line(found.element.name, 80) or found.element.role
        if action == "select":
            choice = _needed(call, "text")
            await self._judge(turn, "page_value", found.element, value=choice)
            if await found.is_native():
                await found.select(choice)
                return f"Chose {choice!r}."
            option = await found.choice(choice)
            await self._judge(turn, "page_press", option.element)
            await option.click()
            return f"Opened it and chose {choice!r}."
        if action == "hover":
            await self._judge(turn, "page_hover", found.element)
            await found.hover()
            return f"The pointer is over {name!r}."
        await self._judge(turn, "page_press", found.element)
        await found.click()
        return f"Clicked {name!r}."

    async def _downloaded(self, call: ToolCall, turn: TurnContext) -> _Done:
        """Save the file that a link or an address leads to in the workspace, marked as a stranger's."""
        session, url = self._session, call.text("url")
        if url:
            got = await session.download(partial(session.open_download, url))
        else:
            found = await self._aimed(call)
            await self._judge(turn, "page_press", found.element)
            got = await session.download(found.click)
        place = await asyncio.to_thread(self._files.landing, call.text("path"), session.wishes().downloads, got.name)
        await self._admit(turn, ToolCall(ids.unique("page_"), "page_save", {"action": "download", "path": place.shown}))
        origin = ChangeOrigin(turn.turn_id, call.name)
        saved = await asyncio.to_thread(self._files.keep, got, place, origin)
        await turn.audit("page_downloaded", {"url": got.url, "path": str(place.path), "size": saved.size_bytes})
        await session.settle()
        return _Done(f"Saved {place.shown} ({saved.size_bytes} bytes). Others made it.", CONFIRMED)

    async def _uploaded(self, call: ToolCall, turn: TurnContext) -> _Done:
        """Put a file into a field of the page. It is read once, so that the page gets what was judged."""
        session = self._session
        place, data = await asyncio.to_thread(self._files.content, _needed(call, "path"))
        found = await self._aimed(call)
        await self._judge(turn, "page_press", found.element)
        url = await found.frame_url() or session.url
        given = {"action": "upload", "path": place.shown, "url": _site(url)}
        await self._admit(turn, ToolCall(ids.unique("page_"), "page_give", given))
        before = await session.outline()
        await session.give(found, place.path.name, data)
        await turn.audit("page_uploaded", {"url": url, "path": str(place.path), "size": len(data)})
        await session.settle()
        changes = _changes(before, await session.outline())
        is_there = place.path.name in await found.value()
        said = f"Gave {place.shown} ({len(data)} bytes) to the page."
        return _Done(said, CONFIRMED if changes or is_there else UNPROVEN, "\n".join(changes))

    async def _aimed(self, call: ToolCall) -> FoundElement:
        point = call.text("coordinate").strip()
        if not point:
            ref, target = call.text("ref").strip(), call.text("target").strip()
            if not (ref or target):
                raise ToolMisuse("Say on what: coordinate, ref (from read) or target (what is written there).")
            return await self._session.named(ref, target)
        return await self._session.at(*_place(point))

    async def _judge(self, turn: TurnContext, step: str, element: PageElement, **arguments: JsonValue) -> None:
        """Ask the policy about one action on this element."""
        step_id = ids.unique("page_")
        host = urlsplit(self._session.url).hostname or ""
        with self._session.judging(step_id, element):
            given = {"target": clip_line(element.name, _CHANGE_CHARS), "host": host, **arguments}
            await self._admit(turn, ToolCall(step_id, step, given))

    async def _admit(self, turn: TurnContext, step: ToolCall) -> None:
        if refusal := await turn.admit(step):
            raise _NotAllowed(refusal)


def _place(point: str) -> tuple[float, float]:
    """Raises ToolMisuse if `point` is no x,y pair."""
    numbers = re.fullmatch(r"\s*\(?\s*(\d+(?:\.\d+)?)\s*[,;\s]\s*(\d+(?:\.\d+)?)\s*\)?\s*", point)
    if numbers is None:
        raise ToolMisuse(f"coordinate: {point!r} is no x,y pair of the {WIDTH}x{HEIGHT} picture.")
    return float(numbers[1]), float(numbers[2])


def _site(url: str) -> str:
    """Without path and query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/"


def _needed(call: ToolCall, name: str) -> str:
    value = call.text(name)
    if not value.strip():
        raise ToolMisuse(f"{call.text('action')} needs {name}.")
    return value


def _as_page_keys(keys: str) -> str:
    """Raises ToolMisuse for an unknown key or several chords."""
    known = resources.table("browser/browser.toml", resources.Table)["keys"]
    pressed = chords(keys)
    if len(pressed) != 1:
        raise ToolMisuse("keys: one chord a call, such as Return or ctrl+a.")
    names = [known.get(key, key) for key in pressed[0].keys]
    if wrong := [
        name for name in names if len(name) > 1 and name not in known.values() and not re.fullmatch(r"F\d+", name)
    ]:
        raise ToolMisuse(f"keys: a page has no key {wrong[0]!r}.")
    return "+".join(names)


def _part(outline: str, start: int) -> _Done:
    if start and start >= len(outline):
        raise ToolMisuse(f"start is {start}, but the page has {len(outline)} characters.")
    end = min(start + _PART_CHARS, len(outline))
    more = f"; go on with start={end}" if end < len(outline) else ""
    return _Done(f"Characters {start}-{end} of {len(outline)}{more}.", others=outline[start:end] or "(nothing to read)")


def _changes(before: str, after: str) -> list[str]:
    """Lines that are new in the second outline or missing in it, without indentation and other marks."""
    old, new = (_plain_lines(text) for text in (before, after))
    whole = dict(zip(new, (line.strip() for line in after.splitlines()), strict=True))
    lines = difflib.unified_diff(old, new, n=0, lineterm="")
    told = [
        f"{line[0]} {clip_line(whole.get(line[1:], line[1:]) if line[0] == '+' else line[1:], _CHANGE_CHARS)}"
        for line in lines
        if line[:1] in "+-" and line[:3] not in ("+++", "---")
    ]
    more = len(told) - _MOST_CHANGES
    return [*told[:_MOST_CHANGES], *([f"and {more} more"] if more > 0 else [])]


def _plain_lines(outline: str) -> list[str]:
    return [_MARKS.sub("", line).strip() for line in outline.splitlines()]


def _shown(action: str, done: _Done, look: PageLook) -> ToolResult:
    head = [done.text, f"Proof: {done.proof}."] if done.proof else [done.text]
    told = [f"Page: {look.title} ({look.url})", *([f"Tabs open: {look.tabs}"] if look.tabs > 1 else [])]
    told += [done.others] if done.others else []
    told += ["Console:", *look.lines] if look.lines else []
    walls = [f"The walls of the browser refused: {'; '.join(look.refused)}"] if look.refused else []
    payload: dict[str, JsonValue] = {"action": action, "url": look.url, "console": list(look.lines)}
    if done.proof:
        payload["proof"] = done.proof
    if look.is_persons:
        payload["attached"] = True
    media = Media(look.picture, "image/jpeg", *look.size, PAGE_PICTURE)
    facts = (Seen(done.proof),) if done.proof else ()
    return ToolResult(
        True, "browser_action", payload, fenced("\n".join([*head, *walls]), "\n".join(told)), (media,), facts=facts
    )


BROWSER = Family(
    Browsing,
    (
        ToolSpec(
            name="browser_action",
            description=(
                "Use pages in a browser of your own: one action a call, launch first, close last. Every action "
                f"answers with a {WIDTH}x{HEIGHT} picture, new lines of the console and what it changed. read gives "
                "an outline with refs, which are surer than coordinates. It reaches the public web, and of this "
                "machine only servers that you started. Calls of tools that act outside it close it. download saves "
                "what a link leads to in the workspace; upload gives a file to a field or button for files. accept and "
                "dismiss answer a question that a page asks in a dialog of the browser."
            ),
            effect=Effect.DESKTOP,
            taint="web",
            aim=ScreenAim.NONE,
            execute=Browsing.act,
            attrs=(
                Param("action", description="what to do", required=True, choices=_ACTIONS),
                Param(
                    "url",
                    description="for launch (or download), with its http:// or https://",
                    aliases=("address", "link"),
                ),
                Param("coordinate", description="x,y in the picture, for click, hover and scrolling"),
                Param("ref", description="an element by its ref from read, for click, type, select, hover, upload …"),
                Param("target", description="or by what is written on it"),
                Param("keys", description="one chord for press: Return, Tab, ctrl+a", aliases=("key",)),
                Param("number", ValueType.INTEGER, "the tab to act in; without it, tab lists them", minimum=1),
                Param(
                    "seconds",
                    ValueType.NUMBER,
                    "how long wait waits; for a text, at most",
                    minimum=0,
                    maximum=_LONGEST_WAIT_S,
                ),
                Param("path", description="the file to upload, or where the download goes", aliases=("file",)),
                Param(
                    "attach",
                    ValueType.FLAG,
                    "true: launch in the person's own running browser, if they want that; no url takes their tab",
                ),
                Param("start", ValueType.INTEGER, "the character at which read goes on", minimum=0),
            ),
            children=(
                Param(
                    "text",
                    description=(
                        "what to type (with ref or target: in place of what stands there), select, wait for or "
                        "accept with"
                    ),
                    is_typed=True,
                    short=False,
                ),
            ),
            examples=(
                '<browser_action action="launch" url="https://example.com/"/>',
                '<browser_action action="click" target="Sign in"/>',
            ),
            effects_by_call=effects,
            steps=("page_save", "page_give", "page_open"),
            rare=RareFamily(
                "browser", "open pages that need a browser, click and type in them, preview your own server"
            ),
        ),
    ),
)


class JudgedElements:
    """Tells the gate which elements of pages the policy is judging, described as the desktop would."""

    def __init__(self, browser: BrowserSession) -> None:
        self._browser = browser

    def element(self, call_id: str) -> Control | None:
        """Return the element that the call would act on; None if it acts on no page."""
        if call_id not in self._browser.judged:
            return None
        element, host = self._browser.judged[call_id]
        return Control(role=element.role, name=element.name, window=ControlWindow(title=host, host=host))


def leave_after_turn(browser: BrowserSession) -> Callable[[AgentEvent], None]:
    """The callback disconnects from the person's own browser when the turn that used it ends."""
    leaving: set[asyncio.Future[None]] = set()

    def hear(event: AgentEvent) -> None:
        if isinstance(event, TurnEnded) and browser.is_attached:
            leaving.add(task := asyncio.ensure_future(browser.close()))
            task.add_done_callback(leaving.discard)

    return hear
