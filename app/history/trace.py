"""A past turn as a trace: spans of OpenTelemetry in its own JSON, one a line.

Each line is a whole `TracesData` as the Collector's file exporter writes it, with a single span. So a Collector reads a
saved export as it is (`otlpjsonfile`), and no converter is needed:
https://opentelemetry.io/docs/specs/otel/protocol/file-exporter/

A turn is one trace: `invoke_agent` at its root, below it a `chat` for each answer of the model and an `execute_tool`
for each call; calls that were made for a goal stand below the goal's. Names are those of the GenAI conventions (looked
up in November 2026, when all were still in development), `wisp.*` where these have none:
https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/registry/attributes/gen-ai.md
Nested values are JSON text, which the conventions permit. Ids follow from the turn's id, so that they are the same in
each export.

The journal does not hold prompts, pictures, why an answer ended (so its words are `wisp.said`, because
`gen_ai.output.messages` must say why), or which error broke it. It also does not hold when a killed program ended: what
was open then ends with the last thing that was written down, as it does in a turn that still runs.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.agent.agent_events import (
    AgentEvent,
    Notice,
    Outcome,
    PassStarted,
    SaidMeanwhile,
    SayDelta,
    TagDelta,
    TagStart,
    ThoughtDelta,
    ToolFinished,
    ToolRunning,
    TurnEnded,
    TurnStarted,
    UsageChanged,
)
from app.agent.recording import event_of
from app.base.withheld import cleaned
from app.history.archive import is_held
from app.services.journal import audit, rows
from app.services.journal.rows import TurnRow

_INTERNAL, _CLIENT = 1, 3
_ERROR = 2
"""Numbers of https://github.com/open-telemetry/opentelemetry-proto/blob/main/opentelemetry/proto/trace/v1/trace.proto"""
_AGENT = "Wisp"
_OPERATION = "gen_ai.operation.name"
_TOOL = "gen_ai.tool.name"
_INTERRUPTED = "interrupted"
_RUNNING = "running"
_NO_ERRORS = frozenset({Outcome.FINISHED, Outcome.ANSWERED, Outcome.WAITING})
_RULINGS = frozenset({"allowed", "refused"})
_Happened = tuple[float, str, Mapping[str, Any]]
"""An event of a span: when, its name, and its attributes."""


@dataclass(slots=True)
class _Span:
    """A span that is being put together. Times are in seconds since 1970. `error` is the `error.type`, "" if none."""

    name: str
    key: str
    start: float
    end: float
    kind: int = _INTERNAL
    parent: _Span | None = None
    error: str = ""
    message: str = ""
    attributes: dict[str, Any] = field(default_factory=dict)
    events: list[_Happened] = field(default_factory=list)


@dataclass(slots=True)
class _Pass:
    """A `chat` span with what the model brought in it."""

    span: _Span
    said: list[str] = field(default_factory=list)
    thought: list[str] = field(default_factory=list)
    calls: int = 0


@dataclass(slots=True)
class _Call:
    """An `execute_tool` span. `written` are the arguments as the model wrote them, until the call ran with them."""

    span: _Span
    is_within: bool
    written: dict[str, Any]
    is_running: bool = False


def lines(db: sqlite3.Connection, turns: Sequence[TurnRow], version: str) -> list[str]:
    """Return the spans of turns of one conversation as lines of JSON, without secrets. `version` is the program's."""
    if not turns:
        return []
    past = rows.conversation(db, turns[0].conversation)
    rulings = _rulings(db, turns[0].conversation)
    told: dict[str, list[tuple[float, AgentEvent]]] = {}
    for one in rows.events(db, turns[0].conversation):
        if event := event_of(one.event):
            told.setdefault(one.turn, []).append((one.at, event))
    spans = (
        (turn, span)
        for turn in turns
        if turn.id in told
        for span in _spans(turn, told[turn.id], rulings.get(turn.id, ()), may_run=bool(past and is_held(past)))
    )
    return [json.dumps(_line(turn, span, version), ensure_ascii=False) for turn, span in spans]


def _spans(
    turn: TurnRow, told: Sequence[tuple[float, AgentEvent]], rulings: Iterable[_Happened], *, may_run: bool
) -> list[_Span]:
    """The root first, then in the order in which they appeared."""
    trace = _Trace(turn, told[0][0], is_running=may_run and not turn.ended)
    for at, event in told:
        trace.take(at, event)
        if isinstance(event, TurnEnded):
            break
    return trace.ended(rulings)


def _rulings(db: sqlite3.Connection, conversation: str) -> dict[str, list[_Happened]]:
    """Who allowed or refused a call, by the audit, for each turn."""
    found: dict[str, list[_Happened]] = {}
    for one in audit.of_conversation(db, conversation):
        if one.kind in _RULINGS:
            told = json.loads(one.details)
            about = {_TOOL: told.get("tool"), "wisp.decided_by": told.get("by"), "wisp.rule": told.get("rule")}
            found.setdefault(one.turn, []).append((one.at, f"wisp.{one.kind}", about))
    return found


class _Trace:
    """Puts the spans of one turn together, event by event."""

    def __init__(self, turn: TurnRow, at: float, *, is_running: bool) -> None:
        self._turn = turn
        self._is_running = is_running
        self._now = at
        self._spans: list[_Span] = []
        self._pass: _Pass | None = None
        self._open: dict[str, _Call] = {}
        self._used = UsageChanged(0, 0, cost_usd=0.0)
        self._ended: TurnEnded | None = None
        self._model = {"gen_ai.provider.name": turn.provider, "gen_ai.request.model": turn.model}
        about = {"gen_ai.agent.name": _AGENT, "wisp.turn.id": turn.id}
        self._root = self._begun("invoke_agent", _AGENT, None, _INTERNAL, {**about, **self._model})

    def take(self, at: float, event: AgentEvent) -> None:
        # The clock of a computer may be set back, but no span ends before it begins.
        at = self._now = max(at, self._now)
        match event:
            case PassStarted():
                self._begin_pass(event.number)
            case SayDelta() | ThoughtDelta() | TagDelta():
                self._read(event)
            case UsageChanged():
                self._use(event)
            case TagStart():
                self._open_call(event)
            case ToolRunning() if call := self._open.get(event.call_id):
                call.is_running, call.written, call.span.start = True, dict(event.arguments), at
            case ToolFinished() if call := self._open.pop(event.call_id, None):
                self._finish(call, event)
            case _:
                self._hear(event)

    def _hear(self, event: AgentEvent) -> None:
        """Take what belongs to the turn itself."""
        root, at = self._root, self._now
        match event:
            case TurnStarted():
                said = [{"role": "user", "parts": [_text(event.text)]}]
                root.attributes |= {"gen_ai.input.messages": said, "wisp.attached": list(event.attached)}
            case SaidMeanwhile():
                about = {"wisp.text": event.text, "wisp.attached": list(event.attached)}
                root.events.append((at, "wisp.said_meanwhile", about))
            case Notice():
                root.events.append((at, "wisp.notice", {"wisp.level": event.level, "wisp.text": event.sentence}))
            case TurnEnded():
                self._ended = event

    def ended(self, rulings: Iterable[_Happened]) -> list[_Span]:
        """Close what is open, and return all spans."""
        root, ended = self._root, self._ended
        if ended:
            outcome = ended.outcome.value
            root.error = "" if ended.outcome in _NO_ERRORS else outcome.replace(" ", "_")
            if root.error:
                root.message = ended.text
            else:
                answer = {"role": "assistant", "parts": [_text(ended.text)], "finish_reason": outcome}
                root.attributes["gen_ai.output.messages"] = [answer]
        else:
            outcome = _RUNNING if self._is_running else _INTERRUPTED
            root.error = "" if self._is_running else _INTERRUPTED
        root.attributes |= {"wisp.outcome": outcome, **_usage(self._used, UsageChanged(0, 0, cost_usd=0.0))}
        for call in self._open.values():
            self._close(call, "" if self._is_running else _INTERRUPTED)
        self._end_pass(is_last=True)
        root.end = self._now
        root.events += [one for one in rulings if root.start <= one[0] <= root.end]
        root.events.sort(key=lambda one: one[0])
        return self._spans

    def _begun(
        self,
        operation: str,
        name: str,
        parent: _Span | None,
        kind: int = _INTERNAL,
        more: Mapping[str, Any] | None = None,
    ) -> _Span:
        titled = f"{operation} {name}".rstrip()
        span = _Span(titled, f"{self._turn.id}/{len(self._spans)}", self._now, self._now, kind, parent)
        span.attributes = {_OPERATION: operation, "gen_ai.conversation.id": self._turn.conversation, **(more or {})}
        self._spans.append(span)
        return span

    # answers of the model

    def _begin_pass(self, number: int) -> None:
        self._end_pass()
        span = self._begun("chat", self._turn.model, self._root, _CLIENT, {**self._model, "wisp.pass": number})
        self._pass = _Pass(span)

    def _read(self, piece: SayDelta | ThoughtDelta | TagDelta) -> None:
        if isinstance(piece, TagDelta) and (call := self._open.get(piece.call_id)):
            call.written[piece.param] = str(call.written.get(piece.param, "")) + piece.text
        if self._pass is None or self._running():  # while a call runs, only its own goal brings anything
            return
        self._pass.span.end = self._now
        if isinstance(piece, ThoughtDelta):
            self._pass.thought.append(piece.text)
        elif isinstance(piece, SayDelta) and not piece.call_id:
            self._pass.said.append(piece.text)

    def _running(self) -> list[_Call]:
        return [call for call in self._open.values() if call.is_running and not call.is_within]

    def _use(self, used: UsageChanged) -> None:
        """Give what is new to whose it is: while a call runs, that call has asked the model, else it is the pass's."""
        new, self._used = _usage(used, self._used), used
        running = self._running()
        if not self._turn.provider:  # because an earlier version wrote only the sum of the turn
            return
        if len(running) == 1:
            _add(running[0].span.attributes, new)
        elif self._pass and not running:
            _add(self._pass.span.attributes, new)
            self._pass.span.end = self._now

    def _end_pass(self, *, is_last: bool = False) -> None:
        """End the pass's span at the last thing that the model brought. Without calls, the pass was nothing else."""
        one, self._pass = self._pass, None
        if one is None:
            return
        span, error = one.span, self._root.error
        span.attributes |= {"wisp.said": "".join(one.said), "wisp.thought": "".join(one.thought)}
        if one.calls:
            return
        span.end = self._now
        is_cut = error in (_INTERRUPTED, Outcome.STOPPED.value) or not (one.said or one.thought)
        if is_last and error and is_cut:
            span.error, span.message = error, self._root.message

    # calls

    def _open_call(self, event: TagStart) -> None:
        outer = self._open.get(event.within)
        if self._pass and not outer:
            self._pass.calls += 1
            self._pass.span.end = self._now
        more = {_TOOL: event.tool, "gen_ai.tool.call.id": event.call_id}
        span = self._begun("execute_tool", event.tool, outer.span if outer else self._root, more=more)
        if self._pass:
            span.attributes["wisp.pass"] = self._pass.span.attributes["wisp.pass"]
        self._open[event.call_id] = _Call(span, outer is not None, dict(event.attrs))

    def _finish(self, call: _Call, event: ToolFinished) -> None:
        self._close(call, "" if event.ok else _failure(event.payload))
        if event.ok:
            call.span.attributes["gen_ai.tool.call.result"] = event.echo
        else:
            call.span.message = event.echo

    def _close(self, call: _Call, error: str) -> None:
        span = call.span
        span.end, span.error = self._now, error
        span.attributes |= {"gen_ai.tool.call.arguments": call.written, "wisp.call.has_run": call.is_running}


def _failure(payload: Mapping[str, Any]) -> str:
    """The kind of a failed call, by what its result says as data."""
    kinds = {
        "interrupted": _INTERRUPTED,
        "denied": "not_allowed",
        "needs_person": "needs_person",
        "for_model": "misuse",
    }
    return next((kind for name, kind in kinds.items() if payload.get(name)), "failed")


def _text(content: str) -> dict[str, str]:
    return {"type": "text", "content": content}


def _usage(now: UsageChanged, before: UsageChanged) -> dict[str, float]:
    """What was used in between. In the conventions, the input includes what came from a cache or went to one."""
    read, cached = now.input_tokens - before.input_tokens, now.cache_read_tokens - before.cache_read_tokens
    kept, wrote = now.cache_write_tokens - before.cache_write_tokens, now.output_tokens - before.output_tokens
    used: dict[str, float] = {
        "gen_ai.usage.input_tokens": read + cached + kept,
        "gen_ai.usage.output_tokens": wrote,
        "gen_ai.usage.cache_read.input_tokens": cached,
        "gen_ai.usage.cache_creation.input_tokens": kept,
        "wisp.cost_usd": round((now.cost_usd or 0.0) - (before.cost_usd or 0.0), 6),
    }
    return {name: value for name, value in used.items() if value}


def _add(attributes: dict[str, Any], used: Mapping[str, float]) -> None:
    for name, value in used.items():
        attributes[name] = attributes.get(name, 0) + value


# the JSON of https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding


def _line(turn: TurnRow, span: _Span, version: str) -> dict[str, Any]:
    told: dict[str, Any] = {
        "traceId": _digest(turn.id, 32),
        "spanId": _digest(span.key, 16),
        **({"parentSpanId": _digest(span.parent.key, 16)} if span.parent else {}),
        "name": span.name,
        "kind": span.kind,
        "startTimeUnixNano": _nanoseconds(span.start),
        "endTimeUnixNano": _nanoseconds(span.end),
        "attributes": _attributes({**span.attributes, "error.type": span.error}),
        "events": [
            {"timeUnixNano": _nanoseconds(at), "name": name, "attributes": _attributes(about)}
            for at, name, about in span.events
        ],
        "status": {"code": _ERROR, "message": cleaned(span.message)} if span.error else {},
    }
    scope = {"name": "wisp.export-trace", "version": version}
    resource = {"attributes": _attributes({"service.name": "wisp"})}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": scope, "spans": [told]}]}]}


def _digest(name: str, digits: int) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:digits]


def _nanoseconds(at: float) -> str:
    """As text, because a number of 64 bits loses digits in JSON. The journal's times are no finer than microseconds."""
    return str(round(at * 1_000_000) * 1000)


def _attributes(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What is empty is left out."""
    return [
        {"key": name, "value": _value(cleaned(value))} for name, value in values.items() if value not in ("", None, [])
    ]


def _value(value: Any) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case str():
            return {"stringValue": value}
        case _:
            return {"stringValue": json.dumps(value, ensure_ascii=False)}
