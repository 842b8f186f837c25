"""What the offline provider says, from `resources/offline/phrases.toml`; the same for the same wish, every time."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from enum import Enum
from string import Formatter
from typing import Any

from app.base.texts import clip_line, for_people
from app.base.values import dataclass, field
from app.protocol.dialects.api import INTRODUCES
from app.protocol.message import Message, Role, TextPart
from app.providers.offline.clause import verbs
from app.providers.offline.words import PlannedCall, Refusal, lexicon

_LEAST_LIKENESS = 75
_SHORTEST = 3


def near(refusal: Refusal) -> str:
    """A corrected command where a verb was misspelled, a known replacement, or what can be done at all."""
    table = lexicon().table("phrases.near")
    if refusal.near:
        return str(table["hint"]).format(hint=refusal.near)
    if refusal.kind == "unreadable" and (guess := _respelled(refusal.part)):
        return str(table["guess"]).format(guess=guess)
    options: list[str] = table[refusal.kind]
    return options[len(refusal.part) % len(options)]


def _respelled(part: str) -> str:
    """`opn the calculator` with its first word put right; empty where no verb is near."""
    from rapidfuzz import process

    first, _, rest = part.partition(" ")
    known = verbs()
    if len(first) < _SHORTEST or first.lower() in known:
        return ""
    found = process.extractOne(first.lower(), sorted(known), score_cutoff=_LEAST_LIKENESS)
    return f"{found[0]} {rest}".strip() if found else ""


def doing(step: PlannedCall, index: int) -> str:
    """The sentence before a step; neighbouring steps take different ones where there are several."""
    return _chosen(_phrase(step)["doing"], index).format(what=step.what)


def finished(steps: Sequence[PlannedCall], proofs: Sequence[str], found: str) -> str:
    """The last sentence, what the receipts of the steps claim, and what looks have brought to light."""
    table = lexicon().table("phrases.finished")
    text = _chosen(table["opening"], len(steps)).format(steps=listed(steps))
    unseen = [step for step, proof in zip(steps, proofs, strict=False) if proof == _UNVERIFIABLE]
    if unseen:
        text += " " + str(table["unseen"]).format(steps=listed(unseen))
    elif _CONFIRMED in proofs:
        text += f" {table['seen']}"
    return f"{text} {found}".strip()


_CALLED = re.compile(r"is now called '([^']+)'")
_VALUE = re.compile(r"""(?:holds|became|New:(?: \w[\w ]*)?) (['"])(.+?)\1(?: now)?\.""")


def outcome_of(step: PlannedCall, echo: str) -> str:
    """What the receipt of the last act tells of a result; what was typed is none."""
    table = lexicon().table("phrases.finished")
    if title := _CALLED.search(echo):
        return str(table["called"]).format(title=title[1].lstrip("*"))
    typed = str(step.arguments.get("text", ""))
    values = [found[2].strip() for found in _VALUE.finditer(echo)]
    return next((str(table["shows"]).format(value=value) for value in values if value and value not in typed), "")


def rehearsed(steps: Sequence[PlannedCall], found: str) -> str:
    """The last sentence of a dry run."""
    text = str(lexicon().table("phrases.finished")["dry"]).format(steps=listed(steps))
    return f"{text} {found}".strip()


def is_doubted(step: PlannedCall, proof: str) -> bool:
    """Whether a receipt with this proof leaves open that the step had any effect at all.

    Words and keys that changed the screen did arrive. A click that changed it may have given a dead button the focus.
    """
    return proof in _phrase(step).get("doubted_where", lexicon().table("phrases.doubted")["where"])


def doubted(steps: Sequence[PlannedCall], doubts: Sequence[PlannedCall], found: str) -> str:
    """The last sentence where nothing shows that some of the steps worked."""
    table = lexicon().table("phrases.doubted")
    text = str(table["one" if len(steps) == 1 else "several"]).format(steps=listed(steps), doubts=listed(doubts))
    return f"{text} {found}".strip()


def listed(steps: Sequence[PlannedCall]) -> str:
    """`opened calculator, typed “1” and pressed enter`."""
    table = lexicon().table("phrases.finished")
    done = [str(_phrase(step)["done"]).format(what=step.what) for step in steps]
    parts = [str(table["join"]).join(done[:-1]), done[-1]]
    return str(table["last"]).join(part for part in parts if part)


def failed(step: PlannedCall, before: Sequence[PlannedCall], reason: str) -> str:
    """Which step did not work, why, and what had been done by then."""
    table = lexicon().table("phrases.failed")
    what = str(_phrase(step)["failed"]).format(what=step.what)
    if not before:
        return str(table["first"]).format(what=what, reason=reason or table["no_reason"])
    return str(table["later"]).format(what=what, steps=listed(before), reason=reason or table["no_reason"])


def talk(topic: str) -> str:
    return str(lexicon().table("phrases.talk")[topic])


def refused(refusal: Refusal) -> str:
    """One sentence: what was not read, and the nearest thing that could be done."""
    sentence = str(lexicon().table("phrases.refused")[refusal.kind])
    named = {name for _, name, _, _ in Formatter().parse(sentence) if name}
    values = {"part": refusal.part, "near": near(refusal)}
    return sentence.format(**{name: values[name] for name in named})


def _phrase(step: PlannedCall) -> dict[str, Any]:
    return dict(lexicon().table(f"phrases.{step.phrase}"))


def _chosen(sentences: Sequence[str], index: int) -> str:
    return sentences[index % len(sentences)]


_RESULT = re.compile(r'<result tool="[^"]*" status="(?P<status>\w+)">(?P<text>.*?)</result>', re.DOTALL)
_OK = "ok"
_UNVERIFIABLE, _CONFIRMED = "unverifiable", "confirmed"
_PROOFS = ("suspected no-op", _UNVERIFIABLE, _CONFIRMED)
"""Of receipts, the weakest first."""


class StepOrigin(Enum):
    PERSON = "a new wish"
    MEANWHILE = "a wish said while another was carried out"
    RESULTS = "what a call brought"
    LOOP = "what the loop told the model"


@dataclass(frozen=True, slots=True)
class StepOutcome:
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
    outcomes: list[StepOutcome] = field(default_factory=list)


def exchanges(messages: Sequence[Message]) -> list[Exchange]:
    """All wishes of the conversation, the latest last."""
    found: list[Exchange] = []
    for origin, text in _sorted(messages):
        match origin:
            case StepOrigin.PERSON:
                found.append(Exchange([text]))
            case StepOrigin.MEANWHILE if found:
                found[-1].wishes.append(text)
            case StepOrigin.MEANWHILE:
                found.append(Exchange([text]))
            case StepOrigin.RESULTS if found:
                found[-1].outcomes.append(_outcome(text))
            case _:
                continue
    return found


def _sorted(messages: Sequence[Message]) -> Iterator[tuple[StepOrigin, str]]:
    for message in messages:
        if message.role is not Role.USER:
            continue
        for part in message.parts:
            if isinstance(part, TextPart) and part.text.strip():
                yield _origin(part.text)


def _origin(text: str) -> tuple[StepOrigin, str]:
    table = lexicon().table("notes.notes")
    if text.lstrip().startswith(tuple(table["results"])):
        return StepOrigin.RESULTS, text
    if text.startswith(tuple(table["loop"])):
        return StepOrigin.LOOP, text
    if text.startswith(table["meanwhile"]):
        return StepOrigin.MEANWHILE, text.removeprefix(table["meanwhile"])
    return StepOrigin.PERSON, text


def _outcome(text: str) -> StepOutcome:
    """One pass makes one call; what cannot be read as its success counts as a failure."""
    results = list(_RESULT.finditer(text))
    ok = bool(results) and all(result["status"] == _OK for result in results)
    return StepOutcome(ok, "\n".join(result["text"].strip() for result in results).replace("&lt;", "<"))


_QUOTED = r'"(?:[^"\\]|\\.)*"'
_ELEMENT = re.compile(
    rf"\s*e\d+ (?P<role>[a-z][a-z -]*?)(?: (?P<name>{_QUOTED}))?(?: = (?P<value>{_QUOTED}))? \(-?\d+,.*"
)
_WINDOW = re.compile(rf"\S+ (?P<title>{_QUOTED}) (?P<app>.*?) -?\d+x-?\d+ at \(.*?\)(?P<marks>.*)")
_NAMES_CHARACTERS = 400


def found(step: PlannedCall, echo: str) -> str:
    """What a look brought, with the sentence before it; empty for steps that only do something."""
    table = lexicon().table(f"phrases.{step.phrase}")
    if "found" not in table:
        return ""
    echo = echo.partition(f"\n{INTRODUCES.format(name=step.tool)}\n")[0]
    if step.tool == "recall":
        return f"{table['found']}\n{echo.strip()}" if echo.lstrip().startswith("#") else str(table["nothing"])
    lines = list(_elements(echo) if step.phrase == "read" else _windows(echo))
    return "\n".join([table["found"], *lines]) if lines else echo.strip()


def reason(step: PlannedCall, echo: str) -> str:
    """Why a step failed: the tool's own sentences, without those that only a model can follow."""
    text = " ".join(echo.split()).removeprefix(f"{step.tool}:").strip()
    kept = for_people(text)
    return (
        kept
        if len(kept.split()) == len(text.split())
        else f"{kept} {lexicon().table('phrases.failed')['instead']}".strip()
    )


def _elements(echo: str) -> Iterator[str]:
    """Yield a line for each window: its controls by kind, in the order of the outline."""
    words = lexicon().table("phrases.read")
    window, by_role = "", dict[str, list[str]]()
    for match in filter(None, map(_ELEMENT.fullmatch, echo.splitlines())):
        name = _plain(match["name"]) or _plain(match["value"])
        if match["role"] in words["windows"]:
            yield from _group(window, by_role)
            window, by_role = name, {}
        elif name:
            by_role.setdefault(match["role"], []).append(name)
    yield from _group(window, by_role)


def _group(window: str, by_role: dict[str, list[str]]) -> Iterator[str]:
    words = lexicon().table("phrases.read")
    kinds = [f"{role} {clip_line(', '.join(names), _NAMES_CHARACTERS)}" for role, names in by_role.items()]
    if window or kinds:
        yield str(words["group"]).format(window=window or words["nameless"], things="; ".join(kinds) or words["empty"])


def _windows(echo: str) -> Iterator[str]:
    for match in filter(None, map(_WINDOW.fullmatch, echo.splitlines())):
        marks = match["marks"].strip(" []")
        yield f"“{_plain(match['title'])}” ({match['app']}{', ' if marks else ''}{marks})"


def _plain(quoted: str | None) -> str:
    try:
        return str(json.loads(quoted)) if quoted else ""
    except ValueError:
        return (quoted or "").strip('"')
