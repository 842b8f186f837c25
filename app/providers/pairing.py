"""A conversation that every vendor accepts: roles alternate, and each call is answered right after it, exactly once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from app.protocol import payload
from app.protocol.call import JsonValue
from app.protocol.message import CallPart, ImagePart, Message, Part, ResultPart, Role, TextPart
from app.providers.api import NativeCallEnded

HALTED = {"computer": "Not executed: an earlier computer action in this turn failed."}
"""What the vendor wants to read, word for word, about calls of its toolset after one that failed."""

_NOT_RUN = "Not executed: the turn ended before it."
_EARLIER = "Result of an earlier call: "


def paired(messages: Sequence[Message]) -> list[Message]:
    """Neighbours of one role become one message; calls without a result get one that says so; results without a call
    (their call was taken out of the history) become text.
    """
    whole: list[Message] = []
    for message in _joined(messages):
        calls = _calls(whole[-1]) if whole else []
        if message.role is Role.USER:
            whole.append(Message(Role.USER, (*_answers(calls, message.parts), *_rest(calls, message.parts))))
        else:
            whole.append(message)
    if whole and (calls := _calls(whole[-1])):
        whole.append(Message(Role.USER, tuple(_answers(calls, ()))))
    return whole


def _joined(messages: Iterable[Message]) -> list[Message]:
    joined: list[Message] = []
    for message in messages:
        if joined and joined[-1].role is message.role:
            joined[-1] = Message(message.role, joined[-1].parts + message.parts)
        elif message.parts:
            joined.append(message)
    return joined


def _calls(message: Message) -> list[CallPart]:
    return [part for part in message.parts if isinstance(part, CallPart)]


def _answers(calls: list[CallPart], parts: tuple[Part, ...]) -> Iterable[ResultPart]:
    """One result for each call, in the calls' order."""
    given = {part.call_id: part for part in parts if isinstance(part, ResultPart)}
    failed: set[str] = set()
    for call in calls:
        missing = HALTED.get(call.toolset, _NOT_RUN) if call.toolset in failed else _NOT_RUN
        result = given.get(call.id) or ResultPart(call.id, missing, is_error=True)
        failed |= {call.toolset} if result.is_error else set()
        yield result


def _rest(calls: list[CallPart], parts: tuple[Part, ...]) -> Iterable[Part]:
    wanted = {call.id for call in calls}
    for part in parts:
        if not isinstance(part, ResultPart):
            yield part
        elif part.call_id not in wanted:
            yield TextPart(_EARLIER + part.text)
            yield from (ImagePart(media) for media in part.media)


class WireError(ValueError):
    """The stream holds something that its format does not allow."""


def words(value: object) -> str:
    """A text of the wire; anything else is no text. Raises WireError."""
    if not isinstance(value, str):
        raise WireError(f"{value!r:.40} where a text belongs")
    return value


def call_ended(call_id: str, text: str, given: Mapping[str, JsonValue] | None = None) -> NativeCallEnded:
    """Build the end of a call from its arguments as JSON `text`. If empty, use those given with its start."""
    if not text.strip():
        return NativeCallEnded(call_id, given or {})
    try:
        args = payload.load(text)
    except (ValueError, RecursionError):
        return NativeCallEnded(call_id, {}, text)
    return NativeCallEnded(call_id, args) if isinstance(args, dict) else NativeCallEnded(call_id, {}, text)
