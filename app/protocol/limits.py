"""How much a reader takes before it says so. Exceeding one is a `Misread`, never a silent cut."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in characters. Far above what a model writes in one answer, far below what hurts memory."""

    message: int = 32 * 1024 * 1024
    payload: int = 16 * 1024 * 1024
    attributes: int = 64 * 1024
    calls_per_batch: int = 64
    json_depth: int = 64


DEFAULT_LIMITS = Limits()
