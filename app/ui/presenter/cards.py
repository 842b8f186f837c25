"""Open, fill and close the cards of calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from app.agent import agent_events as agent
from app.base.clipping import clip_line
from app.base.fact_words import failure_of, in_a_row, proof_of, row_of
from app.base.facts import Planned, Ran, first
from app.base.phrases import Phrase, Translations
from app.base.signs import terminal_text
from app.base.tool_words import ToolWords, entry_of, tool_words
from app.base.values import dataclass, replace
from app.ui.cards.kinds import CardContent, CardKind
from app.ui.orb.state import Orb
from app.ui.presenter.view import (
    BrowserStep,
    Card,
    ChecklistLine,
    Item,
    Offer,
    ShownChecklist,
    ShownPicture,
    Source,
    Status,
    TakeBack,
    View,
)

KEPT_SIGHTS = 50
KEPT_PICTURES = 12
_URL_CHARS = 500
_LINES = 40
_LINE_CHARS = 300
_SOURCES = 10
_TITLE_CHARS = 120
_SNIPPET_CHARS = 240
_BROWSER = "browser"
_WEB = "web"


def going_on(view: View, kind: str) -> Card | None:
    """Return the browser's card if a new call of this `kind` continues on it: it is the newest item, and the browser
    is open."""
    last = view.items[-1] if view.items else None
    if kind != _BROWSER or not isinstance(last, Card) or last.kind != _BROWSER or not last.sights:
        return None
    return None if last.sights[-1].action == "close" else last


def resumed(card: Card, event: agent.TagStart, verb: str, now: float) -> Card:
    """Return the browser's card with a new call on it that runs from `now` on. `verb` says what the call does."""
    return replace(card, call=event.call_id, verb=verb, status=Status.RUNNING, since=now, elapsed_s=None, sentence="")


def finished(card: Card, event: agent.ToolFinished, kind: CardKind | None) -> Card:
    """Return the card of a call that has ended, with what its result has: a browser step, search results, or what the
    feature's `kind` shows."""
    if card.kind == _BROWSER:
        return _seen(card, event)
    if kind is not None and event.ok:
        content = kind.shown(event.payload)
        return with_content(card, content) if content else card
    return replace(card, sources=_sources(event.payload.get("results"))) if card.kind == _WEB else card


def with_content(card: Card, content: CardContent) -> Card:
    """The content's picture, if it is another one, becomes the card's."""
    taken, picture = content.picture, card.picture
    if taken is not None and (picture is None or picture.data != taken.data):
        picture = ShownPicture(taken.data, taken.width, taken.height, card.object or taken.label)
    return replace(card, content=replace(content, picture=None), picture=picture)


def _seen(card: Card, event: agent.ToolFinished) -> Card:
    payload = event.payload
    url = _line(payload, "url", _URL_CHARS) or card.url
    before = card.sights[-1].picture if card.sights else None
    sight = BrowserStep(_line(payload, "action", 40), url, card.picture or before, _console(payload.get("console")))
    sights = (*card.sights, sight)[-KEPT_SIGHTS:]
    old = len(sights) - KEPT_PICTURES
    sights = tuple(replace(one, picture=None) if index < old else one for index, one in enumerate(sights))
    return replace(card, url=url, sights=sights, picture=None)


def _console(lines: object) -> tuple[str, ...]:
    if isinstance(lines, str):
        lines = lines.splitlines()
    if not isinstance(lines, (list, tuple)):
        return ()
    told = (_console_line(line) for line in lines[-_LINES:])
    return tuple(line for line in told if line)


def _console_line(line: object) -> str:
    if isinstance(line, Mapping):
        line = f"{line.get('level', '')} {line.get('text', '')}"
    return clip_line(terminal_text(str(line)), _LINE_CHARS)


def _sources(results: object) -> tuple[Source, ...]:
    if not isinstance(results, (list, tuple)):
        return ()
    told = [one for one in results[:_SOURCES] if isinstance(one, Mapping)]
    made = (
        Source(_line(one, "title", 120), _line(one, "url", _URL_CHARS), _line(one, "snippet", _SNIPPET_CHARS))
        for one in told
    )
    return tuple(source for source in made if source.title or source.url)


def _line(payload: Mapping[str, object], name: str, most: int) -> str:
    value = payload.get(name)
    return clip_line(value, most) if isinstance(value, str) else ""


def newest_picture(card: Card) -> ShownPicture | None:
    """Of the card or of its browser steps; None if it has none."""
    return card.picture or next((one.picture for one in reversed(card.sights) if one.picture), None)


def frames_of(steps: Iterable[Card]) -> tuple[tuple[str, ShownPicture], ...]:
    """Return the pictures taken during the steps, each after the words on its card ("Clicked Save")."""
    found = list[tuple[str, ShownPicture]]()
    for card in steps:
        pictures = (card.picture, *(sight.picture for sight in card.sights))
        found += [(doing(card), picture) for picture in pictures if picture is not None]
    return tuple(found)


KEPT_ITEMS = 3_000
MOST_PICTURES = 24
_SLACK = 200


def added(view: View, item: Item) -> View:
    """With the item at the end of the thread."""
    return replace(view, items=(*view.items, item), serial=view.serial + 1)


def replaced(view: View, item: Item) -> View:
    """With the item in place of the one with the same key; unchanged if no item has that key."""
    for index in range(len(view.items) - 1, -1, -1):
        if view.items[index].key == item.key:
            return replace(view, items=(*view.items[:index], item, *view.items[index + 1 :]))
    return view


def dropped_below(view: View) -> View:
    """Only the newest `KEPT_ITEMS` items stay. They go in batches, because each cut copies the thread."""
    extra = len(view.items) - KEPT_ITEMS
    if extra <= _SLACK:
        return view
    return replace(view, items=view.items[extra:], dropped=view.dropped + extra)


def without_old_pictures(view: View) -> View:
    """Only the newest `MOST_PICTURES` cards still have their picture."""
    pictured = [item for item in view.items if isinstance(item, Card) and item.picture is not None]
    for card in pictured[:-MOST_PICTURES]:
        view = replaced(view, replace(card, picture=None))
    return view


_PROGRESS = "task_progress"
_STEP_CHARS = 300
_MOST = 200


def is_checklist(event: agent.ToolProgress | agent.ToolFinished) -> bool:
    return event.event == _PROGRESS


def read(view: View, event: agent.ToolFinished) -> View:
    """Return the view with the checklist, if the event ends the model's call to read the checklist; else unchanged."""
    return listed(view, event.payload) if is_checklist(event) else view


def listed(view: View, payload: Mapping[str, object]) -> View:
    """With the turn's checklist as `payload` has it. A payload without lines changes nothing."""
    steps = _steps(payload.get("items"))
    if not steps:
        return view
    if any(item.key == view.checklist for item in view.items):
        return replaced(view, ShownChecklist(view.checklist, steps))
    made = ShownChecklist(f"l{view.serial}", steps)
    return replace(added(view, made), checklist=made.key)


def _steps(items: object) -> tuple[ChecklistLine, ...]:
    if not isinstance(items, (list, tuple)):
        return ()
    told = [item for item in items[:_MOST] if isinstance(item, Mapping)]
    return tuple(
        ChecklistLine(clip_line(str(item.get("text", "")), _STEP_CHARS), item.get("done") is True) for item in told
    )


KEPT_CHARS = 20_000
"""A card keeps this much of the end of what streams through it."""
_DRAWN_CHARS = 500_000
"""The same while a picture shows what the text draws. It can only be drawn from its beginning."""

_SENTENCE_CHARS = 400
_OUTPUT_NAMES = ("output", "text", "chunk", "line", "stdout")
_UNPROVEN = ("unverifiable", "suspected no-op")


@dataclass(frozen=True, slots=True)
class CardSteps:
    """Makes the view that follows an event of a call. `words` are those of the person's language, `kinds` the features'
    kinds of cards."""

    words: Translations
    kinds: Mapping[str, CardKind]

    def started(self, view: View, event: agent.TagStart, now: float) -> View:
        tool = entry_of(event.tool, event.attrs)
        entry = self._words_of(tool)
        if event.voiced or entry.hidden:
            return view
        verb = entry.verbs.present
        open_browser = going_on(view, entry.kind)
        if open_browser is not None:
            card = resumed(open_browser, event, verb, now)
            return replace(replaced(view, card), doing=doing(card))
        card = Card(
            key=f"c{view.serial}:{event.call_id}",
            tool=tool,
            glyph=entry.glyph,
            verb=verb,
            object=entry.object_of({"tool": readable(event.tool), **event.attrs}, self.words),
            kind=entry.kind,
            since=now,
        )
        return replace(added(view, card), doing=doing(card))

    def delta(self, view: View, event: agent.TagDelta, _now: float) -> View:
        card = open_card(view, event.call_id)
        if card is None or self._words_of(card.tool).body not in ("", event.param):
            return view
        body, gone = _end_of(card.body + event.text, _DRAWN_CHARS if card.picture else KEPT_CHARS)
        return replaced(view, replace(card, body=body, body_left_out=card.body_left_out + gone))

    def running(self, view: View, event: agent.ToolRunning, now: float) -> View:
        card = open_card(view, event.call_id)
        view = replace(view, orb=Orb.BUSY) if view.orb is Orb.THINKING else view
        if card is None:
            return view
        if (tool := entry_of(card.tool, event.arguments)) != card.tool:  # because a message may bring them only now
            card = replace(card, tool=tool, verb=self._words_of(tool).verbs.present)
        card = replace(card, object=self._object(card, event.arguments), status=Status.RUNNING, since=now)
        return replace(replaced(view, card), doing=doing(card))

    def progress(self, view: View, event: agent.ToolProgress, _now: float) -> View:
        if is_checklist(event):
            return listed(view, event.payload)
        card = open_card(view, event.call_id)
        if card is None:
            return view
        output, gone = _end_of(terminal_text(card.output + _first_text(event.payload, _OUTPUT_NAMES)))
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
        verbs = self._words_of(card.tool).verbs
        view = replace(view, pointed=place_of(event) or view.pointed)
        diff = _first_text(event.payload, ("diff",))
        body, gone = _end_of(diff or card.body)
        card = replace(
            card,
            verb=card.verb if event.payload.get("interrupted") else (verbs.past if event.ok else verbs.failed),
            object=self._object(card, known_of(event, self.words)),
            status=_status(event),
            sentence=clip_line(told_of(event, card.body, self.words), _SENTENCE_CHARS),
            body=body,
            body_left_out=gone + (0 if diff else card.body_left_out),
            output=card.output or _outcome(event),
            picture=_picture(event, view.pointed),
            elapsed_s=event.elapsed_s,
            left_s=None,
            share=None,
        )
        view = replace(view, doing="", pointed=None if card.picture else view.pointed)
        card = finished(card, event, self.kinds.get(card.kind))
        return without_old_pictures(replaced(view, card))

    def _words_of(self, tool: str) -> ToolWords:
        return tool_words(tool, self.words.language)

    def _object(self, card: Card, known: Mapping[str, object]) -> str:
        """What the call acts on, filled with the `known` values. If some are missing, the old words stay."""
        known = {"tool": readable(card.tool), **known}
        return self._words_of(card.tool).object_of(known, self.words, card.object) or card.object


def known_of(event: agent.ToolFinished, words: Translations) -> Mapping[str, object]:
    """Return what a result knows for the words on what its call acted on."""
    plan = first(Planned, event.facts)
    return {**event.payload, "when": plan.when.said(words)} if plan else event.payload


def told_of(event: agent.ToolFinished, typed: str, words: Translations) -> str:
    """What came of the call, or why it failed, to stand behind what was done; "" for nothing."""
    if not event.ok:
        return failure_of(event.facts, words)
    trashed = [Phrase("moved to the trash")] if event.payload.get("trashed") else []
    return in_a_row((*row_of(event.facts, typed), *trashed), words)


def has_failed(event: agent.ToolFinished) -> bool:
    """Return whether a call failed, or ran a command that did."""
    ran = first(Ran, event.facts)
    return not event.ok or (ran is not None and ran.has_failed)


def readable(tool: str) -> str:
    """Such as "open app" for `open_app`."""
    return clip_line(tool.replace("_", " ").replace("/", " "), 60)


def with_draft(view: View, call_id: str, picture: ShownPicture) -> View:
    """With the picture of what a call has drawn so far; unchanged if the call has ended."""
    card = open_card(view, call_id)
    return view if card is None else replaced(view, replace(card, picture=picture))


def doing(card: Card) -> str:
    return f"{card.verb} {card.object}".strip()


def last_act(view: View) -> str:
    """Return the row of the last act, as one line; "" if words came after it, or if it has not ended."""
    shown = (item for item in reversed(view.items) if not isinstance(item, (Offer, TakeBack)))
    last = next(shown, None)
    if not isinstance(last, Card) or last.is_open:
        return ""
    return f"{doing(last)} · {last.sentence}" if last.sentence else doing(last)


def open_card(view: View, call_id: str) -> Card | None:
    """None if the call has ended."""
    for item in reversed(view.items):
        if isinstance(item, Card) and item.call_id == call_id:
            return item if item.is_open else None
    return None


def _end_of(text: str, most: int = KEPT_CHARS) -> tuple[str, int]:
    """From a line's start if possible, with the count of the characters that were cut."""
    gone = len(text) - most
    if gone <= 0:
        return text, 0
    line = text.find("\n", gone, gone + most // 4)
    start = line + 1 if line >= 0 else gone
    return text[start:], start


def _status(event: agent.ToolFinished) -> Status:
    """A success whose effect could not be confirmed is UNVERIFIED, not OK."""
    if event.payload.get("interrupted"):
        return Status.STOPPED
    if has_failed(event):
        return Status.FAILED
    is_unproven = proof_of(event.facts) in _UNPROVEN
    return Status.UNVERIFIED if is_unproven or event.payload.get("verified") is False else Status.OK


def _outcome(event: agent.ToolFinished) -> str:
    """For a call that had no output while it ran: the command's output, or the lines that were read."""
    lines = event.payload.get("lines")
    if isinstance(lines, (list, tuple)):
        return _end_of(terminal_text("\n".join(str(line) for line in lines)))[0]
    streams = (event.payload.get(name) for name in ("stdout", "stderr"))
    return _end_of(terminal_text("\n".join(text for text in streams if isinstance(text, str) and text)))[0]


def place_of(event: agent.ToolFinished) -> tuple[int, int] | None:
    """Return where a call acted, in screen pixels; None if it did not, or if its own pictures show the place."""
    x, y = _number(event.payload, "x"), _number(event.payload, "y")
    has_own = event.media and "changed_part" not in event.payload
    return (int(x), int(y)) if event.ok and not has_own and x is not None and y is not None else None


def pressed_name(event: agent.ToolFinished) -> str:
    """Return the name of the control that a call pressed; "" if unknown."""
    return clip_line(str(event.payload.get("target") or ""), _TITLE_CHARS)


def _picture(event: agent.ToolFinished, pointed: tuple[int, int] | None) -> ShownPicture | None:
    if not event.media:
        return None
    media = event.media[-1]
    return ShownPicture(media.data, media.width, media.height, media.label, _ring(event, pointed))


def _ring(event: agent.ToolFinished, pointed: tuple[int, int] | None) -> tuple[int, int] | None:
    """Where the last action is, in the picture's pixels; None if outside. `pointed` is in screen pixels."""
    media, part = event.media[-1], event.payload.get("changed_part")
    x, y = _number(event.payload, "x"), _number(event.payload, "y")
    region = part or event.payload.get("region")
    if part and x is not None and y is not None:
        pointed, x, y = (int(x), int(y)), None, None
    if x is None and pointed is not None and isinstance(region, (list, tuple)) and len(region) == 4:
        left, top, width, height = (value if isinstance(value, int) else 0 for value in region)
        x = (pointed[0] - left) * media.width / max(width, 1)
        y = (pointed[1] - top) * media.height / max(height, 1)
    if x is None or y is None or not (0 <= x < media.width and 0 <= y < media.height):
        return None
    return int(x), int(y)


def _share(payload: Mapping[str, object]) -> float | None:
    """How much of a call is done, 0 to 1: as the tool reports it, or from its time limit. None if unknown."""
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
