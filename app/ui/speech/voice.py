"""Speaks what the agent says, sentence by sentence, in its tone, and is silent at once when it must be."""

from __future__ import annotations

import tomllib
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from app.agent import events as agent
from app.base import paths
from app.ui.speech.sentences import Sentence, Sentences


@dataclass(frozen=True, slots=True)
class Manner:
    """Rate and pitch from -1 to 1, volume from 0 to 1."""

    rate: float
    pitch: float
    volume: float


class Engine(Protocol):
    """Says one thing at a time and calls `finished` after each."""

    finished: Callable[[], None]

    def say(self, text: str, manner: Manner) -> None: ...

    def stop(self) -> None: ...


class Voice:
    """A function of the agent's events. The person's own words, or a turn that is stopped, silence it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._engine.finished = self._next
        self._sentences = Sentences()
        self._waiting: deque[Sentence] = deque()
        self._speaking = False

    def hear(self, events: Sequence[agent.AgentEvent]) -> None:
        """What has just happened."""
        for event in events:
            if isinstance(event, agent.SayDelta):
                self._waiting.extend(self._sentences.add(event.tone, event.text))
            elif isinstance(event, agent.TurnStarted) or _was_stopped(event):
                self.hush()
            elif isinstance(event, (agent.TagStart, agent.TurnEnded)):
                self._waiting.extend(self._sentences.rest())
        if not self._speaking:
            self._next()

    def hush(self) -> None:
        """Not another word of what was said so far."""
        self._sentences.drop()
        self._waiting.clear()
        self._speaking = False
        self._engine.stop()

    def _next(self) -> None:
        self._speaking = bool(self._waiting)
        if self._waiting:
            sentence = self._waiting.popleft()
            self._engine.say(sentence.text, manner_of(sentence.tone))


def manner_of(tone: str) -> Manner:
    """How a tone is spoken; an unknown one is neutral."""
    manners = _manners()
    return manners.get(tone, manners["neutral"])


@cache
def _manners() -> dict[str, Manner]:
    tree = tomllib.loads((paths.resources() / "speech.toml").read_text(encoding="utf-8"))
    return {tone: Manner(**values) for tone, values in tree["tones"].items()}


def _was_stopped(event: agent.AgentEvent) -> bool:
    return isinstance(event, agent.TurnEnded) and event.outcome is agent.Outcome.STOPPED
