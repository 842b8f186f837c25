"""Tools that capture the screen, and tools that wait until it shows something."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from app.base.clipping import clip_line
from app.base.errors import Cancelled, NeedsPerson, ToolFailed, ToolMisuse
from app.base.facts import Fact, said
from app.base.geometry import Rect
from app.base.phrases import Phrase
from app.desktop.backends import Window
from app.desktop.capture import Capture, PictureBudget, changed_tiles, merged
from app.desktop.controller import DesktopController
from app.desktop.desktop import Desktop
from app.desktop.verification import Patience, SettleWatch
from app.protocol.call import JsonValue, ToolCall, ToolResult
from app.protocol.spec import Effect, Param, ToolSpec, ValueType
from app.tools.pictures import (
    CAPTURE,
    SPACE,
    ModelSight,
    Texts,
    controls_in,
    everything,
    in_words,
    payload_of,
    region_in,
    shown,
    texts_between,
    texts_in,
    window_changes_since,
)
from app.tools.registry import HEARD, LOOKING, Family, TurnContext

_SURE = 0.9
_TITLE_CHARS = 80
_LOOK_AGAIN_S = 0.2
_LIMIT_S = 15.0
_MOST_REGIONS = 12
_TEXT_CHARS = 80
_READ_REGIONS = 4
_WINDOWS_READ = 3
_LINE_PX = 16
_REST = Patience(first_s=0.4, quiet_s=0.4)


class Watching:
    """The handlers of the tools that look at the screen. `sight` says whether the model takes pictures; if not, it gets
    text.
    """

    def __init__(self, desktop: Desktop, sight: ModelSight | None = None) -> None:
        self._desktop = desktop
        self._sight = sight or ModelSight()
        self._shown: tuple[str, Capture] | None = None

    async def screen_capture(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        if not self._sight.takes_pictures():
            return await self._desktop.run(_in_words, call)
        capture = await self._desktop.run(_capture, call, self._sight.budget)
        told = _unchanged(call, capture) if self._has_seen(capture, turn) else shown(call, capture)
        self._shown = (turn.turn_id, capture)
        if call.flag("tree"):
            controls = await self._desktop.run(controls_in, capture.geometry.region)
            told = replace(told, llm_echo=f"{told.llm_echo}\n{controls}")
        return told

    def _has_seen(self, capture: Capture, turn: TurnContext) -> bool:
        """True if the last picture of this turn was the same, so that the model need not get it again."""
        if self._shown is None or not turn.turn_id:
            return False
        of_turn, last = self._shown
        same = last.frame == capture.frame
        return of_turn == turn.turn_id and same and last.cursor == capture.cursor

    async def zoom(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        if not self._sight.takes_pictures():
            return await self._desktop.run(_in_words, call)
        capture = await self._desktop.run(_zoom, call, self._sight.budget)
        return shown(call, capture, "Points in other calls still refer to the capture before this one.")

    async def changes(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        return await self._desktop.run(_changes, call)

    async def wait(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        seconds = call.number("seconds")
        before = await self._windows()
        began = asyncio.get_running_loop().time()
        has_rested = await _sleep(seconds, turn)
        waited = seconds if has_rested else round(asyncio.get_running_loop().time() - began, 1)
        echo = f"Waited {waited:g} seconds.{'' if has_rested else f' Stopped early: {HEARD}'}"
        windows = await self._windows_since(before)
        return ToolResult(True, call.name, {"seconds": waited}, f"{echo} {said(windows)}".rstrip(), facts=windows)

    async def _windows(self) -> tuple[Window, ...] | None:
        """None if the screen cannot be seen: waiting is possible nevertheless."""
        try:
            return await self._desktop.glance(_open_windows)
        except (ToolFailed, NeedsPerson):
            return None

    async def _windows_since(self, before: tuple[Window, ...] | None) -> tuple[Fact, ...]:
        return () if before is None else await self._desktop.glance(_windows_since, before)

    async def wait_for(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        condition, what = _condition(call)
        limit_s = call.number("limit_s", _LIMIT_S)
        wants_gone = call.flag("gone")
        before = await self._windows()
        loop = asyncio.get_running_loop()
        limit = loop.time() + limit_s
        while await self._desktop.run(condition, limit - loop.time()) == wants_gone:
            if loop.time() >= limit:
                state = "is still there" if wants_gone else "did not come"
                windows = await self._windows_since(before)
                told = Phrase(f"After {{seconds}} s {{what}} {state}.", {"seconds": f"{limit_s:g}", "what": what})
                raise ToolFailed(told, "Look with screen_capture.", facts=windows)
            if not await _sleep(_LOOK_AGAIN_S, turn):
                return ToolResult(True, call.name, {"what": what}, f"Stopped waiting for {what}: {HEARD}")
        waited = limit_s - (limit - loop.time())
        echo = f"{what[0].upper()}{what[1:]} is {'gone' if wants_gone else 'there'}, after {waited:.1f} seconds."
        windows = await self._windows_since(before)
        payload: dict[str, JsonValue] = {"what": what, "seconds": round(waited, 1)}
        return ToolResult(True, call.name, payload, f"{echo} {said(windows)}".rstrip(), facts=windows)


async def _open_windows(controller: DesktopController) -> tuple[Window, ...]:
    return controller.backend.windows.all()


async def _windows_since(controller: DesktopController, before: tuple[Window, ...]) -> tuple[Fact, ...]:
    return window_changes_since(controller, before)


async def _capture(controller: DesktopController, call: ToolCall, budget: PictureBudget) -> Capture:
    region = _region(controller, call)
    if call.has("window") and not call.has("region"):
        window = controller.find_window(call.text("window"))
        label = f'window "{clip_line(window.title, _TITLE_CHARS)}"'
        return await controller.screen_capture.capture_window(window, label, budget)
    return await controller.screen_capture.capture(region, "screen", budget)


async def _in_words(controller: DesktopController, call: ToolCall) -> ToolResult:
    return await in_words(controller, call.name, _region(controller, call))


def _region(controller: DesktopController, call: ToolCall) -> Rect:
    if not call.has("region"):
        return controller.region_of(call.integer("monitor"), call.text("window"))
    return region_in(controller, call.text("region"), call.text("capture"), call.text("space"))


async def _zoom(controller: DesktopController, call: ToolCall, budget: PictureBudget) -> Capture:
    region = region_in(controller, call.text("region"), call.text("capture"), call.text("space"))
    return await controller.screen_capture.capture(region, "region, enlarged", budget, is_glance=True)


async def _changes(controller: DesktopController, call: ToolCall) -> ToolResult:
    since = call.text("since")
    before = controller.screen_capture.find_capture(since) if since else controller.screen_capture.newest()
    if before is None:
        raise ToolMisuse("There is no capture yet to compare with. Take a screen_capture first.")
    regions = merged(changed_tiles(before.pixels, await controller.screen_capture.frame(before.pixels.area)))
    shown = (before.geometry.box_in_picture(region) for region in regions[:_MOST_REGIONS])
    boxes = [(box.x, box.y, box.right, box.bottom) for box in shown]
    payload: dict[str, JsonValue] = {"since": before.id, "regions": [list(box) for box in boxes]}
    if not regions:
        return ToolResult(True, call.name, payload, f"Nothing has changed since capture {before.id}.")
    texts = await _texts_in(controller, regions)
    places = " ".join(",".join(str(n) for n in box) for box in boxes)
    echo = f"Changed since {before.id} (left,top,right,bottom in its pixels): {places}."
    return ToolResult(True, call.name, payload, echo + (f" There now: {'; '.join(texts)}." if texts else ""))


async def _texts_in(controller: DesktopController, regions: Sequence[Rect]) -> list[str]:
    """From the programs, and by OCR where they report nothing."""
    outline = await everything(controller)
    inside = [e for e in outline.elements if any(region.contains(e.box.center) for region in regions)]
    for window in controller.written.mute(outline):
        for region in regions[:_READ_REGIONS]:
            inside += (await texts_in(controller, [window], _with_margin(region))).elements
    told = (clip_line(f'{e.role} "{e.name or e.value}"', _TEXT_CHARS) for e in inside if e.name or e.value)
    return list(dict.fromkeys(told))[:_MOST_REGIONS]


def _with_margin(area: Rect) -> Rect:
    """A change may cover only a part of a line, which OCR cannot read."""
    return Rect(area.x - _LINE_PX * 4, area.y - _LINE_PX, area.width + _LINE_PX * 8, area.height + _LINE_PX * 2)


def _unchanged(call: ToolCall, capture: Capture) -> ToolResult:
    echo = f"The screen has not changed since the last capture; its points still hold (now {capture.id})."
    return ToolResult(True, call.name, {**payload_of(capture), "unchanged": True}, echo)


Condition: TypeAlias = Callable[[DesktopController, float], Coroutine[Any, Any, bool]]


def _condition(call: ToolCall) -> tuple[Condition, str]:
    """The test that a call waits for (repeated until it is true), and its name for a sentence."""
    if call.has("text"):
        return _text_shows(call.text("text")), f"the text {call.text('text')!r}"
    if call.has("window"):
        return _window_is_open(call.text("window")), f"the window {call.text('window')!r}"
    if call.has("element"):
        return _element_shows(call.text("element")), f"the element {call.text('element')!r}"
    if call.flag("change"):
        return _screen_changes(), "a change of the screen"
    if call.flag("stable"):
        return _screen_rests, "the screen at rest"
    raise ToolMisuse('Wait for what? text="Done", window="Save", element="OK", change="true" or stable="true".')


def _text_shows(text: str) -> Condition:
    wanted = text.casefold()

    def is_in(written: Texts) -> bool:
        return wanted in " ".join(element.name for element in written.elements).casefold()

    async def ask(controller: DesktopController, _left_s: float) -> bool:
        outline = await everything(controller)
        told = (part for element in outline.elements for part in (element.name, element.value, element.window))
        if any(wanted in part.casefold() for part in told):
            return True
        mute = controller.written.mute(outline)
        others = [window for window in controller.backend.windows.all() if window not in mute]
        if is_in(await texts_in(controller, mute[:_WINDOWS_READ])):
            return True
        return is_in(await texts_between(controller, outline, others[:_WINDOWS_READ]))

    return ask


def _element_shows(name: str) -> Condition:
    async def ask(controller: DesktopController, _left_s: float) -> bool:
        found = await controller.backend.accessibility.find(name, limit=1)
        return bool(found) and found[0].score >= _SURE

    return ask


def _window_is_open(title: str) -> Condition:
    wanted = title.casefold()

    async def ask(controller: DesktopController, _left_s: float) -> bool:
        return any(
            wanted in (w.title.casefold(), w.app.casefold()) or wanted in w.title.casefold()
            for w in controller.backend.windows.all()
        )

    return ask


def _screen_changes() -> Condition:
    watches: list[SettleWatch] = []

    async def ask(controller: DesktopController, _left_s: float) -> bool:
        if not watches:
            watches.append(controller.screen_capture.watch())
        return watches[0].has_changed()

    return ask


async def _screen_rests(controller: DesktopController, left_s: float) -> bool:
    settled = await controller.screen_capture.settle(replace(_REST, limit_s=max(left_s, _REST.first_s)))
    return settled.is_calm


async def _sleep(seconds: float, turn: TurnContext) -> bool:
    """Wait. Return False if the person said something meanwhile; raise Cancelled if they stop the turn."""
    ends = [asyncio.ensure_future(event.wait()) for event in (turn.cancelled, turn.heard)]
    try:
        await asyncio.wait(ends, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for end in ends:
            end.cancel()
    if turn.cancelled.is_set():
        raise Cancelled("Stopped while waiting.")
    return not turn.heard.is_set()


_REGION = Param("region", description="left,top,right,bottom")

WATCHING = Family(
    Watching,
    (
        ToolSpec(
            "screen_capture",
            "See the screen: the picture comes with the results.",
            Effect.READS,
            Watching.screen_capture,
            attrs=(
                Param("monitor", ValueType.INTEGER, "from 1; all of them if left out", minimum=0),
                Param("window", description="only this window, by title or program"),
                _REGION,
                CAPTURE,
                SPACE,
                Param("tree", ValueType.FLAG, "its controls too, with refs"),
            ),
            examples=("<screen_capture/>",),
            is_screenshot=True,
            taint="screen",
            steps=("look_at_screen",),
        ),
        ToolSpec(
            "zoom",
            "See a part of the newest capture at the screen's own resolution, to read small print.",
            Effect.READS,
            Watching.zoom,
            attrs=(replace(_REGION, required=True), CAPTURE, SPACE),
            examples=('<zoom region="600,40,900,200"/>',),
            taint="screen",
        ),
        ToolSpec(
            "changes",
            "Where the screen differs from a capture, and what stands there now, without a picture.",
            Effect.READS,
            Watching.changes,
            attrs=(Param("since", description="the capture's id; the newest if left out"),),
            examples=("<changes/>",),
            taint="screen",
            rare=LOOKING,
        ),
        ToolSpec(
            "wait",
            "Do nothing for so many seconds; use wait_for where there is something to wait for.",
            Effect.READS,
            Watching.wait,
            attrs=(Param("seconds", ValueType.NUMBER, "how long", required=True, minimum=0, maximum=300),),
            examples=('<wait seconds="3"/>',),
            is_wait=True,
            steps=("wait",),
        ),
        ToolSpec(
            "wait_for",
            "Wait until the screen shows a text, a window or an element (with gone: shows it no more), until it has "
            "any change, or until it is stable; give one.",
            Effect.READS,
            Watching.wait_for,
            attrs=(
                Param("text", description="a text anywhere on the screen"),
                Param("window", description="a window's title or part of it"),
                Param("element", description="a control by its visible name"),
                Param("change", ValueType.FLAG, "any change of the screen"),
                Param("stable", ValueType.FLAG, "the screen at rest"),
                Param("gone", ValueType.FLAG, "wait until it is gone instead"),
                Param("limit_s", ValueType.NUMBER, "give up after so many seconds; 15", minimum=0.1, maximum=300),
            ),
            examples=('<wait_for text="Download complete" limit_s="60"/>',),
            is_wait=True,
            taint="screen",
        ),
    ),
)
