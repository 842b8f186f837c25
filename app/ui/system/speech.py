"""What is heard: speech through Qt (speech-dispatcher, the Windows or the macOS voices), and two soft sounds.

Speech needs PySide6-Addons, an optional dependency. The sounds are played by a program of the system.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from PySide6.QtCore import QCoreApplication, QLocale, QProcess

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
    """Makes whole sentences of pieces of text, as they arrive in a stream."""

    def __init__(self) -> None:
        self._tone = ""
        self._kept = ""

    def add(self, tone: str, text: str) -> Iterator[Sentence]:
        """Take a piece of text and yield the sentences that it completes. A new tone also ends the current sentence."""
        if tone != self._tone:
            yield from self.rest()
            self._tone = tone
        self._kept += text
        while (found := _END.search(self._kept)) or len(self._kept) > _LONGEST_CHARS:
            end = min(found.end() if found else _LONGEST_CHARS, _LONGEST_CHARS)
            said, self._kept = self._kept[:end], self._kept[end:]
            yield from self._made(said)

    def rest(self) -> Iterator[Sentence]:
        """Yield the text after the last complete sentence, and forget it."""
        said, self._kept = self._kept, ""
        yield from self._made(said)

    def drop(self) -> None:
        """Forget the text after the last complete sentence."""
        self._kept = ""

    def _made(self, said: str) -> Iterator[Sentence]:
        bare = " ".join(_SIGNS.sub(" ", said).split())
        if any(sign.isalnum() for sign in bare):
            yield Sentence(self._tone, bare)


@dataclass(frozen=True, slots=True)
class SpeechStyle:
    """How a voice speaks: rate and pitch from -1 to 1, volume from 0 to 1. `pace` is a factor on how fast the text
    appears."""

    rate: float
    pitch: float
    volume: float
    pace: float = 1.0


class Engine(Protocol):
    """Speaks one text at a time, and calls `finished` when it has spoken a text."""

    finished: Callable[[], None]

    def say(self, text: str, manner: SpeechStyle) -> None: ...

    def stop(self) -> None: ...


class Voice:
    """Speaks what the agent says. It falls silent when a turn begins or is stopped."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._engine.finished = self._next
        self._sentences = Sentences()
        self._waiting: deque[Sentence] = deque()
        self._speaking = False

    def hear(self, events: Sequence[agent.AgentEvent]) -> None:
        """Take events of the agent, and speak the sentences in them."""
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
        """Stop speaking, and drop all text that was not spoken yet."""
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
    """An unknown tone is spoken as the neutral one."""
    manners = _manners()
    return manners.get(tone, manners["neutral"])


def _manners() -> dict[str, SpeechStyle]:
    return resources.table("speech.toml", dict[str, dict[str, SpeechStyle]])["tones"]


def _was_stopped(event: agent.AgentEvent) -> bool:
    return isinstance(event, agent.TurnEnded) and event.outcome is agent.Outcome.STOPPED


if TYPE_CHECKING:
    from PySide6.QtTextToSpeech import QTextToSpeech, QVoice


class QtEngine:
    """Speaks through the system's engine, by Qt.

    Raises ValueError with a sentence for the person if nothing can be spoken.
    """

    def __init__(self) -> None:
        tr = QCoreApplication.translate
        try:
            from PySide6.QtTextToSpeech import QTextToSpeech
        except ImportError:
            missing = tr(
                "Speech",
                "To speak aloud, Wisp needs one more part: get “Speaking aloud” on the page Extras, then start Wisp "
                "again.",
            )
            raise ValueError(missing) from None
        self.finished: Callable[[], None] = _nothing
        self._state = QTextToSpeech.State
        made = QTextToSpeech()
        if made.state() is self._state.Error or not QTextToSpeech.availableEngines():
            silent = tr(
                "Speech", "There is no voice here. On Linux, install speech-dispatcher and a voice such as espeak-ng."
            )
            raise ValueError(silent)
        self._speech = made
        self._usual = made.voice()
        self._speech.stateChanged.connect(self._changed)

    def voices(self) -> list[str]:
        """Of every language; those of the system's language first."""
        here = QLocale().language()
        languages: dict[str, set[bool]] = {}
        for voice in self._every():
            languages.setdefault(voice.name(), set()).add(voice.locale().language() is here)
        return sorted(languages, key=lambda name: (True not in languages[name], name.casefold()))

    def use(self, name: str) -> str:
        """Speak with the voice of this name, of whatever language, from now on; "" takes the system's.

        Returns a sentence if there is no such voice: then the system's speaks.
        """
        plain, here = name.strip().casefold(), QLocale().language()
        found = [voice for voice in self._every() if voice.name().casefold() == plain]
        # A name may stand for several voices: the one of the system's language is meant first.
        found.sort(key=lambda voice: voice.locale().language() is not here)
        chosen = found[0] if found else self._usual
        if chosen != self._speech.voice():
            self._speech.setVoice(chosen)
        if found or not plain:
            return ""
        gone = QCoreApplication.translate(
            "Speech", "There is no voice “{name}” here, so Wisp uses the system's. The settings list all voices."
        )
        return gone.format(name=name.strip())

    def _every(self) -> list[QVoice]:
        return [voice for locale in self._speech.availableLocales() for voice in self._speech.allVoices(locale)]

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


_PLAYERS = (("pw-play",), ("paplay",), ("aplay", "--quiet"), ("afplay",))
"""Programs that play a WAV file. The first one that is there is used."""
_DONE = (agent.Outcome.FINISHED, agent.Outcome.UNVERIFIED, agent.Outcome.ANSWERED)

Play = Callable[[str], None]
"""Plays a sound of `resources/sounds`, by its name, and returns at once."""


def play(name: str) -> None:
    """Play a sound with a program of the system, without waiting. Where none is there or it fails, nothing is heard."""
    file = str(resources.path(f"sounds/{name}.wav"))
    if sys.platform == "win32":
        import winsound

        winsound.PlaySound(file, winsound.SND_FILENAME | winsound.SND_ASYNC | winsound.SND_NODEFAULT)
    elif (found := next((player for player in _PLAYERS if shutil.which(player[0])), None)) is not None:
        process = QProcess()
        process.setProgram(found[0])
        process.setArguments([*found[1:], file])
        process.setStandardOutputFile(QProcess.nullDevice())
        process.setStandardErrorFile(QProcess.nullDevice())
        process.startDetached()


def chime(events: Sequence[agent.AgentEvent]) -> None:
    """Play one sound if a turn in these events is done, or another if Wisp needs the person; none for a step."""
    ends = [event.outcome for event in events if isinstance(event, agent.TurnEnded)]
    if agent.Outcome.WAITING in ends or any(isinstance(event, agent.ApprovalWanted) for event in events):
        play("needs-you")
    elif any(end in _DONE for end in ends):
        play("done")


def _nothing() -> None:
    """Do nothing when a text was spoken. It stands for `finished` until that is set."""
