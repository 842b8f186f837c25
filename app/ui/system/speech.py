"""Qt's own speech: speech-dispatcher, the Windows and the macOS voices. It comes with PySide6-Addons, an extra."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from PySide6.QtCore import QCoreApplication

from app.agent import agent_events as agent
from app.base import resources
from app.base.values import dataclass

_LONGEST_CHARS = 400
"""A sentence without an end is spoken in parts of this size."""
_END = re.compile(r"[.!?…]+[\"'”’»)\]]*\s|[。！？]|\n+|[؟۔]\s?")
_SIGNS = re.compile(r"[`*_#<>|]+")


@dataclass(frozen=True, slots=True)
class Sentence:
    tone: str
    text: str


class Sentences:
    """Takes pieces of text, gives whole sentences; what is left comes with `rest`."""

    def __init__(self) -> None:
        self._tone = ""
        self._kept = ""

    def add(self, tone: str, text: str) -> Iterator[Sentence]:
        """The sentences that this piece completes. Another tone ends the one that was being said."""
        if tone != self._tone:
            yield from self.rest()
            self._tone = tone
        self._kept += text
        while (found := _END.search(self._kept)) or len(self._kept) > _LONGEST_CHARS:
            end = min(found.end() if found else _LONGEST_CHARS, _LONGEST_CHARS)
            said, self._kept = self._kept[:end], self._kept[end:]
            yield from self._made(said)

    def rest(self) -> Iterator[Sentence]:
        """What was said without an end."""
        said, self._kept = self._kept, ""
        yield from self._made(said)

    def drop(self) -> None:
        """Forget what was not spoken yet."""
        self._kept = ""

    def _made(self, said: str) -> Iterator[Sentence]:
        bare = " ".join(_SIGNS.sub(" ", said).split())
        if any(sign.isalnum() for sign in bare):
            yield Sentence(self._tone, bare)


@dataclass(frozen=True, slots=True)
class SpeechStyle:
    """Rate and pitch from -1 to 1, volume from 0 to 1; `pace` is a factor on how fast the text appears."""

    rate: float
    pitch: float
    volume: float
    pace: float = 1.0


class Engine(Protocol):
    """Says one thing at a time and calls `finished` after each."""

    finished: Callable[[], None]

    def say(self, text: str, manner: SpeechStyle) -> None: ...

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


def manner_of(tone: str) -> SpeechStyle:
    """How a tone is spoken; an unknown one is neutral."""
    manners = _manners()
    return manners.get(tone, manners["neutral"])


def _manners() -> dict[str, SpeechStyle]:
    return resources.table("speech.toml", dict[str, dict[str, SpeechStyle]])["tones"]


def _was_stopped(event: agent.AgentEvent) -> bool:
    return isinstance(event, agent.TurnEnded) and event.outcome is agent.Outcome.STOPPED


if TYPE_CHECKING:
    from PySide6.QtTextToSpeech import QTextToSpeech


class QtEngine:
    """Raises ValueError with the sentence for the person where nothing can be spoken. `name` chooses one of Qt's
    engines (`mock` makes no sound); empty takes the system's."""

    def __init__(self, name: str = "") -> None:
        tr = QCoreApplication.translate
        try:
            from PySide6.QtTextToSpeech import QTextToSpeech
        except ImportError:
            missing = tr(
                "Speech", "Speaking needs one more package: pip install “pyside6-addons<6.12”, then start Wisp again."
            )
            raise ValueError(missing) from None
        self.finished: Callable[[], None] = _nothing
        self._state = QTextToSpeech.State
        made = QTextToSpeech(name) if name else QTextToSpeech()
        if made.state() is self._state.Error or not QTextToSpeech.availableEngines():
            silent = tr(
                "Speech", "There is no voice here. On Linux, install speech-dispatcher and a voice such as espeak-ng."
            )
            raise ValueError(silent)
        self._speech = made
        self._speech.stateChanged.connect(self._changed)

    def say(self, text: str, manner: SpeechStyle) -> None:
        self._speech.setRate(manner.rate)
        self._speech.setPitch(manner.pitch)
        self._speech.setVolume(manner.volume)
        self._speech.say(text)

    def stop(self) -> None:
        self._speech.stop()

    def _changed(self, state: QTextToSpeech.State) -> None:
        if state in (self._state.Ready, self._state.Error):
            self.finished()


def _nothing() -> None:
    """Until somebody wants to know."""
