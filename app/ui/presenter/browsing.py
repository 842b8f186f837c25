"""The web in cards: a browser's steps share one card, a search shows what it has found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from app.agent import events as agent
from app.base.clipping import clip_line
from app.ui.presenter.plainoutput import plain
from app.ui.presenter.view import Card, Picture, Sight, Source, Status, View

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
    sight = Sight(_line(payload, "action", 40), url, card.picture or before, _console(payload.get("console")))
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
    return clip_line(plain(str(line)), _LINE_CHARS)


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


def newest_picture(card: Card) -> Picture | None:
    """What stands small in the closed card's head."""
    return card.picture or next((one.picture for one in reversed(card.sights) if one.picture), None)
