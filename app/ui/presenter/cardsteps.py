"""How a call's card opens, fills and closes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from app.agent import events as agent
from app.base.clipping import clip_line
from app.ui.presenter.cardwords import Words, words_for
from app.ui.presenter.items import added, replaced, without_old_pictures
from app.ui.presenter.view import Card, Orb, Picture, Status, View

KEPT_CHARS = 20_000
"""A card keeps this much of the end of what streams through it."""

_SENTENCE_CHARS = 400
_OUTPUT_NAMES = ("output", "text", "chunk", "line", "stdout")
_SENTENCE_NAMES = ("reason", "error", "message")


@dataclass(frozen=True, slots=True)
class CardSteps:
    """`words` translates the card's verbs."""

    words: Words

    def started(self, view: View, event: agent.TagStart, now: float) -> View:
        entry = words_for(event.tool)
        if event.voiced or entry.hidden:
            return view
        card = Card(
            key=f"c{view.serial}:{event.call_id}",
            tool=event.tool,
            glyph=entry.glyph,
            verb=self.words(entry.present),
            object=entry.object_of({"tool": readable(event.tool), **event.attrs}, self.words),
            kind=entry.kind,
            since=now,
            small=entry.small,
        )
        return replace(added(view, card), doing=doing(card))

    def delta(self, view: View, event: agent.TagDelta, _now: float) -> View:
        card = open_card(view, event.call_id)
        if card is None or words_for(card.tool).body not in ("", event.param):
            return view
        body, gone = _end_of(card.body + event.text)
        return replaced(view, replace(card, body=body, body_left_out=card.body_left_out + gone))

    def running(self, view: View, event: agent.ToolRunning, now: float) -> View:
        card = open_card(view, event.call_id)
        view = replace(view, orb=Orb.BUSY) if view.orb is Orb.THINKING else view
        if card is None:
            return view
        card = replace(card, object=self._object(card, event.arguments), status=Status.RUNNING, since=now)
        return replace(replaced(view, card), doing=doing(card))

    def progress(self, view: View, event: agent.ToolProgress, _now: float) -> View:
        card = open_card(view, event.call_id)
        if card is None:
            return view
        output, gone = _end_of(card.output + _first_text(event.payload, _OUTPUT_NAMES))
        card = replace(
            card,
            output=output,
            output_left_out=card.output_left_out + gone,
            left_s=_number(event.payload, "left_s", "remaining_s"),
            share=_number(event.payload, "share", "fraction"),
        )
        return replaced(view, card)

    def finished(self, view: View, event: agent.ToolFinished, _now: float) -> View:
        card = open_card(view, event.call_id)
        if card is None:
            return view
        entry = words_for(card.tool)
        card = replace(
            card,
            verb=self.words(entry.past if event.ok else entry.failed),
            object=self._object(card, event.payload),
            status=_status(event),
            sentence=_sentence(event),
            picture=_picture(event),
            elapsed_s=event.elapsed_s,
            left_s=None,
            share=None,
        )
        return replace(without_old_pictures(replaced(view, card)), doing="")

    def _object(self, card: Card, known: Mapping[str, object]) -> str:
        """The object said with what is known now; a template that lacks a word leaves what was said before."""
        return words_for(card.tool).object_of({"tool": readable(card.tool), **known}, self.words) or card.object


def readable(tool: str) -> str:
    """A tool's name as words."""
    return clip_line(tool.replace("_", " ").replace("/", " "), 60)


def doing(card: Card) -> str:
    return f"{card.verb} {card.object}".strip()


def open_card(view: View, call_id: str) -> Card | None:
    """The card of a call that has not ended."""
    for item in reversed(view.items):
        if isinstance(item, Card) and item.call_id == call_id:
            return item if item.is_open else None
    return None


def _end_of(text: str) -> tuple[str, int]:
    """The end of a text within bounds, cut at a line's start where there is one, and how much is gone."""
    gone = len(text) - KEPT_CHARS
    if gone <= 0:
        return text, 0
    line = text.find("\n", gone, gone + KEPT_CHARS // 4)
    start = line + 1 if line >= 0 else gone
    return text[start:], start


def _status(event: agent.ToolFinished) -> Status:
    if not event.ok:
        return Status.FAILED
    return Status.UNVERIFIED if event.payload.get("verified") is False else Status.OK


def _sentence(event: agent.ToolFinished) -> str:
    """What a failed call has to say; nothing for one that worked."""
    if event.ok:
        return ""
    return clip_line(_first_text(event.payload, _SENTENCE_NAMES) or event.echo, _SENTENCE_CHARS)


def _picture(event: agent.ToolFinished) -> Picture | None:
    if not event.media:
        return None
    media = event.media[-1]
    x, y = _number(event.payload, "x"), _number(event.payload, "y")
    inside = x is not None and y is not None and 0 <= x < media.width and 0 <= y < media.height
    ring = (int(x), int(y)) if inside and x is not None and y is not None else None
    return Picture(media.data, media.width, media.height, media.label, ring)


def _first_text(payload: Mapping[str, object], names: tuple[str, ...]) -> str:
    return next((value for name in names if isinstance(value := payload.get(name), str) and value), "")


def _number(payload: Mapping[str, object], *names: str) -> float | None:
    for name in names:
        value = payload.get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
    return None
