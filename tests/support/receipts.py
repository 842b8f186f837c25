"""Plays the table of acts on a window of a toolkit, and judges each receipt by what really happened there."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.co_process import CoProcess
from tests.support.worlds import World, world

_TABLE = Path(__file__).parents[1] / "data" / "receipts" / "acts.toml"
KITS = ("gtk3", "gtk4", "qt5", "qt6", "chromium")
_LATE_S = 0.6
_SILENT_S = 0.3


@dataclass(frozen=True)
class Act:
    """A row of the table."""

    name: str
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    line: str = ""
    judged: bool = True
    fails: bool = False
    kits: tuple[str, ...] = KITS
    is_silent: bool = False


@dataclass(frozen=True)
class Judged:
    """An act that was played. `happened`: its effect was there; `proof`: what the receipt said of it."""

    kit: str
    act: Act
    happened: bool
    proof: str
    echo: str

    @property
    def is_false_confirmed(self) -> bool:
        return self.proof == "confirmed" and not self.happened

    @property
    def is_false_no_op(self) -> bool:
        return self.proof == "suspected no-op" and self.happened

    @property
    def is_unsure(self) -> bool:
        """Unverifiable though it happened."""
        return self.proof == "unverifiable" and self.happened


def acts(kit: str) -> list[Act]:
    rows = tomllib.loads(_TABLE.read_text(encoding="utf-8"))["act"]
    table = (Act(**{**row, "kits": tuple(row.get("kits", KITS))}) for row in rows)
    return [act for act in table if kit in act.kits]


def played(kit: str, environment: Mapping[str, str]) -> Iterator[Judged]:
    """Every act of the table that fits the toolkit, one after the other."""
    with world(kit, environment) as shown, CoProcess(environment) as wisp:
        wisp("wait_for", window="World")
        if kit != "tk":
            wisp("wait_for", text="Show note")
        for act in acts(kit):
            told = _play(wisp, shown, kit, act)
            if act.judged:
                yield told


def _play(wisp: CoProcess, shown: World, kit: str, act: Act) -> Judged:
    shown.since(0.0)
    answer = wisp.attempt(act.tool, {name: _filled(wisp, value) for name, value in act.arguments.items()})
    lines = shown.since(_LATE_S if act.line else _SILENT_S)
    happened = bool(act.line) and any(re.fullmatch(act.line, line.strip(), re.IGNORECASE) for line in lines)
    if act.fails:
        proof = "confirmed" if answer["ok"] else "refused"
        return Judged(kit, act, bool(lines), proof, answer["echo"])
    proof = str(answer["payload"].get("proof", "")) if answer["ok"] else "failed"
    return Judged(kit, act, happened, proof, answer["echo"])


def _filled(wisp: CoProcess, value: str) -> str:
    """`{Name field}` becomes the ref of what is called so."""
    if not value.startswith("{"):
        return value
    return str(wisp("locate_screen_element", target=value.strip("{}"))["payload"]["ref"])
