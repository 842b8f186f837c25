"""Draw Wisp's two sounds into `resources/sounds`: `python -m scripts.sounds`. Soft tones that swell and fade."""

from __future__ import annotations

import math
import struct
import wave
from pathlib import Path

_FOLDER = Path(__file__).resolve().parents[1] / "resources" / "sounds"
_RATE_HZ = 22_050
_LONG_S = 0.62
_SWELL_S = 0.012
_LOUD = 0.16
_FALL_PER_S = 7.5
_TUNES = {
    "done": ((523.25, 0.0), (783.99, 0.1)),
    "needs-you": ((659.26, 0.0), (880.0, 0.13), (659.26, 0.26)),
}
"""Each sound's tones: the pitch in Hz, and when it begins, in seconds."""


def samples(tune: tuple[tuple[float, float], ...]) -> list[int]:
    """Return the tones, added up, as 16-bit samples."""
    return [round(32_767 * _at(tune, number / _RATE_HZ)) for number in range(round(_LONG_S * _RATE_HZ))]


def _at(tune: tuple[tuple[float, float], ...], when_s: float) -> float:
    end = min((_LONG_S - when_s) / 0.05, 1.0)
    return end * sum(_tone(pitch, when_s - begin) for pitch, begin in tune)


def _tone(pitch: float, since_s: float) -> float:
    if since_s < 0:
        return 0.0
    shape = min(since_s / _SWELL_S, 1.0) * math.exp(-_FALL_PER_S * since_s)
    turn = 2 * math.pi * pitch * since_s
    return _LOUD * shape * (math.sin(turn) + 0.22 * math.sin(2 * turn) * math.exp(-9 * since_s))


def main() -> None:
    """Write every sound as a mono WAV file."""
    _FOLDER.mkdir(exist_ok=True)
    for name, tune in _TUNES.items():
        with wave.open(str(_FOLDER / f"{name}.wav"), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(_RATE_HZ)
            values = samples(tune)
            file.writeframes(struct.pack(f"<{len(values)}h", *values))


if __name__ == "__main__":
    main()
