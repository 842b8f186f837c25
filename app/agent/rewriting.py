"""Rewrite the text that the person selected in any program: read it, put other words in its place, and put it back."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable

from app.agent.agent_events import Selected, Way
from app.agent.deps import SessionDeps
from app.agent.streaming import SideAnswer
from app.base import ids, resources
from app.base.errors import ToolFailed
from app.base.phrases import Phrase
from app.base.signs import plain
from app.base.values import dataclass, replace
from app.desktop.controller import DesktopController
from app.desktop.desktop import Desktop
from app.desktop.elements import Editing, Element
from app.protocol.call import Block, ToolResult
from app.protocol.message import user
from app.protocol.spec import ScreenAim
from app.providers.api import Request, Usage
from app.tools.executor import STARTED_BY_HAND

_MOST_CHARS = 20_000
_TOKENS_BESIDE = 4_096
"""Room beside the text itself. Models that always think need most of it for that."""
_LOOKS = 20
_LOOK_AGAIN_S = 0.05
_TOOL = "rewrite_selection"
_PASSWORD = "password text"
_FIELDS = frozenset({"text", "entry"})
"""The roles of plain text fields. Others, such as a document's paragraphs, may hold formatted text."""
_TOO_LONG = Phrase("The selection is too long. Select at most {most} characters.", {"most": f"{_MOST_CHARS:,}"})
_UNPROVEN = (
    "This program does not tell Wisp which field holds the text, so nothing is replaced. Copy the new text instead."
)
_FIXED = "This text cannot be changed in its program. Copy the new one instead."
_TERMINAL = "In a terminal, text that is put in may run. Copy the new text instead."
_WITH_FORMAT = "This text may have formatting that would be lost. Copy the new text instead."
_PRIVATE_USE = re.compile("[\ue000-\uf8ff\U000f0000-\U0010ffff]")
_SENTENCE_START = re.compile(r"(?:^|[.!?…]\s+)\W*(\w)", re.UNICODE)


@dataclass(frozen=True, slots=True)
class _Table:
    """The content of `resources/prompts/rewriting.toml`."""

    system: str
    material: str
    ways: dict[str, Way]


def _table() -> _Table:
    return resources.table("prompts/rewriting.toml", _Table)


def _made_plain(text: str) -> str:
    """Without control, direction, invisible and private-use characters; tabs and breaks stay."""
    return plain(_PRIVATE_USE.sub("", text))[0]


def tidied(text: str) -> str:
    """Single spaces between words, none before commas and stops, and none at the end of a line."""
    text = re.sub(r"(?<=\S)[ \t]{2,}", " ", text)
    text = re.sub(r"[ \t]+([,;.!?])(?=\s|$)", r"\1", text)
    return re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)


def as_sentences(text: str) -> str:
    """Small letters, and a capital letter at the start of each sentence and line."""
    parts = (_SENTENCE_START.sub(lambda found: found[0].upper(), line.lower()) for line in text.split("\n"))
    return "\n".join(parts)


_WITHOUT_A_MODEL: dict[str, Callable[[str], str]] = {
    "tidy": tidied,
    "sentences": as_sentences,
    "upper": str.upper,
    "lower": str.lower,
}


class SelectionRewriter:
    """Reads and replaces selected text. Text is replaced only where it is proven to stand in a plain, editable field.

    `run` carries out one call that the person chose, by way of the executor. `spend` counts a request's tokens.
    While a turn runs, as `is_running` says, nothing is typed: the turn may need the keyboard, or may have been stopped.
    """

    def __init__(
        self,
        desktop: Desktop,
        run: Callable[[Block], Awaitable[ToolResult]],
        parts: SessionDeps,
        spend: Callable[[Usage], None] = lambda _: None,
        is_running: Callable[[], bool] = lambda: False,
    ) -> None:
        self._desktop = desktop
        self._run = run
        self._parts = parts
        self._spend = spend
        self._is_running = is_running

    @property
    def has_model(self) -> bool:
        """Whether a model answers. Without one only a few ways are there, and no words of the person's own."""
        return not self._parts.follows_plan

    def ways(self) -> dict[str, Way]:
        """Return the ways that are possible now, by their keys."""
        return {key: way for key, way in _table().ways.items() if self.has_model or not way.asks}

    async def selected(self) -> Selected:
        """From the window that has the keyboard. Raises ToolFailed if nothing is selected there."""
        found = await self._desktop.run(_selected)
        if len(found.text) > _MOST_CHARS:
            raise ToolFailed(_TOO_LONG)
        return found

    async def rewritten(self, text: str, way: str, own: str = "") -> str:
        """Return the text in other words, without hidden characters. `own` is the person's wish, if `way` is "".

        Raises ProviderError if the model does not answer, and ToolFailed if its answer is empty, cut off or a refusal.
        """
        if way in _WITHOUT_A_MODEL:
            return _made_plain(_WITHOUT_A_MODEL[way](text))
        table = _table()
        wish = table.ways[way].asks if way else own
        core = text.strip()
        message = table.material.format(wish=wish, text=core)
        answer = _made_plain(await self._answer(table.system, message, len(core) // 2 + _TOKENS_BESIDE)).strip()
        if not answer:
            raise ToolFailed("The model answered nothing. Try again.")
        lead, end = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
        return _made_plain(lead + answer + end)

    async def _answer(self, system: str, message: str, most_tokens: int) -> str:
        request = Request(self._parts.model, system, (user(message),), max_tokens=most_tokens)
        answer = SideAnswer()
        try:
            await answer.hear(self._parts.provider, request, self._parts.settings)
        finally:
            self._spend(answer.usage)
        if answer.stop_reason == "max_tokens":
            raise ToolFailed("The model's answer was cut off. Select less text, and try again.")
        if answer.stop_reason == "refusal":
            raise ToolFailed("The model refused to rewrite this text.")
        return answer.text

    async def replace(self, seen: Selected, text: str) -> None:
        """Put the text in the place of the selection, and look whether it is there.

        Raises ToolFailed if something else is selected by now, or if the new text is not seen afterwards.
        """
        if problem := seen.obstacle_to(text):
            raise ToolFailed(problem)
        if replace(await self.selected(), title=seen.title) != seen:
            raise ToolFailed("Something else is selected now, so nothing was replaced. Select the text again.")
        await self._put(seen, seen.text, text)

    async def put_back(self, seen: Selected, text: str) -> None:
        """Put the selected text back in the place of `text`, which replaced it. Raises ToolFailed if it has changed."""
        if not await self._desktop.run(_holds, seen, text):
            raise ToolFailed("The text was changed meanwhile, so nothing was put back.")
        if seen.needs_keys and not await self._desktop.run(_select_again, seen, text):
            raise ToolFailed("The text is not selected there any more. Press Ctrl+Z in the program to undo it there.")
        await self._put(seen, text, seen.text)

    async def _put(self, seen: Selected, old: str, new: str) -> None:
        """Put `new` in the place of `old`, without keys where the program allows it, and look at what came of it."""
        if seen.needs_keys:
            if self._is_running():
                raise ToolFailed("A task is running. Stop it or let it end, then try again.")
            self._desktop.resume()
            types = next(tool for tool in self._parts.registry if tool.typed and tool.aim is ScreenAim.FOCUS)
            done = await self._run(Block(ids.unique("call_"), types.name, args={types.typed: new}))
            if not done.ok:
                raise ToolFailed(str(done.payload.get("reason", done.llm_echo)))
            is_there = await self._desktop.run(_comes_to_hold, seen, new)
        else:
            # Shielded, because a cancelled call could have taken out the old text without putting in the new one.
            is_there = await asyncio.shield(self._desktop.run(_put_directly, seen, old, new))
            await self._note(new, is_done=is_there)
        if not is_there:
            raise ToolFailed("The new text is not seen in its place. Look into the program; Ctrl+Z undoes it there.")

    async def _note(self, text: str, *, is_done: bool) -> None:
        """Write down in the audit log what the person let Wisp put in, as it does for calls of tools."""
        if self._parts.audit:
            await self._parts.audit("allowed", {"tool": _TOOL, "arguments": {"text": text}, "by": STARTED_BY_HAND})
            await self._parts.audit("done" if is_done else "failed", {"tool": _TOOL})


async def _selected(controller: DesktopController) -> Selected:
    window, backend = controller.active_window(), controller.backend
    if window is None or window.is_own:
        raise ToolFailed("No program has the keyboard. Click into the text, select it, and try again.")
    if backend.is_private(window):
        raise ToolFailed("That window is private: Wisp does not read it.")
    element = await backend.accessibility.focused()
    if element and element.role == _PASSWORD:
        raise ToolFailed("A password field has the keyboard. Click into the text, select it, and try again.")
    if element and (found := await backend.accessibility.selection(element.ref)):
        start, text = found
        seen = Selected(text, window.ref, window.title, element.ref, start)
        return await _judged(controller, seen, element)
    text = await backend.clipboard.selected(window.ref)
    if not text.strip():
        raise ToolFailed("Nothing is selected. Select the text in its program, then try again.")
    return Selected(text, window.ref, window.title, obstacle=_UNPROVEN)


async def _judged(controller: DesktopController, seen: Selected, element: Element) -> Selected:
    """Return what is selected with how its field takes other text, or with why it does not."""
    if not element.is_("editable") or element.is_("read-only") or not element.is_("sensitive"):
        return replace(seen, obstacle=_FIXED)
    if element.role not in _FIELDS:
        return replace(seen, obstacle=_TERMINAL if element.role == "terminal" else _WITH_FORMAT)
    way = await controller.backend.accessibility.editing(seen.field)
    if way is Editing.FORMATTED:
        return replace(seen, obstacle=_WITH_FORMAT)
    seen = replace(seen, needs_keys=way is Editing.KEYS, has_lines=not element.is_("single-line"))
    if seen.needs_keys and any(sign > "\uffff" for sign in await controller.backend.accessibility.text_of(seen.field)):
        # Chromium counts an emoji as two characters of a selection and as one of the text, so the places are wrong.
        text = await controller.backend.clipboard.selected(seen.window)
        return replace(seen, text=text or seen.text, obstacle=seen.obstacle_to("\n"))
    return seen


async def _holds(controller: DesktopController, seen: Selected, text: str) -> bool:
    """True if the field holds `text` where the selection was."""
    try:
        whole = await controller.backend.accessibility.text_of(seen.field)
    except ToolFailed as gone:
        raise ToolFailed("The field is not there any more, so nothing was put back.") from gone
    return whole[seen.start : seen.start + len(text)] == text


async def _comes_to_hold(controller: DesktopController, seen: Selected, text: str) -> bool:
    """True if the field holds `text` within a second: a program may take keys late."""
    for _ in range(_LOOKS):
        if await _holds(controller, seen, text):
            return True
        await asyncio.sleep(_LOOK_AGAIN_S)
    return False


async def _select_again(controller: DesktopController, seen: Selected, text: str) -> bool:
    """Select the text in the place of the earlier selection. Return whether it is selected and has the keyboard."""
    window, tree = controller.active_window(), controller.backend.accessibility
    focused = await tree.focused()
    if window is None or window.ref != seen.window or focused is None or focused.ref != seen.field:
        return False
    found = await tree.selection(seen.field, (seen.start, seen.start + len(text)))
    for _ in range(_LOOKS):  # because Chromium selects late
        if found == (seen.start, text):
            return True
        await asyncio.sleep(_LOOK_AGAIN_S)
        found = await tree.selection(seen.field)
    return False


async def _put_directly(controller: DesktopController, seen: Selected, old: str, new: str) -> bool:
    return await controller.backend.accessibility.replace_text(seen.field, seen.start, old, new)
