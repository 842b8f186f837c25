"""The lines of JSON by which a question to the person and the answer travel between two processes of Wisp.

Apart from `questions`, because the presence needs pydantic only once somebody asks.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, StrictBool

from app.agent.agent_events import ApprovalWanted, Scope
from app.agent.gate import ApprovalAnswer
from app.base.phrases import Phrase
from app.base.values import replace

_SIDE_PX = 65_535


class _Question(BaseModel):
    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    wanted: ApprovalWanted


class _Answer(BaseModel):
    """`why` is the sentence of a no that is not the person's; `words` are what the person said with theirs."""

    allowed: StrictBool
    scope: Scope = Scope.ONCE
    words: str = ""
    why: str = ""


def question_line(wanted: ApprovalWanted) -> bytes:
    """Return the line that asks. Raises ValueError for a text that is no Unicode."""
    return _Question(wanted=wanted).model_dump_json().encode() + b"\n"


def question_of(line: bytes) -> ApprovalWanted:
    """Read a question. Raises ValueError if it is none, or if the presence could not show it."""
    wanted = _Question.model_validate_json(line).wanted
    if not _is_picture_sound(wanted):
        raise ValueError("The picture has no such size, or the ring lies outside.")
    return replace(wanted, scopes=_offered(wanted.scopes))


def answer_line(answer: ApprovalAnswer) -> bytes:
    why = "" if answer.is_denied else str(answer.refusal)
    told = _Answer(allowed=not answer.refusal, scope=answer.scope, words=answer.words, why=why)
    return told.model_dump_json().encode() + b"\n"


def answer_of(line: bytes, wanted: ApprovalWanted) -> ApprovalAnswer:
    """Read the answer to this question. Raises ValueError if it is none."""
    told = _Answer.model_validate_json(line)
    if told.allowed:
        return ApprovalAnswer(scope=told.scope if told.scope in _offered(wanted.scopes) else Scope.ONCE)
    return ApprovalAnswer.unasked(Phrase(told.why)) if told.why else ApprovalAnswer.denied(told.words)


def _offered(scopes: Sequence[Scope]) -> tuple[Scope, ...]:
    """Leave out what lasts: who asks has a name that nobody but itself vouches for."""
    return tuple(scope for scope in scopes if scope is not Scope.ALWAYS) or (Scope.ONCE,)


def _is_picture_sound(wanted: ApprovalWanted) -> bool:
    if (picture := wanted.picture) is None:
        return wanted.ring is None
    sides = picture.width, picture.height
    is_inside = wanted.ring is None or all(0 <= at <= side for at, side in zip(wanted.ring, sides, strict=True))
    return is_inside and all(0 < side <= _SIDE_PX for side in sides)
