"""The loudness of the speakers and the microphone, by the sound server (PulseAudio, or PipeWire in its place)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from app.base.errors import ToolFailed
from app.base.phrases import Phrase
from app.base.values import dataclass

SPEAKERS, MICROPHONE = "speakers", "microphone"
_LIMIT_S = 3.0
_FULL = 100
_NO_SERVER = "No sound server answers on this computer, so nothing can be made louder or quieter."
_NONE = {
    SPEAKERS: Phrase("No speaker or headphone is connected."),
    MICROPHONE: Phrase("No microphone is connected."),
}
_STAND_INS = ("auto_null", "auto_null.monitor")
"""What a sound server offers where there is no device."""


@dataclass(frozen=True, slots=True)
class Loudness:
    percent: int
    is_muted: bool


def loudness(device: str) -> Loudness:
    """Return how loud the speakers or the microphone are. Blocks. Raises ToolFailed."""
    with _server() as pulse:
        return _read(_found(pulse, device))


def change_loudness(device: str, *, level: int | None, change: int, mute: str) -> Loudness:
    """Set the level, change it by `change` or mute, and return what is read back. Blocks. Raises ToolFailed.

    `level` and `change` are percent; `mute` is on, off, toggle or "". What is made louder is heard again.
    """
    with _server() as pulse:
        found = _found(pulse, device)
        before = _read(found)
        wanted = level
        if wanted is None and change:
            wanted = min(max(before.percent + change, 0), max(before.percent, _FULL))
        if wanted is not None:
            pulse.volume_set_all_chans(found, wanted / _FULL)
        is_heard = not mute and wanted is not None and (change > 0 or (level or 0) > 0)
        if mute or is_heard:
            pulse.mute(found, {"on": True, "toggle": not before.is_muted}.get(mute, False))
        return _read(_found(pulse, device))


def _read(found: Any) -> Loudness:
    return Loudness(round(found.volume.value_flat * _FULL), bool(found.mute))


@contextmanager
def _server() -> Iterator[Any]:
    try:
        import pulsectl
    except (ImportError, OSError) as error:  # because other systems, and some Linux, have no libpulse
        raise ToolFailed(_NO_SERVER) from error
    pulse = pulsectl.Pulse("wisp", connect=False)
    try:
        pulse.connect(timeout=_LIMIT_S)
        yield pulse
    except pulsectl.PulseError as error:
        raise ToolFailed(_NO_SERVER) from error
    finally:
        pulse.close()


def _found(pulse: Any, device: str) -> Any:
    """What programs use unless told otherwise: a sink or a source."""
    about = pulse.server_info()
    is_mic = device == MICROPHONE
    name = about.default_source_name if is_mic else about.default_sink_name
    every = pulse.source_list() if is_mic else pulse.sink_list()
    found = next((one for one in every if one.name == name and name not in _STAND_INS), None)
    if found is None or (is_mic and found.monitor_of_sink_name):
        raise ToolFailed(_NONE[device])
    return found
