"""How a call's card opens, fills and closes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from app.agent import agent_events as agent
from app.base.texts import clip_line, for_people, terminal_text
from app.base.values import dataclass, replace
from app.ui.orb.state import Orb
from app.ui.presenter.view import (
    BrowserStep,
    Card,
    ChecklistLine,
    Item,
    ShownChecklist,
    ShownPicture,
    Source,
    Status,
    View,
)
from app.ui.presenter.wording import Words, entry_of, words_for

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
    """The card of the browser that is still open, where the thread's newest item is one."""
    last = view.items[-1] if view.items else None
    if kind != _BROWSER or not isinstance(last, Card) or last.kind != _BROWSER or not last.sights:
        return None
    return None if last.sights[-1].action == "close" else last


def resumed(card: Card, event: agent.TagStart, verb: str, now: float) -> Card:
    """The browser's card, with another step under way."""
    return replace(card, call=event.call_id, verb=verb, status=Status.RUNNING, since=now, elapsed_s=None, sentence="")


def finished(card: Card, event: agent.ToolFinished) -> Card:
    """The card with what its call has shown of the web."""
    if card.kind == _BROWSER:
        return _seen(card, event)
    return replace(card, sources=_sources(event.payload.get("results"))) if card.kind == _WEB else card


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
    """Return the short text in the head of a closed card."""
    return card.picture or next((one.picture for one in reversed(card.sights) if one.picture), None)


def frames_of(steps: Iterable[Card]) -> tuple[tuple[str, ShownPicture], ...]:
    """The pictures that were taken on the way, each with what was done."""
    found = list[tuple[str, ShownPicture]]()
    for card in steps:
        pictures = (card.picture, *(sight.picture for sight in card.sights))
        found += [(doing(card), picture) for picture in pictures if picture is not None]
    return tuple(found)


KEPT_ITEMS = 3_000
MOST_PICTURES = 24
_SLACK = 200


def added(view: View, item: Item) -> View:
    """The item at the end of the thread."""
    return replace(view, items=(*view.items, item), serial=view.serial + 1)


def replaced(view: View, item: Item) -> View:
    """The item in the place of the one with its key; looked for from the end, where changes happen."""
    for index in range(len(view.items) - 1, -1, -1):
        if view.items[index].key == item.key:
            return replace(view, items=(*view.items[:index], item, *view.items[index + 1 :]))
    return view


def dropped_below(view: View) -> View:
    """The thread within its bounds; items go in batches, so that this costs nothing for each event."""
    extra = len(view.items) - KEPT_ITEMS
    if extra <= _SLACK:
        return view
    return replace(view, items=view.items[extra:], dropped=view.dropped + extra)


def without_old_pictures(view: View) -> View:
    """The view with only the newest pictures kept."""
    pictured = [item for item in view.items if isinstance(item, Card) and item.picture is not None]
    for card in pictured[:-MOST_PICTURES]:
        view = replaced(view, replace(card, picture=None))
    return view


_PROGRESS = "task_progress"
_TOOL = "focus_chain"
_STEP_CHARS = 300
_MOST = 200


def is_checklist(event: agent.ToolProgress) -> bool:
    return event.event == _PROGRESS


def read(view: View, event: agent.ToolFinished) -> View:
    """The view with the checklist that the model has looked at."""
    return listed(view, event.payload) if event.ok and event.tool == _TOOL else view


def listed(view: View, payload: Mapping[str, object]) -> View:
    """The turn's checklist as it is now; an empty one changes nothing."""
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

_SENTENCE_CHARS = 400
_OUTPUT_NAMES = ("output", "text", "chunk", "line", "stdout")
_UNPROVEN = ("unverifiable", "suspected no-op")
_SENTENCE_NAMES = ("reason", "error", "message")


@dataclass(frozen=True, slots=True)
class CardSteps:
    """`words` translates the card's verbs."""

    words: Words

    def started(self, view: View, event: agent.TagStart, now: float) -> View:
        tool = entry_of(event.tool, event.attrs)
        entry = words_for(tool)
        if event.voiced or entry.hidden:
            return view
        verb = self.words(entry.present)
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
        if card is None or words_for(card.tool).body not in ("", event.param):
            return view
        body, gone = _end_of(card.body + event.text)
        return replaced(view, replace(card, body=body, body_left_out=card.body_left_out + gone))

    def running(self, view: View, event: agent.ToolRunning, now: float) -> View:
        card = open_card(view, event.call_id)
        view = replace(view, orb=Orb.BUSY) if view.orb is Orb.THINKING else view
        if card is None:
            return view
        if (tool := entry_of(card.tool, event.arguments)) != card.tool:  # because a message may bring them only now
            card = replace(card, tool=tool, verb=self.words(words_for(tool).present))
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
        card = finished(card, event)
        return without_old_pictures(replaced(view, card))

    def _sentence(self, event: agent.ToolFinished) -> str:
        """What a failed call has to say, or the status of a command that failed; nothing for what worked."""
        if event.ok:
            code = event.payload.get("exit_code")
            return self.words("It ended with status {code}.").format(code=code) if code else ""
        if event.payload.get("for_model") is True:
            return ""
        return clip_line(for_people(_first_text(event.payload, _SENTENCE_NAMES)), _SENTENCE_CHARS)

    def _object(self, card: Card, known: Mapping[str, object]) -> str:
        """The object said with what is known now; a template that lacks a word leaves what was said before."""
        known = {"tool": readable(card.tool), **known}
        return words_for(card.tool).object_of(known, self.words, card.object) or card.object


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
        return _end_of(terminal_text("\n".join(str(line) for line in lines)))[0]
    streams = (event.payload.get(name) for name in ("stdout", "stderr"))
    return _end_of(terminal_text("\n".join(text for text in streams if isinstance(text, str) and text)))[0]


def place_of(event: agent.ToolFinished) -> tuple[int, int] | None:
    """Where on the screen a call acted, in screen pixels; None where it did not, or pictures of its own show it."""
    x, y = _number(event.payload, "x"), _number(event.payload, "y")
    has_own = event.media and "changed_part" not in event.payload
    return (int(x), int(y)) if event.ok and not has_own and x is not None and y is not None else None


def pressed_name(event: agent.ToolFinished) -> str:
    """What the control is called that a call pressed; empty where that is not known."""
    return clip_line(str(event.payload.get("target") or ""), _TITLE_CHARS)


def _picture(event: agent.ToolFinished, pointed: tuple[int, int] | None) -> ShownPicture | None:
    if not event.media:
        return None
    media = event.media[-1]
    return ShownPicture(media.data, media.width, media.height, media.label, _ring(event, pointed))


def _ring(event: agent.ToolFinished, pointed: tuple[int, int] | None) -> tuple[int, int] | None:
    """Return the place of the last action in the picture: from the result, or from the captured region."""
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
    """Return how much of a call is done, 0 to 1: as the tool reports it, or from its time limit. None if unknown."""
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
