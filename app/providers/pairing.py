"""Repair a conversation so that every vendor accepts it: roles alternate, and each call has exactly one answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from app.protocol import payload
from app.protocol.call import JsonValue
from app.protocol.message import CallPart, ImagePart, Message, Part, ResultPart, Role, TextPart
from app.providers.api import NativeCallEnded

HALTED = {
    "computer": "Not executed: an earlier computer action in this turn failed.",
    "browser": "Not executed: an earlier action in this turn failed.",
}
"""The exact words that the vendor requires for calls of its toolsets after a failed one."""

_NOT_RUN = "Not executed: the turn ended before it."
_EARLIER = "Result of an earlier call: "


def paired(messages: Sequence[Message]) -> list[Message]:
    """Return the messages in a form that every vendor accepts.

    Neighbouring messages of one role are joined. A call without a result gets one that says so. A result without a call
    (because the history dropped the call) becomes text.
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
    """One result per call, in the order of the calls."""
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
    """The stream contains something that its format does not allow."""


def words(value: object) -> str:
    """The value itself. Raises WireError if it is no text."""
    if not isinstance(value, str):
        raise WireError(f"{value!r:.40} where a text belongs")
    return value


def call_ended(call_id: str, text: str, given: Mapping[str, JsonValue] | None = None) -> NativeCallEnded:
    """Return the end of a native call. Its arguments are in the JSON `text`; if that is empty, they are `given`."""
    if not text.strip():
        return NativeCallEnded(call_id, given or {})
    try:
        args = payload.load(text)
        if isinstance(args, str):  # because some servers encode the arguments twice
            args = payload.load(args)
    except (ValueError, RecursionError):  # The text is kept, so that the model can be shown what it sent.
        return NativeCallEnded(call_id, {}, text)
    return NativeCallEnded(call_id, args) if isinstance(args, dict) else NativeCallEnded(call_id, {}, text)
