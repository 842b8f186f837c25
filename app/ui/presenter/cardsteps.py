"""How a call's card opens, fills and closes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from app.agent import events as agent
from app.base.clipping import clip_line
from app.ui.orb.state import Orb
from app.ui.presenter import browsing
from app.ui.presenter.cardwords import Words, words_for
from app.ui.presenter.checklists import is_checklist, listed
from app.ui.presenter.items import added, replaced, without_old_pictures
from app.ui.presenter.plainoutput import plain
from app.ui.presenter.view import Card, Picture, Status, View

KEPT_CHARS = 20_000
"""A card keeps this much of the end of what streams through it."""

_SENTENCE_CHARS = 400
_OUTPUT_NAMES = ("output", "text", "chunk", "line", "stdout")
_UNPROVEN = ("unverifiable", "suspected no-op")
_SENTENCE_NAMES = ("reason", "error", "message")


@dataclass(frozen=True, slots=True)
class CardSteps:
    """`words` translates the card's verbs."""

    words: Words

    def started(self, view: View, event: agent.TagStart, now: float) -> View:
        entry = words_for(event.tool)
        if event.voiced or entry.hidden:
            return view
        verb = self.words(entry.present)
        open_browser = browsing.going_on(view, entry.kind)
        if open_browser is not None:
            card = browsing.resumed(open_browser, event, verb, now)
            return replace(replaced(view, card), doing=doing(card))
        card = Card(
            key=f"c{view.serial}:{event.call_id}",
            tool=event.tool,
            glyph=entry.glyph,
            verb=verb,
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
        if is_checklist(event):
            return listed(view, event.payload)
        card = open_card(view, event.call_id)
        if card is None:
            return view
        output, gone = _end_of(plain(card.output + _first_text(event.payload, _OUTPUT_NAMES)))
        card = replace(
            card,
            output=output,
            output_left_out=card.output_left_out + gone,
            left_s=_number(event.payload, "left_s"),
            share=_share(event.payload),
        )
        return replaced(view, card)

    def finished(self, view: View, event: agent.ToolFinished, _now: float) -> View:
        card = open_card(view, event.call_id)
        if card is None:
            return view
        entry = words_for(card.tool)
        view = replace(view, pointed=place_of(event) or view.pointed)
        card = replace(
            card,
            verb=self.words(entry.past if event.ok else entry.failed),
            object=self._object(card, event.payload),
            status=_status(event),
            sentence=self._sentence(event),
            body=_first_text(event.payload, ("diff",)) or card.body,
            output=card.output or _outcome(event),
            picture=_picture(event, view.pointed),
            elapsed_s=event.elapsed_s,
            left_s=None,
            share=None,
        )
        view = replace(view, doing="", pointed=None if card.picture else view.pointed)
        card = browsing.finished(card, event)
        return without_old_pictures(replaced(view, card))

    def _sentence(self, event: agent.ToolFinished) -> str:
        """What a failed call has to say, or the status of a command that failed; nothing for what worked."""
        if event.ok:
            code = event.payload.get("exit_code")
            return self.words("It ended with status {code}.").format(code=code) if code else ""
        return clip_line(_first_text(event.payload, _SENTENCE_NAMES) or event.echo, _SENTENCE_CHARS)

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
    """Only what was seen to happen counts as done."""
    if not event.ok or event.payload.get("exit_code"):
        return Status.FAILED
    is_unproven = event.payload.get("proof") in _UNPROVEN
    return Status.UNVERIFIED if is_unproven or event.payload.get("verified") is False else Status.OK


def _outcome(event: agent.ToolFinished) -> str:
    """What a call brought that showed nothing while it ran: a command's output, lines that were read."""
    lines = event.payload.get("lines")
    if isinstance(lines, (list, tuple)):
        return _end_of(plain("\n".join(str(line) for line in lines)))[0]
    streams = (event.payload.get(name) for name in ("stdout", "stderr"))
    return _end_of(plain("\n".join(text for text in streams if isinstance(text, str) and text)))[0]


def place_of(event: agent.ToolFinished) -> tuple[int, int] | None:
    """Where on the screen a call acted, in screen pixels; None where it did not, or pictures of its own show it."""
    x, y = _number(event.payload, "x"), _number(event.payload, "y")
    return (int(x), int(y)) if event.ok and not event.media and x is not None and y is not None else None


def _picture(event: agent.ToolFinished, pointed: tuple[int, int] | None) -> Picture | None:
    if not event.media:
        return None
    media = event.media[-1]
    return Picture(media.data, media.width, media.height, media.label, _ring(event, pointed))


def _ring(event: agent.ToolFinished, pointed: tuple[int, int] | None) -> tuple[int, int] | None:
    """Where in the picture the last action was: told by the result, or reckoned from the part of the screen shown."""
    media, region = event.media[-1], event.payload.get("region")
    x, y = _number(event.payload, "x"), _number(event.payload, "y")
    if x is None and pointed is not None and isinstance(region, (list, tuple)) and len(region) == 4:
        left, top, width, height = (value if isinstance(value, int) else 0 for value in region)
        x = (pointed[0] - left) * media.width / max(width, 1)
        y = (pointed[1] - top) * media.height / max(height, 1)
    if x is None or y is None or not (0 <= x < media.width and 0 <= y < media.height):
        return None
    return int(x), int(y)


def _share(payload: Mapping[str, object]) -> float | None:
    """How much of a call is done, 0 to 1: as told, or from the time that is left."""
    told = _number(payload, "share", "fraction")
    left, limit = _number(payload, "left_s"), _number(payload, "limit_s")
    if told is None and left is not None and limit:
        return max(0.0, min(1 - left / limit, 1.0))
    return told


def _first_text(payload: Mapping[str, object], names: tuple[str, ...]) -> str:
    return next((value for name in names if isinstance(value := payload.get(name), str) and value), "")


def _number(payload: Mapping[str, object], *names: str) -> float | None:
    for name in names:
        value = payload.get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
    return None
