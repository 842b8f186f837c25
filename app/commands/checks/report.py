"""The shape of a finding."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum


class Verdict(StrEnum):
    OK = "ok"
    NOTE = "note"
    """Works without it; the fix says what it would add."""
    FAIL = "fail"
    """The main job cannot work."""


@dataclass(frozen=True, slots=True)
class Finding:
    """`fix` is the one thing to do about it, empty where nothing is to be done."""

    name: str
    verdict: Verdict
    detail: str
    fix: str = ""

    def as_json(self) -> dict[str, str]:
        return {key: str(value) for key, value in asdict(self).items()}


def ok(name: str, detail: str) -> Finding:
    return Finding(name, Verdict.OK, detail)


def note(name: str, detail: str, fix: str) -> Finding:
    return Finding(name, Verdict.NOTE, detail, fix)


def fail(name: str, detail: str, fix: str) -> Finding:
    return Finding(name, Verdict.FAIL, detail, fix)
