"""Speech out loud: sentences from a stream, tones as manners, silence when the person wants it."""

from __future__ import annotations

import enum
import os
import struct
import sys
import types
import wave
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QLocale, QObject, Qt, Signal
from PySide6.QtWidgets import QApplication, QLineEdit
from pytestqt.qtbot import QtBot

from app.agent import agent_events as agent
from app.base import paths
from app.settings.catalog import VOICE
from app.settings.store import Settings
from app.ui import eventloop
from app.ui.preferences.editors import look_up_voices
from app.ui.preferences.fields import SettingField
from app.ui.presence import Look, Presence
from app.ui.presenter.view import NoticeItem
from app.ui.system.speech import Sentence, Sentences, SpeechStyle, Voice, manner_of, play
from app.ui.system.system import System
from app.ui.theme import theme
from tests.support.waiting import until, within


class SilentEngine:
    """Keeps what it was to say; the test decides when it has finished."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.manners: list[SpeechStyle] = []
        self.stopped = 0
        self.finished = lambda: None

    def say(self, text: str, manner: SpeechStyle) -> None:
        self.said.append(text)
        self.manners.append(manner)

    def stop(self) -> None:
        self.stopped += 1


@pytest.fixture
def engine() -> SilentEngine:
    return SilentEngine()


@pytest.fixture
def voice(engine: SilentEngine) -> Voice:
    return Voice(engine)


def _said(*texts: str, tone: str = "warm") -> list[agent.AgentEvent]:
    return [agent.SayDelta("s", tone, text) for text in texts]


def test_sentences_are_spoken_whole_and_one_after_the_other(voice: Voice, engine: SilentEngine) -> None:
    voice.hear(_said("I open", " the file. Then I re"))
    assert engine.said == ["I open the file."]
    voice.hear(_said("ad it. "))
    assert engine.said == ["I open the file."]
    engine.finished()
    assert engine.said == ["I open the file.", "Then I read it."]
    engine.finished()
    voice.hear([*_said("And"), agent.TagStart("1", "read_file")])
    assert engine.said[-1] == "And"


def test_a_tone_is_a_manner_of_speaking_and_an_unknown_one_is_neutral(voice: Voice, engine: SilentEngine) -> None:
    voice.hear(_said("Stop! ", tone="urgent"))
    assert engine.manners == [manner_of("urgent")]
    assert manner_of("urgent").rate > manner_of("calm").rate
    assert manner_of("sarcastic") == manner_of("neutral")


def test_every_tone_of_the_theme_has_a_manner() -> None:
    manners = {tone: manner_of(tone) for tone in theme.load("light").tones}
    assert len(set(manners.values())) == len(manners)
    for manner in manners.values():
        assert -1 <= manner.rate <= 1
        assert -1 <= manner.pitch <= 1
        assert 0 <= manner.volume <= 1


@pytest.mark.parametrize(
    "event",
    [agent.TurnStarted("t", "something else"), agent.TurnEnded("t", agent.Outcome.STOPPED, "")],
    ids=["the person speaks", "the person stops it"],
)
def test_it_is_silent_at_once(voice: Voice, engine: SilentEngine, event: agent.AgentEvent) -> None:
    voice.hear(_said("One. Two. Three. And"))
    voice.hear([event])
    engine.finished()
    assert (engine.said, engine.stopped) == (["One."], 1)


def test_signs_that_are_not_spoken_are_left_out_and_nothing_empty_is_said(voice: Voice, engine: SilentEngine) -> None:
    voice.hear(_said("**Done**: `ls`.\n---\n"))
    engine.finished()
    assert engine.said == ["Done : ls ."]


@given(st.text(max_size=2000), st.integers(1, 50))
def test_how_the_text_is_cut_on_its_way_does_not_matter_and_no_sentence_is_endless(text: str, size: int) -> None:
    whole, pieces = Sentences(), Sentences()
    in_one = [*whole.add("warm", text), *whole.rest()]
    cut = [s for start in range(0, len(text), size) for s in pieces.add("warm", text[start : start + size])]
    cut += pieces.rest()
    letters = "".join(s.text for s in in_one)
    assert "".join("".join(s.text for s in cut).split()) == "".join(letters.split())
    assert all(len(s.text) <= 400 for s in cut)


def test_another_tone_begins_another_sentence() -> None:
    sentences = Sentences()
    assert list(sentences.add("warm", "Hello")) == []
    assert list(sentences.add("calm", "there. ")) == [Sentence("warm", "Hello"), Sentence("calm", "there.")]


def test_without_the_extra_package_the_person_is_told_what_to_install(
    qapp: QApplication, still: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "PySide6.QtTextToSpeech", None)
    presence = Presence(still)

    async def story() -> int:
        settings = Settings({"presence.speak": True, "presence.summon_key": ""}, {})
        System(qapp, presence, still, settings).close()
        return 0

    eventloop.run_until(qapp, within(story()))
    (told,) = [item for item in presence.inbox.view.items if isinstance(item, NoticeItem)]
    assert "“Speaking aloud”" in told.sentence


class _SpokenVoice:
    def __init__(self, name: str, language: str) -> None:
        self._name, self._locale = name, QLocale(language)

    def name(self) -> str:
        return self._name

    def locale(self) -> QLocale:
        return self._locale


class _SpeechService(QObject):
    """Stands for QTextToSpeech, whose package is optional: a system with voices of two languages."""

    State = enum.Enum("State", ["Ready", "Error", "Speaking"])
    stateChanged = Signal(object)  # noqa: N815 - as Qt calls it
    here = (_SpokenVoice("Bob", "en_GB"), _SpokenVoice("Anneli", "fi_FI"), _SpokenVoice("Eve", "fi_FI"))
    last: _SpeechService

    def __init__(self) -> None:
        super().__init__()
        self._voice = self.here[0]
        _SpeechService.last = self

    @staticmethod
    def availableEngines() -> list[str]:
        return ["one"]

    def availableLocales(self) -> list[QLocale]:
        return [QLocale("en_GB"), QLocale("fi_FI")]

    def allVoices(self, locale: QLocale) -> list[_SpokenVoice]:
        return [voice for voice in self.here if voice.locale() == locale]

    def state(self) -> object:
        return self.State.Ready

    def voice(self) -> _SpokenVoice:
        return self._voice

    def setVoice(self, voice: _SpokenVoice) -> None:
        self._voice = voice

    def stop(self) -> None:
        """Nothing is spoken here."""


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("PySide6.QtTextToSpeech")
    module.QTextToSpeech = _SpeechService  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)


@pytest.mark.usefixtures("service")
def test_a_voice_of_any_language_speaks_a_change_is_followed_and_a_missing_one_is_told(
    qapp: QApplication, still: Look
) -> None:
    presence = Presence(still)
    spoken: list[str] = []

    async def story() -> int:
        wanted = {"presence.speak": True, "presence.summon_key": ""}
        system = System(qapp, presence, still, Settings(wanted, {}))
        for voice in ("", "anneli", "Nobody", "Eve", ""):
            system.follow(Settings({**wanted, "presence.voice": voice}, {}))
            spoken.append(_SpeechService.last.voice().name())
        system.close()
        return 0

    eventloop.run_until(qapp, within(story()))
    assert spoken == ["Bob", "Anneli", "Bob", "Eve", "Bob"]
    (told,) = [item for item in presence.inbox.view.items if isinstance(item, NoticeItem)]
    assert "no voice “Nobody” here" in told.sentence


@pytest.mark.usefixtures("service")
def test_the_settings_offer_the_voices_and_complete_a_part_of_a_name(qtbot: QtBot, still: Look) -> None:
    field = SettingField(still.theme, VOICE, "", look_up_voices)
    qtbot.addWidget(field)
    field.show()
    chosen: list[str] = []
    field.chosen.connect(chosen.append)
    line = field.editor
    assert isinstance(line, QLineEdit)
    qtbot.mouseClick(line, Qt.MouseButton.LeftButton)
    offered = line.completer().popup()
    assert offered is not None
    qtbot.waitUntil(offered.isVisible)
    model = line.completer().completionModel()
    assert sorted(model.index(row, 0).data() for row in range(model.rowCount())) == ["Anneli", "Bob", "Eve"]
    qtbot.keyClicks(line, "nel")
    qtbot.keyClick(offered, Qt.Key.Key_Down)
    qtbot.keyClick(offered, Qt.Key.Key_Return)
    assert chosen == ["Anneli"]


@pytest.fixture
def heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """The names of the sounds that the system's player was given: a program of that name that writes them down."""
    notes, player = tmp_path / "heard", tmp_path / "bin" / "pw-play"
    player.parent.mkdir()
    player.write_text(f'#!/bin/sh\nprintf "%s\\n" "$1" >> "{notes}"\n')
    player.chmod(0o755)
    monkeypatch.setenv("PATH", f"{player.parent}:{os.environ['PATH']}")
    return lambda: [Path(line).name for line in notes.read_text().split()] if notes.exists() else []


_ASKS = agent.ApprovalWanted("a", "c", "execute_command", "Wisp wants to run ls.")


@pytest.mark.parametrize(
    ("events", "sound"),
    [
        ([agent.TurnEnded("t", agent.Outcome.FINISHED, "")], "done.wav"),
        ([agent.TurnEnded("t", agent.Outcome.WAITING, "")], "needs-you.wav"),
        ([_ASKS], "needs-you.wav"),
        ([agent.TurnEnded("t", agent.Outcome.FINISHED, ""), _ASKS], "needs-you.wav"),
    ],
)
def test_a_sound_tells_that_it_is_done_or_needs_the_person(
    qapp: QApplication, still: Look, heard: Callable[[], list[str]], events: list[agent.AgentEvent], sound: str
) -> None:
    presence = Presence(still)

    async def story() -> int:
        for on in (False, True):
            settings = Settings({"presence.sounds": on, "presence.summon_key": ""}, {})
            system = System(qapp, presence, still, settings)
            presence.inbox.receive(agent.ToolFinished("c", "wait", True, "wait", {}))
            for event in events:
                presence.inbox.receive(event)
            if on:
                await until(heard)
            system.close()
        return 0

    eventloop.run_until(qapp, within(story()))
    assert heard() == [sound]


def test_where_nothing_plays_sounds_nothing_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    play("done")


@pytest.mark.parametrize("name", ["done", "needs-you"])
def test_the_sounds_are_short_and_soft(name: str) -> None:
    with wave.open(str(paths.resources() / "sounds" / f"{name}.wav")) as sound:
        frames = sound.readframes(sound.getnframes())
        assert sound.getnframes() / sound.getframerate() < 1.0
    values = struct.unpack(f"<{len(frames) // 2}h", frames)
    assert 3_000 < max(map(abs, values)) < 14_000
    assert max(map(abs, values[-20:])) < 200
