"""What a check of `wisp doctor` finds."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum

from app.base.values import dataclass


class CheckVerdict(StrEnum):
    OK = "ok"
    NOTE = "note"
    """Works without it; the fix says what it would add."""
    FAIL = "fail"
    """The main job cannot work."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A result of a check. `fix` is the one thing to do about it; "" if nothing needs to be done. `opens` is where
    that is done: the key of a setting, `key.` and a provider, or the path of a file.
    """

    name: str
    verdict: CheckVerdict
    detail: str
    fix: str = ""
    opens: str = ""

    def as_json(self) -> dict[str, str]:
        return {key: str(value) for key, value in asdict(self).items()}


def ok(name: str, detail: str) -> Finding:
    return Finding(name, CheckVerdict.OK, detail)


def note(name: str, detail: str, fix: str, opens: str = "") -> Finding:
    return Finding(name, CheckVerdict.NOTE, detail, fix, opens)


def fail(name: str, detail: str, fix: str) -> Finding:
    return Finding(name, CheckVerdict.FAIL, detail, fix)
