"""Keep the conversation within the model's context window: drop old pictures, and summarise the middle.

The person's own words and the latest results stay word for word: a task and its constraints are never summarised.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from app.agent.agent_events import Notice
from app.agent.deps import SessionDeps
from app.agent.prompt import cut_off, ending, told
from app.agent.recording import Entry, EntryKind, History, note
from app.agent.streaming import SideAnswer
from app.agent.turn import Turn, Words
from app.base import resources
from app.base.clipping import clip_middle
from app.base.errors import PictureRefused, ProviderError
from app.base.translation import words_in
from app.base.values import dataclass
from app.protocol.call import Media, ToolCall, ToolResult, failed
from app.protocol.dialects.api import Answer, Pacing
from app.protocol.message import (
    Author,
    CallPart,
    ImagePart,
    Message,
    OpaquePart,
    Part,
    ResultPart,
    Role,
    TextPart,
    user,
)
from app.providers.api import Request

_CHARS_A_TOKEN = 3.5
_PATCH_PX = 28
"""A picture costs one token for each square with sides of this length."""


@dataclass(frozen=True, slots=True)
class ContextRule:
    """When old pictures are dropped: as soon as there are `at` of them, all but the last `keep`.

    `drops_opaque`: if anything is dropped, the vendor's signed blocks are dropped as well.
    """

    keep: int
    at: int
    drops_opaque: bool


def _tables() -> resources.Table:
    return resources.table("window.toml", resources.Table)


def rule_of(model: str) -> ContextRule:
    """Return the rule with the longest prefix of the model's id."""
    matching = [entry for entry in _tables()["rule"] if model.startswith(entry["prefix"])]
    entry = max(matching, key=lambda entry: len(entry["prefix"]))
    return ContextRule(entry["keep"], entry["at"], entry["opaque"] == "drop")


def picture_tokens(media: Media) -> int:
    return math.ceil(media.width / _PATCH_PX) * math.ceil(media.height / _PATCH_PX)


def text_tokens(text: str) -> float:
    return len(text) / _CHARS_A_TOKEN


def _part_tokens(part: Part) -> float:
    match part:
        case TextPart():
            return text_tokens(part.text)
        case ImagePart():
            return picture_tokens(part.media)
        case ResultPart():
            return text_tokens(part.text) + sum(map(picture_tokens, part.media))
        case CallPart():
            return text_tokens(str(part.args))
        case OpaquePart():
            return text_tokens(str(part.value))


def estimated_tokens(history: History) -> int:
    """A rough count, rather too high for English text."""
    return math.ceil(sum(_part_tokens(part) for entry in history.entries for part in entry.message.parts))


class ContextWindow:
    """The limits of one model. `capacity_tokens` is how much it can read."""

    def __init__(self, model: str, capacity_tokens: int) -> None:
        self._rule = rule_of(model)
        self._capacity = capacity_tokens

    def evict_pictures(self, history: History) -> int:
        """Drop old pictures if there are too many. Returns how many were dropped."""
        pictures = [media for entry in history.entries for part in entry.message.parts for media in _media(part)]
        if len(pictures) < self._rule.at:
            return 0
        gone = {id(media) for media in pictures[: len(pictures) - self._rule.keep]}
        history.rewrite(lambda part: self._edited(part, gone, "picture_gone"))
        return len(gone)

    def leave_out_refused(self, history: History) -> bool:
        """Put a sentence in place of the pictures that the service has not accepted yet: those after the model's last
        words, or all of them if there are none. Returns False if the history has no picture.
        """
        gone: set[int] = set()
        for entry in reversed(history.entries):
            if gone and entry.kind is EntryKind.MODEL:
                break
            gone |= {id(media) for part in entry.message.parts for media in _media(part)}
        history.rewrite(lambda part: self._edited(part, gone, "picture_refused"))
        return bool(gone)

    def is_full(self, history: History, told_tokens: int, fixed_tokens: int = 0) -> bool:
        """Return whether the history is so long that it should be shortened.

        `told_tokens` is the provider's count of the latest request; `fixed_tokens` is the count of the prompt and the
        tools.
        """
        return bool(
            max(told_tokens, estimated_tokens(history) + fixed_tokens)
            > self._capacity * _tables()["compaction"]["full"]
        )

    def _edited(self, part: Part, gone: set[int], why: str) -> Part | None:
        if isinstance(part, OpaquePart) and self._rule.drops_opaque:
            return None
        if isinstance(part, ImagePart) and id(part.media) in gone:
            return TextPart(told(why, label=part.media.label or "picture"), Author.WISP)
        if isinstance(part, ResultPart) and any(id(media) in gone for media in part.media):
            labels = [told(why, label=media.label or "picture") for media in part.media if id(media) in gone]
            kept = tuple(media for media in part.media if id(media) not in gone)
            text = "\n".join([part.text, *labels]).strip()
            return ResultPart(part.call_id, text, kept, part.is_error, part.toolset)
        return part


def _media(part: Part) -> tuple[Media, ...]:
    if isinstance(part, ImagePart):
        return (part.media,)
    return part.media if isinstance(part, ResultPart) else ()


@dataclass(frozen=True, slots=True)
class Compaction:
    """How to shorten a history. A summary must cover `material`; the `kept` last entries do not change."""

    person: tuple[Message, ...]
    material: str
    kept: tuple[Entry, ...]

    def entries(self, summary: str) -> tuple[Entry, ...]:
        """In order: the person's words, the summary, and the last entries."""
        said = tuple(Entry(EntryKind.PERSON, message) for message in self.person)
        return (*said, Entry(EntryKind.SUMMARY, note("summary", text=summary)), *self.kept)


def plan(history: History) -> Compaction | None:
    """Return how the conversation can be shortened, or None if it is too short for that."""
    limits = _tables()["compaction"]
    entries = history.entries
    start = _start_of_kept(entries, limits["last"])
    old = entries[:start]
    if sum(entry.kind is not EntryKind.PERSON for entry in old) < 2:
        return None
    person = tuple(_clipped(entry.message, limits["person"]) for entry in old if entry.kind is EntryKind.PERSON)
    material = "\n\n".join(f"[{entry.kind.value}]\n{_plain(entry.message, limits['result'])}" for entry in old)
    return Compaction(person, material, entries[start:])


def _start_of_kept(entries: tuple[Entry, ...], last: int) -> int:
    """The first entry to keep: a message of the model, so that no result loses its call."""
    start = max(len(entries) - last, 0)
    while start < len(entries) and entries[start].message.role is not Role.ASSISTANT:
        start += 1
    return start


def _clipped(message: Message, limit: int) -> Message:
    parts = tuple(
        replace(part, text=clip_middle(part.text, limit // 2, limit // 2)) if isinstance(part, TextPart) else part
        for part in message.parts
        if not isinstance(part, ImagePart)
    )
    return Message(message.role, parts or (TextPart(told("picture_gone", label="picture"), Author.WISP),))


def _plain(message: Message, limit: int) -> str:
    lines = []
    for part in message.parts:
        match part:
            case TextPart():
                lines.append(part.text)
            case ResultPart():
                lines.append(part.text)
            case CallPart():
                lines.append(f"{part.name} {dict(part.args)}")
            case ImagePart():
                lines.append(told("picture_gone", label=part.media.label or "picture"))
    return clip_middle("\n".join(lines), limit // 2, limit // 2)


def summary_tokens() -> int:
    """Return the length limit of a summary, in tokens."""
    return int(_tables()["compaction"]["summary_tokens"])


_SUMMARY_CHARS_A_TOKEN = 3
"""A low estimate, because the material for a summary must certainly fit into half the context window."""
_FALLBACK = 4000
"""How many characters of the material are kept if no summary could be made."""


class Compactor:
    """Shortens a history when it is nearly as long as the model can read."""

    def __init__(self, parts: SessionDeps, history: History, system: str) -> None:
        self._parts = parts
        self._history = history
        self._window = ContextWindow(parts.model, parts.window_tokens)
        self._fixed_tokens = len(system) // _SUMMARY_CHARS_A_TOKEN

    async def keep_room(self, turn: Turn) -> None:
        """Make room before a pass: drop old pictures, and shorten a history that is nearly too long."""
        self._window.evict_pictures(self._history)
        if self._window.is_full(self._history, turn.budget.prompt_tokens, self._fixed_tokens):
            await self.make_room(turn)

    def leave_out_refused(self, error: PictureRefused, turn: Turn) -> bool:
        """Take the pictures out that the service has refused. Returns False if the conversation has none."""
        if not self._window.leave_out_refused(self._history):
            return False
        language = self._parts.policy.language
        told = f"{error.for_people(words_in(language))} {ending('picture_refused', language)}"
        turn.tell(Notice("warning", told))
        return True

    async def make_room(self, turn: Turn) -> bool:
        """Shorten the history now. Returns False if it cannot be shortened."""
        compaction = plan(self._history)
        if compaction is None:
            return False
        summary = await self._summary(compaction, turn)
        self._history.replace(compaction.entries(summary))
        turn.tell(Notice("info", ending("compacted", self._parts.policy.language)))
        return True

    async def _summary(self, compaction: Compaction, turn: Turn) -> str:
        limit = self._parts.window_tokens * _SUMMARY_CHARS_A_TOKEN // 4
        request = Request(
            self._parts.model,
            resources.text("prompts/summary.md"),
            (user(clip_middle(compaction.material, limit, limit)),),
            max_tokens=summary_tokens(),
        )
        turn.budget.begin_stream()
        answer = SideAnswer()
        try:
            with suppress(ProviderError):
                await answer.hear(self._parts.provider, request, self._parts.settings)
        finally:
            turn.budget.add(answer.usage)
            turn.tell(turn.budget.changed())
        text = answer.text.strip() if answer.is_whole else ""
        return text or told("summary_failed", text=compaction.material[-_FALLBACK:])


@dataclass(frozen=True, slots=True)
class BegunCall:
    """A call that was allowed to run. `outcome` is the result for the model, None if it never arrived."""

    call: ToolCall
    outcome: str | None


@dataclass(frozen=True, slots=True)
class Remains:
    """What is on disk of a conversation. `altered`: something was left out of an entry or the draft."""

    entries: tuple[Entry, ...]
    draft: Message | None = None
    calls: tuple[BegunCall, ...] = ()
    meanwhile: tuple[str, ...] = ()
    is_open: bool = False
    altered: bool = False


def continuable(remains: Remains, parts: SessionDeps) -> tuple[Entry, ...]:
    """Return a history that can be continued: every call is answered, and the roles alternate as servers expect."""
    entries = list(remains.entries)
    if remains.draft and remains.draft.parts:
        entries.append(Entry(EntryKind.MODEL, remains.draft))
        if answers := _answers(remains.calls, parts):
            entries.append(Entry(EntryKind.RESULTS, parts.dialect.answer(answers)))
    entries = _answered(entries)
    if remains.is_open:
        entries.append(Entry(EntryKind.NOTE, note("ended_turn")))
    heard = (Words(text).meanwhile(told("said_meanwhile", text=text)) for text in remains.meanwhile if text)
    entries += [Entry(EntryKind.PERSON, Message(Role.USER, parts)) for parts in heard]
    if remains.altered and rule_of(parts.model).drops_opaque:
        entries = _without_signed(entries)
    return tuple(entries)


def _answers(calls: Sequence[BegunCall], parts: SessionDeps) -> list[Answer]:
    """Return the answers to these calls that the loop would have put into the history.

    If calls run while the model streams, these are the results that the model must read, and calls without a result.
    """
    parts.dialect.reader(parts.registry.specs)  # from now on the dialect knows which tags its answers must not open
    if parts.dialect.pacing is Pacing.ONE_FEEDBACK_CALL:
        calls = [begun for begun in calls if begun.outcome is None or _feeds_back(begun.call, parts)]
    return [Answer(begun.call.id, begun.call.name, _result(begun), begun.call) for begun in calls]


def _feeds_back(call: ToolCall, parts: SessionDeps) -> bool:
    spec = parts.registry.find(call.name)
    return spec is None or spec.feeds_back


def _result(begun: BegunCall) -> ToolResult:
    if begun.outcome is None:
        return failed(begun.call.name, cut_off())
    return ToolResult(True, begun.call.name, {}, begun.outcome)


def _answered(entries: Sequence[Entry]) -> list[Entry]:
    """Answer every native call in the very next message, because vendors require that."""
    mended: list[Entry] = []
    for number, entry in enumerate(entries):
        mended.append(entry)
        asked = [part for part in entry.message.parts if isinstance(part, CallPart)]
        if entry.message.role is Role.USER or not asked:
            continue
        following = entries[number + 1].message if number + 1 < len(entries) else user("")
        known = {part.call_id for part in following.parts if isinstance(part, ResultPart)}
        missing = tuple(
            ResultPart(part.id, cut_off().said, is_error=True, toolset=part.toolset)
            for part in asked
            if part.id not in known
        )
        if missing:
            mended.append(Entry(EntryKind.RESULTS, Message(Role.USER, missing)))
    return mended


def _without_signed(entries: Sequence[Entry]) -> list[Entry]:
    """Drop signed blocks, because they are only valid for the exact history that they were signed for."""
    plain = []
    for entry in entries:
        parts = tuple(part for part in entry.message.parts if not isinstance(part, OpaquePart))
        if parts or entry.message.role is Role.USER:
            plain.append(Entry(entry.kind, Message(entry.message.role, parts or (TextPart(""),))))
    return plain
