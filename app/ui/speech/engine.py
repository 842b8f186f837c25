"""Qt's own speech: speech-dispatcher, the Windows and the macOS voices. It comes with PySide6-Addons, an extra."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication

from app.ui.speech.voice import Manner

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

    def say(self, text: str, manner: Manner) -> None:
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
