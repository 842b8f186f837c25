"""What the offline provider says, from `resources/offline/phrases.toml`; the same for the same wish, every time."""

from __future__ import annotations

from collections.abc import Sequence
from string import Formatter
from typing import Any

from app.providers.offline.lexicon import lexicon
from app.providers.offline.nearest import near
from app.providers.offline.steps import Refusal, Step


def doing(step: Step, index: int) -> str:
    """The sentence before a step; neighbouring steps take different ones where there are several."""
    return _chosen(_phrase(step)["doing"], index).format(what=step.what)


def finished(steps: Sequence[Step], found: str) -> str:
    """The last sentence, and what looks have brought to light."""
    table = lexicon().table("phrases.finished")
    text = _chosen(table["opening"], len(steps)).format(steps=listed(steps))
    return f"{text} {found}".strip()


def rehearsed(steps: Sequence[Step], found: str) -> str:
    """The last sentence of a dry run."""
    text = str(lexicon().table("phrases.finished")["dry"]).format(steps=listed(steps))
    return f"{text} {found}".strip()


def is_doubted(step: Step, proof: str) -> bool:
    """Whether a receipt with this proof leaves open that the step had any effect at all.

    Words and keys that changed the screen did arrive. A click that changed it may have given a dead button the focus.
    """
    return proof in _phrase(step).get("doubted_where", lexicon().table("phrases.doubted")["where"])


def doubted(steps: Sequence[Step], doubts: Sequence[Step], found: str) -> str:
    """The last sentence where nothing shows that some of the steps worked."""
    table = lexicon().table("phrases.doubted")
    text = str(table["one" if len(steps) == 1 else "several"]).format(steps=listed(steps), doubts=listed(doubts))
    return f"{text} {found}".strip()


def listed(steps: Sequence[Step]) -> str:
    """`opened calculator, typed “1” and pressed enter`."""
    table = lexicon().table("phrases.finished")
    done = [str(_phrase(step)["done"]).format(what=step.what) for step in steps]
    parts = [str(table["join"]).join(done[:-1]), done[-1]]
    return str(table["last"]).join(part for part in parts if part)


def failed(step: Step, before: Sequence[Step], reason: str) -> str:
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


def _phrase(step: Step) -> dict[str, Any]:
    return dict(lexicon().table(f"phrases.{step.phrase}"))


def _chosen(sentences: Sequence[str], index: int) -> str:
    return sentences[index % len(sentences)]
