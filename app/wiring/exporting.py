"""A conversation as a document that people read: who said what, and what was done in between."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence

from app.agent.archive import PastConversation
from app.agent.events import AgentEvent, Notice, SaidMeanwhile, SayDelta, TagStart, ToolFinished, TurnEnded, TurnStarted
from app.base.clipping import clip_line

_LINE_CHARS = 300


def as_markdown(past: PastConversation, shown: Sequence[AgentEvent]) -> str:
    """The title, then turn after turn: the person's words quoted, speech as it is, one line for each thing done."""
    began = datetime.datetime.fromtimestamp(past.began_at).astimezone()
    cost = "" if past.cost_usd is None else f" · ${past.cost_usd:.2f}"
    head = f"# {past.title}\n\n{began:%Y-%m-%d %H:%M}{cost}\n"
    return "\n".join([head, *_paragraphs(shown)]).rstrip() + "\n"


def _paragraphs(shown: Sequence[AgentEvent]) -> Iterator[str]:
    speech: list[str] = []
    voiced: set[str] = set()
    said = ""
    for event in shown:
        if isinstance(event, TagStart) and event.voiced:
            voiced.add(event.call_id)
        if isinstance(event, SayDelta):
            speech.append(event.text)
            continue
        if speech and (paragraph := "".join(speech).strip()):
            said += paragraph
            yield f"{paragraph}\n"
        speech = []
        if isinstance(event, TurnStarted):
            said = ""
        yield from _lines(event, voiced, said)


def _lines(event: AgentEvent, voiced: set[str], said: str) -> Iterator[str]:
    match event:
        case TurnStarted() | SaidMeanwhile():
            quoted = "\n".join(f"> {line}" for line in event.text.splitlines() or [""])
            yield f"{quoted}\n"
        case ToolFinished() if not (event.ok and event.call_id in voiced):
            yield f"- {'✓' if event.ok else '✗'} `{event.tool}` {clip_line(event.echo, _LINE_CHARS)}\n"
        case Notice():
            yield f"*{event.sentence}*\n"
        case TurnEnded() if event.text.strip() and event.text.strip() not in said:
            yield f"**{event.outcome.value}**: {event.text}\n"
