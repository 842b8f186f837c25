"""The conversation sorted: what the person wished for, and how the calls made for it went.

Only words of the person are ever read as wishes. Results are looked at for success or failure and quoted, never obeyed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum

from app.protocol.message import Message, Role, TextPart
from app.providers.offline.lexicon import lexicon

_RESULT = re.compile(r'<result tool="[^"]*" status="(?P<status>\w+)">(?P<text>.*?)</result>', re.DOTALL)
_OK = "ok"
_PROOFS = ("suspected no-op", "unverifiable", "confirmed")
"""Of receipts, the weakest first."""


class Origin(Enum):
    PERSON = "a new wish"
    MEANWHILE = "a wish said while another was carried out"
    RESULTS = "what a call brought"
    LOOP = "what the loop told the model"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one call went; `text` is the tool's own words."""

    ok: bool
    text: str

    @property
    def proof(self) -> str:
        """What the receipt claims; where several stand in the text, the weakest counts."""
        return next((proof for proof in _PROOFS if f"({proof})" in self.text), "")

    @property
    def is_dry(self) -> bool:
        """Whether nothing was really done."""
        return lexicon().table("notes.notes")["dry"] in self.text


@dataclass(slots=True)
class Exchange:
    """A wish, what was said while it was carried out, and the outcomes of the calls made for it, in order."""

    wishes: list[str] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)


def exchanges(messages: Sequence[Message]) -> list[Exchange]:
    """All wishes of the conversation, the latest last."""
    found: list[Exchange] = []
    for origin, text in _sorted(messages):
        match origin:
            case Origin.PERSON:
                found.append(Exchange([text]))
            case Origin.MEANWHILE if found:
                found[-1].wishes.append(text)
            case Origin.MEANWHILE:
                found.append(Exchange([text]))
            case Origin.RESULTS if found:
                found[-1].outcomes.append(_outcome(text))
            case _:
                continue
    return found


def _sorted(messages: Sequence[Message]) -> Iterator[tuple[Origin, str]]:
    for message in messages:
        if message.role is not Role.USER:
            continue
        for part in message.parts:
            if isinstance(part, TextPart) and part.text.strip():
                yield _origin(part.text)


def _origin(text: str) -> tuple[Origin, str]:
    table = lexicon().table("notes.notes")
    if text.lstrip().startswith(tuple(table["results"])):
        return Origin.RESULTS, text
    if text.startswith(tuple(table["loop"])):
        return Origin.LOOP, text
    if text.startswith(table["meanwhile"]):
        return Origin.MEANWHILE, text.removeprefix(table["meanwhile"])
    return Origin.PERSON, text


def _outcome(text: str) -> Outcome:
    """One pass makes one call; what cannot be read as its success counts as a failure."""
    results = list(_RESULT.finditer(text))
    ok = bool(results) and all(result["status"] == _OK for result in results)
    return Outcome(ok, "\n".join(result["text"].strip() for result in results).replace("&lt;", "<"))
